"""Models of other libraries in skops files: none is loaded unasked, and the error says how."""

import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import adapt
from sklearn_probsr.cli.models import load_model
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.packages.cases import TABLE, TWO

skops = pytest.importorskip("skops.io", reason="skops is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")
X = TABLE[["age", "balance"]].fillna(45.0)


def of_interpret() -> Any:
    glassbox = pytest.importorskip("interpret.glassbox", reason="interpret-core is not installed")
    kind = glassbox.ExplainableBoostingClassifier
    return kind(interactions=0, max_rounds=5, outer_bags=1, n_jobs=1)


def of_lightgbm() -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    return lightgbm.LGBMClassifier(max_depth=1, n_estimators=3, verbose=-1)


def of_xgboost() -> Any:
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    return xgboost.XGBClassifier(max_depth=1, n_estimators=3)


def of_feature_engine() -> Any:
    bins = pytest.importorskip(
        "feature_engine.discretisation", reason="feature-engine is not installed"
    )
    return make_pipeline(bins.EqualFrequencyDiscretiser(q=3), LogisticRegression())


def of_skrub() -> Any:
    skrub = pytest.importorskip("skrub", reason="skrub is not installed")
    return skrub.tabular_pipeline(LogisticRegression())


@pytest.mark.parametrize(
    "make", [of_interpret, of_lightgbm, of_xgboost, of_feature_engine, of_skrub]
)
def test_the_flags_that_are_told_are_enough(make: Any, tmp_path: Path):
    """With them the model is loaded, and explained as it was."""
    estimator, path = make().fit(X, TWO), tmp_path / "model.skops"
    skops.dump(estimator, path)
    with pytest.raises(InvalidInputError, match=r"holds what is not loaded unasked") as caught:
        load_model(path)
    flags = shlex.split(re.search(r"If you trust all of it, add (.*)\.$", str(caught.value))[1])
    assert set(flags[::2]) == {"--trust"}
    loaded = load_model(path, trust=flags[1::2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert adapt(loaded, X).model == adapt(estimator, X).model

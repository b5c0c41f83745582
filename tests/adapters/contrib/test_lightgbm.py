"""LightGBM."""

import re
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import SufficientReasonExplainer, adapt
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.contrib.cases import PLAIN, RNG, TABLE, THREE, TWO, N, agree, unseen

pytest.importorskip("lightgbm", reason="lightgbm is not installed")
from lightgbm import LGBMClassifier


def boosted(X: Any, y: Any, fit: dict[str, Any] | None = None, **options: Any) -> Any:
    settings = {"n_estimators": 15, "max_depth": 1, "verbose": -1, "n_jobs": 1}
    settings |= {"min_data_per_group": 5, "cat_smooth": 1, "min_child_samples": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LGBMClassifier(**(settings | options)).fit(X, y, **(fit or {}))


KINDS: dict[str, dict[str, Any]] = {
    "stumps": {},
    "constraints": {"max_depth": -1, "interaction_constraints": [[0], [1], [2], [3]]},
    "forest": {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
    "dart": {"boosting_type": "dart"},
    "slope": {"sigmoid": 0.5},
}


@pytest.mark.parametrize("name", KINDS)
def test_two_classes(name: str):
    """With gaps, zeros that are nearly so, and unknown categories."""
    adapted = agree(boosted(TABLE, np.where(TWO, "yes", "no"), **KINDS[name]), unseen())
    assert adapted.model.unit_names == tuple(TABLE)


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_several_classes(objective: str):
    """One tree for each class and round."""
    agree(boosted(TABLE, THREE, objective=objective), unseen())


@pytest.mark.parametrize("options", [{"zero_as_missing": True}, {"use_missing": False}])
def test_what_is_missing(options: dict[str, bool]):
    """Zeros may count as missing, or missing values as zeros."""
    agree(boosted(TABLE[PLAIN], TWO, **options), unseen()[PLAIN])


def test_categories_by_place():
    """Numbers that are categories are cut to whole ones; others go with what is unknown."""
    X = np.column_stack([RNG.integers(0, 6, N), RNG.normal(size=N)])
    estimator = boosted(X, (X[:, 0] % 2 == 0) | (X[:, 1] > 1), {"categorical_feature": [0]})
    codes = RNG.choice([0, 1, 2, 3, 4, 5, 6, 99, -1, 2.7, np.nan], 1_000)
    agree(estimator, np.column_stack([codes, RNG.normal(size=1_000)]))


def test_wrapped_and_stopped_early():
    """Thresholds and calibration around it; only the trees that predict uses."""
    estimator = boosted(TABLE, TWO)
    agree(FixedThresholdClassifier(estimator, threshold=0.2).fit(TABLE, TWO), unseen())
    agree(CalibratedClassifierCV(estimator, ensemble=False, cv=2).fit(TABLE, TWO), unseen())
    fit = {"eval_set": [(TABLE[:99], 1 - TWO[:99])]}
    agree(boosted(TABLE, TWO, fit, early_stopping_round=2, n_estimators=40), unseen())


def odd(y: Any, scores: Any) -> Any:
    """Return gradients of an objective of one's own."""
    return scores - y, np.ones_like(scores)


def test_what_is_not_additive_is_refused():
    """Two columns in a tree, linear leaves, and what is not known to decide so."""
    gaps = TABLE[PLAIN].fillna(40.0)
    pairs = (gaps["age"] > 50) ^ (gaps["balance"] > 0)
    for estimator, message in (
        (
            boosted(gaps, pairs, max_depth=-1),
            "LGBMClassifier is not additive: a tree of it splits on two columns, 'age' and "
            "'balance'. Fit it with max_depth=1, or interaction_constraints of one column each.",
        ),
        (
            boosted(gaps, TWO, linear_tree=True),
            "LGBMClassifier must have constant leaves, got linear ones. Fit it with "
            "linear_tree=False.",
        ),
        (
            boosted(gaps, TWO, objective=odd),
            "LGBMClassifier must be fitted on two classes or more by objective 'binary', "
            "'multiclass' or 'multiclassova', got 'custom' and 2 classes: it is not known how it "
            "decides.",
        ),
    ):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            adapt(estimator)
    with pytest.raises(
        InvalidInputError, match=r"^Booster is not a classifier .* knows no classes"
    ):
        adapt(boosted(gaps, TWO).booster_)


def test_names_with_spaces():
    """LightGBM calls "mean age" mean_age and takes either; answers have the names of the rows."""
    spaced = TABLE.rename(columns={"age": "mean age", "zone": "time zone"})
    under = spaced.rename(columns=lambda name: name.replace(" ", "_"))
    estimator = boosted(spaced, TWO)
    assert list(estimator.feature_names_in_) == list(under)
    fixed = FixedThresholdClassifier(estimator, threshold=0.3).fit(spaced, TWO)
    for model in (estimator, fixed, make_pipeline("passthrough", boosted(spaced, TWO))):
        for rows, others in ((spaced, under), (under, spaced)):
            adapted = agree(model, rows)
            assert adapted.feature_names == tuple(rows)
            assert (adapted.predict(others) == model.predict(rows)).all()
            explainer = SufficientReasonExplainer(model, rows, include=[rows.columns[0]])
            found = explainer(others[:20])
            assert found.feature_names == list(rows)
            assert (found.values == explainer(rows[:20]).values).all()
        explainer = SufficientReasonExplainer(model, under, feature_names=list(spaced))
        assert explainer(under[:2]).feature_names == list(spaced)
    message = (
        "X must have the columns that the estimator was fitted with, in their order, got "
        "'time zone' as column 0. Write X[list(estimator.feature_names_in_)]."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        adapt(estimator, spaced).predict(spaced[spaced.columns[::-1]])
    message = (
        "X must have the columns that the estimator was fitted with, it lacks 'mean age'. It has "
        "'meanage', 'job', 'balance', 'time zone'."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        adapt(estimator, spaced).predict(spaced.rename(columns={"mean age": "meanage"}))
    scaled = make_pipeline(StandardScaler(), boosted(spaced[["mean age"]], TWO))
    scaled.fit(spaced[["mean age"]], TWO)
    with pytest.raises(InvalidInputError, match=r"it lacks 'mean age'\. It has 'mean_age'"):
        adapt(scaled, spaced[["mean age"]]).predict(under[["mean_age"]])

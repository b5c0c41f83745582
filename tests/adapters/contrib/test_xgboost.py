"""XGBoost."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import FixedThresholdClassifier

from sklearn_probsr import adapt
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.contrib.cases import PLAIN, RNG, TABLE, THREE, TWO, agree, unseen

pytest.importorskip("xgboost", reason="xgboost is not installed")
from xgboost import XGBClassifier, XGBRFClassifier


def boosted(X: Any, y: Any, kind: type = XGBClassifier, **options: Any) -> Any:
    settings = {"n_estimators": 15, "max_depth": 1, "enable_categorical": True, "n_jobs": 1}
    return kind(**(settings | options)).fit(X, y)


KINDS: dict[str, dict[str, Any]] = {
    "stumps": {},
    "constraints": {"max_depth": 3, "interaction_constraints": [[name] for name in TABLE]},
    "forest": {"kind": XGBRFClassifier},
    "dart": {"booster": "dart", "rate_drop": 0.3},
    "margin": {"objective": "binary:logitraw"},
}


@pytest.mark.parametrize("name", KINDS)
def test_two_classes(name: str):
    """With gaps; an unknown category is refused by XGBoost itself."""
    adapted = agree(boosted(TABLE, TWO, **KINDS[name]), unseen(categories=False))
    assert adapted.model.unit_names == tuple(TABLE)


def test_an_unknown_category_is_refused():
    """As XGBoost does."""
    adapted = adapt(boosted(TABLE, TWO), TABLE)
    with pytest.raises(InvalidInputError, match=r"^the estimator knows the categories 'clerk', "):
        adapted.predict(TABLE[:1].assign(job="poet"))


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_several_classes(objective: str):
    """One tree for each class and round."""
    agree(boosted(TABLE, THREE, objective=objective), unseen(categories=False))


def test_what_is_missing():
    """A number may stand for it; in sparse rows it is what they do not hold."""
    numbers = TABLE[PLAIN].fillna(0.0)
    agree(boosted(numbers, TWO, missing=0.0), unseen()[PLAIN].fillna(0.0))
    rows = sparse.random(300, 4, density=0.4, format="csr", random_state=0)
    agree(boosted(rows, (rows.toarray()[:, 0] > 0.3).astype(int)), rows)


def test_numbers_are_rounded_to_32_bits():
    """A cut is where the rounding changes, and told as the 32-bit number."""
    X = np.array([[50.1], [50.3]] * 20)
    estimator = boosted(X, np.tile([0, 1], 20), base_score=0.5)
    assert adapt(estimator, X).units[0].labels[-1].startswith("x0 ≥ 50.3")
    flip = np.float64(np.nextafter(np.float32(50.3), np.float32(0)))
    flip += (np.float64(np.float32(50.3)) - flip) / 2
    rows = flip + np.arange(-5, 6)[:, None] * np.spacing(flip)
    said = agree(estimator, rows).predict(rows)
    assert set(said) == {0, 1}


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_the_linear_booster(load: Any):
    """Its weights in full, and the base score that its intercept_ leaves out."""
    X, y = load(return_X_y=True, as_frame=True)
    estimator = boosted(X, y, booster="gblinear", n_estimators=50, max_depth=None)
    rows = pd.DataFrame({name: RNG.choice(X[name], 2_000) for name in X})
    adapted = adapt(estimator, rows, all_classes=True)
    assert (adapted.predict(rows) == estimator.predict(rows)).all()
    taken = adapt((estimator.coef_, estimator.intercept_), rows, all_classes=True)
    if load is load_breast_cancer:
        assert (taken.predict(rows) != estimator.predict(rows)).any()


def test_wrapped_and_stopped_early():
    """A threshold around it; only the trees that predict uses."""
    estimator = boosted(TABLE, TWO)
    rows = unseen(categories=False)
    agree(FixedThresholdClassifier(estimator, threshold=0.2).fit(TABLE, TWO), rows)
    early = XGBClassifier(
        max_depth=1, n_estimators=40, early_stopping_rounds=2, enable_categorical=True, n_jobs=1
    )
    agree(early.fit(TABLE, TWO, eval_set=[(TABLE[:99], 1 - TWO[:99])], verbose=False), rows)


def test_what_is_not_additive_is_refused():
    """Two columns in a tree, another objective, and categories without names."""
    numbers = TABLE[PLAIN].fillna(40.0)
    pairs = ((numbers["age"] > 50) ^ (numbers["balance"] > 0)).astype(int)
    accents = TABLE[["job"]].astype(str).replace("nurse", "infirmière").astype("category")
    for estimator, message in (
        (
            boosted(numbers, pairs, max_depth=2),
            "XGBClassifier is not additive: a tree of it splits on two columns, 'age' and "
            "'balance'. Fit it with max_depth=1, or interaction_constraints of one column each.",
        ),
        (
            boosted(numbers, TWO, objective="binary:hinge"),
            "XGBClassifier must be fitted on two classes or more by one of the objectives "
            "'binary:logistic', 'binary:logitraw', 'multi:softprob', 'multi:softmax', got "
            "'binary:hinge' and 2 classes: it is not known how it decides.",
        ),
        (
            boosted(RNG.integers(0, 3, (300, 2)), TWO, feature_types=["c", "c"]),
            "XGBClassifier must know its categories by name, got column 0 with codes alone. Fit it "
            "on a frame with columns of dtype category and enable_categorical=True.",
        ),
        (
            boosted(numbers, THREE, multi_strategy="multi_output_tree", tree_method="hist"),
            "XGBClassifier must have one tree for each class. Fit it with "
            "multi_strategy='one_output_per_tree'.",
        ),
    ):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            adapt(estimator)
    with pytest.raises(InvalidInputError, match=r"^the categories of column 0 have letters that "):
        adapt(boosted(accents, TWO))

"""Additive classifiers: one function of each raw column, as exact as a linear one."""

import itertools
import pickle
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import (
    Additive,
    Marginals,
    SufficientReasonExplainer,
    adapt,
    sufficient_reason,
    to_linear_model,
)
from sklearn_probsr.adapters import Categories, Steps
from sklearn_probsr.adapters.registry import _entries
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.extend import register_adapter

TERMS = {
    "age": Steps([30, 45, 60], [-1.0, 0.5, 0.5, 2.0], missing=0.0),
    "job": Categories({"clerk": -1.0, "nurse": 1.5, "cook": -1.0}, missing=0.25, unknown=0.0),
    "debt": np.negative,
}


@pytest.fixture
def registry() -> Any:
    before = dict(_entries)
    yield _entries
    _entries.clear()
    _entries.update(before)


class Points(ClassifierMixin, BaseEstimator):
    """Adds up a function of each column, by itself."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_, self.n_features_in_ = np.unique(y), np.shape(X)[1]
        return self

    def decision_function(self, X: Any) -> Any:
        X = np.asarray(X, dtype=float)
        return np.where(X[:, 0] >= 2, 1.0, -1.0) + np.where(X[:, 1] > 0, 0.25, -2.5) + 0.5

    def predict_proba(self, X: Any) -> Any:
        p = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def test_equal_neighbours_are_merged_and_missing_and_unknown_values_are_states():
    """Facts are as short as what the model tells apart; states are in the order of the values."""
    adapted = adapt(Additive(TERMS, 0.5))
    age, job, debt = adapted.units
    assert age.labels == ("age < 30", "age in [30, 60)", "age ≥ 60", "age is missing")
    assert age.states == ((-1.0,), (0.5,), (2.0,), (0.0,))
    assert job.labels == (
        "job: clerk or cook",
        "job: nurse",
        "job is missing",
        "job: another category",
    )
    assert debt.states is None
    assert debt.coded
    rows = pd.DataFrame(
        {"age": [29, 30, np.nan], "job": ["cook", None, "poet"], "debt": [0.0, 2.0, -1.0]}
    )
    assert adapted.contributions(rows).tolist() == [[-1, -1, 0], [0.5, 0.25, -2], [0, 0, 1]]
    assert adapted.predict(rows).tolist() == [0, 0, 1]
    assert adapted.describe(rows).iloc[2].tolist() == [
        "age is missing",
        "job: another category",
        "debt: -1",
    ]


def test_a_cut_is_told_by_the_shorter_of_two_floats_that_say_the_same():
    """At least the next float is more than the one before."""
    third = np.nextafter(0.3, 1)
    for closed, cut, expected in (
        ("right", np.nextafter(0.3, 0), ("x < 0.3", "x ≥ 0.3")),
        ("left", third, ("x ≤ 0.3", "x > 0.3")),
        ("right", 0.3, ("x ≤ 0.3", "x > 0.3")),
    ):
        adapted = adapt(Additive({"x": Steps([cut], [-1, 1], closed=closed)}))
        assert adapted.units[0].labels == expected
        said = adapted.predict([[np.nextafter(0.3, 0)], [0.3], [third]]).tolist()
        assert said == ([0, 1, 1] if "x < 0.3" in expected else [0, 0, 1])


def test_terms_by_order_by_index_and_by_name():
    """A sequence has one for each column; pairs, mappings and functions are terms too."""
    X = np.array([[1.0, 5.0, 0.0], [3.0, 5.0, 1.0]])
    plain = Additive([([2], [-1, 1]), None, {0: 2, 1: -2}], -0.5)
    assert adapt(plain, X).predict(X).tolist() == [1, 0]
    assert [unit.labels for unit in adapt(plain, X).units] == [
        ("x0 < 2", "x0 ≥ 2"),
        ("x1: any value",),
        ("x2: 0", "x2: 1"),
    ]
    by_index = Additive({0: ([2], [-1, 1]), 2: {0: 2, 1: -2}}, -0.5)
    assert (adapt(by_index, X).predict(X) == [1, 0]).all()
    assert adapt(by_index).feature_names == ("x0", "x1", "x2")
    assert adapt(by_index, feature_names=list("abcd")).feature_names == tuple("abcd")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_name = Additive({"c": {0: 2, 1: -2}, "a": ([2], [-1, 1])}, -0.5)
    assert adapt(by_name, frame).predict(frame).tolist() == [1, 0]
    assert adapt(plain, frame).feature_names == ("a", "b", "c")


@given(
    st.lists(
        st.lists(st.sampled_from([-2.0, -0.3, 0.1, 0.2, 0.3, 1e-300, 5.0]), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([-0.3, 0.0, 0.1]),
    st.data(),
)
def test_reasons_are_those_of_all_sets_in_rationals(
    values: list[list[float]], intercept: float, data: Any
):
    """Uniform over the states of every column: the smallest sets, and their exact guarantees."""
    terms = [Steps(range(len(v) - 1), v) for v in values]
    adapted = adapt(Additive(terms, intercept))
    row = [data.draw(st.integers(-1, len(v) - 2)) + 0.5 for v in values]
    delta = Fraction(9, 10)
    reason = sufficient_reason(adapted.model, adapted.transform([row])[0], delta=0.9)
    worth = [
        [Fraction(f) for f in dict.fromkeys(v)] for v in values
    ]  # equal bins are one state, wherever they are
    own = [Fraction(v[int(np.floor(x)) + 1]) for v, x in zip(values, row, strict=True)]
    level = Fraction(intercept)
    label = sum(own) + level > 0

    def guarantee(fixed: tuple[int, ...]) -> Fraction:
        free = [[own[j]] if j in fixed else worth[j] for j in range(len(own))]
        said = [sum(z) + level > 0 for z in itertools.product(*free)]
        return Fraction(said.count(label), len(said))

    sets = [s for k in range(len(own) + 1) for s in itertools.combinations(range(len(own)), k)]
    smallest = min(len(s) for s in sets if guarantee(s) >= delta)
    assert len(reason.features) == smallest
    assert reason.guarantee.exact == guarantee(tuple(reason.features))


def test_several_classes():
    """Values with a last axis are scores, of which the largest wins; a tie is the first's."""
    terms = [Steps([0], [[1, 0, 0], [0, 1, 0]]), {"a": [0, 0, 2], "b": [0, 0, 0.5]}]
    X = pd.DataFrame({"x": [-1.0, 1.0, 1.0], "job": ["b", "b", "a"]})
    part = Additive(dict(zip(X, terms, strict=True)), [0, 0, 0.5], classes=["p", "q", "r"])
    adapted = adapt(part, X, all_classes=True)
    assert adapted.predict(X).tolist() == ["p", "q", "r"]
    assert adapted.contributions(X).shape == (3, 2, 3)
    pair = adapt(part, X, target="q", versus="p")
    assert pair.predict(X).tolist() == ["p", "q", "q"]
    explanation = SufficientReasonExplainer(part, X)(X)
    assert explanation.prediction.tolist() == ["p", "q", "r"]
    two = Additive([Steps([0], [[1, 0], [0, 1]])], [0.0, 0.25])
    assert adapt(two).model.threshold == -0.25
    assert adapt(two).predict([[-1.0], [1.0]]).tolist() == [0, 1]


def test_an_estimator_of_ones_own(registry: Any):
    """Its terms are compared with its `predict`; wrappers go around it as around linear ones."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 6, (200, 2)).astype(float)
    points = Points().fit(X, np.where(X[:, 0] > 1, "yes", "no"))
    with pytest.raises(InvalidInputError, match=r"^Points is not a classifier that can be adapted"):
        adapt(points, X)

    @register_adapter(Points)
    def of(estimator: Points) -> Additive:
        right = Steps([0], [-2.5, 0.25], closed="right")
        return Additive([([2], [-1, 1]), right], 0.5, probability=expit)

    adapted = adapt(points, X)
    assert (adapted.predict(X) == points.predict(X)).all()
    assert adapted.units[1].labels == ("x1 ≤ 0", "x1 > 0")
    y = points.predict(X)
    for wrapped in (
        FixedThresholdClassifier(points, threshold=0.2, pos_label="yes").fit(X, y),
        CalibratedClassifierCV(points, ensemble=False, cv=2).fit(X, y),
        OneVsRestClassifier(points).fit(X, y),
        make_pipeline(StandardScaler(), points).fit(X, y),
    ):
        assert (adapt(wrapped, X).predict(X) == wrapped.predict(X)).all()
    three = OneVsRestClassifier(points).fit(X, X[:, 1] // 3)
    assert (adapt(three, X, all_classes=True).predict(X) == three.predict(X)).all()
    register_adapter(Points, lambda e: Additive([([2], [-1, 1]), None], 0.5))
    with pytest.raises(InvalidInputError, match=r"^the model disagrees with the estimator in row "):
        adapt(points, X)


def test_in_the_explainer_with_gaps_copies_and_no_data():
    """Raw values are shown; states are as likely as each other without data, or as in it."""
    part = Additive({k: TERMS[k] for k in ("age", "job")}, 0.5)
    X = pd.DataFrame({"age": [20, 50, np.nan, 70.0], "job": ["clerk", "nurse", None, "cook"]})
    explainer = SufficientReasonExplainer(part, delta=0.9)
    assert explainer.expected_value == pytest.approx(0.5 + (1.5 + 0.75) / 4)
    reasons = explainer(X)
    assert reasons.describe(1) == (
        "Class 1 is kept with probability at least 1 over uniform completions, given job: nurse "
        "(1 of 2 features; no smaller set reaches 0.9)."
    )
    again = pickle.loads(pickle.dumps(explainer))(X)
    assert (again.reason_mask == reasons.reason_mask).all()
    assert reasons.display_data[2].tolist() == ["missing", "missing"]
    seen = SufficientReasonExplainer(part, Marginals.fit(X), delta=0.9)(X)
    assert (seen.prediction == reasons.prediction).all()
    assert to_linear_model(part).n_units == 2


def test_functions_of_columns_that_are_0_and_1():
    """Where nothing else is known they are binary, and any function of them is linear."""
    part = Additive({"a": np.exp, "job": {"x": 1, "y": -9}}, -2.0)
    model = to_linear_model(part)
    assert model.units[0].is_binary
    assert model.weights[0] == np.exp(1) - 1
    explainer = SufficientReasonExplainer(part)
    assert explainer([[1, "x"]]).prediction.tolist() == [1]


REFUSED: list[tuple[Any, str]] = [
    (
        lambda: Additive(3),
        "terms must be a sequence of terms, or map columns to them, got 3.",
    ),
    (lambda: Additive([]), "terms must hold at least one term, got none."),
    (
        lambda: Additive([4]),
        "term number 0 must be Steps or a pair (cuts, values), Categories or a mapping, a function "
        "or None, got 4.",
    ),
    (
        lambda: Additive([None], [[1]]),
        "intercept must be one number, or one for each score, got array([[1.]]).",
    ),
    (lambda: Additive([None], "a"), "intercept must be numbers, got 'a'."),
    (
        lambda: Steps([2, 1], [0, 1, 2]),
        "cuts must be finite numbers in increasing order, got [2, 1].",
    ),
    (lambda: Steps(["a"], [0, 1]), "cuts must be numbers, got ['a']."),
    (
        lambda: Steps([1], [0, 1, 2]),
        "values must hold one value more than there are cuts, 2, got an array of shape (3,).",
    ),
    (lambda: Steps([1], [0, np.inf]), "values must be finite, got inf."),
    (
        lambda: Steps([1], [0, 1], closed="both"),
        "closed must be 'left' or 'right', got 'both'.",
    ),
    (
        lambda: Steps([1], [0, 1], missing=[1, 2]),
        "the value of what is missing or unknown must be of shape (), like the others, got [1, 2].",
    ),
    (
        lambda: Categories({}),
        "table must map categories to values, got {}. Write {'clerk': -1.0, 'nurse': 2.0}.",
    ),
    (
        lambda: adapt(Additive([Steps([1], [0, 1]), Steps([1], [[0, 1], [2, 3]])])),
        "Additive must have terms and an intercept of as many scores each, got 1 and 2.",
    ),
    (
        lambda: adapt(Additive([None, None]), [[1, 2, 3]]),
        "X_sample must have one column per raw column, 2, got 3.",
    ),
    (
        lambda: adapt(Additive({"a": None, 1: None}, 0), feature_names=["b", "c"]),
        "Additive has a term of the column 'a', and the columns that reach it are 'b', 'c'.",
    ),
    (
        lambda: adapt(Additive({"a": np.sum})).predict([[1.0]]),
        "the term of 'a' must give an array of shape (1,) for 1 values, got shape ().",
    ),
    (
        lambda: adapt(Additive({"a": {"x": 1, "y": 2}})).predict([["z"]]),
        "the estimator knows the categories 'x', 'y' of 'a', got 'z' in row 0.",
    ),
    (
        lambda: adapt(Additive({"a": {"x": 1}})).predict([[None]]),
        "the estimator knows no missing category of 'a', got None in row 0.",
    ),
    (
        lambda: adapt(Additive({"a": ([1], [0, 1])})).predict([[2.0], [np.nan]]),
        "X must hold finite numbers, got nan in row 1, column 'a'. Fill in or drop what is "
        "missing.",
    ),
    (
        lambda: adapt(Additive({"a": ([1], [0, 1])})).predict([["old"]]),
        "X must hold finite numbers, got the text 'old' in row 0, column 'a'. Write it as a "
        "number, or let a step of the Pipeline encode it.",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_is_wrong_is_said(make: Any, message: str):
    """Terms are checked where they are made, raw values where they come."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        make()

"""Guarantees over background rows, against classifying every row and trying every set."""

import pickle
import re
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import (
    Background,
    LinearModel,
    Unit,
    guarantee,
    guarantee_curve,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.rows.search import Search
from tests.interpreted import examples
from tests.oracle import Case, background_guarantee
from tests.strategies import backgrounds, cases, levels, models


def fractions(rows: list[list[int]], weights: list[float] | None) -> list[Fraction]:
    return [decimal_fraction(w) for w in weights] if weights else [Fraction(1)] * len(rows)


def exact_minimum(
    case: Case, rows: list[list[int]], weights: list[Fraction], delta: Fraction
) -> int:
    """Return the least size of any set that reaches delta."""
    for size in range(case.d + 1):
        for features in combinations(range(case.d), size):
            if background_guarantee(case, features, rows, weights) >= delta:
                return size
    raise AssertionError("the whole instance always keeps its class")


@settings(max_examples=examples(300))
@given(cases(largest=7), levels(), st.data())
def test_the_minimum_over_rows(case: Case, delta: float, data: st.DataObject):
    """The share is exact, and the set is as small as any: few features are always proved."""
    rows, weights = data.draw(backgrounds(case.d))
    reason = sufficient_reason(
        models(case), case.x, delta=delta, distribution=Background(rows, weights)
    )
    parts = fractions(rows, weights)
    assert reason.guarantee.exact == background_guarantee(case, reason.features, rows, parts)
    assert reason.guarantee >= delta
    assert reason.minimality == "minimum"
    assert reason.size == exact_minimum(case, rows, parts, decimal_fraction(delta))


@given(cases(largest=6), st.data())
def test_the_best_set_of_its_size_is_preferred(case: Case, data: st.DataObject):
    """Among the sets of the least size, none keeps more rows."""
    rows, weights = data.draw(backgrounds(case.d))
    reason = sufficient_reason(
        models(case), case.x, delta=0.6, distribution=Background(rows, weights)
    )
    parts = fractions(rows, weights)
    sets = combinations(range(case.d), reason.size)
    best = max(background_guarantee(case, s, rows, parts) for s in sets)
    assert reason.guarantee.exact == best


@settings(max_examples=examples(200))
@given(cases(largest=6), levels(), st.data())
def test_constraints_over_rows(case: Case, delta: float, data: st.DataObject):
    """Forced in, forced out and at most so many, against all sets that qualify."""
    rows, weights = data.draw(backgrounds(case.d))
    parts = fractions(rows, weights)
    index = st.integers(0, case.d - 1)
    include = data.draw(st.sets(index, max_size=2))
    exclude = data.draw(st.sets(index, max_size=2)) - include
    max_size = data.draw(st.none() | st.integers(len(include), case.d))
    others = [i for i in range(case.d) if i not in include and i not in exclude]
    shares = {
        size: max(
            background_guarantee(case, {*include, *s}, rows, parts)
            for s in combinations(others, size - len(include))
        )
        for size in range(len(include), len(include) + len(others) + 1)
    }
    level = decimal_fraction(delta)
    enough = [size for size, share in shares.items() if share >= level]
    arguments: dict[str, Any] = {
        "delta": delta,
        "distribution": Background(rows, weights),
        "include": include,
        "exclude": exclude,
        "max_size": max_size,
    }
    if not enough and max_size is None:
        with pytest.raises(UnreachableError, match="background row"):
            sufficient_reason(models(case), case.x, **arguments)
        return
    reason = sufficient_reason(models(case), case.x, **arguments)
    assert include <= set(reason.features)
    assert not exclude & set(reason.features)
    if enough and (max_size is None or enough[0] <= max_size):
        assert reason.minimality == "minimum"
        assert reason.size == enough[0]
    else:
        assert reason.minimality == "best-of-size"
        assert max_size is not None
        assert reason.size <= max_size
        assert reason.guarantee.exact == max(s for size, s in shares.items() if size <= max_size)


@given(cases(largest=8), st.data())
def test_the_curve_over_rows(case: Case, data: st.DataObject):
    """Every share along the order is exact, and fixing more helpful features never lowers it."""
    rows, weights = data.draw(backgrounds(case.d))
    curve = guarantee_curve(models(case), case.x, distribution=Background(rows, weights))
    order, parts = curve.order.tolist(), fractions(rows, weights)
    assert sorted(order) == list(range(case.d))
    for k in range(case.d + 1):
        truth = background_guarantee(case, order[:k], rows, parts)
        assert Fraction(curve.lower[k]) <= truth <= Fraction(curve.upper[k])
    assert (np.diff(curve.lower) >= 0).all()


@pytest.mark.smoke
def test_a_share_is_a_decimal():
    """36 of 40 rows are nine tenths, though 0.9 is no float."""
    rows = [[1]] * 36 + [[0]] * 4
    model = LinearModel([1.0], 0.5)
    reason = sufficient_reason(model, [1], delta=0.9, distribution=Background(rows))
    assert reason.features == ()
    assert reason.guarantee.exact == Fraction(9, 10)
    assert str(reason) == (
        "Class 1 is kept with probability at least 0.9 over replacement by 40 background rows, "
        "whatever the features are (0 of 1 feature; no smaller set reaches 0.9)."
    )
    assert sufficient_reason(model, [1], delta=0.9001, distribution=Background(rows)).size == 1


def breast_cancer() -> tuple[LinearModel, np.ndarray, np.ndarray]:
    data, target = load_breast_cancer(return_X_y=True)
    rows = (data > np.median(data, axis=0)).astype(int)
    fitted = LogisticRegression().fit(rows[:400], target[:400])
    return (
        LinearModel(fitted.coef_.ravel(), -fitted.intercept_, strict=True),
        rows[:400],
        rows[400:],
    )


def test_breast_cancer_is_proved_and_differs_from_coin_flips():
    """All reasons are minimum; the uniform ones keep the class in far fewer than 95% of rows."""
    model, train, test = breast_cancer()
    background = Background(train)
    found = sufficient_reasons(model, test[:60], distribution=background)
    assert (found.minimality == "minimum").all()
    assert (found.lower >= 0.95).all()
    uniform = sufficient_reasons(model, test[:60])
    shares = [
        guarantee(model, row, reason.features, distribution=background).lower
        for row, reason in zip(test, uniform, strict=False)
    ]
    assert 0.6 < np.mean(shares) < 0.9


def test_no_larger_than_a_prefix_of_the_signed_shap_order():
    """Sorting by mean deficit, the signed SHAP value, never needs fewer features."""
    model, train, test = breast_cancer()
    background = Background(train)
    found = sufficient_reasons(model, test[:40], distribution=background)
    for row, reason in zip(test, found, strict=False):
        sign = 1 if reason.prediction == 1 else -1
        order = np.argsort(-sign * model.weights * (row - train.mean(axis=0)), kind="stable")
        k = next(
            k
            for k in range(31)
            if guarantee(model, row, order[:k], distribution=background) >= 0.95
        )
        assert reason.size <= k


def test_what_is_not_proved_is_subset_minimal():
    """At d = 60 the budget may end: then every single feature is still needed."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(60)
    model = LinearModel(weights, float(weights.sum() / 2))
    background = Background(rng.integers(0, 2, (500, 60)))
    found = sufficient_reasons(model, rng.integers(0, 2, (10, 60)), distribution=background)
    assert set(found.minimality) <= {"minimum", "subset-minimal"}
    for row, reason in zip(found.rows, found, strict=True):
        assert reason.guarantee >= 0.95
        for i in reason.features:
            rest = set(reason.features) - {i}
            assert guarantee(model, row, rest, distribution=background) < 0.95


def test_magnitudes_beyond_64_bits_are_counted_exactly():
    """1e300 beside 1e-300: near-ties are looked at with all their digits."""
    model = LinearModel([1e300, -1e300, 1e-300, 2e-300], 1e-300)
    x = [1, 1, 1, 0]
    rows = [[1, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 1, 1]]
    case = Case(tuple(model.weights), model.threshold, False, tuple(x))
    for size in range(5):
        for features in combinations(range(4), size):
            found = guarantee(model, x, features, distribution=Background(rows))
            assert found.exact == background_guarantee(case, features, rows, [Fraction(1)] * 5)


def test_rows_do_not_depend_on_each_other():
    """Any chunking gives the same answers, and a background travels."""
    model, train, test = breast_cancer()
    background = Background(train)
    whole = sufficient_reasons(model, test[:8], distribution=background)
    travelled = pickle.loads(pickle.dumps(background))
    for i in range(8):
        assert (
            sufficient_reason(model, test[i], distribution=travelled).features == whole[i].features
        )


BAD_BACKGROUNDS: list[tuple[Any, Any, str]] = [
    (
        [],
        None,
        "A background must have at least one row, got none.",
    ),
    (np.zeros((0, 2)), None, "A background must have at least one row, got none."),
    ([[]], None, "A background must have at least one column, got none."),
    ([[0], [0, 1]], None, "A background must have rows of equal length."),
    (
        pd.DataFrame([[1, pd.NA]]),
        None,
        "A background must hold finite numbers, got <NA> in row 0, column '1'. Fill in or drop "
        "what is missing.",
    ),
    (
        [[0, np.nan]],
        None,
        "A background must hold finite numbers, got nan in row 0, column '1'. Fill in or drop "
        "what is missing.",
    ),
    (
        pd.DataFrame({"age": ["old"], "sex": [1]}),
        None,
        "A background must hold finite numbers, got the text 'old' in row 0, column 'age'. Write "
        "it as a number, or let a step of the Pipeline encode it.",
    ),
    (
        [[0, 1]],
        [1, 2],
        "weights must hold one number per background row, 1, got shape (2,).",
    ),
    ([[0, 1]], [-1.0], "weights must not be negative, got -1.0 in row 0."),
    ([[0, 1]], [0.0], "weights must not all be zero."),
    ([[0, 1]], [np.nan], "weights must be finite numbers."),
    (
        [[0, 1]] * 60,
        np.random.default_rng(0).random(60),
        "weights have too many digits to be counted exactly together. "
        "Round them, for instance with numpy.round(weights, 9).",
    ),
]


@pytest.mark.parametrize(("rows", "weights", "message"), BAD_BACKGROUNDS)
def test_a_wrong_background_gets_one_clear_error(rows: Any, weights: Any, message: str):
    """What was wrong, what was received, what to do."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        _ = Background(rows, weights).rows


def test_a_background_must_fit_the_model():
    """Other columns and sampling methods are refused; those of a frame are found by name."""
    model = LinearModel([1.0, 2.0], 1.5, feature_names=["a", "b"])
    message = "The background must have the model's columns, 2, got 3."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        guarantee(model, [1, 0], [], distribution=Background([[0, 1, 1]]))
    frame = pd.DataFrame({"b": [1, 0], "c": [7, 8], "a": [0, 0]})
    known = guarantee(model, [1, 1], ["a"], distribution=Background(frame))
    assert known.exact == Fraction(1, 2), "columns are taken by name"
    message = (
        "A background must be 0 or 1 in every column, got 40 in row 0, column 'a'. Binarize it as "
        "the instances are, or declare units."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        guarantee(model, [1, 0], [], distribution=Background([[40, 0]]))
    message = (
        "method='paper' is for uniform binary features, got Background(<1 rows, 2 columns>). "
        "Use method='certified' or 'monte-carlo'."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        sufficient_reason(model, [1, 0], method="paper", distribution=Background([[0, 1]]))


def test_how_a_background_names_itself():
    """The words that stand beside every probability."""
    assert str(Background([[0]])) == "replacement by 1 background row"
    assert str(Background([[0], [1]], [1, 2])) == "replacement by 2 weighted background rows"
    assert repr(Background([[0, 1]])) == "Background(<1 rows, 2 columns>)"


# --- found by an audit -------------------------------------------------------------------------

COVER = """
11110101011000111 11100001011011111 11100111011000111 11001001011011111 11111110011000011
11001010011011111 11111111101000001 11001011101001111 11110101101000111 11111111101000001
11011101101000111 11011010101001111 11111111110000001 11101110110000111 11010000110111111
11001111110000111 11110100110001111 11110000110011111
"""
OTHER_COVER = """
01101110111000111 01100110111001111 01111010011001111 01100011110011111 01101101111000111
01100000111111111 01111101101000111 10111110011000111 10111110100001111 10111011100001111
10100101101011111 10100011001111111 10111010100011111 10110010010111111 11011110110000111
11011101001001111 11010101010011111 11001111011000111 11010111111000011 11011001110001111
11010101001011111
"""


def cover(text: str, copies: int) -> Background:
    rows = np.array([[int(digit) for digit in row] for row in text.split()])
    return Background(np.repeat(rows, copies, axis=0))


def test_a_set_found_by_a_search_that_ends_early_is_pruned():
    """Branch and bound may take what it does not need; the answer does not keep it."""
    model, x = LinearModel(np.ones(17), 12), np.ones(17, dtype=int)
    background = cover(COVER, 226)
    reason = sufficient_reason(model, x, delta=1, distribution=background, exclude=range(11, 17))
    for i in reason.features:
        rest = set(reason.features) - {i}
        assert guarantee(model, x, rest, distribution=background) < 1


def test_a_best_set_that_reaches_delta_says_so():
    """Cut short by max_size, a set that reaches delta after all is no mere best-of-size."""
    model, x = LinearModel(np.ones(17), 12), np.ones(17, dtype=int)
    background = cover(OTHER_COVER, 1083)
    reason = sufficient_reason(
        model, x, delta=1, distribution=background, exclude=range(11, 17), max_size=3
    )
    assert (reason.minimality == "best-of-size") == (reason.guarantee < 1).value


def test_near_ties_of_long_integers_are_searched_exactly():
    """Where cut digits mislead the bound, the few sets there are are tried one by one."""
    weights = [3e-300, -2e300, 2e300, -1.0, 1e-300, 1.0, -1.0, 2e300]
    rows = [
        "01011110",
        "11110111",
        "11000101",
        "10100000",
        "11000010",
        "01110001",
        "11111011",
        "11100100",
        "01011001",
        "01101110",
    ]
    background = Background([[int(digit) for digit in row] for row in rows])
    reason = sufficient_reason(
        LinearModel(weights, 2e300),
        [0, 0, 1, 0, 0, 1, 0, 0],
        delta=0.99,
        distribution=background,
        max_size=3,
    )
    assert reason.guarantee >= 0.99


def test_single_precision_weights_are_decimals_too():
    """0.1 in single precision prints as 0.1, so it is one tenth."""
    assert Background([[1], [0]], np.array([0.1, 0.9], np.float32)).weights.tolist() == [1, 9]


def test_most_minima_are_proved_by_default():
    """A hundred Gaussian weights and 1,000 rows: of 40 reasons, 38 are proved to be minimum."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(100)
    rows = rng.integers(0, 2, (1_040, 100))
    model = LinearModel(weights, float(weights.sum()) / 2)
    found = sufficient_reasons(model, rows[:40], distribution=Background(rows[40:]))
    assert np.count_nonzero(found.minimality == "minimum") >= 38


def test_hundreds_of_sizes_cost_no_look_each(monkeypatch: pytest.MonkeyPatch):
    """Those that no table has room for are passed over, and one pass proves what is needed."""
    asked: list[str] = []
    plain = Search.__init__

    def noted(self: Search, *args: Any) -> None:
        asked.append("search")
        plain(self, *args)

    monkeypatch.setattr(Search, "__init__", noted)
    d = 1500
    rows = np.random.default_rng(0).normal(-0.3, 0.3, (10, d))
    model = LinearModel(np.ones(d), -225, units=[Unit.real(f"x{j}", j) for j in range(d)])
    found = sufficient_reason(model, np.zeros(d), delta=0.9, distribution=Background(rows))
    assert found.minimality == "locally-minimal"
    assert found.size - found.size_lower > 100
    assert len(asked) < 10


def test_what_no_set_found_reaches_is_not_called_out_of_reach():
    """Where a search ends before a set that reaches delta, it speaks of the sets that it found."""
    rows = [
        [1, 2, -1, -2, -2, 1], [0, -2, 1, -2, 1, 2], [0, 1, 0, -1, 2, 0], [-2, 0, 1, -1, -1, -2],
        [0, -1, -2, -2, 2, -2], [-2, 2, 0, -2, 0, 0], [2, 0, 1, 0, 0, 2],
    ]  # fmt: skip
    units = [Unit.real(f"x{j}", j) for j in range(6)]
    model, x = LinearModel([-1, 0, 2, -1, 3, 2], -2.0, units=units), [-1, 1, -1, -1, 0, 0]
    asked: dict[str, Any] = {"delta": 1, "distribution": Background(rows), "exclude": [0]}
    message = (
        "delta = 1 is not reached by any set found for row 0 without the features in exclude: the "
        "best guarantee found is [0.857142, 0.857143] (replacement by 7 background rows). Exclude "
        "fewer features, lower delta, or set max_size to get the best set all the same."
    )
    with pytest.raises(UnreachableError, match=f"^{re.escape(message)}$"):
        sufficient_reason(model, x, prove=False, max_evals=0, **asked)
    assert set(sufficient_reason(model, x, **asked).features) == {4, 5}

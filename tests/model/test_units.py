"""Units: features of several columns, many values, or real numbers, against exact rationals."""

import pickle
import re
from collections.abc import Callable, Iterable
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
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Product,
    Uniform,
    Unit,
    guarantee,
    guarantee_curve,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.independent import unit_laws
from sklearn_probsr.model.numbers import decimal_fraction
from tests.interpreted import examples
from tests.oracle import UnitCase
from tests.strategies import levels, unit_models

Drawn = tuple[LinearModel, UnitCase, list[list[float]]]
Truth = Callable[[Iterable[int]], Fraction]


def laws_of(drawn: Drawn, kind: str) -> tuple[Any, Truth]:
    """Return a distribution, and the exact guarantee of any set under it."""
    model, case, rows = drawn
    ones = [Fraction(1)] * len(rows)
    if kind == "background":
        return Background(rows), lambda s: case.joint(s, rows, ones)
    if kind == "uniform" and all(unit.states is not None for unit in model.units or ()):
        laws = []
        for u, unit in enumerate(model.units or ()):
            law: dict[Fraction, Fraction] = {}
            for state in unit.states or ():
                row = np.zeros(model.n_features)
                row[list(unit.columns)] = state
                value = case.worth(u, row.tolist())
                law[value] = law.get(value, Fraction(0)) + Fraction(1, len(unit.states or ()))
            laws.append(law)
        return Uniform(), lambda s: case.independent(s, laws)
    laws = case.marginals(rows, ones)
    return Marginals.fit(rows), lambda s: case.independent(s, laws)


KINDS = st.sampled_from(["background", "marginals", "uniform"])


def sets_of(n: int, size: int) -> Iterable[tuple[int, ...]]:
    return combinations(range(n), size)


def minimum_size(n: int, truth: Truth, delta: Fraction) -> int:
    """Return the least size of any set of units that reaches delta."""
    return next(k for k in range(n + 1) if any(truth(s) >= delta for s in sets_of(n, k)))


def check_claim(n: int, features: Iterable[int], word: str, truth: Truth, delta: Fraction) -> None:
    """Check by brute force that what was said of a set is true."""
    chosen = set(features)
    assert truth(chosen) >= delta
    if word == "minimum":
        assert len(chosen) == minimum_size(n, truth, delta)
    if word in {"subset-minimal", "minimum"}:
        for size in range(len(chosen)):
            assert all(truth(s) < delta for s in combinations(sorted(chosen), size))
    if word == "locally-minimal":
        assert all(truth(chosen - {u}) < delta for u in chosen)


@settings(max_examples=examples(400))
@given(unit_models(), KINDS, levels(), st.data())
def test_the_minimum_over_units(drawn: Drawn, kind: str, delta: float, data: st.DataObject):
    """Few units are always proved; every enclosure holds the exact rational."""
    model, case, _ = drawn
    law, truth = laws_of(drawn, kind)
    level = decimal_fraction(delta)
    reason = sufficient_reason(model, case.x, delta=delta, distribution=law)
    exact = truth(reason.features)
    assert Fraction(reason.guarantee.lower) <= exact <= Fraction(reason.guarantee.upper)
    assert reason.minimality == "minimum"
    check_claim(model.n_units, reason.features, reason.minimality, truth, level)
    features = data.draw(st.sets(st.integers(0, model.n_units - 1)))
    assert guarantee(model, case.x, features, distribution=law).exact == truth(features)


@settings(max_examples=examples(200))
@given(unit_models(), st.sampled_from(["marginals", "uniform"]), levels())
def test_spectra_never_say_more_than_is_true(drawn: Drawn, kind: str, delta: float):
    """The tables of large models, forced on small ones, where everything can be checked."""
    model, case, _ = drawn
    law, truth = laws_of(drawn, kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_laws, "_FEW_UNITS", 0)
        reason = sufficient_reason(model, case.x, delta=delta, distribution=law)
    exact = truth(reason.features)
    assert Fraction(reason.guarantee.lower) <= exact <= Fraction(reason.guarantee.upper)
    check_claim(model.n_units, reason.features, reason.minimality, truth, decimal_fraction(delta))


@settings(max_examples=examples(150))
@given(unit_models(4), KINDS, levels(), st.data())
def test_constraints_over_units(drawn: Drawn, kind: str, delta: float, data: st.DataObject):
    """Forced in, forced out and at most so many, against all sets that qualify."""
    model, case, _ = drawn
    law, truth = laws_of(drawn, kind)
    index = st.integers(0, model.n_units - 1)
    include = data.draw(st.sets(index, max_size=2))
    exclude = data.draw(st.sets(index, max_size=2)) - include
    max_size = data.draw(st.none() | st.integers(len(include), model.n_units))
    others = [u for u in range(model.n_units) if u not in include | exclude]
    shares = {
        size: max(truth({*include, *s}) for s in combinations(others, size - len(include)))
        for size in range(len(include), len(include) + len(others) + 1)
    }
    level = decimal_fraction(delta)
    enough = [size for size, share in shares.items() if share >= level]
    arguments: dict[str, Any] = {
        "delta": delta, "distribution": law,
        "include": include, "exclude": exclude, "max_size": max_size,
    }  # fmt: skip
    if not enough and max_size is None:
        with pytest.raises(UnreachableError):
            sufficient_reason(model, case.x, **arguments)
        return
    reason = sufficient_reason(model, case.x, **arguments)
    assert include <= set(reason.features)
    assert not exclude & set(reason.features)
    if enough and (max_size is None or enough[0] <= max_size):
        assert (reason.minimality, reason.size) == ("minimum", enough[0])
    else:
        assert reason.minimality == "best-of-size"
        assert max_size is not None
        best = max(share for size, share in shares.items() if size <= max_size)
        assert truth(reason.features) <= best


@given(unit_models(), KINDS)
def test_the_curve_over_units(drawn: Drawn, kind: str):
    """Every size along the order is enclosed, also where the curve falls."""
    model, case, _ = drawn
    law, truth = laws_of(drawn, kind)
    curve = guarantee_curve(model, case.x, distribution=law)
    order = curve.order.tolist()
    assert sorted(order) == list(range(model.n_units))
    for k in range(model.n_units + 1):
        exact = truth(order[:k])
        assert Fraction(curve.lower[k]) <= exact <= Fraction(curve.upper[k])


@pytest.mark.smoke
def test_guarantees_need_not_grow_with_the_set():
    """Two units with D = +1 (6%), 0 (4%), -5 (90%) and m = 0.5: both, one or none of them."""
    rows = np.repeat([[0.0], [1.0], [6.0]], [6, 4, 90], axis=0)
    model = LinearModel([1.0, 1.0], 1.5, units=[Unit.real("a", 0), Unit.real("b", 1)])
    law = Marginals.fit(np.hstack([rows, rows]))
    curve = guarantee_curve(model, [1.0, 1.0], distribution=law)
    assert curve.lower.tolist() == pytest.approx([0.9916, 0.94, 1.0], abs=1e-12)
    reason = sufficient_reason(model, [1.0, 1.0], delta=0.95, distribution=law)
    assert (reason.features, reason.minimality) == ((), "minimum")
    assert sufficient_reason(model, [1.0, 1.0], delta=0.995, distribution=law).size == 2


def test_uniform_over_a_one_hot_unit_counts_the_dropped_category():
    """Three columns are three categories, or four if one was dropped."""
    for dropped, share in ((False, Fraction(1, 3)), (True, Fraction(1, 4))):
        unit = Unit.one_hot("job", range(3), dropped=dropped)
        model = LinearModel([1.0, 0.0, 0.0], 0.5, units=[unit])
        assert guarantee(model, [1, 0, 0], [], distribution=Uniform()).exact == share


def test_binary_units_are_the_uniform_core():
    """Units that are single 0/1 columns, in any order, give the plain model's answers."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(40)
    order = rng.permutation(40)
    plain = LinearModel(weights, 0.3)
    named = LinearModel(weights, 0.3, units=[Unit.binary(f"u{j}", j) for j in order])
    rows = rng.integers(0, 2, (20, 40))
    first, second = sufficient_reasons(plain, rows), sufficient_reasons(named, rows)
    assert (first.mask[:, order] == second.mask).all()
    assert (second.minimality == "minimum").all()
    assert first[0].partial_instance.tolist() == pytest.approx(
        second[0].partial_instance.tolist(), nan_ok=True
    )
    assert guarantee(named, rows[0], ["u3"]) == guarantee(plain, rows[0], [3])
    product = Product(np.full(40, 0.5))
    assert (sufficient_reasons(named, rows[:3], distribution=product).size <= first.size[:3]).all()


def test_marginals_of_binary_features_are_the_fitted_product():
    """The same numbers by two names."""
    rng = np.random.default_rng(1)
    data = rng.integers(0, 2, (50, 6))
    model = LinearModel(rng.standard_normal(6), 0.1)
    for features in ([], [0], [1, 4], [0, 2, 3]):
        one = guarantee(model, data[0], features, distribution=Marginals.fit(data))
        assert one == guarantee(model, data[0], features, distribution=Product.fit(data))


def real_model(weights: np.ndarray, threshold: float) -> LinearModel:
    units = [Unit.real(f"r{i}", i) for i in range(len(weights))]
    return LinearModel(weights, threshold, units=units)


def test_contributions_far_beyond_the_data_are_counted():
    """Two values of 1e9 among rows of size 1: one of them alone never keeps the class."""
    law = Marginals.fit(np.random.default_rng(0).normal(size=(60, 30)))
    model, x = real_model(np.ones(30), 1.8e9), np.zeros(30)
    x[:2] = 1e9
    assert guarantee(model, x, [0], distribution=law).exact == 0
    reason = sufficient_reason(model, x, distribution=law)
    assert (sorted(reason.features), reason.minimality) == ([0, 1], "minimum")
    x[:3] = 1e9, -1.1e9, 0.2e9
    assert guarantee(real_model(np.ones(30), -12.0), x, [0, 1], distribution=law).exact == 0


@pytest.mark.parametrize("d", [40, 120])
def test_what_never_varies_may_be_the_reason(d: int):
    """Columns that are blank in the data and filled in the row cost for certain."""
    rng = np.random.default_rng(d)
    data = rng.random((300, d)) < rng.uniform(0.1, 0.9, d)
    data[:, : d // 4] = False
    weights = rng.standard_normal(d)
    model, law = LinearModel(weights, float(weights @ data.mean(axis=0))), Marginals.fit(data)
    rows = rng.random((5, d)) < 0.5
    for row, reason in zip(rows, sufficient_reasons(model, rows, distribution=law), strict=True):
        sign = 1 if reason.prediction == 1 else -1
        order = np.argsort(-sign * weights * (row - data.mean(axis=0)), kind="stable")
        for k in range(reason.size):  # no shorter prefix by mean cost does
            assert not (guarantee(model, row, order[:k], distribution=law) >= 0.95).value


def test_a_row_may_have_reasons_that_others_have_not():
    """200 units, of which this row needs two that hardly vary in the data."""
    data = np.random.default_rng(3).normal(size=(100, 200))
    data[:, :2] *= 0.01
    x = np.zeros(200)
    x[:2] = 20
    model, law = real_model(np.ones(200), 20.0), Marginals.fit(data)
    reason = sufficient_reason(model, x, delta=0.9, distribution=law)
    assert sorted(reason.features) == [0, 1]
    forced = sufficient_reason(model, x, delta=0.9, distribution=law, include=[7])
    assert sorted(forced.features) == [0, 1, 7]


def test_certainty_over_independent_units_is_a_minimum():
    """delta = 1 needs no probability: the largest costs are fixed until the rest fits."""
    rng = np.random.default_rng(5)
    data = rng.integers(-3, 4, (40, 7)).astype(float)
    model, law = real_model(rng.integers(-4, 5, 7).astype(float), 1.0), Marginals.fit(data)
    case = UnitCase(tuple(model.weights), 1.0, False, tuple((i,) for i in range(7)), tuple(data[0]))
    laws = case.marginals(data.tolist(), [Fraction(1)] * 40)
    reason = sufficient_reason(model, data[0], delta=1, distribution=law)
    assert (reason.guarantee.exact, reason.minimality) == (1, "minimum")
    least = minimum_size(7, lambda s: case.independent(s, laws), Fraction(1))
    assert reason.size == least


def test_a_product_is_in_the_order_of_the_columns():
    """Units in another order than their columns do not mix the probabilities up."""
    model = LinearModel([1.0, 10.0], 5.0, units=[("b", [1]), ("a", [0])])
    data = [[1, 0], [1, 0], [1, 1], [0, 0]]
    for law in (Product.fit(data), Marginals.fit(data), Background(data)):
        assert guarantee(model, [1, 1], [], distribution=law).exact == Fraction(1, 4)


def test_a_width_that_is_asked_for_is_kept():
    """tol also means something over marginals."""
    rng = np.random.default_rng(2)
    model, law = LinearModel(rng.standard_normal(30), 0.2), Product(np.round(rng.random(30), 2))
    x = rng.integers(0, 2, 30)
    narrow = guarantee(model, x, [0, 1], distribution=law, tol=1e-9)
    assert narrow.width <= 1e-9


@pytest.fixture(scope="module")
def tumours() -> tuple[LinearModel, np.ndarray]:
    """A logistic regression on raw breast cancer data, the scaling folded in."""
    data, target = load_breast_cancer(return_X_y=True)
    scaler = StandardScaler().fit(data[:400])
    fitted = LogisticRegression().fit(scaler.transform(data[:400]), target[:400])
    weights = fitted.coef_.ravel() / scaler.scale_
    names = load_breast_cancer().feature_names
    units = [Unit.real(name, i) for i, name in enumerate(names)]
    threshold = float(weights @ scaler.mean_ - fitted.intercept_[0])
    return LinearModel(weights, threshold, strict=True, units=units), data


@pytest.mark.parametrize("law", [Background, Marginals])
def test_raw_columns_of_real_data(tumours: tuple[LinearModel, np.ndarray], law: Any):
    """30 real-valued units: strict, locally minimal, and no longer than the signed SHAP prefix."""
    model, data = tumours
    law = law(data[:400])
    rows = data[400:440]
    means = data[:400].mean(axis=0)
    for row, reason in zip(rows, sufficient_reasons(model, rows, distribution=law), strict=True):
        assert reason.guarantee.lower >= 0.95
        for u in reason.features:
            rest = set(reason.features) - {u}
            assert not (guarantee(model, row, rest, distribution=law) >= 0.95).value
        sign = 1 if reason.prediction == 1 else -1
        order = np.argsort(-sign * model.weights * (row - means), kind="stable")
        for k in range(reason.size):
            assert not (guarantee(model, row, order[:k], distribution=law) >= 0.95).value


def test_monte_carlo_agrees_with_the_proof(tumours: tuple[LinearModel, np.ndarray]):
    """A batch of samples finds a prefix that really is within epsilon; gamma 1e-6, fixed seed."""
    model, data = tumours
    for law in (Background(data[:400]), Marginals.fit(data[:400])):
        found = sufficient_reasons(
            model, data[400:404], distribution=law, method="monte-carlo", epsilon=0.02,
            gamma=1e-6, random_state=0,
        )  # fmt: skip
        assert set(found.minimality) == {"near-prefix-minimal"}
        assert (found.samples > 10_000).all()
        for row, reason in zip(data[400:404], found, strict=True):
            truth = guarantee(model, row, reason.features, distribution=law)
            assert truth.upper >= 0.93
            assert reason.guarantee.lower == pytest.approx(0.93)
            assert "no fewer by mean cost reach 0.95 + 0.02" in str(reason)
    binary = LinearModel([3.0, 2.0, -1.0], 2.5)
    coins = Product([0.2, 0.5, 0.7])
    one = sufficient_reason(
        binary, [1, 1, 0], delta=0.8, distribution=coins, method="monte-carlo", random_state=1
    )
    assert one.size == sufficient_reason(binary, [1, 1, 0], delta=0.8, distribution=coins).size
    best = sufficient_reason(
        binary, [1, 1, 0], delta=0.99, distribution=coins, method="monte-carlo", max_size=0,
        random_state=1,
    )  # fmt: skip
    assert best.minimality == "best-of-size"
    assert best.guarantee.lower <= guarantee(binary, [1, 1, 0], [], distribution=coins).lower
    with pytest.raises(UnreachableError, match="is not reached by the estimate"):
        sufficient_reason(
            binary, [1, 1, 0], delta=0.99, distribution=coins, method="monte-carlo",
            exclude=[0, 1, 2],
        )  # fmt: skip


def test_a_reason_says_what_its_units_are():
    """Labels where there are some, numbers where there are none, and NaN in the other columns."""
    units = [
        Unit.one_hot("job", [0, 1], labels=["job: clerk", "job: nurse"]),
        Unit.real("age", 2),
        Unit.binary("smoker", 3, labels=["non-smoker", "smoker"]),
    ]
    model = LinearModel([4.0, -4.0, 0.5, -2.0], 1.0, units=units, classes=("no", "yes"))
    data = [[1, 0, 3.5, 0], [0, 1, 2.0, 1], [1, 0, 1.0, 1], [0, 1, 4.0, 0]]
    reason = sufficient_reason(model, [1, 0, 3.5, 0], delta=1.0, distribution=Background(data))
    assert reason.facts == ("job: clerk",)
    assert reason.feature_names == ("job",)
    assert reason.partial_instance.tolist() == pytest.approx([1, 0, np.nan, np.nan], nan_ok=True)
    assert str(reason) == (
        "Class yes is kept with probability at least 1 over replacement by 4 background rows, "
        "given job: clerk (1 of 3 features; no smaller set reaches 1.0)."
    )
    assert units[1].describe([3.5]) == "age = 3.5"
    assert units[2].describe([0]) == "non-smoker"
    assert Unit.one_hot("job", [3, 4]).describe([0, 1]) == "job is in column 4"
    assert Unit.one_hot("job", [3, 4], dropped=True).describe([0, 0]) == "job = (0, 0)"
    assert pickle.loads(pickle.dumps(model)) == model
    assert model.unit_names == ("job", "age", "smoker")


def test_units_can_be_written_in_several_ways():
    """Pairs in either order, a mapping, plain groups and Unit objects mean the same."""
    expected = (Unit.binary("a", 0), Unit.one_hot("b", [1, 2]))
    for units in (
        [("a", [0]), ("b", [1, 2])],
        [([0], "a"), ((1, 2), "b")],
        {"a": 0, "b": [1, 2]},
        [Unit.binary("a", 0), ("b", (1, 2))],
    ):
        assert LinearModel([1.0, 2.0, 3.0], 0, units=units).units == expected
    unnamed = LinearModel([1.0, 2.0, 3.0], 0, units=[[0], [1, 2]])
    assert unnamed.unit_names == ("u0", "u1")


BAD_UNITS: list[tuple[Any, str]] = [
    (5, "units must be a sequence of Unit objects or of (name, columns) pairs, got 5."),
    (["ab"], "units must be a sequence of Unit objects or of (name, columns) pairs, got 'ab'."),
    ([("a", [0]), ("a", [1, 2])], "units must have unique names, got 'a' twice."),
    (
        [("a", [0, 1]), ("b", [1, 2])],
        "units must not share columns, got column 1 in 'a' and 'b'.",
    ),
    ([("a", [0])], "units must cover every column of the model, got none for '1', '2'."),
    ([("a", [0, 1, 3])], "unit 'a' names column 3; the model has columns 0 to 2."),
    ([("a", [])], "unit 'a' must have at least one column, got none."),
    (
        [("a", [0.5, 1])],
        "unit 'a' must name its columns by a sequence of indices, got [0.5, 1].",
    ),
]


@pytest.mark.parametrize(("units", "message"), BAD_UNITS)
def test_wrong_units_get_one_clear_error(units: Any, message: str):
    """What was wrong and what was received."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        LinearModel([1.0, 2.0, 3.0], 0, units=units)


def test_wrong_states_get_one_clear_error():
    """States must be different, of the right width and finite, with one label each."""
    message = "unit 'a' must have different states of 1 finite number each, got [[0], [0]]."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        Unit("a", (0,), [[0], [0]])  # type: ignore[arg-type]
    message = "unit 'a' must have one label per state, 2, got 1."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        Unit.binary("a", 0, labels=["yes"])


MIXED = LinearModel(
    [1.0, 2.0, -1.0, 0.5],
    1.0,
    feature_names=["smoker", "job_a", "job_b", "age"],
    units=[Unit.binary("smoker", 0), Unit.one_hot("job", [1, 2]), Unit.real("age", 3)],
)
GOOD = [1, 0, 1, 40.0]
BAD_ROWS: list[tuple[list[Any], str]] = [
    (
        [2, 0, 1, 40.0],
        "x must be 0 or 1 in unit 'smoker', got 2. Binarize it first, or declare it as Unit.real.",
    ),
    (
        [1, 0, 0, 40.0],
        "x has a category in unit 'job' that was never seen: (0, 0) is none of its 2 states. If a "
        "category was dropped, declare it with Unit.one_hot(..., dropped=True).",
    ),
    (
        [1, 1, 1, 40.0],
        "x has more than one category in unit 'job': (1, 1). Encode it as the model was trained, "
        "or give the unit one state more.",
    ),
    (
        [1, 0, 1, np.nan],
        "x must hold finite numbers, got nan in column 'age'. Fill in or drop what is missing.",
    ),
    (
        [1, 0, 1, "old"],
        "x must hold finite numbers, got the text 'old' in column 'age'. Write it as a "
        "number, or let a step of the Pipeline encode it.",
    ),
]


@pytest.mark.parametrize(("x", "message"), BAD_ROWS)
def test_a_row_that_units_cannot_have_gets_one_clear_error(x: list[Any], message: str):
    """A category never seen, a missing value, text where numbers belong."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        guarantee(MIXED, np.array(x, dtype=object), [], distribution=Background([GOOD]))


def test_distributions_that_units_cannot_have():
    """Uniform over real numbers, a product over one-hot columns, a background never seen."""
    message = (
        "Uniform needs features with finitely many states, and 'age' is real-valued. Pass a "
        "background: Background(X), or Marginals.fit(X)."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        sufficient_reason(MIXED, GOOD)
    message = (
        "Product is for binary features, and 'job' has other values, which depend on each other. "
        "Use Marginals.fit(X)."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        sufficient_reason(MIXED, GOOD, distribution=Product([0.5] * 4))
    message = (
        "The background has more than one category in unit 'job': (1, 1) in row 1. Encode it as "
        "the model was trained, or give the unit one state more."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        sufficient_reason(MIXED, GOOD, distribution=Background([GOOD, [1, 1, 1, 3.0]]))
    frame = pd.DataFrame([GOOD], columns=MIXED.feature_names).assign(more="text")
    named = Marginals.fit(frame[frame.columns[::-1]])
    same = sufficient_reason(MIXED, GOOD, distribution=Marginals.fit([GOOD]))
    assert sufficient_reason(MIXED, GOOD, distribution=named).features == same.features
    with pytest.raises(InvalidInputError, match=r"unknown feature, 'job_a'\. The model's features"):
        guarantee(MIXED, GOOD, ["job_a"], distribution=Background([GOOD]))


def test_how_marginals_name_themselves():
    """The words that stand beside every probability."""
    text = "independent completions with the marginals of 2 background rows"
    assert str(Marginals.fit([[0.5], [1.5]])) == text
    assert repr(Marginals([[0.5], [1.5]])) == "Marginals(<2 rows, 1 columns>)"
    copy = pickle.loads(pickle.dumps(Marginals.fit(pd.DataFrame({"a": [0.5, 2]}), [1, 3])))
    assert (type(copy), copy.columns, copy.weights.tolist()) == (Marginals, ("a",), [1, 3])

"""Every printed rule holds at every corner, by exact enumeration over corners and completions."""

import os
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Product,
    Uniform,
    Unit,
    sufficient_reason,
)
from sklearn_probsr.extend import law_of
from sklearn_probsr.model import sparse as _sparse
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.rows import background
from sklearn_probsr.rows.sparse import SparseLaw
from tests.rules.printed import BINS, completions, read, worst
from tests.strategies import DECIMALS, INTEGERS, KINDS, REALS

pytestmark = pytest.mark.filterwarnings("ignore:The (weight|intercept) .* is taken as")

# A thousand cases of each kind where there is time for them.
MANY = 1000 if os.environ.get("HYPOTHESIS_PROFILE", "ci") != "ci" else 60


def check(model, x, delta, distribution, forced, seen=()):
    """Hold a rule against brute force: as printed, at its worst corner, and one value wider."""
    reason = sufficient_reason(model, x, delta=delta, distribution=distribution, include=forced)
    rule, units, rows = reason.rule(), model.units, [*seen, x]
    others = completions(units, distribution)
    least = worst(rule, units, reason.features, rows, others)
    assert rule.guarantee.ends()[0] <= least <= rule.guarantee.ends()[1]
    assert least >= decimal_fraction(delta)
    said = read(rule.text, units)
    assert len(said) == rule.size
    parts = {u: tuple(float(x[j]) for j in units[u].columns) for u in said}
    assert all(said[u][0](parts[u]) for u in said), "the instance satisfies its own rule"
    printed = [
        all(said[u][0](tuple(float(row[j]) for j in units[u].columns)) for u in said)
        for row in rows
    ]
    assert rule.matches(rows).tolist() == printed
    for condition in rule.conditions:
        u = condition.unit
        known = {tuple(float(row[j]) for j in units[u].columns) for row in seen}
        outside = [v for v in known | {*(units[u].states or ())} if not said[u][0](v)]
        broken = [
            worst(rule, units, reason.features, rows, others, {u: v}) < decimal_fraction(delta)
            for v in outside
        ]
        if condition.next_step == "refuted":
            assert all(broken)
        if condition.next_step == "none":
            assert not outside
    return rule


@st.composite
def cases(draw, classes, shapes=("real", "real", "one-hot", "ordinal", "bins", "binary")):
    """Draw a model of mixed units near its threshold, rows, an instance and forced features."""
    n, units, d = draw(st.integers(2, 4 if classes == 2 else 3)), [], 0
    pools = []
    for i in range(n):
        units.append(draw(st.sampled_from(shapes).map(partial(_unit, f"u{i}", d))))
        d += len(units[-1].columns)
        numbers = draw(st.sampled_from([REALS, DECIMALS, INTEGERS])).map(lambda v: (v,))
        pools.append(st.sampled_from(units[-1].states) if units[-1].states else numbers)
    row = st.tuples(*pools).map(lambda parts: [v for part in parts for v in part])
    rows = draw(st.lists(row, min_size=3, max_size=8 if classes == 2 else 5))
    names = ["integers", "decimals", "reals", "reals", "extremes"][: 5 if classes == 2 else 4]
    kind = KINDS[draw(st.sampled_from(names))]
    x = draw(st.one_of(st.sampled_from(rows), row))
    outputs = 1 if classes == 2 else classes
    weights = np.array(draw(st.lists(kind, min_size=outputs * d, max_size=outputs * d)))
    weights = weights.reshape(outputs, d)
    with np.errstate(all="ignore"):
        scores = np.nan_to_num(np.array(rows) @ weights.T)
    forced = draw(st.sets(st.integers(0, n - 1), max_size=n - 1))
    if classes == 2:
        threshold = float(np.sort(scores[:, 0])[len(rows) // 2])
        model = LinearModel(weights[0], threshold, strict=draw(st.booleans()), units=units)
    else:
        model = ArgmaxModel(weights, -np.median(scores, axis=0), units=units)
    return model, x, rows, forced


def _unit(name, d, shape):
    """Return a unit of a shape from a column on."""
    if shape == "one-hot":
        return Unit.one_hot(name, range(d, d + 3), dropped=bool(d % 2))
    if shape == "ordinal":
        return Unit(name, (d,), tuple((float(v),) for v in range(5)))
    if shape == "bins":
        states = tuple(map(tuple, np.eye(5).tolist()))
        return Unit(name, range(d, d + 5), states, [b.replace("u", name) for b in BINS])
    return Unit.real(name, d) if shape == "real" else Unit.binary(name, d)


SHARES = st.one_of(st.sampled_from([0, 0.1, 0.5, 1]), st.floats(0, 1))
LEVELS = st.one_of(st.sampled_from([0.5, 0.6, 0.75, 0.8, 0.9, 1.0]), st.floats(0.3, 1))


@settings(max_examples=MANY)
@given(cases(2), LEVELS, st.lists(st.sampled_from([0, 1, 0.5, 0.3]), min_size=8, max_size=8))
def test_rules_over_background_rows_are_as_wide_as_can_be(drawn, delta, weights):
    """What is printed is what the guarantee speaks of, exactly, and no fact can be widened."""
    model, x, rows, forced = drawn
    counted = weights[: len(rows)] if any(weights[: len(rows)]) else None
    rule = check(model, x, delta, Background(rows, counted), forced, rows)
    assert rule.widest
    assert rule.guarantee.exact is not None


@settings(max_examples=MANY)
@given(cases(2), LEVELS)
def test_rules_over_independent_features_hold_at_every_corner(drawn, delta):
    """The enclosure contains the worst corner; what is called refuted is."""
    model, x, rows, forced = drawn
    check(model, x, delta, Marginals(rows[:4]), forced, rows[:4])


STATES = ("one-hot", "ordinal", "bins", "binary")


@settings(max_examples=MANY)
@given(cases(2, STATES), LEVELS)
def test_rules_over_uniform_completions_hold_at_every_corner(drawn, delta):
    """Every state is as likely, and conditions are sets of states or intervals of them."""
    model, x, _, forced = drawn
    check(model, x, delta, Uniform(), forced)


@settings(max_examples=MANY)
@given(cases(2, ("binary",)), LEVELS, st.lists(SHARES, min_size=4, max_size=4))
def test_rules_over_given_marginals_hold_at_every_corner(drawn, delta, shares):
    """Coins that are not fair, some of which always fall on one side."""
    model, x, _, forced = drawn
    check(model, x, delta, Product(shares[: model.n_features]), forced)


def test_terms_that_are_not_monotone_are_unions_of_intervals():
    """Bins in any order of worth, and a bin for missing values: those that touch are one."""
    labels = ("age < 30", "age in [30, 45)", "age in [45, 60)", "age ≥ 60", "age is missing")
    states = tuple(map(tuple, np.eye(5).tolist()))
    units = [Unit("age", range(5), states, labels), Unit.real("x", 5)]
    model = LinearModel([3, -2, 1.5, 2, 2.5, 1.5], 1.4, units=units)
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(50, 1)).round(2)
    rows = np.hstack([np.eye(5)[rng.integers(0, 5, 50)], numbers])
    forced = {"include": ["age", "x"], "distribution": Background(rows)}
    rule = sufficient_reason(model, [0, 0, 0, 1, 0, 0.3], delta=0.7, **forced).rule()
    assert rule.text == "(age < 30 or age ≥ 45 or missing) and x ≥ 0"
    sure = sufficient_reason(model, [1, 0, 0, 0, 0, 0.3], delta=0.7, **forced).rule()
    assert sure.conditions[0].next_step == "refuted"


def test_where_nothing_may_be_lost_before_any_rival_nothing_is():
    """All scores are equal at the instance, so that every other value changes the class."""
    units = [Unit.real("a", 0), Unit("b", (1,), tuple((float(v),) for v in range(5)))]
    model = ArgmaxModel([[0, 1], [0, 2], [0, 0]], [-1, -2, 0], units=units)
    rows = [[0.0, 2.0], [0.0, 1.0], [0.0, 0.0]]
    rule = check(model, [0.0, 1.0], 0.5, Background(rows), set(), rows)
    assert rule.text == "b = 1"


def test_flags_are_told_as_they_are_guaranteed():
    """A flag told as "= 0" has the guarantee of 0; one whose other value does no harm has none."""
    units = [Unit.real("a", 0), Unit.real("b", 1)]
    rows = [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    model = ArgmaxModel([[0, 0], [0, 0], [1, 2]], [0, 0, -2], units=units)
    assert check(model, [0.0, 0.0], 0.375, Background(rows), {0}, rows).text == "a = 0"
    rows = [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    model = ArgmaxModel([[0, 0], [0, 0], [-1, 0]], [0, 0, 0], units=units)
    assert check(model, [0.0, 0.0], 0.5, Background(rows), {0}, rows).text == "a ≥ 0"


def test_states_that_lose_to_another_rival_are_looked_at():
    """A state behind one that is refused is taken in if there is room, or not called refuted."""
    units = [_unit("u0", 0, "one-hot"), _unit("u1", 3, "one-hot")]
    weights = [[0.1] * 6, [0.1, 0.1, 0.1, -0.1, 0.1, 0.3], [0.1, 0.1, 0.1, 0.1, 0.2, 0.1]]
    model = ArgmaxModel(weights, [-0.2] * 3, units=units)
    check(model, [1.0, 0, 0, 1.0, 0, 0], 0.5, Uniform(), set())


@settings(max_examples=MANY)
@given(cases(3), LEVELS, st.booleans())
def test_rules_of_several_classes_hold_at_every_corner(drawn, delta, independent):
    """The worst value in each duel is never better than any corner."""
    model, x, rows, forced = drawn
    rows = rows[:3] if independent else rows
    distribution = Marginals(rows) if independent else Background(rows)
    rule = check(model, x, delta, distribution, forced, rows)
    assert rule.conservative or not rule.size


@settings(max_examples=MANY)
@given(cases(3, STATES), LEVELS)
def test_rules_of_several_classes_over_uniform_completions(drawn, delta):
    """Sets of states that lose to several rivals at once."""
    model, x, _, forced = drawn
    check(model, x, delta, Uniform(), forced)


@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_rows_have_the_rules_of_full_ones(classes, monkeypatch):
    """Words of documents: the same rules, counts and matches, with nothing filled in."""
    monkeypatch.setattr(_sparse, "_FEW_CELLS", -1)
    monkeypatch.setattr(background, "FEW_GAINS", -1)
    rng = np.random.default_rng(classes)
    rows = (rng.random((60, 12)) < 0.25) * rng.integers(1, 4, (60, 12)).astype(float)
    units = [Unit.real(f"w{i}", i) for i in range(12)]
    weights = rng.normal(size=(classes, 12)).round(2)
    if classes == 2:
        model = LinearModel(weights[0], 0.3, units=units)
    else:
        model = ArgmaxModel(weights, [0, 0.1, 0.2], units=units)
    for x in rows[:6]:
        reason = sufficient_reason(model, x, delta=0.8, distribution=Background(rows))
        told = Background(sparse.csr_array(rows))
        same = sufficient_reason(model, x, delta=0.8, distribution=told, include=reason.features)
        assert same.size == reason.size
        rule, sparse_rule = reason.rule(), same.rule()
        assert isinstance(law_of(model, sparse_rule.distribution), SparseLaw)
        assert set(sparse_rule.conditions) == set(rule.conditions)
        assert sparse_rule.guarantee == rule.guarantee
        inside = sparse_rule.matches(sparse.csr_array(rows))
        assert inside.tolist() == sparse_rule.matches(rows).tolist()


def test_many_features_under_uniform_completions_are_flags():
    """Coins: rules of 0/1 features over the uniform distribution are the reasons themselves."""
    rng = np.random.default_rng(0)
    model = LinearModel(rng.normal(size=60), 0.0)
    reason = sufficient_reason(model, rng.integers(0, 2, 60), delta=0.9)
    rule = reason.rule()
    assert rule.text == " and ".join(reason.facts)
    assert rule.guarantee.lower <= reason.guarantee.upper
    assert rule.guarantee.upper >= reason.guarantee.lower
    assert rule.guarantee.lower >= 0.9
    assert {c.next_step for c in rule.conditions} <= {"refuted", "undecided"}


def test_a_condition_with_an_and_inside_is_one():
    """In parentheses, so that a rule can be read; alone it needs none."""
    units = [Unit.binary("job", 0, ("job: none", "job: nurse and aide")), Unit.binary("home", 1)]
    both = sufficient_reason(LinearModel([1, 1], 2, units=units), [1, 1], delta=0.9)
    assert both.rule().text == "(job: nurse and aide) and home = 1"
    one = sufficient_reason(LinearModel([1, 0], 1, units=units), [1, 1], delta=0.9)
    assert one.rule().text == "job: nurse and aide"


def test_a_notebook_shows_conditions_without_running_them():
    """Names of somebody else's are escaped."""
    name = "<script>age</script>"
    model = LinearModel([1.0], 50, units=[Unit.real(name, 0)])
    rows = [[20.0], [44], [58], [63]]
    rule = sufficient_reason(model, [63.0], distribution=Background(rows)).rule()
    shown = rule._repr_html_()
    assert "<script>" not in shown
    assert "<li>&lt;script&gt;age&lt;/script&gt; ≥ " in shown

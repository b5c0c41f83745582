"""Marginals of many real-valued rows: nothing is listed; against all completions."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from sklearn_probsr import (
    ArgmaxModel,
    LinearModel,
    Marginals,
    Unit,
    guarantee,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.extend import law_of
from sklearn_probsr.independent import unit_laws
from tests.interpreted import long_loops

pytestmark = long_loops


@pytest.fixture
def nothing_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_laws, "_MOST_LISTED", 0)


def real(weights, threshold, **settings) -> LinearModel:
    units = [Unit.real(f"x{j}", j) for j in range(len(weights))]
    return LinearModel(weights, threshold, units=units, **settings)


def truth(model: LinearModel, rows: np.ndarray, counts, x: np.ndarray, fixed) -> Fraction:
    """Return the guarantee of a set, from all completions by values of rows."""
    weights, total = [Fraction(w) for w in model.weights.tolist()], int(np.sum(counts))
    laws = []
    for unit in model.units:
        at = list(unit.columns)
        lines = [x] if unit.name in fixed else rows
        weighed = [total] if unit.name in fixed else counts
        laws.append(
            [(sum(weights[j] * Fraction(float(line[j])) for j in at), int(count))
             for line, count in zip(lines, np.asarray(weighed).tolist(), strict=True)]
        )  # fmt: skip
    sums: dict[Fraction, int] = {Fraction(0): 1}
    for law in laws:
        grown: dict[Fraction, int] = {}
        for (have, mass), (more, count) in product(sums.items(), law):
            grown[have + more] = grown.get(have + more, 0) + mass * count
        sums = grown
    threshold = Fraction(model.threshold)

    def one(total: Fraction) -> bool:
        return total > threshold if model.strict else total >= threshold

    mine = one(sum(w * Fraction(float(v)) for w, v in zip(weights, x, strict=True)))
    kept = sum(mass for have, mass in sums.items() if one(have) == mine)
    return Fraction(kept, total ** len(laws))


CASES = {
    "normal": lambda rng: rng.standard_normal((5, 4)),
    "decimals": lambda rng: rng.integers(-3, 4, (6, 4)) / 10,
    "heavy": lambda rng: np.where(rng.random((6, 4)) < 0.7, 0.1, rng.standard_normal((6, 4))),
    "tiny": lambda rng: rng.standard_normal((5, 4)) * 1e-300,
    "huge": lambda rng: rng.standard_normal((5, 4)) * 1e300,
    "mixed": lambda rng: rng.standard_normal((5, 4)) * [1e-300, 1.0, 1e160, 1e300],
    "near-constant": lambda rng: 1.0 + rng.integers(0, 3, (6, 4)) * 2.0**-52,
    "constant": lambda rng: np.hstack([np.full((5, 2), 0.3), rng.standard_normal((5, 2))]),
    "wide": lambda rng: rng.choice([-1e308, 0.0, 1e308, 1.0], (5, 4)),
}


@pytest.mark.usefixtures("nothing_listed")
@pytest.mark.parametrize("kind", CASES)
def test_enclosures_contain_the_truth(kind: str):
    """Every set of every case, weighted rows, both tie rules, cuts on a value and beside it."""
    rng = np.random.default_rng(len(kind))
    for trial in range(3):
        rows = CASES[kind](rng)
        counts = rng.integers(0, 3, len(rows)) + (np.arange(len(rows)) == 0)
        weights = np.round(rng.standard_normal(4), 1) * (1e-8 if kind == "wide" else 1.0)
        size = float(np.abs(rows).max())
        threshold = float((rows[0] * weights).sum()) if trial else 0.1 * size * 1e-9
        model = real(weights, threshold, strict=bool(trial % 2))
        law = Marginals(rows, counts)
        x = rows[1] if trial < 2 else rng.permutation(rows.ravel())[:4]
        view = law_of(model, law).view(x)
        assert view.contributions.values is None
        for n in range(5):
            for fixed in combinations(range(4), n):
                exact = truth(model, rows, counts, x, {f"x{j}" for j in fixed})
                known = guarantee(model, x, fixed, distribution=law)
                assert Fraction(known.lower) <= exact <= Fraction(known.upper)
                single = [j for j in range(4) if j not in fixed and weights[j] != 0]
                if len(single) <= 1 or (exact in (0, 1) and known.exact is not None):
                    assert known.exact == exact


@pytest.mark.usefixtures("nothing_listed")
def test_units_of_several_columns():
    """One-hot columns, and columns that nearly cancel: the least and the most are exact."""
    rng = np.random.default_rng(3)
    hot = np.eye(3)[rng.integers(0, 3, 6)]
    value = rng.standard_normal((6, 1))
    rows = np.hstack([hot, value, -value * (1 + 2.0**-40)])
    units = [
        Unit.one_hot("kind", (0, 1, 2)),
        Unit("near", (3, 4)),
    ]
    model = LinearModel([0.3, -0.2, 0.7, 1.5, 1.5], 0.3, units=units)
    law, x = Marginals(rows), rows[0]
    view = law_of(model, law).view(x)
    assert view.contributions.values is None
    for fixed in ((), (0,), (1,), (0, 1)):
        exact = truth(model, rows, [1] * 6, x, {units[j].name for j in fixed})
        known = view.enclose(fixed)
        assert Fraction(known.lower) <= exact <= Fraction(known.upper)


@pytest.mark.parametrize("least", [-1e-30, -5e-324, 0.0])
def test_one_value_far_below_the_scale_is_no_certainty(least: float):
    """One row in 20,000 loses the class by less than any whole number of the scale tells."""
    rng = np.random.default_rng(0)
    rows = np.abs(rng.standard_normal((20_000, 3))) + 0.1
    rows[0] = least
    lost = 0 if least == 0 else 1
    over = Marginals.fit(rows)
    several = ArgmaxModel(
        [[1.0] * 3, [0.0] * 3, [-1.0] * 3], [0.0] * 3, units=real([1] * 3, 0).units
    )
    for model in (real([1.0] * 3, 0.0), several):
        known = guarantee(model, [5.0, 0.0, 0.0], [1, 2], distribution=over)
        assert known.lower <= 1 - lost / 20_000 <= known.upper
        assert (known.exact == 1) == (not lost)
        assert (guarantee(model, [5.0] * 3, [], distribution=over).exact == 1) == (not lost)
        reason = sufficient_reason(model, [5.0] * 3, delta=1, distribution=over)
        assert reason.size == reason.size_lower == lost


@pytest.mark.parametrize("delta", [0.9, 1.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_many_values_that_do_not_count(classes: int, delta: float):
    """Where all that varies has no weight, in the model or in the data, a fact is still needed."""
    rows = np.random.default_rng(0).standard_normal((20_000, 2))
    rows[:, 1] = 1.0
    one = np.zeros(len(rows), dtype=np.int64)
    one[7] = 1
    for weight, over in ((0.0, Marginals.fit(rows)), (1.0, Marginals.fit(rows, one))):
        units = real([1.0] * 2, 0.0).units
        model = (
            real([weight, 1.0], 3.0)
            if classes == 2
            else ArgmaxModel(
                [[weight, 1.0], [0.0, 0.0], [0.0, -1.0]], [-3.0, 0.0, 0.0], units=units
            )
        )
        reason = sufficient_reason(model, [4.0, 5.0], delta=delta, distribution=over)
        assert (reason.size, reason.minimality, reason.guarantee.exact) == (1, "minimum", 1)


def test_few_values_are_listed_however_many_rows():
    """Data with few values keep their exact answers: 36 of 40 rows reach 0.9."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 50, (20_000, 3)) / 10
    model = real([1.0, -2.0, 0.5], 0.7)
    law = law_of(model, Marginals.fit(rows))
    assert law.contributions.values is not None
    assert law.view(rows[0]).enclose([0]).exact is not None


def test_many_rows_are_not_listed_and_agree_with_a_list(monkeypatch: pytest.MonkeyPatch):
    """Sizes, sets and bounds are those of listed values, at a width that is documented."""
    rng = np.random.default_rng(0)
    rows, asked = rng.standard_normal((80, 26)), rng.standard_normal((4, 26))
    weights = rng.standard_normal(26)
    found = {}
    for most in (2**10, 2**14):
        monkeypatch.setattr(unit_laws, "_MOST_LISTED", most)
        model = real(weights, 0.1)
        law = Marginals(rows, np.ones(80))
        assert (law_of(model, law).contributions.values is None) == (most == 2**10)
        found[most] = sufficient_reasons(model, asked, distribution=law, delta=0.9, prove=False)
    crowd, listed = found.values()
    assert (crowd.size == listed.size).all()
    same = (crowd.mask == listed.mask).all(axis=1)
    assert same.sum() >= 3
    assert (crowd.upper - crowd.lower < 1e-3).all()
    assert (crowd.lower <= listed.upper)[same].all()
    assert (listed.lower <= crowd.upper)[same].all()


@pytest.mark.usefixtures("nothing_listed")
def test_minima_are_minima():
    """What is claimed of a reason holds over all sets, by all completions."""
    rng = np.random.default_rng(7)
    for _ in range(6):
        rows, weights = rng.standard_normal((5, 5)), rng.standard_normal(5)
        model, law = real(weights, 0.0), Marginals(rows)
        x = rows[int(rng.integers(5))]
        reason = sufficient_reason(model, x, delta=0.8, distribution=law)
        each = {
            fixed: truth(model, rows, [1] * 5, x, {f"x{j}" for j in fixed})
            for n in range(6)
            for fixed in combinations(range(5), n)
        }
        assert each[tuple(sorted(reason.features))] >= Fraction(4, 5)
        least = min(len(fixed) for fixed, kept in each.items() if kept >= Fraction(4, 5))
        assert reason.size_lower <= least
        if reason.minimality == "minimum":
            assert reason.size == least


@pytest.mark.usefixtures("nothing_listed")
def test_completions_are_drawn_and_ties_told_exactly():
    """Monte Carlo counts what enclosures enclose; the tie rule decides sums on the threshold."""
    rows = np.array([[0.1, 0.2], [0.3, 0.4]])
    x, law = np.array([0.3, 0.4]), Marginals(rows)
    for strict, exact in ((False, Fraction(3, 4)), (True, Fraction(1, 2))):
        tied = float(Fraction(0.1) + Fraction(0.4))
        threshold = tied if Fraction(tied) == Fraction(0.1) + Fraction(0.4) else None
        model = real([1.0, 1.0], 0.5 if threshold is None else threshold, strict=strict)
        view = law_of(model, law).view(x)
        kept = view.kept([], [0, 1], 20_000, np.random.default_rng(0)) / 20_000
        known = [view.enclose(fixed) for fixed in ([], [0], [0, 1])]
        for share, one in zip(kept, known, strict=True):
            assert one.lower - 0.02 <= share <= one.upper + 0.02
        if threshold is not None:
            assert known[0].lower <= exact <= known[0].upper


@pytest.mark.usefixtures("nothing_listed")
def test_several_classes_and_far_instances():
    """A duel is a law of its own; an instance a thousand ranges out is no trouble."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((8, 3))
    units = [Unit.real(f"x{j}", j) for j in range(3)]
    model = ArgmaxModel(rng.standard_normal((3, 3)), np.zeros(3), units=units)
    reason = sufficient_reason(model, rows[0], delta=0.7, distribution=Marginals(rows))
    assert reason.guarantee.lower >= 0.7
    two = real(rng.standard_normal(3), 0.0)
    far = sufficient_reason(two, rows[0] * 1e30, delta=0.9, distribution=Marginals(rows))
    assert math.isclose(far.guarantee.lower, 1.0, abs_tol=1e-3)

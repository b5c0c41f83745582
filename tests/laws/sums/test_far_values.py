"""Values far out over marginals of many rows: moved, accounted for, and held against the truth."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sklearn_probsr import (
    ArgmaxModel,
    LinearModel,
    Marginals,
    Unit,
    guarantee,
    sufficient_reasons,
)
from sklearn_probsr.extend import law_of
from sklearn_probsr.laws.sums import _crowds, _far_values
from sklearn_probsr.laws.sums._crowds import Crowds
from sklearn_probsr.laws.sums._far_values import inner_of
from tests.interpreted import long_loops
from tests.laws.sums.far_rows import always_move, check_claims, with_far
from tests.laws.sums.test_crowds import real, truth

pytestmark = long_loops


@pytest.fixture
def always_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the path in small cases, with whatever is moved there."""
    monkeypatch.setattr(_crowds, "_MOST_LISTED", 0)
    always_move(monkeypatch, _far_values)


def moved(model: LinearModel, law: Marginals) -> bool:
    seen = law_of(model, law).contributions
    assert isinstance(seen, Crowds)
    return bool(inner_of(seen).seen.moved)


@pytest.mark.usefixtures("always_moved")
@pytest.mark.parametrize("kind", ["one", "several", "ties", "huge"])
def test_enclosures_contain_the_truth(kind: str):
    """Every set, weighted rows, both tie rules, thresholds on a sum, instances far out as well."""
    rng = np.random.default_rng(len(kind))
    taken = 0
    for trial in range(12):
        rows = with_far(rng, 12, 3, kind)
        counts = rng.integers(1, 4, len(rows))
        weights = np.round(rng.standard_normal(3), 1) + 0.05
        x = rows[int(rng.integers(12))]
        threshold = float((rows[1] * weights).sum()) if trial % 2 else 0.3
        model = real(weights, threshold, strict=bool(trial % 3))
        law = Marginals(rows, counts)
        taken += moved(model, law)
        for n in range(4):
            for fixed in combinations(range(3), n):
                exact = truth(model, rows, counts, x, {f"x{j}" for j in fixed})
                known = guarantee(model, x, fixed, distribution=law)
                assert Fraction(known.lower) <= exact <= Fraction(known.upper)
    assert taken >= 6


@pytest.mark.usefixtures("always_moved")
def test_units_of_several_columns():
    """A value and its square are moved together, by what they are worth together."""
    rng = np.random.default_rng(5)
    taken = 0
    for trial in range(8):
        value = with_far(rng, 10, 1, "huge" if trial % 2 else "one")
        value = np.clip(value, -1e9, 1e9)
        rows = np.hstack([value, value**2, rng.standard_normal((10, 2))])
        units = [Unit("poly", (0, 1)), Unit.real("b", 2), Unit.real("c", 3)]
        model = LinearModel(np.append(rng.standard_normal(3), 1.0), 0.3, units=units)
        law, x = Marginals(rows), rows[3]
        taken += moved(model, law)
        for n in range(4):
            for fixed in combinations(range(3), n):
                exact = truth(model, rows, [1] * 10, x, {units[j].name for j in fixed})
                known = guarantee(model, x, fixed, distribution=law)
                assert Fraction(known.lower) <= exact <= Fraction(known.upper)
    assert taken >= 4


@pytest.mark.usefixtures("always_moved")
@pytest.mark.parametrize("kind", ["one", "several", "ties", "huge"])
def test_claims_hold_over_all_sets(kind: str):
    """What is claimed of reasons, of rows together and alone, holds by all completions."""
    rng = np.random.default_rng(40 + len(kind))
    taken = minima = 0
    for _ in range(8):
        rows, weights = with_far(rng, 8, 4, kind), rng.standard_normal(4)
        model, law = real(weights, 0.2), Marginals(rows)
        taken += moved(model, law)
        delta = Fraction(str(rng.choice([0.6, 0.75, 0.9])))
        minima += check_claims(model, rows, delta)
    assert taken >= 4
    assert minima


@pytest.mark.usefixtures("always_moved")
@pytest.mark.parametrize("positive", [False, True])
def test_units_are_compared_by_values_where_they_are(positive: bool):
    """Corollary 154: every value is within half a grain of its place, moved or not."""
    rng = np.random.default_rng(3)
    both = 0
    for _ in range(12):
        rows, counts = with_far(rng, 12, 3, "several"), rng.integers(1, 4, 12)
        model = real(np.array([1.0, -0.7, 0.4]), 0.0)
        law = law_of(model, Marginals(rows, counts))
        shared = law.spectra(True, True)
        both += any(map(all, shared.inner.seen.moved.values()))
        starts, turns, below = shared.atoms(positive)
        for u, weight in enumerate(model.weights):
            at = slice(starts[u], starts[u + 1])
            each = np.diff(below[at], prepend=0)
            assert (each > 0).all()
            least = float(shared.ends[u][0] / shared.period)
            unit = float(shared.period * law.contributions.scale)
            order = np.argsort(rows[:, u] * weight * (-1 if positive else 1), kind="stable")
            true = np.repeat(rows[order, u] * weight / unit - least, counts[order])
            assert np.abs(np.repeat(turns[at], each) - true).max() <= shared.grain / 2 + 1e-12
    assert both


@pytest.mark.usefixtures("always_moved")
def test_several_classes():
    """Enclosures before two rivals contain the truth when values of their duels are moved."""
    rng = np.random.default_rng(11)
    units = [Unit.real(f"x{j}", j) for j in range(2)]
    for _ in range(8):
        rows = with_far(rng, 9, 2, "several")
        model = ArgmaxModel(rng.standard_normal((3, 2)), rng.standard_normal(3), units=units)
        x, law = rows[0], Marginals(rows)
        mine = model.predict(x[None, :])[0]
        for fixed in ((), (0,), (1,), (0, 1)):
            grid = np.array([[a, b] for a in rows[:, 0] for b in rows[:, 1]])
            grid[:, list(fixed)] = x[list(fixed)]
            exact = float((model.predict(grid) == mine).mean())
            known = guarantee(model, x, fixed, distribution=law)
            assert known.lower <= exact + 1e-12
            assert exact - 1e-12 <= known.upper


@pytest.mark.parametrize("far", [1e12, -1e12, 1e300])
def test_one_value_far_out_hardly_widens_bounds(far: float):
    """One value in 6,000 is no trouble, whatever its size and side; nor is the row it is from."""
    rng = np.random.default_rng(0)
    rows, weights = rng.standard_normal((6000, 8)), rng.standard_normal(8)
    plain = real(weights, 0.1)
    before = sufficient_reasons(plain, rows[1:9], delta=0.9, distribution=Marginals.fit(rows))
    rows[0, 0] = far
    over = Marginals.fit(rows)
    after = sufficient_reasons(plain, rows[1:9], delta=0.9, distribution=over)
    assert (after.size == before.size).all()
    assert (after.upper - after.lower < 5e-3).all()
    assert guarantee(plain, rows[0], [0], distribution=over).lower > 0.999


def test_nothing_is_moved_where_nothing_is_far_out():
    """Normal columns keep the contributions that they have."""
    rows = np.random.default_rng(0).standard_normal((20_000, 4))
    seen = law_of(real([1.0, -2.0, 0.5, 3.0], 0.1), Marginals.fit(rows)).contributions
    assert inner_of(seen).seen is seen
    assert inner_of(seen).far.share == 0

"""Values far out over marginals: held within a range, accounted for, and held against the truth.

Of few rows, where values are listed, and of what is taken as many.
"""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import (
    LinearModel,
    Marginals,
    Product,
    Unit,
    guarantee,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.extend import law_of
from sklearn_probsr.independent import unit_laws
from tests.independent.test_many_values import real, truth
from tests.interpreted import long_loops

pytestmark = long_loops


@pytest.fixture(params=["listed", "many"])
def always_moved(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold values also in small cases, by tables, with whatever is moved there."""
    if request.param == "many":
        monkeypatch.setattr(unit_laws, "_MOST_LISTED", 0)
    for name, value in {
        "_FEW_UNITS": 0, "_LONG": 1e-9, "_SHORTER": 0.0, "_MOST_CHANGED": 1e9, "_BLURRED": 300.0,
    }.items():  # fmt: skip
        monkeypatch.setattr(unit_laws, name, value)


KINDS = {
    "one": lambda rng, n, d: with_far(rng, n, d, "one"),
    "several": lambda rng, n, d: with_far(rng, n, d, "several"),
    "ties": lambda rng, n, d: with_far(rng, n, d, "ties"),
    "huge": lambda rng, n, d: with_far(rng, n, d, "huge"),
    "decimals": lambda rng, n, d: np.round(with_far(rng, n, d, "several"), 1),
    "tiny": lambda rng, n, d: with_far(rng, n, d, "several") * 1e-300,
    "both": lambda rng, n, d: np.where(
        rng.random((n, d)) < 0.04, 1e300, rng.standard_normal((n, d)) * 1e-300
    ),
}


def moved(model: LinearModel, law: Any) -> bool:
    return bool(law_of(model, law).tables.far[-1] > 0)


def with_far(rng: np.random.Generator, n: int, d: int, kind: str) -> np.ndarray:
    """Return rows of which a few entries are far out, of both signs."""
    rows = rng.integers(-3, 4, (n, d)) / 2 if kind == "ties" else rng.standard_normal((n, d))
    for _ in range(1 if kind == "one" else int(rng.integers(2, 5))):
        size = 10.0 ** rng.choice([1, 2, 12, 200] if kind == "huge" else [0.7, 1, 2])
        rows[rng.integers(n), rng.integers(d)] = rng.choice([-1, 1]) * size
    return rows


def check_claims(model: LinearModel, rows: np.ndarray, delta: Fraction) -> int:
    """Hold what is claimed of four rows, together and alone, against all sets; count minima."""
    law, asked, minima = Marginals(rows), rows[:4], 0
    together = sufficient_reasons(model, asked, delta=delta, distribution=law)
    for i, x in enumerate(asked):
        each = {
            fixed: truth(model, rows, [1] * len(rows), x, {f"x{j}" for j in fixed})
            for n in range(5)
            for fixed in combinations(range(4), n)
        }
        least = min(len(fixed) for fixed, kept in each.items() if kept >= delta)
        for reason in (
            together[i],
            sufficient_reason(model, x, delta=delta, distribution=law, prove=True),
        ):
            chosen = tuple(sorted(reason.features))
            assert Fraction(reason.guarantee.lower) <= each[chosen]
            assert each[chosen] <= Fraction(reason.guarantee.upper)
            assert each[chosen] >= delta
            assert reason.size_lower <= least
            if reason.minimality == "minimum":
                minima += 1
                assert reason.size == least
            if reason.minimality == "subset-minimal":
                assert all(
                    each[some] < delta
                    for n in range(len(chosen))
                    for some in combinations(chosen, n)
                )
    return minima


@pytest.mark.usefixtures("always_moved")
@pytest.mark.parametrize("kind", KINDS)
def test_enclosures_contain_the_truth(kind: str):
    """Every set, weighted rows, both tie rules, thresholds on a sum, instances far out as well."""
    rng = np.random.default_rng(len(kind))
    taken = 0
    for trial in range(12):
        rows = KINDS[kind](rng, 12, 3)
        counts = rng.integers(1, 4, len(rows))
        weights = np.round(rng.standard_normal(3), 1) + 0.05
        x = rows[int(rng.integers(12))]
        threshold = float((rows[1] * weights).sum()) if trial % 2 else 0.3 * np.median(abs(rows))
        model = real(weights, threshold, strict=bool(trial % 3))
        law = Marginals(rows, counts)
        taken += moved(model, law)
        for n in range(4):
            for fixed in combinations(range(3), n):
                exact = truth(model, rows, counts, x, {f"x{j}" for j in fixed})
                known = guarantee(model, x, fixed, distribution=law)
                assert Fraction(known.lower) <= exact <= Fraction(known.upper)
                view = law_of(model, law).view(x)
                glance = view.glance(frozenset(fixed))
                assert Fraction(glance.lower) <= exact <= Fraction(glance.upper)
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
@pytest.mark.parametrize("kind", ["one", "several", "ties", "huge", "decimals"])
def test_claims_hold_over_all_sets(kind: str):
    """What is claimed of reasons, of rows together and alone, holds by all completions."""
    rng = np.random.default_rng(40 + len(kind))
    taken = minima = 0
    for _ in range(8):
        rows, weights = KINDS[kind](rng, 8, 4), rng.standard_normal(4)
        model, law = real(weights, 0.2), Marginals(rows)
        taken += moved(model, law)
        delta = Fraction(str(rng.choice([0.6, 0.75, 0.9])))
        minima += check_claims(model, rows, delta)
    assert taken >= 4
    assert minima


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


@pytest.mark.parametrize("far", [1e9, -1e12, 1e300])
def test_one_value_of_few_hardly_widens_bounds(far: float):
    """One value in 400 is no trouble, whatever its size and side; nor is the row it is from."""
    rng = np.random.default_rng(0)
    rows, weights = rng.standard_normal((400, 12)), rng.standard_normal(12)
    plain = real(weights, 0.1)
    before = sufficient_reasons(plain, rows[1:9], delta=0.9, distribution=Marginals.fit(rows))
    rows[0, 0] = far
    over = Marginals.fit(rows)
    after = sufficient_reasons(plain, rows[1:9], delta=0.9, distribution=over)
    assert (after.size == before.size).all()
    assert (after.upper - after.lower < 1e-3).all()
    assert guarantee(plain, rows[0], [0], distribution=over).lower > 0.999


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_a_code_for_missing_values_hardly_widens_bounds(share: float):
    """A column of which a part is -999,999 decides the class there, and nothing elsewhere."""
    rng = np.random.default_rng(1)
    rows, weights = rng.standard_normal((400, 12)), np.abs(rng.standard_normal(12)) + 0.2
    model = real(weights, 1.0)
    asked = rows[rows @ weights > 3][:6].copy()
    rows[: int(400 * share), 0] = -999_999.0
    law = Marginals.fit(rows)
    found = sufficient_reasons(model, asked, delta=0.95, distribution=law)
    assert (found.upper - found.lower < 2e-3).all()
    if share > 0.05:
        assert all(0 in reason.features for reason in found)
    nothing = guarantee(model, asked[0], [], distribution=law)
    assert nothing.upper <= 1 - share + 4e-3
    assert nothing.width < 4e-3


def test_a_rare_weight_is_held_as_well():
    """A column of one in a thousand with a weight of a million, beside fair coins."""
    rng = np.random.default_rng(2)
    weights = np.append(np.round(rng.standard_normal(30), 3), 1e6)
    model = LinearModel(weights, 0.5)
    law, x = Product([0.5] * 30 + [Fraction(1, 1000)]), np.append(weights[:30] < 0, False)
    found = guarantee(model, x, [], distribution=law)
    without = guarantee(model, x, [30], distribution=law)
    assert found.width < 2e-3
    assert found.lower <= without.upper * 0.999 + 1e-9
    assert without.lower * 0.999 <= found.upper + 1e-9


def test_nothing_is_moved_where_nothing_is_far_out():
    """Normal columns keep the contributions that they have."""
    rows = np.random.default_rng(0).standard_normal((20_000, 4))
    assert not moved(real([1.0, -2.0, 0.5, 3.0], 0.1), Marginals.fit(rows))

"""Values far out in small tables: moved in whole numbers, and held against the truth."""

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import (
    ArgmaxModel,
    LinearModel,
    Marginals,
    Product,
    Unit,
    guarantee,
    sufficient_reasons,
)
from sklearn_probsr.engines.sums._far import far_change
from sklearn_probsr.extend import law_of
from sklearn_probsr.independent.contributions import Listed
from sklearn_probsr.laws.sums import _listed_far, _spectra
from sklearn_probsr.laws.sums._listed_far import listed_inner
from tests.interpreted import long_loops
from tests.laws.sums.far_rows import always_move, check_claims, with_far
from tests.laws.sums.test_crowds import real, truth
from tests.rival_classes import nothing_counted

pytestmark = long_loops

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


@pytest.fixture
def always_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the path in small cases, by spectra, with whatever is moved there."""
    monkeypatch.setattr(_spectra, "_FEW", 0)
    always_move(monkeypatch, _listed_far)


def listed(model: LinearModel, law: Any) -> Listed:
    seen = law_of(model, law).contributions
    assert isinstance(seen, Listed)
    return seen


def moved(model: LinearModel, law: Any) -> bool:
    inner = listed_inner(listed(model, law))
    return inner is not None and inner.far.share > 0


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


def share_below(laws: list[list[tuple[int, int]]], whole: int, cut: Fraction) -> Fraction:
    """Return how likely a sum of independent values is at most a cut, exactly."""
    total = Fraction(0)
    for choice in product(*laws):
        if sum(value for value, _ in choice) <= cut:
            total += Fraction(int(np.prod([chance for _, chance in choice], dtype=object)))
    return total / whole ** len(laws)


@pytest.mark.usefixtures("always_moved")
@pytest.mark.parametrize("kind", ["one", "several", "ties"])
def test_what_is_moved_changes_no_more_than_is_said(kind: str):
    """Propositions 152 and 165: at every sum that occurs, of every set, and it is told by both."""
    rng = np.random.default_rng(50 + len(kind))
    by_tails = by_variance = 0
    for trial in range(10):
        rows = KINDS[kind](rng, 7, 3)
        rows *= 1 + 40 * (np.abs(rows) > 3) * (trial % 2)  # some further out
        model = real(np.round(rng.standard_normal(3), 1) + 0.05, 0.3)
        seen = listed(model, Marginals(rows))
        inner = listed_inner(seen)
        assert inner is not None
        far, period = inner.far, inner.period
        for n in (1, 2, 3):
            for free in combinations(range(3), n):
                laws, held = (
                    [list(zip(some.values[u], some.chances[u], strict=True)) for u in free]
                    for some in (seen, inner.seen)
                )
                mean = sum(Fraction(sum(c * p for c, p in law), seen.denominator) for law in held)
                sums = {sum(c for c, _ in choice) for choice in product(*held)}
                for cut in list(sums)[:: max(len(sums) // 24, 1)]:
                    change = abs(
                        share_below(laws, seen.denominator, Fraction(cut))
                        - share_below(held, seen.denominator, Fraction(cut))
                    )
                    beta = float(abs(cut - mean) / period)
                    told = far_change(far, beta)
                    assert change <= told
                    alone = far_change(far._replace(tails=far.tails[:0]), beta)
                    by_tails += told < alone
                    by_variance += told == alone
    assert by_variance
    assert by_tails


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


@pytest.mark.usefixtures("always_moved")
@pytest.mark.parametrize("positive", [False, True])
def test_units_are_compared_by_values_where_they_are(positive: bool):
    """Corollary 154: costs are those of the values as they are, moved or not."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        rows, counts = with_far(rng, 12, 3, "several"), rng.integers(1, 4, 12)
        model = real(np.array([1.0, -0.7, 0.4]), 0.0)
        law = law_of(model, Marginals(rows, counts))
        shared = law.spectra(True, True)
        starts, turns, below = shared.atoms(positive)
        assert shared.inner.far.share > 0
        for u, weight in enumerate(model.weights):
            at = slice(starts[u], starts[u + 1])
            worth = np.unique(rows[:, u] * weight)[:: -1 if positive else 1]
            unit = float(shared.period * law.contributions.scale)
            true = worth / unit - float(shared.ends[u][0] / shared.period)
            assert np.abs(turns[at] - true).max() <= 1e-9 * (1 + np.abs(true).max())
            assert (np.diff(below[at]) > 0).all()


@pytest.mark.usefixtures("always_moved")
@nothing_counted()
def test_several_classes():
    """Before two rivals, one by one and as a pair, with values of their duels moved."""
    rng = np.random.default_rng(11)
    units, narrowed = [Unit.real(f"x{j}", j) for j in range(3)], 0
    for kind in ("one", "several", "ties", "several"):
        rows = KINDS[kind](rng, 7, 3)
        scores, bias = np.round(rng.standard_normal((3, 3)), 1), np.array([0.1, 0.25, 0.4])
        model = ArgmaxModel(scores, bias, units=units)
        x, law = rows[0], Marginals(rows)
        mine = model.predict(x[None, :])[0]
        view = law_of(model, law).view(x)
        for n in range(3):
            for fixed in combinations(range(3), n):
                grid = np.array(list(product(*rows.T)))
                grid[:, list(fixed)] = x[list(fixed)]
                exact = float((model.predict(grid) == mine).mean())
                known = view.enclose(fixed, Fraction(exact).limit_denominator(997))
                assert known.lower <= exact + 1e-12
                assert exact - 1e-12 <= known.upper
                narrowed += known.width < view.glance(fixed).width
    assert narrowed


@pytest.mark.parametrize("far", [1e9, -1e12, 1e300])
def test_one_value_far_out_hardly_widens_bounds(far: float):
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
    assert (found.upper - found.lower < 1e-3).all()
    if share > 0.05:
        assert all(0 in reason.features for reason in found)
    nothing = guarantee(model, asked[0], [], distribution=law)
    assert nothing.upper <= 1 - share + 1e-3
    assert nothing.width < 1e-3


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
    rows = np.random.default_rng(0).standard_normal((400, 8))
    seen = listed(real(np.arange(1.0, 9.0), 0.1), Marginals.fit(rows))
    inner = listed_inner(seen)
    assert inner is not None
    assert inner.seen is seen
    assert inner.far.share == 0

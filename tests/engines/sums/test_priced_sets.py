"""The kernel that looks for the cheapest set, on real models, against all sets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sklearn_probsr.engines.sums._priced_sets import Limits, Offers, branch
from sklearn_probsr.laws.sums._chain_search import SpectrumScout
from tests.engines.sums.test_refuting import MAKERS
from tests.interpreted import INTERPRETED, cases
from tests.refutable import Refutable

COSTS = ("few", "long", "by worth")


def scout_of(case: Refutable, delta: Fraction, kind: str, seed: int) -> SpectrumScout:
    """Return what looks ahead; undecided sets are looked up in the truth."""
    refuter = case.refuter(delta)
    order = refuter._candidates(0, case.n, *refuter._laws(0))[0].tolist()
    worth = np.abs(refuter.outlook.gain[0, order])
    rng = np.random.default_rng(seed)
    costs = {
        "few": rng.integers(1, 5, len(order)),
        "long": [int(rng.integers(10**17, 10**18)) * 10**30 for _ in order],
        "by worth": (worth / worth.max() * 900).astype(int) + rng.integers(1, 99, len(order)),
    }[kind]
    prices = {u: int(cost) * (len(order) + 1) + 1 for u, cost in zip(order, costs, strict=True)}
    return SpectrumScout(
        order,
        prices,
        lambda chosen: case.truth.share(chosen) >= delta,
        not bool(refuter.outlook.gainful[0, order].any()),
        worth.tolist(),
        refuter.above(0, np.array(order)),
        refuter,
    )


@pytest.mark.parametrize("kind", COSTS[: 1 if INTERPRETED else None])
@pytest.mark.parametrize("name", MAKERS)
def test_the_cheapest_set_is_that_of_all_sets(name, kind):
    """Whatever the limit, the size and the costs, also those longer than 64 bits (90, 91)."""
    for seed in cases(3):
        case = MAKERS[name](seed)
        shares = np.sort(case.truth.kept.astype(object))
        delta = Fraction(int(shares[len(shares) * (80 + 6 * seed) // 100]), case.truth.whole)
        scout = scout_of(case, delta, kind, seed)
        whole = sum(scout.prices)
        members = sum(1 << u for u in scout.order)
        for most in (case.n, 4):
            reached = [
                sum(scout.prices[j] for j, u in enumerate(scout.order) if mask >> u & 1)
                for mask in range(2**case.n)
                if mask & ~members == 0
                and mask.bit_count() <= most
                and case.truth.kept[mask] >= delta * case.truth.whole
            ]
            best = min(reached, default=whole + 1)
            for limit in (whole, best, best - 1) if reached else (whole,):
                outcome = scout.branched(limit, most, 0, 10**6)
                assert outcome.complete
                assert outcome.least == (best if best <= limit else limit + 1)
                if best <= limit:
                    assert sum(scout.prices[j] for j in outcome.found) == best
                else:
                    assert outcome.found is None


def test_proposals_reach_the_level_and_ends_are_told():
    """What is proposed is a set that reaches delta; few branches, or no room, prove nothing."""
    case = MAKERS["binary"](0)
    delta = Fraction(1, 2)
    scout = scout_of(case, delta, "few", 0)
    proposed = scout.proposed()
    assert proposed
    for places in proposed:
        assert case.truth.share(scout.units(places)) >= delta
    assert not scout.branched(sum(scout.prices), case.n, 0, 3).complete
    refuter = scout._refuter
    for room, done in ((1, -1), (64, 1)):
        limits = Limits(10**9, case.n, 0, 10**6, room)
        offers = scout._offers._replace(exact=False)
        verdict, sets, _ = branch(refuter.shared.wide, refuter.scene, offers, refuter.level, limits)
        assert verdict == done
        assert len(sets) <= room
    nothing = Offers(
        *(part[:0] for part in offers[:2]), offers.above[:0, :0], offers.chain[:0], True
    )
    verdict, sets, _ = branch(refuter.shared.wide, refuter.scene, nothing, refuter.level, limits)
    assert (verdict, len(sets)) in {(1, 0), (1, 1)}

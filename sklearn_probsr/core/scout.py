"""A scout looks ahead for the cheapest set of one instance: what can still be reached at a price.

Sets are branched on member by member, in an order. A scout says which members are better than which
(*above* them: at least as good and at most as dear), so that only sets are gone through that hold,
with each member, all that are above it; and whether any set that a branch leads to can reach delta.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.numbers import about

__all__ = [
    "MOST_COMPARED",
    "ROOM",
    "Branched",
    "ChainScout",
    "CoverScout",
    "Rounded",
    "Scout",
    "Verdict",
    "affordable",
]

# Sums of prices have no more bits than this: 64-bit numbers hold them.
_MOST_BITS = 61
# Sets that may be as cheap as the best, or that a kernel leaves open.
ROOM = 256
# More members are not compared with each other; each of so many that branches look at.
MOST_COMPARED, _LOOKED_AT = 1024, 2**17


Verdict = Callable[[Collection[int]], bool | None]


class Rounded(NamedTuple):
    """Prices as 64-bit whole numbers, rounded down by some bits."""

    prices: NDArray[np.int64]
    bits: int

    @classmethod
    def of(cls, prices: Sequence[int]) -> Rounded:
        """Return prices, of which all together are below a limit."""
        bits = max(sum(prices).bit_length() - _MOST_BITS, 0)
        return cls(np.array([price >> bits for price in prices], dtype=np.int64), bits)


class Branched(NamedTuple):
    """What a branch and bound has found: places of the best set, and what is proved of all.

    No set that reaches delta counts less than ``least``, if all of them were gone through.
    """

    found: list[int] | None
    least: int
    complete: bool


class Scout:
    """What is known of the sets of an instance; by default, only whether each reaches delta.

    Parameters
    ----------
    order : list of int
        The members, in the order in which they are branched on.
    prices : dict of int to int
        What each costs.
    verdict : callable
        Whether a set of members reaches delta; None if that stays open.
    monotone : bool
        Whether fixing a member never hurts.
    worth : list of float or None
        About what fixing each member of the order is worth; None: those that come first, more.

    Attributes
    ----------
    below : list of int
        For each place of the order the places that it is above, as the bits of a number.
    branches : pair of int
        How many branches are followed, and how many if a proof may take long.
    """

    branches = (300, 20_000)
    compares = False  # whether some members are above others

    def __init__(
        self,
        order: Sequence[int],
        prices: dict[int, int],
        verdict: Verdict,
        monotone: bool,
        worth: Sequence[float] | None = None,
    ) -> None:
        self.order = list(order)
        self.prices = [prices[u] for u in self.order]
        self.verdict, self.monotone = verdict, monotone
        few, many = self.branches
        share = max(_LOOKED_AT // max(len(self.order), 1), 1)
        self.branches = (min(few, share), many)
        self.worth = [1 / (j + 1) for j in range(len(order))] if worth is None else worth

    @cached_property
    def below(self) -> list[int]:
        """For each place of the order the places that it is above, as the bits of a number."""
        n, prices = len(self.order), self.prices
        if not self.compares or n > MOST_COMPARED:
            return [0] * n
        return [
            sum(1 << b for b in range(a + 1, n) if prices[a] <= prices[b] and self.is_above(a, b))
            for a in range(n)
        ]

    def branches_in(self, seconds: float) -> int:
        """Return how many branches surely take less than so many seconds in a kernel."""
        return 2**62

    def is_above(self, a: int, b: int) -> bool:
        """Tell whether the member at a place is at least as good as that at a later one."""
        return False

    def judged(
        self, sets: NDArray[np.bool_], sure: NDArray[np.bool_], limit: int, complete: bool
    ) -> Branched:
        """Return the best of the sets that a kernel met; what it is not sure of is asked again."""
        met = [np.flatnonzero(mask).tolist() for mask in sets]
        counts = [sum(self.prices[j] for j in places) for places in met]
        bound = None
        for at in sorted(range(len(met)), key=counts.__getitem__):
            if counts[at] > limit:
                break
            reached = True if sure[at] else self.reaches(met[at])
            if reached:
                return Branched(met[at], counts[at] if bound is None else bound, complete)
            if reached is None and bound is None:
                bound = counts[at]
        return Branched(None, limit + 1 if bound is None else bound, complete)

    def units(self, places: Collection[int]) -> list[int]:
        """Return the members at some places."""
        return [self.order[j] for j in places]

    def reaches(self, places: Collection[int]) -> bool | None:
        """Tell whether the set at some places reaches delta; None if that stays open."""
        return self.verdict(self.units(places))

    def hopeless(self, taken: tuple[int, ...], rest: list[int], limit: int, room: int) -> bool:
        """Tell whether no set reaches delta that adds some of the rest to what is taken.

        Those added cost at most ``limit`` together, and are at most ``room``.
        """
        return self.monotone and self.reaches([*taken, *rest]) is False

    def proposed(self) -> list[list[int]] | None:
        """Return the places of sets that reach delta, if a kernel finds them; else None."""
        return None

    def branched(self, limit: int, most: int, fewest: int, branches: int) -> Branched | None:
        """Look for the best set that counts at most a limit, if a kernel does that; else None.

        It has at most ``most`` members; fewer than ``fewest`` are known not to reach delta.
        """
        return None


def affordable(prices: Sequence[int], places: Sequence[int], limit: int, room: int) -> list[int]:
    """Return the places that stand for the best that any choice at a price can have.

    Of the first so many of the places, a choice of at most ``room`` that costs at most ``limit``
    has no more than the cheapest of them that are as cheap together; the places at which that
    number grows are returned (Lemma 90).
    """
    found: list[int] = []
    held: list[int] = []
    total = 0
    for j in places:
        price = prices[j]
        insort(held, price)
        total += price
        if total > limit:
            total -= held.pop()
        else:
            found.append(j)
            if len(found) == room:
                break
    return found


class ChainScout(Scout):
    """Members of which it is known which cost stochastically more than which (Lemma 90).

    Parameters
    ----------
    above : callable
        ``above(a, b)``: whether the member at place a of the order, which comes before b, costs at
        least as much as b when it is unknown, in the stochastic order.
    """

    compares = True

    def __init__(
        self,
        order: Sequence[int],
        prices: dict[int, int],
        verdict: Verdict,
        monotone: bool,
        worth: Sequence[float],
        above: Callable[[int, int], bool],
    ) -> None:
        super().__init__(order, prices, verdict, monotone, worth)
        n = len(self.order)
        self._above = above
        self.chains: list[list[int]] = []
        self.chain_of = [0] * n
        for b in range(n):
            at = next((k for k, chain in enumerate(self.chains) if above(chain[-1], b)), None)
            if at is None:
                at = len(self.chains)
                self.chains.append([])
            self.chains[at].append(b)
            self.chain_of[b] = at

    def is_above(self, a: int, b: int) -> bool:
        """Tell whether a member costs stochastically more than a later one."""
        return self._above(a, b)

    def hopeless(self, taken: tuple[int, ...], rest: list[int], limit: int, room: int) -> bool:
        """Tell whether even the best that the price can have misses delta (Lemma 90)."""
        if not self.monotone:
            return False
        if len(self.chains) == 1:
            best = affordable(self.prices, rest, limit, room)
        else:
            parts: list[list[int]] = [[] for _ in self.chains]
            for j in rest:
                parts[self.chain_of[j]].append(j)
            best = [j for part in parts for j in affordable(self.prices, part, limit, room)]
        return self.reaches([*taken, *best]) is False


class CoverScout(Scout):
    """Members whose worth must add up: what certainty asks for (Lemma 94).

    Parameters
    ----------
    covers : list of list of int
        For every rival what each member of the order is worth; less than 0 if fixing it hurts.
    needed : list of int
        What must be reached before every rival.
    """

    compares = True

    def __init__(
        self,
        order: Sequence[int],
        prices: dict[int, int],
        verdict: Verdict,
        covers: Sequence[Sequence[int]],
        needed: Sequence[int],
    ) -> None:
        each = [[Fraction(cover[j], prices[u]) for j, u in enumerate(order)] for cover in covers]
        # The most for the price first; what is above another then comes before it.
        places = sorted(range(len(order)), key=lambda j: (-each[0][j], -covers[0][j]))
        monotone = all(worth >= 0 for cover in covers for worth in cover)
        super().__init__([order[j] for j in places], prices, verdict, monotone)
        self.covers = [[cover[j] for j in places] for cover in covers]
        self.needed = list(needed)
        self.worth = [about(Fraction(value)) for value in self.covers[0]]
        # For every rival the rank of each member by what it is worth for its price.
        self._ranks = []
        for ratios in each:
            by_ratio = sorted((-ratios[j], a) for a, j in enumerate(places))
            ranks = [0] * len(places)
            for rank, (_, a) in enumerate(by_ratio):
                ranks[a] = rank
            self._ranks.append(ranks)

    def is_above(self, a: int, b: int) -> bool:
        """Tell whether a member is worth as much as a later one before every rival."""
        return all(cover[a] >= cover[b] for cover in self.covers)

    def hopeless(self, taken: tuple[int, ...], rest: list[int], limit: int, room: int) -> bool:
        """Tell whether even parts of members do not add up, before one of the rivals."""
        for cover, needed, ranks in zip(self.covers, self.needed, self._ranks, strict=True):
            short, left = needed - sum(cover[j] for j in taken), limit
            for j in rest if ranks is self._ranks[0] else sorted(rest, key=ranks.__getitem__):
                if short <= 0:
                    break
                price = self.prices[j]
                if price > left:
                    # A part of a member: as much of it as can be paid.
                    short = 0 if cover[j] * left >= short * price else short
                    break
                short, left = short - cover[j], left - price
            if short > 0:
                return True
        return False

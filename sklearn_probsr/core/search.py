"""The search of a law that brings none of its own: the fewest features, and the cheapest.

A law answers what it can for all rows together; every other row is searched by itself. Several
orders propose a prefix that reaches delta, the smallest is pruned until nothing can be left out,
and then smaller sets are looked for until there is none (proved), or none is found. What is known
of the sets of a row at one level, its `Prover` knows.

Where features differ in what they cost, the search of the fewest comes first: it tells whether
delta is reached at all, and below which size nothing does. Then sets are proposed by what features
are worth for their cost, the dearest are left out first, and branch and bound looks for a cheaper
one until there is none (proved), or the budget is spent. Of sets that cost the same the smallest is
taken: a feature counts its cost times more than there are features, and one.

A scout looks ahead: it says what can still be reached at a price, and which members are better than
which (*above* them: at least as good and at most as dear), so that only sets are gone through that
hold, with each member, all that are above it; and whether any set that a branch leads to can reach
delta.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found, unreachable
from sklearn_probsr.core.law import Law, View
from sklearn_probsr.core.options import MOST_MIXED, Effort, Prices, Task
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.numbers import about

__all__ = [
    "Branched",
    "ChainScout",
    "CoverScout",
    "MOST_COMPARED",
    "Prover",
    "ROOM",
    "Rounded",
    "Scout",
    "Verdict",
    "affordable",
    "last_place",
    "search",
    "search_cheapest",
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


# Proposals that are much longer than the fewest features are not pruned, one by one.
_LONGER, _LONG = 4, 32
# A bound of the least cost is looked for in so many steps.
_STEPS = 24


def search(law: Law, rows: Any, task: Task) -> Found:
    """Return a small set of each row that reaches delta, and what was proved of it."""
    found = Found.empty(len(rows), law.model.n_units)
    if not len(rows):  # whoever checks what may be asked has no kernel compiled for it
        return found
    rows = rows if law.takes_sparse else np.asarray(rows)
    task = law.within(rows, task)
    starts = law.together(rows, task, found)
    left = (found.minimality == "").nonzero()[0]
    for i, view in zip(left.tolist(), law.views(rows[left]), strict=True):
        asked = task.of_row(i)
        one = _Search(law.prover(view, asked), asked)
        give_up = partial(found.give_up, i, task=task)
        chosen, minimality, epsilon = one.run(give_up, law.distribution, starts.get(i))
        prover = one.prover
        found.write(
            i,
            [*prover.forced, *prover.in_order(chosen)],
            prover.guarantee(chosen),
            minimality,
            len(prover.forced) + prover.least,
            epsilon,
        )
        if asked.is_late and found.minimality[i] != "minimum":
            found.stopped[i] = "time"
        del one, prover  # tables as large as the data: there is not room for those of two rows
    return found


class _Search:
    """The search of one row."""

    def __init__(self, prover: Prover, task: Task) -> None:
        self.prover, self.task = prover, task

    def run(
        self, give_up: Callable[[str], None], over: Any, start: set[int] | None
    ) -> tuple[set[int], str, float]:
        """Return the row's set, what was proved of it, and the slack of that.

        ``start`` is a set that reaches delta, and from which nothing can be left out; ``give_up``
        is told why none does.
        """
        prover, members = self.prover, self.prover.members
        chosen = self.smallest() if start is None else self.shrink(self.shorter(start))
        most = len(members) if self.task.most is None else self.task.most
        if chosen is not None and len(chosen) > prover.least:
            near = prover.within_slack()
            if near is not None and len(near[0]) <= most:
                return near[0], "near-minimum" if near[1] else "minimum", near[1]
        if chosen is None or len(chosen) > most:
            chosen = prover.best_of(min(most, len(members)))
            verdict = prover.settled(chosen)
            if not verdict and self.task.max_size is None:
                known = prover.guarantee(chosen)
                misses = (known < self.task.delta).value
                what = "is not reached by any set found" if misses else "is not proved"
                best = f"the best guarantee found is {known}"
                if prover.monotone:  # it is that of all others together
                    best = f"the best guarantee that the others give is {known}"
                if verdict is False and (prover.monotone or prover.least > len(members)):
                    what = "cannot be reached"
                if not self.task.has_others(prover.view.n_units):
                    best = f"there are no others, and with nothing known the guarantee is {known}"
                give_up(unreachable(self.task, what, best, str(over)))
            if not verdict:
                return chosen, "best-of-size", 0.0
            chosen = prover.pruned(prover.in_order(chosen))
        elif self.task.effort.wanted and not self.task.is_late:
            chosen = prover.improve(chosen)
        if len(chosen) == prover.least:
            return chosen, "minimum", 0.0
        chosen, word, epsilon = prover.claim(chosen)
        return (chosen, "minimum", 0.0) if len(chosen) == prover.least else (chosen, word, epsilon)

    def smallest(self) -> set[int] | None:
        """Return the smallest set found that reaches delta."""
        prover = self.prover
        prefixes = [prover.prefix(order) for order in prover.proposals()]
        sets = [prover.pruned(prefix) for prefix in prefixes if prefix is not None]
        if not sets:
            return self.shrink(None)
        least = min(map(len, sets))
        best = [s for s in sets if len(s) == least]
        return self.shrink(best[0] if len(best) == 1 else max(best, key=prover.worth))

    def shorter(self, chosen: set[int]) -> set[int]:
        """Return a set no larger than the shortest prefix by mean cost that is seen to suffice."""
        prover = self.prover
        order = prover.proposals()[0][: max(len(chosen) - 1, 0)]
        sizes = [len(order)] if prover.monotone else range(len(order) + 1)
        if len(chosen) == 0 or not any(prover.verdict(order[:k]) for k in sizes):
            return chosen
        return prover.pruned(prover.prefix(order) or [])

    def shrink(self, chosen: set[int] | None) -> set[int] | None:
        """Look for smaller sets until there is none (proved) or none is found.

        Where a size stays open, smaller ones may not: then less is proved. With no set to start
        from, the first sets looked for are those of all sizes. With one, the time may be up.
        """
        prover, wanted = self.prover, self.task.effort.wanted or self.prover.view.chain
        if chosen and wanted and not self._is_late:
            prover.bound_least(len(chosen))
        size = len(prover.members) if chosen is None else len(chosen) - 1
        while size >= prover.least and not (chosen is not None and self._is_late):
            verdict, found = prover.look(size) if wanted or chosen is None else (None, set())
            if verdict:
                chosen = prover.pruned(prover.in_order(found))  # it may hold what it does not need
                size = len(chosen) - 1
            elif verdict is False:
                prover.least = size + 1
            elif chosen is None and not prover.view.chain:
                break
            else:
                size -= 1
        return chosen

    @property
    def _is_late(self) -> bool:
        """Whether the time of a row is up; where sets are prefixes, a look is nothing."""
        return self.task.is_late and not self.prover.view.chain


class Prover:
    """The sets of one instance, asked whether they reach one level.

    By default a set is enclosed when it is asked about, and sets of a size are gone through one by
    one if they are few. A unit is *pure* if leaving it unknown can only cost: fixing it never
    hurts. One that may cost or gain is *mixed*: with it guarantees are not monotone.

    Parameters
    ----------
    view : View
    task : Task

    Attributes
    ----------
    forced : list of int
        The units that every set has.
    members : list of int
        The units that may be chosen: those that can cost something when they are unknown.
    pure : set of int
        Those of them that cannot gain.
    least : int
        Fewer members than this are proved not to reach the level.
    """

    def __init__(self, view: View, task: Task) -> None:
        self.view, self.task = view, task
        self.forced = list(task.include)
        self.orders = view.orders(task.open_to(view.members()), self.forced)
        self.members = self.orders[0]
        self.pure = {u for u in self.members if not view.can_gain(u)}
        self.monotone = len(self.pure) == len(self.members)
        self.least = 0

    # --- one set -----------------------------------------------------------------------------

    def verdict(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set of members reaches the level; None if that stays open."""
        known = self.view.enclose([*self.forced, *chosen], self.task.delta)
        return (known >= self.task.delta).value

    def worth(self, chosen: Collection[int]) -> Fraction | float:
        """Return what the guarantee of a set surely is."""
        return self.guarantee(chosen).lower

    def settled(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set reaches delta as a reader would: also by the bounds that are shown."""
        verdict = self.verdict(chosen)
        return (self.guarantee(chosen) >= self.task.delta).value if verdict is None else verdict

    def guarantee(self, chosen: Collection[int]) -> Enclosure:
        """Enclose the guarantee of a set for a reader; it agrees with the verdict."""
        features = [*self.forced, *chosen]
        narrow = self.view.enclose(features)
        if narrow.exact is not None:
            return narrow
        return narrow.intersect(self.view.enclose(features, self.task.delta))

    def in_order(self, chosen: Collection[int]) -> list[int]:
        """Return a set in the order of the members."""
        return [u for u in self.members if u in chosen]

    # --- from an order to a set --------------------------------------------------------------

    def proposals(self) -> list[list[int]]:
        """Return orders of the members; the first is that of the mean cost."""
        return self.orders

    def within_slack(self) -> tuple[set[int], float] | None:
        """Return a set no larger than a minimum that misses delta by the slack at most.

        It comes with by how much; None if no slack is allowed, or none is found.
        """
        return None

    def guess(self, order: list[int]) -> int | None:
        """Return about how many of an order suffice; None if nothing is known of it."""
        return None

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return the shortest prefix of an order that is seen to reach the level.

        Where guarantees are monotone it is found by bisection, or step by step from a guess.
        """
        if not self.monotone:
            sizes = range(len(order) + 1)
            return next((order[:k] for k in sizes if self.verdict(order[:k])), None)
        at = self.guess(order)
        return self.bisected(order) if at is None else self._stepwise(order, at)

    def bisected(self, order: list[int]) -> list[int] | None:
        """Return a prefix of an order that is seen to reach the level, and with one less not."""
        if not self.verdict(order):
            return None
        low, high = -1, len(order)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.verdict(order[:middle]) else (middle, high)
        return order[:high]

    def _stepwise(self, order: list[int], at: int) -> list[int] | None:
        while not self.verdict(order[:at]):
            at += 1
            if at > len(order):
                return None
        while at > 0 and self.verdict(order[: at - 1]):
            at -= 1
        return order[:at]

    def pruned(self, order: list[int]) -> set[int]:
        """Leave out what is not needed, the last and least first, until every unit is."""
        chosen = set(order)
        changed = True
        while changed:
            changed = False
            for u in reversed(order):
                if u in chosen and self.verdict(chosen - {u}):
                    chosen.discard(u)
                    changed = not self.monotone
        return chosen

    # --- the sets of a size ------------------------------------------------------------------

    def bound_least(self, size: int) -> None:
        """Raise ``least``, up to a size, by what is cheap to prove."""

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members that reaches the level.

        True comes with a set, False is a proof that there is none, None is neither.
        """
        sizes = [size] if self.monotone else range(size, -1, -1)
        if sum(math.comb(len(self.members), k) for k in sizes) > self.task.effort.limits.few_sets:
            return None, set()
        return self.first_of(chain.from_iterable(combinations(self.members, k) for k in sizes))

    def first_of(self, sets: Iterable[Collection[int]]) -> tuple[bool | None, set[int]]:
        """Look at sets one by one: the first that reaches the level, or what is proved of all."""
        undecided = False
        for chosen in sets:
            if self.task.is_late:
                return None, set()
            verdict = self.verdict(chosen)
            if verdict:
                return True, set(chosen)
            undecided |= verdict is None
        return (None if undecided else False), set()

    def improve(self, chosen: set[int]) -> set[int]:
        """Return a set of the same size with a guarantee that is at least as good."""
        return chosen

    def best_of(self, size: int) -> set[int]:
        """Return the best set found of at most a size."""
        sizes = [size] if self.monotone else range(size + 1)
        tried = [set(order[:k]) for order in self.proposals() for k in sizes]
        return self.improve(max(tried, key=self.worth))

    def scout(self, prices: dict[int, int]) -> Scout:
        """Return what looks ahead for the cheapest set, if members have prices."""
        members = [int(u) for u in self.members]
        return Scout(members, prices, self.verdict, self.monotone)

    # --- what is proved of a set -------------------------------------------------------------

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Prove that nothing can be left out, or leave it out.

        Returns the set, what is proved of it, and the slack of that.
        """
        mixed = [u for u in self.in_order(chosen) if u not in self.pure]
        word, removals = "locally-minimal", [{u} for u in chosen]
        if len(mixed) <= MOST_MIXED:
            word = "subset-minimal"
            several = chain.from_iterable(
                combinations(mixed, size) for size in range(1, len(mixed) + 1)
            )
            removals = [set(s) for s in several] + [{u} for u in chosen if u in self.pure]
        open_ones = 0
        for removal in removals:
            verdict = None if self.task.is_over else self.verdict(chosen - removal)
            if verdict:
                return self.claim(self.pruned(self.in_order(chosen - removal)))
            open_ones += verdict is None
        return chosen, f"near-{word}" if open_ones else word, 0.0


def last_place(holds: Callable[[int], bool | None], yes: int, no: int) -> tuple[int, int]:
    """Bisect for the places before which something surely holds, and from which it does not.

    It holds for places below some number and for no others; ``yes`` is a number of places for
    which it is known to hold, and from place ``no`` on it is known not to. What ``holds`` leaves
    open stays between the two.
    """
    first_open = no
    while first_open > yes:  # surely yes below
        middle = (yes + first_open) // 2
        verdict = holds(middle)
        if verdict:
            yes = middle + 1
        else:
            first_open = middle
            if verdict is False:
                no = min(no, middle)
    while no - 1 > first_open:  # surely no from there on
        middle = (first_open + no) // 2
        if holds(middle) is False:
            no = middle
        else:
            first_open = middle
    return yes, no


def search_cheapest(law: Law, rows: Any, task: Task) -> Found:
    """Return a cheap set of each row that reaches delta, and what was proved of it."""
    prices = task.prices
    assert prices is not None
    # Half of the time is for the fewest features.
    effort = replace(task.effort, time_limit=task.effort.time_limit / 2)
    task = replace(task, slack=None, effort=effort)
    found = search(law, rows, task)
    forced = prices.total(task.include)
    rows = rows if law.takes_sparse else np.asarray(rows)
    asked = law.within(rows, task)
    sets = found.sets
    cheap = Found.empty(len(rows), law.model.n_units)
    for i in range(len(rows)):
        if i in found.flagged or found.minimality[i] == "best-of-size":
            _copy(found, cheap, i, sets.of(i))
            cheap.cost_lower[i] = forced
            continue
        own = asked.of_row(i)
        prover = law.prover(law.view(rows[i]), own)
        one = _Cheapest(law, rows[i], prover, prices, int(found.size_lower[i]) - len(task.include))
        chosen, word = one.run(set(sets.of(i)) - set(task.include))
        cheap.cost_lower[i] = forced + one.least
        features = [*prover.forced, *prover.in_order(chosen)]
        cheap.write(i, features, prover.guarantee(chosen), word, int(found.size_lower[i]))
        if (own.is_late or found.stopped[i] == "time") and word != "minimum":
            cheap.stopped[i] = "time"
        del one, prover  # as in `search`
    cheap.flagged.update(found.flagged)
    return cheap


def _copy(found: Found, target: Found, i: int, features: tuple[int, ...]) -> None:
    """Write down for a row what was found of it."""
    target.writer.write(i, features)
    for name in ("lower", "upper", "minimality", "epsilon", "size_lower", "stopped"):
        getattr(target, name)[i] = getattr(found, name)[i]
    if i in found.exact:
        target.exact[i] = found.exact[i]


class _Cheapest:
    """The search of one row.

    ``fewest`` members at least are in any set that reaches delta.
    """

    def __init__(self, law: Law, row: Any, prover: Prover, prices: Prices, fewest: int) -> None:
        self.prover, self.prices, self.fewest = prover, prices, fewest
        members = [int(u) for u in prover.members]
        self.base = len(members) + 1
        # By cost, and of the same cost by size.
        self.counts = {u: prices.whole[u] * self.base + 1 for u in members}
        self.scout: Scout = law.scout(prover, self.counts, row)
        self.places = {u: j for j, u in enumerate(self.scout.order)}
        most = prover.task.most
        self.most = len(members) if most is None else most
        self.floor = sum(
            sorted(self.scout.prices)[:fewest]
        )  # no set that reaches delta counts less

    @property
    def least(self) -> int:
        """What any set that reaches delta costs at least beside the forced ones, as proved."""
        return self.floor // self.base

    def run(self, start: set[int]) -> tuple[set[int], str]:
        """Return the row's members, and what was proved of them, from a set that reaches delta."""
        best = min(self._proposed(start), key=self._count)
        effort = self.prover.task.effort
        if effort.wanted and self._count(best) > self.floor:
            best = self._branched(best, effort)
        if self._is_least(best):
            return best, "minimum"
        best = self._pruned(best)
        # Of fair coins a prover speaks of prefixes, which these sets need not be.
        claim = Prover.claim if self.prover.view.chain else type(self.prover).claim
        chosen, word, _ = claim(self.prover, best)
        return chosen, "minimum" if self._is_least(chosen) else word

    def _is_least(self, chosen: set[int]) -> bool:
        return self.prices.total(chosen) == self.least

    def _count(self, chosen: set[int]) -> int:
        return sum(self.counts[u] for u in chosen)

    def _proposed(self, start: set[int]) -> Iterator[set[int]]:
        """Return sets that reach delta and of which nothing is known to be superfluous."""
        scout, n = self.scout, len(self.scout.order)
        proposed = scout.proposed()
        if proposed is not None:
            yield start
            yield from (set(scout.units(places)) for places in proposed if len(places) <= self.most)
            return
        yield self._pruned(start)
        for power in (1.0, 0.5):
            keys = [-_for_price(scout.worth[j], scout.prices[j], power) for j in range(n)]
            order = sorted(range(n), key=keys.__getitem__)
            prefix = self._prefix(order)
            if prefix is not None and len(prefix) <= _LONGER * len(start) + _LONG:
                chosen = self._pruned(set(scout.units(prefix)))
                if len(chosen) <= self.most:
                    yield chosen

    def _prefix(self, order: list[int]) -> list[int] | None:
        """Return a short prefix of an order that reaches delta."""
        if not self.scout.monotone:
            sizes = range(len(order) + 1)
            return next((order[:k] for k in sizes if self.scout.reaches(order[:k])), None)
        low, high = self.fewest - 1, len(order)
        if not self.scout.reaches(order):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.scout.reaches(order[:middle]) else (middle, high)
        return order[:high]

    def _pruned(self, chosen: set[int]) -> set[int]:
        """Leave out what is not needed, the dearest first, until every member is."""
        kept = {self.places[u] for u in chosen}
        dearest = sorted(kept, key=lambda j: (-self.scout.prices[j], self.scout.worth[j]))
        changed = True
        while changed:
            changed = False
            for j in dearest:
                if j in kept and self.scout.reaches(kept - {j}):
                    kept.discard(j)
                    changed = not self.scout.monotone
        return set(self.scout.units(kept))

    # --- branch and bound --------------------------------------------------------------------

    def _branched(self, best: set[int], effort: Effort) -> set[int]:
        """Look for a cheaper set, and raise the floor by what is proved."""
        scout = self.scout
        limit = self._count(best) - 1
        few, many = scout.branches
        task = self.prover.task
        budget = min(many, scout.branches_in(task.seconds)) if effort.thorough else few
        budget = budget if effort.max_evals is None else effort.max_evals
        outcome = scout.branched(limit, self.most, self.fewest, budget)
        if outcome is None:
            outcome = Branching(scout, limit, self.most, self.fewest, budget, task).run()
        if outcome.found is not None:
            best = set(scout.units(outcome.found))
        floor = outcome.least if outcome.complete else self._root_floor(self._count(best) - 1)
        self.floor = max(self.floor, floor)
        return best

    def _root_floor(self, limit: int) -> int:
        """Return a count below which every set is hopeless, found by bisection."""
        scout = self.scout
        low, high = self.floor - 1, limit + 1  # hopeless up to low
        for _ in range(_STEPS):
            if high - low <= 1 or self.prover.task.is_late:
                break
            middle = (low + high) // 2
            rest = [j for j, price in enumerate(scout.prices) if price <= middle]
            if scout.hopeless((), rest, middle, self.most):
                low = middle
            else:
                high = middle
        return low + 1


class Branching:
    """Branch and bound over the sets of members that count at most ``limit`` (Proposition 91).

    ``limit`` falls with every set that is found; ``budget`` is how many branches are followed, as
    long as the task has time.
    """

    def __init__(
        self, scout: Scout, limit: int, most: int, fewest: int, budget: int, task: Task
    ) -> None:
        self.scout, self.limit, self.most, self.fewest = scout, limit, most, fewest
        self.budget, self.task = budget, task
        self.found: list[int] | None = None
        self._open: int | None = None

    def run(self) -> Branched:
        """Go through the branches, as far as the budget goes."""
        complete = self._is_settled((), 0) or self._go()
        least = self.limit + 1 if self._open is None else min(self._open, self.limit + 1)
        return Branched(self.found, least, complete)

    def _go(self) -> bool:
        """Tell whether the budget suffices for all branches."""
        scout = self.scout
        stack: list[tuple[int, tuple[int, ...], int, int, bool]] = [(0, (), 0, 0, False)]
        while stack:
            if self.budget <= 0 or self.task.is_late:
                return False
            self.budget -= 1
            at, taken, count, blocked, new = stack.pop()
            if count > self.limit:
                continue
            rest = self._rest(at, blocked, count)
            if not self._hopeful(taken, rest, count):
                continue
            if new and self._is_settled(taken, count):
                continue
            if len(taken) < self.most and rest:
                j = rest[0]
                stack.append((j + 1, taken, count, blocked | scout.below[j], False))
                stack.append((j + 1, (*taken, j), count + scout.prices[j], blocked, True))
        return True

    def _rest(self, at: int, blocked: int, count: int) -> list[int]:
        """Return the places that may still be taken."""
        prices, left = self.scout.prices, self.limit - count
        return [j for j in range(at, len(prices)) if prices[j] <= left and not (blocked >> j) & 1]

    def _hopeful(self, taken: tuple[int, ...], rest: list[int], count: int) -> bool:
        """Tell whether a set that reaches delta may be found from here on."""
        left = self.limit - count
        room = self.most - len(taken)
        short = self.fewest - len(taken)
        if short > 0:
            if min(room, len(rest)) < short:
                return False
            if sum(sorted(self.scout.prices[j] for j in rest)[:short]) > left:
                return False
        return not self.scout.hopeless(taken, rest, left, room)

    def _is_settled(self, taken: tuple[int, ...], count: int) -> bool:
        """Tell whether a set reaches delta, and write that down: more would be dearer."""
        verdict = self.scout.reaches(taken)
        if verdict:
            self.found, self.limit = list(taken), count - 1
        elif verdict is None:
            self._open = count if self._open is None else min(self._open, count)
        return bool(verdict)


def _for_price(worth: float, price: int, power: float) -> float:
    """Return what a member is worth for its price, about."""
    try:
        return max(worth, 0.0) / math.pow(price, power)
    except OverflowError:
        return 0.0

"""The search of a law that brings none of its own: proposals, and what is proved of them.

A law answers what it can for all rows together; every other row is searched by itself. Several
orders propose a prefix that reaches delta, the smallest is pruned until nothing can be left out,
and then smaller sets are looked for until there is none (proved), or none is found. What is known
of the sets of a row at one level, its `Prover` knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from fractions import Fraction
from functools import partial
from itertools import chain, combinations
from typing import Any

import numpy as np

from sklearn_probsr.core.answers import Found, unreachable
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import MOST_MIXED, Task
from sklearn_probsr.core.scout import Scout
from sklearn_probsr.core.view import View
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["Prover", "last_place", "search"]


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

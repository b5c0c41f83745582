"""Local search: from proposals to a set that is proved to be minimal in some sense.

What is common to independent units and to joint rows. A unit is *pure* if leaving it unknown can
only cost: fixing it never hurts. One that may cost or gain is *mixed*: with it guarantees are not
monotone, every size has to be looked at, and a set is subset-minimal only if leaving out any of
the ``2^mixed`` choices of its mixed units, or any single pure one, breaks it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from fractions import Fraction
from itertools import chain, combinations

from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._search import Task, unreachable
from sklearn_probsr.engines._stroll import MOST_MIXED

__all__ = ["LocalSearch", "subsets"]


def subsets(items: Collection[int]) -> Iterator[tuple[int, ...]]:
    """Return all subsets but the empty one, small ones first."""
    return chain.from_iterable(combinations(items, size) for size in range(1, len(items) + 1))


class LocalSearch(ABC):
    """The search of one row.

    Parameters
    ----------
    task : Task
    members : list of int
        The units that may be chosen: those that can cost something when they are unknown.
    pure : set of int
        Those of them that cannot gain.
    """

    def __init__(self, task: Task, members: list[int], pure: set[int]) -> None:
        self.task = task
        self.forced = list(task.include)
        self.members = members
        self.pure = pure
        self.monotone = len(pure) == len(members)
        self.least = 0  # fewer members than this are proved not to reach delta

    @abstractmethod
    def verdict(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set of members reaches delta; None if that stays open."""

    @abstractmethod
    def shown(self, chosen: Collection[int]) -> Enclosure:
        """Enclose the guarantee of a set for a reader: narrowly, and never against a verdict."""

    def worth(self, chosen: Collection[int]) -> Fraction | float:
        """Return what the guarantee of a set surely is."""
        return self.shown(chosen).lower

    @abstractmethod
    def proposals(self) -> list[list[int]]:
        """Return orders of the members; the first is that of the mean cost."""

    @abstractmethod
    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members that reaches delta.

        True comes with a set, False is a proof that there is none, None is neither.
        """

    @abstractmethod
    def improve(self, chosen: set[int]) -> set[int]:
        """Return a set of the same size with a guarantee that is at least as good."""

    def settled(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set reaches delta as a reader would: also by the bounds that are shown."""
        verdict = self.verdict(chosen)
        return (self.shown(chosen) >= self.task.delta).value if verdict is None else verdict

    def run(
        self, i: int, over: str, start: set[int] | None = None
    ) -> tuple[list[int], Enclosure, str, int]:
        """Return row i's features, their guarantee, what was proved, and the least size of any.

        ``start`` is a set that reaches delta, and from which nothing can be left out.
        """
        chosen, minimality = self._run(i, over, start)
        least = len(self.forced) + self.least
        return self.features(chosen), self.shown(chosen), minimality, least

    def _run(self, i: int, over: str, start: set[int] | None) -> tuple[set[int], str]:
        chosen, proved = self.smallest() if start is None else self.shrink(self.shorter(start))
        if chosen is not None and proved:
            self.least = len(chosen)
        most = len(self.members) if self.task.most is None else self.task.most
        if chosen is None or len(chosen) > most:
            chosen, proved = self.best_of(min(most, len(self.members))), False
            verdict = self.settled(chosen)
            if not verdict and self.task.max_size is None:
                refuted = verdict is False and self.monotone
                what = "cannot be reached" if refuted else "is not proved"
                raise unreachable(self.task, i, what, str(self.shown(chosen)), over)
            if not verdict:
                return chosen, "best-of-size"
            chosen = self.pruned(self.in_order(chosen))
        elif self.task.effort.wanted:
            chosen = self.improve(chosen)
        if not proved:
            chosen, minimality = self.claim(chosen)
        if proved or len(chosen) == self.least:
            minimality, self.least = "minimum", len(chosen)
        return chosen, minimality

    def shorter(self, chosen: set[int]) -> set[int]:
        """Return a set no larger than the shortest prefix by mean cost that is seen to suffice."""
        order = self.proposals()[0][: max(len(chosen) - 1, 0)]
        sizes = [len(order)] if self.monotone else range(len(order) + 1)
        if len(chosen) == 0 or not any(self.verdict(order[:k]) for k in sizes):
            return chosen
        return self.pruned(self.prefix(order) or [])

    def features(self, chosen: Collection[int]) -> list[int]:
        """Return the forced features and those of a set, best first."""
        return [*self.forced, *self.in_order(chosen)]

    def in_order(self, chosen: Collection[int]) -> list[int]:
        """Return a set in the order of the members."""
        return [i for i in self.members if i in chosen]

    def smallest(self) -> tuple[set[int] | None, bool]:
        """Return the smallest set found that reaches delta, and whether none is smaller."""
        prefixes = [self.prefix(order) for order in self.proposals()]
        sets = [self.pruned(prefix) for prefix in prefixes if prefix is not None]
        if not sets:
            verdict, found = self.look(len(self.members))
            return (self.shrink(self.pruned(self.in_order(found)))) if verdict else (None, False)
        least = min(map(len, sets))
        best = [s for s in sets if len(s) == least]
        return self.shrink(best[0] if len(best) == 1 else max(best, key=self.worth))

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return the shortest prefix of an order that reaches delta."""
        if self.monotone:
            if not self.verdict(order):
                return None
            low, high = -1, len(order)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self.verdict(order[:middle]) else (middle, high)
            return order[:high]
        sizes = range(len(order) + 1)
        return next((order[:k] for k in sizes if self.verdict(order[:k])), None)

    def pruned(self, order: list[int]) -> set[int]:
        """Leave out what is not needed, the last and least first, until every unit is."""
        chosen = set(order)
        changed = True
        while changed:
            changed = False
            for i in reversed(order):
                if i in chosen and self.verdict(chosen - {i}):
                    chosen.discard(i)
                    changed = not self.monotone
        return chosen

    def shrink(self, chosen: set[int]) -> tuple[set[int], bool]:
        """Look for smaller sets until there is none (proved) or none is found.

        Where a size stays open, smaller ones may not: then less is proved.
        """
        size = len(chosen) - 1
        while size >= self.least:
            verdict, found = self.look(size) if self.task.effort.wanted else (None, set())
            if verdict:
                chosen = self.pruned(self.in_order(found))  # it may hold what it does not need
                size = len(chosen) - 1
            elif verdict is False:
                self.least = size + 1
            else:
                size -= 1
        return chosen, len(chosen) == self.least

    def claim(self, chosen: set[int]) -> tuple[set[int], str]:
        """Prove that nothing can be left out, or leave it out."""
        mixed = [i for i in self.in_order(chosen) if i not in self.pure]
        if len(mixed) > MOST_MIXED:
            return self._claim(chosen, "locally-minimal", [{i} for i in chosen])
        several = [set(left) for left in subsets(mixed)]
        return self._claim(
            chosen, "subset-minimal", several + [{i} for i in chosen if i in self.pure]
        )

    def _claim(self, chosen: set[int], word: str, removals: list[set[int]]) -> tuple[set[int], str]:
        open_ones = 0
        for removal in removals:
            verdict = self.verdict(chosen - removal)
            if verdict:
                return self.claim(self.pruned(self.in_order(chosen - removal)))
            open_ones += verdict is None
        return chosen, f"near-{word}" if open_ones else word

    def best_of(self, size: int) -> set[int]:
        """Return the best set found of at most a size."""
        orders = self.proposals()
        sizes = [size] if self.monotone else range(size + 1)
        tried = [set(order[:k]) for order in orders for k in sizes]
        return self.improve(max(tried, key=self.worth))

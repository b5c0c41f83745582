"""Certainty over independent units: what is unknown fits the margin at worst, before every rival.

No probability is asked for that (Proposition 8). A unit that is known can break it only if it is
worse, before a rival, than everything that it may be when it is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from sklearn_probsr.core.scout import CoverScout
from sklearn_probsr.core.search import Prover
from sklearn_probsr.laws.sums._costs import Costs
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["CertainProver"]


class CertainProver(Prover):
    """The sets of one instance that keep its class for certain.

    ``likely`` knows the same sets by their probability, and ``duels`` are what units cost before
    each rival; of two classes there is one.
    """

    def __init__(self, likely: Prover, duels: Sequence[Costs]) -> None:
        super().__init__(likely.view, likely.task)
        self.likely, self.duels = likely, duels
        hurts = [duel.may_hurt_at_worst(self.members) for duel in self.duels]
        self.pure = set(self.members).difference(*hurts)
        self.monotone = len(self.pure) == len(self.members)

    def verdict(self, chosen: Collection[int]) -> bool:
        """Tell whether a set of members keeps the class for certain."""
        return all(duel.is_certain([*self.forced, *chosen]) for duel in self.duels)

    def guarantee(self, chosen: Collection[int]) -> Enclosure:
        """Enclose the guarantee of a set for a reader; it agrees with the verdict."""
        return self.view.enclose([*self.forced, *chosen])

    def proposals(self) -> list[list[int]]:
        """Return the members by the most that they cost; before several rivals, in two orders."""
        if len(self.duels) == 1:
            return [sorted(self.members, key=self.duels[0].most, reverse=True)]
        return [self.members, self._by_excess()]

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return the shortest prefix of an order that keeps the class for certain."""
        along = self._along(self.duels, order)
        return order[: along.index(True)] if True in along else None

    def _along(self, duels: Sequence[Costs], order: list[int]) -> list[bool]:
        each = (duel.certain_along([*self.forced, *order])[len(self.forced) :] for duel in duels)
        return [all(sure) for sure in zip(*each, strict=True)]

    def _by_excess(self) -> list[int]:
        worst = np.array([duel.moments.score for duel in self.duels])
        margins = np.array([duel.moments.margin for duel in self.duels])
        excess = worst.sum(axis=1) - worst[:, self.forced].sum(axis=1) - margins
        order: list[int] = []
        free = list(self.members)
        while free:
            left = np.maximum(excess[:, None] - worst[:, free], 0.0).sum(axis=0)
            # Once nothing is left, the largest costs come first.
            best = free[int(np.lexsort((-worst[:, free].sum(axis=0), left))[0])]
            order.append(best)
            free.remove(best)
            excess -= worst[:, best]
        return order

    @cached_property
    def fewest(self) -> int:
        """Fewer members than this are too few: before a single rival the largest costs do most."""
        found = 0
        for duel in self.duels:
            largest = sorted(self.members, key=duel.most, reverse=True)
            sure = self._along([duel], largest)
            found = max(found, sure.index(True) if True in sure else len(sure))
        return found

    def bound_least(self, size: int) -> None:
        """Raise ``least`` by what single rivals prove."""
        self.least = max(self.least, self.fewest)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members that keeps the class for certain."""
        return (False, set()) if size < self.fewest else super().look(size)

    def scout(self, prices: dict[int, int]) -> CoverScout:
        """Return what looks ahead for the cheapest set: what members cost at worst adds up."""
        covers, needed = [], []
        for duel in self.duels:
            worst, beyond = duel.at_worst
            covers.append([worst[u] for u in self.members])
            needed.append(beyond - sum(worst[u] for u in self.forced))
        return CoverScout(self.members, prices, self.verdict, covers, needed)

    def best_of(self, size: int) -> set[int]:
        """Return the best set found of at most a size, certain or not."""
        return self.likely.best_of(size)

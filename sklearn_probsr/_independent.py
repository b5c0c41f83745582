"""The search over independent features with chances of their own.

The exchange lemma orders two features only if one has both the larger score and the larger chance
to cost it; in general no single ranking is optimal. So several rankings propose a set (by mean
cost, by score, and by ``mean + lambda variance``, the normal law's compromise between them), the
smallest is pruned until nothing can be left out, which proves it subset-minimal, and where the
sets one smaller are few, refuting every one that respects the exchange lemma proves a minimum.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._costs import Costs
from sklearn_probsr._deficits import Instance
from sklearn_probsr._distributions import Product
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._model import LinearModel
from sklearn_probsr._search import Found, Task, unreachable

__all__ = ["product_curve", "product_guarantee", "search_product"]

# So many sets, one smaller than the set found, are refuted one by one to prove a minimum.
_MOST_SETS = 1000


def product_guarantee(instance: Instance, features: Collection[int], product: Product) -> Enclosure:
    """Enclose the probability that independent completions keep the class."""
    return Costs(instance, product).enclosure(features, None)


def product_curve(
    instance: Instance, product: Product
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the order by mean cost, and enclosures of the guarantee at every size."""
    costs = Costs(instance, product)
    members = instance.members()
    order = costs.rankings(members)[0] if members else []
    order += [i for i in instance.order.tolist() if i not in set(order)]
    lower, upper = np.ones(len(order) + 1), np.ones(len(order) + 1)
    for k in range(len(members) + 1):
        known = costs.enclosure(order[:k], None)
        lower[k], upper[k] = known.lower, known.upper
        if known.exact == 1:
            break
    lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1].copy()
    return np.array(order, dtype=np.intp), lower, upper


def search_product(
    model: LinearModel, rows: NDArray[np.bool_], task: Task, product: Product
) -> Found:
    """Return a small set of each row that reaches delta, and what was proved of it."""
    found = Found.empty(rows)
    for i, row in enumerate(rows):
        search = _Search(Costs(Instance(model, row), product), task)
        features, minimality = search.run(i, product)
        narrow = search.costs.enclosure(features, None)
        decided = search.costs.enclosure(features, task.delta)
        found.write(i, features, narrow.intersect(decided), minimality)
    return found


class _Search:
    """The search of one row."""

    def __init__(self, costs: Costs, task: Task) -> None:
        self.costs = costs
        self.task = task
        self.forced = list(task.include)
        barred = {*task.include, *task.exclude}
        # what never changes never costs anything
        self.members = [i for i in costs.instance.members(barred) if costs.change[i] > 0]

    def verdict(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set of members reaches delta; None if that stays open."""
        return (
            self.costs.enclosure([*self.forced, *chosen], self.task.delta) >= self.task.delta
        ).value

    def run(self, i: int, product: Product) -> tuple[list[int], str]:
        """Return the features of the answer and the claim."""
        most = len(self.members) if self.task.most is None else self.task.most
        reachable = self.verdict(self.members)
        if not reachable and self.task.max_size is None:
            best = self.costs.enclosure([*self.forced, *self.members], None)
            what = "cannot be reached" if reachable is False else "is not proved"
            raise unreachable(self.task, i, what, f"{best}", str(product))
        rankings = self.costs.rankings(self.members)
        chosen, proved = self.smallest(rankings) if reachable else (set(self.members), False)
        if not reachable or len(chosen) > most:
            best_of_size = self.best_of(rankings, most)
            if not self.verdict(best_of_size):
                return [*self.forced, *best_of_size], "best-of-size"
            chosen, proved = self.pruned(best_of_size), False
        minimality = "minimum" if proved else self.claim(chosen)
        return [*self.forced, *self.in_order(chosen)], minimality

    def smallest(self, rankings: list[list[int]]) -> tuple[set[int], bool]:
        """Return the smallest set that the rankings propose, shrunk, and whether it is least."""
        proposals = [self.pruned(order) for order in rankings]
        least = min(map(len, proposals))
        return self.shrink(max((s for s in proposals if len(s) == least), key=self.lower))

    def lower(self, chosen: Collection[int]) -> float:
        return self.costs.enclosure([*self.forced, *chosen], None).lower

    def in_order(self, chosen: Collection[int]) -> list[int]:
        return [i for i in self.members if i in chosen]

    def pruned(self, order: list[int]) -> set[int]:
        """Return the shortest prefix that suffices, without what it can do without."""
        at = self.costs.guess(self.forced, order, self.task.delta)
        while not self.verdict(order[:at]):
            at += 1
        while at > 0 and self.verdict(order[: at - 1]):
            at -= 1
        chosen = set(order[:at])
        for i in reversed(order[:at]):
            if self.verdict(chosen - {i}):
                chosen.discard(i)
        return chosen

    def claim(self, chosen: set[int]) -> str:
        """Return "subset-minimal" if every single feature is proved to be needed."""
        needed = all(self.verdict(chosen - {i}) is False for i in chosen)
        return "subset-minimal" if needed else "near-subset-minimal"

    def shrink(self, chosen: set[int]) -> tuple[set[int], bool]:
        """Refute the smaller sets, or find one that does."""
        while chosen:
            if math.comb(len(self.members), len(chosen) - 1) > _MOST_SETS:
                return chosen, False
            verdicts = [(s, self.verdict(s)) for s in self.up_sets(len(chosen) - 1)]
            better = next((s for s, verdict in verdicts if verdict), None)
            if better is None:
                return chosen, all(verdict is False for _, verdict in verdicts)
            chosen = self.pruned(list(better))  # it may hold what it does not need
        return chosen, True

    def up_sets(self, size: int) -> Iterator[tuple[int, ...]]:
        """Return the sets of a size that hold, with each feature, all that dominate it."""
        members = self.members
        score, change = self.costs.instance.magnitudes, self.costs.change
        above = {
            j: {
                i
                for a, i in enumerate(members)
                if (score[i] >= score[j] and change[i] >= change[j])
                and ((score[i], change[i]) != (score[j], change[j]) or a < b)
            }
            for b, j in enumerate(members)
        }

        return (s for s in combinations(members, size) if all(above[j] <= set(s) for j in s))

    def best_of(self, rankings: list[list[int]], size: int) -> list[int]:
        """Return the best prefix of a size among the rankings."""
        return max((order[:size] for order in rankings), key=self.lower)

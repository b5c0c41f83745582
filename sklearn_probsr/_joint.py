"""The search over background rows: exact counts, subset-minimal sets, proofs of minimum.

Everything is counted in integers (see ``IntegerForm``). Where they are longer than 62 bits they
are cut to their leading bits first; a margin made of c cut numbers is then short by less than c,
so margins in ``(-c, 0)`` are looked at again with all their digits.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._deficits import Instance
from sklearn_probsr._distributions import Background
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._exact import float_above, float_below
from sklearn_probsr._model import LinearModel
from sklearn_probsr._search import Found, Task, unreachable
from sklearn_probsr.engines._joint import Rows, branch_and_bound, greedy, kept_weight, margins_with

__all__ = ["joint_curve", "joint_guarantee", "search_joint"]

_BITS = 62
# Row visits that the proof of a minimum, and the search for a better set, may cost: about a ms.
_BUDGET = 1_000_000
# Integers beyond 62 bits: so many sets are tried one by one, with all their digits.
_MOST_SETS = 1000


@dataclass(frozen=True)
class Starts:
    """The margins of the background rows for one class, nothing fixed: whole, and cut."""

    margins: list[int]
    shift: int
    cut: NDArray[np.int64]

    @classmethod
    def of(cls, model: LinearModel, background: Background, positive: bool) -> Starts:
        """Count them in integers."""
        form = model.integer_form
        reach = sum(map(abs, form.weights))
        if reach < 2**_BITS:
            totals = (background.rows @ np.array(form.weights, dtype=np.int64)).tolist()
        else:
            totals = [sum(form.weights[i] for i in np.flatnonzero(r)) for r in background.rows]
        if positive:
            margins = [total - form.threshold for total in totals]
        else:
            margins = [form.threshold - 1 - total for total in totals]
        shift = max((max(map(abs, margins)) + reach).bit_length() - _BITS, 0)
        return cls(margins, shift, np.array([m >> shift for m in margins], dtype=np.int64))


@dataclass(frozen=True)
class Replacement:
    """An instance before a background."""

    instance: Instance
    background: Background

    @cached_property
    def starts(self) -> Starts:
        """What the class of the instance has to spare in each background row."""
        model, positive = self.instance.model, self.instance.positive
        return model.cached(
            ("starts", self.background, positive),
            lambda: Starts.of(model, self.background, positive),
        )

    @property
    def shift(self) -> int:
        """How many bits are cut off so that sums fit."""
        return self.starts.shift

    @cached_property
    def differ(self) -> NDArray[np.bool_]:
        """Where a background row differs from the instance: (features, rows)."""
        return np.ascontiguousarray((self.background.rows != self.instance.row).T)

    def gain(self, feature: int) -> int:
        """Return what fixing a feature adds to the margin of a row that differs in it."""
        magnitude = self.instance.magnitudes[feature]
        return magnitude if self.instance.helps[feature] else -magnitude

    @cached_property
    def _cut_gains(self) -> NDArray[np.int64]:
        gains = [self.gain(i) >> self.shift for i in range(len(self.instance.row))]
        return np.array(gains, dtype=np.int64)

    def margins(self, features: Collection[int]) -> NDArray[np.int64]:
        """Return the cut margins of the background rows when features are fixed."""
        chosen = np.array([*features], dtype=np.intp)
        return margins_with(self.starts.cut, self.differ, chosen, self._cut_gains[chosen])

    def weight(self, features: Collection[int]) -> int:
        """Return the weight of the background rows that keep the class, exactly."""
        chosen = np.array([*features], dtype=np.intp)
        doubt = len(chosen) + 1 if self.shift else 0
        weights, gains = self.background.weights, self._cut_gains[chosen]
        kept, unsure = kept_weight(self.starts.cut, weights, self.differ, chosen, gains, doubt)
        if not unsure:
            return int(kept)
        margins = self.margins(features)
        for r in np.flatnonzero((margins < 0) & (margins > -doubt)):
            gained = sum(self.gain(i) for i in features if self.differ[i, r])
            if self.starts.margins[r] + gained >= 0:
                kept += weights[r]
        return int(kept)

    def rows(self, forced: Collection[int], members: list[int]) -> Rows:
        """Return what the compiled search reads, with some features fixed already."""
        return Rows(
            self.margins(forced),
            self.background.weights,
            self.differ[members],
            self._cut_gains[members],
        )


def joint_guarantee(
    instance: Instance, features: Collection[int], background: Background
) -> Enclosure:
    """Return the exact share of background rows that keep the class."""
    kept = Replacement(instance, background).weight(features)
    return Enclosure.of(Fraction(kept, background.total))


def joint_curve(
    instance: Instance, background: Background
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the order in which greed fixes features, and the exact share at every size."""
    seen = Replacement(instance, background)
    members = instance.members()
    first = greedy(seen.rows((), members), background.total + 1, False)
    order = [members[j] for j in first]
    chosen = set(order)
    order += [i for i in instance.order.tolist() if i not in chosen]
    shares = [Fraction(seen.weight(order[:k]), background.total) for k in range(len(members) + 1)]
    d = len(order)
    lower, upper = np.ones(d + 1), np.ones(d + 1)
    for k, share in enumerate(shares):
        lower[k], upper[k] = float_below(share), float_above(share)
    return np.array(order, dtype=np.intp), lower, upper


def search_joint(
    model: LinearModel, rows: NDArray[np.bool_], task: Task, background: Background
) -> Found:
    """Return a small set of each row that reaches delta, and what was proved of it."""
    found = Found.empty(rows)
    for i, row in enumerate(rows):
        search = _Search(Replacement(Instance(model, row), background), task)
        features, minimality = search.run(i)
        share = Fraction(search.seen.weight(features), background.total)
        found.write(i, features, Enclosure.of(share), minimality)
    return found


class _Search:
    """The search of one row."""

    def __init__(self, seen: Replacement, task: Task) -> None:
        self.seen = seen
        self.task = task
        self.forced = list(task.include)
        self.members = seen.instance.members({*task.include, *task.exclude})
        self.rows = seen.rows(self.forced, self.members)
        self.total = seen.background.total
        self.needed = math.ceil(task.delta * self.total)  # the least weight that reaches delta
        self.budget = _BUDGET

    def features(self, chosen: Collection[int]) -> list[int]:
        return self.forced + [self.members[j] for j in sorted(chosen)]

    def weight(self, chosen: Collection[int]) -> int:
        return self.seen.weight(self.features(chosen))

    def run(self, i: int) -> tuple[list[int], str]:
        """Return the features of the answer and the claim."""
        everything = range(len(self.members))
        best = self.weight(everything)
        if best < self.needed and self.task.max_size is None:
            share = Enclosure.of(Fraction(best, self.total))
            raise unreachable(
                self.task, i, "cannot be reached", f"{share}", str(self.seen.background)
            )
        chosen, proved = set(everything), False
        if best >= self.needed:
            chosen, proved = self.shrink(self.smallest())
        most = len(self.members) if self.task.most is None else self.task.most
        if best < self.needed or len(chosen) > most:
            chosen, proved = self.best_of(min(most, len(self.members))), False
            if self.weight(chosen) < self.needed:
                return self.features(chosen), "best-of-size"
        else:
            chosen = self.improve(chosen)
        if proved:
            return self.features(chosen), "minimum"
        return self.features(self.pruned(sorted(chosen))), "subset-minimal"

    def smallest(self) -> set[int]:
        """Return the smallest of some greedy sets, pruned until nothing can be left out."""
        orders = [greedy(self.rows, self.needed, hinge).tolist() for hinge in (False, True)]
        average = self.rows.differ @ self.rows.weights * self.rows.magnitudes.astype(float)
        orders.append(self.prefix(np.argsort(-average, kind="stable").tolist()))
        return min((self.pruned(order) for order in orders), key=len)

    def prefix(self, order: list[int]) -> list[int]:
        """Return the shortest prefix of an order that suffices."""
        low, high = -1, len(order)
        while high - low > 1:
            middle = (low + high) // 2
            enough = self.weight(order[:middle]) >= self.needed
            low, high = (low, middle) if enough else (middle, high)
        return order[:high]

    def pruned(self, order: list[int]) -> set[int]:
        """Leave out what is not needed, the last and least first: a subset-minimal set."""
        chosen = set(order)
        if self.weight(chosen) < self.needed:  # greed went by cut digits
            chosen = set(range(len(self.members)))
            order = sorted(chosen)
        for j in reversed(order):
            if self.weight(chosen - {j}) >= self.needed:
                chosen.discard(j)
        return chosen

    def shrink(self, chosen: set[int]) -> tuple[set[int], bool]:
        """Look for smaller sets until none exists (proved) or the budget is spent."""
        while chosen:
            verdict, found = self.look(len(chosen) - 1, self.needed)
            if verdict == 0:
                return chosen, True
            if verdict < 0:
                return chosen, False
            chosen = self.pruned(sorted(found))  # it may hold what it does not need
        return chosen, True

    def improve(self, chosen: set[int]) -> set[int]:
        """Look for sets of the same size that keep more rows."""
        while self.budget > 0:
            weight = self.weight(chosen)
            verdict, found = self.look(len(chosen), weight + 1)
            if verdict != 1:
                break
            chosen = found
        return chosen

    def best_of(self, size: int) -> set[int]:
        """Return the best set found of a size."""
        start = greedy(self.rows, self.total + 1, False).tolist()[:size]
        return self.improve(set(start))

    def look(self, size: int, needed: int) -> tuple[int, set[int]]:
        """Look for a set of a size and weight: 1 if found, 0 if there is none, -1 if unknown."""
        # A cut margin is short by less than the numbers it is made of.
        floor = -(size + len(self.forced)) if self.seen.shift else 0
        verdict, chosen, spent = branch_and_bound(self.rows, size, needed, floor, self.budget)
        self.budget -= spent
        found = set(np.flatnonzero(chosen).tolist())
        if verdict == 1 and self.seen.shift and self.weight(found) < needed:
            return self.look_exactly(size, needed)
        return verdict, found

    def look_exactly(self, size: int, needed: int) -> tuple[int, set[int]]:
        """Try every set, if they are few, with all the digits of long integers."""
        if math.comb(len(self.members), size) > _MOST_SETS:
            return -1, set()
        for chosen in combinations(range(len(self.members)), size):
            if self.weight(chosen) >= needed:
                return 1, set(chosen)
        return 0, set()

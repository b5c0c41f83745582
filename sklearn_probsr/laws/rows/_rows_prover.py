"""The sets of one instance over background rows: exact counts, and proofs of a minimum."""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._level import MOST_MIXED
from sklearn_probsr.engines.rows._branch_and_bound import MOST_CELLS, branch_and_bound
from sklearn_probsr.engines.rows._counts import kept_along, kept_weight
from sklearn_probsr.engines.rows._greed import greedy
from sklearn_probsr.engines.rows._needs import Needs, needs_of
from sklearn_probsr.engines.rows._programme import MOST_PRICE, solve
from sklearn_probsr.engines.rows._pruning import are_needed, exposed, prune
from sklearn_probsr.engines.rows._rounded_search import Rounded, rounded_search, rounded_up
from sklearn_probsr.laws._prover import Prover
from sklearn_probsr.laws._scout import Scout
from sklearn_probsr.laws._task import Task, visits_in
from sklearn_probsr.laws.rows._rows_scout import RowsScout
from sklearn_probsr.laws.rows._rows_view import RowsView, places
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["RowsProver"]

# Of more gains the relaxation of a programme is too weak to prove what the other searches do not.
_MOST_PROGRAMMED = 2**16
# Nor does it with prices, of so many more, in seconds and with some forty megabytes.
_MOST_PRICED = 2**18
# With more rows, times the sets that may be left out, a few of the rows are asked first.
_MANY_REMOVALS = 2**20
# With less time a programme would not get beyond its start.
_LEAST_SECONDS = 0.05


class RowsProver(Prover):
    """The sets of one instance, of which rows of a data set are counted."""

    def __init__(self, view: RowsView, task: Task) -> None:
        super().__init__(view, task)
        self.seen = view
        self.total, self.doubt, delta = view.total, view.doubt, task.delta
        # The least weight that reaches delta.
        self.needed = -(-delta.numerator * self.total // delta.denominator)
        n = len(self.seen.margins)
        self.for_proofs = task.effort.more_visits(n, len(self.members))
        self.budget = task.effort.visits(n) + self.for_proofs
        self.rows, self.safe = self.seen.opened(self.members, task.include)
        self.most = self.safe + int(self.rows.weights.sum())  # no set keeps more
        self.places = {u: j for j, u in enumerate(self.members)}
        self.weights: dict[frozenset[int], int] = {}
        self.tried = len(self.members) + 1  # the least size that a programme was asked for
        self.deep = task.effort.deep_visits(n)
        self.room = MOST_CELLS
        self._rounded: Rounded | None = None
        self._needs: Needs | None = None
        self._kept = np.zeros(0, dtype=np.int64)  # what sets of some sizes keep at most

    def weight(self, chosen: Collection[int]) -> int:
        """Return the weight of the rows that keep the class with a set of members fixed."""
        key = frozenset(chosen)
        least, most = self._between(key)
        if least < most:
            self.weights[key] = self.seen.weight([*self.forced, *key])
        return self.weights[key]

    def _between(self, chosen: frozenset[int]) -> tuple[int, int]:
        """Return what is surely kept, and that with what is in doubt; it is known if none is."""
        if chosen not in self.weights:
            kept, _, unsure = kept_weight(self.rows, self._at(chosen), self.doubt)
            least = self.safe + int(kept)
            if unsure:
                return least, least + int(unsure)
            self.weights[chosen] = least
        return self.weights[chosen], self.weights[chosen]

    def _at(self, chosen: Collection[int]) -> NDArray[np.intp]:
        return places([self.places[u] for u in chosen])

    def verdict(self, chosen: Collection[int]) -> bool:
        """Tell whether a set of members reaches the level."""
        return self._reaches(chosen, self.needed)

    def _reaches(self, chosen: Collection[int], needed: int) -> bool:
        """Tell whether a set of members reaches a weight; doubts that do not matter stay."""
        least, most = self._between(frozenset(chosen))
        if least < needed <= most:
            return self.weight(chosen) >= needed
        return least >= needed

    def worth(self, chosen: Collection[int]) -> int:
        """Return the weight of the rows that keep the class."""
        return self.weight(chosen)

    def guarantee(self, chosen: Collection[int]) -> Enclosure:
        """Return the exact share of the rows that keep the class with a set of members fixed."""
        return Enclosure.of(Fraction(self.weight(chosen), self.total))

    def proposals(self) -> list[list[int]]:
        """Return orders of the members: by mean gain, and as greed takes them in two ways."""
        needed = float(self.needed - self.safe)
        orders = [greedy(self.rows, needed, hinge) for hinge in (False, True)]
        return [self.members, *([self.members[j] for j in order] for order in orders)]

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return the shortest prefix of an order that reaches the level."""
        needed, doubt = self.needed - self.safe, self.doubt
        kept, unsure = kept_along(self.rows, self._at(order), doubt, needed, 0)
        if ((kept < needed) & (kept + unsure >= needed)).any():
            return super().prefix(order)
        return order[: len(kept) - 1] if kept[-1] >= needed else None

    def pruned(self, order: list[int]) -> set[int]:
        """Leave out what is not needed, the last and least first, until every unit is."""
        needed, doubt = self.needed - self.safe, self.doubt
        stays, sure = prune(self.rows, self._at(order), needed, doubt)
        if not sure:
            return super().pruned(order)
        return {u for u, stay in zip(order, stays, strict=True) if stay}

    def scout(self, prices: dict[int, int]) -> Scout:
        """Return what looks ahead for the cheapest set: what each row can gain at a price."""
        if not RowsScout.knows(self.rows):
            return super().scout(prices)
        spare = self.most - self.needed
        return RowsScout(self.members, prices, self.verdict, self.rows, spare, -self.doubt)

    def programmed(self, prices: dict[int, int], below: int) -> tuple[set[int] | None, int]:
        """Look for a set that costs less than ``below`` by an integer programme."""
        each = [prices[u] for u in self.members]
        if max(each, default=0) > MOST_PRICE or self.rows.gains.size > _MOST_PRICED:
            return None, 0
        left, seconds = self.needed - self.safe, self.task.seconds
        costs = np.array(each, dtype=np.int64)
        mask, bound = solve(self.rows, left, -self.doubt, below, seconds, costs)
        if mask is None:
            return None, bound
        found = {self.members[j] for j in np.flatnonzero(mask)}
        return (found if self.verdict(found) else None), bound

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Prove that nothing can be left out, or leave it out."""
        if self.monotone and self.pruned(self.in_order(chosen)) == chosen:
            return chosen, "subset-minimal", 0.0  # Corollary 4b
        mixed = [u for u in self.in_order(chosen) if u not in self.pure]
        order = [*mixed, *(u for u in self.in_order(chosen) if u in self.pure)]
        word = "subset-minimal" if len(mixed) <= MOST_MIXED else "locally-minimal"
        several = len(mixed) if len(mixed) <= MOST_MIXED else 0  # too many: each alone
        if self._are_needed(self._at(order), several):
            return chosen, word, 0.0
        return super().claim(chosen)

    def _are_needed(self, chosen: NDArray[np.intp], mixed: int) -> bool:
        """Prove that nothing can be left out of a set, by a few of many rows if these suffice."""
        rows, left = self.rows, self.needed - self.safe
        n = len(rows.weights)
        if 2**mixed * n > _MANY_REMOVALS and len(rows.margins) == n:
            few = exposed(rows, chosen, self.doubt)
            enough = left - int(rows.weights.sum()) + int(few.weights.sum())  # loses as much
            if are_needed(few, np.arange(len(chosen)), mixed, enough, self.doubt):
                return True
        return are_needed(rows, chosen, mixed, left, self.doubt)

    def best_of(self, size: int) -> set[int]:
        """Return the best set found of at most a size."""
        order = [self.members[j] for j in greedy(self.rows, math.inf, False)]
        sizes = [size] if self.monotone else range(size + 1)
        best = max((set(order[:k]) for k in sizes), key=self.worth)
        while not self.monotone:
            better = next(
                (s for k in range(size + 1) for s in [self._better(k, self.weight(best))] if s),
                None,
            )
            if better is None:
                return best
            best = better
        return self.improve(best)

    def bound_least(self, size: int) -> None:
        """Raise ``least``, up to a size, by what each row needs on its own."""
        self._needs = needs_of(self.rows, -self.doubt, size + 1)
        self._kept = self._needs.most_kept
        self.least = int(self._kept[:size].searchsorted(self.needed - self.safe))

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members by branch and bound, then by a programme."""
        if self.monotone and self.deep > 0 and size < len(self.members):
            verdict, found = self._deep_look(size)
            if verdict is not None:
                return verdict, found
        sizes = [size] if self.monotone else range(size, self.least - 1, -1)
        verdicts: list[bool | None] = []
        for k in sizes:
            if k > self._affordable:  # without asking: such sizes may be thousands
                verdicts.append(None)
                continue
            verdict, found = self._look(k, self.needed)
            if verdict:
                return True, found
            verdicts.append(verdict)
        if None in verdicts:
            return self._programmed(size) if self.task.effort.thorough else (None, set())
        return False, set()

    @property
    def _affordable(self) -> int:
        """The most members of a set that can be looked for: one, or as a table has or can have."""
        made = 0 if self._rounded is None else self._rounded.size
        return max(1, made, self.budget // max(self.rows.gains.size, 1))

    def _deep_look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for sets with gains rounded up, the smallest first; what is refuted stays so."""
        for k in range(self.least, size + 1):
            visits = self._in_time(self.deep)
            verdict, found, spent = self._look_rounded(k, self.needed, visits, size + 1)
            self.deep -= spent
            if verdict is None:
                self.deep = 0  # what is left is the exact search, and the programme
            if verdict is not False:
                return verdict, found
            self.least = k + 1  # no set of k reaches the level, and none of fewer (Lemma 110)
        return False, set()

    def _programmed(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most a size by an integer programme, once for each such size."""
        large = self.rows.gains.size > _MOST_PROGRAMMED
        if size >= self.tried or large or self.task.seconds < _LEAST_SECONDS:
            return None, set()
        self.tried = size
        left, floor = self.needed - self.safe, -self.doubt
        mask, bound = solve(self.rows, left, floor, size + 1, self.task.seconds)
        self.least = max(self.least, bound)
        if mask is not None:
            found = {self.members[j] for j in np.flatnonzero(mask)}
            if len(found) <= size and self.verdict(found):
                return True, found
        return (False if bound > size else None), set()

    def improve(self, chosen: set[int]) -> set[int]:
        """Return the best set of the same size, as far as the budget goes."""
        self.budget, self.for_proofs = self.budget - self.for_proofs, 0
        while better := self._better(len(chosen), self.weight(chosen)):
            chosen = better
        return chosen

    def _better(self, size: int, weight: int) -> set[int] | None:
        """Return a set of a size that keeps more than a weight, if one is found."""
        verdict, found = self._look(size, weight + 1) if self.budget > 0 else (None, set())
        return found if verdict else None

    def _look(self, size: int, needed: int) -> tuple[bool | None, set[int]]:
        """Look for a set of exactly a size with some weight."""
        if needed > self.most:
            return False, set()
        if size < len(self._kept) and needed - self.safe > self._kept[size]:
            return False, set()  # Lemma 32 (i)
        if size <= 1:  # few sets, that need no table of what members can add
            sets = (set(chosen) for chosen in combinations(self.members, size))
            found = next((chosen for chosen in sets if self._reaches(chosen, needed)), None)
            return found is not None, found or set()
        visits = self._in_time(self.budget)
        rounded, found, spent = self._look_rounded(size, needed, visits, size + 1)
        self.budget -= spent
        if rounded is not None:
            return rounded, found
        left, floor, visits = needed - self.safe, -self.doubt, self._in_time(self.budget)
        verdict, mask, spent = branch_and_bound(self.rows, size, left, floor, visits, self.room)
        self.budget -= spent
        found = {self.members[j] for j in mask.nonzero()[0].tolist()}
        if verdict == 1 and not self.seen.exact and self.weight(found) < needed:
            return self._look_exactly(size, needed)
        return (None if verdict < 0 else verdict == 1), found

    def _in_time(self, visits: int) -> int:
        """Return how many of some visits can be made in the time that is left."""
        return min(visits, visits_in(self.task.seconds)) if self.task.effort.thorough else visits

    def _look_rounded(
        self, size: int, needed: int, budget: int, room: int
    ) -> tuple[bool | None, set[int], int]:
        """Look for a set of exactly a size with gains rounded up, and count what is found.

        None: the budget ends, or rounding does not tell. A table that has to be made is made for
        ``room`` members. Returns how many visits were made, too.
        """
        rows, made = self._rounded, 0
        if self._needs is not None:
            room = max(size, min(room, self._needs.most - 1))  # no larger set is looked for
        if rows is None or rows.size < size:
            rows = self._rounded = rounded_up(self.rows, room, -self.doubt, budget, self._needs)
            made = 0 if rows is None else rows.cost
        if rows is None:
            return None, set(), 0
        spent, after = made, None
        while True:
            spare, left = self.most - needed, budget - spent
            verdict, mask, visits = rounded_search(rows, size, spare, left, after)
            spent += visits
            found = {self.members[j] for j in mask.nonzero()[0].tolist()}
            made_up = verdict == 1 and not self._reaches(found, needed)
            if rows.whole or not made_up:
                return None if made_up or verdict < 0 else verdict == 1, found, spent
            # The rows that have no table refute it (Lemma 160).
            after, spent = mask, spent + (size + 1) * len(self.rows.weights)

    def _look_exactly(self, size: int, needed: int) -> tuple[bool | None, set[int]]:
        """Try every set, if they are few, with all the digits of long integers."""
        if math.comb(len(self.members), size) > self.task.effort.limits.most_sets:
            return None, set()
        for chosen in combinations(self.members, size):
            if self.task.is_late:
                return None, set()
            if self.weight(chosen) >= needed:
                return True, set(chosen)
        return False, set()

"""The sets of one instance over background rows: exact counts, and proofs of a minimum."""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.engines._level import MOST_MIXED
from sklearn_probsr.engines.rows._branch_and_bound import BranchAndBound, Prices
from sklearn_probsr.engines.rows._counts import kept_along, kept_weight
from sklearn_probsr.engines.rows._greed import greedy
from sklearn_probsr.engines.rows._pruning import are_needed, exposed, prune
from sklearn_probsr.laws.rows._rows_scout import RowsScout
from sklearn_probsr.laws.rows._rows_view import RowsView, places
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.search._prover import Prover
from sklearn_probsr.search._scout import Scout

__all__ = ["RowsProver"]

# With more rows, times the sets that may be left out, a few of the rows are asked first.
_MANY_REMOVALS = 2**20
# What is exactly counted costs so many cells of rounded numbers for each of its own.
_EXACTLY = 4
# A search with a time limit looks at the clock after so many cells.
_BETWEEN_CLOCKS = 2**27
# The part of the effort that raises the least size, once smaller sets are not ruled out.
_FROM_BELOW = 0.25
# Cells for a better set of the same size, its table included.
_TO_IMPROVE = 10_000_000
# So many gains are few.
_FEW_GAINS = 2**15
# A table takes no more bytes than these, with several rivals the latter, or than a third of the
# gains: of more rows it has those that come nearest to the floor (Lemma 121).
FEW_BYTES, _RIVAL_BYTES = 3 * 2**20, 2**25


class RowsProver(Prover):
    """The sets of one instance, of which rows of a data set are counted."""

    def __init__(self, view: RowsView, task: Task) -> None:
        super().__init__(view, task)
        self.seen = view
        self.total, self.doubt, delta = view.total, view.doubt, task.delta
        # The least weight that reaches delta.
        self.needed = -(-delta.numerator * self.total // delta.denominator)
        self.rows, self.safe = self.seen.opened(self.members, task.include)
        self.most = self.safe + int(self.rows.weights.sum())  # no set keeps more
        self.places = {u: j for j, u in enumerate(self.members)}
        self.weights: dict[frozenset[int], int] = {}
        several = len(self.rows.margins) > len(self.rows.weights)
        self.room = max(_RIVAL_BYTES if several else FEW_BYTES, self.rows.gains.nbytes // 3)
        self.cells = task.effort.cells(len(self.rows.margins))
        self._search: _SetSearch | None = None
        self._open = len(self.members) + 1  # sets of so many members were not ruled out

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
        return self.reaches(chosen, self.needed)

    def reaches(self, chosen: Collection[int], needed: int) -> bool:
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
        if not self.rows.gains.size:
            return super().scout(prices)
        spare = self.most - self.needed
        return RowsScout(self.members, prices, self.verdict, self.rows, spare, -self.doubt)

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

    # --- the sets of a size ------------------------------------------------------------------

    def best_of(self, size: int) -> set[int]:
        """Return the best set found of at most a size."""
        order = [self.members[j] for j in greedy(self.rows, math.inf, False)]
        sizes = [size] if self.monotone else range(size + 1)
        return self._improved(max((set(order[:k]) for k in sizes), key=self.worth), size)

    def improve(self, chosen: set[int]) -> set[int]:
        """Return the best set of the same size, as far as a little effort goes."""
        return self._improved(chosen, len(chosen))

    def _improved(self, chosen: set[int], size: int) -> set[int]:
        cells = min(_TO_IMPROVE, self.cells)
        search = self._search
        if search is None or search.size < size:
            search = self._search = None  # there is not room for two tables
            search = self._search_of(size, cells)
        else:
            search.again(cells)
        if search is None:
            return chosen
        while self.weight(chosen) < self.most:
            verdict, found = search.go_on(self, size, self.weight(chosen) + 1)
            if not verdict:
                break
            chosen = found
        return chosen

    def bound_least(self, size: int) -> None:
        """Raise ``least``, up to a size, by what each row can have with fewer members."""
        search = self._at_level(size - 1)
        if search is not None:
            reached = search.branching.lost[:size] <= self.most - self.needed
            self.least = int(np.argmax(reached)) if reached.any() else size

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members; where that ends early, rule out fewer."""
        search = self._at_level(size)
        if self.needed > self.most:
            return False, set()
        if search is None or size >= self._open:
            reached = self.reaches((), self.needed)
            return (None if size and not reached else reached), set()
        verdict, found = search.go_on(self, size, self.needed, _FROM_BELOW)
        if verdict is None:
            self._open = size
        while verdict is None and self.least < size:
            search.again()
            fewer, found = search.go_on(self, self.least, self.needed)
            if fewer is not False:
                return fewer, found
            self.least += 1
        return verdict, found

    def _at_level(self, size: int) -> _SetSearch | None:
        """Return the search for sets of up to a size that reach the level."""
        if self._search is None or self._search.size < size:
            # A small table serves to improve what is found, too.
            more = 1 if self.rows.gains.size <= _FEW_GAINS else 0
            self._search = self._search_of(size + more, self.cells)
        return self._search

    def _search_of(self, size: int, cells: int) -> _SetSearch | None:
        """Return a search for sets of up to a size; None if its tables are too much."""
        if not self.rows.gains.size or 2 * (size + 2) * self.rows.gains.size > cells:
            return None
        return _SetSearch(self, size, cells)


class _SetSearch:
    """Goes through the sets of up to a size, and confirms what is found by an exact count.

    ``cells`` is the effort that is left. It does not keep its prover: tables as large as the data
    are to be gone with that.
    """

    def __init__(self, prover: RowsProver, size: int, cells: int) -> None:
        rows = prover.rows
        self.size, self.cells = size, cells
        prices = Prices(np.ones(len(prover.members), dtype=np.int64), 1, size, size)
        self.branching = BranchAndBound(rows, -prover.doubt, prices, prover.room)
        self.cells -= self.branching.spent
        self._all = self.cells
        self._started = False

    def again(self, cells: int | None = None) -> None:
        """Begin again, before the first set, and with another effort if one is given."""
        self.cells = self.cells if cells is None else cells
        if self._started:
            self.branching.again()

    def go_on(
        self, prover: RowsProver, size: int, needed: int, part: float = 0.0
    ) -> tuple[bool | None, set[int]]:
        """Look on for a set of at most a size that keeps some weight.

        Sizes may only fall from one call to the next, and weights only rise, until it begins
        again. ``part`` of the effort, and of the time, is left for later.
        """
        branching = self.branching
        if not branching.fits:
            return None, set()
        if not self._started:
            self._started = True
            self.cells -= branching.start()
        task, spare = prover.task, prover.most - needed
        later, seconds = int(part * self._all), part * task.seconds
        while self.cells > later:
            budget = self.cells - later
            if task.effort.thorough:
                budget = min(budget, _BETWEEN_CLOCKS)
            verdict, at, spent = branching.next(size, prover.least, spare, budget)
            self.cells -= spent
            if verdict == 0:
                return False, set()
            if verdict == 1:
                found = {prover.members[j] for j in at.tolist()}
                self.cells -= _EXACTLY * (len(found) + 1) * len(prover.rows.margins)
                if prover.reaches(found, needed):
                    return True, found
            if task.effort.thorough and task.seconds <= seconds:
                break
        return None, set()

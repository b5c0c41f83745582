"""One instance before background rows that are mostly zeros."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._sparse_counts import Columns, kept_on_the_way
from sklearn_probsr.engines.rows._sparse_greed import greedy_order
from sklearn_probsr.laws._task import Task
from sklearn_probsr.laws._view import Row
from sklearn_probsr.laws.rows._rows_view import RowsView, places
from sklearn_probsr.laws.rows._sparse_table import SparseLedger

__all__ = ["ALL", "SparseReplacement"]

# So many visits of rows may greed take: about twenty milliseconds.
_GREED = 2**25
# More than all rows weigh.
ALL = 2**62


class SparseReplacement(RowsView):
    """One instance before background rows, of which only what is not zero is touched.

    ``ledger`` is the one of its class; it is written on a coarser scale if the instance is so far
    out that its contributions could not be summed.
    """

    def __init__(self, ledger: SparseLedger, row: Row) -> None:
        super().__init__(len(row))
        self.row = row
        columns = np.flatnonzero(row)
        values = row[columns].astype(np.float64)
        worth = ledger.worth(columns, values)
        beyond = ledger.fitting(worth)
        if beyond:
            ledger = ledger.coarser(beyond)
            worth = ledger.worth(columns, values)
        self.ledger, self.exact = ledger, ledger.exact and worth.exact
        self._costs, self._gains = ledger.sides_of(columns, values)
        self._known = np.zeros((len(row), len(ledger.sides)), dtype=np.int64)
        self._known[columns] = worth.known.astype(np.int64)
        self._present = len(columns)
        self.margins, self.weights = ledger.margins.ravel(), ledger.table.counts

    @property
    def rivals(self) -> int:
        """How many rivals the class has."""
        return len(self.ledger.sides)

    def columns_of(self, units: Sequence[int] | NDArray[np.intp]) -> Columns:
        """Return all rows, with some units for members."""
        table, at = self.ledger.table, np.asarray(units, dtype=np.intp)
        return Columns(
            self.ledger.margins, table.counts, at, self._known[at], table.starts, table.rows,
            self.ledger.entries,
        )  # fmt: skip

    def gains(self, units: Sequence[int]) -> NDArray[np.int64]:
        """Return what fixing some units adds to each margin, a table of their own."""
        table, at = self.ledger.table, places(units)
        out = np.empty((len(at), len(self.weights), self.rivals), dtype=np.int64)
        out[...] = self._known[at][:, None, :]
        for line, unit in zip(out, at.tolist(), strict=True):
            inside = slice(table.starts[unit], table.starts[unit + 1])
            line[table.rows[inside]] -= self.ledger.entries[inside]
        return out.reshape(len(at), len(self.weights) * self.rivals)

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown costs some row anything."""
        return bool(self._costs[unit])

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown gains some row anything."""
        return bool(self._gains[unit])

    def members(self) -> list[int]:
        """Return the units that fixing can help."""
        found: list[int] = np.flatnonzero(self._costs).tolist()
        return found

    def open_to(self, task: Task) -> NDArray[np.bool_]:
        """Tell which units may be chosen: fixing can help, and they are forced neither way."""
        free = self._costs.copy()
        free[[*task.include, *task.exclude]] = False
        return free if task.allowed is None else free & task.allowed[0]

    def may_hurt(self, units: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which of some units fixing can hurt."""
        return self._gains[units]

    @cached_property
    def monotone(self) -> bool:
        """Whether fixing a unit that can help never hurts."""
        return not bool((self._costs & self._gains).any())

    @property
    def doubt(self) -> int:
        """How much a margin may be short by, plus one: by one for every value (Lemma 45)."""
        return 0 if self.exact else self.ledger.table.longest + self._present + 2

    def counted(self, features: Collection[int]) -> tuple[int, NDArray[np.int64], int]:
        """Return the weight that is surely kept, all margins, and how many rows are in doubt."""
        table, steps = self.columns_of([*features]), np.arange(len(features))
        kept, unsure, margins = kept_on_the_way(table, steps, self.doubt, ALL, len(steps))
        return int(kept[-1]), margins, int(unsure[-1])

    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""
        margins = self.counted(features)[1]
        keeps = np.asarray((margins >= 0).all(axis=1))
        doubtful = ~keeps & (margins > -self.doubt).all(axis=1)
        for r in np.flatnonzero(doubtful).tolist():
            columns, values = self._mixed_row(r, features)
            keeps[r] = all(side.keeps(columns, values) for side in self.ledger.sides)
        return keeps

    def _mixed_row(
        self, r: int, features: Collection[int]
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return a background row with some units of the instance, by its values."""
        columns, values = self.ledger.table.data.row(r)
        fixed = places(features)
        free = ~np.isin(columns, fixed)
        fixed = fixed[self.row[fixed] != 0]
        whole = np.concatenate([columns[free], fixed])
        return whole, np.concatenate([values[free], self.row[fixed]]).astype(np.float64)

    def by_mean_gain(self, units: list[int]) -> list[int]:
        """Return units by decreasing mean gain of fixing them, before each row's worst rival."""
        found: list[int] = self.sorted_by_gain(places(units)).tolist()
        return found

    def sorted_by_gain(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return units by decreasing mean gain of fixing them, before each row's worst rival."""
        shares, sums = self.ledger.before_worst
        gains = (self._known[units] * shares).sum(axis=1) - sums[units]
        return units[np.argsort(-gains, kind="stable")]

    def greedy(self, table: Columns, needed: float, hinge: bool) -> NDArray[np.intp]:
        """Return members as greed adds them, as far as it comes; then the others."""
        at = table.members
        there = self._known[at].any(axis=1)
        bounds, order = self.ledger.lifted if hinge else self.ledger.table.held
        place = np.full(self.n_units, -1, dtype=np.intp)
        place[at[~there]] = np.flatnonzero(~there)
        absent = order[place[order] >= 0]
        found = greedy_order(
            table, np.flatnonzero(there), place[absent], bounds[absent], needed, hinge, _GREED
        )
        left = np.ones(len(at), dtype=np.bool_)
        left[found] = False
        return np.concatenate([at[found], at[left]])

    def ranking(self) -> list[int]:
        """Return all units in the order in which greed fixes them, as far as it comes."""
        members = self.sorted_by_gain(np.flatnonzero(self._costs))
        order = self.greedy(self.columns_of(members), float(self.total), False)
        others = self.sorted_by_gain(np.flatnonzero(~self._costs))
        return [*order.tolist(), *others.tolist()]

    def weights_along(self, order: Sequence[int], needed: int, at: int) -> NDArray[np.int64]:
        """Count what is kept with the first 0, 1, 2, ... of an order fixed, exactly.

        Up to the first size that reaches what is needed, and ``at`` least so many.
        """
        steps = np.arange(len(order))
        kept, unsure, _ = kept_on_the_way(self.columns_of(order), steps, self.doubt, needed, at)
        for k in np.flatnonzero(unsure).tolist():
            kept[k] = self.weight(order[:k])
        return kept

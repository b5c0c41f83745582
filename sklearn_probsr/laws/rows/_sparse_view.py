"""One instance before background rows that are mostly zeros."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Row
from sklearn_probsr.engines.rows._sparse_counts import Columns, kept_on_the_way, least_size
from sklearn_probsr.engines.rows._sparse_greed import greedy_order
from sklearn_probsr.laws.rows._rows_view import RowsView, places
from sklearn_probsr.laws.rows._sparse_ledger import DuelLedger, SparseLedger

__all__ = ["ALL", "SparseReplacement", "SparseView"]

# So many visits of rows may greed take: about twenty milliseconds.
_GREED = 2**25
# More than all rows weigh.
ALL = 2**62
# The most numbers among which those are kept that gain a row the most.
_MOST_BEST = 2**23


class SparseView(RowsView):
    """One instance before background rows, of which only what is not zero is touched.

    ``ledger`` is the one of its class; it is written on a coarser scale if the instance is so far
    out that its contributions could not be summed.
    """

    ledger: SparseLedger

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

    @abstractmethod
    def columns_of(self, units: NDArray[np.intp]) -> Columns:
        """Return all rows, with some units for members."""

    def table(self, margins: NDArray[np.int64], units: Sequence[int] | NDArray[np.intp]) -> Columns:
        """Return rows of some margins, with some units for members."""
        return self.columns_of(np.asarray(units, dtype=np.intp))._replace(margins=margins)

    def gains(self, units: Sequence[int]) -> NDArray[np.int64]:
        """Return what fixing some units adds to each margin, a table of their own."""
        table = self.columns_of(places(units))
        out = np.empty((len(units), len(self.weights), self.rivals), dtype=np.int64)
        out[...] = table.known[:, None, :]
        for line, column in zip(out, table.members.tolist(), strict=True):
            inside = slice(table.starts[column], table.starts[column + 1])
            line[table.rows[inside]] -= table.entries[inside]
        return out.reshape(len(units), len(self.weights) * self.rivals)

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
        kept, unsure, margins = self.moved(self.ledger.margins, [*features], ALL, len(features))
        return int(kept[-1]), margins, int(unsure[-1])

    def moved(
        self, margins: NDArray[np.int64], order: Any, needed: int, at: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
        """Fix an order beside some margins: return the weight kept at each size, and the doubtful.

        Up to the first size that reaches what is needed, and ``at`` least so many; then come the
        margins with all of these fixed.
        """
        steps = np.arange(len(order))
        return kept_on_the_way(self.table(margins, order), steps, self.doubt, needed, at)

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

    @abstractmethod
    def greedy(
        self, margins: NDArray[np.int64], members: NDArray[np.intp], needed: float, hinge: bool
    ) -> NDArray[np.intp]:
        """Return members as greed fixes them beside some margins, then those it did not reach."""

    @abstractmethod
    def least_size(
        self, margins: NDArray[np.int64], members: NDArray[np.intp], needed: int, most: int
    ) -> int:
        """Return a size, at most ``most``, that no set of a needed weight is smaller than."""

    def ranking(self) -> list[int]:
        """Return all units in the order in which greed fixes them, as far as it comes."""
        members = self.sorted_by_gain(np.flatnonzero(self._costs))
        order = self.greedy(self.ledger.margins, members, float(self.total), False)
        others = self.sorted_by_gain(np.flatnonzero(~self._costs))
        return [*order.tolist(), *others.tolist()]

    def weights_along(self, order: Sequence[int], needed: int, at: int) -> NDArray[np.int64]:
        """Count what is kept with the first 0, 1, 2, ... of an order fixed, exactly.

        Up to the first size that reaches what is needed, and ``at`` least so many.
        """
        kept, unsure, _ = self.moved(self.ledger.margins, order, needed, at)
        for k in np.flatnonzero(unsure).tolist():
            kept[k] = self.weight(order[:k])
        return kept


class SparseReplacement(SparseView):
    """One instance before background rows and one rival: all contributions are written down."""

    ledger: DuelLedger

    def columns_of(self, units: NDArray[np.intp]) -> Columns:
        """Return all rows, with some units for members."""
        table = self.ledger.table
        return Columns(
            self.ledger.margins, table.counts, units, self._known[units], table.starts, table.rows,
            self.ledger.entries,
        )  # fmt: skip

    def greedy(
        self, margins: NDArray[np.int64], members: NDArray[np.intp], needed: float, hinge: bool
    ) -> NDArray[np.intp]:
        """Return members as greed fixes them beside some margins, then those it did not reach."""
        table = self.table(margins, members)
        there = table.known.any(axis=1)
        bounds, order = self.ledger.lifted if hinge else self.ledger.table.held
        place = np.full(self.n_units, -1, dtype=np.intp)
        place[members[~there]] = np.flatnonzero(~there)
        absent = order[place[order] >= 0]
        found = greedy_order(
            table, np.flatnonzero(there), place[absent], bounds[absent], needed, hinge, _GREED
        )
        left = np.ones(len(members), dtype=np.bool_)
        left[found] = False
        return np.concatenate([members[found], members[left]])

    def least_size(
        self, margins: NDArray[np.int64], members: NDArray[np.intp], needed: int, most: int
    ) -> int:
        """Return a size, at most ``most``, that no set of a needed weight is smaller than."""
        most = max(min(most, _MOST_BEST // len(self.weights)), 1)
        return int(least_size(self.table(margins, members), needed, -self.doubt, most))

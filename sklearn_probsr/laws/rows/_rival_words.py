"""One instance before background rows that are mostly zeros, and before several rivals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.view import Row
from sklearn_probsr.engines.rows._rival_greed import Background, Candidates, Words, greedy_units
from sklearn_probsr.engines.rows._rival_sizes import Present, row_sizes
from sklearn_probsr.engines.rows._sparse_counts import Columns
from sklearn_probsr.laws.rows._rival_ledger import CutColumns, RivalLedger
from sklearn_probsr.laws.rows._sparse_view import SparseView

__all__ = ["RivalReplacement"]

# So many visits of rows, each before one rival, may greed take: about a tenth of a second.
_GREED = 2**30
# Greed fills in so many numbers of the words that an instance has, and looks at these words alone.
_MOST_FILLED = 2**24
# An order is followed by so many units at a time, or a quarter of those that it was followed by.
_FIRST = 32
# Bytes of columns that are kept for an instance.
_MOST_BYTES = 2**26


class RivalReplacement(SparseView):
    """One instance before background rows and several rivals: columns are cut as they are asked."""

    ledger: RivalLedger

    def __init__(self, ledger: RivalLedger, row: Row) -> None:
        super().__init__(ledger, row)
        self._cut = CutColumns(self.ledger)
        there = np.flatnonzero(row)
        self._there = np.zeros(self.n_units, dtype=np.bool_)
        self._there[there] = self._known[there].any(axis=1)

    def columns_of(self, units: NDArray[np.intp]) -> Columns:
        """Return all rows, with some units for members."""
        cut, at = self._cut, self._cut.places(units)
        return Columns(
            self.ledger.margins, self.weights, at, self._known[units], cut.starts, cut.rows,
            cut.entries,
        )  # fmt: skip

    def moved(
        self, margins: NDArray[np.int64], order: Any, needed: int, at: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
        """Fix an order beside some margins, piece by piece: most of it is often not needed."""
        kept, unsure, margins = super().moved(margins, order[:_FIRST], needed, at)
        found, start, size = [(kept, unsure)], _FIRST, _FIRST
        while start < len(order) and len(kept) > size and (kept[-1] < needed or start < at):
            if self._cut.nbytes > _MOST_BYTES:
                self._cut = CutColumns(self.ledger)
            size = max(_FIRST, start // 4)
            some = order[start : start + size]
            kept, unsure, margins = super().moved(margins, some, needed, at - start)
            found.append((kept[1:], unsure[1:]))
            start += size
        weights, doubtful = zip(*found, strict=True)
        return np.concatenate(weights), np.concatenate(doubtful), margins

    def sorted_by_gain(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return units by decreasing mean gain of fixing them, before each row's worst rival."""
        shares, sums = self.ledger.before_worst
        gains = -sums
        gains[self._there] += (self._known[self._there] * shares).sum(axis=1)
        return units[np.argsort(-gains[units], kind="stable")]

    def greedy(
        self, margins: NDArray[np.int64], members: NDArray[np.intp], needed: float, hinge: bool
    ) -> NDArray[np.intp]:
        """Return members as greed fixes them beside some margins, then those it did not reach."""
        there = self._there[members]
        ledger = self.ledger
        bounds, order = ledger.lifted if hinge else ledger.table.held
        left = np.zeros(self.n_units, dtype=np.bool_)
        left[members[~there]] = True
        absent = order[left[order]]
        present = members[there][: max(_MOST_FILLED // len(margins), 1)]
        words, sums = self._words(present), ledger.sums
        known = self._known[present].astype(np.float64)
        some = Candidates(
            present, words, known, absent, bounds[absent], sums.lifted[absent], sums.most
        )  # fmt: skip
        data = Background(ledger.docs, ledger.values, margins, self.weights)
        found = greedy_units(data, some, needed, hinge, _GREED)
        left[:] = True
        left[found] = False
        return np.concatenate([found, members[left[members]]])

    def _words(self, units: NDArray[np.intp]) -> Words:
        """Return some units of the instance, with the zeros of all rows filled in."""
        table = self.ledger.values
        held = np.zeros((len(units), len(self.weights)), dtype=np.float32)
        for line, u in zip(held, units.tolist(), strict=True):
            inside = slice(table.starts[u], table.starts[u + 1])
            line[table.rows[inside]] = table.values[inside] * table.first[u] * table.second[u]
        some = (table.starts[units + 1] > table.starts[units])[:, None]
        whole = np.where(some, table.whole[table.line[units]], 0.0).astype(np.float32)
        return Words(held, whole, self._known[units].astype(np.float32))

    def least_size(
        self, margins: NDArray[np.int64], members: NDArray[np.intp], needed: int, most: int
    ) -> int:
        """Return a size, at most ``most``, that no set of a needed weight is smaller than."""
        ledger, present = self.ledger, members[self._there[members]]
        place = np.full(self.n_units, -2, dtype=np.intp)
        place[members] = -1
        place[present] = np.arange(len(present))
        known = self._known[present]
        ranked = np.ascontiguousarray(np.argsort(-known, axis=0, kind="stable").T)
        some = Present(place, known, ranked)
        sizes = row_sizes(ledger.docs, ledger.values, some, margins, -self.doubt, most)
        weights = np.zeros(most + 1, dtype=np.int64)
        np.add.at(weights, sizes, self.weights)
        enough = np.flatnonzero(np.cumsum(weights) >= needed)
        return int(enough[0]) if len(enough) else most

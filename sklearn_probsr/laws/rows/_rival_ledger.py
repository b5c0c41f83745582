"""What background rows that are mostly zeros contribute before several rivals.

Contributions before each rival would be as many times the data as there are rivals. What is kept
is a factor for each column and rival; columns are cut to whole numbers when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sklearn_probsr.engines.rows._rival_floors import (
    Documents,
    Sums,
    Values,
    add_columns,
    column_sums,
    cut_columns,
)
from sklearn_probsr.laws.rows._sparse_ledger import SparseLedger
from sklearn_probsr.laws.rows._sparse_table import Side, SparseTable, by_size

__all__ = ["CutColumns", "RivalLedger"]


@dataclass(frozen=True, eq=False)
class RivalLedger(SparseLedger):
    """What the values of a background contribute before each of several rivals.

    Attributes
    ----------
    values : Values
        The background by columns, with what each is multiplied by before each rival.
    """

    values: Values

    @classmethod
    def reaches(cls, table: SparseTable, sides: Sequence[Side]) -> list[Fraction]:
        """Return before each rival what no row contributes more than, with its level."""
        data, weights = table.data, np.stack([np.abs(side.weights) for side in sides], axis=1)
        shape = (len(table.counts), data.width)
        sizes = sparse.csr_array((np.abs(data.values), data.indices, data.starts), shape=shape)
        with np.errstate(over="ignore"):
            most = (sizes @ weights).max(axis=0).tolist()
        return [table.beyond(side, each) for side, each in zip(sides, most, strict=True)]

    @classmethod
    def on(cls, table: SparseTable, sides: tuple[Side, ...], exponent: int, exact: bool) -> Self:
        """Write it on a scale."""
        values = _by_weights(table, sides)
        held = _held(table)
        powers = np.clip(table.ranges.exponents[held] - exponent, -5000, 5000)
        mantissas, shifts = np.frexp(values.whole)
        shifts += powers.astype(shifts.dtype)[:, None]
        np.ldexp(mantissas, np.clip(shifts, -1000, 1000, out=shifts), out=values.whole)
        return cls(table, sides, exponent, exact, values)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return int(
            self.values.whole.nbytes + 2 * self.margins.nbytes + 4 * self.table.starts.nbytes
        )

    @property
    def docs(self) -> Documents:
        """The background by rows."""
        data = self.table.data
        values = data.values.astype(np.float64, copy=False)
        values.flags.writeable = False  # as it is where nothing was copied: one kernel for both
        return Documents(data.starts, data.indices, values)

    def add_up(self, margins: NDArray[np.int64]) -> None:
        """Add what the values of each row contribute, rounded down one by one."""
        add_columns(self.values, margins)

    @cached_property
    def before_worst(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weight of the rows whose worst rival is each, and what columns contribute there.

        The latter is about the sum over all rows, with their weights.
        """
        counts = self.table.counts.astype(np.float64)
        shares: NDArray[np.float64] = np.bincount(self._worst, counts, len(self.sides))  # type: ignore[assignment]
        return shares, self.sums.there

    @cached_property
    def lifted(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The most that a zero can take off what is missing, and columns by that (Lemma 46)."""
        return by_size(self.sums.lifted)

    @cached_property
    def _worst(self) -> NDArray[np.intp]:
        worst: NDArray[np.intp] = np.argmin(self.margins, axis=1)
        return worst

    @cached_property
    def sums(self) -> Sums:
        """What columns contribute together, and what a zero in their place brings at most."""
        return column_sums(self.values, self.table.counts, self._worst)


def _held(table: SparseTable) -> NDArray[np.bool_]:
    """Tell which columns some row has; if none has any, the first stands for them."""
    held: NDArray[np.bool_] = np.diff(table.starts) > 0
    held[0] |= not held.any()
    return held


def _by_weights(table: SparseTable, sides: Sequence[Side]) -> Values:
    """Return the background by columns, each with its weights, signed towards the class."""
    held = _held(table)
    line = np.maximum(np.cumsum(held) - 1, 0).astype(np.int32)
    weights = np.stack([side.weights[held] for side in sides], axis=1)
    ranges = table.ranges
    return Values(
        table.starts, table.rows, table.values, ranges.first, ranges.second, line, weights
    )  # fmt: skip


class CutColumns:
    """Columns of a ledger in whole numbers, each cut when it is first asked for.

    Attributes
    ----------
    starts, rows, entries
        The columns in the order in which they were asked for, as in ``Columns``; the last two have
        room for more.
    """

    def __init__(self, ledger: RivalLedger) -> None:
        self._ledger = ledger
        self._place = np.full(len(ledger.table.starts) - 1, -1, dtype=np.intp)
        self.starts = np.zeros(1, dtype=np.int64)
        self.rows = np.zeros(0, dtype=np.int32)
        self.entries = np.zeros((0, len(ledger.sides)), dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """About how much memory is in use."""
        return int(self.starts[-1]) * self.entries.shape[1] * 8

    def places(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where some columns are."""
        new = np.unique(units[self._place[units] < 0])
        if len(new):
            table, used = self._ledger.table, int(self.starts[-1])
            sizes = np.diff(table.starts)[new]
            ends = used + np.cumsum(sizes)
            self._make_room(used, int(ends[-1]))
            at = np.arange(used, ends[-1]) + np.repeat(table.starts[new] - ends + sizes, sizes)
            self.rows[used : ends[-1]] = table.rows[at]
            cut_columns(self._ledger.values, new, self.entries[used : ends[-1]])
            self._place[new] = np.arange(len(new)) + len(self.starts) - 1
            self.starts = np.concatenate([self.starts, ends])
        return self._place[units]

    def _make_room(self, used: int, needed: int) -> None:
        """Take twice the room where it is used up."""
        if needed > len(self.rows):
            rows, entries = self.rows, self.entries
            room = max(needed, 2 * len(rows))
            self.rows = np.empty(room, dtype=rows.dtype)
            self.entries = np.empty((room, entries.shape[1]), dtype=entries.dtype)
            self.rows[:used], self.entries[:used] = rows[:used], entries[:used]

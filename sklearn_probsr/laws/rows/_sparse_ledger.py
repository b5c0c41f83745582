"""What the values of background rows that are mostly zeros contribute, in whole numbers.

As in ``laws._table`` and ``laws._ledger``, of the values that are not zero alone: zeros contribute
nothing, whatever the scale. What rounding may take from a margin grows with the values of a row and
of the instance, not with the columns (Lemma 45).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._floors import Factors
from sklearn_probsr.engines.rows._sparse_floors import are_whole_at, column_floors, floors_at
from sklearn_probsr.laws.rows._ledger import MOST_BITS, bit_length
from sklearn_probsr.laws.rows._sparse_table import Side, SparseTable, by_size

__all__ = ["DuelLedger", "SparseLedger", "Worth"]

# Contributions of a background row are cut to so many bits together, as in ``laws._ledger``.
_BITS = 50
# Contributions of an instance below this are cut in floats (Proposition 38).
_ROOM = 2.0**50


class Worth(NamedTuple):
    """What the values of an instance contribute, on a scale."""

    columns: NDArray[np.intp]
    known: NDArray[np.int64]  # (values, rivals)
    exact: bool


@dataclass(frozen=True, eq=False)
class SparseLedger(ABC):
    """What the values of a background contribute towards a class, before each rival.

    Attributes
    ----------
    sides : tuple of Side
        The class and each of its rivals.
    exponent : int
        One whole number is worth two to this power.
    exact : bool
        Whether nothing was rounded.
    """

    table: SparseTable
    sides: tuple[Side, ...]
    exponent: int
    exact: bool

    @classmethod
    def of(cls, table: SparseTable, sides: Sequence[Side]) -> Self:
        """Write it on the finest scale on which no row reaches ``2^50``.

        Where a scale of at most 1 measures all contributions, the coarsest such scale is taken.
        """
        finest = max(map(bit_length, cls.reaches(table, sides))) - _BITS
        bits = 0
        for side in sides:
            whole, some = are_whole_at(table.starts, table.values, table.factors(side, finest))
            if not whole:
                return cls.on(table, tuple(sides), finest, False)
            bits |= int(some)
        trailing = (bits & -bits).bit_length() - 1 if bits else -finest
        exponent = min(finest + max(trailing, 0), max(finest, 0))
        return cls.on(table, tuple(sides), exponent, True)

    @classmethod
    def reaches(cls, table: SparseTable, sides: Sequence[Side]) -> list[Fraction]:
        """Return before each rival what no row contributes more than, with its level."""
        return [table.reach(side) for side in sides]

    @classmethod
    @abstractmethod
    def on(cls, table: SparseTable, sides: tuple[Side, ...], exponent: int, exact: bool) -> Self:
        """Write it on a scale."""

    def coarser(self, bits: int) -> Self:
        """Write it with so many digits less."""
        return self.on(self.table, self.sides, self.exponent + bits, False)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """About how much memory it takes."""

    @cached_property
    def margins(self) -> NDArray[np.int64]:
        """What each row has to spare when nothing is fixed, before each rival."""
        found = np.zeros((len(self.table.counts), len(self.sides)), dtype=np.int64)
        self.add_up(found)
        found -= np.array([side.level(self.exponent) for side in self.sides], dtype=np.int64)
        return found

    @abstractmethod
    def add_up(self, margins: NDArray[np.int64]) -> None:
        """Add what the values of each row contribute, rounded down one by one."""

    @property
    @abstractmethod
    def before_worst(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weight of the rows whose worst rival is each, and what columns contribute there.

        The latter is about the sum over all rows, with their weights.
        """

    @property
    @abstractmethod
    def lifted(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The most that a zero can take off what is missing, and columns by that (Lemma 46)."""

    @cached_property
    def helps(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell of which columns a zero is better than some row is, and worse, before some rival."""
        ranges = self.table.ranges
        return self._sides(np.zeros(len(ranges.least)), np.arange(len(ranges.least)))

    def _sides(
        self, values: NDArray[np.float64], columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        ranges = self.table.ranges
        above, below = values > ranges.least[columns], values < ranges.most[columns]
        more = np.zeros(len(columns), dtype=np.bool_)
        less = more.copy()
        for side in self.sides:
            weights = side.weights[columns]
            more |= np.where(weights > 0, above, below) & (weights != 0)
            less |= np.where(weights > 0, below, above) & (weights != 0)
        return more, less

    def sides_of(
        self, columns: NDArray[np.intp], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell of which columns an instance has more than some row contributes, and less."""
        costs, gains = (side.copy() for side in self.helps)
        costs[columns], gains[columns] = self._sides(values, columns)
        return costs, gains

    def worth(self, columns: NDArray[np.intp], values: NDArray[np.float64]) -> Worth:
        """Return what the values of an instance contribute, rounded down as the background is."""
        found, exact = [], True
        for side in self.sides:
            known, whole = self._worth(side, columns, values)
            found.append(known)
            exact &= whole
        return Worth(columns, np.stack(found, axis=1), exact)

    def _worth(
        self, side: Side, columns: NDArray[np.intp], values: NDArray[np.float64]
    ) -> tuple[NDArray[Any], bool]:
        # Every value is divided by a power of two of its own, also where the background has none.
        shares, powers = np.frexp(values)
        mantissas, exponents = np.frexp(side.weights[columns])
        shifts = np.clip(exponents + powers - self.exponent, -1000, 1000)
        whole, ones = np.ldexp(mantissas, shifts), np.ones(len(columns))
        if np.abs(shares * whole).sum() < _ROOM:
            made = Factors(columns, ones, ones, whole, np.sign(mantissas), columns)
            return floors_at(shares, made)
        # Too far out for floats to be cut: as integers of any length.
        scale = Fraction(2) ** self.exponent
        pairs = zip(side.weights[columns].tolist(), values.tolist(), strict=True)
        each = [Fraction(w) * Fraction(x) / scale for w, x in pairs]
        cut = np.array([math.floor(c) for c in each], dtype=object)
        return cut, all(c.denominator == 1 for c in each)

    def fitting(self, worth: Worth) -> int:
        """Return how many digits must go for the contributions of an instance to be summed."""
        total = sum(map(abs, worth.known.max(axis=1, initial=0).tolist()))
        total += sum(map(abs, worth.known.min(axis=1, initial=0).tolist()))
        return max(int(total).bit_length() - MOST_BITS, 0)


@dataclass(frozen=True, eq=False)
class DuelLedger(SparseLedger):
    """What the values of a background contribute before one rival, all of it written down.

    Attributes
    ----------
    entries : ndarray of int64, shape (values, 1)
        Contributions in the order of the table, rounded down.
    """

    entries: NDArray[np.int64]

    @classmethod
    def on(cls, table: SparseTable, sides: tuple[Side, ...], exponent: int, exact: bool) -> Self:
        """Write it on a scale."""
        entries = np.zeros((len(table.values), len(sides)), dtype=np.int64)
        for rival, side in enumerate(sides):
            made = table.factors(side, exponent)
            column_floors(table.starts, table.values, made, entries, rival)
        return cls(table, sides, exponent, exact, entries)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return int(self.entries.nbytes)

    def add_up(self, margins: NDArray[np.int64]) -> None:
        """Add what the values of each row contribute, rounded down one by one."""
        np.add.at(margins, self.table.rows, self.entries)

    @cached_property
    def before_worst(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weight of all rows, and about what columns contribute in them, with their weights."""
        counts = self.table.counts.astype(np.float64)
        there = counts[self.table.rows] * self.entries[:, 0]
        return counts.sum(keepdims=True), self.table.summed(there)

    @cached_property
    def lifted(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The most that a zero can take off what is missing, and columns by that (Lemma 46)."""
        most = np.maximum(-self.entries[:, 0], 0).astype(np.float64)
        return by_size(self.table.summed(most * self.table.counts[self.table.rows]))

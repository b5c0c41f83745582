"""Background rows that are mostly zeros, and what their values contribute in whole numbers.

As in ``laws._table`` and ``laws._ledger``, of the values that are not zero alone: zeros contribute
nothing, whatever the scale. What rounding may take from a margin grows with the values of a row and
of the instance, not with the columns (Lemma 45).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._floors import Factors, factors, signs_of
from sklearn_probsr.engines.rows._sparse_floors import (
    are_whole_at,
    column_floors,
    floors_at,
    sparse_ranges,
)
from sklearn_probsr.laws._contributions import is_open
from sklearn_probsr.laws.rows._ledger import MOST_BITS, bit_length, level_of
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.model._sparse import SparseRows

__all__ = ["Side", "SparseLedger", "SparseTable", "Worth"]

# Contributions of a background row are cut to so many bits together, as in ``laws._ledger``.
_BITS = 50
# Contributions of an instance below this are cut in floats (Proposition 38).
_ROOM = 2.0**50


class Side(NamedTuple):
    """A decision between two classes, seen from one of them."""

    model: LinearModel
    positive: bool

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights, signed towards the class."""
        return self.model.weights if self.positive else -self.model.weights

    def level(self, exponent: int) -> int:
        """Return what a row of the class must reach, in whole numbers."""
        return level_of(self.model, self.positive, exponent)

    def keeps(self, columns: NDArray[Any], values: NDArray[np.float64]) -> bool:
        """Tell with all digits whether a row belongs to the class, by its values."""
        weights, cut = self.model.weights[columns], self.model.threshold
        none = np.zeros(len(values), dtype=np.bool_)
        sign = int(signs_of(values[None, :], values, none, weights, cut)[0])
        if abs(sign) > 1:
            terms = zip(weights.tolist(), values.tolist(), strict=True)
            total = sum((Fraction(w) * Fraction(x) for w, x in terms), -Fraction(cut))
            sign = (total > 0) - (total < 0)
        towards = sign if self.positive else -sign
        return towards > 0 if is_open(self.model, self.positive) else towards >= 0


class SparseTable:
    """The rows of a background by rows and by columns; columns are units.

    Parameters
    ----------
    data : SparseRows
        Checked rows.
    counts : ndarray of int64, shape (n,)
        How much each row counts.
    """

    def __init__(self, data: SparseRows, counts: NDArray[np.int64]) -> None:
        self.data, self.counts = data, counts.copy()
        order = np.argsort(data.indices, kind="stable")
        self.rows = data.places[order].astype(np.int32)
        held = np.bincount(data.indices, minlength=data.width)
        self.starts = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        self.values = data.values[order].astype(np.float64)
        self.longest = int(np.diff(data.starts).max(initial=0))
        self.ranges = sparse_ranges(self.starts, self.values, self.rows, self.counts)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        own = self.rows.nbytes + self.starts.nbytes + self.values.nbytes
        return int(own + 6 * self.starts.nbytes) + self.data.nbytes

    @cached_property
    def held(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The weight of the rows that hold each column, and the columns by that (Lemma 46)."""
        return _sorted(self.summed(self.counts[self.rows].astype(np.float64)))

    def summed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum up numbers, one for each value, by columns."""
        d = len(self.starts) - 1
        columns = np.repeat(np.arange(d), np.diff(self.starts))
        sums: NDArray[np.float64] = np.bincount(columns, weights=values, minlength=d)  # type: ignore[assignment]
        return sums

    def reach(self, side: Side) -> Fraction:
        """Return what no row contributes more than, with its level."""
        weights = np.abs(side.weights)
        data, level = self.data, abs(Fraction(side.model.threshold))
        with np.errstate(over="ignore"):
            sizes = np.abs(data.values.astype(np.float64)) * weights[data.indices]
            sums = np.bincount(data.places, weights=sizes, minlength=len(data))
        most = float(sums.max(initial=0.0))
        if not math.isfinite(most):
            # Beyond floats: no row contributes more than all of its columns at their largest.
            ends = np.maximum(np.abs(self.ranges.least), np.abs(self.ranges.most))
            pairs = zip(weights.tolist(), ends.tolist(), strict=True)
            return sum((Fraction(w) * Fraction(x) for w, x in pairs), level)
        # Rounding, and what underflow may take from a product.
        return Fraction(most) * (1 + Fraction(1, 2**20)) + Fraction(2) ** -1000 + level

    def factors(self, side: Side, exponent: int) -> Factors:
        """Return what makes contributions of columns."""
        places = np.arange(self.data.width, dtype=np.intp)
        return factors(self.ranges, side.weights, places, exponent)


class Worth(NamedTuple):
    """What the values of an instance contribute, on a scale."""

    columns: NDArray[np.intp]
    known: NDArray[np.int64]  # (values, rivals)
    exact: bool


@dataclass(frozen=True, eq=False)
class SparseLedger:
    """What the values of a background contribute towards a class, before each rival.

    Attributes
    ----------
    sides : tuple of Side
        The class and each of its rivals.
    exponent : int
        One whole number is worth two to this power.
    entries : ndarray of int64, shape (values, rivals)
        Contributions in the order of the table, rounded down.
    exact : bool
        Whether nothing was rounded.
    """

    table: SparseTable
    sides: tuple[Side, ...]
    exponent: int
    entries: NDArray[np.int64]
    exact: bool

    @classmethod
    def of(cls, table: SparseTable, sides: Sequence[Side]) -> SparseLedger:
        """Write it on the finest scale on which no row reaches ``2^50``.

        Where a scale of at most 1 measures all contributions, the coarsest such scale is taken.
        """
        finest = max(bit_length(table.reach(side)) for side in sides) - _BITS
        found = [
            are_whole_at(table.starts, table.values, table.factors(side, finest)) for side in sides
        ]
        exponent, exact = finest, all(whole for whole, _ in found)
        if exact:
            bits = 0
            for _, some in found:
                bits |= int(some)
            trailing = (bits & -bits).bit_length() - 1 if bits else -finest
            exponent = min(finest + max(trailing, 0), max(finest, 0))
        return cls._on(table, tuple(sides), exponent, exact)

    @classmethod
    def _on(
        cls, table: SparseTable, sides: tuple[Side, ...], exponent: int, exact: bool
    ) -> SparseLedger:
        entries = np.zeros((len(table.values), len(sides)), dtype=np.int64)
        for rival, side in enumerate(sides):
            made = table.factors(side, exponent)
            column_floors(table.starts, table.values, made, entries, rival)
        return cls(table, sides, exponent, entries, exact)

    def coarser(self, bits: int) -> SparseLedger:
        """Write it with so many digits less."""
        return self._on(self.table, self.sides, self.exponent + bits, False)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return int(self.entries.nbytes)

    @cached_property
    def margins(self) -> NDArray[np.int64]:
        """What each row has to spare when nothing is fixed, before each rival."""
        found = np.zeros((len(self.table.counts), len(self.sides)), dtype=np.int64)
        np.add.at(found, self.table.rows, self.entries)
        levels = np.array([side.level(self.exponent) for side in self.sides], dtype=np.int64)
        left: NDArray[np.int64] = found - levels
        return left

    @cached_property
    def before_worst(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weight of the rows whose worst rival is each, and what columns contribute there.

        The latter is about the sum over all rows, with their weights.
        """
        counts = self.table.counts.astype(np.float64)
        worst = np.argmin(self.margins, axis=1)
        shares: NDArray[np.float64] = np.bincount(worst, counts, len(self.sides))  # type: ignore[assignment]
        rows = self.table.rows
        there = np.take_along_axis(self.entries, worst[rows][:, None], axis=1)[:, 0]
        return shares, self.table.summed(counts[rows] * there)

    @cached_property
    def lifted(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The most that a zero can take off what is missing, and columns by that (Lemma 46)."""
        most = np.maximum(-self.entries.min(axis=1), 0).astype(np.float64)
        return _sorted(self.table.summed(most * self.table.counts[self.table.rows]))

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


def _sorted(bounds: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return numbers, and their places, the largest first."""
    return bounds, np.argsort(-bounds, kind="stable")

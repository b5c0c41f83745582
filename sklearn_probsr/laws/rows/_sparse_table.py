"""Background rows that are mostly zeros, by rows and by columns."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._floors import Factors, factors, signs_of
from sklearn_probsr.engines.rows._sparse_floors import sparse_ranges
from sklearn_probsr.laws._contributions import is_open
from sklearn_probsr.laws.rows._ledger import level_of
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.model._sparse import SparseRows

__all__ = ["Side", "SparseTable", "by_size"]


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
        return by_size(self.summed(self.counts[self.rows].astype(np.float64)))

    def summed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum up numbers, one for each value, by columns."""
        d = len(self.starts) - 1
        columns = np.repeat(np.arange(d), np.diff(self.starts))
        sums: NDArray[np.float64] = np.bincount(columns, weights=values, minlength=d)  # type: ignore[assignment]
        return sums

    def reach(self, side: Side) -> Fraction:
        """Return what no row contributes more than, with its level."""
        data, weights = self.data, np.abs(side.weights)
        with np.errstate(over="ignore"):
            sizes = np.abs(data.values.astype(np.float64)) * weights[data.indices]
            sums = np.bincount(data.places, weights=sizes, minlength=len(data))
        return self.beyond(side, float(sums.max(initial=0.0)))

    def beyond(self, side: Side, most: float) -> Fraction:
        """Return the same, with what rows contribute at most as floats sum it up."""
        weights, level = np.abs(side.weights), abs(Fraction(side.model.threshold))
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


def by_size(bounds: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return numbers, and their places, the largest first."""
    return bounds, np.argsort(-bounds, kind="stable")

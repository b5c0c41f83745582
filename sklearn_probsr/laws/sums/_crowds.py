"""Contributions of very many values: those of real-valued columns in many rows.

Nothing is listed. The least and the most of every unit are exact; what lies between is a share of
the way from one to the other, in floats, computed from the rows whenever it is asked for.
"""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.means import worth
from sklearn_probsr.independent.contributions import Contributions
from sklearn_probsr.independent.seen import Seen
from sklearn_probsr.independent.states import extremes
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.model.linear import LinearModel

__all__ = ["CELLS", "Crowds", "is_crowd"]

# With more values than this together, contributions are not listed.
_MOST_LISTED = 2**14
# Rows in which values are counted first: mostly they tell.
_GLANCE = 2**12
# The shares of a unit are counted in so many cells, where bounds may be rough.
CELLS = 256
# Numbers of the scale have about so many bits.
_BITS = 60
# Shares of several columns that are known less well than this are computed as fractions.
_MOST_DOUBT = 1e-9


def is_crowd(source: Any) -> bool:
    """Tell whether a source has so many values that they are not to be listed."""
    if not isinstance(source, Seen) or source.rows.dtype == np.bool_:
        return False
    if source.crowded is None:
        source.crowded = _has_many(source)
    return source.crowded


def _has_many(source: Seen) -> bool:
    groups = _columns(source.model)
    if len(source.rows) * len(groups) <= _MOST_LISTED:
        return False
    for rows in (source.rows[:_GLANCE], source.rows):
        total = 0
        for at in groups:
            total += max(len(np.unique(rows[:, j])) for j in at)
            if total > _MOST_LISTED:
                return True
    return False


def _columns(model: Any) -> list[list[int]]:
    return [list(unit.columns) for unit in model.units]


class Crowds(Contributions):
    """Contributions of units as they are in the rows of a data set.

    Shares are in [0, 1]: 0 is the least of a unit and 1 the most. One column's are computed by two
    differences and a quotient, after a division by a power of two, so that each is off by at most
    three roundings of itself; those of several columns come with a doubt (Proposition 51).

    ``moved`` says of some units whether values below their least, and above their most, were moved
    there (Proposition 152).
    """

    def __init__(self, model: LinearModel, source: Seen) -> None:
        weights, rows = source.data.weights, source.rows
        if not weights.all():
            rows, weights = rows[weights > 0], weights[weights > 0]
        self.model, self.rows, self.weights = model, rows, weights
        self.columns = _columns(model)
        exact = [self._extremes(u) for u in range(len(self.columns))]
        widest = max(most - least for least, most in exact)
        self.scale = Fraction(2) ** (_bits(widest) - _BITS)
        self.threshold = Fraction(model.threshold) / self.scale
        self._ends: list[tuple[Fraction | int, Fraction | int]] = [
            (least / self.scale, most / self.scale) for least, most in exact
        ]
        self.moved: dict[int, tuple[bool, bool]] = {}
        self.inner: Any = None  # what spectra tell of, once that was asked for

    def within(self, ranges: dict[int, tuple[Fraction, Fraction]]) -> Crowds:
        """Return the same with values outside of some units' ranges moved to an end of these.

        The ends for a unit of one column are rounded, so that a float is worth as much.
        """
        found = copy.copy(self)
        for name in ("widest", "by_range", "fineness", "moments", "cells", "_counted"):
            found.__dict__.pop(name, None)
        found._ends, found.moved = list(self._ends), {}
        for u, wanted in ranges.items():
            least, most = self._ends[u]
            low, high = max(wanted[0], least), min(wanted[1], most)
            if len(self.columns[u]) == 1:
                unit = Fraction(self.model.weights[self.columns[u][0]]) / self.scale
                low, high = (Fraction(float(end / unit)) * unit for end in (low, high))
            if low < high and (low > least or high < most):
                found.moved[u], found._ends[u] = (low > least, high < most), (low, high)
        return found

    @property
    def ends(self) -> list[tuple[Fraction | int, Fraction | int]]:
        """The least and the most that each unit can contribute."""
        return self._ends

    @property
    def atoms(self) -> int:
        """How many values the units have together, or more."""
        return len(self.rows) * len(self.columns)

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """How likely each row is, rounded once."""
        return self.weights / int(self.weights.sum())

    def _extremes(self, unit: int) -> tuple[Fraction, Fraction]:
        at = self.columns[unit]
        weights = self.model.weights[at]
        if len(at) == 1:
            column = self.rows[:, at[0]]
            ends = [Fraction(weights[0]) * Fraction(x) for x in (column.min(), column.max())]
            return min(ends), max(ends)
        about, off, _ = self._about(unit)
        low, high = about <= about.min() + 2 * off, about >= about.max() - 2 * off
        return extremes(weights, self.rows[low][:, at], self.rows[high][:, at])

    def _about(self, unit: int) -> tuple[NDArray[np.float64], float, int]:
        """Return what a unit of several columns contributes, over a power of two, and the error.

        Terms are at most 1: each is rounded twice, and so is every sum of them at most.
        """
        at = self.columns[unit]
        scaled = [_scaled(self.rows[:, j]) for j in at]
        mantissas, exponents = np.frexp(self.model.weights[at])
        powers = exponents + np.array([power for _, power in scaled])
        power = int(powers[mantissas != 0].max(initial=-4000))
        total = np.zeros(len(self.rows))
        for (values, _), mantissa, own in zip(scaled, mantissas, powers, strict=True):
            total += values * math.ldexp(mantissa, max(int(own) - power, -1070))
        return total, 4 * len(at) * len(at) * UNIT, power

    def shares(self, unit: int) -> tuple[NDArray[np.float64], float]:
        """Return where each row is between the least and the most, and how far off at most."""
        least, most = self._ends[unit]
        at = self.columns[unit]
        if least == most:
            return np.zeros(len(self.rows)), 0.0
        if len(at) == 1:
            column, weight = self.rows[:, at[0]], self.model.weights[at[0]]
            if unit in self.moved:
                ends = [float(end * self.scale / Fraction(weight)) for end in (least, most)]
                column = np.clip(column, min(ends), max(ends))
            values, _ = _scaled(column)
            low, high = values.min(), values.max()
            return (values - low if weight > 0 else high - values) / (high - low), 0.0
        about, off, power = self._about(unit)
        scale = Fraction(2) ** power / self.scale
        width = float((most - least) / scale)
        doubt = (off + 4 * UNIT) / width if width else math.inf
        if doubt <= _MOST_DOUBT:
            shares = (about - float(least / scale)) / width
            return np.clip(shares, 0.0, 1.0) if unit in self.moved else shares, doubt
        # What the columns add up to cancels: all digits are needed.
        weights = self.model.weights[at]
        states, which = np.unique(self.rows[:, at], axis=0, return_inverse=True)
        each = (max(min(worth(weights, state) / self.scale, most), least) for state in states)
        return np.array([float((c - least) / (most - least)) for c in each])[which.ravel()], 0.0

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """The weight of the shares in each of so many cells of equal width: (units, cells)."""
        return self._counted[0]

    def outside(self, unit: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell which rows of a unit were moved up to its least, and which down to its most.

        All that were, and those that are there, or by the doubt may be.
        """
        (below, above), (shares, doubt) = self.moved[unit], self.shares(unit)
        return below & (shares <= doubt), above & (shares >= 1 - doubt)

    def worth(self, unit: int, row: int) -> Fraction:
        """Return what a unit contributes in a row, exactly, where nothing is moved."""
        at = self.columns[unit]
        return worth(self.model.weights[at], self.rows[row, at]) / self.scale

    def worths(self, unit: int) -> NDArray[np.float64] | None:
        """Return about what a unit contributes in each row; None if floats do not hold that."""
        at = self.columns[unit]
        if len(at) == 1:
            values, power = _scaled(self.rows[:, at[0]])
            scale = Fraction(self.model.weights[at[0]]) * Fraction(2) ** power / self.scale
        else:
            values, _, power = self._about(unit)
            scale = Fraction(2) ** power / self.scale
        return values * float(scale) if _bits(abs(scale)) < 900 else None

    @cached_property
    def _counted(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        n = len(self.columns)
        cells = np.zeros((n, CELLS), dtype=np.int64)
        mean, variance = np.zeros((2, n))
        for u in range(n):
            shares, _ = self.shares(u)
            at = np.clip((shares * CELLS).astype(np.intp), 0, CELLS - 1)
            np.add.at(cells[u], at, self.weights)
            mean[u] = (shares * self.chances).sum()
            variance[u] = ((shares - mean[u]) ** 2 * self.chances).sum()
        return cells, mean, variance

    @property
    def centres(self) -> NDArray[np.float64]:
        """The mean share of every unit, about."""
        return self._counted[1]

    @property
    def variances(self) -> NDArray[np.float64]:
        """The variance of every unit's share, about."""
        return self._counted[2]

    @cached_property
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Each unit's width, mean above its least, and variance, in widths of the widest."""
        width = np.array([float((most - least) / self.widest) for least, most in self.ends])
        return width, width * self.centres, width**2 * self.variances

    def at_least(self, unit: int, level: Fraction, strict: bool) -> int | None:
        """Return the weight of the rows in which a unit contributes a level, or more if strict.

        None if it is not one column.
        """
        at = self.columns[unit]
        if len(at) > 1:
            return None
        weight = Fraction(self.model.weights[at[0]])
        column, cut = self.rows[:, at[0]], level * self.scale / weight
        if strict:
            inside = _above(column, cut) if weight > 0 else _above(-column, -cut)
        else:
            inside = ~(_above(-column, -cut) if weight > 0 else _above(column, cut))
        return int(self.weights[inside].sum())


def _above(column: NDArray[np.float64], cut: Fraction) -> NDArray[np.bool_]:
    """Tell which floats are larger than a number, exactly."""
    largest = Fraction(np.finfo(np.float64).max)
    near = float(max(min(cut, largest), -largest))
    if abs(cut) > largest:
        return np.full(len(column), cut < 0)
    return column >= near if Fraction(near) > cut else column > near


def _bits(number: Fraction) -> int:
    return number.numerator.bit_length() - number.denominator.bit_length()


def _scaled(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return a column over a power of two above all its sizes, and the exponent of that."""
    _, power = math.frexp(max(abs(float(column.min())), abs(float(column.max()))))
    half = -power // 2
    return column * math.ldexp(1.0, half) * math.ldexp(1.0, -power - half), power

"""What units of background rows add to scores, in whole numbers that 32-bit floats hold.

What comes in is a model's scores and checked rows. What a column adds is its weight times how far
it is from the value of its range that is nearest to 0, over a scale, rounded to the nearest whole
number. Scales are powers of two, and so large that no sum of what a row and an instance add has
more than 23 bits: such sums are exact in any order (Proposition 171). A scale depends on the rows
and on one instance, never on other instances, and mostly on the rows alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.rows.exact import Decider

__all__ = ["Known", "Parts", "Table"]

_BITS = 23
# Rows that are looked at before all: mostly they show that some number has to be rounded.
_FIRST = 64
# Numbers that are worked on at a time.
_AT_ONCE = 2**16
# How far beyond its column a value may be to be worked on in floats.
_FAR = 2.0**200


class Parts(NamedTuple):
    """What units of some rows add to scores, in whole numbers.

    Attributes
    ----------
    parts : ndarray of float32, shape (K, units, n)
    scores : ndarray of float32, shape (K, n)
        All together, with what the score is without them.
    """

    parts: NDArray[np.float32]
    scores: NDArray[np.float32]


class Known(NamedTuple):
    """What units of some instances add to scores, on their scales.

    Attributes
    ----------
    exponents : ndarray of int64, shape (m,)
        Of the scale of each instance.
    parts : ndarray of float32, shape (m, K, units)
    doubts : ndarray of int64, shape (m,)
        Margins are off by less than this; 0 if nothing was rounded.
    """

    exponents: NDArray[np.int64]
    parts: NDArray[np.float32]
    doubts: NDArray[np.int64]


class Table:
    """The rows of a background before the scores of a model.

    Parameters
    ----------
    decider : Decider
    rows : ndarray of shape (n, d)
        Checked rows, floats or booleans.
    n_units : int
    """

    def __init__(self, decider: Decider, rows: NDArray[Any], n_units: int) -> None:
        self.decider, self.rows, self.n_units = decider, rows, n_units
        if len(rows) and rows.dtype != np.bool_:
            self.least, self.most = rows.min(axis=0), rows.max(axis=0)
        else:
            self.least = np.zeros(rows.shape[1])
            self.most = rows.any(axis=0).astype(np.float64)
        self.centre = np.clip(0.0, self.least, self.most)
        sizes = np.maximum(self.most - self.centre, self.centre - self.least)
        # 2^powers is above the size of every centred value of a column.
        self.powers = np.frexp(sizes)[1].astype(np.int64)
        self._sizes = np.ldexp(sizes, -self.powers)
        mantissas, exponents = np.frexp(decider.weights)
        self._mantissas, self._shifts = mantissas, exponents + self.powers
        self._offsets = [
            Fraction(b) + sum((Fraction(w) * Fraction(c) for w, c in zip(line, centre, strict=True)
                               if c), Fraction(0))
            for b, line in zip(decider.intercepts.tolist(), decider.weights.tolist(), strict=True)
            for centre in (self.centre.tolist(),)
        ]  # fmt: skip
        # Sums are in terms of 2^top, beyond which no column and no offset reaches.
        used = self._shifts[mantissas != 0]
        self._top = max(int(used.max(initial=-4000)), *map(_exponent, self._offsets), -4000)
        with np.errstate(under="ignore"):
            self._terms = np.abs(np.ldexp(mantissas, np.maximum(self._shifts - self._top, -1000)))
        near = np.array([math.ldexp(*_scaled(o, self._top)) for o in self._offsets])
        self._reach = (self._terms * self._sizes).sum(axis=1) + np.abs(near)
        self._single = decider.unit_of.tolist() == list(range(len(decider.unit_of)))
        self._kept: dict[int, Parts] = {}

    # --- scales ------------------------------------------------------------------------------

    def _exponent(self, reach: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the exponent of a scale for what scores (..., K) reach."""
        two = np.sort(reach, axis=-1)[..., -2:].sum(axis=-1)
        found: NDArray[np.int64] = np.frexp(two)[1].astype(np.int64) + self._top - _BITS
        return found

    @cached_property
    def exponent(self) -> int:
        """The exponent of the scale for instances that are no further out than the rows."""
        return int(self._exponent(2 * self._reach))

    def known(self, instances: NDArray[Any]) -> Known:
        """Return what units of instances (m, d) add to scores."""
        m, many = len(instances), len(self.decider.weights)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            values = instances.astype(np.float64) - self.centre
            scaled = np.ldexp(values, -self.powers)
            far = ~(np.abs(scaled) < _FAR).all(axis=1)
            scaled[far] = 0.0
            sizes = np.abs(scaled)  # not by BLAS: a row's scale is its own
            reach = np.stack([(sizes * t).sum(axis=1) for t in self._terms], axis=1) + self._reach
        exponents = np.maximum(self._exponent(reach), self.exponent)
        parts = np.zeros((m, many, self.n_units), dtype=np.float32)
        doubts = np.empty(m, dtype=np.int64)
        for exponent in np.unique(exponents).tolist():
            at = np.flatnonzero(exponents == exponent)
            factors = self._factors(exponent)
            for k in range(many):
                parts[at, k] = self._by_unit(np.rint(scaled[at] * factors[k]).T).T
            rounded = ~self._whole(exponent, instances[at])
            doubts[at] = np.where(rounded, self._doubt, 0)
        for i in np.flatnonzero(far).tolist():
            exponents[i], parts[i] = self._far(instances[i])
            doubts[i] = self._doubt
        return Known(exponents, parts, doubts)

    @property
    def _doubt(self) -> int:
        """How far a rounded margin may be off: half for each column, score and offset."""
        scores = min(len(self.decider.weights), 2)
        found: int = math.ceil(0.5001 * (self.decider.weights.shape[1] + 1) * scores) + 1
        return found

    def _far(self, x: NDArray[Any]) -> tuple[int, NDArray[np.float32]]:
        """Return the scale and what units add of an instance that is too far out for floats."""
        away = [Fraction(v) - Fraction(c) for v, c in zip(x.tolist(), self.centre.tolist(),
                                                         strict=True)]  # fmt: skip
        each = [[Fraction(w) * v for w, v in zip(line, away, strict=True)]
                for line in self.decider.weights.tolist()]  # fmt: skip
        sums = [sum(map(abs, line), Fraction(0)) for line in each]
        top = sum(sorted(sums)[-2:], Fraction(0))
        exponent = max(_exponent(top) + 1 - _BITS, self.exponent + 1)
        parts = np.zeros((len(each), self.n_units + 1), dtype=np.float64)
        for k, line in enumerate(each):
            for j, value in enumerate(line):
                parts[k, self.decider.unit_of[j]] += round(value / Fraction(2) ** exponent)
        return exponent, parts[:, : self.n_units].astype(np.float32)

    def _factors(self, exponent: int) -> NDArray[np.float64]:
        """Return what columns that are at most 1 in size are multiplied by."""
        with np.errstate(under="ignore"):
            found: NDArray[np.float64] = np.ldexp(
                self._mantissas, np.maximum(self._shifts - exponent, -1070)
            )
        return found

    def _whole(self, exponent: int, instances: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell of which instances, and of all rows, nothing is rounded on a scale."""
        if not self._is_whole(exponent):
            return np.zeros(len(instances), dtype=np.bool_)
        lowest = self._lowest(instances.astype(np.float64), by_row=True)
        return np.asarray((lowest >= self._needed(exponent)).all(axis=1))

    def _is_whole(self, exponent: int) -> bool:
        if any((o / Fraction(2) ** exponent).denominator > 1 for o in self._offsets):
            return False
        needed = self._needed(exponent)
        if (self._lowest(self.rows[:_FIRST].astype(np.float64)) < needed).any():
            return False
        return bool((self._lowest_of_all >= needed).all())

    def _needed(self, exponent: int) -> NDArray[np.int64]:
        """Return the exponent that the last bit of each column must have for whole numbers."""
        weights = self.decider.weights
        last = np.where(weights != 0, _last_bit(weights), 2**40)
        return np.asarray(exponent - last.min(axis=0))

    @cached_property
    def _lowest_of_all(self) -> NDArray[np.int64]:
        step = max(_AT_ONCE // self.rows.shape[1], 1)
        found = np.full(self.rows.shape[1], 2**40)
        for first in range(0, len(self.rows), step):
            some = self.rows[first : first + step].astype(np.float64)
            found = np.minimum(found, self._lowest(some))
        return found

    def _lowest(self, rows: NDArray[np.float64], by_row: bool = False) -> NDArray[np.int64]:
        """Return the exponent of the last bit of columns less their centres."""
        with np.errstate(over="ignore", invalid="ignore"):
            away = rows - self.centre
            back = away - rows
            exact = (rows - (away - back)) - (self.centre + back) == 0
        last = np.where(away != 0, _last_bit(away), 2**40)
        last = np.where(exact, last, -(2**40))
        return last if by_row else last.min(axis=0, initial=2**40)

    # --- rows --------------------------------------------------------------------------------

    def parts(self, exponent: int, at: NDArray[np.intp] | slice | None = None) -> Parts:
        """Return what units of rows add to scores on a scale, of some rows or of all.

        Those of all rows are kept.
        """
        if at is not None:
            return self._cut(exponent, self.rows[at])
        if exponent not in self._kept:
            if len(self._kept) > 2:  # instances far out have scales of their own
                self._kept.clear()
            self._kept[exponent] = self._cut(exponent, self.rows)
        return self._kept[exponent]

    def _cut(self, exponent: int, rows: NDArray[Any]) -> Parts:
        many, n = len(self.decider.weights), len(rows)
        found = np.empty((many, self.n_units, n), dtype=np.float32)
        scores = np.empty((many, n), dtype=np.float32)
        factors = self._factors(exponent)
        offsets = [round(o / Fraction(2) ** exponent) for o in self._offsets]
        step = max(_AT_ONCE // max(rows.shape[1], 1), 1)
        for first in range(0, n, step):
            some = slice(first, first + step)
            scaled = np.ldexp(rows[some] - self.centre, -self.powers)
            values = np.ascontiguousarray(scaled.T)
            for k in range(many):
                whole = np.rint(values * factors[k][:, None])
                scores[k, some] = whole.sum(axis=0) + offsets[k]
                found[k, :, some] = self._by_unit(whole)
        return Parts(found, scores)

    def _by_unit(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return columns (d, n) added up by unit."""
        if self._single:
            return columns
        found = np.zeros((self.n_units + 1, columns.shape[1]))
        np.add.at(found, self.decider.unit_of, columns)
        return found[: self.n_units]

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        kept = sum(p.parts.nbytes + p.scores.nbytes for p in self._kept.values())
        return int(self.rows.nbytes) + kept


def _exponent(number: Fraction) -> int:
    """Return a power of two that is above a number, or just there."""
    if not number:
        return -4000
    return abs(number.numerator).bit_length() - number.denominator.bit_length() + 1


def _scaled(number: Fraction, top: int) -> tuple[float, int]:
    """Return about a number over a power of two, as `math.ldexp` takes it."""
    if not number:
        return 0.0, 0
    own = _exponent(number)
    return float(number / Fraction(2) ** own), max(own - top, -1000)


def _last_bit(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the exponents of the last bits of floats that are not 0."""
    mantissas, exponents = np.frexp(values)
    with np.errstate(invalid="ignore"):
        whole = np.ldexp(mantissas, 53).astype(np.int64)
    low = np.where(whole != 0, whole & -whole, 1)
    trailing = np.frexp(low.astype(np.float64))[1] - 1
    found: NDArray[np.int64] = exponents.astype(np.int64) - 53 + trailing
    return found

"""Ledgers: what the units of every background row contribute, in whole numbers.

Contributions are counted in whole numbers of one scale, a power of two, signed towards the class.
Each column's is rounded down where it has more digits; a margin is then short by at most one for
every column, and less than one for the level, so margins just below 0 are looked at again with all
their digits. Nothing of this is stored: floats are cut to whole numbers as they are asked for
(Proposition 38), which costs about what reading a table would.

No sum wraps. With d columns, all integers here and in ``engines.rows`` are margins, sums of gains
of different units, or a margin and such a sum, less a floor of ``-d - 2``. The first two are at
most the level, the largest contributions of the background and those of the instance together, in
size. Scales are chosen so that the first and the second have less than ``2^50`` and the third less
than ``2^60``; rounding adds ``2 d + 1``. So all stay below ``2^62``, as do weights of rows, which
are multiplied by 0 or 1 only; greed goes by floats. The proof is that of Proposition 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.view import Row
from sklearn_probsr.engines.rows._floors import signs_of
from sklearn_probsr.laws._contributions import is_open
from sklearn_probsr.laws._table import Table
from sklearn_probsr.model._linear import LinearModel

__all__ = ["MOST_BITS", "Faces", "Ledger", "bit_length", "level_of"]

# Contributions of the background are cut to so many bits together, which leaves room for
# instances a thousand times as far out; those of an instance are cut to so many.
_BITS = 50
MOST_BITS = 60


class Faces(NamedTuple):
    """What the units of an instance contribute, and how that compares with the background.

    Attributes
    ----------
    whole : ndarray of int64
        Rounded down; integers of any length, as objects, where some are far out.
    costs, gains : ndarray of bool
        Whether leaving a unit unknown costs some row anything, and gains some row anything.
    exact : bool
        Whether nothing was rounded.
    """

    whole: NDArray[Any]
    costs: NDArray[np.bool_]
    gains: NDArray[np.bool_]
    exact: bool

    @property
    def bits(self) -> int:
        """How many bits the whole numbers have together."""
        return int(np.abs(self.whole).sum()).bit_length()


@dataclass(frozen=True)
class Ledger:
    """What the units of every background row contribute towards a class, in whole numbers.

    Attributes
    ----------
    table : Table
        The rows, as all ledgers of a law share them.
    exponent : int
        One whole number is worth two to this power.
    level : int
        What a row of the class must reach; a row that keeps it has ``sum >= level``.
    exact : bool
        Whether nothing was rounded.
    """

    model: LinearModel
    table: Table
    sign: int
    exponent: int
    level: int
    exact: bool

    @classmethod
    def of(cls, model: LinearModel, table: Table, positive: bool) -> Ledger:
        """Write it for a class, on the finest scale on which ``2^50`` is not reached.

        Where a scale of at most 1 measures all contributions, the coarsest such scale is taken.
        """
        sign = 1 if positive else -1
        sizes = (abs(Fraction(w)) for w in model.weights.tolist())
        reach = sum((w * x for w, x in zip(sizes, table.sizes, strict=True)), Fraction(0))
        reach += abs(Fraction(model.threshold))
        finest = bit_length(reach) - _BITS
        exact, exponent = table.measure(model.weights, finest)
        level = level_of(model, positive, exponent)
        return cls(model, table, sign, exponent, level, exact)

    @property
    def scale(self) -> Fraction:
        """What one whole number is worth."""
        return Fraction(2) ** self.exponent

    def over(self, table: Table) -> Ledger:
        """Write it for a part of the rows."""
        return replace(self, table=table)

    def on(self, scale: Fraction) -> Ledger:
        """Write it on a coarser scale: as all floats are dyadic, a power of two times this one."""
        if scale == self.scale:
            return self
        if scale not in self._coarser:
            exponent = bit_length(scale) - 1
            level = level_of(self.model, self.sign > 0, exponent)
            self._coarser.clear()  # rivals ask for the same one, row after row
            self._coarser[scale] = replace(self, exponent=exponent, level=level, exact=False)
        return self._coarser[scale]

    @cached_property
    def _coarser(self) -> dict[Fraction, Ledger]:
        return {}

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return self.sign * self.model.weights

    @property
    def doubt(self) -> int:
        """How much a margin of rounded numbers may be short by, plus one."""
        return self.table.n_columns + 2

    def gains(
        self,
        units: Sequence[int],
        known: NDArray[np.int64],
        out: NDArray[np.int64],
        rival: int = 0,
    ) -> None:
        """Write what fixing some units adds to each row, known what all of them contribute.

        ``out`` has one line a unit; of several rivals in it, side by side, this is one.
        """
        self.table.write(units, self._weights, self.exponent, known[units], out, rival)

    @cached_property
    def form(self) -> NDArray[np.float64]:
        """What columns are multiplied by to be contributions, once they are at most 1 in size."""
        return self.table.form(self._weights, self.exponent)

    @property
    def entries(self) -> NDArray[np.int64]:
        """Contributions (units, rows), rounded down."""
        n_units = self.table.n_units
        out = np.empty((n_units, len(self.table.rows)), dtype=np.int64)
        self.gains(range(n_units), np.zeros(n_units, dtype=np.int64), out)
        return -out

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """What each row has to spare when nothing is fixed."""
        return self.counted_starts()

    def counted_starts(self) -> NDArray[np.int64]:
        """Return the same, counted anew."""
        return self.table.sums(self._weights, self.exponent) - self.level

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What each unit contributes on average, in whole numbers, about."""
        return self.table.means(self._weights, self.exponent)

    def keep(self, asked: NDArray[np.intp], row: Row, features: Sequence[int]) -> NDArray[np.bool_]:
        """Tell with all digits which rows keep the class with some units of an instance fixed."""
        fixed = np.zeros(self.table.n_columns, dtype=np.bool_)
        fixed[[j for u in features for j in self.table.columns[u]]] = True
        rows = np.ascontiguousarray(self.table.rows[asked], dtype=np.float64)
        given = row.astype(np.float64)
        model = self.model
        signs = signs_of(rows, given, fixed, model.weights, model.threshold)
        for i in np.flatnonzero(np.abs(signs) > 1):
            signs[i] = self._sign(np.where(fixed, given, rows[i]))
        towards = self.sign * signs
        kept: NDArray[np.bool_] = towards > 0 if is_open(model, self.sign > 0) else towards >= 0
        return kept

    def _sign(self, row: NDArray[np.float64]) -> int:
        terms = zip(self.model.weights.tolist(), row.tolist(), strict=True)
        total = sum((Fraction(w) * Fraction(x) for w, x in terms), -Fraction(self.model.threshold))
        return (total > 0) - (total < 0)

    def faces(self, row: Row) -> Faces:
        """Return what each unit of a row contributes, and whether it costs and gains."""
        if self.table.binary:
            return self._faces_of_ones(row)
        costs, gains = self.table.sides(self._weights, self.exponent, row)
        whole, exact = self._whole(row)
        return Faces(whole, costs, gains, exact)

    def _whole(self, row: NDArray[Any]) -> tuple[NDArray[Any], bool]:
        """Return what the units of a row contribute, rounded down as the background is."""
        found = self.table.whole(self._weights, self.exponent, row)
        if found is not None:
            return found
        # Too far out for floats to be cut: as integers of any length.
        each = [
            Fraction(w) * Fraction(x) / self.scale
            for w, x in zip(self._weights.tolist(), row.tolist(), strict=True)
        ]
        whole = [sum(math.floor(each[j]) for j in at) for at in self.table.columns]
        return np.array(whole, dtype=object), all(c.denominator == 1 for c in each)

    def _faces_of_ones(self, row: Row) -> Faces:
        """Return the faces of a row before rows of zeros and ones, which it need not be itself."""
        ones = self.model.ones(row[None, :])
        if ones is None:
            whole, costs, gains, rounded = self._each(row[self.table.first].tolist())
            return Faces(whole, costs, gains, not rounded.any())
        (whole, more), (others, less) = self._binary_faces[1], self._binary_faces[0]
        costs, gains, rounded = np.where(ones[0], more, less)
        return Faces(np.where(ones[0], whole, others), costs, gains, not rounded.any())

    def _each(self, values: list[Any]) -> tuple[NDArray[Any], ...]:
        """Return the faces of one value of each unit, by all digits, and which are rounded."""
        weights = [Fraction(w) for w in self._weights[self.table.first].tolist()]
        seen = zip(*(side.tolist() for side in self.table.ranges_of_ones), strict=True)
        known = [w * Fraction(x) for w, x in zip(weights, values, strict=True)]
        ends = [(w * low, w * high) for w, (low, high) in zip(weights, seen, strict=True)]
        whole = [math.floor(c / self.scale) for c in known]
        far = sum(map(abs, whole)).bit_length() > MOST_BITS
        return (
            np.array(whole, dtype=object if far else np.int64),
            np.array([c > min(pair) for c, pair in zip(known, ends, strict=True)]),
            np.array([c < max(pair) for c, pair in zip(known, ends, strict=True)]),
            np.array([c != n * self.scale for c, n in zip(known, whole, strict=True)]),
        )

    @cached_property
    def _binary_faces(self) -> list[tuple[NDArray[Any], NDArray[np.bool_]]]:
        """The same of units that are 0, and of units that are 1; what is told as yes or no last."""
        found = (self._each([x] * self.table.n_units) for x in (0, 1))
        return [(whole, np.array(told)) for whole, *told in found]


def bit_length(number: Fraction) -> int:
    """Return the least power of two above a number; 0 for 0."""
    if not number:
        return 0
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess + (Fraction(2) ** guess <= number)


def level_of(model: LinearModel, positive: bool, exponent: int) -> int:
    """Return what a row of a class must reach, in whole numbers of a scale."""
    threshold = Fraction(model.threshold if positive else -model.threshold)
    reached = threshold / Fraction(2) ** exponent
    return math.floor(reached) + 1 if is_open(model, positive) else math.ceil(reached)

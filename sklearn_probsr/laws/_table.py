"""The rows of a background, as contributions of any model of its columns are cut from them.

One table serves both classes and all duels of a law: what depends on the rows alone is computed
once.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._floors import (
    Factors,
    Ranges,
    add_floors,
    are_whole,
    choose_by_ones,
    factors,
    ranges_of,
)
from sklearn_probsr.laws._states import extremes, worth
from sklearn_probsr.model._base import Model

__all__ = ["Places", "Table"]

# Some of the rows: a slice of them is not copied.
Places = NDArray[np.intp] | slice

# Contributions of an instance below this, of values below this times the largest of the background,
# are cut to whole numbers in floats (Proposition 38).
_ROOM = 2.0**50
# Models and scales for which binary contributions are remembered.
_MOST_WHOLES = 256


class Table:
    """The rows of a background in the columns of a model.

    ``weights`` of methods are those of a model with these columns, signed towards a class;
    contributions are in whole numbers of ``2^exponent``.

    Parameters
    ----------
    model : Model
        Its units and columns count; its weights do not.
    rows : ndarray of shape (n, d)
        Checked rows.
    counts : ndarray of int64, shape (n,)
        How much each row counts.

    Attributes
    ----------
    columns : list of list of int
        The columns of every unit.
    binary : bool
        Whether every unit is one column, of zeros and ones in all rows.
    """

    def __init__(self, model: Model, rows: NDArray[Any], counts: NDArray[np.int64]) -> None:
        # Kernels see one kind of counts, those that may be written to, and are compiled once.
        self.counts = counts.copy()
        units = model.units
        self.n_units, self.n_columns = model.n_units, model.n_features
        self.columns = [[u] if units is None else [*units[u].columns] for u in range(self.n_units)]
        self.first = [at[0] for at in self.columns]
        one_each = self.n_units == self.n_columns
        self.binary = units is None or (one_each and bool(((rows == 0) | (rows == 1)).all()))
        self.rows = _frozen(rows if self.binary else rows.astype(np.float64, copy=False))
        # A column that is no unit's is that of one more, which is never asked for.
        self._unit_of = np.full(self.n_columns, self.n_units, dtype=np.intp)
        for u, at in enumerate(self.columns):
            self._unit_of[at] = u
        self.single = np.array([len(at) == 1 for at in self.columns], dtype=np.bool_)
        self._wholes: dict[tuple[bytes, int], NDArray[np.int64]] = {}
        self._extremes: dict[tuple[bytes, int], tuple[Fraction, Fraction]] = {}

    def part(self, places: Places) -> Table:
        """Return some of the rows; what columns are like is what they are in all of them."""
        found = copy.copy(self)
        found.__dict__.pop("_ones", None)
        found.rows, found.counts = _frozen(self.rows[places]), self.counts[places]
        if self.binary:
            found.ranges_of_ones = self.ranges_of_ones
        else:
            found._ranges = self._ranges
        return found

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return int(self.rows.nbytes) + (len(self.rows) * self.n_units if self.binary else 0)

    def ones_of(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where the units of rows are 1, one line a unit, if all are binary."""
        return np.ascontiguousarray((rows[:, self.first] == 1).T)

    @cached_property
    def _ones(self) -> NDArray[np.bool_]:
        return self.ones_of(self.rows)

    @cached_property
    def ranges_of_ones(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The least and the most that binary units are in any row."""
        return np.all(self._ones, axis=1), np.any(self._ones, axis=1)

    @cached_property
    def _ranges(self) -> Ranges:
        return ranges_of(self.rows, self.counts)

    @cached_property
    def sizes(self) -> list[Fraction]:
        """The largest size of a value in every column."""
        if self.binary:
            sizes = [Fraction(0)] * self.n_columns
            for column, most in zip(self.first, self.ranges_of_ones[1].tolist(), strict=True):
                sizes[column] = Fraction(int(most))
            return sizes
        largest = np.maximum(np.abs(self._ranges.least), np.abs(self._ranges.most))
        return [Fraction(x) for x in largest.tolist()]

    def measure(self, weights: NDArray[np.float64], finest: int) -> tuple[bool, int]:
        """Return whether a scale measures all contributions, and the exponent of one to take.

        It is the coarsest of those that do, up to 1 and not finer than ``finest``; if none does,
        the finest.
        """
        if self.binary:
            seen = weights[self.first][self.ranges_of_ones[1]].tolist()
            digits = [Fraction(w) / Fraction(2) ** finest for w in seen]
            exact, bits = all(c.denominator == 1 for c in digits), 0
            for c in digits if exact else ():
                bits |= int(c)
        else:
            exact, bits = are_whole(self.rows, self._factors(weights, finest))
        if not exact:
            return False, finest
        trailing = (bits & -bits).bit_length() - 1 if bits else -finest
        return True, min(finest + max(trailing, 0), max(finest, 0))

    def _factors(
        self, weights: NDArray[np.float64], exponent: int, units: Sequence[int] | None = None
    ) -> Factors:
        """Return what makes contributions of columns; some units are the lines of a table."""
        lines = np.full(self.n_units + 1, -1, dtype=np.intp)
        if units is None:
            units = range(self.n_units)
        lines[np.asarray(units, dtype=np.intp)] = np.arange(len(units))
        return factors(self._ranges, weights, lines[self._unit_of], exponent)

    def write(
        self,
        units: Sequence[int],
        weights: NDArray[np.float64],
        exponent: int,
        known: NDArray[np.int64],
        out: NDArray[np.int64],
        rival: int = 0,
    ) -> None:
        """Write what is known of some units less what they contribute in each row."""
        n = len(self.rows)
        rivals = out.shape[1] // n
        if self.binary:
            at = np.array(units, dtype=np.intp)
            left = known - self._whole_ones(weights, exponent)[at]
            choose_by_ones(self._ones, at, known, left, out, rival)
            return
        out.reshape(-1, n, rivals)[:, :, rival] = known[:, None]
        add_floors(self.rows, self._factors(weights, exponent, units), -1, out, rivals, rival)

    @property
    def halves(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What columns are multiplied by, in two steps, to be at most 1 in size."""
        if self.binary:
            return np.ones(self.n_columns), np.ones(self.n_columns)
        return self._ranges.first, self._ranges.second

    def form(self, weights: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
        """Return what columns of that size are multiplied by to be contributions."""
        found = np.zeros(self.n_columns)
        if self.binary:
            found[self.first] = self._whole_ones(weights, exponent)
        else:
            made = self._factors(weights, exponent)
            found[made.columns] = made.whole
        return found

    @property
    def floats(self) -> NDArray[np.float64]:
        """The rows as floats."""
        return _frozen(self.rows.astype(np.float64, copy=False))

    def sums(self, weights: NDArray[np.float64], exponent: int) -> NDArray[np.int64]:
        """Return what all units contribute together in each row."""
        total = np.zeros((1, len(self.rows)), dtype=np.int64)
        if self.binary:
            for ones, whole in zip(self._ones, self._whole_ones(weights, exponent), strict=True):
                total[0] += np.where(ones, whole, 0)
        else:
            made = self._factors(weights, exponent)
            add_floors(self.rows, made._replace(places=np.zeros_like(made.places)), 1, total, 1, 0)
        summed: NDArray[np.int64] = total[0]
        return summed

    def _whole_ones(self, weights: NDArray[np.float64], exponent: int) -> NDArray[np.int64]:
        """Return what binary units contribute when they are 1 in some row, computed once."""
        key = (weights.tobytes(), exponent)
        if key not in self._wholes:
            if len(self._wholes) >= _MOST_WHOLES:  # instances far out have scales of their own
                self._wholes.clear()
            scale = Fraction(2) ** exponent
            seen = self.ranges_of_ones[1].tolist()
            ones = zip(weights[self.first].tolist(), seen, strict=True)
            each = [Fraction(w) // scale if there else 0 for w, there in ones]
            self._wholes[key] = np.array(each, dtype=np.int64)
        return self._wholes[key]

    def means(self, weights: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
        """Return about what each unit contributes on average."""
        if self.binary:
            counts = self.counts.astype(np.float64)
            # Not by BLAS, whose digits depend on how many threads it has.
            shares = (self._ones * counts).sum(axis=1) / counts.sum()
            means: NDArray[np.float64] = shares * self._whole_ones(weights, exponent)
            return means
        made = self._factors(weights, exponent)
        found = np.zeros(self.n_units)
        np.add.at(found, made.places, made.whole * self._ranges.means[made.columns])
        return found

    def whole(
        self, weights: NDArray[np.float64], exponent: int, row: NDArray[Any]
    ) -> tuple[NDArray[np.int64], bool] | None:
        """Return what the units of an instance contribute, and whether nothing was rounded.

        None if that is too much for floats.
        """
        made = self._factors(weights, exponent)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.abs(row[made.columns] * made.first * made.second)
            sizes = values * np.abs(made.whole)
        if not (sizes.sum() < _ROOM and values.max(initial=0.0) < _ROOM):
            return None
        # A column of zeros says nothing about how large its weight may be.
        if ((np.abs(made.whole) > _ROOM) & (values > 0)).any():
            return None
        found = np.zeros((self.n_units, 1), dtype=np.int64)
        one = _frozen(row[None, :])
        add_floors(one, made, 1, found, 1, 0)
        return found[:, 0], bool(are_whole(one, made)[0])

    def sides(
        self, weights: NDArray[np.float64], exponent: int, row: NDArray[Any]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell of which units an instance has more than some row contributes, and less."""
        values, least, most = (
            row[self.first],
            *(side[self.first] for side in (self._ranges.least, self._ranges.most)),
        )
        heads = weights[self.first]
        above, below = values > least, values < most
        more = np.where(heads > 0, above, below) & (heads != 0)
        less = np.where(heads > 0, below, above) & (heads != 0)
        for u in np.flatnonzero(~self.single).tolist():
            low, high = self._extreme(weights, exponent, u)
            known = worth(weights[self.columns[u]], row[self.columns[u]])
            more[u], less[u] = known > low, known < high
        return more, less

    def _extreme(
        self, weights: NDArray[np.float64], exponent: int, unit: int
    ) -> tuple[Fraction, Fraction]:
        """Return the least and the most that a unit of several columns contributes, exactly."""
        at = self.columns[unit]
        key = (weights[at].tobytes(), unit)
        if key not in self._extremes:
            line = np.empty((1, len(self.rows)), dtype=np.int64)
            self.write([unit], weights, exponent, np.zeros(1, dtype=np.int64), line)
            # Each column was rounded by less than one, so the extremes are among these.
            low = line[0] >= line.max() - len(at)
            high = line[0] <= line.min() + len(at)
            lowest, highest = self.rows[low][:, at], self.rows[high][:, at]
            self._extremes[key] = extremes(weights[at], lowest, highest)
        return self._extremes[key]


def _frozen(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows as kernels are compiled for: read-only, one after the other."""
    frozen = np.ascontiguousarray(rows).view()
    frozen.flags.writeable = False
    return frozen

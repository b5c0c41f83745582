"""Contributions of values that are not zero before several rivals, without a table of them.

As in ``engines.rows._sparse_floors``: a value is multiplied by one factor for each rival, and cut.
A table of all of these would be as many times the data as there are rivals; so only columns that
are asked for are written down, and of the others sums (Lemma 151).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel, strict_inner, strict_kernel
from sklearn_probsr.engines.rows._floors import _TINY, _error

__all__ = [
    "Documents",
    "Sums",
    "Values",
    "add_columns",
    "column_sums",
    "cut_columns",
]


class Values(NamedTuple):
    """Rows that are mostly zeros, by columns, and what their values are multiplied by."""

    starts: NDArray[np.int64]  # (d + 1,): where the values of each column are
    rows: NDArray[np.int32]  # the row of each value
    values: NDArray[np.float64]
    first: NDArray[np.float64]  # (d,): times first, then times second: over a power of two
    second: NDArray[np.float64]
    line: NDArray[np.int32]  # (d,): which of the factors are those of a column that some row has
    whole: NDArray[np.float64]  # (columns, rivals): weights times that power, over the scale


class Documents(NamedTuple):
    """Rows that are mostly zeros, by rows."""

    starts: NDArray[np.int64]  # (n + 1,): where the values of each row are
    columns: NDArray[np.int32]  # the column of each value
    values: NDArray[np.float64]


@strict_inner
def floor_of(x: float, y: float, whole: float) -> float:
    """Return the floor of what a value contributes, ``y`` being it over its power of two.

    Proposition 38; the sign of a weight is that of its factor.
    """
    product = whole * y
    if abs(y) < _TINY or abs(whole) < _TINY:
        return -1.0 if (x < 0.0 < whole) or (whole < 0.0 < x) else 0.0
    below = np.floor(product)
    if below == product and _error(product, whole, y) < 0.0:
        below -= 1.0
    return below  # type: ignore[no-any-return]


def cut_columns(table: Values, units: NDArray[np.intp], out: NDArray[np.int64]) -> None:
    """Write what the values of some columns contribute, rounded down (Proposition 38)."""
    out[:] = 0
    _add_floors(table, units, False, out)


def add_columns(table: Values, out: NDArray[np.int64]) -> None:
    """Add up what all values of each row contribute, rounded down one by one (Lemma 45)."""
    _add_floors(table, np.arange(len(table.starts) - 1), True, out)


@strict_kernel
def _add_floors(
    table: Values, units: NDArray[np.intp], by_row: bool, out: NDArray[np.int64]
) -> None:
    """Add floors of what columns contribute, to the rows or to one place after the other."""
    at = 0
    for j in units:
        whole = table.whole[table.line[j]]
        for e in range(table.starts[j], table.starts[j + 1]):
            y = table.values[e] * table.first[j] * table.second[j]
            place = np.int64(table.rows[e]) if by_row else at
            for i in range(len(whole)):
                out[place, i] += np.int64(floor_of(table.values[e], y, whole[i]))
            at += 1


class Sums(NamedTuple):
    """What columns contribute together, and what a zero in their place brings, in floats."""

    there: NDArray[np.float64]  # (d,): before each row's worst rival
    lifted: NDArray[np.float64]  # (d,): before the rival where it brings most (Lemma 46)
    most: NDArray[np.float64]  # (n, rivals): what one zero brings each row


def column_sums(table: Values, counts: NDArray[np.int64], worst: NDArray[np.intp]) -> Sums:
    """Sum up about what columns contribute, with the weights of the rows."""
    d = len(table.starts) - 1
    found = Sums(np.zeros(d), np.zeros(d), np.zeros((len(counts), table.whole.shape[1])))
    _add_up(table, counts, worst, found)
    return found


@kernel
def _add_up(table: Values, counts: NDArray[np.int64], worst: NDArray[np.intp], found: Sums) -> None:
    """Add to these sums, column by column."""
    for j in range(len(found.there)):
        whole = table.whole[table.line[j]]
        for e in range(table.starts[j], table.starts[j + 1]):
            r = table.rows[e]
            y = table.values[e] * table.first[j] * table.second[j]
            most = 0.0
            for i in range(len(whole)):
                gain = -whole[i] * y
                most = max(most, gain)
                found.most[r, i] = max(found.most[r, i], gain)
            found.there[j] += counts[r] * (whole[worst[r]] * y)
            found.lifted[j] += counts[r] * most

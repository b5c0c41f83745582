"""Contributions of values that are not zero, cut to whole numbers column by column.

As in ``engines.rows._floors``: zeros contribute nothing, exactly, and are not looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import strict_kernel
from sklearn_probsr.engines.rows._floors import _TINY, Factors, Ranges, _error, _floor

__all__ = ["are_whole_at", "column_floors", "floors_at", "sparse_ranges"]


def sparse_ranges(
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    rows: NDArray[np.int32],
    weights: NDArray[np.int64],
) -> Ranges:
    """Look through the columns of a table once; a column with a zero has that in its range."""
    d = len(starts) - 1
    sizes = np.diff(starts)
    held = np.flatnonzero(sizes)
    least, most = np.zeros(d), np.zeros(d)
    if len(held):
        least[held] = np.minimum.reduceat(values, starts[held])
        most[held] = np.maximum.reduceat(values, starts[held])
    some = sizes < len(weights)
    least[some], most[some] = np.minimum(least[some], 0.0), np.maximum(most[some], 0.0)
    exponents = np.frexp(np.maximum(np.abs(least), np.abs(most)))[1].astype(np.int64)
    half = -exponents // 2
    first, second = np.ldexp(1.0, half), np.ldexp(1.0, -exponents - half)
    columns = np.repeat(np.arange(d), sizes)
    shares = weights[rows] / float(weights.sum())
    parts = values * first[columns] * second[columns] * shares
    means: NDArray[np.float64] = np.bincount(columns, parts, d)  # type: ignore[assignment]
    return Ranges(least, most, exponents, means, first, second)


@strict_kernel
def column_floors(
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    factors: Factors,
    out: NDArray[np.int64],
    rival: int,
) -> None:
    """Write the floors of all contributions, of one rival (Proposition 38)."""
    for i in range(len(factors.columns)):
        j = factors.columns[i]
        first, second = factors.first[i], factors.second[i]
        whole, sign = factors.whole[i], factors.signs[i]
        for e in range(starts[j], starts[j + 1]):
            out[e, rival] = np.int64(_floor(values[e], first, second, whole, sign))


@strict_kernel
def are_whole_at(
    starts: NDArray[np.int64], values: NDArray[np.float64], factors: Factors
) -> tuple[bool, int]:
    """Tell whether all contributions are whole numbers, and which bits they have."""
    bits = np.int64(0)
    for i in range(len(factors.columns)):
        j = factors.columns[i]
        whole = factors.whole[i]
        for e in range(starts[j], starts[j + 1]):
            y = values[e] * factors.first[i] * factors.second[i]
            if abs(y) < _TINY or abs(whole) < _TINY:
                return False, 0
            product = whole * y
            if np.floor(product) != product or _error(product, whole, y) != 0.0:
                return False, 0
            bits |= np.int64(product)
    return True, bits  # type: ignore[return-value]


def floors_at(values: NDArray[np.float64], factors: Factors) -> tuple[NDArray[np.int64], bool]:
    """Return the floors of what some values contribute, one for each factor, and if all are whole.

    Of Proposition 38, for values that may be larger than those of the background.
    """
    found = np.zeros(len(values), dtype=np.int64)
    return found, _write_floors(values, factors, found)


@strict_kernel
def _write_floors(values: NDArray[np.float64], factors: Factors, found: NDArray[np.int64]) -> bool:
    """Write these floors; tell whether all are whole (Proposition 38)."""
    exact = True
    for i in range(len(values)):
        x, whole = values[i], factors.whole[i]
        if factors.signs[i] == 0.0:
            continue
        first, second = factors.first[i], factors.second[i]
        found[i] = np.int64(_floor(x, first, second, whole, factors.signs[i]))
        y = x * first * second
        product = whole * y
        tiny = abs(y) < _TINY or abs(whole) < _TINY
        inexact = np.floor(product) != product or _error(product, whole, y) != 0.0
        exact &= not (tiny or inexact)
    return exact

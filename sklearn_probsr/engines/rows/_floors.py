"""Products of floats, cut to whole numbers of a scale without ever rounding the wrong way.

``floor(w x / s)`` with a power of two ``s`` is had from one float product and, where that product
is a whole number, from the sign of its error (Proposition 38). Signs of whole sums of products are
told by expansions: floats that do not overlap, whose sum is exact (Shewchuk 1997).

The kernels are strict: a product is rounded once, and no sum is taken in another order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel, strict_inner, strict_kernel

__all__ = [
    "Factors",
    "Ranges",
    "add_floors",
    "are_whole",
    "choose_by_ones",
    "factors",
    "ranges_of",
    "signs_of",
]

# Factors below this have products between -1 and 1, of which the sign is enough (Proposition 38).
_TINY = 2.0**-60
# Veltkamp's constant: it splits 53 bits into two halves.
_SPLIT = 134217729.0
# Rows that are gone through column by column at a time: they fit a processor's nearest cache.
_BLOCK = 64
# Rows whose means are added up at a time.
_CHUNK = 1024
# Products in this range, and their errors, are floats without loss (Proposition 38).
_LEAST_PRODUCT, _MOST_PRODUCT = 2.0**-900, 2.0**900
_MOST_FACTOR = 2.0**900
_UNKNOWN = 2


class Ranges(NamedTuple):
    """What the columns of some rows are like; all arrays have one number a column."""

    least: NDArray[np.float64]
    most: NDArray[np.float64]
    exponents: NDArray[np.int64]  # 2^exponent is above every size
    means: NDArray[np.float64]  # weighted, in units of 2^exponent
    first: NDArray[np.float64]  # times first, then times second: divided by 2^exponent
    second: NDArray[np.float64]


class Factors(NamedTuple):
    """What columns that were divided by their powers of two are multiplied by."""

    columns: NDArray[np.intp]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    whole: NDArray[np.float64]  # weights times the column's power of two, over the scale
    signs: NDArray[np.float64]  # of the weights
    places: NDArray[np.intp]  # the line of the table that each column is counted in


def ranges_of(rows: NDArray[np.float64], weights: NDArray[np.int64]) -> Ranges:
    """Look through the columns of some rows once."""
    least, most = rows.min(axis=0), rows.max(axis=0)
    exponents = np.frexp(np.maximum(np.abs(least), np.abs(most)))[1].astype(np.int64)
    half = -exponents // 2
    first, second = np.ldexp(1.0, half), np.ldexp(1.0, -exponents - half)
    means = _means(rows, weights, first, second)
    return Ranges(least, most, exponents, means, first, second)


def _means(
    rows: NDArray[np.float64],
    weights: NDArray[np.int64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return about the means of all columns, divided by their powers of two."""
    counts = weights.astype(np.float64)
    total = np.zeros(rows.shape[1])
    for start in range(0, len(rows), _CHUNK):
        some = slice(start, start + _CHUNK)
        # Not by BLAS, whose digits depend on how many threads it has.
        total += np.einsum("i,ij->j", counts[some], rows[some] * first * second)
    means: NDArray[np.float64] = total / counts.sum()
    return means


def factors(
    ranges: Ranges, weights: NDArray[np.float64], places: NDArray[np.intp], scale: int
) -> Factors:
    """Return what makes contributions over ``2^scale`` of columns; those without weight make none.

    Products must stay below ``2^60``.
    """
    columns = np.flatnonzero((weights != 0) & (places >= 0))
    mantissas, exponents = np.frexp(weights[columns])
    shifts = exponents + ranges.exponents[columns] - scale
    whole = np.ldexp(mantissas, np.clip(shifts, -1000, 1000))
    return Factors(
        columns,
        ranges.first[columns],
        ranges.second[columns],
        whole,
        np.sign(mantissas),
        places[columns],
    )


@strict_inner
def _error(product: float, a: float, b: float) -> float:
    """Return what is missing in a rounded product, exactly (Dekker 1971)."""
    big = _SPLIT * a
    a_high = big - (big - a)
    a_low = a - a_high
    big = _SPLIT * b
    b_high = big - (big - b)
    b_low = b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


@strict_inner
def _floor(x: float, first: float, second: float, whole: float, sign: float) -> float:
    """Return the floor of a weight times a value, over the scale."""
    y = x * first * second
    product = whole * y
    if abs(y) < _TINY or abs(whole) < _TINY:
        return -1.0 if x * sign < 0.0 else 0.0
    below = np.floor(product)
    if below == product and _error(product, whole, y) < 0.0:
        below -= 1.0
    return below  # type: ignore[no-any-return]


@strict_kernel
def add_floors(
    rows: NDArray[np.float64],
    factors: Factors,
    sign: int,
    out: NDArray[np.int64],
    rivals: int,
    rival: int,
) -> None:
    """Add floors of contributions (sign 1), or take them off (sign -1).

    Row r of line u of the table is ``out[u, r * rivals + rival]``.
    """
    n = len(rows)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        for i in range(len(factors.columns)):
            j = factors.columns[i]
            line = out[factors.places[i]]
            first, second = factors.first[i], factors.second[i]
            whole, direction = factors.whole[i], factors.signs[i]
            for r in range(start, stop):
                below = _floor(rows[r, j], first, second, whole, direction)
                line[r * rivals + rival] += sign * np.int64(below)


@strict_kernel
def are_whole(rows: NDArray[np.float64], factors: Factors) -> tuple[bool, int]:
    """Tell whether all contributions are whole numbers of the scale, and which bits they have."""
    bits = np.int64(0)
    for r in range(len(rows)):
        for i in range(len(factors.columns)):
            x = rows[r, factors.columns[i]]
            if x == 0.0:
                continue
            y = x * factors.first[i] * factors.second[i]
            whole = factors.whole[i]
            if abs(y) < _TINY or abs(whole) < _TINY:
                return False, 0
            product = whole * y
            if np.floor(product) != product or _error(product, whole, y) != 0.0:
                return False, 0
            bits |= np.int64(product)
    return True, bits  # type: ignore[return-value]


@strict_inner
def _grow(parts: NDArray[np.float64], n: int, number: float) -> int:
    """Add a number to an expansion of n parts; return how many it has then (Shewchuk 1997)."""
    carried = number
    left = 0
    for i in range(n):
        total = carried + parts[i]
        virtual = total - carried
        rest = (carried - (total - virtual)) + (parts[i] - virtual)
        carried = total
        if rest != 0.0:
            parts[left] = rest
            left += 1
    if carried != 0.0:
        parts[left] = carried
        left += 1
    return left


@strict_kernel
def signs_of(
    rows: NDArray[np.float64],
    row: NDArray[np.float64],
    fixed: NDArray[np.bool_],
    weights: NDArray[np.float64],
    cut: float,
) -> NDArray[np.int64]:
    """Return the sign of ``z · weights - cut``, where z is a row with some columns fixed.

    -1, 0 or 1, exactly; 2 where a product is beyond what floats hold without loss.
    """
    d = len(weights)
    found = np.empty(len(rows), dtype=np.int64)
    parts = np.empty(2 * d + 1)
    for k in range(len(rows)):
        n = _grow(parts, 0, -cut)
        sure = abs(cut) <= _MOST_PRODUCT
        for j in range(d):
            x = row[j] if fixed[j] else rows[k, j]
            w = weights[j]
            if x == 0.0 or w == 0.0:
                continue
            product = w * x
            size = abs(product)
            sure &= _LEAST_PRODUCT <= size <= _MOST_PRODUCT
            sure &= abs(x) <= _MOST_FACTOR and abs(w) <= _MOST_FACTOR
            if not sure:
                break
            n = _grow(parts, n, _error(product, w, x))
            n = _grow(parts, n, product)
        if sure:
            found[k] = 0 if n == 0 else 1 if parts[n - 1] > 0.0 else -1
        else:
            found[k] = _UNKNOWN
    return found


@kernel
def choose_by_ones(
    ones: NDArray[np.bool_],
    units: NDArray[np.intp],
    zero: NDArray[np.int64],
    one: NDArray[np.int64],
    out: NDArray[np.int64],
    rival: int,
) -> None:
    """Write for each of some binary units one number where it is 0 in a row, another where it is 1.

    The numbers are sums that do not wrap (Proposition 13). Rows have a place for each rival.
    """
    n = ones.shape[1]
    rivals = out.shape[1] // max(n, 1)
    for i in range(len(units)):
        here, line = ones[units[i]], out[i]
        low, high = zero[i], one[i]
        if rivals == 1:
            for r in range(n):
                line[r] = high if here[r] else low
        else:
            for r in range(n):
                line[r * rivals + rival] = high if here[r] else low

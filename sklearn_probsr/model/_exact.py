"""Exact numbers: floats as scaled integers, decimals as fractions, outward and steady rounding.

A float is a dyadic rational, so a float vector is an integer vector times a power of two.
Everything that must not be rounded (signs, ties, lattice sums) is decided on those integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "about",
    "decimal_fraction",
    "float_above",
    "float_below",
    "float_pair",
    "floats_around",
    "integer_multiples",
    "row_sums",
]

# Levels that are asked for again and again are read and rounded once.
_MOST_LEVELS = 256


def decimal_fraction(value: Any) -> Fraction:
    """Return the rational number that ``value`` prints as: 0.9 is nine tenths.

    Examples
    --------
    >>> decimal_fraction(0.9)
    Fraction(9, 10)
    """
    if not isinstance(value, float) and isinstance(value, Rational | Decimal):
        return Fraction(value)
    return _read(str(value))


@lru_cache(_MOST_LEVELS)
def _read(text: str) -> Fraction:
    return Fraction(text)


def about(value: Fraction) -> float:
    """Return about the value of a fraction, infinite if that is beyond floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def float_below(value: Fraction) -> float:
    """Return the largest float that is at most ``value``."""
    return float_pair(value)[0]


def float_above(value: Fraction) -> float:
    """Return the smallest float that is at least ``value``."""
    return float_pair(value)[1]


@lru_cache(_MOST_LEVELS)
def floats_around(level: Fraction) -> tuple[float, float]:
    """Return the largest float that is at most a level, and the smallest that is at least it."""
    return float_pair(level)


def float_pair(value: Fraction) -> tuple[float, float]:
    """Return the same of a number that is not asked for again."""
    nearest = float(value)
    exact = Fraction(nearest)
    below = nearest if exact <= value else math.nextafter(nearest, -math.inf)
    return below, nearest if exact >= value else math.nextafter(nearest, math.inf)


def integer_multiples(values: Sequence[float] | np.ndarray) -> tuple[list[int], Fraction]:
    """Write finite floats as integer multiples of the largest unit that measures them all.

    Returns
    -------
    multiples : list of int
    unit : Fraction
        ``multiples[i] * unit == values[i]`` exactly; 1 when every value is zero.

    Examples
    --------
    >>> integer_multiples([0.5, -0.75, 3.0])
    ([2, -3, 12], Fraction(1, 4))
    """
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    digits = np.ldexp(mantissas, 53).astype(np.int64)
    nonzero = digits != 0
    if not nonzero.any():
        return [0] * len(digits), Fraction(1)
    lowest = int(exponents[nonzero].min())
    shifts = np.where(nonzero, exponents - lowest, 0)
    integers = [n << s for n, s in zip(digits.tolist(), shifts.tolist(), strict=True)]
    divisor = math.gcd(*integers)
    unit = Fraction(2) ** (lowest - 53) * divisor
    return [n // divisor for n in integers], unit


def row_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum along the last axis; a row's digits do not depend on how many others there are.

    NumPy adds in the order in which numbers lie in memory, and that of a batch may be by columns.
    """
    sums: NDArray[np.float64] = np.ascontiguousarray(values).sum(axis=-1)
    return sums

"""Periods by the laws of units: how far from its mean a sum is, but for a small chance.

Chernoff's bound of all units holds for those that any set leaves free (Proposition 52).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.independent.contributions import Listed
from sklearn_probsr.independent.vaaler import SPREADS, TAIL, UNIT

__all__ = [
    "EACH",
    "EXPONENTS",
    "MARGIN",
    "chernoff_reach",
    "listed_away",
    "listed_period",
    "log_moments",
]

# Chernoff's exponents that are tried, in inverse standard deviations.
EXPONENTS = np.geomspace(0.5, 64.0, 29)
# More than the rounding of chances and exponentials, relatively (Proposition 52).
MARGIN = 1e-6
# The same for the logarithm of one unit's moment.
EACH = 1e-9
# Chances below this count as if they were it: so no exponential that underflows is missed.
_LEAST = 1e-290


def chernoff_reach(
    starts: NDArray[np.intp],
    away: NDArray[np.float64],
    chances: NDArray[np.float64],
    deviation: float,
) -> float:
    """Return what sums exceed their mean by with a chance of ``TAIL / 2`` at most.

    The values of unit u from its mean are ``away[starts[u] : starts[u + 1]]``, none of them
    less than it is, with their ``chances``.
    """
    if not deviation:
        return math.inf
    exponents = EXPONENTS / deviation
    best = math.inf
    moments = log_moments(starts, away, chances, exponents)
    for exponent, each in zip(exponents.tolist(), moments, strict=True):
        total = float(each.sum()) * (1 + MARGIN) + EACH * len(each)
        best = min(best, (total + math.log(2 / TAIL)) / exponent)
    return best * (1 + MARGIN)


def log_moments(
    starts: NDArray[np.intp],
    away: NDArray[np.float64],
    chances: NDArray[np.float64],
    exponents: NDArray[np.float64],
) -> Iterator[NDArray[np.float64]]:
    """Yield ``ln E exp(exponent * away)`` of every unit, but for rounding, and at least 0."""
    chances = np.maximum(chances, _LEAST)
    most = np.maximum.reduceat(away, starts[:-1])
    below = away - np.repeat(most, np.diff(starts))
    for exponent in exponents.tolist():
        sums = np.add.reduceat(np.exp(exponent * below) * chances, starts[:-1])
        yield np.maximum(exponent * most + np.log(sums), 0.0)


def listed_period(seen: Listed) -> int | None:
    """Return a period that holds all but ``TAIL`` of every sum, around its mean (Lemma 20).

    The whole range on both sides of the mean will do, or what the ranges of the units say
    (Hoeffding), or their laws (Chernoff, Proposition 52).
    """
    widths = [v[-1] - v[0] for v in seen.values]
    spread = math.isqrt(sum(width * width for width in widths)) + 1
    if spread.bit_length() > 900:
        return None
    by_range = spread * math.ceil(SPREADS * 2**19 * (1 + 1e-6)) // 2**20
    by_law = 2 * max(_reach(seen, side) for side in (1, -1))
    if math.isfinite(by_law):
        by_range = min(by_range, math.ceil(Fraction(by_law) * seen.widest))
    return min(by_range, 2 * sum(widths)) + 8


def _reach(seen: Listed, side: int) -> float:
    """Return what the sum exceeds its mean by on a side, in widths, but for ``TAIL / 2``."""
    deviation = math.sqrt(float(seen.moments[2].sum()))
    return chernoff_reach(*listed_away(seen, side), deviation)


def listed_away(
    seen: Listed, side: int
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return where the values of each unit start, how far above its mean they are, and how likely.

    In widths of the widest, no less than they are; below the mean where the side is -1.
    """
    flat: list[float] = []
    for v, mean in zip(seen.values, seen.moments[1].tolist(), strict=True):
        # A mean of n values between 0 and 1 is off by less than (n + 2) roundings.
        doubt = 2 * (len(v) + 4) * UNIT
        flat.extend(side * ((c - v[0]) / seen.widest - mean) + doubt for c in v)
    chances = [chance / seen.denominator for each in seen.chances for chance in each]
    return np.cumsum([0, *map(len, seen.values)]), np.array(flat), np.array(chances)

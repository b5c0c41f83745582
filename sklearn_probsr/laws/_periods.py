"""Periods by the laws of units: how far from its mean a sum is, but for a small chance.

Chernoff's bound of all units holds for those that any set leaves free (Proposition 52).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.coins._vaaler import TAIL

__all__ = ["MARGIN", "chernoff_reach"]

# Chernoff's exponents that are tried, in inverse standard deviations.
_EXPONENTS = np.geomspace(0.5, 64.0, 29)
# More than the rounding of chances and exponentials, relatively (Proposition 52).
MARGIN = 1e-6
# The same for the logarithm of one unit's moment.
_EACH = 1e-9
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
    chances = np.maximum(chances, _LEAST)
    most = np.maximum.reduceat(away, starts[:-1])
    below = away - np.repeat(most, np.diff(starts))
    best = math.inf
    for exponent in (_EXPONENTS / deviation).tolist():
        sums = np.add.reduceat(np.exp(exponent * below) * chances, starts[:-1])
        moments = exponent * most + np.log(sums)
        total = float(np.maximum(moments, 0.0).sum()) * (1 + MARGIN) + _EACH * len(most)
        best = min(best, (total + math.log(2 / TAIL)) / exponent)
    return best * (1 + MARGIN)

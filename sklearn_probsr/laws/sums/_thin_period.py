"""The period of a sum of very many units: what it leaves with next to no chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._thin import log_moments
from sklearn_probsr.independent.vaaler import TAIL
from sklearn_probsr.laws.sums._thin_laws import ThinLaws

__all__ = ["thin_period"]

# Chernoff's exponents that are tried, in inverse standard deviations.
_EXPONENTS = np.geomspace(0.5, 64.0, 29)
# More than the rounding of sums of exponentials, relatively (Proposition 52).
_MARGIN = 1e-6


def thin_period(laws: ThinLaws, weights: NDArray[np.float64], variance: float) -> float:
    """Return a period that the sum of any units leaves with a chance of ``TAIL`` at most.

    By their laws (Proposition 52, Lemma 135).
    """
    spread = math.sqrt(variance)
    if not spread:
        return 1.0

    def end(at: int, side: float) -> float:
        exponent = float(_EXPONENTS[at]) / spread
        found = log_moments(
            laws.starts, laws.values, side * weights, laws.chances, laws.zeros, laws.moments,
            exponent,
        )  # fmt: skip
        return (found * (1 + _MARGIN) + _MARGIN + math.log(2 / TAIL)) / exponent

    reach = [_least(partial(end, side=side), len(_EXPONENTS)) for side in (1.0, -1.0)]
    return 2 * max(reach) * (1 + _MARGIN)


def _least(asked: Callable[[int], float], n: int) -> float:
    """Return a small one of n numbers: the least, if they fall and then rise."""
    once = lru_cache(maxsize=None)(asked)
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if once(middle) <= once(middle + 1) else (middle + 1, high)
    return min(once(low), once(high))

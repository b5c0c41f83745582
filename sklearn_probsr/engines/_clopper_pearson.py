"""Clopper and Pearson's enclosure of a probability, from a count of independent trials."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from scipy.special import betainc, betaincinv

from sklearn_probsr.model.numbers import float_below

__all__ = ["clopper_pearson"]

# By so much, relatively, a tail must stay below its level (Lemma 35): far more than the error of
# SciPy's incomplete beta function, and a width that nobody sees.
_SAFE = 1e-9


@lru_cache(maxsize=65536)
def clopper_pearson(kept: int, n: int, risk: Fraction) -> tuple[float, float]:
    """Bound a probability from ``kept`` successes in ``n`` trials; each side errs with risk / 2.

    The lower bound p has ``Pr[Bin(n, p) >= kept] <= risk / 2``, the upper one likewise. What that
    means for rows that were split off is Theorem 14.
    """
    tail = float_below(risk / 2)
    lower = _below(kept, n, tail)
    return lower, 1.0 if kept == n else math.nextafter(1.0 - _below(n - kept, n, tail), 2.0)


def _below(kept: int, n: int, tail: float) -> float:
    """Return a p, about the largest, for which at least ``kept`` successes are that unlikely."""
    if kept == 0:
        return 0.0
    p, step = float(betaincinv(kept, n - kept + 1, tail)), _SAFE
    # Pr[Bin(n, p) >= kept] is the incomplete beta function at p.
    while betainc(kept, n - kept + 1, p) > tail * (1 - _SAFE):
        p, step = p * (1 - step), 2 * step
    return p

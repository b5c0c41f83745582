"""Far ranges: how far out values may be before they are moved.

How wide a range is chosen matters for the width of bounds, not for their being right
(Propositions 152 and 165): all numbers here are estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.independent.vaaler import TAIL

__all__ = ["DECIDED", "FIRST", "LONG", "QUANTILES", "SHORTER", "Away", "best_half"]

# Periods of so many deviations of the bulk are left as they are; others must become shorter by
# this factor.
LONG, SHORTER = 48.0, 2
# The bulk of a unit is between two quantiles, which are so many deviations of a normal law apart.
# The last pairs are for values far out that are not rare, such as codes for what is missing.
QUANTILES = (((0.025, 0.975), 3.92), ((0.25, 0.75), 1.349), ((0.4, 0.6), 0.507))
# Ranges are tried from this many deviations of the bulk on, each wider by a factor, and so many.
FIRST, _FACTOR, _STEPS = 2.0, 2**0.5, 64
# Where decisions are made, in deviations, and what a period of one deviation adds to a width there,
# over the degree.
DECIDED, _BLURRED = 4.0, 0.3
# Chernoff's exponents that are tried, in inverse deviations.
_EXPONENTS = np.geomspace(2**-20, 16.0, 80)


class Away(NamedTuple):
    """What is far from the middle of its unit, in deviations of the bulk, and how likely."""

    sizes: NDArray[np.float64]
    chances: NDArray[np.float64]  # (2, values): below, above


def best_half(candidates: Iterable[Away], degree: int) -> tuple[int, float] | None:
    """Return which bulk is best held, and how many of its deviations around; None: nothing is far.

    Of all half ranges, it is the one that leads to the narrowest bounds of a degree, about.
    """
    best: tuple[float, int, float] | None = None
    for which, away in enumerate(candidates):
        if len(away.sizes):
            width, half = _best(away, degree)
            if best is None or width < best[0]:
                best = width, which, half
    return None if best is None else best[1:]


def _best(away: Away, degree: int) -> tuple[float, float]:
    """Return about how wide bounds are at best, and with which half range."""
    steps = min(math.floor(math.log(float(away.sizes.max()) / FIRST, _FACTOR)) + 1, _STEPS)
    halves: NDArray[np.float64] = FIRST * _FACTOR ** np.arange(float(steps))
    at = np.maximum(np.searchsorted(halves, away.sizes) - 1, 0)
    each = [np.bincount(at, side, steps) for side in away.chances]
    masses = np.array(each, dtype=np.float64)
    # How likely something is beyond each of them, on a side, and the variance within.
    beyond = masses[:, ::-1].cumsum(axis=1)[:, ::-1]
    squares = np.minimum(halves[:, None], halves * math.sqrt(_FACTOR)) ** 2
    variance = 1 + squares @ masses.sum(axis=0)
    gap = np.maximum(halves - DECIDED, 0.0)
    changed = beyond.max(axis=0) * variance / (variance + gap**2)
    periods, tails = _by_exponents(halves, masses, beyond)
    widths = _BLURRED / degree * periods + np.minimum(changed, (beyond * tails).sum(axis=0))
    return float(widths.min()), float(halves[np.argmin(widths)])


def _by_exponents(
    halves: NDArray[np.float64], masses: NDArray[np.float64], beyond: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return about which period each half range leads to, and how likely a move is made up for.

    The first in deviations, the second for values moved from below and from above; both by
    Chernoff's bound.
    """
    reach, tails = np.full((2, len(halves)), math.inf), np.zeros((2, len(halves)))
    sides = list(zip(masses, beyond, strict=True))
    drift = np.array([_within(mass * halves) + halves * more for mass, more in sides])
    for exponent in _EXPONENTS.tolist():
        power = np.minimum(exponent * halves, 600.0)  # what is cut off is no candidate
        grown = np.expm1(power) - power
        total = np.array([_within(mass * grown) + grown * more for mass, more in sides])
        reach = np.minimum(reach, exponent / 2 + (total + math.log(2 / TAIL)) / exponent)
        # The others go the other way, and what goes this way moves the mean.
        less = exponent * (halves - DECIDED - drift) - exponent**2 / 2 - total[::-1]
        tails = np.minimum(tails, -less)
    return 2 * reach.max(axis=0), np.exp(tails)


def _within(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of all terms before each."""
    return np.concatenate([[0.0], np.cumsum(terms)[:-1]])

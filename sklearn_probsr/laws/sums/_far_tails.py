"""Far tails: how likely it is that units make up for what was moved of another one.

A value that was moved changes the decision only if the other units go as far the other way. The
moments of their laws bound how likely that is (Proposition 165).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._far import NEAR, Far, far_change
from sklearn_probsr.independent.contributions import Contributions
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.laws.sums._far_ranges import DECIDED
from sklearn_probsr.laws.sums._periods import EACH, EXPONENTS, MARGIN, log_moments

__all__ = ["Ends", "Inner", "far_of", "is_slight"]

Seen = TypeVar("Seen", bound=Contributions)

# Cuts, in turns, at which exponents are compared: those that are best nowhere are left out.
_CUTS = np.linspace(0.0, 0.5, 33)
# What may be changed where decisions are made; more is no use.
_MOST_CHANGED = 1 / 32


class Inner(NamedTuple, Generic[Seen]):
    """Contributions that spectra tell of, with their period, and what was moved to get there."""

    seen: Seen
    period: Fraction | int
    far: Far = NEAR


class Ends(NamedTuple):
    """Ends to which something is moved: the units, how likely, and how far from the mean."""

    units: NDArray[np.intp]
    chances: NDArray[np.float64]
    away: NDArray[np.float64]


def far_of(
    starts: NDArray[np.intp],
    around: tuple[NDArray[np.float64], NDArray[np.float64]],
    chances: NDArray[np.float64],
    ends: tuple[Ends, Ends],
    variance: float,
) -> Far:
    """Return what is known of values that were moved.

    ``around`` are the units' values in turns below their means and above, as distances that are no
    less than they are, with their ``chances``; ``ends`` those below and above.
    """
    share = max(float(side.chances.sum()) for side in ends) * (1 + MARGIN)
    reach = min(float(side.away.min(initial=math.inf)) for side in ends)
    return Far(share, reach, variance, _tails(starts, around, chances, ends, variance))


def is_slight(far: Far, deviation: float) -> bool:
    """Tell whether what was moved changes little where decisions are made."""
    return far_change(far, DECIDED * deviation) <= _MOST_CHANGED


def _tails(
    starts: NDArray[np.intp],
    around: tuple[NDArray[np.float64], NDArray[np.float64]],
    chances: NDArray[np.float64],
    ends: tuple[Ends, Ends],
    variance: float,
) -> NDArray[np.float64]:
    """Return exponents, and logarithms of what their exponentials are to be multiplied with."""
    exponents = EXPONENTS / math.sqrt(variance)
    logs = np.full((2, len(exponents)), -math.inf)
    for side, (units, moved, away) in enumerate(ends):
        if not len(units):
            continue
        # What was moved from above is made up for below, and the other way round.
        against = log_moments(starts, around[1 - side], chances, exponents)
        for i, (exponent, each) in enumerate(zip(exponents.tolist(), against, strict=True)):
            total = float(each.sum())
            others = (total - each[units]) * (1 + MARGIN) + EACH * len(each)
            others += 4 * len(each) * UNIT * total  # a sum, less one of its terms
            logs[side, i] = np.logaddexp.reduce(np.log(moved) + others - exponent * away)
    most = logs.max(axis=0) + MARGIN  # for cuts on either side
    best = np.unique((most[:, None] + np.outer(exponents, _CUTS)).argmin(axis=0))
    return np.ascontiguousarray(np.column_stack([exponents, most])[best])

"""Far: what was moved to the ends of ranges, and how much that changes (Propositions 152, 165)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel

__all__ = ["NEAR", "Far", "far_change", "moved"]


class Far(NamedTuple):
    """What units beyond a range are worth was moved to its end (Propositions 152 and 165).

    How likely that is on one side, how far the ends are from the means, at least, the variance of
    the sum at most, and lines of an exponent and a logarithm each, in turns.
    """

    share: float
    reach: float
    variance: float
    tails: NDArray[np.float64]  # (lines, 2)


NEAR = Far(0.0, 0.0, 1.0, np.empty((0, 2)))


@inner
def moved(far: Far, cut: float) -> float:
    """Bound what values that were moved change at cuts of that size, in turns."""
    if far.share == 0.0:
        return 0.0
    found = far.share
    gap = far.reach - cut
    if gap > 0.0:
        found *= far.variance / (far.variance + gap * gap)
    for i in range(len(far.tails)):
        power = far.tails[i, 1] + far.tails[i, 0] * cut
        if power < 0.0:
            found = min(found, math.exp(power))
    return found


@kernel
def far_change(far: Far, cut: float) -> float:
    """Bound what values that were moved change at cuts of that size, in turns."""
    return moved(far, cut)

"""Far: what was moved to the ends of ranges, and how much that changes (Propositions 152, 165)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner

__all__ = ["NEAR", "NOTHING", "Far", "far_change", "far_table", "moved"]

# Cuts are told apart by such a part of a turn; a power of two, so that nothing is rounded.
_CELLS = 512


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


def far_change(far: Far, cut: float) -> float:
    """Bound what values that were moved change at cuts of that size, in turns."""
    return float(_changes(far, np.array([cut]))[0])


def _changes(far: Far, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least of all bounds at some cuts; none falls where a cut grows."""
    gap = np.maximum(far.reach - cuts, 0.0)
    found = far.share * (far.variance / (far.variance + gap * gap))
    for exponent, logarithm in far.tails.tolist():
        found = np.minimum(found, np.exp(np.minimum(logarithm + exponent * cuts, 0.0)))
    return np.minimum(found, far.share)


def far_table(far: Far) -> NDArray[np.float64]:
    """Return what is changed at cuts of up to each part of a turn, and last at any cut."""
    if far.share == 0.0:
        return NOTHING
    return np.append(_changes(far, np.arange(_CELLS) / _CELLS), far.share)


NOTHING = np.zeros(1)


@inner
def moved(table: NDArray[np.float64], cut: float) -> float:
    """Bound what values that were moved change at cuts of that size, in turns (Proposition 165)."""
    last = len(table) - 1
    if last == 0 or cut * _CELLS >= last - 1:
        return table[last]  # type: ignore[no-any-return]
    return table[int(cut * _CELLS) + 1]  # type: ignore[no-any-return]

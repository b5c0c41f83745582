"""Windows: how short the period of a sum may be when some of its units are known.

The spectra of a duel serve all sets, and leave ``TAIL`` outside their period. A plane is for the
sets of one reason, and tells no more than four digits: its period may be as short as those sets
allow, and each set is told how much its sum may leave outside (Proposition 140). The shorter a
period, the fewer nodes tell as much.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._planes import States
from sklearn_probsr.independent.vaaler import TAIL, UNIT
from sklearn_probsr.laws.sums._periods import EACH, MARGIN, log_moments

__all__ = ["MOST_OUTSIDE", "Windows"]

# What a sum may leave outside its period when that is chosen, and from when on it is chosen anew.
_OUTSIDE, MOST_OUTSIDE = 2e-6, 3e-5
# How much shorter periods may be: the shortest first.
_SCALES = tuple((np.arange(24, 4, -1) / 4).tolist())
# Chernoff's exponents that are tried, in inverse standard deviations of the sum of all units.
_EXPONENTS = np.geomspace(1.0, 32.0, 26)


class Windows:
    """What the sum of some units leaves outside a period, by the laws of those units.

    Parameters
    ----------
    states : States
    turns : ndarray
        What every state adds to the sum, in turns, around its unit's mean.
    """

    def __init__(self, states: States, turns: NDArray[np.float64]) -> None:
        deviation = math.sqrt(float((states.chances * turns**2).sum())) or 1.0
        self._exponents = _EXPONENTS / deviation
        doubt = 8 * UNIT * (1.0 + np.abs(turns))  # turns are rounded a few times
        self._moments = np.array(
            [
                list(log_moments(states.starts, away + doubt, states.chances, self._exponents))
                for away in (turns, -turns)
            ]
        )

    def outside(self, free: NDArray[np.intp], scale: float) -> float:
        """Bound how likely the sum of some units is half a period away from its mean or more.

        The period is one turn, divided by the scale.
        """
        return self._outside(self._sums(free), scale)

    def scale(self, free: NDArray[np.intp]) -> float:
        """Return by how much the period may be divided where some units are free."""
        sums = self._sums(free)
        return next((s for s in _SCALES if self._outside(sums, s) <= _OUTSIDE), 1.0)

    def _sums(self, free: NDArray[np.intp]) -> NDArray[np.float64]:
        sums: NDArray[np.float64] = self._moments[:, :, free].sum(axis=2)
        return sums * (1 + MARGIN) + EACH * len(free)

    def _outside(self, sums: NDArray[np.float64], scale: float) -> float:
        if scale == 1.0:
            return TAIL
        reach = (1 - MARGIN) / (2 * scale)
        each = np.exp(np.minimum((sums - self._exponents * reach).min(axis=1), 0.0))
        return float(each.sum()) * (1 + MARGIN)

    @property
    def nbytes(self) -> int:
        """How much memory the table takes."""
        return self._moments.nbytes

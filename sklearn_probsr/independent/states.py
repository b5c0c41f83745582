"""States of units of several columns: the least and the most that they are worth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.means import worth

__all__ = ["extremes"]

# So many states are told apart by comparing them one by one.
_FEW = 64


def extremes(
    weights: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[Fraction, Fraction]:
    """Return the least that some states are worth, and the most that others are, exactly."""
    return (
        min(worth(weights, state) for state in _distinct(low)),
        max(worth(weights, state) for state in _distinct(high)),
    )


def _distinct(states: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the different rows; mostly they are few."""
    found: list[NDArray[np.float64]] = []
    while len(states) and len(found) < _FEW:
        found.append(states[0])
        states = states[(states != states[0]).any(axis=1)]
    return [*found, *np.unique(states, axis=0)]

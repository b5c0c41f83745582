"""Greed over background rows: members in the order in which the most rows keep the class.

What it finds is a proposal: `kept_along` counts it exactly (no sum wraps, Proposition 13).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._counts import Rows

__all__ = ["greedy"]

# Greed takes so many looks at rows, but at least so many steps: about a quarter of a second.
_LOOKS, _STEPS = 2**28, 64


@inner
def _look_at(
    margins: NDArray[np.float64], weights: NDArray[np.float64], gain: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the weight kept with a member fixed, and what is missing in the other rows."""
    kept = 0.0
    missing = 0.0
    n = len(weights)
    if len(margins) == n:
        for r in range(n):
            margin = margins[r] + gain[r]
            kept += weights[r] * (margin >= 0.0)
            missing += weights[r] * min(margin, 0.0)
        return kept, missing
    rivals = len(margins) // n
    for r in range(n):
        worst = np.inf
        for i in range(r * rivals, (r + 1) * rivals):
            worst = min(worst, margins[i] + gain[i])
        kept += weights[r] * (worst >= 0.0)
        missing += weights[r] * min(worst, 0.0)
    return kept, missing


def greedy(rows: Rows, needed: float, hinge: bool) -> NDArray[np.int64]:
    """Return members in the order in which greed adds them, until the weight is enough.

    All of them if it is infinite: floats cannot tell a weight of ``2^57`` from one more.

    Greed looks at the weight of the rows kept, then at how much is missing in the others; with
    ``hinge`` only at the latter. It goes by floats: what it finds is to be counted exactly. After
    many steps the other members follow as they come.
    """
    h, n = rows.gains.shape
    steps = max(_LOOKS // max(h * n, 1), _STEPS)
    margins, weights = rows.margins.astype(np.float64), rows.weights.astype(np.float64)
    order = np.empty(h, dtype=np.int64)
    size = _greedy(
        rows.gains, margins, weights, needed, hinge, steps, order, np.zeros(n, dtype=np.int64)
    )
    if size == steps:
        order[size:] = np.setdiff1d(np.arange(h), order[:size])
        return order
    return order[:size]


@kernel
def _greedy(
    gains: NDArray[np.int64],
    margins: NDArray[np.float64],
    weights: NDArray[np.float64],
    needed: float,
    hinge: bool,
    steps: int,
    order: NDArray[np.int64],
    nothing: NDArray[np.int64],
) -> int:
    """Write the order down, and return how many there are; margins are written over."""
    h, n = gains.shape
    free = np.ones(h, dtype=np.bool_)
    kept, _ = _look_at(margins, weights, nothing)
    for k in range(min(h, steps)):
        if kept >= needed:
            return k
        best, best_rank, best_missing = -1, -1.0, -np.inf
        for j in range(h):
            if free[j]:
                now, missing = _look_at(margins, weights, gains[j])
                rank = 0.0 if hinge else now
                if rank > best_rank or (rank == best_rank and missing > best_missing):
                    best, best_rank, best_missing, kept = j, rank, missing, now
        order[k] = best
        free[best] = False
        for r in range(n):
            margins[r] += gains[best, r]
    return int(min(h, steps))

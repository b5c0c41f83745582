"""Unions: how likely some rival is ahead, from each of them and from pairs of them.

Bounds of Bonferroni's kind. From below: Dawson and Sankoff's, of the best sub-family (Lemma 86).
From above: Hunter's, by a tree of pairs (Lemma 87).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["union_above", "union_below"]

# More than what sums and products of at most twelve probabilities are rounded by.
_ROUNDED = 1e-13
# Sub-families of so many events are all tried.
_MOST = 12


def union_below(single: NDArray[np.float64], pair: NDArray[np.float64]) -> float:
    """Bound a union from below, by lower bounds of events and upper bounds of their pairs.

    The events are in decreasing order; beyond the first twelve they are left out.
    """
    n = min(len(single), _MOST)
    families = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    first = families @ single[:n]
    inside = np.triu(pair[:n, :n], 1)
    second = ((families @ inside) * families).sum(axis=1)
    best = float(single.max(initial=0.0))
    for k in range(1, n):
        best = max(best, float((2 / (k + 1) * first - 2 / (k * (k + 1)) * second).max()))
    return max(best - _ROUNDED, 0.0)


def union_above(single: NDArray[np.float64], pair: NDArray[np.float64]) -> float:
    """Bound a union from above, by upper bounds of events and lower bounds of their pairs."""
    n, total = len(single), float(single.sum())
    joined, gain = np.zeros(n, dtype=np.bool_), np.zeros(n)
    joined[:1] = True
    gain[:] = pair[0] if n else gain
    for _ in range(n - 1):  # the heaviest tree, by its heaviest edge to what is joined (Prim)
        at = int(np.argmax(np.where(joined, -1.0, gain)))
        total -= max(float(gain[at]), 0.0)
        joined[at] = True
        gain = np.maximum(gain, pair[at])
    return total + _ROUNDED * n

"""Background rows that keep the class, counted exactly with a set of units fixed.

A background row ``r`` starts with a margin ``m_r`` (negative: it is of the other class). Fixing a
member ``j`` adds ``gains[j, r]`` to it. A set is good enough when the weight of the rows with a
margin >= 0 reaches what is needed.

Against several rival classes a row has one margin for each, side by side: the class is kept if none
is negative.

No sum wraps (Proposition 13). A margin that was rounded and is in doubt decides nothing (Lemma 31).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel

__all__ = ["Rows", "count", "kept_along", "kept_weight", "shift", "worst_of"]


class Rows(NamedTuple):
    """A background seen from one instance."""

    margins: NDArray[np.int64]  # (n rivals,): those of a row side by side
    weights: NDArray[np.int64]  # (n,)
    gains: NDArray[np.int64]  # (h, n rivals): what fixing each member adds to each margin


@kernel
def kept_weight(
    rows: Rows, chosen: NDArray[np.intp], doubt: int
) -> tuple[int, NDArray[np.int64], int]:
    """Return the weight of the rows that surely keep the class, margins, and what is in doubt.

    That is a weight, too. A row is in doubt if a margin of it is negative, but none is as low as
    ``-doubt``.
    """
    margins = rows.margins.copy()
    for i in range(len(chosen)):
        shift(margins, rows, chosen[i], 1)
    kept, unsure = count(margins, rows.weights, doubt)
    return kept, margins, unsure


@kernel
def kept_along(
    rows: Rows, order: NDArray[np.intp], doubt: int, needed: int, at: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the weight kept with the first 0, 1, 2, ... of an order fixed, and what is in doubt.

    Up to the first that reaches what is needed, and ``at`` least so many.
    """
    margins = rows.margins.copy()
    kept = np.zeros(len(order) + 1, dtype=np.int64)
    unsure = np.zeros(len(order) + 1, dtype=np.int64)
    for k in range(len(order) + 1):
        if k:
            shift(margins, rows, order[k - 1], 1)
        kept[k], unsure[k] = count(margins, rows.weights, doubt)
        if kept[k] >= needed and k >= at:
            return kept[: k + 1], unsure[: k + 1]
    return kept, unsure


@inner
def count(margins: NDArray[np.int64], weights: NDArray[np.int64], doubt: int) -> tuple[int, int]:
    """Return the weight of the rows that surely keep the class, and of those in doubt."""
    kept = np.int64(0)
    unsure = np.int64(0)
    n = len(weights)
    if len(margins) == n:
        for r in range(n):
            kept += weights[r] * (margins[r] >= 0)
            unsure += weights[r] * ((margins[r] < 0) & (margins[r] > -doubt))
        return kept, unsure  # type: ignore[return-value]
    for r in range(n):
        worst = worst_of(margins, r, n)
        kept += weights[r] * (worst >= 0)
        unsure += weights[r] * ((worst < 0) & (worst > -doubt))
    return kept, unsure  # type: ignore[return-value]


@inner
def worst_of(margins: NDArray[np.int64], r: int, n: int) -> int:
    """Return the least margin of a row of n."""
    rivals = len(margins) // n
    worst = margins[r * rivals]
    for i in range(r * rivals + 1, (r + 1) * rivals):
        worst = min(worst, margins[i])
    return worst  # type: ignore[no-any-return]


@inner
def shift(margins: NDArray[np.int64], rows: Rows, j: int, sign: int) -> None:
    """Fix a member (sign 1) or free it again (sign -1)."""
    gain = rows.gains[j]
    for r in range(len(margins)):
        margins[r] += sign * gain[r]

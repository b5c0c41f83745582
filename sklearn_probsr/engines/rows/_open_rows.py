"""Which background rows are open: the others are decided, whatever is fixed (Lemma 31)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines.rows._counts import Rows

__all__ = ["narrowed", "open_rows"]

# The most numbers of which rows are sorted: branch and bound, which gains from that, has a budget.
_MOST_SORTED = 2**19
# The most that are copied, which is faster, rather than written over.
_MOST_COPIED = 2**17


def open_rows(
    rows: Rows, members: NDArray[np.intp], forced: NDArray[np.intp], doubt: int
) -> tuple[Rows, int]:
    """Return the rows that members decide, forced ones fixed, and the weight that is always kept.

    A row that keeps the class whatever is fixed, or surely loses it whatever is fixed, needs no
    more looking at (Lemma 31).
    """
    margins = rows.margins + rows.gains[forced].sum(axis=0)
    return narrowed(Rows(margins, rows.weights, rows.gains[members]), doubt)


@kernel
def _left_open(rows: Rows, doubt: int) -> tuple[NDArray[np.bool_], int]:
    """Tell which rows members decide, and return the weight that is always kept (Lemma 31)."""
    least = rows.margins.copy()
    most = rows.margins.copy()
    for i in range(len(rows.gains)):
        for r in range(len(least)):
            least[r] += min(rows.gains[i, r], 0)
            most[r] += max(rows.gains[i, r], 0)
    n = len(rows.weights)
    rivals = len(least) // max(n, 1)
    left = np.zeros(n, dtype=np.bool_)
    kept = np.int64(0)
    for r in range(n):
        low, high = least[r * rivals], most[r * rivals]
        for i in range(r * rivals + 1, (r + 1) * rivals):
            low, high = min(low, least[i]), min(high, most[i])
        left[r] = low < 0 and high >= -doubt
        if low >= 0:
            kept += rows.weights[r]
    return left, int(kept)


def narrowed(rows: Rows, doubt: int) -> tuple[Rows, int]:
    """Return the rows that members decide, and the weight that is always kept.

    A large table of gains is written over: it may be as large as the data. Rows that are few enough
    to be branched on are sorted. (Sorting and gathering are NumPy's: compiled anew they would take
    seconds at the first use.)
    """
    n = len(rows.weights)
    rivals = max(len(rows.margins) // max(n, 1), 1)
    margins = rows.margins
    deciding, kept = _left_open(rows, doubt)
    left = deciding.nonzero()[0]
    few = rows.gains.size <= _MOST_SORTED
    if few:
        # The worst first: they refute a set soonest.
        left = left[_worst(margins, rivals)[left].argsort(kind="stable")]
    elif 10 * len(left) > 9 * n:
        # Not worth moving; rows that are always kept are then counted as the others are.
        return Rows(margins, rows.weights.copy(), rows.gains), 0
    places = left if rivals == 1 else (left[:, None] * rivals + np.arange(rivals)).ravel()
    if rows.gains.size <= _MOST_COPIED:
        return Rows(margins[places], rows.weights[left], rows.gains.take(places, axis=1)), kept
    m = len(places)
    flat = rows.gains.ravel()
    for i in range(len(rows.gains)):
        # Line by line: what is written over has been read.
        flat[i * m : (i + 1) * m] = rows.gains[i][places]
    gains = flat[: len(rows.gains) * m].reshape((len(rows.gains), m))
    return Rows(margins[places], rows.weights[left], gains), kept


def _worst(margins: NDArray[np.int64], rivals: int) -> NDArray[np.int64]:
    """Return what each row has to spare before the closest of its rivals."""
    if rivals == 1:
        return margins
    least: NDArray[np.int64] = margins.reshape(-1, rivals).min(axis=1)
    return least

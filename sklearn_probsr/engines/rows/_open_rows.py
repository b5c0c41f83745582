"""Which background rows are open: the others are decided, whatever is fixed (Lemma 31)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines.rows._counts import Rows

__all__ = ["narrowed", "open_rows"]

# The most numbers of which rows are sorted: branch and bound, which gains from that, has a budget.
_MOST_SORTED = 2**19


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
def _ends(
    margins: NDArray[np.int64], gains: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the most that each margin can become."""
    least = margins.copy()
    most = margins.copy()
    for i in range(len(gains)):
        for r in range(len(margins)):
            least[r] += min(gains[i, r], 0)
            most[r] += max(gains[i, r], 0)
    return least, most


def narrowed(rows: Rows, doubt: int) -> tuple[Rows, int]:
    """Return the rows that members decide, and the weight that is always kept.

    A large table of gains is written over: it may be as large as the data. Rows that are few enough
    to be branched on are sorted. (Sorting and gathering are NumPy's: compiled anew they would take
    seconds at the first use.)
    """
    n = len(rows.weights)
    rivals = max(len(rows.margins) // max(n, 1), 1)
    margins = rows.margins
    least, most = (_worst(end, rivals) for end in _ends(margins, rows.gains))
    always = least >= 0
    left = (~always & (most >= -doubt)).nonzero()[0]
    few = rows.gains.size <= _MOST_SORTED
    if few:
        # The worst first: they refute a set soonest.
        left = left[_worst(margins, rivals)[left].argsort(kind="stable")]
    elif 10 * len(left) > 9 * n:
        # Not worth moving; rows that are always kept are then counted as the others are.
        return Rows(margins, rows.weights.copy(), rows.gains), 0
    places = left if rivals == 1 else (left[:, None] * rivals + np.arange(rivals)).ravel()
    kept = int(rows.weights[always].sum())
    if few:
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

"""Which background rows are open: the others are decided, whatever is fixed (Lemma 31)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines.rows._counts import Rows, shift, worst_of

__all__ = ["narrowed", "open_rows"]

# The most numbers of which rows are sorted: branch and bound, which gains from that, has a budget.
_MOST_SORTED = 2**19


@kernel
def open_rows(
    rows: Rows, members: NDArray[np.intp], forced: NDArray[np.intp], doubt: int
) -> tuple[Rows, int]:
    """Return the rows that members decide, forced ones fixed, and the weight that is always kept.

    A row that keeps the class whatever is fixed, or surely loses it whatever is fixed, needs no
    more looking at (Lemma 31).
    """
    margins = rows.margins.copy()
    for i in range(len(forced)):
        shift(margins, rows, forced[i], 1)
    gains = np.empty((len(members), len(margins)), dtype=np.int64)
    for i in range(len(members)):
        gains[i] = rows.gains[members[i]]
    return narrowed(Rows(margins, rows.weights, gains), doubt)


@kernel
def narrowed(rows: Rows, doubt: int) -> tuple[Rows, int]:
    """Return the rows that members decide, and the weight that is always kept.

    The table of gains is written over: it may be as large as the data. Rows that are few enough
    to be branched on are sorted.
    """
    n = len(rows.weights)
    rivals = len(rows.margins) // max(n, 1)
    margins = rows.margins
    least = margins.copy()
    most = margins.copy()
    for i in range(len(rows.gains)):
        gain = rows.gains[i]
        for r in range(len(gain)):
            least[r] += min(gain[r], 0)
            most[r] += max(gain[r], 0)
    safe = np.int64(0)
    is_open = np.empty(n, dtype=np.bool_)
    for r in range(n):
        always = worst_of(least, r, n) >= 0
        safe += rows.weights[r] * always
        is_open[r] = not always and worst_of(most, r, n) >= -doubt
    left = np.flatnonzero(is_open)
    if rows.gains.size <= _MOST_SORTED:
        start = np.empty(len(left), dtype=np.int64)
        for i in range(len(left)):
            start[i] = worst_of(margins, left[i], n)
        left = left[np.argsort(start)]  # the worst first: they refute a set soonest
    elif 10 * len(left) > 9 * n:
        # Not worth moving; rows that are always kept are then counted as the others are.
        return Rows(margins, rows.weights.copy(), rows.gains), np.int64(0)  # type: ignore[return-value]
    places = np.empty(len(left) * rivals, dtype=np.intp)
    for i in range(len(left)):
        for j in range(rivals):
            places[i * rivals + j] = left[i] * rivals + j
    m = len(places)
    flat = rows.gains.ravel()
    for i in range(len(rows.gains)):
        # Line by line: what is written over has been read.
        flat[i * m : (i + 1) * m] = rows.gains[i][places]
    gains = flat[: len(rows.gains) * m].reshape((len(rows.gains), m))
    return Rows(margins[places], rows.weights[left], gains), safe  # type: ignore[return-value]

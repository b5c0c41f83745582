"""Sets from which no member can be left out, over background rows.

No sum wraps (Proposition 13). A margin that was rounded and is in doubt decides nothing (Lemma 31).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._counts import Rows, count, shift, worst_of

__all__ = ["are_needed", "exposed", "lose", "prune"]

# Rows after which it is seen whether enough are lost.
_BLOCK = 512


@kernel
def prune(
    rows: Rows, order: NDArray[np.intp], needed: int, doubt: int
) -> tuple[NDArray[np.bool_], bool]:
    """Leave out members that are not needed, the last first, until all are (Corollary 4b).

    Returns
    -------
    stays : ndarray of bool
        Which of the order are needed.
    sure : bool
        False if rows in doubt could have turned the scale on the way: the answer means nothing
        then.
    """
    margins = rows.margins.copy()
    for i in range(len(order)):
        shift(margins, rows, order[i], 1)
    stays = np.ones(len(order), dtype=np.bool_)
    changed = True
    while changed:
        changed = False
        for i in range(len(order) - 1, -1, -1):
            if stays[i]:
                shift(margins, rows, order[i], -1)
                kept, unsure = count(margins, rows.weights, doubt)
                if kept < needed <= kept + unsure:
                    return stays, False
                if kept >= needed:
                    stays[i] = False
                    changed = True
                else:
                    shift(margins, rows, order[i], 1)
    return stays, True


@inner
def _surely_lost(
    margins: NDArray[np.int64], weights: NDArray[np.int64], doubt: int, spare: int
) -> bool:
    """Tell whether the rows that surely lose the class weigh more than may be lost (Lemma 31)."""
    lost = np.int64(0)
    n = len(weights)
    for start in range(0, n, _BLOCK):
        for r in range(start, min(start + _BLOCK, n)):
            worst = worst_of(margins, r, n)
            lost += weights[r] * (worst < 0) * (worst <= -doubt)
        if lost > spare:
            return True
    return False


@kernel
def are_needed(rows: Rows, chosen: NDArray[np.intp], mixed: int, needed: int, doubt: int) -> bool:
    """Prove that nothing can be left out: no set of the first ``mixed``, none of the others alone.

    Sets are gone through so that each differs from the one before by one member, and rows only
    until those that are surely lost weigh too much. False is no proof of the contrary: a row may
    have been in doubt.
    """
    margins = rows.margins.copy()
    for i in range(len(chosen)):
        shift(margins, rows, chosen[i], 1)
    out = np.zeros(len(chosen), dtype=np.bool_)
    spare = rows.weights.sum() - needed
    for step in range(2**mixed + len(chosen) - mixed - 1):
        _leave_out(margins, rows, chosen, mixed, step, out)
        if not _surely_lost(margins, rows.weights, doubt, spare):
            return False
    return True


def exposed(rows: Rows, chosen: NDArray[np.intp], doubt: int) -> Rows:
    """Return the rows of one rival that are surely lost once some one of a set is left out.

    With them come the gains of the set, in its order. Mostly these rows prove that nothing can be
    left out, and what is lost of them is lost (Lemma 53).
    """
    margins, most = rows.margins.copy(), np.zeros_like(rows.margins)
    for j in chosen.tolist():
        margins += rows.gains[j]
        np.maximum(most, rows.gains[j], out=most)
    at = np.flatnonzero(margins - most <= -max(doubt, 1))
    gains = np.empty((len(chosen), len(at)), dtype=np.int64)
    for i, j in enumerate(chosen.tolist()):
        gains[i] = rows.gains[j][at]
    return Rows(rows.margins[at], rows.weights[at], gains)


@kernel
def lose(
    rows: Rows,
    chosen: NDArray[np.intp],
    mixed: int,
    doubt: int,
    spare: int,
    lost: NDArray[np.int64],
) -> None:
    """Add the weight of some rows that are surely lost, for every set of `are_needed`.

    Sets that have lost more than may be are not looked at any more: nothing can be left out once
    all have, which some of the rows may show as well as all (Lemma 53).
    """
    margins = rows.margins.copy()
    for i in range(len(chosen)):
        shift(margins, rows, chosen[i], 1)
    out = np.zeros(len(chosen), dtype=np.bool_)
    n = len(rows.weights)
    for step in range(len(lost)):
        _leave_out(margins, rows, chosen, mixed, step, out)
        if lost[step] <= spare:
            for r in range(n):
                worst = worst_of(margins, r, n)
                lost[step] += rows.weights[r] * (worst < 0) * (worst <= -doubt)


@inner
def _leave_out(
    margins: NDArray[np.int64],
    rows: Rows,
    chosen: NDArray[np.intp],
    mixed: int,
    step: int,
    out: NDArray[np.bool_],
) -> None:
    """Leave out the next set: one differs from the one before by a member, then one at a time."""
    sets = 2**mixed - 1
    if step < sets:
        i = 0
        while not (step + 1) >> i & 1:
            i += 1
    else:
        i = mixed + step - sets
        for j in range(i):
            if out[j]:
                shift(margins, rows, chosen[j], 1)
                out[j] = False
    out[i] = not out[i]
    shift(margins, rows, chosen[i], -1 if out[i] else 1)

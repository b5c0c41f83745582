"""Branch and bound over members: proofs that no set of a size keeps enough background rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._counts import Rows, shift
from sklearn_probsr.engines.rows._needs import hardest, needs_of

__all__ = [
    "FEW_BYTES",
    "MOST_CELLS",
    "branch_and_bound",
    "lost_weight",
    "most_to_gain",
    "promising",
]

# With more numbers in the table of all rows a branch and bound would take too long.
MOST_CELLS = 2**26
# Its table takes no more bytes than these, or than half of the gains: of more rows it has the
# hardest (Lemma 160). Before several rivals it has more: all gains are at hand for few rows only.
FEW_BYTES, _RIVAL_BYTES = 2**22, 2**25


def promising(highest: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return members by the most that each adds to any row.

    What those that are left can add then falls the soonest, and branches are cut (Lemma 121).
    """
    return (-highest).argsort(kind="stable")


@inner
def most_to_gain(gains: NDArray[Any], size: int, most: NDArray[Any]) -> None:
    """Write down the most that ``left`` members from a position on can add to each row.

    Gains are whole numbers, of any type.
    """
    h, n = gains.shape
    most[0] = 0
    for left in range(1, size + 1):
        most[left, h] = 0
        for p in range(h - 1, -1, -1):
            for r in range(n):
                taken = gains[p, r] + most[left - 1, p + 1, r]
                most[left, p, r] = max(taken, most[left, p + 1, r])


@inner
def lost_weight(
    margins: NDArray[np.int64],
    gain: NDArray[np.int64],
    weights: NDArray[np.int64],
    floor: int,
    spare: int,
) -> tuple[int, int]:
    """Return the weight of rows that stay below the floor, until it is too much, and the visits."""
    lost = np.int64(0)
    n = len(weights)
    r = 0
    if len(margins) == n:
        while r < n and lost <= spare:
            lost += weights[r] * (margins[r] + gain[r] < floor)
            r += 1
        return lost, r  # type: ignore[return-value]
    rivals = len(margins) // n
    while r < n and lost <= spare:
        fails = False
        for i in range(r * rivals, (r + 1) * rivals):
            fails |= margins[i] + gain[i] < floor
        lost += weights[r] * fails
        r += 1
    return lost, r * rivals  # type: ignore[return-value]


def branch_and_bound(
    rows: Rows, size: int, needed: int, floor: int, budget: int, room: int = MOST_CELLS
) -> tuple[int, NDArray[np.bool_], int]:
    """Look for ``size`` members that bring the rows of a needed weight to the floor.

    Members are taken or left in turn. With ``left`` still to take from position p on, a row can
    gain at most what its best ``left`` members from there add; where even that does not suffice,
    the branch is cut (Lemma 32). It is not tried if a table of that had more than ``room`` numbers.
    Before many rows it is cut by the hardest alone, and the others confirm what is found (Lemma
    160).

    Returns
    -------
    verdict : int
        1: found; 0: there is none; -1: the budget of row visits does not suffice.
    chosen : ndarray of bool
        The set found.
    spent : int
    """
    h, n = rows.gains.shape
    chosen = np.zeros(h, dtype=np.bool_)
    cells = size * h * n
    if cells > budget or (size + 2) * (h + 1) * n > room:
        return -1, chosen, 0
    order = promising(rows.gains.max(axis=1, initial=0))
    part, lost = _part(rows, order, size, floor)
    most = np.empty((size + 1, h + 1, len(part.margins)), dtype=np.int64)
    spare = int(rows.weights.sum()) - needed
    spent, found = 0, False
    while True:
        verdict, visits = _branch(
            part, most, chosen, size, spare - lost, floor, budget - spent, found
        )
        spent += visits
        members = order[chosen]
        if verdict < 1 or _lost(rows, members, floor) <= spare:
            break
        spent, found = spent + (size + 1) * n, True
    chosen[:] = False
    chosen[members] = True
    return verdict, chosen, spent


def _part(rows: Rows, order: NDArray[np.intp], size: int, floor: int) -> tuple[Rows, int]:
    """Return the rows that there is room for, members in order, and the weight lost of the others.

    That is the weight of the rows that no set of the size brings to the floor.
    """
    h, n = len(rows.gains), len(rows.weights)
    rivals = len(rows.margins) // max(n, 1)
    each = 8 * rivals * ((size + 2) * (h + 1) + 1)
    room = max(FEW_BYTES if rivals == 1 else _RIVAL_BYTES, rows.gains.nbytes // 2)
    if n * each <= room:
        return rows._replace(gains=rows.gains[order]), 0
    hard = hardest(rows, size, needs_of(rows, floor, size + 1), room // each)
    at = (hard.places[:, None] * rivals + np.arange(rivals)).ravel()
    gains = np.empty((h, len(at)), dtype=np.int64)
    for i, j in enumerate(order.tolist()):
        gains[i] = rows.gains[j][at]
    return Rows(rows.margins[at], rows.weights[hard.places], gains), hard.lost


def _lost(rows: Rows, members: NDArray[np.intp], floor: int) -> int:
    """Return the weight of all rows that stay below the floor with a set of members fixed."""
    margins = rows.margins.copy()
    for j in members.tolist():
        margins += rows.gains[j]
    rivals = max(len(margins) // max(len(rows.weights), 1), 1)
    below = (margins < floor).reshape(-1, rivals).any(axis=1)
    return int(rows.weights[below].sum())


@kernel
def _branch(
    rows: Rows,
    most: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    size: int,
    spare: int,
    floor: int,
    budget: int,
    after: bool,
) -> tuple[int, int]:
    """Go through the branches; what is chosen is written down (Lemma 32).

    ``after``: those behind what is chosen already, with the table that is there.
    """
    h, n = rows.gains.shape
    spent = 0
    margins = rows.margins.copy()
    position, left = 0, size
    if after:
        position, left = h, 0
        for j in range(h):
            if chosen[j]:
                shift(margins, rows, j, 1)
    else:
        spent = size * h * n
        most_to_gain(rows.gains, size, most)
    while spent <= budget:
        hopeful = not after and spare >= 0 and h - position >= left
        after = False
        if hopeful:
            gain = most[left, position]
            lost, looked = lost_weight(margins, gain, rows.weights, floor, spare)
            spent += looked + n // 4  # a member moves all margins at once, which is faster
            hopeful = lost <= spare
        if hopeful and left == 0:
            return 1, spent
        if hopeful:
            chosen[position] = True
            left -= 1
            shift(margins, rows, position, 1)
        else:
            # Go back to the last member taken, and leave it.
            position -= 1
            while position >= 0 and not chosen[position]:
                position -= 1
            if position < 0:
                return 0, spent
            chosen[position] = False
            left += 1
            shift(margins, rows, position, -1)
        position += 1
    return -1, spent

"""Branch and bound over members: proofs that no set of a size keeps enough background rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._counts import Rows, shift

__all__ = [
    "MOST_CELLS",
    "branch_and_bound",
    "lost_weight",
    "most_kept",
    "most_to_gain",
    "needed_alone",
    "promising",
]

# The most numbers in the table of a branch and bound.
MOST_CELLS = 2**26


@inner
def _needed_alone(rows: Rows, i: int, floor: int, most: int, gain: NDArray[np.int64]) -> int:
    """Return how many members, the best for it first, bring one margin to the floor.

    ``gain`` is written over, but for the last, which stays 0: nothing to gain.
    """
    h = len(rows.gains)
    margin = rows.margins[i]
    if margin >= floor:
        return 0
    for j in range(h):
        gain[j] = rows.gains[j, i]
    size = 0
    while margin < floor and size < most:
        best = h
        for j in range(h):
            if gain[j] > gain[best]:
                best = j
        margin += gain[best]
        size = most if best == h else size + 1
        gain[best] = 0
    return size


def most_kept(rows: Rows, floor: int, size: int) -> NDArray[np.int64]:
    """Return the most weight that 0, 1, ..., ``size`` members can bring to the floor (Lemma 32)."""
    return needed_alone(rows, floor, size + 1)[:-1].cumsum()


@kernel
def needed_alone(rows: Rows, floor: int, most: int) -> NDArray[np.int64]:
    """Return the weight of the rows that need 0, 1, 2, ... members, ``most`` or more at the end.

    Each row on its own needs so many of the members that gain it the most (Lemma 32).
    """
    n = len(rows.weights)
    rivals = len(rows.margins) // max(n, 1)
    weight = np.zeros(most + 1, dtype=np.int64)
    gain = np.zeros(len(rows.gains) + 1, dtype=np.int64)
    for r in range(n):
        size = 0
        for i in range(r * rivals, (r + 1) * rivals):
            size = max(size, _needed_alone(rows, i, floor, most, gain))
        weight[size] += rows.weights[r]
    return weight


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
    the branch is cut (Lemma 32). The table of that has at most ``room`` numbers.

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
    ordered = rows._replace(gains=rows.gains[order])
    most = np.empty((size + 1, h + 1, n), dtype=np.int64)
    spare = int(rows.weights.sum()) - needed
    verdict, spent = _branch(ordered, most, chosen, size, spare, floor, budget)
    chosen[order] = chosen.copy()
    return verdict, chosen, spent


@kernel
def _branch(
    rows: Rows,
    most: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    size: int,
    spare: int,
    floor: int,
    budget: int,
) -> tuple[int, int]:
    """Go through the branches; what is chosen is written down (Lemma 32)."""
    h, n = rows.gains.shape
    spent = size * h * n
    most_to_gain(rows.gains, size, most)
    margins = rows.margins.copy()
    position, left = 0, size
    while spent <= budget:
        hopeful = spare >= 0 and h - position >= left
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

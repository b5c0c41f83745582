"""Rounded search: the branch and bound with gains rounded up to whole floats of 32 bits.

What it refutes is refuted (Lemma 110), and it takes a quarter of the time: no branch within a scan,
and eight or sixteen rows in a step of the processor. A set that it finds is to be counted again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._branch_and_bound import most_to_gain
from sklearn_probsr.engines.rows._counts import Rows

__all__ = ["rounded_search"]

# Sums of whole numbers below this are exact in 32-bit floats, in any order (Lemma 110).
_EXACT = 2**24
# A branch moves or compares all rows at once, about four of them in the time of one visit.
_AT_ONCE = 4
# The most numbers in the table.
_MOST_CELLS = 2**27


class Rounded(NamedTuple):
    """A background in whole floats, never less than it is; the floor is at 0."""

    margins: NDArray[np.float32]  # (n,)
    weights: NDArray[np.float32]  # (n,)
    gains: NDArray[np.float32]  # (h, n)


def rounded_search(
    rows: Rows, size: int, needed: int, floor: int, budget: int
) -> tuple[int, NDArray[np.bool_], int]:
    """Look for ``size`` members that bring the rows of a needed weight to the floor.

    Returns
    -------
    verdict : int
        1: one was found, with gains rounded up; 0: there is none; -1: the budget of row visits does
        not suffice, or this does not apply: there are several rivals, or too heavy rows.
    chosen : ndarray of bool
        The set found.
    spent : int
    """
    h, n = rows.gains.shape
    chosen = np.zeros(h + 1, dtype=np.bool_)
    spare = int(rows.weights.sum()) - needed
    cells = (size + 1) * (h + 1) * n
    rounded = _rounded(rows, size, floor)
    if rounded is None or cells > _MOST_CELLS or cells // _AT_ONCE > budget:
        return -1, chosen[:h], 0
    if spare < 0:
        return 0, chosen[:h], 0
    most = np.zeros((size + 1, h + 1, n), dtype=np.float32)
    verdict, spent = _branch(rounded, most, chosen, size, np.float32(spare), budget)
    return verdict, chosen[:h], spent


def _rounded(rows: Rows, size: int, floor: int) -> Rounded | None:
    """Return rows in whole floats, rounded up to a power of two; None if they do not fit."""
    n = len(rows.weights)
    if len(rows.margins) != n or int(rows.weights.sum()) >= _EXACT or not rows.gains.size:
        return None
    short = [int(rows.margins.min()) - floor, int(rows.margins.max()) - floor]
    widest = max(map(abs, short))
    widest += (size + 1) * max(abs(int(rows.gains.min())), abs(int(rows.gains.max())))
    shift = max((widest // (_EXACT - 2 * size - 4)).bit_length(), 0)
    return Rounded(
        _up(rows.margins - floor, shift),
        rows.weights.astype(np.float32),
        _up(rows.gains, shift),
    )


def _up(values: NDArray[np.int64], shift: int) -> NDArray[np.float32]:
    """Return numbers in units of a power of two, rounded up."""
    found: NDArray[np.float32] = (-((-values) >> shift)).astype(np.float32)
    return found


@inner
def _lost(rows: Rounded, gain: NDArray[np.float32]) -> np.float32:
    """Return the weight of the rows that stay below 0 (Lemma 110)."""
    lost = np.float32(0.0)
    for r in range(len(rows.weights)):
        below = rows.margins[r] + gain[r] < np.float32(0.0)
        lost += rows.weights[r] if below else np.float32(0.0)
    return lost


@kernel
def _branch(
    rows: Rounded,
    most: NDArray[np.float32],
    chosen: NDArray[np.bool_],
    size: int,
    spare: np.float32,
    budget: int,
) -> tuple[int, int]:
    """Go through the branches; what is chosen is written down (Lemmas 32 and 110)."""
    h, n = rows.gains.shape
    each = 1 + n // _AT_ONCE
    spent = size * h * each
    most_to_gain(rows.gains, size, most)
    position, left = 0, size
    while spent <= budget:
        spent += each
        hopeful = h - position >= left and _lost(rows, most[left, position]) <= spare
        if hopeful and left == 0:
            return 1, spent
        if hopeful:
            chosen[position] = True
            left -= 1
            gain = rows.gains[position]
            for r in range(n):
                rows.margins[r] += gain[r]
        else:
            # Go back to the last member taken, and leave it.
            position -= 1
            while position >= 0 and not chosen[position]:
                position -= 1
            if position < 0:
                return 0, spent
            chosen[position] = False
            left += 1
            gain = rows.gains[position]
            for r in range(n):
                rows.margins[r] -= gain[r]
        position += 1
    return -1, spent

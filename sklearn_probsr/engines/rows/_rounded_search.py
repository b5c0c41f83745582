"""Rounded search: the branch and bound with gains rounded up to whole floats of 32 bits.

What it refutes is refuted (Lemma 110), in a fraction of the time: no branch within a scan, and
eight or sixteen rows in a step of the processor. A set that it finds is to be counted again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._branch_and_bound import most_to_gain, promising
from sklearn_probsr.engines.rows._counts import Rows

__all__ = ["Rounded", "rounded_search", "rounded_up"]

# Sums of whole numbers below this are exact in 32-bit floats, in any order (Lemma 110).
_EXACT = 2**24
# A scan moves or compares all rows at once, about eight of them in the time of one visit.
_AT_ONCE = 8
# Rows come in blocks of so many, which is whole steps of any processor; a scan ends with a block.
_BLOCK = 64
# The most numbers in the table.
_MOST_CELLS = 2**27


class _Extremes(NamedTuple):
    """What there is at most in a background; no gain is below 0 at most, nor above it at least."""

    gains: NDArray[np.int64]  # (h,): the most that each member adds to any row
    lowest_gain: int
    lowest: int
    highest: int  # of margins
    weight: int


@kernel
def _extremes_of(rows: Rows) -> _Extremes:
    """Return the extremes of a background with rows."""
    h, n = rows.gains.shape
    gains = np.zeros(h, dtype=np.int64)
    lowest_gain = np.int64(0)
    for j in range(h):
        most = np.int64(0)
        for r in range(n):
            most = max(most, rows.gains[j, r])
            lowest_gain = min(lowest_gain, rows.gains[j, r])
        gains[j] = most
    lowest, highest, weight = rows.margins[0], rows.margins[0], np.int64(0)
    for r in range(n):
        lowest, highest = min(lowest, rows.margins[r]), max(highest, rows.margins[r])
    for r in range(len(rows.weights)):
        weight += rows.weights[r]
    return _Extremes(gains, int(lowest_gain), int(lowest), int(highest), int(weight))


class Rounded(NamedTuple):
    """A background in whole floats, never less than it is; the floor is at 0.

    Rows without weight fill the last block. Members come with the largest gains first.
    """

    margins: NDArray[np.float32]  # (n,)
    weights: NDArray[np.float32]  # (n,)
    gains: NDArray[np.float32]  # (h, n)
    most: NDArray[np.float32]  # (size + 1, h + 1, n): what so many members from one on can add
    order: NDArray[np.intp]  # (h,): which members these are

    @property
    def size(self) -> int:
        """The most members of a set that is asked for."""
        return len(self.most) - 1

    @property
    def cost(self) -> int:
        """How many visits of rows the table took."""
        return self.most.size // _AT_ONCE


def rounded_up(rows: Rows, size: int, floor: int, budget: int) -> Rounded | None:
    """Return rows rounded up, for sets of up to ``size`` members (Lemmas 110 and 121).

    None if they do not fit, or there are several rivals, or the budget of row visits does not
    suffice for the table.
    """
    h, n = len(rows.gains), len(rows.weights)
    padded = -(-n // _BLOCK) * _BLOCK
    cells = (size + 1) * (h + 1) * padded
    if cells > min(_MOST_CELLS, budget):
        return None
    if len(rows.margins) != n or not rows.gains.size:
        return None
    seen = _extremes_of(rows)
    widest = max(abs(seen.lowest - floor), abs(seen.highest - floor))
    widest += (size + 1) * max(int(seen.gains.max()), -seen.lowest_gain)
    if seen.weight >= _EXACT:
        return None
    found = Rounded(
        np.empty(padded, dtype=np.float32),
        np.empty(padded, dtype=np.float32),
        np.empty((h, padded), dtype=np.float32),
        np.empty((size + 1, h + 1, padded), dtype=np.float32),
        promising(seen.gains),
    )
    _tabulate(rows, floor, (widest // (_EXACT - 2 * size - 4)).bit_length(), found)
    return found


@inner
def _round_up(
    given: NDArray[np.int64], floor: int, shift: int, rounded: NDArray[np.float32]
) -> None:
    """Write down numbers less a floor, in units of a power of two, rounded up; 0 behind them."""
    rounded[:] = 0.0
    for r in range(len(given)):
        rounded[r] = -((floor - given[r]) >> shift)


@kernel
def _tabulate(rows: Rows, floor: int, shift: int, found: Rounded) -> None:
    """Round rows up, and write down what members can add (Lemma 32)."""
    _round_up(rows.margins, floor, shift, found.margins)
    _round_up(rows.weights, 0, 0, found.weights)
    for j in range(len(rows.gains)):
        _round_up(rows.gains[found.order[j]], 0, shift, found.gains[j])
    most_to_gain(found.gains, len(found.most) - 1, found.most)


def rounded_search(
    rows: Rounded, size: int, spare: int, budget: int
) -> tuple[int, NDArray[np.bool_], int]:
    """Look for ``size`` members with which the rows below the floor weigh no more than ``spare``.

    Returns
    -------
    verdict : int
        1: one was found, with gains rounded up; 0: there is none; -1: the budget of row visits does
        not suffice.
    chosen : ndarray of bool
        The set found.
    spent : int
    """
    chosen = np.zeros(len(rows.gains), dtype=np.bool_)
    if spare < 0:
        return 0, chosen, 0
    taken = np.zeros(size + 1, dtype=np.int64)
    margins = np.empty((size + 1, len(rows.margins)), dtype=np.float32)
    margins[0] = rows.margins
    verdict, spent = _branch(rows, margins, taken, np.float32(spare), budget)
    if verdict == 1:
        chosen[rows.order[taken[:size]]] = True
    return verdict, chosen, spent


@inner
def _scan(
    margins: NDArray[np.float32], gain: NDArray[np.float32], weights: NDArray[np.float32]
) -> np.float32:
    """Return the weight of the rows that stay below 0."""
    lost = np.float32(0.0)
    for r in range(len(weights)):
        below = margins[r] + gain[r] < np.float32(0.0)
        lost += weights[r] if below else np.float32(0.0)
    return lost


@inner
def _hopeful(
    margins: NDArray[np.float32], gain: NDArray[np.float32], rows: Rounded, spare: np.float32
) -> bool:
    """Tell whether no more weight is lost than may be, block by block (Lemmas 110 and 121)."""
    lost = np.float32(0.0)
    first = 0
    while first < len(margins) and lost <= spare:
        last = first + _BLOCK
        lost += _scan(margins[first:last], gain[first:last], rows.weights[first:last])
        first = last
    return bool(lost <= spare)


@inner
def _move(
    margins: NDArray[np.float32], gain: NDArray[np.float32], moved: NDArray[np.float32]
) -> None:
    """Write down margins with one more member taken."""
    for r in range(len(margins)):
        moved[r] = margins[r] + gain[r]


@kernel
def _branch(
    rows: Rounded,
    margins: NDArray[np.float32],
    taken: NDArray[np.int64],
    spare: np.float32,
    budget: int,
) -> tuple[int, int]:
    """Go through the branches; which members are taken is written down (Lemmas 32 and 110).

    ``margins`` has a line for every number of members that are taken.
    """
    h, n = rows.gains.shape
    size = len(taken) - 1
    each = 1 + n // _AT_ONCE
    spent = 0
    position, depth = 0, 0
    while spent <= budget:
        left = size - depth
        spent += each
        hopeful = h - position >= left
        if hopeful and _hopeful(margins[depth], rows.most[left, position], rows, spare):
            taken[depth] = position
            spent += each
            if left == 0:
                return 1, spent
            if left > 1:
                _move(margins[depth], rows.gains[position], margins[depth + 1])
                depth += 1
            elif _hopeful(margins[depth], rows.gains[position], rows, spare):
                return 1, spent
        else:
            # Go back to the last member taken, and leave it.
            depth -= 1
            if depth < 0:
                return 0, spent
            position = taken[depth]
        position += 1
    return -1, spent

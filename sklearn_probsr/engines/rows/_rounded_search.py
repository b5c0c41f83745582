"""Rounded search: the branch and bound with gains rounded up to whole floats of 32 bits.

What it refutes is refuted (Lemma 110), in a fraction of the time: no branch within a scan, and
eight or sixteen rows in a step of the processor. A set that it finds is to be counted again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._branch_and_bound import FEW_BYTES, promising
from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.engines.rows._needs import Hardest, Needs, hardest, needs_of

__all__ = ["Rounded", "rounded_search", "rounded_up"]

# Sums of whole numbers below this are exact in 32-bit floats, in any order (Lemma 110).
_EXACT = 2**24
# A scan moves or compares all rows at once, about eight of them in the time of one visit.
_AT_ONCE = 8
# Rows come in blocks of so many, which is whole steps of any processor; a scan ends with a block.
_BLOCK = 64
# Rows of which a table is made at a time: what members add to them fits the nearest cache.
_LINE = 512
# Where rows are too many for a table of all of them, it has numbers of 16 bits (Lemma 160).
_LARGEST = 2**15 - 1


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

    Rows without weight fill the last block. Members come with the largest gains first. Of many rows
    only the hardest are here (Lemma 160).
    """

    margins: NDArray[np.float32]  # (n,)
    weights: NDArray[np.float32]  # (n,)
    gains: NDArray[np.float32]  # (h, n)
    most: NDArray[Any]  # (size, h + 1, n): what 1, 2, ... members from one on can add
    step: np.float32  # what one of that counts: they are floats as well, or have 16 bits
    order: NDArray[np.intp]  # (h,): which members these are
    lost: int  # the weight of the rows that no set brings to the floor
    whole: bool  # whether all rows are here that a set decides

    @property
    def size(self) -> int:
        """The most members of a set that is asked for."""
        return len(self.most)

    @property
    def cost(self) -> int:
        """How many visits of rows the table took."""
        return self.most.size // _AT_ONCE


def rounded_up(
    rows: Rows, size: int, floor: int, budget: int, needs: Needs | None = None
) -> Rounded | None:
    """Return rows rounded up, for sets of up to ``size`` members (Lemmas 110, 121 and 160).

    None if there are several rivals, or weights are too much, or the budget of row visits does not
    suffice for the table. What rows need may be at hand.
    """
    h, n = len(rows.gains), len(rows.weights)
    if (size + 1) * (h + 1) * n > budget or len(rows.margins) != n or not rows.gains.size:
        return None
    seen = _extremes_of(rows)
    widest = max(abs(seen.lowest - floor), abs(seen.highest - floor))
    widest += (size + 1) * max(int(seen.gains.max()), -seen.lowest_gain)
    if seen.weight >= _EXACT:
        return None
    shift = (widest // (_EXACT - 2 * size - 4)).bit_length()
    levels, room = max(size, 1), max(FEW_BYTES, rows.gains.nbytes // 2)
    each, others = levels * (h + 1), 4 * (h + size + 3)
    if n * (4 * each + others) <= room:
        part, kind, step = Hardest(np.arange(n), 0, True), "f4", 1
    else:
        if needs is None or needs.most <= size:
            needs = needs_of(rows, floor, size + 1)
        part, kind = hardest(rows, size, needs, room // (2 * each + others)), "i2"
        step = 2 ** (levels * (int(seen.gains.max() >> shift) + 1) // _LARGEST).bit_length()
    padded = -(-len(part.places) // _BLOCK) * _BLOCK
    found = Rounded(
        np.empty(padded, dtype=np.float32),
        np.empty(padded, dtype=np.float32),
        np.empty((h, padded), dtype=np.float32),
        np.empty((levels, h + 1, padded), dtype=kind),
        np.float32(step),
        promising(seen.gains),
        part.lost,
        part.whole,
    )
    _tabulate(rows, part.places, floor, shift, found)
    return found


@inner
def _round_up(
    given: NDArray[np.int64],
    places: NDArray[np.intp],
    floor: int,
    shift: int,
    rounded: NDArray[np.float32],
) -> None:
    """Write down numbers less a floor, in units of a power of two, rounded up; 0 behind them."""
    rounded[len(places) :] = 0.0
    if len(places) == len(given):  # all of them, as they come
        for r in range(len(given)):
            rounded[r] = -((floor - given[r]) >> shift)
    else:
        for r in range(len(places)):
            rounded[r] = -((floor - given[places[r]]) >> shift)


@kernel
def _tabulate(rows: Rows, places: NDArray[np.intp], floor: int, shift: int, found: Rounded) -> None:
    """Round some rows up, and write down what members can add (Lemma 32)."""
    _round_up(rows.margins, places, floor, shift, found.margins)
    _round_up(rows.weights, places, 0, 0, found.weights)
    for j in range(len(rows.gains)):
        _round_up(rows.gains[found.order[j]], places, 0, shift, found.gains[j])
    levels, h, n = found.most.shape
    best = np.empty((levels + 1, _LINE), dtype=np.float32)
    part = np.float32(1.0) / found.step
    for first in range(0, n, _LINE):
        last = min(first + _LINE, n)
        best[:] = 0.0
        found.most[:, h - 1, first:last] = 0
        for p in range(h - 2, -1, -1):
            gain = found.gains[p, first:last]
            for left in range(levels - 1, -1, -1):
                _take(gain, best[left], best[left + 1], part, found.most[left, p, first:last])


@inner
def _take(
    gain: NDArray[np.float32],
    fewer: NDArray[np.float32],
    best: NDArray[np.float32],
    part: np.float32,
    most: NDArray[Any],
) -> None:
    """Take one more member where that adds more, and write down what is added, rounded up."""
    for r in range(len(gain)):
        best[r] = max(gain[r] + fewer[r], best[r])
    for r in range(len(gain)):
        most[r] = np.ceil(best[r] * part)


def rounded_search(
    rows: Rounded, size: int, spare: int, budget: int, after: NDArray[np.bool_] | None = None
) -> tuple[int, NDArray[np.bool_], int]:
    """Look for ``size`` members with which the rows below the floor weigh no more than ``spare``.

    The search goes on ``after`` a set that it found, if one is given.

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
    spare -= rows.lost
    if spare < 0:
        return 0, chosen, 0
    if size == 0:
        kept = after is None and rows.weights[rows.margins < 0].sum() <= spare
        return int(kept), chosen, 0
    taken = np.zeros(size + 1, dtype=np.int64)
    depth = position = 0
    if after is not None:
        taken[:size], depth = np.flatnonzero(after[rows.order]), size - 1
        position = int(taken[depth]) + 1
    margins = np.empty((size + 1, len(rows.margins)), dtype=np.float32)
    margins[0] = rows.margins
    verdict, spent = _branch(rows, margins, taken, depth, position, np.float32(spare), budget)
    if verdict == 1:
        chosen[rows.order[taken[:size]]] = True
    return verdict, chosen, spent


@inner
def _scan(
    margins: NDArray[np.float32],
    gain: NDArray[Any],
    step: np.float32,
    weights: NDArray[np.float32],
) -> np.float32:
    """Return the weight of the rows that stay below 0."""
    lost = np.float32(0.0)
    for r in range(len(weights)):
        below = margins[r] + step * np.float32(gain[r]) < np.float32(0.0)
        lost += weights[r] if below else np.float32(0.0)
    return lost


@inner
def _hopeful(
    margins: NDArray[np.float32],
    gain: NDArray[Any],
    step: np.float32,
    rows: Rounded,
    spare: np.float32,
) -> bool:
    """Tell whether no more weight is lost than may be, block by block (Lemmas 110 and 121)."""
    lost = np.float32(0.0)
    first = 0
    while first < len(margins) and lost <= spare:
        last = first + _BLOCK
        lost += _scan(margins[first:last], gain[first:last], step, rows.weights[first:last])
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
    depth: int,
    position: int,
    spare: np.float32,
    budget: int,
) -> tuple[int, int]:
    """Go through the branches; which members are taken is written down (Lemmas 32 and 110).

    ``margins`` has a line for every number of members that are taken; at first these are ``depth``,
    and the next is at a position or behind it.
    """
    h, n = rows.gains.shape
    size = len(taken) - 1
    each = 1 + n // _AT_ONCE
    spent, one = 0, np.float32(1.0)
    for k in range(depth):
        _move(margins[k], rows.gains[taken[k]], margins[k + 1])
    while spent <= budget:
        left = size - depth
        spent += each
        hopeful = h - position >= left
        if hopeful and _hopeful(
            margins[depth], rows.most[left - 1, position], rows.step, rows, spare
        ):
            taken[depth] = position
            spent += each
            if left > 1:
                _move(margins[depth], rows.gains[position], margins[depth + 1])
                depth += 1
            elif _hopeful(margins[depth], rows.gains[position], one, rows, spare):
                return 1, spent
        else:
            # Go back to the last member taken, and leave it.
            depth -= 1
            if depth < 0:
                return 0, spent
            position = taken[depth]
        position += 1
    return -1, spent

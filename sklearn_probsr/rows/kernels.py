"""Dense rows before an instance: margins, gains, and what a search asks of them.

`Rows` is what every search begins with, whatever storage it comes from: margins before each rival,
and what fixing each candidate adds to them, whole numbers in 32-bit floats. A row is kept for sure
if no margin is below ``sure``, and lost for sure if one is below 0; between the two rounding leaves
it open, and who asks decides by exact signs (Proposition 171). `Branches` are rows that were made
ready for branch and bound: `look`, `ahead` and `take` are the three functions that it is made of,
and that other storage gives as well (`sklearn_probsr.rows.search.storage`).

Inner loops go along rows, one rival at a time, without a branch: they are vector loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel

__all__ = [
    "BLOCK",
    "LOOK",
    "Branches",
    "Rows",
    "branch_ahead",
    "branch_look",
    "branch_take",
    "counted",
    "greedy",
    "prune",
]

# Rows of branches come in blocks of so many, whole steps of any processor; a look ends with one.
BLOCK = 64
# What a look costs beside the cells that it is at, in cells.
LOOK = 512


class Rows(NamedTuple):
    """Rows before one instance, before each of its rivals.

    Attributes
    ----------
    margins : ndarray of float32, shape (R, n)
        Whole numbers, rounded up: below 0 a row is surely lost.
    gains : ndarray of float32, shape (h, R, n)
        What fixing each candidate adds.
    weights : ndarray of int64, shape (n,)
        How much each row counts.
    light : ndarray of float32, shape (n,)
        About the same, in units of a power of two: the sum is below 2^24.
    sure : float32
        Margins of this and more are surely kept; 0 if nothing was rounded.
    """

    margins: NDArray[np.float32]
    gains: NDArray[np.float32]
    weights: NDArray[np.int64]
    light: NDArray[np.float32]
    sure: Any


@inner
def _worst(
    margins: NDArray[np.float32], gain: NDArray[np.float32], sign: Any, near: NDArray[np.float32]
) -> None:
    """Write the least margin of each row once a gain is added, or taken off."""
    margin, more = margins[0], gain[0]
    for r in range(len(near)):
        near[r] = margin[r] + sign * more[r]
    for k in range(1, len(margins)):
        margin, more = margins[k], gain[k]
        for r in range(len(near)):
            near[r] = min(near[r], margin[r] + sign * more[r])


@inner
def _move(margins: NDArray[np.float32], gain: NDArray[np.float32], sign: Any) -> None:
    """Fix a candidate (1) or free it again (-1)."""
    for k in range(len(margins)):
        margin, more = margins[k], gain[k]
        for r in range(len(margin)):
            margin[r] += sign * more[r]


@inner
def _below(near: NDArray[np.float32], weights: NDArray[np.int64], level: Any) -> Any:
    """Return the weight of the rows below a level."""
    found = np.int64(0)
    for r in range(len(near)):
        found += weights[r] if near[r] < level else np.int64(0)
    return found


@kernel
def counted(rows: Rows, chosen: NDArray[np.int64], room: NDArray[np.float32]) -> tuple[Any, Any]:
    """Return the weight that is surely lost with some candidates fixed, and that perhaps is.

    ``room`` (R + 1, n) is written over; its last line are the least margins of the rows.
    """
    margins, near = room[: len(rows.margins)], room[len(rows.margins)]
    _begin(rows, margins)
    for i in range(len(chosen)):
        _move(margins, rows.gains[chosen[i]], np.float32(1.0))
    _worst(margins, margins, np.float32(0.0), near)
    found = _below(near, rows.weights, np.float32(0.0))
    if rows.sure <= np.float32(0.0):
        return found, found
    return found, _below(near, rows.weights, rows.sure)


@inner
def _begin(rows: Rows, margins: NDArray[np.float32]) -> None:
    """Write the margins with nothing fixed."""
    for k in range(len(margins)):
        margin, start = margins[k], rows.margins[k]
        for r in range(len(start)):
            margin[r] = start[r]


@kernel
def greedy(
    rows: Rows,
    prices: NDArray[np.float32],
    spare: np.float32,
    hinge: bool,
    looks: int,
    fewest: int,
    room: NDArray[np.float32],
    order: NDArray[np.int64],
    free: NDArray[np.bool_],
) -> Any:
    """Write candidates in the order in which greed takes them, until a set may suffice.

    Greed looks at the weight that a candidate saves for its price, then at what is missing; with
    ``hinge`` at the latter alone. After so many ``looks`` the others follow as they come. The order
    goes on where it was found that less than the ``fewest`` do not suffice. ``spare`` is as
    ``rows.light`` counts; ``room`` (R + 1, n) and ``free`` (h) are written over. Returns how many
    there are.
    """
    h = len(rows.gains)
    margins, near = room[: len(rows.margins)], room[len(rows.margins)]
    _begin(rows, margins)
    for j in range(h):
        free[j] = True
    size = np.int64(0)
    while size < fewest - 1:
        free[order[size]] = False
        _move(margins, rows.gains[order[size]], np.float32(1.0))
        size += 1
    _worst(margins, margins, np.float32(0.0), near)
    now, now_missing = _look(near, rows.light)
    while size < h and (now > spare or size < fewest):
        best = np.int64(-1)
        best_rank, best_more = -np.inf, -np.inf
        best_lost, best_missing = np.float32(0.0), np.float32(0.0)
        for j in range(h):
            if free[j]:
                if looks <= 0 and best >= 0:
                    break
                looks -= 1
                _worst(margins, rows.gains[j], np.float32(1.0), near)
                away, missing = _look(near, rows.light)
                rank = 0.0 if hinge else (now - away) / prices[j]
                more = (missing - now_missing) / prices[j]
                if rank > best_rank or (rank == best_rank and more > best_more):
                    best, best_rank, best_more = np.int64(j), rank, more
                    best_lost, best_missing = away, missing
        order[size] = best
        free[best] = False
        size += 1
        now, now_missing = best_lost, best_missing
        _move(margins, rows.gains[best], np.float32(1.0))
    return size


@inner
def _look(near: NDArray[np.float32], light: NDArray[np.float32]) -> tuple[Any, Any]:
    """Return about the weight of the rows below 0, and what is missing there (not above 0)."""
    found, missing = np.float32(0.0), np.float32(0.0)
    for r in range(len(near)):
        below = near[r] < np.float32(0.0)  # told once: else this is no vector loop
        found += light[r] if below else np.float32(0.0)
        missing += light[r] * near[r] if below else np.float32(0.0)
    return found, missing


@kernel
def prune(
    rows: Rows,
    order: NDArray[np.int64],
    first: int,
    spare: int,
    room: NDArray[np.float32],
    stays: NDArray[np.bool_],
) -> Any:
    """Leave out what is surely not needed of a set, from a place of its order down to the first.

    Writes down which stay, and returns the place at which rounding leaves it open, or -1 at the
    end. ``room`` is as in `counted`.
    """
    margins, near = room[: len(rows.margins)], room[len(rows.margins)]
    _begin(rows, margins)
    for i in range(len(order)):
        if stays[i]:
            _move(margins, rows.gains[order[i]], np.float32(1.0))
    for i in range(first, -1, -1):
        if stays[i]:
            gain = rows.gains[order[i]]
            _worst(margins, gain, np.float32(-1.0), near)
            if _below(near, rows.weights, np.float32(0.0)) <= spare:
                if _below(near, rows.weights, rows.sure) > spare:
                    return i
                stays[i] = False
                _move(margins, gain, np.float32(-1.0))
    return -1


# --- branch and bound --------------------------------------------------------------------------


class Branches(NamedTuple):
    """Dense rows ready for branch and bound: places are those of its order.

    Numbers are whole steps, margins rounded down and gains up, so that what stays below 0 is lost
    (Lemma 173). No sum of them leaves 16 bits.

    Attributes
    ----------
    margins : ndarray of int16, shape (depths, R n)
        With what is taken at each depth; the first line is that of nothing taken.
    gains : ndarray of int16, shape (h, R n)
    weights : ndarray of int16, shape (n,)
        Rounded down, each below 2^9; n is a multiple of ``BLOCK``, R is 1 or 3.
    more : ndarray of int16, shape (levels + 1, h + 1, R n)
        What candidates from each place on can add at most at every price.
    """

    margins: NDArray[np.int16]
    gains: NDArray[np.int16]
    weights: NDArray[np.int16]
    more: NDArray[np.int16]


@inner
def branch_look(case: Branches, depth: Any, place: Any, spare: Any) -> tuple[Any, Any]:
    """Tell whether no more than ``spare`` is lost with one more candidate, and the cells looked at.

    True may be false by rounding, False is not.
    """
    return _is_spared(case.margins[depth], case.gains[place], case.weights, spare)


@inner
def branch_ahead(case: Branches, depth: Any, place: Any, level: Any, spare: Any) -> tuple[Any, Any]:
    """Tell whether no more than ``spare`` need be lost with candidates from a place on.

    Each row is given the best that so many steps of price buy (Proposition 172).
    """
    return _is_spared(case.margins[depth], case.more[level, place], case.weights, spare)


@inner
def branch_take(case: Branches, depth: Any, place: Any) -> Any:
    """Take a candidate: write the margins of the next depth, and return the cells written."""
    margins, gain, moved = case.margins[depth], case.gains[place], case.margins[depth + 1]
    for r in range(len(margins)):
        moved[r] = np.int16(margins[r] + gain[r])
    return len(margins) + LOOK


@inner
def _is_spared(
    margins: NDArray[np.int16], more: NDArray[np.int16], weights: NDArray[np.int16], spare: Any
) -> tuple[Any, Any]:
    """Tell whether no more than ``spare`` stays below 0, and the cells looked at."""
    n = len(weights)
    three = len(margins) > n
    found, first = np.int64(0), np.int64(0)
    while first < n and found <= spare:
        if three:
            found += _below_of_three(margins, more, weights, first, n)
        else:
            found += _below_of_one(margins, more, weights, first)
        first += BLOCK
    return found <= spare, first * (3 if three else 1) + LOOK


@inner
def _below_of_one(
    margins: NDArray[np.int16], more: NDArray[np.int16], weights: NDArray[np.int16], first: Any
) -> Any:
    """Return the weight of the rows of a block that stay below 0."""
    last = first + BLOCK
    a, x, weight = margins[first:last], more[first:last], weights[first:last]
    found = np.int16(0)
    for r in range(BLOCK):  # as many as are known when this is compiled: a third of the time
        below = np.int16(a[r] + x[r]) < np.int16(0)
        found = np.int16(found + (weight[r] if below else np.int16(0)))
    return found


@inner
def _below_of_three(
    margins: NDArray[np.int16],
    more: NDArray[np.int16],
    weights: NDArray[np.int16],
    first: Any,
    n: int,
) -> Any:
    """Return the same before one of three rivals."""
    i, j, last = n + first, 2 * n + first, first + BLOCK
    a, b, c = margins[first:last], margins[i : i + BLOCK], margins[j : j + BLOCK]
    x, y, z = more[first:last], more[i : i + BLOCK], more[j : j + BLOCK]
    weight, found = weights[first:last], np.int16(0)
    for r in range(BLOCK):
        # The sign of what any of them is below 0.
        worst = np.int16(a[r] + x[r]) | np.int16(b[r] + y[r]) | np.int16(c[r] + z[r])
        found = np.int16(found + (weight[r] if worst < np.int16(0) else np.int16(0)))
    return found

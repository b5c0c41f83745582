"""Dense rows before an instance: margins, gains, and what a search asks of them.

`Rows` is what every search begins with, whatever storage it comes from: margins before each rival,
and what fixing each candidate adds to them, whole numbers in 32-bit floats. A row is kept for sure
if no margin is below ``sure``, and lost for sure if one is below 0; between the two rounding leaves
it open, and exact signs decide (Proposition 171). `Branches` are rows that were made ready for
branch and bound: `look`, `ahead` and `take` are the three functions that it is made of, and that
other storage gives as well (`sklearn_probsr.rows.search.storage`).

Inner loops go along rows, one rival at a time, without a branch: they are vector loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.rows.exact import Decider, Winner, wins

__all__ = [
    "BLOCK",
    "LOOK",
    "Branches",
    "Rows",
    "Settled",
    "before",
    "branch_ahead",
    "branch_look",
    "branch_take",
    "greedy",
    "lost",
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


class Settled(NamedTuple):
    """What tells of rows that rounding leaves open whether they are kept.

    Attributes
    ----------
    decider : Decider
    winner : Winner
    rows : ndarray of float64, shape (n, d)
    x : ndarray of float64, shape (d,)
        The instance.
    fixed : ndarray of bool, shape (units + 1,)
        Which units are fixed; written by whoever asks.
    digits : ndarray of int64
        Room to work in.
    """

    decider: Decider
    winner: Winner
    rows: NDArray[np.float64]
    x: NDArray[np.float64]
    fixed: NDArray[np.bool_]
    digits: NDArray[np.int64]


# --- one instance ------------------------------------------------------------------------------


@kernel
def before(
    parts: NDArray[np.float32],
    scores: NDArray[np.float32],
    known: NDArray[np.float32],
    winner: Winner,
    doubt: int,
    units: NDArray[np.int64],
    forced: NDArray[np.int64],
    rows: Rows,
) -> None:
    """Write margins with forced units fixed, and the gains of other units (Proposition 171).

    ``parts`` (K, units, n) and ``scores`` (K, n) are those of the rows, ``known`` (K, units) what
    the instance adds; ``units`` are the candidates.
    """
    n = scores.shape[1]
    first = winner.lines[0]
    for k in range(len(winner.loses)):
        second = winner.lines[k + 1]
        margin = rows.margins[k]
        start = np.float32(doubt - winner.loses[k])
        for r in range(n):
            margin[r] = start
        _add(margin, scores, first, np.float32(1.0))
        _add(margin, scores, second, np.float32(-1.0))
        for i in range(len(forced)):
            u = forced[i]
            _gain(margin, parts[:, u], known[:, u], first, second)
        for i in range(len(units)):
            _write_gain(rows.gains[i, k], parts[:, units[i]], known[:, units[i]], first, second)


@inner
def _add(to: NDArray[np.float32], lines: NDArray[np.float32], line: Any, sign: Any) -> None:
    """Add a line, or take it off; -1 stands for zeros."""
    if line >= 0:
        what = lines[line]
        for r in range(len(to)):
            to[r] += sign * what[r]


@inner
def _write_gain(
    to: NDArray[np.float32],
    lines: NDArray[np.float32],
    known: NDArray[np.float32],
    first: Any,
    second: Any,
) -> None:
    """Write what fixing a unit adds: what is known of it less what rows have."""
    if second < 0:
        more, own = known[first], lines[first]
        for r in range(len(to)):
            to[r] = more - own[r]
    elif first < 0:
        more, own = known[second], lines[second]
        for r in range(len(to)):
            to[r] = own[r] - more
    else:
        more, own, other = known[first] - known[second], lines[first], lines[second]
        for r in range(len(to)):
            to[r] = more + (other[r] - own[r])


@inner
def _gain(
    to: NDArray[np.float32],
    lines: NDArray[np.float32],
    known: NDArray[np.float32],
    first: Any,
    second: Any,
) -> None:
    """Add the same."""
    _add(to, lines, first, np.float32(-1.0))
    _add(to, lines, second, np.float32(1.0))
    more = np.float32(0.0)
    if first >= 0:
        more += known[first]
    if second >= 0:
        more -= known[second]
    for r in range(len(to)):
        to[r] += more


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


@inner
def _lost(near: NDArray[np.float32], rows: Rows, settled: Settled, spare: Any) -> Any:
    """Return the weight of the rows that are lost, exactly, or a part of it above ``spare``.

    ``near`` (n) holds least margins; those that are open are settled one by one (Proposition 171).
    """
    found = _below(near, rows.weights, np.float32(0.0))
    if found > spare or rows.sure <= np.float32(0.0):
        return found
    if _below(near, rows.weights, rows.sure) == found:
        return found
    for r in range(len(near)):
        if near[r] >= np.float32(0.0) and near[r] < rows.sure:
            row, fixed = settled.rows[r], settled.fixed
            keeps = wins(settled.decider, settled.winner, row, settled.x, fixed, settled.digits)
            found += np.int64(0) if keeps else rows.weights[r]
    return found


@kernel
def lost(
    rows: Rows,
    settled: Settled,
    chosen: NDArray[np.int64],
    units: NDArray[np.int64],
    spare: int,
    room: NDArray[np.float32],
) -> Any:
    """Return the weight lost with some candidates fixed, exactly, or more than ``spare`` of it.

    ``units`` are the units of the candidates; ``settled.fixed`` is that of forced units, and left
    so; ``room`` (R + 1, n) is written over. Doubts are settled (Proposition 171).
    """
    many = len(rows.margins)
    margins, near = room[:many], room[many]
    for k in range(many):
        margin, start = margins[k], rows.margins[k]
        for r in range(len(near)):
            margin[r] = start[r]
    for i in range(len(chosen)):
        _move(margins, rows.gains[chosen[i]], np.float32(1.0))
        settled.fixed[units[chosen[i]]] = True
    _worst(margins, margins, np.float32(0.0), near)
    found = _lost(near, rows, settled, spare)
    for i in range(len(chosen)):
        settled.fixed[units[chosen[i]]] = False
    return found


@kernel
def greedy(
    rows: Rows,
    settled: Settled,
    units: NDArray[np.int64],
    prices: NDArray[np.float32],
    spare: int,
    light_spare: np.float32,
    hinge: bool,
    looks: int,
    room: NDArray[np.float32],
    order: NDArray[np.int64],
    free: NDArray[np.bool_],
) -> Any:
    """Write candidates in the order in which greed takes them, until a set surely suffices.

    Returns how many there are, negative less one if all together do not. Greed looks at the weight
    that a candidate saves for its price, then at what is missing; with ``hinge`` at the latter
    alone. After so many ``looks`` the others follow as they come. ``light_spare`` is ``spare`` as
    ``rows.light`` counts; ``room`` (R + 1, n) and ``free`` (h) are written over. What is reached is
    counted exactly (Proposition 171).
    """
    h, many = len(rows.gains), len(rows.margins)
    margins, near = room[:many], room[many]
    for k in range(many):
        margin, start = margins[k], rows.margins[k]
        for r in range(len(near)):
            margin[r] = start[r]
    _worst(margins, margins, np.float32(0.0), near)
    now, now_missing = _look(near, rows.light)
    for j in range(h):
        free[j] = True
    size = np.int64(0)
    done = False
    while True:
        if now <= light_spare:
            _worst(margins, margins, np.float32(0.0), near)
            done = _lost(near, rows, settled, spare) <= spare
        if done or size == h:
            break
        best = np.int64(-1)
        best_rank, best_missing, best_lost, best_more = (
            -np.inf,
            -np.inf,
            np.float32(0.0),
            np.float32(0.0),
        )
        for j in range(h):
            if free[j]:
                if looks <= 0 and best >= 0:
                    break
                looks -= 1
                _worst(margins, rows.gains[j], np.float32(1.0), near)
                away, missing = _look(near, rows.light)
                rank = 0.0 if hinge else (now - away) / prices[j]
                more = (missing - now_missing) / prices[j]
                if rank > best_rank or (rank == best_rank and more > best_missing):
                    best, best_rank, best_missing = np.int64(j), rank, more
                    best_lost, best_more = away, missing
        order[size] = best
        free[best] = False
        size += np.int64(1)
        now, now_missing = best_lost, best_more
        _move(margins, rows.gains[best], np.float32(1.0))
        settled.fixed[units[best]] = True
    for i in range(size):
        settled.fixed[units[order[i]]] = False
    return size if done else -size - 1


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
    settled: Settled,
    order: NDArray[np.int64],
    units: NDArray[np.int64],
    spare: int,
    monotone: bool,
    room: NDArray[np.float32],
    stays: NDArray[np.bool_],
) -> Any:
    """Leave out what is not needed of a set that reaches the level, the last first (Corollary 4b).

    Writes down which of the order stay, and returns the weight that is lost then. Without
    ``monotone`` it begins again until nothing more goes. ``room`` is as in `lost`.
    """
    many, size = len(rows.margins), len(order)
    margins, near = room[:many], room[many]
    for k in range(many):
        margin, start = margins[k], rows.margins[k]
        for r in range(len(near)):
            margin[r] = start[r]
    for i in range(size):
        _move(margins, rows.gains[order[i]], np.float32(1.0))
        settled.fixed[units[order[i]]] = True
        stays[i] = True
    changed = True
    while changed:
        changed = False
        for i in range(size - 1, -1, -1):
            if stays[i]:
                u = units[order[i]]
                settled.fixed[u] = False
                _worst(margins, rows.gains[order[i]], np.float32(-1.0), near)
                if _lost(near, rows, settled, spare) <= spare:
                    stays[i] = False
                    _move(margins, rows.gains[order[i]], np.float32(-1.0))
                    changed = not monotone
                else:
                    settled.fixed[u] = True
    _worst(margins, margins, np.float32(0.0), near)
    found = _lost(near, rows, settled, spare)
    for i in range(size):
        settled.fixed[units[order[i]]] = False
    return found


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

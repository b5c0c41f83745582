"""Joint rows that are mostly zeros: the counts of ``engines.rows``, column by column.

Fixing a unit that is zero in the instance moves only the rows that hold it; fixing another moves
all rows by one number, and those that hold it by what they have besides (Lemma 45). So a table of
gains is never made: a member is a number, and a column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inlined, inner, kernel

__all__ = [
    "Columns",
    "are_needed",
    "kept_on_the_way",
    "least_size",
    "without_idle",
]


# So many sets are gone through before doubts are looked for.
_AT_A_TIME = 64


class Columns(NamedTuple):
    """A background seen from one instance, by columns."""

    margins: NDArray[np.int64]  # (n, rivals)
    weights: NDArray[np.int64]  # (n,)
    members: NDArray[np.intp]  # (h,): the column of each member
    known: NDArray[np.int64]  # (h, rivals): what the instance contributes there
    starts: NDArray[np.int64]  # (d + 1,): where the values of each column are
    rows: NDArray[np.int32]  # the row of each value
    entries: NDArray[np.int64]  # (values, rivals): what it contributes


@inner
def _worst(margins: NDArray[np.int64], r: Any) -> int:
    """Return the least margin of a row."""
    worst = margins[r, 0]
    for i in range(1, margins.shape[1]):
        worst = min(worst, margins[r, i])
    return worst  # type: ignore[no-any-return]


@inner
def _count(margins: NDArray[np.int64], weights: NDArray[np.int64], doubt: int) -> tuple[int, int]:
    """Return the weight of the rows that surely keep the class, and how many are in doubt."""
    kept = np.int64(0)
    unsure = 0
    for r in range(len(weights)):
        worst = _worst(margins, r)
        kept += weights[r] * (worst >= 0)
        unsure += (worst < 0) & (worst > -doubt) & (weights[r] > 0)
    return kept, unsure  # type: ignore[return-value]


@inlined
def _move(table: Columns, j: int, sign: int, doubt: int, kept: int, unsure: int) -> tuple[int, int]:
    """Fix a member (sign 1) or free it (-1); return the weight then kept, and the doubtful."""
    margins, column = table.margins, table.members[j]
    rivals = margins.shape[1]
    present = False
    for i in range(rivals):
        present |= table.known[j, i] != 0
    if present:  # it moves all rows, and not only those that hold it
        for r in range(len(margins)):
            for i in range(rivals):
                margins[r, i] += sign * table.known[j, i]
        for e in range(table.starts[column], table.starts[column + 1]):
            for i in range(rivals):
                margins[table.rows[e], i] -= sign * table.entries[e, i]
        return _count(margins, table.weights, doubt)
    for e in range(table.starts[column], table.starts[column + 1]):
        at = np.intp(table.rows[e])
        worst = _worst(margins, at)
        kept -= table.weights[at] * (worst >= 0)
        unsure -= (worst < 0) & (worst > -doubt) & (table.weights[at] > 0)
        for i in range(rivals):
            margins[at, i] -= sign * table.entries[e, i]
        worst = _worst(margins, at)
        kept += table.weights[at] * (worst >= 0)
        unsure += (worst < 0) & (worst > -doubt) & (table.weights[at] > 0)
    return kept, unsure


@kernel
def _walk(
    table: Columns, moves: NDArray[np.intp], doubt: int, needed: int, at: int, sweep: bool, way: Any
) -> int:
    """Make moves in the margins of a table, and note what is kept and doubtful after each."""
    kept, unsure = _count(table.margins, table.weights, doubt)
    way[0, 0], way[1, 0] = kept, unsure
    k, back = 0, False
    while k < len(moves) and (sweep or kept < needed or k < at):
        freed = (moves[k] < 0) != back
        j = moves[k] if moves[k] >= 0 else ~moves[k]
        kept, unsure = _move(table, j, -1 if freed else 1, doubt, kept, unsure)
        if not back:
            way[0, k + 1], way[1, k + 1] = kept, unsure
            if sweep and unsure:
                return k + 1
        back = sweep and not back and kept < needed
        k += not back
    return k


def _walked(
    table: Columns, moves: Any, doubt: int, needed: int, at: int = 0, sweep: bool = False
) -> NDArray[np.int64]:
    """Fix members (j) or free them (~j) one after the other, in the margins of a table (Lemma 45).

    Returns the weight kept before the first move and after each, and how many rows are in doubt. It
    ends where what is needed is reached, after ``at`` least so many. A sweep frees members, and
    fixes each again without which what is needed is not kept; it ends where a row is in doubt.
    """
    moves = np.asarray(moves, dtype=np.intp)
    way = np.empty((2, len(moves) + 1), dtype=np.int64)
    made = _walk(table, moves, doubt, needed, at, sweep, way)
    return way[:, : made + 1]


def _copied(table: Columns) -> Columns:
    """Return a table with margins of its own."""
    return table._replace(margins=table.margins.copy())


def kept_on_the_way(
    table: Columns, order: NDArray[np.intp], doubt: int, needed: int, at: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return the weight kept with the first 0, 1, 2, ... of an order fixed, and the doubtful.

    Up to the first that reaches what is needed, and ``at`` least so many; then come the margins
    with all of these fixed (Lemma 45).
    """
    table = _copied(table)
    kept, unsure = _walked(table, order, doubt, needed, at)
    return kept, unsure > 0, table.margins


def without_idle(
    table: Columns, order: NDArray[np.intp], needed: int, doubt: int
) -> tuple[NDArray[np.bool_], bool]:
    """Leave out members that are not needed, the last first, until all are (Corollary 4b).

    Returns which of the order stay, and whether no row was in doubt on the way; the answer means
    nothing otherwise.
    """
    table = _copied(table)
    _walked(table, order, doubt, needed, len(order))
    stays = np.ones(len(order), dtype=np.bool_)
    while True:
        tried = np.flatnonzero(stays)[::-1]
        kept, unsure = _walked(table, ~order[tried], doubt, needed, sweep=True)[:, 1:]
        if unsure.any():
            return stays, False
        stays[tried] = kept < needed
        if stays[tried].all():
            return stays, True


def are_needed(
    table: Columns, chosen: NDArray[np.intp], mixed: int, needed: int, doubt: int
) -> bool:
    """Prove that nothing can be left out: no set of the first ``mixed``, none of the others alone.

    Sets are gone through so that each differs from the one before by one member (Corollary 4b).
    False is no proof of the contrary: a row may have been in doubt.
    """
    table = _copied(table)
    _walked(table, chosen, doubt, needed, len(chosen))
    if mixed:
        steps = np.arange(1, 2**mixed)
        flipped = np.frexp(steps & -steps)[1] - 1  # the lowest bit of a step
        out = (steps ^ steps >> 1) >> flipped & 1
        moves = np.where(out, ~chosen[flipped], chosen[flipped])
        for start in range(0, len(moves), _AT_A_TIME):
            some = moves[start : start + _AT_A_TIME]
            kept, unsure = _walked(table, some, doubt, needed, 1)[:, 1:]
            if unsure.any() or (kept >= needed).any():
                return False
        _walked(table, chosen[mixed - 1 : mixed], doubt, needed, 1)  # the one that is out at last
    kept, unsure = _walked(table, ~chosen[mixed:], doubt, needed, sweep=True)[:, 1:]
    return not (unsure.any() or (kept >= needed).any())


@inner
def _insert(best: NDArray[np.int64], gain: int) -> None:
    """Put a number among the largest, which are in decreasing order."""
    i = len(best) - 1
    if gain <= best[i]:
        return
    while i > 0 and best[i - 1] < gain:
        best[i] = best[i - 1]
        i -= 1
    best[i] = gain


@inlined
def _best_gains(table: Columns, rival: int, floor: int, best: NDArray[np.int64]) -> None:
    """Write what each row below the floor can gain from single members, the most first."""
    margins = table.margins[:, rival]
    held = np.zeros(len(margins), dtype=np.bool_)
    best[:] = 0
    for j in range(len(table.members)):
        column = table.members[j]
        first, last = table.starts[column], table.starts[column + 1]
        known = table.known[j, rival]
        for e in range(first, last):
            r = table.rows[e]
            held[r] = True
            if margins[r] < floor:
                _insert(best[r], known - table.entries[e, rival])
        if known > 0:
            for r in range(len(margins)):
                if not held[r] and margins[r] < floor:
                    _insert(best[r], known)
        for e in range(first, last):
            held[table.rows[e]] = False


@kernel
def least_size(table: Columns, needed: int, floor: int, most: int) -> int:
    """Return a size, at most ``most``, that no set of a needed weight is smaller than.

    Each row on its own needs so many of the members that gain it the most (Lemma 32); a member
    that the instance lacks gains the rows that hold it alone (Lemma 45).
    """
    n, rivals = table.margins.shape
    weight = np.zeros(most + 1, dtype=np.int64)
    sizes = np.zeros(n, dtype=np.int64)
    best = np.empty((n, max(most, 1)), dtype=np.int64)
    for i in range(rivals):
        _best_gains(table, i, floor, best)
        for r in range(n):
            margin, size = table.margins[r, i], 0
            while margin < floor and size < most:
                margin += best[r, size]
                size = most if best[r, size] == 0 else size + 1
            sizes[r] = max(sizes[r], size)
    for r in range(n):
        weight[sizes[r]] += table.weights[r]
    total = np.int64(0)
    for size in range(most):
        total += weight[size]
        if total >= needed:
            return size
    return most

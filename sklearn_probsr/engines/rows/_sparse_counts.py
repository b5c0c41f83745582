"""Joint rows that are mostly zeros: the counts of ``engines.rows``, column by column.

Fixing a unit that is zero in the instance moves only the rows that hold it; fixing another moves
all rows by one number, and those that hold it by what they have besides (Lemma 45). So a table of
gains is never made: a member is a number, and a column.
"""

from __future__ import annotations

from typing import NamedTuple

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


# Signs of what is fixed and freed: of each literal number Numba would compile a function anew.
_FIXED, _FREED = np.int64(1), np.int64(-1)


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
def _worst(margins: NDArray[np.int64], r: int) -> int:
    """Return the least margin of a row."""
    worst = margins[r, 0]
    for i in range(1, margins.shape[1]):
        worst = min(worst, margins[r, i])
    return worst  # type: ignore[no-any-return]


@inner
def _is_present(table: Columns, j: int) -> bool:
    """Tell whether a member moves all rows, and not only those that hold it."""
    present = False
    for i in range(table.known.shape[1]):
        present |= table.known[j, i] != 0
    return present


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


@inner
def _fix(
    margins: NDArray[np.int64],
    table: Columns,
    j: int,
    sign: np.int64,
    doubt: int,
    kept: int,
    unsure: int,
) -> tuple[int, int]:
    """Fix a member (sign 1) or free it (sign -1); return the weight then kept, and the doubtful."""
    column = table.members[j]
    rivals = margins.shape[1]
    if _is_present(table, j):
        for r in range(len(margins)):
            for i in range(rivals):
                margins[r, i] += sign * table.known[j, i]
        for e in range(table.starts[column], table.starts[column + 1]):
            for i in range(rivals):
                margins[table.rows[e], i] -= sign * table.entries[e, i]
        return _count(margins, table.weights, doubt)
    for e in range(table.starts[column], table.starts[column + 1]):
        r = int(table.rows[e])
        worst = _worst(margins, r)
        kept -= table.weights[r] * (worst >= 0)
        unsure -= (worst < 0) & (worst > -doubt) & (table.weights[r] > 0)
        for i in range(rivals):
            margins[r, i] -= sign * table.entries[e, i]
        worst = _worst(margins, r)
        kept += table.weights[r] * (worst >= 0)
        unsure += (worst < 0) & (worst > -doubt) & (table.weights[r] > 0)
    return kept, unsure


@kernel
def kept_on_the_way(
    table: Columns, order: NDArray[np.intp], doubt: int, needed: int, at: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return the weight kept with the first 0, 1, 2, ... of an order fixed, and the doubtful.

    Up to the first that reaches what is needed, and ``at`` least so many; then come the margins
    with all of these fixed (Lemma 45).
    """
    margins = table.margins.copy()
    weights = np.zeros(len(order) + 1, dtype=np.int64)
    doubtful = np.zeros(len(order) + 1, dtype=np.bool_)
    kept, unsure = _count(margins, table.weights, doubt)
    for k in range(len(order) + 1):
        if k:
            kept, unsure = _fix(margins, table, order[k - 1], _FIXED, doubt, kept, unsure)
        weights[k], doubtful[k] = kept, unsure > 0
        if kept >= needed and k >= at:
            return weights[: k + 1], doubtful[: k + 1], margins
    return weights, doubtful, margins


@kernel
def without_idle(
    table: Columns, order: NDArray[np.intp], needed: int, doubt: int
) -> tuple[NDArray[np.bool_], bool]:
    """Leave out members that are not needed, the last first, until all are (Corollary 4b).

    Returns which of the order stay, and whether no row was in doubt on the way; the answer means
    nothing otherwise.
    """
    margins = table.margins.copy()
    kept, unsure = _count(margins, table.weights, doubt)
    for i in range(len(order)):
        kept, unsure = _fix(margins, table, order[i], _FIXED, doubt, kept, unsure)
    stays = np.ones(len(order), dtype=np.bool_)
    changed = True
    while changed:
        changed = False
        for i in range(len(order) - 1, -1, -1):
            if stays[i]:
                kept, unsure = _fix(margins, table, order[i], _FREED, doubt, kept, unsure)
                if unsure:
                    return stays, False
                if kept >= needed:
                    stays[i] = False
                    changed = True
                else:
                    kept, unsure = _fix(margins, table, order[i], _FIXED, doubt, kept, unsure)
    return stays, True


@kernel
def are_needed(
    table: Columns, chosen: NDArray[np.intp], mixed: int, needed: int, doubt: int
) -> bool:
    """Prove that nothing can be left out: no set of the first ``mixed``, none of the others alone.

    Sets are gone through so that each differs from the one before by one member (Corollary 4b).
    False is no proof of the contrary: a row may have been in doubt.
    """
    margins = table.margins.copy()
    kept, unsure = _count(margins, table.weights, doubt)
    for i in range(len(chosen)):
        kept, unsure = _fix(margins, table, chosen[i], _FIXED, doubt, kept, unsure)
    out = np.zeros(len(chosen), dtype=np.bool_)
    for step in range(1, 2**mixed):
        i = 0
        while not step >> i & 1:
            i += 1
        out[i] = not out[i]
        sign = _FREED if out[i] else _FIXED
        kept, unsure = _fix(margins, table, chosen[i], sign, doubt, kept, unsure)
        if unsure or kept >= needed:
            return False
    for i in range(mixed):
        if out[i]:
            kept, unsure = _fix(margins, table, chosen[i], _FIXED, doubt, kept, unsure)
    for i in range(mixed, len(chosen)):
        kept, unsure = _fix(margins, table, chosen[i], _FREED, doubt, kept, unsure)
        if unsure or kept >= needed:
            return False
        kept, unsure = _fix(margins, table, chosen[i], _FIXED, doubt, kept, unsure)
    return True


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

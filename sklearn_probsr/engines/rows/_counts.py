"""Joint rows: small sets of units that keep the class in most rows of a background.

A background row ``r`` starts with a margin ``m_r`` (negative: it is of the other class). Fixing a
member ``j`` adds ``gains[j, r]`` to it. A set is good enough when the weight of the rows with a
margin >= 0 reaches what is needed. Greedy sets are pruned elsewhere; a branch and bound over the
members can prove that no set of a size is good enough.

Against several rival classes a row has one margin for each, side by side: the class is kept if none
is negative.

No sum wraps (Proposition 13). A margin that was rounded and is in doubt decides nothing (Lemma 31).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel

__all__ = [
    "Rows",
    "branch_and_bound",
    "greedy",
    "is_needed",
    "kept_along",
    "kept_weight",
    "least_size",
    "narrowed",
    "open_rows",
    "prune",
    "worst_gains",
]

# The most numbers in the table of a branch and bound.
_MOST_CELLS = 2**26
# The most numbers of which rows are sorted: branch and bound, which gains from that, has a budget.
_MOST_SORTED = 2**19


class Rows(NamedTuple):
    """A background seen from one instance."""

    margins: NDArray[np.int64]  # (n rivals,): those of a row side by side
    weights: NDArray[np.int64]  # (n,)
    gains: NDArray[np.int64]  # (h, n rivals): what fixing each member adds to each margin


@kernel
def kept_weight(
    rows: Rows, chosen: NDArray[np.intp], doubt: int
) -> tuple[int, NDArray[np.int64], int]:
    """Return the weight of the rows that surely keep the class, margins, and how many are in doubt.

    A row is in doubt if a margin of it is negative, but none is as low as ``-doubt``.
    """
    margins = rows.margins.copy()
    for i in range(len(chosen)):
        _shift(margins, rows, chosen[i], 1)
    kept, unsure = _count(margins, rows.weights, doubt)
    return kept, margins, unsure


@inner
def _count(margins: NDArray[np.int64], weights: NDArray[np.int64], doubt: int) -> tuple[int, int]:
    """Return the weight of the rows that surely keep the class, and how many are in doubt."""
    kept = np.int64(0)
    unsure = 0
    n = len(weights)
    if len(margins) == n:
        for r in range(n):
            kept += weights[r] * (margins[r] >= 0)
            unsure += (margins[r] < 0) & (margins[r] > -doubt)
        return kept, unsure  # type: ignore[return-value]
    for r in range(n):
        worst = _worst(margins, r, n)
        kept += weights[r] * (worst >= 0)
        unsure += (worst < 0) & (worst > -doubt)
    return kept, unsure  # type: ignore[return-value]


@inner
def _worst(margins: NDArray[np.int64], r: int, n: int) -> int:
    """Return the least margin of a row of n."""
    rivals = len(margins) // n
    worst = margins[r * rivals]
    for i in range(r * rivals + 1, (r + 1) * rivals):
        worst = min(worst, margins[i])
    return worst  # type: ignore[no-any-return]


@inner
def _shift(margins: NDArray[np.int64], rows: Rows, j: int, sign: int) -> None:
    """Fix a member (sign 1) or free it again (sign -1)."""
    gain = rows.gains[j]
    for r in range(len(margins)):
        margins[r] += sign * gain[r]


@kernel
def open_rows(
    rows: Rows, members: NDArray[np.intp], forced: NDArray[np.intp], doubt: int
) -> tuple[Rows, int]:
    """Return the rows that members decide, forced ones fixed, and the weight that is always kept.

    A row that keeps the class whatever is fixed, or surely loses it whatever is fixed, needs no
    more looking at (Lemma 31).
    """
    margins = rows.margins.copy()
    for i in range(len(forced)):
        _shift(margins, rows, forced[i], 1)
    gains = np.empty((len(members), len(margins)), dtype=np.int64)
    for i in range(len(members)):
        gains[i] = rows.gains[members[i]]
    return narrowed(Rows(margins, rows.weights, gains), doubt)


@kernel
def narrowed(rows: Rows, doubt: int) -> tuple[Rows, int]:
    """Return the rows that members decide, and the weight that is always kept.

    The table of gains is written over: it may be as large as the data. Rows that are few enough
    to be branched on are sorted.
    """
    n = len(rows.weights)
    rivals = len(rows.margins) // max(n, 1)
    margins = rows.margins
    least = margins.copy()
    most = margins.copy()
    for i in range(len(rows.gains)):
        gain = rows.gains[i]
        for r in range(len(gain)):
            least[r] += min(gain[r], 0)
            most[r] += max(gain[r], 0)
    safe = np.int64(0)
    is_open = np.empty(n, dtype=np.bool_)
    for r in range(n):
        always = _worst(least, r, n) >= 0
        safe += rows.weights[r] * always
        is_open[r] = not always and _worst(most, r, n) >= -doubt
    left = np.flatnonzero(is_open)
    if rows.gains.size <= _MOST_SORTED:
        start = np.empty(len(left), dtype=np.int64)
        for i in range(len(left)):
            start[i] = _worst(margins, left[i], n)
        left = left[np.argsort(start)]  # the worst first: they refute a set soonest
    elif 10 * len(left) > 9 * n:
        # Not worth moving; rows that are always kept are then counted as the others are.
        return Rows(margins, rows.weights.copy(), rows.gains), np.int64(0)  # type: ignore[return-value]
    places = np.empty(len(left) * rivals, dtype=np.intp)
    for i in range(len(left)):
        for j in range(rivals):
            places[i * rivals + j] = left[i] * rivals + j
    m = len(places)
    flat = rows.gains.ravel()
    for i in range(len(rows.gains)):
        # Line by line: what is written over has been read.
        flat[i * m : (i + 1) * m] = rows.gains[i][places]
    gains = flat[: len(rows.gains) * m].reshape((len(rows.gains), m))
    return Rows(margins[places], rows.weights[left], gains), safe  # type: ignore[return-value]


@kernel
def worst_gains(rows: Rows) -> NDArray[np.float64]:
    """Return what fixing each member adds before each row's worst rival, summed up, about."""
    n = len(rows.weights)
    rivals = len(rows.margins) // n
    total = np.zeros(len(rows.gains))
    worst = np.empty(n, dtype=np.intp)
    for r in range(n):
        worst[r] = r * rivals + np.argmin(rows.margins[r * rivals : (r + 1) * rivals])
    for j in range(len(rows.gains)):
        gain = rows.gains[j]
        for r in range(n):
            total[j] += float(rows.weights[r]) * float(gain[worst[r]])
    return total


@inner
def _look_at(
    margins: NDArray[np.float64], weights: NDArray[np.float64], gain: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the weight kept with a member fixed, and what is missing in the other rows."""
    kept = 0.0
    missing = 0.0
    n = len(weights)
    if len(margins) == n:
        for r in range(n):
            margin = margins[r] + gain[r]
            kept += weights[r] * (margin >= 0.0)
            missing += weights[r] * min(margin, 0.0)
        return kept, missing
    rivals = len(margins) // n
    for r in range(n):
        worst = np.inf
        for i in range(r * rivals, (r + 1) * rivals):
            worst = min(worst, margins[i] + gain[i])
        kept += weights[r] * (worst >= 0.0)
        missing += weights[r] * min(worst, 0.0)
    return kept, missing


@kernel
def greedy(rows: Rows, needed: float, hinge: bool) -> NDArray[np.int64]:
    """Return members in the order in which greed adds them, until the weight is enough.

    All of them if it is infinite: floats cannot tell a weight of ``2^57`` from one more.

    Greed looks at the weight of the rows kept, then at how much is missing in the others; with
    ``hinge`` only at the latter. It goes by floats: what it finds is to be counted exactly.
    """
    h, n = rows.gains.shape
    margins = rows.margins.astype(np.float64)
    weights = rows.weights.astype(np.float64)
    order = np.empty(h, dtype=np.int64)
    free = np.ones(h, dtype=np.bool_)
    kept, _ = _look_at(margins, weights, np.zeros(n, dtype=np.int64))
    for k in range(h):
        if kept >= needed:
            return order[:k]
        best, best_rank, best_missing = -1, -1.0, -np.inf
        for j in range(h):
            if free[j]:
                now, missing = _look_at(margins, weights, rows.gains[j])
                rank = 0.0 if hinge else now
                if rank > best_rank or (rank == best_rank and missing > best_missing):
                    best, best_rank, best_missing, kept = j, rank, missing, now
        order[k] = best
        free[best] = False
        for r in range(n):
            margins[r] += rows.gains[best, r]
    return order


@inner
def _needed_alone(rows: Rows, i: int, floor: int, most: int) -> int:
    """Return how many members, the best for it first, bring one margin to the floor."""
    h = len(rows.gains)
    margin = rows.margins[i]
    if margin >= floor:
        return 0
    gain = np.zeros(h + 1, dtype=np.int64)  # one more: nothing to gain
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


@kernel
def least_size(rows: Rows, needed: int, floor: int, most: int) -> int:
    """Return a size, at most ``most``, that no set of a needed weight is smaller than.

    Each row on its own needs so many of the members that gain it the most (Lemma 32).
    """
    n = len(rows.weights)
    rivals = len(rows.margins) // max(n, 1)
    weight = np.zeros(most + 1, dtype=np.int64)
    for r in range(n):
        size = 0
        for i in range(r * rivals, (r + 1) * rivals):
            size = max(size, _needed_alone(rows, i, floor, most))
        weight[size] += rows.weights[r]
    total = np.int64(0)
    for size in range(most):
        total += weight[size]
        if total >= needed:
            return size
    return most


@inner
def _most_to_gain(rows: Rows, size: int) -> NDArray[np.int64]:
    """Return the most that ``left`` members from a position on can add to each row."""
    h, n = rows.gains.shape
    most = np.empty((size + 1, h + 1, n), dtype=np.int64)
    most[0] = 0
    most[:, h] = 0
    for left in range(1, size + 1):
        for p in range(h - 1, -1, -1):
            here, later, fewer = most[left, p], most[left, p + 1], most[left - 1, p + 1]
            gain = rows.gains[p]
            for r in range(n):
                here[r] = max(gain[r] + fewer[r], later[r])
    return most


@inner
def _lost(
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


@kernel
def branch_and_bound(
    rows: Rows, size: int, needed: int, floor: int, budget: int
) -> tuple[int, NDArray[np.bool_], int]:
    """Look for ``size`` members that bring the rows of a needed weight to the floor.

    Members are taken or left in turn. With ``left`` still to take from position p on, a row can
    gain at most what its best ``left`` members from there add; where even that does not suffice,
    the branch is cut (Lemma 32).

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
    spent = size * h * n
    if spent > budget or spent > _MOST_CELLS:
        return -1, chosen, 0
    most = _most_to_gain(rows, size)
    margins = rows.margins.copy()
    position, left = 0, size
    spare = rows.weights.sum() - needed
    while spent <= budget:
        hopeful = spare >= 0 and h - position >= left
        if hopeful:
            gain = most[left, position]
            lost, looked = _lost(margins, gain, rows.weights, floor, spare)
            spent += looked + n // 4  # a member moves all margins at once, which is faster
            hopeful = lost <= spare
        if hopeful and left == 0:
            return 1, chosen, spent
        if hopeful:
            chosen[position] = True
            left -= 1
            _shift(margins, rows, position, 1)
        else:
            # Go back to the last member taken, and leave it.
            position -= 1
            while position >= 0 and not chosen[position]:
                position -= 1
            if position < 0:
                return 0, chosen, spent
            chosen[position] = False
            left += 1
            _shift(margins, rows, position, -1)
        position += 1
    return -1, chosen, spent


@kernel
def kept_along(
    rows: Rows, order: NDArray[np.intp], doubt: int, needed: int, at: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the weight kept with the first 0, 1, 2, ... of an order fixed, and the doubtful.

    Up to the first that reaches what is needed, and ``at`` least so many.
    """
    margins = rows.margins.copy()
    kept = np.zeros(len(order) + 1, dtype=np.int64)
    unsure = np.zeros(len(order) + 1, dtype=np.bool_)
    for k in range(len(order) + 1):
        if k:
            _shift(margins, rows, order[k - 1], 1)
        kept[k], doubtful = _count(margins, rows.weights, doubt)
        unsure[k] = doubtful > 0
        if kept[k] >= needed and k >= at:
            return kept[: k + 1], unsure[: k + 1]
    return kept, unsure


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
        False if a row was in doubt on the way: the answer means nothing then.
    """
    margins = rows.margins.copy()
    for i in range(len(order)):
        _shift(margins, rows, order[i], 1)
    stays = np.ones(len(order), dtype=np.bool_)
    changed = True
    while changed:
        changed = False
        for i in range(len(order) - 1, -1, -1):
            if stays[i]:
                _shift(margins, rows, order[i], -1)
                kept, doubtful = _count(margins, rows.weights, doubt)
                if doubtful:
                    return stays, False
                if kept >= needed:
                    stays[i] = False
                    changed = True
                else:
                    _shift(margins, rows, order[i], 1)
    return stays, True


@kernel
def is_needed(rows: Rows, chosen: NDArray[np.intp], mixed: int, needed: int, doubt: int) -> bool:
    """Prove that nothing can be left out: no set of the first ``mixed``, none of the others alone.

    Sets are gone through so that each differs from the one before by one member. False is no proof
    of the contrary: a row may have been in doubt.
    """
    margins = rows.margins.copy()
    for i in range(len(chosen)):
        _shift(margins, rows, chosen[i], 1)
    out = np.zeros(len(chosen), dtype=np.bool_)
    for step in range(1, 2**mixed + len(chosen) - mixed):
        i = 0
        if step < 2**mixed:
            while not step >> i & 1:
                i += 1
        else:
            i = mixed + step - 2**mixed
        out[i] = not out[i]
        _shift(margins, rows, chosen[i], -1 if out[i] else 1)
        kept, doubtful = _count(margins, rows.weights, doubt)
        if doubtful or kept >= needed:
            return False
        if step == 2**mixed - 1:  # of the mixed ones, the last alone is out
            for j in range(mixed):
                if out[j]:
                    _shift(margins, rows, chosen[j], 1)
        elif step >= 2**mixed:
            _shift(margins, rows, chosen[i], 1)
    return True

"""Greed over joint rows that are mostly zeros, before several rivals.

As in ``engines.rows._sparse_greed``, by floats: what it finds is to be counted exactly. Of the
members that an instance has, all rows are gone through rival by rival, in blocks that stay in a
processor's nearest cache and in floats of 32 bits; margins are moved in floats of 64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._rival_floors import Documents, Values

__all__ = ["Background", "Candidates", "Words", "greedy_units"]

# Rows that are gone through at a time.
_BLOCK = 256
# One of so many blocks is looked at for all members of an instance; of so few members all are.
_PARTS, _FEW = 4, 8
# Rows that are lost are few if they are less than one in so many.
_FEW_LOST = 10
# Of each literal Numba would compile a function anew.
_YES, _NO = np.bool_(True), np.bool_(False)


class Background(NamedTuple):
    """Rows by rows and by columns, and what they have to spare."""

    docs: Documents
    values: Values
    margins: NDArray[np.int64]  # (n, rivals)
    weights: NDArray[np.int64]


class Words(NamedTuple):
    """The members that an instance has, zeros of the rows filled in."""

    held: NDArray[np.float32]  # (members, n): values over their powers of two
    whole: NDArray[np.float32]  # (members, rivals): what these are multiplied by
    known: NDArray[np.float32]  # (members, rivals): what the instance contributes


class Candidates(NamedTuple):
    """The members that greed chooses from."""

    present: NDArray[np.intp]  # columns that the instance has
    words: Words
    known: NDArray[np.float64]  # (present, rivals): what the instance contributes there
    absent: NDArray[np.intp]  # columns that it lacks
    most: NDArray[np.float64]  # what each of these can bring, the largest first (Lemma 46)
    least: NDArray[np.float64]  # what each can take off what is missing, at most (Lemma 46)
    lift: NDArray[np.float64]  # (n, rivals): no margin rises by more when one of them is fixed


class _Stand(NamedTuple):
    """Margins as they are, and the worst of each row."""

    margins: NDArray[np.float64]  # (n, rivals)
    narrow: NDArray[np.float32]  # (rivals, n): the same
    worst: NDArray[np.float64]
    rival: NDArray[np.intp]
    weights: NDArray[np.float64]


@inner
def _is_better(rank: float, left: float, best: tuple[int, float, float]) -> bool:
    """Tell whether a member is better than the best so far."""
    return rank > best[1] or (rank == best[1] and left > best[2])


@inner
def _look_at_row(stand: _Stand, r: int) -> None:
    """Find the worst rival of a row."""
    worst, rival = np.inf, 0
    for i in range(stand.margins.shape[1]):
        margin = stand.margins[r, i]
        stand.narrow[i, r] = margin
        if margin < worst:
            worst, rival = margin, i
    stand.worst[r], stand.rival[r] = worst, rival


@inner
def _look_around(stand: _Stand) -> tuple[float, float]:
    """Return the weight kept, and what the other rows miss."""
    kept = 0.0
    missing = 0.0
    for r in range(len(stand.weights)):
        worst = stand.worst[r]
        kept += stand.weights[r] * (worst >= 0.0)
        missing += stand.weights[r] * min(worst, 0.0)
    return kept, missing


@inner
def _look_at_rows(
    start: int, size: int, j: int, narrow: NDArray[np.float32], words: Words
) -> NDArray[np.float32]:
    """Return about the least margins of some rows with a member of the instance fixed."""
    rivals = len(narrow)
    low = np.empty(size, dtype=np.float32)
    for r in range(size):
        low[r] = np.inf
    own = words.held[j, start : start + size]
    for i in range(0, rivals - 1, 2):
        # Two rivals at a time: half as much is read and written.
        first, second = narrow[i, start : start + size], narrow[i + 1, start : start + size]
        a, b = words.known[j, i], words.known[j, i + 1]
        c, d = words.whole[j, i], words.whole[j, i + 1]
        for r in range(size):
            one = first[r] + (a - c * own[r])
            other = second[r] + (b - d * own[r])
            least = one if one < other else other
            low[r] = least if least < low[r] else low[r]
    if rivals % 2:
        last = narrow[rivals - 1, start : start + size]
        a, c = words.known[j, rivals - 1], words.whole[j, rivals - 1]
        for r in range(size):
            one = last[r] + (a - c * own[r])
            low[r] = one if one < low[r] else low[r]
    return low


@inner
def _look_at_present(
    narrow: NDArray[np.float32],
    weights: NDArray[np.float64],
    words: Words,
    asked: NDArray[np.bool_],
    part: np.bool_,
    out: NDArray[np.float64],
) -> int:
    """Add the weight kept with each member fixed, and what the other rows miss, of some rows.

    These are a part of the rows, or all others; if they are few, the part is all of them.
    """
    n = len(weights)
    looked = 0
    for start in range(0, n, _BLOCK):
        own = n <= _PARTS * _BLOCK or start // _BLOCK % _PARTS == 0
        if own != part:
            continue
        size = min(_BLOCK, n - start)
        for j in range(len(asked)):
            if not asked[j]:
                continue
            looked += size
            low = _look_at_rows(start, size, j, narrow, words)
            kept, missing = 0.0, 0.0
            for r in range(size):
                weight = weights[start + r]
                kept += weight if low[r] >= 0 else 0.0
                missing += weight * (low[r] if low[r] < 0 else 0.0)
            out[j, 0] += kept
            out[j, 1] += missing
    return looked


@inner
def _best_of(
    out: NDArray[np.float64], asked: NDArray[np.bool_], hinge: bool
) -> tuple[int, float, float]:
    """Return the best of the members that were looked at."""
    best = (-1, -1.0, -np.inf)
    for j in range(len(asked)):
        rank = 0.0 if hinge else out[j, 0]
        if asked[j] and _is_better(rank, out[j, 1], best):
            best = (j, rank, out[j, 1])
    return best


@inner
def _best_present(
    narrow: NDArray[np.float32],
    weights: NDArray[np.float64],
    words: Words,
    free: NDArray[np.bool_],
    hinge: bool,
) -> tuple[tuple[int, float, float], int]:
    """Return the best of the members of the instance, and the visits.

    All of them are looked at in a part of the rows, and those few that are best there in all rows.
    """
    asked = free.copy()
    out = np.zeros((len(free), 2))
    looked = _look_at_present(narrow, weights, words, asked, _YES, out)
    few = np.zeros(len(free), dtype=np.bool_)
    for _ in range(_FEW):
        best = _best_of(out, asked, hinge)
        if best[0] >= 0:
            few[best[0]] = True
            asked[best[0]] = False
    looked += _look_at_present(narrow, weights, words, few, _NO, out)
    return _best_of(out, few, hinge), looked


@inner
def _look_aside(stand: _Stand, table: Values, j: int, several: np.bool_) -> tuple[float, float]:
    """Return by how much fixing a member that the instance lacks changes both.

    Before each row's worst rival alone it is at most that much better (Lemma 151).
    """
    kept = 0.0
    missing = 0.0
    whole = table.whole[table.line[j]]
    for e in range(table.starts[j], table.starts[j + 1]):
        r = table.rows[e]
        y = table.values[e] * table.first[j] * table.second[j]
        before = stand.worst[r]
        worst = before - whole[stand.rival[r]] * y
        if several:
            for i in range(len(whole)):
                worst = min(worst, stand.margins[r, i] - whole[i] * y)
        weight = stand.weights[r]
        kept += weight * (worst >= 0.0) - weight * (before >= 0.0)
        missing += weight * (min(worst, 0.0) - min(before, 0.0))
    return kept, missing


@inner
def _count_lifted(
    stand: _Stand, data: Background, lift: NDArray[np.float64], least: float, hinge: bool
) -> NDArray[np.float64]:
    """Return what each column brings at most, by each row's worst rival alone (Lemma 151).

    That is the weight of the rows that it lifts to zero, or what it takes off what is missing. Rows
    are passed over that no column lifts so far, and columns that cannot lift the least that would
    help.
    """
    docs, table = data.docs, data.values
    found = np.zeros(len(table.first))
    heaviest = 1.0
    for weight in stand.weights:
        heaviest = max(heaviest, weight)
    for r in range(len(stand.weights)):
        worst, rival = stand.worst[r], stand.rival[r]
        if worst >= 0.0 or (not hinge and worst + lift[r, rival] < 0.0):
            continue
        for e in range(docs.starts[r], docs.starts[r + 1]):
            j = docs.columns[e]
            if not hinge and heaviest * (table.starts[j + 1] - table.starts[j]) < least:
                continue
            y = docs.values[e] * table.first[j] * table.second[j]
            margin = min(worst - table.whole[table.line[j], rival] * y, 0.0)
            if hinge:
                found[j] += stand.weights[r] * (margin - worst)
            elif margin == 0.0:
                found[j] += stand.weights[r]
    return found


@inner
def _are_few_lost(stand: _Stand) -> bool:
    """Tell whether rows that are lost are soon gone through with all that they hold."""
    lost = 0
    for worst in stand.worst:
        lost += worst < 0.0
    return _FEW_LOST * lost < len(stand.worst)


@inner
def _best_absent(
    stand: _Stand,
    data: Background,
    some: Candidates,
    free: NDArray[np.bool_],
    hinge: bool,
    now: tuple[float, float],
    best: tuple[int, float, float],
) -> tuple[tuple[int, float, float], int]:
    """Return the best of a member so far and those that the instance lacks, and the visits."""
    kept, missing = now
    table = data.values
    looked = 0
    rivals = stand.margins.shape[1]
    counted = not hinge or _are_few_lost(stand)
    if counted:
        brought = _count_lifted(stand, data, some.lift, best[1] - kept, hinge)
    for i in range(len(some.absent)):
        bound = (missing if hinge else kept) + some.most[i]
        if best[0] >= 0 and bound < (best[2] if hinge else best[1]):
            break
        j = some.absent[i]
        if not free[i]:
            continue
        if counted:
            rank = 0.0 if hinge else kept + brought[j]
            left = missing + (brought[j] if hinge else some.least[i])
            if not _is_better(rank, left, best):
                continue
        more, less = _look_aside(stand, table, j, _NO)
        length = table.starts[j + 1] - table.starts[j]
        looked += length
        if _is_better(0.0 if hinge else kept + more, missing + less, best):
            more, less = _look_aside(stand, table, j, _YES)
            looked += length * rivals
            rank, left = 0.0 if hinge else kept + more, missing + less
            if _is_better(rank, left, best):
                best = (len(some.present) + i, rank, left)
    return best, looked


@inner
def _take(stand: _Stand, table: Values, j: int, known: NDArray[np.float64]) -> None:
    """Fix a member, in floats; one that the instance lacks, with nothing known, moves few rows."""
    whole = table.whole[table.line[j]]
    for e in range(table.starts[j], table.starts[j + 1]):
        r = table.rows[e]
        y = table.values[e] * table.first[j] * table.second[j]
        for i in range(len(whole)):
            stand.margins[r, i] -= np.floor(whole[i] * y)
        if not len(known):
            _look_at_row(stand, r)
    if len(known):
        for r in range(len(stand.weights)):
            for i in range(len(known)):
                stand.margins[r, i] += known[i]
            _look_at_row(stand, r)


@kernel
def greedy_units(
    data: Background, some: Candidates, needed: float, hinge: bool, budget: int
) -> NDArray[np.intp]:
    """Return columns in the order in which greed fixes them, until the weight is enough.

    Words that the instance lacks are looked at while they may be best (Lemmas 46 and 150). It ends
    after a budget of visits of rows, each before one rival.
    """
    table = data.values
    n, rivals = data.margins.shape
    narrow, rival = np.empty((rivals, n), dtype=np.float32), np.empty(n, dtype=np.intp)
    margins, weights = data.margins.astype(np.float64), data.weights.astype(np.float64)
    stand = _Stand(margins, narrow, np.empty(n), rival, weights)
    for r in range(n):
        _look_at_row(stand, r)
    here = len(some.present)
    free = np.ones(here + len(some.absent), dtype=np.bool_)
    none = np.empty(0)
    order = np.empty(len(free), dtype=np.intp)
    for k in range(len(free)):
        now = _look_around(stand)
        if budget < 0 or now[0] >= needed:
            return order[:k]
        best, looked = _best_present(narrow, weights, some.words, free[:here], hinge)
        budget -= rivals * looked
        best, looked = _best_absent(stand, data, some, free[here:], hinge, now, best)
        budget -= looked
        at = best[0]
        free[at] = False
        order[k] = some.present[at] if at < here else some.absent[at - here]
        _take(stand, table, order[k], some.known[at] if at < here else none)
    return order

"""Greed over joint rows that are mostly zeros, before several rivals.

As in ``engines.rows._sparse_greed``, by floats: what it finds is to be counted exactly (Lemma 45).
Of the members that an instance has, all rows are gone through rival by rival, in blocks that stay
in a processor's nearest cache and in floats of 32 bits; margins are moved in floats of 64. A step
of greed asks one small kernel after the other: one around all of them takes as long to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inlined, inner, kernel
from sklearn_probsr.engines.rows._rival_floors import Documents, Values

__all__ = ["Background", "Candidates", "Words", "greedy_units"]

# Rows that are gone through at a time.
_BLOCK = 256
# One of so many blocks is looked at for all members of an instance; of so few members all are.
_PARTS, _FEW = 4, 8
# Rows that are lost are few if they are less than one in so many.
_FEW_LOST = 10


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
    narrow: NDArray[np.float32]  # (rivals, n): the same; if these are odd, the last stands twice
    worst: NDArray[np.float64]
    rival: NDArray[np.intp]
    weights: NDArray[np.float64]


class _Absent(NamedTuple):
    """The members that an instance lacks, as in `Candidates`, and what is known at a step."""

    columns: NDArray[np.intp]
    most: NDArray[np.float64]
    least: NDArray[np.float64]
    free: NDArray[np.bool_]
    brought: NDArray[np.float64]  # what each column brings at most; if there are none, any
    place: int  # of the first of them among all members


class _Best(NamedTuple):
    """The best member so far: its place among the candidates, and what it leaves."""

    at: int
    rank: float  # the weight kept, or 0 if that does not count
    left: float  # what the other rows miss


@kernel
def _look_at_present(
    stand: _Stand,
    words: Words,
    asked: NDArray[np.intp],
    part: bool,
    low: NDArray[np.float32],
    out: NDArray[np.float64],
) -> int:
    """Add the weight kept with each member fixed, and what the other rows miss, of some rows.

    These are a part of the rows, or all others; if they are few, the part is all of them. Returns
    how often a row was looked at. ``low`` is room for a block.
    """
    narrow, n = stand.narrow, len(stand.weights)
    looked = 0
    for start in range(0, n, _BLOCK):
        own = n <= _PARTS * _BLOCK or start // _BLOCK % _PARTS == 0
        if own != part:
            continue
        size = min(_BLOCK, n - start)
        for j in asked:
            looked += size
            held = words.held[j, start : start + size]
            low[:] = np.inf
            for i in range(0, len(narrow), 2):
                # Two rivals at a time: half as much is read and written.
                first, second = narrow[i, start : start + size], narrow[i + 1, start : start + size]
                a, b = words.known[j, i], words.known[j, i + 1]
                c, d = words.whole[j, i], words.whole[j, i + 1]
                for r in range(size):
                    one = first[r] + (a - c * held[r])
                    other = second[r] + (b - d * held[r])
                    least = one if one < other else other
                    low[r] = least if least < low[r] else low[r]
            kept, missing = 0.0, 0.0
            for r in range(size):
                weight = stand.weights[start + r]
                kept += weight if low[r] >= 0 else 0.0
                missing += weight * (low[r] if low[r] < 0 else 0.0)
            out[j, 0] += kept
            out[j, 1] += missing
    return looked


def _by_rank(out: NDArray[np.float64], hinge: bool) -> NDArray[np.intp]:
    """Return members that were looked at, the best first."""
    return np.lexsort((-out[:, 1],) if hinge else (-out[:, 1], -out[:, 0]))


def _best_present(
    stand: _Stand, words: Words, free: NDArray[np.intp], hinge: bool
) -> tuple[_Best, int]:
    """Return the best of the members of the instance, and the visits.

    All of them are looked at in a part of the rows, and those few that are best there in all rows.
    """
    if not len(free):
        return _Best(-1, -1.0, -np.inf), 0
    out, low = np.zeros((len(words.held), 2)), np.empty(_BLOCK, dtype=np.float32)
    looked = _look_at_present(stand, words, free, True, low, out)
    few = free[_by_rank(out[free], hinge)[:_FEW]]
    looked += _look_at_present(stand, words, few, False, low, out)
    few.sort()
    at = few[_by_rank(out[few], hinge)[0]]
    return _Best(int(at), 0.0 if hinge else float(out[at, 0]), float(out[at, 1])), looked


@kernel
def _count_lifted(
    stand: _Stand,
    data: Background,
    lift: NDArray[np.float64],
    least: float,
    hinge: bool,
    found: NDArray[np.float64],
) -> None:
    """Add what each column brings at most, by each row's worst rival alone (Lemma 151).

    That is the weight of the rows that it lifts to zero, or what it takes off what is missing. Rows
    are passed over that no column lifts so far, and columns that cannot lift the least that would
    help.
    """
    docs, table = data.docs, data.values
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


@inner
def _is_better(rank: float, left: float, best: _Best) -> bool:
    """Tell whether a member is better than the best so far."""
    return rank > best.rank or (rank == best.rank and left > best.left)


@inlined
def _look_aside(stand: _Stand, table: Values, j: int, several: bool) -> tuple[float, float]:
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


@kernel
def _best_absent(
    stand: _Stand,
    table: Values,
    absent: _Absent,
    hinge: bool,
    now: tuple[float, float],
    best: _Best,
) -> tuple[_Best, int]:
    """Return the best of a member so far and those that the instance lacks, and the visits."""
    kept, missing = now
    looked = 0
    for i in range(len(absent.columns)):
        bound = (missing if hinge else kept) + absent.most[i]
        if bound < (best.left if hinge else best.rank):
            break
        j = absent.columns[i]
        if not absent.free[i]:
            continue
        if len(absent.brought):
            rank = 0.0 if hinge else kept + absent.brought[j]
            left = missing + (absent.brought[j] if hinge else absent.least[i])
            if not _is_better(rank, left, best):
                continue
        for turn in range(2):  # before each row's worst rival, and then before all of them
            more, less = _look_aside(stand, table, j, turn > 0)
            looked += (table.starts[j + 1] - table.starts[j]) * (
                table.whole.shape[1] if turn else 1
            )
            rank, left = 0.0 if hinge else kept + more, missing + less
            if not _is_better(rank, left, best):
                break
            if turn:
                best = _Best(absent.place + i, rank, left)
    return best, looked


@kernel
def _take(
    stand: _Stand, table: Values, j: int, known: NDArray[np.float64], rows: NDArray[Any]
) -> None:
    """Fix a member, in floats, and find the worst rivals of the rows that it moves."""
    whole = table.whole[table.line[j]]
    for e in range(table.starts[j], table.starts[j + 1]):
        y = table.values[e] * table.first[j] * table.second[j]
        for i in range(len(whole)):
            stand.margins[table.rows[e], i] -= np.floor(whole[i] * y)
    for r in rows:
        worst, rival = np.inf, 0
        for i in range(len(whole)):
            margin = stand.margins[r, i] + known[i]
            stand.margins[r, i] = margin
            stand.narrow[i, r] = margin
            if margin < worst:
                worst, rival = margin, i
        stand.worst[r], stand.rival[r] = worst, rival
        stand.narrow[len(stand.narrow) - 1, r] = stand.margins[r, len(whole) - 1]


def greedy_units(
    data: Background, some: Candidates, needed: float, hinge: bool, budget: int
) -> NDArray[np.intp]:
    """Return columns in the order in which greed fixes them, until the weight is enough.

    Words that the instance lacks are looked at while they may be best (Lemmas 46 and 150). It ends
    after a budget of visits of rows, each before one rival.
    """
    table, known = data.values, some.known
    (n, rivals), here = data.margins.shape, len(some.present)
    even = np.minimum(np.arange(rivals + rivals % 2), rivals - 1)
    words = some.words._replace(whole=some.words.whole[:, even], known=some.words.known[:, even])
    margins, weights = data.margins.astype(np.float64), data.weights.astype(np.float64)
    narrow = np.ascontiguousarray(margins.T[even], dtype=np.float32)
    stand = _Stand(margins, narrow, margins.min(axis=1), margins.argmin(axis=1), weights)
    free = np.ones(here + len(some.absent), dtype=np.bool_)
    none, all_rows = np.zeros(rivals), np.arange(n, dtype=np.int32)
    nothing = np.empty(0)
    order: list[int] = []
    while len(order) < len(free) and budget >= 0:
        lost = stand.worst < 0.0
        now = float(weights @ ~lost), float(weights @ np.minimum(stand.worst, 0.0))
        if now[0] >= needed:
            break
        best, looked = _best_present(stand, words, np.flatnonzero(free[:here]), hinge)
        budget -= rivals * looked
        brought = nothing
        if not hinge or _FEW_LOST * np.count_nonzero(lost) < n:
            brought = np.zeros(len(table.first))
            _count_lifted(stand, data, some.lift, best.rank - now[0], hinge, brought)
        absent = _Absent(some.absent, some.most, some.least, free[here:], brought, here)
        best, looked = _best_absent(stand, table, absent, hinge, now, best)
        budget -= looked
        free[best.at] = False
        j = int(some.present[best.at] if best.at < here else some.absent[best.at - here])
        moved = all_rows if best.at < here else table.rows[table.starts[j] : table.starts[j + 1]]
        _take(stand, table, j, known[best.at] if best.at < here else none, moved.copy())
        order.append(j)
    return np.array(order, dtype=np.intp)

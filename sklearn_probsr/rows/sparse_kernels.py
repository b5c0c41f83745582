"""Rows that are mostly zeros before the rivals of one class: counts, greed, needs and claims.

What comes in is a background by columns (`Columns`), whose values are multiplied by whole-number
weights, one for each rival, and rounded; and an instance before it (`Case`): what every row has to
spare with some units fixed. Numbers are whole floats of 64 bits whose sums stay below ``2^53``, so
that no order of additions matters (Lemma 45). Margins are optimistic: a row with one below 0 is
surely lost, one with all of them at ``sure`` or above is surely kept, and the others are in doubt.

Fixing a word that the instance lacks moves the rows that hold it and no other (Lemma 45): nothing
as large as a filled table is ever made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel

__all__ = [
    "Candidates",
    "Case",
    "Columns",
    "Documents",
    "Members",
    "Room",
    "add_up",
    "claim",
    "column_sums",
    "follow",
    "greedy",
    "needs",
    "prune",
]

# One in so many members of the instance is looked at in every step, beside those that were best.
_TURNS = 8
# Words that an instance lacks are judged by so many rows that are lost.
_LOST = 512
# Members that save less than this part of what the best saves in a part of the rows are not looked
# at in all of them.
_NEAR = 0.85
# Where words save less than this part of what the best saves, they wait for so many steps.
_FAR, _WAIT = 0.7, 4


class Columns(NamedTuple):
    """Rows by columns, and what a value is worth for each score."""

    starts: NDArray[np.int64]  # (d + 1,): where the values of each column are
    rows: NDArray[np.int32]  # (values,): the row of each
    values: NDArray[np.float64]  # (values,)
    weights: NDArray[np.float64]  # (d, K): over the scale


class Documents(NamedTuple):
    """Rows by rows, with what a zero in place of each value would add."""

    starts: NDArray[np.int64]  # (n + 1,)
    columns: NDArray[np.int32]  # (values,): places among the words
    worths: NDArray[np.float32]  # (K, values): what each adds to every score, about


class Candidates(NamedTuple):
    """Which columns greed may fix, and what they cost."""

    present: NDArray[np.intp]  # (k,): columns that the instance has
    free: NDArray[np.bool_]  # (k,)
    prices: NDArray[np.float64]  # (k,)
    words: NDArray[np.intp]  # (w,): the columns that some row of the part holds
    absent: NDArray[np.bool_]  # (w,): those that the instance lacks and that may be fixed
    word_prices: NDArray[np.float64]  # (w,)
    priced: bool  # whether some price is not 1


class Room(NamedTuple):
    """Room to work in, for greed."""

    low: NDArray[np.float64]  # (n,)
    worst: NDArray[np.float64]  # (n,)
    part_low: NDArray[np.float64]  # (rows of the part,)
    part_worst: NDArray[np.float64]
    lifted: NDArray[np.float64]  # (w,)
    scores: NDArray[np.float64]  # (k,)
    favourite: NDArray[np.bool_]  # (k,)
    chosen: NDArray[np.intp]  # (so many are the best,)


class Case(NamedTuple):
    """Rows before one instance, with some of its units fixed."""

    margins: NDArray[np.float64]  # (R, n)
    winner: int  # the score of the class, and those of its rivals
    rivals: NDArray[np.int64]  # (R,)
    counts: NDArray[np.float64]  # (n,): what each row weighs
    place: NDArray[np.int32]  # (d,): of a column among those that the instance has; -1 elsewhere
    known: NDArray[np.float64]  # (columns that the instance has, R): what it adds there
    sure: float  # from here on a row is surely kept


@inner
def _ahead(table: Columns, case: Case, j: Any, k: Any) -> float:
    """Return the weight of a column before a rival."""
    weights = table.weights[j]
    return weights[case.winner] - weights[case.rivals[k]]  # type: ignore[no-any-return]


@inner
def _move(table: Columns, case: Case, margins: NDArray[np.float64], j: Any, sign: Any) -> None:
    """Fix a column (sign 1) or free it (-1)."""
    rivals, n = margins.shape
    p = case.place[j]
    for k in range(rivals):
        line = margins[k]
        if p >= 0:
            shift = sign * case.known[p, k]
            for r in range(n):
                line[r] += shift
        weight = sign * _ahead(table, case, j, k)
        for e in range(table.starts[j], table.starts[j + 1]):
            line[table.rows[e]] -= np.rint(weight * table.values[e])


@inner
def _lowest(margins: NDArray[np.float64], low: NDArray[np.float64]) -> None:
    """Write the least margin of every row."""
    rivals, n = margins.shape
    first = margins[0]
    for r in range(n):
        low[r] = first[r]
    for k in range(1, rivals):
        line = margins[k]
        for r in range(n):
            low[r] = min(low[r], line[r])


@inner
def _look(table: Columns, case: Case, j: Any, sign: Any, low: NDArray[np.float64]) -> None:
    """Write the least margin that every row has with a column fixed (sign 1) or freed (-1)."""
    margins = case.margins
    rivals, n = margins.shape
    p = case.place[j]
    for k in range(rivals):
        line = margins[k]
        shift = sign * case.known[p, k] if p >= 0 else 0.0
        if k == 0:
            for r in range(n):
                low[r] = line[r] + shift
        else:
            for r in range(n):
                low[r] = min(low[r], line[r] + shift)
    for e in range(table.starts[j], table.starts[j + 1]):
        low[table.rows[e]] = _moved(table, case, j, sign, e)


@inner
def _moved(table: Columns, case: Case, j: Any, sign: Any, e: Any) -> float:
    """Return the least margin of a row that holds a column, with that fixed or freed."""
    p, r, value = case.place[j], table.rows[e], sign * table.values[e]
    least = np.inf
    for k in range(len(case.margins)):
        margin = case.margins[k, r] - np.rint(_ahead(table, case, j, k) * value)
        if p >= 0:
            margin += sign * case.known[p, k]
        least = min(least, margin)
    return least


@inner
def _lost(low: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Return the weight of the rows below 0."""
    lost = 0.0
    for r in range(len(low)):
        lost += counts[r] if low[r] < 0.0 else 0.0
    return lost


@inner
def _doubtful(low: NDArray[np.float64], sure: float) -> int:
    """Return how many rows are neither surely lost nor surely kept."""
    unsure = 0
    for r in range(len(low)):
        unsure += (low[r] >= 0.0) & (low[r] < sure)
    return unsure


@kernel
def follow(
    table: Columns,
    case: Case,
    order: NDArray[np.intp],
    spare: float,
    at: int,
    low: NDArray[np.float64],
    lost: NDArray[np.float64],
    doubts: NDArray[np.int64],
) -> int:
    """Fix columns one by one; write after each the weight lost, and how many rows are in doubt.

    It ends where no more than ``spare`` is lost, after at least ``at``. ``low`` (n) is room to work
    in, ``lost`` and ``doubts`` are (len(order) + 1). Returns how many were fixed; the margins of
    the case are moved.
    """
    margins, counts, sure = case.margins, case.counts, case.sure
    _lowest(margins, low)
    weight, unsure = _lost(low, counts), _doubtful(low, sure)
    for size in range(len(order) + 1):
        if size:
            j = order[size - 1]
            _move(table, case, margins, j, 1.0)
            if case.place[j] >= 0:
                _lowest(margins, low)
                weight, unsure = _lost(low, counts), _doubtful(low, sure)
            else:
                for e in range(table.starts[j], table.starts[j + 1]):
                    r = table.rows[e]
                    least = margins[0, r]
                    for k in range(1, len(margins)):
                        least = min(least, margins[k, r])
                    weight += counts[r] * ((least < 0.0) * 1.0 - (low[r] < 0.0) * 1.0)
                    unsure += ((least >= 0.0) & (least < sure)) * 1
                    unsure -= ((low[r] >= 0.0) & (low[r] < sure)) * 1
                    low[r] = least
        lost[size], doubts[size] = weight, unsure
        if size >= at and weight <= spare:
            return size
    return len(order)


@kernel
def prune(
    table: Columns,
    case: Case,
    chosen: NDArray[np.intp],
    spare: float,
    low: NDArray[np.float64],
    stays: NDArray[np.bool_],
) -> bool:
    """Leave out columns that are fixed in a case and not needed, the last first, until all are.

    Writes which stay; tells whether no row was in doubt on the way, else the answer means nothing.
    """
    changed = True
    while changed:
        changed = False
        for i in range(len(chosen) - 1, -1, -1):
            if not stays[i]:
                continue
            _look(table, case, chosen[i], -1.0, low)
            if _doubtful(low, case.sure) > 0:
                return False
            if _lost(low, case.counts) <= spare:
                _move(table, case, case.margins, chosen[i], -1.0)
                stays[i] = False
                changed = True
    return True


# --- greed ------------------------------------------------------------------------------------


@inner
def _missing(low: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Return what rows miss, with their weights."""
    missing = 0.0
    for r in range(len(low)):
        missing -= counts[r] * low[r] if low[r] < 0.0 else 0.0
    return missing


@inner
def _aside(table: Columns, case: Case, worst: NDArray[np.float64], j: Any) -> tuple[float, float]:
    """Return what fixing a column that the instance lacks saves.

    That is what it takes off the weight that is lost, and off what is missing (Lemma 45).
    """
    lost, missing = 0.0, 0.0
    for e in range(table.starts[j], table.starts[j + 1]):
        r = table.rows[e]
        before, after = worst[r], _moved(table, case, j, 1.0, e)
        lost += case.counts[r] * ((before < 0.0) * 1.0 - (after < 0.0) * 1.0)
        missing += case.counts[r] * (min(after, 0.0) - min(before, 0.0))
    return lost, missing


@inner
def _add_lifts(
    docs: Documents, case: Case, worst: NDArray[np.float64], hinge: bool, found: NDArray[np.float64]
) -> float:
    """Add up what each word brings, before the worst rival of each of some rows that are lost.

    That is the weight of the rows that it lifts to 0, or what it takes off what is missing: at most
    so much before all rivals (Lemma 151). Returns the weight of the rows that were looked at.
    """
    for i in range(len(found)):
        found[i] = 0.0
    seen, many = 0.0, 0
    for r in range(len(worst)):
        lack = -worst[r]
        if lack <= 0.0:
            continue
        if many == _LOST:
            break
        many += 1
        rival = 0
        while case.margins[rival, r] != worst[r]:
            rival += 1
        weight = case.counts[r]
        seen += weight
        own, other = docs.worths[case.winner], docs.worths[case.rivals[rival]]
        for e in range(docs.starts[r], docs.starts[r + 1]):
            lift = other[e] - own[e]
            if hinge:
                found[docs.columns[e]] += weight * max(min(lift, lack), 0.0)
            elif lift >= lack:
                found[docs.columns[e]] += weight
    return seen


@inner
def _best(
    scores: NDArray[np.float64], free: NDArray[np.bool_], above: float, chosen: NDArray[np.intp]
) -> int:
    """Write the places of the largest free scores above a number, in order; return how many."""
    size = 0
    for i in range(len(scores)):
        if not (free[i] and scores[i] > above):
            continue
        if size == len(chosen):
            if scores[i] <= scores[chosen[size - 1]]:
                continue
            size -= 1
        at = size
        while at > 0 and scores[chosen[at - 1]] < scores[i]:
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = i
        size += 1
    return size


@inner
def _look_in_part(
    part: Columns, case: Case, some: Candidates, step: int, hinge: bool, room: Room
) -> None:
    """Write what the members that the instance has save in a part of the rows.

    Those that were best before are looked at in every step, and some of the others in turn.
    """
    _lowest(case.margins, room.part_worst)
    lost = _lost(room.part_worst, case.counts)
    missing = _missing(room.part_worst, case.counts)
    tie = 0.5 / (missing + 1.0)
    for i in range(len(some.present)):
        if some.free[i] and (step == 0 or room.favourite[i] or (i + step) % _TURNS == 0):
            _look(part, case, some.present[i], 1.0, room.part_low)
            saved = missing - _missing(room.part_low, case.counts)
            if not hinge:
                saved = tie * saved + lost - _lost(room.part_low, case.counts)
            room.scores[i] = saved / some.prices[i]


class _Now(NamedTuple):
    """Where greed stands: what is lost and missing, and by which of them it goes."""

    lost: float
    missing: float
    tie: float  # what decides between those that save as much of the weight
    hinge: bool


@inner
def _best_present(
    table: Columns, case: Case, some: Candidates, now: _Now, room: Room
) -> tuple[Any, Any]:
    """Return the best of the members that the instance has, by all rows, and what it saves."""
    many = _best(room.scores, some.free, -np.inf, room.chosen)
    for i in range(len(some.present)):
        room.favourite[i] = False
    best, score = np.int64(-1), -np.inf
    for i in range(many):
        at = room.chosen[i]
        room.favourite[at] = True
        if i > 0 and room.scores[at] < _NEAR * room.scores[room.chosen[0]]:
            continue
        _look(table, case, some.present[at], 1.0, room.low)
        saved = now.missing - _missing(room.low, case.counts)
        if not now.hinge:
            saved = now.tie * saved + now.lost - _lost(room.low, case.counts)
        saved /= some.prices[at]
        if saved > score:
            best, score = at, saved
    return best, score


@inner
def _best_absent(
    table: Columns,
    case: Case,
    docs: Documents,
    part_case: Case,
    some: Candidates,
    now: _Now,
    room: Room,
) -> tuple[Any, Any, Any]:
    """Return the best word that the instance lacks, what it saves, and what any might."""
    hinge = now.hinge
    seen = _add_lifts(docs, part_case, room.part_worst, hinge, room.lifted)
    if some.priced:
        for i in range(len(room.lifted)):
            room.lifted[i] /= some.word_prices[i]
    many = _best(room.lifted, some.absent, 0.0, room.chosen)
    if many == 0 and not hinge:  # no word lifts a row to 0 by itself
        seen = _add_lifts(docs, part_case, room.part_worst, True, room.lifted)
        many = _best(room.lifted, some.absent, 0.0, room.chosen)
    best, score = np.int64(-1), -np.inf
    for i in range(many):
        at = room.chosen[i]
        less, missed = _aside(table, case, room.worst, some.words[at])
        saved = (missed if hinge else less + now.tie * missed) / some.word_prices[at]
        if saved > score:
            best, score = at, saved
    most = now.lost / max(seen, 1.0) * room.lifted[room.chosen[0]] if many > 0 else 0.0
    return best, score, most


@kernel
def greedy(
    table: Columns,
    case: Case,
    part: Columns,
    part_case: Case,
    docs: Documents,
    some: Candidates,
    spare: float,
    hinge: bool,
    cells: int,
    room: Room,
    order: NDArray[np.intp],
) -> int:
    """Fix columns one by one, until at most ``spare`` is lost, each the best that is found.

    The best saves most, for its price, of the weight that is lost, or (``hinge``) of what is
    missing. Those that are best in a part of the rows are looked at in all of them. Writes the
    columns in their order and returns how many, also where so many cells of margins were moved or
    nothing helps any more; margins of both cases are moved.
    """
    size, wait = 0, 0
    while size < len(order) and cells > 0:
        cells -= case.margins.size + part_case.margins.size
        _lowest(case.margins, room.worst)
        lost, missing = _lost(room.worst, case.counts), _missing(room.worst, case.counts)
        if lost <= spare:
            break
        now = _Now(lost, missing, 0.5 / (missing + 1.0), hinge)
        _look_in_part(part, part_case, some, size, hinge, room)
        best, score = _best_present(table, case, some, now, room)
        word: Any = np.int64(-1)
        if wait > 0 and score > 0.0:
            wait -= 1
        else:
            word, saved, most = _best_absent(table, case, docs, part_case, some, now, room)
            wait = _WAIT if most < _FAR * score else 0
            if saved <= score:
                word = np.int64(-1)
        if word >= 0:
            some.absent[word] = False
            j = some.words[word]
            wait = 0
        elif best >= 0:
            some.free[best] = False
            j = some.present[best]
        else:
            break
        _move(table, case, case.margins, j, 1.0)
        _move(part, part_case, part_case.margins, j, 1.0)
        order[size] = j
        size += 1
    return size


@kernel
def add_up(table: Columns, scores: NDArray[np.float64]) -> None:
    """Add what the values of all rows contribute to scores (K, n)."""
    for j in range(len(table.weights)):
        for k in range(len(scores)):
            line, weight = scores[k], table.weights[j, k]
            if weight != 0.0:
                for e in range(table.starts[j], table.starts[j + 1]):
                    line[table.rows[e]] += np.rint(weight * table.values[e])


@kernel
def column_sums(
    table: Columns, case: Case, nearest: NDArray[np.intp], sums: NDArray[np.float64]
) -> None:
    """Find the rival that is nearest to every row, and add up what columns contribute there."""
    margins = case.margins
    for r in range(len(nearest)):
        nearest[r] = 0
        for k in range(1, len(margins)):
            if margins[k, r] < margins[nearest[r], r]:
                nearest[r] = k
    for j in range(len(sums)):
        for e in range(table.starts[j], table.starts[j + 1]):
            r = table.rows[e]
            sums[j] += case.counts[r] * (_ahead(table, case, j, nearest[r]) * table.values[e])


# --- what rows need ---------------------------------------------------------------------------


@inner
def _insert(best: NDArray[np.float64], size: int, gain: float) -> int:
    """Put a gain among the largest, which are in decreasing order; return how many there are."""
    if size == len(best):
        if gain <= best[size - 1]:
            return size
        size -= 1
    at = size
    while at > 0 and best[at - 1] < gain:
        best[at] = best[at - 1]
        at -= 1
    best[at] = gain
    return size + 1


@inner
def _fewest(best: NDArray[np.float64], size: int, lack: float) -> int:
    """Return how many of the largest gains make up for what a row lacks; one more if all do not."""
    found = 0
    while lack > 0.0 and found < size:
        lack -= best[found]
        found += 1
    return found + 1 if lack > 0.0 else found


class Members(NamedTuple):
    """The units that may be fixed, as rows are asked what they need of them."""

    inside: NDArray[np.bool_]  # (d,)
    ranked: NDArray[np.intp]  # (R, k): those of the instance, by what they add before each rival
    held: NDArray[np.int64]  # (k,): the last row that holds each, from 1 on; room to work in
    best: NDArray[np.float64]  # as many gains as are told apart; room to work in


@inner
def _enough_elsewhere(case: Case, members: Members, r: Any, k: Any, most: Any) -> bool:
    """Tell whether so many members that a row does not hold make up for what it lacks."""
    lack, size = -case.margins[k, r], 0
    for p in members.ranked[k]:
        gain = case.known[p, k]
        if size == most or lack <= 0.0 or gain <= 0.0:
            break
        if members.held[p] != r + 1:
            lack -= gain
            size += 1
    return bool(lack <= 0.0)


@inner
def _need(
    table: Columns,
    docs: Documents,
    values: NDArray[np.float64],
    case: Case,
    members: Members,
    r: Any,
    k: Any,
) -> int:
    """Return how many members a row needs before a rival; one more than are told apart, if more."""
    best, size = members.best, 0
    for e in range(docs.starts[r], docs.starts[r + 1]):
        j = docs.columns[e]
        if members.inside[j]:
            gain = -np.rint(_ahead(table, case, j, k) * values[e])
            if case.place[j] >= 0:
                gain += case.known[case.place[j], k]
            if gain > 0.0:
                size = _insert(best, size, gain)
    for p in members.ranked[k]:
        gain = case.known[p, k]
        if gain <= 0.0 or (size == len(best) and gain <= best[size - 1]):
            break
        if members.held[p] != r + 1:
            size = _insert(best, size, gain)
    fewest = _fewest(best, size, -case.margins[k, r])
    return fewest if fewest <= size else len(best) + 1


@kernel
def needs(
    table: Columns,
    docs: Documents,
    values: NDArray[np.float64],
    case: Case,
    members: Members,
    asked: NDArray[np.intp],
    least: int,
    sizes: NDArray[np.int64],
) -> None:
    """Write how many members each of some rows needs on its own, or ``least`` if it needs fewer.

    What a row holds is only looked at before rivals where the members that it does not hold are too
    few (Lemma 151). ``docs`` and ``values`` are all rows.
    """
    rivals = len(case.margins)
    for i in range(len(asked)):
        r = asked[i]
        worst = 0
        for k in range(1, rivals):
            if case.margins[k, r] < case.margins[worst, r]:
                worst = k
        for e in range(docs.starts[r], docs.starts[r + 1]):
            p = case.place[docs.columns[e]]
            if p >= 0:
                members.held[p] = r + 1
        need: Any = np.int64(least)
        for step in range(rivals):
            k = (worst + step) % rivals
            if case.margins[k, r] >= 0.0 or need > len(members.best):
                continue
            if not _enough_elsewhere(case, members, r, k, need):
                need = max(need, _need(table, docs, values, case, members, r, k))
        sizes[i] = need


# --- nothing can be left out ------------------------------------------------------------------


@inner
def _part_move(
    table: Columns, case: Case, margins: NDArray[np.float64], j: Any, upper: bool, sign: Any
) -> None:
    """Add to margins what fixing a column gains where it gains (upper), or loses where it loses."""
    p = case.place[j]
    for k in range(len(margins)):
        line, weight = margins[k], _ahead(table, case, j, k)
        known = case.known[p, k] if p >= 0 else 0.0
        plain = max(known, 0.0) if upper else min(known, 0.0)
        if plain != 0.0:
            for r in range(len(line)):
                line[r] += sign * plain
        for e in range(table.starts[j], table.starts[j + 1]):
            gain = known - np.rint(weight * table.values[e])
            gain = max(gain, 0.0) if upper else min(gain, 0.0)
            line[table.rows[e]] += sign * (gain - plain)


@kernel
def claim(
    table: Columns,
    case: Case,
    chosen: NDArray[np.intp],
    spare: float,
    looks: int,
    low: NDArray[np.float64],
    state: NDArray[np.int8],
) -> int:
    """Go through the proper subsets of columns that are fixed in a case (Lemma 175).

    Each column stays (1), is left out (2), or is not decided (0), as the rows like it best. Returns
    0 if every subset loses more than ``spare``, 1 if the one told by ``state`` perhaps does not,
    and -1 if that many looks did not suffice.
    """
    margins, h = case.margins, len(chosen)
    for i in range(h):
        state[i] = 0
        _part_move(table, case, margins, chosen[i], False, -1.0)
    out, at = 0, 0  # how many are left out, and the first that is not decided
    while True:
        hopeful = at < h
        if out > 0:
            if looks == 0:
                return -1
            looks -= 1
            _lowest(margins, low)
            hopeful = _lost(low, case.counts) <= spare
            if hopeful and at == h:
                return 1
        if hopeful:  # leave out the next one
            _part_move(table, case, margins, chosen[at], True, -1.0)
            state[at] = 2
            out += 1
            at += 1
            continue
        # Go back to the last one that is left out, and let it stay.
        while at > 0 and state[at - 1] == 1:
            at -= 1
            state[at] = 0
            _part_move(table, case, margins, chosen[at], False, -1.0)
        if at == 0:
            return 0
        state[at - 1] = 1
        out -= 1
        _part_move(table, case, margins, chosen[at - 1], True, 1.0)
        _part_move(table, case, margins, chosen[at - 1], False, 1.0)

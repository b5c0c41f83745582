"""Facts that rows share: a depth-first search for the fewest that leave enough rows of one class.

A fact is the set of rows that share it, as bits; the facts of a set leave the rows that share them
all. Rows of the instance's class are good, the others bad. A set is good enough if so many rows are
left, and enough of them are good. More facts leave fewer rows of both kinds, so shares go up and
down, and every size is searched. What cuts a branch:

- a fact that removes no bad row, given others, only removes good ones: a smallest set has none;
- with g good rows left, at most ``allow[g]`` bad ones may be, now and further down, where g is
  smaller: the others have to be removed, and the facts to come remove at most the sum of what each
  removes now;
- rows only get fewer.

These are Lemma 36. What a fact removes is counted in its bits or, where most rows share most facts,
as documents lack most words, by going through the facts that each row does not share.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._row_bits import shared, shared_at, tally

__all__ = ["Facts", "Missed", "Rules", "best_of_size", "worth"]


# Beyond so many standard deviations a class is as firm as can be.
_FIRMEST = 5.0
# To count at some place of a table takes as long as so many words of bits.
_JUMP = 2


class Facts(NamedTuple):
    """Which rows share each fact, and which rows there are, 64 to a word."""

    good: NDArray[np.uint64]  # (h, words)
    bad: NDArray[np.uint64]  # (h, other words)
    all_good: NDArray[np.uint64]  # (words,): those that share what is forced
    all_bad: NDArray[np.uint64]
    leads_good: NDArray[np.float64]  # (rows,): how far each row is on the side of the class
    leads_bad: NDArray[np.float64]
    firmness: float  # what a standard deviation of lead counts for, beside a share


class Missed(NamedTuple):
    """The facts that each row does not share, one row after the other."""

    good_starts: NDArray[np.int64]  # (good rows + 1,)
    good: NDArray[np.int32]
    bad_starts: NDArray[np.int64]
    bad: NDArray[np.int32]
    each: int  # how many a bad row has on average


class Rules(NamedTuple):
    """When the rows that are left are good enough."""

    need: NDArray[np.int64]  # how many of n rows must be good
    allow: NDArray[np.int64]  # how many may be bad if g are good
    least: int  # how many rows must be left


@kernel
def worth(good: Any, bad: Any) -> float:
    """Return Wilson's lower bound of the share of good rows: more rows count for something.

    It is never below 0, which is what no good rows are worth.
    """
    n = good + bad
    if n == 0:
        return 0.0
    share = good / n
    spread = 1.96 * math.sqrt((share * (1.0 - share) + 0.9604 / n) / n)
    return float(max((share + 1.9208 / n - spread) / (1.0 + 3.8416 / n), 0.0))


@inner
def _add(
    leads: NDArray[np.float64], rows: NDArray[np.uint64], fact: NDArray[np.uint64]
) -> tuple[float, float]:
    """Return the sum of the leads of the rows that share a fact, and that of their squares."""
    total, squares = 0.0, 0.0
    for r in range(len(leads)):
        if (rows[r >> 6] & fact[r >> 6]) >> np.uint64(r & 63) & np.uint64(1):
            total += leads[r]
            squares += leads[r] * leads[r]
    return total, squares


@inner
def _value(
    facts: Facts,
    good: NDArray[np.uint64],
    good_fact: NDArray[np.uint64],
    bad: NDArray[np.uint64],
    bad_fact: NDArray[np.uint64],
    g: Any,
    b: Any,
) -> float:
    """Return what the rows that are left are worth, and how firmly they are of the class."""
    value = float(worth(g, b))
    if facts.firmness > 0.0 and g + b > 0:
        first, second = _add(facts.leads_good, good, good_fact)
        third, fourth = _add(facts.leads_bad, bad, bad_fact)
        mean = (first + third) / (g + b)
        variance = max((second + fourth) / (g + b) - mean * mean, 1e-300)
        value += facts.firmness * min(max(mean / math.sqrt(variance), 0.0), _FIRMEST)
    return value


class _Path(NamedTuple):
    """Where a depth-first search is: level k holds what is left when k facts are chosen."""

    chosen: NDArray[np.int64]  # (size,)
    good: NDArray[np.uint64]  # (size + 1, words): the rows that are left
    bad: NDArray[np.uint64]
    goods: NDArray[np.int64]  # (size + 1,): how many they are
    bads: NDArray[np.int64]
    kids: NDArray[np.int64]  # (size + 1, h): facts that may come next
    removed: NDArray[np.int64]  # (size + 1, h): how many bad rows each of them removes
    many: NDArray[np.int64]  # (size + 1,): how many such facts there are
    at: NDArray[np.int64]  # (size + 1,): how many of them were tried
    tally: NDArray[np.int64]  # (h,): what each fact removes, while that is counted


@inner
def _start(facts: Facts, missed: Any, size: int) -> _Path:
    """Return the root, where every fact may come next."""
    h, levels = len(facts.bad), size + 1
    path = _Path(
        np.zeros(size, dtype=np.int64),
        np.empty((levels, len(facts.all_good)), dtype=np.uint64),
        np.empty((levels, len(facts.all_bad)), dtype=np.uint64),
        np.zeros(levels, dtype=np.int64),
        np.zeros(levels, dtype=np.int64),
        np.empty((levels, h), dtype=np.int64),
        np.empty((levels, h), dtype=np.int64),
        np.zeros(levels, dtype=np.int64),
        np.zeros(levels, dtype=np.int64),
        np.zeros(h, dtype=np.int64),
    )
    # Loops, here and below: Numba takes long to compile what copies parts of arrays.
    for w in range(len(facts.all_good)):
        path.good[0, w] = facts.all_good[w]
    for w in range(len(facts.all_bad)):
        path.bad[0, w] = facts.all_bad[w]
    path.goods[0] = shared(facts.all_good, facts.all_good)
    path.bads[0] = shared(facts.all_bad, facts.all_bad)
    _list_kids(facts, missed, path, 0, np.arange(h), size > 1)
    return path


@inner
def _list_kids(
    facts: Facts,
    missed: Any,
    path: _Path,
    level: int,
    candidates: NDArray[np.int64],
    ordered: bool,
) -> None:
    """List the candidates that remove a bad row, those that remove most first."""
    if missed is None:  # known to the compiler
        _list_few(facts, path, level, candidates, ordered)
    else:
        _list_many(facts, missed, path, level, candidates)


@inner
def _list_many(
    facts: Facts, missed: Missed, path: _Path, level: int, candidates: NDArray[np.int64]
) -> None:
    """List many candidates: row by row if that is quicker, and put in order at once."""
    bads = path.bads[level]
    by_rows = _by_rows(path, missed.each, bads, len(candidates))
    if by_rows:
        for j in range(len(path.tally)):
            path.tally[j] = 0
        tally(missed.bad_starts, missed.bad, path.bad[level], path.tally)
    ends = np.zeros(bads + 2, dtype=np.int64)
    for i in range(len(candidates)):
        j = candidates[i]
        if not by_rows:
            path.tally[j] = bads - shared_at(path.bad, level, facts.bad, j)
        ends[path.tally[j]] += 1
    for gone in range(bads - 1, 0, -1):
        ends[gone] += ends[gone + 1]
    path.many[level], path.at[level] = ends[1], 0
    for i in range(len(candidates) - 1, -1, -1):  # equal ones stay in order
        j = candidates[i]
        gone = path.tally[j]
        if gone > 0:
            ends[gone] -= 1
            path.kids[level, ends[gone]] = j
            path.removed[level, ends[gone]] = gone


@inner
def _by_rows(path: _Path, each: int, bads: Any, n: Any) -> bool:
    """Tell whether it is quicker to go through what rows miss than through the bits of n facts."""
    return bool(_JUMP * bads * each + n < path.bad.shape[1] * n)


@inner
def _list_few(
    facts: Facts, path: _Path, level: int, candidates: NDArray[np.int64], ordered: bool
) -> None:
    """List candidates by their bits, and put them in order one by one."""
    kids, removed = path.kids[level], path.removed[level]
    n = 0
    for i in range(len(candidates)):
        j = candidates[i]
        gone = path.bads[level] - shared_at(path.bad, level, facts.bad, j)
        if gone == 0:
            continue
        at = n
        while ordered and at > 0 and removed[at - 1] < gone:
            removed[at] = removed[at - 1]
            kids[at] = kids[at - 1]
            at -= 1
        removed[at] = gone
        kids[at] = j
        n += 1
    path.many[level] = n
    path.at[level] = 0


@inner
def _step(facts: Facts, missed: Any, rules: Rules, path: _Path, level: int, left: int) -> bool:
    """Choose the next fact of a level, and tell whether enough rows may be left."""
    i, below = path.at[level], level + 1
    path.at[level] += 1
    j = path.kids[level, i]
    for w in range(path.good.shape[1]):
        path.good[below, w] = path.good[level, w] & facts.good[j, w]
    path.goods[below] = shared(path.good[below], path.good[below])
    path.bads[below] = path.bads[level] - path.removed[level, i]
    path.chosen[level] = j
    if path.goods[below] + min(path.bads[below], rules.allow[path.goods[below]]) < rules.least:
        return False
    for w in range(path.bad.shape[1]):
        path.bad[below, w] = path.bad[level, w] & facts.bad[j, w]
    candidates = path.kids[level, i + 1 : path.many[level]]
    _list_kids(facts, missed, path, below, candidates, left > 2)
    return True


@inner
def _cost(missed: Any, path: _Path, level: int, width: int) -> Any:
    """Return about how many words it takes to list what can follow the next fact of a level."""
    n = path.many[level] - path.at[level]
    if missed is not None:
        bads = path.bads[level] - path.removed[level, path.at[level]]
        if _by_rows(path, missed.each, bads, n):
            return _JUMP * bads * missed.each + n
    return width * n


@inner
def _leaves(
    facts: Facts, rules: Rules, path: _Path, level: int, best: NDArray[np.int64], value: float
) -> tuple[float, bool, int]:
    """Try every last fact; return the best value, whether rows are left, and how many were tried.

    If rows are left, further facts might do.
    """
    deeper, tried = False, 0
    most = rules.allow[path.goods[level]]
    for i in range(path.many[level]):
        b = path.bads[level] - path.removed[level, i]
        if path.goods[level] + b < rules.least:
            continue
        deeper = True
        if b > most:
            continue
        tried += 1
        g = shared_at(path.good, level, facts.good, path.kids[level, i])
        if g + b >= rules.least and g >= rules.need[g + b]:
            kid = path.kids[level, i]
            if worth(g, b) + facts.firmness * _FIRMEST <= value:
                continue
            found = _value(
                facts, path.good[level], facts.good[kid], path.bad[level], facts.bad[kid], g, b
            )
            if found > value:
                value = found
                for k in range(level):
                    best[k] = path.chosen[k]
                best[level] = kid
    return value, deeper, tried


@kernel
def best_of_size(
    facts: Facts, missed: Any, rules: Rules, size: int, budget: int
) -> tuple[int, NDArray[np.int64], float, bool, int]:
    """Return the best set of exactly so many facts, if no smaller one is good enough.

    ``missed`` is what rows miss, where that is short; else None.

    Returns
    -------
    verdict : int
        1 if a set is good enough, 0 if none is, -1 if that stayed open within the budget.
    chosen : ndarray of int
        The best set found, by `worth`, and by how firm the class is if that counts.
    value : float
        What it is worth, or -1.
    deeper : bool
        Whether a larger set might be good enough.
    spent : int
        How many words were looked at, about.
    """
    path = _start(facts, missed, size)
    best = np.zeros(size, dtype=np.int64)
    value, deeper, spent = -1.0, False, 0
    width = facts.good.shape[1] + facts.bad.shape[1]
    if size == 0:
        n = path.goods[0] + path.bads[0]
        if n >= rules.least and path.goods[0] >= rules.need[n]:
            value = _value(
                facts, facts.all_good, facts.all_good, facts.all_bad, facts.all_bad,
                path.goods[0], path.bads[0],
            )  # fmt: skip
        return int(value >= 0), best, value, n >= rules.least, 0
    if missed is not None:
        spent += _JUMP * path.bads[0] * missed.each
    level = 0
    while level >= 0 and spent <= budget:
        left, i = size - level, path.at[level]
        if left == 1:
            value, more, tried = _leaves(facts, rules, path, level, best, value)
            deeper |= more
            spent += width * (path.many[level] if missed is None else tried)
            level -= 1
        elif i + left > path.many[level]:
            level -= 1
        elif (
            path.removed[level, i : i + left].sum()
            < path.bads[level] - rules.allow[path.goods[level]]
        ):
            deeper = True  # more facts might remove enough
            level -= 1
        else:
            spent += _cost(missed, path, level, width)
            level += _step(facts, missed, rules, path, level, left)
    verdict = 1 if value >= 0 else 0 if level < 0 else -1
    return verdict, best, value, deeper, spent

"""Kernels of `Matching`: which rows share the facts of an instance, and the fewest that are enough.

A fact, that a unit is in the state of the instance, is the set of rows that share it, as bits: the
rows of the instance's class (good) fill the first words, the others (bad) the rest. A set of facts
leaves the rows that share them all, and is good enough if these are at least so many, and enough of
them are good. More facts leave fewer rows of both kinds, so that shares go up and down and every
size is searched.

What comes in is an inverted index of the rows (`Index`) and one instance; `write_facts` and
`list_missed` make `Facts` of them, `best_of_size` goes through all sets of a size, depth first, and
`grown` adds one fact to each of some sets. Which facts need not be looked at is Lemma 150, what
cuts the search is Lemma 36.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import kernel
from sklearn_probsr.core.jit import loop as inner

__all__ = [
    "Facts",
    "Index",
    "Path",
    "Rules",
    "best_of_size",
    "grown",
    "list_missed",
    "worth",
    "write_facts",
]

# Beyond so many standard deviations a class is as firm as can be.
_FIRMEST = 5.0
# To count at some place of a table takes as long as so many words of bits.
_JUMP = 2
# Multiples of it spread over all words.
_ODD = 0x9E3779B97F4A7C15


class Index(NamedTuple):
    """An inverted index: for each unit, the rows in which it is not in its usual state."""

    starts: NDArray[np.int64]  # (units + 1,): where the entries of a unit begin
    rows: NDArray[np.int32]  # (entries,)
    states: NDArray[np.int32]  # (entries,): the state of the unit there
    usual: NDArray[np.int32]  # (units,)


class Facts(NamedTuple):
    """The facts of an instance, those that most bad rows do not share first."""

    shared: NDArray[np.uint64]  # (facts, words): which rows share each
    everyone: NDArray[np.uint64]  # (words,): which rows there are
    good_words: int  # so many words are of good rows
    good: int  # how many rows are good, and bad
    bad: int
    lost: NDArray[np.int64]  # (facts,): how many bad rows do not share each
    starts: NDArray[np.int64]  # (64 words + 1,): where the facts begin that a row does not share
    missed: NDArray[np.int32]  # those facts, row by row; none if they are too many to be listed
    each: int  # how many they are for a row, about
    leads: NDArray[np.float64]  # (64 words,): how far each row is on the side of the class
    firmness: float  # what a standard deviation of lead counts for beside a share; 0: no leads


class Rules(NamedTuple):
    """When the rows that are left are good enough."""

    need: NDArray[np.int64]  # how many of n rows must be good
    allow: NDArray[np.int64]  # how many may be bad if g are good
    least: int  # how many rows must be left


class Path(NamedTuple):
    """Where a depth-first search is: level k holds what is left when k facts are chosen."""

    rows: NDArray[np.uint64]  # (size + 1, words): the rows that are left
    goods: NDArray[np.int64]  # (size + 1,): how many of them are good
    bads: NDArray[np.int64]
    kids: NDArray[np.int64]  # (size + 1, facts): facts that may come next
    lost: NDArray[np.int64]  # (size + 1, facts): how many bad rows each of them removes
    many: NDArray[np.int64]  # (size + 1,): how many such facts there are
    at: NDArray[np.int64]  # (size + 1,): how many of them were tried
    best: NDArray[np.int64]  # (size,): the best set found
    tally: NDArray[np.int64]  # (facts,): what each fact removes, while that is counted


@kernel
def worth(good: int, bad: int) -> float:
    """Return Wilson's lower bound of the share of good rows at 95%; what `Lemma 36` calls a worth.

    It is never below 0, which is what no good rows are worth.
    """
    n = good + bad
    if n == 0:
        return 0.0
    share = good / n
    spread = 1.96 * math.sqrt((share * (1.0 - share) + 0.9604 / n) / n)
    lower = (share + 1.9208 / n - spread) / (1.0 + 3.8416 / n)
    return lower if lower > 0.0 else 0.0


@inner
def _ones(word: Any) -> Any:
    """Count the ones of a word."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def _lowest(word: Any) -> Any:
    """Return where the lowest one of a word is."""
    return _ones((word & (~word + np.uint64(1))) - np.uint64(1))


@kernel
def write_facts(
    index: Index,
    units: NDArray[np.int64],
    states: NDArray[np.int64],
    places: NDArray[np.int64],
    least: int,
    found: Facts,
    told: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]],
) -> int:
    """Write the facts of an instance that can be in a smallest set (Lemma 150, (i) and (ii)).

    Parameters
    ----------
    index : Index
    units : ndarray of int64, shape (candidates,)
    states : ndarray of int64, shape (units of the index,)
        Those of the instance.
    places : ndarray of int64, shape (rows,)
        The bit of every row; -1 for none.
    least : int
        How many rows a fact must leave; 0: all facts are written.
    found : Facts
        With room for all candidates: ``shared`` and ``lost`` are written.
    told : tuple of ndarray, shape (candidates,) each
        Written for each fact: its place among the candidates, how many rows do not share it, and a
        number that is the same for facts that the same rows share.

    Returns
    -------
    int
        How many facts were written.
    """
    which, misses, keys = told
    kept, words, bits = 0, len(found.everyone), 64 * found.good_words
    for i in range(len(units)):
        u = units[i]
        first, last, usual = index.starts[u], index.starts[u + 1], index.usual[u] == states[u]
        if least > 0 and usual and first == last:
            continue
        for w in range(words):
            found.shared[kept, w] = found.everyone[w] if usual else np.uint64(0)
        good, bad = 0, 0
        for k in range(first, last):
            place = places[index.rows[k]]
            if place >= 0 and (usual or index.states[k] == states[u]):
                found.shared[kept, place >> 6] ^= np.uint64(1) << np.uint64(place & 63)
                if place < bits:
                    good += 1
                else:
                    bad += 1
        if not usual:
            good, bad = found.good - good, found.bad - bad
        if least > 0 and (bad == 0 or found.good + found.bad - good - bad < least):
            continue
        key, odd = np.uint64(0), np.uint64(_ODD)
        for w in range(words):
            key += found.shared[kept, w] * odd
            odd = odd * np.uint64(_ODD) + np.uint64(2)
        which[kept], found.lost[kept], misses[kept], keys[kept] = i, bad, good + bad, key
        kept += 1
    return kept


@kernel
def list_missed(facts: Facts) -> None:
    """List the facts that each row does not share, row by row; what `_count` reads (Lemma 36)."""
    for fill in range(2):
        for j in range(len(facts.shared)):
            for w in range(len(facts.everyone)):
                word = facts.everyone[w] & ~facts.shared[j, w]
                while word:
                    r = 64 * w + _lowest(word)
                    word &= word - np.uint64(1)
                    if fill:
                        facts.missed[facts.starts[r + 1]] = j
                    facts.starts[r + 1 + (1 - fill)] += 1
        if not fill:
            for k in range(2, len(facts.starts)):
                facts.starts[k] += facts.starts[k - 1]


@inner
def _count(
    facts: Facts,
    rows: NDArray[np.uint64],
    level: int,
    alive: int,
    bad: bool,
    kids: NDArray[np.int64],
    span: tuple[Any, Any, Any],
    lost: NDArray[np.int64],
) -> Any:
    """Count the rows of a level, the good or the bad, that do not share each of some facts.

    ``alive`` is how many rows there are, and ``span`` where the facts are in ``kids``: their line,
    the first and the last. The rows are gone through where that is quicker than the bits of all
    facts. Returns about how many words were looked at.
    """
    line, first, last = span
    start = facts.good_words if bad else 0
    stop = len(facts.everyone) if bad else facts.good_words
    n, by_rows = last - first, _JUMP * alive * facts.each + last - first
    if len(facts.missed) == 0 or by_rows >= (stop - start) * n:
        for i in range(first, last):
            j, sharing = kids[line, i], 0
            for w in range(start, stop):
                sharing += _ones(rows[level, w] & facts.shared[j, w])
            lost[j] = alive - sharing
        return (stop - start) * n
    for i in range(first, last):
        lost[kids[line, i]] = 0
    for w in range(start, stop):
        word = rows[level, w]
        while word:
            r = 64 * w + _lowest(word)
            word &= word - np.uint64(1)
            for k in range(facts.starts[r], facts.starts[r + 1]):
                lost[facts.missed[k]] += 1
    return by_rows


@inner
def _order(path: Path, level: int, first: int, ordered: bool) -> None:
    """List for the next level the facts that remove a bad row, those that remove most first.

    They stand in the order of this level, which is nearly that; in any if it does not matter.
    """
    below, n = level + 1, 0
    for i in range(first, path.many[level]):
        j = path.kids[level, i]
        gone, at = path.tally[j], n
        if gone == 0:
            continue
        while ordered and at > 0 and path.lost[below, at - 1] < gone:
            path.lost[below, at] = path.lost[below, at - 1]
            path.kids[below, at] = path.kids[below, at - 1]
            at -= 1
        path.lost[below, at], path.kids[below, at] = gone, j
        n += 1
    path.many[below], path.at[below] = n, 0


@inner
def _finish(
    facts: Facts, rules: Rules, path: Path, level: int, value: float
) -> tuple[float, bool, int]:
    """Try every last fact; return the best value, whether rows are left, and the words looked at.

    If rows are left, further facts might do.
    """
    deeper, spent, goods = False, 0, path.goods[level]
    for i in range(path.many[level]):
        j, b, g = path.kids[level, i], path.bads[level] - path.lost[level, i], 0
        if goods + b < rules.least:
            continue
        deeper = True
        if b > rules.allow[goods]:
            continue
        for w in range(facts.good_words):
            g += _ones(path.rows[level, w] & facts.shared[j, w])
        spent += facts.good_words
        if g + b < rules.least or g < rules.need[g + b]:
            continue
        found = worth(g, b)
        if facts.firmness > 0.0 and found + facts.firmness * _FIRMEST > value:
            # How many standard deviations the rows are on the side of the class.
            total, squares = 0.0, 0.0
            for r in range(len(facts.leads)):
                word = path.rows[level, r >> 6] & facts.shared[j, r >> 6]
                if word >> np.uint64(r & 63) & np.uint64(1):
                    total += facts.leads[r]
                    squares += facts.leads[r] * facts.leads[r]
            variance = (g + b) * squares - total * total
            if total > 0.0 and total * total < _FIRMEST * _FIRMEST * variance:
                found += facts.firmness * total / math.sqrt(variance)
            elif total > 0.0:
                found += facts.firmness * _FIRMEST
        if found > value:
            value = found
            for k in range(level):
                path.best[k] = path.kids[k, path.at[k] - 1]
            path.best[level] = j
    return value, deeper, spent


@kernel
def best_of_size(
    facts: Facts, rules: Rules, path: Path, budget: int
) -> tuple[int, float, bool, int]:
    """Find the best set of exactly so many facts, if no smaller one is good enough (Lemma 36).

    Parameters
    ----------
    facts : Facts
    rules : Rules
    path : Path
        Its level 0 has all rows and all facts. The best set found is written to ``path.best``: by
        `worth`, and by how firm the class is if that counts.
    budget : int
        How many words may be looked at, about.

    Returns
    -------
    verdict : int
        1 if a set is good enough, 0 if none is, -1 if that stayed open within the budget.
    value : float
        What the best set found is worth, or -1.
    deeper : bool
        Whether a larger set might be good enough.
    spent : int
        How many words were looked at, about.
    """
    size, words, level = len(path.best), len(facts.everyone), 0
    value, deeper, spent = -1.0, False, 0
    while level >= 0 and spent <= budget:
        left, i, n, below = size - level, path.at[level], path.many[level], level + 1
        goods, bads = path.goods[level], path.bads[level]
        removed = 0
        for k in range(i, i + left if i + left <= n else i):
            removed += path.lost[level, k]
        if left > 1 and i + left <= n and removed >= bads - rules.allow[goods]:
            path.at[level] += 1
            j, b, g = path.kids[level, i], bads - path.lost[level, i], 0
            for w in range(words):
                path.rows[below, w] = path.rows[level, w] & facts.shared[j, w]
                if w < facts.good_words:
                    g += _ones(path.rows[below, w])
            path.goods[below], path.bads[below], path.many[below], path.at[below] = g, b, 0, 0
            if g + b >= rules.least and g + rules.allow[g] >= rules.least:
                span = (level, i + 1, n)
                spent += _count(facts, path.rows, below, b, True, path.kids, span, path.tally)
                _order(path, level, i + 1, left > 2)
            spent += words
            level = below
            continue
        level -= 1
        if left > 1:  # more facts might remove enough
            deeper |= i + left <= n
            continue
        value, more, looked = _finish(facts, rules, path, below - 1, value)
        deeper |= more
        spent += looked
    verdict = 1 if value >= 0.0 else 0 if level < 0 else -1
    return verdict, value, deeper, spent


@kernel
def grown(
    facts: Facts, rules: Rules, path: Path, worths: NDArray[np.float64], enough: NDArray[np.bool_]
) -> None:
    """Write what each of some sets is worth with one fact more, and whether it is good enough.

    That is -1 if the fact removes no bad row of those that are left, or leaves too few rows; a set
    with such a fact is never smallest (Lemma 36).

    Parameters
    ----------
    facts : Facts
    rules : Rules
    path : Path
        Its levels have the rows that are left by each set, and how many they are; the first line of
        ``kids`` has all facts.
    worths, enough : ndarray, shape (sets, facts)
        Written.
    """
    h = len(facts.shared)
    span = (np.int64(0), np.int64(0), np.int64(h))
    for s in range(len(worths)):
        _count(facts, path.rows, s, path.goods[s], False, path.kids, span, path.tally)
        _count(facts, path.rows, s, path.bads[s], True, path.kids, span, path.lost[0])
        for j in range(h):
            g, b = path.goods[s] - path.tally[j], path.bads[s] - path.lost[0, j]
            worths[s, j], enough[s, j] = -1.0, False
            if path.lost[0, j] > 0 and g + b >= rules.least:
                worths[s, j], enough[s, j] = worth(g, b), g >= rules.need[g + b]

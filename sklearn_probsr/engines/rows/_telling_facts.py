"""Facts that can tell: those that a search need look at, and what each of them leaves.

Facts that remove no bad row, that leave too few rows, or that the same rows share as an earlier one
are left out (Lemma 150).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines.rows._facts import Facts, by_rows, lowest, ones, shared, tally, worth

__all__ = ["grown", "missed_by", "packed_words", "telling"]

# An odd number whose multiples spread over all words.
_SPREAD = 0x9E3779B97F4A7C15


@kernel
def telling(facts: Facts, least: int) -> NDArray[np.int64]:
    """Return the facts that can be in a smallest set, without equal ones (Lemma 150)."""
    h = len(facts.bad)
    bads = shared(facts.all_bad, facts.all_bad)
    kept, keys, n = np.empty(h, dtype=np.int64), np.empty(h, dtype=np.uint64), 0
    for j in range(h):
        b = shared(facts.all_bad, facts.bad[j])
        if b == bads or b + shared(facts.all_good, facts.good[j]) < least:
            continue
        key = np.uint64(0)
        for w in range(facts.good.shape[1]):
            key = (key ^ (facts.good[j, w] & facts.all_good[w])) * np.uint64(_SPREAD)
            key ^= key >> np.uint64(29)
        for w in range(facts.bad.shape[1]):
            key = (key ^ (facts.bad[j, w] & facts.all_bad[w])) * np.uint64(_SPREAD)
            key ^= key >> np.uint64(29)
        kept[n], keys[n] = j, key
        n += 1
    order = np.argsort(keys[:n], kind="mergesort")  # equal ones stay in order
    first, found = 0, np.zeros(h, dtype=np.bool_)
    for i in range(n):
        if keys[order[i]] != keys[order[first]]:
            first = i
        one, other = kept[order[first]], kept[order[i]]
        same = first < i
        for w in range(facts.good.shape[1]):
            same &= (facts.good[one, w] ^ facts.good[other, w]) & facts.all_good[w] == 0
        for w in range(facts.bad.shape[1]):
            same &= (facts.bad[one, w] ^ facts.bad[other, w]) & facts.all_bad[w] == 0
        found[other] = not same
    return np.flatnonzero(found)


@kernel
def missed_by(
    bits: NDArray[np.uint64], everyone: NDArray[np.uint64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List for every row the facts that it does not share; nothing if they are more than so many.

    Of other rows than ``everyone`` none are listed.
    """
    starts = np.zeros(64 * len(everyone) + 2, dtype=np.int64)
    total = 0
    for j in range(len(bits)):
        for w in range(len(everyone)):
            total += ones(everyone[w] & ~bits[j, w])
        if total > most:
            return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
    facts = np.empty(total, dtype=np.int32)
    for fill in range(2):
        for j in range(len(bits)):
            for w in range(len(everyone)):
                word = everyone[w] & ~bits[j, w]
                while word:
                    r = 64 * w + lowest(word)
                    word &= word - np.uint64(1)
                    if fill:
                        facts[starts[r + 1]] = j
                        starts[r + 1] += 1
                    else:
                        starts[r + 2] += 1
        if not fill:
            starts = np.cumsum(starts)
    return starts[:-1], facts


@kernel
def grown(
    facts: Facts, least: int, good: NDArray[np.uint64], bad: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the facts that remove a bad row of those left, and enough do share.

    With each come the good and the bad rows that are left then, and what these are worth.
    """
    h = len(facts.bad)
    g, b = shared(good, good), shared(bad, bad)
    words = facts.good.shape[1] + facts.bad.shape[1]
    gone_good, gone_bad = np.zeros(h, dtype=np.int64), np.zeros(h, dtype=np.int64)
    if by_rows(facts.missed_bad, g + b, h, words):
        tally(facts.missed_good, good, gone_good)
        tally(facts.missed_bad, bad, gone_bad)
    else:
        for j in range(h):
            gone_bad[j] = b - shared(bad, facts.bad[j])
            if gone_bad[j]:
                gone_good[j] = g - shared(good, facts.good[j])
    which = np.flatnonzero((gone_bad > 0) & (g + b - gone_good - gone_bad >= least))
    goods, bads = g - gone_good[which], b - gone_bad[which]
    worths = np.empty(len(which))
    for i in range(len(which)):
        worths[i] = worth(goods[i], bads[i])
    return which, goods, bads, worths


@kernel
def packed_words(
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    places: NDArray[np.int32],
    everyone: NDArray[np.uint64],
    columns: NDArray[np.int64],
    there: NDArray[np.bool_],
) -> NDArray[np.uint64]:
    """Return which rows share facts of some columns, as bits: that a word is there, or not.

    Column j is in the rows from ``starts[j]`` up to ``starts[j + 1]``; ``places`` says which bit
    a row has, -1 for none. ``there`` is of the columns asked for.
    """
    bits = np.zeros((len(columns), len(everyone)), dtype=np.uint64)
    for i in range(len(columns)):
        for k in range(starts[columns[i]], starts[columns[i] + 1]):
            place = places[rows[k]]
            if place >= 0:
                bits[i, place >> 6] |= np.uint64(1) << np.uint64(place & 63)
        if not there[i]:
            for w in range(len(everyone)):
                bits[i, w] = everyone[w] & ~bits[i, w]
    return bits

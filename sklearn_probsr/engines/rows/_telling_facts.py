"""Facts that can tell: those that a search need look at, and what each of them leaves.

Facts that remove no bad row, that leave too few rows, or that the same rows share as an earlier one
are left out (Lemma 150).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._facts import Facts, Rules, worth
from sklearn_probsr.engines.rows._row_bits import lowest, shared, tally

__all__ = ["grown", "missed_by", "packed_words", "telling"]

# Multiples of it spread over all words.
_ODD = 0x9E3779B97F4A7C15


def telling(facts: Facts, least: int) -> NDArray[np.intp]:
    """Return the facts that can be in a smallest set, without equal ones (Lemma 150)."""
    open_ones, keys = _keys(facts, least)
    kept = np.flatnonzero(open_ones)
    # Equal facts have equal keys, and are looked for among neighbours with equal keys.
    order = kept[np.argsort(keys[kept], kind="stable")]  # the first of equal ones comes first
    later = np.flatnonzero(keys[order[1:]] == keys[order[:-1]]) + 1
    one, other = order[later - 1], order[later]
    same = np.ones(len(later), dtype=np.bool_)
    for bits, everyone in ((facts.good, facts.all_good), (facts.bad, facts.all_bad)):
        same &= ((bits[one] ^ bits[other]) & everyone == 0).all(axis=1)
    open_ones[other[same]] = False
    return np.flatnonzero(open_ones)


@kernel
def _keys(facts: Facts, least: int) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Tell which facts remove a bad row and leave enough, and give equal ones equal numbers."""
    h, bads = len(facts.bad), shared(facts.all_bad, facts.all_bad)
    kept, keys = np.zeros(h, dtype=np.bool_), np.zeros(h, dtype=np.uint64)
    for j in range(h):
        b = shared(facts.all_bad, facts.bad[j])
        kept[j] = b < bads and b + shared(facts.all_good, facts.good[j]) >= least
        if kept[j]:
            good = _spread(facts.good[j], facts.all_good)
            keys[j] = good ^ (_spread(facts.bad[j], facts.all_bad) >> np.uint64(1))
    return kept, keys


@inner
def _spread(fact: NDArray[np.uint64], everyone: NDArray[np.uint64]) -> np.uint64:
    """Return a number that depends on all rows that share a fact."""
    key, odd = np.uint64(0), np.uint64(_ODD)
    for w in range(len(everyone)):
        key += (fact[w] & everyone[w]) * odd
        odd = odd * np.uint64(_ODD) + np.uint64(2)
    return key


@kernel
def missed_by(
    bits: NDArray[np.uint64], everyone: NDArray[np.uint64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List for every row the facts that it does not share; nothing if they are more than so many.

    Of other rows than ``everyone`` none are listed.
    """
    starts = np.zeros(64 * len(everyone) + 2, dtype=np.int64)
    facts, total = np.empty(0, dtype=np.int32), 0
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
                        total += 1
            if total > most:
                return np.zeros(1, dtype=np.int64), facts
        if not fill:
            starts, facts = np.cumsum(starts), np.empty(total, dtype=np.int32)
    return starts[:-1], facts


@kernel
def grown(
    facts: Facts,
    missed: Any,
    rules: Rules,
    good: NDArray[np.uint64],
    bad: NDArray[np.uint64],
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the best facts to add to a set: so many, or more if they are worth the same.

    Each removes a bad row of those that are left, and leaves enough rows. With each come what the
    rows are worth then, and whether they are good enough; the best of the latter is among them.
    ``missed`` is as in `best_of_size`.
    """
    h, g, b = len(facts.bad), shared(good, good), shared(bad, bad)
    gone_good, gone_bad = np.zeros(h, dtype=np.int64), np.zeros(h, dtype=np.int64)
    if missed is None:
        for j in range(h):
            gone_bad[j] = b - shared(bad, facts.bad[j])
            gone_good[j] = g - shared(good, facts.good[j])
    else:
        tally(missed.good_starts, missed.good, good, gone_good)
        tally(missed.bad_starts, missed.bad, bad, gone_bad)
    worths, enough = np.full(h, -1.0), np.zeros(h, dtype=np.bool_)
    best, best_enough = np.full(most, -1.0), -1.0
    for j in range(h):
        left, n = g - gone_good[j], g + b - gone_good[j] - gone_bad[j]
        if gone_bad[j] == 0 or n < rules.least:
            continue
        worths[j] = worth(left, n - left)
        enough[j] = left >= rules.need[n]
        if enough[j]:
            best_enough = max(best_enough, worths[j])
        at = 0  # the least of the best comes first
        while at < most and best[at] < worths[j]:
            if at:
                best[at - 1] = best[at]
            best[at] = worths[j]
            at += 1
    which = np.zeros(h, dtype=np.bool_)
    for j in range(h):
        which[j] = worths[j] >= 0.0 and (
            worths[j] >= best[0] or (enough[j] and worths[j] == best_enough)
        )
    return np.flatnonzero(which), worths[which], enough[which]


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

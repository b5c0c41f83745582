"""Enumeration: count the subsets that fit, by meeting in the middle.

The subset sums of each half are made in sorted order by merging (adding one value merges the
list with its shifted copy), then one pass over the two lists counts the pairs that fit: time
and memory ``2^(n/2)``, and the count is exact (Table 1 line 2).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines.coins._answers import Answers, Candidates, helps, write
from sklearn_probsr.engines.coins._deficits import SubsetSum
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._exact import float_above, float_below

__all__ = [
    "MOST_COMPILED",
    "count_rows",
    "enumeration",
    "enumeration_cost",
    "enumeration_exact",
    "enumeration_exact_cost",
]

# Sums of cut values have so many bits (Lemma 16).
_BITS = 62
MOST_COMPILED = 44
MOST_BIG = 32


def enumeration_cost(question: SubsetSum) -> float:
    """Return about how many seconds ``enumeration`` takes; infinite where it is not offered."""
    n = len(question.values)
    return 1e-8 * 2.0 ** ((n + 1) // 2) if n <= MOST_COMPILED else np.inf


def enumeration(question: SubsetSum) -> Enclosure:
    """Enclose the probability: exactly when the sums fit 62 bits, up to near-ties beyond.

    Longer integers are cut to their leading bits, ``v' = floor(v / 2^s)``. A subset with sum
    ``S'`` of cut values has its true sum in ``[S', S' + n) 2^s``; so those with
    ``S' + n <= floor(capacity / 2^s)`` fit, and only those with ``S' <= floor(...)`` can. That is
    Lemma 16.
    """
    values, n = question.values, len(question.values)
    shift = max(question.total.bit_length() - _BITS, 0)
    cut = np.array([v >> shift for v in values], dtype=np.int64)
    capacity = min(max(question.capacity, -1), question.total) >> shift
    sure, possible = _count(cut, capacity - n if shift else capacity, capacity)
    if sure == possible:
        return Enclosure.of(Fraction(int(sure), 2**n))
    return Enclosure.proved(
        float_below(Fraction(int(sure), 2**n)), float_above(Fraction(int(possible), 2**n))
    )


def enumeration_exact_cost(question: SubsetSum) -> float:
    """Return about how many seconds the exact count takes; infinite where it is not offered."""
    n = len(question.values)
    return 1e-6 * 2.0 ** ((n + 1) // 2) if n <= MOST_BIG else np.inf


def enumeration_exact(question: SubsetSum) -> Enclosure:
    """Return the exact probability with integers of any length (1e300 next to 1e-300)."""
    left = _sorted_sums_big(question.values[0::2])
    right = _sorted_sums_big(question.values[1::2])
    count = 0
    j = len(right)
    for s in left:
        while j > 0 and s + right[j - 1] > question.capacity:
            j -= 1
        if j == 0:
            break
        count += j
    return Enclosure.of(Fraction(count, 2 ** len(question.values)))


def _sorted_sums_big(values: list[int]) -> list[int]:
    sums = [0]
    for v in values:
        sums = sorted(sums + [s + v for s in sums])
    return sums


@kernel
def _sorted_sums(values: NDArray[np.int64]) -> NDArray[np.int64]:
    sums = np.zeros(1 << len(values), dtype=np.int64)
    spare = np.empty_like(sums)
    size = 1
    for v in values:
        i = 0
        j = 0
        for at in range(2 * size):
            if j == size or (i < size and sums[i] <= sums[j] + v):
                spare[at] = sums[i]
                i += 1
            else:
                spare[at] = sums[j] + v
                j += 1
        size *= 2
        sums, spare = spare, sums
    return sums


@kernel
def _count(values: NDArray[np.int64], low: int, high: int) -> tuple[int, int]:
    """Count the subsets whose sum is at most ``low``, and at most ``high``."""
    # Alternate members keep the two halves' ranges alike.
    left = _sorted_sums(values[0::2])
    right = _sorted_sums(values[1::2])
    sure = 0
    possible = 0
    i = len(right)
    j = len(right)
    for s in left:
        while i > 0 and s + right[i - 1] > low:
            i -= 1
        while j > 0 and s + right[j - 1] > high:
            j -= 1
        if j == 0:
            break
        sure += i
        possible += j
    return sure, possible


@kernel
def count_rows(
    rows: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    margins: NDArray[np.int64],
    ranks: Candidates,
    doubt: int,
    high: float,
    most: int,
    answers: Answers,
) -> None:
    """Find for each row the smallest k with ``v_k >= high > v_{k-1}``, both counted.

    The features are so few that a share of their subsets is a float exactly. A row in which some
    subset comes so close to the margin that it is in ``doubt`` (Lemma 16) is left out. That the
    first k members are the best k is Corollary 6.
    """
    n = len(ranks.features)
    members = np.empty(n, dtype=np.int64)
    free = np.empty(n, dtype=np.int64)
    for r in range(len(rows)):
        capacity = margins[r]
        count = 0
        for j in range(n):
            if not helps(rows[r], positive[r], ranks, j):
                capacity += ranks.magnitudes[j]
            elif ranks.fixable[j]:
                members[count] = j
                count += 1
        below = -1
        k = min(most, count)
        share = _share_free(ranks, members[:k], capacity, doubt, free)
        reached = share >= high
        while reached and k - below > 1:
            middle = (below + k) // 2
            here = _share_free(ranks, members[:middle], capacity, doubt, free)
            if here < 0.0:
                share = here
                break
            if here >= high:
                k = middle
                share = here
            else:
                below = middle
        if share >= 0.0 and (reached or k == most):
            write(answers, r, k, share, share)


@kernel
def _share_free(
    ranks: Candidates,
    fixed: NDArray[np.int64],
    capacity: int,
    doubt: int,
    free: NDArray[np.int64],
) -> float:
    """Return the share of the subsets of what is not fixed that fit; -1 if that is in doubt."""
    at = 0
    size = 0
    for j in range(len(ranks.features)):
        if at < len(fixed) and fixed[at] == j:
            at += 1
        else:
            free[size] = ranks.magnitudes[j]
            size += 1
    sure, possible = _count(free[:size], capacity - doubt, capacity + doubt)
    return sure / 2.0**size if sure == possible else -1.0

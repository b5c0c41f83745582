"""Closed forms: certainty by the sum of maxima, row by row too, and one-sided Hoeffding tails.

Certainty is Proposition 8, the tail Lemma 15; together they are Table 1 line 1.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines.coins._answers import Answers, Candidates, helps, next_member, write
from sklearn_probsr.engines.coins._deficits import SubsetSum
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["certain_rows", "closed_form"]


def closed_form(question: SubsetSum) -> Enclosure:
    """Enclose the probability without looking at single subsets.

    Certainty and the smallest and largest possible values are exact: the empty subset always
    fits a capacity >= 0, the whole set fits iff the sum of all values does. In between,
    Hoeffding's inequality bounds the tail that the capacity cuts off (Lemma 15).
    """
    if question.capacity < 0:
        return Enclosure.of(Fraction(0))
    if question.capacity >= question.total:
        return Enclosure.of(Fraction(1))
    # One atom at least is inside (the empty subset) and one outside (the whole set).
    atom = math.ldexp(1.0, -min(len(question.values), 1100))
    excess = 2 * question.capacity - question.total
    squares = sum(v * v for v in question.values)
    # exp(-excess^2 / (2 squares)), the quotient rounded once and then pushed the safe way; the last
    # term is for an exponential that underflows.
    exponent = min(excess * excess / (2 * squares), 1000.0)
    tail = math.exp(-exponent * (1 - 1e-14)) * (1 + 1e-14) + 10 * 2.0**-1074
    if excess >= 0:
        return Enclosure.proved(max(1 - tail, atom), 1 - atom)
    return Enclosure.proved(atom, min(tail, 1 - atom))


@kernel
def certain_rows(
    rows: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    margins: NDArray[np.int64],
    ranks: Candidates,
    doubt: int,
    most: int,
    needed: NDArray[np.int64],
    answers: Answers,
) -> None:
    """Find for each row the smallest k whose first k members keep the class for certain.

    That is so once what is free cannot cost more than the margin (Proposition 8); the comparison is
    in ``doubt`` that close to equality (Lemma 16). ``needed`` is k, one more than there are members
    if all are too few, or -1 if doubtful. Rows that need at most ``most`` are answered.
    """
    n = len(ranks.features)
    members = np.empty(n, dtype=np.int64)
    for r in range(len(rows)):
        left = np.int64(0)
        for j in range(n):
            if helps(rows[r], positive[r], ranks, j):
                left += ranks.magnitudes[j]
        k = 0
        j = -1
        while left > margins[r] + doubt:
            j = next_member(rows[r], positive[r], ranks, j + 1)
            if j == n:
                break
            members[k] = j
            left -= ranks.magnitudes[j]
            k += 1
        if j == n:
            needed[r] = k + 1
        elif left > margins[r] - doubt:
            needed[r] = -1
        else:
            needed[r] = k
            if k <= most:
                write(answers, r, k, 1.0, 1.0)

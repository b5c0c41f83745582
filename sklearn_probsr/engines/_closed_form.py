"""Closed forms: certainty by the sum of maxima, and one-sided Hoeffding tails."""

from __future__ import annotations

import math
from fractions import Fraction

from sklearn_probsr._deficits import SubsetSum
from sklearn_probsr._enclosure import Enclosure

__all__ = ["closed_form"]


def closed_form(question: SubsetSum) -> Enclosure:
    """Enclose the probability without looking at single subsets.

    Certainty and the smallest and largest possible values are exact: the empty subset always
    fits a capacity >= 0, the whole set fits iff the sum of all values does. In between,
    Hoeffding's inequality bounds the tail that the capacity cuts off.

    References
    ----------
    Hoeffding (1963), Theorem 2: ``Pr[W - E W >= a] <= exp(-2 a^2 / sum v_i^2)``.
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

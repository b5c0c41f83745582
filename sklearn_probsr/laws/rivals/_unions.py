"""Unions: how likely some rival is ahead, from each of them and from pairs of them.

A bound of Bonferroni's kind from below: Dawson and Sankoff's, of the best sub-family (Lemma 86).
And what is known of a class from what is known of its duels, with samples where that is little.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.monte_carlo import hoeffding_radius
from sklearn_probsr.core.view import View
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["sampled", "together", "union_below"]

# Guarantees whose proved bounds are further apart are sampled as well, so often, at this risk
# (Corollary 27).
_FAR_APART, _SAMPLES, _RISK = 0.02, 100_000, 1e-6
# More than what sums and products of at most twelve probabilities are rounded by.
_ROUNDED = 1e-13
# Sub-families of so many events are all tried.
_MOST = 12


def union_below(single: NDArray[np.float64], pair: NDArray[np.float64]) -> float:
    """Bound a union from below, by lower bounds of events and upper bounds of their pairs.

    The events are in decreasing order; beyond the first twelve they are left out.
    """
    n = min(len(single), _MOST)
    families = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    first = families @ single[:n]
    inside = np.triu(pair[:n, :n], 1)
    second = ((families @ inside) * families).sum(axis=1)
    best = float(single.max(initial=0.0))
    for k in range(1, n):
        best = max(best, float((2 / (k + 1) * first - 2 / (k * (k + 1)) * second).max()))
    return max(best - _ROUNDED, 0.0)


def sampled(view: View, fixed: Collection[int], known: Enclosure) -> Enclosure:
    """Draw completions where bounds of a set are far apart; what they say has a confidence."""
    if known.width <= _FAR_APART:
        return known
    rng = np.random.default_rng(0)  # the same question has the same answer
    share = float(view.kept(list(fixed), [], _SAMPLES, rng)[0] / _SAMPLES)
    radius = hoeffding_radius(_SAMPLES, _RISK)
    lower, upper = max(known.lower, share - radius), min(known.upper, share + radius)
    # But for the risk, the two overlap.
    return Enclosure(min(lower, upper), max(lower, upper), 1 - _RISK)


def together(each: Iterable[Enclosure]) -> Enclosure:
    """Enclose the probability of winning every duel (Proposition 34)."""
    lost, least = Fraction(0), Fraction(1)
    for known in each:
        below, above = known.ends()
        lost += 1 - below
        least = min(least, above)
    return Enclosure.between(max(1 - lost, Fraction(0)), least)

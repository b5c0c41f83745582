"""Far values of contributions that are listed: moved in whole numbers, and accounted for.

One value of 400 that is a billion times as large as the others is to the period of a sum what it is
among 50,000 (Propositions 152, 165 and 166).
"""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np

from sklearn_probsr.independent.contributions import Listed
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.laws.sums._far_ranges import (
    FIRST,
    LONG,
    QUANTILES,
    SHORTER,
    Away,
    best_half,
)
from sklearn_probsr.laws.sums._far_tails import Ends, Inner, far_of, is_slight
from sklearn_probsr.laws.sums._periods import MARGIN, listed_away, listed_period

__all__ = ["listed_inner"]

# Ranges are chosen for bounds of this degree.
_DEGREE = 2**16
# Deviations are told to so many parts of a whole number.
_PARTS = 2**20
# What is further out, in deviations, is not told apart.
_BEYOND = 2**900


def listed_inner(seen: Listed) -> Inner[Listed] | None:
    """Return contributions without what is far out, or as they are where that is no trouble.

    None where floats cannot tell the numbers apart.
    """
    if "inner" not in seen.kept:
        period = listed_period(seen)
        held = _held(seen, period)
        whole = None if period is None else Inner(seen, period)
        seen.kept["inner"] = whole if held is None else held
    found: Inner[Listed] | None = seen.kept["inner"]
    return found


def _held(seen: Listed, period: int | None) -> Inner[Listed] | None:
    """Return contributions held within a range; None if that does not pay."""
    middles, deviations = _bulks(seen)
    long = [d for d in deviations if d and (period is None or d * Fraction(LONG) < period)]
    best = best_half((_away(seen, middles, deviation) for deviation in long), _DEGREE)
    if best is None:
        return None
    deviation = long[best[0]]
    half = max(round(deviation * Fraction(best[1])), 1)
    inner, moved = _within(seen, middles, half)
    shorter = listed_period(inner)
    if not moved or shorter is None or (period is not None and SHORTER * shorter > period):
        return None
    found = _accounted(inner, moved, shorter)
    return found if is_slight(found.far, float(deviation / shorter)) else None


def _bulks(seen: Listed) -> tuple[list[int], list[Fraction]]:
    """Return the middle of each unit, and deviations of the sum by pairs of quantiles."""
    middles, squares = [], [0] * len(QUANTILES)
    for v, chances in zip(seen.values, seen.chances, strict=True):
        below = list(accumulate(chances))
        middles.append(v[bisect_left(below, seen.denominator / 2)])
        for i, (levels, _) in enumerate(QUANTILES):
            low, high = (v[bisect_left(below, level * seen.denominator)] for level in levels)
            squares[i] += (high - low) ** 2
    each = zip(squares, QUANTILES, strict=True)
    return middles, [
        Fraction(math.isqrt(square * _PARTS**2), _PARTS) / Fraction(apart)
        for square, (_, apart) in each
    ]


def _away(seen: Listed, middles: list[int], deviation: Fraction) -> Away:
    """Return what is far from the middles, in deviations."""
    sizes, sides = [], []
    first = round(deviation * Fraction(FIRST))
    for v, chances, middle in zip(seen.values, seen.chances, middles, strict=True):
        low, high = bisect_left(v, middle - first), bisect_right(v, middle + first)
        for i in (*range(low), *range(high, len(v))):
            chance = chances[i] / seen.denominator
            sizes.append(float(min(abs(v[i] - middle) / deviation, _BEYOND)))
            sides.append((chance, 0.0) if i < low else (0.0, chance))
    return Away(np.maximum(sizes, FIRST), np.array(sides).reshape(-1, 2).T)


def _within(
    seen: Listed, middles: list[int], half: int
) -> tuple[Listed, dict[int, tuple[int, int]]]:
    """Return the same with what is further from the middle of its unit moved to that distance.

    And the chances of what was moved from below and from above, of the units of which some was.
    """
    values, masses, moved = list(seen.values), list(seen.chances), {}
    for u, middle in enumerate(middles):
        v, chances = values[u], masses[u]
        low, high = bisect_left(v, middle - half), bisect_right(v, middle + half)
        below, above = sum(chances[:low]), sum(chances[high:])
        if not below and not above:
            continue
        law = dict(zip(v[low:high], chances[low:high], strict=True))
        for end, mass in ((middle - half, below), (middle + half, above)):
            if mass:
                law[end] = law.get(end, 0) + mass
        moved[u] = below, above
        values[u], masses[u] = sorted(law), [law[c] for c in sorted(law)]
    return dataclasses.replace(seen, values=values, chances=masses), moved


def _accounted(seen: Listed, moved: dict[int, tuple[int, int]], period: int) -> Inner[Listed]:
    """Return held contributions with the numbers of Proposition 152, rounded to the safe side."""
    turn = float(Fraction(seen.widest) / period)
    width, mean, variance = (turn * seen.moments[0], turn * seen.moments[1], seen.moments[2])
    off = float(width.sum()) * 4 * (max(map(len, seen.values)) + 16) * UNIT
    sides = []
    for side in (0, 1):
        units = np.array([u for u, masses in moved.items() if masses[side]], dtype=np.intp)
        shares = np.array([moved[u][side] / seen.denominator for u in units.tolist()])
        away = width[units] - mean[units] if side else mean[units]
        away = np.maximum((away - off) * (1 - MARGIN), 0.0)
        sides.append(Ends(units, shares * (1 + MARGIN), away))
    starts, below, chances = listed_away(seen, -1)
    above = listed_away(seen, 1)[1]
    around = [turn * away + 8 * UNIT * (1 + np.abs(turn * away)) for away in (below, above)]
    spread = turn**2 * float(variance.sum()) * (1 + MARGIN)
    far = far_of(starts, (around[0], around[1]), chances, (sides[0], sides[1]), spread)
    return Inner(seen, period, far)

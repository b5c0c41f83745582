"""Far values: what is rare and far out is moved to the end of a range, and accounted for.

A period has to hold the whole sum, but for a tiny chance. One value in 50,000 that is a million
times as large as the others makes it a million times as long, and all the others look alike. If
every unit is held within a range, the sum is another one only where a value was moved, and the
class is another one only if all the others make up for what is left of it (Propositions 152, 165).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.laws.sums._crowd_periods import crowd_away, crowd_period
from sklearn_probsr.laws.sums._crowds import Crowds
from sklearn_probsr.laws.sums._far_ranges import (
    FIRST,
    LONG,
    QUANTILES,
    SHORTER,
    Away,
    best_half,
)
from sklearn_probsr.laws.sums._far_tails import Ends, Inner, far_of, is_slight
from sklearn_probsr.laws.sums._periods import MARGIN

__all__ = ["inner_of"]

# Ranges are chosen for bounds of this degree.
_DEGREE = 2**13
# So many values tell the quantiles.
_GLANCE = 2**12
# More than a share is off by where columns add up, of a deviation and of a mean (Proposition 51).
_DOUBT = 1e-8


def inner_of(seen: Crowds) -> Inner[Crowds]:
    """Return contributions without what is far out, or as they are where that is no trouble."""
    if seen.inner is None:
        found = Inner(seen, crowd_period(seen))
        held = _held(seen, found.period)
        seen.inner = found if held is None else held
    inner: Inner[Crowds] = seen.inner
    return inner


def _held(seen: Crowds, period: Fraction | int) -> Inner[Crowds] | None:
    """Return contributions held within a range; None if that does not pay."""
    worths = {u: seen.worths(u) for u in seen.by_range}
    known = {u: each for u, each in worths.items() if each is not None}
    if len(known) < len(worths):
        return None
    middles, deviations = _bulks(known)
    long = [d for d in deviations if 0 < d * LONG < period]
    best = best_half((_away(seen, known, middles, deviation) for deviation in long), _DEGREE)
    if best is None:
        return None
    deviation, half = long[best[0]], Fraction(long[best[0]]) * Fraction(best[1])
    ranges = {u: (Fraction(at) - half, Fraction(at) + half) for u, at in middles.items()}
    inner = seen.within(ranges)
    shorter = crowd_period(inner)
    if not inner.moved or SHORTER * shorter > period:
        return None
    found = _accounted(inner, shorter)
    return found if is_slight(found.far, float(deviation / shorter)) else None


def _bulks(worths: dict[int, NDArray[np.float64]]) -> tuple[dict[int, float], list[float]]:
    """Return the middle of each unit, and deviations of the sum by pairs of quantiles."""
    middles, spreads = {}, []
    levels = [level for pair, _ in QUANTILES for level in pair]
    for u, each in worths.items():
        some = each[:: max(len(each) // _GLANCE, 1)]
        middle, *at = np.quantile(some, [0.5, *levels], method="nearest").tolist()
        middles[u] = middle
        spreads.append(np.diff(at)[::2])
    spread = np.array(spreads).reshape(-1, len(QUANTILES))
    pairs = zip(spread.T.tolist(), QUANTILES, strict=True)
    return middles, [math.hypot(*some) / apart for some, (_, apart) in pairs]


def _away(
    seen: Crowds, worths: dict[int, NDArray[np.float64]], middles: dict[int, float], unit: float
) -> Away:
    """Return what is far from the middles, in deviations."""
    sizes, chances = [], []
    for u, each in worths.items():
        away = (each - middles[u]) / unit
        at = np.flatnonzero(np.abs(away) > FIRST)
        sizes.append(np.abs(away[at]))
        chances.append(np.where([away[at] < 0, away[at] > 0], seen.chances[at], 0.0))
    return Away(np.concatenate(sizes), np.concatenate(chances, axis=1))


def _accounted(seen: Crowds, period: Fraction | int) -> Inner[Crowds]:
    """Return held contributions with the numbers of Proposition 152, rounded to the safe side."""
    width = np.array([float((most - least) / period) for least, most in seen.ends])
    total = int(seen.weights.sum())
    off = float(width.sum()) * (_DOUBT + 4 * (len(seen.rows) + 16) * UNIT)
    place = {u: i for i, u in enumerate(np.flatnonzero(width).tolist())}
    sides = []
    for side in (0, 1):
        at = [u for u, moved in seen.moved.items() if moved[side]]
        shares = [int(seen.weights[seen.outside(u)[side]].sum()) / total for u in at]
        away = [width[u] * abs(side - float(seen.centres[u])) for u in at]
        ends = Ends(
            np.array([place[u] for u in at], dtype=np.intp),
            np.array(shares) * (1 + MARGIN),
            np.maximum((np.array(away) - off) * (1 - MARGIN), 0.0),
        )
        sides.append(ends)
    variance = float((width**2 * (np.sqrt(seen.variances) + _DOUBT) ** 2).sum()) * (1 + MARGIN)
    below, above = (crowd_away(seen, width, side) for side in (-1, 1))
    assert below is not None
    assert above is not None
    starts, chances = above[0], above[2]
    far = far_of(starts, (below[1], above[1]), chances, (sides[0], sides[1]), variance)
    return Inner(seen, period, far)

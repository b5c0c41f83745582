"""Far values: what is rare and far out is moved to the end of a range, and accounted for.

A period has to hold the whole sum, but for a tiny chance. One value in 50,000 that is a million
times as large as the others makes it a million times as long, and all the others look alike. If
every unit is held within a range, the sum is another one only where a value was moved, and the
class is another one only if all the others make up for what is left of it (Proposition 152).

How wide the range is chosen matters for the width of bounds, not for their being right.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.coins._vaaler import TAIL, UNIT
from sklearn_probsr.laws.sums._crowd_periods import crowd_period
from sklearn_probsr.laws.sums._crowds import Crowds
from sklearn_probsr.laws.sums._periods import MARGIN

__all__ = ["Inner", "inner_of"]

# Periods of so many deviations of the bulk are left as they are.
_LONG = 48.0
# A range must make the period shorter by this factor, with no more than that moved on a side.
_SHORTER, _MOST_MOVED = 2, 1 / 32
# The bulk of a unit is between these quantiles, which are so many deviations of a normal law apart.
_BULK, _APART = (0.025, 0.975), 3.92
# So many values tell the quantiles.
_GLANCE = 2**12
# Ranges are tried from this many deviations of the bulk on, each wider by a factor, and so many.
_FIRST, _FACTOR, _STEPS = 2.0, 2**0.5, 64
# Where decisions are made, in deviations, and what a period of one deviation adds to a width there.
_DECIDED, _BLURRED = 2.5, 0.3 / 2**13
# Chernoff's exponents that are tried, in inverse deviations.
_EXPONENTS = np.geomspace(2**-20, 16.0, 80)
# More than a share is off by where columns add up, of a deviation and of a mean (Proposition 51).
_DOUBT = 1e-8


class Inner(NamedTuple):
    """Contributions that spectra tell of, with their period, and what was moved to get there.

    ``far``, ``reach`` and ``variance`` are those of a ``Spectrum``.
    """

    seen: Crowds
    period: Fraction | int
    far: float = 0.0
    reach: float = 0.0
    variance: float = 1.0


def inner_of(seen: Crowds) -> Inner:
    """Return contributions without what is far out, or as they are where that is no trouble."""
    if seen.inner is None:
        found = Inner(seen, crowd_period(seen))
        held = _held(seen, found.period)
        seen.inner = found if held is None else held
    inner: Inner = seen.inner
    return inner


def _held(seen: Crowds, period: Fraction | int) -> Inner | None:
    """Return contributions held within a range; None if that does not pay."""
    bulk = _bulk(seen)
    if bulk is None or not 0 < bulk.deviation * _LONG < period:
        return None
    half = _half_range(bulk)
    if half is None:
        return None
    width = Fraction(half)
    ranges = {u: (middle - width, middle + width) for u, middle in bulk.middles.items()}
    inner = seen.within(ranges)
    shorter = crowd_period(inner)
    if not inner.moved or _SHORTER * shorter > period:
        return None
    found = _accounted(inner, shorter)
    return found if found.far <= _MOST_MOVED else None


def _accounted(seen: Crowds, period: Fraction | int) -> Inner:
    """Return held contributions with the numbers of Proposition 152, rounded to the safe side."""
    width = np.array([float((most - least) / period) for least, most in seen.ends])
    counts, ends = np.zeros(2, dtype=np.int64), []
    for u, moved in seen.moved.items():
        centre = float(seen.centres[u])
        for side, away in enumerate((centre, 1 - centre)):
            if moved[side]:
                counts[side] += seen.weights[seen.outside(u)[side]].sum()
                ends.append(width[u] * away)
    far = int(counts.max()) / int(seen.weights.sum())
    off = float(width.sum()) * (_DOUBT + 4 * (len(seen.rows) + 16) * UNIT)
    variance = float((width**2 * (np.sqrt(seen.variances) + _DOUBT) ** 2).sum())
    reach = max((min(ends) - off) * (1 - MARGIN), 0.0)
    return Inner(seen, period, far * (1 + MARGIN), reach, variance * (1 + MARGIN))


class _Bulk(NamedTuple):
    """Where most values are: the middle of each unit, and the deviation of their sum.

    ``away`` are the distances of all values that are far from it, with their chances by side.
    """

    middles: dict[int, Fraction]
    deviation: float
    away: NDArray[np.float64]
    chances: NDArray[np.float64]  # (2, values): below, above


def _bulk(seen: Crowds) -> _Bulk | None:
    middles, spreads, worths = {}, [], {}
    for u in seen.by_range:
        each = seen.worths(u)
        if each is None:
            return None
        some = each[:: max(len(each) // _GLANCE, 1)]
        low, middle, high = np.quantile(some, [_BULK[0], 0.5, _BULK[1]], method="nearest")
        middles[u], worths[u] = Fraction(float(middle)), each - middle
        spreads.append(float(high - low) / _APART)
    deviation = math.hypot(*spreads)
    away, chances = [], []
    for each in worths.values():
        at = np.flatnonzero(np.abs(each) > _FIRST * deviation)
        away.append(np.abs(each[at]))
        chances.append(np.where([each[at] < 0, each[at] > 0], seen.chances[at], 0.0))
    if not away:
        return None
    return _Bulk(middles, deviation, np.concatenate(away), np.concatenate(chances, axis=1))


def _half_range(bulk: _Bulk) -> float | None:
    """Return how far values may be from the middle of their unit; None: nothing is far out."""
    if not len(bulk.away):
        return None
    away = bulk.away / bulk.deviation
    steps = min(math.floor(math.log(float(away.max()) / _FIRST, _FACTOR)) + 1, _STEPS)
    halves: NDArray[np.float64] = _FIRST * _FACTOR ** np.arange(float(steps))
    at = np.maximum(np.searchsorted(halves, away) - 1, 0)
    each = [np.bincount(at, side, steps) for side in bulk.chances]
    masses = np.array(each, dtype=np.float64)
    # How likely something is beyond each of them, on a side, and the variance within.
    beyond = masses[:, ::-1].cumsum(axis=1)[:, ::-1]
    squares = np.minimum(halves[:, None], halves * math.sqrt(_FACTOR)) ** 2
    variance = 1 + squares @ masses.sum(axis=0)
    gap = np.maximum(halves - _DECIDED, 0.0)
    changed = beyond.max(axis=0) * variance / (variance + gap**2)
    widths = _BLURRED * _periods(halves, masses) + changed
    return float(halves[np.argmin(widths)]) * bulk.deviation


def _periods(halves: NDArray[np.float64], masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return about which period each half range leads to, in deviations, by Chernoff's bound."""
    longest = np.zeros(len(halves))
    for mass in masses:
        best = np.full(len(halves), math.inf)
        for exponent in _EXPONENTS.tolist():
            power = np.minimum(exponent * halves, 600.0)  # what is cut off is no candidate
            grown = np.expm1(power) - power
            inside = np.concatenate([[0.0], np.cumsum(mass * grown)[:-1]])
            total = inside + grown * mass[::-1].cumsum()[::-1]
            best = np.minimum(best, exponent / 2 + (total + math.log(2 / TAIL)) / exponent)
        longest = np.maximum(longest, 2 * best)
    return longest

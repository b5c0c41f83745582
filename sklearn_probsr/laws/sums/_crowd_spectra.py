"""What rows share when their unknown units are independent and have very many values."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.coins._vaaler import SPREADS
from sklearn_probsr.engines.sums._crowd import Crowd, crowd_spectrum
from sklearn_probsr.engines.sums._spectrum import Spectrum
from sklearn_probsr.laws.sums._crowds import CELLS, Crowds
from sklearn_probsr.laws.sums._heads import shared_out
from sklearn_probsr.laws.sums._periods import MARGIN, chernoff_reach
from sklearn_probsr.laws.sums._spectra import Shared
from sklearn_probsr.laws.sums._turns import clamped

__all__ = ["CrowdShared"]

_DEGREES = (2**12, 2**14)
_MOST_CELLS = 2**22


class CrowdShared(Shared):
    """Spectra of units whose contributions are not listed."""

    contributions: Crowds

    @classmethod
    def of(  # type: ignore[override]
        cls, contributions: Crowds, positive: bool | None
    ) -> CrowdShared:
        """Build them, for a class or whole."""
        widths = [most - least for least, most in contributions.ends]
        period = _period(contributions)
        width = np.array([float(w / period) for w in widths])
        centre = width * contributions.centres
        variance = width**2 * contributions.variances
        head, broad, rest = shared_out(contributions, centre, variance, period, positive)
        degrees = [_DEGREES[-1]] if rest else list(_DEGREES)
        positions, wider = ({u: j for j, u in enumerate(some)} for some in (head, broad))
        found = cls(contributions, period, centre, variance, positions, wider, [], [], degrees)
        object.__setattr__(found, "others", rest)
        return found

    others: list[int]

    @property
    def grain(self) -> float:  # type: ignore[override]
        """How wide a cell is in which values are not told apart, in turns."""
        widest = float(self.contributions.widest / self.period)
        return widest * (1 / CELLS + 1e-8)

    def _by_cost(
        self, positive: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Return cells in place of values: their middles, and what they hold up to each."""
        seen = self.contributions
        turns, sums, starts = [], [], [0]
        for u, (least, most) in enumerate(seen.ends):
            weights = seen.cells[u][:: -1 if positive else 1]
            middles = (np.arange(CELLS) + 0.5)[:: -1 if positive else 1]
            there = weights > 0
            turns.append(middles[there] / CELLS * float((most - least) / self.period))
            sums.append(np.cumsum(weights[there]))
            starts.append(starts[-1] + int(there.sum()))
        return np.array(starts), np.concatenate(turns), np.concatenate(sums)

    def _build(self, degree: int, whole: bool) -> Spectrum:
        units = list(self.broad)
        head = units if whole else list(self.positions)
        inside = set(head)
        rest = [u for u in [*units, *self.others] if u not in inside]
        rest.sort(key=lambda u: -self.variance[u])
        return crowd_spectrum(
            [self._law(u) for u in head], [self._law(u) for u in rest], degree, _MOST_CELLS
        )

    def _law(self, unit: int) -> Crowd:
        seen = self.contributions
        least, most = seen.ends[unit]
        shares, doubt = seen.shares(unit)
        width = float((most - least) / self.period)
        return Crowd(shares, seen.chances, width, float(self.centre[unit]), doubt)

    @cached_property
    def _cuts(self) -> tuple[float, float]:
        """Where the cut is when nothing is fixed; there are no whole numbers to keep it between."""
        seen = self.contributions
        least = sum((end[0] for end in seen.ends), start=Fraction(0))
        cut = clamped((seen.threshold - least) / self.period) - math.fsum(self.centre)
        return cut, cut


def _period(seen: Crowds) -> int:
    """Return a period that holds all but ``TAIL`` of every sum, around its mean (Lemma 20).

    By the ranges of the units (Hoeffding), or by their laws (Chernoff, Proposition 52).
    """
    exact = [most - least for least, most in seen.ends]
    width = np.array([float(w) for w in exact])
    whole = 2 * math.ceil(sum(exact))
    by_range = SPREADS / 2 * math.sqrt(float((width**2).sum()))
    deviation = math.sqrt(float((width**2 * seen.variances).sum()))
    by_law = 2 * max(_reach(seen, width, deviation, side) for side in (1, -1))
    return min(math.ceil(min(by_range, by_law) * (1 + MARGIN)), whole) + 8


def _reach(seen: Crowds, width: NDArray[np.float64], deviation: float, side: int) -> float:
    """Return what the sum exceeds its mean by with probability ``TAIL / 2`` at most, on a side."""
    edges = np.arange(CELLS) + (1.0 if side > 0 else 0.0)
    total, starts = int(seen.weights.sum()), [0]
    away: list[NDArray[np.float64]] = []
    chances: list[NDArray[np.float64]] = []
    for u in np.flatnonzero(width).tolist():
        there = seen.cells[u] > 0
        chances.append(seen.cells[u][there] / total)
        outside = side * (edges[there] / CELLS - seen.centres[u]) + MARGIN / CELLS
        away.append(width[u] * outside)
        starts.append(starts[-1] + len(away[-1]))
    if not away:
        return math.inf
    flat = np.concatenate(away), np.concatenate(chances)
    return chernoff_reach(np.array(starts), *flat, deviation)

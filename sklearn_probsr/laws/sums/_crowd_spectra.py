"""What rows share when their unknown units are independent and have very many values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._crowd import Crowd, crowd_spectrum
from sklearn_probsr.engines.sums._far import far_table
from sklearn_probsr.engines.sums._spectrum import Spectrum
from sklearn_probsr.laws.sums._crowds import CELLS, Crowds
from sklearn_probsr.laws.sums._far_tails import Inner
from sklearn_probsr.laws.sums._far_values import inner_of
from sklearn_probsr.laws.sums._heads import shared_out
from sklearn_probsr.laws.sums._spectra import Shared
from sklearn_probsr.laws.sums._turns import clamped, turned_out

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
        inner = inner_of(contributions)
        seen, period = inner.seen, inner.period
        width = np.array([float((most - least) / period) for least, most in seen.ends])
        centre = width * seen.centres
        variance = width**2 * seen.variances
        head, broad, rest = shared_out(seen, centre, variance, period, positive)
        degrees = [_DEGREES[-1]] if rest else list(_DEGREES)
        positions, wider = ({u: j for j, u in enumerate(some)} for some in (head, broad))
        found = cls(contributions, inner, centre, variance, positions, wider, [], [], degrees)
        object.__setattr__(found, "others", rest)
        return found

    others: list[int]
    inner: Inner[Crowds]

    @property
    def grain(self) -> float:  # type: ignore[override]
        """How wide a cell is in which values are not told apart, in turns."""
        widest = float(self.inner.seen.widest / self.period)
        return widest * (1 / CELLS + 1e-8)

    def _by_cost(
        self, positive: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Return cells in place of values: their middles, and what they hold up to each.

        Values that were moved are not: they are listed where they are.
        """
        seen = self.inner.seen
        turns, sums, starts = [], [], [0]
        for u, (least, most) in enumerate(seen.ends):
            weights = seen.cells[u].copy()
            middles = (np.arange(CELLS) + 0.5) / CELLS * float((most - least) / self.period)
            if u in seen.moved:
                middles, weights = self._with_moved(u, middles, weights)
            there = np.flatnonzero(weights)[:: -1 if positive else 1]
            turns.append(middles[there])
            sums.append(np.cumsum(weights[there]))
            starts.append(starts[-1] + len(there))
        return np.array(starts), np.concatenate(turns), np.concatenate(sums)

    def _with_moved(
        self, unit: int, middles: NDArray[np.float64], weights: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return cells of a unit without values that were moved, and these, by their worth."""
        seen, least = self.inner.seen, self.ends[unit][0]
        for cell, outside in zip((0, CELLS - 1), seen.outside(unit), strict=True):
            rows = np.flatnonzero(outside)
            weights[cell] -= seen.weights[rows].sum()
            worths = (seen.worth(unit, row) for row in rows.tolist())
            away = [turned_out((worth - least) / self.period) for worth in worths]
            middles = np.concatenate([middles, away])
            weights = np.concatenate([weights, seen.weights[rows]])
        order = np.argsort(middles, kind="stable")
        return middles[order], weights[order]

    def _build(self, degree: int, whole: bool) -> Spectrum:
        units = list(self.broad)
        head = units if whole else list(self.positions)
        inside = set(head)
        rest = [u for u in [*units, *self.others] if u not in inside]
        rest.sort(key=lambda u: -self.variance[u])
        spectrum = crowd_spectrum(
            _Laws(self._law, head), _Laws(self._law, rest), degree, _MOST_CELLS
        )
        return spectrum._replace(far=far_table(self.inner.far))

    def _law(self, unit: int) -> Crowd:
        seen = self.inner.seen
        least, most = seen.ends[unit]
        shares, doubt = seen.shares(unit)
        width = float((most - least) / self.period)
        return Crowd(shares, seen.chances, width, float(self.centre[unit]), doubt)

    @cached_property
    def _cuts(self) -> tuple[float, float]:
        """Where the cut is when nothing is fixed; there are no whole numbers to keep it between."""
        seen = self.inner.seen
        least = sum((end[0] for end in seen.ends), start=Fraction(0))
        cut = clamped((seen.threshold - least) / self.period) - math.fsum(self.centre)
        return cut, cut


@dataclass(frozen=True)
class _Laws(Sequence[Crowd]):
    """Laws of some units, made one by one: together they are as large as the data."""

    make: Callable[[int], Crowd]
    units: list[int]

    def __len__(self) -> int:
        return len(self.units)

    def __getitem__(self, place: Any) -> Any:
        return self.make(self.units[place])

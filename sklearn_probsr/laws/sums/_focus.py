"""Focus: sets that are made of few units leave all others free, and those are multiplied once."""

from __future__ import annotations

import numpy as np

from sklearn_probsr.engines.sums._spectrum import Begun, begin, bounds_from
from sklearn_probsr.laws.sums._spectra import Shared

__all__ = ["Focus"]


class Focus:
    """The units that sets of one instance are made of.

    Parameters
    ----------
    units : frozenset of int
    """

    def __init__(self, units: frozenset[int]) -> None:
        self.units = units
        self._begun: dict[tuple[int, int], Begun] = {}

    def covers(self, fixed: frozenset[int], shared: Shared) -> bool:
        """Tell whether a set is made of these units, and spectra know them all."""
        return shared.positions.keys() >= self.units >= fixed

    def bounds(
        self, fixed: frozenset[int], shared: Shared, degree: int, cut: float, blur: float
    ) -> tuple[float, float]:
        """Bound the probability that the sum is at most at its cut, when some units are fixed."""
        spectrum, key = shared.spectrum(degree), (id(shared), degree)
        if key not in self._begun:
            others = [j for u, j in shared.positions.items() if u not in self.units]
            self._begun[key] = begin(spectrum, np.array(others, dtype=np.int64))
        free = np.array([shared.positions[u] for u in sorted(self.units - fixed)], dtype=np.int64)
        return bounds_from(spectrum, self._begun[key], free, cut, blur)

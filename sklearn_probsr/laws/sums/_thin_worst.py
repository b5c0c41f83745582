"""What very many units add at worst: of all together it does not depend on the instance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.cache import Memo
from sklearn_probsr.laws.sums._thin_laws import ThinLaws

__all__ = ["Worst"]


class Worst:
    """What units with some weights add at worst, for either class."""

    def __init__(self, laws: ThinLaws, weights: NDArray[np.float64]) -> None:
        self.laws, self.weights = laws, weights
        self._sides: Memo[tuple[float, float]] = Memo(2)

    def of(self, sign: float, units: Any = slice(None)) -> NDArray[np.float64]:
        """Return what some units add at worst for a class."""
        least, most = self.laws.ends
        weights = sign * self.weights[units]
        found: NDArray[np.float64] = np.where(weights > 0, least[units], most[units]) * weights
        return found

    def total(self, sign: float) -> tuple[float, float]:
        """Return about what all units add at worst for a class, and the sum of their sizes."""

        def summed() -> tuple[float, float]:
            each = self.of(sign)
            return float(each.sum()), float(np.abs(each).sum())

        return self._sides.get(sign, summed)

    def exactly(self, sign: float) -> Fraction:
        """Return what all units add at worst for a class, exactly."""
        least, most = self.laws.ends
        ends = np.where(sign * self.weights > 0, least, most)
        there = np.flatnonzero(ends)
        each = zip(self.weights[there].tolist(), ends[there].tolist(), strict=True)
        return int(sign) * sum((Fraction(w) * Fraction(x) for w, x in each), Fraction(0))

"""A sum of very many units without those that are fixed: what is known of its product.

Units are divided out of the product of all (Proposition 47), and multiplied into it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.laws.sums._thin_laws import ThinLaws

__all__ = ["Running"]


class Divisible(Protocol):
    """A product of the factors of units."""

    laws: ThinLaws
    weights: NDArray[np.float64]

    def place(self, unit: int) -> int | None:
        """Return where a unit is among those that are multiplied one by one."""

    def divisor(self, units: list[int]) -> tuple[NDArray[np.complex128], float, float]:
        """Return the product of some units' factors, and how much they decay at most."""


class Running(NamedTuple):
    """The sum of all units but for some, which are fixed.

    ``product`` is without the units that are multiplied one by one, of which the fixed ones are at
    the places ``thick``. ``growth`` is what an error of it has grown by, at each node; ``spread``
    and ``bent`` bound how much less it has decayed: by ``min(spread, bent k^2)`` at node k
    (Lemma 137).
    """

    centre: float
    product: NDArray[np.complex128]
    growth: NDArray[np.float64]
    thick: frozenset[int] = frozenset()
    spread: float = 0.0
    bent: float = 0.0
    size: int = 0

    def fixing(self, spectrum: Divisible, units: Sequence[int]) -> Running:
        """Return the sum without some more units (Proposition 47)."""
        at = list(units)
        places = (spectrum.place(u) for u in at)
        thick = self.thick.union(place for place in places if place is not None)
        factor, spread, bent = spectrum.divisor(at)
        return Running(
            self.centre - float((spectrum.laws.means[at] * spectrum.weights[at]).sum()),
            self.product / factor,
            self.growth / np.abs(factor),
            thick,
            self.spread + spread,
            self.bent + bent,
            self.size + len(at),
        )

    def freeing(self, spectrum: Divisible, units: Sequence[int]) -> Running:
        """Return the sum with some units again that were fixed.

        Factors are at most 1, so that errors are those of the fixed units still.
        """
        at = list(units)
        return self._replace(
            centre=self.centre + float((spectrum.laws.means[at] * spectrum.weights[at]).sum()),
            product=self.product * spectrum.divisor(at)[0],
            thick=self.thick - {spectrum.place(u) for u in at},
            size=self.size + len(at),
        )

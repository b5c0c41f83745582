"""The level that a guarantee has to reach, between two floats."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from sklearn_probsr.model.numbers import floats_around

__all__ = ["ANY", "Level"]


class Level(NamedTuple):
    """Two floats with ``low <= delta <= high``.

    A lower bound of at least ``high`` surely reaches delta, and an upper bound below ``low`` surely
    misses it.
    """

    low: float
    high: float

    @classmethod
    def around(cls, delta: Fraction) -> Level:
        """Return the level of a probability."""
        return cls(*floats_around(delta))

    @property
    def passed(self) -> Level:
        """The same for lower bounds that go one ulp outward at the end, and must pass it by one."""
        return Level(self.low, min(math.nextafter(self.high, 2.0), 1.0))


# No enclosure leaves this one to a side: for a number that is wanted for itself.
ANY = Level(0.0, 2.0)

"""The question of independent costs: is the sum of parts, of finitely many values, so small."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from numpy.typing import NDArray

__all__ = ["FiniteSum", "Part"]


@dataclass(frozen=True)
class Part:
    """A random cost: increasing values from 0 on, and the chance of each over a denominator."""

    values: tuple[int, ...]
    chances: tuple[int, ...]

    @cached_property
    def moment(self) -> int:
        """The expected value, times the denominator."""
        return sum(map(mul, self.values, self.chances))

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The values but the first, as shares of the last."""
        return np.array([v / self.values[-1] for v in self.values[1:]])

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The chances, each rounded once."""
        whole = sum(self.chances)
        return np.array([chance / whole for chance in self.chances])


@dataclass(frozen=True)
class FiniteSum:
    """The question "is the sum of the parts at most ``capacity``?".

    Parameters
    ----------
    parts : list of Part
        Independent, with two values at least.
    denominator : int
        Of all chances; those of a part sum to it.
    capacity : int
    """

    parts: list[Part]
    denominator: int
    capacity: int

    @cached_property
    def total(self) -> int:
        """The largest sum."""
        return sum(part.values[-1] for part in self.parts)

    @cached_property
    def mean(self) -> Fraction:
        """The expected sum."""
        return Fraction(sum(part.moment for part in self.parts), self.denominator)

    @cached_property
    def squares(self) -> int:
        """The sum of the squares of the ranges."""
        return sum(part.values[-1] ** 2 for part in self.parts)

    @cached_property
    def atoms(self) -> int:
        """How many values the parts have together."""
        return sum(len(part.values) for part in self.parts)

"""Contributions: what each unit adds to the decision function, exactly.

A unit that is left unknown is a random contribution ``C_u`` in place of the instance's own,
``c_u(x)``; what it costs is the difference. The kind of feature (binary, one-hot, real-valued)
disappears here, and with it the columns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._finite_sum import Part
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.model.linear import LinearModel

__all__ = ["Contributions", "Listed"]


class Contributions(ABC):
    """The random contributions of independent units, on one scale.

    Attributes
    ----------
    model : LinearModel
    scale : Fraction
        What 1 is worth here.
    threshold : Fraction
        The model's threshold on this scale.
    ends : list of pairs
        The least and the most that each unit can contribute, exactly.
    """

    model: LinearModel
    scale: Fraction
    threshold: Fraction

    @property
    @abstractmethod
    def ends(self) -> list[tuple[Fraction | int, Fraction | int]]:
        """The least and the most that each unit can contribute."""

    @property
    @abstractmethod
    def atoms(self) -> int:
        """How many values the units have together, or more."""

    @property
    @abstractmethod
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Each unit's width, mean above its least, and variance, in widths of the widest."""

    def known(self, row: NDArray[np.float64] | NDArray[np.bool_]) -> list[Fraction]:
        """Return what the units of an instance contribute, on this scale."""
        return [c / self.scale for c in self.model.contributions(row)]

    @cached_property
    def fineness(self) -> int:
        """The least number by which all ends can be multiplied to be whole."""
        return math.lcm(*(end.denominator for pair in self.ends for end in pair))

    @cached_property
    def widest(self) -> Fraction | int:
        """The widest range of a unit, or 1 if nothing varies."""
        return max(most - least for least, most in self.ends) or 1

    @cached_property
    def by_range(self) -> list[int]:
        """The units that vary, those with the widest range first."""
        widths = [most - least for least, most in self.ends]
        varying = [u for u, width in enumerate(widths) if width]
        return sorted(varying, key=lambda u: -widths[u])


@dataclass(frozen=True)
class Listed(Contributions):
    """Contributions of finitely many values, as whole numbers of one scale.

    Attributes
    ----------
    scale : Fraction
        What one whole number is worth.
    values : list of list of int
        The contributions that each unit can make, increasing.
    chances : list of list of int
        The chance of each, positive, over the common ``denominator``.
    threshold : Fraction
        The model's threshold on this scale.
    """

    model: LinearModel
    scale: Fraction
    values: list[list[int]]
    chances: list[list[int]]
    denominator: int
    threshold: Fraction

    @classmethod
    def of(cls, model: LinearModel, source: Source) -> Listed:
        """Return those of a model whose unknown units come from a source."""
        laws = source.atoms(model)
        unit = Fraction(1, math.lcm(*(c.denominator for law in laws for c in law)))
        multiples = [{int(c / unit): chance for c, chance in sorted(law.items())} for law in laws]
        divisor = math.gcd(*(c for law in multiples for c in law)) or 1
        scale = unit * divisor
        return cls(
            model,
            scale,
            [[c // divisor for c in law] for law in multiples],
            [list(law.values()) for law in multiples],
            source.denominator,
            Fraction(model.threshold) / scale,
        )

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What was made of them, once it was asked for."""
        return {}

    @cached_property
    def ends(self) -> list[tuple[Fraction | int, Fraction | int]]:
        """The least and the most that each unit can contribute."""
        return [(v[0], v[-1]) for v in self.values]

    @cached_property
    def atoms(self) -> int:
        """How many values the units have together."""
        return sum(map(len, self.values))

    def cut(self, known: Fraction | int) -> int:
        """Return the least whole number that, with what is known, belongs to ``classes[1]``."""
        left = self.threshold - known
        return math.floor(left) + 1 if self.model.strict else math.ceil(left)

    def costs(self, unit: int, known: Fraction, positive: bool) -> list[tuple[Fraction, int]]:
        """Return what a unit costs an instance, increasing, and the chance of each cost."""
        pairs = zip(self.values[unit], self.chances[unit], strict=True)
        if positive:
            return [(known - c, chance) for c, chance in pairs][::-1]
        return [(c - known, chance) for c, chance in pairs]

    def parts(self, positive: bool) -> list[Part]:
        """Return what each unit may cost a class, from the best that it can be."""
        return self._losing if positive else self._gaining

    @cached_property
    def _losing(self) -> list[Part]:
        return [
            Part(tuple(v[-1] - c for c in reversed(v)), tuple(reversed(p)))
            for v, p in zip(self.values, self.chances, strict=True)
        ]

    @cached_property
    def _gaining(self) -> list[Part]:
        return [
            Part(tuple(c - v[0] for c in v), tuple(p))
            for v, p in zip(self.values, self.chances, strict=True)
        ]

    @cached_property
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Each unit's width, mean above its least, and variance, in widths of the widest."""
        width, mean, variance = np.zeros((3, len(self.values)))
        for u, (v, chances) in enumerate(zip(self.values, self.chances, strict=True)):
            above = np.array([(c - v[0]) / self.widest for c in v])
            p = np.array([chance / self.denominator for chance in chances])
            width[u], mean[u] = above[-1], (above * p).sum()
            variance[u] = ((above - mean[u]) ** 2 * p).sum()
        return width, mean, variance

"""Contributions: what each unit adds to the decision function, exactly.

A unit that is left unknown is a random contribution ``C_u`` in place of the instance's own,
``c_u(x)``; what it costs is the difference. The kind of feature (binary, one-hot, real-valued)
disappears here, and with it the columns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._distributions import Distribution, Marginals, Product, rows_for
from sklearn_probsr._model import LinearModel
from sklearn_probsr._units import Unit
from sklearn_probsr.engines._finite import Part

__all__ = ["Contributions", "distinct", "is_open"]


def distinct(
    model: LinearModel, rows: NDArray[np.float64] | NDArray[np.bool_]
) -> list[tuple[list[Fraction], NDArray[np.intp]]]:
    """Return for every unit the contributions that occur in some rows, and which one each has."""
    core = model.binary_core
    if core is not None:
        pairs = core.cached(
            "pairs", lambda: [[Fraction(0), Fraction(w)] for w in core.weights.tolist()]
        )
        ones = np.ascontiguousarray(model.core_rows(rows).T)
        return list(zip(pairs, ones.astype(np.intp), strict=True))
    found = []
    for unit in model.units or ():
        if unit.is_binary:
            column = unit.columns[0]
            pair = [Fraction(0), Fraction(model.weights[column])]
            found.append((pair, rows[:, column].astype(np.intp)))
            continue
        states, which = np.unique(rows[:, unit.columns], axis=0, return_inverse=True)
        found.append((_worth(model, unit, states.tolist()), which.ravel()))
    return found


def is_open(model: LinearModel, positive: bool) -> bool:
    """Tell whether a class needs more than the threshold, so that a tie is not its own."""
    return model.strict == positive


@dataclass(frozen=True)
class Contributions:
    """The random contributions of independent units, as whole numbers of one scale.

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
    def of(cls, model: LinearModel, distribution: Distribution) -> Contributions:
        """Return those of a model whose unknown units follow a distribution."""
        laws, denominator = _laws(model, distribution)
        unit = Fraction(1, math.lcm(*(c.denominator for law in laws for c in law)))
        multiples = [{int(c / unit): chance for c, chance in sorted(law.items())} for law in laws]
        divisor = math.gcd(*(c for law in multiples for c in law)) or 1
        scale = unit * divisor
        return cls(
            model,
            scale,
            [[c // divisor for c in law] for law in multiples],
            [list(law.values()) for law in multiples],
            denominator,
            Fraction(model.threshold) / scale,
        )

    def known(self, row: NDArray[np.float64] | NDArray[np.bool_]) -> list[Fraction]:
        """Return what the units of an instance contribute, on this scale."""
        return [c / self.scale for c in self.model.contributions(row)]

    def cut(self, known: Fraction | int) -> int:
        """Return the least whole number that, with what is known, belongs to ``classes[1]``."""
        left = self.threshold - known
        return math.floor(left) + 1 if self.model.strict else math.ceil(left)

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
    def widest(self) -> int:
        """The widest range of a unit, or 1 if nothing varies."""
        return max(v[-1] - v[0] for v in self.values) or 1

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

    @cached_property
    def by_range(self) -> list[int]:
        """The units that vary, those with the widest range first."""
        widths = [v[-1] - v[0] for v in self.values]
        varying = [u for u, width in enumerate(widths) if width]
        return sorted(varying, key=lambda u: -widths[u])


def _laws(model: LinearModel, distribution: Distribution) -> tuple[list[dict[Fraction, int]], int]:
    """Return each unit's contributions with their chances, and the denominator of these."""
    if isinstance(distribution, Marginals):
        weights = distribution.weights
        laws = [
            _law(values, _totals(which, weights, len(values)))
            for values, which in distinct(model, rows_for(model, distribution))
        ]
        return laws, distribution.total
    if isinstance(distribution, Product):
        denominator = distribution.denominator
        laws = [
            _law([Fraction(0), Fraction(w)], [denominator - ones, ones])
            for w, ones in zip(model.weights.tolist(), distribution.numerators, strict=True)
        ]
        return [laws[j] for j in model.first_columns], denominator
    if model.units is None:  # fair coins, in the words of this module
        return [_law([Fraction(0), Fraction(w)], [1, 1]) for w in model.weights.tolist()], 2
    denominator = math.lcm(*(len(unit.states or ()) for unit in model.units))
    laws = [
        _law(values, [denominator // len(values)] * len(values))
        for values in (_worth(model, unit, unit.states or ()) for unit in model.units)
    ]
    return laws, denominator


def _worth(model: LinearModel, unit: Unit, states: Iterable[Sequence[float]]) -> list[Fraction]:
    """Return what a unit contributes in some states."""
    weights = [Fraction(model.weights[j]) for j in unit.columns]
    return [
        sum((w * Fraction(x) for w, x in zip(weights, state, strict=True)), Fraction(0))
        for state in states
    ]


def _totals(which: NDArray[np.intp], weights: NDArray[np.int64], n: int) -> list[int]:
    totals = np.zeros(n, dtype=np.int64)
    np.add.at(totals, which, weights)
    return totals.tolist()


def _law(values: Sequence[Fraction], chances: Sequence[int]) -> dict[Fraction, int]:
    law: dict[Fraction, int] = defaultdict(int)
    for value, chance in zip(values, chances, strict=True):
        if chance:
            law[value] += chance
    return dict(law)

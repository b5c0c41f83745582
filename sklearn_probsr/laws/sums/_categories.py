"""Facts of categories: each unit is one of a few, so that rows share what that is worth.

A unit of one-hot columns is in the state of the column that is 1, or in that of none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.independent.contributions import Listed
from sklearn_probsr.model.linear import LinearModel
from sklearn_probsr.model.units import Unit

__all__ = ["Facts", "exact_atoms"]

# Differences of whole numbers below this are 64-bit numbers.
_WHOLE = 2**61


@dataclass(frozen=True, eq=False)
class Facts:
    """What the units of a model may be: a column that is 1, or none of the unit's columns.

    Attributes
    ----------
    unit : ndarray of int
        That of every column, and of every unit's "none" behind them.
    worth : list of Fraction
        What each of them contributes.
    """

    unit: NDArray[np.intp]
    worth: list[Fraction]

    @classmethod
    def of(cls, model: LinearModel) -> Facts | None:
        """Return those of a model; None unless each unit is one of its columns or none."""
        if model.units is None or not all(_is_one_hot(unit) for unit in model.units):
            return None
        unit = np.zeros(model.n_features + model.n_units, dtype=np.intp)
        for u, each in enumerate(model.units):
            unit[[*each.columns, model.n_features + u]] = u
        none = [Fraction(0)] * model.n_units
        return cls(unit, [*map(Fraction, model.weights.tolist()), *none])

    def codes(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Return which fact each unit of checked rows is: (rows, units)."""
        n, columns = rows.shape
        found = np.tile(np.arange(columns, len(self.unit)), (n, 1))
        at, column = np.nonzero(rows)
        found[at, self.unit[column]] = column
        return found

    def whole(self, scale: Fraction) -> NDArray[np.int64] | None:
        """Return what each is worth on a scale; None unless these are whole numbers of 64 bits."""
        known = [value / scale for value in self.worth]
        if any(value.denominator > 1 or abs(value) >= _WHOLE for value in known):
            return None
        return np.array([int(value) for value in known], dtype=np.int64)


def _is_one_hot(unit: Unit) -> bool:
    if unit.states is None:
        return False
    ones = [sum(state) for state in unit.states]
    return max(ones) <= 1 and all(x in (0, 1) for state in unit.states for x in state)


@dataclass(frozen=True, eq=False)
class ExactAtoms:
    """Values of units by what they cost a class, and how likely a cost up to each is, as ranks.

    ``known`` is what each fact is worth on the same scale.
    """

    positive: bool
    starts: NDArray[np.int64]
    values: NDArray[np.int64]
    below: NDArray[np.int64]
    known: NDArray[np.int64]

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def ranks(self, facts: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the ranks of all that the units of a row may cost."""
        costs = np.repeat(self.known[facts], self._counts) - self.values
        costs = costs if self.positive else -costs
        ranks: NDArray[np.intp] = np.unique(costs, return_inverse=True)[1]
        return ranks.astype(np.float64)


def exact_atoms(
    facts: Facts, seen: Listed, starts: NDArray[np.int64], below: NDArray[np.int64], positive: bool
) -> ExactAtoms | None:
    """Return the values of units as 64-bit numbers; None if they are not.

    ``below`` ranks the chance of a cost up to each value, from ``starts`` on.
    """
    known = facts.whole(seen.scale)
    if known is None or any(max(-v[0], v[-1]) >= _WHOLE for v in seen.values):
        return None
    step = -1 if positive else 1
    values = np.array([c for v in seen.values for c in v[::step]], dtype=np.int64)
    return ExactAtoms(positive, starts, values, below, known)

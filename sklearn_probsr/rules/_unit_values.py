"""Values of units: what each is in the data, and what that is worth.

One table serves all rules of a law: what depends on the data alone is computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Duel, Law, Row
from sklearn_probsr.model.sparse import columns_of
from sklearn_probsr.model.units import Unit

__all__ = ["Numbers", "States", "Values"]

# Rows that slack is shared out by; of more, so many are drawn.
_MOST_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Numbers:
    """A unit of one column whose numbers are ordered.

    Attributes
    ----------
    column : int
    known : ndarray of float
        The numbers that it can be, or is in the data, increasing.
    whole : bool
        Whether all of them are whole numbers.
    bounded : bool
        Whether it can be nothing else.
    """

    column: int
    known: NDArray[np.float64]
    whole: bool
    bounded: bool

    @property
    def is_flag(self) -> bool:
        """Whether it is nothing but 0 and 1."""
        return set(self.known.tolist()) <= {0.0, 1.0} if len(self.known) <= 2 else False


@dataclass(frozen=True, eq=False)
class States:
    """A unit whose values are told apart, and not ordered.

    ``known`` are those that it can be, or is in the data; ``bounded``: it can be nothing else.
    """

    columns: tuple[int, ...]
    known: list[tuple[float, ...]]
    bounded: bool


class Values:
    """The values of all units of a law, and the rows that slack is shared out by."""

    def __init__(self, law: Law) -> None:
        self.law, self.model = law, law.model
        self._kinds: dict[int, Numbers | States] = {}
        self._worths: dict[tuple[int, int, bool], list[Fraction]] = {}
        self._duels: list[Duel] = []

    @cached_property
    def sample(self) -> tuple[Any, NDArray[np.float64]]:
        """Rows of the data, drawn if they are many, and how much each counts."""
        data = self.law.data
        if data is None:
            return np.zeros((0, self.model.n_features)), np.zeros(0)
        rows, weights = data
        if len(rows) > _MOST_ROWS:
            at = np.random.default_rng(0).choice(len(rows), _MOST_ROWS, replace=False)
            rows, weights = rows[at], weights[at]
        return rows, weights / weights.sum()

    def unit(self, u: int) -> Unit:
        """Return a unit; a column is a binary one where there are none."""
        units = self.model.units
        return Unit.binary(self.model.feature_names[u], u) if units is None else units[u]

    def of(self, u: int, row: Row) -> Numbers | States:
        """Return what a unit can be; columns of numbers that only an instance has belong to it."""
        if u not in self._kinds:
            self._kinds[u] = self._kind(self.unit(u))
        kind = self._kinds[u]
        if isinstance(kind, States):
            own = tuple(float(row[j]) for j in kind.columns)
            if own not in kind.known:
                return States(kind.columns, [own, *kind.known], kind.bounded)
        return kind

    def _kind(self, unit: Unit) -> Numbers | States:
        states, single = unit.states, len(unit.columns) == 1
        if states is not None and (not single or unit.labels or len(states) <= 2):
            return States(unit.columns, list(states), True)
        if states is not None:
            known = np.array(sorted(state[0] for state in states))
            return Numbers(unit.columns[0], known, _whole(known), True)
        data = self.law.data
        rows = np.zeros((0, self.model.n_features)) if data is None else data[0]
        part = columns_of(rows, unit.columns).astype(np.float64)
        if not single:
            return States(unit.columns, list(map(tuple, np.unique(part, axis=0).tolist())), False)
        known = np.unique(part[:, 0])
        return Numbers(unit.columns[0], known, _whole(known), False)

    def worths(self, u: int, kind: States, duel: Duel) -> list[Fraction]:
        """Return what each known value of a unit adds towards the class, exactly."""
        key = (u, id(duel.model), duel.positive)
        if key not in self._worths:
            self._duels.append(duel)  # so that its model is not another's later
            self._worths[key] = [worth(duel, kind.columns, v) for v in self._kinds_known(u)]
        found = self._worths[key]
        if len(found) != len(kind.known):  # the instance's own comes first
            return [worth(duel, kind.columns, kind.known[0]), *found]
        return found

    def _kinds_known(self, u: int) -> list[tuple[float, ...]]:
        kind = self._kinds[u]
        assert isinstance(kind, States)
        return kind.known


def worth(duel: Duel, columns: tuple[int, ...], values: tuple[float, ...]) -> Fraction:
    """Return what some columns add towards the class, exactly."""
    weights = duel.model.weights
    terms = zip(columns, values, strict=True)
    return duel.sign * sum((Fraction(weights[j]) * Fraction(v) for j, v in terms), Fraction(0))


def _whole(numbers: NDArray[np.float64]) -> bool:
    return bool((numbers == np.floor(numbers)).all())

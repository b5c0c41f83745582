"""Sources: what an unknown unit may be when it is independent of the others, and how likely.

The kinds of distributions over independent units differ in nothing else, so a law of independent
units asks a source.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._completions import Marginals, Product, Uniform
from sklearn_probsr.distributions._data import Data, binary_rows
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws._leaning import column_mean, mean_doubts
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.model._sparse import SparseRows
from sklearn_probsr.model._units import Unit

__all__ = [
    "Given",
    "Seen",
    "Source",
    "States",
    "checked_rows",
    "distinct",
    "rows_before",
    "weighted_means",
]

Atoms = dict[Fraction, int]


class Source(ABC):
    """What the units of a model may be, and how likely each is.

    ``model`` may have several scores; contributions are those of a duel, which has its columns.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    @abstractmethod
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average."""

    @property
    @abstractmethod
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far each of them may be off."""

    @abstractmethod
    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""

    @property
    @abstractmethod
    def denominator(self) -> int:
        """A common denominator of all chances."""

    @abstractmethod
    def atoms(self, duel: LinearModel) -> list[Atoms]:
        """Return each unit's contributions with their chances, over the denominator."""

    @abstractmethod
    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of a unit may be, one line a state, and their chances."""

    @property
    def seen(self) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """The rows of a data set, and how much each counts; None if there is none."""
        return None

    @property
    def nbytes(self) -> int:
        """How much memory the data take."""
        return 0


class States(Source):
    """Every state of a unit is as likely as the others (`Uniform`)."""

    def __init__(self, model: Model, distribution: Uniform) -> None:
        super().__init__(model)
        real = [unit.name for unit in model.units or () if unit.states is None]
        if real:
            raise InvalidInputError(
                f"Uniform needs features with finitely many states, and {real[0]!r} is "
                "real-valued. Pass a background: Background(X), or Marginals.fit(X)."
            )

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average."""
        means = np.full(self.model.n_features, 0.5)
        for unit in self.model.units or ():
            means[list(unit.columns)] = np.mean(unit.states or (), axis=0)
        return means

    @cached_property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far each of them may be off."""
        doubts = np.zeros(self.model.n_features)  # halves are floats
        for unit in self.model.units or ():
            doubts[list(unit.columns)] = mean_doubts(np.array(unit.states))
        return doubts

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        for unit in self.model.units or ():
            if column in unit.columns:
                states = unit.states or ()
                values = (Fraction(state[unit.columns.index(column)]) for state in states)
                return sum(values, start=Fraction(0)) / len(states)
        return Fraction(1, 2)

    @cached_property
    def denominator(self) -> int:
        """A common denominator of all chances."""
        return math.lcm(*(len(unit.states or ()) for unit in self.model.units or ()), 2)

    def atoms(self, duel: LinearModel) -> list[Atoms]:
        """Return each unit's contributions with their chances, over the denominator."""
        if duel.units is None:
            half = self.denominator // 2
            return [_law([Fraction(0), Fraction(w)], [half, half]) for w in duel.weights.tolist()]
        each = (_worth(duel, unit, unit.states or ()) for unit in duel.units)
        return [_law(v, [self.denominator // len(v)] * len(v)) for v in each]

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of a unit may be, one line a state, and their chances."""
        units = self.model.units
        states = np.array([[0.0], [1.0]] if units is None else units[unit].states)
        return states, np.full(len(states), 1 / len(states))


class Given(Source):
    """Every 0/1 column is 1 with a probability of its own (`Product`), those of a group too."""

    def __init__(self, model: Model, distribution: Product) -> None:
        super().__init__(model)
        self.product = distribution
        other = [unit.name for unit in model.units or () if not _is_free(unit)]
        if other:
            raise InvalidInputError(
                f"Product is for binary features, and {other[0]!r} has other values, which depend "
                "on each other. Use Marginals.fit(X)."
            )
        if len(distribution.p) != model.n_features:
            raise InvalidInputError(
                f"Product must hold one probability per feature, {model.n_features}, got "
                f"{len(distribution.p)}."
            )

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average."""
        return np.array([float(p) for p in self.product.p])

    @cached_property
    def _widest(self) -> int:
        return max((len(unit.columns) for unit in self.model.units or ()), default=1)

    @property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far each of them may be off."""
        return np.full(self.model.n_features, 2.0**-50)

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return Fraction(self.product.numerators[column], self.denominator)

    @property
    def denominator(self) -> int:
        """A common denominator of all chances."""
        return int(self.product.denominator**self._widest)

    def atoms(self, duel: LinearModel) -> list[Atoms]:
        """Return each unit's contributions with their chances, over the denominator."""
        base = self.product.denominator
        pairs = zip(duel.weights.tolist(), self.product.numerators, strict=True)
        laws = [_law([Fraction(0), Fraction(w)], [base - p, p]) for w, p in pairs]
        if duel.units is None:
            return laws
        return [
            _sum_of([laws[j] for j in unit.columns], base ** (self._widest - len(unit.columns)))
            for unit in duel.units
        ]

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of a unit may be, one line a state, and their chances."""
        units = self.model.units
        columns = [unit] if units is None else list(units[unit].columns)
        states = np.array(list(product((0.0, 1.0), repeat=len(columns))))
        ones = np.array([float(self.product.p[j]) for j in columns])
        return states, np.where(states == 1, ones, 1 - ones).prod(axis=1)


def _is_free(unit: Unit) -> bool:
    """Tell whether each column of a unit is 0 or 1 whatever the others are."""
    wanted = product((0.0, 1.0), repeat=len(unit.columns))
    return unit.is_binary or (
        unit.states is not None
        and len(unit.states) == 2 ** len(unit.columns)
        and set(unit.states) == set(wanted)
    )


def _sum_of(laws: list[Atoms], factor: int) -> Atoms:
    """Return the law of a sum of independent contributions; chances are times a factor."""
    found: Atoms = {Fraction(0): factor}
    for law in laws:
        grown: Atoms = defaultdict(int)
        for (value, chance), (more, its) in product(found.items(), law.items()):
            grown[value + more] += chance * its
        found = dict(grown)
    return found


class Seen(Source):
    """Every unit is distributed as in a data set (`Marginals`)."""

    def __init__(self, model: Model, distribution: Marginals) -> None:
        super().__init__(model)
        self.data, self.rows = distribution, checked_rows(model, distribution)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average."""
        return weighted_means(self.rows, self.data.weights)

    @cached_property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far each of them may be off."""
        return mean_doubts(self.rows)

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return column_mean(self.rows, column, self.data.weights)

    @property
    def denominator(self) -> int:
        """A common denominator of all chances."""
        return self.data.total

    def atoms(self, duel: LinearModel) -> list[Atoms]:
        """Return each unit's contributions with their chances, over the denominator."""
        weights = self.data.weights
        return [
            _law(values, _totals(which, weights, len(values)))
            for values, which in distinct(duel, self.rows)
        ]

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of a unit may be, one line a state, and their chances."""
        units = self.model.units
        columns = [unit] if units is None else list(units[unit].columns)
        return self.rows[:, columns], self.data.weights / self.data.weights.sum()

    @property
    def seen(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The rows of the data set, and how much each counts."""
        return self.rows, self.data.weights

    @property
    def nbytes(self) -> int:
        """How much memory the data take."""
        return int(self.rows.nbytes)


def checked_rows(model: Model, data: Data) -> NDArray[Any]:
    """Return the rows of a data set in the form of a model's own rows, filled in."""
    rows = rows_before(model, data)
    return rows.toarray() if isinstance(rows, SparseRows) else rows


def rows_before(model: Model, data: Data) -> Any:
    """Return the rows of a data set in the form of a model's own rows; sparse ones may stay so."""
    places = model.places(data.columns, "The background")
    given = data.rows if places is None else data.taken(places).rows
    found, expected = given.shape[1], model.n_features
    if found != expected:
        raise InvalidInputError(
            f"The background must have the model's columns, {expected}, got {found}."
        )
    if model.units is None:
        return binary_rows(given, model.feature_names)
    if isinstance(given, SparseRows) and model.takes_sparse:
        return model.check_sparse(given, "The background")
    given = given.toarray() if isinstance(given, SparseRows) else given
    rows = model.check_values(given, "The background")
    # The same numbers are not kept twice, and zeros and ones take an eighth of the memory.
    return given if given.dtype in (np.bool_, rows.dtype) else rows


def weighted_means(rows: NDArray[Any], weights: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of every column."""
    counts = weights.astype(np.float64)
    values = rows.astype(np.float64, copy=False)
    # Neither by BLAS, whose digits depend on how many threads it has, nor with a copy of floats.
    means: NDArray[np.float64] = np.einsum("i,ij->j", counts, values) / counts.sum()
    return means


def distinct(
    model: LinearModel, rows: NDArray[np.float64] | NDArray[np.bool_]
) -> list[tuple[list[Fraction], NDArray[np.intp]]]:
    """Return for every unit the contributions that occur in some rows, and which one each has."""
    ones = model.ones(rows)
    if ones is not None:
        return list(zip(model.pairs, np.ascontiguousarray(ones.T).astype(np.intp), strict=True))
    found = []
    for u, unit in enumerate(model.units or ()):
        if len(unit.columns) == 1:
            column = rows[:, unit.columns[0]]
            if ((column == 0) | (column == 1)).all():
                found.append((model.pairs[u], column.astype(np.intp)))
                continue
        states, which = np.unique(rows[:, unit.columns], axis=0, return_inverse=True)
        found.append((_worth(model, unit, states.tolist()), which.ravel()))
    return found


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


def _law(values: Sequence[Fraction], chances: Sequence[int]) -> Atoms:
    law: Atoms = defaultdict(int)
    for value, chance in zip(values, chances, strict=True):
        if chance:
            law[value] += chance
    return dict(law)

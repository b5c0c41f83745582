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

from sklearn_probsr.core.means import mean_doubts
from sklearn_probsr.distributions._completions import Product, Uniform
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.linear import LinearModel, Model
from sklearn_probsr.model.units import Unit

__all__ = [
    "Given",
    "Source",
    "States",
    "Worths",
    "worth_of_states",
]

Atoms = dict[Fraction, int]
# What a unit contributes in each of its states, and the chance of each.
Worths = tuple[list[Fraction], list[int]]


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
    def worths(self, duel: LinearModel) -> list[Worths]:
        """Return what each unit contributes in each of its states, with its chances.

        Those are over the denominator. The states of a unit are the same, and in the same order,
        before every duel.
        """

    def atoms(self, duel: LinearModel) -> list[Atoms]:
        """Return each unit's contributions with their chances, over the denominator."""
        return [merged(*worths) for worths in self.worths(duel)]

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

    def worths(self, duel: LinearModel) -> list[Worths]:
        """Return what each unit contributes in each of its states, with its chances."""
        if duel.units is None:
            half = self.denominator // 2
            return [([Fraction(0), Fraction(w)], [half, half]) for w in duel.weights.tolist()]
        each = (worth_of_states(duel, unit, unit.states or ()) for unit in duel.units)
        return [(v, [self.denominator // len(v)] * len(v)) for v in each]

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

    def worths(self, duel: LinearModel) -> list[Worths]:
        """Return what each unit contributes in each of its states, with its chances."""
        base = self.product.denominator
        pairs = zip(duel.weights.tolist(), self.product.numerators, strict=True)
        laws = [([Fraction(0), Fraction(w)], [base - p, p]) for w, p in pairs]
        if duel.units is None:
            return laws
        return [
            _together([laws[j] for j in unit.columns], base ** (self._widest - len(unit.columns)))
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


def _together(laws: list[Worths], factor: int) -> Worths:
    """Return the states of independent columns together; chances are times a factor."""
    values, chances = [Fraction(0)], [factor]
    for more, its in laws:
        values = [value + other for value in values for other in more]
        chances = [chance * other for chance in chances for other in its]
    return values, chances


def worth_of_states(
    model: LinearModel, unit: Unit, states: Iterable[Sequence[float]]
) -> list[Fraction]:
    """Return what a unit contributes in some states."""
    weights = [Fraction(model.weights[j]) for j in unit.columns]
    return [
        sum((w * Fraction(x) for w, x in zip(weights, state, strict=True) if x), Fraction(0))
        for state in states
    ]


def merged(values: Sequence[Fraction], chances: Sequence[int]) -> Atoms:
    law: Atoms = defaultdict(int)
    for value, chance in zip(values, chances, strict=True):
        if chance:
            law[value] += chance
    return dict(law)

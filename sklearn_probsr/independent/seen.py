"""Seen: what an unknown unit may be is what it was in the rows of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.means import checked_rows, column_mean, mean_doubts, weighted_means
from sklearn_probsr.distributions._completions import Marginals
from sklearn_probsr.independent.sources import Source, Worths, worth_of_states
from sklearn_probsr.model.inputs import distinct_states
from sklearn_probsr.model.linear import LinearModel, Model

__all__ = ["Seen", "distinct"]


class Seen(Source):
    """Every unit is distributed as in a data set (`Marginals`)."""

    def __init__(self, model: Model, distribution: Marginals) -> None:
        super().__init__(model)
        self.data, self.rows = distribution, checked_rows(model, distribution)
        self._tallies: list[tuple[list[list[float]] | None, list[int]]] | None = None
        self.crowded: bool | None = None  # whether there are too many values to be listed

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

    def worths(self, duel: LinearModel) -> list[Worths]:
        """Return what each unit contributes in each of its states, with its chances."""
        units = duel.units or ()
        return [
            (duel.pairs[u] if states is None else worth_of_states(duel, units[u], states), totals)
            for u, (states, totals) in enumerate(self._tallied(duel))
        ]

    def _tallied(self, duel: LinearModel) -> list[tuple[list[list[float]] | None, list[int]]]:
        """Return the states of every unit that occur, None for 0 and 1, and how much each counts.

        They are the same before every duel, and counted once.
        """
        if self._tallies is None:
            weights = self.data.weights
            self._tallies = [
                (states, _totals(which, weights, 2 if states is None else len(states)))
                for states, which in _occurring(duel, self.rows)
            ]
        return self._tallies

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


def distinct(
    model: LinearModel, rows: NDArray[np.float64] | NDArray[np.bool_]
) -> list[tuple[list[Fraction], NDArray[np.intp]]]:
    """Return for every unit the contributions that occur in some rows, and which one each has."""
    units = model.units or ()
    return [
        (model.pairs[u] if states is None else worth_of_states(model, units[u], states), which)
        for u, (states, which) in enumerate(_occurring(model, rows))
    ]


def _occurring(
    model: LinearModel, rows: NDArray[np.float64] | NDArray[np.bool_]
) -> Iterator[tuple[list[list[float]] | None, NDArray[np.intp]]]:
    """Yield the states of every unit that occur in some rows, and which one each row has.

    None stands for 0 and 1.
    """
    ones = model.ones(rows)
    if ones is not None:
        yield from ((None, which) for which in np.ascontiguousarray(ones.T).astype(np.intp))
        return
    for unit in model.units or ():
        if len(unit.columns) == 1:
            column = rows[:, unit.columns[0]]
            if ((column == 0) | (column == 1)).all():
                yield None, column.astype(np.intp)
                continue
        states, which = distinct_states(rows[:, unit.columns])
        yield states.tolist(), which


def _totals(which: NDArray[np.intp], weights: NDArray[np.int64], n: int) -> list[int]:
    totals = np.zeros(n, dtype=np.int64)
    np.add.at(totals, which, weights)
    return totals.tolist()

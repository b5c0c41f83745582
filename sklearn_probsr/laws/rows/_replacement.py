"""Background rows: the unknown units are replaced together, by those of a row of the data.

The guarantee of a set is the share of the rows that keep the class, an exact count.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Law, Lengths
from sklearn_probsr.core.leaning import column_mean, mean_doubts
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Duel, Row, View
from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.laws._rest import RowsRest, Sums
from sklearn_probsr.laws._seen import checked_rows, weighted_means
from sklearn_probsr.laws._table import Table
from sklearn_probsr.laws.rows._ledger import Ledger
from sklearn_probsr.laws.rows._part_prover import PartProver
from sklearn_probsr.laws.rows._parted_view import PartedView
from sklearn_probsr.laws.rows._replacement_view import Replacement
from sklearn_probsr.laws.rows._rows_prover import RowsProver
from sklearn_probsr.laws.rows._rows_view import RowsView
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.search._prover import Prover

__all__ = ["CountingLaw", "ReplacementLaw", "RowsLaw"]


class CountingLaw(Law):
    """A model under which rows of a data set are counted."""

    rows: Any
    weights: NDArray[np.int64]

    @cached_property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far the mean of each column may be off."""
        return mean_doubts(self.rows)

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return column_mean(self.rows, column, self.weights)

    @abstractmethod
    def view(self, row: Row) -> RowsView:
        """Return one instance, a checked row, before this law."""

    @property
    def data(self) -> tuple[Any, NDArray[np.int64]]:
        """The rows that unknown units are taken from, and how much each counts."""
        return self.rows, self.weights

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> RowsRest:
        """Return what may be lost of some facts of an instance while delta holds."""
        duels, sums = self.sums(row, features)
        units = self.model.units
        columns = [j for u in features for j in ([u] if units is None else units[u].columns)]
        return RowsRest(duels, delta, sums, self.rows, self.weights, row, columns)

    @abstractmethod
    def sums(self, row: Row, features: Sequence[int]) -> tuple[list[Duel], list[Sums]]:
        """Return for each rival what all rows add towards the class with some units fixed."""

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, RowsView)
        return RowsProver(view, task)

    def follow_one(
        self, i: int, view: View, order: list[int], at: int, delta: Fraction, found: Lengths
    ) -> None:
        """Follow an order of one row, counting rows along it."""
        assert isinstance(view, RowsView)
        needed = -(-delta.numerator * view.total // delta.denominator)
        kept = view.weights_along(order, needed, at)
        share = Enclosure.of(Fraction(int(kept[at]), view.total))
        found.write(i, int(np.flatnonzero(kept >= needed)[0]), share)


class RowsLaw(CountingLaw):
    """A model whose unknown units are replaced together by those of a background row."""

    def __init__(self, model: Model, distribution: Background) -> None:
        super().__init__(model, distribution)
        self.rows, self.weights = checked_rows(model, distribution), distribution.weights
        self.table = Table(model, self.rows, self.weights)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level.

        On request, and of several rivals before many rows, sets are searched on a part of the rows.
        """
        assert isinstance(view, PartedView)
        first = self.first_part(view, task)
        if first is None:
            return RowsProver(view, task)
        return PartProver(view, task, self._shuffled, first)

    def first_part(self, view: PartedView, task: Task) -> int | None:
        """Return how many rows a search begins with; None for all."""
        sample: int | None = self.distribution.sample
        return sample

    @cached_property
    def _shuffled(self) -> NDArray[np.intp]:
        """All rows in the order in which they are drawn."""
        rng = np.random.default_rng(self.distribution.random_state)
        return rng.permutation(len(self.rows)).astype(np.intp)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return weighted_means(self.rows, self.weights)

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of an unknown unit are in every row, and the share of each."""
        units = self.model.units
        columns = [unit] if units is None else list(units[unit].columns)
        return self.rows[:, columns], self.weights / self.weights.sum()

    def sums(self, row: Row, features: Sequence[int]) -> tuple[list[Duel], list[Sums]]:
        """Return for each rival what all rows add towards the class with some units fixed."""
        seen = self.before(row)
        return [one.duel for one in seen], [one.sums(features) for one in seen]

    @abstractmethod
    def before(self, row: Row) -> Sequence[Replacement]:
        """Return an instance before each of its rivals."""

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return self.table.nbytes


class ReplacementLaw(RowsLaw):
    """Background rows before a model of two classes."""

    def __init__(self, model: LinearModel, distribution: Background) -> None:
        super().__init__(model, distribution)
        self.linear = model
        self._ledgers: dict[bool, Ledger] = {}

    def ledger(self, positive: bool) -> Ledger:
        """Return what all rows contribute towards a class, written once."""
        if positive not in self._ledgers:
            self._ledgers[positive] = Ledger.of(self.linear, self.table, positive)
        return self._ledgers[positive]

    def view(self, row: Row) -> Replacement:
        """Return one instance, a checked row, before this law."""
        return next(self.views(row[None, :]))

    def views(self, rows: Row) -> Iterator[Replacement]:
        """Yield several instances before this law, whose classes are told together."""
        positive = self.linear.is_positive(rows).tolist()
        return (Replacement(self.ledger(p), row) for p, row in zip(positive, rows, strict=True))

    def once_known(
        self, row: Row, known: Collection[int], unit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the rows of ``classes[1]`` for every state of a unit: a sort for all of them.

        With contributions ``e`` of the unit and margins ``m`` when the others are known, row r is
        of the class once the unit is as in row s iff ``m_r - e_r + e_s >= 0`` (Proposition 68).
        """
        view = Replacement(self.ledger(True), row)
        margins = view.margins.copy()
        for u in known:
            margins += view.gains([u])[0]
        gains = view.gains([unit])[0]  # what the row's own value has over each row's
        order = np.argsort(margins + gains, kind="stable")
        reached = (margins + gains)[order]
        after = np.append(np.cumsum(view.weights[order][::-1])[::-1], 0)
        doubt = max(view.doubt - 1, 0)
        sure = after[np.searchsorted(reached, gains, side="left")]
        perhaps = after[np.searchsorted(reached, gains - doubt, side="left")]
        self._count_again(row, [*known, unit], np.flatnonzero(sure != perhaps), sure)
        return sure, view.weights

    def _count_again(
        self, row: Row, units: list[int], at: NDArray[np.intp], counts: NDArray[np.int64]
    ) -> None:
        """Count exactly with the last of some units as in rows whose count is in doubt."""
        columns = [units[-1]] if self.model.units is None else self.model.units[units[-1]].columns
        states, which = np.unique(self.table.rows[at][:, columns], axis=0, return_inverse=True)
        for k, state in enumerate(states):
            told = row.copy()
            told[columns] = state
            counts[at[which.ravel() == k]] = Replacement(self.ledger(True), told).weight(units)

    def before(self, row: Row) -> list[Replacement]:
        """Return an instance before its only rival."""
        return [self.view(row)]

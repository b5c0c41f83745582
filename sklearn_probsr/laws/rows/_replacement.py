"""Laws that count rows of a data set, one instance at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Law, Lengths
from sklearn_probsr.core.leaning import column_mean, mean_doubts
from sklearn_probsr.core.view import Duel, Row, View
from sklearn_probsr.laws._rest import RowsRest, Sums
from sklearn_probsr.laws.rows._rows_view import RowsView
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["CountingLaw"]


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

    def follow_one(
        self, i: int, view: View, order: list[int], at: int, delta: Fraction, found: Lengths
    ) -> None:
        """Follow an order of one row, counting rows along it."""
        assert isinstance(view, RowsView)
        needed = -(-delta.numerator * view.total // delta.denominator)
        kept = view.weights_along(order, needed, at)
        share = Enclosure.of(Fraction(int(kept[at]), view.total))
        found.write(i, int(np.flatnonzero(kept >= needed)[0]), share)

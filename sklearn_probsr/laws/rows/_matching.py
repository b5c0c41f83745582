"""The law of rows that share facts: those with the facts of a set are counted."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.cache import Memo
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.leaning import column_mean, mean_doubts
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Row
from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.engines.rows._facts import Rules
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws._seen import weighted_means
from sklearn_probsr.laws.rows._fewest_facts import fewest_facts, rules_of
from sklearn_probsr.laws.rows._matched_rows import MatchedRows, states_of
from sklearn_probsr.laws.rows._matched_words import Documents, MatchedWords
from sklearn_probsr.laws.rows._neighbours import Neighbours
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._sparse import SparseRows, one_row

__all__ = ["MatchingLaw"]


class MatchingLaw(Law):
    """A model before rows of which those count that share the facts of a set.

    ``rows`` are those of the distribution, in the form of the model's own; sparse ones are kept by
    what is in them.
    """

    conditional = True

    def __init__(self, model: Model, distribution: Matching, rows: Any) -> None:
        super().__init__(model, distribution)
        self.rows = rows
        self.takes_sparse = isinstance(rows, SparseRows)
        real = [unit.name for unit in model.units or () if unit.states is None]
        if real:
            raise InvalidInputError(
                f"Matching compares facts for equality, and {real[0]!r} is real-valued. Bin it "
                "first, for instance by a KBinsDiscretizer in the pipeline, or declare its values "
                "as states of a Unit."
            )
        self.confidence = distribution.confidence
        self._tables: dict[int, MatchedRows | MatchedWords] = {}
        self.rules: Memo[Rules] = Memo(8)  # what reaches a level, by level

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average."""
        return weighted_means(self.rows, self.distribution.weights)

    @cached_property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far the mean of each column may be off."""
        return mean_doubts(self.rows)

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return column_mean(self.rows, column, self.distribution.weights)

    def view(self, row: Row) -> Neighbours:
        """Return one instance, a checked row, before this law."""
        rows: Any = one_row(row) if self.takes_sparse else row[None, :]
        winner = int(self.model.winners(rows)[0])
        if winner not in self._tables:
            self._tables[winner] = self._table(winner)
        states = row != 0 if self.takes_sparse else states_of(self.model, rows)[0]
        return Neighbours(self._tables[winner], self.distribution, states)

    def _table(self, winner: int) -> MatchedRows | MatchedWords:
        if self.takes_sparse:
            return MatchedWords(self._documents, winner)
        return MatchedRows(self.model, self.rows, self.distribution.confirming, winner)

    @cached_property
    def _documents(self) -> Documents:
        """What the tables of sparse rows have in common."""
        return Documents(self.model, self.rows, self.distribution.confirming)

    def together(self, rows: Row, task: Task, found: Found) -> dict[int, set[int]]:
        """Answer all rows; here a fact also chooses the rows that count, so no order is best."""
        rules = self.rules.get(task.delta, lambda: rules_of(self.distribution, task.delta))
        for i in range(len(rows)):
            fewest_facts(i, self.view(rows[i]), task.of_row(i), rules, found)
        return {}

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        own = self._documents.nbytes if "_documents" in self.__dict__ else self.rows.nbytes
        return int(own) + sum(table.nbytes for table in self._tables.values())

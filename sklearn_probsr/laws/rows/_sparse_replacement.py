"""Background rows that are mostly zeros, as words in documents are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.cache import Memo
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Duel, Row, View
from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.laws._rest import Sums
from sklearn_probsr.laws._seen import weighted_means
from sklearn_probsr.laws.rows._replacement import CountingLaw
from sklearn_probsr.laws.rows._rival_ledger import RivalLedger
from sklearn_probsr.laws.rows._rival_words import RivalReplacement
from sklearn_probsr.laws.rows._sparse_ledger import DuelLedger, SparseLedger
from sklearn_probsr.laws.rows._sparse_prover import SampledProver, SparseProver
from sklearn_probsr.laws.rows._sparse_table import Side, SparseTable
from sklearn_probsr.laws.rows._sparse_view import SparseReplacement, SparseView
from sklearn_probsr.model._argmax import ArgmaxModel
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.model._sparse import SparseRows, one_row
from sklearn_probsr.search._prover import Prover

__all__ = ["SparseLaw"]

# Gains of as many members and rows as these are written as a table: then more can be proved.
_FEW_GAINS = 2**20
# Bytes of contributions that are kept, of the classes asked for last.
_MOST_BYTES = 2**27


class SparseLaw(CountingLaw):
    """A model, of two classes or several, before background rows that are mostly zeros."""

    takes_sparse = True

    def __init__(
        self,
        model: Model,
        distribution: Background,
        rows: SparseRows,
        places: NDArray[np.intp] | None = None,
    ) -> None:
        super().__init__(model, distribution)
        self.rows, self.weights = rows, distribution.weights
        # On request a search begins with so many rows; what is searched on a part is no part of it.
        self._first = distribution.sample if places is None else None
        if places is not None:
            self.rows, self.weights = rows[places], self.weights[places]
        self.table = SparseTable(self.rows, self.weights)
        self._ledgers: Memo[SparseLedger] = Memo(_MOST_BYTES, lambda ledger: ledger.nbytes)
        self._parts: dict[int, SparseLaw] = {}

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return weighted_means(self.table.data, self.weights)

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what an unknown unit is in the rows that hold it, and last in the others."""
        inside = slice(self.table.starts[unit], self.table.starts[unit + 1])
        held, total = self.weights[self.table.rows[inside]], self.weights.sum()
        values = np.append(self.table.values[inside].astype(np.float64), 0.0)
        return values[:, None], np.append(held, total - held.sum()) / total

    def ledger(self, winner: int) -> SparseLedger:
        """Return what all rows contribute towards a class."""
        return self._ledgers.get(winner, lambda: self._ledger(self._sides(winner)))

    def _ledger(self, sides: list[Side]) -> SparseLedger:
        kind = DuelLedger if len(sides) == 1 else RivalLedger
        return kind.of(self.table, sides)

    def _sides(self, winner: int) -> list[Side]:
        if isinstance(self.model, ArgmaxModel):
            return [Side(duel, True) for duel in self.model.duels(winner)]
        assert isinstance(self.model, LinearModel)
        return [Side(self.model, bool(winner))]

    def view(self, row: Row) -> SparseView:
        """Return one instance, a checked row, before this law."""
        winner = int(self.model.winners(one_row(row))[0])
        ledger = self.ledger(winner)
        if isinstance(ledger, RivalLedger):
            return RivalReplacement(ledger, row)
        return SparseReplacement(ledger, row)

    def sums(self, row: Row, features: Sequence[int]) -> tuple[list[Duel], list[Sums]]:
        """Return for each rival what all rows add towards the class with some units fixed."""
        view = self.view(row)
        ledger, margins = view.ledger, view.counted(features)[1]
        scale = Fraction(2) ** ledger.exponent
        duels = [Duel(side.model, side.positive) for side in ledger.sides]
        found = [
            Sums(margins[:, k] + side.level(ledger.exponent), scale, view.doubt)
            for k, side in enumerate(ledger.sides)
        ]
        return duels, found

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, SparseView)
        if self._first is not None:
            return SampledProver(view, task, self._searched)
        many = np.count_nonzero(view.open_to(task)) * len(view.margins) > _FEW_GAINS
        return SparseProver(view, task) if many else super().prover(view, task)

    def _searched(self, view: SparseView, task: Task) -> Iterator[Prover]:
        """Yield what knows the sets of an instance on parts of the rows, each twice as large."""
        assert self._first is not None
        size = self._first
        while size < len(self.rows):
            if size not in self._parts:
                at = np.sort(self._shuffled[:size])
                self._parts[size] = SparseLaw(self.model, self.distribution, self.rows, at)
            part = self._parts[size]
            if part.weights.any():
                yield part.prover(part.view(view.row), task)
            size *= 2

    @cached_property
    def _shuffled(self) -> NDArray[np.intp]:
        """All rows in the order in which they are drawn."""
        rng = np.random.default_rng(self.distribution.random_state)
        return rng.permutation(len(self.rows)).astype(np.intp)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        own = self.table.nbytes + sum(ledger.nbytes for ledger in self._ledgers.values())
        return own + sum(part.nbytes for part in self._parts.values())

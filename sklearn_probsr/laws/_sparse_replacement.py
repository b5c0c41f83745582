"""Background rows that are mostly zeros, as words in documents are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.laws._memo import Memo
from sklearn_probsr.laws._prover import Prover
from sklearn_probsr.laws._replacement import CountingLaw
from sklearn_probsr.laws._rest import Duel, Sums
from sklearn_probsr.laws._sparse_prover import SparseProver
from sklearn_probsr.laws._sparse_table import Side, SparseLedger, SparseTable
from sklearn_probsr.laws._sparse_view import SparseReplacement
from sklearn_probsr.laws._task import Task
from sklearn_probsr.laws._view import Row, View
from sklearn_probsr.model._argmax import ArgmaxModel
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.model._sparse import SparseRows, one_row

__all__ = ["SparseLaw"]

# Gains of as many members and rows as these are written as a table: then more can be proved.
_FEW_GAINS = 2**20
# Bytes of contributions that are kept, of the classes asked for last.
_MOST_BYTES = 2**27


class SparseLaw(CountingLaw):
    """A model, of two classes or several, before background rows that are mostly zeros."""

    takes_sparse = True

    def __init__(self, model: Model, distribution: Background, rows: SparseRows) -> None:
        super().__init__(model, distribution)
        self.rows, self.weights = rows, distribution.weights
        self.table = SparseTable(rows, distribution.weights)
        self._ledgers: Memo[SparseLedger] = Memo(_MOST_BYTES, lambda ledger: ledger.nbytes)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        counts = self.weights.astype(np.float64)
        weighted = self.table.values * counts[self.table.rows]
        means: NDArray[np.float64] = self.table.summed(weighted) / counts.sum()
        return means

    def ledger(self, winner: int) -> SparseLedger:
        """Return what all rows contribute towards a class."""
        return self._ledgers.get(winner, lambda: SparseLedger.of(self.table, self._sides(winner)))

    def _sides(self, winner: int) -> list[Side]:
        if isinstance(self.model, ArgmaxModel):
            return [Side(duel, True) for duel in self.model.duels(winner)]
        assert isinstance(self.model, LinearModel)
        return [Side(self.model, bool(winner))]

    def view(self, row: Row) -> SparseReplacement:
        """Return one instance, a checked row, before this law."""
        winner = int(self.model.winners(one_row(row))[0])
        return SparseReplacement(self.ledger(winner), row)

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
        assert isinstance(view, SparseReplacement)
        many = np.count_nonzero(view.open_to(task)) * len(view.margins) > _FEW_GAINS
        return SparseProver(view, task) if many else super().prover(view, task)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return self.table.nbytes + sum(ledger.nbytes for ledger in self._ledgers.values())

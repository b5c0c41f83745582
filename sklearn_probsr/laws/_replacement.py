"""Background rows: the unknown units are replaced together, by those of a row of the data.

The guarantee of a set is the share of the rows that keep the class, an exact count.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.laws._law import Law, Lengths
from sklearn_probsr.laws._ledger import MOST_BITS, Ledger
from sklearn_probsr.laws._prover import Prover
from sklearn_probsr.laws._rows_prover import RowsProver
from sklearn_probsr.laws._rows_view import RowsView
from sklearn_probsr.laws._sources import checked_rows, weighted_means
from sklearn_probsr.laws._task import Task
from sklearn_probsr.laws._view import Row, View
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._linear import LinearModel

__all__ = ["Replacement", "ReplacementLaw", "RowsLaw"]


class Replacement(RowsView):
    """One instance before background rows.

    ``ledger`` is the one of its class; it is written on a coarser scale if one is given.
    """

    def __init__(self, ledger: Ledger, row: Row, scale: Fraction | None = None) -> None:
        super().__init__(len(ledger.entries))
        self.row = row
        self.ledger = ledger if scale is None else ledger.on(scale)
        faces = self.ledger.faces(row)
        beyond = int(np.abs(faces[:, 0]).sum()).bit_length() - MOST_BITS
        if scale is None and beyond > 0:
            # Further out than there was room for: fewer digits of the background are kept.
            self.ledger = ledger.on(ledger.scale * 2**beyond)
            faces = self.ledger.faces(row)
        self._costs, self._gains, exact = faces[:, 1:].T.astype(np.bool_)
        self.exact = self.ledger.exact and bool(exact.all())
        self._whole = faces[:, 0].astype(np.int64)
        self.rows = Rows(
            self.ledger.starts, ledger.weights, self._whole[:, None] - self.ledger.entries
        )

    @cached_property
    def known(self) -> list[Fraction]:
        """What the units of the instance contribute towards its class, exactly."""
        return [self.ledger.sign * c for c in self.ledger.model.contributions(self.row)]

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown costs some row anything."""
        return bool(self._costs[unit])

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown gains some row anything."""
        return bool(self._gains[unit])

    @property
    def doubt(self) -> int:
        """How much a margin may be short by, plus one."""
        return 0 if self.exact else self.n_units + 2

    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""
        return self._settled(features, self.counted(features)[1])

    def _settled(self, features: Collection[int], margins: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which rows keep the class; those in doubt are counted with all their digits."""
        keeps: NDArray[np.bool_] = margins >= 0
        doubtful = np.flatnonzero(~keeps & (margins > -self.doubt))
        if len(doubtful):
            known = {u: self.known[u] for u in features}
            for r in doubtful:
                keeps[r] = self.ledger.keeps(int(r), known)
        return keeps

    def by_mean_gain(self, units: list[int]) -> list[int]:
        """Return units by decreasing mean gain of fixing them, the signed SHAP value."""
        gains = (self._whole - self.ledger.means)[units]
        return [units[j] for j in np.argsort(-gains, kind="stable")]


class RowsLaw(Law):
    """A model whose unknown units are replaced together by those of a background row."""

    def __init__(self, model: Model, distribution: Background) -> None:
        super().__init__(model, distribution)
        self.rows, self.weights = checked_rows(model, distribution), distribution.weights

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return weighted_means(self.rows, self.weights)

    @abstractmethod
    def view(self, row: Row) -> RowsView:
        """Return one instance, a checked row, before this law."""

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, RowsView)
        return RowsProver(view, task)

    def follow_one(
        self, i: int, row: Row, order: list[int], at: int, delta: Fraction, found: Lengths
    ) -> None:
        """Follow an order of one row, counting rows along it."""
        view = self.view(row)
        needed = -(-delta.numerator * view.total // delta.denominator)
        kept = view.weights_along(order, needed, at)
        share = Enclosure.of(Fraction(int(kept[at]), view.total))
        found.write(i, int(np.flatnonzero(kept >= needed)[0]), share)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return int(self.rows.nbytes)


class ReplacementLaw(RowsLaw):
    """Background rows before a model of two classes."""

    def __init__(self, model: LinearModel, distribution: Background) -> None:
        super().__init__(model, distribution)
        self.linear = model
        self._ledgers: dict[bool, Ledger] = {}

    def ledger(self, positive: bool) -> Ledger:
        """Return what all rows contribute towards a class, written once."""
        if positive not in self._ledgers:
            self._ledgers[positive] = Ledger.of(self.linear, self.rows, self.weights, positive)
        return self._ledgers[positive]

    def view(self, row: Row) -> Replacement:
        """Return one instance, a checked row, before this law."""
        return Replacement(self.ledger(bool(self.linear.is_positive(row[None, :])[0])), row)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return super().nbytes + sum(ledger.entries.nbytes for ledger in self._ledgers.values())

"""Several classes over background rows: the winner must stay ahead of each rival in a row.

A row keeps the class if it stays ahead of every rival in it: a count, exact as with two classes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Row
from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.engines.rows._leads import Forms, mean_gains
from sklearn_probsr.laws._table import Places, Table
from sklearn_probsr.laws.rows._ledger import Ledger
from sklearn_probsr.laws.rows._parted_view import PartedView, forms_of
from sklearn_probsr.laws.rows._replacement import RowsLaw
from sklearn_probsr.laws.rows._replacement_view import Replacement
from sklearn_probsr.model._argmax import ArgmaxModel

__all__ = ["ReplacementDuels"]

# Before very many rows a search begins with those that have so many gains, and of these at most so
# many.
_PART_CELLS, _PART = 3 * 2**17, 4096


class Duels(NamedTuple):
    """A winner before each of its rivals, on one scale: margins are compared with each other."""

    ledgers: list[Ledger]
    margins: NDArray[np.int64]  # (rows, rivals): what each row has to spare with nothing fixed

    @classmethod
    def of(cls, each: list[Ledger]) -> Duels:
        """Write them on the coarsest of their scales."""
        scale = max(ledger.scale for ledger in each)
        ledgers = [ledger.on(scale) for ledger in each]
        margins = np.empty((len(ledgers[0].table.counts), len(ledgers)), dtype=np.int64)
        for k, ledger in enumerate(ledgers):
            margins[:, k] = ledger.counted_starts()
        return cls(ledgers, margins)


class ReplacementDuels(RowsLaw):
    """Background rows before a model of several classes."""

    def __init__(self, model: ArgmaxModel, distribution: Background) -> None:
        super().__init__(model, distribution)
        self.argmax = model
        self._kept: dict[int, Duels] = {}

    def view(self, row: Row) -> RivalRows:
        """Return one instance, a checked row, before this law."""
        winner = int(self.argmax.winners(row[None, :])[0])
        return RivalRows(self._before(winner), row)

    def _before(self, winner: int) -> Duels:
        """Return the duels of a winner.

        Those of the last winners are kept, together half as many numbers as the rows are.
        """
        found = self._kept.get(winner)
        if found is None:
            duels = self.argmax.duels(winner)
            room = self.table.n_columns // (2 * len(duels)) - 1
            self._kept = dict([*self._kept.items()][-room:] if room > 0 else [])
            found = Duels.of([Ledger.of(duel, self.table, True) for duel in duels])
            self._kept = {**self._kept, winner: found}
        return found

    def first_part(self, view: PartedView, task: Task) -> int | None:
        """Return how many rows a search begins with; None for all."""
        asked = super().first_part(view, task)
        if not view.is_large:
            return asked
        few = _first_part(view)
        return few if asked is None else min(few, asked)

    def before(self, row: Row) -> list[Replacement]:
        """Return an instance before each of its rivals."""
        return self.view(row).duels


def _first_part(view: PartedView) -> int:
    """Return of how many rows the gains are few."""
    return max(min(_PART_CELLS // (view.n_units * view.rivals), _PART), 1)


class RivalRows(PartedView):
    """One instance before background rows, with one margin for each rival."""

    def __init__(self, before: Duels, row: Row) -> None:
        ledgers, margins = before
        super().__init__(ledgers[0].table.n_units)
        self.duels = [
            Replacement(ledger, row, None, margins[:, k]) for k, ledger in enumerate(ledgers)
        ]
        scale = max(one.ledger.scale for one in self.duels)
        if scale != ledgers[0].scale:  # the instance is far out, and they still need one scale
            self.duels = [Replacement(ledger, row, scale) for ledger in ledgers]
            margins = np.stack([one.margins for one in self.duels], axis=1)
        self.exact = all(one.exact for one in self.duels)
        self.margins = margins.ravel()
        self.weights = ledgers[0].table.counts

    @property
    def table(self) -> Table:
        """The rows."""
        return self.duels[0].table

    @cached_property
    def forms(self) -> Forms:
        """What units contribute before each rival."""
        known = np.stack([one.known for one in self.duels])
        return forms_of(self.table, [one.ledger for one in self.duels], known)

    def part(self, places: Places) -> RivalRows:
        """Return the instance before some of the rows."""
        found = self.copied()
        table = self.table.part(places)
        margins = self.margins.reshape(len(self.weights), -1)[places]
        found.duels = [one.over(table, margins[:, k]) for k, one in enumerate(self.duels)]
        found.margins = margins.ravel()
        found.weights = self.weights[places]
        return found

    def gains(self, units: Sequence[int]) -> NDArray[np.int64]:
        """Return what fixing some units adds to each margin, a table of their own."""
        out = np.empty((len(units), len(self.margins)), dtype=np.int64)
        for i, one in enumerate(self.duels):
            one.write_gains(units, out, i)
        return out

    @property
    def doubt(self) -> int:
        """How much a margin may be short by, plus one."""
        return max(one.doubt for one in self.duels)

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown costs some row anything, before some rival."""
        return any(one.can_cost(unit) for one in self.duels)

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown gains some row anything, before some rival."""
        return any(one.can_gain(unit) for one in self.duels)

    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""
        kept: NDArray[np.bool_] = np.logical_and.reduce([d.keeps(features) for d in self.duels])
        return kept

    def weights_along(self, order: Sequence[int], needed: int, at: int) -> NDArray[np.int64]:
        """Count what is kept with the first 0, 1, 2, ... of an order fixed, exactly."""
        pieces = list(self.pieces(self.n_units))
        if len(pieces) == 1:
            return super().weights_along(order, needed, at)
        every = (self.total + 1, len(order))
        kept: NDArray[np.int64] = np.sum(
            [super(RivalRows, piece).weights_along(order, *every) for piece in pieces], axis=0
        )
        reached = np.flatnonzero(kept >= needed)
        return kept[: max(int(reached[0]), at) + 1] if len(reached) else kept

    def ranking(self) -> list[int]:
        """Return all units in the order in which greed fixes them, before a part of many rows."""
        if not self.is_large:
            return super().ranking()
        n = len(self.weights)
        part = self.part(np.arange(0, n, -(-n // _first_part(self))))
        return super(RivalRows, part).ranking()

    def by_mean_gain(self, units: list[int]) -> list[int]:
        """Return units by decreasing mean gain of fixing them, before each row's worst rival."""
        means = self._mean_gains
        return [units[j] for j in np.argsort(-means[units], kind="stable")]

    @cached_property
    def _mean_gains(self) -> NDArray[np.float64]:
        return mean_gains(self.table.floats, self.margins, self.weights, self.forms)

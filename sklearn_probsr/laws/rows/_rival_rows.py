"""Several classes over background rows: the winner must stay ahead of each rival in a row.

A row keeps the class if it stays ahead of every rival in it: a count, exact as with two classes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.engines.rows._counts import worst_gains
from sklearn_probsr.laws._table import Places
from sklearn_probsr.laws._task import Task
from sklearn_probsr.laws._view import Row
from sklearn_probsr.laws.rows._ledger import Ledger
from sklearn_probsr.laws.rows._replacement import Replacement, RowsLaw
from sklearn_probsr.laws.rows._rows_view import PartedView
from sklearn_probsr.model._argmax import ArgmaxModel

__all__ = ["ReplacementDuels"]

# Gains that are looked at at once: so many numbers.
_GAINS = 2**18
# Before more gains than this, a search begins with rows that have so many, and of these at most so
# many; unless nearly all have to be kept.
_MANY_CELLS, _PART_CELLS, _PART = 2**20, 3 * 2**17, 4096
_NEARLY_ALL = Fraction(999, 1000)


class ReplacementDuels(RowsLaw):
    """Background rows before a model of several classes."""

    def __init__(self, model: ArgmaxModel, distribution: Background) -> None:
        super().__init__(model, distribution)
        self.argmax = model
        self._ledgers: dict[int, list[Ledger]] = {}

    def view(self, row: Row) -> RivalRows:
        """Return one instance, a checked row, before this law."""
        winner = int(self.argmax.winners(row[None, :])[0])
        return RivalRows(self._before(winner), row)

    def _before(self, winner: int) -> list[Ledger]:
        """Return the ledgers of a winner: one for each rival, each with a number for every row.

        Those of the last winners are kept, together half as many numbers as the rows are.
        """
        if winner not in self._ledgers:
            rivals = [k for k in range(len(self.argmax.classes)) if k != winner]
            while (
                self._ledgers and 2 * (len(self._ledgers) + 1) * len(rivals) > self.table.n_columns
            ):
                del self._ledgers[next(iter(self._ledgers))]
            self._ledgers[winner] = [
                Ledger.of(self.argmax.duel(winner, rival), self.table, True) for rival in rivals
            ]
        return self._ledgers[winner]

    def first_part(self, view: PartedView, task: Task) -> int | None:
        """Return how many rows a search begins with; None for all."""
        asked = super().first_part(view, task)
        if asked is not None:
            return asked
        many = isinstance(view, RivalRows) and view.is_large
        return _first_part(view) if many and task.delta < _NEARLY_ALL else None

    def before(self, row: Row) -> list[Replacement]:
        """Return an instance before each of its rivals."""
        return self.view(row).duels


def _first_part(view: PartedView) -> int:
    """Return of how many rows the gains are few."""
    each = view.n_units * (len(view.margins) // len(view.weights))
    return max(min(_PART_CELLS // each, _PART), 1)


class RivalRows(PartedView):
    """One instance before background rows, with one margin for each rival."""

    def __init__(self, ledgers: list[Ledger], row: Row) -> None:
        super().__init__(ledgers[0].table.n_units)
        seen = [Replacement(ledger, row) for ledger in ledgers]
        # Margins of different rivals are compared with each other: they need one scale.
        scale = max(one.ledger.scale for one in seen)
        self.duels = [
            one if one.ledger.scale == scale else Replacement(ledger, row, scale)
            for one, ledger in zip(seen, ledgers, strict=True)
        ]
        self.exact = all(one.exact for one in self.duels)
        self.margins = np.stack([one.margins for one in self.duels], axis=1).ravel()
        self.weights = ledgers[0].table.counts

    def part(self, places: Places) -> RivalRows:
        """Return the instance before some of the rows."""
        found = self.copied()
        table = self.duels[0].ledger.table.part(places)
        found.duels = [one.part(places, table) for one in self.duels]
        found.margins = self.margins.reshape(len(self.weights), -1)[places].ravel()
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

    def weight(self, features: Collection[int]) -> int:
        """Return the weight of the background rows that keep the class, exactly."""
        return sum(super(RivalRows, piece).weight(features) for piece in self._pieces())

    def weights_along(self, order: Sequence[int], needed: int, at: int) -> NDArray[np.int64]:
        """Count what is kept with the first 0, 1, 2, ... of an order fixed, exactly."""
        pieces = list(self._pieces())
        if len(pieces) == 1:
            return super().weights_along(order, needed, at)
        every = (self.total + 1, len(order))
        kept: NDArray[np.int64] = np.sum(
            [super(RivalRows, piece).weights_along(order, *every) for piece in pieces], axis=0
        )
        reached = np.flatnonzero(kept >= needed)
        return kept[: max(int(reached[0]), at) + 1] if len(reached) else kept

    def _pieces(self) -> Iterator[RivalRows]:
        """Return the rows in pieces, whose gains take little memory."""
        n = len(self.weights)
        step = max(_GAINS // (self.n_units * len(self.duels)), 1)
        if n <= step:
            yield self
            return
        for start in range(0, n, step):
            yield self.part(slice(start, min(start + step, n)))

    @property
    def is_large(self) -> bool:
        """Whether the gains of all units before all rivals take much memory."""
        return len(self.margins) * self.n_units > _MANY_CELLS

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
        found: NDArray[np.float64] = sum(
            (worst_gains(piece.rows) for piece in self._pieces()), start=np.zeros(self.n_units)
        )
        return found

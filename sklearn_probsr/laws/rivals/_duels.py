"""Several classes over independent units: one law for each duel of a winner with a rival.

The class is kept for certain iff it is before every rival, at worst: no probability is asked for
that. How likely it is kept otherwise is bounded by those of the duels (Proposition 34).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.cache import Memo
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import Prover
from sklearn_probsr.core.view import Row, View
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.laws.rivals._exchange import StateWorths
from sklearn_probsr.laws.rivals._joint_counts import JointCounts
from sklearn_probsr.laws.rivals._pairs import PairedSets, Pairs
from sklearn_probsr.laws.rivals._rival_costs import RivalCosts
from sklearn_probsr.laws.rivals._rival_prover import RivalProver
from sklearn_probsr.laws.sums._certainty import CertainProver
from sklearn_probsr.laws.sums._independent import IndependentLaw
from sklearn_probsr.laws.sums._sums_rest import LoweredRest
from sklearn_probsr.model.argmax import ArgmaxModel

__all__ = ["IndependentDuels"]

# The degree of the spectra of a duel, of which ten classes have ninety.
_DEGREE = 2**12
# Beyond this the duels that were not asked for lately are made anew when they are needed.
_MOST_BYTES = 2**29
# The same of what is known of pairs of rivals.
_MOST_PAIRED = 2**26
# What states are worth is kept for so many winners.
_MOST_WINNERS = 16
# Completions that are drawn at once: so many numbers.
_CELLS = 2**20


class IndependentDuels(Law):
    """Independent units before a model of several classes."""

    def __init__(self, model: ArgmaxModel, distribution: Any, source: Source) -> None:
        super().__init__(model, distribution)
        self.argmax, self.source = model, source
        self._laws: Memo[IndependentLaw] = Memo(_MOST_BYTES, _tables)
        self._pairs: Memo[Pairs] = Memo(_MOST_PAIRED, attrgetter("nbytes"))
        self._worths: Memo[StateWorths] = Memo(_MOST_WINNERS)
        self._counts: Memo[JointCounts] = Memo(_MOST_WINNERS)

    @property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return self.source.means

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of an unknown unit may be, and how likely each is."""
        return self.source.states(unit)

    @property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far the mean of each column may be off."""
        return self.source.mean_doubts

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return self.source.mean_of(column)

    def duel(self, winner: int, rival: int) -> IndependentLaw:
        """Return the law of one duel, made once."""

        def make() -> IndependentLaw:
            duel = self.argmax.duel(winner, rival)
            return IndependentLaw(duel, self.distribution, self.source, _DEGREE)

        return self._laws.get((winner, rival), make)

    def view(self, row: Row) -> RivalCosts:
        """Return one instance, a checked row, before this law."""
        winner = int(self.argmax.winners(row[None, :])[0])
        costs = [law.view(row) for law in self.against(winner)]
        pairs = self._pairs.get(winner, lambda: Pairs(self.against(winner), self.source))
        counts = self._counts.get(winner, lambda: JointCounts(self.against(winner), self.source))
        return RivalCosts(
            winner, costs, PairedSets(pairs), counts, lambda *asked: self._kept(row, winner, *asked)
        )

    def against(self, winner: int) -> list[IndependentLaw]:
        """Return the laws of the duels of a class with each of its rivals."""
        rivals = [k for k in range(len(self.argmax.classes)) if k != winner]
        return [self.duel(winner, rival) for rival in rivals]

    @property
    def data(self) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """The rows that unknown units are taken from, and how much each counts; None if none."""
        return self.source.seen

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> LoweredRest:
        """Return what may be lost of some facts of an instance, before each of its rivals."""
        view = self.view(row)

        def lower(losses: Sequence[Fraction]) -> RivalCosts:
            return view.lowered(features, losses)

        most = [one.spared(features) for one in view.duels]
        return LoweredRest([one.duel for one in view.duels], delta, features, lower, most)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, RivalCosts)
        duels = self.against(view.winner)
        worths = self._worths.get(view.winner, lambda: StateWorths(duels, self.source))
        prover = RivalProver(duels, view, task, worths)
        return CertainProver(prover, view.duels) if task.delta == 1 else prover

    def _kept(
        self, row: Row, winner: int, fixed: list[list[int]], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw completions, and count for each of some sets those that keep the class."""
        model, total = self.argmax, np.zeros(len(fixed), dtype=np.int64)
        units = model.units
        columns = [[u] if units is None else list(units[u].columns) for u in range(model.n_units)]
        states = [self.source.states(u) for u in range(model.n_units)]
        chunk = max(_CELLS // model.n_features, 1)
        for start in range(0, samples, chunk):
            m = min(chunk, samples - start)
            drawn = np.empty((m, model.n_features), dtype=row.dtype)
            for at, (values, chances) in zip(columns, states, strict=True):
                drawn[:, at] = values[rng.choice(len(values), m, p=chances)]
            for k, features in enumerate(fixed):
                inside = [column for u in features for column in columns[u]]
                completed = drawn.copy()
                completed[:, inside] = row[inside]
                total[k] += np.count_nonzero(model.winners(completed) == winner)
        return total

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        pairs = sum(each.nbytes for each in self._pairs.values())
        return self.source.nbytes + sum(map(_tables, self._laws.values())) + pairs


def _tables(law: IndependentLaw) -> int:
    """Return what the tables of a duel take, beside the source that all duels share."""
    return law.nbytes - law.source.nbytes

"""Independent units with distributions of their own.

The exchange lemma orders two units only if one stochastically costs more (Lemma 10); in general no
single ranking is optimal. So several rankings propose a set (by mean cost, by largest cost, and by
``mean + lambda variance``, the normal law's compromise between them), the smallest is pruned until
nothing can be left out, and refuting every smaller set that respects the exchange lemmas proves a
minimum (Proposition 12; of all smaller sizes where units can gain, Corollary 37).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.scout import MOST_COMPARED, ChainScout, Scout
from sklearn_probsr.core.search import Prover
from sklearn_probsr.core.view import Row, View
from sklearn_probsr.engines.sums._stochastic_order import within
from sklearn_probsr.engines.sums._up_sets import count_up_sets, list_up_sets
from sklearn_probsr.independent.contributions import Contributions, Listed
from sklearn_probsr.independent.seen import Seen
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.laws.sums._branches import Purse
from sklearn_probsr.laws.sums._certainty import CertainProver
from sklearn_probsr.laws.sums._costs import Costs
from sklearn_probsr.laws.sums._crowd_costs import CrowdCosts
from sklearn_probsr.laws.sums._crowd_spectra import CrowdShared
from sklearn_probsr.laws.sums._crowds import Crowds, is_crowd
from sklearn_probsr.laws.sums._refuter import Refuter, ranked
from sklearn_probsr.laws.sums._spectra import Shared, are_few
from sklearn_probsr.laws.sums._sums_rest import LoweredRest
from sklearn_probsr.model.linear import LinearModel

__all__ = ["IndependentLaw", "IndependentProver"]

# Models with more units have a rest that no reason is made of.
_MOST_IN_HEAD = 128
# Each size that was left open halves what the next may cost, to this share of the first at least.
_LEAST_SHARE = 16


class IndependentLaw(Law):
    """A model of two classes whose unknown units are independent.

    ``degree`` bounds that of spectra which know all units: one of many laws needs small ones.
    """

    def __init__(
        self, model: LinearModel, distribution: Any, source: Source, degree: int | None = None
    ) -> None:
        super().__init__(model, distribution)
        self.linear, self.source, self._degree = model, source, degree
        self._shared: dict[bool | None, Shared | None] = {}

    @property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return self.source.means

    @property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far the mean of each column may be off."""
        return self.source.mean_doubts

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return self.source.mean_of(column)

    @cached_property
    def contributions(self) -> Contributions:
        """What each unit may add to the decision function, exactly."""
        if is_crowd(self.source):
            assert isinstance(self.source, Seen)
            return Crowds(self.linear, self.source)
        return Listed.of(self.linear, self.source)

    def spectra(self, positive: bool, whole: bool, few: bool = False) -> Shared | None:
        """Return the spectra of a class, made once; None where counting is the better way.

        ``whole`` asks for spectra that leave no unit out; they are the same for both classes, and
        less sharp than those of a class where there are many units. ``few`` asks for them though
        there are so few units that counting a set is quick.
        """
        seen = self.contributions
        if (are_few(seen) and not few) or not seen.by_range:
            return None
        side = None if whole or len(seen.ends) <= _MOST_IN_HEAD else positive
        if side not in self._shared:
            shared = _shared_of(seen, side)
            if self._degree is not None and shared is not None and not shared.rest:
                shared.limit(self._degree)
            self._shared[side] = shared
        return self._shared[side]

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of an unknown unit may be, and how likely each is."""
        return self.source.states(unit)

    def view(self, row: Row) -> Costs:
        """Return one instance, a checked row, before this law."""
        kind = CrowdCosts if isinstance(self.contributions, Crowds) else Costs
        return kind(self.contributions, row, self.spectra)

    @property
    def data(self) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """The rows that unknown units are taken from, and how much each counts; None if none."""
        return self.source.seen

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> LoweredRest:
        """Return what may be lost of some facts of an instance while delta holds."""
        view = self.view(row)
        return LoweredRest(
            [view.duel],
            delta,
            features,
            lambda losses: view.lowered(features, losses[0]),
            [view.spared(features)],
        )

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, Costs)
        prover = IndependentProver(self, view, task)
        return CertainProver(prover, [view]) if task.delta == 1 else prover

    def scout(self, prover: Prover, prices: dict[int, int], row: Row) -> Scout:
        """Return what looks ahead for the cheapest set of an instance."""
        if isinstance(prover, CertainProver):
            return super().scout(prover, prices, row)
        worth = self.view(row).moments.mean
        order = sorted(prover.members, key=lambda u: (-worth[u], prices[u]))
        return self.along(order, prices, prover, row, worth[order].tolist())

    def along(
        self,
        order: list[int],
        prices: dict[int, int],
        prover: Prover,
        row: Row,
        worth: list[float],
        above: NDArray[np.bool_] | None = None,
    ) -> Scout:
        """Return what looks ahead along members, of which some cost stochastically more."""
        view, verdict = self.view(row), prover.verdict
        if len(order) > MOST_COMPARED:
            return Scout(order, prices, verdict, prover.monotone, worth)
        few = above is None
        shared = [self.spectra(view.positive, whole, few) for whole in (False, True)]
        refuters = [
            Refuter(self.contributions, s, row[None, :], view.positive, prover.task)
            for s in shared
            if s is not None
        ]
        if above is None and refuters:
            above = refuters[0].above(0, np.array(order, dtype=np.int64))
        if above is None:
            return Scout(order, prices, verdict, prover.monotone, worth)
        known = [refuter for refuter in refuters if refuter.tells(order)]
        if view.counted or not known:
            return ChainScout(order, prices, verdict, prover.monotone, worth, above.item)
        from sklearn_probsr.laws.sums._chain_search import SpectrumScout
        from sklearn_probsr.laws.sums._spectral_sets import spectral_verdict

        quick = spectral_verdict(known[0].shared, row, view.positive, prover.task, verdict)
        return SpectrumScout(order, prices, quick, prover.monotone, worth, above, known[0])

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        known = list(self._shared.values())  # another thread may add to them
        tables = sum(shared.nbytes for shared in known if shared is not None)
        return tables + self.source.nbytes


def _shared_of(seen: Contributions, side: bool | None) -> Shared | None:
    if isinstance(seen, Crowds):
        return CrowdShared.of(seen, side)
    assert isinstance(seen, Listed)
    return Shared.of(seen, side)


class IndependentProver(Prover):
    """The sets of one instance, where unknown units are independent."""

    def __init__(self, law: IndependentLaw, view: Costs, task: Task) -> None:
        super().__init__(view, task)
        self.law, self.costs = law, view
        self._refuters: dict[int, Refuter] = {}
        self._open = 0  # sizes that were left so

    def guess(self, order: list[int]) -> int | None:
        """Return the first size along an order that suffices for a normal law."""
        return self.costs.guess(self.forced, order, self.task.delta)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members: all up-sets are refuted, or one is found."""
        if self.costs.counted:
            most = min(self.task.effort.limits.most_sets, self.task.effort.sets)
            if count_up_sets(self._above, size, not self.monotone, most) <= most:
                return self.first_of(self._up_sets(size, not self.monotone, most))
        refuter = self._refuter(size)
        if refuter is None:
            return super().look(size)
        # What is left open must not take long at every size, unless a proof may.
        effort = self.task.effort
        patient = effort.thorough or effort.max_evals is not None
        share = 1 if patient else min(2**self._open, _LEAST_SHARE)
        self._purse.refill(share)
        reached, found = refuter.look(0, size, self.verdict, self._purse)
        self._open += reached is None
        return reached, found

    @cached_property
    def _purse(self) -> Purse:
        """What the proofs of the row may cost; its time goes on from size to size."""
        return Purse(self.task)

    def _refuter(self, size: int) -> Refuter | None:
        """Return a way to refute many sets: the first spectra that know the units in question."""
        return next((refuter for refuter in self.refuters() if refuter.knows(0, size)), None)

    def refuters(self) -> Iterator[Refuter]:
        """Yield ways to refute many sets, by spectra that know more and more units."""
        law, view = self.law, self.costs
        for whole in (False, True):
            shared = law.spectra(view.positive, whole, few=True)
            if shared is not None and id(shared) not in self._refuters:
                rows = view.row[None, :]
                self._refuters[id(shared)] = Refuter(
                    law.contributions, shared, rows, view.positive, self.task
                )
            if shared is not None:
                yield self._refuters[id(shared)]

    def improve(self, chosen: set[int]) -> set[int]:
        """Return the best of the up-sets of the same size, if they are few and quick to count."""
        size = len(chosen)
        if not self.costs.counted:
            return chosen
        most = self.task.effort.limits.most_compared
        if count_up_sets(self._above, size, False, most) > most:
            return chosen
        return max([chosen, *self._up_sets(size, False, most)], key=self.worth)

    def _up_sets(self, size: int, smaller: bool, most: int) -> list[set[int]]:
        masks = list_up_sets(self._above, size, smaller, most)
        members = np.array(self.members, dtype=np.intp)
        return [set(members[mask].tolist()) for mask in masks]

    @cached_property
    def _above(self) -> NDArray[np.bool_]:
        """Which members cost stochastically more than which that come later (Lemma 10)."""
        laws = ranked([self.costs.law(u) for u in self.members])
        return within(laws, np.arange(len(self.members)))

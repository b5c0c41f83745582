"""Independent units that are mostly zero, as the words of documents are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import MOST_MIXED, Task
from sklearn_probsr.core.search import Prover
from sklearn_probsr.core.view import Row, View
from sklearn_probsr.laws.sums._certainty import CertainProver
from sklearn_probsr.laws.sums._thin_laws import ThinLaws
from sklearn_probsr.laws.sums._thin_path import first_along
from sklearn_probsr.laws.sums._thin_spectrum import ThinSpectrum
from sklearn_probsr.laws.sums._thin_view import Ranks, ThinCosts
from sklearn_probsr.model.linear import LinearModel
from sklearn_probsr.model.sparse import one_row

__all__ = ["ThinCertainty", "ThinLaw", "ThinProver"]

# So many units beyond twice a guess are tried.
_BEYOND = 64


class ThinLaw(Law):
    """A model of two classes whose unknown units are independent and mostly zero."""

    takes_sparse = True

    def __init__(self, model: LinearModel, distribution: Any, laws: ThinLaws) -> None:
        super().__init__(model, distribution)
        self.linear, self.laws = model, laws

    @property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return self.laws.means

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what a unit may be, one line a state, and their chances."""
        return self.laws.states(unit)

    @cached_property
    def spectrum(self) -> ThinSpectrum:
        """The sum of what all units contribute."""
        return ThinSpectrum(self.laws, self.linear)

    def view(self, row: Row) -> ThinCosts:
        """Return one instance, a checked row, before this law."""
        positive = bool(self.linear.is_positive(one_row(row))[0])
        return ThinCosts(self.linear, self.spectrum, row, positive)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, ThinCosts)
        prover = ThinProver(view, task)
        return ThinCertainty(prover, [view]) if task.delta == 1 else prover

    def _first_along(self, view: View, order: list[int], delta: Fraction) -> int:
        """Return the first size along an order that surely reaches a level."""
        assert isinstance(view, ThinCosts)
        return first_along([view], order, delta)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return self.laws.nbytes + self.spectrum.nbytes


class ThinProver(Prover):
    """The sets of one instance: each is looked up in the spectrum."""

    def __init__(self, view: Ranks, task: Task) -> None:
        self.view, self.task, self.costs = view, task, view
        self.forced = list(task.include)
        self._rankings = view.rankings(view.open_to(task), self.forced, task.delta)
        sizes = [view.guess(self.forced, order, task.delta) for order in self._rankings]
        most = min(sizes) * 1.25 + 2
        # Beside the first, by mean cost, the orders that promise the shortest sets.
        some = [k for k, size in enumerate(sizes) if k == 0 or size <= most]
        self.orders = [self._rankings[k].tolist() for k in some]
        self._guesses = {id(order): sizes[k] for k, order in zip(some, self.orders, strict=True)}
        self._short = [order for order in self.orders if self._guesses[id(order)] <= most]
        self.members, by_mean = self.orders[0], self._rankings[0]
        self.pure = set(by_mean[~view.may_hurt(by_mean)].tolist())
        self.monotone = len(self.pure) == len(self.members)
        self.least = 0

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        """Where each unit is among the members; -1 if it is none."""
        place = np.full(self.view.n_units, -1, dtype=np.intp)
        place[self._rankings[0]] = np.arange(len(self.members))
        return place

    def in_order(self, chosen: Collection[int]) -> list[int]:
        """Return a set in the order of the members."""
        places = np.sort(self._place[np.array([*chosen], dtype=np.intp)])
        return [self.members[k] for k in places[places >= 0].tolist()]

    def proposals(self) -> list[list[int]]:
        """Return the orders that promise the shortest sets for a normal law."""
        return self._short

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return the shortest prefix found, from a guess on: there are too many to be tried."""
        at = self._guesses.get(id(order))
        if at is None:
            at = self.costs.guess(self.forced, np.array(order, dtype=np.intp), self.task.delta)
        return self._stepwise(order[: 2 * at + _BEYOND], at)

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Prove that nothing can be left out, or leave it out; few sets are looked at."""
        mixed = len(chosen - self.pure)
        if mixed <= MOST_MIXED and 2**mixed > self.task.effort.limits.few_sets:
            # One by one, and no word on leaving out several at once.
            verdicts = [
                None if self.task.is_over else self.verdict(chosen - {u}) for u in sorted(chosen)
            ]
            if not any(verdicts):
                word = "locally-minimal"
                return chosen, f"near-{word}" if None in verdicts else word, 0.0
        return super().claim(chosen)


class ThinCertainty(CertainProver):
    """The sets that keep the class for certain; units are too many to be sorted by fractions."""

    def __init__(self, likely: ThinProver, duels: Sequence[ThinCosts]) -> None:
        super().__init__(likely, duels)  # type: ignore[arg-type]
        self.thin = duels

    def proposals(self) -> list[list[int]]:
        """Return the members by the most that they cost; before several rivals, in two orders."""
        if len(self.thin) == 1:
            return [self.thin[0].by_most(self.members)]
        covered = sum(duel.share_covered(self._members, self.forced) for duel in self.thin)
        order = self._members[np.argsort(-np.asarray(covered), kind="stable")]
        return [self.members, order.tolist()]

    @cached_property
    def _members(self) -> NDArray[np.intp]:
        return np.array(self.members, dtype=np.intp)

    @cached_property
    def fewest(self) -> int:
        """Fewer members than this are too few: before a single rival the largest costs do most."""
        return max(duel.fewest_certain(self.forced, self.members) for duel in self.thin)

    def pruned(self, order: list[int]) -> set[int]:
        """Leave out what is not needed, the last first; sums run on from one unit to the next."""
        found = [duel.spare(self.forced, order) for duel in self.thin]
        left, chosen = np.array([one[0] for one in found]), set(order)
        worst, doubt = np.array([one[1] for one in found]), np.array([one[2] for one in found])
        for i in range(len(order) - 1, -1, -1):
            beyond = left + worst[:, i]
            if self._without(chosen, order[i], beyond, doubt):
                chosen.discard(order[i])
                left = beyond
        again = not self.monotone and len(chosen) < len(order)
        return self.pruned(self.in_order(chosen)) if again else chosen

    def _without(
        self, chosen: set[int], unit: int, beyond: NDArray[np.float64], doubt: NDArray[np.float64]
    ) -> bool:
        """Tell whether a set is certain without a unit, by what the others then exceed it by."""
        if (beyond > doubt).any():
            return False
        return bool((beyond < -doubt).all()) or self.verdict(chosen - {unit})

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Leave out what can be left out; where fixing never hurts, nothing else can be then."""
        if not self.monotone:
            return super().claim(chosen)
        return self.pruned(self.in_order(chosen)), "subset-minimal", 0.0

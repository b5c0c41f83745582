"""Proofs before several rivals: what one duel refutes, all of them together do.

A set that keeps the class ahead of all rivals with probability delta keeps it ahead of each one
with that probability. So a set that some duel refutes is refuted, and no set is smaller than the
smallest of any duel (Lemma 80).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import Prover
from sklearn_probsr.laws.rivals._exchange import Costs, StateWorths, above_in_all
from sklearn_probsr.laws.rivals._joint_search import Allowance, JointSearch
from sklearn_probsr.laws.rivals._rival_costs import RivalCosts
from sklearn_probsr.laws.sums._branches import Purse
from sklearn_probsr.laws.sums._independent import IndependentLaw, IndependentProver

__all__ = ["RivalProver"]

# All choices of so many units are left out, to prove a set subset-minimal.
_MOST_MIXED = 14
# Of these, so many may be left to be looked at one by one.
_MOST_OPEN = 256
# Where a proof fails, so many units beside a set are put in place of its own, in so many ways.
_OUTSIDERS, _NEIGHBOURS = 4, 3
# Sets of more members are not searched before all rivals at once; also where it may take long.
_MOST_MEMBERS = (96, 256)


class RivalProver(Prover):
    """The sets of one instance before several rivals, where unknown units are independent.

    ``duels`` are the laws of the duels, in the order of the view's own.
    """

    def __init__(
        self, duels: list[IndependentLaw], view: RivalCosts, task: Task, worths: StateWorths
    ) -> None:
        super().__init__(view, task)
        self.rivals, self._duels, self._worths = view, duels, worths
        self._looked: tuple[bool | None, set[int]] | None = None  # what came of the last search

    @cached_property
    def provers(self) -> list[IndependentProver]:
        """What is known of the sets before each rival, those that need most units first."""
        each = [
            IndependentProver(law, view, self.task)
            for law, view in zip(self._duels, self.rivals.duels, strict=True)
        ]
        return sorted(each, key=lambda one: -(one.guess(one.members) or 0))

    def verdict(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set of members reaches the level, by the quick bounds of the duels."""
        known = self.rivals.glance([*self.forced, *chosen], self.task.delta)
        return (known >= self.task.delta).value

    def sharp_verdict(self, chosen: Collection[int]) -> bool | None:
        """Tell the same by all that is known."""
        return super().verdict(chosen)

    def worth(self, chosen: Collection[int]) -> float:
        """Return what the guarantee of a set surely is, by the quick bounds of the duels."""
        return self.rivals.glance([*self.forced, *chosen]).lower

    def settled(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set reaches delta as a reader would: by the bounds that are shown."""
        verdict = self.sharp_verdict(chosen)
        return (self.guarantee(chosen) >= self.task.delta).value if verdict is None else verdict

    # --- the sets of a size ------------------------------------------------------------------

    def bound_least(self, size: int) -> None:
        """Raise ``least``: no set is smaller than the smallest of a duel (Lemma 80)."""
        for one in self.provers:
            self._raise_by(one, size)
        search = self._search if self.least < size and not self.task.is_late else None
        if search is None:
            return
        purse, allowance = Purse(self.task), Allowance.of(self.task.effort)
        while self.least < size:
            self._looked = self._judged(search.open_sets(self.least, allowance, purse), purse)
            if self._looked[0] is not False:
                break
            self.least += 1

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members: what was found when sizes were gone up."""
        if self._looked is None:
            return super().look(size)
        verdict, found = self._looked
        return (True, found) if verdict else (None, set())

    def _judged(self, left: list[set[int]] | None, purse: Purse) -> tuple[bool | None, set[int]]:
        """Tell whether one of the sets that no duel refutes reaches the level, or none does."""
        if left is None:
            return None, set()
        self.rivals.pairs.settle({*self.forced}.union(*left))
        undecided = False
        for chosen in left:
            verdict = None if purse.is_late else self.sharp_verdict(chosen)
            if verdict:
                return True, chosen
            undecided |= verdict is None
        return (None if undecided else False), set()

    @cached_property
    def _search(self) -> JointSearch | None:
        """The sets before all rivals at once; None where the spectra of a duel do not know them."""
        refuters = []
        for one in self.provers:
            known = [each for each in one.refuters() if each.tells(self.members)]
            refuters += known[:1]
        if not refuters or len(self.members) > _MOST_MEMBERS[self.task.effort.thorough]:
            return None
        n = len(self.members)
        above = np.zeros((n, n), dtype=np.bool_)
        if len(refuters) == len(self.provers) and self._worths.known:
            order = np.array(self.members, dtype=np.int64)
            orders = [refuter.above(0, order) for refuter in refuters]
            above = above_in_all(self.members, orders, self._costs)
        few = self.task.effort.limits.rival_sets
        return JointSearch(refuters, self.members, above, self.view.n_units, few)

    def _costs(self, unit: int) -> Costs:
        known = [duel.known[unit] * duel.contributions.scale for duel in self.rivals.duels]
        return self._worths.costs(unit, known)

    def _raise_by(self, one: IndependentProver, size: int) -> None:
        """Raise ``least`` by a duel: from a guess upwards as far as it goes, or else downwards."""
        size = min(size, len(one.members) + 1)  # it has no larger sets
        asked = min(max((one.guess(one.members) or 0) - 1, self.least), size - 1)
        while asked >= self.least and not self._refutes(one, asked):
            asked -= 1
        if asked < self.least:
            return
        self.least = asked + 1
        while self.least < size and self._refutes(one, self.least):
            self.least += 1

    def _refutes(self, one: IndependentProver, size: int) -> bool:
        """Tell whether a duel refutes all sets of a size, while there is time."""
        return not self.task.is_late and one.look(size)[0] is False

    # --- what is proved of a set -------------------------------------------------------------

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Prove that nothing can be left out, or leave it out.

        Where that stays open, neighbours of the same size are looked at: a proof of one is as good.
        """
        others = [u for u in self.orders[-1] if u not in chosen][:_OUTSIDERS]
        self.rivals.pairs.settle([*self.forced, *chosen, *others])
        found, word = self._claimed(chosen)
        if word.startswith("near-") and self.task.effort.wanted and not self.task.is_over:
            for other in islice(self._neighbours(found, others), _NEIGHBOURS):
                swapped, claimed = self._claimed(other)
                if not claimed.startswith("near-") and len(swapped) <= len(found):
                    return swapped, claimed, 0.0
        return found, word, 0.0

    def _neighbours(self, chosen: set[int], others: list[int]) -> Iterator[set[int]]:
        """Yield sets that reach the level with one unit in place of another."""
        for new in others:
            for old in reversed(self.in_order(chosen)):
                if new not in chosen and self.verdict((chosen - {old}) | {new}):
                    yield (chosen - {old}) | {new}

    def _claimed(self, chosen: set[int]) -> tuple[set[int], str]:
        """Return a set, or a smaller one, from which nothing can be left out as far as is told."""
        over = self.task.is_over
        if over:
            return chosen, "near-locally-minimal"
        word, left = self._removals(self.in_order(chosen))
        if left is None:
            found, word, _ = super().claim(chosen)
            return found, word
        open_ones = len(left) > _MOST_OPEN
        for smaller in left[:_MOST_OPEN]:
            verdict = None if self.task.is_over else self.sharp_verdict(smaller)
            if verdict:
                return self._claimed(self.pruned(self.in_order(smaller)))
            open_ones |= verdict is None
        return chosen, f"near-{word}" if open_ones else word

    def _removals(self, chosen: list[int]) -> tuple[str, list[set[int]] | None]:
        """Return what may be claimed of a set, and which smaller ones no single duel refutes.

        The larger come first; None where spectra know nothing of them.
        """
        mixed = [u for u in chosen if u not in self.pure]
        if len(mixed) > _MOST_MIXED or len(chosen) > _MOST_MIXED + 4:
            singles = [set(few) for few in combinations(chosen, len(chosen) - 1)]
            return "locally-minimal", [one for one in singles if self.verdict(one) is not False]
        masks = self._left(chosen) if chosen else np.zeros((0, 0), dtype=np.bool_)
        if masks is None:
            return "subset-minimal", None
        masks = masks[np.argsort(-masks.sum(axis=1), kind="stable")]
        units = np.array(chosen, dtype=np.intp)
        return "subset-minimal", [set(units[mask].tolist()) for mask in masks]

    def _left(self, chosen: list[int]) -> NDArray[np.bool_] | None:
        """Return the proper subsets that no single duel refutes, as masks."""
        left: NDArray[np.bool_] | None = None
        fixed = frozenset([*self.forced, *chosen])
        for one in sorted(self.provers, key=lambda one: one.costs.glance(fixed).lower):
            known = next((each for each in one.refuters() if each.tells(chosen)), None)
            if known is None:
                continue
            if left is None:
                left = known.subsets_left(0, chosen, 2 ** len(chosen))
            else:
                left = left[known.still_left(0, chosen, left)]
            if left is not None and len(left) == 0:
                break
        return left

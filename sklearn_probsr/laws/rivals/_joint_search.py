"""Sets before all rivals at once, branch by branch: what one duel refutes is not looked at again.

A branch is units that every set of it has, and units of which a set may have so many (Proposition
149). It is refuted if one duel refutes all of its sets, in an order of its own. As long as it is
not, each duel has a witness: a set of the branch that does well in this duel; the same set serves
the branches below that it belongs to. Where few sets are left they are bounded one by one, duel by
duel; those that no duel refutes are for the caller, who knows pairs of rivals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Effort
from sklearn_probsr.engines.sums._up_sets import count_up_sets
from sklearn_probsr.laws.sums._branches import Branch, Purse
from sklearn_probsr.laws.sums._refuter import Refuter

__all__ = ["Allowance", "JointSearch"]

# A duel looks at a branch in so many of its own up-sets at most.
_SETS, _NODES = 20_000, 5_000_000
# Where a proof may take long, time ends it, or more open sets than this.
_NO_END, _MANY = 2**62, 2**14

Witness = frozenset[int] | None


@dataclass
class Allowance:
    """How often duels may be asked about branches, and how many sets may stay open."""

    looks: int
    room: int

    @classmethod
    def of(cls, effort: Effort) -> Allowance:
        """Return that of a row."""
        if effort.thorough:
            return cls(_NO_END if effort.max_evals is None else effort.max_evals, _MANY)
        return cls(effort.limits.rival_looks, effort.limits.rival_room)


class JointSearch:
    """The sets of one instance before each of its rivals.

    Parameters
    ----------
    refuters : list of Refuter
        One for each duel; they know all members.
    members : list of int
    above : ndarray of bool
        Which members are above which later ones before all rivals at once.
    n_units : int
    few : int
        Up-sets of a branch that are bounded one by one.
    """

    def __init__(
        self,
        refuters: list[Refuter],
        members: Sequence[int],
        above: NDArray[np.bool_],
        n_units: int,
        few: int,
    ) -> None:
        self.refuters, self.above, self.n_units, self.few = refuters, above, n_units, few
        self.members = np.array(members, dtype=np.int64)
        self._ranks = list(range(len(refuters)))  # the duels, those first that refuted last

    def open_sets(self, size: int, allowance: Allowance, purse: Purse) -> list[set[int]] | None:
        """Return the sets of at most a size that no duel refutes; None: they are too many.

        Only such as Proposition 149 asks for.
        """
        root = Branch((), self.members, self.above, min(size, len(self.members)))
        none: list[Witness] = [None] * len(self.refuters)
        branches = [(root, none)]
        found: list[set[int]] = []
        while branches:
            branch, witnesses = branches.pop()
            if allowance.looks <= 0 or purse.is_late:
                return None
            witnesses = [known if _is_in(known, branch) else None for known in witnesses]
            if self._is_refuted(branch, witnesses, allowance, purse):
                continue
            if count_up_sets(branch.above, branch.size, True, self.few) > self.few:
                place = _telling(branch, witnesses)
                halves = (branch.without_unit(place), branch.with_unit(place))
                branches += [(half, witnesses) for half in halves if half is not None]
                continue
            left = self._left(branch)
            found += [] if left is None else left
            if left is None or len(found) > allowance.room:
                return None
        return found

    def _is_refuted(
        self, branch: Branch, witnesses: list[Witness], allowance: Allowance, purse: Purse
    ) -> bool:
        """Tell whether a duel refutes a branch, and write down the witnesses of those before."""
        open_units = np.zeros(self.n_units, dtype=np.bool_)
        open_units[branch.candidates] = True
        for k in list(self._ranks):
            if witnesses[k] is not None:
                continue
            allowance.looks -= 1
            purse.sets, purse.work = _SETS, _NODES
            one = self.refuters[k]
            outcome = one.refute_within(
                0, branch.taken, open_units, branch.size, purse, one.shared.coarse
            )
            if outcome.verdict is False and not outcome.sets:
                self._ranks.remove(k)
                self._ranks.insert(0, k)
                return True
            witnesses[k] = frozenset(outcome.sets[0]) if outcome.sets else None
        return False

    def _left(self, branch: Branch) -> list[set[int]] | None:
        """Return the up-sets of a branch that no duel refutes; None: spectra do not know them."""
        left: set[bytes] | None = None
        for sharp, k in product((False, True), self._ranks):
            one = self.refuters[k]
            spectrum = one.shared.wide if sharp else one.shared.coarse
            masks = one.sets_left(0, branch, self.few, spectrum)
            if masks is None:
                continue
            known = {mask.tobytes() for mask in masks}
            left = known if left is None else left & known
            if not left:
                return []
        if left is None:
            return None
        masks_left = [np.frombuffer(mask, dtype=np.bool_) for mask in sorted(left)]
        return [{*branch.taken, *branch.candidates[mask].tolist()} for mask in masks_left]


def _is_in(witness: Witness, branch: Branch) -> bool:
    """Tell whether a set belongs to a branch."""
    if witness is None:
        return False
    return witness.issuperset(branch.taken) and witness.issubset(
        {*branch.taken, *branch.candidates.tolist()}
    )


def _telling(branch: Branch, witnesses: list[Witness]) -> int:
    """Return the candidate that most witnesses hold, the first of them."""
    held = [sum(u in known for known in witnesses if known) for u in branch.candidates.tolist()]
    return int(np.argmax(held))

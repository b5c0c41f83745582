"""Branches: refuting sets where too many are left, by deciding some units first (Proposition 71).

A branch is what was decided: units that every set of it has, and others that none has. Those join
what is always free, so that units can be compared in a context (Lemma 11) that knows more. The unit
that varies most is decided first, as the others are then compared before a wider spread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Limits, Task
from sklearn_probsr.engines.sums._context import compare
from sklearn_probsr.engines.sums._cut_grid import POINTS
from sklearn_probsr.engines.sums._scene import Scene
from sklearn_probsr.engines.sums._spectrum import Spectrum
from sklearn_probsr.engines.sums._up_sets import Budget, count_up_sets, refute
from sklearn_probsr.independent.level import Level

__all__ = ["Branch", "Purse", "refute_all"]

# What looking at a branch costs, in nodes of a spectrum that a set is bounded at.
_BRANCH = 4096
# What a point of a candidate's distribution function costs, in the same.
_EACH = 8


class Branch(NamedTuple):
    """Sets that hold what is taken, and at most so many of the candidates."""

    taken: tuple[int, ...]
    candidates: NDArray[np.int64]  # in an order in which nothing comes before what is above it
    above: NDArray[np.bool_]
    size: int

    def _without(self, gone: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        kept = ~gone
        return self.candidates[kept], np.ascontiguousarray(self.above[kept][:, kept])

    def with_unit(self, place: int) -> Branch | None:
        """Return the sets that hold a candidate and all above it; None if these are too many."""
        held = self.above[:, place].copy()
        held[place] = True
        left = self.size - int(held.sum())
        if left < 0:
            return None
        taken = (*self.taken, *self.candidates[held].tolist())
        return Branch(taken, *self._without(held), left)

    def without_unit(self, place: int) -> Branch:
        """Return the sets that leave a candidate, and so what is below it."""
        gone = self.above[place].copy()
        gone[place] = True
        return Branch(self.taken, *self._without(gone), self.size)


class Purse:
    """What refuting the sets of a row may cost: sets, nodes, and seconds if it may take long."""

    def __init__(self, task: Task) -> None:
        self.effort, self._timed = task.effort, task.timed()
        self.refill(1)

    def refill(self, share: int) -> None:
        """Start with a share of the sets and nodes once more; the seconds go on."""
        self.sets, self.work = self.effort.bounded // share, self.effort.nodes // share

    def pay(self, sets: int, work: int) -> None:
        """Pay for some sets and nodes."""
        self.sets -= sets
        self.work -= work

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return self._timed.is_late

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of it."""
        return self.sets < 0 or self.work < 0 or self.is_late


def refute_all(
    spectrum: Spectrum,
    scene: Scene,
    root: Branch,
    smaller: bool,
    level: Level,
    outside: float,
    purse: Purse,
) -> tuple[int, list[list[int]]]:
    """Refute the sets of a branch, or of all sizes up to its own if ``smaller``.

    Returns 1 and a set that surely reaches the level, or 0 and all sets that may reach it, or -1 if
    they are too many. ``outside`` is the variance of what the spectrum has in its rest.
    """
    limits = purse.effort.limits
    branches = [root]
    found: list[list[int]] = []
    while branches:
        branch = branches.pop()
        within = _within(scene, branch)
        few = min(limits.sets_each * len(branch.candidates), limits.sets_at_once)
        if count_up_sets(branch.above, branch.size, smaller, few) > few:
            branch = _compared(spectrum, within, branch, outside, purse)
        at_once = max(few, limits.sets_a_branch)
        sets = count_up_sets(branch.above, branch.size, smaller, at_once)
        if sets > at_once:
            branches += _halves(branch, scene)
            purse.pay(1, _BRANCH)
        elif sets:
            verdict, some = _refuted(spectrum, within, branch, smaller, level, purse, sets)
            found = some if verdict == 1 else found + some
            if verdict == 1:
                return 1, found
            if verdict < 0 or len(found) > limits.room:
                return -1, []
        if purse.is_empty:
            return -1, []
    return 0, found


def _within(scene: Scene, branch: Branch) -> Scene:
    forced = scene.forced.copy()
    forced[list(branch.taken)] = True
    return scene._replace(forced=forced)


def _halves(branch: Branch, scene: Scene) -> list[Branch]:
    """Decide the candidate that varies most."""
    place = int(np.argmax(scene.variance[branch.candidates]))
    halves = (branch.with_unit(place), branch.without_unit(place))
    return [half for half in halves if half is not None]


def _compared(
    spectrum: Spectrum, scene: Scene, branch: Branch, outside: float, purse: Purse
) -> Branch:
    limits: Limits = purse.effort.limits
    before, above = branch.candidates, branch.above
    work = min(limits.context, max(purse.work, 0))
    kept, grown = compare(spectrum, scene, before, above, branch.size, outside, work)
    purse.pay(0, len(before) * POINTS * _EACH)
    return branch._replace(candidates=kept, above=grown)


def _refuted(
    spectrum: Spectrum,
    scene: Scene,
    branch: Branch,
    smaller: bool,
    level: Level,
    purse: Purse,
    sets: int,
) -> tuple[int, list[list[int]]]:
    budget = Budget(max(purse.sets, 0), max(purse.work, 0), purse.effort.limits.room)
    at, above, size = branch.candidates, branch.above, branch.size
    verdict, masks, nodes = refute(spectrum, scene, at, above, size, smaller, level, budget)
    purse.pay(sets, nodes + _BRANCH)
    return verdict, [[*branch.taken, *at[mask].tolist()] for mask in masks]

"""Proofs of a minimum over independent units: no set of a size reaches the level.

Which sets have to be refuted is the business of the exchange lemmas (Lemmas 10 and 11, Proposition
12); here a row's units are put in the form that their kernels in ``engines/sums`` read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.engines.sums._listed_sets import still_left
from sklearn_probsr.engines.sums._scene import Scene
from sklearn_probsr.engines.sums._spectrum import Spectrum
from sklearn_probsr.engines.sums._stochastic_order import Laws, undominated, within
from sklearn_probsr.engines.sums._up_sets import Budget, refute
from sklearn_probsr.independent.contributions import Contributions, Listed
from sklearn_probsr.independent.level import Level
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.laws.sums._branches import Branch, Purse, refute_all
from sklearn_probsr.laws.sums._spectra import Outlook, Shared, ranks
from sklearn_probsr.laws.sums._turns import FAR

__all__ = ["Refutation", "Refuter", "ranked"]

# So many times as many values are ranked where they are 64-bit numbers.
_QUICKER = 8


@dataclass(frozen=True)
class Refutation:
    """What became of the sets of a size.

    Attributes
    ----------
    verdict : bool or None
        True: ``sets[0]`` reaches the level. False: no set reaches it but perhaps those in
        ``sets``. None: there are too many.
    sets : list of set of int
        Units to be added to the forced ones.
    """

    verdict: bool | None
    sets: list[set[int]]


class Refuter:
    """Rows of one class before the spectra of a model.

    Parameters
    ----------
    contributions : Contributions
    shared : Shared
    rows : ndarray of shape (n, d)
    positive : bool
        Whether they are of ``classes[1]``.
    task : Task
    """

    def __init__(
        self,
        contributions: Contributions,
        shared: Shared,
        rows: NDArray[np.float64] | NDArray[np.bool_],
        positive: bool,
        task: Task,
    ) -> None:
        self.contributions = contributions
        self.shared = shared
        self.rows = rows
        self.positive = positive
        self.task = task
        # What an upper bound must stay below, and a lower bound reach, to be sure.
        self.level = Level.around(task.delta).passed
        self.outlook: Outlook = shared.outlook(rows, positive)
        self._last: tuple[int, tuple[Laws, NDArray[np.int64]]] | None = None

    @cached_property
    def _units(self) -> NDArray[np.int64]:
        return np.array(list(self.shared.broad), dtype=np.int64)

    @cached_property
    def _position(self) -> NDArray[np.int64]:
        """Where each unit is in the head of the spectra; -1 if it is in the rest."""
        position = np.full(len(self.shared.centre), -1)
        position[self._units] = np.arange(len(self._units))
        return position

    @cached_property
    def _rest(self) -> float:
        return float(self.shared.variance[self._position < 0].sum())

    @cached_property
    def open_units(self) -> NDArray[np.bool_]:
        """Which units of every row may be chosen, as far as the task goes."""
        return self.task.may_choose(len(self.rows), len(self.shared.centre))

    def look(
        self,
        r: int,
        size: int,
        verdict: Callable[[Collection[int]], bool | None],
        purse: Purse,
    ) -> tuple[bool | None, set[int]]:
        """Look for a set of at most a size; what spectra leave open is looked at with all digits.

        True comes with a set, False is a proof that there is none, None is neither.
        """
        outcome = self.refute(r, size, purse)
        if outcome.verdict is not False:
            return outcome.verdict, outcome.sets[0] if outcome.sets else set()
        undecided = False
        for chosen in outcome.sets:
            reached = None if purse.is_late else verdict(chosen)
            if reached:
                return True, chosen
            undecided |= reached is None
        return None if undecided else False, set()

    def refute(self, r: int, size: int, purse: Purse | None = None) -> Refutation:
        """Refute the sets of a row with so many units beside the forced ones, or fewer.

        The fewer ones are gone through where units can gain (Corollary 37).
        """
        purse = Purse(self.task) if purse is None else purse
        return self.refute_within(r, (), self.open_units[r], size, purse, self.shared.wide)

    def refute_within(
        self,
        r: int,
        taken: Sequence[int],
        open_units: NDArray[np.bool_],
        size: int,
        purse: Purse,
        spectrum: Spectrum,
    ) -> Refutation:
        """Refute the sets that hold what is taken, and beside it at most so many open units."""
        laws, law = self._laws(r)
        members, chosen = self._candidates(r, size, laws, law, open_units)
        held = np.array(taken, dtype=np.int64)
        if not self._tells(r, np.concatenate([chosen, held])):
            return Refutation(None, [])
        mixed = bool(self.outlook.gainful[r, members].any())
        above = within(laws, law[chosen])
        places = tuple(self._position[held].tolist())
        root = Branch(places, self._position[chosen], above, min(size, len(members)))
        verdict, sets = refute_all(
            spectrum, self._scene(r), root, mixed, self.level, self._rest, purse
        )
        found = [set(self._units[places].tolist()) for places in sets]
        return Refutation(None if verdict < 0 else verdict == 1, found)

    def above(self, r: int, members: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which members of a row cost stochastically more than which that come later."""
        laws, law = self._laws(r)
        return within(laws, law[members])

    def subsets_left(self, r: int, chosen: Sequence[int], room: int) -> NDArray[np.bool_] | None:
        """Return the proper subsets of a set, beside the forced units, that may reach the level.

        They come as masks of its units; None: spectra do not know them, or there are too many.
        """
        n = len(chosen)
        free = np.zeros((n, n), dtype=np.bool_)
        units = np.array(chosen, dtype=np.int64)
        return self.sets_left(r, Branch((), units, free, n - 1), room, self.shared.wide)

    def still_left(
        self, r: int, chosen: Sequence[int], sets: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which of some sets, masks of units that spectra know, may reach the level."""
        places = self._position[np.array(chosen, dtype=np.int64)]
        return still_left(self.shared.wide, self._scene(r), places, sets, self.level.low)

    def sets_left(
        self, r: int, branch: Branch, room: int, spectrum: Spectrum
    ) -> NDArray[np.bool_] | None:
        """Return the up-sets of a branch of units, of all sizes, that may reach the level.

        They come as masks of its candidates; None: as with subsets.
        """
        units, held = branch.candidates, np.array(branch.taken, dtype=np.int64)
        if not self._tells(r, np.concatenate([units, held])):
            return None
        scene = self._scene(r)
        scene.forced[self._position[held]] = True
        asked = Level(self.level.low, 2.0)  # all that may reach it, also those that surely do
        verdict, sets, _ = refute(
            spectrum, scene, self._position[units], branch.above, branch.size, True, asked,
            Budget(2**62, 2**62, room),
        )  # fmt: skip
        return sets if verdict == 0 else None

    def tells(self, units: Sequence[int]) -> bool:
        """Tell whether the spectra know some units of the first row, and what is forced."""
        return self._tells(0, np.array(units, dtype=np.int64))

    def places(self, units: Sequence[int]) -> NDArray[np.int64]:
        """Return where some units are in the head of the spectra."""
        return self._position[np.array(units, dtype=np.int64)]

    @cached_property
    def scene(self) -> Scene:
        """The first row before the spectra."""
        return self._scene(0)

    def knows(self, r: int, size: int) -> bool:
        """Tell whether the spectra know all units that sets of a size must be made of."""
        return self._tells(r, self._candidates(r, size, *self._laws(r))[1])

    def _tells(self, r: int, units: NDArray[np.int64]) -> bool:
        forced = list(self.task.include)
        known = (self._position[units] >= 0).all() and (self._position[forced] >= 0).all()
        return bool(known and self.outlook.near[r])

    def _candidates(
        self,
        r: int,
        size: int,
        laws: Laws,
        law: NDArray[np.int64],
        open_units: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the units that may be chosen by decreasing mean cost, and those that matter."""
        allowed = self.open_units[r] if open_units is None else open_units
        members = np.flatnonzero(self.outlook.costly[r] & allowed)
        cost = self.outlook.gain[r, members] * (1 if self.positive else -1)
        members = members[np.argsort(-cost, kind="stable")]
        return members, members[undominated(laws, law[members], size)]

    @cached_property
    def _forced(self) -> NDArray[np.bool_]:
        return np.isin(self._units, self.task.include)

    @cached_property
    def _variance(self) -> NDArray[np.float64]:
        return self.shared.variance[self._units]

    def _scene(self, r: int) -> Scene:
        # The cut is moved to and fro while sets are gone through: twice the rounding.
        return Scene(
            np.ascontiguousarray(self.outlook.gain[r, self._units]),
            self._variance,
            self._forced.copy(),
            float(self.outlook.cut[r]),
            2 * float(self.outlook.blur[r]),
            self.positive,
        )

    # --- laws --------------------------------------------------------------------------------

    def _laws(self, r: int) -> tuple[Laws, NDArray[np.int64]]:
        """Return what units may cost, and the law of each unit of a row; those of the last row."""
        if self._last is None or self._last[0] != r:
            self._last = r, self._laws_of(r)
        return self._last[1]

    def _laws_of(self, r: int) -> tuple[Laws, NDArray[np.int64]]:
        n = len(self.contributions.ends)
        seen = self.contributions
        if not isinstance(seen, Listed):
            return self._rough_laws(r), np.arange(n)
        ones = seen.model.ones(self.rows[r : r + 1])
        if ones is not None:
            if self.positive not in self.shared.laws:
                self.shared.laws[self.positive] = self._binary_laws(seen)
            return self.shared.laws[self.positive], 2 * np.arange(n) + ones[0]
        most = self.task.effort.limits.most_ranked
        exact = self.shared.exact(self.positive) if seen.atoms <= _QUICKER * most else None
        if exact is not None:
            ranks_ = exact.ranks(self._codes[r])
            return Laws(exact.starts, ranks_, exact.below, 0.0), np.arange(n)
        if seen.atoms <= most:
            known = seen.known(self.rows[r])
            each = [seen.costs(u, known[u], self.positive) for u in range(n)]
            return ranked(each), np.arange(n)
        return self._rough_laws(r), np.arange(n)

    @cached_property
    def _codes(self) -> NDArray[np.intp]:
        assert self.shared.facts is not None
        return self.shared.facts.codes(self.rows)

    def _binary_laws(self, seen: Listed) -> Laws:
        return ranked(
            seen.costs(u, known / seen.scale, self.positive)
            for u, pair in enumerate(seen.model.pairs)
            for known in pair
        )

    def _rough_laws(self, r: int) -> Laws:
        starts, turns, below = self.shared.atoms(self.positive)
        known = self.outlook.gain[r] + self.shared.centre
        # Two that are cut off are as large, and neither is above the other (Corollary 154).
        apart = np.clip(np.repeat(known, np.diff(starts)) - turns, -FAR, FAR)
        # More than the rounding of a difference of two sums (Lemma 29).
        size = float(np.abs(known).max()) + float(np.abs(turns).max(initial=0.0))
        slack = 32 * UNIT * (size + 1)
        slack += self.shared.grain
        return Laws(starts, apart if self.positive else -apart, below, slack)


def ranked(laws: Iterable[Sequence[tuple[Fraction, int]]]) -> Laws:
    """Return laws as ranks of their costs and of their cumulated chances, exactly."""
    costs: list[Fraction] = []
    sums: list[int] = []
    starts = [0]
    for law in laws:
        total = 0
        for cost, chance in law:
            total += chance
            costs.append(cost)
            sums.append(total)
        starts.append(len(costs))
    return Laws(np.array(starts), ranks(costs).astype(np.float64), ranks(sums), 0.0)

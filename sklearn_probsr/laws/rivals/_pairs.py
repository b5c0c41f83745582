"""Pairs of rivals: how likely two of them are both ahead, while some facts are known.

What the units of a model add before two rivals is known state by state, and the product of those
that no set in question fixes is kept as a plane, one for each pair of rivals (Proposition 83). A
plane serves all sets of a universe of facts: those of a reason, of which some are left out. So
planes belong to one instance, and what they are made of to all instances of a class.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._far import far_change
from sklearn_probsr.engines.sums._planes import (
    Plane,
    Powers,
    States,
    build_plane,
    pair_bounds,
    powers_of,
)
from sklearn_probsr.independent.contributions import Listed
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.laws.rivals._windows import MOST_OUTSIDE, Windows
from sklearn_probsr.laws.sums._costs import Costs
from sklearn_probsr.laws.sums._independent import IndependentLaw
from sklearn_probsr.laws.sums._spectra import Shared

__all__ = ["PairedSets", "Pairs", "Place"]

# The degrees of planes; all nodes of one along a strip and across.
_DEGREES = (31, 63, 127)
# Powers of so many states are tabulated.
_MOST_STATES = 2**14
# Planes are kept while they know all units of a set, and at most so many more.
_SPARE = 16


class Pairs:
    """The rivals of one winner, two at a time.

    Parameters
    ----------
    duels : list of IndependentLaw
        Those of the winner with each rival.
    source : Source
        What units may be.
    """

    def __init__(self, duels: list[IndependentLaw], source: Source) -> None:
        self.duels, self.source = duels, source
        self._turns: dict[int, NDArray[np.float64]] = {}
        self._windows: dict[int, Windows] = {}

    @property
    def levels(self) -> range:
        """How sharply pairs can be looked at: not at all where values are not listed."""
        listed = all(isinstance(duel.contributions, Listed) for duel in self.duels)
        known = listed and len(self.states.chances) <= _MOST_STATES
        return range(
            len(_DEGREES) if known and all(map(self.shared, range(len(self.duels)))) else 0
        )

    def shared(self, rival: int) -> Shared | None:
        """Return the period and the centres of a duel."""
        return self.duels[rival].spectra(True, True, few=True)

    @cached_property
    def states(self) -> States:
        """The states of all units that occur, and how likely each is."""
        chances = [each for _, each in self._worths]
        starts = np.cumsum([0, *map(len, chances)])
        return States(starts, np.concatenate(chances))

    @cached_property
    def _worths(self) -> list[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
        """Which states of each unit occur, and how likely those are."""
        whole = self.source.denominator
        found = []
        for _, chances in self.source.worths(self.duels[0].linear):
            there = np.array([chance > 0 for chance in chances])
            shares = np.array([chance / whole for chance in chances if chance > 0])
            found.append((there, shares))
        return found

    def windows(self, rival: int) -> Windows:
        """Return what sums leave outside periods in a duel."""
        if rival not in self._windows:
            self._windows[rival] = Windows(self.states, self.turns(rival))
        return self._windows[rival]

    def turns(self, rival: int) -> NDArray[np.float64]:
        """Return what every state contributes before a rival, in turns around its unit's mean."""
        if rival not in self._turns:
            self._turns[rival] = self._turns_of(rival)
        return self._turns[rival]

    def _turns_of(self, rival: int) -> NDArray[np.float64]:
        law, shared = self.duels[rival], self.shared(rival)
        assert shared is not None
        seen = law.contributions
        turns: list[float] = []
        each = zip(self.source.worths(law.linear), self._worths, strict=True)
        for u, ((values, _), (there, _)) in enumerate(each):
            (least, most), centre = shared.ends[u], float(shared.centre[u])
            for value, occurs in zip(values, there.tolist(), strict=True):
                if occurs:
                    held = max(min(value / seen.scale, most), least)
                    turns.append(float((held - least) / shared.period) - centre)
        return np.array(turns)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        turns, windows = list(self._turns.values()), list(self._windows.values())  # they may grow
        return sum(each.nbytes for each in turns) + sum(each.nbytes for each in windows)


class Place(NamedTuple):
    """Where the cut before a rival is, in turns of its period, and how far that may be off.

    ``changed`` bounds how likely values that were moved make another one win there.
    """

    rival: int
    cut: float
    blur: float
    changed: float = 0.0


class PairedSets:
    """The sets of one instance, before pairs of its rivals.

    Parameters
    ----------
    pairs : Pairs
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.universe: frozenset[int] = frozenset()
        self._scales: dict[int, float] = {}
        self._tails: dict[tuple[int, frozenset[int]], float] = {}
        self._powers: dict[tuple[int, int], Powers] = {}
        self._planes: dict[tuple[int, int, int], Plane] = {}

    @property
    def levels(self) -> range:
        """How sharply pairs can be looked at."""
        return self.pairs.levels

    def settle(self, universe: Collection[int]) -> None:
        """Say of which units the sets are that will be asked about."""
        if not self.universe >= set(universe) or len(self.universe) > len(universe) + _SPARE:
            self.universe = frozenset(universe)
            for known in (self._scales, self._tails, self._powers, self._planes):
                known.clear()

    def place(self, rival: int, view: Costs, fixed: frozenset[int]) -> Place | None:
        """Return where the cut before a rival is with some units of the universe known.

        None where floats cannot tell the numbers of the duel apart.
        """
        self.settle(fixed)
        shared = self.pairs.shared(rival)
        if shared is None:
            return None
        cut, blur = view.cut_of(fixed, shared)
        # Either reading of a moved value is possible, before each rival (Proposition 166).
        return Place(rival, cut, blur, 2 * far_change(shared.inner.far, abs(cut) + blur))

    def bounds(
        self, first: Place, second: Place, fixed: frozenset[int], level: int
    ) -> tuple[float, float]:
        """Bound the probability that both rivals are ahead, with some units known."""
        self.settle(fixed)
        windows = [self._window(place.rival, fixed) for place in (first, second)]
        scales = [scale for scale, _ in windows]
        cut, other = (s * place.cut for s, place in zip(scales, (first, second), strict=True))
        if not max(abs(cut), abs(other)) < 0.5:
            return 0.0, 1.0
        blur = scales[0] * first.blur + scales[1] * second.blur + 4 * UNIT
        free = np.array(sorted(self.universe - fixed), dtype=np.int64)
        outside = windows[0][1] + windows[1][1] + first.changed + second.changed
        degree = _DEGREES[level]
        i, j = first.rival, second.rival
        return pair_bounds(
            self._plane(i, j, degree), self.pairs.states, self._powers_of(i, degree),
            self._powers_of(j, degree), free, (cut, other), blur, outside,
        )  # fmt: skip

    def _window(self, rival: int, fixed: frozenset[int]) -> tuple[float, float]:
        """Return by how much the period of a rival is divided, and what is left outside of it.

        Where that is too much for a set, the period is made longer.
        """
        key = (rival, fixed)
        if key not in self._tails:
            windows, units = self.pairs.windows(rival), len(self.pairs.states.starts) - 1
            free = np.array([u for u in range(units) if u not in fixed], dtype=np.intp)
            scale = self._scales.get(rival)
            if scale is None or windows.outside(free, scale) > MOST_OUTSIDE:
                scale = self._scales[rival] = windows.scale(free)
                self._forget(rival)
            self._tails[key] = windows.outside(free, scale)
        return self._scales[rival], self._tails[key]

    def _forget(self, rival: int) -> None:
        """Leave what was built for another period of a rival."""
        self._tails = {key: tail for key, tail in self._tails.items() if key[0] != rival}
        self._powers = {key: each for key, each in self._powers.items() if key[0] != rival}
        self._planes = {key: each for key, each in self._planes.items() if rival not in key[:2]}

    def _powers_of(self, rival: int, degree: int) -> Powers:
        """Return what every state adds before a rival, at the nodes up to a degree."""
        key = (rival, degree)
        if key not in self._powers:
            turns = self._scales[rival] * self.pairs.turns(rival)
            starts = self.pairs.states.starts[:-1]
            reach = float(np.maximum.reduceat(np.abs(turns), starts).sum())
            self._powers[key] = Powers(*powers_of(turns, degree), reach)
        return self._powers[key]

    def _plane(self, i: int, j: int, degree: int) -> Plane:
        key = (i, j, degree)
        if key not in self._planes:
            known = map(self.pairs.shared, (i, j))
            spread = [shared.variance for shared in known if shared is not None]
            varying = np.argsort(-sum(spread), kind="stable")
            units = [u for u in varying.tolist() if u not in self.universe]
            first, second = self._powers_of(i, degree), self._powers_of(j, degree)
            at = np.array(units, dtype=np.int64)
            self._planes[key] = build_plane(self.pairs.states, first, second, at)
        return self._planes[key]

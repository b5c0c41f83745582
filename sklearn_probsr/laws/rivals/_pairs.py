"""Pairs of rivals: how likely two of them are both ahead, while some facts are known.

What the units of a model add before two rivals is known state by state, and the product of those
that no set in question fixes is kept as a plane, one for each pair of rivals (Proposition 83). A
plane serves all sets of a universe of facts: those of a reason, of which some are left out. So
planes belong to one instance, and what they are made of to all instances of a class.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._planes import (
    Plane,
    Powers,
    States,
    build_plane,
    pair_bounds,
    powers_of,
)
from sklearn_probsr.laws._contributions import Listed
from sklearn_probsr.laws._sources import Source
from sklearn_probsr.laws.sums._costs import Costs
from sklearn_probsr.laws.sums._independent import IndependentLaw
from sklearn_probsr.laws.sums._spectra import Shared

__all__ = ["PairedSets", "Pairs"]

# The degrees of planes; all nodes of one along a strip and across.
_DEGREES = (127, 255)
# Powers of so many states are kept.
_MOST_STATES = 2**14


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
        self._powers: dict[tuple[int, int], Powers] = {}

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

    def powers_of(self, rival: int, degree: int) -> Powers:
        """Return what every state adds before a rival, at the nodes up to a degree."""
        key = (rival, degree)
        if key not in self._powers:
            turns = self._turns(rival)
            starts = self.states.starts[:-1]
            reach = float(np.maximum.reduceat(np.abs(turns), starts).sum())
            self._powers[key] = Powers(*powers_of(turns, degree), reach)
        return self._powers[key]

    def _turns(self, rival: int) -> NDArray[np.float64]:
        """Return what every state contributes before a rival, in turns around its unit's mean."""
        law, shared = self.duels[rival], self.shared(rival)
        assert shared is not None
        seen = law.contributions
        turns: list[float] = []
        each = zip(self.source.worths(law.linear), self._worths, strict=True)
        for u, ((values, _), (there, _)) in enumerate(each):
            least, centre = seen.ends[u][0], float(shared.centre[u])
            for value, occurs in zip(values, there.tolist(), strict=True):
                if occurs:
                    turns.append(float((value / seen.scale - least) / shared.period) - centre)
        return np.array(turns)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        known = list(self._powers.values())  # another thread may add to them
        return sum(table.nbytes for powers in known for table in powers[:2])


class PairedSets:
    """The sets of one instance, before pairs of its rivals.

    Parameters
    ----------
    pairs : Pairs
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self._universe: frozenset[int] = frozenset()
        self._planes: dict[tuple[int, int, int], Plane] = {}

    @property
    def levels(self) -> range:
        """How sharply pairs can be looked at."""
        return self.pairs.levels

    def settle(self, universe: Collection[int]) -> None:
        """Say of which units the sets are that will be asked about."""
        if not self._universe >= set(universe) or len(self._universe) > len(universe) + 4:
            self._universe = frozenset(universe)
            self._planes.clear()

    def bounds(
        self, pair: tuple[int, int], views: list[Costs], fixed: frozenset[int], level: int
    ) -> tuple[float, float]:
        """Bound the probability that both rivals are ahead, with some units of the universe known.

        The rivals are numbered as the duels are, and ``views`` are those of one instance.
        """
        i, j = pair
        cuts, blurs = [], 0.0
        for k in pair:
            shared = self.pairs.shared(k)
            found = None if shared is None else views[k].cut_of(fixed, shared)
            if found is None or not -0.5 < found[0] < 0.5:
                return 0.0, 1.0
            cuts.append(found[0])
            blurs += found[1]
        self.settle(fixed)
        free = np.array(sorted(self._universe - fixed), dtype=np.int64)
        degree = _DEGREES[level]
        return pair_bounds(
            self._plane(i, j, degree), self.pairs.states, self.pairs.powers_of(i, degree),
            self.pairs.powers_of(j, degree), free, (cuts[0], cuts[1]), blurs,
        )  # fmt: skip

    def _plane(self, i: int, j: int, degree: int) -> Plane:
        key = (i, j, degree)
        if key not in self._planes:
            known = map(self.pairs.shared, (i, j))
            spread = [shared.variance for shared in known if shared is not None]
            varying = np.argsort(-sum(spread), kind="stable")
            units = [u for u in varying.tolist() if u not in self._universe]
            first, second = self.pairs.powers_of(i, degree), self.pairs.powers_of(j, degree)
            at = np.array(units, dtype=np.int64)
            self._planes[key] = build_plane(self.pairs.states, first, second, at)
        return self._planes[key]

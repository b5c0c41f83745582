"""Counting the completions of a set before all rivals at once, where they are few.

Bounds that are put together from single duels, or from pairs of rivals, leave a level open that a
guarantee hits exactly; a count does not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from sklearn_probsr.independent.contributions import Contributions, Listed
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.laws.rivals._exchange import Costs
from sklearn_probsr.laws.sums._costs import Costs as DuelCosts
from sklearn_probsr.laws.sums._independent import IndependentLaw

__all__ = ["JointCounts"]

# No more completions than this are counted, one by one.
_MOST = 2**12
# Whole numbers below this are added up as 64-bit ones.
_SHORT = 2**62


class JointCounts:
    """What every state of a unit contributes before all rivals of one winner.

    Parameters
    ----------
    duels : list of IndependentLaw
        Those of the winner with each rival.
    source : Source
        What units may be.
    """

    def __init__(self, duels: Sequence[IndependentLaw], source: Source) -> None:
        self._duels, self._source = duels, source

    @cached_property
    def _seen(self) -> list[Listed] | None:
        """The contributions of each duel; None where their values are not listed."""
        each: list[Contributions] = [duel.contributions for duel in self._duels]
        listed = [seen for seen in each if isinstance(seen, Listed)]
        return listed if len(listed) == len(each) else None

    @cached_property
    def _varying(self) -> frozenset[int]:
        """The units that may be one thing or another before some rival."""
        each = (seen.by_range for seen in self._seen or ())
        return frozenset(u for units in each for u in units)

    @cached_property
    def _laws(self) -> list[Costs]:
        """What units contribute, a vector with a number for each duel, in the scale of that."""
        each = [
            [[value / seen.scale for value in values] for values, _ in self._source.worths(one)]
            for seen, one in ((seen, seen.model) for seen in self._seen or ())
        ]
        chances = [those for _, those in self._source.worths(self._duels[0].linear)]
        return [
            Costs.of([tuple(map(int, v)) for v in zip(*worths, strict=True)], those)
            for *worths, those in zip(*each, chances, strict=True)
        ]

    def guarantee(self, views: Sequence[DuelCosts], fixed: Collection[int]) -> Fraction | None:
        """Return the guarantee of a set of an instance; None where completions are too many.

        ``views`` are the instance before each rival.
        """
        if self._seen is None:
            return None
        inside = set(fixed)
        free = sorted(self._varying - inside)
        if 2 ** len(free) > _MOST:
            return None
        laws = [self._laws[u] for u in free]
        if math.prod(len(law.vectors) for law in laws) > _MOST:
            return None
        still = set(range(views[0].n_units)) - inside - self._varying
        cuts = []
        for k, (seen, view) in enumerate(zip(self._seen, views, strict=True)):
            known = sum((view.known[u] for u in inside), Fraction(0))
            cuts.append(seen.cut(known + sum(self._laws[u].vectors[0][k] for u in still)))
        whole = self._source.denominator ** len(free)
        most = sum(max(abs(int(c)) for vector in law.vectors for c in vector) for law in laws)
        short = max(most, *map(abs, cuts)) < _SHORT
        sums = np.zeros((1, len(cuts)), dtype=np.int64 if short else object)
        ways = np.ones(1, dtype=np.int64 if whole < _SHORT else object)
        for law in laws:
            vectors = np.array(law.vectors, dtype=sums.dtype)
            sums = (sums[:, None] + vectors).reshape(-1, len(cuts))
            ways = np.multiply.outer(ways, np.array(law.chances, dtype=ways.dtype)).ravel()
        kept = (sums >= np.array(cuts, dtype=sums.dtype)).all(axis=1)
        return Fraction(int(ways[kept].sum()), whole)

"""The cheapest set of independent units, searched on a spectrum.

What the spectrum leaves open is asked again, with all digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.scout import ROOM, Branched, ChainScout, Rounded, Verdict
from sklearn_probsr.engines.sums._priced_sets import Limits, Offers, branch, propose
from sklearn_probsr.laws.sums._refuter import Refuter

__all__ = ["SpectrumScout"]

# Branches of a kernel take microseconds.
_BRANCHES = (5_000, 1_000_000)
_EACH_SECOND = 20_000


class SpectrumScout(ChainScout):
    """Members of which a spectrum tells what sets of them guarantee.

    Parameters
    ----------
    refuter : Refuter
        The row before the spectrum; it is the first.
    """

    def __init__(
        self,
        order: Sequence[int],
        prices: dict[int, int],
        verdict: Verdict,
        monotone: bool,
        worth: Sequence[float],
        above: NDArray[np.bool_],
        refuter: Refuter,
    ) -> None:
        super().__init__(order, prices, verdict, monotone, worth, above.item)
        self._refuter, self.branches = refuter, _BRANCHES
        self._rounded = Rounded.of(self.prices)
        each = np.array(self.prices, dtype=object)
        dearer = (each[:, None] <= each[None, :]).astype(np.bool_)
        chain = np.array(self.chain_of if monotone else [-1] * len(self.order), dtype=np.int64)
        self._offers = Offers(
            refuter.places(self.order), self._rounded.prices, above & dearer, chain,
            self._rounded.bits == 0,
        )  # fmt: skip

    def proposed(self) -> list[list[int]] | None:
        """Return places of sets that surely reach delta, by worth for their price."""
        if not self.monotone:
            return None
        worth = np.maximum(np.array(self.worth), 0.0)
        prices = np.array([_about(price) for price in self.prices])
        dearest = np.lexsort((worth, -prices)).astype(np.int64)
        found = []
        for power in (1.0, 0.5):
            order = np.argsort(-worth / prices**power, kind="stable").astype(np.int64)
            reached, fixed = propose(
                self._refuter.shared.wide, self._refuter.scene, self._offers, order, dearest,
                self._refuter.level,
            )  # fmt: skip
            if reached:
                found.append(np.flatnonzero(fixed).tolist())
        return found

    def branches_in(self, seconds: float) -> int:
        """Return how many branches surely take less than so many seconds."""
        return int(min(seconds, 1e6) * _EACH_SECOND) + 1

    def branched(self, limit: int, most: int, fewest: int, branches: int) -> Branched:
        """Go through the sets that count at most a limit (Proposition 91)."""
        spectrum, scene = self._refuter.shared.wide, self._refuter.scene
        limits = Limits(limit >> self._rounded.bits, most, fewest, branches, ROOM)
        verdict, sets, sure = branch(spectrum, scene, self._offers, self._refuter.level, limits)
        return self.judged(sets, sure, limit, verdict == 1)


def _about(price: int) -> float:
    try:
        return float(price)
    except OverflowError:
        return math.inf

"""The cheapest set of independent units, searched on a spectrum.

What the spectrum leaves open is asked again, with all digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._priced_sets import Limits, Offers, branch, propose
from sklearn_probsr.laws._refuter import Refuter
from sklearn_probsr.laws._scout import Branched, ChainScout, Verdict

__all__ = ["SpectrumScout"]

# Sums of prices stay below this: 64-bit numbers hold them.
_MOST = 2**61
# Sets that may be as cheap as the best, or that the spectrum leaves open.
_ROOM = 256


class _Rounded(NamedTuple):
    """Prices as 64-bit whole numbers, rounded down by some bits."""

    prices: NDArray[np.int64]
    bits: int

    @classmethod
    def of(cls, prices: Sequence[int]) -> _Rounded:
        bits = max(sum(prices).bit_length() - _MOST.bit_length() + 1, 0)
        return cls(np.array([price >> bits for price in prices], dtype=np.int64), bits)


class SpectrumScout(ChainScout):
    """Members of which a spectrum tells what sets of them guarantee.

    Parameters
    ----------
    refuter : Refuter
        The row before the spectrum; it is the first.
    """

    compiled = True

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
        self._refuter = refuter
        self._rounded = _Rounded.of(self.prices)
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

    def branched(self, limit: int, most: int, fewest: int, branches: int) -> Branched:
        """Go through the sets that count at most a limit (Proposition 91)."""
        spectrum, scene = self._refuter.shared.wide, self._refuter.scene
        limits = Limits(limit >> self._rounded.bits, most, fewest, branches, _ROOM)
        verdict, sets, sure = branch(spectrum, scene, self._offers, self._refuter.level, limits)
        met = [np.flatnonzero(mask).tolist() for mask in sets]
        counts = [sum(self.prices[j] for j in places) for places in met]
        found, least, bound = None, limit + 1, None
        for at in sorted(range(len(met)), key=counts.__getitem__):
            if counts[at] > limit:
                break
            reached = True if sure[at] else self.verdict(self.units(met[at]))
            if reached:
                found, least = met[at], counts[at]
                break
            if reached is None and bound is None:
                bound = counts[at]
        return Branched(found, least if bound is None else bound, verdict == 1)


def _about(price: int) -> float:
    try:
        return float(price)
    except OverflowError:
        return math.inf

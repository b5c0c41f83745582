"""Rows on a spectrum: what the compiled searches over independent units read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inlined
from sklearn_probsr.engines.sums._spectrum import Begun, Spectrum, copy_nodes, multiply

__all__ = ["FIRST_REACH", "Walkers", "suffixes"]

# So many members may be fixed at first, then about twice as many, and so on.
FIRST_REACH = 8


class Walkers(NamedTuple):
    """Some rows, seen from the head of a spectrum.

    ``cut`` is where the cut is when only what is forced is fixed, in turns, up to ``blur``;
    ``gain`` is how far fixing a unit moves it; ``order`` holds each ranking of the
    members, of which there are ``members``; what is ``forced`` is fixed from the start.
    """

    positive: NDArray[np.bool_]  # (n,)
    cut: NDArray[np.float64]  # (n,)
    blur: NDArray[np.float64]  # (n,)
    gain: NDArray[np.float64]  # (n, h)
    forced: NDArray[np.bool_]  # (h,)
    order: NDArray[np.int64]  # (rankings, n, h)
    members: NDArray[np.int64]  # (n,)
    mixed: NDArray[np.bool_]  # (n, h): which units can gain, too

    def take(self, rows: NDArray[np.intp]) -> Walkers:
        """Return some of the rows."""
        return Walkers(
            self.positive[rows],
            self.cut[rows],
            self.blur[rows],
            self.gain[rows],
            self.forced,
            np.ascontiguousarray(self.order[:, rows]),
            self.members[rows],
            self.mixed[rows],
        )


@inlined
def suffixes(
    spectrum: Spectrum, order: NDArray[np.int64], size: int, begun: Begun
) -> NDArray[np.float64]:
    """Return the products of what is free when the first 0, 1, ... ``size`` of an order are fixed.

    ``begun`` is the product of what stays free with all of these fixed.
    """
    suffix = np.empty((size + 1, len(begun.live), 2))
    copy_nodes(begun.product, suffix[size])
    for j in range(size - 1, -1, -1):
        multiply(suffix[j + 1], spectrum.factors[order[j]], begun.live, suffix[j])
    return suffix

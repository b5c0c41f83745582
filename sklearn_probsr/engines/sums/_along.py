"""Orders that are given: how far along its own a row reaches the level, and bounds of given sets.

Both are bounds of single sets by a spectrum (Proposition 24).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines._level import Level
from sklearn_probsr.engines.sums._spectrum import Spectrum, after, kept_at, untouched
from sklearn_probsr.engines.sums._walkers import FIRST_REACH, Walkers, suffixes

__all__ = ["along", "measure"]


@kernel
def measure(spectrum: Spectrum, walkers: Walkers, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return bounds of the guarantee of one set for every row."""
    h = len(spectrum.factors)
    bounds = np.empty((len(mask), 2))
    free = np.empty(h, dtype=np.int64)
    whole = untouched(spectrum)
    for r in range(len(mask)):
        n = 0
        beta = walkers.cut[r]
        for u in range(h):
            if mask[r, u]:
                beta -= walkers.gain[r, u]
            elif not walkers.forced[u]:
                free[n] = u
                n += 1
        product, live = after(spectrum, whole, free[:n])
        bounds[r, 0], bounds[r, 1] = kept_at(
            spectrum, product, live, beta, walkers.blur[r], walkers.positive[r]
        )
    return bounds


@kernel
def along(
    spectrum: Spectrum,
    walkers: Walkers,
    level: Level,
    at: NDArray[np.int64],
    sizes: NDArray[np.int64],
    bounds: NDArray[np.float64],
) -> None:
    """Follow one order of every row's units, whatever they do.

    ``sizes`` gets the length of the shortest prefix that reaches the level, or -1 if a shorter one
    might, and ``bounds`` those of the guarantee of the first ``at``.
    """
    h = len(spectrum.factors)
    whole = untouched(spectrum)
    for r in range(len(sizes)):
        order = walkers.order[0, r]
        blur, positive = walkers.blur[r], walkers.positive[r]
        reach = min(max(FIRST_REACH, at[r]), h)
        start = 0
        sizes[r] = -1
        in_doubt = False
        while sizes[r] < 0 and not in_doubt:
            begun = after(spectrum, whole, order[reach:])
            suffix = suffixes(spectrum, order, reach, begun)
            beta = walkers.cut[r]
            for k in range(reach + 1):
                if k >= start and (sizes[r] < 0 or k == at[r]):
                    lower, upper = kept_at(spectrum, suffix[k], begun.live, beta, blur, positive)
                    if sizes[r] < 0 and lower >= level.high and not in_doubt:
                        sizes[r] = k
                    in_doubt = in_doubt or (sizes[r] < 0 and upper >= level.low)
                    if k == at[r]:
                        bounds[r, 0], bounds[r, 1] = lower, upper
                if k < reach:
                    beta -= walkers.gain[r, order[k]]
            if reach == h:
                break
            start = reach + 1
            reach = min(2 * reach + 2, h)

"""Order in context: which candidates are above which before all that is always free (Lemma 11).

Most units are in no best set, so their costs are part of every sum. Let W be that part and
``h(y) = Pr[W + D_j <= y] - Pr[W + D_i <= y]``. Putting i in place of j changes the guarantee by the
mean of h(Y), where Y is what the other candidates leave of the margin. By Chebyshev's inequality Y
is in a band around its mean with probability 1/2 or more, so i is above j if h is at least H in the
band and at least -H everywhere. How h is bounded between the points of a grid is Lemma 30.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inlined, inner, kernel
from sklearn_probsr.engines.sums._cut_grid import POINTS, ROUNDED, Ends, tabulate
from sklearn_probsr.engines.sums._scene import Free, Scene, always_free
from sklearn_probsr.engines.sums._spectrum import Spectrum, after

__all__ = ["compare"]

# How many deviations the points reach out at which distribution functions are compared.
_REACH = 5.5
# How often candidates are compared in context, at most.
_ROUNDS = 3
# By how much the band is widened, relatively, for what is rounded (Lemma 30).
_MARGIN = 1e-9


@inner
def _band(
    scene: Scene, candidates: NDArray[np.int64], size: int, far: float
) -> tuple[float, float]:
    """Return where the cut is with probability 1/2 or more, as a shift from all candidates fixed.

    Freeing a unit moves the cut by its gain, on average. At most ``size + 1`` candidates are not
    free: those of the set, and the one that may replace another of it. ``far`` is how likely one of
    them is moved, on one side; from a quarter on nothing is told (Corollary 153).
    """
    n = len(candidates)
    if far >= 0.25:
        return -math.inf, math.inf
    gains = np.empty(n)
    total = 0.0
    spread = 0.0
    whole = 0.0
    for i in range(n):
        gains[i] = scene.gain[candidates[i]]
        total += gains[i]
        whole += abs(gains[i])
        spread += scene.variance[candidates[i]]
    order = _sorted(gains)
    low = total
    high = total
    for i in range(min(size + 1, n)):
        low -= max(gains[order[n - 1 - i]], 0.0)
        high -= min(gains[order[i]], 0.0)
    reach = math.sqrt(2.0 * spread / (1.0 - 4.0 * far) * (1.0 + _MARGIN)) + _MARGIN * whole
    return low - reach, high + reach


@kernel
def compare(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    above: NDArray[np.bool_],
    size: int,
    outside: float,
    work: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Compare candidates in context (Lemma 11); leave out those that have too many above them.

    What is left out is free in every set that remains, so the next round knows more. ``outside``
    is the variance of the units that the spectrum has in its rest; candidates whose tables would
    be larger than ``work`` are not compared. Returns the candidates that are left, in an order in
    which nothing comes before what is above it, and what is above what.
    """
    free = always_free(spectrum, scene, candidates)
    for around in range(_ROUNDS):
        n = len(candidates)
        keys, more = _in_context(spectrum, scene, candidates, above, size, free, outside, work)
        if around > 0:  # the first order stays: along one order there are no circles
            for a in range(n):
                keys[a] = a
        order = _sorted(keys)
        kept, fewer = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        gone = np.empty(n, dtype=np.int64)
        left = 0
        for b in range(n):
            exceeded = 0
            for a in range(b):
                exceeded += more[order[a], order[b]]
            if exceeded < size:
                kept[left], fewer[left] = order[b], candidates[order[b]]
                left += 1
            else:
                gone[b - left] = candidates[order[b]]
        above = np.empty((left, left), dtype=np.bool_)
        for b in range(left):
            for a in range(left):
                above[a, b] = a < b and more[kept[a], kept[b]]
        if left < n:
            free = _freed(spectrum, scene, free, gone[: n - left])
        candidates = fewer[:left]
        if left == n and around > 0:
            break
    return candidates, above


@inner
def _freed(spectrum: Spectrum, scene: Scene, free: Free, units: NDArray[np.int64]) -> Free:
    """Return what is always free once some more units are."""
    beta, variance = free.beta, free.variance
    for i in range(len(units)):
        beta += scene.gain[units[i]]
        variance += scene.variance[units[i]]
    return Free(after(spectrum, free.begun, units), beta, variance)


@inner
def _sorted(keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of a few keys by increasing key, stably."""
    order = np.empty(len(keys), dtype=np.int64)
    for i in range(len(keys)):
        j = i
        while j > 0 and keys[order[j - 1]] > keys[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    return order


@inlined
def _in_context(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    above: NDArray[np.bool_],
    size: int,
    free: Free,
    outside: float,
    work: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Compare candidates before what is always free.

    Returns how much of the guarantee is kept, at the middle of the band, if a candidate is free (so
    the least comes first in an order), and which candidates are above which (Lemma 11), beside
    those that are known to be. All small numbers are those of Lemma 30.
    """
    n = len(candidates)
    found, keys = np.empty((n, n), dtype=np.bool_), np.empty(n)
    for a in range(n):
        keys[a] = 0.0
        for b in range(n):
            found[a, b] = above[a, b]
    if n < 2:
        return keys, found
    begun, beta, variance = free
    band_low, band_high = _band(scene, candidates, size, spectrum.far[-1])
    most = 0.0
    for i in range(n):
        u = candidates[i]
        most = max(most, abs(scene.gain[u]) + math.sqrt(scene.variance[u]))
    reach = _REACH * math.sqrt(variance + outside) + most
    # Within half a turn for every candidate; the arc of the bounds ends there.
    low = max(min(band_low, -reach - beta), -0.499 - beta + most)
    high = min(max(band_high, reach - beta), 0.499 - beta - most)
    if not (low <= band_low and band_high <= high) or n * POINTS * len(begun.live) > work:
        return keys, found
    step = (high - low) / (POINTS - 1)
    bounds, bends = tabulate(spectrum, scene, candidates, begun, Ends(beta + low, step))
    # A little more than the band, whatever is rounded.
    first = max(int((band_low - low) / step - 1e-6), 0)
    last = min(int((band_high - low) / step + 1e-6) + 1, POINTS - 1)
    middle = (first + last) // 2
    loss = step * step / 8.0 * (1.0 + 1e-6)
    for a in range(n):
        keys[a] = bounds[0, a, middle] + bounds[1, a, middle]
        if scene.positive:
            keys[a] = -keys[a]
    for a in range(n):
        for b in range(n):
            if keys[a] < keys[b] or (keys[a] == keys[b] and a < b):
                # a is above b if more is kept with b free than with a free.
                more, less = (a, b) if scene.positive else (b, a)
                slack = loss * (bends[a] + bends[b]) + ROUNDED
                found[a, b] |= _is_more(bounds[0, more], bounds[1, less], first, last, slack)
    return keys, found


@inner
def _is_more(
    more: NDArray[np.float64], less: NDArray[np.float64], first: int, last: int, slack: float
) -> bool:
    """Tell whether one function exceeds another by more in a band than it falls short anywhere."""
    best = 2.0
    for g in range(first, last + 1):
        best = min(best, more[g] - less[g])
    if best <= slack:
        return False
    # Beyond the ends, distribution functions are between 0 or 1 and what they are there.
    worst = min(0.0, -less[0], more[len(more) - 1] - 1.0)
    for g in range(len(more)):
        worst = min(worst, more[g] - less[g])
    return bool(best - slack >= slack - worst)

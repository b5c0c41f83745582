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

from sklearn_probsr.engines._jit import inlined, inner, kernel
from sklearn_probsr.engines.sums._cut_grid import POINTS, ROUNDED, bend, tabulate, turn
from sklearn_probsr.engines.sums._scene import Free, Scene, always_free
from sklearn_probsr.engines.sums._spectrum import Spectrum, shrink

__all__ = ["compare"]

# How many deviations the points reach out at which distribution functions are compared.
_REACH = 5.5
# How often candidates are compared in context, at most.
_ROUNDS = 3
# By how much the band is widened, relatively, for what is rounded (Lemma 30).
_MARGIN = 1e-9


@inner
def _band(scene: Scene, candidates: NDArray[np.int64], size: int) -> tuple[float, float]:
    """Return where the cut is with probability 1/2 or more, as a shift from all candidates fixed.

    Freeing a unit moves the cut by its gain, on average. At most ``size + 1`` candidates are not
    free: those of the set, and the one that may replace another of it.
    """
    n = len(candidates)
    total = 0.0
    spread = 0.0
    whole = 0.0
    for i in range(n):
        gain = scene.gain[candidates[i]]
        total += gain
        whole += abs(gain)
        spread += scene.variance[candidates[i]]
    low = total
    high = total
    for i in range(n):
        gain = scene.gain[candidates[i]]
        before = 0  # of those that are further out on the same side
        for j in range(n):
            other = scene.gain[candidates[j]]
            further = other > gain if gain > 0 else other < gain
            before += further or (other == gain and j < i)
        if before <= size:
            low -= max(gain, 0.0)
            high -= min(gain, 0.0)
    reach = math.sqrt(2.0 * spread * (1.0 + _MARGIN)) + _MARGIN * whole
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
        keys, more = _in_context(spectrum, scene, candidates, size, free, outside, work)
        n = len(candidates)
        order = np.arange(n)
        if around == 0:  # this order stays: along one order there are no circles
            _sort(order, keys)
        kept = np.empty(n, dtype=np.int64)
        left = 0
        for b in range(n):
            exceeded = 0
            for a in range(b):
                exceeded += above[order[a], order[b]] or more[order[a], order[b]]
            if exceeded < size:
                kept[left] = order[b]
                left += 1
        grown = np.zeros((left, left), dtype=np.bool_)
        for b in range(left):
            for a in range(b):
                grown[a, b] = above[kept[a], kept[b]] or more[kept[a], kept[b]]
        fewer = np.empty(left, dtype=np.int64)
        gone = np.ones(n, dtype=np.bool_)
        for b in range(left):
            fewer[b] = candidates[kept[b]]
            gone[kept[b]] = False
        if left < n:
            free = _freed(spectrum, scene, free, candidates[gone])
        candidates, above = fewer, grown
        if left == n and around > 0:
            break
    return candidates, above


@inner
def _freed(spectrum: Spectrum, scene: Scene, free: Free, units: NDArray[np.int64]) -> Free:
    """Return what is always free once some more units are."""
    product, live = free.product.copy(), free.live.copy()
    beta, variance = free.beta, free.variance
    for i in range(len(units)):
        beta += scene.gain[units[i]]
        variance += scene.variance[units[i]]
    kept = shrink(spectrum, product, live, units)
    return Free(product[:kept], live[:kept], beta, variance)


@inner
def _sort(order: NDArray[np.int64], keys: NDArray[np.float64]) -> None:
    """Sort a short list by increasing keys, stably."""
    for i in range(1, len(order)):
        here = order[i]
        j = i
        while j > 0 and keys[order[j - 1]] > keys[here]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = here


@inlined
def _in_context(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    size: int,
    free: Free,
    outside: float,
    work: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Compare candidates before what is always free.

    Returns how much of the guarantee is kept, at the middle of the band, if a candidate is free (so
    the least comes first in an order), and which candidates are above which (Lemma 11). All small
    numbers are those of Lemma 30.
    """
    n = len(candidates)
    above = np.zeros((n, n), dtype=np.bool_)
    keys = np.zeros(n)
    if n < 2:
        return keys, above
    product, live, beta, variance = free
    band_low, band_high = _band(scene, candidates, size)
    most = 0.0
    for i in range(n):
        u = candidates[i]
        most = max(most, abs(scene.gain[u]) + math.sqrt(scene.variance[u]))
    reach = _REACH * math.sqrt(variance + outside) + most
    # Within half a turn for every candidate; the arc of the bounds ends there.
    low = max(min(band_low, -reach - beta), -0.499 - beta + most)
    high = min(max(band_high, reach - beta), 0.499 - beta - most)
    if not (low <= band_low and band_high <= high) or n * POINTS * len(live) > work:
        return keys, above
    step = (high - low) / (POINTS - 1)
    turned = turn(spectrum, scene, candidates, product, live, beta + low)
    lower, upper = tabulate(turned, beta + low, step)
    bends = bend(turned)
    # A little more than the band, whatever is rounded.
    first = max(int((band_low - low) / step - 1e-6), 0)
    last = min(int((band_high - low) / step + 1e-6) + 1, POINTS - 1)
    middle = (first + last) // 2
    loss = step * step / 8.0 * (1.0 + 1e-6)
    for a in range(n):
        keys[a] = lower[a, middle] + upper[a, middle]
        if scene.positive:
            keys[a] = -keys[a]
    for a in range(n):
        for b in range(n):
            if keys[a] < keys[b] or (keys[a] == keys[b] and a < b):
                # a is above b if more is kept with b free than with a free.
                more, less = (a, b) if scene.positive else (b, a)
                slack = loss * (bends[a] + bends[b]) + ROUNDED
                above[a, b] = _is_more(lower[more], upper[less], first, last, slack)
    return keys, above


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

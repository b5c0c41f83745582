"""Order in context: which candidates are above which before all that is always free (Lemma 11).

Most units are in no candidate set, so their costs are part of every sum. Let W be that part and
``h(y) = Pr[W + D_j <= y] - Pr[W + D_i <= y]``. Putting i in place of j changes the guarantee by the
mean of h(Y), where Y is what the other candidates leave of the margin. By Chebyshev's inequality Y
is in a band around its mean with probability 1/2 or more, so i is above j if h is at least H in the
band and at least -H everywhere. How h is bounded between the points of a grid is Lemma 30.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner
from sklearn_probsr.independent.refute import Scene, all_free, divide
from sklearn_probsr.independent.spectrum import Table, moved
from sklearn_probsr.independent.vaaler import sin_cos_turns

__all__ = ["compare"]

# Points at which distribution functions are bounded, and how many deviations they reach out.
_POINTS, _REACH = 96, 5.5
# Every so many points angles are computed anew; between them they are turned on (Lemma 30).
_TURNED_ON = 16
# More than what bounds on the grid are rounded by, and by how much the band is widened (Lemma 30).
_ROUNDED, _MARGIN = 1e-11, 1e-9
# Candidates are compared if their factors at all nodes are no more than this.
_MOST_ENTRIES = 2**12


@inner
def compare(
    table: Table,
    scene: Scene,
    variance: NDArray[np.float64],
    forced: NDArray[np.int64],
    candidates: NDArray[np.int64],
    above: NDArray[np.bool_],
    size: int,
) -> int:
    """Compare candidates before what is always free; write what is above what in addition.

    ``variance`` is that of every unit's contribution, in squared turns. Candidates are put in an
    order in which nothing comes before what is above it. Those with ``size`` others above them are
    left out: they are in no up-set, and always free. Returns how many are left.
    """
    m, held = len(candidates), len(forced)
    if held + m >= len(table.counts) or m < 2:
        return m
    n = table.counts[held + m]
    if m * n > _MOST_ENTRIES:
        return m
    product = np.empty((2, n))
    all_free(table, n, product)
    beta = scene.cut - divide(table, scene, forced, held, n, product)
    beta -= divide(table, scene, candidates, m, n, product)
    free = 0.0
    for u in range(len(variance)):
        free += variance[u]
    widest = 0.0
    for i in range(held):
        free -= variance[forced[i]]
    for i in range(m):
        u = candidates[i]
        free -= variance[u]
        widest = max(widest, abs(scene.gain[u]) + math.sqrt(variance[u]))
    band_low, band_high = _band(scene, variance, candidates, size)
    reach = _REACH * math.sqrt(max(free, 0.0)) + widest
    # Within half a turn for every candidate; the arc of the bounds ends there.
    low = max(min(band_low, -reach - beta), -0.499 - beta + widest)
    high = min(max(band_high, reach - beta), 0.499 - beta - widest)
    if not (low <= band_low and band_high <= high):
        return m
    step = (high - low) / (_POINTS - 1)
    lower, upper, bends = np.empty((m, _POINTS)), np.empty((m, _POINTS)), np.empty(m)
    _tabulate(table, scene, candidates, product, n, beta + low, step, lower, upper, bends)
    # A little more than the band, whatever is rounded.
    first = max(int((band_low - low) / step - 1e-6), 0)
    last = min(int((band_high - low) / step + 1e-6) + 1, _POINTS - 1)
    middle = (first + last) // 2
    keys, order = np.empty(m), np.empty(m, dtype=np.int64)
    for a in range(m):
        kept = lower[a, middle] + upper[a, middle]
        keys[a] = -kept if scene.positive else kept
        b = a
        while b > 0 and keys[order[b - 1]] > keys[a]:
            order[b] = order[b - 1]
            b -= 1
        order[b] = a
    # What was known before is true in any order, but serves along the new one only.
    more, units = np.empty((m, m), dtype=np.bool_), np.empty(m, dtype=np.int64)
    left = 0
    for q in range(m):
        b = order[q]
        exceeded = 0
        for p in range(left):
            a = units[p]
            is_above = above[a, b]
            if not is_above:
                slack = bends[a] + bends[b] + _ROUNDED
                # a is above b if more is kept with b free than with a free.
                if scene.positive:
                    is_above = _is_more(lower[a], upper[b], first, last, slack)
                else:
                    is_above = _is_more(lower[b], upper[a], first, last, slack)
            more[p, left] = is_above
            exceeded += is_above
            if exceeded >= size:
                break
        if exceeded < size:
            units[left] = b
            left += 1
    for q in range(left):
        units[q] = candidates[units[q]]
        for p in range(left):
            above[p, q] = p < q and more[p, q]
    for q in range(left):
        candidates[q] = units[q]
    return left


@inner
def _band(
    scene: Scene, variance: NDArray[np.float64], candidates: NDArray[np.int64], size: int
) -> tuple[float, float]:
    """Return where the cut is with probability 1/2 or more, as a shift from all candidates fixed.

    Freeing a unit moves the cut by its gain, on average. At most ``size + 1`` candidates are not
    free: those of the set, and the one that may replace another of it. Where values were moved,
    the band is wider, or tells nothing (Corollary 153).
    """
    far = scene.far[len(scene.far) - 1]
    if far >= 0.25:
        return -math.inf, math.inf
    m = len(candidates)
    gains = np.empty(m)
    total = spread = whole = 0.0
    for i in range(m):
        gain = scene.gain[candidates[i]]
        total += gain
        whole += abs(gain)
        spread += variance[candidates[i]]
        b = i
        while b > 0 and gains[b - 1] > gain:
            gains[b] = gains[b - 1]
            b -= 1
        gains[b] = gain
    low = high = total
    for i in range(min(size + 1, m)):
        low -= max(gains[m - 1 - i], 0.0)
        high -= min(gains[i], 0.0)
    reach = math.sqrt(2.0 * spread / (1.0 - 4.0 * far) * (1.0 + _MARGIN)) + _MARGIN * whole
    return low - reach, high + reach


@inner
def _tabulate(
    table: Table,
    scene: Scene,
    candidates: NDArray[np.int64],
    product: NDArray[np.float64],
    n: int,
    start: float,
    step: float,
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    bends: NDArray[np.float64],
) -> None:
    """Bound distribution functions along a grid of cuts, each with one candidate free.

    The product with a candidate's factor is turned back by its gain. Bounds at a cut are sums of
    the nodes' terms (Corollary 19). How far they are from their chords between two cuts goes to
    ``bends``: the difference of two is at most by the sum of theirs off, and a wave by no more
    than twice its size (Lemma 30). Vaaler's parts are taken there as distances from their mean,
    which the difference of two does not hold.
    """
    node, sign, vaaler, fejer = table.node, table.sign, table.vaaler, table.fejer
    m = len(candidates)
    waves, turned = np.empty((_POINTS, 2 * n)), np.empty((m, 2, n))
    for i in range(n):
        by_sine, by_cosine = sin_cos_turns(node[i] * step)
        x = y = 0.0
        for g in range(_POINTS):
            if g % _TURNED_ON == 0:
                y, x = sin_cos_turns(node[i] * (start + g * step))
            else:
                x, y = x * by_cosine - y * by_sine, x * by_sine + y * by_cosine
            waves[g, i], waves[g, n + i] = y, x
    less, more = np.empty(2 * n), np.empty(2 * n)
    for c in range(m):
        u = candidates[c]
        gain = scene.gain[u]
        base = 0.5 + start + gain
        # Twice the error of a bound: products are turned once more.
        sway = 1.0 / (table.degree + 1.0) + 2.0 * table.error + 2.0 * (1.0 + 4.0 * n) * scene.blur
        size = max(abs(start + gain), abs(start + gain + (_POINTS - 1) * step))
        sway += moved(scene.far, size * (1.0 + _ROUNDED) + scene.blur)
        for i in range(n):
            x, y = table.factor[u, 0, i], table.factor[u, 1, i]
            re = product[0, i] * x - product[1, i] * y
            im = product[0, i] * y + product[1, i] * x
            base += vaaler[i] * sign[i] * im
            sway += fejer[i] * sign[i] * re
            sine, cosine = sin_cos_turns(node[i] * gain)
            x, y = re * cosine + im * sine, im * cosine - re * sine
            turned[c, 0, i], turned[c, 1, i] = x, y
            less[i], less[n + i] = vaaler[i] * x - fejer[i] * y, -vaaler[i] * y - fejer[i] * x
            more[i], more[n + i] = vaaler[i] * x + fejer[i] * y, -vaaler[i] * y + fejer[i] * x
        for g in range(_POINTS):
            wave = waves[g]
            low = base - sway + g * step
            high = base + sway + g * step
            for i in range(2 * n):
                low += less[i] * wave[i]
                high += more[i] * wave[i]
            lower[c, g], upper[c, g] = low, high
        bends[c] = 0.0
    for i in range(n):
        x = y = 0.0
        for c in range(m):
            x += turned[c, 0, i] / m
            y += turned[c, 1, i] / m
        speed = 2.0 * math.pi * node[i]
        loss = min(step * step / 8.0 * (1.0 + 1e-6) * speed * speed, 2.0)
        for c in range(m):
            re, im = turned[c, 0, i], turned[c, 1, i]
            away = math.sqrt((re - x) * (re - x) + (im - y) * (im - y))
            whole = math.sqrt(re * re + im * im)
            bends[c] += loss * (vaaler[i] * away + fejer[i] * whole)


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

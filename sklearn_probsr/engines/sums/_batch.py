"""Many rows over independent units, each searched size by size on spectra that all share.

Several rankings propose an order of a row's members. Along each, the shortest prefix that surely
reaches delta is found (every size is looked at: with units that can cost or gain, the curve is not
monotone), then everything is left out that can be, one unit at a time. The smallest set wins, and
of those the one with the best guarantee. What a set is worth is bounded by a spectrum
(Proposition 24); that nothing can be left out of it is shown for single units, which is enough
where no unit can gain (Corollary 4b), and for every choice of a few units that can.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inlined, inner, kernel
from sklearn_probsr.engines._level import MOST_MIXED, Level
from sklearn_probsr.engines.sums._spectrum import (
    Begun,
    Spectrum,
    after,
    copy_nodes,
    kept_at,
    multiply,
    untouched,
)
from sklearn_probsr.engines.sums._walkers import FIRST_REACH, Walkers, suffixes

__all__ = ["Sets", "stroll"]

# How many units longer than the best set a prefix may be to be worth pruning.
_LEEWAY = 4


class _Walker(NamedTuple):
    """One of the rows."""

    gain: NDArray[np.float64]  # (h,)
    mixed: NDArray[np.bool_]  # (h,)
    blur: float
    positive: bool


class _Way(NamedTuple):
    """The set that is being looked at: its cut and its bounds, and what it leaves free."""

    chosen: NDArray[np.bool_]  # (h,)
    told: NDArray[np.float64]  # (3,): the cut, the lower bound and the upper one
    live: NDArray[np.int64]  # (nodes,): those that matter to all of its subsets
    product: NDArray[np.float64]  # (nodes, 2): of the free units' factors there
    trial: NDArray[np.float64]  # (nodes, 2)


class _Best(NamedTuple):
    """The best set of a row so far, of no size if there is none; and what it is made for."""

    mask: NDArray[np.bool_]  # (h,)
    told: NDArray[np.float64]  # (4,): its size, its bounds, and whether all of it is needed
    level: Level


class Sets(NamedTuple):
    """The answers: size -1 where nothing was found.

    Where ``needed`` is true, no single unit can be left out, and no choice of up to
    ``MOST_MIXED`` mixed ones.
    """

    mask: NDArray[np.bool_]  # (n, h)
    size: NDArray[np.int64]  # (n,)
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    needed: NDArray[np.bool_]


@inner
def _without(spectrum: Spectrum, walker: _Walker, u: int, way: _Way) -> tuple[float, float]:
    """Bound what is left of a set's guarantee without one unit."""
    multiply(way.product, spectrum.factors[u], way.live, way.trial)
    beta = way.told[0] + walker.gain[u]
    return kept_at(spectrum, way.trial, way.live, beta, walker.blur, walker.positive)


@inlined
def _prune(
    spectrum: Spectrum, walker: _Walker, order: NDArray[np.int64], high: float, way: _Way
) -> int:
    """Leave out what can be, the last first, until nothing can; return how many that were."""
    removed = 0
    changed = True
    while changed:
        changed = False
        for j in range(len(order) - 1, -1, -1):
            u = order[j]
            if way.chosen[u]:
                lower, upper = _without(spectrum, walker, u, way)
                if lower >= high:
                    way.chosen[u] = False
                    way.told[0] += walker.gain[u]
                    way.told[1], way.told[2] = lower, upper
                    copy_nodes(way.trial, way.product)
                    removed += 1
                    changed = True
    return removed


@inlined
def _all_needed(
    spectrum: Spectrum, walker: _Walker, mixed: NDArray[np.int64], low: float, way: _Way
) -> bool:
    """Tell whether leaving out any two or more of the mixed units surely breaks a set."""
    for choice in range(3, 1 << len(mixed)):
        if choice & (choice - 1) == 0:
            continue
        copy_nodes(way.product, way.trial)
        beta = way.told[0]
        for j in range(len(mixed)):
            if choice >> j & 1:
                multiply(way.trial, spectrum.factors[mixed[j]], way.live, way.trial)
                beta += walker.gain[mixed[j]]
        blur, positive = walker.blur, walker.positive
        if kept_at(spectrum, way.trial, way.live, beta, blur, positive)[1] >= low:
            return False
    return True


@inlined
def _keep(spectrum: Spectrum, walker: _Walker, size: int, way: _Way, best: _Best) -> None:
    """Write a set down as the best so far."""
    mixed = np.empty(len(way.chosen), dtype=np.int64)
    low = best.level.low
    several = 0
    needed = True
    for u in range(len(way.chosen)):
        best.mask[u] = way.chosen[u]
        if way.chosen[u]:
            needed = needed and _without(spectrum, walker, u, way)[1] < low
            if walker.mixed[u]:
                mixed[several] = u
                several += 1
    if needed and 1 < several <= MOST_MIXED:
        needed = _all_needed(spectrum, walker, mixed[:several], low, way)
    best.told[0], best.told[3] = size, needed
    best.told[1], best.told[2] = way.told[1], way.told[2]


@inlined
def _always(spectrum: Spectrum, walkers: Walkers, r: int) -> Begun:
    """Multiply what is neither a member nor forced, which an order holds after the members."""
    h = len(spectrum.factors)
    others = np.empty(h, dtype=np.int64)
    free = 0
    for j in range(walkers.members[r], h):
        if not walkers.forced[walkers.order[0, r, j]]:
            others[free] = walkers.order[0, r, j]
            free += 1
    return after(spectrum, untouched(spectrum), others[:free])


@inlined
def _follow(
    spectrum: Spectrum,
    walker: _Walker,
    order: NDArray[np.int64],
    cut: float,
    always: Begun,
    best: _Best,
) -> int:
    """Find the shortest prefix of an order that surely reaches the level, and prune it.

    Return how long it is, or -1 if there is none that is of any use.

    Of the first ``reach`` members any subset may be looked at, so all nodes where the product of
    the others is negligible are left out; ``reach`` grows until a prefix is found.
    """
    # A prefix that is longer than a set found, by more than pruning may take off it, is of no use.
    most = len(order)
    if best.told[0] >= 0:
        most = min(most, int(best.told[0]) + _LEEWAY)
    reach = min(FIRST_REACH, most)
    start = 0
    while True:
        begun = after(spectrum, always, order[reach:])
        suffix = suffixes(spectrum, order, reach, begun)
        beta = cut
        for j in range(reach + 1):
            if j >= start:
                lower, upper = kept_at(
                    spectrum, suffix[j], begun.live, beta, walker.blur, walker.positive
                )
                if lower >= best.level.high:
                    way = _Way(
                        np.empty(len(best.mask), dtype=np.bool_), np.empty(3), begun.live,
                        suffix[j], np.empty((len(begun.live), 2)),
                    )  # fmt: skip
                    way.told[0], way.told[1], way.told[2] = beta, lower, upper
                    for u in range(len(way.chosen)):
                        way.chosen[u] = False
                    for i in range(j):
                        way.chosen[order[i]] = True
                    size = j - _prune(spectrum, walker, order, best.level.high, way)
                    fewer = best.told[0] < 0 or size < best.told[0]
                    if fewer or (size == best.told[0] and way.told[1] > best.told[1]):
                        _keep(spectrum, walker, size, way, best)
                    return j
            if j < reach:
                beta -= walker.gain[order[j]]
        if reach == most:
            return -1
        start = reach + 1
        reach = min(2 * reach + 2, most)


@inlined
def _start_alike(one: NDArray[np.int64], other: NDArray[np.int64], length: int) -> bool:
    """Tell whether two orders have the same prefix: what the one proposed, the other does."""
    alike = 0
    while alike < length and one[alike] == other[alike]:
        alike += 1
    return alike == length


@kernel
def stroll(spectrum: Spectrum, walkers: Walkers, level: Level, sets: Sets) -> None:
    """Search every row; what is found surely reaches the level (Proposition 24)."""
    for r in range(len(walkers.members)):
        walker = _Walker(walkers.gain[r], walkers.mixed[r], walkers.blur[r], walkers.positive[r])
        best = _Best(sets.mask[r], np.empty(4), level)
        best.told[0] = -1.0
        always = _always(spectrum, walkers, r)
        length = -1
        for ranking in range(walkers.order.shape[0]):
            order = walkers.order[ranking, r, : walkers.members[r]]
            if length >= 0 and _start_alike(walkers.order[ranking - 1, r], order, length):
                continue
            length = _follow(spectrum, walker, order, walkers.cut[r], always, best)
        sets.size[r], sets.needed[r] = best.told[0], best.told[0] >= 0 and best.told[3] > 0
        sets.lower[r], sets.upper[r] = best.told[1], best.told[2]

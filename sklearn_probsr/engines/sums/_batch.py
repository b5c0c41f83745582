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
from sklearn_probsr.engines.sums._spectrum import Spectrum, copy_nodes, kept_at, multiply, shrink
from sklearn_probsr.engines.sums._walkers import FIRST_REACH, Walkers, suffixes

__all__ = ["Sets", "stroll"]

# How many units longer than the best set a prefix may be to be worth pruning.
_LEEWAY = 4


class Way(NamedTuple):
    """The set that is being looked at: its cut, its bounds, and what it leaves free."""

    chosen: NDArray[np.bool_]  # (h,)
    cut: NDArray[np.float64]  # (1,)
    bounds: NDArray[np.float64]  # (2,)
    live: NDArray[np.int64]  # (nodes,): those that matter to all of its subsets
    product: NDArray[np.float64]  # (nodes, 2): of the free units' factors there
    trial: NDArray[np.float64]  # (nodes, 2)


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
def _without(spectrum: Spectrum, walkers: Walkers, r: int, u: int, way: Way) -> tuple[float, float]:
    """Bound what is left of a set's guarantee without one unit."""
    copy_nodes(way.product, way.trial)
    multiply(way.trial, spectrum.factors[u], way.live)
    beta = way.cut[0] + walkers.gain[r, u]
    return kept_at(spectrum, way.trial, way.live, beta, walkers.blur[r], walkers.positive[r])


@inlined
def _prune(
    spectrum: Spectrum, walkers: Walkers, r: int, order: NDArray[np.int64], high: float, way: Way
) -> int:
    """Leave out what can be, the last first, until nothing can; return how many that were."""
    removed = 0
    changed = True
    while changed:
        changed = False
        for j in range(walkers.members[r] - 1, -1, -1):
            u = order[j]
            if way.chosen[u]:
                lower, upper = _without(spectrum, walkers, r, u, way)
                if lower >= high:
                    way.chosen[u] = False
                    way.cut[0] += walkers.gain[r, u]
                    way.bounds[0], way.bounds[1] = lower, upper
                    copy_nodes(way.trial, way.product)
                    removed += 1
                    changed = True
    return removed


@inlined
def _all_needed(
    spectrum: Spectrum,
    walkers: Walkers,
    r: int,
    mixed: NDArray[np.int64],
    low: float,
    way: Way,
) -> bool:
    """Tell whether leaving out any two or more of the mixed units surely breaks a set."""
    for choice in range(3, 1 << len(mixed)):
        if choice & (choice - 1) == 0:
            continue
        copy_nodes(way.product, way.trial)
        beta = way.cut[0]
        for j in range(len(mixed)):
            if choice >> j & 1:
                multiply(way.trial, spectrum.factors[mixed[j]], way.live)
                beta += walkers.gain[r, mixed[j]]
        blur, positive = walkers.blur[r], walkers.positive[r]
        if kept_at(spectrum, way.trial, way.live, beta, blur, positive)[1] >= low:
            return False
    return True


@inlined
def _keep(
    spectrum: Spectrum, walkers: Walkers, r: int, size: int, low: float, way: Way, sets: Sets
) -> None:
    """Write a set down as the best so far."""
    sets.size[r], sets.lower[r], sets.upper[r] = size, way.bounds[0], way.bounds[1]
    mixed = np.empty(len(way.chosen), dtype=np.int64)
    several = 0
    needed = True
    for u in range(len(way.chosen)):
        sets.mask[r, u] = way.chosen[u]
        if way.chosen[u]:
            needed = needed and _without(spectrum, walkers, r, u, way)[1] < low
            if walkers.mixed[r, u]:
                mixed[several] = u
                several += 1
    if needed and 1 < several <= MOST_MIXED:
        needed = _all_needed(spectrum, walkers, r, mixed[:several], low, way)
    sets.needed[r] = needed


class _Always(NamedTuple):
    """The product of what is free in every set of a row, and its nodes."""

    product: NDArray[np.float64]  # (nodes, 2)
    live: NDArray[np.int64]  # (nodes,)


@inlined
def _always(spectrum: Spectrum, walkers: Walkers, r: int) -> _Always:
    """Multiply what is neither a member nor forced, which an order holds after the members."""
    h = len(spectrum.factors)
    others = np.empty(h, dtype=np.int64)
    free = 0
    for j in range(walkers.members[r], h):
        if not walkers.forced[walkers.order[0, r, j]]:
            others[free] = walkers.order[0, r, j]
            free += 1
    product = spectrum.rest.copy()
    live = np.arange(len(spectrum.node))
    kept = shrink(spectrum, product, live, others[:free])
    return _Always(product[:kept], live[:kept])


@inlined
def _follow(
    spectrum: Spectrum,
    walkers: Walkers,
    r: int,
    order: NDArray[np.int64],
    always: _Always,
    level: Level,
    most: int,
    sets: Sets,
) -> int:
    """Find the shortest prefix of an order that surely reaches the level, and prune it.

    Return how long it is, or -1 if there is none.

    Of the first ``reach`` members any subset may be looked at, so all nodes where the product of
    the others is negligible are left out; ``reach`` grows until a prefix is found.
    """
    m = walkers.members[r]
    blur, positive = walkers.blur[r], walkers.positive[r]
    reach = min(FIRST_REACH, most)
    start = 0
    while True:
        product = always.product.copy()
        live = always.live.copy()
        kept = shrink(spectrum, product, live, order[reach:m])
        product = product[:kept]
        live = live[:kept]
        suffix = suffixes(spectrum, order, reach, product, live)
        beta = walkers.cut[r]
        for j in range(reach + 1):
            if j >= start:
                lower, upper = kept_at(spectrum, suffix[j], live, beta, blur, positive)
                if lower >= level.high:
                    way = Way(
                        np.zeros(len(sets.mask[r]), dtype=np.bool_), np.full(1, beta),
                        np.empty(2), live, suffix[j], np.empty((kept, 2)),
                    )  # fmt: skip
                    way.bounds[0], way.bounds[1] = lower, upper
                    for i in range(j):
                        way.chosen[order[i]] = True
                    size = j - _prune(spectrum, walkers, r, order, level.high, way)
                    first = sets.size[r] < 0 or size < sets.size[r]
                    if first or (size == sets.size[r] and way.bounds[0] > sets.lower[r]):
                        _keep(spectrum, walkers, r, size, level.low, way, sets)
                    return j
            if j < reach:
                beta -= walkers.gain[r, order[j]]
        if reach == most:
            return -1
        start = reach + 1
        reach = min(2 * reach + 2, most)


@inner
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
        m = walkers.members[r]
        always = _always(spectrum, walkers, r)
        sets.size[r] = -1
        length = -1
        for ranking in range(walkers.order.shape[0]):
            order = walkers.order[ranking, r]
            if length >= 0 and _start_alike(walkers.order[ranking - 1, r], order, length):
                continue
            # A prefix that is longer than a set found, by more than pruning may take off it, is of
            # no use.
            most = m if sets.size[r] < 0 else min(m, sets.size[r] + _LEEWAY)
            length = _follow(spectrum, walkers, r, order, always, level, most, sets)

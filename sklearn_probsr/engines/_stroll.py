"""Strolls: the search of many rows over independent units, on shared spectra.

Several rankings propose an order of a row's members. Along each, the shortest prefix that surely
reaches delta is found (every size is looked at: with units that can cost or gain, the curve is not
monotone), then everything is left out that can be, one unit at a time. The smallest set wins, and
of those the one with the best guarantee.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines._spectrum import Spectrum, bounds_at, multiply

__all__ = ["MOST_MIXED", "Sets", "Walkers", "along", "stroll"]

# All choices of so many mixed units are left out, to prove a set subset-minimal.
MOST_MIXED = 10


class Walkers(NamedTuple):
    """Some rows, seen from the head of a spectrum.

    ``gain`` is how far fixing a unit moves the cut, in turns; ``order`` holds each ranking of the
    members, of which there are ``members``; what is ``forced`` is fixed from the start.
    """

    positive: NDArray[np.bool_]  # (n,)
    beta: NDArray[np.float64]  # (n,)
    blur: NDArray[np.float64]  # (n,)
    gain: NDArray[np.float64]  # (n, h)
    forced: NDArray[np.bool_]  # (h,)
    order: NDArray[np.int64]  # (rankings, n, h)
    members: NDArray[np.int64]  # (n,)
    mixed: NDArray[np.bool_]  # (n, h): which units can gain, too


class Way(NamedTuple):
    """The set that is being looked at: its cut, bounds, and the product of what it leaves free."""

    chosen: NDArray[np.bool_]  # (h,)
    beta: NDArray[np.float64]  # (1,)
    bounds: NDArray[np.float64]  # (2,)
    product: NDArray[np.float64]  # (nodes, 2)


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
def _kept(
    spectrum: Spectrum, product: NDArray[np.float64], beta: float, blur: float, positive: bool
) -> tuple[float, float]:
    """Bound the probability that the class is kept."""
    lower, upper = bounds_at(spectrum, product, beta, blur)
    if positive:
        return 1.0 - upper, 1.0 - lower
    return lower, upper


@inner
def _copy(source: NDArray[np.float64], target: NDArray[np.float64]) -> None:
    for i in range(len(source)):
        target[i, 0] = source[i, 0]
        target[i, 1] = source[i, 1]


@inner
def _suffixes(
    spectrum: Spectrum, order: NDArray[np.int64], m: int, suffix: NDArray[np.float64]
) -> None:
    """Fill in the product of what is free when the first j members of an order are fixed."""
    for j in range(m - 1, -1, -1):
        _copy(suffix[j + 1], suffix[j])
        multiply(suffix[j], spectrum.factors[order[j]])


@inner
def _without(
    spectrum: Spectrum, walkers: Walkers, r: int, u: int, way: Way, trial: NDArray[np.float64]
) -> tuple[float, float]:
    """Bound what is left of a set's guarantee without one unit."""
    _copy(way.product, trial)
    multiply(trial, spectrum.factors[u])
    beta = way.beta[0] + walkers.gain[r, u]
    return _kept(spectrum, trial, beta, walkers.blur[r], walkers.positive[r])


@inner
def _prefix(
    spectrum: Spectrum,
    walkers: Walkers,
    r: int,
    order: NDArray[np.int64],
    suffix: NDArray[np.float64],
    most: int,
    high: float,
    way: Way,
) -> int:
    """Find the shortest prefix that surely reaches the level; -1 if there is none."""
    beta = walkers.beta[r]
    for j in range(most + 1):
        lower, upper = _kept(spectrum, suffix[j], beta, walkers.blur[r], walkers.positive[r])
        if lower >= high:
            way.beta[0], way.bounds[0], way.bounds[1] = beta, lower, upper
            _copy(suffix[j], way.product)
            for u in range(len(way.chosen)):
                way.chosen[u] = False
            for i in range(j):
                way.chosen[order[i]] = True
            return j
        if j < most:
            beta -= walkers.gain[r, order[j]]
    return -1


@inner
def _prune(
    spectrum: Spectrum,
    walkers: Walkers,
    r: int,
    order: NDArray[np.int64],
    high: float,
    way: Way,
    trial: NDArray[np.float64],
) -> int:
    """Leave out what can be, the last first, until nothing can; return how many that were."""
    removed = 0
    changed = True
    while changed:
        changed = False
        for j in range(walkers.members[r] - 1, -1, -1):
            u = order[j]
            if way.chosen[u]:
                lower, upper = _without(spectrum, walkers, r, u, way, trial)
                if lower >= high:
                    way.chosen[u] = False
                    way.beta[0] += walkers.gain[r, u]
                    way.bounds[0], way.bounds[1] = lower, upper
                    _copy(trial, way.product)
                    removed += 1
                    changed = True
    return removed


@inner
def _all_needed(
    spectrum: Spectrum,
    walkers: Walkers,
    r: int,
    mixed: NDArray[np.int64],
    low: float,
    way: Way,
    trial: NDArray[np.float64],
) -> bool:
    """Tell whether leaving out any two or more of the mixed units surely breaks a set."""
    for choice in range(3, 1 << len(mixed)):
        if choice & (choice - 1) == 0:
            continue
        _copy(way.product, trial)
        beta = way.beta[0]
        for j in range(len(mixed)):
            if choice >> j & 1:
                multiply(trial, spectrum.factors[mixed[j]])
                beta += walkers.gain[r, mixed[j]]
        if _kept(spectrum, trial, beta, walkers.blur[r], walkers.positive[r])[1] >= low:
            return False
    return True


@inner
def _keep(
    spectrum: Spectrum,
    walkers: Walkers,
    r: int,
    size: int,
    low: float,
    way: Way,
    trial: NDArray[np.float64],
    sets: Sets,
) -> None:
    """Write a set down as the best so far."""
    sets.size[r], sets.lower[r], sets.upper[r] = size, way.bounds[0], way.bounds[1]
    mixed = np.empty(len(way.chosen), dtype=np.int64)
    several = 0
    needed = True
    for u in range(len(way.chosen)):
        sets.mask[r, u] = way.chosen[u]
        if way.chosen[u]:
            needed = needed and _without(spectrum, walkers, r, u, way, trial)[1] < low
            if walkers.mixed[r, u]:
                mixed[several] = u
                several += 1
    if needed and 1 < several <= MOST_MIXED:
        needed = _all_needed(spectrum, walkers, r, mixed[:several], low, way, trial)
    sets.needed[r] = needed


@kernel
def stroll(spectrum: Spectrum, walkers: Walkers, low: float, high: float, sets: Sets) -> None:
    """Search every row with at most ``spectrum.most`` units fixed."""
    h, nodes = spectrum.factors.shape[0], spectrum.factors.shape[1]
    suffix = np.empty((h + 1, nodes, 2))
    trial = np.empty((nodes, 2))
    way = Way(np.zeros(h, dtype=np.bool_), np.zeros(1), np.zeros(2), np.empty((nodes, 2)))
    room = spectrum.most
    for u in range(h):
        room -= walkers.forced[u]
    for r in range(len(walkers.members)):
        m = walkers.members[r]
        _copy(spectrum.rest, suffix[m])
        for j in range(m, h):  # after the members, an order holds the others
            if not walkers.forced[walkers.order[0, r, j]]:
                multiply(suffix[m], spectrum.factors[walkers.order[0, r, j]])
        sets.size[r] = -1
        for ranking in range(walkers.order.shape[0]):
            order = walkers.order[ranking, r]
            _suffixes(spectrum, order, m, suffix)
            size = _prefix(spectrum, walkers, r, order, suffix, min(room, m), high, way)
            if size >= 0:
                size -= _prune(spectrum, walkers, r, order, high, way, trial)
                first = sets.size[r] < 0 or size < sets.size[r]
                if first or (size == sets.size[r] and way.bounds[0] > sets.lower[r]):
                    _keep(spectrum, walkers, r, size, low, way, trial, sets)


@kernel
def along(
    spectrum: Spectrum,
    walkers: Walkers,
    high: float,
    at: NDArray[np.int64],
    sizes: NDArray[np.int64],
    bounds: NDArray[np.float64],
) -> None:
    """Follow one order of every row's head, whatever its units do.

    ``sizes`` gets the length of the shortest prefix that surely reaches the level, or -1, and
    ``bounds`` those of the guarantee of the first ``at``.
    """
    h, nodes = spectrum.factors.shape[0], spectrum.factors.shape[1]
    suffix = np.empty((h + 1, nodes, 2))
    for r in range(len(sizes)):
        order = walkers.order[0, r]
        _copy(spectrum.rest, suffix[h])
        _suffixes(spectrum, order, h, suffix)
        beta = walkers.beta[r]
        sizes[r] = -1
        for k in range(min(spectrum.most, h) + 1):
            lower, upper = _kept(spectrum, suffix[k], beta, walkers.blur[r], walkers.positive[r])
            if sizes[r] < 0 and lower >= high:
                sizes[r] = k
            if k == at[r]:
                bounds[r, 0], bounds[r, 1] = lower, upper
            if k < h:
                beta -= walkers.gain[r, order[k]]
            if sizes[r] >= 0 and k >= at[r]:
                break

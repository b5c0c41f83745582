"""Up-sets: the sets of a size that must be refuted, so that no set of that size is left.

Unit i is *above* unit j if fixing i in place of j never lowers the guarantee (Lemmas 10 and 11).
Some best set of every size is then an up-set: with each unit it holds all that are above it
(Proposition 12). Up-sets are gone through depth first; spectra bound each (Proposition 24).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inlined, inner, kernel
from sklearn_probsr.engines._level import Level
from sklearn_probsr.engines.sums._scene import Free, Scene, always_free
from sklearn_probsr.engines.sums._spectrum import (
    Spectrum,
    copy_nodes,
    kept_at,
    multiply,
    roughened,
    shrink,
)

__all__ = ["Budget", "count_up_sets", "list_up_sets", "refute"]


class _Path(NamedTuple):
    """A way through the up-sets of a size, or of all up to it."""

    above: NDArray[np.bool_]  # (n, n)
    taken: NDArray[np.bool_]  # (n,)
    blocked: NDArray[np.int64]  # (n,): how many of those above were left
    size: int
    smaller: bool


@inner
def _path(above: NDArray[np.bool_], size: int, smaller: bool) -> _Path:
    """Return a path before its first set."""
    n = len(above)
    return _Path(above, np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64), size, smaller)


@inner
def _is_over(
    blocked: NDArray[np.int64], position: int, count: int, size: int, smaller: bool
) -> bool:
    """Tell whether no further member can be taken, or not enough of them."""
    n = len(blocked)
    if count == size or position == n:
        return True
    if smaller:
        return False
    for j in range(position, n):
        count += blocked[j] == 0
        if count == size:
            return False
    return True


@inner
def _leave(above: NDArray[np.bool_], blocked: NDArray[np.int64], position: int, by: int) -> None:
    """Leave a member (1), so that nothing below it can be taken, or undo that (-1)."""
    for j in range(position + 1, len(blocked)):
        if above[position, j]:
            blocked[j] += by


@inlined
def _next(path: _Path, position: int, count: int) -> tuple[int, int, int]:
    """Go on to the next up-set, depth first, from a position (-1: the start) with so many taken.

    A set is what is taken before its position; all from there on is left. Members are in an order
    in which nothing comes before what is above it. Returns the position (-1: there is no further
    set), how many are taken, and the first position at which the set differs from the one before.
    """
    above, taken, blocked, size, smaller = path
    if position < 0:
        position = 0
        if smaller or size == 0:
            return 0, 0, 0
    first = position
    while position >= 0:
        if not _is_over(blocked, position, count, size, smaller):
            take = blocked[position] == 0
            taken[position] = take
            position += 1
            if take:
                count += 1
                if smaller or count == size:
                    return position, count, first
            else:
                _leave(above, blocked, position - 1, 1)
            continue
        # Go back to the last member taken, and leave it.
        position -= 1
        while position >= 0 and not taken[position]:
            _leave(above, blocked, position, -1)
            position -= 1
        if position >= 0:
            taken[position] = False
            count -= 1
            _leave(above, blocked, position, 1)
            first = min(first, position)
            position += 1
    return -1, count, first


@inner
def _mark(source: NDArray[np.bool_], target: NDArray[np.bool_]) -> None:
    for i in range(len(source)):
        target[i] = source[i]


@kernel
def count_up_sets(above: NDArray[np.bool_], size: int, smaller: bool, cap: int) -> int:
    """Count the up-sets of a size, or of all up to it; not further than beyond a cap.

    Members are in an order in which nothing comes before what is above it (Proposition 12).
    """
    path = _path(above, size, smaller)
    position, count, found = -1, 0, 0
    while found <= cap:
        position, count, _ = _next(path, position, count)
        if position < 0:
            break
        found += 1
    return found


@kernel
def list_up_sets(above: NDArray[np.bool_], size: int, smaller: bool, cap: int) -> NDArray[np.bool_]:
    """Return the up-sets of a size, or of all up to it, as masks; at most a cap of them.

    Members are in an order in which nothing comes before what is above it (Proposition 12).
    """
    path = _path(above, size, smaller)
    sets = np.zeros((cap, len(above)), dtype=np.bool_)
    position, count, found = -1, 0, 0
    while found < cap:
        position, count, _ = _next(path, position, count)
        if position < 0:
            break
        _mark(path.taken, sets[found])
        found += 1
    return sets[:found]


class Budget(NamedTuple):
    """How many up-sets are bounded at most, at how many nodes together, and may stay open."""

    sets: int
    work: int
    room: int


class _Products(NamedTuple):
    """What a set on a path leaves free: the product of its factors, and the cut.

    Bounds are rough at first, by the first nodes alone (Lemma 72); ``free`` is what they are made
    sharp from.
    """

    candidates: NDArray[np.int64]  # (n,)
    free: Free
    spectrum: Spectrum
    live: NDArray[np.int64]  # (nodes,)
    # The product of what was left before a position is found where ``where`` says.
    stack: NDArray[np.float64]  # (n + 1, nodes, 2)
    where: NDArray[np.int64]  # (n + 1,)
    cut: NDArray[np.float64]  # (n + 1,)
    # The same for all from a position on.
    suffix: NDArray[np.float64]  # (n + 1, nodes, 2)
    shift: NDArray[np.float64]  # (n + 1,)
    trial: NDArray[np.float64]  # (nodes, 2)


@inlined
def _products(spectrum: Spectrum, scene: Scene, candidates: NDArray[np.int64]) -> _Products:
    """Return the products before the first set."""
    n = len(candidates)
    free = always_free(spectrum, scene, candidates)
    rough, nodes = roughened(spectrum, free.live)
    live = free.live[:nodes]
    found = _Products(
        candidates,
        free,
        rough,
        live,
        np.empty((n + 1, nodes, 2)),
        np.zeros(n + 1, dtype=np.int64),
        np.empty(n + 1),
        np.empty((n + 1, nodes, 2)),
        np.zeros(n + 1),
        np.empty((nodes, 2)),
    )
    copy_nodes(free.product[:nodes], found.stack[0])
    found.cut[0] = free.beta
    for i in range(nodes):
        found.suffix[n, i, 0] = 1.0
        found.suffix[n, i, 1] = 0.0
    for p in range(n - 1, -1, -1):
        copy_nodes(found.suffix[p + 1], found.suffix[p])
        multiply(found.suffix[p], spectrum.factors[candidates[p]], live)
        found.shift[p] = found.shift[p + 1] + scene.gain[candidates[p]]
    return found


@inlined
def _follow(
    scene: Scene, products: _Products, taken: NDArray[np.bool_], first: int, position: int
) -> None:
    """Follow a path to its new set: what is left there is part of all products after it."""
    for p in range(first, position):
        if taken[p]:
            products.where[p + 1] = products.where[p]
            products.cut[p + 1] = products.cut[p]
        else:
            unit = products.candidates[p]
            copy_nodes(products.stack[products.where[p]], products.stack[p + 1])
            multiply(products.stack[p + 1], products.spectrum.factors[unit], products.live)
            products.where[p + 1] = p + 1
            products.cut[p + 1] = products.cut[p] + scene.gain[unit]


@inlined
def _bounds(scene: Scene, products: _Products, position: int) -> tuple[float, float]:
    """Bound the guarantee of what is taken, with all from a position on left free."""
    before = products.stack[products.where[position]]
    after = products.suffix[position]
    for i in range(len(products.live)):
        products.trial[i, 0] = before[i, 0] * after[i, 0] - before[i, 1] * after[i, 1]
        products.trial[i, 1] = before[i, 0] * after[i, 1] + before[i, 1] * after[i, 0]
    beta = products.cut[position] + products.shift[position]
    spectrum = products.spectrum
    return kept_at(spectrum, products.trial, products.live, beta, scene.blur, scene.positive)


@inlined
def _sharp_bounds(
    spectrum: Spectrum, scene: Scene, products: _Products, taken: NDArray[np.bool_], position: int
) -> tuple[float, float]:
    """Bound the same by all nodes."""
    candidates = products.candidates
    left = np.empty(len(candidates), dtype=np.int64)
    n = 0
    for p in range(len(candidates)):
        if p >= position or not taken[p]:
            left[n] = candidates[p]
            n += 1
    product, live = products.free.product.copy(), products.free.live.copy()
    kept = shrink(spectrum, product, live, left[:n])
    beta = products.cut[position] + products.shift[position]
    blur, positive = scene.blur, scene.positive
    return kept_at(spectrum, product[:kept], live[:kept], beta, blur, positive)


@kernel
def refute(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    above: NDArray[np.bool_],
    size: int,
    smaller: bool,
    level: Level,
    budget: Budget,
) -> tuple[int, NDArray[np.bool_], int]:
    """Bound every up-set of a size (or of all up to it), until one surely reaches the level.

    If each stays below the level, so does every set of the size (Proposition 12).

    Returns
    -------
    verdict : int
        1: one was found, and is the only set returned. 0: none but those returned can reach the
        level. -1: they are more than the budget, or more than there is room for stay open.
    sets : ndarray of bool
    nodes : int
        At how many nodes sets were bounded, all together.
    """
    products = _products(spectrum, scene, candidates)
    sets = np.zeros((max(budget.room, 1), len(candidates)), dtype=np.bool_)
    nodes, work = len(products.live), 0
    allowed = min(budget.sets, budget.work // max(nodes, 1))
    if count_up_sets(above, size, smaller, allowed) > allowed:
        return -1, sets[:0], work
    # Where no set surely reaches the level, those that are surely not below it are told as well.
    enough = level.high if level.high <= 1.0 else level.low
    path = _path(above, size, smaller)
    position, count, kept = -1, 0, 0
    while True:
        position, count, first = _next(path, position, count)
        if position < 0:
            return 0, sets[:kept], work
        _follow(scene, products, path.taken, first, position)
        lower, upper = _bounds(scene, products, position)
        work += nodes
        if lower < enough and upper >= level.low and nodes < len(products.free.live):
            lower, upper = _sharp_bounds(spectrum, scene, products, path.taken, position)
            work += len(products.free.live)
        if upper < level.low:
            continue
        if lower >= level.high:
            _mark(path.taken, sets[0])
            return 1, sets[:1], work
        if kept == budget.room:
            return -1, sets[:0], work
        _mark(path.taken, sets[kept])
        kept += 1

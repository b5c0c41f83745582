"""Up-sets: the sets of a size that must be refuted, so that no set of that size is left.

Unit i is *above* unit j if fixing i in place of j never lowers the guarantee (Lemmas 10 and 11).
Some best set of every size is then an up-set: with each unit it holds all that are above it
(Proposition 12). Up-sets are gone through depth first; spectra bound each (Proposition 24).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inlined, inner, kernel
from sklearn_probsr.engines.sums._scene import Free, Scene, always_free
from sklearn_probsr.engines.sums._spectrum import (
    Begun,
    Spectrum,
    after,
    copy_nodes,
    kept_at,
    multiply,
    roughened,
)
from sklearn_probsr.independent.level import Level

__all__ = ["Budget", "count_up_sets", "list_up_sets", "refute"]


class _Path(NamedTuple):
    """A way through the up-sets of a size, or of all up to it."""

    above: NDArray[np.bool_]  # (n, n)
    taken: NDArray[np.bool_]  # (n,)
    blocked: NDArray[np.int64]  # (n,): how many of those above were left
    # Of the set that it has come to: what is taken lies before a position (-1: there is none), how
    # many that are, and the first position at which the set differs from the one before.
    place: NDArray[np.int64]  # (3,)
    size: int
    smaller: bool


@inner
def _path(above: NDArray[np.bool_], size: int, smaller: bool) -> _Path:
    """Return a path before its first set."""
    n = len(above)
    taken, whole = np.empty(n, dtype=np.bool_), np.empty(n + 3, dtype=np.int64)
    whole[:] = 0
    whole[n] = -1
    return _Path(above, taken, whole[:n], whole[n:], size, smaller)


@inlined
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


@inner
def _next(path: _Path) -> bool:
    """Go on to the next up-set, depth first; tell whether there is one.

    A set is what is taken before its position; all from there on is left. Members are in an order
    in which nothing comes before what is above it.
    """
    above, taken, blocked, place, size, smaller = path
    position, count = place[0], place[1]
    if position < 0:
        position += 1
        if smaller or size == 0:
            place[0] = position
            return True
    first = position
    while position >= 0:
        if not _is_over(blocked, position, count, size, smaller):
            take = blocked[position] == 0
            taken[position] = take
            position += 1
            if take:
                count += 1
                if smaller or count == size:
                    place[0], place[1], place[2] = position, count, first
                    return True
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
    return False


@inner
def _mark(path: _Path, target: NDArray[np.bool_]) -> None:
    """Write down the set that a path has come to."""
    for i in range(len(target)):
        target[i] = i < path.place[0] and path.taken[i]


@kernel
def count_up_sets(above: NDArray[np.bool_], size: int, smaller: bool, cap: int) -> int:
    """Count the up-sets of a size, or of all up to it; not further than beyond a cap.

    Members are in an order in which nothing comes before what is above it (Proposition 12).
    """
    path = _path(above, size, smaller)
    found = 0
    while found <= cap and _next(path):
        found += 1
    return found


@kernel
def list_up_sets(above: NDArray[np.bool_], size: int, smaller: bool, cap: int) -> NDArray[np.bool_]:
    """Return the up-sets of a size, or of all up to it, as masks; at most a cap of them.

    Members are in an order in which nothing comes before what is above it (Proposition 12).
    """
    path = _path(above, size, smaller)
    sets = np.zeros((cap, len(above)), dtype=np.bool_)
    found = 0
    while found < cap and _next(path):
        _mark(path, sets[found])
        found += 1
    return sets[:found]


class Budget(NamedTuple):
    """How many up-sets are bounded at most, at how many nodes together, and may stay open."""

    sets: int
    work: int
    room: int


class _Products(NamedTuple):
    """What sets on a path leave free: the products of its factors, and the cuts."""

    live: NDArray[np.int64]  # (nodes,)
    # The product of what was left before a position is found where ``where`` says.
    stack: NDArray[np.float64]  # (n + 1, nodes, 2)
    where: NDArray[np.int64]  # (n + 1,)
    # The same for all from a position on.
    suffix: NDArray[np.float64]  # (n + 1, nodes, 2)
    cuts: NDArray[np.float64]  # (n + 1, 2): where the one puts the cut, and by how much the other
    trial: NDArray[np.float64]  # (nodes, 2)


@inlined
def _products(
    spectrum: Spectrum, scene: Scene, candidates: NDArray[np.int64], free: Free, nodes: int
) -> _Products:
    """Return the products before the first set, at the first so many nodes."""
    n, live = len(candidates), free.begun.live[:nodes]
    found = _Products(
        live, np.empty((n + 1, nodes, 2)), np.empty(n + 1, dtype=np.int64),
        np.empty((n + 1, nodes, 2)), np.empty((n + 1, 2)), np.empty((nodes, 2)),
    )  # fmt: skip
    copy_nodes(free.begun.product[:nodes], found.stack[0])
    found.where[0], found.cuts[0, 0], found.cuts[n, 1] = 0, free.beta, 0.0
    for i in range(nodes):
        found.suffix[n, i, 0], found.suffix[n, i, 1] = 1.0, 0.0
    for p in range(n - 1, -1, -1):
        factor = spectrum.factors[candidates[p]]
        multiply(found.suffix[p + 1], factor, live, found.suffix[p])
        found.cuts[p, 1] = found.cuts[p + 1, 1] + scene.gain[candidates[p]]
    return found


@inlined
def _follow(
    spectrum: Spectrum, scene: Scene, candidates: NDArray[np.int64], path: _Path, found: _Products
) -> None:
    """Follow a path to its new set: what is left there is part of all products after it."""
    for p in range(path.place[2], path.place[0]):
        if path.taken[p]:
            found.where[p + 1] = found.where[p]
            found.cuts[p + 1, 0] = found.cuts[p, 0]
        else:
            factor = spectrum.factors[candidates[p]]
            multiply(found.stack[found.where[p]], factor, found.live, found.stack[p + 1])
            found.where[p + 1] = p + 1
            found.cuts[p + 1, 0] = found.cuts[p, 0] + scene.gain[candidates[p]]


@inlined
def _bounds(
    spectrum: Spectrum, scene: Scene, found: _Products, position: int
) -> tuple[float, float]:
    """Bound the guarantee of what is taken, with all from a position on left free."""
    before, after = found.stack[found.where[position]], found.suffix[position]
    for i in range(len(found.live)):
        found.trial[i, 0] = before[i, 0] * after[i, 0] - before[i, 1] * after[i, 1]
        found.trial[i, 1] = before[i, 0] * after[i, 1] + before[i, 1] * after[i, 0]
    beta = found.cuts[position, 0] + found.cuts[position, 1]
    return kept_at(spectrum, found.trial, found.live, beta, scene.blur, scene.positive)


@inlined
def _sharp_bounds(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    begun: Begun,
    path: _Path,
    beta: float,
) -> tuple[float, float]:
    """Bound the same by all nodes."""
    left = np.empty(len(candidates), dtype=np.int64)
    n = 0
    for p in range(len(candidates)):
        if p >= path.place[0] or not path.taken[p]:
            left[n] = candidates[p]
            n += 1
    product, live = after(spectrum, begun, left[:n])
    return kept_at(spectrum, product, live, beta, scene.blur, scene.positive)


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
    sets = np.empty((max(budget.room, 1), len(candidates)), dtype=np.bool_)
    free = always_free(spectrum, scene, candidates)
    # Bounds are rough at first, by the first nodes alone (Lemma 72).
    rough, nodes = roughened(spectrum, free.begun.live)
    work = 0
    allowed = min(budget.sets, budget.work // max(nodes, 1))
    if count_up_sets(above, size, smaller, allowed) > allowed:
        return -1, sets[:0], work
    # Where no set surely reaches the level, those that are surely not below it are told as well.
    enough = level.high if level.high <= 1.0 else level.low
    products = _products(spectrum, scene, candidates, free, nodes)
    path = _path(above, size, smaller)
    kept = 0
    while _next(path):
        _follow(spectrum, scene, candidates, path, products)
        lower, upper = _bounds(rough, scene, products, path.place[0])
        work += nodes
        if lower < enough and upper >= level.low and nodes < len(free.begun.live):
            beta = products.cuts[path.place[0], 0] + products.cuts[path.place[0], 1]
            lower, upper = _sharp_bounds(spectrum, scene, candidates, free.begun, path, beta)
            work += len(free.begun.live)
        if upper < level.low:
            continue
        if lower >= level.high:
            _mark(path, sets[0])
            return 1, sets[:1], work
        if kept == budget.room:
            return -1, sets[:0], work
        _mark(path, sets[kept])
        kept += 1
    return 0, sets[:kept], work

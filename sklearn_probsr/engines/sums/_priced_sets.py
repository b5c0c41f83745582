"""The cheapest of independent units that reach a level: branch and bound on a spectrum.

Members are taken or left in turn, best first; leaving one bars all that it is above (Proposition
91). A branch is given up when even the best that the price can have stays below the level (Lemma
90); what a set guarantees is bounded by one product of the factors of its free units (Proposition
24).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.engines.sums._scene import Scene, always_free
from sklearn_probsr.engines.sums._spectrum import Spectrum, copy_nodes, kept_at, multiply
from sklearn_probsr.independent.level import Level

__all__ = ["Limits", "Offers", "branch", "propose"]


class Offers(NamedTuple):
    """Members with their prices, in an order in which nothing comes before what is above it.

    Where prices were rounded down they are not ``exact``: sets that may be as cheap as the best are
    then all returned. ``chain`` says which list of Lemma 90 a member is in; where fixing can hurt,
    there is none, and it is negative.
    """

    candidates: NDArray[np.int64]  # (n,): in the spectrum's head
    prices: NDArray[np.int64]  # (n,)
    above: NDArray[np.bool_]  # (n, n)
    chain: NDArray[np.int64]  # (n,)
    exact: bool


class Limits(NamedTuple):
    """What sets may cost, how many members they may have, and must have; and the effort."""

    price: int
    most: int
    fewest: int
    branches: int
    room: int


class _Stage(NamedTuple):
    """A row before a spectrum: what no set fixes, and room to multiply."""

    spectrum: Spectrum
    scene: Scene
    base: NDArray[np.float64]  # (nodes, 2)
    live: NDArray[np.int64]
    beta: float
    trial: NDArray[np.float64]  # (nodes, 2)


class _Way(NamedTuple):
    """A way through the sets: what is taken, what was left, and what that bars; and some room."""

    taken: NDArray[np.bool_]  # (n,)
    left: NDArray[np.bool_]  # (n,)
    blocked: NDArray[np.int64]  # (n,)
    fixed: NDArray[np.bool_]  # (n,)
    held: NDArray[np.int64]  # (n + 1,)


@inner
def _stage(spectrum: Spectrum, scene: Scene, candidates: NDArray[np.int64]) -> _Stage:
    (product, live), beta, _ = always_free(spectrum, scene, candidates)
    return _Stage(spectrum, scene, product, live, beta, np.empty((len(live), 2)))


@inner
def _bounds(
    stage: _Stage, candidates: NDArray[np.int64], fixed: NDArray[np.bool_]
) -> tuple[float, float]:
    """Bound the guarantee of the candidates that are fixed (Proposition 24)."""
    spectrum, scene = stage.spectrum, stage.scene
    copy_nodes(stage.base, stage.trial)
    beta = stage.beta
    for p in range(len(candidates)):
        if not fixed[p]:
            multiply(stage.trial, spectrum.factors[candidates[p]], stage.live, stage.trial)
            beta += scene.gain[candidates[p]]
    return kept_at(spectrum, stage.trial, stage.live, beta, scene.blur, scene.positive)


@inner
def _afford(offers: Offers, way: _Way, start: int, limit: int, room: int) -> int:
    """Fix the best that a price can have from a place on, and return how many that are (Lemma 90).

    Each list has the whole limit. Of prices those that are held are sorted.
    """
    n = len(offers.prices)
    fixed, held, blocked = way.fixed, way.held, way.blocked
    marked = 0
    last = offers.chain.max() if n else -1
    for chain in range(last + 1):
        count = 0
        total = 0
        for p in range(start, n):
            price = offers.prices[p]
            if offers.chain[p] != chain or blocked[p] > 0 or price > limit:
                continue
            at = count
            while at > 0 and held[at - 1] > price:
                held[at] = held[at - 1]
                at -= 1
            held[at] = price
            total += price
            if total > limit:
                total -= held[count]
            else:
                fixed[p] = True
                count += 1
                marked += 1
                if count == room:
                    break
    return marked


@inner
def _leave(offers: Offers, blocked: NDArray[np.int64], position: int, by: int) -> None:
    """Bar what a member is above (1), or undo that (-1)."""
    for j in range(position + 1, len(blocked)):
        if offers.above[position, j]:
            blocked[j] += by


@kernel
def propose(
    spectrum: Spectrum,
    scene: Scene,
    offers: Offers,
    order: NDArray[np.int64],
    dearest: NDArray[np.int64],
    level: Level,
) -> tuple[bool, NDArray[np.bool_]]:
    """Take members along an order until they surely reach the level, and leave the dearest out.

    Returns whether they do, and the set; fixing must never hurt.
    """
    stage = _stage(spectrum, scene, offers.candidates)
    fixed = np.zeros(len(order), dtype=np.bool_)
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        for k in range(len(order)):
            fixed[order[k]] = k < middle
        if _bounds(stage, offers.candidates, fixed)[0] >= level.high:
            high = middle
        else:
            low = middle + 1
    for k in range(len(order)):
        fixed[order[k]] = k < high
    if _bounds(stage, offers.candidates, fixed)[0] < level.high:
        return False, fixed
    for k in range(len(dearest)):
        if fixed[dearest[k]]:
            fixed[dearest[k]] = False
            if _bounds(stage, offers.candidates, fixed)[0] < level.high:
                fixed[dearest[k]] = True
    return True, fixed


@inner
def _fix_taken(way: _Way, position: int) -> None:
    for p in range(len(way.taken)):
        way.fixed[p] = p < position and way.taken[p]


@inner
def _is_hopeful(
    stage: _Stage,
    offers: Offers,
    way: _Way,
    needs: tuple[float, int, int],
    position: int,
    limit: int,
) -> bool:
    """Tell whether what may still be paid for can reach a level (Lemma 90).

    ``needs`` are the level, how many more members must be taken, and how many more may be.
    """
    if len(offers.prices) == 0 or offers.chain[0] < 0:
        return True
    low, short, room = needs
    _fix_taken(way, position)
    marked = _afford(offers, way, position, limit, room) if room > 0 else 0
    return marked >= short and _bounds(stage, offers.candidates, way.fixed)[1] >= low


@inner
def _go_back(offers: Offers, way: _Way, position: int) -> int:
    """Go back to the last member taken, and leave it; return its place, or -1."""
    position -= 1
    while position >= 0 and not way.taken[position]:
        if way.left[position]:
            way.left[position] = False
            _leave(offers, way.blocked, position, -1)
        position -= 1
    if position >= 0:
        way.taken[position] = False
        way.left[position] = True
        _leave(offers, way.blocked, position, 1)
    return position


@kernel
def branch(
    spectrum: Spectrum, scene: Scene, offers: Offers, level: Level, limits: Limits
) -> tuple[int, NDArray[np.bool_], NDArray[np.bool_]]:
    """Go through the sets that cost at most a limit, which falls with every set that is found.

    Returns
    -------
    verdict : int
        1: all sets were gone through. -1: the branches, or the room for sets, did not suffice.
    sets : ndarray of bool
        Those that reach the level, or may.
    sure : ndarray of bool
        Which of them surely do.
    """
    n = len(offers.prices)
    stage = _stage(spectrum, scene, offers.candidates)
    sets, sure = np.zeros((limits.room, n), dtype=np.bool_), np.zeros(limits.room, dtype=np.bool_)
    marks = np.zeros((3, n), dtype=np.bool_)
    barred, held = np.zeros(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    way = _Way(marks[0], marks[1], barred, marks[2], held)
    limit, price, size, position, kept, new = limits.price, 0, 0, 0, 0, True
    for _ in range(limits.branches):
        needs = (level.low, limits.fewest - size, limits.most - size)
        hopeful = price <= limit and _is_hopeful(stage, offers, way, needs, position, limit - price)
        if hopeful and new:
            _fix_taken(way, position)
            lower, upper = _bounds(stage, offers.candidates, way.fixed)
            if upper >= level.low and kept == limits.room:
                break
            if upper >= level.low:
                sets[kept] = way.fixed
                sure[kept] = lower >= level.high
                kept += 1
            if lower >= level.high:
                limit = price - 1 if offers.exact else min(limit, price + size)
                hopeful = False
        new = False
        if hopeful and position < n and size < limits.most:
            if barred[position] == 0 and offers.prices[position] <= limit - price:
                way.taken[position] = new = True
                price += offers.prices[position]
                size += 1
            position += 1
            continue
        position = _go_back(offers, way, position)
        if position < 0:
            return 1, sets[:kept], sure[:kept]
        price -= offers.prices[position]
        size -= 1
        position += 1
    return -1, sets[:kept], sure[:kept]

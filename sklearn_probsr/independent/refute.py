"""Refutation: no set of a size reaches the level (Proposition 12).

What comes in is a row before a divided table, and its candidates in an order in which nothing comes
before what is above it. All up-sets of the size are gone through, depth first. A set's product is
that of its parent, divided by one more factor, and is turned by what fixing the unit moves the
cut: so the bound of a set is one sum of products of real numbers, and no sine is computed on the
way (Proposition 202).

Where members have prices, `branch` looks for the cheapest set: members are taken or left in turn,
and leaving one bars all that it is above (Proposition 91). A branch is given up when even the best
that the price can have stays below the level (Lemma 90).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.independent.level import Level
from sklearn_probsr.independent.spectrum import Table, moved
from sklearn_probsr.independent.vaaler import TRIG_ERROR, UNIT, coefficient_sum, sin_cos_turns

__all__ = [
    "Budget",
    "Offers",
    "PriceLimits",
    "Scene",
    "all_free",
    "branch",
    "cheap_set",
    "divide",
    "set_bounds",
    "sweep",
    "turn",
]

# Candidates in a word of bits.
_BITS = 62


class Scene(NamedTuple):
    """A row before a table.

    Attributes
    ----------
    gain : ndarray of shape (n,)
        How far fixing a unit moves the cut down, in turns.
    cut : float
        Where the cut is when nothing is fixed, in turns, up to ``blur``.
    blur : float
    positive : bool
        Whether the class is kept above the cut.
    far : ndarray
        What values that were moved change, see `spectrum.moved`.
    """

    gain: NDArray[np.float64]
    cut: float
    blur: float
    positive: bool
    far: NDArray[np.float64]


class Budget(NamedTuple):
    """How many sets may be looked at, at how many nodes together, and how many may stay open."""

    sets: int
    work: int
    room: int


@inner
def all_free(table: Table, n: int, product: NDArray[np.float64]) -> None:
    """Write the product of all factors at the first n nodes: (2, n)."""
    for part in range(2):
        whole, out = table.whole[part], product[part]
        for i in range(n):
            out[i] = whole[i]


@inner
def divide(
    table: Table,
    scene: Scene,
    units: NDArray[np.int64],
    m: int,
    n: int,
    product: NDArray[np.float64],
) -> float:
    """Divide the first m of some units out of a product; return what fixing them gains."""
    re, im, gain = product[0], product[1], 0.0
    for a in range(m):
        u = units[a]
        x, y = table.inverse[u, 0], table.inverse[u, 1]
        for i in range(n):
            p = re[i] * x[i] - im[i] * y[i]
            im[i] = re[i] * y[i] + im[i] * x[i]
            re[i] = p
        gain += scene.gain[u]
    return gain


@inner
def set_bounds(
    table: Table, scene: Scene, fixed: NDArray[np.int64], m: int, room: NDArray[np.float64]
) -> tuple[float, float]:
    """Bound the guarantee of the first m of some units, fixed (Proposition 200).

    ``room`` is for two lines of nodes. Nothing is known of more units than the table knows.
    """
    if m >= len(table.counts):
        return 0.0, 1.0
    n = table.counts[m]
    all_free(table, n, room)
    beta = scene.cut - divide(table, scene, fixed, m, n, room)
    error = table.error + moved(scene.far, abs(beta) + scene.blur)
    lower, upper = 0.0, 1.0
    if beta - scene.blur >= 0.5:
        lower = 1.0 - error
    elif beta + scene.blur <= -0.5:
        upper = error
    else:
        beta = min(max(beta, -0.5), 0.5)
        middle = beta + 0.5
        radius = 1.0 / (table.degree + 1.0) + error + (1.0 + 4.0 * n) * scene.blur
        re, im, node, sign = room[0], room[1], table.node, table.sign
        vaaler, fejer = table.vaaler, table.fejer
        for i in range(n):
            sine, cosine = sin_cos_turns(node[i] * beta)
            x, y = re[i] * cosine + im[i] * sine, im[i] * cosine - re[i] * sine
            middle += vaaler[i] * (sign[i] * im[i] - y)
            radius += fejer[i] * (sign[i] * re[i] + x)
        lower, upper = max(middle - radius, 0.0), min(middle + radius, 1.0)
    if scene.positive:
        return 1.0 - upper, 1.0 - lower
    return lower, upper


@inner
def turn(
    table: Table, scene: Scene, candidates: NDArray[np.int64], n: int, out: NDArray[np.float64]
) -> None:
    """Write the inverse factors of candidates, and the same turned by their gains: (m, 4 n)."""
    node = table.node
    for c in range(len(candidates)):
        u, line = candidates[c], out[c]
        re, im, gain = table.inverse[u, 0], table.inverse[u, 1], scene.gain[candidates[c]]
        for i in range(n):
            sine, cosine = sin_cos_turns(node[i] * gain)
            line[i], line[n + i] = re[i], im[i]
            line[2 * n + i] = re[i] * cosine - im[i] * sine
            line[3 * n + i] = re[i] * sine + im[i] * cosine


@inner
def _begin(
    table: Table, scene: Scene, forced: NDArray[np.int64], n: int, out: NDArray[np.float64]
) -> float:
    """Write the product without what is forced, and the same turned back by the cut: (4 n,).

    Returns the cut.
    """
    both = out[: 2 * n].reshape(2, n)
    all_free(table, n, both)
    beta = scene.cut - divide(table, scene, forced, len(forced), n, both)
    for i in range(n):
        sine, cosine = sin_cos_turns(table.node[i] * beta)
        out[2 * n + i] = out[i] * cosine + out[n + i] * sine
        out[3 * n + i] = out[n + i] * cosine - out[i] * sine
    return beta


@inner
def _fix(
    product: NDArray[np.float64], line: NDArray[np.float64], n: int, out: NDArray[np.float64]
) -> None:
    """Write what a product is when one more candidate is fixed, both of its parts."""
    for first in (0, 2 * n):
        re, im = product[first : first + n], product[first + n : first + 2 * n]
        x, y = line[first : first + n], line[first + n : first + 2 * n]
        p, q = out[first : first + n], out[first + n : first + 2 * n]
        for i in range(n):
            p[i] = re[i] * x[i] - im[i] * y[i]
            q[i] = re[i] * y[i] + im[i] * x[i]


@inner
def _weigh(
    table: Table, side: float, product: NDArray[np.float64], n: int, out: NDArray[np.float64]
) -> None:
    """Write what a candidate's line is multiplied with, to give the upper bound with it: (4 n,)."""
    vaaler, fejer, sign = table.vaaler, table.fejer, table.sign
    re, im, x, y = product[:n], product[n : 2 * n], product[2 * n : 3 * n], product[3 * n :]
    p, q, s, t = out[:n], out[n : 2 * n], out[2 * n : 3 * n], out[3 * n :]
    for i in range(n):
        v, f = side * vaaler[i], fejer[i]
        p[i] = sign[i] * (v * im[i] + f * re[i])
        q[i] = sign[i] * (v * re[i] - f * im[i])
        s[i] = f * x[i] - v * y[i]
        t[i] = -v * x[i] - f * y[i]


@inner
def _sum(weights: NDArray[np.float64], line: NDArray[np.float64]) -> float:
    total = 0.0
    for i in range(len(weights)):
        total += weights[i] * line[i]
    return total


@inner
def _width(table: Table, scene: Scene, m: int, n: int) -> float:
    """Return what an upper bound lies above its sum (Proposition 202)."""
    turned = (m + 2.0) * (2.0 * TRIG_ERROR + 8.0 * UNIT) + 8.0 * (n + 4.0) * UNIT
    turned *= 2.0 * coefficient_sum(table.degree)
    radius = 1.0 / (table.degree + 1.0) + table.error + turned
    return radius + 2.0 * (1.0 + 4.0 * n) * scene.blur


@inner
def _is_ready(needs: NDArray[np.int64], taken: NDArray[np.int64]) -> bool:
    """Tell whether all that is above a candidate is taken."""
    missing = 0
    for w in range(len(taken)):
        missing |= needs[w] & ~taken[w]
    return missing == 0


@inner
def _cover(
    above: NDArray[np.bool_],
    needs: NDArray[np.int64],
    covers: NDArray[np.int64],
    covered: NDArray[np.int64],
) -> None:
    """Write, as bits, what is above each candidate, and which it is next above, with their number.

    Only those can become ready once it is taken: what lies between is taken later.
    """
    m = len(above)
    below = np.zeros(needs.shape, dtype=np.int64)
    for i in range(m):
        for j in range(i + 1, m):
            if above[i, j]:
                needs[j, i // _BITS] |= 1 << (i % _BITS)
                below[i, j // _BITS] |= 1 << (j % _BITS)
    for i in range(m):
        for j in range(i + 1, m):
            if above[i, j]:
                is_next = True
                for w in range(needs.shape[1]):
                    is_next = is_next and needs[j, w] & below[i, w] == 0
                if is_next:
                    covers[i, covered[i]] = j
                    covered[i] += 1


@inner
def _opened(
    ready: NDArray[np.int64],
    first: int,
    last: int,
    covers: NDArray[np.int64],
    covered: int,
    needs: NDArray[np.int64],
    taken: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    """Write which candidates behind one are ready once it is taken, in their order; count them."""
    n = 0
    for c in range(covered):
        j = covers[c]
        if _is_ready(needs[j], taken):
            while first < last and ready[first] < j:
                out[n] = ready[first]
                n += 1
                first += 1
            out[n] = j
            n += 1
    while first < last:
        out[n] = ready[first]
        n += 1
        first += 1
    return n


@inner
def sweep(
    table: Table,
    sharp: Table,
    scene: Scene,
    forced: NDArray[np.int64],
    candidates: NDArray[np.int64],
    above: NDArray[np.bool_],
    turned: NDArray[np.float64],
    size: int,
    level: Level,
    budget: Budget,
    found: NDArray[np.int64],
    room: NDArray[np.float64],
) -> tuple[int, int, int, int]:
    """Bound every up-set of so many candidates beside what is forced, until one reaches the level.

    ``table`` bounds each set, and ``sharp`` those that it leaves open; ``turned`` holds the lines
    of the candidates, at as many nodes as sets of that size look at, or more; ``room`` is for two
    lines of nodes of either table. Units of sets that surely reach the level, or that stay open,
    go to ``found``: (room, size).

    Returns
    -------
    verdict : int
        1: the last one of ``found`` surely reaches the level. 0: no set can but perhaps those in
        ``found``. -1: the budget did not suffice.
    kept : int
        How many are in ``found``.
    looked, work : int
        How many sets were bounded, at how many nodes together.
    """
    m, held = len(candidates), len(forced)
    n = turned.shape[1] // 4
    whole = np.empty(held + size, dtype=np.int64)
    for i in range(held):
        whole[i] = forced[i]
    words = m // _BITS + 1
    needs, covers = np.zeros((m, words), dtype=np.int64), np.empty((m, m), dtype=np.int64)
    covered = np.zeros(m, dtype=np.int64)
    _cover(above, needs, covers, covered)
    taken = np.zeros(words, dtype=np.int64)
    # Candidates at every depth of which all above are taken, and the next of them to be taken.
    ready, count = np.empty((size, m), dtype=np.int64), np.zeros(size, dtype=np.int64)
    after, at = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for j in range(m):
        if _is_ready(needs[j], taken):
            ready[0, count[0]] = j
            count[0] += 1
    stack, weights = np.empty((size, 4 * n)), np.empty(4 * n)
    cuts = np.empty(size)
    cuts[0] = _begin(table, scene, forced, n, stack[0])
    side = -1.0 if scene.positive else 1.0
    base = 0.5 + _width(table, scene, held + size, n)
    is_far = scene.far[len(scene.far) - 1] > 0.0
    work = looked = kept = depth = 0
    while depth >= 0:
        if depth < size - 1:
            if after[depth] < count[depth]:
                j = ready[depth, after[depth]]
                if m - j >= size - depth:
                    after[depth] += 1
                    at[depth] = j
                    taken[j // _BITS] |= 1 << (j % _BITS)
                    count[depth + 1] = _opened(
                        ready[depth], after[depth], count[depth], covers[j], covered[j], needs,
                        taken, ready[depth + 1],
                    )  # fmt: skip
                    if count[depth + 1]:
                        _fix(stack[depth], turned[j], n, stack[depth + 1])
                        cuts[depth + 1] = cuts[depth] - scene.gain[candidates[j]]
                        work += 3 * n + 20
                        depth += 1
                        after[depth] = 0
                    else:
                        taken[j // _BITS] &= ~(1 << (j % _BITS))
                    continue
        else:
            _weigh(table, side, stack[depth], n, weights)
            work += 2 * n + 20
            for p in range(count[depth]):
                j = ready[depth, p]
                at[depth] = j
                looked += 1
                work += n + 10
                beta = cuts[depth] - scene.gain[candidates[j]]
                if abs(beta) < 0.499:
                    upper = base + side * beta + _sum(weights, turned[j])
                    if is_far:
                        upper += moved(scene.far, abs(beta) + 2.0 * scene.blur)
                    if upper < level.low:
                        continue
                for i in range(size):
                    whole[held + i] = candidates[at[i]]
                lower, upper = set_bounds(table, scene, whole, held + size, room)
                if lower < level.high and upper >= level.low and sharp.degree > table.degree:
                    lower, upper = set_bounds(sharp, scene, whole, held + size, room)
                    work += (size + 8) * room.shape[1]
                if upper < level.low:
                    continue
                if kept == len(found):
                    return -1, kept, looked, work
                for i in range(size):
                    found[kept, i] = candidates[at[i]]
                kept += 1
                if lower >= level.high:
                    return 1, kept, looked, work
            if looked > budget.sets or work > budget.work:
                return -1, kept, looked, work
        depth -= 1
        if depth >= 0:
            taken[at[depth] // _BITS] &= ~(1 << (at[depth] % _BITS))
    return 0, kept, looked, work


# --- prices --------------------------------------------------------------------------------------


class Offers(NamedTuple):
    """Members with their prices, in an order in which nothing comes before what is above it.

    Attributes
    ----------
    units, prices : ndarray of int64, shape (n,)
    above : ndarray of bool, shape (n, n)
        Which are at least as good as which, and at most as dear.
    chain : ndarray of int64, shape (n,)
        In which list of Lemma 90 a member is; negative where fixing can hurt: there is none.
    forced : ndarray of int64
        Units that all sets hold.
    exact : bool
        Whether prices are exact. If they were rounded down, all sets that may be as cheap as the
        best are returned.
    """

    units: NDArray[np.int64]
    prices: NDArray[np.int64]
    above: NDArray[np.bool_]
    chain: NDArray[np.int64]
    forced: NDArray[np.int64]
    exact: bool


class PriceLimits(NamedTuple):
    """What sets may cost, how many members they may have, and must have; and the effort."""

    price: int
    most: int
    fewest: int
    branches: int
    room: int


class _Way(NamedTuple):
    """A way through the sets: what is taken, what was left, and what that bars; and some room."""

    taken: NDArray[np.bool_]
    left: NDArray[np.bool_]
    barred: NDArray[np.int64]
    fixed: NDArray[np.bool_]
    held: NDArray[np.int64]
    units: NDArray[np.int64]
    room: NDArray[np.float64]


@inner
def _new_way(table: Table, offers: Offers) -> _Way:
    n, forced = len(offers.units), offers.forced
    marks = np.zeros((3, n), dtype=np.bool_)
    whole = np.zeros((3, n + len(forced) + 1), dtype=np.int64)
    for i in range(len(forced)):
        whole[2, i] = forced[i]
    room = np.empty((2, len(table.node)))
    return _Way(marks[0], marks[1], whole[0], marks[2], whole[1], whole[2], room)


@inner
def _bounds_of(table: Table, scene: Scene, offers: Offers, way: _Way) -> tuple[float, float]:
    """Bound the guarantee of the members that are fixed."""
    m = len(offers.forced)
    for p in range(len(offers.units)):
        if way.fixed[p]:
            way.units[m] = offers.units[p]
            m += 1
    return set_bounds(table, scene, way.units, m, way.room)


@kernel
def cheap_set(
    table: Table,
    scene: Scene,
    offers: Offers,
    order: NDArray[np.int64],
    dearest: NDArray[np.int64],
    level: Level,
    fixed: NDArray[np.bool_],
) -> bool:
    """Take members along an order until they surely reach the level, and leave the dearest out.

    Returns whether they do, and writes the set; fixing must never hurt.
    """
    way = _new_way(table, offers)
    n = len(order)
    low, high = 0 * n, n
    while low < high:
        middle = (low + high) // 2
        for k in range(n):
            way.fixed[order[k]] = k < middle
        if _bounds_of(table, scene, offers, way)[0] >= level.high:
            high = middle
        else:
            low = middle + 1
    for k in range(n):
        way.fixed[order[k]] = k < high
    reached = _bounds_of(table, scene, offers, way)[0] >= level.high
    for k in range(n if reached else 0):
        if way.fixed[dearest[k]]:
            way.fixed[dearest[k]] = False
            if _bounds_of(table, scene, offers, way)[0] < level.high:
                way.fixed[dearest[k]] = True
    for k in range(n):
        fixed[k] = way.fixed[k]
    return reached


@inner
def _afford(offers: Offers, way: _Way, start: int, limit: int, room: int) -> int:
    """Fix the best that a price can have from a place on, and return how many that are (Lemma 90).

    Each list has the whole limit. Of prices those that are held are sorted.
    """
    n, held = len(offers.prices), way.held
    marked = last = 0
    for p in range(n):
        last = max(last, offers.chain[p] + 1)
    for chain in range(last):
        count = total = 0
        for p in range(start, n):
            price = offers.prices[p]
            if offers.chain[p] != chain or way.barred[p] > 0 or price > limit:
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
                way.fixed[p] = True
                count += 1
                marked += 1
                if count == room:
                    break
    return marked


@inner
def _bar(offers: Offers, barred: NDArray[np.int64], position: int, by: np.int64) -> None:
    """Bar what a member is above (1), or undo that (-1)."""
    for j in range(position + 1, len(offers.units)):
        if offers.above[position, j]:
            barred[j] += by


@inner
def _fix_taken(way: _Way, position: int) -> None:
    for p in range(len(way.taken)):
        way.fixed[p] = p < position and way.taken[p]


@inner
def _go_back(offers: Offers, way: _Way, position: int) -> int:
    """Go back to the last member taken, and leave it; return its place, or -1."""
    position -= 1
    while position >= 0 and not way.taken[position]:
        if way.left[position]:
            way.left[position] = False
            _bar(offers, way.barred, position, np.int64(-1))
        position -= 1
    if position >= 0:
        way.taken[position] = False
        way.left[position] = True
        _bar(offers, way.barred, position, np.int64(1))
    return position


@kernel
def branch(
    table: Table,
    scene: Scene,
    offers: Offers,
    level: Level,
    limits: PriceLimits,
    sets: NDArray[np.bool_],
    sure: NDArray[np.bool_],
) -> tuple[int, int]:
    """Go through the sets that cost at most a limit, which falls with every set that is found.

    Those that reach the level, or may, go to ``sets``, and whether they surely do to ``sure``.

    Returns
    -------
    verdict : int
        1: all sets were gone through. -1: the branches, or the room for sets, did not suffice.
    kept : int
        How many sets were written.
    """
    n = len(offers.prices)
    way = _new_way(table, offers)
    limit = limits.price
    price = size = position = kept = 0
    new = True
    for _ in range(limits.branches):
        hopeful = price <= limit
        if hopeful and n > 0 and offers.chain[0] >= 0:
            _fix_taken(way, position)
            marked = 0
            if size < limits.most:
                marked = _afford(offers, way, position, limit - price, limits.most - size)
            hopeful = marked >= limits.fewest - size
            hopeful = hopeful and _bounds_of(table, scene, offers, way)[1] >= level.low
        if hopeful and new:
            _fix_taken(way, position)
            lower, upper = _bounds_of(table, scene, offers, way)
            if upper >= level.low:
                if kept == limits.room:
                    break
                for p in range(n):
                    sets[kept, p] = way.fixed[p]
                sure[kept] = lower >= level.high
                kept += 1
            if lower >= level.high:
                limit = price - 1 if offers.exact else min(limit, price + size)
                hopeful = False
        new = False
        if hopeful and position < n and size < limits.most:
            if way.barred[position] == 0 and offers.prices[position] <= limit - price:
                way.taken[position] = new = True
                price += offers.prices[position]
                size += 1
            position += 1
            continue
        position = _go_back(offers, way, position)
        if position < 0:
            return 1, kept
        price -= offers.prices[position]
        size -= 1
        position += 1
    return -1, kept

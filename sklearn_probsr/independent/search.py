"""The search of rows on divided tables: propose a set, then refute all smaller ones.

What comes in are rows before a table (`Rows`) with several rankings of their members. `propose`
takes of each ranking the shortest prefix that surely reaches the level, leaves out what is not
needed, and keeps the smallest set. `prove` goes through smaller sets, size by size (Proposition
12), and `without_some`, where that was too much, through what is left when something is left out.

A batch is a loop over its rows: what is found of a row depends on nothing but the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.core.options import MOST_MIXED
from sklearn_probsr.independent.context import compare
from sklearn_probsr.independent.level import Level
from sklearn_probsr.independent.order import Atoms, costs_of, order_within
from sklearn_probsr.independent.refute import Budget, Scene, set_bounds, sweep, turn
from sklearn_probsr.independent.spectrum import Table

__all__ = ["Proofs", "Rows", "Sets", "follow", "measure", "propose", "prove", "without_some"]

# How many units longer than the best set a prefix may be to be worth pruning.
_LEEWAY = 4
# Where more up-sets than this are left, candidates are compared in context, so often at most.
_FEW_SETS, _ROUNDS = 1024, 3


class Rows(NamedTuple):
    """Rows before a table.

    Attributes
    ----------
    gain : ndarray of shape (rows, n)
        How far fixing a unit moves the cut down, in turns.
    cut, blur : ndarray of shape (rows,)
        Where the cut is when nothing is fixed, in turns, and what that is off by at most,
        whatever is fixed.
    positive : ndarray of bool, shape (rows,)
    mixed : ndarray of bool, shape (rows, n)
        Which units may gain when they are unknown.
    order : ndarray of int64, shape (rankings, rows, n)
        The members of every row by several promises, the first by mean cost; then the others.
    members : ndarray of int64, shape (rows,)
        How many those are.
    forced : ndarray of int64
        Units that all sets hold.
    far : ndarray
        What values that were moved change, see `spectrum.moved`.
    """

    gain: NDArray[np.float64]
    cut: NDArray[np.float64]
    blur: NDArray[np.float64]
    positive: NDArray[np.bool_]
    mixed: NDArray[np.bool_]
    order: NDArray[np.int64]
    members: NDArray[np.int64]
    forced: NDArray[np.int64]
    far: NDArray[np.float64]


class Sets(NamedTuple):
    """Sets of rows that surely reach the level; of size -1 where none was found.

    Attributes
    ----------
    units : ndarray of int64, shape (rows, n)
        The members of the set, the first ``size`` of a line, by mean cost.
    size : ndarray of int64, shape (rows,)
    lower, upper : ndarray of shape (rows,)
    """

    units: NDArray[np.int64]
    size: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class Proofs(NamedTuple):
    """What became of smaller sets.

    Attributes
    ----------
    least : ndarray of int64, shape (rows,)
        No set of fewer members reaches the level, but perhaps those that stay open.
    reached : ndarray of bool, shape (rows,)
        Whether the last of the open sets surely does.
    kept : ndarray of int64, shape (rows,)
        How many sets stay open.
    sets : ndarray of int64, shape (rows, room, size)
        Their units.
    sizes : ndarray of int64, shape (rows, room)
    """

    least: NDArray[np.int64]
    reached: NDArray[np.bool_]
    kept: NDArray[np.int64]
    sets: NDArray[np.int64]
    sizes: NDArray[np.int64]


@inner
def _scene(rows: Rows, r: int) -> Scene:
    return Scene(rows.gain[r], rows.cut[r], rows.blur[r], rows.positive[r], rows.far)


@inner
def _look(
    table: Table,
    sharp: Table,
    scene: Scene,
    fixed: NDArray[np.int64],
    m: int,
    level: Level,
    room: NDArray[np.float64],
) -> tuple[float, float]:
    """Bound a set by the first table, and by the sharp one if that leaves the level open."""
    lower, upper = set_bounds(table, scene, fixed, m, room)
    if lower < level.high and upper >= level.low and sharp.degree > table.degree:
        low, high = set_bounds(sharp, scene, fixed, m, room)
        lower, upper = max(lower, low), min(upper, high)
    return lower, upper


@inner
def _without(fixed: NDArray[np.int64], m: int, at: int, out: NDArray[np.int64]) -> None:
    for i in range(at):
        out[i] = fixed[i]
    for i in range(at + 1, m):
        out[i - 1] = fixed[i]


@kernel
def propose(
    table: Table,
    sharp: Table,
    rows: Rows,
    level: Level,
    found: Sets,
    asked: NDArray[np.bool_],
) -> None:
    """Find a small set that surely reaches the level, of some of the rows."""
    n, held = rows.gain.shape[1], len(rows.forced)
    fixed, trial = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    room = np.empty((2, max(len(table.node), len(sharp.node))))
    for i in range(held):
        fixed[i] = rows.forced[i]
    for r in range(len(rows.cut)):
        if not asked[r]:
            continue
        scene = _scene(rows, r)
        found.size[r] = -1
        length = -1
        for ranking in range(rows.order.shape[0]):
            order = rows.order[ranking, r]
            if length >= 0 and _alike(rows.order[ranking - 1, r], order, length):
                continue
            most = min(rows.members[r], len(sharp.counts) - 1 - held)
            if found.size[r] >= 0:
                most = min(most, found.size[r] + _LEEWAY)
            length = -1
            lower = upper = 0.0
            for k in range(most + 1):
                if k > 0:
                    fixed[held + k - 1] = order[k - 1]
                lower, upper = _look(table, sharp, scene, fixed, held + k, level, room)
                if lower >= level.high:
                    length = k
                    break
            if length < 0:
                continue
            size = length
            changed = True
            while changed:
                changed = False
                for at in range(held + size - 1, held - 1, -1):
                    _without(fixed, held + size, at, trial)
                    low, high = _look(table, sharp, scene, trial, held + size - 1, level, room)
                    if low >= level.high:
                        for i in range(at, held + size - 1):
                            fixed[i] = trial[i]
                        size -= 1
                        lower, upper = low, high
                        changed = True
            best = found.size[r]
            if best < 0 or size < best or (size == best and lower > found.lower[r]):
                found.size[r], found.lower[r], found.upper[r] = size, lower, upper
                for i in range(size):
                    found.units[r, i] = fixed[held + i]


@inner
def _alike(one: NDArray[np.int64], other: NDArray[np.int64], length: int) -> bool:
    """Tell whether two orders have the same prefix: what the one proposed, the other does."""
    i = 0
    while i < length and one[i] == other[i]:
        i += 1
    return i == length


@kernel
def measure(table: Table, rows: Rows, found: Sets, asked: NDArray[np.bool_]) -> None:
    """Narrow the bounds of the sets of some rows."""
    n, held = rows.gain.shape[1], len(rows.forced)
    fixed, room = np.empty(n + 1, dtype=np.int64), np.empty((2, len(table.node)))
    for i in range(held):
        fixed[i] = rows.forced[i]
    for r in range(len(rows.cut)):
        if not asked[r]:
            continue
        for i in range(found.size[r]):
            fixed[held + i] = found.units[r, i]
        lower, upper = set_bounds(table, _scene(rows, r), fixed, held + found.size[r], room)
        found.lower[r] = max(found.lower[r], lower)
        found.upper[r] = min(found.upper[r], upper)


@kernel
def follow(
    table: Table,
    sharp: Table,
    rows: Rows,
    order: NDArray[np.int64],
    level: Level,
    at: NDArray[np.int64],
    sizes: NDArray[np.int64],
    bounds: NDArray[np.float64],
) -> None:
    """Follow one order of every row's units, whatever they do.

    ``sizes`` gets the length of the shortest prefix that reaches the level, or -1 if that, or
    whether a shorter one does, is not sure; ``bounds`` those of the first ``at``.
    """
    fixed, room = np.empty(order.shape[1] + 1, dtype=np.int64), np.empty((2, len(sharp.node)))
    for r in range(len(rows.cut)):
        scene, most = _scene(rows, r), min(order.shape[1], len(sharp.counts) - 1)
        sizes[r] = -1
        bounds[r, 0], bounds[r, 1] = 0.0, 1.0
        for i in range(at[r]):
            fixed[i] = order[r, i]
        lower, upper = set_bounds(sharp, scene, fixed, at[r], room)
        bounds[r, 0], bounds[r, 1] = lower, upper
        for k in range(most + 1):
            if k > 0:
                fixed[k - 1] = order[r, k - 1]
            lower, upper = _look(table, sharp, scene, fixed, k, level, room)
            if lower >= level.high:
                sizes[r] = k
            if upper >= level.low:
                break


@kernel
def prove(
    table: Table,
    sharp: Table,
    rows: Rows,
    atoms: Atoms,
    known: NDArray[np.float64],
    same: NDArray[np.int64],
    slack: NDArray[np.float64],
    least: NDArray[np.int64],
    variance: NDArray[np.float64],
    level: Level,
    found: Sets,
    budget: Budget,
    proofs: Proofs,
) -> None:
    """Refute all sets of every row that are smaller than the one found.

    Where no member can gain, those of one member less tell of all; else sizes are gone through
    from ``least`` up (Corollary 37), below which none reaches the level. So they are where the
    budget does not suffice for that.
    """
    n, held = rows.gain.shape[1], len(rows.forced)
    kept, above = np.empty(n, dtype=np.int64), np.empty((n, n), dtype=np.bool_)
    costs = np.empty((2, len(atoms.low)))
    room = np.empty((2, max(len(table.node), len(sharp.node))))
    for r in range(len(rows.cut)):
        size = found.size[r]
        proofs.least[r], proofs.reached[r], proofs.kept[r] = least[r], False, 0
        if size <= 0 or held + size - 1 >= len(table.counts):
            continue
        scene = _scene(rows, r)
        costs_of(atoms, known[r], same[r], rows.positive[r], slack[r], costs)
        members = rows.order[0, r, : rows.members[r]]
        many = order_within(atoms, costs, slack[r], members, size - 1, kept, above)
        is_pure = True
        for u in members:
            is_pure = is_pure and not rows.mixed[r, u]
        sets, work = budget.sets, budget.work
        first = size - 1 if is_pure else least[r]
        while True:
            verdict = 0
            for s in range(first, size):
                verdict, used, looked = _refuted(
                    table, sharp, scene, variance, rows.forced, kept[:many], above, s, level,
                    Budget(sets, work, budget.room), proofs, r, room,
                )  # fmt: skip
                sets, work = sets - looked, work - used
                if verdict != 0:
                    break
                proofs.least[r] = s + 1
            proofs.reached[r] = verdict == 1
            if verdict >= 0 or first <= least[r]:
                break
            first, proofs.kept[r] = least[r], 0
            sets, work = budget.sets // 2, budget.work // 2


@inner
def _refuted(
    table: Table,
    sharp: Table,
    scene: Scene,
    variance: NDArray[np.float64],
    forced: NDArray[np.int64],
    candidates: NDArray[np.int64],
    above: NDArray[np.bool_],
    size: int,
    level: Level,
    budget: Budget,
    proofs: Proofs,
    r: int,
    room: NDArray[np.float64],
) -> tuple[int, int, int]:
    """Refute the sets of one size of a row; return the verdict, the work and how many sets.

    Where up-sets are more than a few, candidates are compared in context (Lemma 11).
    """
    first = proofs.kept[r]
    if size == 0:
        lower, upper = set_bounds(sharp, scene, forced, len(forced), room)
        if upper < level.low:
            return 0, 0, 1
        if first == budget.room:
            return -1, 0, 1
        proofs.sizes[r, first] = 0
        proofs.kept[r] = first + 1
        return int(lower >= level.high), 0, 1
    m = len(candidates)
    some, units = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    n = 0
    for b in range(m):
        more = 0
        for a in range(b):
            more += above[a, b]
        if more < size:
            some[n], units[n] = b, candidates[b]
            n += 1
    fewer = np.empty((n, n), dtype=np.bool_)
    for b in range(n):
        for a in range(n):
            fewer[a, b] = a < b and above[some[a], some[b]]
    left = proofs.sets[r, first:, :size]
    nodes = table.counts[len(forced) + size]
    nodes = min((nodes + 3) // 4 * 4, len(table.node))  # whole vectors are as quick
    lines = np.empty((n, 4 * nodes))
    verdict, kept, looked, work = -1, 0, 0, 0
    for around in range(_ROUNDS + 1):
        if n < size:
            return 0, work, looked
        turn(table, scene, units[:n], nodes, lines)
        last = around == _ROUNDS
        some_sets = budget.sets if last else min(budget.sets, _FEW_SETS)
        verdict, kept, sets, cost = sweep(
            table, sharp, scene, forced, units[:n], fewer[:n, :n], lines, size, level,
            Budget(some_sets, budget.work - work, budget.room), left, room,
        )  # fmt: skip
        looked, work = looked + sets, work + cost + 8 * n * nodes
        if last or verdict >= 0 or sets <= some_sets or work > budget.work:
            break
        before = n
        n = compare(table, scene, variance, forced, units[:n], fewer[:n, :n], size)
        work += 8 * before * nodes
    for i in range(kept):
        proofs.sizes[r, first + i] = size
    proofs.kept[r] = first + kept
    return verdict, work, looked


@kernel
def without_some(
    table: Table, sharp: Table, rows: Rows, level: Level, found: Sets, proofs: Proofs
) -> None:
    """Go through what is left of every row's set when something is left out of it.

    That is every single unit, and where units are mixed, every choice of up to `MOST_MIXED` of
    them, but for what leaves fewer than the ``least`` units, which are known not to reach the
    level. What may reach it is added to ``proofs.sets``; the count is -1 where there is no room.
    """
    n, held = rows.gain.shape[1], len(rows.forced)
    fixed = np.empty(n + 1, dtype=np.int64)
    room = np.empty((2, max(len(table.node), len(sharp.node))))
    for i in range(held):
        fixed[i] = rows.forced[i]
    for r in range(len(rows.cut)):
        scene, size = _scene(rows, r), found.size[r]
        proofs.kept[r] = 0
        if size <= proofs.least[r]:
            continue
        several = 0  # mixed units come first
        units = np.empty(size, dtype=np.int64)
        for side in (True, False):
            for i in range(size):
                if rows.mixed[r, found.units[r, i]] == side:
                    units[several] = found.units[r, i]
                    several += 1
            if side:
                mixed = several
        if mixed > MOST_MIXED:
            mixed = 0
        # Choices of mixed units as bits, and behind them the others, one by one.
        choices = (1 << mixed) - 1
        for choice in range(1, choices + size - mixed + 1):
            m = held
            for i in range(size):
                gone = choice >> i & 1 == 1 if i < mixed else i - mixed == choice - choices - 1
                if choice > choices and i < mixed:
                    gone = False
                if choice <= choices and i >= mixed:
                    gone = False
                if not gone:
                    fixed[m] = units[i]
                    m += 1
            if m - held < proofs.least[r]:
                continue
            if _look(table, sharp, scene, fixed, m, level, room)[1] >= level.low:
                k = proofs.kept[r]
                if k == proofs.sets.shape[1]:
                    proofs.kept[r] = -1
                    break
                for i in range(held, m):
                    proofs.sets[r, k, i - held] = fixed[i]
                proofs.sizes[r, k] = m - held
                proofs.kept[r] = k + 1

"""Sets before all rivals at once: bounds of single duels, and a walk through all sets of a size.

What comes in are the tables of a winner's duels, one on top of the other (`Duels`), and an instance
before each of them (`Rivals`). A class is kept if it is kept in every duel, so a set that some duel
refutes is refuted (Lemma 80). `bound_each` bounds given sets in every duel; `open_sets` goes
through all sets of a size, depth first, and returns those that no duel refutes. A duel is asked for
a set only if those before it leave the set open, and the one that refuted last is asked first: so
most sets cost one duel, and what products of other duels would be is not computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.independent.refute import (
    Budget,
    Scene,
    begin,
    fix,
    set_bounds,
    turn,
    weigh,
    width_of,
)
from sklearn_probsr.independent.spectrum import Table, moved

__all__ = ["Duels", "Rivals", "bound_each", "open_sets", "stacked"]


class Duels(NamedTuple):
    """Tables of several duels over the same units, each of its parts with an axis for the duels.

    Nodes that a duel has not are there with coefficients and factors of 0.
    """

    degree: NDArray[np.int64]
    error: NDArray[np.float64]
    counts: NDArray[np.int64]
    node: NDArray[np.float64]
    sign: NDArray[np.float64]
    vaaler: NDArray[np.float64]
    fejer: NDArray[np.float64]
    whole: NDArray[np.float64]
    inverse: NDArray[np.float64]


class Rivals(NamedTuple):
    """An instance before the tables of its duels.

    Attributes
    ----------
    gain : ndarray of shape (duels, n)
        How far fixing a unit moves the cut of a duel down, in turns.
    cut, blur : ndarray of shape (duels,)
        Where the cuts are when nothing is fixed, in turns, and what they are off by at most,
        whatever is fixed.
    positive : ndarray of bool, shape (duels,)
        Whether the class is kept above the cut.
    far : ndarray of shape (duels, entries)
        What values that were moved change, see `far_table`.
    """

    gain: NDArray[np.float64]
    cut: NDArray[np.float64]
    blur: NDArray[np.float64]
    positive: NDArray[np.bool_]
    far: NDArray[np.float64]


def stacked(tables: Sequence[Table]) -> Duels:
    """Put the tables of several duels on top of each other.

    Parameters
    ----------
    tables : sequence of Table
        Of the same units, with two parts each.

    Returns
    -------
    Duels
        They know sets as large as all of the tables do.
    """
    most, nodes = min(table.most for table in tables), max(len(table.node) for table in tables)

    def padded(part: NDArray[np.float64]) -> NDArray[np.float64]:
        room = [(0, 0)] * (part.ndim - 1)
        return np.pad(part, [*room, (0, nodes - part.shape[-1])])

    def each(name: str) -> NDArray[np.float64]:
        return np.stack([padded(getattr(table, name)) for table in tables])

    return Duels(
        np.array([table.degree for table in tables]),
        np.array([table.error for table in tables]),
        np.stack([table.counts[: most + 1] for table in tables]),
        each("node"), each("sign"), each("vaaler"), each("fejer"), each("whole"), each("inverse"),
    )  # fmt: skip


@inner
def _table(duels: Duels, j: int) -> Table:
    return Table(
        duels.degree[j], 1.0, duels.error[j], duels.counts[j], duels.node[j], duels.sign[j],
        duels.vaaler[j], duels.fejer[j], duels.whole[j], duels.inverse[j], duels.inverse[j],
    )  # fmt: skip


@inner
def _scene(rivals: Rivals, j: int) -> Scene:
    return Scene(rivals.gain[j], rivals.cut[j], rivals.blur[j], rivals.positive[j], rivals.far[j])


@kernel
def bound_each(
    duels: Duels,
    rivals: Rivals,
    units: NDArray[np.int64],
    sizes: NDArray[np.int64],
    bounds: NDArray[np.float64],
) -> None:
    """Bound some sets in every duel.

    The members of a set are the first ``sizes[i]`` of ``units[i]``; ``bounds`` has a line for each
    set, with two numbers for each duel: (sets, duels, 2).
    """
    room = np.empty((2, duels.node.shape[1]))
    for j in range(len(rivals.cut)):
        table, scene = _table(duels, j), _scene(rivals, j)
        for i in range(len(units)):
            lower, upper = set_bounds(table, scene, units[i], sizes[i], room)
            bounds[i, j, 0] = lower
            bounds[i, j, 1] = upper


@kernel
def open_sets(
    duels: Duels,
    rivals: Rivals,
    forced: NDArray[np.int64],
    members: NDArray[np.int64],
    size: int,
    low: float,
    budget: Budget,
    found: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Write the sets of so many members, beside what is forced, that no duel refutes.

    A duel refutes a set whose upper bound is below ``low``. Members of what stays open go to
    ``found``: (room, size), with size 1 at least. Bounds are those of Proposition 202.

    Returns
    -------
    kept : int
        How many sets are in ``found``; -1 if there is no room for all, or the budget is spent.
    looked, work : int
        How many sets were looked at, and at how many nodes of duels together.
    """
    k, m, held = len(rivals.cut), len(members), len(forced)
    most = 0
    nodes = np.empty(k, dtype=np.int64)
    for j in range(k):
        nodes[j] = duels.counts[j, held + size]
        most = max(most, nodes[j])
    lines, stack = np.empty((k, m, 4 * most)), np.empty((size, k, 4 * most))
    weights, cuts, base = np.empty((k, 4 * most)), np.empty((size, k)), np.empty(k)
    asked, ranks = np.zeros(k, dtype=np.bool_), np.empty(k, dtype=np.int64)
    # How many products of each duel are those of what is taken, and whether it is weighed.
    depths, weighed = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.bool_)
    at, whole = np.empty(size, dtype=np.int64), np.empty(held + size, dtype=np.int64)
    room = np.empty((2, duels.node.shape[1]))
    for j in range(k):
        ranks[j] = j
    for i in range(held):
        whole[i] = forced[i]
    is_far = rivals.far.shape[1] > 1
    kept = looked = work = depth = 0
    at[0] = -1
    while depth >= 0:
        if depth < size - 1:
            at[depth] += 1
            if m - at[depth] >= size - depth:
                for j in range(k):
                    depths[j] = min(depths[j], depth)
                depth += 1
                at[depth] = at[depth - 1]
                continue
            depth -= 1
            continue
        for j in range(k):
            weighed[j] = False
            depths[j] = min(depths[j], depth)
        for p in range(at[depth] + 1, m):
            looked += 1
            is_open = True
            for q in range(k):
                j = ranks[q]
                n, side = nodes[j], -1.0 if rivals.positive[j] else 1.0
                if not asked[j]:
                    table, scene = _table(duels, j), _scene(rivals, j)
                    turn(table, scene, members, n, lines[j])
                    cuts[0, j] = begin(table, scene, forced, n, stack[0, j])
                    base[j] = 0.5 + width_of(table, scene, held + size, n)
                    asked[j] = True
                    work += 8 * m * n
                if not weighed[j]:
                    for d in range(depths[j], depth):
                        c = at[d]
                        fix(stack[d, j], lines[j, c], n, stack[d + 1, j])
                        cuts[d + 1, j] = cuts[d, j] - rivals.gain[j, members[c]]
                        work += 3 * n
                    depths[j] = depth
                    weigh(
                        duels.vaaler[j], duels.fejer[j], duels.sign[j], side, stack[depth, j], n,
                        weights[j],
                    )  # fmt: skip
                    weighed[j] = True
                    work += 2 * n + 20
                work += n + 10
                beta = cuts[depth, j] - rivals.gain[j, members[p]]
                if abs(beta) < 0.499:
                    upper = base[j] + side * beta
                    for i in range(4 * n):
                        upper += weights[j, i] * lines[j, p, i]
                    if is_far:
                        upper += moved(rivals.far[j], abs(beta) + 2.0 * rivals.blur[j])
                else:
                    for i in range(depth):
                        whole[held + i] = members[at[i]]
                    whole[held + depth] = members[p]
                    table, scene = _table(duels, j), _scene(rivals, j)
                    upper = set_bounds(table, scene, whole, held + size, room)[1]
                if upper < low:
                    is_open = False
                    for i in range(q, 0, -1):
                        ranks[i] = ranks[i - 1]
                    ranks[0] = j
                    break
            if is_open:
                if kept == len(found):
                    return -1, looked, work
                for i in range(depth):
                    found[kept, i] = members[at[i]]
                found[kept, depth] = members[p]
                kept += 1
        if looked > budget.sets or work > budget.work:
            return -1, looked, work
        depth -= 1
    return kept, looked, work

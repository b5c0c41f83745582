"""Stochastic order: which units cost more than which, whatever the level (Lemma 10).

What comes in are the values of units, flat, and what those of a row are worth; what goes out is
which of its members are *above* which: fixing one that is above in place of the other never lowers
the guarantee. A pair may be missed, none is wrong (Lemma 29).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel

__all__ = ["Atoms", "costs_of", "order_members", "order_within"]


class Atoms(NamedTuple):
    """The values of units, those of each by what they cost a class, the least first.

    Attributes
    ----------
    start : ndarray of int64, shape (n + 1,)
    low, high : ndarray of shape (atoms,)
        What each value is at least and at most: the same where it is known.
    below : ndarray of int64, shape (atoms,)
        How likely a cost up to and including the value is: whole parts, or ranks of them.
    limit : float
        Costs that are beyond this are held there: they are as large, and not told apart.
    """

    start: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    below: NDArray[np.int64]
    limit: float


@inner
def costs_of(
    atoms: Atoms,
    known: NDArray[np.float64],
    same: NDArray[np.int64],
    positive: bool,
    slack: float,
    out: NDArray[np.float64],
) -> None:
    """Write what the values of every unit cost a row at least, and at most: (2, atoms).

    These are exact numbers if there is no slack. ``known`` is what the units of the row are worth,
    and ``same`` says which value of a unit that is, -1 if none. With slack, 0 is what is known to
    be 0.
    """
    for u in range(len(known)):
        first = atoms.start[u]
        for i in range(first, atoms.start[u + 1]):
            for side in range(2):
                value = atoms.high[i] if (side == 0) == positive else atoms.low[i]
                cost = known[u] - value if positive else value - known[u]
                if slack > 0.0:
                    cost = min(max(cost, -atoms.limit), atoms.limit)
                    if i - first == same[u]:
                        cost = 0.0
                    elif cost == 0.0:
                        cost = slack / 4.0  # it only looks so
                out[side, i] = cost


@inner
def _costs_more(atoms: Atoms, costs: NDArray[np.float64], slack: float, i: int, j: int) -> bool:
    """Tell whether ``Pr[D_j <= t] >= Pr[D_i <= t]`` at every t; i's atoms suffice (Lemma 29).

    Costs are known to within ``slack`` / 2: those of i at least, and those of j at most.
    """
    below, least, most = atoms.below, costs[0], costs[1]
    at, last = atoms.start[j] - 1, atoms.start[j + 1] - 1
    x, y = most[last], least[atoms.start[i + 1] - 1]
    if x + slack > y and not (x == 0.0 and y == 0.0):
        return False
    for a in range(atoms.start[i], atoms.start[i + 1]):
        y = least[a]
        while at < last:
            x = most[at + 1]
            if x + slack > y and not (x == 0.0 and y == 0.0):
                break
            at += 1
        if at < atoms.start[j] or below[at] < below[a]:
            return False
    return True


@inner
def order_within(
    atoms: Atoms,
    costs: NDArray[np.float64],
    slack: float,
    members: NDArray[np.int64],
    size: int,
    kept: NDArray[np.int64],
    above: NDArray[np.bool_],
) -> int:
    """Write the members that an up-set of a size can hold, and which of them are above which.

    Members come by decreasing mean cost: only one that comes before another can be above it. One
    that has ``size`` above it is in no up-set (Proposition 12), and what it is above has as many.
    Returns how many are kept; there is room for all.
    """
    n = 0
    for b in range(len(members)):
        more = 0
        for a in range(n):
            is_above = _costs_more(atoms, costs, slack, kept[a], members[b])
            above[a, n] = is_above
            if is_above:
                more += 1
                if more >= size:
                    break
        if more < size:
            kept[n] = members[b]
            for a in range(n + 1):
                above[n, a] = False
            n += 1
    return n


@kernel
def order_members(
    atoms: Atoms,
    known: NDArray[np.float64],
    same: NDArray[np.int64],
    positive: bool,
    slack: float,
    members: NDArray[np.int64],
    above: NDArray[np.bool_],
) -> None:
    """Write which of all members, by decreasing mean cost, are above which: (n, n)."""
    costs = np.empty((2, len(atoms.low)))
    costs_of(atoms, known, same, positive, slack, costs)
    order_within(
        atoms, costs, slack, members, len(members) + 1, np.empty(len(members), np.int64), above
    )

"""Stochastic order: which units cost more than which, whatever the level (Lemma 10).

What i costs exceeds any level at least as likely as what j costs; then fixing i in place of j never
lowers the guarantee, and i is *above* j. That is decided exactly, on ranks, or in floats with a
slack that is larger than their rounding: a pair may be missed, none is wrong (Lemma 29).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel

__all__ = ["Laws", "undominated", "within"]


class Laws(NamedTuple):
    """What units cost, as far as comparing them goes; atoms are in increasing order of cost.

    ``values`` are ranks, or numbers known to within ``slack`` / 2; ``below`` ranks the probability
    of a cost up to and including the atom.
    """

    starts: NDArray[np.int64]  # (laws + 1,)
    values: NDArray[np.float64]  # (atoms,)
    below: NDArray[np.int64]  # (atoms,)
    slack: float


@inner
def _costs_more(laws: Laws, i: int, j: int) -> bool:
    """Tell whether ``Pr[D_j <= t] >= Pr[D_i <= t]`` at every t; i's atoms suffice (Lemma 29)."""
    at = laws.starts[j] - 1
    last = laws.starts[j + 1] - 1
    if laws.values[last] + laws.slack > laws.values[laws.starts[i + 1] - 1]:
        return False
    for a in range(laws.starts[i], laws.starts[i + 1]):
        while at < last and laws.values[at + 1] + laws.slack <= laws.values[a]:
            at += 1
        if at < laws.starts[j] or laws.below[at] < laws.below[a]:
            return False
    return True


@kernel
def undominated(laws: Laws, members: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the positions of members that some up-set of a size can hold: few are above them.

    Members come by decreasing mean cost: only one that comes before another can be above it.
    """
    kept = np.empty(len(members), dtype=np.int64)
    n = 0
    for b in range(len(members)):
        above = 0
        for a in range(b):
            if _costs_more(laws, members[a], members[b]):
                above += 1
                if above >= size:
                    break
        if above < size:
            kept[n] = b
            n += 1
    return kept[:n]


@kernel
def within(laws: Laws, members: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which members are above which that come later: ``[a, b]`` says that a is above b."""
    n = len(members)
    above = np.empty((n, n), dtype=np.bool_)
    above[:] = False
    for a in range(n):
        for b in range(a + 1, n):
            above[a, b] = _costs_more(laws, members[a], members[b])
    return above

"""Needs: how many members each row needs on its own, and which rows need most.

These refute most sets, so that a search need not have a table of the others (Lemma 160).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._counts import Rows

__all__ = ["Hardest", "Needs", "hardest", "needs_of"]

# Rows are told apart by what they need up to such a part of a member.
_PARTS = 8


class Needs(NamedTuple):
    """How many members each row needs on its own, those that gain it the most first (Lemma 32)."""

    each: NDArray[np.float32]  # (n,): of the last member only a part; ``most`` if more are needed
    weight: NDArray[np.int64]  # (most + 1,): of the rows that need 0, 1, 2, ... members

    @property
    def most(self) -> int:
        """Rows that need so many, or more, are not told apart."""
        return len(self.weight) - 1

    @property
    def most_kept(self) -> NDArray[np.int64]:
        """The most weight that 0, 1, 2, ... members can bring to the floor (Lemma 32)."""
        return self.weight[:-1].cumsum()


@inner
def _needs_alone(rows: Rows, i: int, floor: int, most: int, gain: NDArray[np.int64]) -> float:
    """Return how many members, the best for it first, bring one margin to the floor.

    ``gain`` is written over, but for the last, which stays 0: nothing to gain.
    """
    h = len(rows.gains)
    margin = rows.margins[i]
    if margin >= floor:
        return 0.0
    for j in range(h):
        gain[j] = rows.gains[j, i]
    for size in range(most):
        best = h
        for j in range(h):
            if gain[j] > gain[best]:
                best = j
        if best == h:
            break
        if margin + gain[best] >= floor:
            return float(size + (floor - margin) / gain[best])
        margin += gain[best]
        gain[best] = 0
    return float(most)


@kernel
def _needs(rows: Rows, floor: int, each: NDArray[np.float32], weight: NDArray[np.int64]) -> None:
    """Write down what each row needs before that rival to whom it needs most."""
    n = len(rows.weights)
    rivals = len(rows.margins) // max(n, 1)
    gain = np.zeros(len(rows.gains) + 1, dtype=np.int64)
    for r in range(n):
        need = 0.0
        for i in range(r * rivals, (r + 1) * rivals):
            need = max(need, _needs_alone(rows, i, floor, len(weight) - 1, gain))
        each[r] = need
        weight[int(np.ceil(need))] += rows.weights[r]


def needs_of(rows: Rows, floor: int, most: int) -> Needs:
    """Return what each row needs on its own, up to ``most`` members."""
    n = len(rows.weights)
    found = Needs(np.empty(n, dtype=np.float32), np.zeros(most + 1, dtype=np.int64))
    _needs(rows, floor, *found)
    return found


class Hardest(NamedTuple):
    """Rows that a search has a table of, and what is known of the others."""

    places: NDArray[np.intp]  # those that need most first
    lost: int  # the weight of the rows that no set of so many members brings to the floor
    whole: bool  # whether there are no others that a set decides


def hardest(rows: Rows, size: int, needs: Needs, many: int) -> Hardest:
    """Return at most so many of the rows that sets of up to ``size`` members decide (Lemma 160)."""
    lost = int(rows.weights[needs.each > size].sum())
    possible = np.flatnonzero(needs.each <= size)
    # In whole parts: of rows that need about as much, those side by side stay so.
    parts = (_PARTS * (size - needs.each[possible])).astype(np.uint16)
    order = np.argsort(parts, kind="stable")[:many]
    return Hardest(possible[order], lost, len(possible) <= many)

"""Exchange before all rivals at once: which units are worth fixing rather than which.

A unit costs an instance a vector, one number for each duel. If a coupling of two units makes the
costs of i at least those of j in all duels, fixing i in place of j never lowers the guarantee
(Lemma 146). That the costs are ordered in each duel by itself is necessary. It suffices for units
in two states, and for units whose states have one order in all duels (Lemma 147); for others a
coupling is looked for (Lemma 148).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from operator import le
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.independent.contributions import Listed
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.laws.sums._independent import IndependentLaw

__all__ = ["Costs", "StateWorths", "above_in_all", "is_coupled", "orders_suffice"]

# A coupling is looked for between units of so many states each.
_MOST_COUPLED = 24
# Units with more states than this together are not compared before all rivals at once.
_MOST_STATES = 2**14

# Whole numbers are compared many times as fast.
Number = Fraction | int


class Costs(NamedTuple):
    """What a unit may cost before each rival, state by state, and how likely each state is."""

    vectors: list[tuple[Number, ...]]
    chances: list[int]

    @classmethod
    def of(cls, vectors: Sequence[Sequence[Number]], chances: Sequence[int]) -> Costs:
        """Return those of a unit; states that never occur are left out, equal ones put together."""
        law: dict[tuple[Number, ...], int] = {}
        for vector, chance in zip(vectors, chances, strict=True):
            if chance:
                law[tuple(vector)] = law.get(tuple(vector), 0) + chance
        return cls(sorted(law), [law[vector] for vector in sorted(law)])

    @property
    def is_constant(self) -> bool:
        """Whether the unit always costs the same."""
        return len(self.vectors) == 1

    @property
    def is_binary(self) -> bool:
        """Whether the unit costs nothing, or one vector."""
        return self.is_constant or (len(self.vectors) == 2 and not all(map(any, self.vectors)))

    def directions(self) -> list[int] | None:
        """Return in which direction costs go in each duel along one order of states.

        1 is up, -1 down, 0 neither; None: there is no such order.
        """
        found = []
        for costs in zip(*self.vectors, strict=True):  # states are in the order of their vectors
            steps = [(b > a) - (b < a) for a, b in pairwise(costs)]
            if 1 in steps and -1 in steps:
                return None
            found.append(max(steps, key=abs, default=0))
        return found


class StateWorths:
    """What every state of a unit contributes before each rival of one winner.

    Parameters
    ----------
    duels : list of IndependentLaw
        Those of the winner with each rival.
    source : Source
        What units may be.
    """

    def __init__(self, duels: list[IndependentLaw], source: Source) -> None:
        self.duels, self.source = duels, source

    @property
    def known(self) -> bool:
        """Whether the states are listed, and not too many."""
        each = (duel.contributions for duel in self.duels)
        return all(isinstance(seen, Listed) and seen.atoms <= _MOST_STATES for seen in each)

    @cached_property
    def _each(self) -> list[tuple[int, list[list[int]]]]:
        """What units contribute before each rival, so many times as large, in whole numbers."""
        found = []
        for duel in self.duels:
            worths = [values for values, _ in self.source.worths(duel.linear)]
            times = math.lcm(*(value.denominator for values in worths for value in values))
            found.append((times, [[int(value * times) for value in values] for values in worths]))
        return found

    @cached_property
    def _chances(self) -> list[list[int]]:
        return [list(chances) for _, chances in self.source.worths(self.duels[0].linear)]

    def costs(self, unit: int, known: Sequence[Fraction]) -> Costs:
        """Return what a unit may cost, if it contributes so much before each rival as it is.

        Costs before one rival are all as many times as large, which no comparison minds.
        """
        costs = []
        for (times, worths), value in zip(self._each, known, strict=True):
            own: Number = value * times
            own = int(own) if own.denominator == 1 else own
            costs.append([own - worth for worth in worths[unit]])
        return Costs.of(list(zip(*costs, strict=True)), self._chances[unit])


class _Unit:
    """A unit with what is looked at once."""

    def __init__(self, costs: Costs) -> None:
        self.costs = costs

    @cached_property
    def directions(self) -> list[int] | None:
        return self.costs.directions()


def above_in_all(
    members: Sequence[int], orders: Sequence[NDArray[np.bool_]], costs: Callable[[int], Costs]
) -> NDArray[np.bool_]:
    """Return which members are above which later ones before all rivals at once.

    ``orders`` says that of each duel by itself, and ``costs`` what a unit may cost.
    """
    above: NDArray[np.bool_] = np.all(np.stack(orders), axis=0)
    units: dict[int, _Unit] = {}
    for a, b in np.argwhere(above).tolist():
        for place in (a, b):
            if place not in units:
                units[place] = _Unit(costs(members[place]))
        above[a, b] = _is_above(units[a], units[b])
    return above


def _is_above(one: _Unit, other: _Unit) -> bool:
    if _orders_suffice(one, other):
        return True
    if max(len(one.costs.vectors), len(other.costs.vectors)) > _MOST_COUPLED:
        return False
    return is_coupled(one.costs, other.costs)


def orders_suffice(one: Costs, other: Costs) -> bool:
    """Tell whether orders in the single duels imply one coupling for all (Lemma 147)."""
    return _orders_suffice(_Unit(one), _Unit(other))


def _orders_suffice(one: _Unit, other: _Unit) -> bool:
    if one.costs.is_constant or other.costs.is_constant:
        return True
    if one.costs.is_binary and other.costs.is_binary:
        return True
    if one.directions is None or other.directions is None:
        return False
    signs = [a * b for a, b in zip(one.directions, other.directions, strict=True)]
    return not (1 in signs and -1 in signs)


def is_coupled(one: Costs, other: Costs) -> bool:
    """Tell whether a coupling makes one cost at least what the other does, in all duels.

    Probability is sent from states of the other to states of one that cost no less (Lemma 148),
    along shortest paths until none is left (Edmonds and Karp 1972).
    """
    there = [
        [b for b, high in enumerate(one.vectors) if all(map(le, low, high))]
        for low in other.vectors
    ]
    back: list[dict[int, int]] = [{} for _ in one.vectors]  # what came from where
    left, room = list(other.chances), list(one.chances)
    while any(left):
        path = _path(there, back, left, room)
        if path is None:
            return False
        start, steps = path
        amount = min(left[start], room[steps[-1][1]])
        for (_, b), (a, _) in pairwise(steps):
            amount = min(amount, back[b][a])
        left[start] -= amount
        room[steps[-1][1]] -= amount
        for at, (a, b) in enumerate(steps):
            back[b][a] = back[b].get(a, 0) + amount
            if at + 1 < len(steps):
                back[b][steps[at + 1][0]] -= amount
    return True


def _path(
    there: list[list[int]], back: list[dict[int, int]], left: list[int], room: list[int]
) -> tuple[int, list[tuple[int, int]]] | None:
    """Return a shortest way for what is left of a state to one with room, step by step."""
    came: dict[int, tuple[int, int]] = {}  # state with room -> (from, the state before)
    start = {a: -1 for a, amount in enumerate(left) if amount}
    queue = deque(start)
    while queue:
        a = queue.popleft()
        for b in there[a]:
            if b in came:
                continue
            came[b] = (a, start[a])
            if room[b]:
                return _steps(b, came)
            for other, amount in back[b].items():
                if amount and other not in start:
                    start[other] = b
                    queue.append(other)
    return None


def _steps(last: int, came: dict[int, tuple[int, int]]) -> tuple[int, list[tuple[int, int]]]:
    steps: list[tuple[int, int]] = []
    while last >= 0:
        a, before = came[last]
        steps.append((a, last))
        last = before
    return steps[-1][0], steps[::-1]

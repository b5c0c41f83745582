"""A view is one instance before a law: what every question asks.

A rest is what the unknown units leave to be lost, when some facts of an instance are worth less.
Where unknown units do not depend on the instance, the guarantee of a set depends on its facts only
through the sum of what they add towards the class, and grows with it (Proposition 58). A rest is
that function of the sum, at one level, delta: it says whether delta still holds when the facts are
worth less by so much. With several classes there is one sum, and one loss, for each duel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import LinearModel

__all__ = ["TOL", "Duel", "Rest", "Row", "View", "is_open"]

# Width to which the guarantee of an answer is computed.
TOL = 1e-4

Row = NDArray[np.float64] | NDArray[np.bool_]


class View(ABC):
    """One instance before a law.

    Parameters
    ----------
    n_units : int
        How many features the instance has.

    Attributes
    ----------
    chain : bool
        Whether of every size the first features of an order are the best set (Corollary 6).
    """

    chain = False

    @property
    def whole_parts(self) -> int | None:
        """Of how many parts guarantees are whole numbers; None if they may be anything."""
        return None

    def __init__(self, n_units: int) -> None:
        self.n_units = n_units

    @abstractmethod
    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown can cost anything: whether fixing it can help."""

    @abstractmethod
    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown can gain anything: whether fixing it can hurt."""

    @abstractmethod
    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set, until delta is on one side or it is narrow enough."""

    @abstractmethod
    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return orders of some units that promise short reasons; the first is by mean cost."""

    @abstractmethod
    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class.

        One number for each size: with the first 0, 1, 2, ... of an order fixed beside what is
        forced. The completions are the same for all sizes.
        """

    def answer(self, fixed: Collection[int], tol: float) -> Enclosure:
        """Enclose the guarantee of a set for a reader, by an estimate if nothing better is had."""
        return self.enclose(fixed, None, tol)

    def certain_along(self, order: Sequence[int]) -> list[bool] | None:
        """Tell for each size along an order whether the class is kept for certain.

        None if only enclosures can tell.
        """
        return None

    def matches(self, features: Collection[int]) -> Any:
        """Return how many rows share the facts of a set, where that is what is counted."""
        return None

    def members(self) -> list[int]:
        """Return the units that fixing can help."""
        return [u for u in range(self.n_units) if self.can_cost(u)]

    def ranking(self) -> list[int]:
        """Return all units in the order of a curve: those first that fixing can help."""
        members = self.members()
        inside = set(members)
        others = [u for u in range(self.n_units) if u not in inside]
        return [*self.orders(members, ())[0], *self.orders(others, ())[0]]

    def along(self, order: Sequence[int], tol: float) -> list[Enclosure]:
        """Enclose the guarantee with the first 0, 1, 2, ... of an order fixed.

        If fixing never hurts, a list that ends with certainty may be shorter.
        """
        found = []
        for k in range(len(order) + 1):
            found.append(self.enclose(order[:k], None, tol))
            if found[-1].exact == 1 and self.monotone:
                break
        return found

    @cached_property
    def monotone(self) -> bool:
        """Whether fixing a unit that can help never hurts."""
        return not any(self.can_gain(u) for u in self.members())


def is_open(model: LinearModel, positive: bool) -> bool:
    """Tell whether a class needs more than the threshold, so that a tie is not its own."""
    return model.strict == positive


class Duel(NamedTuple):
    """A decision between two classes, and which of them is to be kept."""

    model: LinearModel
    positive: bool

    @property
    def sign(self) -> int:
        """1 if a larger sum is good for the class, else -1."""
        return 1 if self.positive else -1


class Rest(ABC):
    """What may be lost of some facts of an instance; see `Law.rest`.

    Parameters
    ----------
    duels : list of Duel
        One for each rival of the class.
    delta : Fraction
        The level that is to hold.
    """

    # Whether a guarantee is a count, so that each question has an answer.
    exact = False

    def __init__(self, duels: list[Duel], delta: Fraction) -> None:
        self.duels, self.delta = duels, delta

    @abstractmethod
    def enclose(self, losses: Sequence[Fraction]) -> Enclosure:
        """Enclose the guarantee of the facts if they were worth less, in each duel by so much."""

    def holds(self, losses: Sequence[Fraction]) -> bool | None:
        """Tell whether delta is proved to hold with such losses; None where that is open."""
        return (self.enclose(losses) >= self.delta).value

    def verdict(self, losses: Sequence[Fraction]) -> bool | None:
        """Tell the same as sharply as can be, where `holds` may only say that it is open."""
        return self.holds(losses)

    @abstractmethod
    def room(self, used: Sequence[Fraction], direction: Sequence[Fraction]) -> float:
        """Return about how many times a direction can be lost on top of what is used.

        A guide, at least 0; whether it holds is asked afterwards.
        """

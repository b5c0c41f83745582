"""Sides: the ways in which a fact can be widened, step by step, and what each step may lose."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Duel, Row
from sklearn_probsr.model.numbers import about
from sklearn_probsr.model.sparse import columns_of
from sklearn_probsr.rules._unit_values import Numbers, States, Values

__all__ = ["NumberSide", "Side", "StateSide", "sides_of"]


class Side(ABC):
    """One way in which a fact can be widened: value after value, each worse than those before.

    Attributes
    ----------
    unit : int
    steps : int
        How many values there are beyond the fact.
    """

    unit: int
    steps: int

    @abstractmethod
    def losses(self, step: int) -> list[Fraction]:
        """Return what is lost at worst, in each duel, when so many values are taken in."""

    @abstractmethod
    def costs(self, rows: Any, rates: Sequence[float]) -> NDArray[np.float64]:
        """Return about what must be lost for each of some rows to be taken in.

        ``rates`` are what a loss costs in each duel; the dearest counts.
        """

    @abstractmethod
    def reached(self, share: float, rates: Sequence[float]) -> int:
        """Return about how many values can be taken in for a share."""


class NumberSide(Side):
    """The numbers below the fact, or those above it, the nearest first."""

    def __init__(self, unit: int, kind: Numbers, row: Row, duels: Sequence[Duel], up: bool) -> None:
        self.unit, self.kind, self.up = unit, kind, up
        self.own = float(row[kind.column])
        if up:
            self.chain = kind.known[np.searchsorted(kind.known, self.own, side="right") :]
        else:
            self.chain = kind.known[: np.searchsorted(kind.known, self.own, side="left")][::-1]
        self.steps = len(self.chain)
        sign = -1 if up else 1
        worths = [sign * d.sign * Fraction(d.model.weights[kind.column]) for d in duels]
        self.worths = worths
        self.slopes = [max(worth, Fraction(0)) for worth in worths]

    def at(self, step: int) -> float:
        """Return the last number that is taken in."""
        return float(self.chain[step - 1]) if step else self.own

    def losses(self, step: int) -> list[Fraction]:
        """Return what is lost at worst, in each duel, when so many values are taken in."""
        return self.losses_at(self.at(step))

    def losses_at(self, value: float) -> list[Fraction]:
        """Return what is lost, in each duel, when all numbers up to one are taken in."""
        away = abs(Fraction(self.own) - Fraction(value))
        return [slope * away for slope in self.slopes]

    def signed_at(self, value: float) -> list[Fraction]:
        """Return what one number loses in each duel; less than nothing if it gains."""
        away = abs(Fraction(self.own) - Fraction(value))
        return [worth * away for worth in self.worths]

    def rate(self, rates: Sequence[float]) -> float:
        """Return about what a step of one costs."""
        each = [about(s) * r for s, r in zip(self.slopes, rates, strict=True) if s]
        return max(each, default=0.0)

    def costs(self, rows: Any, rates: Sequence[float]) -> NDArray[np.float64]:
        """Return about what must be lost for each of some rows to be taken in."""
        values = columns_of(rows, [self.kind.column])[:, 0].astype(np.float64)
        away = np.maximum(values - self.own if self.up else self.own - values, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.nan_to_num(away * self.rate(rates), nan=0.0, posinf=np.inf)

    def reached(self, share: float, rates: Sequence[float]) -> int:
        """Return about how many values can be taken in for a share."""
        last = self.beyond(share, rates)
        if self.up:
            return int(np.searchsorted(self.chain, last, side="right"))
        return int(np.searchsorted(-self.chain, -last, side="right"))

    def beyond(self, share: float, rates: Sequence[float], start: float | None = None) -> float:
        """Return about how far a share reaches, from the fact on or from another number."""
        rate, begin = self.rate(rates), self.own if start is None else start
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            away = float(np.float64(share) / rate) if rate else math.inf
        return begin + away if self.up else begin - away


class StateSide(Side):
    """The states that are worse than the fact, the least bad first."""

    def __init__(
        self, unit: int, kind: States, row: Row, duels: Sequence[Duel], values: Values
    ) -> None:
        self.unit, self.kind = unit, kind
        own = kind.known.index(tuple(float(row[j]) for j in kind.columns))
        worths = [values.worths(unit, kind, duel) for duel in duels]
        self._losses = [[each[own] - c for c in each] for each in worths]
        worst = [max(loss) for loss in zip(*self._losses, strict=True)]
        self.free = [s for s, loss in enumerate(worst) if loss <= 0]
        others = [s for s, loss in enumerate(worst) if loss > 0]
        self.order = sorted(others, key=lambda s: (worst[s], s))
        self.steps = len(others)

    def bring_forward(self, state: int, step: int) -> None:
        """Make a state the next to be taken in after so many."""
        others = [s for s in self.order[step:] if s != state]
        self.order = [*self.order[:step], state, *others]

    def admitted(self, step: int) -> list[int]:
        """Return the states that are taken in, in their own order."""
        return sorted([*self.free, *self.order[:step]])

    def losses(self, step: int) -> list[Fraction]:
        """Return what is lost at worst, in each duel, when so many values are taken in."""
        inside = self.order[:step]
        if len(self._losses) == 1:
            return [self._losses[0][inside[-1]] if inside else Fraction(0)]
        return [max([Fraction(0), *(each[s] for s in inside)]) for each in self._losses]

    def signed(self, state: int) -> list[Fraction]:
        """Return what one state loses in each duel; less than nothing if it gains."""
        return [each[state] for each in self._losses]

    def _priced(self, rates: Sequence[float]) -> NDArray[np.float64]:
        prices = np.zeros(len(self.kind.known))
        for each, rate in zip(self._losses, rates, strict=True):
            for s, loss in enumerate(each):
                if loss > 0:
                    prices[s] = max(prices[s], about(loss) * rate)
        return prices

    @cached_property
    def _places(self) -> dict[tuple[float, ...], int]:
        return {state: s for s, state in enumerate(self.kind.known)}

    def costs(self, rows: Any, rates: Sequence[float]) -> NDArray[np.float64]:
        """Return about what must be lost for each of some rows to be taken in."""
        part = columns_of(rows, self.kind.columns).astype(np.float64)
        prices = self._priced(rates)
        found: NDArray[np.float64]
        if len(self.kind.columns) == 1 and len(self.kind.known) == 2:
            first, second = self.kind.known
            found = np.where(part[:, 0] == first[0], prices[0], np.inf)
            found[part[:, 0] == second[0]] = prices[1]
            return found
        at = [self._places.get(tuple(values), -1) for values in part.tolist()]
        found = np.append(prices, np.inf)[at]
        return found

    def reached(self, share: float, rates: Sequence[float]) -> int:
        """Return about how many values can be taken in for a share."""
        prices = self._priced(rates)
        return next((k for k, s in enumerate(self.order) if prices[s] > share), self.steps)


def sides_of(
    features: Sequence[int], row: Row, duels: Sequence[Duel], values: Values
) -> list[Side]:
    """Return the sides of some facts of an instance."""
    found: list[Side] = []
    for u in features:
        kind = values.of(u, row)
        if isinstance(kind, States):
            found.append(StateSide(u, kind, row, duels, values))
            continue
        for up in (False, True):
            side = NumberSide(u, kind, row, duels, up)
            if any(side.slopes):
                found.append(side)
    return found

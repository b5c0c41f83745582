"""Rests before background rows: what is lost of some facts is compared with order statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.view import Duel, Rest, Row, is_open
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.numbers import about

__all__ = ["RowsRest", "Sums"]


@dataclass(frozen=True)
class Sums:
    """What the completions of all background rows add towards the class, with some facts fixed.

    Attributes
    ----------
    whole : ndarray of int64, shape (n,)
        In whole numbers of a scale; short by less than ``doubt``.
    scale : Fraction
    doubt : int
        0 if nothing was rounded.
    """

    whole: NDArray[np.int64]
    scale: Fraction
    doubt: int


class RowsRest(Rest):
    """The rest before background rows: what is lost is compared with order statistics.

    ``row`` is the instance, ``columns`` those of the fixed units.
    """

    exact = True

    def __init__(
        self,
        duels: list[Duel],
        delta: Fraction,
        sums: list[Sums],
        rows: Any,
        weights: NDArray[np.int64],
        row: Row,
        columns: Sequence[int],
    ) -> None:
        super().__init__(duels, delta)
        self.sums, self.rows, self.weights = sums, rows, weights
        self.row, self.fixed = row, np.zeros(rows.shape[1], dtype=np.bool_)
        self.fixed[list(columns)] = True
        self.total = int(weights.sum())
        self.needed = -(-delta.numerator * self.total // delta.denominator)

    def holds(self, losses: Sequence[Fraction]) -> bool:
        """Tell whether delta holds with such losses; with two classes by one comparison."""
        if len(self.duels) > 1:
            return self._kept(losses) >= self.needed
        if self.slack is None:
            return True
        open_ = is_open(*self.duels[0])
        return losses[0] < self.slack if open_ else losses[0] <= self.slack

    def enclose(self, losses: Sequence[Fraction]) -> Enclosure:
        """Return the exact share of background rows that keep the class in every duel."""
        return Enclosure.of(Fraction(self._kept(losses), self.total))

    @cached_property
    def slack(self) -> Fraction | None:
        """What may be lost before one rival: a weighted order statistic (Proposition 59).

        None if anything may be.
        """
        return self._statistic(0) if self.needed > 0 else None

    def _statistic(self, k: int) -> Fraction:
        """Return the largest value that the sums of enough rows reach, less the threshold."""
        held, duel = self.sums[k], self.duels[k]
        order = np.argsort(-held.whole, kind="stable")
        reached = np.cumsum(self.weights[order])
        at = int(held.whole[order[int(np.searchsorted(reached, self.needed))]])
        threshold = duel.sign * Fraction(duel.model.threshold)
        if not held.doubt:
            return at * held.scale - threshold
        # The statistic of the exact sums is one of those that rounding cannot tell from it.
        near = np.flatnonzero(np.abs(held.whole - at) < held.doubt)
        reached_before = int(self.weights[held.whole >= at + held.doubt].sum())
        values = sorted(self._exact_sums(k, near), reverse=True)
        for value, weight in values:
            reached_before += weight
            if reached_before >= self.needed:
                return value - threshold
        raise AssertionError("the rows near an order statistic hold it")

    def _exact_sums(self, k: int, at: NDArray[np.intp]) -> list[tuple[Fraction, int]]:
        """Return the exact sums of some rows, equal rows together, and their weights."""
        duel = self.duels[k]
        mixed = np.where(self.fixed, self.row, np.asarray(self.rows[at]))
        different, which = np.unique(mixed, axis=0, return_inverse=True)
        weights = np.zeros(len(different), dtype=np.int64)
        np.add.at(weights, which.ravel(), self.weights[at])
        sums = [duel.sign * sum(duel.model.contributions(row), Fraction(0)) for row in different]
        return list(zip(sums, weights.tolist(), strict=True))

    def _kept(self, losses: Sequence[Fraction]) -> int:
        """Return the weight of the rows that keep the class with such losses, exactly."""
        sure = np.ones(len(self.weights), dtype=np.bool_)
        maybe = sure.copy()
        for held, duel, loss in zip(self.sums, self.duels, losses, strict=True):
            level = _level(duel, loss, held.scale)
            sure &= held.whole >= level
            maybe &= held.whole > level - max(held.doubt, 1)
        unsure = np.flatnonzero(maybe & ~sure)
        kept = int(self.weights[sure].sum())
        for i in unsure.tolist():
            kept += int(self.weights[i]) * self._keeps(i, losses)
        return kept

    def _keeps(self, i: int, losses: Sequence[Fraction]) -> bool:
        mixed = np.where(self.fixed, self.row, self.rows[i])
        for duel, loss in zip(self.duels, losses, strict=True):
            total = duel.sign * sum(duel.model.contributions(mixed), Fraction(0)) - loss
            left = total - duel.sign * Fraction(duel.model.threshold)
            if left < 0 or (left == 0 and is_open(*duel)):
                return False
        return True

    def room(self, used: Sequence[Fraction], direction: Sequence[Fraction]) -> float:
        """Return about how many times a direction can be lost on top of what is used."""
        if not self.needed:
            return math.inf
        if len(self.duels) == 1:
            assert self.slack is not None
            return max(about((self.slack - used[0]) / direction[0]), 0.0)
        times = np.full(len(self.weights), np.inf)
        for held, duel, loss, step in zip(self.sums, self.duels, used, direction, strict=True):
            left = held.whole - about(Fraction(_level(duel, loss, held.scale)))
            per = about(step / held.scale)
            each = left / per if per else np.full(len(left), np.inf)
            times = np.minimum(times, np.where(left < 0, -1.0, each))
        order = np.argsort(-times, kind="stable")
        reached = np.cumsum(self.weights[order])
        return max(float(times[order[int(np.searchsorted(reached, self.needed))]]), 0.0)


def _level(duel: Duel, loss: Fraction, scale: Fraction) -> int:
    """Return what a sum must reach, in whole numbers of a scale, if so much of it is lost."""
    reached = (duel.sign * Fraction(duel.model.threshold) + loss) / scale
    return math.floor(reached) + 1 if is_open(*duel) else math.ceil(reached)

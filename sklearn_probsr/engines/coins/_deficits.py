"""Deficits: an instance and a model become a random sum and the margin that it may use up.

Leaving feature ``i`` unknown costs its score ``s_i`` when it comes out different from ``x_i``
(a negative score is a gain), and nothing when it comes out the same. A set of features keeps
the class iff what the others cost together is at most the margin (Proposition 1). Under the uniform
distribution a gain of ``|s|`` with probability 1/2 is a gain for certain and a cost of ``|s|``
with probability 1/2, so that only magnitudes and a capacity are left (Proposition 2):

    Pr[class kept] = Pr[ sum of a random subset of the free |s_i| <= capacity ],
    capacity = margin + sum of |s_i| over the free negative scores.

All of it is in integers (see ``IntegerForm``), so nothing here is rounded.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model._linear import LinearModel

__all__ = ["Instance", "SubsetSum"]


@dataclass(frozen=True)
class SubsetSum:
    """The question "does a uniformly random subset of ``values`` sum to at most ``capacity``?".

    Parameters
    ----------
    values : list of int
        Positive integers, in decreasing order.
    capacity : int
    """

    values: list[int]
    capacity: int

    @cached_property
    def total(self) -> int:
        """The sum of all values."""
        return sum(self.values)


@dataclass(frozen=True)
class Instance:
    """One row of a model, seen through its scores.

    Parameters
    ----------
    model : LinearModel
    row : ndarray of bool, shape (d,)
    """

    model: LinearModel
    row: NDArray[np.bool_]

    @cached_property
    def positive(self) -> bool:
        """Whether the row belongs to ``classes[1]``."""
        return bool(self.model.is_positive(self.row[None, :])[0])

    @cached_property
    def margin(self) -> int:
        """What the class of the row can lose before it changes."""
        return self.model.integer_form.margin(self.row)[1]

    @cached_property
    def helps(self) -> NDArray[np.bool_]:
        """Which features have a positive score: fixing them can only help."""
        weights = self.model.weights
        helps: NDArray[np.bool_] = ((self.row == (weights > 0)) == self.positive) & (weights != 0)
        return helps

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """All features by decreasing score, ties by index."""
        scores = np.where(self.helps, 1.0, -1.0) * np.abs(self.model.weights)
        return np.argsort(-scores, kind="stable")

    @cached_property
    def magnitudes(self) -> list[int]:
        """The magnitude of every score."""
        return list(map(abs, self.model.integer_form.weights))

    def members(self, barred: Collection[int] = ()) -> list[int]:
        """Return the features with a positive score that are not barred, best first."""
        return [i for i in self.order.tolist() if self.helps[i] and i not in barred]

    def subset_sum(self, fixed: Collection[int]) -> SubsetSum:
        """Return the random sum that is left when the features ``fixed`` are known."""
        known = np.zeros(len(self.row), dtype=np.bool_)
        known[list(fixed)] = True
        free = ~known & (self.model.weights != 0)
        values = [self.magnitudes[i] for i in np.flatnonzero(free)]
        gains = sum(self.magnitudes[i] for i in np.flatnonzero(free & ~self.helps))
        return SubsetSum(sorted(values, reverse=True), self.margin + gains)

"""One instance before background rows: counts of those that keep the class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._counts import Rows, greedy, kept_along, kept_weight, open_rows
from sklearn_probsr.laws._view import TOL, View
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["RowsView", "places"]


def places(units: Collection[int]) -> NDArray[np.intp]:
    """Return units as an array of indices."""
    return np.array([*units], dtype=np.intp)


class RowsView(View):
    """One instance before background rows, whatever its classes are.

    Attributes
    ----------
    rows : Rows
        What each row has to spare, and what fixing each unit adds to it.
    exact : bool
        Whether no number in ``rows`` was rounded.
    """

    rows: Rows
    exact: bool

    @property
    @abstractmethod
    def doubt(self) -> int:
        """How much a margin may be short by, plus one."""

    @abstractmethod
    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""

    @abstractmethod
    def by_mean_gain(self, units: list[int]) -> list[int]:
        """Return units by decreasing mean gain of fixing them."""

    @cached_property
    def total(self) -> int:
        """The weight of all rows together."""
        return int(self.rows.weights.sum())

    def counted(self, features: Collection[int]) -> tuple[int, NDArray[np.int64], int]:
        """Return the weight that is surely kept, all margins, and how many rows are in doubt."""
        return kept_weight(self.rows, places(features), self.doubt)

    def weight(self, features: Collection[int]) -> int:
        """Return the weight of the background rows that keep the class, exactly."""
        kept, _, unsure = self.counted(features)
        return int(self.rows.weights @ self.keeps(features)) if unsure else int(kept)

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Return the exact share of background rows that keep the class."""
        return Enclosure.of(Fraction(self.weight(fixed), self.total))

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing mean gain; a prover has more orders."""
        return [self.by_mean_gain(members)]

    def ranking(self) -> list[int]:
        """Return all units in the order in which greed fixes them."""
        members = self.members()
        rows, _ = open_rows(self.rows, places(members), places(()), self.doubt)
        order = [members[j] for j in greedy(rows, np.inf, False)]
        chosen = set(order)
        return [
            *order,
            *(u for u in self.by_mean_gain(list(range(self.n_units))) if u not in chosen),
        ]

    def along(self, order: Sequence[int], tol: float) -> list[Enclosure]:
        """Return the exact share with the first 0, 1, 2, ... of an order fixed."""
        kept = self.weights_along(order, self.total + 1, len(order))
        return [Enclosure.of(Fraction(int(weight), self.total)) for weight in kept]

    def weights_along(self, order: Sequence[int], needed: int, at: int) -> NDArray[np.int64]:
        """Count what is kept with the first 0, 1, 2, ... of an order fixed, exactly.

        Up to the first size that reaches what is needed, and ``at`` least so many.
        """
        kept, unsure = kept_along(self.rows, places(order), self.doubt, needed, at)
        for k in np.flatnonzero(unsure).tolist():
            kept[k] = self.weight(order[:k])
        return kept

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many background rows drawn, those that keep the class, at every size."""
        counts = rng.multinomial(samples, self.rows.weights / self.rows.weights.sum())
        sizes = range(len(order) + 1)
        return np.array([int(counts @ self.keeps([*forced, *order[:k]])) for k in sizes])

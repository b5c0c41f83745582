"""One instance before background rows: counts of those that keep the class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.view import TOL, View
from sklearn_probsr.engines.rows._counts import Rows, kept_along, kept_weight
from sklearn_probsr.engines.rows._greed import greedy
from sklearn_probsr.engines.rows._open_rows import narrowed
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["RowsView", "places"]


def places(units: Collection[int] | NDArray[np.intp]) -> NDArray[np.intp]:
    """Return units as an array of indices."""
    return np.asarray(units if isinstance(units, np.ndarray) else [*units], dtype=np.intp)


class RowsView(View):
    """One instance before background rows, whatever its classes are.

    Attributes
    ----------
    margins : ndarray of int64
        What each row has to spare with nothing fixed; of several rivals side by side.
    weights : ndarray of int64
        How much each row counts.
    exact : bool
        Whether no number was rounded.
    """

    margins: NDArray[np.int64]
    weights: NDArray[np.int64]
    exact: bool

    @abstractmethod
    def gains(self, units: Sequence[int]) -> NDArray[np.int64]:
        """Return what fixing some units adds to each margin, a table of their own."""

    def rows_of(self, units: Sequence[int]) -> Rows:
        """Return all rows, with the gains of some units."""
        return Rows(np.ascontiguousarray(self.margins), self.weights, self.gains(units))

    @property
    def rows(self) -> Rows:
        """All rows, with the gains of all units; made anew each time, as it is large."""
        return self.rows_of(range(self.n_units))

    def opened(self, members: Sequence[int], forced: Sequence[int]) -> tuple[Rows, int]:
        """Return the rows that members decide, forced ones fixed, and the weight always kept."""
        margins = self.margins.copy()
        for unit in forced:
            margins += self.gains([unit])[0]
        return narrowed(Rows(margins, self.weights, self.gains(members)), self.doubt)

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
        return int(self.weights.sum())

    @property
    def whole_parts(self) -> int:
        """Guarantees are shares of that weight."""
        return self.total

    def counted(self, features: Collection[int]) -> tuple[int, NDArray[np.int64], int]:
        """Return the weight that is surely kept, all margins, and what is in doubt."""
        fixed = list(features)
        return kept_weight(self.rows_of(fixed), np.arange(len(fixed)), self.doubt)

    def weight(self, features: Collection[int]) -> int:
        """Return the weight of the background rows that keep the class, exactly."""
        kept, _, unsure = self.counted(features)
        return int(self.weights @ self.keeps(features)) if unsure else int(kept)

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
        rows, _ = self.opened(members, ())
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
        rows, steps = self.rows_of(order), np.arange(len(order))
        kept, unsure = kept_along(rows, steps, self.doubt, needed, at)
        for k in np.flatnonzero(unsure).tolist():
            kept[k] = self.weight(order[:k])
        return kept

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many background rows drawn, those that keep the class, at every size."""
        counts = rng.multinomial(samples, self.weights / self.weights.sum())
        sizes = range(len(order) + 1)
        return np.array([int(counts @ self.keeps([*forced, *order[:k]])) for k in sizes])

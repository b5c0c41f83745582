"""One instance whose unknown features are fair coins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import sub

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.cache import Memo
from sklearn_probsr.core.view import TOL, View
from sklearn_probsr.engines._samples import coupled_sizes
from sklearn_probsr.engines.coins._deficits import Instance
from sklearn_probsr.engines.coins._enclose import enclose, enclose_prefixes
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["CoinView"]


class CoinView(View):
    """One instance whose unknown features are fair coins, seen through its scores."""

    chain = True

    def __init__(self, instance: Instance, known: Memo[Enclosure]) -> None:
        super().__init__(len(instance.row))
        self.instance = instance
        self._known = known

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown can cost anything: its score is positive."""
        return bool(self.instance.helps[unit])

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown can gain anything: its score is negative."""
        return not self.instance.helps[unit] and self.instance.magnitudes[unit] > 0

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set; the same facts and class are asked once."""
        features = sorted(fixed)
        facts = tuple((j, bool(self.instance.row[j])) for j in features)
        return self._known.get(
            (self.instance.positive, facts, delta, tol),
            lambda: enclose(self.instance.subset_sum(features), delta, tol),
        )

    def is_certain(self, fixed: Collection[int]) -> bool:
        """Tell whether a set keeps the class for certain (Proposition 8)."""
        return self.certain_along(list(fixed))[-1]

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size along an order whether the class is kept for certain."""
        helps = self.instance.helps
        costs = (self.instance.magnitudes[u] if helps[u] else 0 for u in order)
        return [beyond <= 0 for beyond in accumulate(costs, sub, initial=self.beyond)]

    @cached_property
    def beyond(self) -> int:
        """By how much all that is unknown exceeds the margin at worst."""
        question, helps = self.instance.subset_sum(()), self.instance.helps
        worst = sum(v for v, h in zip(self.instance.magnitudes, helps, strict=True) if h)
        return worst - (question.capacity - (question.total - worst))

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing score: the best of each size come first."""
        inside = set(members)
        return [[u for u in self.instance.order.tolist() if u in inside]]

    def along(self, order: Sequence[int], tol: float) -> list[Enclosure]:
        """Enclose the guarantee along an order; one pass for all sizes where it is by score."""
        if list(order) == self.instance.order.tolist():
            return enclose_prefixes(self.instance, tol)
        return super().along(order, tol)

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size."""
        weights, inside = self.instance.magnitudes, {*forced, *order}
        others = [v for j, v in enumerate(weights) if v and j not in inside]
        capacity = self.instance.subset_sum(forced).capacity
        members = [weights[j] for j in order]
        sizes = coupled_sizes(members, others, capacity, samples, rng)
        counts = np.bincount(sizes, minlength=len(order) + 2)
        kept: NDArray[np.int64] = np.cumsum(counts)[: len(order) + 1]
        return kept

"""Costs: what unknown features may cost an instance, when each has a chance of its own."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_probsr._deficits import Instance
from sklearn_probsr._distributions import Product
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._model import LinearModel
from sklearn_probsr.engines._heads import Head, build_head, head_bounds
from sklearn_probsr.engines._weighted import WeightedSum, enclose_weighted

__all__ = ["TOL", "Costs"]

# Width to which the guarantee of an answer is computed.
TOL = 1e-4
# Relative weights of the variance in the rankings; 0 is the mean cost, the signed SHAP value.
_LAMBDAS = (0.0, 0.25, 1.0, 4.0, math.inf)
# Models with so few features are counted; heads pay beyond.
_FEW = 24


class Moments(NamedTuple):
    """The score, mean and variance of every feature's cost, and the margin, all to one scale."""

    score: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    margin: float


@dataclass(frozen=True)
class Shared:
    """What the rows of one class share: the head of the features that reasons are made of."""

    period: int
    head: Head
    positions: dict[int, int]
    means: list[float]
    mean: float

    @classmethod
    def of(cls, model: LinearModel, product: Product, positive: bool) -> Shared | None:
        """Build it; None where the weights are beyond what floats can tell apart."""
        weights = model.integer_form.weights
        if sum(map(abs, weights)) + abs(model.integer_form.threshold) >= 2**1000:
            return None
        chances = [n / product.denominator for n in product.numerators]
        scores = np.abs(model.weights) / (np.abs(model.weights).max() or 1.0)
        # A helpful feature changes when it is not what its weight asks for.
        change = np.where((model.weights > 0) == positive, 1 - np.array(chances), chances)
        keys = (scores * change, scores * change * (2 - change), scores * (change > 0))
        size = math.ceil(4 * math.sqrt(len(scores)))
        best = [np.argsort(-key, kind="stable")[:size].tolist() for key in keys]
        inside = list(dict.fromkeys(i for ranks in zip(*best, strict=True) for i in ranks))
        outside = [i for i in range(len(scores)) if i not in set(inside)]
        period, head = build_head(
            [weights[i] for i in inside],
            [weights[i] for i in outside],
            [chances[i] for i in inside],
            [chances[i] for i in outside],
        )
        means = [float(w) * c for w, c in zip(weights, chances, strict=True)]
        return cls(period, head, {i: j for j, i in enumerate(inside)}, means, math.fsum(means))


class Costs:
    """What each feature of an instance may cost, and how likely that is."""

    def __init__(self, instance: Instance, product: Product) -> None:
        self.instance = instance
        self.product = product
        self.denominator = product.denominator
        # the chance that an unknown feature comes out different from the instance
        self.change = [
            self.denominator - ones if value else ones
            for ones, value in zip(product.numerators, instance.row.tolist(), strict=True)
        ]
        self._known: dict[tuple[frozenset[int], Fraction | None], Enclosure] = {}

    @cached_property
    def _parts(self) -> list[tuple[int, int, int]]:
        """Each feature's magnitude, the chance that it is lost, and the feature; largest first.

        A gain with chance q is a gain for certain and a cost with chance 1 - q.
        """
        helps = self.instance.helps.tolist()
        parts = [
            (magnitude, self.change[i] if helps[i] else self.denominator - self.change[i], i)
            for i, magnitude in enumerate(self.instance.magnitudes)
            if magnitude
        ]
        return sorted(parts, reverse=True)

    def question(self, fixed: Collection[int]) -> WeightedSum:
        """Return the random sum that is left when some features are known."""
        free = [part for part in self._parts if part[2] not in fixed]
        helps = self._helps
        capacity = self.instance.margin
        capacity += sum(magnitude for magnitude, _, i in free if i not in helps)
        capacity -= sum(magnitude for magnitude, chance, _ in free if chance == self.denominator)
        open_parts = [part for part in free if 0 < part[1] < self.denominator]
        return WeightedSum(
            [magnitude for magnitude, _, _ in open_parts],
            [chance for _, chance, _ in open_parts],
            self.denominator,
            capacity,
        )

    @cached_property
    def _helps(self) -> set[int]:
        return set(np.flatnonzero(self.instance.helps).tolist())

    def enclosure(self, fixed: Collection[int], delta: Fraction | None) -> Enclosure:
        """Enclose the guarantee of a set, once."""
        key = (frozenset(fixed), delta)
        if key not in self._known:
            self._known[key] = self._enclose(key[0], delta)
        return self._known[key]

    def _enclose(self, fixed: frozenset[int], delta: Fraction | None) -> Enclosure:
        quick = self._by_head(fixed)
        if quick is not None:
            enough = (quick >= delta).decided if delta is not None else quick.width <= TOL
            if enough:
                return quick
        return enclose_weighted(self.question(fixed), delta, TOL)

    def _by_head(self, fixed: frozenset[int]) -> Enclosure | None:
        """Enclose the guarantee by what the rows of the class share, if that holds the set."""
        shared = self._shared
        if shared is None or not fixed <= shared.positions.keys():
            return None
        form, row = self.instance.model.integer_form, self.instance.row
        mask = np.zeros(len(shared.positions), dtype=np.bool_)
        known, mean = 0, shared.mean
        for i in fixed:
            mask[shared.positions[i]] = True
            known += form.weights[i] if row[i] else 0
            mean -= shared.means[i]
        # Class 1 is kept iff Y >= threshold - known; half a unit below there is no mass.
        cut = (2 * (form.threshold - known) - 1) / (2 * shared.period)
        lower, upper = head_bounds(shared.head, mask, mean / shared.period - 0.5, cut)
        if self.instance.positive:
            lower, upper = 1 - upper, 1 - lower
        return Enclosure.proved(lower, upper)

    @cached_property
    def _shared(self) -> Shared | None:
        model, positive = self.instance.model, self.instance.positive
        if model.n_features <= _FEW:
            return None
        return model.cached(
            ("head", self.product, positive), lambda: Shared.of(model, self.product, positive)
        )

    @cached_property
    def moments(self) -> Moments:
        """The moments of every feature's cost."""
        top = max(self.instance.magnitudes) or 1
        score = np.array([magnitude / top for magnitude in self.instance.magnitudes])
        score = np.where(self.instance.helps, score, -score)
        chance = np.array([change / self.denominator for change in self.change])
        margin = float(min(Fraction(self.instance.margin, top), Fraction(10) ** 300))
        return Moments(score, score * chance, score**2 * chance * (1 - chance), margin)

    def rankings(self, members: list[int]) -> list[list[int]]:
        """Return the members by decreasing promise, in several ways."""
        moments = self.moments
        score, mean, variance = (
            part[members] for part in (moments.score, moments.mean, moments.variance)
        )
        scale = max(float(mean.max(initial=0.0)), 1e-300)
        found = []
        for weight in _LAMBDAS:
            key = score if math.isinf(weight) else mean + weight * variance / scale
            found.append([members[j] for j in np.argsort(-key, kind="stable")])
        return found

    def guess(self, forced: list[int], order: list[int], delta: Fraction) -> int:
        """Return the first size along an order that suffices for a normal law."""
        _, mean, variance, margin = self.moments
        free = np.ones(len(mean), dtype=np.bool_)
        free[forced] = False
        means = mean[free].sum() - np.concatenate([[0.0], np.cumsum(mean[order])])
        left = np.maximum(
            variance[free].sum() - np.concatenate([[0.0], np.cumsum(variance[order])]), 0.0
        )
        quantile = float(np.clip(ndtri(float(delta)), -8.0, 8.0))
        enough = np.flatnonzero(margin - means >= quantile * np.sqrt(left))
        return int(enough[0]) if len(enough) else len(order)

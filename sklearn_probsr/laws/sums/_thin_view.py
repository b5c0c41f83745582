"""One instance before independent units that are mostly zero."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_probsr.laws._contributions import is_open
from sklearn_probsr.laws._task import Task
from sklearn_probsr.laws._view import TOL, Row, View
from sklearn_probsr.laws.sums._spectra import promises
from sklearn_probsr.laws.sums._thin_laws import ThinSpectrum
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._linear import LinearModel

__all__ = ["ThinCosts"]

# Completions that are drawn at once: so many numbers.
_CELLS = 2**22
# So many of the rankings are tried, those that trust the mean most.
_ORDERS = 3
# A guess looks at so many units of an order first.
_FIRST = 4096
# The relative error of one rounding.
_UNIT = 2.0**-53


class ThinCosts(View):
    """What each unit of an instance may cost, before units that are mostly zero."""

    def __init__(
        self, model: LinearModel, spectrum: ThinSpectrum, row: Row, positive: bool
    ) -> None:
        super().__init__(len(row))
        self.model, self.spectrum, self.row, self.positive = model, spectrum, row, positive
        self._sign = 1.0 if positive else -1.0
        self._there = np.flatnonzero(row)
        self._own = np.zeros(len(row))
        self._own[self._there] = row[self._there] * model.weights[self._there]
        self._enclosed: dict[frozenset[int], Enclosure] = {}
        least, most = spectrum.laws.ends
        weights, values = self._sign * model.weights, row.astype(np.float64)
        above, below = values > least, values < most
        self._costs = np.where(weights > 0, above, below) & (weights != 0)
        self._gains = np.where(weights > 0, below, above) & (weights != 0)

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything."""
        return bool(self._costs[unit])

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything."""
        return bool(self._gains[unit])

    def members(self) -> list[int]:
        """Return the units that fixing can help."""
        found: list[int] = np.flatnonzero(self._costs).tolist()
        return found

    @cached_property
    def monotone(self) -> bool:
        """Whether fixing a unit that can help never hurts."""
        return not bool((self._costs & self._gains).any())

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set, as narrowly as the spectrum tells."""
        key = frozenset(fixed)
        if key not in self._enclosed:
            certain = self.is_certain(key)
            self._enclosed[key] = Enclosure.of(Fraction(1)) if certain else self._enclose(key)
        return self._enclosed[key]

    def _enclose(self, fixed: frozenset[int]) -> Enclosure:
        inside = sorted(fixed)
        there = [u for u in inside if self.row[u]]
        own = [float(self._own[u]) for u in there]
        level = math.fsum([self.model.threshold, *(-c for c in own)])
        size = abs(self.model.threshold) + math.fsum(map(abs, own))
        lower, upper = self.spectrum.bounds(inside, level, size)
        if self.positive:
            lower, upper = 1 - upper, 1 - lower
        return Enclosure.proved(lower, upper)

    # --- for certain -------------------------------------------------------------------------

    @cached_property
    def _worst(self) -> NDArray[np.float64]:
        """About the most that each unit can cost."""
        least, most = self.spectrum.laws.ends
        weights = self._sign * self.model.weights
        bad = np.where(weights > 0, least, most) * weights
        found: NDArray[np.float64] = np.maximum(self._sign * self._own - bad, 0.0)
        return found

    @cached_property
    def _most_lost(self) -> float:
        return float(self._worst.sum())

    @cached_property
    def _excess(self) -> tuple[float, float]:
        """By about how much all units exceed the margin at worst, and how far that is off."""
        own = self._own[self._there]
        size = self.spectrum.reach + float(np.abs(own).sum()) + abs(self.model.threshold)
        margin = self._sign * math.fsum([*own.tolist(), -self.model.threshold])
        # NumPy sums in pairs: fewer than fifty roundings for any number of terms.
        return self._most_lost - margin, 64 * _UNIT * size

    @cached_property
    def _exactly(self) -> tuple[list[Fraction], Fraction]:
        """What each unit costs at worst, and by how much all exceed the margin, exactly."""
        least, most = (end.tolist() for end in self.spectrum.laws.ends)
        weights, sign = self.model.weights.tolist(), int(self._sign)
        worst, total = [], Fraction(0)
        for w, low, high, x in zip(weights, least, most, self.row.tolist(), strict=True):
            bad = low if sign * w > 0 else high
            worst.append(sign * Fraction(w) * (Fraction(x) - Fraction(bad)))
            total += sign * Fraction(w) * Fraction(x)
        margin = total - sign * Fraction(self.model.threshold)
        return worst, sum(worst, Fraction(0)) - margin

    def _is_settled(self, excess: Fraction) -> bool:
        return excess < 0 if is_open(self.model, self.positive) else excess <= 0

    def is_certain(self, fixed: Collection[int]) -> bool:
        """Tell whether a set keeps the class for certain: the others fit the margin at worst."""
        inside = list(set(fixed))
        return self.certain_along(inside)[-1]

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size whether so many units along an order keep the class for certain."""
        excess, off = self._excess
        left = excess - np.concatenate([[0.0], np.cumsum(self._worst[list(order)])])
        doubt = off + 2 * _UNIT * (len(order) + 2) * (abs(excess) + self._most_lost)
        sure: list[bool] = (left < -doubt).tolist()
        for k in np.flatnonzero(np.abs(left) <= doubt).tolist():
            worst, beyond = self._exactly
            sure[k] = self._is_settled(beyond - sum((worst[u] for u in order[:k]), Fraction(0)))
        return sure

    def most(self, unit: int) -> Fraction:
        """Return the most that a unit can cost, exactly."""
        least, most = (float(end[unit]) for end in self.spectrum.laws.ends)
        w = Fraction(self._sign * self.model.weights[unit])
        return w * (Fraction(float(self.row[unit])) - Fraction(least if w > 0 else most))

    # --- orders ------------------------------------------------------------------------------

    @cached_property
    def _mean_costs(self) -> NDArray[np.float64]:
        costs: NDArray[np.float64] = self._sign * (self._own - self.spectrum.means)
        return costs

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing promise, in several ways."""
        return [order.tolist() for order in self.rankings(np.array(members, dtype=np.intp))]

    def rankings(self, at: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Return some units by decreasing promise, in several ways."""
        mean, variance = self._mean_costs[at], self.spectrum.variances[at]
        scale = max(float(mean.max(initial=0.0)), 1e-300)
        keys = islice(promises(self._worst[at], mean, variance, scale), _ORDERS)
        return [at[np.argsort(-key, kind="stable")] for key in keys]

    def open_to(self, task: Task) -> NDArray[np.intp]:
        """Return the units that may be chosen: fixing can help, and they are forced neither way."""
        free = self._costs.copy()
        free[[*task.include, *task.exclude]] = False
        return np.flatnonzero(free if task.allowed is None else free & task.allowed[0])

    def may_hurt(self, units: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which of some units fixing can hurt."""
        found: NDArray[np.bool_] = self._gains[units]
        return found

    def guess(self, forced: Sequence[int], order: NDArray[np.intp], delta: Fraction) -> int:
        """Return the first size along an order that suffices for a normal law."""
        mean, variance = self._mean_costs, self.spectrum.variances
        margin = self._sign * (float(self._own[self._there].sum()) - self.model.threshold)
        mean_left = float(mean.sum()) - float(mean[list(forced)].sum())
        spread = float(variance.sum()) - float(variance[list(forced)].sum())
        quantile = float(np.clip(ndtri(float(delta)), -8.0, 8.0))
        for first in (order[:_FIRST], order):
            means, left = mean_left - _steps(mean[first]), spread - _steps(variance[first])
            enough = np.flatnonzero(margin - means >= quantile * np.sqrt(np.maximum(left, 0.0)))
            if len(enough):
                return int(enough[0])
        return len(order)

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size."""
        laws = self.spectrum.laws
        chunk = max(_CELLS // self.n_units, 1)
        total = np.zeros(len(order) + 1, dtype=np.int64)
        sums = np.concatenate([[0.0], np.cumsum(laws.chances)])
        for start in range(0, samples, chunk):
            m = min(chunk, samples - start)
            drawn = rng.random((m, self.n_units))
            at, unit = np.nonzero(drawn >= laws.zeros)
            first, last = laws.starts[unit], laws.starts[unit + 1] - 1
            spot = sums[first] + (drawn[at, unit] - laws.zeros[unit])
            values = laws.values[np.clip(np.searchsorted(sums, spot, "right") - 1, first, last)]
            row = np.zeros((m, self.n_units))
            row[at, unit] = values
            row[:, list(forced)] = self.row[list(forced)]
            for k in range(len(order) + 1):
                if k:
                    row[:, order[k - 1]] = self.row[order[k - 1]]
                total[k] += np.count_nonzero(self.model.is_positive(row) == self.positive)
        return total


def _steps(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the first 0, 1, 2, ... numbers."""
    return np.concatenate([[0.0], np.cumsum(values)])

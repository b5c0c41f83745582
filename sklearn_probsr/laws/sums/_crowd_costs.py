"""What unknown units may cost an instance, when they have very many values."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.view import is_open
from sklearn_probsr.engines.sums._spectrum import set_bounds
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.laws.sums._costs import ROUGH, Costs
from sklearn_probsr.laws.sums._crowds import Crowds
from sklearn_probsr.laws.sums._far_values import inner_of
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["CrowdCosts"]

# Completions that are drawn at once.
_CHUNK = 4096
# More than what a sum of drawn contributions is rounded by, over its size, times the units.
_ROUNDING = 16 * UNIT


class CrowdCosts(Costs):
    """What each unit of an instance may cost, where that is not listed.

    Guarantees are bounded by spectra alone; with one unit left unknown, rows are counted.
    """

    contributions: Crowds

    def _enclose(self, fixed: frozenset[int], delta: Fraction | None, tol: float) -> Enclosure:
        if self.is_certain(fixed):
            return Enclosure.of(Fraction(1))
        free = [u for u in self.contributions.by_range if u not in fixed]
        if len(free) <= 1:
            counted = self._counted(fixed, free)
            if counted is not None:
                return counted
        return self._bounded(fixed, delta, tol)

    @property
    def measured(self) -> Crowds:
        """Without values that are far out: rare ones would make up all of mean and variance."""
        return inner_of(self.contributions).seen

    @property
    def counted(self) -> bool:
        """Nothing is listed that could be counted set by set, also where nothing varies."""
        return False

    def glance(self, fixed: frozenset[int]) -> Enclosure:
        """Enclose the guarantee of a set by what is quick: nothing else is asked here."""
        return self.enclose(fixed, None, ROUGH)

    def _left(self, fixed: frozenset[int]) -> Fraction:
        """Return what the unknown units that vary must reach for ``classes[1]``."""
        seen, varying = self.contributions, set(self.contributions.by_range)
        known = sum((self.known[u] for u in fixed), start=Fraction(0))
        still = (u for u in range(self.n_units) if u not in fixed and u not in varying)
        return seen.threshold - known - sum(seen.ends[u][0] for u in still)

    def _counted(self, fixed: frozenset[int], free: list[int]) -> Enclosure | None:
        """Count the rows in which the one unit that is unknown keeps the class, exactly."""
        seen, left = self.contributions, self._left(fixed)
        if not free:  # it is lost for certain
            return Enclosure.of(Fraction(0))
        reached = seen.at_least(free[0], left, seen.model.strict)
        if reached is None:
            return None
        share = Fraction(reached, int(seen.weights.sum()))
        return Enclosure.of(share if self.positive else 1 - share)

    def _bounded(self, fixed: frozenset[int], delta: Fraction | None, tol: float) -> Enclosure:
        """Bound a guarantee by the first spectra that know all of its units."""
        shared = next(
            found
            for found in map(self._spectra, (False, True))
            if found is not None and found.positions.keys() >= fixed
        )
        cut, blur = self._exact_cut(fixed, shared)
        free = np.array([j for u, j in shared.positions.items() if u not in fixed], dtype=np.int64)
        best = Enclosure(0.0, 1.0)
        for degree in (0, *shared.degrees) if tol >= ROUGH else shared.degrees:
            lower, upper = set_bounds(shared.spectrum(degree), free, cut, blur)
            if self.positive:
                lower, upper = 1 - upper, 1 - lower
            best = best.intersect(Enclosure.proved(lower, upper))
            if (best >= delta).decided if delta is not None else best.width <= tol:
                break
        return best

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size."""
        seen = self.contributions
        inside = {*forced, *order}
        units = [*order, *(u for u in range(self.n_units) if u not in inside)]
        scale = seen.widest
        known = np.array([_near(self.known[u] / scale) for u in units])
        widths = [float((seen.ends[u][1] - seen.ends[u][0]) / scale) for u in units]
        least = [_near(seen.ends[u][0] / scale) for u in units]
        base = sum((self.known[u] for u in forced), start=Fraction(0))
        limit = _near((seen.threshold - base) / scale)
        chances = seen.chances / seen.chances.sum()
        total = np.zeros(len(order) + 1, dtype=np.int64)
        for start in range(0, samples, _CHUNK):
            m = min(_CHUNK, samples - start)
            which = np.empty((m, len(units)), dtype=np.intp)
            drawn, doubt = np.empty((m, len(units))), 0.0
            for j, u in enumerate(units):
                which[:, j] = rng.choice(len(chances), size=m, p=chances)
                shares, off = seen.shares(u)
                drawn[:, j] = least[j] + widths[j] * shares[which[:, j]]
                doubt += off * widths[j]
            for k in range(len(order) + 1):
                sums = drawn[:, k:].sum(axis=1) + known[:k].sum()
                size = np.abs(drawn[:, k:]).sum(axis=1) + np.abs(known[:k]).sum() + abs(limit)
                keeps = (sums > limit) == self.positive
                near = np.abs(sums - limit) <= doubt + _ROUNDING * len(units) * size
                for a in np.flatnonzero(near):
                    keeps[a] = self._keeps(base, units[:k], units[k:], which[a, k:])
                total[k] += np.count_nonzero(keeps)
        return total

    def _keeps(
        self, base: Fraction, fixed: list[int], free: list[int], which: NDArray[np.intp]
    ) -> bool:
        """Tell with all digits whether a completion keeps the class."""
        seen = self.contributions
        known = base + sum(self.known[u] for u in fixed)
        terms = (
            Fraction(seen.model.weights[j]) * Fraction(seen.rows[r, j])
            for u, r in zip(free, which.tolist(), strict=True)
            for j in seen.columns[u]
        )
        left = known + sum(terms, start=Fraction(0)) / seen.scale - seen.threshold
        left = left if self.positive else -left
        return left > 0 if is_open(seen.model, self.positive) else left >= 0


def _near(value: Fraction | float) -> float:
    """Return about a number, of any size that sums of it are not infinite at."""
    largest = Fraction(2) ** 900
    return float(max(min(Fraction(value), largest), -largest))

"""Costs: what unknown units may cost an instance, when they are independent of each other."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_probsr.core.view import TOL, Duel, Row, View, is_open
from sklearn_probsr.engines.sums._far import far_change
from sklearn_probsr.engines.sums._finite import enclose_finite
from sklearn_probsr.engines.sums._finite_sum import FiniteSum, Part
from sklearn_probsr.engines.sums._spectrum import set_bounds
from sklearn_probsr.independent.contributions import Contributions, Listed
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.laws.sums._draws import kept_along
from sklearn_probsr.laws.sums._focus import Focus
from sklearn_probsr.laws.sums._listed_far import listed_inner
from sklearn_probsr.laws.sums._promises import promises
from sklearn_probsr.laws.sums._spectra import FEW_TOLD, Shared, Worth, are_few
from sklearn_probsr.laws.sums._turns import FAR, clamped
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["ROUGH", "WIDE", "Costs"]

# Where a guarantee need not be known better than this, the roughest bounds are tried first.
ROUGH = 5e-3
# Beyond this, the answers of a batch are looked at again.
WIDE = 1e-3
# The degree of spectra: lower ones need not be tried again for a set.
_TRIED = 2**13
# So many completions are counted in less than a millisecond.
_FEW = 2**10
# Cuts are no further out than this, in turns: what is moved counts there with all of its chance.
_FARTHEST = Fraction(2) ** 900


class Moments(NamedTuple):
    """The most that each unit can cost, mean and variance of its cost, and the margin."""

    score: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    margin: float


class Costs(View):
    """What each unit of an instance may cost, and how likely that is.

    ``spectra`` returns those of a class; they know all units if asked for ``whole`` ones.
    """

    def __init__(
        self,
        contributions: Contributions,
        row: Row,
        spectra: Callable[[bool, bool], Shared | None],
    ) -> None:
        super().__init__(len(contributions.ends))
        self.contributions = contributions
        self.row = row
        self.positive = bool(contributions.model.is_positive(row[None, :])[0])
        self.known = contributions.known(row)
        self._make_spectra = spectra
        self._known: dict[tuple[frozenset[int], Fraction | None, float], Enclosure] = {}
        self._views: dict[tuple[int, int], Worth] = {}
        self._shared: dict[bool, Shared | None] = {}
        self._unsure: frozenset[int] | None = None  # a set that is known not to be certain
        self._focus: Focus | None = None

    def lowered(self, features: Sequence[int], loss: Fraction) -> Costs:
        """Return the same instance, and the same class, with facts that are worth less together.

        The loss is in units of the decision function.
        """
        twin = copy.copy(self)
        for name in ("at_worst", "_at_best", "moments"):
            twin.__dict__.pop(name, None)
        less = loss / self.contributions.scale
        twin.known = list(self.known)
        twin.known[features[0]] += -less if self.positive else less
        twin._known, twin._views = {}, {}
        # Facts that are worth less are no more certain.
        twin._unsure = self._unsure if self.is_certain(features) else frozenset(features)
        return twin

    @property
    def duel(self) -> Duel:
        """The decision that is looked at."""
        return Duel(self.contributions.model, self.positive)

    def spared(self, features: Collection[int]) -> Fraction:
        """Return a loss of some facts beyond which no completion has the class."""
        inside, left = set(features), -self.contributions.threshold
        for u, (least, most) in enumerate(self.contributions.ends):
            left += self.known[u] if u in inside else most if self.positive else least
        return max(left if self.positive else -left, Fraction(0)) * self.contributions.scale

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything."""
        least, most = self.contributions.ends[unit]
        return self.known[unit] > least if self.positive else self.known[unit] < most

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything."""
        least, most = self.contributions.ends[unit]
        return self.known[unit] < most if self.positive else self.known[unit] > least

    def most(self, unit: int) -> Fraction:
        """Return the most that a unit can cost."""
        least, most = self.contributions.ends[unit]
        return self.known[unit] - least if self.positive else most - self.known[unit]

    def least(self, unit: int) -> Fraction:
        """Return the least that a unit can cost; less than nothing, if it can gain."""
        least, most = self.contributions.ends[unit]
        return self.known[unit] - most if self.positive else least - self.known[unit]

    @property
    def listed(self) -> Listed:
        """The contributions, where all their values are listed."""
        assert isinstance(self.contributions, Listed)
        return self.contributions

    def law(self, unit: int) -> list[tuple[Fraction, int]]:
        """Return what a unit costs, increasing, and the chance of each cost."""
        return self.listed.costs(unit, self.known[unit], self.positive)

    def spare(self, times: int) -> int:
        """Return the most that the costs may sum to, when all are ``times`` as large and whole."""
        left = sum(self.known, start=-self.contributions.threshold) * times
        left = left if self.positive else -left
        needs_more = is_open(self.contributions.model, self.positive)
        return math.ceil(left) - 1 if needs_more else math.floor(left)

    def question(self, fixed: Collection[int], held: Listed | None = None) -> FiniteSum:
        """Return the random sum that is left when some units are known, of some values."""
        seen = self.listed if held is None else held
        inside = set(fixed)
        free = [u for u in range(len(seen.values)) if u not in inside]
        cut = seen.cut(sum((self.known[u] for u in inside), start=Fraction(0)))
        if self.positive:
            capacity = sum(seen.values[u][-1] for u in free) - cut
        else:
            capacity = cut - 1 - sum(seen.values[u][0] for u in free)
        each = seen.parts(self.positive)
        parts: list[Part] = [each[u] for u in seen.by_range if u not in inside]
        return FiniteSum(parts, seen.denominator, capacity)

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set, until delta is on one side or it is narrow enough."""
        key = (frozenset(fixed), delta, tol)
        if key not in self._known:
            self._known[key] = self._enclose(*key)
        return self._known[key]

    def _enclose(self, fixed: frozenset[int], delta: Fraction | None, tol: float) -> Enclosure:
        if fixed != self._unsure and self.is_certain(fixed):
            return Enclosure.of(Fraction(1))
        if delta is None and self.is_hopeless(fixed):
            return Enclosure.of(Fraction(0))
        told = delta is None and self._is_told(fixed)
        rough = None if told else self._by_spectrum(fixed, delta, tol)
        if rough is not None:
            enough = (rough >= delta).decided if delta is not None else rough.width <= tol
            if enough:
                return rough
        if rough is None:
            return enclose_finite(self.question(fixed), delta, tol)
        return rough.intersect(self._finished(fixed, delta, tol))

    def _is_told(self, fixed: frozenset[int]) -> bool:
        """Tell whether a reader is told the fraction: values, or completions, are few."""
        seen = self.contributions
        if are_few(seen, FEW_TOLD):
            return True
        if not isinstance(seen, Listed) or len(seen.by_range) - len(fixed) > _FEW.bit_length():
            return False
        return math.prod(len(seen.values[u]) for u in seen.by_range if u not in fixed) <= _FEW

    def _finished(self, fixed: frozenset[int], delta: Fraction | None, tol: float) -> Enclosure:
        """Enclose the guarantee of a set beyond spectra; what is far out stays moved there."""
        inner = listed_inner(self.listed)
        if inner is None or not inner.far.share:
            return enclose_finite(self.question(fixed), delta, tol, _TRIED)
        shared = next(found for found in map(self._spectra, (False, True)) if found is not None)
        cut, blur = self._exact_cut(fixed, shared)
        found = enclose_finite(self.question(fixed, inner.seen), delta, tol, _TRIED)
        change = far_change(inner.far, abs(cut) + blur)
        return Enclosure.proved(found.lower - change, found.upper + change)

    def glance(self, fixed: frozenset[int]) -> Enclosure:
        """Enclose the guarantee of a set by what is quick: by spectra where there are any."""
        if fixed != self._unsure and self.is_certain(fixed):
            return Enclosure.of(Fraction(1))
        known = self._by_spectrum(fixed, None, 0.0)
        return self.enclose(fixed) if known is None else known

    def focus(self, units: Collection[int]) -> None:
        """Say which units sets will be made of: what all of them leave free is multiplied once."""
        if self._focus is None or self._focus.units != units:
            self._focus = Focus(frozenset(units))

    def is_certain(self, fixed: Collection[int]) -> bool:
        """Tell whether a set keeps the class for certain: the others fit the margin at worst."""
        worst, beyond = self.at_worst
        return beyond <= sum(worst[u] for u in set(fixed))

    def may_hurt_at_worst(self, units: Collection[int]) -> list[int]:
        """Return those of some units that surely gain when they are unknown, by some amount."""
        return [u for u in units if self.most(u) < 0]

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size whether so many units along an order keep the class for certain."""
        worst, beyond = self.at_worst
        return [beyond <= known for known in accumulate((worst[u] for u in order), initial=0)]

    def is_hopeless(self, fixed: Collection[int]) -> bool:
        """Tell whether a set never keeps the class: the others exceed the margin at best."""
        best, beyond = self._at_best
        return beyond > sum(best[u] for u in set(fixed))

    @cached_property
    def at_worst(self) -> tuple[list[int], int]:
        """What each unit costs at most, and by how much all together exceed the margin."""
        return self._at_ends(self.most)

    @cached_property
    def _at_best(self) -> tuple[list[int], int]:
        """What each unit costs at least, and by how much all together exceed the margin."""
        return self._at_ends(self.least)

    def _at_ends(self, end: Callable[[int], Fraction]) -> tuple[list[int], int]:
        """Return ends of what units cost, and by how much all together exceed the margin."""
        whole = self.contributions.fineness
        times = math.lcm(whole, *(known.denominator for known in self.known))
        costs = [int(end(u) * times) for u in range(len(self.known))]
        return costs, sum(costs) - self.spare(times)

    def _by_spectrum(
        self, fixed: frozenset[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure | None:
        """Bound a guarantee by the first spectra that know all of its units."""
        for whole in (False, True):
            shared = self._spectra(whole)
            if shared is not None and shared.positions.keys() >= fixed:
                return self._bound(fixed, shared, delta, tol)
        return None

    def _bound(
        self, fixed: frozenset[int], shared: Shared, delta: Fraction | None, tol: float
    ) -> Enclosure:
        cut, blur = self.cut_of(fixed, shared)
        near = self._focus if self._focus and self._focus.covers(fixed, shared) else None
        free = np.array([j for u, j in shared.positions.items() if u not in fixed], dtype=np.int64)
        best = Enclosure(0.0, 1.0)
        for degree in (0, *shared.degrees) if tol >= ROUGH else shared.degrees:
            if near is None:
                lower, upper = set_bounds(shared.spectrum(degree), free, cut, blur)
            else:
                lower, upper = near.bounds(fixed, shared, degree, cut, blur)
            if self.positive:
                lower, upper = 1 - upper, 1 - lower
            best = best.intersect(Enclosure.proved(lower, upper))
            if (best >= delta).decided if delta is not None else best.width <= tol:
                break
        return best

    def cut_of(self, fixed: Collection[int], shared: Shared) -> tuple[float, float]:
        """Return where the cut is with some units fixed, in turns, and how far that may be off."""
        views = [self._view(u, shared) for u in sorted(fixed)]
        gains = np.array([view.gain for view in views])
        cut = shared.cut(all(view.whole for view in views))
        if abs(cut) > FAR or np.any(np.abs(gains) > FAR):
            return self._exact_cut(fixed, shared)
        return cut - math.fsum(gains), float(shared.blur(cut, gains))

    def _exact_cut(self, fixed: Collection[int], shared: Shared) -> tuple[float, float]:
        """Return the same with all digits, rounded once, as far out as floats can be added up."""
        above = self.contributions.threshold - sum(self.known[u] for u in set(fixed))
        for u in set(range(self.n_units)).difference(fixed):
            above -= shared.ends[u][0] + Fraction(float(shared.centre[u])) * shared.period
        return float(max(min(above / shared.period, _FARTHEST), -_FARTHEST)), 4 * UNIT

    def _spectra(self, whole: bool) -> Shared | None:
        if whole not in self._shared:
            self._shared[whole] = self._make_spectra(self.positive, whole)
        return self._shared[whole]

    def _view(self, unit: int, shared: Shared) -> Worth:
        key = (unit, id(shared))
        if key not in self._views:
            value = self.known[unit] * self.contributions.scale
            self._views[key] = shared.view(unit, value)
        return self._views[key]

    @property
    def counted(self) -> bool:
        """Whether sets are counted one by one, and not looked up in spectra."""
        return self._spectra(False) is None

    @property
    def measured(self) -> Contributions:
        """Without values that are far out: rare ones would make up all of mean and variance."""
        inner = None if are_few(self.contributions) else listed_inner(self.listed)
        return self.contributions if inner is None else inner.seen

    @cached_property
    def moments(self) -> Moments:
        """The moments of every unit's cost, in widths of the widest contribution."""
        contributions = self.measured
        width, mean, variance = contributions.moments
        ends, widest = contributions.ends, contributions.widest
        above = np.array(
            [clamped((c - end[0]) / widest) for c, end in zip(self.known, ends, strict=True)]
        )
        left = abs(sum(self.known, start=-contributions.threshold))
        margin = clamped(left / widest)
        if self.positive:
            return Moments(above, above - mean, variance, margin)
        return Moments(width - above, mean - above, variance, margin)

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing promise, in several ways."""
        moments = self.moments
        score, mean, variance = (
            part[members] for part in (moments.score, moments.mean, moments.variance)
        )
        scale = max(float(mean.max(initial=0.0)), 1e-300)
        return [
            [members[j] for j in np.argsort(-key, kind="stable")]
            for key in promises(score, mean, variance, scale)
        ]

    def guess(self, forced: Sequence[int], order: list[int], delta: Fraction) -> int:
        """Return the first size along an order that suffices for a normal law."""
        _, mean, variance, margin = self.moments
        free = np.ones(len(mean), dtype=np.bool_)
        free[list(forced)] = False
        means = mean[free].sum() - np.concatenate([[0.0], np.cumsum(mean[order])])
        left = np.maximum(
            variance[free].sum() - np.concatenate([[0.0], np.cumsum(variance[order])]), 0.0
        )
        quantile = float(np.clip(ndtri(float(delta)), -8.0, 8.0))
        enough = np.flatnonzero(margin - means >= quantile * np.sqrt(left))
        return int(enough[0]) if len(enough) else len(order)

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size."""
        inside = {*forced, *order}
        units = [*order, *(u for u in range(self.n_units) if u not in inside)]
        whole = math.lcm(*(c.denominator for c in self.known))
        laws = [[(int(cost * whole), chance) for cost, chance in self.law(u)] for u in units]
        return kept_along(
            laws, self.listed.denominator, self.spare(whole), len(order), samples, rng
        )

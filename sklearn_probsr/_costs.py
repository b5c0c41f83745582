"""Costs: what unknown units may cost an instance, when they are independent of each other."""

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

from sklearn_probsr._contributions import Contributions, distinct, is_open
from sklearn_probsr._distributions import Distribution
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._model import LinearModel
from sklearn_probsr.engines._finite import FiniteSum, Part, enclose_finite
from sklearn_probsr.engines._fourier import SPREADS
from sklearn_probsr.engines._spectrum import Law, Spectrum, build_spectra, set_bounds

__all__ = ["LAMBDAS", "TOL", "Costs", "Shared", "contributions_of", "shared_of"]

# Width to which the guarantee of an answer is computed.
TOL = 1e-4
# Relative weights of the variance in the rankings; 0 is the mean cost, the signed SHAP value.
LAMBDAS = (0.0, 0.25, 1.0, 4.0, math.inf)
# Models with so few units, and so few values, are counted; spectra pay beyond.
_FEW = 24
_FEW_ATOMS = 120
# Models with more units have a rest that no reason is made of.
_MOST_IN_HEAD = 128
_MOST_CELLS = 2**22
_UNIT = 2.0**-53
# Contributions whose comparison is remembered.
_MOST_VIEWS = 2**17


def contributions_of(model: LinearModel, distribution: Distribution) -> Contributions:
    """Return the random contributions of a model's units, made once."""
    return model.cached(
        ("contributions", distribution), lambda: Contributions.of(model, distribution)
    )


def shared_of(contributions: Contributions, positive: bool, distribution: Distribution) -> (
    Shared | None
):  # fmt: skip
    """Return the spectra of a class, made once; None where counting is the better way."""
    atoms = sum(map(len, contributions.values))
    n = len(contributions.values)
    if (n <= _FEW and atoms <= _FEW_ATOMS) or not contributions.by_range:
        return None
    side = positive if n > _MOST_IN_HEAD else None
    return contributions.model.cached(
        ("spectra", distribution, side), lambda: Shared.of(contributions, positive)
    )


@dataclass(frozen=True)
class Shared:
    """What rows share: units' laws in turns of one period, and the spectra of their sum.

    Attributes
    ----------
    period : int
    centre : ndarray
        What each unit contributes on average above the least that it can, in turns.
    variance : ndarray
        Of each contribution, in squared turns.
    positions : dict
        Where each unit of the head is.
    spectra : list of Spectrum
        For more and more fixed units.
    """

    contributions: Contributions
    period: int
    centre: NDArray[np.float64]
    variance: NDArray[np.float64]
    positions: dict[int, int]
    spectra: list[Spectrum]

    @classmethod
    def of(cls, contributions: Contributions, positive: bool) -> Shared | None:
        """Build them; None where the numbers are beyond what floats can tell apart."""
        values = contributions.values
        widths = [v[-1] - v[0] for v in values]
        spread = math.isqrt(sum(width * width for width in widths)) + 1
        if spread.bit_length() > 900:
            return None
        # SPREADS sigma around the mean, or the whole range on both sides of it.
        period = min(spread * math.ceil(SPREADS * 2**19 * (1 + 1e-6)) // 2**20, 2 * sum(widths)) + 8
        raw = [
            (
                np.array([(c - v[0]) / period for c in v]),
                np.array([chance / contributions.denominator for chance in chances]),
            )
            for v, chances in zip(values, contributions.chances, strict=True)
        ]
        centre = np.array([float(turns @ chances) for turns, chances in raw])
        laws = [Law(t - c, p) for (t, p), c in zip(raw, centre, strict=True)]
        variance = np.array([float(law.turns**2 @ law.chances) for law in laws])
        head = _head(contributions, centre, variance, period, positive)
        inside = set(head)
        rest = [u for u in contributions.by_range if u not in inside]
        cells = 2 ** math.floor(math.log2(_MOST_CELLS / len(head)))
        degree = 2**17 if rest else min(2**16, cells)
        sizes = sorted({math.ceil(len(head) * quarter / 4) for quarter in (1, 2, 3, 4)})
        spectra = build_spectra([laws[u] for u in head], [laws[u] for u in rest], degree, sizes)
        positions = {u: j for j, u in enumerate(head)}
        return cls(contributions, period, centre, variance, positions, spectra)

    def start(self, whole: bool) -> float:
        """Return where the cut is when nothing is fixed, in turns from the centre of the sum.

        Between whole numbers there is no mass, so with ``whole`` contributions the cut is half a
        number below the first that belongs to ``classes[1]``.
        """
        return self._starts[whole]

    @cached_property
    def _starts(self) -> tuple[float, float]:
        contributions = self.contributions
        least, centre = sum(v[0] for v in contributions.values), math.fsum(self.centre)
        cuts = (contributions.threshold, contributions.cut(0) - Fraction(1, 2))
        first, second = (_clamped((cut - least) / self.period) - centre for cut in cuts)
        return first, second

    def gain(self, unit: int, known: Fraction) -> float:
        """Return how far fixing a unit to its contribution moves the cut, in turns."""
        above = known - self.contributions.values[unit][0]
        return _clamped(above / self.period) - float(self.centre[unit])

    def view(self, unit: int, value: Fraction) -> View:
        """Return what the search needs to know of a unit that contributes some value."""
        key = (unit, value)
        if key in self._views:
            return self._views[key]
        known = value / self.contributions.scale
        values = self.contributions.values[unit]
        view = View(
            self.gain(unit, known), known > values[0], known < values[-1], known.denominator == 1
        )
        if len(self._views) < _MOST_VIEWS:
            self._views[key] = view
        return view

    def views(self, rows: NDArray[np.float64] | NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the view of every unit of every row, as numbers: (rows, units, 4)."""
        model = self.contributions.model
        if rows.dtype == np.bool_:
            zeros, ones = self._binary_views
            found: NDArray[np.float64] = np.where(rows[:, :, None], ones, zeros)
            return found
        found = np.empty((len(rows), model.n_units, 4))
        for u, (values, which) in enumerate(distinct(model, rows)):
            found[:, u] = np.array([self.view(u, value) for value in values])[which]
        return found

    @cached_property
    def _binary_views(self) -> NDArray[np.float64]:
        weights = self.contributions.model.weights.tolist()
        zero = [self.view(u, Fraction(0)) for u in range(len(weights))]
        one = [self.view(u, Fraction(w)) for u, w in enumerate(weights)]
        return np.array([zero, one], dtype=np.float64)

    @cached_property
    def _views(self) -> dict[tuple[int, Fraction], View]:
        return {}

    def blur(self, start: float, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound the rounding of a row's cut, whatever is fixed."""
        size = abs(start) + np.abs(gains).sum(axis=-1) + 2 * float(self.centre.sum())
        blur: NDArray[np.float64] = (gains.shape[-1] + 8) * 2 * _UNIT * size
        return blur


def _clamped(value: Fraction) -> float:
    """Return a number of turns; beyond a million it is all the same."""
    largest = Fraction(10**6)
    return float(max(min(value, largest), -largest))


def _head(
    contributions: Contributions,
    centre: NDArray[np.float64],
    variance: NDArray[np.float64],
    period: int,
    positive: bool,
) -> list[int]:
    """Return the units that reasons are made of: those with the best promise in some ranking."""
    if len(centre) <= _MOST_IN_HEAD:
        return list(contributions.by_range)
    width = np.array([(v[-1] - v[0]) / period for v in contributions.values])
    cost = width - centre if positive else centre
    scale = cost.max() or 1.0
    keys = (cost, cost + variance / scale, width * (cost > 0))
    size = math.ceil(4 * math.sqrt(len(centre)))
    best = [np.argsort(-key, kind="stable")[:size].tolist() for key in keys]
    varying = set(contributions.by_range)
    ranked = dict.fromkeys(u for ranks in zip(*best, strict=True) for u in ranks)
    return [u for u in ranked if u in varying]


class View(NamedTuple):
    """A known contribution: how far it moves the cut, and how it compares with what may come."""

    gain: float
    above_least: bool
    below_most: bool
    whole: bool


class Moments(NamedTuple):
    """The most that each unit can cost, mean and variance of its cost, and the margin."""

    score: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    margin: float


class Costs:
    """What each unit of an instance may cost, and how likely that is."""

    def __init__(
        self,
        contributions: Contributions,
        row: NDArray[np.float64] | NDArray[np.bool_],
        distribution: Distribution,
    ) -> None:
        self.contributions = contributions
        self.distribution = distribution
        self.positive = bool(contributions.model.is_positive(row[None, :])[0])
        self.known = contributions.known(row)
        self._known: dict[tuple[frozenset[int], Fraction | None], Enclosure] = {}
        self._views: dict[int, View] = {}
        self._parts = contributions.parts(self.positive)

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything."""
        values = self.contributions.values[unit]
        return self.known[unit] > values[0] if self.positive else self.known[unit] < values[-1]

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything."""
        values = self.contributions.values[unit]
        return self.known[unit] < values[-1] if self.positive else self.known[unit] > values[0]

    def law(self, unit: int) -> list[tuple[Fraction, int]]:
        """Return what a unit costs, increasing, and the chance of each cost."""
        known, values = self.known[unit], self.contributions.values[unit]
        pairs = zip(values, self.contributions.chances[unit], strict=True)
        if self.positive:
            return [(known - c, chance) for c, chance in pairs][::-1]
        return [(c - known, chance) for c, chance in pairs]

    def spare(self, times: int) -> int:
        """Return the most that the costs may sum to, when all are ``times`` as large and whole."""
        left = sum(self.known, start=-self.contributions.threshold) * times
        left = left if self.positive else -left
        needs_more = is_open(self.contributions.model, self.positive)
        return math.ceil(left) - 1 if needs_more else math.floor(left)

    def question(self, fixed: Collection[int]) -> FiniteSum:
        """Return the random sum that is left when some units are known."""
        values = self.contributions.values
        inside = set(fixed)
        free = [u for u in range(len(values)) if u not in inside]
        cut = self.contributions.cut(sum((self.known[u] for u in inside), start=Fraction(0)))
        if self.positive:
            capacity = sum(values[u][-1] for u in free) - cut
        else:
            capacity = cut - 1 - sum(values[u][0] for u in free)
        parts: list[Part] = [self._parts[u] for u in self.contributions.by_range if u not in inside]
        return FiniteSum(parts, self.contributions.denominator, capacity)

    def enclosure(self, fixed: Collection[int], delta: Fraction | None) -> Enclosure:
        """Enclose the guarantee of a set, until delta is on one side or it is narrow enough."""
        key = (frozenset(fixed), delta)
        if key not in self._known:
            self._known[key] = self._enclose(key[0], delta)
        return self._known[key]

    def _enclose(self, fixed: frozenset[int], delta: Fraction | None) -> Enclosure:
        rough = self._by_spectrum(fixed) if delta != 1 else None
        if rough is not None:
            enough = (rough >= delta).decided if delta is not None else rough.width <= TOL
            if enough:
                return rough
        if rough is None or self._shared is None:
            return enclose_finite(self.question(fixed), delta, TOL)
        tried = self._shared.spectra[0].degree
        return rough.intersect(enclose_finite(self.question(fixed), delta, TOL, tried))

    def _by_spectrum(self, fixed: frozenset[int]) -> Enclosure | None:
        shared = self._shared
        if shared is None:
            return None
        varying = [u for u in fixed if len(self.contributions.values[u]) > 1]
        if not shared.positions.keys() >= set(varying):
            return None
        spectrum = next((s for s in shared.spectra if s.most >= len(varying)), None)
        if spectrum is None:
            return None
        mask = np.zeros(len(shared.positions), dtype=np.bool_)
        mask[[shared.positions[u] for u in varying]] = True
        views = [self._view(u) for u in fixed]
        gains = np.array([view.gain for view in views])
        start = shared.start(all(view.whole for view in views))
        blur = float(shared.blur(start, gains))
        lower, upper = set_bounds(spectrum, mask, start - math.fsum(gains), blur)
        if self.positive:
            lower, upper = 1 - upper, 1 - lower
        return Enclosure.proved(lower, upper)

    def _view(self, unit: int) -> View:
        if unit not in self._views and self._shared is not None:
            value = self.known[unit] * self.contributions.scale
            self._views[unit] = self._shared.view(unit, value)
        return self._views[unit]

    @property
    def counted(self) -> bool:
        """Whether sets are counted one by one, and not looked up in spectra."""
        return self._shared is None

    @cached_property
    def _shared(self) -> Shared | None:
        return shared_of(self.contributions, self.positive, self.distribution)

    @cached_property
    def moments(self) -> Moments:
        """The moments of every unit's cost, in widths of the widest contribution."""
        contributions = self.contributions
        width, mean, variance = contributions.moments
        values, widest = contributions.values, contributions.widest
        above = np.array(
            [_clamped((c - v[0]) / widest) for c, v in zip(self.known, values, strict=True)]
        )
        left = abs(sum(self.known, start=-contributions.threshold))
        margin = _clamped(left / widest)
        if self.positive:
            return Moments(above, above - mean, variance, margin)
        return Moments(width - above, mean - above, variance, margin)

    def rankings(self, members: list[int]) -> list[list[int]]:
        """Return the members by decreasing promise, in several ways."""
        moments = self.moments
        score, mean, variance = (
            part[members] for part in (moments.score, moments.mean, moments.variance)
        )
        scale = max(float(mean.max(initial=0.0)), 1e-300)
        found = []
        for weight in LAMBDAS:
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

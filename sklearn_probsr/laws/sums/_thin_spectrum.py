"""The spectrum of a sum of units that are mostly zero, and of all but a few of them.

What all rare words do to a characteristic function is computed once, and a word that is fixed is
divided out of it (Proposition 47).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.coins._vaaler import (
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficient_table,
)
from sklearn_probsr.engines.sums._spectrum import DROPPED, Spectrum, set_bounds
from sklearn_probsr.engines.sums._thin import (
    least_decays,
    log_moments,
    thin_factors,
    thin_product,
)
from sklearn_probsr.laws._memo import Memo
from sklearn_probsr.laws.sums._thin_laws import ThinLaws
from sklearn_probsr.model._linear import LinearModel

__all__ = ["Running", "ThinSpectrum"]

# Units that are zero with at least this chance are divided out; others are multiplied one by one.
_MOSTLY = 0.95
# The degree of bounds, and the most numbers of factors that are kept for it.
_DEGREE = 2**14
_MOST_CELLS = 2**22
# So many factors are multiplied beforehand: a fixed unit takes but its own block apart.
_BLOCK = 128
# Chernoff's exponents that are tried, in inverse standard deviations.
_EXPONENTS = np.geomspace(0.5, 64.0, 29)
# Factors of rare units that were asked for lately: so many bytes of them.
_MOST_KNOWN = 2**25
# More than the rounding of sums of exponentials, relatively (Proposition 52).
_MARGIN = 1e-6


class Running(NamedTuple):
    """The sum of all units but for some, which are fixed."""

    centre: float
    product: NDArray[np.complex128]  # without the units that are multiplied one by one
    thick: frozenset[int]  # the places of those that are fixed
    growth: float = 1.0
    size: int = 0

    def fixing(self, spectrum: ThinSpectrum, units: Sequence[int]) -> Running:
        """Return the sum without some more units (Proposition 47)."""
        laws, product, growth, thick = spectrum.laws, self.product, self.growth, set(self.thick)
        at = list(units)
        for u in at:
            place = spectrum.place(u)
            if place is not None:
                thick.add(place)
            elif spectrum.weights[u] and laws.zeros[u] < 1:
                product = product / spectrum.factor(u)
                growth /= 2 * float(laws.zeros[u]) - 1
        centre = self.centre - float((laws.means[at] * spectrum.weights[at]).sum())
        return Running(centre, product, frozenset(thick), growth, self.size + len(at))

    def freeing(self, spectrum: ThinSpectrum, units: Sequence[int]) -> Running:
        """Return the sum with some units again that were fixed.

        Factors are at most 1, so that errors are those of the fixed units still.
        """
        laws, product, at = spectrum.laws, self.product, list(units)
        places = {spectrum.place(u) for u in at}
        for u in at:
            if spectrum.place(u) is None and spectrum.weights[u] and laws.zeros[u] < 1:
                product = product * spectrum.factor(u)
        centre = self.centre + float((laws.means[at] * spectrum.weights[at]).sum())
        thick = frozenset(self.thick - places)
        return Running(centre, product, thick, self.growth, self.size + len(at))


class ThinSpectrum:
    """The sum of the contributions of all units, and of all but a few.

    Parameters
    ----------
    laws : ThinLaws
    model : LinearModel
        Every unit is one of its columns, in their order.
    of : int, default=1
        How many spectra share the memory; where there are several they are coarser.
    """

    def __init__(self, laws: ThinLaws, model: LinearModel, of: int = 1) -> None:
        self.laws, self.weights = laws, model.weights
        least, most = laws.ends
        sizes = np.abs(self.weights)
        self.reach = float((sizes * np.maximum(-least, most)).sum())
        self.centre, self._size = float(self.means.sum()), float((sizes * laws.sizes).sum())
        self.longest = int(np.diff(laws.starts).max(initial=0))
        self.period = self._period()
        self._scales = self.weights / self.period
        self._tabulate(_DEGREE if of == 1 else _DEGREE // 4)
        self._known: Memo[NDArray[np.complex128]] = Memo(_MOST_KNOWN // of, lambda one: one.nbytes)
        self._sides: Memo[tuple[float, float]] = Memo(2)

    @property
    def means(self) -> NDArray[np.float64]:
        """What each unit adds on average."""
        return self.laws.means * self.weights

    @cached_property
    def variance(self) -> float:
        """How much the sum varies."""
        return float(self.variances.sum())

    @property
    def variances(self) -> NDArray[np.float64]:
        """How much what each unit adds varies."""
        return self.laws.variances * self.weights**2

    def _period(self) -> float:
        """Return a period that the sum of any units leaves with a chance of ``TAIL`` at most."""
        laws, spread = self.laws, math.sqrt(self.variance)
        if not spread:
            return 1.0

        def end(at: int, side: float) -> float:
            exponent = float(_EXPONENTS[at]) / spread
            found = log_moments(
                laws.starts, laws.values, side * self.weights, laws.chances, laws.zeros,
                laws.moments, exponent,
            )  # fmt: skip
            return (found * (1 + _MARGIN) + _MARGIN + math.log(2 / TAIL)) / exponent

        reach = [_least(partial(end, side=side), len(_EXPONENTS)) for side in (1.0, -1.0)]
        return 2 * max(reach) * (1 + _MARGIN)

    def _tabulate(self, degree: int) -> None:
        laws = self.laws
        varying = (np.diff(laws.starts) > 0) & (self.weights != 0)
        by_variance = np.argsort(-self.variances, kind="stable")
        mostly = laws.zeros >= _MOSTLY
        thin = by_variance[(mostly & varying)[by_variance]]
        thick = by_variance[(~mostly & varying)[by_variance]]
        nodes = np.arange(1.0, degree + 1)
        a, b = coefficient_table(nodes, degree)
        # At lower degrees a node weighs up to twice as much; what is left out comes to a tenth of
        # what a bound is wide anyway (Proposition 24).
        least = DROPPED / degree**2 / (4 * (a + b))
        open_ones = self._decays(mostly & varying, degree) <= -np.log(least)
        rest = np.zeros((degree, 2))
        rest[open_ones] = thin_product(
            thin, laws.starts, laws.values, self._scales, laws.chances, laws.zeros,
            nodes[open_ones], least[open_ones],
        )  # fmt: skip
        live = np.flatnonzero(rest.any(axis=1))
        while len(live) * (len(thick) + 1) > _MOST_CELLS and degree > 1:
            degree //= 2
            live = live[live < degree]
        self.degree, self.nodes = degree, nodes[live]
        self._rest = rest[live, 0] + 1j * rest[live, 1]
        self._thick = {int(u): j for j, u in enumerate(thick)}
        self._factors = self._complex(thick)
        starts = np.arange(0, len(thick), _BLOCK)
        self._blocks = np.multiply.reduceat(self._factors, starts) if len(thick) else self._factors
        a, b = coefficient_table(self.nodes, degree)
        # Proposition 47: sines, roundings of products and sums, of arguments, and what is left out.
        rounded = 2 * TRIG_ERROR + (self.longest + 4) * 4 * UNIT
        each = rounded * float((1 - laws.zeros).sum())
        argument = 64 * UNIT * degree * self._size / self.period
        self._total = 2 * coefficient_sum(degree)
        self._off = each + argument + 8 * UNIT * len(laws.zeros)
        self._table = Spectrum(
            degree, 0.0, 0.0, self.nodes, np.where(self.nodes % 2 == 0, 1.0, -1.0), a, b,
            np.zeros((len(live), 2)), np.zeros((0, len(live), 2)),
        )  # fmt: skip

    def _decays(self, units: NDArray[np.bool_], degree: int) -> NDArray[np.float64]:
        """Bound how small the product of some units is at every node (Lemma 134)."""
        laws = self.laws
        inside = units[laws.columns]
        columns = laws.columns[inside]
        turns = laws.values[inside] * self._scales[columns]
        return least_decays(turns, laws.chances[inside] * laws.zeros[columns], degree)

    def _complex(self, units: Any) -> NDArray[np.complex128]:
        laws, at = self.laws, np.asarray(units, dtype=np.intp)
        found = thin_factors(
            at, laws.starts, laws.values, self._scales, laws.chances, laws.zeros, self.nodes
        )
        return found[..., 0] + 1j * found[..., 1]

    def fixing(self, units: Sequence[int]) -> Running:
        """Return the sum with some units taken out of it."""
        return Running(self.centre, self._rest, frozenset()).fixing(self, units)

    def bounds(self, known: Running, level: float, size: float) -> tuple[float, float]:
        """Bound the chance that the units that are not fixed sum up to a level at most.

        Of the probability of staying below the level the same bounds hold. ``size`` is that of the
        numbers that the level was summed up from.
        """
        product = known.product * self._thick_product(known.thick)
        centred = product * np.exp(
            -2j * math.pi * _turned(self.nodes * (known.centre / self.period))
        )
        table = self._table
        slope = 2 + float(np.sum(self._slopes * np.abs(product)))
        off = self._off + 64 * UNIT * (known.size + 1)
        error = known.growth * (2.3 * self._total * off + DROPPED / self.degree) + TAIL
        spectrum = table._replace(
            rest=np.ascontiguousarray(centred).view(np.float64).reshape(-1, 2),
            error=error,
            slope=slope,
        )
        # Sums of means, and the level itself, are rounded.
        doubt = 4 * UNIT * (self.longest + known.size + 64) * (2 * self._size + size)
        beta, blur = (level - known.centre) / self.period, doubt / self.period + 8 * UNIT
        return set_bounds(spectrum, np.zeros(0, dtype=np.int64), beta, blur)

    @cached_property
    def _slopes(self) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (
            4 * math.pi * self.nodes * (self._table.vaaler + self._table.fejer)
        )
        return found

    def _thick_product(self, fixed: frozenset[int]) -> NDArray[np.complex128]:
        """Return the product of the units that are multiplied one by one, but for some places."""
        kept = np.ones(len(self._blocks), dtype=np.bool_)
        kept[[j // _BLOCK for j in fixed]] = False
        left = [
            j
            for block in np.flatnonzero(~kept).tolist()
            for j in range(block * _BLOCK, min((block + 1) * _BLOCK, len(self._factors)))
            if j not in fixed
        ]
        parts = np.concatenate([self._blocks[kept], self._factors[left]])
        product: NDArray[np.complex128] = np.multiply.reduce(parts, axis=0, initial=1.0)
        return product

    def place(self, unit: int) -> int | None:
        """Return where a unit is among those that are multiplied one by one."""
        return self._thick.get(unit)

    def factor(self, unit: int) -> NDArray[np.complex128]:
        """Return the factor of a unit at the nodes."""
        return self._known.get(unit, lambda: self._complex([unit])[0])

    def worst(self, sign: float, units: Any = slice(None)) -> NDArray[np.float64]:
        """Return what some units add at worst for a class."""
        least, most = self.laws.ends
        weights = sign * self.weights[units]
        found: NDArray[np.float64] = np.where(weights > 0, least[units], most[units]) * weights
        return found

    def at_worst(self, sign: float) -> tuple[float, float]:
        """Return about what all units add at worst for a class, and the sum of their sizes."""

        def summed() -> tuple[float, float]:
            each = self.worst(sign)
            return float(each.sum()), float(np.abs(each).sum())

        return self._sides.get(sign, summed)

    def exactly_at_worst(self, sign: float) -> Fraction:
        """Return what all units add at worst for a class, exactly."""
        least, most = self.laws.ends
        ends = np.where(sign * self.weights > 0, least, most)
        there = np.flatnonzero(ends)
        each = zip(self.weights[there].tolist(), ends[there].tolist(), strict=True)
        return int(sign) * sum((Fraction(w) * Fraction(x) for w, x in each), Fraction(0))

    @property
    def nbytes(self) -> int:
        """How much memory the tables take, beside the laws."""
        known = len(self._known) * self.nodes.nbytes * 2
        return int(self._factors.nbytes + self._scales.nbytes + known)


def _least(asked: Callable[[int], float], n: int) -> float:
    """Return a small one of n numbers: the least, if they fall and then rise."""
    once = lru_cache(maxsize=None)(asked)
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if once(middle) <= once(middle + 1) else (middle + 1, high)
    return min(once(low), once(high))


def _turned(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return turns without whole ones, which say nothing."""
    found: NDArray[np.float64] = turns - np.rint(turns)
    return found

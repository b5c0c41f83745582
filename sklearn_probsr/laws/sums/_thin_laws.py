"""Units that are mostly zero and independent of each other: their laws, and the spectrum of a sum.

Rare words cost next to nothing each: what all of them do to a characteristic function is computed
once, and a word that is fixed is divided out of it (Proposition 47).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
from sklearn_probsr.engines.sums._thin import log_moments, thin_factors, thin_product
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.model._sparse import SparseRows

__all__ = ["ThinLaws", "ThinSpectrum"]

# Units that are zero with at least this chance are divided out; others are multiplied one by one.
_MOSTLY = 0.95
# The degree of bounds, and the most numbers of factors that are kept for it.
_DEGREE = 2**14
_MOST_CELLS = 2**22
# So many factors are multiplied beforehand: a fixed unit takes but its own block apart.
_BLOCK = 128
# Chernoff's exponents that are tried, in inverse standard deviations.
_EXPONENTS = np.geomspace(0.5, 64.0, 29)
# More than the rounding of sums of exponentials, relatively (Proposition 52).
_MARGIN = 1e-6


@dataclass(frozen=True, eq=False)
class ThinLaws:
    """What every unit may be, by columns: values that are not zero, and their chances.

    Attributes
    ----------
    starts : ndarray of int64, shape (d + 1,)
        Unit u has the values from ``starts[u]`` up to ``starts[u + 1]``.
    values, chances : ndarray of float64
    zeros : ndarray of float64, shape (d,)
        The chance that each unit is zero.
    """

    starts: NDArray[np.int64]
    values: NDArray[np.float64]
    chances: NDArray[np.float64]
    zeros: NDArray[np.float64]

    @classmethod
    def seen(cls, rows: SparseRows, weights: NDArray[np.int64]) -> ThinLaws:
        """Return those of the columns of some rows."""
        total = int(weights.sum())
        matrix = rows.astype(np.float64).matrix.tocsc()
        columns = np.repeat(np.arange(rows.width), np.diff(matrix.indptr))
        # Equal values of a column are one.
        order = np.lexsort((matrix.data, columns))
        columns, values = columns[order], matrix.data[order]
        first = np.ones(len(values), dtype=np.bool_)
        first[1:] = (columns[1:] != columns[:-1]) | (values[1:] != values[:-1])
        at = np.flatnonzero(first)
        counts = np.zeros(0, dtype=np.int64)
        if len(at):
            counts = np.add.reduceat(weights[matrix.indices[order]], at)
        held = np.zeros(rows.width, dtype=np.int64)
        np.add.at(held, columns[at], counts)
        kept = counts > 0  # rows may count for nothing
        sizes = np.bincount(columns[at][kept], minlength=rows.width)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(starts, values[at][kept], counts[kept] / total, (total - held) / total)

    @classmethod
    def given(cls, p: Any) -> ThinLaws:
        """Return those of 0/1 units that are 1 with some chances."""
        ones = np.array([one.numerator / one.denominator for one in p])
        there = ones > 0
        starts = np.concatenate([[0], np.cumsum(there)]).astype(np.int64)
        zeros = np.array([(one.denominator - one.numerator) / one.denominator for one in p])
        return cls(starts, np.ones(int(there.sum())), ones[there], zeros)

    @property
    def columns(self) -> NDArray[np.intp]:
        """The unit of every value."""
        return np.repeat(np.arange(len(self.zeros)), np.diff(self.starts))

    def summed(self, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum up numbers, one for each value, by units."""
        sums: NDArray[np.float64] = np.bincount(self.columns, parts, len(self.zeros))  # type: ignore[assignment]
        return sums

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What each unit is on average."""
        return self.summed(self.values * self.chances)

    @cached_property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the most that each unit is."""
        least, most = np.zeros((2, len(self.zeros)))
        held = np.flatnonzero(np.diff(self.starts))
        if len(held):
            least[held] = np.minimum.reduceat(self.values, self.starts[held])
            most[held] = np.maximum.reduceat(self.values, self.starts[held])
        may = self.zeros > 0
        least[may], most[may] = np.minimum(least[may], 0.0), np.maximum(most[may], 0.0)
        return least, most

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return int(self.starts.nbytes + 2 * self.values.nbytes + self.zeros.nbytes)


class ThinSpectrum:
    """The sum of the contributions of all units, and of all but a few.

    Parameters
    ----------
    laws : ThinLaws
    model : LinearModel
        Every unit is one of its columns, in their order.
    """

    def __init__(self, laws: ThinLaws, model: LinearModel) -> None:
        self.laws = laws
        self._parts = laws.values * model.weights[laws.columns]
        self.means = laws.summed(self._parts * laws.chances)
        self.sizes = laws.summed(np.abs(self._parts) * laws.chances)
        squares = laws.summed(self._parts**2 * laws.chances)
        self.variances = np.maximum(squares - self.means**2, 0.0)
        least, most = laws.ends
        self.reach = float((np.abs(model.weights) * np.maximum(-least, most)).sum())
        self._centre, self._size = float(self.means.sum()), float(self.sizes.sum())
        self.longest = int(np.diff(laws.starts).max(initial=0))
        self.period = self._period()
        self._turns = self._parts / self.period
        self._mostly = laws.zeros >= _MOSTLY
        self._tabulate()

    def _period(self) -> float:
        """Return a period that the sum of any units leaves with a chance of ``TAIL`` at most."""
        laws, spread = self.laws, math.sqrt(float(self.variances.sum()))
        if not spread:
            return 1.0
        exponents, reach = _EXPONENTS / spread, []
        for side in (1.0, -1.0):
            found = log_moments(
                laws.starts, side * self._parts, laws.chances, laws.zeros, side * self.means,
                exponents,
            )  # fmt: skip
            ends = (found * (1 + _MARGIN) + _MARGIN + math.log(2 / TAIL)) / exponents
            reach.append(float(ends.min()))
        return 2 * max(reach) * (1 + _MARGIN)

    def _tabulate(self) -> None:
        laws, degree = self.laws, _DEGREE
        varying = np.diff(laws.starts) > 0
        by_variance = np.argsort(-self.variances, kind="stable")
        thin = by_variance[(self._mostly & varying)[by_variance]]
        thick = by_variance[(~self._mostly & varying)[by_variance]]
        nodes = np.arange(1.0, degree + 1)
        a, b = coefficient_table(nodes, degree)
        # At lower degrees a node weighs up to twice as much; what is left out comes to a tenth of
        # what a bound is wide anyway (Proposition 24).
        least = DROPPED / degree**2 / (4 * (a + b))
        rest = self._product(thin, nodes, least)
        live = np.flatnonzero(rest.any(axis=1))
        while len(live) * (len(thick) + 1) > _MOST_CELLS and degree > 1:
            degree //= 2
            live = live[live < degree]
        self.degree, self._nodes = degree, nodes[live]
        self._rest = rest[live, 0] + 1j * rest[live, 1]
        self._thick = {int(u): j for j, u in enumerate(thick)}
        self._factors = self._complex(thick)
        starts = np.arange(0, len(thick), _BLOCK)
        self._blocks = np.multiply.reduceat(self._factors, starts) if len(thick) else self._factors
        self._known: dict[int, NDArray[np.complex128]] = {}
        a, b = coefficient_table(self._nodes, degree)
        total = 2 * coefficient_sum(degree)
        # Proposition 47: sines, roundings of products and sums, of arguments, and what is left out.
        atoms = float(np.diff(laws.starts).max(initial=0)) + 4
        each = (2 * TRIG_ERROR + atoms * 4 * UNIT) * float((1 - laws.zeros).sum())
        argument = 64 * UNIT * degree * float(self.sizes.sum()) / self.period
        self._total = total
        self._off = each + argument + 8 * UNIT * len(laws.zeros)
        self._table = Spectrum(
            degree, 0.0, 0.0, self._nodes, np.where(self._nodes % 2 == 0, 1.0, -1.0), a, b,
            np.zeros((len(live), 2)), np.zeros((0, len(live), 2)),
        )  # fmt: skip

    def _product(
        self, units: NDArray[np.intp], nodes: NDArray[np.float64], least: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        laws = self.laws
        return thin_product(units, laws.starts, self._turns, laws.chances, laws.zeros, nodes, least)

    def _complex(self, units: Any) -> NDArray[np.complex128]:
        laws, at = self.laws, np.asarray(units, dtype=np.intp)
        found = thin_factors(at, laws.starts, self._turns, laws.chances, laws.zeros, self._nodes)
        return found[..., 0] + 1j * found[..., 1]

    def bounds(self, fixed: list[int], level: float, size: float) -> tuple[float, float]:
        """Bound the chance that the units that are not fixed sum up to a level at most.

        Of the probability of staying below the level the same bounds hold. ``size`` is that of the
        numbers that the level was summed up from.
        """
        inside = set(fixed)
        product, growth = self._rest, 1.0
        product = product * self._thick_product(
            {self._thick[u] for u in inside if u in self._thick}
        )
        for u in inside:
            if u not in self._thick:
                product = product / self._factor(u)
                growth /= 2 * float(self.laws.zeros[u]) - 1
        centre = self._centre - float(self.means[fixed].sum())
        centred = product * np.exp(-2j * math.pi * _turned(self._nodes * (centre / self.period)))
        table = self._table
        slope = 2 + float(
            np.sum(4 * math.pi * self._nodes * (table.vaaler + table.fejer) * np.abs(product))
        )
        off = self._off + 64 * UNIT * (len(fixed) + 1)
        error = growth * (2.3 * self._total * off + DROPPED / self.degree) + TAIL
        spectrum = table._replace(
            rest=np.ascontiguousarray(centred).view(np.float64).reshape(-1, 2),
            error=error,
            slope=slope,
        )
        # Sums of means, and the level itself, are rounded.
        doubt = 4 * UNIT * (self.longest + 64) * (2 * self._size + size)
        beta, blur = (level - centre) / self.period, doubt / self.period + 8 * UNIT
        return set_bounds(spectrum, np.zeros(0, dtype=np.int64), beta, blur)

    def _thick_product(self, fixed: set[int]) -> NDArray[np.complex128]:
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

    def _factor(self, unit: int) -> NDArray[np.complex128]:
        if unit not in self._known:
            if len(self._known) > 4096:
                self._known.clear()
            self._known[unit] = self._complex([unit])[0]
        return self._known[unit]

    @property
    def nbytes(self) -> int:
        """How much memory the tables take."""
        return int(self._factors.nbytes + self._parts.nbytes * 2 + self.means.nbytes * 3)


def _turned(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return turns without whole ones, which say nothing."""
    found: NDArray[np.float64] = turns - np.rint(turns)
    return found

"""The spectrum of a sum of units that are mostly zero, and of all but a few of them.

What all rare words do to a characteristic function is computed once, and a word that is fixed is
divided out of it (Proposition 47).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.cache import Memo
from sklearn_probsr.engines.sums._spectrum import (
    DROPPED,
    FEJER,
    VAALER,
    Spectrum,
    set_bounds,
    with_signs,
)
from sklearn_probsr.engines.sums._thin import (
    least_decays,
    thin_factors,
    thin_product,
)
from sklearn_probsr.independent.vaaler import (
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficient_table,
)
from sklearn_probsr.laws.sums._thin_laws import ThinLaws
from sklearn_probsr.laws.sums._thin_period import thin_period
from sklearn_probsr.laws.sums._thin_running import Running
from sklearn_probsr.laws.sums._thin_worst import Worst
from sklearn_probsr.model.linear import LinearModel

__all__ = ["ThinSpectrum"]

# Units that are zero with at least this chance are divided out; others are multiplied one by one.
_MOSTLY = 0.95
# The degree of bounds, and the most numbers of factors that are kept for it.
_DEGREE = 2**14
_MOST_CELLS = 2**22
# So many factors are multiplied beforehand: a fixed unit takes but its own block apart.
_BLOCK = 128
# Units that are not mostly zero are multiplied one by one if they are few.
_FEW_SMALL = 2**9
# Units with a smaller share of the variance than this may be divided out, too, if their factors
# are nowhere smaller than the least divisor; so often that is tried, of so many numbers, some at a
# time.
_SHARE, _LEAST_DIVISOR, _TRIES, _MOST_LOOKED_AT, _AT_ONCE = 2.0**-10, 0.9, 3, 2**26, 2**11
# Fixed units may undo so much of a decay before it is looked at node by node, less where more nodes
# than this would be live; and beyond so much a product is nothing.
_RESERVE, _MOST_LIVE, _GONE = 4.0, 2**11, 32.0
# Where they have undone so much, the others get a spectrum of their own.
_UNDONE = 12.0
# Factors of so few units are kept.
_FEW = 256
# Factors of rare units that were asked for lately: so many bytes of them.
_MOST_KNOWN = 2**25


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
        self.laws, self.weights, self._model, self._of = laws, model.weights, model, of
        self.worst = Worst(laws, self.weights)
        self.centre = float(self.means.sum())
        self._size = float((np.abs(self.weights) * laws.sizes).sum())
        self.longest = int(np.diff(laws.starts).max(initial=0))
        self.period = thin_period(laws, self.weights, self.variance)
        self._scales = self.weights / self.period
        self._tabulate(_DEGREE if of == 1 else _DEGREE // 4)
        room = _MOST_KNOWN // of // max(16 * len(self.nodes), 1)
        self._known: Memo[NDArray[np.complex128]] = Memo(room)

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

    def _tabulate(self, degree: int) -> None:
        laws, nodes = self.laws, np.arange(1.0, degree + 1)
        a, b = coefficient_table(nodes, degree)
        # At lower degrees a node weighs up to twice as much; what is left out comes to a tenth of
        # what a bound is wide anyway (Proposition 24).
        needed = -np.log(DROPPED / degree**2 / (4 * (a + b)))
        self._divided, decays = self._choose(needed + _RESERVE)
        thick = np.flatnonzero(~self._divided & self._varying)
        self._reserve = _RESERVE
        live = np.flatnonzero(decays <= needed + _RESERVE)
        if len(live) > _MOST_LIVE:
            self._reserve, live = 0.0, np.flatnonzero(decays <= needed)
        while len(live) * (len(thick) + 1) > _MOST_CELLS and degree > 1:
            degree //= 2
            live = live[live < degree]
        self.degree, self.nodes, self._decay = degree, nodes[live], decays[live]
        rest = thin_product(
            np.flatnonzero(self._divided), laws.starts, laws.values, self._scales, laws.chances,
            laws.zeros, self.nodes, np.zeros(len(live)),
        )  # fmt: skip
        self._rest = rest[:, 0] + 1j * rest[:, 1]
        self._thick = {int(u): j for j, u in enumerate(thick)}
        self._factors = self._complex(thick)
        starts = np.arange(0, len(thick), _BLOCK)
        self._blocks = np.multiply.reduceat(self._factors, starts) if len(thick) else self._factors
        a, b = coefficient_table(self.nodes, degree)
        gone = np.delete(nodes[:degree], live)
        gone = gone[np.argsort(decays[gone.astype(np.intp) - 1], kind="stable")]
        self._gone = (
            gone**2,
            decays[gone.astype(np.intp) - 1],
            2 * np.add(*coefficient_table(gone, degree)),
        )
        # Proposition 47: sines, roundings of products and sums, of arguments, and what is left out.
        rounded = 2 * TRIG_ERROR + (self.longest + 4) * 4 * UNIT
        each = rounded * float((1 - laws.zeros).sum())
        argument = 64 * UNIT * degree * self._size / self.period
        self._total = 2 * coefficient_sum(degree)
        self._off = each + argument + 8 * UNIT * len(laws.zeros)
        self._table = Spectrum(
            degree, 0.0, 0.0, with_signs(self.nodes, a, b),
            np.zeros((len(live), 2)), np.zeros((0, len(live), 2)),
        )  # fmt: skip

    @cached_property
    def _varying(self) -> NDArray[np.bool_]:
        """Which units may add one thing or another."""
        found: NDArray[np.bool_] = (np.diff(self.laws.starts) > 0) & (self.weights != 0)
        return found

    def _choose(self, needed: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return the units that can be divided out, and how small their product surely is.

        They are zero mostly, or each is so little of the sum that its factors are about 1 wherever
        the product is of any size.
        """
        mostly = self.laws.zeros >= _MOSTLY
        small = ~mostly & self._varying & (self.variances <= _SHARE * self.variance)
        divided = self._varying & (mostly | small)
        for _ in range(_TRIES if np.count_nonzero(small) > _FEW_SMALL else 0):
            decays = self._decays(divided, len(needed))
            asked = np.flatnonzero(divided & ~mostly)
            nodes = np.flatnonzero(decays <= needed) + 1.0
            if len(asked) * len(nodes) > _MOST_LOOKED_AT:
                break
            least = [
                np.abs(self._complex(asked[i : i + _AT_ONCE], nodes)).min(axis=1, initial=1.0)
                for i in range(0, len(asked), _AT_ONCE)
            ]
            low = asked[np.concatenate([[], *least]) < _LEAST_DIVISOR]
            if not len(low):
                return divided, decays
            divided[low] = False
        divided = self._varying & mostly
        return divided, self._decays(divided, len(needed))

    def _decays(self, units: NDArray[np.bool_], degree: int) -> NDArray[np.float64]:
        """Bound how small the product of some units is at every node (Lemma 134)."""
        laws = self.laws
        inside = units[laws.columns]
        columns = laws.columns[inside]
        turns = laws.values[inside] * self._scales[columns]
        return least_decays(turns, laws.chances[inside] * laws.zeros[columns], degree)

    def _complex(self, units: Any, nodes: Any = None) -> NDArray[np.complex128]:
        laws, at = self.laws, np.asarray(units, dtype=np.intp)
        nodes = self.nodes if nodes is None else nodes
        found = thin_factors(
            at, laws.starts, laws.values, self._scales, laws.chances, laws.zeros, nodes
        )
        return found[..., 0] + 1j * found[..., 1]

    def fixing(self, units: Sequence[int]) -> Running:
        """Return the sum with some units taken out of it."""
        return Running(self.centre, self._rest, np.ones(len(self.nodes))).fixing(self, units)

    def renewed(self, known: Running, fixed: Sequence[int]) -> tuple[ThinSpectrum, Running]:
        """Return itself and a sum; where fixed units have undone much, a spectrum of the others.

        How many are fixed is kept: that many numbers a level was summed up from.
        """
        if known.spread <= _UNDONE:
            return self, known
        laws = self.laws.without(np.array(fixed, dtype=np.intp))
        anew = ThinSpectrum(laws, self._model, self._of)
        return anew, anew.fixing([])._replace(size=known.size)

    def divisor(self, units: list[int]) -> tuple[NDArray[np.complex128], float, float]:
        """Return the product of some units' factors, and how much they decay at most.

        Of those alone that are divided out.
        """
        laws, at = self.laws, np.array(units, dtype=np.intp)
        at = at[self._divided[at]]
        product = np.ones(len(self.nodes), dtype=np.complex128)
        if len(at) <= _FEW:
            for u in at.tolist():
                product = product * self.factor(u)
        else:
            for i in range(0, len(at), _AT_ONCE):
                product = product * self._complex(at[i : i + _AT_ONCE]).prod(axis=0)
        zeros, scales = laws.zeros[at], self._scales[at]
        squares = laws.variances[at] + laws.means[at] ** 2
        bent = 2 * math.pi**2 * float((zeros * squares * scales**2).sum())
        return product, 2 * float((zeros * (1 - zeros)).sum()), bent * (1 + 1e-6)

    def bounds(self, known: Running, level: float, size: float) -> tuple[float, float]:
        """Bound the chance that the units that are not fixed sum up to a level at most.

        Of the probability of staying below the level the same bounds hold. ``size`` is that of the
        numbers that the level was summed up from.
        """
        table, off = self._table, self._off + 64 * UNIT * (known.size + 1)
        left = self._decay - np.minimum(known.spread, known.bent * self.nodes**2)
        gone = left > _GONE
        product = np.where(gone, 0.0, known.product * self._thick_product(known.thick))
        centred = product * np.exp(
            -2j * math.pi * _turned(self.nodes * (known.centre / self.period))
        )
        each = np.where(gone, np.exp(-np.maximum(left, 0.0)), 2.4 * off * known.growth)
        weight = 2 * (table.nodes[:, VAALER] + 2 * table.nodes[:, FEJER])
        error = float(np.sum(weight * each))
        spectrum = table._replace(
            rest=np.ascontiguousarray(centred).view(np.float64).reshape(-1, 2),
            error=error + 2.3 * self._total * off + self._dropped(known) + TAIL,
            slope=2 + float(np.sum(self._slopes * np.abs(product))),
        )
        # Sums of means, and the level itself, are rounded.
        doubt = 4 * UNIT * (self.longest + known.size + 64) * (2 * self._size + size)
        beta, blur = (level - known.centre) / self.period, doubt / self.period + 8 * UNIT
        return set_bounds(spectrum, np.zeros(0, dtype=np.int64), beta, blur)

    def _dropped(self, known: Running) -> float:
        """Bound what the nodes may add that were left out (Lemma 137)."""
        if known.spread <= self._reserve:
            return DROPPED / self.degree
        squares, decays, weights = self._gone
        # The others weigh less than this together.
        some = int(np.searchsorted(decays, known.spread + _GONE))
        left = decays[:some] - np.minimum(known.spread, known.bent * squares[:some])
        others = self._total * math.exp(-_GONE)
        return others + float(np.sum(weights[:some] * np.exp(-np.maximum(left, 0.0))))

    @cached_property
    def _slopes(self) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (
            4 * math.pi * self.nodes * self._table.nodes[:, [VAALER, FEJER]].sum(axis=1)
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

    @property
    def nbytes(self) -> int:
        """How much memory the tables take, beside the laws."""
        known = len(self._known) * self.nodes.nbytes * 2
        return int(self._factors.nbytes + self._scales.nbytes + known)


def _turned(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return turns without whole ones, which say nothing."""
    found: NDArray[np.float64] = turns - np.rint(turns)
    return found

"""Units that are mostly zero, as the words of documents are: what they may be, and their tables.

In come the columns of sparse rows, or the chances of 0/1 columns (`SparseUnits`): zero is what a
unit is by default, and not stored. Out come bounds of the sum of all units but those that a set
fixes (`SparseTables`). What all rare words do to a characteristic function is computed once, and a
word that is fixed is divided out of it (Proposition 47): its factor,
``1 - q + sum_i p_i e(k t_i)`` with q the chance that it is not zero, is near 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.core.law import Memo
from sklearn_probsr.independent.spectrum import by_moments
from sklearn_probsr.independent.vaaler import (
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficient_table,
    sin_cos_turns,
)
from sklearn_probsr.model.linear import LinearModel
from sklearn_probsr.model.sparse import SparseRows

__all__ = [
    "Running",
    "SparseTables",
    "SparseUnits",
    "completed",
    "least_decays",
    "log_moments",
    "sparse_factors",
    "sparse_product",
]

# Nodes that are looked at together.
_NODES_AT_ONCE = 128
# Units whose exponents stay below this are told by their moments (Lemma 135).
_SMALL = 1.0


@kernel
def sparse_product(
    order: NDArray[np.intp],
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    scales: NDArray[np.float64],
    chances: NDArray[np.float64],
    zeros: NDArray[np.float64],
    nodes: NDArray[np.float64],
    least: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the product of some units' factors at some nodes; 0 once it is below the least.

    A value times the scale of its unit is what it adds, in turns. Those that vary most should come
    first in the order (Propositions 24 and 47).
    """
    out = np.zeros((len(nodes), 2))
    x, y = np.zeros(_NODES_AT_ONCE), np.zeros(_NODES_AT_ONCE)
    for first in range(0, len(nodes), _NODES_AT_ONCE):
        some = nodes[first : first + _NODES_AT_ONCE]
        product = out[first : first + _NODES_AT_ONCE]
        product[:, 0] = 1.0
        for a in range(len(order)):
            u = order[a]
            x[:], y[:] = zeros[u], 0.0
            for i in range(starts[u], starts[u + 1]):
                _add_waves(x, y, some, values[i] * scales[u], chances[i])
            if not _multiplied(product, x, y, least[first : first + _NODES_AT_ONCE]):
                break
    return out


@inner
def _add_waves(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    nodes: NDArray[np.float64],
    turn: float,
    chance: float,
) -> None:
    """Add ``chance e(k turn)`` at some nodes k."""
    for k in range(len(nodes)):
        sine, cosine = sin_cos_turns(nodes[k] * turn)
        x[k] += chance * cosine
        y[k] += chance * sine


@inner
def _multiplied(
    product: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    least: NDArray[np.float64],
) -> bool:
    """Multiply by a factor, and tell whether something is left."""
    left = False
    for j in range(len(product)):
        re, im = product[j, 0], product[j, 1]
        re, im = re * x[j] - im * y[j], re * y[j] + im * x[j]
        if re * re + im * im < least[j] * least[j]:
            re, im = 0.0, 0.0
        else:
            left = True
        product[j, 0], product[j, 1] = re, im
    return left


@kernel
def sparse_factors(
    units: NDArray[np.intp],
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    scales: NDArray[np.float64],
    chances: NDArray[np.float64],
    zeros: NDArray[np.float64],
    nodes: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the factor of each of some units at some nodes (Proposition 47)."""
    out = np.zeros((len(units), len(nodes), 2))
    x, y = np.empty(len(nodes)), np.empty(len(nodes))
    for a in range(len(units)):
        u = units[a]
        x[:], y[:] = zeros[u], 0.0
        for i in range(starts[u], starts[u + 1]):
            _add_waves(x, y, nodes, values[i] * scales[u], chances[i])
        out[a, :, 0], out[a, :, 1] = x, y
    return out


@kernel
def log_moments(
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    scales: NDArray[np.float64],
    chances: NDArray[np.float64],
    zeros: NDArray[np.float64],
    moments: NDArray[np.float64],
    exponent: float,
) -> float:
    """Bound the sum of ``ln E exp(l (C_u - E C_u))`` over all units (Proposition 52).

    ``moments`` are, by units, the largest size of a value, and over that the mean, the second to
    the fourth moment around it, and the least and the most. Where all that ``l (C_u - E C_u)`` may
    be is small, they tell enough (Lemma 135).
    """
    total = 0.0
    for u in range(len(starts) - 1):
        scale = exponent * scales[u]
        mean, over = moments[u, 1], scale * moments[u, 0]
        ends = over * (moments[u, 5] - mean), over * (moments[u, 6] - mean)
        top = max(ends[0], ends[1])
        if max(top, -min(ends[0], ends[1])) <= _SMALL:
            third = moments[u, 2] / 2.0 + over * moments[u, 3] / 6.0
            total += over * over * (third + over * over * moments[u, 4] * np.exp(top) / 24.0)
            continue
        largest = 0.0 if zeros[u] > 0.0 else -np.inf
        for i in range(starts[u], starts[u + 1]):
            largest = max(largest, scale * values[i])
        inside = zeros[u] * np.exp(-largest) if zeros[u] > 0.0 else 0.0
        for i in range(starts[u], starts[u + 1]):
            inside += chances[i] * np.exp(scale * values[i] - largest)
        total += max(largest + np.log(inside) - over * mean, 0.0)
    return total


def least_decays(
    turns: NDArray[np.float64], masses: NDArray[np.float64], degree: int
) -> NDArray[np.float64]:
    """Bound ``-ln |product of factors|`` from below at the nodes 1 to the degree (Lemma 134).

    ``turns`` are all values of the units, and ``masses`` their chances, each times that of its
    unit's being zero.
    """
    total = float(masses.sum())
    if not total:
        return np.zeros(degree)
    waves, error = by_moments(turns, masses / total, degree)
    reach = float(np.abs(turns).max())
    off = error + 64 * UNIT * (degree * reach + len(turns))
    decays: NDArray[np.float64] = total * (1.0 - waves[0] - off)
    return decays


# Completions that are drawn at once have about so many values.
_DRAWN_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class SparseUnits:
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
    def seen(cls, rows: SparseRows, weights: NDArray[np.int64]) -> SparseUnits:
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
    def given(cls, p: Any) -> SparseUnits:
        """Return those of 0/1 units that are 1 with some chances."""
        ones = np.array([one.numerator / one.denominator for one in p])
        there = ones > 0
        starts = np.concatenate([[0], np.cumsum(there)]).astype(np.int64)
        zeros = np.array([(one.denominator - one.numerator) / one.denominator for one in p])
        return cls(starts, np.ones(int(there.sum())), ones[there], zeros)

    def without(self, units: NDArray[np.intp]) -> SparseUnits:
        """Return the same with some units always zero."""
        zeros, sizes = self.zeros.copy(), np.diff(self.starts)
        zeros[units], sizes[units] = 1.0, 0
        kept = zeros[self.columns] < 1
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return SparseUnits(starts, self.values[kept], self.chances[kept], zeros)

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what a unit may be, one line a state, and their chances."""
        inside = slice(self.starts[unit], self.starts[unit + 1])
        values, chances = self.values[inside], self.chances[inside]
        return np.append(values, 0.0)[:, None], np.append(chances, self.zeros[unit])

    @cached_property
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
    def sizes(self) -> NDArray[np.float64]:
        """What each unit is on average, whatever its sign."""
        return self.summed(np.abs(self.values) * self.chances)

    @cached_property
    def moments(self) -> NDArray[np.float64]:
        """Of each unit the largest size; over it the mean, three moments, the least and the most.

        The moments are the second to the fourth around the mean.
        """
        least, most = self.ends
        size = np.maximum(np.maximum(-least, most), 0.0)
        over = np.where(size > 0, size, 1.0)
        mean, columns = self.means / over, self.columns
        away = self.values / over[columns] - mean[columns]
        around = [
            self.summed(self.chances * away**r) + self.zeros * (-mean) ** r for r in (2, 3, 4)
        ]
        return np.stack([size, mean, *around, least / over, most / over], axis=1)

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """The variance of each unit."""
        found: NDArray[np.float64] = self.moments[:, 2] * self.moments[:, 0] ** 2
        return found

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
        return int(3 * self.values.nbytes + 14 * self.zeros.nbytes)

    # --- completions -------------------------------------------------------------------------

    def draws(self, samples: int, rng: np.random.Generator) -> Iterator[SparseRows]:
        """Yield random completions, some at a time."""
        expected = float((1 - self.zeros).sum()) + 1
        step = max(int(_DRAWN_CELLS / expected), 1)
        for start in range(0, samples, step):
            yield self._drawn(min(step, samples - start), rng)

    def _drawn(self, n: int, rng: np.random.Generator) -> SparseRows:
        """Draw some completions: units of about one chance together, by the places they have."""
        chances = 1 - self.zeros
        _, powers = np.frexp(chances)
        rows, units = [], []
        for power in np.unique(powers[chances > 0]).tolist():
            some = np.flatnonzero((powers == power) & (chances > 0))
            # Each is there with at most this chance; of the places that are drawn, enough are left.
            top = min(2.0**power, 1.0)
            cells = n * len(some)
            places = rng.choice(cells, int(rng.binomial(cells, top)), replace=False, shuffle=False)
            at = some[places % len(some)]
            stay = rng.random(len(at)) * top < chances[at]
            rows.append(places[stay] // len(some))
            units.append(at[stay])
        row, unit = np.concatenate([[], *rows]).astype(np.intp), np.concatenate([[], *units])
        unit = unit.astype(np.intp)
        order = np.lexsort((unit, row))
        row, unit = row[order], unit[order]
        ends = np.cumsum(self.chances)
        first, last = self.starts[unit], self.starts[unit + 1] - 1
        before = np.concatenate([[0.0], ends])[first]
        spot = before + rng.random(len(unit)) * (ends[last] - before)
        which = np.clip(np.searchsorted(ends, spot, "right"), first, last)
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))]).astype(np.int64)
        width = len(self.zeros)
        return SparseRows(starts, unit.astype(np.int32), self.values[which], width)


def completed(
    drawn: SparseRows, row: NDArray[Any], forced: Sequence[int], order: Sequence[int]
) -> Iterator[SparseRows]:
    """Yield completions with some units as in a row: the forced, and 0, 1, 2, ... of an order."""
    from scipy import sparse

    n, width = drawn.shape
    matrix = drawn.matrix.tocsc()
    units = np.repeat(np.arange(width), np.diff(matrix.indptr))
    known = np.zeros(width, dtype=np.bool_)
    for some in ([*forced], *([u] for u in order)):
        known[some] = True
        kept, own = ~known[units], np.flatnonzero(known & (row != 0))
        rows = np.concatenate([matrix.indices[kept], np.repeat(np.arange(n), len(own))])
        columns = np.concatenate([units[kept], np.tile(own, n)])
        values = np.concatenate([matrix.data[kept], np.tile(row[own].astype(np.float64), n)])
        whole = sparse.csr_array((values, (rows, columns)), shape=drawn.shape)
        starts, indices = whole.indptr.astype(np.int64), whole.indices.astype(np.int32)
        yield SparseRows(starts, indices, whole.data, width)


# Chernoff's exponents that are tried, in inverse standard deviations.
_EXPONENTS = np.geomspace(0.5, 64.0, 29)
# More than the rounding of sums of exponentials, relatively (Proposition 52).
_MARGIN = 1e-6


def sparse_period(laws: SparseUnits, weights: NDArray[np.float64], variance: float) -> float:
    """Return a period that the sum of any units leaves with a chance of ``TAIL`` at most.

    By their laws (Proposition 52, Lemma 135).
    """
    spread = math.sqrt(variance)
    if not spread:
        return 1.0

    def end(at: int, side: float) -> float:
        exponent = float(_EXPONENTS[at]) / spread
        found = log_moments(
            laws.starts, laws.values, side * weights, laws.chances, laws.zeros, laws.moments,
            exponent,
        )  # fmt: skip
        return (found * (1 + _MARGIN) + _MARGIN + math.log(2 / TAIL)) / exponent

    reach = [_least(partial(end, side=side), len(_EXPONENTS)) for side in (1.0, -1.0)]
    return 2 * max(reach) * (1 + _MARGIN)


def _least(asked: Callable[[int], float], n: int) -> float:
    """Return a small one of n numbers: the least, if they fall and then rise."""
    once = lru_cache(maxsize=None)(asked)
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if once(middle) <= once(middle + 1) else (middle + 1, high)
    return min(once(low), once(high))


class Worst:
    """What units with some weights add at worst, for either class."""

    def __init__(self, laws: SparseUnits, weights: NDArray[np.float64]) -> None:
        self.laws, self.weights = laws, weights
        self._sides: Memo[tuple[float, float]] = Memo(2)

    def of(self, sign: float, units: Any = slice(None)) -> NDArray[np.float64]:
        """Return what some units add at worst for a class."""
        least, most = self.laws.ends
        weights = sign * self.weights[units]
        found: NDArray[np.float64] = np.where(weights > 0, least[units], most[units]) * weights
        return found

    def total(self, sign: float) -> tuple[float, float]:
        """Return about what all units add at worst for a class, and the sum of their sizes."""

        def summed() -> tuple[float, float]:
            each = self.of(sign)
            return float(each.sum()), float(np.abs(each).sum())

        return self._sides.get(sign, summed)

    def exactly(self, sign: float) -> Fraction:
        """Return what all units add at worst for a class, exactly."""
        least, most = self.laws.ends
        ends = np.where(sign * self.weights > 0, least, most)
        there = np.flatnonzero(ends)
        each = zip(self.weights[there].tolist(), ends[there].tolist(), strict=True)
        return int(sign) * sum((Fraction(w) * Fraction(x) for w, x in each), Fraction(0))


class Running(NamedTuple):
    """The sum of all units but for some, which are fixed.

    ``product`` is without the units that are multiplied one by one, of which the fixed ones are at
    the places ``thick``. ``growth`` is what an error of it has grown by, at each node; ``spread``
    and ``bent`` bound how much less it has decayed: by ``min(spread, bent k^2)`` at node k
    (Lemma 137).
    """

    centre: float
    product: NDArray[np.complex128]
    growth: NDArray[np.float64]
    thick: frozenset[int] = frozenset()
    spread: float = 0.0
    bent: float = 0.0
    size: int = 0

    def fixing(self, spectrum: SparseTables, units: Sequence[int]) -> Running:
        """Return the sum without some more units (Proposition 47)."""
        at = list(units)
        places = (spectrum.place(u) for u in at)
        thick = self.thick.union(place for place in places if place is not None)
        factor, spread, bent = spectrum.divisor(at)
        return Running(
            self.centre - float((spectrum.laws.means[at] * spectrum.weights[at]).sum()),
            self.product / factor,
            self.growth / np.abs(factor),
            thick,
            self.spread + spread,
            self.bent + bent,
            self.size + len(at),
        )

    def freeing(self, spectrum: SparseTables, units: Sequence[int]) -> Running:
        """Return the sum with some units again that were fixed.

        Factors are at most 1, so that errors are those of the fixed units still.
        """
        at = list(units)
        return self._replace(
            centre=self.centre + float((spectrum.laws.means[at] * spectrum.weights[at]).sum()),
            product=self.product * spectrum.divisor(at)[0],
            thick=self.thick - {spectrum.place(u) for u in at},
            size=self.size + len(at),
        )


# What the nodes left out move a bound by, over the degree (Proposition 24).
DROPPED = 0.1
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
# are nowhere smaller than the least divisor (Proposition 47); so often that is tried, of so many
# numbers, some at a time.
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


class SparseTables:
    """The sum of the contributions of all units, and of all but a few.

    Parameters
    ----------
    laws : SparseUnits
    model : LinearModel
        Every unit is one of its columns, in their order.
    of : int, default=1
        How many spectra share the memory; where there are several they are coarser.
    """

    def __init__(self, laws: SparseUnits, model: LinearModel, of: int = 1) -> None:
        self.laws, self.weights, self._model, self._of = laws, model.weights, model, of
        self.worst = Worst(laws, self.weights)
        self.centre = float(self.means.sum())
        self._size = float((np.abs(self.weights) * laws.sizes).sum())
        self.longest = int(np.diff(laws.starts).max(initial=0))
        self.period = sparse_period(laws, self.weights, self.variance)
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
        rest = sparse_product(
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
        self._vaaler, self._fejer = a, b

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
        found = sparse_factors(
            at, laws.starts, laws.values, self._scales, laws.chances, laws.zeros, nodes
        )
        return found[..., 0] + 1j * found[..., 1]

    def fixing(self, units: Sequence[int]) -> Running:
        """Return the sum with some units taken out of it."""
        return Running(self.centre, self._rest, np.ones(len(self.nodes))).fixing(self, units)

    def renewed(self, known: Running, fixed: Sequence[int]) -> tuple[SparseTables, Running]:
        """Return itself and a sum; where fixed units have undone much, a spectrum of the others.

        How many are fixed is kept: that many numbers a level was summed up from.
        """
        if known.spread <= _UNDONE:
            return self, known
        laws = self.laws.without(np.array(fixed, dtype=np.intp))
        anew = SparseTables(laws, self._model, self._of)
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
        off = self._off + 64 * UNIT * (known.size + 1)
        left = self._decay - np.minimum(known.spread, known.bent * self.nodes**2)
        gone = left > _GONE
        product = np.where(gone, 0.0, known.product * self._thick_product(known.thick))
        centred = product * np.exp(
            -2j * math.pi * _turned(self.nodes * (known.centre / self.period))
        )
        each = np.where(gone, np.exp(-np.maximum(left, 0.0)), 2.4 * off * known.growth)
        weight = 2 * (self._vaaler + 2 * self._fejer)
        error = float(np.sum(weight * each))
        error += 2.3 * self._total * off + self._dropped(known) + TAIL
        # The slope times the blur: Table 2 line 2.
        slope = 2 + float(np.sum(self._slopes * np.abs(product)))
        # Sums of means, and the level itself, are rounded.
        doubt = 4 * UNIT * (self.longest + known.size + 64) * (2 * self._size + size)
        beta, blur = (level - known.centre) / self.period, doubt / self.period + 8 * UNIT
        if abs(beta) >= 0.5:
            return (1.0 - error, 1.0) if beta > 0 else (0.0, error)
        sign = 1.0 - 2.0 * (self.nodes % 2)
        turned = centred * np.exp(-2j * math.pi * _turned(self.nodes * beta))
        middle = 0.5 + beta + float((self._vaaler * (sign * centred.imag - turned.imag)).sum())
        radius = 1.0 / (self.degree + 1.0) + error + slope * blur
        radius += float((self._fejer * (sign * centred.real + turned.real)).sum())
        return max(middle - radius, 0.0), min(middle + radius, 1.0)

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
        found: NDArray[np.float64] = 4 * math.pi * self.nodes * (self._vaaler + self._fejer)
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

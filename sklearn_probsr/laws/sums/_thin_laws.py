"""Units that are mostly zero and independent of each other: their laws, by columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.sparse import SparseRows

__all__ = ["ThinLaws", "completed"]

# Completions that are drawn at once have about so many values.
_CELLS = 2**20


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

    def without(self, units: NDArray[np.intp]) -> ThinLaws:
        """Return the same with some units always zero."""
        zeros, sizes = self.zeros.copy(), np.diff(self.starts)
        zeros[units], sizes[units] = 1.0, 0
        kept = zeros[self.columns] < 1
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return ThinLaws(starts, self.values[kept], self.chances[kept], zeros)

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
        step = max(int(_CELLS / expected), 1)
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

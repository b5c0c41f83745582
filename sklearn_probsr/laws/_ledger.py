"""Ledgers: what the units of every background row contribute, in whole numbers.

Contributions are counted in whole numbers of one scale, signed towards the class. Where exact ones
are too long they are rounded down; a margin made of c rounded numbers is then short by less than c,
so margins in ``(-c, 0)`` are looked at again with all their digits.

No sum wraps. With d units, all integers here and in ``engines.rows`` are margins, sums of gains of
different units, or a margin and such a sum, less a floor of ``-d - 2``. The first two are at most
the level, the largest contributions of the background and those of the instance together, in size.
Scales are chosen so that the first and the second have less than ``2^50`` and the third less than
``2^60``; rounding adds ``2 d + 1``. So all stay below ``2^62``, as do weights of rows, which are
multiplied by 0 or 1 only; greed goes by floats. The proof is that of Proposition 13.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.laws._contributions import is_open
from sklearn_probsr.laws._sources import distinct
from sklearn_probsr.laws._view import Row
from sklearn_probsr.model._linear import LinearModel

__all__ = ["MOST_BITS", "Ledger"]

# Contributions of the background are cut to so many bits together, which leaves room for
# instances a thousand times as far out; those of an instance are cut to so many.
_BITS = 50
MOST_BITS = 60
# Background rows whose exact contributions are remembered.
_MOST_EXACT = 10_000


@dataclass(frozen=True)
class Ledger:
    """What the units of every background row contribute towards a class, in whole numbers.

    Attributes
    ----------
    scale : Fraction
        What one whole number is worth.
    entries : ndarray of int64, shape (units, rows)
        Contributions, rounded down.
    level : int
        What a row of the class must reach; a row that keeps it has ``sum >= level``.
    exact : bool
        Whether nothing was rounded.
    least, most : list of Fraction
        The extremes of each unit's contribution, unscaled.
    """

    model: LinearModel
    rows: Row
    weights: NDArray[np.int64]
    sign: int
    scale: Fraction
    entries: NDArray[np.int64]
    level: int
    exact: bool
    least: list[Fraction]
    most: list[Fraction]

    @classmethod
    def of(
        cls,
        model: LinearModel,
        rows: Row,
        weights: NDArray[np.int64],
        positive: bool,
    ) -> Ledger:
        """Write it for a class, on the finest scale on which ``2^50`` is not reached."""
        sign = 1 if positive else -1
        table = [([sign * c for c in values], which) for values, which in distinct(model, rows)]
        level = sign * Fraction(model.threshold)
        unit = Fraction(1, math.lcm(level.denominator, *(
            c.denominator for values, _ in table for c in values
        )))  # fmt: skip
        reach = abs(level) + sum(max(map(abs, values)) for values, _ in table)
        shift = max(math.floor(reach / unit).bit_length() - _BITS, 0)
        scale = unit * 2**shift
        columns = [
            np.array([math.floor(c / scale) for c in values], dtype=np.int64)[which]
            for values, which in table
        ]
        seen = [[values[k] for k in np.unique(which)] for values, which in table]
        top = _level(model, positive, scale)
        least, most = [min(values) for values in seen], [max(values) for values in seen]
        entries = np.stack(columns)
        return cls(model, rows, weights, sign, scale, entries, top, not shift, least, most)

    def on(self, scale: Fraction) -> Ledger:
        """Write it on a coarser scale: as all floats are dyadic, a power of two times this one."""
        if scale == self.scale:
            return self
        if scale not in self._coarser:
            # The floor of a floor; beyond 63 bits only the sign is left.
            entries = self.entries >> min(int(scale / self.scale).bit_length() - 1, 63)
            level = _level(self.model, self.sign > 0, scale)
            self._coarser.clear()  # rivals ask for the same one, row after row
            self._coarser[scale] = replace(
                self, scale=scale, entries=entries, level=level, exact=False
            )
        return self._coarser[scale]

    @cached_property
    def _coarser(self) -> dict[Fraction, Ledger]:
        return {}

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """What each row has to spare when nothing is fixed."""
        starts: NDArray[np.int64] = self.entries.sum(axis=0) - self.level
        return starts

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What each unit contributes on average, in whole numbers, about."""
        weights = self.weights.astype(np.float64)
        # Not by BLAS, whose digits depend on how many threads it has.
        means: NDArray[np.float64] = (self.entries * weights).sum(axis=1) / weights.sum()
        return means

    def keeps(self, r: int, known: dict[int, Fraction]) -> bool:
        """Tell with all digits whether a row keeps the class when some units are known."""
        if r not in self._exact_rows:
            if len(self._exact_rows) >= _MOST_EXACT:
                self._exact_rows.clear()
            each = self.model.contributions(self.rows[r])
            self._exact_rows[r] = [self.sign * c for c in each]
        total = sum(
            (known.get(u, c) for u, c in enumerate(self._exact_rows[r])),
            start=-self.sign * Fraction(self.model.threshold),
        )
        return total > 0 if is_open(self.model, self.sign > 0) else total >= 0

    def faces(self, row: Row) -> NDArray[np.object_]:
        """Return each unit's contribution in a row: whole, and if it costs, gains, is exact."""
        known_ones = self.model.ones(row[None, :])
        if known_ones is None:
            known = [self.sign * c for c in self.model.contributions(row)]
            return np.array([self._face(u, c) for u, c in enumerate(known)], dtype=object)
        zeros, ones = self._binary_faces
        faces: NDArray[np.object_] = np.where(known_ones[0][:, None], ones, zeros)
        return faces

    def _face(self, unit: int, known: Fraction) -> tuple[int, bool, bool, bool]:
        whole = math.floor(known / self.scale)
        exact = whole * self.scale == known
        return whole, known > self.least[unit], known < self.most[unit], exact

    @cached_property
    def _binary_faces(self) -> NDArray[np.object_]:
        both = zip(*self.model.pairs, strict=True)
        return np.array(
            [[self._face(u, self.sign * c) for u, c in enumerate(each)] for each in both],
            dtype=object,
        )

    @cached_property
    def _exact_rows(self) -> dict[int, list[Fraction]]:
        return {}


def _level(model: LinearModel, positive: bool, scale: Fraction) -> int:
    """Return what a row of a class must reach, in whole numbers of a scale."""
    reached = Fraction(model.threshold if positive else -model.threshold) / scale
    return math.floor(reached) + 1 if is_open(model, positive) else math.ceil(reached)

"""Unit laws: what the units of a model may contribute, as tables and searches read it.

What comes in are exact contributions in turns of their period (`Shared`). What goes out is one
array of all values for the tables (`UnitLaws`), another one by cost for the stochastic order
(`Atoms`), and what the units of some rows are worth (`Seen`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.view import Row
from sklearn_probsr.engines.sums._far import far_table
from sklearn_probsr.independent.contributions import Listed
from sklearn_probsr.independent.order import Atoms
from sklearn_probsr.independent.seen import distinct
from sklearn_probsr.independent.spectrum import Table, UnitLaws, build
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.laws.sums._crowd_spectra import CrowdShared
from sklearn_probsr.laws.sums._spectra import Shared
from sklearn_probsr.laws.sums._turns import FAR

__all__ = ["Seen", "Tables"]

# The degree that bounds are read from; that which most sets are told from the level with, if that
# one has more nodes than this for sets of so many units; and a sharper one if it has few.
_SHARP, _COARSE, _SHARPEST = 2**14, 2**9, 2**17
_FEW_NODES, _HARDLY_ANY, _TYPICAL = 384, 64, 12
_MOST_NODES = 2**14
# Units of more values than this, on average, take seconds at the highest degree.
_NARROW = 16
# A table knows sets of so many units, one that knows more has a lower degree; and the sharper one
# fewer, or more if that costs next to nothing.
_SIZE, _SHORT, _LONG = 32, 16, 96
# Whole numbers below this are floats, and so are their differences.
_WHOLE = 2**52
# Contributions that are remembered.
_MOST_KNOWN = 2**17


class Seen(NamedTuple):
    """What the units of rows of one class are worth: arrays of shape (rows, units), or (rows,).

    Attributes
    ----------
    gain : ndarray
        How far fixing a unit moves the cut, in turns.
    costly, gainful : ndarray of bool
        Whether leaving it unknown may cost something, and may gain something.
    known : ndarray
        What it is worth on the scale of `Atoms`.
    same : ndarray of int64
        Which of its values that is, counted from its first, the least cost first; -1 if none.
    cut, blur, slack : ndarray of shape (rows,)
        Where the cut is when nothing is fixed, what it is off by whatever is fixed, and what
        differences of values are off by.
    near : ndarray of bool, shape (rows,)
        Whether nothing is too far out for tables.
    """

    gain: NDArray[np.float64]
    costly: NDArray[np.bool_]
    gainful: NDArray[np.bool_]
    known: NDArray[np.float64]
    same: NDArray[np.int64]
    cut: NDArray[np.float64]
    blur: NDArray[np.float64]
    slack: NDArray[np.float64]
    near: NDArray[np.bool_]

    def take(self, rows: NDArray[np.intp]) -> Seen:
        """Return some of the rows."""
        parts: Any = (part[rows] for part in self)
        return Seen(*parts)


class Tables:
    """What all rows before a model share: its tables, and the values of its units.

    Parameters
    ----------
    shared : Shared
        Of all units, for both classes.
    """

    def __init__(self, shared: Shared) -> None:
        self.shared, self.seen = shared, shared.contributions
        self.far = far_table(shared.inner.far)
        self._tables: dict[tuple[int, int], Table] = {}
        self._atoms: dict[bool, Atoms] = {}
        self._known: dict[tuple[int, Fraction], tuple[float, ...]] = {}

    # --- tables ------------------------------------------------------------------------------

    @property
    def laws(self) -> UnitLaws:
        """The values of all units in turns from their means, one behind the other."""
        return self._values[0]

    @property
    def doubt(self) -> float:
        """What all values are off by together, beside what a cut is rounded by."""
        return self._values[1]

    @cached_property
    def _values(self) -> tuple[UnitLaws, float]:
        n, doubt = len(self.shared.centre), 0.0
        each: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        for u in range(n):
            if isinstance(self.shared, CrowdShared):
                law = self.shared._law(u)
                each.append((law.shares * law.width - law.centre, law.chances))
                doubt += law.width * (law.doubt + 6 * UNIT)
            else:
                turns, chances = self.shared.head[self.shared.broad[u]]
                each.append((turns, chances))
        laws = UnitLaws(
            np.cumsum([0, *(len(turns) for turns, _ in each)]),
            np.concatenate([turns for turns, _ in each]),
            np.concatenate([chances for _, chances in each]),
            np.zeros(n),
        )
        return laws, doubt

    def sharp(self, size: int) -> Table:
        """Return the table that bounds of sets of so many units are read from."""
        found = self._table(_SHARP, _MOST_NODES, size)
        many = found.counts[-1] > _HARDLY_ANY
        if (many and size > _SHORT) or found.counts[min(_TYPICAL, found.most)] > _HARDLY_ANY:
            return found
        if len(self.laws.value) > _NARROW * len(self.laws.centre):
            return found
        return self._table(_SHARPEST, _MOST_NODES, size, _SHORT if many else _LONG)

    def coarse(self, size: int) -> Table:
        """Return the table that most sets are told from a level with."""
        sharp = self.sharp(size)
        if sharp.counts[min(max(_TYPICAL, size), sharp.most)] <= _FEW_NODES:
            return sharp
        return self._table(_COARSE, _COARSE, size)

    def _table(self, degree: int, nodes: int, size: int, known: int = _SIZE) -> Table:
        n = len(self.shared.centre)
        while known < size:
            known *= 4
        key = (degree, min(known, n))
        if key not in self._tables:
            self._tables[key] = build(self.laws, degree, key[1], nodes, 1.0)
        return self._tables[key]

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return sum(table.nbytes for table in list(self._tables.values()))

    # --- values by cost ----------------------------------------------------------------------

    @cached_property
    def is_binary(self) -> bool:
        """Whether every unit is 0 or 1 in all rows that may come."""
        return self.seen.model.binary_core is not None

    @cached_property
    def _whole(self) -> bool:
        """Whether all values are whole numbers of one scale that floats hold."""
        seen = self.seen
        return isinstance(seen, Listed) and all(max(-v[0], v[-1]) < _WHOLE for v in seen.values)

    def atoms(self, positive: bool) -> Atoms:
        """Return the values of units by what they cost a class."""
        if positive not in self._atoms:
            start, turns, below = self.shared.atoms(positive)
            seen, step, limit = self.seen, -1 if positive else 1, float(FAR)
            if self.is_binary or self._whole:
                assert isinstance(seen, Listed)
                scale = seen.scale if self.is_binary else Fraction(1)
                turns = np.array([float(c * scale) for v in seen.values for c in v[::step]])
                limit = math.inf
            self._atoms[positive] = Atoms(start, turns, below, limit)
        return self._atoms[positive]

    # --- rows --------------------------------------------------------------------------------

    def look(self, rows: Row, positive: bool) -> Seen:
        """Return what the units of rows of a class are worth."""
        shared, found = self.shared, self._worths(rows)
        gain, whole, known = found[..., 0], (found[..., 3] > 0).all(axis=1), found[..., 4]
        above, below, same = found[..., 1] > 0, found[..., 2] > 0, found[..., 5].astype(np.int64)
        costly, gainful = (above, below) if positive else (below, above)
        atoms = self.atoms(positive)
        if positive:
            counts = np.diff(atoms.start)
            same = np.where(same >= 0, counts - 1 - same, -1)
        cut = np.where(whole, shared.cut(True), shared.cut(False))
        blur = 2 * shared.blur(max(map(abs, shared._cuts)), gain) + self.doubt
        near = (np.abs(cut) <= FAR) & (np.abs(gain) <= FAR).all(axis=1)
        if self.is_binary:
            slack = np.zeros(len(gain))
        else:
            largest = np.abs(known).max(axis=1) + float(np.abs(atoms.value).max(initial=0.0))
            if self._whole:
                slack = np.where(whole & (largest < 2 * _WHOLE), 0.0, 32 * UNIT * largest)
            else:
                slack = 32 * UNIT * (largest + 1) + shared.grain
        return Seen(gain, costly, gainful, known, same, cut, blur, slack, near)

    def _worths(self, rows: Row) -> NDArray[np.float64]:
        """Return `_worth` of every unit of every row: (rows, units, 6)."""
        model, shared = self.seen.model, self.shared
        if self.is_binary:
            zeros, ones = self._of_binary
            known = model.ones(rows)
            assert known is not None
            binary: NDArray[np.float64] = np.where(known[:, :, None], ones, zeros)
            return binary
        if shared.facts is not None:
            return self._of_facts[shared.facts.codes(rows)]
        found = np.empty((len(rows), model.n_units, 6))
        for u, (values, which) in enumerate(distinct(model, rows)):
            found[:, u] = np.array([self._worth(u, value) for value in values])[which]
        return found

    @cached_property
    def _of_binary(self) -> NDArray[np.float64]:
        both = zip(*self.seen.model.pairs, strict=True)
        return np.array([[self._worth(u, c) for u, c in enumerate(each)] for each in both])

    @cached_property
    def _of_facts(self) -> NDArray[np.float64]:
        facts = self.shared.facts
        assert facts is not None
        pairs = zip(facts.unit.tolist(), facts.worth, strict=True)
        return np.array([self._worth(u, value) for u, value in pairs])

    def _worth(self, unit: int, value: Fraction) -> tuple[float, ...]:
        """Return of a contribution what it moves the cut by, and how it compares with others.

        That is its gain, whether it is above the least and below the most, whether it is whole, its
        number on the scale of `atoms`, and its place among the values.
        """
        key = (unit, value)
        if key in self._known:
            return self._known[key]
        view, known = self.shared.view(unit, value), value / self.seen.scale
        place = -1
        if known.denominator == 1:
            place = self._places[unit].get(known.numerator, -1)
        if self.is_binary:
            worth = float(value)
        elif self._whole:
            worth = float(known) if abs(known) < _WHOLE else math.inf
        else:
            worth = view.gain + float(self.shared.centre[unit])
        found = (view.gain, view.above_least, view.below_most, view.whole, worth, place)
        if len(self._known) < _MOST_KNOWN:
            self._known[key] = found
        return found

    @cached_property
    def _places(self) -> list[dict[int, int]]:
        if not isinstance(self.seen, Listed):
            return [{} for _ in self.seen.ends]
        return [{c: j for j, c in enumerate(v)} for v in self.seen.values]

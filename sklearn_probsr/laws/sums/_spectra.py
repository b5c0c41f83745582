"""Spectra that rows share when their unknown units are independent, and what each row asks of them.

Every unit's random contribution, in turns of one period, and the spectra of their sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._far import far_table
from sklearn_probsr.engines.sums._spectrum import Spectrum, narrowed
from sklearn_probsr.engines.sums._stochastic_order import Laws
from sklearn_probsr.engines.sums._tabulation import Law, build_spectrum
from sklearn_probsr.independent.contributions import Contributions, Listed
from sklearn_probsr.independent.seen import distinct
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.laws.sums._categories import ExactAtoms, Facts, exact_atoms
from sklearn_probsr.laws.sums._far_tails import Inner
from sklearn_probsr.laws.sums._heads import shared_out
from sklearn_probsr.laws.sums._listed_far import listed_inner
from sklearn_probsr.laws.sums._turns import FAR, clamped, turned_out
from sklearn_probsr.model.numbers import row_sums

__all__ = ["FEW_TOLD", "Outlook", "Shared", "Worth", "are_few", "ranks"]

# Models with so few units, and so few values, are counted; spectra pay beyond. What a reader is
# told of a set is counted with more of them, too.
_FEW = 24
_FEW_ATOMS, FEW_TOLD = 48, 120
_MOST_CELLS = 2**22
# The degree that tells a guarantee to two digits or so.
_ROUGH = 2**11
_COARSE = 2**9
# With more values than this a unit, a characteristic function takes long, and decays at once.
_FEW_VALUES = 8
# Numbers are ranked as whole ones if that makes them longer by no more than so many digits.
_MOST_BITS = 2**12
# Contributions whose comparison is remembered.
_MOST_VIEWS = 2**17


def are_few(contributions: Contributions, atoms: int = _FEW_ATOMS) -> bool:
    """Tell whether units and their values are so few that sets are counted one by one."""
    if not isinstance(contributions, Listed):
        return False
    return len(contributions.ends) <= _FEW and contributions.atoms <= atoms


@dataclass(frozen=True, eq=False)
class Shared:
    """What rows share: units' laws in turns of one period, and the spectra of their sum.

    Attributes
    ----------
    inner : Inner
        Without what is far out; with the period.
    centre : ndarray
        What each unit contributes on average above the least that it can, in turns.
    variance : ndarray
        Of each contribution, in squared turns.
    positions : dict
        Where each unit of the head is.
    broad : dict
        Where units are in the head of ``wide``: those of ``positions`` first, then more.
    head, rest : list of Law
        Of the units in ``broad``, and of the others.
    degrees : list of int
        Of the spectra, lower ones first.
    """

    contributions: Contributions
    inner: Inner[Any]
    centre: NDArray[np.float64]
    variance: NDArray[np.float64]
    positions: dict[int, int]
    broad: dict[int, int]
    head: list[Law]
    rest: list[Law]
    degrees: list[int]

    @property
    def period(self) -> Fraction | int:
        """What one turn is."""
        return self.inner.period

    @property
    def ends(self) -> list[tuple[Fraction | int, Fraction | int]]:
        """The least and the most of every unit that spectra tell of."""
        ends: list[tuple[Fraction | int, Fraction | int]] = self.inner.seen.ends
        return ends

    @property
    def wide(self) -> Spectrum:
        """A spectrum that knows more units, for proofs; the first one if that knows all."""
        return self._spectrum(self.degrees[0], True)

    @property
    def coarse(self) -> Spectrum:
        """The same of a low degree: what a branch of many is looked at with."""
        return self._spectrum(min(_COARSE, self.degrees[0]), True)

    def limit(self, degree: int) -> None:
        """Build spectra of no higher degree, which take less memory."""
        self.degrees[:] = sorted({min(known, degree) for known in self.degrees})

    def spectrum(self, degree: int) -> Spectrum:
        """Return the spectrum of one of the degrees; 0: a rough one, cheap and often enough."""
        return self._spectrum(degree, len(self.positions) == len(self.broad))

    def _spectrum(self, degree: int, whole: bool) -> Spectrum:
        key = (degree or min(_ROUGH, self.degrees[0]), whole)
        if key not in self._built:
            self._built[key] = self._build(*key)
        return self._built[key]

    def _build(self, degree: int, whole: bool) -> Spectrum:
        return self._listed(degree, whole)._replace(far=far_table(self.inner.far))

    def _listed(self, degree: int, whole: bool) -> Spectrum:
        if whole:
            return build_spectrum(self.head, self.rest, degree, _MOST_CELLS)
        n = len(self.positions)
        if self.rest or degree * len(self.broad) <= _MOST_CELLS:
            wide = self._spectrum(degree, True)
            if wide.degree == degree:
                return narrowed(wide, n)
        # The wide one has to make do with fewer nodes. Those that vary most come first in the
        # rest: their product is soon negligible.
        rest = sorted([*self.head[n:], *self.rest], key=lambda law: law.turns[0] - law.turns[-1])
        return build_spectrum(self.head[:n], rest, degree, _MOST_CELLS)

    @cached_property
    def laws(self) -> dict[bool, Laws]:
        """What the binary units of a model cost each class, once it was asked for."""
        return {}

    def atoms(
        self, positive: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Return units' values in turns above their least, by what they cost a class.

        With where those of each unit start, and how likely a cost up to each is, over a
        denominator. Values are off by at most half of ``grain``.
        """
        if positive not in self._atoms:
            self._atoms[positive] = self._by_cost(positive)
        return self._atoms[positive]

    grain = 0.0

    def _by_cost(
        self, positive: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        turns: list[float] = []
        sums: list[int] = []
        starts = [0]
        seen = self.contributions
        assert isinstance(seen, Listed)
        each = zip(seen.values, seen.chances, self.ends, strict=True)
        for v, chances, (least, most) in each:
            pairs = list(zip(v, chances, strict=True))[:: -1 if positive else 1]
            total, near = 0, least == v[0] and most == v[-1]
            for c, chance in pairs:
                total += chance
                above = (c - least) / self.period if near else Fraction(c - least) / self.period
                turns.append(float(above) if near else turned_out(Fraction(above)))
                sums.append(total)
            starts.append(len(turns))
        return np.array(starts), np.array(turns), ranks(sums)

    @cached_property
    def _atoms(
        self,
    ) -> dict[bool, tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]]:
        return {}

    @cached_property
    def _built(self) -> dict[tuple[int, bool], Spectrum]:
        return {}

    @classmethod
    def of(cls, contributions: Listed, positive: bool | None) -> Shared | None:
        """Build them, for a class or whole; None where floats cannot tell the numbers apart."""
        inner = listed_inner(contributions)
        if inner is None:
            return None
        seen, period = inner.seen, inner.period
        values = seen.values
        raw = [
            (
                np.array([(c - v[0]) / period for c in v]),
                np.array([chance / seen.denominator for chance in chances]),
            )
            for v, chances in zip(values, seen.chances, strict=True)
        ]
        centre = np.array([float((turns * chances).sum()) for turns, chances in raw])
        laws = [Law(t - c, p) for (t, p), c in zip(raw, centre, strict=True)]
        variance = np.array([float((law.turns**2 * law.chances).sum()) for law in laws])
        head, broad, rest = shared_out(seen, centre, variance, period, positive)
        largest = min(2**16, 2 ** math.floor(math.log2(_MOST_CELLS / len(head))))
        degrees = [min(2**12, largest), min(2**14, largest), largest]
        if are_few(contributions):
            degrees = degrees[:1]  # what these leave open is counted
        if rest:
            crowded = sum(map(len, values)) > _FEW_VALUES * len(values)
            degrees = [2**15 if crowded else 2**17]
        positions, wider = ({u: j for j, u in enumerate(some)} for some in (head, broad))
        return cls(
            contributions, inner, centre, variance, positions, wider,
            [laws[u] for u in broad], [laws[u] for u in rest], sorted(set(degrees)),
        )  # fmt: skip

    def cut(self, whole: bool) -> float:
        """Return where the cut is when nothing is fixed, in turns from the centre of the sum.

        Between whole numbers there is no mass, so with ``whole`` contributions the cut is half a
        number below the first that belongs to ``classes[1]``.
        """
        return self._cuts[whole]

    @cached_property
    def _cuts(self) -> tuple[float, float]:
        contributions = self.contributions
        assert isinstance(contributions, Listed)
        least, centre = sum(end[0] for end in self.ends), math.fsum(self.centre)
        cuts = (contributions.threshold, contributions.cut(0) - Fraction(1, 2))
        first, second = (clamped((cut - least) / self.period) - centre for cut in cuts)
        return first, second

    def gain(self, unit: int, known: Fraction) -> float:
        """Return how far fixing a unit to its contribution moves the cut, in turns."""
        above = known - self.ends[unit][0]
        return clamped(above / self.period) - float(self.centre[unit])

    def view(self, unit: int, value: Fraction) -> Worth:
        """Return what the search needs to know of a unit that contributes some value."""
        key = (unit, value)
        if key in self._views:
            return self._views[key]
        known = value / self.contributions.scale
        least, most = self.contributions.ends[unit]
        view = Worth(self.gain(unit, known), known > least, known < most, known.denominator == 1)
        if len(self._views) < _MOST_VIEWS:
            self._views[key] = view
        return view

    def views(self, rows: NDArray[np.float64] | NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the view of every unit of every row, as numbers: (rows, units, 4)."""
        model = self.contributions.model
        known = model.ones(rows)
        if known is not None:
            zeros, ones = self._binary_views
            found: NDArray[np.float64] = np.where(known[:, :, None], ones, zeros)
            return found
        if self.facts is not None:
            return self._fact_views[self.facts.codes(rows)]
        found = np.empty((len(rows), model.n_units, 4))
        for u, (values, which) in enumerate(distinct(model, rows)):
            found[:, u] = np.array([self.view(u, value) for value in values])[which]
        return found

    def outlook(self, rows: NDArray[np.float64] | NDArray[np.bool_], positive: bool) -> Outlook:
        """Return what the compiled searches need to know of rows of one class."""
        views = self.views(rows)
        gain, above, below = views[..., 0], views[..., 1] > 0, views[..., 2] > 0
        costly, gainful = (above, below) if positive else (below, above)
        whole = (views[..., 3] > 0).all(axis=1)
        cut = np.where(whole, self.cut(True), self.cut(False))
        blur = self.blur(max(map(abs, self._cuts)), gain)
        near = (np.abs(cut) <= FAR) & (np.abs(gain) <= FAR).all(axis=1)
        return Outlook(gain, costly, gainful, cut, blur, near)

    @cached_property
    def _binary_views(self) -> NDArray[np.float64]:
        both = zip(*self.contributions.model.pairs, strict=True)
        return np.array([[self.view(u, c) for u, c in enumerate(each)] for each in both])

    @cached_property
    def facts(self) -> Facts | None:
        """What units of categories may be; None if there are others."""
        return Facts.of(self.contributions.model)

    @cached_property
    def _fact_views(self) -> NDArray[np.float64]:
        assert self.facts is not None
        pairs = zip(self.facts.unit.tolist(), self.facts.worth, strict=True)
        return np.array([self.view(u, value) for u, value in pairs])

    def exact(self, positive: bool) -> ExactAtoms | None:
        """Return units' values by what they cost a class as exact numbers; None if too long."""
        if positive not in self._exact:
            found, seen = None, self.contributions
            if self.facts is not None and isinstance(seen, Listed):
                starts, _, below = self.atoms(positive)
                found = exact_atoms(self.facts, seen, starts, below, positive)
            self._exact[positive] = found
        return self._exact[positive]

    @cached_property
    def _exact(self) -> dict[bool, ExactAtoms | None]:
        return {}

    @cached_property
    def _views(self) -> dict[tuple[int, Fraction], Worth]:
        return {}

    @property
    def nbytes(self) -> int:
        """How much memory the spectra take."""
        parts = (part for spectrum in self._built.values() for part in spectrum)
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))

    def blur(self, cut: float, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound the rounding of a row's cut, whatever is fixed (Proposition 24)."""
        size = abs(cut) + row_sums(np.abs(gains)) + 2 * float(self.centre.sum())
        blur: NDArray[np.float64] = (gains.shape[-1] + 8) * 2 * UNIT * size
        return blur


def ranks(numbers: Sequence[Fraction | int]) -> NDArray[np.int64]:
    """Return the place of each number among those that occur."""
    times = math.lcm(*(number.denominator for number in numbers))
    if times.bit_length() <= _MOST_BITS:  # whole numbers are compared many times as fast
        numbers = [number.numerator * (times // number.denominator) for number in numbers]
    rank = {number: i for i, number in enumerate(sorted(set(numbers)))}
    return np.array([rank[number] for number in numbers], dtype=np.int64)


class Outlook(NamedTuple):
    """Rows of one class before the spectra: (rows, units) each, and the cuts of the rows.

    Those are where the cuts are when nothing is fixed, in turns, up to ``blur``.
    """

    gain: NDArray[np.float64]
    costly: NDArray[np.bool_]
    gainful: NDArray[np.bool_]
    cut: NDArray[np.float64]
    blur: NDArray[np.float64]
    near: NDArray[np.bool_]  # (rows,): nothing is too far out


class Worth(NamedTuple):
    """A known contribution: how far it moves the cut, and how it compares with what may come."""

    gain: float
    above_least: bool
    below_most: bool
    whole: bool

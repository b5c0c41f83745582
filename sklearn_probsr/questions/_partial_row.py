"""A row of which some features are not known yet, and how likely it belongs to each class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Law
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["PartialRow"]


@dataclass(frozen=True)
class PartialRow:
    """A checked row before a law, in which some units are unknown.

    What a completion guarantees with the known units fixed depends on these and on its class alone;
    so any completion in a class tells how likely that class is (Proposition 67).
    """

    law: Law
    row: NDArray[Any]
    unknown: tuple[int, ...]

    @property
    def known(self) -> list[int]:
        """The units that are known."""
        missing = set(self.unknown)
        return [u for u in range(self.law.model.n_units) if u not in missing]

    def columns(self, unit: int) -> list[int]:
        """Return the columns of a unit."""
        units = self.law.model.units
        return [unit] if units is None else list(units[unit].columns)

    def told(self, unit: int, values: Any) -> PartialRow:
        """Return the row with one more unit known."""
        row = self.row.copy()
        row[self.columns(unit)] = values
        row.flags.writeable = False
        return replace(self, row=row, unknown=tuple(u for u in self.unknown if u != unit))

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what an unknown unit may be, and how likely each is."""
        found = self.law.states(unit)
        if found is None:
            raise InvalidInputError(
                f"nothing says what an unknown feature may be over {self.law.distribution}: use "
                "Uniform(), Product(p), Marginals.fit(X) or Background(X), or give your law a "
                "method states(unit)."
            )
        return found

    def completed(self, winner: int) -> NDArray[Any] | None:
        """Return a completion in some class; None if none is found.

        Of two classes one is found if there is one: every unknown unit does what it can for it.
        """
        weights, _ = self.law.model.outputs
        if len(weights) == 1:
            aims = [weights[0] if winner else -weights[0]]
        else:
            others = [weights[k] for k in range(len(weights)) if k != winner]
            with np.errstate(over="ignore", invalid="ignore"):
                aims = [weights[winner] - np.mean(others, axis=0)]
                aims += [weights[winner] - other for other in others]
            aims = [aim for aim in aims if np.isfinite(aim).all()]
        for aim in aims:
            row = self.row.copy()
            for u in self.unknown:
                values, chances = self.states(u)
                values = values[chances > 0]
                at = self.columns(u)
                row[at] = values[_most(values, aim[at])]
            if int(self.law.model.winners(row[None, :])[0]) == winner:
                return row
        return None

    @cached_property
    def completions(self) -> list[NDArray[Any] | None]:
        """A completion in each class, None where there is none or none is found."""
        return [self.completed(c) for c in range(len(self.law.model.classes))]

    def probabilities(self, tol: float, delta: Fraction | None = None) -> list[Enclosure]:
        """Enclose the probability of every class, more sharply if delta is not on one side."""
        if len(self.completions) > 2:
            return self._of_several(tol, delta)
        first, second = self.completions
        if second is None:
            one = Enclosure.of(Fraction(0))
            return [_rest([one]), one]
        if first is None:
            zero = Enclosure.of(Fraction(0))
            return [zero, _rest([zero])]
        found = self._kept(second, tol)
        if delta is not None and not all((e >= delta).decided for e in (found, _rest([found]))):
            found = found.intersect(self._kept(second, tol, delta))
            found = found.intersect(self._kept(second, tol, 1 - delta))
        return [_rest([found]), found]

    def _kept(self, completion: NDArray[Any], tol: float, delta: Any = None) -> Enclosure:
        return self.law.view(completion).enclose(self.known, delta, tol)

    def _of_several(self, tol: float, delta: Fraction | None) -> list[Enclosure]:
        found = [None if row is None else self._kept(row, tol, delta) for row in self.completions]
        others = [e for e in found if e is not None]
        # What no completion was found for has what the others leave, at most.
        left = _rest(others)
        rest = Enclosure.between(Fraction(0), left.ends()[1])
        return [rest if e is None else e for e in found]


def _most(values: NDArray[Any], weights: NDArray[np.float64]) -> int:
    """Return which line of values adds the most: sums that floats leave open are told exactly."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums, sizes = values @ weights, np.abs(values.astype(np.float64)) @ np.abs(weights)
        doubts = len(weights) * (2.0**-52 * sizes + 2.0**-1073)
        # No comparison with what overflowed says that it is less.
        near = np.flatnonzero(~(sums + doubts < np.max(sums - doubts)))
    exact = [Fraction(w) for w in weights.tolist()]

    def total(i: int) -> Fraction:
        line = map(Fraction, values[i].tolist())
        return sum((w * v for w, v in zip(exact, line, strict=True)), Fraction(0))

    return int(near[0]) if len(near) == 1 else max(near.tolist(), key=total)


def _rest(known: list[Enclosure]) -> Enclosure:
    """Enclose what some probabilities leave to one."""
    ends = [e.ends() for e in known]
    low = max(1 - sum((b for _, b in ends), Fraction(0)), Fraction(0))
    high = max(1 - sum((a for a, _ in ends), Fraction(0)), Fraction(0))
    if all(e.confidence == 1 for e in known):
        return Enclosure.between(low, high)
    confidence = max(1 - sum(1 - e.confidence for e in known), 0.0)
    return replace(Enclosure.proved(float(low), float(high)), confidence=confidence)

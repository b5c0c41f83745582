"""Ranking: what the search of a model's rows needs to know of its weights, prepared once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.coins._answers import Candidates
from sklearn_probsr.engines.coins._batch import Rests
from sklearn_probsr.engines.coins._tables import Tables, build_tables
from sklearn_probsr.model._linear import LinearModel

if TYPE_CHECKING:
    from sklearn_probsr.engines.coins._swaps import SwapTable

__all__ = ["EFFORTS", "Ranking"]

# Models on so short a lattice are searched by dynamic programming.
_LATTICE_WORK = 2**21
_COARSE_WORK = 2**27
# Beyond this blur (Proposition 23) the tables would decide nothing.
_MOST_BLUR = 1e-6
# (nodes a row may cost, largest degree) of the tables, tried in turn.
# The degrees of tables for swaps, and the error from which on they are of no use.
_SWAP_DEGREES, _MOST_ERROR = (2**16, 2**20), 1e-4
EFFORTS = ((256, 2**16), (4096, 2**19), (4096, 2**21))


@dataclass(frozen=True)
class Ranking:
    """The features that are not forced in and have a weight, by decreasing magnitude.

    Magnitudes are scaled by a power of two to a sum near 1; ``lead`` is how far the centre of
    all completions is on the side of ``classes[1]``, in the same scale, and ``blur`` bounds the
    rounding of a row's centre.
    """

    model: LinearModel
    forced: tuple[int, ...]
    features: NDArray[np.intp]
    magnitudes: NDArray[np.float64]
    upward: NDArray[np.bool_]
    lead: float
    exponent: int
    blur: float

    @classmethod
    def of(cls, model: LinearModel, forced: tuple[int, ...]) -> Ranking:
        """Rank the features of a model."""
        weights = model.weights.copy()
        weights[list(forced)] = 0.0
        features = np.argsort(-np.abs(weights), kind="stable")
        features = features[: np.count_nonzero(weights)]
        exact = list(map(Fraction, model.weights.tolist()))
        total = sum((abs(exact[i]) for i in features), start=Fraction(0))
        # Scaled, the sum of the magnitudes is between 1/2 and 2.
        exponent = total.denominator.bit_length() - total.numerator.bit_length()
        unit = Fraction(2) ** exponent
        lead = _clamped((sum(exact, start=Fraction(0)) / 2 - Fraction(model.threshold)) * unit)
        outer = _clamped(sum((abs(exact[i]) for i in forced), start=Fraction(0)) * unit)
        # The rounding of at most d additions (Proposition 23).
        steps = len(model.weights) + 8
        blur = steps * (2.0**-51 * (1 + abs(lead) + outer) + 2.0**-1070)
        return cls(
            model,
            forced,
            features,
            np.ldexp(np.abs(model.weights[features]), exponent),
            model.weights[features] > 0,
            lead,
            exponent,
            blur,
        )

    def candidates(self, magnitudes: NDArray[Any], exclude: tuple[int, ...]) -> Candidates:
        """Return the ranks as a kernel reads them; some features must not be fixed."""
        fixable = ~np.isin(self.features, exclude) if exclude else self._all
        return Candidates(self.features, magnitudes, self.upward, fixable)

    @cached_property
    def rests(self) -> Rests:
        """What the ranks sum to from each one on."""
        return Rests.of(self.magnitudes)

    @cached_property
    def _all(self) -> NDArray[np.bool_]:
        return np.ones(len(self.features), dtype=np.bool_)

    def cuts(self, rows: NDArray[np.bool_], positive: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how far inside its class the centre of each row's completions is: its cut."""
        centre = np.full(len(rows), self.lead)
        for i in self.forced:
            half = math.ldexp(float(self.model.weights[i]), self.exponent - 1)
            centre += np.where(rows[:, i], half, -half)
        return np.where(positive, centre, -centre)

    def tables(self, effort: int) -> Tables:
        """Return the Fourier tables of an effort, built at the first call."""
        if effort not in self._built:
            self._built[effort] = build_tables(self.magnitudes, self.blur, *EFFORTS[effort])
        return self._built[effort]

    def swap_tables(self) -> Iterator[SwapTable]:
        """Yield tables of sets with one rank outside the head, ever finer, if they say anything."""
        from sklearn_probsr.engines.coins._swaps import build_swap_table

        for degree in _SWAP_DEGREES:
            if degree not in self._swaps:
                self._swaps[degree] = build_swap_table(self.magnitudes, self.blur, degree)
            if self._swaps[degree].error > _MOST_ERROR:
                break
            yield self._swaps[degree]

    @property
    def has_swaps(self) -> bool:
        """Whether there are such tables, and they say something."""
        return next(self.swap_tables(), None) is not None

    @cached_property
    def _swaps(self) -> dict[int, SwapTable]:
        return {}

    @cached_property
    def _built(self) -> dict[int, Tables]:
        return {}

    @cached_property
    def decays(self) -> bool:
        """Whether products decay, so that half of the first tables go to the largest degree."""
        return bool(np.mean(self.tables(0).degree == EFFORTS[0][1]) >= 0.5)

    @property
    def nbytes(self) -> int:
        """How much memory the tables take."""
        built: list[tuple[Any, ...]] = [*self._built.values(), *self._swaps.values()]
        parts = (part for tables in built for part in tables)
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))

    @property
    def usable(self) -> bool:
        """Whether there is something to rank, and floats see it beside what is forced in."""
        return len(self.features) > 0 and self.blur < _MOST_BLUR

    @cached_property
    def integers(self) -> NDArray[np.int64] | None:
        """The magnitudes as integers, where a dynamic programme over them is the way to go.

        That is so if it is cheap, or if the lattice is so coarse that thresholds lie on heavy
        atoms, which no other engine can tell from the space beside them.
        """
        form = self.model.integer_form
        values = [abs(form.weights[i]) for i in self.features]
        total, n = sum(values), len(values)
        if sum(map(abs, form.weights)) + abs(form.threshold) >= 2**53:
            return None
        coarse = total <= 64 * n and total * n <= _COARSE_WORK
        return np.array(values, dtype=np.int64) if coarse or total * n <= _LATTICE_WORK else None


def _clamped(value: Fraction) -> float:
    """Return a number as a float, cut off where floats end."""
    largest = Fraction(10) ** 300
    return float(max(min(value, largest), -largest))

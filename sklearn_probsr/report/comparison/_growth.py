"""Growth: how reasons grow with the guarantee that is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import WORD, FeatureSets
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.explain.jobs import Question
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["LEVELS", "Growth", "grow"]

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.999, 1.0)


@dataclass(frozen=True, eq=False)
class Growth:
    """The reasons of every row at several levels of delta, each searched for itself.

    Attributes
    ----------
    levels : tuple of float
        In increasing order.
    sets : tuple of FeatureSets
        The reasons of each level.
    mask : ndarray of bool, shape (levels, n, features)
        Which features are in each of them.
    lower : ndarray of float, shape (levels, n)
        What each reason surely guarantees.
    minimality : ndarray of str, shape (levels, n)
        What was proved of it.
    refuted : ndarray of bool, shape (levels, n)
        Whether it is proved that it does not reach the level.
    contrary : FeatureSets
    against : ndarray of bool, shape (n, features)
        Which features of any of them speak against the class of their row.
    """

    levels: tuple[float, ...]
    sets: tuple[FeatureSets, ...]
    lower: NDArray[np.float64]
    minimality: NDArray[Any]
    refuted: NDArray[np.bool_]
    contrary: FeatureSets

    def __post_init__(self) -> None:
        # Sets may be told by which features they have.
        if isinstance(self.sets, np.ndarray):
            object.__setattr__(self, "sets", tuple(map(FeatureSets.of_mask, self.sets)))
        if isinstance(self.contrary, np.ndarray):
            object.__setattr__(self, "contrary", FeatureSets.of_mask(self.contrary))

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which features are in each reason."""
        return np.stack([sets.mask() for sets in self.sets])

    @property
    def against(self) -> NDArray[np.bool_]:
        """Which features speak against the class."""
        return self.contrary.mask()

    def take(self, at: NDArray[np.intp]) -> Growth:
        """Return those of some rows."""
        sets = tuple(level.take(at) for level in self.sets)
        grown = self.lower[:, at], self.minimality[:, at], self.refuted[:, at]
        return Growth(self.levels, sets, *grown, self.contrary.take(at))

    def among(self, at: NDArray[np.intp], n: int) -> Growth:
        """Return them at some places among n rows; of the others there is no set."""
        shape = (len(self.levels), n)
        sets = tuple(level.among(at, n) for level in self.sets)
        lower = np.zeros(shape)
        minimality = np.full(shape, "best-of-size", dtype=WORD)
        refuted = np.zeros(shape, dtype=np.bool_)
        lower[:, at], minimality[:, at], refuted[:, at] = self.lower, self.minimality, self.refuted
        return Growth(self.levels, sets, lower, minimality, refuted, self.contrary.among(at, n))


def grow(
    question: Question,
    rows: NDArray[Any],
    known: Mapping[float, SufficientReasons],
    n_jobs: int | None = None,
    flagged: Collection[int] = (),
) -> Growth:
    """Search at every level; what is known of a level already is not searched again.

    A level that is not proved in some row is left out, unless the row was flagged before: then it
    has its best set there. ``flagged`` tells which were.
    """
    levels, found = [], []
    for level in sorted({*LEVELS, *known}):
        options = replace(question.options, delta=level)
        asked = replace(question, options=options, flag=True)
        try:
            reasons = known.get(level) or asked.answer(rows, n_jobs, silent=False)
        except UnreachableError:
            continue
        if {*reasons.flagged} <= {*flagged}:
            found.append(reasons)
            levels.append(level)
    sets = tuple(reasons.sets for reasons in found)
    any_level = FeatureSets.union(sets)
    at = np.repeat(np.arange(len(rows)), any_level.sizes)
    leanings = question.law.leanings(rows, at, any_level.features.astype(np.intp))
    return Growth(
        tuple(levels),
        sets,
        np.stack([reasons.lower for reasons in found]),
        np.stack([reasons.minimality for reasons in found]),
        np.stack([_refuted(reasons) for reasons in found]),
        any_level.only(leanings < 0),
    )


def _refuted(reasons: SufficientReasons) -> NDArray[np.bool_]:
    """Tell which reasons are proved not to reach their level."""
    level = decimal_fraction(reasons.delta)
    found: NDArray[np.bool_] = reasons.upper < reasons.delta
    for i, exact in reasons.exact.items():
        found[i] = exact < level
    return found

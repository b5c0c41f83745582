"""Growth: how reasons grow with the guarantee that is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.explain._batches import Question
from sklearn_probsr.laws._task import WORD
from sklearn_probsr.results._reason import SufficientReasons

__all__ = ["LEVELS", "Growth", "grow"]

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.999, 1.0)


@dataclass(frozen=True, eq=False)
class Growth:
    """The reasons of every row at several levels of delta, each searched for itself.

    Attributes
    ----------
    levels : tuple of float
        In increasing order.
    mask : ndarray of bool, shape (levels, n, features)
    lower : ndarray of float, shape (levels, n)
        What each reason surely guarantees.
    minimality : ndarray of str, shape (levels, n)
        What was proved of it.
    against : ndarray of bool, shape (n, features)
        Which features of any of them speak against the class of their row.
    """

    levels: tuple[float, ...]
    mask: NDArray[np.bool_]
    lower: NDArray[np.float64]
    minimality: NDArray[Any]
    against: NDArray[np.bool_]

    def take(self, at: NDArray[np.intp]) -> Growth:
        """Return those of some rows."""
        grown = self.mask[:, at], self.lower[:, at], self.minimality[:, at]
        return Growth(self.levels, *grown, self.against[at])

    def among(self, at: NDArray[np.intp], n: int) -> Growth:
        """Return them at some places among n rows; of the others there is no set."""
        shape = (len(self.levels), n)
        mask = np.zeros((*shape, self.mask.shape[2]), dtype=np.bool_)
        lower = np.zeros(shape)
        minimality = np.full(shape, "best-of-size", dtype=WORD)
        mask[:, at], lower[:, at], minimality[:, at] = self.mask, self.lower, self.minimality
        against = np.zeros(mask.shape[1:], dtype=np.bool_)
        against[at] = self.against
        return Growth(self.levels, mask, lower, minimality, against)


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
    mask = np.stack([reasons.mask for reasons in found])
    against: NDArray[np.bool_] = np.any(mask, axis=0)
    at, units = against.nonzero()
    against[at, units] = question.law.leanings(rows, at, units) < 0
    return Growth(
        tuple(levels),
        mask,
        np.stack([reasons.lower for reasons in found]),
        np.stack([reasons.minimality for reasons in found]),
        against,
    )

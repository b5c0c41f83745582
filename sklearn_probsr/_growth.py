"""Growth: how reasons grow with the guarantee that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._batches import Question
from sklearn_probsr._reason import SufficientReasons

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
    """

    levels: tuple[float, ...]
    mask: NDArray[np.bool_]
    lower: NDArray[np.float64]
    minimality: NDArray[Any]


def grow(
    question: Question,
    rows: NDArray[Any],
    known: Mapping[float, SufficientReasons],
    n_jobs: int | None = None,
) -> Growth:
    """Search at every level; what is known of a level already is not searched again."""
    found = []
    levels = tuple(sorted({*LEVELS, *known}))
    for level in levels:
        options = question.options | {"delta": level}
        asked = replace(question, options=options)
        found.append(known.get(level) or asked.answer(rows, n_jobs, silent=False))
    return Growth(
        levels,
        np.stack([reasons.mask for reasons in found]),
        np.stack([reasons.lower for reasons in found]),
        np.stack([reasons.minimality for reasons in found]),
    )

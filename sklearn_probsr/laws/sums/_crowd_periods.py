"""Periods of sums of very many values, by the ranges of their units or by their laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.independent.vaaler import SPREADS
from sklearn_probsr.laws.sums._crowds import CELLS, Crowds
from sklearn_probsr.laws.sums._periods import MARGIN, chernoff_reach

__all__ = ["crowd_away", "crowd_period"]


# Ranges that are shorter than this on their scale are measured on one of their own.
_SHORT = 2**40


def crowd_period(seen: Crowds) -> Fraction | int:
    """Return a period that holds all but ``TAIL`` of every sum, around its mean (Lemma 20).

    By the ranges of the units (Hoeffding), or by their laws (Chernoff, Proposition 52).
    """
    unit = Fraction(1) if seen.widest >= _SHORT else Fraction(seen.widest) / 2**60
    exact = [(most - least) / unit for least, most in seen.ends]
    width = np.array([float(w) for w in exact])
    whole = 2 * math.ceil(sum(exact))
    by_range = SPREADS / 2 * math.sqrt(float((width**2).sum()))
    deviation = math.sqrt(float((width**2 * seen.variances).sum()))
    by_law = 2 * max(_reach(seen, width, deviation, side) for side in (1, -1))
    return unit * (min(math.ceil(min(by_range, by_law) * (1 + MARGIN)), whole) + 8)


def _reach(seen: Crowds, width: NDArray[np.float64], deviation: float, side: int) -> float:
    """Return what the sum exceeds its mean by with probability ``TAIL / 2`` at most, on a side."""
    found = crowd_away(seen, width, side)
    return math.inf if found is None else chernoff_reach(*found, deviation)


def crowd_away(
    seen: Crowds, width: NDArray[np.float64], side: int
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]] | None:
    """Return where the cells of each unit start, how far above its mean they are, and how likely.

    Of the units that vary, by their outer ends; below the mean where the side is -1.
    """
    edges = np.arange(CELLS) + (1.0 if side > 0 else 0.0)
    total, starts = int(seen.weights.sum()), [0]
    away: list[NDArray[np.float64]] = []
    chances: list[NDArray[np.float64]] = []
    for u in np.flatnonzero(width).tolist():
        there = seen.cells[u] > 0
        chances.append(seen.cells[u][there] / total)
        outside = side * (edges[there] / CELLS - seen.centres[u]) + MARGIN / CELLS
        away.append(width[u] * outside)
        starts.append(starts[-1] + len(away[-1]))
    if not away:
        return None
    return np.array(starts), np.concatenate(away), np.concatenate(chances)

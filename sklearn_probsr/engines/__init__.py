"""Engines: probabilities with a proof, and the cascade that runs them until decided."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from sklearn_probsr._deficits import SubsetSum
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._exact import float_above, float_below
from sklearn_probsr.engines._closed_form import closed_form
from sklearn_probsr.engines._enumeration import (
    enumeration,
    enumeration_cost,
    enumeration_exact,
    enumeration_exact_cost,
)
from sklearn_probsr.engines._fourier import fourier, fourier_cost
from sklearn_probsr.engines._lattice import (
    lattice,
    lattice_cost,
    lattice_exact,
    lattice_exact_cost,
)

__all__ = ["enclose"]

# Without a level to decide, an answer may as well be exact if that takes less than this.
_CHEAP_SECONDS = 1e-3
# An engine that would take longer than this is not asked: for a number that a user wants to see,
# and for one of the many decisions of a search.
_PATIENCE_SECONDS = 1.0
_SEARCH_PATIENCE_SECONDS = 0.1
# The efforts of the Fourier engine: it gives up at each degree to let a cheaper engine try.
_DEGREES = (2**14, 2**17, 2**20)


def enclose(question: SubsetSum, delta: Fraction | None, tol: float) -> Enclosure:
    """Enclose the probability of a question, cheapest engine first.

    Parameters
    ----------
    question : SubsetSum
    delta : Fraction or None
        The level that the enclosure should leave to one side. None: only ``tol`` counts.
    tol : float
        Where the level stays inside or there is none: the width that is narrow enough.
    """
    best = closed_form(question)
    # Nothing is below 0 or above 1: with these for a level, only the width ends the search.
    low, high = (0.0, 2.0) if delta is None else (float_below(delta), float_above(delta))
    width = tol if delta is None else 0.0
    patience = _PATIENCE_SECONDS if delta is None else _SEARCH_PATIENCE_SECONDS
    for cost, engine in _engines(question, low, high, width):
        if delta is not None:
            enough = (best >= delta).decided
        else:
            enough = best.width <= tol and cost > _CHEAP_SECONDS
        if best.exact is not None or enough or cost > patience:
            break
        best = best.intersect(engine())
    return best


def _engines(
    question: SubsetSum, low: float, high: float, width: float
) -> list[tuple[float, Callable[[], Enclosure]]]:
    """List the engines with about how many seconds each takes, cheapest first."""
    exact = [
        (enumeration_cost(question), enumeration),
        (lattice_cost(question), lattice),
        (enumeration_exact_cost(question), enumeration_exact),
        (lattice_exact_cost(question), lattice_exact),
    ]
    listed = [(cost, partial(engine, question)) for cost, engine in exact]
    listed += [
        (fourier_cost(question, degree), partial(fourier, question, low, high, width, degree))
        for degree in _DEGREES
    ]
    return sorted(listed, key=lambda pair: pair[0])

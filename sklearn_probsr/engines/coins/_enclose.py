"""Enclose what a question about coins asks: engines in order of cost, until it is decided.

The engines are those of Table 1, lines 1 to 4.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from sklearn_probsr.engines._cascade import Engine, cascade
from sklearn_probsr.engines._level import ANY, Level
from sklearn_probsr.engines.coins._closed_form import closed_form
from sklearn_probsr.engines.coins._deficits import Instance, SubsetSum
from sklearn_probsr.engines.coins._enumeration import (
    enumeration,
    enumeration_cost,
    enumeration_exact,
    enumeration_exact_cost,
)
from sklearn_probsr.engines.coins._fourier import fourier, fourier_cost, fourier_prefixes
from sklearn_probsr.engines.coins._lattice import (
    lattice,
    lattice_cost,
    lattice_exact,
    lattice_exact_cost,
    lattice_prefixes,
)
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["enclose", "enclose_prefixes"]

# The efforts of the Fourier engine: it gives up at each degree to let a cheaper engine try.
_DEGREES = (2**14, 2**17, 2**20)
# Of a curve, sizes that stay wider than asked are looked at again, up to this degree and cost.
_CHEAP_SECONDS = 2e-4
_DEGREE = 2**17
_BUDGET_SECONDS = 1.0


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
    level = ANY if delta is None else Level.around(delta)
    width = tol if delta is None else 0.0
    return cascade(closed_form(question), _engines(question, level, width), delta, tol)


def _engines(question: SubsetSum, level: Level, width: float) -> list[Engine]:
    exact = [
        (enumeration_cost(question), enumeration),
        (lattice_cost(question), lattice),
        (enumeration_exact_cost(question), enumeration_exact),
        (lattice_exact_cost(question), lattice_exact),
    ]
    listed: list[Engine] = [(cost, partial(engine, question)) for cost, engine in exact]
    listed += [
        (fourier_cost(question, degree), partial(fourier, question, level, width, degree))
        for degree in _DEGREES
    ]
    return listed


def enclose_prefixes(instance: Instance, tol: float) -> list[Enclosure]:
    """Enclose the guarantee of every size by decreasing score that is not yet 1, at once."""
    members = instance.members()
    question = instance.subset_sum(())
    first = [instance.magnitudes[i] for i in members]
    rest = [v for i, v in enumerate(instance.magnitudes) if v and not instance.helps[i]]
    question = SubsetSum(first + sorted(rest, reverse=True), question.capacity)
    left, steps = question.total, 0
    while left > question.capacity:
        left -= first[steps]
        steps += 1
    if steps == 0:
        return []
    if lattice_cost(question) < 0.1:
        return lattice_prefixes(question, steps - 1)
    # An interval is about 1.4 / K long (Corollary 19).
    degree = 2 ** math.ceil(math.log2(4 / min(max(tol, 2.0**-16), 1.0)))
    rough = fourier_prefixes(question, steps - 1, degree)
    found = []
    budget = _BUDGET_SECONDS
    for k, known in enumerate(rough):
        part = SubsetSum(question.values[k:], question.capacity)
        if enumeration_cost(part) < _CHEAP_SECONDS:
            found.append(enclose(part, None, tol))
        elif known.width > tol and budget > 0:
            found.append(known.intersect(fourier(part, ANY, tol, _DEGREE)))
            budget -= fourier_cost(part, _DEGREE)
        else:
            found.append(known)
    return found

"""GuaranteeCurve: the guarantee of every size along the best order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.coins._deficits import Instance, SubsetSum
from sklearn_probsr.engines.coins._enclose import enclose
from sklearn_probsr.engines.coins._enumeration import enumeration_cost
from sklearn_probsr.engines.coins._fourier import fourier, fourier_cost, fourier_prefixes
from sklearn_probsr.engines.coins._lattice import lattice_cost, lattice_prefixes
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["GuaranteeCurve", "curve"]

_CHEAP_SECONDS = 2e-4
# Sizes that stay wider than asked are looked at again, up to this degree and cost together.
_DEGREE = 2**17
_BUDGET_SECONDS = 1.0


@dataclass(frozen=True, eq=False)
class GuaranteeCurve:
    """Enclosures of ``v_0 ... v_d``: the guarantee when the first k features are fixed.

    Attributes
    ----------
    order : ndarray of int, shape (d,)
        Over uniform 0/1 features, by decreasing score, ties by index: no set of k features has
        a better guarantee than the first k, up to the last positive score. Over independent
        units by decreasing mean cost, over background rows as greed fixes them, under `Matching` as
        greed adds facts in the rows searched.
    lower, upper : ndarray of float, shape (d + 1,)
        Bounds of each ``v_k``. They never decrease if no feature can both cost and gain, which
        is so for all 0/1 features (not under `Matching`, where more facts leave fewer rows).
    distribution : object
        What the guarantees speak of.
    """

    order: NDArray[np.intp]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    distribution: Any

    def __post_init__(self) -> None:
        for array in (self.order, self.lower, self.upper):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.lower)


def curve(instance: Instance, tol: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of every size along ``instance.order``."""
    d = len(instance.order)
    members = instance.members()
    lower, upper = np.ones(d + 1), np.ones(d + 1)
    for k, known in enumerate(_enclosures(instance, members, tol)):
        lower[k], upper[k] = known.lower, known.upper
    # v_k never decreases, so bounds may be passed on.
    return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1].copy()


def _enclosures(instance: Instance, members: list[int], tol: float) -> list[Enclosure]:
    """Enclose the sizes whose guarantee is not yet 1."""
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
    degree = 2 ** math.ceil(math.log2(4 / min(max(tol, 2.0**-16), 1.0)))
    rough = fourier_prefixes(question, steps - 1, degree)
    found = []
    budget = _BUDGET_SECONDS
    for k, known in enumerate(rough):
        part = SubsetSum(question.values[k:], question.capacity)
        if enumeration_cost(part) < _CHEAP_SECONDS:
            found.append(enclose(part, None, tol))
        elif known.width > tol and budget > 0:
            found.append(known.intersect(fourier(part, 0.0, 2.0, tol, _DEGREE)))
            budget -= fourier_cost(part, _DEGREE)
        else:
            found.append(known)
    return found

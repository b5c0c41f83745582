"""Summed pairs: where two rivals are both ahead, so are they on average (Proposition 167).

The sum of two duels is one linear decision, and has a spectrum as each of them has. It bounds from
above how likely both rivals are ahead, and so from below how likely some rival is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.laws.rivals._unions import union_below
from sklearn_probsr.laws.sums._thin_view import ThinCosts
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import LinearModel

__all__ = ["Summed", "some_ahead", "summed_duel"]

# What returns the sum of the duels with two rivals, by their places; None if floats round it.
Summed: TypeAlias = Callable[[int, int], ThinCosts | None]

# So many rivals are looked at in pairs: each of these has a spectrum, and of 20 classes there would
# be 171 for each. And those rivals that are ahead as often as this.
_RIVALS, _SLIGHT = 4, 3e-4


def summed_duel(model: ArgmaxModel, winner: int, rivals: tuple[int, int]) -> LinearModel | None:
    """Return the sum of the duels of a class with two rivals; None if it is not a sum of floats."""
    first, second = (model.duel(winner, rival) for rival in rivals)
    weights, threshold = first.weights + second.weights, first.threshold + second.threshold
    # What a sum of two floats is rounded by is a float, found by five operations (Knuth).
    part = weights - first.weights
    off = (first.weights - (weights - part)) + (second.weights - part)
    exact = Fraction(first.threshold) + Fraction(second.threshold) == Fraction(threshold)
    if not exact or not np.isfinite(weights).all() or off.any():
        return None
    return LinearModel._over(model, weights, threshold, True, first.classes)


def some_ahead(lost: list[Enclosure], fixed: frozenset[int], summed: Summed) -> float:
    """Bound from below how likely some rival is ahead, from how likely each is."""
    if len(lost) > _RIVALS:
        return max(one.lower for one in lost)
    order = sorted(range(len(lost)), key=lambda i: -lost[i].upper)
    order = [i for i in order if lost[i].upper > _SLIGHT]
    above: NDArray[np.float64] = np.array([lost[i].upper for i in order])
    most = np.minimum.outer(above, above)
    for b in range(1, len(order)):
        for a in range(b):
            both = summed(order[a], order[b])
            if both is not None:
                ahead = 1.0 - both.enclose(fixed).lower
                most[a, b] = most[b, a] = min(most[a, b], np.nextafter(ahead, 2.0))
    return union_below(np.array([lost[i].lower for i in order]), most)

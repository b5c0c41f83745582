"""Scales of whole numbers: so many bits are kept of what rows and instances contribute.

Contributions of rows are cut to 50 bits together and those of an instance to 60, so that no sum of
them wraps in 64 bits (Proposition 13).
"""

from __future__ import annotations

import math
from fractions import Fraction

from sklearn_probsr.laws._contributions import is_open
from sklearn_probsr.model._linear import LinearModel

__all__ = ["MOST_BITS", "bit_length", "level_of"]

MOST_BITS = 60


def bit_length(number: Fraction) -> int:
    """Return the least power of two above a number; 0 for 0."""
    if not number:
        return 0
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess + (Fraction(2) ** guess <= number)


def level_of(model: LinearModel, positive: bool, exponent: int) -> int:
    """Return what a row of a class must reach, in whole numbers of a scale."""
    threshold = Fraction(model.threshold if positive else -model.threshold)
    reached = threshold / Fraction(2) ** exponent
    return math.floor(reached) + 1 if is_open(model, positive) else math.ceil(reached)

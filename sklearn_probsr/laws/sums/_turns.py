"""Turns: numbers as parts of a period, cut off where they are too far out to be summed."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["FAR", "clamped", "turned_out"]

# Contributions this many turns out are beyond what spectra tell; sets with them are counted
# (Proposition 24).
FAR = 10**6


def clamped(value: Fraction) -> float:
    """Return a number of turns, cut off beyond ``FAR``: what is further out must not be summed."""
    largest = Fraction(2 * FAR)
    return float(max(min(value, largest), -largest))


def turned_out(value: Fraction) -> float:
    """Return a number of turns, cut off so far out that no difference from one within is near."""
    largest = Fraction(4 * FAR)
    return float(max(min(value, largest), -largest))

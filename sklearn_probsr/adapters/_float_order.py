"""Floats in their order: the place of each among all of them, and where a rule changes its mind."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable

import numpy as np

__all__ = ["boundary", "from_ordinal", "ordinal"]


def boundary(says_yes: Callable[[float], bool]) -> tuple[float, bool]:
    """Return the cut of a rule on floats that says no up to some number and yes after it.

    The rule is "score > cut" if the second value is True, else "score >= cut". The cut is
    infinite if the rule never changes its mind. A change within rounding of 0 is taken to be at 0.
    """
    low, high = -sys.float_info.max, sys.float_info.max
    if says_yes(low):
        return -np.inf, False
    if not says_yes(high):
        return np.inf, False
    first, last = ordinal(low), ordinal(high)
    while last - first > 1:
        middle = (first + last) // 2
        if says_yes(from_ordinal(middle)):
            last = middle
        else:
            first = middle
    if abs(from_ordinal(last)) < 1e-15:
        return 0.0, not says_yes(0.0)
    return from_ordinal(last), False


def ordinal(value: float) -> int:
    """Return the place of a float among all floats."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def from_ordinal(place: int) -> float:
    """Return the float at a place among all floats."""
    bits = place if place >= 0 else -place | (1 << 63)
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value

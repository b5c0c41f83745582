"""Short numbers: those with few digits between two others, for cuts that people read."""

from __future__ import annotations

import math
from decimal import Decimal

__all__ = ["short_from", "whole_from"]

# The decimals of floats end before this place.
_LAST_PLACE = -330


def short_from(last: float, limit: float) -> float:
    """Return a number with the fewest digits from ``last`` on towards a limit, which it is not.

    Of several with as few digits it is the one closest to the limit; ``last`` itself if there is
    nothing shorter between the two.

    Examples
    --------
    >>> short_from(29.1384, 28.97)
    29.0
    >>> short_from(0.1384, 0.1421)
    0.14
    """
    if limit == last or not (math.isfinite(limit) and math.isfinite(last)):
        return last
    low, high = Decimal(min(limit, last)), Decimal(max(limit, last))
    place = max(low.adjusted() if low else -400, high.adjusted() if high else -400) + 1
    while place > _LAST_PLACE:
        found = float(_multiple(Decimal(limit), place, up=limit < last))
        if min(limit, last) <= found <= max(limit, last) and found != limit:
            return found + 0.0
        place -= 1
    return last


def _multiple(value: Decimal, place: int, up: bool) -> Decimal:
    """Return the next multiple of a power of ten that is not a number, above it or below it."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    shift = place - exponent
    if shift >= 0:
        times, left = divmod(whole, 10**shift)
    else:
        times, left = whole * 10**-shift, 0
    if up:
        times += 1
    elif not left:
        times -= 1
    return Decimal(times).scaleb(place) if abs(times) < 10**25 else Decimal("NaN")


def whole_from(last: float, limit: float) -> float:
    """Return the whole number closest to a limit that is not passed, from a whole one on.

    Examples
    --------
    >>> whole_from(4.0, 1.0), whole_from(4.0, 1.5), whole_from(4.0, 6.5)
    (2.0, 2.0, 6.0)
    """
    if not math.isfinite(limit) or abs(limit) >= 2**53 or abs(last) >= 2**53:
        return last
    if limit < last:
        return min(math.floor(limit) + 1.0, last)
    return max(math.ceil(limit) - 1.0, last)

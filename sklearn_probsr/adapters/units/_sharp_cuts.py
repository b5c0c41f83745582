"""Sharp cuts: those carried back through a scaler, put where the raw column has them.

Rounding moves a cut by some floats, so that "age ≥ 45.00000000000001" may be said of an age of 45.
The fitted steps themselves say where the state changes, and which numbers they cannot tell apart.
So may the mean of two numbers, that a step was given for a cut, be some floats beside the one that
a person would write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._float_order import from_ordinal, ordinal
from sklearn_probsr.adapters.units._columns import Carried, Cut, Domain
from sklearn_probsr.adapters.units._state_labels import candidates
from sklearn_probsr.model.numbers import exact_text, may_be_written

__all__ = ["sharpened"]

# How many floats around a cut are looked at first, and how many at once.
_NEAR, _AT_ONCE = 2**12, 64

# Takes raw values; returns their states, or None if one is refused.
States = Callable[[Sequence[float]], NDArray[np.float64] | None]
# Takes raw values and the place of a cut; returns the number that is compared with it.
Values = Callable[[Sequence[float], Carried], NDArray[np.float64] | None]


def sharpened(domain: Domain, states: States, values: Values) -> Domain:
    """Return a domain whose cuts are where the states change, as short as they can be told."""
    if not any(isinstance(cut, Carried) or _is_off(cut) for cut in domain.cuts):
        return domain
    around = {c.place: c.value for c in candidates(domain) if c.place is not None}
    cuts = sorted({*domain.cuts, *map(float, domain.values)})
    found: dict[float, Any] = {}
    for i, cut in enumerate(cuts):
        low, high = around.get(2 * i), around.get(2 * i + 2)
        if isinstance(cut, Carried) and low is not None and high is not None:
            found[cut] = _sharp(cut, low, high, states, values)
        elif _is_off(cut):
            found[cut] = _written(float(cut), states)
    told = [c.text if isinstance(c, Cut) else exact_text(float(c)) for c in _all(domain, found)]
    kept = [
        Cut(c, exact_text(float(c))) if isinstance(c, Cut) and told.count(c.text) > 1 else c
        for c in _all(domain, found)
    ]
    return replace(domain, cuts=tuple(sorted(kept)))


def _all(domain: Domain, found: dict[float, Any]) -> list[Any]:
    return [found.get(cut, cut) for cut in domain.cuts]


def _is_off(cut: float) -> bool:
    """Tell whether a cut is a rounding error beside a number that a person may write."""
    if isinstance(cut, Carried | Cut):
        return False
    return not may_be_written(exact_text(float(cut))) and may_be_written(f"{cut:.15g}")


def _written(cut: float, states: States) -> float:
    """Return a cut told as the number beside it, on the side of the change on which that is.

    What is said is then true of every number of fifteen digits, that one too.
    """
    number = float(f"{cut:.15g}")
    before, after = np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)
    found = states([float(before), cut, float(after), number])
    if found is None:
        return cut
    low, here, high, said = (tuple(state) for state in found.tolist())
    if (low == here) == (here == high):  # it changes nothing, or stands alone
        return cut
    ends = {here: cut, high: float(after)} if low == here else {low: float(before), here: cut}
    return Cut(ends[said], exact_text(number)) if said in ends else cut


def _sharp(cut: Carried, low: float, high: float, states: States, values: Values) -> float:
    """Return where the state changes between two numbers, of which it is known to be near one."""
    ends = states([low, high])
    if ends is None or np.array_equal(ends[0], ends[1]):
        return float(cut)
    first, last, near = ordinal(low), ordinal(high), ordinal(float(cut))
    close = [max(first, near - _NEAR), min(last, near + _NEAR)]
    inner = states([from_ordinal(k) for k in close])
    if inner is not None and np.array_equal(inner, ends):
        first, last = close
    while last - first > 1:
        step = max((last - first) // _AT_ONCE, 1)
        places = [*range(first, last, step), last]
        found = states([from_ordinal(k) for k in places])
        if found is None:
            return float(cut)
        changed = int(np.argmax((found != ends[0]).any(axis=1)))
        first, last = places[changed - 1], places[changed]
    return _told(cut, from_ordinal(first), from_ordinal(last), values)


def _told(cut: Carried, before: float, after: float, values: Values) -> Cut:
    """Return the float before or after a change, with the shortest text of a number alike."""
    tried = [float(f"{after:.{digits}g}") for digits in range(1, 18)]
    seen = values([before, after, *tried], cut)
    for k, number in enumerate(tried):
        for end, at in ((after, 1), (before, 0)):
            if number == end or (seen is not None and seen[k + 2] == seen[at] != seen[1 - at]):
                return Cut(end, exact_text(number))
    return Cut(after, exact_text(after))

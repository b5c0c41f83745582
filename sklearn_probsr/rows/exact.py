"""Which class a row has, exactly: signs of sums of products of floats.

A row keeps the class of an instance if the winner's score stays ahead of that of every rival, or
level where it wins ties. Two classes are two scores of which one is 0. Floats tell it where they
are surely far enough from 0; else the sum is added up in whole numbers of 18 bits, each at its own
power of two, which hold every product of two floats (Proposition 170). Kernels are strict: sums
that are written in another order might overflow where these do not.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import strict_inner, strict_kernel
from sklearn_probsr.model.linear import Model

__all__ = [
    "Bounds",
    "Decider",
    "Winner",
    "bounds",
    "decider",
    "kept",
    "kept_along",
    "leads",
    "room",
    "winner_of",
    "wins",
]

# A digit has so many bits; products of floats begin at 2^-2252 and end below 2^2050.
_BITS, _LOWEST, _DIGITS = 18, 2256, 256
_MASK = 2**18 - 1
# What rounding takes from a float sum of n products, in terms of their sizes (Proposition 170).
_ROUNDING, _UNDERFLOW = 2.0**-52, 2.0**-1070


class Decider(NamedTuple):
    """The scores of a model, and the unit of every column.

    Attributes
    ----------
    weights : ndarray of float64, shape (K, d)
    intercepts : ndarray of float64, shape (K,)
    unit_of : ndarray of int64, shape (d,)
    """

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    unit_of: NDArray[np.int64]


class Winner(NamedTuple):
    """The class that is to be kept, and its rivals.

    Attributes
    ----------
    lines : ndarray of int64, shape (R + 1,)
        The score of the winner, and those of its rivals; -1 for the score that is 0.
    loses : ndarray of int64, shape (R,)
        1 if a tie with a rival is lost, else 0.
    """

    lines: NDArray[np.int64]
    loses: NDArray[np.int64]


def room() -> NDArray[np.int64]:
    """Return room for the digits of a sum."""
    return np.zeros(_DIGITS, dtype=np.int64)


def decider(model: Model) -> Decider:
    """Return the scores of a model as kernels read them."""
    weights, intercepts = model.outputs
    unit_of = np.full(model.n_features, model.n_units, dtype=np.int64)
    units = model.units
    for u in range(model.n_units):
        unit_of[[u] if units is None else list(units[u].columns)] = u
    return Decider(np.ascontiguousarray(weights), np.ascontiguousarray(intercepts), unit_of)


def winner_of(model: Any, winner: int) -> Winner:
    """Return a class, by its position, before its rivals."""
    if not model.by_class:
        lines = [0, -1] if winner else [-1, 0]
        return Winner(np.array(lines), np.array([model.strict == bool(winner)], dtype=np.int64))
    rivals = [k for k in range(len(model.classes)) if k != winner]
    loses = [k > winner if model.last else k < winner for k in rivals]
    return Winner(np.array([winner, *rivals]), np.array(loses, dtype=np.int64))


@strict_inner
def _add(digits: NDArray[np.int64], sign: int, a: float, b: float) -> None:
    """Add a product of floats, or take it off."""
    if a == 0.0 or b == 0.0:
        return
    low, high = math.frexp(a), math.frexp(b)
    x, y = np.int64(low[0] * 2.0**53), np.int64(high[0] * 2.0**53)
    if x < 0:
        x, sign = -x, -sign
    if y < 0:
        y, sign = -y, -sign
    at = low[1] + high[1] - 106 + _LOWEST
    place, shift = at // _BITS, at % _BITS
    for k in range(5):
        part = np.int64(0)
        for i in range(max(k - 2, 0), min(k, 2) + 1):
            part += ((x >> (_BITS * i)) & _MASK) * ((y >> (_BITS * (k - i))) & _MASK)
        part <<= shift  # below 2^56
        digits[place + k] += sign * (part & _MASK)
        digits[place + k + 1] += sign * (part >> _BITS)


@strict_inner
def _sign(digits: NDArray[np.int64]) -> int:
    """Return the sign of a number, carrying its digits."""
    carried, rest = np.int64(0), np.int64(0)
    for i in range(len(digits)):
        carried += digits[i]
        rest |= carried & _MASK
        carried >>= _BITS
    if carried < 0:
        return -1
    return 1 if carried > 0 or rest > 0 else 0


@strict_inner
def wins(
    decider: Decider,
    winner: Winner,
    row: NDArray[np.float64],
    x: NDArray[np.float64],
    fixed: NDArray[np.bool_],
    digits: NDArray[np.int64],
) -> bool:
    """Tell whether a row has the class, with some units of an instance fixed.

    ``row`` and ``x`` have shape (d,), ``fixed`` (units + 1,); ``digits`` is room to work in.
    """
    first = winner.lines[0]
    for k in range(len(winner.loses)):
        second = winner.lines[k + 1]
        ahead, size = 0.0, 0.0
        for j in range(len(row)):
            value = x[j] if fixed[decider.unit_of[j]] else row[j]
            if first >= 0:
                ahead += decider.weights[first, j] * value
                size += abs(decider.weights[first, j] * value)
            if second >= 0:
                ahead -= decider.weights[second, j] * value
                size += abs(decider.weights[second, j] * value)
        if first >= 0:
            ahead += decider.intercepts[first]
            size += abs(decider.intercepts[first])
        if second >= 0:
            ahead -= decider.intercepts[second]
            size += abs(decider.intercepts[second])
        terms = 2 * len(row) + 4
        if abs(ahead) > terms * (_ROUNDING * size + _UNDERFLOW) and size < np.inf:
            if ahead < 0.0:
                return False
            continue
        if _sign_before(decider, first, second, row, x, fixed, digits) < winner.loses[k]:
            return False
    return True


@strict_inner
def _sign_before(
    decider: Decider,
    first: Any,
    second: Any,
    row: NDArray[np.float64],
    x: NDArray[np.float64],
    fixed: NDArray[np.bool_],
    digits: NDArray[np.int64],
) -> int:
    """Return the sign of what one score is ahead of another, exactly."""
    digits[:] = np.int64(0)
    for j in range(len(row)):
        value = x[j] if fixed[decider.unit_of[j]] else row[j]
        if first >= 0:
            _add(digits, 1, decider.weights[first, j], value)
        if second >= 0:
            _add(digits, -1, decider.weights[second, j], value)
    if first >= 0:
        _add(digits, 1, decider.intercepts[first], 1.0)
    if second >= 0:
        _add(digits, -1, decider.intercepts[second], 1.0)
    return _sign(digits)


@strict_kernel
def _kept(
    decider: Decider,
    winner: Winner,
    rows: NDArray[np.float64],
    x: NDArray[np.float64],
    fixed: NDArray[np.bool_],
    digits: NDArray[np.int64],
    found: NDArray[np.bool_],
) -> None:
    """Write down which rows keep the class, row by row (Proposition 170)."""
    for r in range(len(rows)):
        found[r] = wins(decider, winner, rows[r], x, fixed, digits)


class Bounds(NamedTuple):
    """A class before its rivals in floats, and how far these may be off.

    Attributes
    ----------
    ahead : ndarray of float64, shape (R, d)
        What each column adds to the lead over each rival.
    start : ndarray of float64, shape (R,)
    sizes : ndarray of float64, shape (R, d)
        The weights of both scores together.
    """

    ahead: NDArray[np.float64]
    start: NDArray[np.float64]
    sizes: NDArray[np.float64]


def bounds(decider: Decider, winner: Winner) -> Bounds:
    """Return a class before its rivals in floats."""
    zero = np.zeros((1, decider.weights.shape[1]))
    weights = np.concatenate([decider.weights, zero])  # the last is that of line -1
    starts = np.append(decider.intercepts, 0.0)
    first, others = winner.lines[0], winner.lines[1:]
    with np.errstate(over="ignore"):
        return Bounds(
            weights[first] - weights[others],
            starts[first] - starts[others],
            np.abs(weights[first]) + np.abs(weights[others]),
        )


def _off(lead: Bounds, most: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far a lead in floats may be off, whatever order it is summed in.

    ``most`` has the largest sizes of columns (Proposition 170).
    """
    terms = 6 * len(most) + 16
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = (lead.sizes * most).sum(axis=1) + 2 * np.abs(lead.start)
    found: NDArray[np.float64] = terms * (_ROUNDING * sizes + _UNDERFLOW)
    return np.where(np.isfinite(found), found, np.inf)


def _leads(
    rows: NDArray[np.float64], ahead: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return linear forms of rows, one after the other: BLAS would wait for its threads."""
    each = zip(ahead, start.tolist(), strict=True)
    return np.stack([np.einsum("ij,j->i", rows, line) + first for line, first in each], axis=1)


def leads(
    decider: Decider,
    lead: Bounds,
    rows: NDArray[np.float64],
    x: NDArray[np.float64],
    fixed: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return about how far rows are ahead of each rival (n, R), with some units fixed."""
    at = fixed[decider.unit_of]
    with np.errstate(over="ignore", invalid="ignore"):
        known = (lead.ahead[:, at] * x[at]).sum(axis=1) + lead.start
        return _leads(rows, np.where(at, 0.0, lead.ahead), known)


def kept(
    decider: Decider,
    winner: Winner,
    lead: Bounds,
    rows: NDArray[np.float64],
    most: NDArray[np.float64],
    x: NDArray[np.float64],
    fixed: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Tell which rows (n, d) keep the class with some units of an instance fixed, exactly.

    ``most`` has the largest sizes of the columns, in the rows and in x; ``fixed`` has shape
    (units + 1,), and the last stands for columns that are no unit's. Floats tell it of most rows
    (Proposition 170).
    """
    left = leads(decider, lead, rows, x, fixed)
    with np.errstate(over="ignore", invalid="ignore"):
        off = _off(lead, most)
        found = np.asarray((left > off).all(axis=1))
        open_ones = ~(found | np.asarray((left < -off).any(axis=1)))
    _settle(decider, winner, rows, x, fixed, open_ones, found)
    return found


def _settle(
    decider: Decider,
    winner: Winner,
    rows: NDArray[np.float64],
    x: NDArray[np.float64],
    fixed: NDArray[np.bool_],
    open_ones: NDArray[np.bool_],
    found: NDArray[np.bool_],
) -> None:
    """Write down which of the open rows keep the class."""
    at = np.flatnonzero(open_ones)
    if len(at):
        told = np.empty(len(at), dtype=np.bool_)
        _kept(decider, winner, rows[at], x, fixed, room(), told)
        found[at] = told


def kept_along(
    decider: Decider,
    winner: Winner,
    lead: Bounds,
    rows: NDArray[np.float64],
    weights: NDArray[np.int64],
    most: NDArray[np.float64],
    x: NDArray[np.float64],
    order: list[list[int]],
) -> NDArray[np.int64]:
    """Return the weight kept with the first 0, 1, 2, ... of some units fixed, exactly.

    ``order`` has the columns of each; other arguments are as in `kept`.
    """
    found = np.zeros(len(order) + 1, dtype=np.int64)
    fixed = np.zeros(int(decider.unit_of.max(initial=0)) + 2, dtype=np.bool_)
    with np.errstate(over="ignore", invalid="ignore"):
        left = _leads(rows, lead.ahead, lead.start)
        off = 2 * _off(lead, most)
        for k in range(len(order) + 1):
            for j in order[k - 1] if k else ():
                fixed[decider.unit_of[j]] = True
                left += lead.ahead[:, j] * x[j] - np.multiply.outer(rows[:, j], lead.ahead[:, j])
            keeps = np.asarray((left > off).all(axis=1))
            open_ones = ~(keeps | np.asarray((left < -off).any(axis=1)))
            _settle(decider, winner, rows, x, fixed, open_ones, keeps)
            found[k] = weights[keeps].sum()
    return found

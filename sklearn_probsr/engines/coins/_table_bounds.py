"""Bounds of a row on tables: of the members fixed so far, and with the last of them left free.

Rows of one class that fix the same ranks have the same bounds, which are remembered
(Proposition 23).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inlined, inner
from sklearn_probsr.engines.coins._tables import Tables
from sklearn_probsr.engines._vaaler import sin_cos_turns

__all__ = ["Bounds", "Fixed", "Memo", "new_memo", "pair_once", "sum_nodes"]

# A set of ranks is remembered if it fits an integer.
_MOST_BITS = 60


class Bounds(NamedTuple):
    """Bounds of the guarantee of the first k members, and of the first k - 1."""

    lower: float
    upper: float
    lower_before: float
    upper_before: float


class Fixed(NamedTuple):
    """A set of ranks, the last of them (-1: there is none), and the cut with it and without it."""

    ranks: NDArray[np.bool_]
    last: int
    cut: float
    cut_before: float


@inner
def _pair(tables: Tables, t: int, fixed: Fixed, scratch: NDArray[np.float64]) -> Bounds:
    """Bound the guarantee with some ranks fixed, and with the last of them left free."""
    rest = tables.rest[tables.start[t] : tables.start[t + 1]]
    size = len(rest)
    cosine = tables.cosine[tables.cosine_start[t] : tables.cosine_start[t + 1]]
    products = scratch[:size]
    for i in range(size):  # a slice assignment would take seconds to compile
        products[i] = rest[i]
    for j in range(tables.head[t]):
        if not fixed.ranks[j]:
            row = cosine[j * size : (j + 1) * size]
            for i in range(size):
                products[i] *= row[i]
    lower, upper = _bounds(tables, t, products, fixed.cut)
    if fixed.last < 0:
        return Bounds(lower, upper, 0.0, 0.0)
    row = cosine[fixed.last * size : (fixed.last + 1) * size]
    for i in range(size):
        products[i] *= row[i]
    lower_before, upper_before = _bounds(tables, t, products, fixed.cut_before)
    return Bounds(lower, upper, lower_before, upper_before)


@inner
def _bounds(
    tables: Tables, t: int, products: NDArray[np.float64], cut: float
) -> tuple[float, float]:
    """Return the bounds that table t gives (Corollary 19); the cut is so far above the mean."""
    beta = cut / tables.period[t]
    if beta >= 0.5:
        return 1.0 - tables.error[t], 1.0
    if beta <= -0.5:
        return 0.0, tables.error[t]
    low, high = tables.start[t], tables.start[t + 1]
    node, vaaler, fejer = tables.node[low:high], tables.vaaler[low:high], tables.fejer[low:high]
    blur = 1.0 / (tables.degree[t] + 1.0) + tables.error[t]
    return sum_nodes(node, vaaler, fejer, products, beta, blur)


@inner
def sum_nodes(
    node: NDArray[np.float64],
    vaaler: NDArray[np.float64],
    fejer: NDArray[np.float64],
    products: NDArray[np.float64],
    beta: float,
    blur: float,
) -> tuple[float, float]:
    """Return the bounds from the products at the nodes of a table, beta turns above the mean.

    ``blur`` is what the polynomials and all errors may miss by (Corollary 19).
    """
    middle = 0.5 + beta
    radius = blur
    for i in range(len(node)):
        k = node[i]
        sine, cosine = sin_cos_turns(k * beta)
        sign = 1.0 - 2.0 * (k - 2.0 * np.floor(0.5 * k))
        middle += vaaler[i] * products[i] * sine
        radius += fejer[i] * products[i] * (cosine + sign)
    return max(middle - radius, 0.0), min(middle + radius, 1.0)


class Memo(NamedTuple):
    """Bounds by the set of fixed ranks and the class: rows with the same facts share them."""

    keys: NDArray[np.uint64]
    bounds: NDArray[np.float64]


def new_memo(rows: int, ranks: int) -> Memo:
    """Return an empty memo; without a slot where it would not pay."""
    slots = 0
    if ranks <= _MOST_BITS and rows >= 256:
        slots = 1
        while slots < min(2 * rows, 2**15):
            slots *= 2
    return Memo(np.zeros(slots, dtype=np.uint64), np.empty((slots, 4)))


@inner
def _key(fixed: NDArray[np.bool_], positive: bool, depth: int) -> np.uint64:
    """Return the class and the set as bits, after a leading one."""
    key = np.uint64(3 if positive else 2)
    for j in range(depth):
        key = (key << np.uint64(1)) | np.uint64(fixed[j])
    return key


@inner
def _slot(memo: Memo, key: np.uint64) -> np.int64:
    """Return the slot of a key, or one that is free for it; -1 where neither is near."""
    at = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) % len(memo.keys)
    for _ in range(8):
        if memo.keys[at] == key or memo.keys[at] == np.uint64(0):
            return at
        at = (at + 1) % len(memo.keys)
    return np.int64(-1)


@inlined
def pair_once(
    memo: Memo,
    positive: bool,
    tables: Tables,
    t: int,
    fixed: Fixed,
    scratch: NDArray[np.float64],
) -> Bounds:
    """Bound the guarantee with some ranks fixed, and without the last, once for each set."""
    key = np.uint64(0)
    slot = np.int64(-1)
    if len(memo.keys) > 0:
        key = _key(fixed.ranks, positive, fixed.last + 1)
        slot = _slot(memo, key)
        if slot >= 0 and memo.keys[slot] == key:
            known = memo.bounds[slot]
            return Bounds(known[0], known[1], known[2], known[3])
    found = _pair(tables, t, fixed, scratch)
    if slot >= 0:
        memo.keys[slot] = key
        known = memo.bounds[slot]
        known[0], known[1] = found.lower, found.upper
        known[2], known[3] = found.lower_before, found.upper_before
    return found

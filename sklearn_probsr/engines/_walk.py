"""Rows on tables: guess a size, then certify it and the one below.

A row walks down the ranking of its model and fixes members (features with a positive score)
until a normal law says that they suffice; the tables then bound the guarantee of that many and
of one fewer. Rows of one class that fix the same ranks have the same bounds, which are
remembered.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._fourier import sin_cos_turns
from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines._rows import Answers, Candidates, next_member
from sklearn_probsr.engines._tables import Tables

__all__ = ["Level", "search_rows"]

# How often a row's first guess may be moved by one.
_MOST_MOVES = 12
# A set of ranks is remembered if it fits an integer.
_MOST_BITS = 60


@inner
def _pair(
    tables: Tables,
    t: int,
    fixed: NDArray[np.bool_],
    last: int,
    centre: float,
    centre_before: float,
    scratch: NDArray[np.float64],
) -> tuple[float, float, float, float]:
    """Bound the guarantee with the ranks ``fixed``, and with the last of them left free."""
    rest = tables.rest[tables.start[t] : tables.start[t + 1]]
    size = len(rest)
    cosine = tables.cosine[tables.cosine_start[t] : tables.cosine_start[t + 1]]
    products = scratch[:size]
    for i in range(size):  # a slice assignment would take seconds to compile
        products[i] = rest[i]
    for j in range(tables.head[t]):
        if not fixed[j]:
            row = cosine[j * size : (j + 1) * size]
            for i in range(size):
                products[i] *= row[i]
    lower, upper = _bounds(tables, t, products, centre)
    if last < 0:
        return lower, upper, 0.0, 0.0
    row = cosine[last * size : (last + 1) * size]
    for i in range(size):
        products[i] *= row[i]
    lower_before, upper_before = _bounds(tables, t, products, centre_before)
    return lower, upper, lower_before, upper_before


@inner
def _bounds(
    tables: Tables, t: int, products: NDArray[np.float64], centre: float
) -> tuple[float, float]:
    """Return the bounds that table t gives when the threshold is ``centre`` above the mean."""
    beta = centre / tables.period[t]
    if beta >= 0.5:
        return 1.0 - tables.error[t], 1.0
    if beta <= -0.5:
        return 0.0, tables.error[t]
    low, high = tables.start[t], tables.start[t + 1]
    node, vaaler, fejer = tables.node[low:high], tables.vaaler[low:high], tables.fejer[low:high]
    middle = 0.5 + beta
    radius = 1.0 / (tables.degree[t] + 1.0) + tables.error[t]
    for i in range(len(node)):
        k = node[i]
        sine, cosine = sin_cos_turns(k * beta)
        sign = 1.0 - 2.0 * (k - 2.0 * np.floor(0.5 * k))
        middle += vaaler[i] * products[i] * sine
        radius += fejer[i] * products[i] * (cosine + sign)
    return max(middle - radius, 0.0), min(middle + radius, 1.0)


class _Walk(NamedTuple):
    """The members of a row fixed so far, and what is left after each."""

    chosen: NDArray[np.int64]
    fixed: NDArray[np.bool_]
    centre: NDArray[np.float64]
    variance: NDArray[np.float64]
    fourth: NDArray[np.float64]
    skipped: NDArray[np.float64]
    rest_variance: NDArray[np.float64]
    rest_fourth: NDArray[np.float64]


class Level(NamedTuple):
    """The level to reach, between two floats, and its quantile of the normal law."""

    low: float
    high: float
    quantile: float


@inner
def _extend(row: NDArray[np.bool_], positive: bool, ranks: Candidates, walk: _Walk, k: int) -> bool:
    """Fix the next member after the first k; False if there is none."""
    j = next_member(row, positive, ranks, walk.chosen[k - 1] + 1 if k > 0 else 0)
    if j == len(ranks.features):
        return False
    # What is free is added up, never subtracted: after a heavy weight nothing may cancel.
    skipped = walk.skipped[k]
    for i in range(walk.chosen[k - 1] + 1 if k > 0 else 0, j):
        skipped += 0.25 * ranks.magnitudes[i] * ranks.magnitudes[i]
    walk.chosen[k] = j
    walk.fixed[j] = True
    walk.centre[k + 1] = walk.centre[k] + 0.5 * ranks.magnitudes[j]
    walk.skipped[k + 1] = skipped
    walk.variance[k + 1] = skipped + walk.rest_variance[j + 1]
    walk.fourth[k + 1] = walk.rest_fourth[j + 1]
    return True


@inner
def _guess(
    row: NDArray[np.bool_],
    positive: bool,
    ranks: Candidates,
    walk: _Walk,
    quantile: float,
    most: int,
) -> int:
    """Return the first k that suffices for a normal law with this fourth cumulant.

    Nothing suffices for an infinite quantile: then it is as many as there may be.
    """
    bend = (quantile * quantile - 3.0) * quantile / 12.0  # Cornish and Fisher
    k = 0
    while k < most:
        left = max(walk.variance[k], 1e-300)
        bound = np.inf
        if quantile < np.inf:
            bound = math.sqrt(left) * (quantile - bend * walk.fourth[k] / (left * left))
        if walk.centre[k] >= bound or not _extend(row, positive, ranks, walk, k):
            break
        k += 1
    return k


@inner
def _pick(tables: Tables, walk: _Walk, k: int) -> int:
    """Return the table for the first k members and for the first k - 1; -1 if there is none."""
    level = 0
    spread = walk.variance[max(k - 1, 0)]
    while level + 1 < len(tables.levels) and spread <= tables.levels[level + 1]:
        level += 1
    table: int = tables.pick[level, walk.chosen[k - 1] + 1 if k > 0 else 0]
    return table


class _Memo(NamedTuple):
    """Bounds by the set of fixed ranks and the class: rows with the same facts share them."""

    keys: NDArray[np.uint64]
    bounds: NDArray[np.float64]


@inner
def _memo(rows: int, ranks: int) -> _Memo:
    """Return an empty memo; without a slot where it would not pay."""
    slots = 0
    if ranks <= _MOST_BITS and rows >= 256:
        slots = 1
        while slots < min(2 * rows, 2**15):
            slots *= 2
    return _Memo(np.zeros(slots, dtype=np.uint64), np.empty((slots, 4)))


@inner
def _key(fixed: NDArray[np.bool_], positive: bool, depth: int) -> np.uint64:
    """Return the class and the set as bits, after a leading one."""
    key = np.uint64(3 if positive else 2)
    for j in range(depth):
        key = (key << np.uint64(1)) | np.uint64(fixed[j])
    return key


@inner
def _slot(memo: _Memo, key: np.uint64) -> np.int64:
    """Return the slot of a key, or one that is free for it; -1 where neither is near."""
    at = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) % len(memo.keys)
    for _ in range(8):
        if memo.keys[at] == key or memo.keys[at] == np.uint64(0):
            return at
        at = (at + 1) % len(memo.keys)
    return np.int64(-1)


@inner
def _pair_once(
    memo: _Memo,
    positive: bool,
    tables: Tables,
    t: int,
    walk: _Walk,
    k: int,
    scratch: NDArray[np.float64],
) -> tuple[float, float, float, float]:
    """Bound the guarantees of the first k members and of the first k - 1, once for each set."""
    last = walk.chosen[k - 1] if k > 0 else -1
    key = np.uint64(0)
    slot = np.int64(-1)
    if len(memo.keys) > 0:
        key = _key(walk.fixed, positive, last + 1)
        slot = _slot(memo, key)
        if slot >= 0 and memo.keys[slot] == key:
            known = memo.bounds[slot]
            return known[0], known[1], known[2], known[3]
    before = walk.centre[max(k - 1, 0)]
    found = _pair(tables, t, walk.fixed, last, walk.centre[k], before, scratch)
    if slot >= 0:
        memo.keys[slot] = key
        known = memo.bounds[slot]
        known[0], known[1], known[2], known[3] = found
    return found


@inner
def _certain(walk: _Walk, k: int, reach: float) -> bool:
    """Tell whether all that is free together cannot use up the margin."""
    certain: bool = walk.centre[k] >= reach - (walk.centre[k] - walk.centre[0])
    return certain


@kernel
def search_rows(
    rows: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    offsets: NDArray[np.float64],
    ranks: Candidates,
    blur: float,
    level: Level,
    most: int,
    tables: Tables,
    final: bool,
    shared: bool,
    answers: Answers,
) -> None:
    """Find for each row the smallest k with ``v_k >= delta > v_{k-1}``, both proved.

    ``offsets`` says how far the centre of a row's completions is inside its class when nothing
    is fixed, up to ``blur``. With ``most`` members fixed and still ``v < delta`` the search ends
    there, and ``upper < delta`` shows it. If ``final``, a row whose ``v_{k-1}`` stays undecided
    is answered too. If ``shared``, rows of one class have one offset, so that their bounds
    depend on the fixed ranks alone and are computed once for each set.
    """
    n = len(ranks.features)
    walk = _Walk(
        np.empty(n, dtype=np.int64),
        np.zeros(n, dtype=np.bool_),
        np.empty(n + 1),
        np.zeros(n + 1),
        np.zeros(n + 1),
        np.zeros(n + 1),
        np.zeros(n + 1),
        np.zeros(n + 1),
    )
    reach = 0.0
    for j in range(n - 1, -1, -1):
        half = 0.5 * ranks.magnitudes[j]
        reach += half
        walk.rest_variance[j] = walk.rest_variance[j + 1] + half * half
        walk.rest_fourth[j] = walk.rest_fourth[j + 1] + half * half * half * half
    walk.variance[0] = walk.rest_variance[0]
    walk.fourth[0] = walk.rest_fourth[0]
    products = np.empty(tables.widest)
    memo = _memo(len(rows) if shared else 0, n)
    for r in range(len(rows)):
        walk.centre[0] = offsets[r]
        k = _guess(rows[r], positive[r], ranks, walk, level.quantile, most)
        for _ in range(_MOST_MOVES):
            t = _pick(tables, walk, k)
            if t < 0:
                break
            last = walk.chosen[k - 1] if k > 0 else -1
            at_least, at_most, least_before, most_before = _pair_once(
                memo, positive[r], tables, t, walk, k, products
            )
            if _certain(walk, k, reach + blur):
                at_least = at_most = 1.0
            if k > 0 and _certain(walk, k - 1, reach + blur):
                least_before = 1.0
            enough = at_least >= level.high
            too_much = k > 0 and least_before >= level.high
            minimal = k == 0 or most_before < level.low or (final and not too_much)
            if (enough and minimal) or (k == most and at_most < level.low):
                answers.size[r] = k
                answers.lower[r] = at_least
                answers.upper[r] = at_most
                answers.before[r] = most_before
                for i in range(k):
                    answers.mask[r, ranks.features[walk.chosen[i]]] = True
                break
            if k > 0 and least_before >= level.high:
                k -= 1
                walk.fixed[last] = False
            elif at_most < level.low and k < most and _extend(rows[r], positive[r], ranks, walk, k):
                k += 1
            else:
                break
        for i in range(k):
            walk.fixed[walk.chosen[i]] = False

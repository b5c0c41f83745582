"""Which features of a row could be swapped into its reason, or out of it, without losing delta.

Under fair coins the first k members of a row, by decreasing score, are its reason. A member is in
some set of k that reaches delta iff the first k - 1 with it do, and in every one iff the first
k + 1 without it do not (Proposition 63). Both hold up to some place in the ranking, so two
bisections tell, on one table of which every rank outside the head can be left out (Lemma 64).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines._level import Level
from sklearn_probsr.engines.coins._answers import Candidates, next_member
from sklearn_probsr.engines.coins._batch import TableRows
from sklearn_probsr.engines.coins._table_bounds import sum_nodes
from sklearn_probsr.engines.coins._tables import CUT_OFF, cosine_table, node_weights
from sklearn_probsr.engines._vaaler import (
    SPREADS,
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficient_table,
    sin_cos_turns,
)

__all__ = ["SwapTable", "Swaps", "bound_ranks", "build_swap_table", "find_swaps"]

_MOST_NODES = 512


class SwapTable(NamedTuple):
    """The Fourier table of a ranking whose fixed ranks are in the head, but for one outside it.

    ``rest[0]`` is the product of the cosines outside the head at every node, and ``rest[1 + i]``
    the same without rank ``head + i``.
    """

    head: int
    period: float
    error: float
    degree: int
    node: NDArray[np.float64]
    vaaler: NDArray[np.float64]
    fejer: NDArray[np.float64]
    rest: NDArray[np.float64]  # (1 + ranks outside, nodes)
    cosine: NDArray[np.float64]  # (head, nodes)


class Swaps(NamedTuple):
    """Places in the members of each row, best first.

    Members before ``needed[r, 0]`` are surely in every reason of that size, and those from
    ``needed[r, 1]`` on surely not. Members before ``possible[r, 0]`` are surely in some, and those
    from ``possible[r, 1]`` on surely in none. Between the two it is open.
    """

    needed: NDArray[np.int64]  # (n, 2)
    possible: NDArray[np.int64]  # (n, 2)


@kernel
def _most_without_one(turns: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Return at every node the largest product of all cosines but one, in size (Lemma 64)."""
    out = np.zeros(degree)
    for k in range(1, degree + 1):
        least, product = 1.0, 1.0
        for t in turns:
            size = abs(sin_cos_turns(k * t)[1])
            product *= max(size, least)
            least = min(size, least)
            if product < CUT_OFF:
                product = 0.0
                break
        out[k - 1] = product
    return out


def build_swap_table(magnitudes: NDArray[np.float64], blur: float, degree: int) -> SwapTable:
    """Build the table of a ranking, of some degree (Lemma 64)."""
    n = len(magnitudes)
    head = min(n, math.ceil(5 * math.sqrt(n)))
    spread = math.sqrt(float(np.sum((magnitudes / 2) ** 2)))
    # Lemma 20, and a part in 10^9 for what is rounded.
    period = min(SPREADS * spread * (1 + 1e-9), float(magnitudes.sum()) * (1 + 1e-9) + blur)
    turns = magnitudes / (2 * period)
    most = _most_without_one(turns[head:], degree)
    weights = node_weights(most, degree)
    ranked = np.argsort(-weights, kind="stable")
    live = np.sort(ranked[: min(np.count_nonzero(weights > 1e-13), _MOST_NODES)])
    nodes = live.astype(np.float64) + 1.0
    vaaler, fejer = coefficient_table(nodes, degree)
    outside = cosine_table(turns[head:], nodes)
    # Without a division: what comes before a rank times what comes after it.
    ones = np.ones((1, len(nodes)))
    before = np.cumprod(np.concatenate([ones, outside]), axis=0)
    after = np.cumprod(np.concatenate([ones, outside[::-1]]), axis=0)[::-1]
    rest = np.concatenate([before[-1:], before[:-1] * after[1:]])
    total, reach = coefficient_sum(degree), float(turns.sum()) + 1
    slope = 1 + float(np.sum(2 * math.pi * nodes * (vaaler + fejer) * most[live]))
    # Table 2, line by line, after the nodes that are left out (Proposition 23, Lemma 64).
    error = (
        float(np.delete(weights, live).sum()) * (1 + 1e-9)
        + TAIL
        + total * (CUT_OFF + n * TRIG_ERROR)
        + slope * (blur / period + 4 * UNIT * reach)
        + degree * UNIT * (20 * reach + 4 * total)
    )
    cosine = cosine_table(turns[:head], nodes)
    return SwapTable(head, period, error, degree, nodes, vaaler, fejer, rest, cosine)


class _Row(NamedTuple):
    """The members of a row, by rank, and its cut when nothing is fixed."""

    members: NDArray[np.int64]
    fixed: NDArray[np.int64]  # room for a set of ranks
    magnitudes: NDArray[np.float64]
    cut: float


@inner
def _bounds(
    table: SwapTable, fixed: NDArray[np.bool_], outside: int, cut: float
) -> tuple[float, float]:
    """Return the bounds of a set (Corollary 19); its cut is so far above the mean."""
    beta = cut / table.period
    if beta >= 0.5:
        return 1.0 - table.error, 1.0
    if beta <= -0.5:
        return 0.0, table.error
    products = table.rest[outside].copy()
    for j in range(table.head):
        if not fixed[j]:
            products *= table.cosine[j]
    blur = 1.0 / (table.degree + 1.0) + table.error
    return sum_nodes(table.node, table.vaaler, table.fejer, products, beta, blur)


@kernel
def bound_ranks(
    table: SwapTable,
    magnitudes: NDArray[np.float64],
    fixed: NDArray[np.int64],
    cut: float,
    blur: float,
) -> tuple[float, float]:
    """Bound the guarantee with some ranks fixed, all of members; ``cut`` is that of nothing fixed.

    With more than one of them outside the head, the table knows nothing.
    """
    inside = np.zeros(table.head, dtype=np.bool_)
    outside, free = 0, 0.5 * np.sum(magnitudes)
    for rank in fixed:
        if rank < table.head:
            inside[rank] = True
        elif outside == 0:
            outside = 1 + rank - table.head
        else:
            return 0.0, 1.0
        half = 0.5 * magnitudes[rank]
        cut += half
        free -= half
    if cut >= free + 2.0 * blur:  # what is free cannot use up the margin (Proposition 8)
        return 1.0, 1.0
    return _bounds(table, inside, outside, cut)


@inner
def _verdict(
    table: SwapTable, row: _Row, count: int, but: int, extra: int, level: Level, blur: float
) -> int:
    """Tell whether a set reaches the level: 1, 0, or -1 if the table cannot say.

    The set is the first ``count`` members, without member ``but`` and with member ``extra`` (-1:
    with none).
    """
    n = 0
    for place in range(count):
        if place not in (but, extra):
            row.fixed[n] = row.members[place]
            n += 1
    if extra >= 0:
        row.fixed[n] = row.members[extra]
        n += 1
    lower, upper = bound_ranks(table, row.magnitudes, row.fixed[:n], row.cut, blur)
    if lower >= level.high:
        return 1
    return 0 if upper < level.low else -1


@inner
def _asked(
    table: SwapTable, row: _Row, size: int, place: int, swap_in: bool, level: Level, blur: float
) -> int:
    """Tell of a member, best first, whether what is asked holds up to it; -1 if it is open."""
    if swap_in:
        return _verdict(table, row, size - 1, -1, place, level, blur)
    found = _verdict(table, row, min(size + 1, len(row.members)), place, -1, level, blur)
    return found if found < 0 else 1 - found


@inner
def _last(
    table: SwapTable,
    row: _Row,
    size: int,
    ends: tuple[int, int],
    swap_in: bool,
    level: Level,
    blur: float,
) -> tuple[int, int]:
    """Bisect for the places up to which the answer is surely yes, and from which it is no."""
    yes, no = ends
    first_open, last_open = no, yes
    while no - yes > 1:
        place = (yes + no) // 2
        found = _asked(table, row, size, place, swap_in, level, blur)
        if found == 1:
            yes = place
        elif found == 0:
            no = place
        else:
            first_open, last_open = place, place
            break
    while first_open - yes > 1 and first_open < no:  # below what is open
        place = (yes + first_open) // 2
        if _asked(table, row, size, place, swap_in, level, blur) == 1:
            yes = place
        else:
            first_open = place
    while last_open > yes and no - last_open > 1:  # above it
        place = (last_open + no + 1) // 2
        if _asked(table, row, size, place, swap_in, level, blur) == 0:
            no = place
        else:
            last_open = place
    return yes + 1, no


@kernel
def find_swaps(
    batch: TableRows,
    ranks: Candidates,
    sizes: NDArray[np.int64],
    table: SwapTable,
    level: Level,
    swaps: Swaps,
) -> None:
    """Narrow down for each row how far down the ranking members are needed, and possible.

    ``sizes`` says how many members the reason of each row has; -1 leaves a row as it is, and so
    does an empty reason. What is written contains the truth (Proposition 63).
    """
    members = np.empty(len(ranks.features), dtype=np.int64)
    fixed = np.empty(len(ranks.features), dtype=np.int64)
    for r in range(len(batch.rows)):
        size = sizes[r]
        if size <= 0:
            continue
        count = 0
        j = next_member(batch.rows[r], batch.positive[r], ranks, 0)
        while j < len(ranks.features):
            members[count] = j
            count += 1
            j = next_member(batch.rows[r], batch.positive[r], ranks, j + 1)
        row = _Row(members[:count], fixed, ranks.magnitudes, batch.cut[r])
        ends = (swaps.needed[r, 0] - 1, swaps.needed[r, 1])
        ends = _last(table, row, size, ends, False, level, batch.blur)
        swaps.needed[r, 0], swaps.needed[r, 1] = ends
        ends = (swaps.possible[r, 0] - 1, swaps.possible[r, 1])
        ends = _last(table, row, size, ends, True, level, batch.blur)
        swaps.possible[r, 0], swaps.possible[r, 1] = ends

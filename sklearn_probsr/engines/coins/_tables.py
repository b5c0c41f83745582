"""Tables: what the Fourier engine can compute once per model, for all of its rows.

Under the uniform distribution the centred random sum does not depend on the row: its
characteristic function is a product of cosines of the magnitudes ``|w_i|``. Rank the features
by magnitude. A reason takes its members from the top of that ranking, so split the ranking into
a *head*, which holds every fixed feature, and the rest, which is always free:

    c_k(row) = prod_{rest} cos(pi k |w_i| / P) * prod_{free in head} cos(pi k |w_i| / P).

The first factor bounds the product for every row with that head. Nodes k where it is negligible
are dropped once for all rows and go into one error constant; of 65,536 nodes some twenty are
left at d = 100 or 500, and a row needs one short product at each (Proposition 23; Table 1 line 5).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines._vaaler import (
    SPREADS,
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficient_table,
    coefficients,
    sin_cos_turns,
)

__all__ = ["CUT_OFF", "Tables", "build_tables", "cosine_table", "node_weights"]

# Products below this are cut off (Table 2 line 4): they are multiplied further, row by row.
CUT_OFF = 1e-14
_MOST_LEVELS = 3


class Tables(NamedTuple):
    """Flat arrays, so that one compiled loop can read them; table t serves one (level, head).

    A row whose free variance is at most ``levels[l]`` and whose fixed features are among the
    first h of the ranking may use table ``pick[l, h]`` (-1: there is none).
    """

    levels: NDArray[np.float64]
    pick: NDArray[np.int64]
    head: NDArray[np.int64]
    period: NDArray[np.float64]
    degree: NDArray[np.int64]
    error: NDArray[np.float64]
    start: NDArray[np.int64]
    node: NDArray[np.float64]
    vaaler: NDArray[np.float64]
    fejer: NDArray[np.float64]
    rest: NDArray[np.float64]
    cosine_start: NDArray[np.int64]
    cosine: NDArray[np.float64]
    widest: int


def build_tables(
    magnitudes: NDArray[np.float64], blur: float, most_nodes: int, largest_degree: int
) -> Tables:
    """Build the tables of a ranking.

    Parameters
    ----------
    magnitudes : ndarray of shape (r,)
        In decreasing order.
    blur : float
        A bound of the error of a row's cut, in the units of the magnitudes.
    most_nodes : int
        The work that a row may cost; the degree of a table is the largest that it allows.
    largest_degree : int
        A power of two.
    """
    n = len(magnitudes)
    variance = np.append(np.cumsum((magnitudes[::-1] / 2) ** 2)[::-1], 0.0)
    heads = _ladder(min(n, math.ceil(5 * math.sqrt(n))))
    ranks = _levels(variance, heads[-1])
    pick = np.full((len(ranks), n + 1), -1, dtype=np.int64)
    parts: list[_Table] = []
    for level, rank in enumerate(ranks):
        # Lemma 20, and a part in 10^9 for what is rounded.
        period = SPREADS * math.sqrt(variance[rank]) * (1 + 1e-9)
        if rank == 0:  # then the whole support may be the shorter one
            period = min(period, float(magnitudes.sum()) * (1 + 1e-9) + blur)
        turns = magnitudes / (2 * period)
        rest = np.ones(largest_degree)
        degree = 256
        end = n
        for head in reversed(heads):
            _multiply(rest, turns[head:end])
            end = head
            if head < rank:
                break
            live = _live_nodes(rest, degree, most_nodes)
            while degree < largest_degree:
                more = _live_nodes(rest, 2 * degree, most_nodes)
                if more.dropped > 0.25 / degree:
                    break
                degree, live = 2 * degree, more
            pick[level, : head + 1] = len(parts)
            parts.append(_table(head, period, turns, rest, live, blur))
    return _flatten(variance[ranks], pick, parts)


def _ladder(deepest: int) -> list[int]:
    """Return head sizes up to the deepest, each at most a fifth longer than the last."""
    heads, head = [], 1
    while head < deepest:
        heads.append(head)
        head = max(head + 1, head * 6 // 5)
    return [*heads, deepest]


def _levels(variance: NDArray[np.float64], deepest: int) -> list[int]:
    """Return the ranks at which the variance left has dropped 16-fold since the last one.

    One heavy weight makes a long period; rows that fix it deserve a short one (Proposition 23).
    Below 1e-20 of the whole a period would be as short as the rounding of a cut.
    """
    ranks = [0]
    for rank in range(1, max(deepest // 2, 1)):
        if len(ranks) == _MOST_LEVELS:
            break
        if 1e-20 * variance[0] < variance[rank] < variance[ranks[-1]] / 16:
            ranks.append(rank)
    return ranks


class _Table(NamedTuple):
    head: int
    period: float
    degree: int
    error: float
    node: NDArray[np.float64]
    vaaler: NDArray[np.float64]
    fejer: NDArray[np.float64]
    rest: NDArray[np.float64]
    cosine: NDArray[np.float64]


@kernel
def _multiply(products: NDArray[np.float64], turns: NDArray[np.float64]) -> None:
    """Multiply ``products[k-1]`` by ``prod cos(2 pi k turns_i)``; what is negligible becomes 0."""
    for k in range(1, len(products) + 1):
        product = products[k - 1]
        if product != 0.0:
            for t in turns:
                product *= sin_cos_turns(k * t)[1]
                if abs(product) < CUT_OFF:
                    product = 0.0
                    break
            products[k - 1] = product


@kernel
def node_weights(products: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Return how much each node up to the degree can move a bound."""
    out = np.zeros(degree)
    for k in range(1, degree + 1):
        c = products[k - 1]
        if c != 0.0:
            a, b = coefficients(float(k), degree)
            out[k - 1] = (a + 2.0 * b) * abs(c)
    return out


class _Live(NamedTuple):
    degree: int
    nodes: NDArray[np.intp]
    dropped: float


def _live_nodes(rest: NDArray[np.float64], degree: int, most: int) -> _Live:
    """Return the nodes that matter most, and what all the others can cost (Proposition 23)."""
    weights = node_weights(rest, degree)
    alive = np.flatnonzero(weights > 1e-13)
    if len(alive) > most:
        heaviest = np.argpartition(-weights[alive], most)[:most]
        nodes = np.sort(alive[heaviest])
    else:
        ranked = alive[np.argsort(weights[alive], kind="stable")]
        harmless = np.searchsorted(np.cumsum(weights[ranked]), 1e-11)
        nodes = np.sort(ranked[harmless:])
    dropped = float(np.delete(weights, nodes).sum())
    return _Live(degree, nodes, dropped)


def _table(
    head: int,
    period: float,
    turns: NDArray[np.float64],
    rest: NDArray[np.float64],
    live: _Live,
    blur: float,
) -> _Table:
    """Tabulate the live nodes, and bound all that a row's bounds can be off."""
    degree, k = live.degree, live.nodes.astype(np.float64) + 1.0
    vaaler, fejer = coefficient_table(k, degree)
    cosine = cosine_table(turns[:head], k)
    products = rest[live.nodes]
    total = coefficient_sum(degree)
    reach = float(turns.sum()) + 1
    slope = 1 + float(np.sum(2 * math.pi * k * (vaaler + fejer) * np.abs(products)))
    # Table 2, line by line, after the nodes that are left out (Proposition 23).
    error = (
        live.dropped * (1 + 1e-9)
        + TAIL
        + total * (CUT_OFF + len(turns) * TRIG_ERROR)
        + slope * (blur / period + 4 * UNIT * reach)
        + degree * UNIT * (20 * reach + 4 * total)
    )
    return _Table(head, period, degree, error, k, vaaler, fejer, products, cosine)


@kernel
def cosine_table(turns: NDArray[np.float64], nodes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosines of some ranks at every node (Lemma 21)."""
    out = np.empty((len(turns), len(nodes)))
    for j in range(len(turns)):
        for i in range(len(nodes)):
            out[j, i] = sin_cos_turns(nodes[i] * turns[j])[1]
    return out


def _flatten(levels: NDArray[np.float64], pick: NDArray[np.int64], parts: list[_Table]) -> Tables:
    def offsets(sizes: list[int]) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    return Tables(
        levels=np.ascontiguousarray(levels),
        pick=pick,
        head=np.array([p.head for p in parts], dtype=np.int64),
        period=np.array([p.period for p in parts]),
        degree=np.array([p.degree for p in parts], dtype=np.int64),
        error=np.array([p.error for p in parts]),
        start=offsets([len(p.node) for p in parts]),
        node=np.concatenate([p.node for p in parts]),
        vaaler=np.concatenate([p.vaaler for p in parts]),
        fejer=np.concatenate([p.fejer for p in parts]),
        rest=np.concatenate([p.rest for p in parts]),
        cosine_start=offsets([p.cosine.size for p in parts]),
        cosine=np.concatenate([p.cosine.ravel() for p in parts]),
        widest=max(len(p.node) for p in parts),
    )

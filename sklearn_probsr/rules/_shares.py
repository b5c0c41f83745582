"""Sharing out what may be lost, so that many rows fall under a rule.

A row falls under a rule if on every side of it the row costs no more than the side allows. What all
sides allow together is limited. To find the best shares is as hard as a knapsack; here greed starts
from shares that take in every row and takes back, from side to side, what is dear for the rows that
it serves. Whatever it finds, only the number of rows depends on it: what is proved of a rule is
asked of its shares afterwards (Proposition 60).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel

__all__ = ["share_out"]

# So many rows of a side are looked at together: a few that are close to each other may be worth
# leaving out where one alone is not.
_AHEAD = 16


@inner
def _next_alive(order: NDArray[np.intp], alive: NDArray[np.bool_], at: int) -> int:
    """Return the next place in an order that holds a row which is still in."""
    while at < len(order) and not alive[order[at]]:
        at += 1
    return at


@inner
def _best_cut(
    costs: NDArray[np.float64],
    order: NDArray[np.intp],
    alive: NDArray[np.bool_],
    weights: NDArray[np.float64],
    start: int,
    over: float,
) -> tuple[float, float]:
    """Return the best of what one side may give back for the rows that it loses, and its level."""
    top = costs[order[start]]
    best, level, lost, at = -1.0, top, 0.0, start
    for _ in range(_AHEAD):
        value = costs[order[at]]
        # Rows that cost the same go together.
        while at < len(order) and costs[order[at]] == value:
            lost += weights[order[at]]
            at = _next_alive(order, alive, at + 1)
        below = costs[order[at]] if at < len(order) else 0.0
        worth = min(top - below, over) / lost
        if worth > best:
            best, level = worth, below
        if below <= 0.0 or top - below >= over:
            break
    return best, level


@kernel
def share_out(
    costs: NDArray[np.float64], weights: NDArray[np.float64], budget: float
) -> NDArray[np.float64]:
    """Return what each side may cost, together at most a budget (Proposition 60).

    ``costs`` (rows, sides) are what each side must allow for a row to fall under the rule, none of
    them negative; ``weights`` are positive.
    """
    n, sides = costs.shape
    alive = np.ones(n, dtype=np.bool_)
    orders = np.empty((sides, n), dtype=np.intp)
    first = np.zeros(sides, dtype=np.intp)
    shares = np.zeros(sides)
    for j in range(sides):
        orders[j] = np.argsort(-costs[:, j])
        shares[j] = costs[orders[j, 0], j] if n else 0.0
    while shares.sum() > budget:
        over, best, chosen, level = shares.sum() - budget, -1.0, -1, 0.0
        for j in range(sides):
            if shares[j] > 0.0:
                worth, below = _best_cut(costs[:, j], orders[j], alive, weights, first[j], over)
                if worth > best:
                    best, chosen, level = worth, j, below
        if chosen < 0:
            break
        for i in orders[chosen]:
            if costs[i, chosen] <= level:
                break
            alive[i] = False
        for j in range(sides):
            first[j] = _next_alive(orders[j], alive, first[j])
            shares[j] = costs[orders[j, first[j]], j] if first[j] < n else 0.0
    return shares

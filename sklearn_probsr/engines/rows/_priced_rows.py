"""The cheapest members that bring background rows to a floor: branch and bound with prices.

Members are taken or left in turn. A branch is given up when too many rows stay lost even if each of
them is given what is best for it at the price (Proposition 92).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines.rows._branch_and_bound import lost_weight
from sklearn_probsr.engines.rows._counts import Rows, shift

__all__ = ["Purse", "cheapest_rows", "gains_at_prices"]


class Purse(NamedTuple):
    """What members cost and what may be paid, how many may be taken, and the effort.

    ``spare`` is the weight of rows that may stay below the ``floor``. Where prices were rounded
    down they are not ``exact``: sets that may be as cheap as the best are then all returned.
    """

    prices: NDArray[np.int64]  # (h,)
    exact: bool
    price: int
    most: int
    spare: int
    floor: int
    branches: int
    room: int


def gains_at_prices(
    gains: NDArray[np.int64],
    order: NDArray[np.intp],
    prices: NDArray[np.int64],
    step: int,
    steps: int,
) -> NDArray[np.int64]:
    """Return the most that members from a place of an order on can add to each row, at every price.

    (steps + 1, h + 1, n): prices are rounded down to steps, so that a choice is never taken for
    dearer than it is (Proposition 92).
    """
    h, n = gains.shape
    most = np.zeros((steps + 1, h + 1, n), dtype=np.int64)
    for p in range(h - 1, -1, -1):
        after = most[:, p + 1]
        most[:, p] = after
        price = int(prices[p]) // step
        if price <= steps:
            taken = after[: steps + 1 - price] + gains[order[p]]
            np.maximum(after[price:], taken, out=most[price:, p])
    return most


@kernel
def cheapest_rows(
    rows: Rows, order: NDArray[np.intp], most: NDArray[np.int64], step: int, purse: Purse
) -> tuple[int, NDArray[np.bool_]]:
    """Go through the sets that cost at most a limit, which falls with every set that is found.

    ``most`` is what `gains_at_prices` returns; prices and sets are in the order of the members.

    Returns
    -------
    verdict : int
        1: all sets were gone through. -1: the branches, or the room for sets, did not suffice.
    sets : ndarray of bool
        Those that bring rows of enough weight to the floor, the cheapest of all among them.
    """
    h = len(purse.prices)
    nothing = np.zeros(len(rows.margins), dtype=np.int64)
    sets, taken = np.zeros((purse.room, h), dtype=np.bool_), np.zeros(h, dtype=np.bool_)
    margins = rows.margins.copy()
    limit, price, size, position, kept, new = purse.price, 0, 0, 0, 0, True
    for _ in range(purse.branches):
        hopeful = price <= limit
        if hopeful:
            best = most[(limit - price) // step, position]
            lost, _ = lost_weight(margins, best, rows.weights, purse.floor, purse.spare)
            hopeful = lost <= purse.spare
        if hopeful and new:
            lost, _ = lost_weight(margins, nothing, rows.weights, purse.floor, purse.spare)
            if lost <= purse.spare:
                if kept == purse.room:
                    break
                sets[kept] = taken
                kept += 1
                if purse.floor >= 0:  # else margins are in doubt, and it may not be enough
                    limit = price - 1 if purse.exact else min(limit, price + size)
                    hopeful = False
        new = False
        if hopeful and position < h and size < purse.most:
            if purse.prices[position] <= limit - price:
                taken[position] = new = True
                price += purse.prices[position]
                size += 1
                shift(margins, rows, order[position], 1)
            position += 1
            continue
        position -= 1
        while position >= 0 and not taken[position]:
            position -= 1
        if position < 0:
            return 1, sets[:kept]
        taken[position] = False
        price -= purse.prices[position]
        size -= 1
        shift(margins, rows, order[position], -1)
        position += 1
    return -1, sets[:kept]

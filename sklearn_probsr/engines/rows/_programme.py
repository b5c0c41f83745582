"""The smallest set over background rows as an integer programme, solved by HiGHS.

A binary ``y_j`` says that member j is fixed, and ``z_r`` that row r is kept:

    minimise sum_j p_j y_j  subject to  sum_j gain_jr y_j >= -margin_r - M_r (1 - z_r),
                                    sum_r weight_r z_r >= needed.

The price p_j of a member is 1 where the fewest are looked for (Proposition 93 where it is not).
Against several rivals a row has one such inequality for each. The solver works in floats, so it is
given a slightly larger set of solutions: every inequality is relaxed by ten times what it lets pass
at most. A set that reaches the level satisfies them all with that much to spare. What the solver
finds is counted again, in integers; what is trusted is that it does not cut off a point with so
much to spare (Proposition 33).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._counts import Rows

__all__ = ["MOST_PRICE", "solve"]

# In units of an inequality's largest coefficient; HiGHS lets pass 1e-6 (Proposition 33).
_SPARE = 1e-5
# How far above an integer its bound must be to be rounded up (Proposition 33).
_ROUNDING = 1e-5
# Programmes with more coefficients are not tried.
_MOST_ENTRIES = 2_000_000
# With larger prices the rounding would be too much of the smallest (Proposition 93).
MOST_PRICE = 10_000
_OPTIMAL, _LIMIT, _INFEASIBLE = 0, 1, 2


class _Programme(NamedTuple):
    """The inequalities ``lower <= matrix @ (y, z) <= upper`` of h members and n rows."""

    matrix: Any
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    members: int
    rows: int
    prices: NDArray[np.float64]  # (members,): at most 1
    unit: float


def solve(
    rows: Rows,
    needed: int,
    floor: int,
    below: int,
    seconds: float,
    prices: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.bool_] | None, int]:
    """Look for members that cost less than ``below`` and bring a needed weight to the floor.

    Prices are at most ``MOST_PRICE``; without them every member costs 1.

    Returns
    -------
    chosen : ndarray of bool or None
        What was found; it reaches the level up to the solver's tolerance.
    bound : int
        No set costs less, by the solver's word (Propositions 33 and 93).
    """
    h, _ = rows.gains.shape
    prices = np.ones(h, dtype=np.int64) if prices is None else prices
    most = int(np.count_nonzero(np.sort(prices).cumsum() < below))
    rivals = len(rows.margins) // max(len(rows.weights), 1)
    least = rows.margins + np.minimum(rows.gains, 0).sum(axis=0)
    best = np.sort(np.maximum(rows.gains, 0), axis=0)[h - most :].sum(axis=0)
    sure = (least >= floor).reshape(-1, rivals).all(axis=1)
    possible = (rows.margins + best >= floor).reshape(-1, rivals).all(axis=1)
    asked = np.flatnonzero(~sure & possible)
    left = needed - int(rows.weights[sure].sum())
    if left <= 0:
        return np.zeros(h, dtype=np.bool_), 0
    if int(rows.weights[asked].sum()) < left:
        return None, below
    if len(asked) * rivals * (h + 1) > _MOST_ENTRIES:
        return None, 0
    return _answer(_programme(rows, asked, left, floor, below, prices), below, seconds)


def _programme(
    rows: Rows,
    asked: NDArray[np.intp],
    left: int,
    floor: int,
    below: int,
    prices: NDArray[np.int64],
) -> _Programme:
    """Write down the programme of the rows that a set decides; ``left`` is the weight it needs."""
    from scipy import sparse

    h, n = len(rows.gains), len(asked)
    rivals = len(rows.margins) // len(rows.weights)
    least = rows.margins + np.minimum(rows.gains, 0).sum(axis=0)
    places = (asked[:, None] * rivals + np.arange(rivals)).ravel()
    of_row = np.repeat(np.arange(n), rivals)
    doubtful = least[places] < floor  # the others hold whatever is fixed
    places, of_row = places[doubtful], of_row[doubtful]
    gains = rows.gains[:, places].T.astype(np.float64)
    reach = floor - least[places].astype(np.float64)  # M: positive
    scale = np.maximum(np.abs(gains).max(axis=1), reach)
    weights = rows.weights[asked].astype(np.float64)
    heaviest = float(weights.max())
    m = len(places)
    unit = 1.0 / float(prices.max(initial=1))
    shares = prices.astype(np.float64) * unit
    slack = sparse.csr_array((-reach / scale, (np.arange(m), of_row)), shape=(m, n))
    matrix = sparse.vstack(
        [
            sparse.hstack([sparse.csr_array(gains / scale[:, None]), slack]),
            np.concatenate([np.zeros(h), weights / heaviest])[None, :],
            np.concatenate([shares, np.zeros(n)])[None, :],
        ],
        format="csr",
    )  # fmt: skip
    # What is short of the floor with nothing fixed, less what M makes up for while z = 0.
    short = (floor - rows.margins[places]).astype(np.float64) - reach
    lower = np.concatenate([short / scale - _SPARE, [(left - 0.5) / heaviest - _SPARE], [-np.inf]])
    upper = np.concatenate([np.full(m + 1, np.inf), [(below - 0.5) * unit]])
    return _Programme(matrix, lower, upper, h, n, shares, unit)


def _answer(
    programme: _Programme, below: int, seconds: float
) -> tuple[NDArray[np.bool_] | None, int]:
    """Ask the solver, and round its bound up with care."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    h, n = programme.members, programme.rows
    result = milp(
        np.concatenate([programme.prices, np.zeros(n)]),
        integrality=np.ones(h + n),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(programme.matrix, programme.lower, programme.upper),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    if result.status == _INFEASIBLE:
        return None, below
    if result.status not in {_OPTIMAL, _LIMIT}:
        return None, 0
    bound = result.mip_dual_bound
    proved = 0 if bound is None or not math.isfinite(bound) else _whole(bound, programme.unit)
    chosen = None if result.x is None else result.x[:h] > 0.5
    return chosen, min(max(proved, 0), below)


def _whole(bound: float, unit: float) -> int:
    """Return the least whole number of units that a bound leaves, rounded with care."""
    return math.ceil((bound - _ROUNDING) / unit)

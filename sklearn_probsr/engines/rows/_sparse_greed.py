"""Greed over joint rows that are mostly zeros, before one rival, column by column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inlined, inner, kernel
from sklearn_probsr.engines.rows._sparse_counts import Columns

__all__ = ["greedy_order"]


@inlined
def _look_at(
    margins: NDArray[np.float64], weights: NDArray[np.float64], table: Columns, j: int
) -> tuple[float, float]:
    """Return the weight kept with a member fixed, and what is missing in the other rows."""
    kept = 0.0
    missing = 0.0
    column = table.members[j]
    shift = float(table.known[j, 0])
    for r in range(len(margins)):
        margin = margins[r, 0] + shift
        kept += weights[r] * (margin >= 0.0)
        missing += weights[r] * min(margin, 0.0)
    for e in range(table.starts[column], table.starts[column + 1]):
        r = table.rows[e]
        before = margins[r, 0] + shift
        margin = before - float(table.entries[e, 0])
        kept += weights[r] * (margin >= 0.0) - weights[r] * (before >= 0.0)
        missing += weights[r] * (min(margin, 0.0) - min(before, 0.0))
    return kept, missing


@inner
def _look_aside(
    margins: NDArray[np.float64], weights: NDArray[np.float64], table: Columns, j: int
) -> tuple[float, float]:
    """Return by how much fixing a member that the instance lacks changes both."""
    rivals = margins.shape[1]
    kept = 0.0
    missing = 0.0
    column = table.members[j]
    for e in range(table.starts[column], table.starts[column + 1]):
        r = table.rows[e]
        before, worst = np.inf, np.inf
        for i in range(rivals):
            before = min(before, margins[r, i])
            worst = min(worst, margins[r, i] - float(table.entries[e, i]))
        kept += weights[r] * (worst >= 0.0) - weights[r] * (before >= 0.0)
        missing += weights[r] * (min(worst, 0.0) - min(before, 0.0))
    return kept, missing


@inner
def _stand(margins: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float]:
    """Return the weight kept as it is, and what is missing in the other rows."""
    kept = 0.0
    missing = 0.0
    for r in range(len(weights)):
        worst = np.inf
        for i in range(margins.shape[1]):
            worst = min(worst, margins[r, i])
        kept += weights[r] * (worst >= 0.0)
        missing += weights[r] * min(worst, 0.0)
    return kept, missing


@inlined
def _take(margins: NDArray[np.float64], table: Columns, j: int) -> None:
    """Fix a member, in floats."""
    column = table.members[j]
    for i in range(margins.shape[1]):
        shift = float(table.known[j, i])
        if shift != 0.0:
            for r in range(len(margins)):
                margins[r, i] += shift
        for e in range(table.starts[column], table.starts[column + 1]):
            margins[table.rows[e], i] -= float(table.entries[e, i])


@inlined
def _best_absent(
    margins: NDArray[np.float64],
    weights: NDArray[np.float64],
    table: Columns,
    absent: NDArray[np.intp],
    most: NDArray[np.float64],
    free: NDArray[np.bool_],
    hinge: bool,
    best: tuple[int, float, float],
) -> tuple[int, float, float, int]:
    """Return the best of a member so far and those that the instance lacks, and the visits."""
    kept, missing = _stand(margins, weights)
    chosen, best_rank, best_missing = best
    visits = len(weights)
    for i in range(len(absent)):
        bound = (missing if hinge else kept) + most[i]
        if chosen >= 0 and bound < (best_missing if hinge else best_rank):
            break
        j = absent[i]
        if free[j]:
            more, less = _look_aside(margins, weights, table, j)
            visits += table.starts[table.members[j] + 1] - table.starts[table.members[j]]
            rank, left = 0.0 if hinge else kept + more, missing + less
            if rank > best_rank or (rank == best_rank and left > best_missing):
                chosen, best_rank, best_missing = j, rank, left
    return chosen, best_rank, best_missing, visits


@kernel
def greedy_order(
    table: Columns,
    present: NDArray[np.intp],
    absent: NDArray[np.intp],
    most: NDArray[np.float64],
    needed: float,
    hinge: bool,
    visits: int,
) -> NDArray[np.int64]:
    """Return members in the order in which greed adds them, until the weight is enough.

    As in ``engines.rows``, by floats: what it finds is to be counted exactly. Members that the
    instance lacks come with the most that each can bring (Lemma 46), the largest first: where that
    is less than the best so far, so is all that follows. It ends after so many visits of rows.
    """
    margins = table.margins.astype(np.float64)
    weights = table.weights.astype(np.float64)
    h = len(table.members)
    order = np.empty(h, dtype=np.int64)
    free = np.ones(h, dtype=np.bool_)
    for k in range(h):
        if visits < 0 or _stand(margins, weights)[0] >= needed:
            return order[:k]
        best, best_rank, best_missing = -1, -1.0, -np.inf
        for i in range(len(present)):
            j = present[i]
            if free[j]:
                now, left = _look_at(margins, weights, table, j)
                visits -= len(weights)
                rank = 0.0 if hinge else now
                if rank > best_rank or (rank == best_rank and left > best_missing):
                    best, best_rank, best_missing = j, rank, left
        best, best_rank, best_missing, looked = _best_absent(
            margins, weights, table, absent, most, free, hinge, (best, best_rank, best_missing)
        )
        visits -= looked
        order[k] = best
        free[best] = False
        _take(margins, table, best)
    return order

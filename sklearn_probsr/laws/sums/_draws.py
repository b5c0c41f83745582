"""Draws: random completions of units whose costs are listed, and how many of them fit a margin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["kept_along"]

# Completions that are drawn at once.
_CHUNK = 4096


def kept_along(
    laws: list[list[tuple[int, int]]],
    denominator: int,
    capacity: int,
    steps: int,
    samples: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Count completions whose costs fit a capacity, when the first 0, 1, ... units cost nothing.

    Of each unit the costs are whole numbers, with their chances over a denominator.
    """
    costs = [[cost for cost, _ in law] for law in laws]
    chances = [np.array([chance / denominator for _, chance in law]) for law in laws]
    reach = sum(max(map(abs, law)) for law in costs) + abs(capacity)
    shift = max(reach.bit_length() - 53, 0)
    cut = [np.array([cost >> shift for cost in law], dtype=np.float64) for law in costs]
    doubt = len(laws) + 1 if shift else 0
    limit = float(capacity >> shift)
    total = np.zeros(steps + 1, dtype=np.int64)
    for start in range(0, samples, _CHUNK):
        m = min(_CHUNK, samples - start)
        which = np.zeros((m, len(laws)), dtype=np.int64)
        drawn = np.zeros((m, len(laws)))
        for j, p in enumerate(chances):
            which[:, j] = rng.choice(len(p), size=m, p=p / p.sum())
            drawn[:, j] = cut[j][which[:, j]]
        left = np.zeros((m, steps + 1))
        left[:, -1] = drawn[:, steps:].sum(axis=1)
        for k in range(steps - 1, -1, -1):
            left[:, k] = left[:, k + 1] + drawn[:, k]
        keeps = left <= limit
        # n cut costs are short by less than n: near the limit all digits count
        for a in np.flatnonzero((keeps & (left > limit - doubt)).any(axis=1)):
            exact = [costs[j][which[a, j]] for j in range(len(laws))]
            for k in range(steps + 1):
                keeps[a, k] = sum(exact[k:]) <= capacity
        total += np.count_nonzero(keeps, axis=0)
    return total

"""Thin laws: random contributions that are mostly zero, as words in documents are.

The factor of a thin unit, ``1 - q + sum_i p_i e(k t_i)`` with q the chance that it is not zero, is
near 1, so the product of all of them is computed once, and a unit that is fixed is divided out
again (Proposition 47).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines.coins._vaaler import sin_cos_turns

__all__ = ["log_moments", "thin_factors", "thin_product"]


@kernel
def thin_product(
    order: NDArray[np.intp],
    starts: NDArray[np.int64],
    turns: NDArray[np.float64],
    chances: NDArray[np.float64],
    zeros: NDArray[np.float64],
    nodes: NDArray[np.float64],
    least: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the product of some units' factors at some nodes; 0 once it is below the least.

    Those that vary most should come first in the order (Propositions 24 and 47).
    """
    out = np.zeros((len(nodes), 2))
    for k in range(len(nodes)):
        re, im = 1.0, 0.0
        for a in range(len(order)):
            u = order[a]
            x, y = zeros[u], 0.0
            for i in range(starts[u], starts[u + 1]):
                sine, cosine = sin_cos_turns(nodes[k] * turns[i])
                x += chances[i] * cosine
                y += chances[i] * sine
            re, im = re * x - im * y, re * y + im * x
            if re * re + im * im < least[k] * least[k]:
                re, im = 0.0, 0.0
                break
        out[k, 0] = re
        out[k, 1] = im
    return out


@kernel
def thin_factors(
    units: NDArray[np.intp],
    starts: NDArray[np.int64],
    turns: NDArray[np.float64],
    chances: NDArray[np.float64],
    zeros: NDArray[np.float64],
    nodes: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the factor of each of some units at some nodes (Proposition 47)."""
    out = np.zeros((len(units), len(nodes), 2))
    for a in range(len(units)):
        u = units[a]
        for k in range(len(nodes)):
            out[a, k, 0] = zeros[u]
            for i in range(starts[u], starts[u + 1]):
                sine, cosine = sin_cos_turns(nodes[k] * turns[i])
                out[a, k, 0] += chances[i] * cosine
                out[a, k, 1] += chances[i] * sine
    return out


@kernel
def log_moments(
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    chances: NDArray[np.float64],
    zeros: NDArray[np.float64],
    means: NDArray[np.float64],
    exponents: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the sums of ``ln E exp(l (C_u - E C_u))`` over all units (Proposition 52)."""
    total = np.zeros(len(exponents))
    for e in range(len(exponents)):
        for u in range(len(starts) - 1):
            largest = 0.0 if zeros[u] > 0.0 else -np.inf
            for i in range(starts[u], starts[u + 1]):
                largest = max(largest, exponents[e] * values[i])
            inside = zeros[u] * np.exp(-largest) if zeros[u] > 0.0 else 0.0
            for i in range(starts[u], starts[u + 1]):
                inside += chances[i] * np.exp(exponents[e] * values[i] - largest)
            total[e] += max(largest + np.log(inside) - exponents[e] * means[u], 0.0)
    return total

"""Thin laws: random contributions that are mostly zero, as words in documents are.

The factor of a thin unit, ``1 - q + sum_i p_i e(k t_i)`` with q the chance that it is not zero, is
near 1, so the product of all of them is computed once, and a unit that is fixed is divided out
again (Proposition 47).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.engines.sums._crowd import Crowd, crowd_factors
from sklearn_probsr.independent.vaaler import UNIT, sin_cos_turns

__all__ = ["least_decays", "log_moments", "thin_factors", "thin_product"]

# Nodes that are looked at together.
_BLOCK = 128
# Units whose exponents stay below this are told by their moments (Lemma 135).
_SMALL = 1.0


@kernel
def thin_product(
    order: NDArray[np.intp],
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    scales: NDArray[np.float64],
    chances: NDArray[np.float64],
    zeros: NDArray[np.float64],
    nodes: NDArray[np.float64],
    least: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the product of some units' factors at some nodes; 0 once it is below the least.

    A value times the scale of its unit is what it adds, in turns. Those that vary most should come
    first in the order (Propositions 24 and 47).
    """
    out = np.zeros((len(nodes), 2))
    x, y = np.zeros(_BLOCK), np.zeros(_BLOCK)
    for first in range(0, len(nodes), _BLOCK):
        some = nodes[first : first + _BLOCK]
        product = out[first : first + _BLOCK]
        product[:, 0] = 1.0
        for a in range(len(order)):
            u = order[a]
            x[:], y[:] = zeros[u], 0.0
            for i in range(starts[u], starts[u + 1]):
                _add_waves(x, y, some, values[i] * scales[u], chances[i])
            if not _multiplied(product, x, y, least[first : first + _BLOCK]):
                break
    return out


@inner
def _add_waves(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    nodes: NDArray[np.float64],
    turn: float,
    chance: float,
) -> None:
    """Add ``chance e(k turn)`` at some nodes k."""
    for k in range(len(nodes)):
        sine, cosine = sin_cos_turns(nodes[k] * turn)
        x[k] += chance * cosine
        y[k] += chance * sine


@inner
def _multiplied(
    product: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    least: NDArray[np.float64],
) -> bool:
    """Multiply by a factor, and tell whether something is left."""
    left = False
    for j in range(len(product)):
        re, im = product[j, 0], product[j, 1]
        re, im = re * x[j] - im * y[j], re * y[j] + im * x[j]
        if re * re + im * im < least[j] * least[j]:
            re, im = 0.0, 0.0
        else:
            left = True
        product[j, 0], product[j, 1] = re, im
    return left


@kernel
def thin_factors(
    units: NDArray[np.intp],
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    scales: NDArray[np.float64],
    chances: NDArray[np.float64],
    zeros: NDArray[np.float64],
    nodes: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the factor of each of some units at some nodes (Proposition 47)."""
    out = np.zeros((len(units), len(nodes), 2))
    x, y = np.empty(len(nodes)), np.empty(len(nodes))
    for a in range(len(units)):
        u = units[a]
        x[:], y[:] = zeros[u], 0.0
        for i in range(starts[u], starts[u + 1]):
            _add_waves(x, y, nodes, values[i] * scales[u], chances[i])
        out[a, :, 0], out[a, :, 1] = x, y
    return out


@kernel
def log_moments(
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    scales: NDArray[np.float64],
    chances: NDArray[np.float64],
    zeros: NDArray[np.float64],
    moments: NDArray[np.float64],
    exponent: float,
) -> float:
    """Bound the sum of ``ln E exp(l (C_u - E C_u))`` over all units (Proposition 52).

    ``moments`` are, by units, the largest size of a value, and over that the mean, the second to
    the fourth moment around it, and the least and the most. Where all that ``l (C_u - E C_u)`` may
    be is small, they tell enough (Lemma 135).
    """
    total = 0.0
    for u in range(len(starts) - 1):
        scale = exponent * scales[u]
        mean, over = moments[u, 1], scale * moments[u, 0]
        ends = over * (moments[u, 5] - mean), over * (moments[u, 6] - mean)
        top = max(ends[0], ends[1])
        if max(top, -min(ends[0], ends[1])) <= _SMALL:
            third = moments[u, 2] / 2.0 + over * moments[u, 3] / 6.0
            total += over * over * (third + over * over * moments[u, 4] * np.exp(top) / 24.0)
            continue
        largest = 0.0 if zeros[u] > 0.0 else -np.inf
        for i in range(starts[u], starts[u + 1]):
            largest = max(largest, scale * values[i])
        inside = zeros[u] * np.exp(-largest) if zeros[u] > 0.0 else 0.0
        for i in range(starts[u], starts[u + 1]):
            inside += chances[i] * np.exp(scale * values[i] - largest)
        total += max(largest + np.log(inside) - over * mean, 0.0)
    return total


def least_decays(
    turns: NDArray[np.float64], masses: NDArray[np.float64], degree: int
) -> NDArray[np.float64]:
    """Bound ``-ln |product of factors|`` from below at the nodes 1 to the degree (Lemma 134).

    ``turns`` are all values of the units, and ``masses`` their chances, each times that of its
    unit's being zero.
    """
    total = float(masses.sum())
    if not total:
        return np.zeros(degree)
    waves, error = crowd_factors(Crowd(turns, masses / total, 1.0, 0.0, 0.0), degree)
    reach = float(np.abs(turns).max())
    off = error + 64 * UNIT * (degree * reach + len(turns))
    decays: NDArray[np.float64] = total * (1.0 - waves[:, 0] - off)
    return decays

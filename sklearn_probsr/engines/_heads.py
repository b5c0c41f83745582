"""Heads: what the Fourier engine computes once for all rows of a class, over marginals.

The sum ``Y = sum n_i z_i`` of the unknown features does not depend on the row, except for what is
fixed. Features that a small reason may hold are the *head*; the rest is always free, so its
characteristic function is computed once, and bounds that of every row: nodes where it is negligible
are dropped for good. A set of the head then costs one short product at the few nodes left.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._fourier import (
    SPREADS,
    TAIL,
    TRIG_ERROR,
    coefficient_table,
    coefficients,
    sin_cos_turns,
)
from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines._weighted import phi

__all__ = ["Head", "build_head", "head_bounds"]

_DEGREE = 2**16
_MOST_NODES = 512
_NEGLIGIBLE = 1e-13
_UNIT = 2.0**-53


class Head(NamedTuple):
    """The head of a class: its ranks' factors at the live nodes, and the rest's product."""

    error: float
    slope: float
    node: NDArray[np.float64]
    vaaler: NDArray[np.float64]
    fejer: NDArray[np.float64]
    rest: NDArray[np.float64]  # (nodes, 2): real and imaginary parts
    factors: NDArray[np.float64]  # (head, nodes, 2)


def build_head(
    head: list[int], rest: list[int], head_chances: list[float], rest_chances: list[float]
) -> tuple[int, Head]:
    """Build a period and a head from integer weights and the chances that features are 1."""
    values = head + rest
    spread = math.isqrt(sum(v * v for v in values)) + 1
    # SPREADS sigma and a little more, so that the mean may be rounded.
    period = spread * math.ceil(SPREADS * 2**19 * (1 + 1e-6)) // 2**20 + 8
    turns = np.array([v / period for v in values])
    chances = np.array(head_chances + rest_chances)
    h = len(head)
    products = _rest_products(turns[h:], chances[h:], _DEGREE)
    weights = _node_weights(products, _DEGREE)
    alive = np.argsort(-weights, kind="stable")[:_MOST_NODES]
    nodes = np.sort(alive[weights[alive] > 1e-13])
    dropped = float(np.delete(weights, nodes).sum())
    k = nodes.astype(np.float64) + 1.0
    vaaler, fejer = coefficient_table(k, _DEGREE)
    size = np.hypot(products[nodes, 0], products[nodes, 1])
    reach = float(np.abs(turns).sum()) + 2.0
    log = 0.8 * math.log(_DEGREE + 1.0) + 5.0
    slope = 2 + float(np.sum(4 * math.pi * k * (vaaler + fejer) * size))
    error = (
        dropped * (1 + 1e-9)
        + TAIL
        + log * (len(values) * 2 * TRIG_ERROR + _NEGLIGIBLE)
        + _DEGREE * _UNIT * (40 * reach + 8 * log)
    )
    factors = _factor_table(turns[:h], chances[:h], k)
    return period, Head(error, slope, k, vaaler, fejer, products[nodes], factors)


@kernel
def _rest_products(
    turns: NDArray[np.float64], chances: NDArray[np.float64], degree: int
) -> NDArray[np.float64]:
    out = np.zeros((degree, 2))
    for k in range(1, degree + 1):
        out[k - 1, 0], out[k - 1, 1] = phi(turns, chances, k)
    return out


@kernel
def _node_weights(products: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Return how much each node can move a bound."""
    out = np.zeros(degree)
    for k in range(1, degree + 1):
        size = math.sqrt(products[k - 1, 0] ** 2 + products[k - 1, 1] ** 2)
        if size > 0.0:
            a, b = coefficients(float(k), degree)
            out[k - 1] = 2.0 * (a + b) * size
    return out


@kernel
def _factor_table(
    turns: NDArray[np.float64], chances: NDArray[np.float64], nodes: NDArray[np.float64]
) -> NDArray[np.float64]:
    out = np.empty((len(turns), len(nodes), 2))
    for j in range(len(turns)):
        for i in range(len(nodes)):
            sine, cosine = sin_cos_turns(nodes[i] * turns[j])
            out[j, i, 0] = 1.0 - chances[j] * (1.0 - cosine)
            out[j, i, 1] = chances[j] * sine
    return out


@kernel
def head_bounds(
    head: Head, fixed: NDArray[np.bool_], alpha: float, beta: float
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta P]`` with some of the head fixed; the window starts at ``alpha P``."""
    if beta >= alpha + 1.0:
        return 1.0 - head.error, 1.0
    if beta <= alpha:
        return 0.0, head.error
    middle = beta - alpha
    blur = 4.0 * _UNIT * (abs(alpha) + abs(beta))
    radius = 1.0 / (_DEGREE + 1.0) + head.error + head.slope * blur
    for i in range(len(head.node)):
        re = head.rest[i, 0]
        im = head.rest[i, 1]
        for j in range(len(fixed)):
            if not fixed[j]:
                x = head.factors[j, i, 0]
                y = head.factors[j, i, 1]
                re, im = re * x - im * y, re * y + im * x
        sin_a, cos_a = sin_cos_turns(head.node[i] * alpha)
        sin_b, cos_b = sin_cos_turns(head.node[i] * beta)
        middle += head.vaaler[i] * ((im * cos_a - re * sin_a) - (im * cos_b - re * sin_b))
        radius += head.fejer[i] * ((re * cos_a + im * sin_a) + (re * cos_b + im * sin_b))
    return max(middle - radius, 0.0), min(middle + radius, 1.0)

"""Laws of very many values: their factors at all nodes of a spectrum, by moments and one FFT each.

A law of n values costs n operations a node if it is summed up as it is written. Here its values are
put on a grid of M points around the circle, each with its distance from the nearest point; what a
grid point holds acts on a node by a few moments of these distances (Proposition 50).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import strict_kernel
from sklearn_probsr.engines.sums._spectrum import DROPPED, Spectrum, with_signs
from sklearn_probsr.engines.sums._tabulation import live_nodes
from sklearn_probsr.independent.vaaler import TAIL, UNIT, coefficient_sum, coefficient_table

__all__ = ["Crowd", "crowd_factors", "crowd_spectrum"]

# Moments of a grid point.
_MOMENTS = 16
# So many of them are transformed at once: all take as much memory as there is data.
_AT_ONCE = 2
# What the others would add at a node up to M / 2: (pi / 2)^16 / 16!, and a tenth (Proposition 50).
_LEFT_OUT = 8e-11
# exp(pi / 2), above: what the moments of a point weigh together.
_WEIGHT = 4.82
# The error of an FFT of M points, over log2(M) times the size of its result (Proposition 50).
_FFT_ERROR = 20 * UNIT


class Crowd(NamedTuple):
    """A random contribution of very many values.

    ``shares`` are its values above the least, over the ``width``; that and ``centre``, which is
    taken off, are in turns of the period. ``doubt`` bounds the error of a share.
    """

    shares: NDArray[np.float64]
    chances: NDArray[np.float64]
    width: float
    centre: float
    doubt: float


@strict_kernel
def _moments(
    shares: NDArray[np.float64],
    chances: NDArray[np.float64],
    width: float,
    centre: float,
    points: int,
    out: NDArray[np.float64],
) -> None:
    """Add up the moments of the distances from a grid's points; ``points`` is a power of two."""
    for i in range(len(shares)):
        turn = (shares[i] * width - centre) * points
        nearest = np.floor(turn + 0.5)
        away = turn - nearest  # exactly: a float and an integer next to it
        line = out[int(nearest) & (points - 1)]
        term = chances[i]
        for r in range(len(line)):
            line[r] += term
            term *= away


def crowd_factors(law: Crowd, degree: int) -> tuple[NDArray[np.float64], float]:
    """Return ``E exp(2 pi i k C)`` at the nodes 1 to the degree, (degree, 2), and its error.

    The error is that of Proposition 50; what the values are off by is not part of it.
    """
    points = 2 * 2 ** max(math.ceil(math.log2(degree)), 4)
    table = np.zeros((points, _MOMENTS))
    _moments(law.shares, law.chances, law.width, law.centre, points, table)
    size = float(np.sqrt((table[:, 0] ** 2).sum()))
    turn = 2j * math.pi / points * np.arange(1.0, degree + 1)
    total = np.zeros(degree, dtype=np.complex128)
    for first in range(_MOMENTS - _AT_ONCE, -1, -_AT_ONCE):
        some = np.ascontiguousarray(table[:, first : first + _AT_ONCE].T)
        waves = np.conj(np.fft.rfft(some)[:, 1 : degree + 1])
        for r in range(_AT_ONCE - 1, -1, -1):  # Horner's rule, of sum (i q)^r m_r / r!
            total = (waves[r] + turn * total) / max(first + r, 1)
    error = _LEFT_OUT + _WEIGHT * (
        (len(law.shares) + 100) * UNIT + _FFT_ERROR * math.log2(points) * math.sqrt(points) * size
    )
    return total.view(np.float64).reshape(-1, 2), error


def crowd_spectrum(
    head: Collection[Crowd], rest: Collection[Crowd], degree: int, most_cells: int
) -> Spectrum:
    """Tabulate the factors of the head at the nodes that the rest leaves (Propositions 24, 50).

    The rest is multiplied up one by one, and once its product is negligible at high nodes nothing
    is computed there any more. Each law is asked for once: together they are as large as the data.
    """
    while not rest and degree * len(head) > most_cells and degree > 1:
        degree //= 2
    product = np.ones(degree, dtype=np.complex128)
    live, off = np.arange(degree), 0.0
    reached: list[float] = []
    for law in rest:
        reached.append(_reach(law))
        factor, error = _at(law, live)
        product, off = product * factor, off + error
        stay = live_nodes(np.abs(product), live, degree)
        live, product = live[stay], product[stay]
    while len(live) * len(head) > most_cells and degree > 1:
        degree //= 2
        stay = live < degree
        live, product = live[stay], product[stay]
    node = (live + 1).astype(np.float64)
    vaaler, fejer = coefficient_table(node, degree)
    factors = np.empty((len(head), len(live), 2))
    for u, law in enumerate(head):
        reached.append(_reach(law))
        factor, error = _at(law, live)
        factors[u], off = factor.view(np.float64).reshape(-1, 2), off + error
    reach = math.fsum(reached)
    total = 2 * coefficient_sum(degree)
    products = len(reached) * 4 * UNIT
    error = total * (off + products) * 1.001 + degree * UNIT * (40 * (reach + 1) + 8 * total)
    return Spectrum(
        degree,
        error + TAIL + DROPPED / degree,
        2 + float(np.sum(4 * math.pi * node * (vaaler + fejer) * np.abs(product))),
        with_signs(node, vaaler, fejer),
        np.ascontiguousarray(product).view(np.float64).reshape(-1, 2),
        factors,
    )


def _reach(law: Crowd) -> float:
    """Return what a law adds to the reach of errors of its values (Proposition 50)."""
    return 2 * law.width * (1 + law.doubt / (6 * UNIT))


def _at(law: Crowd, live: NDArray[np.intp]) -> tuple[NDArray[np.complex128], float]:
    """Return a law's factor at the live nodes, counted from 0, and its error."""
    if not len(live):
        return np.empty(0, dtype=np.complex128), 0.0
    factor, error = crowd_factors(law, int(live[-1]) + 1)
    return np.ascontiguousarray(factor).view(np.complex128)[live, 0], error

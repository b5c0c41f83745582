"""Planes: how likely two sums of the same independent units both fall below their cuts.

Two sums have one characteristic function at pairs of nodes, that of all units' contributions
at once: ``Phi(k, m) = prod_u E e(k X_u + m Y_u)``, centred and in turns. A majorant and a minorant
in one variable make those of a product of two arcs (Lemma 82), so that the probability is enclosed
by sums over pairs of nodes (Proposition 83). Table 3 of docs/guarantees.md is the budget of their
errors.

The product of the units that no set in question fixes is a plane, kept in rows of nodes; the ends
of rows where it is negligible are left out, and what they could add is counted. Operations are
rounded one by one, as they are written: a compiler that fuses some of them may do so in one process
and not in another, and bounds would differ in their last digit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import kernel, strict_inner, strict_kernel
from sklearn_probsr.independent.vaaler import (
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficients,
    sin_cos_turns,
)

__all__ = ["Plane", "Powers", "States", "build_plane", "pair_bounds", "powers_of"]

# Nodes that are left out together, a strip of a row; a degree is a multiple of it less one.
_STRIP = 16
# Strips are looked at after so many units.
_PATIENCE = 4
# What is left out of a plane moves a bound by no more than this, over the degree (Table 3 line 4).
_LEFT_OUT = 0.005


class States(NamedTuple):
    """The states of all units, one after the other: where each unit's start, and their chances."""

    starts: NDArray[np.int64]  # (units + 1,)
    chances: NDArray[np.float64]  # (states,)


class Powers(NamedTuple):
    """What every state adds to a sum, ``e(k t)`` at the nodes 0, 1, 2, ..., up to a degree.

    ``reach`` is the sum of the units' largest contributions, in turns.
    """

    real: NDArray[np.float64]  # (states, degree + 1)
    imaginary: NDArray[np.float64]  # (states, degree + 1)
    reach: float


class Plane(NamedTuple):
    """The product of some units' factors, row by row; ``error`` is Table 3 from line 3 on."""

    node: NDArray[np.int64]  # (rows, 2): the second sum's node, and up to where the first's are
    product: NDArray[np.float64]  # (rows, 2, degree + 1): real and imaginary parts
    degree: int
    error: float


@kernel
def powers_of(
    turns: NDArray[np.float64], degree: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosines and sines of the multiples of some turns."""
    real = np.empty((len(turns), degree + 1))
    imaginary = np.empty((len(turns), degree + 1))
    for i in range(len(turns)):
        for k in range(degree + 1):
            imaginary[i, k], real[i, k] = sin_cos_turns(k * turns[i])
    return real, imaginary


def build_plane(states: States, first: Powers, second: Powers, units: NDArray[np.int64]) -> Plane:
    """Multiply the factors of some units; those that vary most are best first."""
    degree = first.real.shape[1] - 1
    node, product, lost = _multiplied(states, first, second, units, _LEFT_OUT / degree)
    return Plane(node, product, degree, lost + _rounding(states, first, second, degree))


def _rounding(states: States, first: Powers, second: Powers, degree: int) -> float:
    """Bound rounding: Table 3, lines 3, 5 and 6."""
    each = 2.0 + 2.0 * coefficient_sum(degree)
    total = 3.0 * each * each
    factors = 4.0 * TRIG_ERROR * (len(states.starts) - 1) + 8.0 * UNIT * len(states.chances)
    arguments = 48.0 * UNIT * degree * (first.reach + second.reach)
    sums = 2.0 * UNIT * (3.0 * degree + 64.0)
    return total * (factors + arguments + sums)


@strict_inner
def _weights(degree: int) -> NDArray[np.float64]:
    """Bound the coefficients of a majorant at 0, 1, 2, ..., and those of its radius (Lemma 82)."""
    out = np.empty((degree + 1, 2))
    out[0, 1] = 1.0 / (degree + 1.0)
    out[0, 0] = 1.0 + out[0, 1]
    for k in range(1, degree + 1):
        a, b = coefficients(float(k), degree)
        out[k, 0] = a + b
        out[k, 1] = b
    return out


@strict_inner
def _times(
    states: States,
    first: Powers,
    second: Powers,
    unit: int,
    node: NDArray[np.int64],
    product: NDArray[np.float64],
    factor: NDArray[np.float64],
) -> None:
    """Multiply a row by a unit's factor.

    The rows of a product are its real and imaginary parts; ``factor`` is room for another.
    """
    m, nodes = abs(node[0]), node[1]
    re, im, x, y = product[0], product[1], factor[0], factor[1]
    for j in range(nodes):
        x[j] = 0.0
        y[j] = 0.0
    for s in range(states.starts[unit], states.starts[unit + 1]):
        a = states.chances[s] * second.real[s, m]
        b = states.chances[s] * second.imaginary[s, m]
        if node[0] < 0:
            b = -b
        cosines, sines = first.real[s], first.imaginary[s]
        for j in range(nodes):
            x[j] += a * cosines[j] - b * sines[j]
            y[j] += a * sines[j] + b * cosines[j]
    for j in range(nodes):
        u = re[j] * x[j] - im[j] * y[j]
        v = re[j] * y[j] + im[j] * x[j]
        re[j] = u
        im[j] = v


@strict_inner
def _last_strip(product: NDArray[np.float64], nodes: int) -> float:
    """Return the sum of the squares of the sizes in the last strip of a row."""
    even, odd = 0.0, 0.0
    for j in range(nodes - _STRIP, nodes, 2):
        even += product[0, j] ** 2 + product[1, j] ** 2
        odd += product[0, j + 1] ** 2 + product[1, j + 1] ** 2
    return even + odd


@strict_kernel
def _multiplied(
    states: States, first: Powers, second: Powers, units: NDArray[np.int64], lost: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """Return the rows that count, and by how much what is left out moves a bound (Lemma 84)."""
    degree = first.real.shape[1] - 1
    weights = _weights(degree)
    strips = (degree + 1) // _STRIP
    node = np.empty((2 * degree + 1, 2), dtype=np.int64)
    product = np.empty((2 * degree + 1, 2, degree + 1))
    factor = np.empty((2, degree + 1))
    weight = np.zeros(strips)
    share = lost / (strips * (2 * degree + 1))
    n = 0
    out = 0.0
    for m in range(-degree, degree + 1):
        for c in range(strips):
            weight[c] = 0.0
            for k in range(c * _STRIP, (c + 1) * _STRIP):
                weight[c] += 2.0 * weights[k, 0] * weights[abs(m), 0]
                weight[c] += 4.0 * weights[k, 1] * weights[abs(m), 1]
        node[n, 0] = m
        node[n, 1] = degree + 1
        product[n, 0] = 1.0
        product[n, 1] = 0.0
        for a in range(len(units)):
            _times(states, first, second, units[a], node[n], product[n], factor)
            while node[n, 1] > 0 and (a % _PATIENCE == 0 or a == len(units) - 1):
                last = weight[node[n, 1] // _STRIP - 1]
                squares = _last_strip(product[n], node[n, 1])
                if last * last * squares > share * share:
                    break
                out += last * math.sqrt(squares)
                node[n, 1] -= _STRIP
            if node[n, 1] == 0:
                break
        if node[n, 1] > 0:
            n += 1
    return node[:n].copy(), product[:n].copy(), out * (1.0 + 1e-9)


class _Arc(NamedTuple):
    """The coefficients of an arc's middle and radius at 0, 1, 2, ... (Corollary 19)."""

    middle: NDArray[np.float64]  # (2, degree + 1)
    radius: NDArray[np.float64]  # (2, degree + 1)


@strict_inner
def _arc(beta: float, degree: int) -> _Arc:
    """Return those of the arc from -1/2 to ``beta``."""
    arc = _Arc(np.zeros((2, degree + 1)), np.zeros((2, degree + 1)))
    arc.middle[0, 0] = beta + 0.5
    arc.radius[0, 0] = 1.0 / (degree + 1.0)
    for k in range(1, degree + 1):
        a, b = coefficients(float(k), degree)
        sine, cosine = sin_cos_turns(k * beta)
        sign = 1.0 if k % 2 == 0 else -1.0
        arc.middle[0, k] = 0.5 * a * sine
        arc.middle[1, k] = -0.5 * a * (sign - cosine)
        arc.radius[0, k] = 0.5 * b * (sign + cosine)
        arc.radius[1, k] = -0.5 * b * sine
    return arc


@strict_kernel
def pair_bounds(
    plane: Plane,
    states: States,
    first: Powers,
    second: Powers,
    free: NDArray[np.int64],
    cuts: tuple[float, float],
    blur: float,
    tail: float,
) -> tuple[float, float]:
    """Bound the probability that both sums are at most at their cuts (Proposition 83).

    ``free`` are the units that are free beside those of the plane; the cuts, in turns between -1/2
    and 1/2, are known up to the blur. ``tail`` bounds how likely some sum is a half turn away.
    """
    degree = plane.degree
    one, other = _arc(cuts[0], degree), _arc(cuts[1], degree)
    middle = 0.0
    radius = 0.0
    both = 0.0
    product = np.empty((2, degree + 1))
    factor = np.empty((2, degree + 1))
    for i in range(len(plane.node)):
        node = plane.node[i]
        for j in range(degree + 1):  # slices would have Numba compile how shapes are told in errors
            product[0, j], product[1, j] = plane.product[i, 0, j], plane.product[i, 1, j]
        for u in free:
            _times(states, first, second, u, node, product, factor)
        product[0, 0] *= 0.5  # these stand for themselves, others also for the opposite nodes
        product[1, 0] *= 0.5
        p_re, p_im, q_re, q_im = 0.0, 0.0, 0.0, 0.0
        for j in range(node[1]):
            re, im = product[0, j], product[1, j]
            p_re += re * one.middle[0, j] - im * one.middle[1, j]
            p_im += re * one.middle[1, j] + im * one.middle[0, j]
            q_re += re * one.radius[0, j] - im * one.radius[1, j]
            q_im += re * one.radius[1, j] + im * one.radius[0, j]
        m = abs(node[0])
        sign = 1.0 if node[0] >= 0 else -1.0
        x, y = other.middle[0, m], sign * other.middle[1, m]
        middle += 2.0 * (p_re * x - p_im * y)
        radius += 2.0 * (q_re * x - q_im * y)
        x, y = other.radius[0, m], sign * other.radius[1, m]
        radius += 2.0 * (p_re * x - p_im * y)
        both += 2.0 * (q_re * x - q_im * y)
    # Table 3, lines 1 and 2.
    error = plane.error + tail + 24.0 * (degree + 1.0) * (1.0 + coefficient_sum(degree)) * blur
    return middle - radius - 3.0 * both - error, middle + radius + both + error

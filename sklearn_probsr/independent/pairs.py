"""Pairs of rivals: how likely two of them are both ahead, while some facts are known.

Two sums of the same independent units have one characteristic function at pairs of nodes:
``E exp(2 pi i (k X_u + m Y_u))``. It is multiplied and divided out as that of one sum is
(Proposition 360), so that one table of a pair serves all rows and all sets. A majorant and a
minorant in one variable make those of a product of two arcs (Lemma 82), so that the probability is
enclosed by sums over pairs of nodes (Proposition 83). Table 3 of docs/guarantees.md is the budget
of their errors.

The shorter the periods, the fewer nodes tell as much: each pair of sums is looked at in the
shortest ones of a ladder that hold all but little of them (Proposition 140).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import strict_inner, strict_kernel
from sklearn_probsr.independent.vaaler import (
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficient_table,
    sin_cos_turns,
)

__all__ = [
    "DEGREE",
    "SCALES",
    "PairTable",
    "States",
    "Windows",
    "bound_pairs",
    "build_pairs",
    "union_above",
    "union_below",
]

# The degree of both sums.
DEGREE = 95
# By how much periods are shortened, and what a sum may leave outside of one.
SCALES = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6)
_OUTSIDE = 1e-5
# Chernoff's exponents that are tried, in inverse standard deviations of the sum of all units.
_EXPONENTS = np.geomspace(1.0, 32.0, 26)
# The least size of a factor, what moving factors there costs, and the least product that is
# divided (Proposition 200).
_LEAST, _MOVED, _SMALLEST_LOG = 1e-12, 2.1e-12, -570.0
# What nodes that are not looked at move a bound by, over the degree.
_LEFT_OUT = 0.01
# More than what a sum of two probabilities is rounded by.
_ROUNDED = 1e-15
# More than what is rounded in logarithms of moments (Proposition 52).
_EACH, _MARGIN = 1e-9, 1e-6


class States(NamedTuple):
    """The states of all units, one after the other.

    Attributes
    ----------
    start : ndarray of int64, shape (n + 1,)
    chance : ndarray of shape (states,)
    turns : ndarray of shape (duels, states)
        What each adds to the sum of a duel, in turns, around its unit's mean.
    """

    start: NDArray[np.int64]
    chance: NDArray[np.float64]
    turns: NDArray[np.float64]


class PairTable(NamedTuple):
    """The factors of all units at pairs of nodes, for sets up to some size; as in `Table`.

    Attributes
    ----------
    error : float
        Table 3 from line 3 on.
    counts : ndarray of int64, shape (most + 1,)
    node : ndarray of int64, shape (L, 2)
        Of two opposite pairs of nodes there is one, that with k > 0, or k = 0 and m > 0.
    whole : ndarray of shape (2, L)
    inverse : ndarray of shape (n, 2, L)
    """

    degree: int
    error: float
    counts: NDArray[np.int64]
    node: NDArray[np.int64]
    whole: NDArray[np.float64]
    inverse: NDArray[np.float64]


@strict_kernel
def _powers(
    turns: NDArray[np.float64], degree: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosines and sines of the multiples of some turns, up to a degree."""
    real, imaginary = np.empty((len(turns), degree + 1)), np.empty((len(turns), degree + 1))
    for i in range(len(turns)):
        for k in range(degree + 1):
            imaginary[i, k], real[i, k] = sin_cos_turns(k * turns[i])
    return real, imaginary


@strict_kernel
def _factors(
    start: NDArray[np.int64],
    chance: NDArray[np.float64],
    first: tuple[NDArray[np.float64], NDArray[np.float64]],
    second: tuple[NDArray[np.float64], NDArray[np.float64]],
    u: int,
    out: NDArray[np.float64],
) -> None:
    """Write a unit's factor at all pairs of nodes: (2, 2 degree + 1, degree + 1)."""
    degree = out.shape[2] - 1
    for row in range(2 * degree + 1):
        re, im = out[0, row], out[1, row]
        m = abs(row - degree)
        for k in range(degree + 1):
            re[k] = 0.0
            im[k] = 0.0
        for s in range(start[u], start[u + 1]):
            a, b = chance[s] * second[0][s, m], chance[s] * second[1][s, m]
            b = -b if row < degree else b
            cosines, sines = first[0][s], first[1][s]
            for k in range(degree + 1):
                re[k] += a * cosines[k] - b * sines[k]
                im[k] += a * sines[k] + b * cosines[k]


def build_pairs(
    states: States, rivals: tuple[int, int], scales: tuple[float, float], size: int
) -> PairTable:
    """Tabulate two sums, for every set of up to so many units.

    Parameters
    ----------
    states : States
    rivals : pair of int
        Which duels the sums are of.
    scales : pair of float
        By how much their periods are shortened.
    size : int

    Returns
    -------
    PairTable

    References
    ----------
    Propositions 83 and 360, Lemma 84; Table 3, lines 3 to 6.
    """
    n, degree = len(states.start) - 1, DEGREE
    size = min(size, n)
    turns = [scale * states.turns[j] for scale, j in zip(scales, rivals, strict=True)]
    powers = [_powers(each, degree) for each in turns]
    k, m = np.meshgrid(np.arange(degree + 1), np.arange(-degree, degree + 1))
    half = (k > 0) | (m > 0)
    k, m = k[half], m[half]
    factor, room = np.empty((n, 2, len(k))), np.empty((2, *half.shape))
    for u in range(n):
        _factors(states.start, states.chance, powers[0], powers[1], u, room)
        factor[u] = room[:, half]
    squares = (factor * factor).sum(axis=1)
    small = squares < _LEAST * _LEAST
    factor[:, 0][small], factor[:, 1][small] = _LEAST, 0.0
    squares = np.maximum(squares, _LEAST * _LEAST)
    logs = 0.5 * np.log(squares)
    whole_log = logs.sum(axis=0)
    smallest = np.sort(logs, axis=0)[:size]
    left = np.concatenate([whole_log[None], whole_log - np.cumsum(smallest, axis=0)])
    vaaler, fejer = coefficient_table(np.arange(1.0, degree + 1), degree)
    single = np.concatenate([[1 + 1 / (degree + 1)], vaaler + fejer])
    radius = np.concatenate([[1 / (degree + 1)], fejer])
    move = 2 * (single[k] * single[np.abs(m)] + 2 * radius[k] * radius[np.abs(m)])
    # A hundredth more than what logarithms are rounded by.
    moved = move * np.exp(np.minimum(left, 0.0) + 0.01)
    first = (moved < _LEFT_OUT / degree / len(k)).sum(axis=0)  # sizes grow with what is divided out
    lost = whole_log < _SMALLEST_LOG
    most = min(size, int(first[lost].min(initial=size + 1)) - 1)
    counts = np.cumsum(np.bincount(first, minlength=most + 1)[: most + 1]).astype(np.int64)
    order = np.argsort(first, kind="stable")[: int(counts[-1])]
    whole = np.ones(len(order), dtype=np.complex128)
    for u in range(n):
        whole = whole * (factor[u, 0][order] + 1j * factor[u, 1][order])
    inverse = factor[:, :, order] / squares[:, None, order]
    inverse[:, 1] *= -1
    reach = sum(float(np.maximum.reduceat(np.abs(each), states.start[:-1]).sum()) for each in turns)
    total = 3 * (2 + 2 * coefficient_sum(degree)) ** 2
    each = 2 * TRIG_ERROR + 8 * UNIT
    rounded = math.expm1(4 * TRIG_ERROR * n + 8 * UNIT * len(states.chance)) + _MOVED
    rounded += 1.001 * 4 * UNIT * 3 * n + each
    error = total * (rounded + 48 * UNIT * degree * reach)
    error += total * 2 * UNIT * (len(order) + 3 * degree + 64)
    error += _LEFT_OUT / degree * (1 + 1e-9)
    node = np.stack([k[order], m[order]], axis=1).astype(np.int64)
    return PairTable(
        degree, error, counts, node, np.stack([whole.real, whole.imag]),
        np.ascontiguousarray(inverse),
    )  # fmt: skip


class _Arc(NamedTuple):
    """The coefficients of an arc's middle and radius at 0, 1, 2, ... (Corollary 19)."""

    middle: NDArray[np.float64]  # (2, degree + 1)
    radius: NDArray[np.float64]  # (2, degree + 1)


@strict_inner
def _set_arc(
    beta: float, vaaler: NDArray[np.float64], fejer: NDArray[np.float64], arc: _Arc
) -> None:
    """Write those of the arc from -1/2 to ``beta``."""
    degree = len(vaaler)
    arc.middle[0, 0], arc.middle[1, 0] = beta + 0.5, 0.0
    arc.radius[0, 0], arc.radius[1, 0] = 1.0 / (degree + 1.0), 0.0
    for k in range(1, degree + 1):
        sine, cosine = sin_cos_turns(k * beta)
        sign = 1.0 if k % 2 == 0 else -1.0
        arc.middle[0, k] = 0.5 * vaaler[k - 1] * sine
        arc.middle[1, k] = -0.5 * vaaler[k - 1] * (sign - cosine)
        arc.radius[0, k] = 0.5 * fejer[k - 1] * (sign + cosine)
        arc.radius[1, k] = -0.5 * fejer[k - 1] * sine


@strict_kernel
def bound_pairs(
    table: PairTable,
    units: NDArray[np.int64],
    sizes: NDArray[np.int64],
    cuts: NDArray[np.float64],
    slack: NDArray[np.float64],
    bounds: NDArray[np.float64],
) -> None:
    """Bound the probability that both sums are at most at their cuts (Proposition 83).

    Members of a set are the first ``sizes[i]`` of ``units[i]``; its two cuts are in turns of the
    shortened periods, and within half a turn. ``slack`` is Table 3, lines 1 and 2; ``bounds`` has
    two numbers a set.
    """
    degree = table.degree
    ks = np.empty(degree)
    for k in range(degree):
        ks[k] = k + 1.0
    vaaler, fejer = coefficient_table(ks, degree)
    one = _Arc(np.empty((2, degree + 1)), np.empty((2, degree + 1)))
    other = _Arc(np.empty((2, degree + 1)), np.empty((2, degree + 1)))
    product = np.empty((2, len(table.node)))
    re, im = product[0], product[1]
    for i in range(len(units)):
        nodes = table.counts[sizes[i]]
        for a in range(nodes):
            re[a], im[a] = table.whole[0, a], table.whole[1, a]
        for c in range(sizes[i]):
            x, y = table.inverse[units[i, c], 0], table.inverse[units[i, c], 1]
            for a in range(nodes):
                p = re[a] * x[a] - im[a] * y[a]
                im[a] = re[a] * y[a] + im[a] * x[a]
                re[a] = p
        _set_arc(cuts[i, 0], vaaler, fejer, one)
        _set_arc(cuts[i, 1], vaaler, fejer, other)
        middle = one.middle[0, 0] * other.middle[0, 0]
        radius = one.radius[0, 0] * other.middle[0, 0] + one.middle[0, 0] * other.radius[0, 0]
        both = one.radius[0, 0] * other.radius[0, 0]
        for a in range(nodes):
            k, m = table.node[a, 0], abs(table.node[a, 1])
            sign = 1.0 if table.node[a, 1] >= 0 else -1.0
            x, y = other.middle[0, m], sign * other.middle[1, m]
            p_re, p_im = re[a] * x - im[a] * y, re[a] * y + im[a] * x
            x, y = other.radius[0, m], sign * other.radius[1, m]
            q_re, q_im = re[a] * x - im[a] * y, re[a] * y + im[a] * x
            middle += 2.0 * (one.middle[0, k] * p_re - one.middle[1, k] * p_im)
            radius += 2.0 * (one.radius[0, k] * p_re - one.radius[1, k] * p_im)
            radius += 2.0 * (one.middle[0, k] * q_re - one.middle[1, k] * q_im)
            both += 2.0 * (one.radius[0, k] * q_re - one.radius[1, k] * q_im)
        error = table.error + slack[i]
        bounds[i, 0] = middle - radius - 3.0 * both - error
        bounds[i, 1] = middle + radius + both + error


class Windows:
    """What the sum of some units leaves outside a period, by the laws of those units.

    Parameters
    ----------
    states : States
    rival : int
        Which duel the sum is of.

    References
    ----------
    Proposition 140.
    """

    def __init__(self, states: States, rival: int) -> None:
        turns = states.turns[rival]
        deviation = math.sqrt(float((states.chance * turns**2).sum())) or 1.0
        self._exponents = _EXPONENTS / deviation
        doubt = 8 * UNIT * (1.0 + np.abs(turns))  # turns are rounded a few times
        self._moments = np.array(
            [
                [self._logs(states, exponent, away + doubt) for exponent in self._exponents]
                for away in (turns, -turns)
            ]
        )
        self._whole = self._moments.sum(axis=2)

    @staticmethod
    def _logs(states: States, exponent: float, away: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``ln E exp(exponent * away)`` of every unit, but for rounding, and at least 0."""
        at = states.start[:-1]
        most = np.maximum.reduceat(away, at)
        below = away - np.repeat(most, np.diff(states.start))
        # So that no exponential that underflows is missed.
        sums = np.add.reduceat(np.exp(exponent * below) * np.maximum(states.chance, 1e-290), at)
        logs: NDArray[np.float64] = np.maximum(exponent * most + np.log(sums), 0.0)
        return logs

    def outside(self, fixed: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Bound how likely a sum is half a period away from its mean or more, by scale.

        ``fixed`` are masks of what some sets fix, (sets, n); returns (sets, scales).
        """
        free = (self._moments[None] * ~fixed[:, None, None, :]).sum(axis=3)
        sums = free * (1 + _MARGIN) + _EACH * fixed.shape[1]
        found = np.empty((len(fixed), len(SCALES)))
        for at, scale in enumerate(SCALES):
            reach = (1 - _MARGIN) / (2 * scale)
            each = np.exp(np.minimum((sums - self._exponents * reach).min(axis=2), 0.0))
            found[:, at] = each.sum(axis=1) * (1 + _MARGIN) if scale > 1 else TAIL
        return found

    def scales(self, fixed: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return for each set the last scale that leaves little outside, and what that is."""
        outside = self.outside(fixed)
        fits = outside <= _OUTSIDE
        at = len(SCALES) - 1 - np.argmax(fits[:, ::-1], axis=1)
        return at, outside[np.arange(len(fixed)), at]

    @property
    def nbytes(self) -> int:
        """How much memory the table takes."""
        return int(self._moments.nbytes)


# --- unions --------------------------------------------------------------------------------------


def union_below(single: NDArray[np.float64], pair: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound unions from below, by lower bounds of events and upper bounds of their pairs.

    Parameters
    ----------
    single : ndarray of shape (cases, events)
    pair : ndarray of shape (cases, events, events)

    Returns
    -------
    ndarray of shape (cases,)

    References
    ----------
    Lemma 86, of the likeliest events.
    """
    n, best = single.shape[1], single.max(axis=1)
    order = np.argsort(-single, axis=1, kind="stable")
    single = np.take_along_axis(single, order, axis=1)
    pair = np.take_along_axis(pair, order[:, :, None], axis=1)
    pair = np.take_along_axis(pair, order[:, None, :], axis=2)
    first, second = single[:, 0].copy(), np.zeros(len(single))
    for size in range(2, n + 1):
        first += single[:, size - 1]
        second += pair[:, : size - 1, size - 1].sum(axis=1)
        for kappa in range(1, size):
            each = 2 / (kappa + 1) * first - 2 / (kappa * (kappa + 1)) * second
            best = np.maximum(best, each)
    found: NDArray[np.float64] = np.maximum(best - n**3 * _ROUNDED, 0.0)
    return found


def union_above(single: NDArray[np.float64], pair: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound unions from above, by upper bounds of events and lower bounds of their pairs.

    Arrays are those of `union_below`. The pairs are those of a tree, the heaviest that joins one
    event after the other (Lemma 87).
    """
    cases, n = single.shape
    total, each = single.sum(axis=1), np.arange(cases)
    joined, gain = np.zeros((cases, n), dtype=np.bool_), pair[:, 0].copy()
    joined[:, 0] = True
    for _ in range(n - 1):
        at = np.argmax(np.where(joined, -1.0, gain), axis=1)
        total -= np.maximum(gain[each, at], 0.0)
        joined[each, at] = True
        gain = np.maximum(gain, pair[each, at])
    found: NDArray[np.float64] = total + n**3 * _ROUNDED
    return found

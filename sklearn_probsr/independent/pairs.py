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

from sklearn_probsr.core.jit import kernel, strict_inner, strict_kernel
from sklearn_probsr.independent.vaaler import (
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficient_table,
    sin_cos_turns,
)

__all__ = [
    "DEGREES",
    "SCALES",
    "Lines",
    "PairTable",
    "States",
    "Windows",
    "bound_pairs",
    "build_pairs",
    "union_above",
    "union_below",
]

# The degrees of both sums: of the first look, and of a sharper one.
DEGREES = (47, 143)
# By how much periods are shortened, and what a sum may leave outside of one.
SCALES = (1.0, 1.5, 2.2, 3.2, 4.5)
_OUTSIDE = 1e-5
# Chernoff's exponents that are tried, in inverse standard deviations of the sum of all units.
_EXPONENTS = np.geomspace(1.0, 32.0, 26)
# The least size of a factor, what moving factors there costs, and the least product that is
# divided (Proposition 200).
_LEAST, _MOVED, _SMALLEST_LOG = 1e-12, 2.1e-12, -570.0
# What nodes that are not looked at move a bound by, over the degree.
_LEFT_OUT = 0.01
# Units of more states than this are looked up if they are straight, but for so many turns: at so
# many points a turn, by so many terms. What all of that is off by is below the last number
# (Proposition 362).
_FEW_STATES, _STRAIGHT, _STEPS, _TERMS, _OFF_LINE = 24, 2e-15, 8, 12, 4e-11
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
        Table 3, lines 3 to 6.
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
    chance: NDArray[np.float64],
    first: tuple[NDArray[np.float64], NDArray[np.float64]],
    second: tuple[NDArray[np.float64], NDArray[np.float64]],
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
        for s in range(len(chance)):
            a, b = chance[s] * second[0][s, m], chance[s] * second[1][s, m]
            b = -b if row < degree else b
            cosines, sines = first[0][s], first[1][s]
            for k in range(degree + 1):
                re[k] += a * cosines[k] - b * sines[k]
                im[k] += a * sines[k] + b * cosines[k]


class Lines:
    """Units of many states that lie on a line before all rivals, as a column with a weight does.

    The factor of such a unit is a function of one frequency. It is tabulated with its derivatives,
    once for all pairs of rivals, and looked up by Taylor's series (Proposition 362).
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    def has(
        self,
        u: int,
        chance: NDArray[np.float64],
        first: NDArray[np.float64],
        second: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> bool:
        """Write a unit's factor at all pairs of nodes, if it has many states on a line."""
        if len(chance) <= _FEW_STATES:
            return False
        start = float(first[0]), float(second[0])
        first, second = first - start[0], second - start[1]
        at = int(np.argmax(np.abs(first) + np.abs(second)))
        x, y = float(first[at]), float(second[at])
        if not (x or y):
            return False
        along = first / x if abs(x) >= abs(y) else second / y
        known = self._known.get(u)
        if known is not None and len(known[0]) == len(along):
            known = known if np.abs(known[0] - along).max() <= _STRAIGHT else None
        along = along if known is None else known[0]
        if max(np.abs(first - x * along).max(), np.abs(second - y * along).max()) > _STRAIGHT:
            return False
        needed = math.ceil((out.shape[2] - 1) * (abs(x) + abs(y)) * _STEPS) + 2
        if known is None or len(known[1]) < needed:
            table = np.empty((needed, _TERMS, 2))
            _derivatives(along, chance, table)
            known = self._known[u] = (along, table)
        _look_up(known[1], x, y, start, out)
        return True

    @property
    def nbytes(self) -> int:
        """How much memory the tables take."""
        return sum(table.nbytes for _, table in list(self._known.values()))


@kernel
def _derivatives(
    along: NDArray[np.float64], chance: NDArray[np.float64], table: NDArray[np.float64]
) -> None:
    """Tabulate ``sum_s p_s (2 pi v_s)^q / q! e(j v_s / STEPS)`` for j = 0, 1, 2, ... and all q.

    That is what Taylor's series needs, but for powers of i (Proposition 362).
    """
    n = len(along)
    sines, cosines, terms = np.empty(n), np.empty(n), np.empty(n)
    for j in range(len(table)):
        for s in range(n):
            sines[s], cosines[s] = sin_cos_turns(j * along[s] / _STEPS)
            terms[s] = chance[s]
        for q in range(_TERMS):
            re, im = 0.0, 0.0
            for s in range(n):
                re += terms[s] * cosines[s]
                im += terms[s] * sines[s]
                terms[s] *= 2.0 * math.pi * along[s] / (q + 1.0)
            table[j, q, 0], table[j, q, 1] = re, im


@strict_kernel
def _look_up(
    table: NDArray[np.float64],
    x: float,
    y: float,
    start: tuple[float, float],
    out: NDArray[np.float64],
) -> None:
    """Write the factor of a unit on a line at all pairs of nodes (Proposition 362)."""
    degree = out.shape[2] - 1
    for row in range(2 * degree + 1):
        for k in range(degree + 1):
            frequency = k * x + (row - degree) * y
            j = int(abs(frequency) * _STEPS + 0.5)
            away = abs(frequency) - j / _STEPS
            re, im = table[j, _TERMS - 1, 0], table[j, _TERMS - 1, 1]
            for q in range(_TERMS - 2, -1, -1):
                re, im = table[j, q, 0] - away * im, table[j, q, 1] + away * re
            im = im if frequency >= 0.0 else -im
            sine, cosine = sin_cos_turns(k * start[0] + (row - degree) * start[1])
            out[0, row, k] = re * cosine - im * sine
            out[1, row, k] = re * sine + im * cosine


@strict_kernel
def _first_sizes(
    factor: NDArray[np.float64],
    limits: NDArray[np.float64],
    size: int,
    first: NDArray[np.int64],
    whole: NDArray[np.float64],
) -> None:
    """Write from which size of a set on each pair of nodes matters (Proposition 360).

    That is the first number of smallest factors without which the logarithm of the product is not
    below a limit; the size and one more if there is none. ``whole`` gets that of all factors.
    """
    n, smallest = len(factor), np.empty(size + 1)
    for a in range(len(limits)):
        held = 0
        total = 0.0
        for u in range(n):
            x, y = factor[u, 0, a], factor[u, 1, a]
            log = 0.5 * math.log(max(x * x + y * y, _LEAST * _LEAST))
            total += log
            if held < size or (size > 0 and log < smallest[size - 1]):
                b = min(held, size - 1)
                while b > 0 and smallest[b - 1] > log:
                    smallest[b] = smallest[b - 1]
                    b -= 1
                smallest[b] = log
                held = min(held + 1, size)
        whole[a] = total
        s = 0
        while s <= size and total < limits[a]:
            total -= smallest[min(s, size - 1)] if s < size else 0.0
            s += 1
        first[a] = s


def build_pairs(
    states: States,
    rivals: tuple[int, int],
    scales: tuple[float, float],
    degree: int,
    size: int,
    lines: Lines,
) -> PairTable:
    """Tabulate two sums, for every set of up to so many units.

    Parameters
    ----------
    states : States
    rivals : pair of int
        Which duels the sums are of.
    scales : pair of float
        By how much their periods are shortened.
    degree, size : int
    lines : Lines
        What is known of units of many states; they are those of ``states``.

    Returns
    -------
    PairTable

    References
    ----------
    Propositions 83, 360 and 362, Lemma 84; Table 3, lines 3 to 6.
    """
    n = len(states.start) - 1
    size = min(size, n)
    turns = [scale * states.turns[j] for scale, j in zip(scales, rivals, strict=True)]
    plane = np.empty((n, 2, 2 * degree + 1, degree + 1))
    straight = 0
    for u in range(n):
        own = slice(int(states.start[u]), int(states.start[u + 1]))
        if lines.has(u, states.chance[own], turns[0][own], turns[1][own], plane[u]):
            straight += 1
        else:
            powers = [_powers(each[own], degree) for each in turns]
            _factors(states.chance[own], powers[0], powers[1], plane[u])
    ks, ms = np.meshgrid(np.arange(degree + 1), np.arange(-degree, degree + 1))
    k, m = ks.ravel(), ms.ravel()
    factor = plane.reshape(n, 2, -1)
    vaaler, fejer = coefficient_table(np.arange(1.0, degree + 1), degree)
    single = np.concatenate([[1 + 1 / (degree + 1)], vaaler + fejer])
    radius = np.concatenate([[1 / (degree + 1)], fejer])
    move = 2 * (single[k] * single[np.abs(m)] + 2 * radius[k] * radius[np.abs(m)])
    # A hundredth less than what products may be: more than logarithms are rounded by.
    limits = np.log(_LEFT_OUT / degree / len(k) / move) - 0.01
    limits[(k == 0) & (m <= 0)] = np.inf  # their opposites stand for them
    first, whole_log = np.empty(len(k), dtype=np.int64), np.empty(len(k))
    _first_sizes(factor, limits, size, first, whole_log)
    lost = whole_log < _SMALLEST_LOG
    most = min(size, int(first[lost].min(initial=size + 1)) - 1)
    counts = np.cumsum(np.bincount(first, minlength=most + 1)[: most + 1]).astype(np.int64)
    order = np.argsort(first, kind="stable")[: int(counts[-1]) if len(counts) else 0]
    factor = factor[:, :, order]
    squares = (factor * factor).sum(axis=1)
    small = squares < _LEAST * _LEAST
    factor[:, 0][small], factor[:, 1][small], squares[small] = _LEAST, 0.0, _LEAST * _LEAST
    whole = np.ones(len(order), dtype=np.complex128)
    for u in range(n):
        whole = whole * (factor[u, 0] + 1j * factor[u, 1])
    inverse = factor / squares[:, None]
    inverse[:, 1] *= -1
    reach = sum(float(np.maximum.reduceat(np.abs(each), states.start[:-1]).sum()) for each in turns)
    total = 3 * (2 + 2 * coefficient_sum(degree)) ** 2
    each = 2 * TRIG_ERROR + 8 * UNIT
    off = 4 * TRIG_ERROR * n + 8 * UNIT * len(states.chance) + _OFF_LINE * straight
    rounded = math.expm1(off) + _MOVED
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

    def scale(self, fixed: NDArray[np.bool_]) -> tuple[int, NDArray[np.float64]]:
        """Return the last scale that leaves little outside for all sets, and what that is."""
        outside = self.outside(fixed)
        at = int(np.flatnonzero((outside <= _OUTSIDE).all(axis=0))[-1])
        return at, outside[:, at]

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

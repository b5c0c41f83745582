"""Fourier: two-sided bounds of a distribution function from its characteristic function.

Centre the random sum: ``W = sum (v_i / 2) R_i`` with fair signs ``R_i``; the question is
``Pr[W <= a]`` with ``a = capacity - total / 2``. Wrap the line around a circle of period P.
Up to the mass outside ``[-P/2, P/2]`` the question is the measure of the arc
``[-1/2, a / P]``. Vaaler's polynomial ``V_K`` and Fejér's kernel ``F_K`` give, for every K and
for every distribution of ``y = W / P``,

    | 1[y in arc] - (arc length) - V_K(y - a/P) - V_K(-1/2 - y) |
        <= (F_K(y - a/P) + F_K(y + 1/2)) / (2K + 2).

Taking expectations turns each exponential into the characteristic function, which is real here,
``c_k = prod cos(pi k v_i / P)``, so that with ``beta = a / P``

    middle = 1/2 + beta + sum_k J(k/(K+1)) c_k sin(2 pi k beta) / (pi k)
    radius = (1 + sum_k (1 - k/(K+1)) c_k (cos(2 pi k beta) + (-1)^k)) / (K + 1)

and the probability lies within ``middle ± radius``: no quadrature error, no smoothness (Theorem 18
and Corollary 19; Table 1 line 4). What is rounded is part of the radius (Proposition 22).

References
----------
Vaaler (1985), Some extremal functions in Fourier analysis.
Montgomery (1994), Ten lectures, chapter 1.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines._level import ANY, Level
from sklearn_probsr.engines.coins._deficits import SubsetSum
from sklearn_probsr.engines._vaaler import (
    NEGLIGIBLE,
    SPREADS,
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficients,
    sin_cos_turns,
)
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["fourier", "fourier_cost", "fourier_prefixes"]

# How many of the largest values may be taken case by case (Lemma 28).
_MOST_SPLITS = 6
# The width that a case is asked for (Lemma 28), at least: a level is no guide to one case alone.
_CASE = 1e-6


@kernel
def _products(
    turns: NDArray[np.float64], products: NDArray[np.float64], start: int, stop: int
) -> None:
    """Fill ``products[k-1] = prod cos(2 pi k turns_i)`` for start < k <= stop; 0 if negligible."""
    for k in range(start + 1, stop + 1):
        product = 1.0
        for t in turns:
            product *= sin_cos_turns(k * t)[1]
            if abs(product) < NEGLIGIBLE:
                product = 0.0
                break
        products[k - 1] = product


@kernel
def _bounds(
    products: NDArray[np.float64], degree: int, beta: float, blur: float, count: int, reach: float
) -> tuple[float, float]:
    """Return middle and radius at one degree (Corollary 19); ``blur`` is the error of beta."""
    middle = 0.5 + beta
    fejer = 1.0
    slope = 1.0
    for k in range(1, degree + 1):
        c = products[k - 1]
        if c != 0.0:
            a, b = coefficients(float(k), degree)
            sine, cosine = sin_cos_turns(k * beta)
            middle += a * c * sine
            fejer += b * (degree + 1.0) * c * (cosine + (1.0 if k % 2 == 0 else -1.0))
            slope += 2.0 * math.pi * k * (a + b) * abs(c)
    radius = fejer / (degree + 1.0)
    # Table 2, lines 3 to 6; line 2 is the slope times the blur, and the caller adds line 1.
    total = coefficient_sum(degree)
    rounding = total * (count * TRIG_ERROR + NEGLIGIBLE)
    rounding += degree * UNIT * (20.0 * (reach + abs(beta)) + 4.0 * total)
    return middle, radius + slope * blur + rounding


@kernel
def _enclose(
    turns: NDArray[np.float64],
    beta: float,
    blur: float,
    level: Level,
    tol: float,
    degrees: NDArray[np.int64],
) -> tuple[float, float]:
    """Raise the degree until the bounds leave the level to one side, or are ``tol`` wide."""
    products = np.empty(degrees[-1])
    reach = turns.sum()
    done = 0
    best_lower = 0.0
    best_upper = 1.0
    for degree in degrees:
        _products(turns, products, done, degree)
        done = degree
        middle, radius = _bounds(products, degree, beta, blur, len(turns), reach)
        best_lower = max(best_lower, middle - radius)
        best_upper = min(best_upper, middle + radius)
        if best_lower >= level.high or best_upper < level.low or best_upper - best_lower <= tol:
            break
    return best_lower, best_upper


def _period(squares: int, total: int) -> int:
    """Return a whole number of units: SPREADS sigma, or the whole support if that is shorter.

    That is Lemma 20; a unit more makes up for what is rounded down.
    """
    return min((math.isqrt(squares) + 1) * math.ceil(SPREADS * 2**19) // 2**20, total) + 1


def _inside(twice: int, period: int) -> float:
    """Return ``twice / (2 period)`` for |twice| < period, strictly inside half a turn."""
    beta = twice / (2 * period)
    return math.copysign(min(abs(beta), math.nextafter(0.5, 0.0)), beta)


def _settled(twice: int, tail: float) -> Enclosure:
    """Return what a cut beyond half a period means: all or nothing, up to the tail (Lemma 20)."""
    if twice > 0:
        return Enclosure.proved(1 - tail, 1.0)
    return Enclosure.proved(0.0, tail)


def fourier_cost(question: SubsetSum, degree: int) -> float:
    """Return about how many seconds the engine takes up to a degree."""
    n = len(question.values)
    cases = 1 << _heavy(question.values, _MOST_SPLITS)
    return 5e-9 * cases * (degree * min(n, 40) + 64 * n)


def fourier(
    question: SubsetSum,
    level: Level,
    tol: float,
    largest_degree: int,
    splits: int = _MOST_SPLITS,
) -> Enclosure:
    """Enclose the probability to ``tol``, or until a level is to one side of it.

    Parameters
    ----------
    question : SubsetSum
    level : Level
        What the enclosure is asked to leave to one side.
    tol : float
        The width that is narrow enough even if the level stays inside.
    largest_degree : int
        The effort at which to give up.
    splits : int, default=6
        How many of the largest values may be taken case by case.
    """
    values, total = question.values, question.total
    heavy = _heavy(values, splits)
    if heavy:
        # Given the heavy ones, there or not, the rest has a period of its own.
        width = tol if level.high > 1 else max(tol, _CASE)
        return _by_cases(question, heavy, width, largest_degree, splits - heavy)
    period = _period(sum(v * v for v in values), total)
    # Half a unit above the capacity there is no sum, so the question is the same there.
    twice = 2 * question.capacity + 1 - total
    tail = TAIL if period < total else 0.0
    if abs(twice) >= period:
        return _settled(twice, tail)
    beta = _inside(twice, period)
    turns = np.array([v / (2 * period) for v in values])
    blur = (float(turns.sum()) + abs(beta)) * 2 * UNIT  # Table 2 line 2
    degrees = largest_degree >> np.arange(12, -1, -3)
    degrees = degrees[degrees >= 64]
    asked = Level(level.low - tail, level.high + tail)
    lower, upper = _enclose(turns, beta, blur, asked, tol, degrees)
    return Enclosure.proved(lower - tail, upper + tail)


def _heavy(values: list[int], most: int) -> int:
    """Return how many leading values to take case by case; 0: none.

    The last of them is more than four times as large as the root of the squares of all that follow,
    which so have a far smaller spread. Those before it are no smaller, as values decrease.
    """
    left = sum(v * v for v in values)
    for h in range(1, min(most, len(values) - 1) + 1):
        left -= values[h - 1] ** 2
        if 16 * left < values[h - 1] ** 2:
            return h
    return 0


def _by_cases(
    question: SubsetSum, heavy: int, width: float, largest_degree: int, splits: int
) -> Enclosure:
    """Average the enclosures of the rest over the subsets of the heavy values (Lemma 28)."""
    sums = Counter({0: 1})
    for v in question.values[:heavy]:
        sums += Counter({total + v: count for total, count in sums.items()})
    lower = upper = 0.0
    for total, count in sums.items():
        rest = SubsetSum(question.values[heavy:], question.capacity - total)
        if rest.capacity < 0:
            continue
        if rest.capacity >= rest.total:
            low, high = 1.0, 1.0
        else:
            found = fourier(rest, ANY, width, largest_degree, splits)
            low, high = found.lower, found.upper
        lower += low * count
        upper += high * count
    # Of at most 64 additions and products (Lemma 28).
    rounding = 2.0**-48
    cases = 2**heavy
    return Enclosure.proved(lower / cases - rounding, upper / cases + rounding)


@kernel
def _prefix_bounds(
    turns: NDArray[np.float64],
    betas: NDArray[np.float64],
    blur: float,
    steps: int,
    degree: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return middle and radius for the sums without the first k values, k = 0 to steps."""
    middles = np.empty(steps + 1)
    radii = np.empty(steps + 1)
    products = np.empty(degree)
    _products(turns[steps:], products, 0, degree)
    reach = turns.sum()
    for k in range(steps, -1, -1):
        middles[k], radii[k] = _bounds(products, degree, betas[k], blur, len(turns), reach)
        if k > 0:
            for i in range(degree):
                if products[i] != 0.0:
                    products[i] *= sin_cos_turns((i + 1) * turns[k - 1])[1]
    return middles, radii


def fourier_prefixes(question: SubsetSum, steps: int, degree: int) -> list[Enclosure]:
    """Enclose the probability without the first k values, for k = 0 to ``steps``, in one go.

    Consecutive sizes share a period, and with it their cosines, while the variance that is left
    changes less than 16-fold.
    """
    values = question.values
    squares = [0] * (len(values) + 1)
    totals = [0] * (len(values) + 1)
    for i in range(len(values) - 1, -1, -1):
        squares[i] = squares[i + 1] + values[i] ** 2
        totals[i] = totals[i + 1] + values[i]
    found: list[Enclosure] = []
    last = steps
    while last >= 0:
        first = last
        while first > 0 and squares[first - 1] <= 16 * squares[last]:
            first -= 1
        period = _period(squares[first], totals[first])
        tail = TAIL if period < totals[first] else 0.0
        turns = np.array([v / (2 * period) for v in values[first:]])
        twice = [2 * question.capacity + 1 - totals[k] for k in range(first, last + 1)]
        betas = np.array([_inside(t, period) if abs(t) < period else 0.0 for t in twice])
        blur = (float(turns.sum()) + 0.5) * 2 * UNIT
        middles, radii = _prefix_bounds(turns, betas, blur, last - first, degree)
        for t, middle, radius in zip(twice[::-1], middles[::-1], radii[::-1], strict=True):
            if abs(t) >= period:
                found.append(_settled(t, tail))
            else:
                found.append(Enclosure.proved(middle - radius - tail, middle + radius + tail))
        last = first - 1
    return found[::-1]

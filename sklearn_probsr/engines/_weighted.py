"""Values with chances of their own, and whether their sum is at most a capacity.

The engines of fair coins once more, for values that are there with any probability: Hoeffding's
tail around the mean, a meet in the middle that adds up probabilities instead of counting, and
Vaaler's bounds with a characteristic function that is complex,
``phi_k = prod (1 - p_i + p_i exp(2 pi i k v_i / P))``. With the arc from ``alpha`` to ``beta``

    middle = beta - alpha + sum_k a_k (Im(phi_k e(-k alpha)) - Im(phi_k e(-k beta)))
    radius = 1/(K+1) + sum_k b_k (Re(phi_k e(-k alpha)) + Re(phi_k e(-k beta))).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from operator import mul

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._exact import float_above, float_below
from sklearn_probsr.engines._fourier import SPREADS, TAIL, TRIG_ERROR, coefficients, sin_cos_turns
from sklearn_probsr.engines._jit import inner, kernel

__all__ = ["WeightedSum", "enclose_weighted", "phi"]

_BITS = 62
_UNIT = 2.0**-53
_NEGLIGIBLE = 1e-13
_MOST_EXACT = 13
_MOST_COUNTED = 40
_FEW = 24
_DEGREES = (2**12, 2**15, 2**18)


@dataclass(frozen=True)
class WeightedSum:
    """The question "is the sum of the values that are there at most ``capacity``?".

    Parameters
    ----------
    values : list of int
        Positive integers, in decreasing order.
    chances : list of int
        The probability that each is there, strictly between 0 and 1, times the denominator;
        they are independent.
    denominator : int
    capacity : int
    """

    values: list[int]
    chances: list[int]
    denominator: int
    capacity: int

    @cached_property
    def total(self) -> int:
        """The sum of all values."""
        return sum(self.values)

    @cached_property
    def mean(self) -> Fraction:
        """The expected sum."""
        return Fraction(sum(map(mul, self.values, self.chances)), self.denominator)

    @cached_property
    def squares(self) -> int:
        """The sum of the squares of all values."""
        return sum(map(mul, self.values, self.values))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The chances as floats, each rounded once."""
        return np.array([chance / self.denominator for chance in self.chances])


def enclose_weighted(question: WeightedSum, delta: Fraction | None, tol: float) -> Enclosure:
    """Enclose the probability, cheapest engine first, until it is decided or narrow enough."""
    best = _closed_form(question)
    n = len(question.values)
    low, high = (0.0, 2.0) if delta is None else (float_below(delta), float_above(delta))
    width = tol if delta is None else 0.0
    engines: list[Callable[[], Enclosure]] = [
        partial(_fourier, question, low, high, width, degree) for degree in _DEGREES
    ]
    if n <= _MOST_COUNTED:
        engines.insert(0 if n <= _FEW else 1, partial(_counted, question))
    if n <= _MOST_EXACT:
        engines.insert(1, partial(_exactly, question))
    for engine in engines:
        enough = (best >= delta).decided if delta is not None else best.width <= tol
        if best.exact is not None or enough:
            break
        best = best.intersect(engine())
    if delta is None and n <= _MOST_EXACT and best.exact is None:
        best = _exactly(question)
    return best


def _closed_form(question: WeightedSum) -> Enclosure:
    """Return certainty where there is, otherwise Hoeffding's tail on the far side of the mean."""
    if question.capacity < 0:
        return Enclosure.of(Fraction(0))
    if question.capacity >= question.total:
        return Enclosure.of(Fraction(1))
    excess = question.capacity - question.mean
    exponent = min(2 * excess * excess / question.squares, Fraction(1000))
    tail = math.exp(-float(exponent) * (1 - 1e-14)) * (1 + 1e-14)
    # The empty sum always fits and the whole one never does, so neither 0 nor 1 is the answer.
    return Enclosure.proved(1 - tail, 1.0) if excess > 0 else Enclosure.proved(0.0, tail)


def _exactly(question: WeightedSum) -> Enclosure:
    """Return the probability as a fraction, from the distribution of the sum."""
    sums: Counter[int] = Counter({0: 1})
    for v, chance in zip(question.values, question.chances, strict=True):
        grown: Counter[int] = Counter()
        for total, mass in sums.items():
            grown[total] += mass * (question.denominator - chance)
            grown[total + v] += mass * chance
        sums = grown
    kept = sum(mass for total, mass in sums.items() if total <= question.capacity)
    return Enclosure.of(Fraction(kept, question.denominator ** len(question.values)))


def _counted(question: WeightedSum) -> Enclosure:
    """Add up the probabilities of the subsets that fit, by meeting in the middle."""
    n = len(question.values)
    shift = max(question.total.bit_length() - _BITS, 0)
    values = np.array([v >> shift for v in question.values], dtype=np.int64)
    chances = question.probabilities
    capacity = min(question.capacity, question.total) >> shift
    sure, possible = _meet(values, chances, capacity - n if shift else capacity, capacity)
    # A mass is a product of n factors, each off by 2 u (1 - p and p were rounded), summed up
    # with at most 2^(n/2 + 1) roundings of positive numbers.
    slack = (4 * n + 2 ** (n // 2 + 2) + 8) * _UNIT
    return Enclosure.proved(sure * (1 - slack), min(possible * (1 + slack), 1.0))


@inner
def _sorted_masses(
    values: NDArray[np.int64], chances: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    sums = np.zeros(1 << len(values), dtype=np.int64)
    masses = np.ones(1 << len(values))
    new_sums = np.empty_like(sums)
    new_masses = np.empty_like(masses)
    size = 1
    for k in range(len(values)):
        v, p = values[k], chances[k]
        i = 0
        j = 0
        for at in range(2 * size):
            if j == size or (i < size and sums[i] <= sums[j] + v):
                new_sums[at] = sums[i]
                new_masses[at] = masses[i] * (1.0 - p)
                i += 1
            else:
                new_sums[at] = sums[j] + v
                new_masses[at] = masses[j] * p
                j += 1
        size *= 2
        sums, new_sums = new_sums, sums
        masses, new_masses = new_masses, masses
    return sums, masses


@kernel
def _meet(
    values: NDArray[np.int64], chances: NDArray[np.float64], low: int, high: int
) -> tuple[float, float]:
    """Return the mass of the subsets with a sum of at most ``low``, and at most ``high``."""
    left, left_mass = _sorted_masses(values[0::2], chances[0::2])
    right, right_mass = _sorted_masses(values[1::2], chances[1::2])
    below = np.zeros(len(right) + 1)
    for i in range(len(right)):
        below[i + 1] = below[i] + right_mass[i]
    sure = 0.0
    possible = 0.0
    i = len(right)
    j = len(right)
    for a in range(len(left)):
        while i > 0 and left[a] + right[i - 1] > low:
            i -= 1
        while j > 0 and left[a] + right[j - 1] > high:
            j -= 1
        if j == 0:
            break
        sure += left_mass[a] * below[i]
        possible += left_mass[a] * below[j]
    return sure, possible


def _fourier(
    question: WeightedSum, low: float, high: float, tol: float, largest_degree: int
) -> Enclosure:
    """Enclose the probability by Vaaler's bounds; see ``_fourier`` for the rest of the story."""
    values, total = question.values, question.total
    spread = math.isqrt(question.squares) + 1
    window = spread * math.ceil(SPREADS * 2**19) // 2**20 + 5
    covers = window >= total + 2
    period = total + 2 if covers else window
    tail = 0.0 if covers else TAIL
    # The window is [left, left + period], around the mean; between integers there is no mass.
    left = Fraction(-1 if covers else 2 * (math.floor(question.mean) - period // 2) + 1, 2)
    cut = question.capacity + Fraction(1, 2)
    if cut >= left + period:
        return Enclosure.proved(1 - tail, 1.0)
    if cut <= left:
        return Enclosure.proved(0.0, tail)
    turns = np.array([v / period for v in values])
    chances = question.probabilities
    alpha, beta = float(left / period), float(cut / period)
    blur = 2 * _UNIT * (abs(alpha) + abs(beta))
    length = float((cut - left) / period)
    degrees = largest_degree >> np.arange(9, -1, -3)
    bounds = _enclose(
        turns, chances, alpha, beta, length, blur, low - tail, high + tail, tol, degrees
    )
    return Enclosure.proved(bounds[0] - tail, bounds[1] + tail)


@inner
def phi(turns: NDArray[np.float64], chances: NDArray[np.float64], k: int) -> tuple[float, float]:
    """Return the characteristic function at a node; 0 once it is negligible."""
    re = 1.0
    im = 0.0
    for i in range(len(turns)):
        sine, cosine = sin_cos_turns(k * turns[i])
        x = 1.0 - chances[i] * (1.0 - cosine)
        y = chances[i] * sine
        re, im = re * x - im * y, re * y + im * x
        if re * re + im * im < _NEGLIGIBLE * _NEGLIGIBLE:
            return 0.0, 0.0
    return re, im


@kernel
def _enclose(
    turns: NDArray[np.float64],
    chances: NDArray[np.float64],
    alpha: float,
    beta: float,
    length: float,
    blur: float,
    low: float,
    high: float,
    tol: float,
    degrees: NDArray[np.int64],
) -> tuple[float, float]:
    """Raise the degree until the bounds leave ``[low, high]`` to one side, or are ``tol`` wide."""
    known = np.empty((degrees[-1], 2))
    reach = turns.sum()
    done = 0
    best_lower = 0.0
    best_upper = 1.0
    for degree in degrees:
        for k in range(done + 1, degree + 1):
            known[k - 1, 0], known[k - 1, 1] = phi(turns, chances, k)
        done = degree
        middle = length
        radius = 1.0 / (degree + 1.0)
        slope = 2.0
        for k in range(1, degree + 1):
            re, im = known[k - 1, 0], known[k - 1, 1]
            if re != 0.0 or im != 0.0:
                a, b = coefficients(float(k), degree)
                sin_a, cos_a = sin_cos_turns(k * alpha)
                sin_b, cos_b = sin_cos_turns(k * beta)
                middle += a * ((im * cos_a - re * sin_a) - (im * cos_b - re * sin_b))
                radius += b * ((re * cos_a + im * sin_a) + (re * cos_b + im * sin_b))
                slope += 4.0 * math.pi * k * (a + b) * math.sqrt(re * re + im * im)
        log = 0.8 * math.log(degree + 1.0) + 5.0  # twice the sum of a + 2 b over all k
        rounding = log * (len(turns) * 2.0 * TRIG_ERROR + _NEGLIGIBLE)
        rounding += degree * _UNIT * (40.0 * (reach + abs(alpha) + abs(beta)) + 8.0 * log)
        radius += slope * blur + rounding
        best_lower = max(best_lower, middle - radius)
        best_upper = min(best_upper, middle + radius)
        if best_lower >= high or best_upper < low or best_upper - best_lower <= tol:
            break
    return best_lower, best_upper

"""Independent costs with finitely many values, and whether their sum is at most a capacity.

The engines of fair coins once more, for parts with any values and chances: Hoeffding's tail around
the mean, exact convolution, a dense lattice, a meet in the middle that adds up probabilities
instead of counting, and Vaaler's bounds with a characteristic function that is complex,
``phi_k = prod_u sum_j p_uj exp(2 pi i k v_uj / P)``. With the arc from ``alpha`` to ``beta``

    middle = beta - alpha + sum_k a_k (Im(phi_k e(-k alpha)) - Im(phi_k e(-k beta)))
    radius = 1/(K+1) + sum_k b_k (Re(phi_k e(-k alpha)) + Re(phi_k e(-k beta))).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from operator import mul

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._cascade import Engine, cascade
from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.coins._fourier import (
    SPREADS,
    TAIL,
    TRIG_ERROR,
    coefficients,
    sin_cos_turns,
)
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._exact import float_above, float_below

__all__ = ["FiniteSum", "Part", "enclose_finite"]

_BITS = 62
_UNIT = 2.0**-53
_SMALLEST = 2.0**-1074
_NEGLIGIBLE = 1e-13
_DEGREES = (2**12, 2**15, 2**18)
_LEAST_PATIENCE = 0.02
# The most sums in one half of a meet in the middle, and cells in a dense lattice.
_MOST_SUMS = 2**20
_MOST_CELLS = 2**22


@dataclass(frozen=True)
class Part:
    """A random cost: increasing values from 0 on, and the chance of each over a denominator."""

    values: tuple[int, ...]
    chances: tuple[int, ...]

    @cached_property
    def moment(self) -> int:
        """The expected value, times the denominator."""
        return sum(map(mul, self.values, self.chances))

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The values but the first, as shares of the last."""
        return np.array([v / self.values[-1] for v in self.values[1:]])

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The chances, each rounded once."""
        whole = sum(self.chances)
        return np.array([chance / whole for chance in self.chances])


@dataclass(frozen=True)
class FiniteSum:
    """The question "is the sum of the parts at most ``capacity``?".

    Parameters
    ----------
    parts : list of Part
        Independent, with two values at least.
    denominator : int
        Of all chances; those of a part sum to it.
    capacity : int
    """

    parts: list[Part]
    denominator: int
    capacity: int

    @cached_property
    def total(self) -> int:
        """The largest sum."""
        return sum(part.values[-1] for part in self.parts)

    @cached_property
    def mean(self) -> Fraction:
        """The expected sum."""
        return Fraction(sum(part.moment for part in self.parts), self.denominator)

    @cached_property
    def squares(self) -> int:
        """The sum of the squares of the ranges."""
        return sum(part.values[-1] ** 2 for part in self.parts)

    @cached_property
    def atoms(self) -> int:
        """How many values the parts have together."""
        return sum(len(part.values) for part in self.parts)


def enclose_finite(
    question: FiniteSum, delta: Fraction | None, tol: float, degree: int = 0
) -> Enclosure:
    """Enclose the probability, cheapest engine first, until it is decided or narrow enough.

    ``degree`` is that of Fourier bounds which were tried before: no lower one is, and where those
    left a level undecided only quick engines are asked once more. Otherwise the lowest degree is
    always tried.
    """
    best = closed_form(question)
    if best.exact is not None or (delta is not None and (best >= delta).decided):
        return best
    low, high = (0.0, 2.0) if delta is None else (float_below(delta), float_above(delta))
    width = tol if delta is None else 0.0
    # Characteristic functions of many parts are negligible after a few dozen.
    node = 1e-8 * min(question.atoms, 40 * question.atoms / len(question.parts))
    engines: list[Engine] = [
        (
            min(k * node, _LEAST_PATIENCE) if k == _DEGREES[0] else k * node + 1e-4,
            partial(fourier, question, low, high, width, k),
        )
        for k in _DEGREES
        if k > degree
    ]
    engines.append((_exact_cost(question), partial(convolution, question)))
    engines.append((_counted_cost(question), partial(counted, question)))
    engines.append((_lattice_cost(question), partial(lattice, question)))
    if degree and delta is not None:
        engines = [engine for engine in engines if engine[0] <= _LEAST_PATIENCE]
    return cascade(best, engines, delta, tol)


def closed_form(question: FiniteSum) -> Enclosure:
    """Return certainty where there is, otherwise Hoeffding's tail on the far side of the mean."""
    if question.capacity < 0:
        return Enclosure.of(Fraction(0))
    if question.capacity >= question.total:
        return Enclosure.of(Fraction(1))
    excess = question.capacity - question.mean
    exponent = min(2 * excess * excess / question.squares, Fraction(1000))
    # The last term is for an exponential that underflows.
    tail = math.exp(-float(exponent) * (1 - 1e-14)) * (1 + 1e-14) + 10 * _SMALLEST
    # The least sum always fits and the largest never does, so neither 0 nor 1 is the answer.
    return Enclosure.proved(1 - tail, 1.0) if excess > 0 else Enclosure.proved(0.0, tail)


def _exact_cost(question: FiniteSum) -> float:
    states, total, work = 1, 0, 0
    for part in question.parts:
        work += states * len(part.values)
        total += part.values[-1]
        states = min(states * len(part.values), total + 1)
        if work > 10**6:
            return math.inf
    return 3e-7 * work


def convolution(question: FiniteSum) -> Enclosure:
    """Return the probability as a fraction, from the distribution of the sum."""
    sums: Counter[int] = Counter({0: 1})
    for part in question.parts:
        grown: Counter[int] = Counter()
        for total, mass in sums.items():
            for v, chance in zip(part.values, part.chances, strict=True):
                grown[total + v] += mass * chance
        sums = grown
    kept = sum(mass for total, mass in sums.items() if total <= question.capacity)
    return Enclosure.of(Fraction(kept, question.denominator ** len(question.parts)))


def _lattice_cost(question: FiniteSum) -> float:
    cells = question.capacity + 1
    if cells > _MOST_CELLS:
        return math.inf
    return question.atoms * (2e-6 + 1e-9 * cells)


def lattice(question: FiniteSum) -> Enclosure:
    """Add up the distribution of a sum of short integers, cell by cell."""
    cells = question.capacity + 1
    masses = np.zeros(cells)
    masses[0] = 1.0
    for part in question.parts:
        grown = np.zeros(cells)
        for v, p in zip(part.values, part.probabilities, strict=True):
            if v < cells:
                grown[v:] += p * masses[: cells - v]
        masses = grown
    kept = float(masses.sum())
    # All terms are positive, so errors are relative: a rounding a term, and the last sum's.
    slack = (3 * question.atoms + cells + 8) * _UNIT
    return _within(kept, kept, slack, (question.atoms + 1) * (cells + 1))


def _within(lower: float, upper: float, slack: float, roundings: int) -> Enclosure:
    """Widen sums of products of chances by their relative error and by what underflow may take.

    Below the smallest normal float a rounding is off by at most half the smallest float, however
    small its result is. What is multiplied later is at most 1, so that such errors only add up:
    ``roundings`` is at least half as many as there are.
    """
    underflow = roundings * _SMALLEST
    return Enclosure.proved(
        lower * (1 - slack) - underflow, min(upper * (1 + slack) + underflow, 1.0)
    )


def _halves(question: FiniteSum) -> tuple[list[Part], list[Part]]:
    """Share the parts out so that both halves have about as many sums."""
    halves: tuple[list[Part], list[Part]] = ([], [])
    sizes = [1, 1]
    for part in sorted(question.parts, key=lambda part: -len(part.values)):
        smaller = int(sizes[1] < sizes[0])
        halves[smaller].append(part)
        sizes[smaller] *= len(part.values)
    return halves


def _counted_cost(question: FiniteSum) -> float:
    digits = sum(math.log2(len(part.values)) for part in question.parts)
    largest = max(len(part.values) for part in question.parts)
    if digits > 2 * math.log2(_MOST_SUMS) or largest > _MOST_SUMS:
        return math.inf
    sizes = [math.prod(len(part.values) for part in half) for half in _halves(question)]
    return 1e-4 + 2e-7 * sum(sizes) if max(sizes) <= _MOST_SUMS else math.inf


def counted(question: FiniteSum) -> Enclosure:
    """Add up the probabilities of the sums that fit, by meeting in the middle.

    Integers beyond 62 bits are cut to their leading bits: n cut values are short by less than n
    together, so sums within n of the capacity are possible, and not sure.
    """
    n = len(question.parts)
    shift = max(question.total.bit_length() - _BITS, 0)
    capacity = min(question.capacity, question.total) >> shift
    (left, left_mass), (right, right_mass) = (_sums(half, shift) for half in _halves(question))
    below = np.concatenate([[0.0], np.cumsum(right_mass)])
    bounds = []
    for limit in (capacity - n if shift else capacity, capacity):
        at = np.searchsorted(right, limit - left, side="right")
        bounds.append(float((left_mass * below[at]).sum()))
    # Products of n rounded chances, and sums of positive numbers.
    slack = (4 * n + len(left) + len(right) + 8) * _UNIT
    return _within(bounds[0], bounds[1], slack, (n + 1) * (len(left) + len(right)))


def _sums(parts: list[Part], shift: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all sums of some parts in increasing order, and the probability of each."""
    sums, masses = np.zeros(1, dtype=np.int64), np.ones(1)
    for part in parts:
        values = np.array([v >> shift for v in part.values], dtype=np.int64)
        sums = np.add.outer(sums, values).ravel()
        masses = np.multiply.outer(masses, part.probabilities).ravel()
    order = np.argsort(sums, kind="stable")
    return sums[order], masses[order]


def fourier(
    question: FiniteSum, low: float, high: float, tol: float, largest_degree: int
) -> Enclosure:
    """Enclose the probability by Vaaler's bounds; see ``_fourier`` for the rest of the story."""
    total = question.total
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
    # A part's first value is 0: only the others turn.
    starts = np.cumsum([0, *(len(part.values) - 1 for part in question.parts)])
    # Two roundings each, which the error of a turn covers.
    turns = np.concatenate([part.shares * (part.values[-1] / period) for part in question.parts])
    chances = np.concatenate([part.probabilities[1:] for part in question.parts])
    alpha, beta = float(left / period), float(cut / period)
    blur = 2 * _UNIT * (abs(alpha) + abs(beta))
    length = float((cut - left) / period)
    degrees = largest_degree >> np.arange(9, -1, -3)
    bounds = _enclose(
        starts, turns, chances, alpha, beta, length, blur, total / period,
        low - tail, high + tail, tol, degrees,
    )  # fmt: skip
    return Enclosure.proved(bounds[0] - tail, bounds[1] + tail)


@inner
def _phi(
    starts: NDArray[np.int64], turns: NDArray[np.float64], chances: NDArray[np.float64], k: int
) -> tuple[float, float]:
    """Return the characteristic function at a node; 0 once it is negligible."""
    re = 1.0
    im = 0.0
    for u in range(len(starts) - 1):
        x = 1.0
        y = 0.0
        for i in range(starts[u], starts[u + 1]):
            sine, cosine = sin_cos_turns(k * turns[i])
            x -= chances[i] * (1.0 - cosine)
            y += chances[i] * sine
        re, im = re * x - im * y, re * y + im * x
        if re * re + im * im < _NEGLIGIBLE * _NEGLIGIBLE:
            return 0.0, 0.0
    return re, im


@kernel
def _enclose(
    starts: NDArray[np.int64],
    turns: NDArray[np.float64],
    chances: NDArray[np.float64],
    alpha: float,
    beta: float,
    length: float,
    blur: float,
    reach: float,
    low: float,
    high: float,
    tol: float,
    degrees: NDArray[np.int64],
) -> tuple[float, float]:
    """Raise the degree until the bounds leave ``[low, high]`` to one side, or are ``tol`` wide."""
    known = np.empty((degrees[-1], 2))
    done = 0
    best_lower = 0.0
    best_upper = 1.0
    for degree in degrees:
        for k in range(done + 1, degree + 1):
            known[k - 1, 0], known[k - 1, 1] = _phi(starts, turns, chances, k)
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
        # A factor is off by the trigonometry of its atoms and one rounding for each of them.
        factors = (len(starts) - 1) * 2.0 * TRIG_ERROR + 4.0 * len(turns) * _UNIT
        rounding = log * (factors + _NEGLIGIBLE)
        rounding += degree * _UNIT * (40.0 * (reach + abs(alpha) + abs(beta)) + 8.0 * log)
        radius += slope * blur + rounding
        best_lower = max(best_lower, middle - radius)
        best_upper = min(best_upper, middle + radius)
        if best_lower >= high or best_upper < low or best_upper - best_lower <= tol:
            break
    return best_lower, best_upper

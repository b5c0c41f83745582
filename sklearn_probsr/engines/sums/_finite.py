"""Independent costs with finitely many values: engines in order of cost, until decided.

The engines of fair coins once more, for parts with any values and chances: Hoeffding's tail around
the mean (Lemma 15), exact convolution, a dense lattice (Lemma 17), a meet in the middle that adds
up probabilities instead of counting (Lemma 16), and Vaaler's bounds (Corollary 19).
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.sums._finite_fourier import fourier
from sklearn_probsr.engines.sums._finite_sum import FiniteSum, Part
from sklearn_probsr.independent.cascade import Engine, cascade
from sklearn_probsr.independent.level import ANY, Level
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["closed_form", "convolution", "counted", "enclose_finite", "lattice"]

# Sums of cut values have so many bits (Lemma 16).
_BITS = 62
# The smallest float: what a rounding below the normal ones is off by, twice (Lemma 17).
_SMALLEST = 2.0**-1074
_DEGREES = (2**12, 2**15, 2**18)
_LEAST_PATIENCE = 0.02
# The most sums in one half of a meet in the middle, and cells in a dense lattice.
_MOST_SUMS = 2**20
_MOST_CELLS = 2**22


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
    level = ANY if delta is None else Level.around(delta)
    width = tol if delta is None else 0.0
    # Seconds a node; characteristic functions of many parts are negligible after a few dozen.
    node = 1e-8 * min(question.atoms, 40 * question.atoms / len(question.parts))
    engines: list[Engine] = [
        (
            min(k * node, _LEAST_PATIENCE) if k == _DEGREES[0] else k * node + 1e-4,
            partial(fourier, question, level, width, k),
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
    """Return certainty where there is, otherwise Hoeffding's tail (Lemma 15)."""
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
    # All terms are positive, so errors are relative (Lemma 17).
    slack = (3 * question.atoms + cells + 8) * UNIT
    return _within(kept, kept, slack, (question.atoms + 1) * (cells + 1))


def _within(lower: float, upper: float, slack: float, roundings: int) -> Enclosure:
    """Widen sums of products of chances by their relative error and by what underflow may take.

    That is Lemma 17. Below the smallest normal float a rounding is off by at most half the smallest
    float, however small its result is. What is multiplied later is at most 1, so that such errors
    only add up: ``roundings`` is at least half as many as there are.
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
    together, so sums within n of the capacity are possible, and not sure (Lemma 16).
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
    # Products of n rounded chances, and sums of positive numbers (Lemma 17).
    slack = (4 * n + len(left) + len(right) + 8) * UNIT
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

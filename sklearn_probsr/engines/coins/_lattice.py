"""Lattice: weights that are small integers, by one dynamic programme.

Adding a value ``v`` to a free set maps the distribution ``p`` of its sum to
``(p + shift(p, v)) / 2``. With ``n <= 53`` free values every entry is a multiple of ``2^-n``
below 1, so floats hold it exactly; beyond, each of the n steps rounds every entry once, which
is a relative error of at most ``n 2^-53 / (1 - n 2^-53)`` since nothing cancels (Lemma 17; Table 1
line 3).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import kernel
from sklearn_probsr.engines._level import Level
from sklearn_probsr.engines.coins._answers import Answers, Candidates, helps, write
from sklearn_probsr.engines.coins._deficits import SubsetSum
from sklearn_probsr.model._enclosure import Enclosure

__all__ = [
    "lattice",
    "lattice_cost",
    "lattice_exact",
    "lattice_exact_cost",
    "lattice_prefixes",
    "lattice_rows",
]

_EXACT_FLOATS = 53
_LONGEST = 2**22


def lattice_cost(question: SubsetSum) -> float:
    """Return about how many seconds the programme takes; infinite where it is not offered."""
    if question.total > _LONGEST:
        return np.inf
    return 1e-9 * len(question.values) * (question.total + 100)


def lattice(question: SubsetSum) -> Enclosure:
    """Enclose the probability: exactly up to 53 values, to 13 digits beyond."""
    return lattice_prefixes(question, 0)[0]


def lattice_prefixes(question: SubsetSum, steps: int) -> list[Enclosure]:
    """Enclose the probability without the first k values, for k = 0 to ``steps``, in one go."""
    values = np.array(question.values, dtype=np.int64)
    inside = _prefix_masses(values, question.capacity, steps)
    return [
        _enclosure(float(inside[k]), len(values) - k, question.capacity) for k in range(steps + 1)
    ]


def _enclosure(inside: float, n: int, capacity: int) -> Enclosure:
    if n <= _EXACT_FLOATS:
        return Enclosure.of(Fraction(inside))
    return Enclosure.proved(_lower(inside, n, capacity), _upper(inside, n, capacity))


@kernel
def _slack(n: int, capacity: int) -> float:
    """Return the relative error of a mass, by Lemma 17: n roundings of each entry, a plain sum."""
    return (n + capacity + 4.0) * 2.0**-53 * (1.0 + 1e-6)


@kernel
def _add(chances: NDArray[np.float64], reach: int, v: int) -> int:
    """Add a value that is there or not by a fair coin; sums past the end are given up."""
    top = min(reach + v, len(chances) - 1)
    for s in range(top, -1, -1):
        here = chances[s] if s <= reach else 0.0
        there = chances[s - v] if s >= v else 0.0
        chances[s] = 0.5 * (here + there)
    return top


@kernel
def _prefix_masses(values: NDArray[np.int64], capacity: int, steps: int) -> NDArray[np.float64]:
    chances = np.zeros(min(capacity, values.sum()) + 1)
    chances[0] = 1.0
    reach = 0
    masses = np.empty(steps + 1)
    for i in range(len(values), -1, -1):
        if i < len(values):
            reach = _add(chances, reach, values[i])
        if i <= steps:
            masses[i] = chances.sum()
    return masses


@kernel
def lattice_rows(
    rows: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    margins: NDArray[np.int64],
    ranks: Candidates,
    level: Level,
    most: int,
    answers: Answers,
) -> None:
    """Find for each row the smallest k with ``v_k >= delta > v_{k-1}``, both proved.

    The free set grows from all that cannot be fixed to all, smallest score first, and the
    search ends at the first one that misses delta. ``margins`` is what a row's class can lose.
    That the first k members are the best k is Corollary 6.
    """
    n = len(ranks.features)
    members = np.empty(n, dtype=np.int64)
    for r in range(len(rows)):
        capacity = margins[r]
        count = 0
        for j in range(n):
            if not helps(rows[r], positive[r], ranks, j):
                capacity += ranks.magnitudes[j]
            elif ranks.fixable[j]:
                members[count] = j
                count += 1
        k, mass, before = _walk(members[:count], ranks.magnitudes, capacity, level.high, most)
        at_least = _lower(mass, n - k, capacity)
        at_most = _upper(mass, n - k, capacity)
        settled = k == 0 or _upper(before, n - k + 1, capacity) < level.low
        if settled and (at_least >= level.high or (k == most and at_most < level.low)):
            write(answers, r, k, at_least, at_most)


@kernel
def _walk(
    members: NDArray[np.int64],
    magnitudes: NDArray[np.int64],
    capacity: int,
    high: float,
    most: int,
) -> tuple[int, float, float]:
    """Return the smallest k known to reach the level, its mass, and that of k - 1."""
    n = len(magnitudes)
    chances = np.zeros(min(capacity, magnitudes.sum()) + 1)
    chances[0] = 1.0
    reach = 0
    at = 0
    for j in range(n):
        if at < len(members) and members[at] == j:
            at += 1
        else:
            reach = _add(chances, reach, magnitudes[j])
    k = len(members)
    mass = chances.sum()
    before = 0.0
    while k > 0:
        reach = _add(chances, reach, magnitudes[members[k - 1]])
        before = chances.sum()
        if k <= most and _lower(before, n - k + 1, capacity) < high:
            break
        k -= 1
        mass = before
    return k, mass, before


@kernel
def _lower(mass: float, free: int, capacity: int) -> float:
    if free <= _EXACT_FLOATS:
        return mass
    return max(mass * (1.0 - _slack(free, capacity)) - _underflow(free, capacity), 0.0)


@kernel
def _upper(mass: float, free: int, capacity: int) -> float:
    if free <= _EXACT_FLOATS:
        return mass
    return min(mass * (1.0 + _slack(free, capacity)) + _underflow(free, capacity), 1.0)


@kernel
def _underflow(free: int, capacity: int) -> float:
    """Return what all roundings below the smallest normal float can add up to (Lemma 17)."""
    return (free + 1.0) * (capacity + 1.0) * 5e-324


def lattice_exact_cost(question: SubsetSum) -> float:
    """Return about how many seconds the exact programme takes; infinite where it is too long."""
    bits = (question.total + 1) * (len(question.values) + 2)
    return 1e-11 * bits * len(question.values) if bits <= 2**31 else np.inf


def lattice_exact(question: SubsetSum) -> Enclosure:
    """Return the exact probability with integers of any length.

    The generating function ``prod (1 + z^v)`` is evaluated at ``z = 2^width``, so that one
    integer holds all its coefficients side by side. A sum of digits in base ``2^width`` is the
    remainder modulo ``2^width - 1``.
    """
    n = len(question.values)
    width = n + 2
    packed = 1
    for v in reversed(question.values):
        packed += packed << (v * width)
    inside = packed & ((1 << ((question.capacity + 1) * width)) - 1)
    return Enclosure.of(Fraction(inside % ((1 << width) - 1), 1 << n))

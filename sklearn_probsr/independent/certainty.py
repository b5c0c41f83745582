"""Certainty and ties: fair coins counted in whole numbers, where nothing may be rounded.

In comes an `Instance`, a row of a model in integers, or a `SubsetSum`, what is left of it when some
features are known: does a random subset of positive integers sum to at most a capacity
(Propositions 1 and 2)? Out come exact probabilities, or enclosures as narrow as cut integers allow:
in closed form (Proposition 8, Lemma 15), by counting the pairs of two halves (Lemma 16), and on a
lattice (Lemma 17). The kernels at the end answer all rows of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.independent.level import Level
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import LinearModel

__all__ = [
    "MOST_COUNTED",
    "Answers",
    "Instance",
    "Members",
    "SubsetSum",
    "certain_rows",
    "closed_form",
    "count",
    "count_cost",
    "count_long",
    "count_long_cost",
    "count_rows",
    "lattice",
    "lattice_cost",
    "lattice_long",
    "lattice_long_cost",
    "lattice_prefixes",
    "lattice_rows",
    "next_member",
    "write_members",
]

# Sums of cut values have so many bits (Lemma 16).
_BITS = 62
# So many values are counted by halves, and so many with integers of any length (Table 1 line 2).
MOST_COUNTED, _MOST_LONG = 44, 32
# With so many values all masses of a lattice are floats exactly (Lemma 17).
_EXACT_FLOATS = 53
_LONGEST = 2**22


@dataclass(frozen=True)
class SubsetSum:
    """The question "does a uniformly random subset of ``values`` sum to at most ``capacity``?".

    Parameters
    ----------
    values : list of int
        Positive integers, in decreasing order.
    capacity : int
    """

    values: list[int]
    capacity: int

    @cached_property
    def total(self) -> int:
        """The sum of all values."""
        return sum(self.values)


@dataclass(frozen=True)
class Instance:
    """One row of a model, seen through its scores.

    Leaving feature i unknown costs its score when it comes out different from the row; a negative
    score is a gain (Proposition 1).

    Parameters
    ----------
    model : LinearModel
    row : ndarray of bool, shape (d,)
    """

    model: LinearModel
    row: NDArray[np.bool_]

    @cached_property
    def positive(self) -> bool:
        """Whether the row belongs to ``classes[1]``."""
        return bool(self.model.is_positive(self.row[None, :])[0])

    @cached_property
    def margin(self) -> int:
        """What the class of the row can lose before it changes."""
        return self.model.integer_form.margin(self.row)[1]

    @cached_property
    def helps(self) -> NDArray[np.bool_]:
        """Which features have a positive score: fixing them can only help."""
        weights = self.model.weights
        helps: NDArray[np.bool_] = ((self.row == (weights > 0)) == self.positive) & (weights != 0)
        return helps

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """All features by decreasing score, ties by index."""
        scores = np.where(self.helps, 1.0, -1.0) * np.abs(self.model.weights)
        return np.argsort(-scores, kind="stable")

    @cached_property
    def magnitudes(self) -> list[int]:
        """The magnitude of every score."""
        return list(map(abs, self.model.integer_form.weights))

    @cached_property
    def beyond(self) -> int:
        """By how much all that is unknown exceeds the margin at worst (Proposition 8)."""
        worst = sum(v for v, h in zip(self.magnitudes, self.helps.tolist(), strict=True) if h)
        return worst - self.margin

    def subset_sum(self, fixed: Collection[int]) -> SubsetSum:
        """Return the random sum that is left when the features ``fixed`` are known."""
        known = np.zeros(len(self.row), dtype=np.bool_)
        known[list(fixed)] = True
        free = ~known & (self.model.weights != 0)
        values = [self.magnitudes[i] for i in np.flatnonzero(free)]
        gains = sum(self.magnitudes[i] for i in np.flatnonzero(free & ~self.helps))
        return SubsetSum(sorted(values, reverse=True), self.margin + gains)


# --- one question --------------------------------------------------------------------------------


def closed_form(question: SubsetSum) -> Enclosure:
    """Enclose the probability without looking at single subsets (Table 1 line 1).

    The empty subset always fits a capacity >= 0, the whole set fits iff the sum of all values does.
    In between, Hoeffding's inequality bounds the tail that the capacity cuts off (Lemma 15).
    """
    if question.capacity < 0:
        return Enclosure.of(Fraction(0))
    if question.capacity >= question.total:
        return Enclosure.of(Fraction(1))
    # One atom at least is inside (the empty subset) and one outside (the whole set).
    atom = math.ldexp(1.0, -min(len(question.values), 1100))
    excess = 2 * question.capacity - question.total
    squares = sum(v * v for v in question.values)
    # exp(-excess^2 / (2 squares)), the quotient rounded once and then pushed the safe way; the last
    # term is for an exponential that underflows (Lemma 15).
    exponent = min(excess * excess / (2 * squares), 1000.0)
    tail = math.exp(-exponent * (1 - 1e-14)) * (1 + 1e-14) + 10 * 2.0**-1074
    if excess >= 0:
        return Enclosure.proved(max(1 - tail, atom), 1 - atom)
    return Enclosure.proved(atom, min(tail, 1 - atom))


def count_cost(question: SubsetSum) -> float:
    """Return about how many seconds `count` takes; infinite where it is not offered."""
    n = len(question.values)
    return 1e-8 * 2.0 ** ((n + 1) // 2) if n <= MOST_COUNTED else math.inf


def count(question: SubsetSum) -> Enclosure:
    """Count the subsets that fit: exactly when sums fit 62 bits, up to near-ties beyond.

    Longer integers are cut to their leading bits (Lemma 16).
    """
    values, n = question.values, len(question.values)
    shift = max(question.total.bit_length() - _BITS, 0)
    cut = np.array([v >> shift for v in values], dtype=np.int64)
    capacity = min(max(question.capacity, -1), question.total) >> shift
    sure, possible = _count(cut, capacity - n if shift else capacity, capacity)
    return Enclosure.between(Fraction(int(sure), 2**n), Fraction(int(possible), 2**n))


def count_long_cost(question: SubsetSum) -> float:
    """Return about how many seconds `count_long` takes; infinite where it is not offered."""
    n = len(question.values)
    return 1e-6 * 2.0 ** ((n + 1) // 2) if n <= _MOST_LONG else math.inf


def count_long(question: SubsetSum) -> Enclosure:
    """Count the subsets that fit with integers of any length (1e300 next to 1e-300)."""
    halves = []
    for values in (question.values[0::2], question.values[1::2]):
        sums = [0]
        for v in values:
            sums = sorted(sums + [s + v for s in sums])
        halves.append(sums)
    fit, j = 0, len(halves[1])
    for s in halves[0]:
        while j > 0 and s + halves[1][j - 1] > question.capacity:
            j -= 1
        fit += j
    return Enclosure.of(Fraction(fit, 2 ** len(question.values)))


def lattice_cost(question: SubsetSum) -> float:
    """Return about how many seconds `lattice` takes; infinite where it is not offered."""
    if question.total > _LONGEST:
        return math.inf
    return 1e-9 * len(question.values) * (question.total + 100)


def lattice(question: SubsetSum) -> Enclosure:
    """Enclose the probability: exactly up to 53 values, to 13 digits beyond (Table 1 line 3)."""
    return lattice_prefixes(question, 0)[0]


def lattice_prefixes(question: SubsetSum, steps: int) -> list[Enclosure]:
    """Enclose the probability without the first k values, for k = 0 to ``steps`` (Lemma 17)."""
    values, capacity = np.array(question.values, dtype=np.int64), question.capacity
    found = []
    for k, mass in enumerate(_prefix_masses(values, capacity, steps).tolist()):
        n = len(values) - k
        if n <= _EXACT_FLOATS:
            found.append(Enclosure.of(Fraction(mass)))
        else:
            found.append(Enclosure.proved(_lower(mass, n, capacity), _upper(mass, n, capacity)))
    return found


def lattice_long_cost(question: SubsetSum) -> float:
    """Return about how many seconds `lattice_long` takes; infinite where it is too long."""
    bits = (question.total + 1) * (len(question.values) + 2)
    return 1e-11 * bits * len(question.values) if bits <= 2**31 else math.inf


def lattice_long(question: SubsetSum) -> Enclosure:
    """Return the exact probability on a lattice, with integers of any length.

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


@kernel
def _sorted_sums(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all subset sums: adding a value merges the list with its shifted copy."""
    sums = np.zeros(1 << len(values), dtype=np.int64)
    spare = np.zeros(1 << len(values), dtype=np.int64)
    size = 1
    for v in values:
        i = 0
        j = 0
        for at in range(2 * size):
            if j == size or (i < size and sums[i] <= sums[j] + v):
                spare[at] = sums[i]
                i += 1
            else:
                spare[at] = sums[j] + v
                j += 1
        size *= 2
        sums, spare = spare, sums
    return sums


@kernel
def _count(values: NDArray[np.int64], low: int, high: int) -> tuple[int, int]:
    """Count the subsets whose sum is at most ``low``, and at most ``high`` (Table 1 line 2)."""
    # Alternate members keep the two halves' ranges alike.
    left = _sorted_sums(values[0::2])
    right = _sorted_sums(values[1::2])
    sure = 0
    possible = 0
    i = len(right)
    j = len(right)
    for s in left:
        while i > 0 and s + right[i - 1] > low:
            i -= 1
        while j > 0 and s + right[j - 1] > high:
            j -= 1
        sure += i
        possible += j
    return sure, possible


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
    """Return what fits without the first k values, for k = 0 to ``steps``."""
    chances = np.zeros(min(capacity, values.sum()) + 1)
    chances[0] = 1.0
    reach = 0
    masses = np.zeros(steps + 1)
    for i in range(len(values), -1, -1):
        if i < len(values):
            reach = _add(chances, reach, values[i])
        if i <= steps:
            masses[i] = chances.sum()
    return masses


@kernel
def _off(mass: float, free: int, capacity: int) -> float:
    """Return the error of a mass: roundings of each entry and of a sum, and what underflows.

    That is Lemma 17; few values have none.
    """
    if free <= _EXACT_FLOATS:
        return 0.0
    relative = (free + capacity + 4.0) * 2.0**-53 * (1.0 + 1e-6)
    return mass * relative + (free + 1.0) * (capacity + 1.0) * 5e-324


@kernel
def _lower(mass: float, free: int, capacity: int) -> float:
    return max(mass - _off(mass, free, capacity), 0.0)


@kernel
def _upper(mass: float, free: int, capacity: int) -> float:
    return min(mass + _off(mass, free, capacity), 1.0)


# --- all rows of a batch -------------------------------------------------------------------------


class Members(NamedTuple):
    """The features with a weight by decreasing magnitude, the ranks, and which rows are asked.

    A rank is a *member* of a row if it may be fixed and has a positive score. The first k members
    are the best k (Corollary 6).

    Attributes
    ----------
    rows : ndarray of bool, shape (rows, d)
    positive : ndarray of bool, shape (rows,)
    features : ndarray of intp, shape (n,)
    magnitudes : ndarray, shape (n,)
    upward, fixable : ndarray of bool, shape (n,)
    """

    rows: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    features: NDArray[np.intp]
    magnitudes: NDArray[Any]
    upward: NDArray[np.bool_]
    fixable: NDArray[np.bool_]


class Answers(NamedTuple):
    """One entry a row; ``size`` is -1 where the row has no answer.

    The answer of a row is the set of its first ``size`` members. ``before`` is an upper bound of
    the guarantee with one feature fewer: below the level where the answer is a minimum.
    """

    size: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    before: NDArray[np.float64]

    def take(self, rows: NDArray[np.intp]) -> Answers:
        """Return a copy of some rows."""
        return Answers(*(column[rows] for column in self))  # type: ignore[arg-type]

    def put(self, rows: NDArray[np.intp], answers: Answers) -> None:
        """Write some rows."""
        for column, values in zip(self, answers, strict=True):
            column[rows] = values


@inner
def _helps(members: Members, r: int, j: int) -> bool:
    """Tell whether the feature of rank j has a positive score."""
    agrees = members.rows[r, members.features[j]] == members.upward[j]
    found: bool = agrees == members.positive[r]
    return found


@inner
def next_member(members: Members, r: int, j: int) -> int:
    """Return the next rank that is a member of a row, or the end."""
    while j < len(members.features) and not (members.fixable[j] & _helps(members, r, j)):
        j += 1
    return j


@inner
def _split(members: Members, r: int, margin: int, chosen: NDArray[np.int64]) -> tuple[int, int]:
    """List the members of a row; return how many, and the capacity with nothing fixed."""
    found = 0
    for j in range(len(members.features)):
        if not _helps(members, r, j):
            margin += members.magnitudes[j]
        elif members.fixable[j]:
            chosen[found] = j
            found += 1
    return found, margin


@inner
def _write(answers: Answers, r: int, k: int, lower: float, upper: float) -> None:
    answers.size[r] = k
    answers.lower[r] = lower
    answers.upper[r] = upper


@kernel
def certain_rows(
    members: Members,
    margins: NDArray[np.int64],
    doubt: int,
    most: int,
    needed: NDArray[np.int64],
    answers: Answers,
) -> None:
    """Find for each row the smallest k whose first k members keep the class for certain.

    That is so once what is free cannot cost more than the margin (Proposition 8); the comparison is
    in ``doubt`` that close to equality (Lemma 16). ``needed`` is k, one more than there are members
    if all are too few, or -1 if doubtful. Rows that need at most ``most`` are answered.
    """
    n = len(members.features)
    for r in range(len(members.rows)):
        left = -margins[r]
        for j in range(n):
            if _helps(members, r, j):
                left += members.magnitudes[j]
        k = 0
        j = 0
        while left > doubt and j < n:
            if members.fixable[j] and _helps(members, r, j):
                left -= members.magnitudes[j]
                k += 1
            j += 1
        if left > doubt:
            needed[r] = k + 1
        elif left > -doubt:
            needed[r] = -1
        else:
            needed[r] = k
            if k <= most:
                _write(answers, r, k, 1.0, 1.0)


@kernel
def count_rows(
    members: Members,
    margins: NDArray[np.int64],
    doubt: int,
    high: float,
    most: int,
    answers: Answers,
) -> None:
    """Find for each row the smallest k with ``v_k >= high > v_{k-1}``, both counted.

    The features are so few that a share of their subsets is a float exactly. A row in which some
    subset comes so close to the margin that it is in ``doubt`` (Lemma 16) is left out.
    """
    n = len(members.features)
    chosen, free = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for r in range(len(members.rows)):
        found, capacity = _split(members, r, margins[r], chosen)
        below = -1
        k = min(most, found)
        share = _share_free(members, chosen, k, capacity, doubt, free)
        reached = share >= high
        while reached and k - below > 1:
            middle = (below + k) // 2
            here = _share_free(members, chosen, middle, capacity, doubt, free)
            if here < 0.0:
                share = here
                break
            if here >= high:
                k = middle
                share = here
            else:
                below = middle
        if share >= 0.0 and (reached or k == most):
            _write(answers, r, k, share, share)


@inner
def _share_free(
    members: Members,
    chosen: NDArray[np.int64],
    k: int,
    capacity: int,
    doubt: int,
    free: NDArray[np.int64],
) -> float:
    """Return the share of the subsets of what is not fixed that fit; -1 if that is in doubt."""
    at = 0
    size = 0
    for j in range(len(members.features)):
        if at < k and chosen[at] == j:
            at += 1
        else:
            free[size] = members.magnitudes[j]
            size += 1
    sure, possible = _count(free[:size], capacity - doubt, capacity + doubt)
    return sure / 2.0**size if sure == possible else -1.0


@kernel
def lattice_rows(
    members: Members, margins: NDArray[np.int64], level: Level, most: int, answers: Answers
) -> None:
    """Find for each row the smallest k with ``v_k >= delta > v_{k-1}``, both by Lemma 17.

    The free set grows from all that cannot be fixed to all, smallest score first, and the
    search ends at the first one that misses delta.
    """
    n = len(members.features)
    chosen = np.zeros(n, dtype=np.int64)
    for r in range(len(members.rows)):
        found, capacity = _split(members, r, margins[r], chosen)
        chances = np.zeros(min(capacity, members.magnitudes.sum()) + 1)
        chances[0] = 1.0
        reach = 0
        at = 0
        for j in range(n):
            if at < found and chosen[at] == j:
                at += 1
            else:
                reach = _add(chances, reach, members.magnitudes[j])
        k = found
        mass = chances.sum()
        before = 0.0
        while k > 0:
            reach = _add(chances, reach, members.magnitudes[chosen[k - 1]])
            before = chances.sum()
            if k <= most and _lower(before, n - k + 1, capacity) < level.high:
                break
            k -= 1
            mass = before
        at_least, at_most = _lower(mass, n - k, capacity), _upper(mass, n - k, capacity)
        settled = k == 0 or _upper(before, n - k + 1, capacity) < level.low
        if settled and (at_least >= level.high or (k == most and at_most < level.low)):
            _write(answers, r, k, at_least, at_most)


@kernel
def write_members(
    members: Members,
    sizes: NDArray[np.int64],
    forced: NDArray[np.int64],
    told: NDArray[np.int32],
) -> None:
    """Write what is forced and the first members of each row, so many, one behind the other.

    Rows with a negative number are passed over. That these are the best is Corollary 6.
    """
    at = 0
    for r in range(len(members.rows)):
        if sizes[r] < 0:
            continue
        for unit in forced:
            told[at] = unit
            at += 1
        end, j = at + sizes[r], 0
        while at < end:
            # Every rank is written, and written over unless it is a member: no branch to guess.
            told[at] = members.features[j]
            at += int(members.fixable[j] & _helps(members, r, j))
            j += 1

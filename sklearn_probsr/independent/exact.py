"""Exactly: sums of finitely many values counted, and what keeps a class for certain.

In comes what the units of a set that are not fixed may cost, in whole numbers (`FiniteSum`): the
engines of fair coins once more, for parts with any values and chances. They are Hoeffding's tail
around the mean (Lemma 15), exact convolution, a dense lattice (Lemma 17), and a meet in the middle
that adds up probabilities instead of counting (Lemma 16). They tell what tables leave open, and
small models as fractions.

For certainty no probability is asked (Proposition 8): what is unknown fits the margin at worst,
before every rival. `CertainRows` answers all rows of a batch by floats, with a bound of what is
rounded (Proposition 70), `CertainProver` the sets of one instance. A unit that is known can break
certainty only if it is worse, before a rival, than everything that it may be when it is unknown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import Row
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import CoverScout, Prover
from sklearn_probsr.independent.cascade import Engine, cascade
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.numbers import row_sums

if TYPE_CHECKING:
    from sklearn_probsr.independent.unit_laws import Contributions

__all__ = ["CertainProver", "CertainRows", "FiniteSum", "Part", "enclose_finite"]

# Sums of cut values have so many bits (Lemma 16).
_BITS = 62
# The smallest float: what a rounding below the normal ones is off by, twice (Lemma 17).
_SMALLEST = 2.0**-1074
# The most sums in one half of a meet in the middle, and cells in a dense lattice.
_MOST_SUMS = 2**20
_MOST_CELLS = 2**22
# Sums of whole numbers below this are floats without rounding.
_WHOLE = 2**52
# Rows that are looked at together.
_CHUNK = 4096


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


def enclose_finite(question: FiniteSum, delta: Fraction | None, tol: float) -> Enclosure:
    """Enclose the probability, cheapest engine first, until it is decided or narrow enough."""
    engines: list[Engine] = [
        (_exact_cost(question), partial(_convolution, question)),
        (_counted_cost(question), partial(_counted, question)),
        (_lattice_cost(question), partial(_lattice, question)),
    ]
    return cascade(_closed_form(question), engines, delta, tol)


def _closed_form(question: FiniteSum) -> Enclosure:
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


def _convolution(question: FiniteSum) -> Enclosure:
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


def _lattice(question: FiniteSum) -> Enclosure:
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


def _counted(question: FiniteSum) -> Enclosure:
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


# --- certainty -----------------------------------------------------------------------------------


class _Numbers(NamedTuple):
    """Weights, threshold and ends of a model, all divided by one number."""

    weights: NDArray[np.float64]  # (columns,)
    threshold: float
    least: NDArray[np.float64]  # (units,)
    most: NDArray[np.float64]  # (units,)
    middle: NDArray[np.float64]  # (units,)
    whole: bool  # whether all of them, and their sums, are whole numbers that floats hold

    @property
    def size(self) -> float:
        """The sum of the sizes of what does not depend on a row."""
        return float(np.abs(self.least).sum() + np.abs(self.most).sum() + abs(self.threshold))


class CertainRows:
    """The rows of a model of two classes whose unknown units are independent.

    Parameters
    ----------
    contributions : Contributions
    middle : sequence of Fraction
        About what each unit contributes on average: by mean costs reasons are told.
    """

    def __init__(self, contributions: Contributions, middle: Sequence[Fraction]) -> None:
        self.model, self.contributions = contributions.model, contributions
        self.middle = middle

    @cached_property
    def _columns(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The columns unit by unit, and where those of each unit start."""
        units = self.model.units
        groups: list[tuple[int, ...]] = [(u,) for u in range(self.model.n_features)]
        groups = groups if units is None else [unit.columns for unit in units]
        starts = np.cumsum([0, *map(len, groups)])[:-1]
        return np.array([j for group in groups for j in group], dtype=np.intp), starts

    @cached_property
    def _floats(self) -> _Numbers:
        seen, model = self.contributions, self.model
        ends = [(_rounded(a * seen.scale), _rounded(b * seen.scale)) for a, b in seen.ends]
        least, most = np.array(ends).T
        middle = np.array([_rounded(c * seen.scale) for c in self.middle])
        return _Numbers(model.weights, model.threshold, least, most, middle, False)

    @cached_property
    def _whole(self) -> _Numbers | None:
        """The same as whole numbers whose sums are exact, for rows of zeros and ones; or None."""
        seen, form = self.contributions, self.model.integer_form
        if sum(map(abs, form.weights)) + abs(form.threshold) >= _WHOLE:
            return None
        weight = next((j for j, w in enumerate(form.weights) if w), None)
        if weight is None:
            return None
        unit = Fraction(float(self.model.weights[weight])) / form.weights[weight]
        ends = [[c * seen.scale / unit for c in pair] for pair in seen.ends]
        if any(c.denominator > 1 for pair in ends for c in pair):
            return None
        if sum(abs(c) for pair in ends for c in pair) >= _WHOLE:
            return None
        least, most = np.array(ends, dtype=np.float64).T
        weights = np.array(form.weights, dtype=np.float64)
        middle = np.array([_rounded(c * seen.scale / unit) for c in self.middle])
        return _Numbers(weights, float(form.threshold), least, most, middle, True)

    def answer(self, rows: Row, positive: NDArray[np.bool_], task: Task, found: Found) -> None:
        """Write down the rows whose smallest certain set is told apart from smaller ones."""
        for first in range(0, len(rows), _CHUNK):
            piece = slice(first, first + _CHUNK)
            self._answer(rows[piece], positive[piece], first, task, found)

    def _answer(
        self, rows: Row, positive: NDArray[np.bool_], first: int, task: Task, found: Found
    ) -> None:
        numbers, values = self._numbers(rows)
        costs = _costs(numbers, values, positive, self._columns, list(task.include))
        cost, n = costs.cost, len(rows)
        part = task.of_rows(slice(first, first + n))
        member = (cost > 0) & part.may_choose(n, cost.shape[1])
        mean = self._means(cost, positive, numbers)
        told = np.argsort(np.where(member, -mean, np.inf), axis=1, kind="stable")
        largest = np.take_along_axis(np.where(member, cost, 0.0), told, axis=1)
        order = np.argsort(-largest, axis=1, kind="stable")  # places among those told
        known = np.zeros((n, cost.shape[1] + 1))
        np.cumsum(np.take_along_axis(largest, order, axis=1), axis=1, out=known[:, 1:])
        sure = known - costs.beyond[:, None] >= costs.doubt[:, None]
        size, at = sure.argmax(axis=1), np.arange(n)
        # One unit fewer is surely too few: so each of the chosen ones surely costs something.
        short = costs.beyond - known[at, np.maximum(size - 1, 0)] > costs.doubt
        done = sure[at, size] & ((size == 0) | short)
        if task.most is not None:
            done &= size <= task.most
        chosen = np.zeros(cost.shape, dtype=np.bool_)
        np.put_along_axis(chosen, order, np.arange(cost.shape[1]) < size[:, None], axis=1)
        rows_done = np.flatnonzero(done)
        _write(told[rows_done], chosen[rows_done], rows_done + first, task, found)

    def _numbers(self, rows: Row) -> tuple[_Numbers, NDArray[np.float64]]:
        """Return the numbers that rows are summed up with, and their values unit by unit."""
        columns, _ = self._columns
        values = np.ascontiguousarray(np.asarray(rows, dtype=np.float64)[:, columns])
        if rows.dtype == np.bool_ or bool(((values == 0) | (values == 1)).all()):
            return self._whole or self._floats, values
        return self._floats, values

    def _means(
        self, cost: NDArray[np.float64], positive: NDArray[np.bool_], numbers: _Numbers
    ) -> NDArray[np.float64]:
        """Return what each unit costs on average: reasons are told so."""
        found: NDArray[np.float64]
        with np.errstate(over="ignore", invalid="ignore"):  # rows beyond floats are left open
            below, above = numbers.middle - numbers.least, numbers.most - numbers.middle
            found = cost - np.where(positive[:, None], below, above)
        return found


class _Costs(NamedTuple):
    """What units cost at most, by how much all exceed the margin, and the doubt about sums."""

    cost: NDArray[np.float64]  # (rows, units)
    beyond: NDArray[np.float64]  # (rows,)
    doubt: NDArray[np.float64]  # (rows,): sums that differ by no more are not told apart


def _costs(
    numbers: _Numbers,
    values: NDArray[np.float64],
    positive: NDArray[np.bool_],
    places: tuple[NDArray[np.intp], NDArray[np.intp]],
    forced: list[int],
) -> _Costs:
    """Return what each unit of rows costs at most, beside those forced (Proposition 70)."""
    columns, starts = places
    with np.errstate(over="ignore", invalid="ignore"):
        parts = values * numbers.weights[columns]
        worth = np.add.reduceat(parts, starts, axis=1)
        cost = np.where(positive[:, None], worth - numbers.least, numbers.most - worth)
        left = row_sums(worth) - numbers.threshold
        # Whole numbers belong to classes[1] from the threshold on, and to the other one below.
        left = np.where(positive, left, -left - numbers.whole)
        free = cost.copy()
        free[:, forced] = 0.0
        beyond = row_sums(free) - left
        sizes = row_sums(np.abs(parts)) + numbers.size
        n = len(columns) + 2 * len(starts) + 8
        doubt = (1 - numbers.whole) * (n * 2.0**-50 * sizes + n * 2.0**-1060)
        fine = np.isfinite(sizes + beyond) & np.isfinite(cost).all(axis=1)
    # What is beyond all floats stays open.
    return _Costs(
        np.where(fine[:, None], cost, 0.0),
        np.where(fine, beyond, 0.0),
        np.where(fine, doubt, np.inf),
    )


def _write(
    told: NDArray[np.intp],
    chosen: NDArray[np.bool_],
    at: NDArray[np.intp],
    task: Task,
    found: Found,
) -> None:
    """Write down which of the units of some rows were chosen, in the order in which they are told.

    What is forced comes first.
    """
    forced, sizes = np.array(task.include, dtype=np.int32), chosen.sum(axis=1)
    before = np.tile(forced, (len(at), 1))
    kept = np.concatenate([np.ones(before.shape, dtype=np.bool_), chosen], axis=1)
    features = np.concatenate([before, told.astype(np.int32)], axis=1)[kept]
    found.writer.write_many(at, sizes + len(forced), features)
    found.minimality[at], found.size_lower[at] = "minimum", sizes + len(forced)
    found.lower[at] = found.upper[at] = 1.0
    found.exact.update(dict.fromkeys(at.tolist(), Fraction(1)))


def _rounded(value: Fraction | int) -> float:
    """Return a number as a float; infinite beyond them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


class CertainProver(Prover):
    """The sets of one instance that keep its class for certain.

    ``likely`` knows the same sets by their probability, and ``duels`` are what units cost before
    each rival; of two classes there is one.
    """

    def __init__(self, likely: Prover, duels: Sequence[Any]) -> None:
        super().__init__(likely.view, likely.task)
        self.likely, self.duels = likely, duels
        hurts = [duel.may_hurt_at_worst(self.members) for duel in self.duels]
        self.pure = set(self.members).difference(*hurts)
        self.monotone = len(self.pure) == len(self.members)

    def verdict(self, chosen: Collection[int]) -> bool:
        """Tell whether a set of members keeps the class for certain."""
        return all(duel.is_certain([*self.forced, *chosen]) for duel in self.duels)

    def guarantee(self, chosen: Collection[int]) -> Enclosure:
        """Enclose the guarantee of a set for a reader; it agrees with the verdict."""
        return self.view.enclose([*self.forced, *chosen])

    def proposals(self) -> list[list[int]]:
        """Return the members by the most that they cost; before several rivals, in two orders."""
        if len(self.duels) == 1:
            return [sorted(self.members, key=self.duels[0].most, reverse=True)]
        return [self.members, self._by_excess()]

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return the shortest prefix of an order that keeps the class for certain."""
        along = self._along(self.duels, order)
        return order[: along.index(True)] if True in along else None

    def _along(self, duels: Sequence[Any], order: list[int]) -> list[bool]:
        each = (duel.certain_along([*self.forced, *order])[len(self.forced) :] for duel in duels)
        return [all(sure) for sure in zip(*each, strict=True)]

    def _by_excess(self) -> list[int]:
        worst = np.array([duel.moments.score for duel in self.duels])
        margins = np.array([duel.moments.margin for duel in self.duels])
        excess = worst.sum(axis=1) - worst[:, self.forced].sum(axis=1) - margins
        order: list[int] = []
        free = list(self.members)
        while free:
            left = np.maximum(excess[:, None] - worst[:, free], 0.0).sum(axis=0)
            # Once nothing is left, the largest costs come first.
            best = free[int(np.lexsort((-worst[:, free].sum(axis=0), left))[0])]
            order.append(best)
            free.remove(best)
            excess -= worst[:, best]
        return order

    @cached_property
    def fewest(self) -> int:
        """Fewer members than this are too few: before a single rival the largest costs do most."""
        found = 0
        for duel in self.duels:
            largest = sorted(self.members, key=duel.most, reverse=True)
            sure = self._along([duel], largest)
            found = max(found, sure.index(True) if True in sure else len(sure))
        return found

    def bound_least(self, size: int) -> None:
        """Raise ``least`` by what single rivals prove."""
        self.least = max(self.least, self.fewest)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members that keeps the class for certain."""
        return (False, set()) if size < self.fewest else super().look(size)

    def scout(self, prices: dict[int, int]) -> CoverScout:
        """Return what looks ahead for the cheapest set: what members cost at worst adds up."""
        covers, needed = [], []
        for duel in self.duels:
            worst, beyond = duel.at_worst
            covers.append([worst[u] for u in self.members])
            needed.append(beyond - sum(worst[u] for u in self.forced))
        return CoverScout(self.members, prices, self.verdict, covers, needed)

    def best_of(self, size: int) -> set[int]:
        """Return the best set found of at most a size, certain or not."""
        return self.likely.best_of(size)

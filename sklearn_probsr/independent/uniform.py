"""Uniform: every unknown feature is 0 or 1 by a fair coin of its own.

The features with positive scores, by decreasing score, are the answer (Lemma 5): the best set of
each size is a prefix, and prefixes only get better (Corollary 6). So one number is searched, the
smallest k with ``v_k >= delta``. All rows of a batch go first through one compiled loop, by whole
numbers or on tables that depend on the model alone; what it leaves open is asked set by set. A
row's answer never depends on the other rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from operator import sub
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import (
    TOL,
    Law,
    Lengths,
    Memo,
    Ranked,
    RankedSwaps,
    Rest,
    Row,
    Swaps,
    View,
)
from sklearn_probsr.core.monte_carlo import coupled_sizes
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import CoverScout, Prover, Scout, last_place
from sklearn_probsr.independent import certainty
from sklearn_probsr.independent.cascade import cascade
from sklearn_probsr.independent.certainty import (
    MOST_COUNTED,
    Answers,
    Instance,
    Members,
    SubsetSum,
    certain_rows,
    closed_form,
    count_rows,
    lattice_rows,
    write_members,
)
from sklearn_probsr.independent.level import ANY, Level
from sklearn_probsr.independent.ranks import (
    EFFORTS,
    MOST_HEAVY,
    Aim,
    Ranks,
    count_heavy,
    new_memo,
    search_rows,
)
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.independent.spectrum import bound_sum, build_coins, enclose
from sklearn_probsr.independent.vaaler import SPREADS, TAIL, UNIT
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import IntegerForm, LinearModel
from sklearn_probsr.model.numbers import about, float_above, float_below, floats_around

if TYPE_CHECKING:
    from sklearn_probsr.independent.law import TabledLaw

__all__ = ["UniformLaw", "UniformProver", "UniformView", "enclose_sum"]

# What tells of a set of members whether it reaches a level; None if that is open.
Reaches = Callable[[Collection[int]], bool | None]
# Enclosures and rankings that are remembered.
_MOST_KNOWN, _MOST_RANKINGS = 4096, 8
# All sums of cut weights, and twice the doubt about them, fit 64 bits (Lemma 16).
_BITS = 61
# The subsets of so few features are counted.
_FEW = 16
# Next to 1, certainty must be told from near-certainty: tables do not have the last word.
_NEXT_TO_ONE = Fraction(999, 1000)
# The degrees at which a sum by itself is given up, to let something cheaper try.
_DEGREES = (2**14, 2**17, 2**20)
# Of a curve, sizes that stay wider than asked are looked at again: what is cheap, and others up to
# a degree and together for so many seconds.
_CHEAP_SECONDS, _AGAIN_DEGREE, _AGAIN_SECONDS = 2e-4, 2**17, 1.0
# About how long tables take to say something of a set, in seconds.
_TABLE_SECONDS = 2e-3


# --- one sum -------------------------------------------------------------------------------------


def enclose_sum(
    question: SubsetSum, level: Level, tol: float, degree: int, splits: int = MOST_HEAVY
) -> Enclosure:
    """Enclose a probability by the characteristic function of its sum (Table 1 line 4).

    Parameters
    ----------
    question : SubsetSum
    level : Level
        What the enclosure is asked to leave to one side.
    tol : float
        The width that is narrow enough even if the level stays inside.
    degree : int
        The largest degree.
    splits : int, default=6
        How many of the largest values may be taken case by case.
    """
    values, total = question.values, question.total
    first = count_heavy([v * v for v in values], splits)
    if first:
        # Given the heavy ones, there or not, the rest has a period of its own (Lemma 28). A level
        # is no guide to one case alone.
        width = tol if level.high > 1 else max(tol, 1e-6)
        sums = Counter({0: 1})
        for v in values[:first]:
            sums += Counter({above + v: many for above, many in sums.items()})
        lower = upper = 0.0
        for above, many in sums.items():
            rest = SubsetSum(values[first:], question.capacity - above)
            known = closed_form(rest)
            if known.width > width:
                known = known.intersect(enclose_sum(rest, ANY, width, degree, 0))
            lower, upper = lower + known.lower * many, upper + known.upper * many
        # Of at most 64 additions and products (Lemma 28).
        off = 2.0**-48
        return Enclosure.proved(lower / 2**first - off, upper / 2**first + off)
    squares = math.isqrt(sum(v * v for v in values)) + 1
    # SPREADS deviations, or the whole support if that is shorter (Lemma 20).
    period = min(squares * math.ceil(SPREADS * 2**19) // 2**20, total) + 1
    tail = TAIL if period < total else 0.0
    # Half a unit above the capacity there is no sum, so the question is the same there.
    twice = 2 * question.capacity + 1 - total
    if abs(twice) >= period:
        return Enclosure.proved(1 - tail, 1.0) if twice > 0 else Enclosure.proved(0.0, tail)
    beta = twice / (2 * period)
    turns = np.array([v / (2 * period) for v in values])
    lower, upper = 0.0, 1.0
    for each in (degree >> 9, degree >> 6, degree >> 3, degree):
        low, high = bound_sum(turns, max(each, 1), beta, 2 * UNIT)
        lower, upper = max(lower, low - tail), min(upper, high + tail)
        if lower >= level.high or upper < level.low or upper - lower <= tol:
            break
    return Enclosure.proved(lower, upper)


def _sum_cost(question: SubsetSum, degree: int) -> float:
    """Return about how many seconds `enclose_sum` takes up to a degree."""
    n = len(question.values)
    return (
        5e-9 * (1 << count_heavy([v * v for v in question.values])) * (degree * min(n, 40) + 64 * n)
    )


def _prefixes(values: list[int], capacity: int, steps: int, degree: int) -> list[Enclosure]:
    """Enclose what fits without the first k values, for k = 0 to ``steps``, on tables.

    Sizes share a table while the squares that are left change less than 16-fold.
    """
    squares = [*accumulate((v * v for v in reversed(values)), initial=0)][::-1]
    totals = [*accumulate(reversed(values), initial=0)][::-1]
    found: list[Enclosure] = []
    last = steps
    while last >= 0:
        first = last
        while first > 0 and squares[first - 1] <= 16 * squares[last]:
            first -= 1
        period = (math.isqrt(squares[first]) + 1) * math.ceil(SPREADS * 2**19) // 2**20
        period = min(period, totals[first]) + 1
        turns = np.array([v / (2 * period) for v in values[first:]])
        (table,) = build_coins(turns, degree, [last - first], 4096)
        for k in range(last, first - 1, -1):
            twice = 2 * capacity + 1 - totals[k]
            # Quotients are good to half an ulp of 1; beyond a period all is told.
            beta = max(min(Fraction(twice, 2 * period), Fraction(1)), Fraction(-1))
            ends = enclose(table, range(k - first), float(beta), 2 * UNIT, k - first)
            found.append(Enclosure.proved(*ends))
        last = first - 1
    return found[::-1]


# --- one instance --------------------------------------------------------------------------------


class UniformView(View):
    """One instance whose unknown features are fair coins, seen through its scores."""

    chain = True

    def __init__(self, instance: Instance, known: Memo[Enclosure], ranks: Callable[[], Ranks]):
        super().__init__(len(instance.row))
        self.instance = instance
        self._known, self._ranks = known, ranks

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown can cost anything: its score is positive."""
        return bool(self.instance.helps[unit])

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown can gain anything: its score is negative."""
        return not self.instance.helps[unit] and self.instance.magnitudes[unit] > 0

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set; the same facts and class are asked once."""
        features = sorted(fixed)
        facts = tuple((j, bool(self.instance.row[j])) for j in features)
        return self._known.get(
            (self.instance.positive, facts, delta, tol), lambda: self._enclose(features, delta, tol)
        )

    def _enclose(self, fixed: list[int], delta: Fraction | None, tol: float) -> Enclosure:
        """Ask what may know it, the cheapest first (Table 1)."""
        question = self.instance.subset_sum(fixed)
        level = ANY if delta is None else Level.around(delta)
        width = tol if delta is None else 0.0
        ways = [
            (certainty.count_cost(question), partial(certainty.count, question)),
            (certainty.lattice_cost(question), partial(certainty.lattice, question)),
            (certainty.count_long_cost(question), partial(certainty.count_long, question)),
            (certainty.lattice_long_cost(question), partial(certainty.lattice_long, question)),
        ]
        if len(question.values) > MOST_COUNTED:
            ways.append((_TABLE_SECONDS, partial(self.by_tables, fixed, 1)))
        for degree in _DEGREES:
            way = partial(enclose_sum, question, level, width, degree)
            ways.append((_sum_cost(question, degree), way))
        return cascade(closed_form(question), ways, delta, tol)

    def by_tables(self, fixed: Collection[int], most: int, level: Level = ANY) -> Enclosure:
        """Enclose the guarantee of a set by up to so many tables of all rows of the model."""
        ranks, found = self._ranks(), Enclosure(0.0, 1.0)
        if not ranks.usable:
            return found
        known = [u for u in fixed if u in ranks.places]
        row, positive = self.instance.row[None, :], np.array([self.instance.positive])
        cut = float(ranks.cuts(row, positive)[0])
        signs = np.where(self.instance.helps[known], 1.0, -1.0)
        # A fixed feature that does not help moves the cut the other way.
        cut -= float((ranks.magnitudes[[ranks.places[u] for u in known]] * (signs < 0)).sum())
        for ladder, _ in zip(ranks.apart(), range(most), strict=False):
            found = found.intersect(Enclosure(*ranks.bounds(ladder, known, cut)))
            if found.lower >= level.high or found.upper < level.low:
                break
        return found

    def is_certain(self, fixed: Collection[int]) -> bool:
        """Tell whether a set keeps the class for certain (Proposition 8)."""
        return self.certain_along(list(fixed))[-1]

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size along an order whether the class is kept for certain."""
        scores = self.instance.magnitudes
        costs = (scores[u] if self.instance.helps[u] else 0 for u in order)
        return [beyond <= 0 for beyond in accumulate(costs, sub, initial=self.instance.beyond)]

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing score: the best of each size come first."""
        inside = set(members)
        return [[u for u in self.instance.order.tolist() if u in inside]]

    def along(self, order: Sequence[int], tol: float) -> list[Enclosure]:
        """Enclose the guarantee along an order; all sizes share tables where it is by score."""
        if list(order) != self.instance.order.tolist():
            return super().along(order, tol)
        values = [v for v in (self.instance.magnitudes[u] for u in order) if v]
        members = sum(map(self.can_cost, order))
        # Behind the members, any order will do: they are never fixed.
        values[members:] = sorted(values[members:], reverse=True)
        capacity = self.instance.subset_sum(()).capacity
        steps = self.certain_along(order[:members]).index(True)
        if not steps:
            return []
        if certainty.lattice_cost(SubsetSum(values, capacity)) < 0.1:
            return certainty.lattice_prefixes(SubsetSum(values, capacity), steps - 1)
        # An interval is about 1.4 / K long (Corollary 19).
        degree = 2 ** math.ceil(math.log2(4 / min(max(tol, 2.0**-16), 1.0)))
        found, budget = [], _AGAIN_SECONDS
        for k, known in enumerate(_prefixes(values, capacity, steps - 1, degree)):
            part = SubsetSum(values[k:], capacity)
            if certainty.count_cost(part) < _CHEAP_SECONDS:
                found.append(self.enclose(order[:k], None, tol))
            elif known.width > tol and budget > 0:
                found.append(known.intersect(enclose_sum(part, ANY, tol, _AGAIN_DEGREE)))
                budget -= _sum_cost(part, _AGAIN_DEGREE)
            else:
                found.append(known)
        return found

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size."""
        weights, inside = self.instance.magnitudes, {*forced, *order}
        others = [v for j, v in enumerate(weights) if v and j not in inside]
        capacity = self.instance.subset_sum(forced).capacity
        members = [weights[j] for j in order]
        sizes = coupled_sizes(members, others, capacity, samples, rng)
        counts = np.bincount(sizes, minlength=len(order) + 2)
        kept: NDArray[np.int64] = np.cumsum(counts)[: len(order) + 1]
        return kept


class UniformProver(Prover):
    """The sets of one instance, asked for one level: of each size the first members are the best.

    That is Corollary 6.
    """

    view: UniformView

    def verdict(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set of members reaches the level; None if that stays open."""
        if self.task.delta == 1:
            return self.view.is_certain([*self.forced, *chosen])
        return super().verdict(chosen)

    def guarantee(self, chosen: Collection[int]) -> Enclosure:
        """Enclose the guarantee of a set for a reader; it agrees with the verdict."""
        if self.task.delta == 1:
            return self.view.enclose([*self.forced, *chosen])
        return super().guarantee(chosen)

    def pruned(self, order: list[int]) -> set[int]:
        """Return the set: of a shortest prefix nothing is known to be superfluous."""
        return set(order)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look at the best set of a size, the first members (Corollary 6)."""
        verdict = self.verdict(self.members[:size])
        return verdict, set(self.members[:size]) if verdict else set()

    def is_needed(self, reaches: Reaches, size: int, place: int) -> bool | None:
        """Tell whether a member is in every set of a size that reaches the level (Prop. 63)."""
        others = [u for u in self.members[: size + 1] if u != self.members[place]]
        verdict = reaches(others[:size])
        return None if verdict is None else not verdict

    def is_possible(self, reaches: Reaches, size: int, place: int) -> bool | None:
        """Tell whether a member is in some set of a size that reaches the level (Prop. 63)."""
        return reaches([*self.members[: size - 1], self.members[place]])

    def least_from(self, size: int) -> int:
        """Return the size, at most so large, below which nothing reaches the level as proved."""
        while size > 0 and self.verdict(self.members[: size - 1]) is not False:
            size -= 1
        return size

    def within_slack(self) -> tuple[set[int], float] | None:
        """Return the smallest set that is not surely too small, if it is within the slack."""
        if self.task.slack is None:
            return None
        small = self.members[: self.least]
        short = self.task.delta - Fraction(self.guarantee(small).lower)
        if short > self.task.slack:
            return None
        return set(small), float_above(max(short, Fraction(0)))

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Say by how much smaller sets may exceed the level.

        No smaller set reaches ``delta + epsilon``, with epsilon just above ``upper_{k-1} - delta``.
        (Where nothing is excluded v_{k-1} < v_k, by Lemma 7, so the set is a minimum for some level
        in ``[delta, delta + epsilon]``.)
        """
        before = self.view.enclose(
            [*self.forced, *self.members[: len(chosen) - 1]], self.task.delta
        )
        return chosen, "near-minimum", _just_above(Fraction(before.upper) - self.task.delta)


def _just_above(value: Fraction) -> float:
    return math.nextafter(float_above(value), 2.0)


# --- all rows ------------------------------------------------------------------------------------


class _Shown(NamedTuple):
    """Rows as kernels are shown them.

    A feature that helps and must not be chosen in its row is shown with its other value, so that it
    is no member; nothing else changes, as its coin is fair (Lemma 41).
    """

    rows: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    told: NDArray[np.bool_]

    @classmethod
    def of(cls, model: LinearModel, rows: NDArray[np.bool_], task: Task) -> _Shown:
        positive = model.is_positive(rows)
        if task.allowed is None:
            return cls(rows, positive, rows)
        barred = ~task.allowed & (model.weights != 0)
        barred[:, list(task.include)] = False
        helps = (rows == (model.weights > 0)) == positive[:, None]
        return cls(rows, positive, rows != (barred & helps))

    def take(self, at: NDArray[np.intp]) -> _Shown:
        return _Shown(*(part[at] for part in self))

    def members(self, ranks: Ranks, magnitudes: NDArray[Any], exclude: tuple[int, ...]) -> Members:
        """Return the members of all rows, with magnitudes in floats or in whole numbers."""
        fixable = ~np.isin(ranks.features, exclude)
        rows = np.ascontiguousarray(self.told)
        return Members(rows, self.positive, ranks.features, magnitudes, ranks.upward, fixable)

    def whole(
        self, ranks: Ranks, exclude: tuple[int, ...]
    ) -> tuple[Members, NDArray[np.int64], int]:
        """Return the members in whole numbers, margins, and how far these may be off (Lemma 16).

        Weights that are longer than 64 bits take are cut; each is short by less than 1 then, so a
        margin is off by less than d + 2, and what it is compared with by less than 2 d.
        """
        form = ranks.model.integer_form
        reach = sum(map(abs, form.weights)) + abs(form.threshold)
        shift = max(reach.bit_length() - _BITS, 0)
        magnitudes = np.array([abs(form.weights[i]) >> shift for i in ranks.features], np.int64)
        doubt = 3 * (self.rows.shape[1] + 2) if shift else 0
        members = self.members(ranks, magnitudes, exclude)
        return members, self._margins(form, shift), doubt

    def _margins(self, form: IntegerForm, shift: int) -> NDArray[np.int64]:
        """Return what the class of each row can lose, as it is shown, in cut whole numbers."""
        weights = np.array([w >> shift for w in form.weights], dtype=np.int64)
        threshold = form.threshold >> shift
        totals = self.rows @ weights
        margins = np.where(self.positive, totals - threshold, threshold - 1 - totals)
        if self.told is self.rows:
            return margins
        sizes = np.array([abs(w) >> shift for w in form.weights], dtype=np.int64)
        shown: NDArray[np.int64] = margins - (self.rows != self.told) @ sizes
        return shown


def _search(ranks: Ranks, shown: _Shown, task: Task, answers: Answers) -> None:
    """Answer the rows that counting, a lattice or tables decide.

    Where delta is 1, these are rows without certainty: the best sets of the largest size are
    looked at, and no level ends the search before.
    """
    n = len(ranks.features)
    most = n if task.most is None else min(task.most, n)
    low, high = floats_around(task.delta)
    if task.delta == 1:
        low = high = math.inf
    if n <= _FEW:
        members, margins, doubt = shown.whole(ranks, task.exclude)
        count_rows(members, margins, doubt, high, most, answers)
    if n <= _FEW or not ranks.usable:
        return
    if ranks.integers is not None:
        members, margins, _ = shown.whole(ranks, task.exclude)
        lattice_rows(members, margins, Level(low, high), most, answers)
        return
    members = shown.members(ranks, ranks.magnitudes, task.exclude)
    # The bounds go one ulp outward at the end, so the level has to be passed by one more.
    level, quantile = Level(low, high), math.inf
    if task.delta < 1:
        quantile = min(max(float(ndtri(low)), -8.0), 8.0)
        level = level.passed
    cuts = ranks.cuts(shown.rows, shown.positive)
    aim = Aim(level, quantile, most, final=False)
    # Rows of one class have one cut where nothing is forced.
    memo = new_memo(len(cuts) if not ranks.forced else 0, n)
    search_rows(members, cuts, ranks.tails, aim, ranks.ladder(0), memo, answers)
    # The tables have the last word on rows that are too long to count, unless a slack or a level
    # next to 1 asks for more care. Finer ones pay where products decay.
    careful = task.slack is not None or task.delta > _NEXT_TO_ONE
    last = None if careful or n <= MOST_COUNTED else len(EFFORTS) - 1
    deepest = len(EFFORTS) if last and ranks.decays else 2
    for effort in range(1, deepest if ranks.decays or n <= MOST_COUNTED else 1):
        left = np.flatnonzero(answers.size < 0)
        if not len(left):
            break
        again = answers.take(left)
        some = members._replace(rows=members.rows[left], positive=members.positive[left])
        aim = aim._replace(final=effort == last)
        search_rows(some, cuts[left], ranks.tails, aim, ranks.ladder(effort), new_memo(0, n), again)
        answers.put(left, again)
    np.nextafter(answers.lower, -1.0, out=answers.lower, where=answers.lower < 1)
    np.maximum(answers.lower, 0.0, out=answers.lower)
    np.nextafter(answers.upper, 2.0, out=answers.upper, where=answers.upper < 1)


def _claim(answers: Answers, task: Task, found: Found) -> NDArray[np.intp]:
    """Say what the bounds of each answer prove; they are in place already.

    Returns the rows of which one feature fewer is left open.
    """
    low, high = floats_around(task.delta)
    done = answers.size >= 0
    reached = done & (answers.lower >= high)
    near = reached & (answers.size > 0) & (answers.before >= low)
    least = answers.size + len(task.include)
    if reached.all():
        found.minimality[:] = "minimum"
        found.size_lower[:] = least
    else:
        # Where not even this many are enough, one more is needed at least.
        missed = done & ~reached
        short = missed & (answers.upper < low)
        found.minimality[reached] = "minimum"
        found.minimality[missed] = "best-of-size"
        found.size_lower[reached] = least[reached]
        found.size_lower[missed] = np.where(short, least + 1, len(task.include))[missed]
    found.minimality[near] = "near-minimum"
    left = np.flatnonzero(near)
    for i in left.tolist():
        found.epsilon[i] = _just_above(Fraction(answers.before[i]) - task.delta)
    return left


class UniformLaw(Law):
    """A model of two classes on 0/1 features that are fair coins when they are unknown."""

    rows_at_once = 8192

    def __init__(
        self, model: LinearModel, core: LinearModel, distribution: Any, source: Source
    ) -> None:
        super().__init__(model, distribution)
        self.linear, self.core, self.source = model, core, source
        self._known: Memo[Enclosure] = Memo(_MOST_KNOWN)
        self._rankings: Memo[Ranks] = Memo(_MOST_RANKINGS)

    @cached_property
    def sums(self) -> TabledLaw:
        """The same features as independent units: most questions never ask them."""
        from sklearn_probsr.independent.law import TabledLaw

        return TabledLaw(self.linear, self.distribution, self.source)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return np.full(self.model.n_features, 0.5)

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of an unknown unit may be, and how likely each is."""
        return self.source.states(unit)

    def view(self, row: Row) -> UniformView:
        """Return one instance, a checked row, before this law."""
        instance = Instance(self.core, self.linear.core_rows(row[None, :])[0])
        return UniformView(instance, self._known, partial(self._ranks, ()))

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> Rest:
        """Return what may be lost of some facts of an instance while delta holds."""
        return self.sums.rest(row, features, delta)

    def prover(self, view: View, task: Task) -> UniformProver:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, UniformView)
        return UniformProver(view, task)

    def scout(self, prover: Prover, prices: dict[int, int], row: Row) -> Scout:
        """Return what looks ahead for the cheapest set of an instance: scores are a chain."""
        seen = prover.view
        assert isinstance(seen, UniformView)
        scores = seen.instance.magnitudes
        order = sorted(prover.members, key=lambda u: (-scores[u], prices[u]))
        if prover.task.delta == 1:
            needed = seen.instance.beyond
            needed -= sum(scores[u] for u in prover.forced if seen.can_cost(u))
            return CoverScout(order, prices, prover.verdict, [[scores[u] for u in order]], [needed])
        worth = [about(Fraction(scores[u])) for u in order]
        above = np.tri(len(order), k=-1, dtype=np.bool_).T
        return self.sums.along(order, prices, prover, row, worth, above)

    def together(self, rows: Row, task: Task, found: Found) -> dict[int, set[int]]:
        """Answer the rows that whole numbers or shared tables decide."""
        shown = _Shown.of(self.core, np.ascontiguousarray(self.linear.core_rows(rows)), task)
        ranks, n = self._ranks(task.include), len(rows)
        answers = Answers(np.full(n, -1, dtype=np.int64), found.lower, found.upper, np.zeros(n))
        if task.delta < 1:
            _search(ranks, shown, task, answers)
            needed = None
        else:
            needed = self._be_certain(ranks, shown, task, answers)
        near = _claim(answers, task, found)
        if needed is not None:
            done = answers.size >= 0
            found.size_lower[done] = len(task.include) + needed[done]
        for i in near.tolist():
            prover, k = self.prover(self.view(rows[i]), task.of_row(i)), int(answers.size[i])
            smaller = prover.verdict(prover.members[: k - 1])
            found.size_lower[i] = len(task.include) + prover.least_from(k)
            if smaller is False:  # what the tables left open is settled by the row alone
                found.minimality[i], found.epsilon[i] = "minimum", 0.0
            elif smaller:
                found.minimality[i] = ""
                answers.size[i] = -1
        self._tell(ranks, shown, answers.size, task, found)
        return {}

    def _be_certain(
        self, ranks: Ranks, shown: _Shown, task: Task, answers: Answers
    ) -> NDArray[np.int64]:
        """Answer rows for certain; return how many features beside the forced ones that takes."""
        n = len(ranks.features)
        most = n if task.most is None else min(task.most, n)
        needed = np.empty(len(shown.rows), dtype=np.int64)
        members, margins, doubt = shown.whole(ranks, task.exclude)
        certain_rows(members, margins, doubt, most, needed, answers)
        short = np.flatnonzero(needed > most)
        if task.max_size is not None and len(short):
            best = answers.take(short)
            _search(ranks, shown.take(short), task, best)
            answers.put(short, best)
        return needed

    def _tell(
        self, ranks: Ranks, shown: _Shown, sizes: NDArray[np.int64], task: Task, found: Found
    ) -> None:
        """Write down the sets: so many of the members of each row that has a size, by score."""
        forced = np.array(task.include, dtype=np.int64)
        at = np.flatnonzero(sizes >= 0)
        whole = sizes[at] + len(forced)
        told = np.empty(int(whole.sum()), dtype=np.int32)
        write_members(shown.members(ranks, ranks.magnitudes, task.exclude), sizes, forced, told)
        found.writer.write_many(at, whole, told)

    def follow_together(
        self,
        rows: Row,
        orders: NDArray[np.intp],
        at: NDArray[np.int64],
        delta: Fraction,
        found: Lengths,
    ) -> NDArray[np.bool_]:
        """Follow orders on the tables of the sums, and say which rows are left."""
        return self.sums.follow_together(rows, orders, at, delta, found)

    def score_together(
        self, rows: Row, mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Bound sets by the tables of the sums, and say which rows are left."""
        return self.sums.score_together(rows, mask)

    def swaps(self, rows: Row, task: Task, sizes: NDArray[np.int64]) -> RankedSwaps:
        """Tell how far down its ranking members are in every minimum reason, and in some."""
        shown = _Shown.of(self.core, self.linear.core_rows(rows), task)
        ranks = self._ranks(task.include)
        agrees = shown.told[:, ranks.features] == ranks.upward
        helps = (agrees == shown.positive[:, None]) & ~np.isin(ranks.features, task.exclude)
        counts = np.maximum(helps.sum(axis=1), sizes)
        needed = np.stack([np.zeros_like(sizes), sizes], axis=1)
        swaps = Swaps(needed, np.stack([sizes, counts], axis=1))
        for i in np.flatnonzero(sizes > 0).tolist():
            prover, size = self.prover(self.view(rows[i]), task.of_row(i)), int(sizes[i])
            reaches = self._reaches(prover)
            for ends, asked in zip(swaps, (prover.is_needed, prover.is_possible), strict=True):
                ends[i] = last_place(partial(asked, reaches, size), *ends[i].tolist())
        return RankedSwaps(swaps, ranks.features, helps)

    def _reaches(self, prover: UniformProver) -> Reaches:
        """Return what tells quickly whether sets of members reach the level.

        Where there are many features tables have the last word, as in a search.
        """
        ranks, delta = self._ranks(()), prover.task.delta
        tables = ranks.usable and ranks.integers is None and delta < 1
        if not tables or next(ranks.apart(), None) is None:
            return prover.verdict

        def reaches(chosen: Collection[int]) -> bool | None:
            fixed = [*prover.forced, *chosen]
            known = prover.view.by_tables(fixed, 2, Level.around(delta))
            verdict = (known >= delta).value
            if verdict is None and len(ranks.features) <= MOST_COUNTED:
                return prover.verdict(chosen)
            return verdict

        return reaches

    def ranked_sets(self, row: Row, task: Task) -> Ranked:
        """Return the members of a row by rank, and what bounds a set of places among them."""
        prover = self.prover(self.view(row), task)
        ranks = self._ranks(())
        tables = ranks.usable and ranks.integers is None and task.delta < 1

        def bound(places: tuple[int, ...]) -> tuple[bool | None, float]:
            chosen = [prover.members[p] for p in places]
            if tables:
                known = prover.view.by_tables([*prover.forced, *chosen], 1)
                if known.lower >= float_above(task.delta):
                    return True, known.lower
                if known.upper < float_below(task.delta):
                    return False, known.lower
            verdict = prover.settled(chosen)
            return verdict, prover.guarantee(chosen).lower if verdict else 0.0

        return prover.members, bound

    def _ranks(self, forced: tuple[int, ...]) -> Ranks:
        return self._rankings.get(forced, lambda: Ranks.of(self.core, forced))

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        sums = self.sums.nbytes if "sums" in vars(self) else 0
        return sums + sum(ranks.nbytes for ranks in self._rankings.values())

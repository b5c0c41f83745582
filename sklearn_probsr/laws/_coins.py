"""Fair coins: every unknown feature is 0 or 1 with the same chance, independently.

Under the uniform distribution the features with positive scores, by decreasing score, are the
answer (Lemma 5): the best set of each size is a prefix, and prefixes only get better (Corollary
6). So one number is searched, the smallest k with ``v_k >= delta``. Rows are first tried all
together on tables that depend on the model alone; what those leave undecided goes through the
cascade of engines, row by row. A row's answer never depends on the other rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_probsr.engines._level import Level
from sklearn_probsr.engines._samples import coupled_sizes
from sklearn_probsr.engines.coins._answers import Answers, write_members
from sklearn_probsr.engines.coins._batch import TableRows, search_rows
from sklearn_probsr.engines.coins._deficits import Instance
from sklearn_probsr.engines.coins._enclose import enclose, enclose_prefixes
from sklearn_probsr.engines.coins._enumeration import MOST_COMPILED
from sklearn_probsr.engines.coins._lattice import lattice_rows
from sklearn_probsr.engines.coins._swaps import Swaps
from sklearn_probsr.laws._coin_swaps import (
    SetBounds,
    last_place,
    no_swaps,
    open_swaps,
    swaps_on_table,
)
from sklearn_probsr.laws._independent import IndependentLaw
from sklearn_probsr.laws._law import Law, Lengths, Ranked
from sklearn_probsr.laws._memo import Memo
from sklearn_probsr.laws._prover import Prover
from sklearn_probsr.laws._ranking import EFFORTS, Ranking
from sklearn_probsr.laws._task import Found, Task
from sklearn_probsr.laws._view import TOL, Row, View
from sklearn_probsr.laws._whole import WholeRows
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._exact import float_above, float_below
from sklearn_probsr.model._linear import LinearModel

__all__ = ["CoinLaw"]

# So few features are counted.
_FEW = 16
_NEXT_TO_ONE = Fraction(999, 1000)
# Enclosures and rankings that are remembered.
_MOST_KNOWN, _MOST_RANKINGS = 4096, 8


class CoinLaw(Law):
    """A model of two classes on 0/1 features that are fair coins when they are unknown."""

    rows_at_once = 8192

    def __init__(self, model: LinearModel, core: LinearModel, sums: IndependentLaw) -> None:
        super().__init__(model, sums.distribution)
        self.linear, self.core, self.sums = model, core, sums
        self._known: Memo[Enclosure] = Memo(_MOST_KNOWN)
        self._rankings: Memo[Ranking] = Memo(_MOST_RANKINGS)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return np.full(self.model.n_features, 0.5)

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of an unknown unit may be, and how likely each is."""
        return self.sums.states(unit)

    def view(self, row: Row) -> CoinView:
        """Return one instance, a checked row, before this law."""
        return CoinView(Instance(self.core, self.linear.core_rows(row[None, :])[0]), self._known)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, CoinView)
        return CoinProver(view, task)

    def together(self, rows: Row, task: Task, found: Found) -> dict[int, set[int]]:
        """Answer the rows that whole numbers or shared tables decide."""
        ones = np.ascontiguousarray(self.linear.core_rows(rows))
        positive = self.core.is_positive(ones)
        ranking = self._ranking(task.include)
        answers = Answers.empty(len(ones))._replace(lower=found.lower, upper=found.upper)
        needed = _decide(ranking, ones, positive, task, answers)
        done = answers.size >= 0
        _claim(answers, task, found, done)
        if needed is not None:
            found.size_lower[done] = len(task.include) + needed[done]
        for i in np.flatnonzero(found.minimality == "near-minimum").tolist():
            prover, k = CoinProver(self.view(rows[i]), task), int(answers.size[i])
            smaller = prover.verdict(prover.members[: k - 1])
            found.size_lower[i] = len(task.include) + prover.least_from(k)
            if smaller is False:  # what the tables left open, an engine has settled
                found.minimality[i], found.epsilon[i] = "minimum", 0.0
            elif smaller:
                found.minimality[i] = ""
        at = np.flatnonzero(found.minimality != "")
        _tell(ranking, ones[at], positive[at], answers.size[at], task, at, found)
        return {}

    def follow_together(
        self,
        rows: Row,
        orders: NDArray[np.intp],
        at: NDArray[np.int64],
        delta: Fraction,
        found: Lengths,
    ) -> NDArray[np.bool_]:
        """Follow orders on the spectra of the sums, and say which rows are left."""
        return self.sums.follow_together(rows, orders, at, delta, found)

    def score_together(
        self, rows: Row, mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Bound sets by the spectra of the sums, and say which rows are left."""
        return self.sums.score_together(rows, mask)

    def swaps(self, rows: Row, task: Task, sizes: NDArray[np.int64]) -> Swaps:
        """Tell how far down its ranking members are in every minimum reason, and in some."""
        ones = self.linear.core_rows(rows)
        ranking = self._ranking(task.include)
        helps = _helping(ranking, ones, task.exclude)
        swaps = no_swaps(sizes, helps.sum(axis=1))
        tables = ranking.usable and ranking.integers is None and task.delta < 1
        left = np.flatnonzero(sizes > 0)
        for table in ranking.swap_tables() if tables and len(left) else ():
            swaps_on_table(ranking, table, ones, task, sizes, swaps, left)
            left = left[open_swaps(swaps, left)]
            if not len(left):
                return swaps
        # Where there are many features the tables have the last word, as in a search.
        if tables and len(ranking.features) > MOST_COMPILED and ranking.has_swaps:
            return swaps
        for i in left.tolist():
            prover, size = CoinProver(self.view(rows[i]), task), int(sizes[i])
            needed, possible = (partial(f, size) for f in (prover.is_needed, prover.is_possible))
            swaps.needed[i] = last_place(needed, *swaps.needed[i].tolist())
            swaps.possible[i] = last_place(possible, *swaps.possible[i].tolist())
        return swaps

    def ranked_sets(self, row: Row, task: Task) -> Ranked:
        """Return the members of a row by rank, and what bounds a set of places among them."""
        prover = CoinProver(self.view(row), task)
        quick = SetBounds.of(self._ranking(task.include), prover.view.instance.row, task)

        def bound(places: tuple[int, ...]) -> tuple[bool | None, float]:
            chosen = [prover.members[p] for p in places]
            if quick is not None:
                lower, upper = quick.bounds(chosen)
                if lower >= float_above(task.delta):
                    return True, lower
                if upper < float_below(task.delta):
                    return False, lower
            verdict = prover.settled(chosen)
            return verdict, prover.guarantee(chosen).lower if verdict else 0.0

        return prover.members, bound

    def _ranking(self, forced: tuple[int, ...]) -> Ranking:
        return self._rankings.get(forced, lambda: Ranking.of(self.core, forced))

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return self.sums.nbytes + sum(ranking.nbytes for ranking in self._rankings.values())


def _helping(
    ranking: Ranking, rows: NDArray[np.bool_], exclude: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Tell which ranks of each row are members: their score is positive, and they are allowed."""
    positive = ranking.model.is_positive(rows)[:, None]
    agrees = rows[:, ranking.features] == ranking.upward
    helps: NDArray[np.bool_] = (agrees == positive) & ~np.isin(ranking.features, exclude)
    return helps


def _decide(
    ranking: Ranking,
    rows: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    task: Task,
    answers: Answers,
) -> NDArray[np.int64] | None:
    """Answer rows by whole numbers or by tables; return how many features certainty needs."""
    if task.delta < 1:
        _search_together(ranking, rows, positive, task, answers)
        return None
    most = _most(ranking, task)
    whole = WholeRows.of(ranking, rows, positive, task.exclude)
    needed = whole.certain(most, answers)
    short = np.flatnonzero(needed > most)
    if task.max_size is not None and len(short):
        best = answers.take(short)
        _search_together(ranking, rows[short], positive[short], task, best)
        answers.put(short, best)
    return needed


def _most(ranking: Ranking, task: Task) -> int:
    """Return the most features that may be added to the forced ones."""
    n = len(ranking.features)
    return n if task.most is None else min(task.most, n)


def _claim(answers: Answers, task: Task, found: Found, done: NDArray[np.bool_]) -> None:
    """Say what the bounds of each answer prove; they are in place already."""
    reached = answers.lower >= float_above(task.delta)
    near = done & reached & (answers.size > 0) & (answers.before >= float_below(task.delta))
    # Where not even this many are enough, one more is needed at least.
    short = ~reached & (answers.upper < float_below(task.delta))
    least = np.where(reached | short, answers.size + short, 0) + len(task.include)
    found.minimality[done] = np.where(reached, "minimum", "best-of-size")[done]
    found.minimality[near] = "near-minimum"
    found.size_lower[done] = least[done]
    for i in np.flatnonzero(near):
        found.epsilon[i] = _just_above(Fraction(answers.before[i]) - task.delta)


def _tell(
    ranking: Ranking,
    rows: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    task: Task,
    at: NDArray[np.intp],
    found: Found,
) -> None:
    """Write down the sets of some rows: so many of the members of each, by decreasing score."""
    ranks = ranking.candidates(ranking.magnitudes, task.exclude)
    forced = np.array(task.include, dtype=np.int64)
    whole = sizes + len(forced)
    told = np.empty(int(whole.sum()), dtype=np.int32)
    write_members(rows, positive, ranks, sizes, forced, told)
    found.writer.write_many(at, whole, told)


def _just_above(value: Fraction) -> float:
    return math.nextafter(float_above(value), 2.0)


def _search_together(
    ranking: Ranking,
    rows: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    task: Task,
    answers: Answers,
) -> None:
    """Answer the rows that counting, or shared tables, decide.

    Where delta is 1, these are rows without certainty: the best sets of the largest size are
    looked at, and no level ends the search before.
    """
    n, most = len(ranking.features), _most(ranking, task)
    low, high = float_below(task.delta), float_above(task.delta)
    if task.delta == 1:
        low = high = math.inf
    if n <= _FEW:
        WholeRows.of(ranking, rows, positive, task.exclude).count(high, most, answers)
    if n <= _FEW or not ranking.usable:
        return
    if ranking.integers is not None:
        form = ranking.model.integer_form
        totals = rows @ np.array(form.weights, dtype=np.int64)
        margins = np.where(positive, totals - form.threshold, form.threshold - 1 - totals)
        ranks = ranking.candidates(ranking.integers, task.exclude)
        lattice_rows(rows, positive, margins, ranks, Level(low, high), most, answers)
        return
    ranks = ranking.candidates(ranking.magnitudes, task.exclude)
    # The bounds go one ulp outward at the end, so the level has to be passed by one more.
    level, quantile = Level(low, high), math.inf
    if task.delta < 1:
        quantile = float(np.clip(ndtri(low), -8.0, 8.0))
        level = Level(low, min(math.nextafter(high, 2.0), 1.0))
    cut = ranking.cuts(rows, positive)
    batch = TableRows(rows, positive, cut, ranking.blur, shared=not task.include)
    settings = (ranks, level, quantile, most)
    search_rows(batch, *settings, ranking.tables(0), False, answers)
    # The tables have the last word on rows that are too long to count, unless a slack or a level
    # next to 1 (where certainty must be told from near-certainty) asks for more care.
    careful = task.slack is not None or task.delta > _NEXT_TO_ONE
    last = None if careful or n <= MOST_COMPILED else len(EFFORTS) - 1
    # Deeper tables pay where products decay, so that the largest degree has few live nodes.
    decays = np.mean(ranking.tables(0).degree == EFFORTS[0][1]) >= 0.5
    deepest = len(EFFORTS) if last and decays else 2 if decays or n <= MOST_COMPILED else 1
    for effort in range(1, deepest):
        left = np.flatnonzero(answers.size < 0)
        if not len(left):
            break
        again, tables = answers.take(left), ranking.tables(effort)
        some = batch._replace(rows=rows[left], positive=positive[left], cut=cut[left])
        search_rows(some, *settings, tables, effort == last, again)
        answers.put(left, again)
    np.nextafter(answers.lower, -1.0, out=answers.lower, where=answers.lower < 1)
    np.maximum(answers.lower, 0.0, out=answers.lower)
    np.nextafter(answers.upper, 2.0, out=answers.upper, where=answers.upper < 1)


class CoinView(View):
    """One instance whose unknown features are fair coins, seen through its scores."""

    chain = True

    def __init__(self, instance: Instance, known: Memo[Enclosure]) -> None:
        super().__init__(len(instance.row))
        self.instance = instance
        self._known = known

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
            (self.instance.positive, facts, delta, tol),
            lambda: enclose(self.instance.subset_sum(features), delta, tol),
        )

    def is_certain(self, fixed: Collection[int]) -> bool:
        """Tell whether a set keeps the class for certain (Proposition 8)."""
        return self.certain_along(list(fixed))[-1]

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size along an order whether the class is kept for certain."""
        question, helps = self.instance.subset_sum(()), self.instance.helps
        costs = (self.instance.magnitudes[u] if helps[u] else 0 for u in order)
        worst = sum(v for v, h in zip(self.instance.magnitudes, helps, strict=True) if h)
        margin = question.capacity - (question.total - worst)
        return [left <= margin for left in accumulate(costs, lambda a, b: a - b, initial=worst)]

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing score: the best of each size come first."""
        inside = set(members)
        return [[u for u in self.instance.order.tolist() if u in inside]]

    def along(self, order: Sequence[int], tol: float) -> list[Enclosure]:
        """Enclose the guarantee along an order; one pass for all sizes where it is by score."""
        if list(order) == self.instance.order.tolist():
            return enclose_prefixes(self.instance, tol)
        return super().along(order, tol)

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


class CoinProver(Prover):
    """The sets of one instance whose unknown features are fair coins: prefixes are the best."""

    view: CoinView

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

    def is_needed(self, size: int, place: int) -> bool | None:
        """Tell whether a member is in every set of a size that reaches the level (Prop. 63)."""
        others = [u for u in self.members[: size + 1] if u != self.members[place]]
        verdict = self.verdict(others[:size])
        return None if verdict is None else not verdict

    def is_possible(self, size: int, place: int) -> bool | None:
        """Tell whether a member is in some set of a size that reaches the level (Prop. 63)."""
        return self.verdict([*self.members[: size - 1], self.members[place]])

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

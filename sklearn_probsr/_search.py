"""Search: which features, how few, and with what proof.

Under the uniform distribution the features with positive scores, by decreasing score, are the
answer (the exchange lemma): the best set of each size is a prefix, and prefixes only get better.
So one number is searched, the smallest k with ``v_k >= delta``. Rows are first tried all together
on tables that depend on the model alone; what those leave undecided goes through the cascade of
engines, row by row. A row's answer never depends on the other rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_probsr._deficits import Instance
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._exact import float_above, float_below
from sklearn_probsr._model import LinearModel
from sklearn_probsr._ranking import EFFORTS, Ranking
from sklearn_probsr.engines import enclose
from sklearn_probsr.engines._enumeration import MOST_COMPILED
from sklearn_probsr.engines._lattice import lattice_rows
from sklearn_probsr.engines._rows import Answers, Candidates
from sklearn_probsr.engines._walk import Level, search_rows
from sklearn_probsr.exceptions import UnreachableError

__all__ = ["Effort", "Found", "Limits", "Task", "search", "unreachable"]

# Width to which the guarantee of an answer is computed.
_TOL = 1e-4
# Guarantees over so few features are always exact.
_FEW = 16
_NEXT_TO_ONE = Fraction(999, 1000)
# Long enough for every word of minimality.
_WORD = "<U20"


# What a proof may cost: so many sets, and together so many row visits or nodes of spectra.
_SETS, _MANY_SETS = 10_000, 200_000
_WORK, _MUCH_WORK = 1_000_000, 2**62


@dataclass(frozen=True)
class Limits:
    """Where one way to refute sets ends and another begins; the answers are right with any.

    Parameters
    ----------
    few_sets : int, default=64
        Sets as few as these are looked at one by one in any case.
    most_sets : int, default=1000
        So many are refuted one by one where each is counted.
    most_compared : int, default=200
        So many of the size of the set found are compared with it.
    sets_each, sets_at_once : int, default=8 and 128
        Up to so many up-sets a candidate, and so many at all, are bounded at once. With more, units
        are first compared in context, which costs about as much.
    room : int, default=64
        Sets that spectra may leave open; they are looked at one by one.
    most_ranked : int, default=1024
        Laws with more values than this together are compared in floats, which never claims too
        much.
    """

    few_sets: int = 64
    most_sets: int = 1000
    most_compared: int = 200
    sets_each: int = 8
    sets_at_once: int = 128
    room: int = 64
    most_ranked: int = 1024


@dataclass(frozen=True)
class Effort:
    """How hard to try to prove that no smaller set reaches delta.

    Parameters
    ----------
    prove : {"auto", True, False}
    max_evals : int or None
        The most sets of one size to be bounded or counted for a row. None: as many as take about
        ten milliseconds if ``prove="auto"``, and 200,000 if ``prove=True``.
    time_limit : float
        Seconds that an integer programme may take for a row, if ``prove=True``.
    limits : Limits
    """

    prove: str | bool = "auto"
    max_evals: int | None = None
    time_limit: float = 10.0
    limits: Limits = Limits()

    @property
    def wanted(self) -> bool:
        """Whether a proof is to be tried at all."""
        return self.prove is not False

    @property
    def thorough(self) -> bool:
        """Whether a proof may take long."""
        return self.prove is True

    @property
    def sets(self) -> int:
        """How many sets of independent units may be bounded."""
        if self.max_evals is not None:
            return self.max_evals
        return _MANY_SETS if self.thorough else _SETS

    @property
    def work(self) -> int:
        """How many nodes of spectra may be visited, set by set."""
        return _WORK if self.max_evals is None and not self.thorough else _MUCH_WORK

    def visits(self, n: int) -> int:
        """Return how many of n background rows may be visited, set by set."""
        return min(self.sets * n, self.work)


@dataclass(frozen=True)
class Task:
    """What is asked of every row.

    Parameters
    ----------
    delta : Fraction
    include, exclude : tuple of int
        Features forced in and out.
    max_size : int or None
        The most features, those in ``include`` counted.
    slack : Fraction or None
        How far below delta a guarantee may be proved, if that keeps a set from being larger
        than the minimum. None: not at all.
    effort : Effort
        For proofs; uniform binary features need none.
    """

    delta: Fraction
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    max_size: int | None = None
    slack: Fraction | None = None
    effort: Effort = Effort()

    @property
    def most(self) -> int | None:
        """How many features may be added to the forced ones."""
        return None if self.max_size is None else self.max_size - len(self.include)


@dataclass(frozen=True)
class Found:
    """The answers, one row each; ``exact`` holds guarantees that are known as fractions.

    ``size_lower`` is the size below which no allowed set reaches delta, as far as was proved.
    """

    mask: NDArray[np.bool_]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    minimality: NDArray[np.str_]
    epsilon: NDArray[np.float64]
    size_lower: NDArray[np.int64]
    exact: dict[int, Fraction]

    @classmethod
    def empty(cls, n: int, units: int) -> Found:
        """Return room for the answers of some rows."""
        mask = np.zeros((n, units), dtype=np.bool_)
        names = np.full(n, "", dtype=_WORD)
        least = np.zeros(n, dtype=np.int64)
        return cls(mask, np.zeros(n), np.ones(n), names, np.zeros(n), least, {})

    def write(
        self,
        i: int,
        features: list[int],
        guarantee: Enclosure,
        minimality: str,
        size_lower: int,
        epsilon: float = 0.0,
    ) -> None:
        """Write down the answer of one row."""
        self.mask[i, features] = True
        self.minimality[i], self.epsilon[i] = minimality, epsilon
        self.size_lower[i] = size_lower
        self.bound(i, guarantee)

    def bound(self, i: int, guarantee: Enclosure) -> None:
        """Write down the guarantee of one row."""
        self.lower[i], self.upper[i] = guarantee.lower, guarantee.upper
        if guarantee.exact is not None:
            self.exact[i] = guarantee.exact


def search(model: LinearModel, rows: NDArray[np.bool_], task: Task) -> Found:
    """Return the smallest set of each row that reaches delta, with what was proved of it."""
    answers = Answers.empty(*rows.shape)
    ranking = model.cached(("ranking", task.include), lambda: Ranking.of(model, task.include))
    if ranking.usable and task.delta < 1:
        _search_together(ranking, np.ascontiguousarray(rows), task, answers)
    answers.mask[:, list(task.include)] = True
    found = _claims(answers, task)
    for i in np.flatnonzero(found.minimality == "near-minimum"):
        prefixes = _Prefixes(Instance(model, rows[i]), task)
        found.size_lower[i] = len(task.include) + prefixes.least(int(answers.size[i]))
    for i in np.flatnonzero(answers.size < 0):
        _search_alone(Instance(model, rows[i]), int(i), task, found)
    if len(ranking.features) <= _FEW:
        _sharpen(model, rows, found)
    return found


def _claims(answers: Answers, task: Task) -> Found:
    """Say what the bounds of each answer prove."""
    reached = answers.lower >= float_above(task.delta)
    near = reached & (answers.size > 0) & (answers.before >= float_below(task.delta))
    minimality = np.where(reached, "minimum", "best-of-size").astype(_WORD)
    minimality[near] = "near-minimum"
    epsilon = np.zeros(len(near))
    for i in np.flatnonzero(near):
        epsilon[i] = _just_above(Fraction(answers.before[i]) - task.delta)
    # Where not even this many are enough, one more is needed at least.
    short = ~reached & (answers.upper < float_below(task.delta))
    least = np.where(reached | short, answers.mask.sum(axis=1) + short, len(task.include))
    return Found(answers.mask, answers.lower, answers.upper, minimality, epsilon, least, {})


def _just_above(value: Fraction) -> float:
    return math.nextafter(float_above(value), 2.0)


def _sharpen(model: LinearModel, rows: NDArray[np.bool_], found: Found) -> None:
    """Make the guarantees of few features exact; rows with the same facts share the work."""
    for i in np.flatnonzero(found.lower < found.upper):
        if int(i) not in found.exact:
            features = np.flatnonzero(found.mask[i]).tolist()
            found.bound(int(i), _known(Instance(model, rows[i]), features, None))


def _known(instance: Instance, features: list[int], delta: Fraction | None) -> Enclosure:
    """Enclose the guarantee of a set; the same facts and class are asked once per model."""
    facts = tuple((j, bool(instance.row[j])) for j in sorted(features))
    return instance.model.cached(
        ("enclosure", instance.positive, facts, delta),
        lambda: enclose(instance.subset_sum(features), delta, _TOL),
    )


def _search_together(
    ranking: Ranking, rows: NDArray[np.bool_], task: Task, answers: Answers
) -> None:
    """Answer the rows that shared tables decide."""
    n = len(ranking.features)
    fixable = ~np.isin(ranking.features, task.exclude)
    most = n if task.most is None else min(task.most, n)
    low, high = float_below(task.delta), float_above(task.delta)
    positive = ranking.model.is_positive(rows)
    if ranking.integers is not None:
        form = ranking.model.integer_form
        totals = rows @ np.array(form.weights, dtype=np.int64)
        margins = np.where(positive, totals - form.threshold, form.threshold - 1 - totals)
        ranks = Candidates(ranking.features, ranking.integers, ranking.upward, fixable)
        lattice_rows(rows, positive, margins, ranks, low, high, most, answers)
        return
    ranks = Candidates(ranking.features, ranking.magnitudes, ranking.upward, fixable)
    offsets = ranking.offsets(rows, positive)
    quantile = float(np.clip(ndtri(low), -8.0, 8.0))
    # The bounds go one ulp outward at the end, so the level has to be passed by one more.
    level = Level(low, min(math.nextafter(high, 2.0), 1.0), quantile)
    settings = (ranks, ranking.blur, level, most)
    shared = not task.include
    search_rows(rows, positive, offsets, *settings, ranking.tables(0), False, shared, answers)
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
        final = effort == last
        search_rows(
            rows[left], positive[left], offsets[left], *settings, tables, final, shared, again
        )  # fmt: skip
        answers.put(left, again)
    np.nextafter(answers.lower, -1.0, out=answers.lower, where=answers.lower < 1)
    np.maximum(answers.lower, 0.0, out=answers.lower)
    np.nextafter(answers.upper, 2.0, out=answers.upper, where=answers.upper < 1)


class _Prefixes:
    """The guarantees of one row's prefixes, enclosed on demand and remembered."""

    def __init__(self, instance: Instance, task: Task) -> None:
        self.instance = instance
        self.forced = list(task.include)
        self.members = instance.members({*task.include, *task.exclude})
        self.delta = task.delta

    def features(self, k: int) -> list[int]:
        return self.forced + self.members[:k]

    def enclosure(self, k: int) -> Enclosure:
        """Enclose the guarantee of the first k until delta is on one side, or effort ends."""
        return _known(self.instance, self.features(k), self.delta)

    def reaches(self, k: int) -> bool | None:
        return (self.enclosure(k) >= self.delta).value

    def narrowed(self, k: int) -> Enclosure:
        """Enclose the guarantee of the first k narrowly, for the eyes of a reader."""
        return self.enclosure(k).intersect(_known(self.instance, self.features(k), None))

    def least(self, k: int) -> int:
        """Return the size, at most k, below which nothing reaches delta as far as is proved."""
        while k > 0 and self.reaches(k - 1) is not False:
            k -= 1
        return k

    def first_certain(self) -> int | None:
        """Return the smallest k whose guarantee is exactly 1."""
        question = self.instance.subset_sum(self.forced)
        left = question.total
        for k in range(len(self.members) + 1):
            if left <= question.capacity:
                return k
            if k < len(self.members):
                left -= self.instance.magnitudes[self.members[k]]
        return None

    def first_reaching(self) -> int | None:
        """Return a k that surely reaches delta, after one that is not sure to."""
        if self.delta == 1:
            return self.first_certain()
        below, at = -1, len(self.members)
        if not self.reaches(at):
            return None
        while at - below > 1:
            middle = (at + below) // 2
            below, at = (below, middle) if self.reaches(middle) else (middle, at)
        # An undecided size may hide a smaller one that is decided.
        while below >= 0 and self.reaches(below) is not False:
            at = below if self.reaches(below) else at
            below -= 1
        return at


def unreachable(
    task: Task, i: int, what: str, best: str, over: str = "uniform completions"
) -> UnreachableError:
    """Return the error that names the best guarantee without the excluded features."""
    return UnreachableError(
        f"delta = {float(task.delta):g} {what} for row {i} without the features in exclude: the "
        f"best guarantee that the others give is {best} ({over}). Exclude fewer features, lower "
        "delta, or set max_size to get the best set all the same."
    )


def _search_alone(instance: Instance, i: int, task: Task, found: Found) -> None:
    """Answer one row by the cascade of engines and write it down."""
    prefixes = _Prefixes(instance, task)
    k = prefixes.first_reaching()
    most = len(prefixes.members) if task.most is None else task.most
    epsilon = 0.0
    if k is None and task.max_size is None:
        best = prefixes.narrowed(len(prefixes.members))
        sure = (best < task.delta).value
        raise unreachable(task, i, "cannot be reached" if sure else "is not proved", f"{best}")
    if k is not None and k > most and task.slack is not None:
        k, epsilon = _near_minimum(prefixes, k, task)
    least = prefixes.least(len(prefixes.members) + 1 if k is None else k)
    if k is None or k > most:
        k, minimality, epsilon = min(most, len(prefixes.members)), "best-of-size", 0.0
    elif epsilon:
        minimality = "near-minimum"
    elif k == 0 or task.delta == 1 or prefixes.reaches(k - 1) is False:
        minimality = "minimum"
    else:
        k, epsilon = _near_minimum(prefixes, k, task)
        minimality = "near-minimum"
    least = len(task.include) + (k if minimality == "minimum" else least)
    found.write(i, prefixes.features(k), prefixes.narrowed(k), minimality, least, epsilon)


def _near_minimum(prefixes: _Prefixes, k: int, task: Task) -> tuple[int, float]:
    """Choose between k, which surely suffices, and smaller sizes that may.

    Strictly (no slack): no smaller set reaches ``delta + epsilon``, with epsilon just above
    ``upper_{k-1} - delta``. (Where nothing is excluded v_{k-1} < v_k, by the strictness lemma,
    so the set is a minimum for some level in ``[delta, delta + epsilon]``.)
    With slack: the smallest size that is not surely too small is no larger than the minimum,
    and is taken if its guarantee is proved to be within the slack.
    """
    if task.slack is not None:
        small = k
        while small > 0 and prefixes.reaches(small - 1) is not False:
            small -= 1
        short = task.delta - Fraction(prefixes.narrowed(small).lower)
        if short <= task.slack:
            return small, float_above(max(short, Fraction(0)))
    return k, _just_above(Fraction(prefixes.enclosure(k - 1).upper) - task.delta)

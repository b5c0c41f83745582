"""The search among rows that share facts: the fewest facts, of a part of the rows.

What is proved of a set is proved of the rows searched, not of those that they were drawn from;
of these the enclosure speaks, which comes from the rows held out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.options import Task
from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.engines.rows._facts import Rules, best_of_size, worth
from sklearn_probsr.engines.rows._telling_facts import grown
from sklearn_probsr.laws.rows._matched_rows import and_all
from sklearn_probsr.laws.rows._neighbours import Neighbours
from sklearn_probsr.model._value_text import exact_text

__all__ = ["fewest_facts", "rules_of"]

# Words of 64 rows that the exact search of one instance may look at: about 10 ms.
_BUDGET = 10_000_000
# Beyond the budget, so many sets of each size are grown further.
_BEAM = 32
# Sets of up to so many facts are compared with all their subsets.
_MOST_SUBSETS = 10


def fewest_facts(i: int, seen: Neighbours, task: Task, rules: Rules, found: Found) -> None:
    """Write down for a row a small set that reaches delta in the rows searched, and its bounds."""
    features, minimality, least = _Search(seen, task, rules).run(
        partial(found.give_up, i, task=task)
    )
    found.write(i, features, seen.enclose(features), minimality, least)


def rules_of(matching: Matching, delta: Fraction) -> Rules:
    """Return in whole numbers when rows that share facts are enough, and good enough."""
    n = int(np.count_nonzero(~matching.confirming))
    return (_cautious_rules if matching.cautious else _rules)(n, matching.min_rows, delta)


def _rules(n: int, least: int, delta: Fraction) -> Rules:
    """Return in whole numbers what reaches delta."""
    need = [math.ceil(delta * k) for k in range(n + 1)]
    # The most bad rows beside g good ones: g >= delta (g + b).
    allow = [min(math.floor(g / delta) - g, n) if delta else n for g in range(n + 1)]
    return Rules(np.array(need), np.array(allow), least)


def _cautious_rules(n: int, least: int, delta: Fraction) -> Rules:
    """Return in whole numbers what reaches delta by the lower bound of its share."""
    level = float(delta)
    need = np.empty(n + 1, np.int64)
    least_good = 0
    for k in range(n + 1):
        # Of more rows at least as many must be good.
        while least_good <= k and worth(least_good, k - least_good) < level:
            least_good += 1
        need[k] = least_good
    good = np.arange(n + 1)
    most = np.searchsorted(need, good, side="right") - 1  # of how many rows so many good ones do
    return Rules(need, np.maximum(most - good, -1), least)


class _Layer(NamedTuple):
    """Sets of one size that grew from the best of those before."""

    kept: list[tuple[int, ...]]  # the best of them, to be grown further
    first: tuple[tuple[int, ...], float]  # the best, and what it is worth
    enough: tuple[int, ...] | None  # the best of those that reach delta


class _Search:
    """The search of one instance; facts that can tell (Lemma 150) are numbered from 0."""

    def __init__(self, seen: Neighbours, task: Task, rules: Rules) -> None:
        self.seen, self.task, self.rules = seen, task, rules
        members = np.flatnonzero(task.may_choose(1, seen.n_units)[0])
        self.n_members = len(members)
        self.most = self.n_members if task.most is None else min(task.most, self.n_members)
        told = seen.telling(task.include, members, rules.least)
        telling, self.facts, self.missed = told
        self.telling: list[int] = telling.tolist()
        # Larger sets hold a fact that does nothing.
        self.largest = min(self.most, len(telling))
        self._layers: list[_Layer] = []

    def run(self, give_up: Callable[[str], None]) -> tuple[list[int], str, int]:
        """Return the row's features, what was proved of them, and the least size of any such set.

        ``give_up`` is told why none reaches delta.
        """
        chosen, refuted = self._smallest(self.rules)
        word = "minimum"
        if chosen is None and refuted <= self.most:
            chosen = next((layer.enough for layer in self._beam() if layer.enough), None)
            if chosen is not None:
                chosen, word = self._shrunk(chosen, refuted)
        if chosen is None:
            chosen, word = self._best(), "best-of-size"
            if chosen is None or self.task.max_size is None:
                give_up(self._unreachable(chosen, refuted > self.most))
                chosen = chosen or ()
        told = self.seen.orders([self.telling[j] for j in chosen], self.task.include)[0]
        least = len(chosen) if word == "minimum" else min(refuted, self.n_members)
        return [*self.task.include, *told], word, len(self.task.include) + least

    def _smallest(self, rules: Rules) -> tuple[tuple[int, ...] | None, int]:
        """Return a smallest set that is good enough, or the first size that stayed open."""
        budget = _BUDGET
        for size in range(self.largest + 1):
            verdict, chosen, _, deeper, spent = best_of_size(
                self.facts, self.missed, rules, size, budget
            )
            budget -= spent
            if verdict == 1:
                return tuple(chosen.tolist()), size
            if verdict < 0:
                return None, size
            if not deeper:
                break
        return None, self.most + 1

    def _best(self) -> tuple[int, ...] | None:
        """Return the best set found, whether it reaches delta or not; None if rows are too few."""
        n = len(self.rules.need)
        any_share = Rules(np.zeros(n, np.int64), np.full(n, n, np.int64), self.rules.least)
        best, value, budget = None, -1.0, _BUDGET
        for size in range(self.largest + 1):
            verdict, chosen, found, _, spent = best_of_size(
                self.facts, self.missed, any_share, size, budget
            )
            budget -= spent
            if found > value:
                best, value = tuple(chosen.tolist()), found
            if verdict == 0:
                return best
            if budget < 0:
                break
        for layer in self._beam() if budget < 0 else ():
            if layer.first[1] > value:
                best, value = layer.first
        return best

    def _beam(self) -> Iterator[_Layer]:
        """Grow sets by one fact at a time from the best of each size; none has too few rows.

        Every fact removes a bad row that the others leave, so there is an end.
        """
        for size in range(self.largest):
            if len(self._layers) == size:
                nothing: list[tuple[int, ...]] = [()]
                found = self._grown(self._layers[-1].kept if size else nothing)
                if found is None:
                    return
                self._layers.append(found)
            yield self._layers[size]

    def _grown(self, before: list[tuple[int, ...]]) -> _Layer | None:
        """Return what some sets grow to with one fact more, if they do."""
        parts = [grown(self.facts, self.missed, self.rules, *self._rows(s), _BEAM) for s in before]
        parents = np.repeat(np.arange(len(before)), [len(facts) for facts, *_ in parts])
        facts, worths, enough = map(np.concatenate, zip(*parts, strict=True))
        if not len(facts):
            return None
        # A set grows from as many others as it has facts, at most.
        rank = max(len(worths) - _BEAM * min(len(before[0]) + 1, len(before)), 0)
        asked = worths >= np.partition(worths, rank)[rank]
        if enough.any():
            asked |= enough & (worths == worths[enough].max())
        found, reaching = {}, set()
        for i in np.flatnonzero(asked).tolist():
            larger = tuple(sorted((*before[parents[i]], int(facts[i]))))
            found[larger] = float(worths[i])
            if enough[i]:
                reaching.add(larger)
        order = sorted(found, key=lambda s: (-found[s], s))
        first = next((s for s in order if s in reaching), None)
        return _Layer(order[:_BEAM], (order[0], found[order[0]]), first)

    def _shrunk(self, chosen: tuple[int, ...], least: int) -> tuple[tuple[int, ...], str]:
        """Leave out facts as long as what is left reaches delta; no set below ``least`` does."""
        if len(chosen) <= _MOST_SUBSETS:
            smaller = (s for k in range(least, len(chosen)) for s in combinations(chosen, k))
            return next(filter(self._reaches, smaller), chosen), "subset-minimal"
        parts = combinations(chosen, len(chosen) - 1)
        smaller_by_one = next(filter(self._reaches, parts), None)
        if smaller_by_one is None:
            return chosen, "locally-minimal"
        return self._shrunk(smaller_by_one, least)

    def _reaches(self, chosen: Collection[int]) -> bool:
        return self._enough(*self._left(chosen))

    def _enough(self, good: int, bad: int) -> bool:
        n = good + bad
        return bool(n >= self.rules.least and good >= self.rules.need[n])

    def _left(self, chosen: Collection[int]) -> tuple[int, int]:
        """Count the good and the bad rows that share the facts of a set."""
        good, bad = (int(np.bitwise_count(rows).sum()) for rows in self._rows(chosen))
        return good, bad

    def _rows(self, chosen: Collection[int]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the good and the bad rows that share the facts of a set, as bits."""
        at, facts = list(chosen), self.facts
        return and_all(facts.all_good, facts.good[at]), and_all(facts.all_bad, facts.bad[at])

    def _unreachable(self, best: tuple[int, ...] | None, proved: bool) -> str:
        task, least, rows = self.task, self.rules.least, self.seen.matches(()).searched.rows
        if best is None:
            left = sum(self._left(()))
            share = "shares" if left == 1 else "share"
            shared = f"{left:,} of the {rows:,} rows searched {share} the facts in include"
            if not task.include:
                shared = f"without a copy of the row itself, {rows:,} rows are searched"
            return (
                f"min_rows = {least} is not reached for this row: {shared}. Lower min_rows"
                f"{', or include fewer features' if task.include else ''}."
            )
        good, bad = self._left(best)
        what = "cannot be reached" if proved else "is not reached by any set found"
        hint = ", or set max_size to get the best set all the same" if not task.flag else ""
        kept = ["with the features in include"] if task.include else []
        kept += [task.barring] if task.restricted or task.exclude else []
        barred = f" {' and '.join(kept)}" if kept else ""
        level = exact_text(float(task.delta))
        return (
            f"delta = {level} {what} for this row{barred}: of the sets that at least "
            f"min_rows = {least} of the {rows:,} rows searched share, the best "
            f"{'' if proved else 'found '}by Wilson's lower bound keeps the class in {good:,} of "
            f"{good + bad:,}. Lower delta or min_rows{hint}."
        )

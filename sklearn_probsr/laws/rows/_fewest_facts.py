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

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.engines.rows._facts import Rules, best_of_size, worth
from sklearn_probsr.laws._task import Found, Task
from sklearn_probsr.laws.rows._neighbours import Neighbours, and_all, counts

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


class _Search:
    """The search of one instance; members are numbered from 0."""

    def __init__(self, seen: Neighbours, task: Task, rules: Rules) -> None:
        self.seen, self.task, self.rules = seen, task, rules
        self.members = task.open_to(seen.members())
        self.facts = seen.facts(task.include, self.members)
        self.most = len(self.members) if task.most is None else min(task.most, len(self.members))

    def run(self, give_up: Callable[[str], None]) -> tuple[list[int], str, int]:
        """Return the row's features, what was proved of them, and the least size of any such set.

        ``give_up`` is told why none reaches delta.
        """
        chosen, refuted = self._smallest(self.rules)
        word = "minimum"
        if chosen is None and refuted <= self.most:
            chosen = next((s for s, good, bad in self._beam() if self._enough(good, bad)), None)
            if chosen is not None:
                chosen, word = self._shrunk(chosen, refuted)
        if chosen is None:
            chosen, word = self._best(), "best-of-size"
            if chosen is None or self.task.max_size is None:
                give_up(self._unreachable(chosen, refuted > self.most))
                chosen = chosen or ()
        told = self.seen.orders([self.members[j] for j in chosen], self.task.include)[0]
        least = len(chosen) if word == "minimum" else min(refuted, len(self.members))
        return [*self.task.include, *told], word, len(self.task.include) + least

    def _smallest(self, rules: Rules) -> tuple[tuple[int, ...] | None, int]:
        """Return a smallest set that is good enough, or the first size that stayed open."""
        budget = _BUDGET
        for size in range(self.most + 1):
            verdict, chosen, _, deeper, spent = best_of_size(self.facts, rules, size, budget)
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
        for size in range(self.most + 1):
            verdict, chosen, found, _, spent = best_of_size(self.facts, any_share, size, budget)
            budget -= spent
            if found > value:
                best, value = tuple(chosen.tolist()), found
            if verdict == 0:
                return best
            if budget < 0:
                break
        for grown, good, bad in self._beam() if budget < 0 else ():
            if worth(good, bad) > value:
                best, value = grown, worth(good, bad)
        return best

    def _beam(self) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """Grow sets by one fact at a time from the best of each size, and return them all.

        They come by size, the best first, with their good and bad rows; none has too few.
        """
        layer: list[tuple[tuple[int, ...], int, int]] = [((), *self._left(()))]
        for _ in range(self.most):
            grown = {}
            for chosen, _, _ in layer[:_BEAM]:
                rows = self._rows(chosen)
                for j, (good, bad) in enumerate(counts(self.facts, *rows)):
                    if j not in chosen and good + bad >= self.rules.least:
                        grown[tuple(sorted((*chosen, j)))] = good, bad
            order = sorted(grown, key=lambda s: (-worth(*grown[s]), s))
            layer = [(chosen, *grown[chosen]) for chosen in order]
            yield from layer

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
            shared = f"{left} of the {rows} rows searched share the facts in include"
            if not task.include:
                shared = f"without a copy of the row itself, {rows} rows are searched"
            return (
                f"min_rows = {least} is not reached for this row: {shared}. Lower min_rows"
                f"{', or include fewer features' if task.include else ''}."
            )
        good, bad = self._left(best)
        what = "cannot be reached" if proved else "is not reached by any set found"
        hint = ", or set max_size to get the best set all the same" if not task.flag else ""
        barred = f" {task.barring}" if task.restricted else ""
        return (
            f"delta = {float(task.delta):g} {what} for this row{barred}: of the sets that at least "
            f"min_rows = {least} of the {rows} rows searched share, the best keeps the class in "
            f"{good} of {good + bad}. Lower delta or min_rows{hint}."
        )

"""The cheapest set of a row that reaches delta, where features differ in what they cost.

The search of the fewest features comes first: it tells whether delta is reached at all, and below
which size nothing does. Then sets are proposed by what features are worth for their cost, the
dearest are left out first, and branch and bound looks for a cheaper one until there is none
(proved), or the budget is spent. Of sets that cost the same the smallest is taken: a feature counts
its cost times more than there are features, and one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Effort, Task
from sklearn_probsr.core.prices import Prices
from sklearn_probsr.core.scout import Branched, Scout
from sklearn_probsr.core.search import Prover, search

__all__ = ["search_cheapest"]

# Proposals that are much longer than the fewest features are not pruned, one by one.
_LONGER, _LONG = 4, 32
# A bound of the least cost is looked for in so many steps.
_STEPS = 24


def search_cheapest(law: Law, rows: Any, task: Task) -> Found:
    """Return a cheap set of each row that reaches delta, and what was proved of it."""
    prices = task.prices
    assert prices is not None
    # Half of the time is for the fewest features.
    effort = replace(task.effort, time_limit=task.effort.time_limit / 2)
    task = replace(task, slack=None, effort=effort)
    found = search(law, rows, task)
    forced = prices.total(task.include)
    rows = rows if law.takes_sparse else np.asarray(rows)
    asked = law.within(rows, task)
    sets = found.sets
    cheap = Found.empty(len(rows), law.model.n_units)
    for i in range(len(rows)):
        if i in found.flagged or found.minimality[i] == "best-of-size":
            _copy(found, cheap, i, sets.of(i))
            cheap.cost_lower[i] = forced
            continue
        own = asked.of_row(i)
        prover = law.prover(law.view(rows[i]), own)
        one = _Cheapest(law, rows[i], prover, prices, int(found.size_lower[i]) - len(task.include))
        chosen, word = one.run(set(sets.of(i)) - set(task.include))
        cheap.cost_lower[i] = forced + one.least
        features = [*prover.forced, *prover.in_order(chosen)]
        cheap.write(i, features, prover.guarantee(chosen), word, int(found.size_lower[i]))
        if (own.is_late or found.stopped[i] == "time") and word != "minimum":
            cheap.stopped[i] = "time"
        del one, prover  # as in `search`
    cheap.flagged.update(found.flagged)
    return cheap


def _copy(found: Found, target: Found, i: int, features: tuple[int, ...]) -> None:
    """Write down for a row what was found of it."""
    target.writer.write(i, features)
    for name in ("lower", "upper", "minimality", "epsilon", "size_lower", "stopped"):
        getattr(target, name)[i] = getattr(found, name)[i]
    if i in found.exact:
        target.exact[i] = found.exact[i]


class _Cheapest:
    """The search of one row.

    ``fewest`` members at least are in any set that reaches delta.
    """

    def __init__(self, law: Law, row: Any, prover: Prover, prices: Prices, fewest: int) -> None:
        self.prover, self.prices, self.fewest = prover, prices, fewest
        members = [int(u) for u in prover.members]
        self.base = len(members) + 1
        # By cost, and of the same cost by size.
        self.counts = {u: prices.whole[u] * self.base + 1 for u in members}
        self.scout: Scout = law.scout(prover, self.counts, row)
        self.places = {u: j for j, u in enumerate(self.scout.order)}
        most = prover.task.most
        self.most = len(members) if most is None else most
        self.floor = sum(
            sorted(self.scout.prices)[:fewest]
        )  # no set that reaches delta counts less

    @property
    def least(self) -> int:
        """What any set that reaches delta costs at least beside the forced ones, as proved."""
        return self.floor // self.base

    def run(self, start: set[int]) -> tuple[set[int], str]:
        """Return the row's members, and what was proved of them, from a set that reaches delta."""
        best = min(self._proposed(start), key=self._count)
        effort = self.prover.task.effort
        if effort.wanted and self._count(best) > self.floor:
            best = self._branched(best, effort)
        if self._is_least(best):
            return best, "minimum"
        best = self._pruned(best)
        # Of fair coins a prover speaks of prefixes, which these sets need not be.
        claim = Prover.claim if self.prover.view.chain else type(self.prover).claim
        chosen, word, _ = claim(self.prover, best)
        return chosen, "minimum" if self._is_least(chosen) else word

    def _is_least(self, chosen: set[int]) -> bool:
        return self.prices.total(chosen) == self.least

    def _count(self, chosen: set[int]) -> int:
        return sum(self.counts[u] for u in chosen)

    def _proposed(self, start: set[int]) -> Iterator[set[int]]:
        """Return sets that reach delta and of which nothing is known to be superfluous."""
        scout, n = self.scout, len(self.scout.order)
        proposed = scout.proposed()
        if proposed is not None:
            yield start
            yield from (set(scout.units(places)) for places in proposed if len(places) <= self.most)
            return
        yield self._pruned(start)
        for power in (1.0, 0.5):
            keys = [-_for_price(scout.worth[j], scout.prices[j], power) for j in range(n)]
            order = sorted(range(n), key=keys.__getitem__)
            prefix = self._prefix(order)
            if prefix is not None and len(prefix) <= _LONGER * len(start) + _LONG:
                chosen = self._pruned(set(scout.units(prefix)))
                if len(chosen) <= self.most:
                    yield chosen

    def _prefix(self, order: list[int]) -> list[int] | None:
        """Return a short prefix of an order that reaches delta."""
        if not self.scout.monotone:
            sizes = range(len(order) + 1)
            return next((order[:k] for k in sizes if self.scout.reaches(order[:k])), None)
        low, high = self.fewest - 1, len(order)
        if not self.scout.reaches(order):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.scout.reaches(order[:middle]) else (middle, high)
        return order[:high]

    def _pruned(self, chosen: set[int]) -> set[int]:
        """Leave out what is not needed, the dearest first, until every member is."""
        kept = {self.places[u] for u in chosen}
        dearest = sorted(kept, key=lambda j: (-self.scout.prices[j], self.scout.worth[j]))
        changed = True
        while changed:
            changed = False
            for j in dearest:
                if j in kept and self.scout.reaches(kept - {j}):
                    kept.discard(j)
                    changed = not self.scout.monotone
        return set(self.scout.units(kept))

    # --- branch and bound --------------------------------------------------------------------

    def _branched(self, best: set[int], effort: Effort) -> set[int]:
        """Look for a cheaper set, and raise the floor by what is proved."""
        scout = self.scout
        limit = self._count(best) - 1
        few, many = scout.branches
        task = self.prover.task
        budget = min(many, scout.branches_in(task.seconds)) if effort.thorough else few
        budget = budget if effort.max_evals is None else effort.max_evals
        outcome = scout.branched(limit, self.most, self.fewest, budget)
        if outcome is None:
            outcome = Branching(scout, limit, self.most, self.fewest, budget, task).run()
        if outcome.found is not None:
            best = set(scout.units(outcome.found))
        floor = outcome.least if outcome.complete else self._root_floor(self._count(best) - 1)
        self.floor = max(self.floor, floor)
        return best

    def _root_floor(self, limit: int) -> int:
        """Return a count below which every set is hopeless, found by bisection."""
        scout = self.scout
        low, high = self.floor - 1, limit + 1  # hopeless up to low
        for _ in range(_STEPS):
            if high - low <= 1 or self.prover.task.is_late:
                break
            middle = (low + high) // 2
            rest = [j for j, price in enumerate(scout.prices) if price <= middle]
            if scout.hopeless((), rest, middle, self.most):
                low = middle
            else:
                high = middle
        return low + 1


class Branching:
    """Branch and bound over the sets of members that count at most ``limit`` (Proposition 91).

    ``limit`` falls with every set that is found; ``budget`` is how many branches are followed, as
    long as the task has time.
    """

    def __init__(
        self, scout: Scout, limit: int, most: int, fewest: int, budget: int, task: Task
    ) -> None:
        self.scout, self.limit, self.most, self.fewest = scout, limit, most, fewest
        self.budget, self.task = budget, task
        self.found: list[int] | None = None
        self._open: int | None = None

    def run(self) -> Branched:
        """Go through the branches, as far as the budget goes."""
        complete = self._is_settled((), 0) or self._go()
        least = self.limit + 1 if self._open is None else min(self._open, self.limit + 1)
        return Branched(self.found, least, complete)

    def _go(self) -> bool:
        """Tell whether the budget suffices for all branches."""
        scout = self.scout
        stack: list[tuple[int, tuple[int, ...], int, int, bool]] = [(0, (), 0, 0, False)]
        while stack:
            if self.budget <= 0 or self.task.is_late:
                return False
            self.budget -= 1
            at, taken, count, blocked, new = stack.pop()
            if count > self.limit:
                continue
            rest = self._rest(at, blocked, count)
            if not self._hopeful(taken, rest, count):
                continue
            if new and self._is_settled(taken, count):
                continue
            if len(taken) < self.most and rest:
                j = rest[0]
                stack.append((j + 1, taken, count, blocked | scout.below[j], False))
                stack.append((j + 1, (*taken, j), count + scout.prices[j], blocked, True))
        return True

    def _rest(self, at: int, blocked: int, count: int) -> list[int]:
        """Return the places that may still be taken."""
        prices, left = self.scout.prices, self.limit - count
        return [j for j in range(at, len(prices)) if prices[j] <= left and not (blocked >> j) & 1]

    def _hopeful(self, taken: tuple[int, ...], rest: list[int], count: int) -> bool:
        """Tell whether a set that reaches delta may be found from here on."""
        left = self.limit - count
        room = self.most - len(taken)
        short = self.fewest - len(taken)
        if short > 0:
            if min(room, len(rest)) < short:
                return False
            if sum(sorted(self.scout.prices[j] for j in rest)[:short]) > left:
                return False
        return not self.scout.hopeless(taken, rest, left, room)

    def _is_settled(self, taken: tuple[int, ...], count: int) -> bool:
        """Tell whether a set reaches delta, and write that down: more would be dearer."""
        verdict = self.scout.reaches(taken)
        if verdict:
            self.found, self.limit = list(taken), count - 1
        elif verdict is None:
            self._open = count if self._open is None else min(self._open, count)
        return bool(verdict)


def _for_price(worth: float, price: int, power: float) -> float:
    """Return what a member is worth for its price, about."""
    try:
        return max(worth, 0.0) / math.pow(price, power)
    except OverflowError:
        return 0.0

"""The search over independent units with distributions of their own.

The exchange lemma orders two units only if one stochastically costs more; in general no single
ranking is optimal. So several rankings propose a set (by mean cost, by largest cost, and by
``mean + lambda variance``, the normal law's compromise between them), the smallest is pruned until
nothing can be left out, and where the sets one smaller are few, refuting every one that respects
the exchange lemma proves a minimum.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._costs import WIDE, Costs
from sklearn_probsr._distributions import Distribution
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._local import LocalSearch
from sklearn_probsr._model import LinearModel
from sklearn_probsr._proofs import Prover
from sklearn_probsr._search import Found, Task
from sklearn_probsr._shared import Shared, contributions_of, promises, shared_of
from sklearn_probsr.engines._stroll import MOST_MIXED, Sets, Walkers, measure, stroll

__all__ = ["independent_curve", "independent_guarantee", "search_independent"]

# Units with more values than this are not compared by the exchange lemma.
_MOST_VALUES = 64
_CHUNK = 512


def independent_guarantee(
    model: LinearModel,
    row: NDArray[np.float64] | NDArray[np.bool_],
    features: Collection[int],
    distribution: Distribution,
    tol: float,
) -> Enclosure:
    """Enclose the probability that independent completions keep the class."""
    costs = Costs(contributions_of(model, distribution), row, distribution)
    return costs.enclosure(features, None, tol)


def independent_curve(
    model: LinearModel,
    row: NDArray[np.float64] | NDArray[np.bool_],
    distribution: Distribution,
    tol: float,
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the order by mean cost, and enclosures of the guarantee at every size."""
    costs = Costs(contributions_of(model, distribution), row, distribution)
    units = list(range(len(costs.known)))
    members = [u for u in units if costs.can_cost(u)]
    monotone = not any(costs.can_gain(u) for u in members)
    order = costs.rankings(members)[0] if members else []
    inside = set(order)
    order += [u for u in costs.rankings(units)[0] if u not in inside]
    lower, upper = np.ones(len(order) + 1), np.ones(len(order) + 1)
    for k in range(len(members) + 1):
        known = costs.enclosure(order[:k], None, tol)
        lower[k], upper[k] = known.lower, known.upper
        if known.exact == 1 and monotone:
            break
    if monotone:
        lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1].copy()
    return np.array(order, dtype=np.intp), lower, upper


def search_independent(
    model: LinearModel,
    rows: NDArray[np.float64] | NDArray[np.bool_],
    task: Task,
    distribution: Distribution,
) -> Found:
    """Return a small set of each row that reaches delta, and what was proved of it."""
    found = Found.empty(len(rows), model.n_units)
    positive = model.is_positive(rows)
    contributions = contributions_of(model, distribution)
    starts: dict[int, set[int]] = {}
    for side in (False, True) if task.delta < 1 else ():
        done: list[Shared] = []
        for whole in (False, True):
            left = (positive == side) & (found.minimality == "")
            left[list(starts)] = False
            at = np.flatnonzero(left)
            shared = shared_of(contributions, side, distribution, whole) if len(at) else None
            if shared is not None and shared not in done:
                done.append(shared)
                for first in range(0, len(at), _CHUNK):
                    some = at[first : first + _CHUNK]
                    prover = Prover(contributions, distribution, shared, rows[some], side, task)
                    starts |= _search_together(prover, some, found)
    for i in np.flatnonzero(found.minimality == ""):
        costs = Costs(contributions, rows[i], distribution)
        search = _Search(costs, task, rows[i])
        features, minimality, least = search.run(int(i), str(distribution), starts.get(int(i)))
        narrow = costs.enclosure(features, None)
        decided = costs.enclosure(features, task.delta)
        found.write(int(i), features, narrow.intersect(decided), minimality, least)
    return found


def _search_together(prover: Prover, at: NDArray[np.intp], found: Found) -> dict[int, set[int]]:
    """Answer the rows that spectra decide; return sets of the others from which to go on."""
    shared, positive, rows, task = prover.shared, prover.positive, prover.rows, prover.task
    units = np.array(list(shared.positions), dtype=np.intp)
    h, n = len(units), len(rows)
    gain, costly, gainful, start, blur, near = prover.outlook
    if any(u not in shared.positions for u in task.include):
        return {}  # they would have to be taken out of the rest
    missing = np.ones(shared.centre.shape, dtype=np.bool_)
    missing[units] = False
    signed = np.where(costly & ~np.isin(np.arange(len(missing)), task.exclude), gain, 0.0)
    signed = signed if positive else -signed
    forced = np.isin(units, task.include)
    start = start - gain[:, list(task.include)].sum(axis=1)
    barred = np.isin(units, [*task.include, *task.exclude])
    member = costly[:, units] & ~barred
    order = _orders(shared, units, gain[:, units], member, positive)
    walkers = Walkers(
        np.full(n, positive), start, blur, np.ascontiguousarray(gain[:, units]), forced, order,
        member.sum(axis=1), np.ascontiguousarray(gainful[:, units]),
    )  # fmt: skip
    low, high = prover.levels
    left = np.flatnonzero(near)
    starts: dict[int, set[int]] = {}
    for degree in shared.degrees:
        taken = Walkers(
            *(walkers.positive[left], walkers.beta[left], walkers.blur[left], walkers.gain[left]),
            forced,
            np.ascontiguousarray(walkers.order[:, left]),
            walkers.members[left],
            walkers.mixed[left],
        )
        m = len(left)
        sets = Sets(
            np.zeros((m, h), dtype=np.bool_), np.full(m, -1), np.zeros(m), np.ones(m),
            np.zeros(m, dtype=np.bool_),
        )  # fmt: skip
        stroll(shared.spectrum(degree), taken, low, high, sets)
        done = np.zeros(m, dtype=np.bool_)
        last = degree == shared.degrees[-1]
        if not last and np.any(sets.upper - sets.lower > WIDE):
            sharp = measure(shared.spectrum(shared.degrees[-1]), taken, sets.mask)
            np.maximum(sets.lower, sharp[:, 0], out=sets.lower, where=sets.size >= 0)
            np.minimum(sets.upper, sharp[:, 1], out=sets.upper, where=sets.size >= 0)
        for j in np.flatnonzero(sets.size >= 0):
            i = left[j]
            chosen = units[sets.mask[j]].tolist()
            if missing.any() and _leaves(signed[i], missing, len(chosen) - 1):
                continue  # one of the features with the largest mean cost was not looked at
            alone = task.most is not None and len(chosen) > task.most
            if not last and not sets.needed[j]:
                continue  # a higher degree may tell
            done[j] = True
            smaller = None
            if not alone and sets.needed[j]:
                enclosure = Enclosure.proved(float(sets.lower[j]), float(sets.upper[j]))
                smaller = _claim(prover, int(i), chosen, enclosure, found, int(at[i]))
                if smaller is None:
                    continue
            starts[int(at[i])] = set(chosen) if smaller is None else smaller
        left = left[~done]
        if not len(left):
            break
    return starts


def _claim(
    prover: Prover, r: int, chosen: list[int], enclosure: Enclosure, found: Found, i: int
) -> set[int] | None:
    """Write down a set from which nothing can be left out, or return one that is smaller."""
    effort, forced = prover.task.effort, prover.task.include
    mixed = np.count_nonzero(prover.outlook.gainful[r, chosen])
    # No proper subset reaches the level, not even the empty one.
    word, least = ("subset-minimal", 1) if mixed <= MOST_MIXED else ("locally-minimal", 0)
    if effort.wanted and len(chosen) > least:
        proved, smaller = prover.least(r, len(chosen))
        if smaller is not None:
            return smaller
        least = max(least, proved)
    if len(chosen) <= least:
        word, least = "minimum", len(chosen)
    found.write(i, [*forced, *chosen], enclosure, word, len(forced) + least)
    return None


def _leaves(mean: NDArray[np.float64], missing: NDArray[np.bool_], size: int) -> bool:
    """Tell whether some of the ``size`` units with the largest mean cost are missing."""
    order = np.argsort(-mean, kind="stable")[: max(size, 0)]
    return bool((missing[order] & (mean[order] > 0)).any())


def _orders(
    shared: Shared,
    units: NDArray[np.intp],
    gain: NDArray[np.float64],
    member: NDArray[np.bool_],
    positive: bool,
) -> NDArray[np.int64]:
    """Return the members of every row, before the others, by decreasing promise."""
    mean = gain if positive else -gain
    widths = np.array([v[-1] - v[0] for v in shared.contributions.values], dtype=object)
    width = (widths[units] / shared.period).astype(np.float64)
    score = mean + (shared.centre[units] if positive else width - shared.centre[units])
    scale = np.maximum(np.where(member, mean, 0.0).max(axis=1, initial=0.0), 1e-300)[:, None]
    return np.stack(
        [
            np.argsort(np.where(member, -key, np.inf), axis=1, kind="stable")
            for key in promises(score, mean, shared.variance[units], scale)
        ]
    )


class _Search(LocalSearch):
    """The search of one row."""

    def __init__(
        self, costs: Costs, task: Task, row: NDArray[np.float64] | NDArray[np.bool_]
    ) -> None:
        barred = {*task.include, *task.exclude}
        members = [u for u in range(len(costs.known)) if u not in barred and costs.can_cost(u)]
        self.costs = costs
        self.row = row
        self._rankings = costs.rankings(members)
        super().__init__(task, self._rankings[0], {u for u in members if not costs.can_gain(u)})

    def enclosure(self, chosen: Collection[int], delta: Fraction | None) -> Enclosure:
        return self.costs.enclosure([*self.forced, *chosen], delta)

    def verdict(self, chosen: Collection[int]) -> bool | None:
        if self.task.delta == 1:
            return self.costs.is_certain([*self.forced, *chosen])
        return (self.enclosure(chosen, self.task.delta) >= self.task.delta).value

    def worth(self, chosen: Collection[int]) -> float:
        return self.enclosure(chosen, None).lower

    def text(self, chosen: Collection[int]) -> str:
        return str(self.enclosure(chosen, None))

    def proposals(self) -> list[list[int]]:
        return self._rankings

    def smallest(self) -> tuple[set[int] | None, bool]:
        if self.task.delta < 1:
            return super().smallest()
        # Certainty: the class is kept iff what the others cost at most fits the margin.
        order = sorted(self.members, key=self.costs.most, reverse=True)
        if not self.verdict(order):
            return None, False
        low, high = -1, len(order)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.verdict(order[:middle]) else (middle, high)
        return set(order[:high]), True

    def prefix(self, order: list[int]) -> list[int] | None:
        if not self.monotone:
            return super().prefix(order)
        at = self.costs.guess(self.forced, order, self.task.delta)
        while not self.verdict(order[:at]):
            at += 1
            if at > len(order):
                return None
        while at > 0 and self.verdict(order[: at - 1]):
            at -= 1
        return order[:at]

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        count = self._count(size)
        limits = self.task.effort.limits
        prover = self._prover(size) if count > limits.few_sets else None
        if prover is not None:
            verdict, found = prover.look(0, size, self.verdict)
            if verdict is not None:
                return verdict, found
        most = limits.most_sets if self.costs.counted else limits.few_sets
        if count > min(most, self.task.effort.sets):
            return None, set()
        undecided = False
        for chosen in self._up_sets(size):
            verdict = self.verdict(chosen)
            if verdict:
                return True, set(chosen)
            undecided |= verdict is None
        return None if undecided else False, set()

    def _prover(self, size: int) -> Prover | None:
        """Return a way to refute many sets: the first spectra that know the units in question."""
        seen, positive, law = self.costs.contributions, self.costs.positive, self.costs.distribution
        for whole in (False, True):
            shared = shared_of(seen, positive, law, whole, few=True)
            if shared is not None:
                prover = Prover(seen, law, shared, self.row[None, :], positive, self.task)
                if prover.knows(0, size):
                    return prover
        return None

    def _compositions(self, size: int) -> Iterator[tuple[int, int]]:
        """Return how many mixed and pure members to take: as many pure ones as there is room."""
        mixed = len(self.members) - len(self.pure)
        for taken in range(min(mixed, size) + 1):
            yield taken, min(size - taken, len(self.pure))

    def _count(self, size: int) -> int:
        mixed = len(self.members) - len(self.pure)
        return sum(
            math.comb(mixed, a) * math.comb(len(self.pure), b) for a, b in self._compositions(size)
        )

    def _up_sets(self, size: int) -> Iterator[tuple[int, ...]]:
        """Return the sets that hold, with each unit, all that stochastically cost more."""
        mixed = [u for u in self.members if u not in self.pure]
        pure = [u for u in self.members if u in self.pure]
        above = self._above
        for a, b in self._compositions(size):
            for some, others in product(combinations(mixed, a), combinations(pure, b)):
                chosen = {*some, *others}
                if all(above[u] <= chosen for u in chosen):
                    yield some + others

    @cached_property
    def _above(self) -> dict[int, set[int]]:
        laws = {u: self.costs.law(u) for u in self.members}
        return {
            v: {
                u
                for a, u in enumerate(self.members)
                if u != v and _dominates(laws[u], laws[v]) and (a < b or laws[u] != laws[v])
            }
            for b, v in enumerate(self.members)
        }

    def improve(self, chosen: set[int]) -> set[int]:
        size = len(chosen)
        if self.task.delta == 1 and self.verdict(chosen):
            return chosen
        most = self.task.effort.limits.most_compared
        if not self.costs.counted or self._count(size) > most:
            return chosen
        others = [set(s) for s in self._up_sets(size) if len(s) == size]
        return max([chosen, *others], key=self.worth)


def _dominates(first: list[tuple[Fraction, int]], second: list[tuple[Fraction, int]]) -> bool:
    """Tell whether the first cost is above any level at least as likely as the second."""
    if len(first) > _MOST_VALUES or len(second) > _MOST_VALUES:
        return first == second
    levels = sorted({cost for cost, _ in first} | {cost for cost, _ in second})
    ahead, i, j = 0, 0, 0  # how much less of the first's mass is at or below a level
    for level in levels:
        while i < len(first) and first[i][0] <= level:
            ahead -= first[i][1]
            i += 1
        while j < len(second) and second[j][0] <= level:
            ahead += second[j][1]
            j += 1
        if ahead < 0:
            return False
    return True

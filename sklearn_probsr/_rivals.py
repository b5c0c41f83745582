"""Rivals: the search when the winner must stay ahead of several other classes.

Over background rows a row keeps the class if it stays ahead of every rival in it: a count, exact as
with two classes. Over independent units the events "ahead of rival j" have proved probabilities
``p_j``, and the class is kept with a probability between ``1 - sum_j (1 - p_j)`` (the union bound)
and ``min_j p_j``.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sklearn_probsr._argmax import AnyModel, ArgmaxModel
from sklearn_probsr._costs import ROUGH, WIDE, Costs
from sklearn_probsr._distributions import Background, Distribution, Marginals, Product, rows_for
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._joint import JointSearch, Replacement
from sklearn_probsr._local import LocalSearch
from sklearn_probsr._search import Found, Task
from sklearn_probsr._shared import contributions_of
from sklearn_probsr.engines._joint import Rows, kept_weight
from sklearn_probsr.engines._monte_carlo import hoeffding_radius

__all__ = ["RivalCosts", "before", "rival_curve", "rival_guarantee", "search_rivals"]

# So many sets of a size are refuted one by one over independent units, to prove a minimum.
_MOST_SETS = 200
# Guarantees whose proved bounds are further apart are sampled as well, so often, at this risk.
_FAR_APART = 0.02
_SAMPLES = 100_000
_RISK = 1e-6

Row = NDArray[np.float64] | NDArray[np.bool_]


class RivalRows:
    """An instance before a background: what `Replacement` is for two classes."""

    def __init__(self, model: ArgmaxModel, row: Row, background: Background) -> None:
        winner = int(model.winners(row[None, :])[0])
        seen = [Replacement(duel, row, background) for duel in model.duels(winner)]
        # Margins of different rivals are compared with each other: they need one scale.
        scale = max(one.ledger.scale for one in seen)
        self.duels = [
            one
            if one.ledger.scale == scale
            else Replacement(one.ledger.model, row, background, scale)
            for one in seen
        ]
        self.background = background
        self.exact = all(one.exact for one in self.duels)
        self.doubt = max(one.doubt for one in self.duels)
        gains = np.stack([one.rows.gains for one in self.duels], axis=2)
        margins = np.stack([one.rows.margins for one in self.duels], axis=1)
        self.rows = Rows(margins.ravel(), background.weights, gains.reshape(len(gains), -1))

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown costs some row anything, before some rival."""
        return any(one.can_cost(unit) for one in self.duels)

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown gains some row anything, before some rival."""
        return any(one.can_gain(unit) for one in self.duels)

    def weight(self, features: Collection[int]) -> int:
        """Return the weight of the background rows that keep the class, exactly."""
        chosen = np.array([*features], dtype=np.intp)
        kept, _, unsure = kept_weight(self.rows, chosen, self.doubt)
        if not unsure:
            return int(kept)
        keeps = np.logical_and.reduce([one.keeps(features) for one in self.duels])
        return int(self.rows.weights @ keeps)

    def by_mean_gain(self, units: list[int]) -> list[int]:
        """Return units by decreasing mean gain of fixing them, before each row's worst rival."""
        n = len(self.rows.weights)
        margins = self.rows.margins.reshape(n, -1)
        worst = np.argmin(margins, axis=1)
        gains = self.rows.gains.reshape(len(self.rows.gains), n, -1)[:, np.arange(n), worst]
        # Not by BLAS, whose digits depend on how many threads it has.
        means = (gains * self.rows.weights.astype(np.float64)).sum(axis=1)
        return [units[j] for j in np.argsort(-means[units], kind="stable")]


class RivalCosts:
    """What unknown units may cost an instance before each of its rivals, if independent."""

    def __init__(self, model: ArgmaxModel, row: Row, distribution: Distribution) -> None:
        winner = int(model.winners(row[None, :])[0])
        self.duels = [
            Costs(contributions_of(duel, distribution), row, distribution)
            for duel in model.duels(winner)
        ]
        self._known: dict[frozenset[int], Enclosure] = {}
        self._sharp: set[frozenset[int]] = set()

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything, before some rival."""
        return any(duel.can_cost(unit) for duel in self.duels)

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything, before some rival."""
        return any(duel.can_gain(unit) for duel in self.duels)

    def enclosure(self, fixed: Collection[int], delta: Fraction | None = None) -> Enclosure:
        """Enclose the guarantee of a set: by the union bound, and by the worst rival.

        With a level, one is always asked about the same, until it is on one side.
        """
        key = frozenset(fixed)
        if key not in self._known or (delta is None and key not in self._sharp):
            self._known[key] = self._enclose(key, delta)
        return self._known[key]

    def _enclose(self, fixed: frozenset[int], delta: Fraction | None) -> Enclosure:
        """Look at rivals roughly, and more sharply if the level is not on one side of that."""
        found = Enclosure(0.0, 1.0)
        for tol in (ROUGH, WIDE):
            lost, least = Fraction(0), Fraction(1)
            for duel in self.duels:
                below, above = _nested(duel, fixed, tol).ends()
                lost += 1 - below
                least = min(least, above)
                if delta is not None and least < delta:
                    return Enclosure.between(Fraction(0), least)
            found = Enclosure.between(max(1 - lost, Fraction(0)), least)
            if delta is not None and (found >= delta).decided:
                return found
        self._sharp.add(fixed)
        return found

    def proposals(self, members: list[int], forced: list[int]) -> list[list[int]]:
        """Return orders of the members: as greed fixes them, were all sums normal."""
        means = np.array([duel.moments.mean for duel in self.duels])
        variances = np.array([duel.moments.variance for duel in self.duels])
        margins = np.array([duel.moments.margin for duel in self.duels])
        left_mean = means.sum(axis=1) - means[:, forced].sum(axis=1)
        left_variance = variances.sum(axis=1) - variances[:, forced].sum(axis=1)
        order: list[int] = []
        free = list(members)
        while free:
            mean = left_mean[:, None] - means[:, free]
            spread = np.sqrt(np.maximum(left_variance[:, None] - variances[:, free], 1e-300))
            lost = ndtr((mean - margins[:, None]) / spread).sum(axis=0)
            # Where nothing is lost any more, what costs most on average comes first.
            best = free[int(np.lexsort((-means[:, free].sum(axis=0), lost))[0])]
            order.append(best)
            free.remove(best)
            left_mean -= means[:, best]
            left_variance -= variances[:, best]
        by_mean = [members[j] for j in np.argsort(-means[:, members].sum(axis=0), kind="stable")]
        return [by_mean, order]


def _nested(costs: Costs, fixed: frozenset[int], tol: float) -> Enclosure:
    """Enclose one duel; a closer look never takes back what a rough one said."""
    known = costs.enclosure(fixed, None, ROUGH)
    return known if tol == ROUGH else known.intersect(costs.enclosure(fixed, None, tol))


class _Search(LocalSearch):
    """The search of one row over independent units."""

    def __init__(self, costs: RivalCosts, units: int, task: Task) -> None:
        barred = {*task.include, *task.exclude}
        members = [u for u in range(units) if u not in barred and costs.can_cost(u)]
        self.costs = costs
        self.orders = costs.proposals(members, list(task.include))
        super().__init__(task, self.orders[0], {u for u in members if not costs.can_gain(u)})

    def enclosure(self, chosen: Collection[int]) -> Enclosure:
        return self.costs.enclosure([*self.forced, *chosen], self.task.delta)

    def verdict(self, chosen: Collection[int]) -> bool | None:
        found = self.enclosure(chosen) >= self.task.delta
        return found.value if found.decided else None

    def shown(self, chosen: Collection[int]) -> Enclosure:
        return self.costs.enclosure([*self.forced, *chosen])

    def proposals(self) -> list[list[int]]:
        return self.orders

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        sizes = [size] if self.monotone else range(size, -1, -1)
        if not self.task.effort.wanted or (
            sum(math.comb(len(self.members), k) for k in sizes) > _MOST_SETS
        ):
            return None, set()
        open_ones = False
        for k in sizes:
            for chosen in combinations(self.members, k):
                verdict = self.verdict(chosen)
                if verdict:
                    return True, set(chosen)
                open_ones |= verdict is None
        return (None if open_ones else False), set()

    def improve(self, chosen: set[int]) -> set[int]:
        return chosen


def search_rivals(model: ArgmaxModel, rows: Row, task: Task, distribution: Distribution) -> Found:
    """Return a small set of each row that reaches delta, and what was proved of it."""
    found = Found.empty(len(rows), model.n_units)
    for i, row in enumerate(rows):
        if isinstance(distribution, Background):
            seen = RivalRows(model, row, distribution)
            search: LocalSearch = JointSearch(seen, task)
        else:
            search = _Search(RivalCosts(model, row, distribution), model.n_units, task)
        found.write(i, *search.run(i, str(distribution)))
    return found


def before(model: AnyModel, row: Row, background: Background) -> Replacement | RivalRows:
    """Return an instance before a background."""
    if isinstance(model, ArgmaxModel):
        return RivalRows(model, row, background)
    return Replacement(model, row, background)


def rival_guarantee(
    model: ArgmaxModel, row: Row, fixed: Collection[int], distribution: Distribution
) -> Enclosure:
    """Enclose the guarantee of a set over independent units.

    Where the union bound and the worst rival are far apart, completions are drawn as well, and
    what they say holds with a confidence.
    """
    known = RivalCosts(model, row, distribution).enclosure(fixed)
    if known.width <= _FAR_APART:
        return known
    rng = np.random.default_rng(0)  # the same question has the same answer
    drawn = _completions(model, row, fixed, distribution, rng)
    share = float(np.mean(model.winners(drawn) == model.winners(row[None, :])[0]))
    radius = hoeffding_radius(_SAMPLES, _RISK)
    lower, upper = max(known.lower, share - radius), min(known.upper, share + radius)
    # But for the risk, the two overlap.
    return Enclosure(min(lower, upper), max(lower, upper), 1 - _RISK)


def _completions(
    model: ArgmaxModel,
    row: Row,
    fixed: Collection[int],
    distribution: Distribution,
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Draw rows whose units are those of an instance where fixed, and independent elsewhere."""
    drawn = np.tile(row, (_SAMPLES, 1))
    groups = [[u] for u in range(model.n_units)]
    if model.units is not None:
        groups = [list(unit.columns) for unit in model.units]
    for u, columns in enumerate(groups):
        if u in fixed:
            continue
        if isinstance(distribution, Marginals):
            rows = rows_for(model, distribution)
            share = distribution.weights / distribution.weights.sum()
            drawn[:, columns] = rows[rng.choice(len(rows), _SAMPLES, p=share)][:, columns]
        elif isinstance(distribution, Product):
            drawn[:, columns[0]] = rng.random(_SAMPLES) < float(distribution.p[u])
        else:
            states = np.array([[0.0], [1.0]] if model.units is None else model.units[u].states)
            drawn[:, columns] = states[rng.integers(len(states), size=_SAMPLES)]
    return drawn


def rival_curve(
    model: ArgmaxModel, row: Row, distribution: Distribution
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the order in which greed fixes independent units, and bounds at every size."""
    costs = RivalCosts(model, row, distribution)
    order = costs.proposals(list(range(model.n_units)), [])[1]
    known = [costs.enclosure(order[:k]) for k in range(len(order) + 1)]
    return (
        np.array(order, dtype=np.intp),
        np.array([one.lower for one in known]),
        np.array([one.upper for one in known]),
    )

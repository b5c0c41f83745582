"""The law of two classes before units that are mostly zero.

Views, provers and orders of instances with very many units: nothing is asked of each of them one by
one. An order is followed size by size: fixing what is almost always as it is changes almost
nothing, so that most sizes are told by one before them (Lemma 138).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_probsr.core.law import TOL, Law, Row, View, is_open
from sklearn_probsr.core.options import MOST_MIXED, Task
from sklearn_probsr.core.search import Prover
from sklearn_probsr.independent.exact import CertainProver
from sklearn_probsr.independent.law import promises
from sklearn_probsr.independent.sparse import Running, SparseTables, SparseUnits, completed
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import LinearModel
from sklearn_probsr.model.sparse import one_row

__all__ = [
    "Path",
    "Ranks",
    "SparseCertainty",
    "SparseCosts",
    "SparseLaw",
    "SparseProver",
    "first_along",
    "may_move",
    "open_to",
]

# Sets that differ in no more units than this are looked at one from another.
_NEAR = 8
# So many of the rankings are tried, those that trust the mean most.
_ORDERS = 3
# A guess looks at so many units of an order first.
_FIRST = 4096
# The relative error of one rounding (Proposition 70).
_UNIT = 2.0**-53


class Ranks(View):
    """A view of very many units, which are ordered together."""

    @abstractmethod
    def open_to(self, task: Task) -> NDArray[np.intp]:
        """Return the units that may be chosen: fixing can help, and they are forced neither way."""

    @abstractmethod
    def may_hurt(self, units: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which of some units fixing can hurt."""

    @abstractmethod
    def rankings(
        self, at: NDArray[np.intp], forced: Sequence[int], delta: Fraction
    ) -> list[NDArray[np.intp]]:
        """Return some units by decreasing promise, in several ways; the first is by mean cost."""

    @abstractmethod
    def guess(self, forced: Sequence[int], order: NDArray[np.intp], delta: Fraction) -> int:
        """Return the first size along an order that suffices for normal laws."""


class SparseCosts(Ranks):
    """What each unit of an instance may cost, before units that are mostly zero."""

    def __init__(
        self, model: LinearModel, spectrum: SparseTables, row: Row, positive: bool
    ) -> None:
        super().__init__(len(row))
        self.model, self.spectrum, self.row, self.positive = model, spectrum, row, positive
        self.sign = 1.0 if positive else -1.0
        self._there = np.flatnonzero(row)
        self.margin = self.sign * (
            float((row[self._there] * model.weights[self._there]).sum()) - model.threshold
        )
        self._enclosed: dict[frozenset[int], Enclosure] = {}
        self._judged: dict[frozenset[int], Enclosure] = {}
        self._base = (frozenset[int](), spectrum.fixing([]))

    def own(self, units: Sequence[int] | NDArray[np.intp]) -> NDArray[np.float64]:
        """Return what some units contribute."""
        at = np.asarray(units, dtype=np.intp)
        return self.row[at] * self.model.weights[at]

    @cached_property
    def _helps(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which units may cost something when they are unknown, and which may gain."""
        return may_move(self.sign * self.model.weights, self.row, *self.spectrum.laws.ends)

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything."""
        return bool(self._helps[0][unit])

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything."""
        return bool(self._helps[1][unit])

    def members(self) -> list[int]:
        """Return the units that fixing can help."""
        found: list[int] = np.flatnonzero(self._helps[0]).tolist()
        return found

    @cached_property
    def monotone(self) -> bool:
        """Whether fixing a unit that can help never hurts."""
        costs, gains = self._helps
        return not bool((costs & gains).any())

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set, as narrowly as the spectrum tells.

        What is told without a level does not depend on what was asked before; with one, a set is
        looked at from the last that was near it.
        """
        key = frozenset(fixed)
        for known in (self._enclosed, {} if delta is None else self._judged):
            if key in known:
                return known[key]
        inside = sorted(key)
        if self.is_certain(inside):
            found = self._enclosed[key] = Enclosure.of(Fraction(1))
        elif delta is None:
            spectrum, running = self.spectrum.renewed(self.spectrum.fixing(inside), inside)
            found = self._enclosed[key] = self.enclosed(inside, spectrum, running)
        else:
            found = self._judged[key] = self.enclosed(inside, self.spectrum, self._near(key))
        return found

    def _near(self, fixed: frozenset[int]) -> Running:
        """Return the sum without some units, from one without nearly the same if that is at hand.

        ``_base`` is such a set with its sum.
        """
        before, running = self._base
        away, more = before - fixed, fixed - before
        if len(away) + len(more) <= _NEAR:
            return running.fixing(self.spectrum, sorted(more)).freeing(self.spectrum, sorted(away))
        running = self.spectrum.fixing(sorted(fixed))
        self._base = (fixed, running)
        return running

    def changes_along(self, order: Sequence[int]) -> NDArray[np.float64]:
        """Bound how likely some of the first units are not as they are, for each size."""
        at = np.asarray(order, dtype=np.intp)
        other = np.where(self.row[at] == 0, 1 - self.spectrum.laws.zeros[at], 1.0)
        return np.concatenate([[0.0], np.cumsum(other)])

    def enclosed(self, fixed: Sequence[int], spectrum: SparseTables, running: Running) -> Enclosure:
        """Enclose the guarantee of a set that may not be certain, whose sum is known."""
        own = self.own(fixed).tolist()
        level = math.fsum([self.model.threshold, *(-c for c in own)])
        size = abs(self.model.threshold) + math.fsum(map(abs, own))
        return self.told(spectrum, running, level, size)

    def told(
        self, spectrum: SparseTables, running: Running, level: float, size: float
    ) -> Enclosure:
        """Enclose the probability that a sum keeps the class at a level."""
        lower, upper = spectrum.bounds(running, level, size)
        if self.positive:
            lower, upper = 1 - upper, 1 - lower
        return Enclosure.proved(lower, upper)

    # --- for certain -------------------------------------------------------------------------

    def _worst(self, units: Sequence[int] | NDArray[np.intp]) -> NDArray[np.float64]:
        """About the most that some units can cost."""
        bad = self.spectrum.worst.of(self.sign, np.asarray(units, dtype=np.intp))
        found: NDArray[np.float64] = self.sign * self.own(units) - bad
        return found

    def _exactly(self, units: Sequence[int]) -> Fraction:
        """Return the most that some units can cost, exactly."""
        return sum((self.most(u) for u in units), Fraction(0))

    def _is_settled(self, excess: Fraction) -> bool:
        return excess < 0 if is_open(self.model, self.positive) else excess <= 0

    def is_certain(self, fixed: Collection[int]) -> bool:
        """Tell whether a set keeps the class for certain: the others fit the margin at worst."""
        return self.certain_along(list(set(fixed)))[-1]

    def may_hurt_at_worst(self, units: Sequence[int]) -> list[int]:
        """Return those of some units that surely gain when they are unknown, by some amount."""
        at = np.asarray(units, dtype=np.intp)
        weights, values = self.sign * self.model.weights[at], self.row[at]
        least, most = (end[at] for end in self.spectrum.laws.ends)
        hurts = np.where(weights > 0, values < least, values > most) & (weights != 0)
        found: list[int] = at[hurts].tolist()
        return found

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size whether so many units along an order keep the class for certain."""
        left, doubt = self._left(order)
        sure: list[bool] = (left < -doubt).tolist()
        for k in np.flatnonzero(np.abs(left) <= doubt).tolist():
            beyond = self._beyond - self._exactly(order[:k])
            sure[k] = self._is_settled(beyond)
        return sure

    def _left(self, order: Sequence[int] | NDArray[np.intp]) -> tuple[NDArray[np.float64], float]:
        """By about how much the units that are not among the first exceed the margin at worst.

        The second number is more than what that is off by.
        """
        # What a row's own units add is in its margin too: only the threshold is left of it.
        total, size = self.spectrum.worst.total(self.sign)
        excess = self.sign * self.model.threshold - total
        worst = self._worst(order)
        left = excess - np.concatenate([[0.0], np.cumsum(worst)])
        size += abs(self.model.threshold) + float(np.abs(worst).sum())
        size += float(np.abs(self.own(order)).sum())
        # NumPy sums in pairs: fewer than fifty roundings for any number of terms.
        return left, _UNIT * (64 + 2 * (len(order) + 2)) * size

    @cached_property
    def _beyond(self) -> Fraction:
        """By how much all units exceed the margin at worst, exactly."""
        return int(self.sign) * Fraction(self.model.threshold) - self.spectrum.worst.exactly(
            self.sign
        )

    def most(self, unit: int) -> Fraction:
        """Return the most that a unit can cost, exactly."""
        least, most = (float(end[unit]) for end in self.spectrum.laws.ends)
        w = Fraction(self.sign * self.model.weights[unit])
        return w * (Fraction(float(self.row[unit])) - Fraction(least if w > 0 else most))

    def spare(
        self, forced: Sequence[int], units: Sequence[int]
    ) -> tuple[float, NDArray[np.float64], float]:
        """Return by about how much the others exceed the margin at worst, once units are fixed.

        With it what each of the units adds to that when it is unknown, and more than what all that
        is off by, in any sum.
        """
        left, doubt = self._left([*forced, *units])
        return float(left[-1]), self._worst(units), 4 * doubt

    def by_most(self, units: Sequence[int]) -> list[int]:
        """Return some units, those first that can cost most, about."""
        at = np.asarray(units, dtype=np.intp)
        found: list[int] = at[np.argsort(-self._worst(at), kind="stable")].tolist()
        return found

    def fewest_certain(self, forced: Sequence[int], units: Sequence[int]) -> int:
        """Return how many of some units are too few to keep the class for certain, and one more."""
        left, doubt = self._left([*forced, *self.by_most(units)])
        surely_not = left[len(forced) :] > doubt
        return int(len(surely_not) if surely_not.all() else np.argmin(surely_not))

    @property
    def at_worst(self) -> tuple[list[Fraction], Fraction]:
        """What each unit costs at worst, and by how much all exceed the margin, exactly."""
        return [self.most(u) for u in range(self.n_units)], self._beyond

    def share_covered(self, units: NDArray[np.intp], forced: list[int]) -> NDArray[np.float64]:
        """Return about which part of what is missing at worst each of some units covers."""
        missing = max(float(self._left(forced)[0][-1]), 1e-300)
        found: NDArray[np.float64] = np.minimum(np.maximum(self._worst(units), 0.0) / missing, 1.0)
        return found

    # --- orders ------------------------------------------------------------------------------

    @cached_property
    def _mean_costs(self) -> NDArray[np.float64]:
        costs: NDArray[np.float64] = -self.sign * self.spectrum.means
        costs[self._there] += self.sign * self.own(self._there)
        return costs

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing promise, in several ways."""
        at = np.array(members, dtype=np.intp)
        return [order.tolist() for order in self.rankings(at, forced, Fraction(0))]

    def rankings(
        self, at: NDArray[np.intp], forced: Sequence[int], delta: Fraction
    ) -> list[NDArray[np.intp]]:
        """Return some units by decreasing promise, in several ways."""
        mean, variance = self._mean_costs[at], self.spectrum.variances[at]
        scale = max(float(mean.max(initial=0.0)), 1e-300)
        keys = islice(promises(self._worst(at), mean, variance, scale), _ORDERS)
        return [at[np.argsort(-key, kind="stable")] for key in keys]

    def open_to(self, task: Task) -> NDArray[np.intp]:
        """Return the units that may be chosen: fixing can help, and they are forced neither way."""
        return open_to(self._helps[0], task)

    def may_hurt(self, units: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which of some units fixing can hurt."""
        found: NDArray[np.bool_] = self._helps[1][units]
        return found

    def guess(self, forced: Sequence[int], order: NDArray[np.intp], delta: Fraction) -> int:
        """Return the first size along an order that suffices for a normal law."""
        mean, variance = self._mean_costs, self.spectrum.variances
        mean_left = float(mean.sum()) - float(mean[list(forced)].sum())
        spread = float(variance.sum()) - float(variance[list(forced)].sum())
        quantile = float(np.clip(ndtri(float(delta)), -8.0, 8.0))
        for first in (order[:_FIRST], order):
            means, left = mean_left - _steps(mean[first]), spread - _steps(variance[first])
            enough = np.flatnonzero(
                self.margin - means >= quantile * np.sqrt(np.maximum(left, 0.0))
            )
            if len(enough):
                return int(enough[0])
        return len(order)

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size."""
        total = np.zeros(len(order) + 1, dtype=np.int64)
        for drawn in self.spectrum.laws.draws(samples, rng):
            steps = completed(drawn, self.row, forced, order)
            total += [np.count_nonzero(self.model.is_positive(r) == self.positive) for r in steps]
        return total


def may_move(
    weights: NDArray[np.float64],
    values: NDArray[Any],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which units may cost something when they are unknown, and which may gain."""
    above, below = values > least, values < most
    varies = weights != 0
    costs = np.where(weights > 0, above, below) & varies
    return costs, np.where(weights > 0, below, above) & varies


def open_to(helps: NDArray[np.bool_], task: Task) -> NDArray[np.intp]:
    """Return the units that may be chosen, of those that help: they are forced neither way."""
    free = helps.copy()
    free[[*task.include, *task.exclude]] = False
    return np.flatnonzero(free if task.allowed is None else free & task.allowed[0])


def _steps(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the first 0, 1, 2, ... numbers."""
    return np.concatenate([[0.0], np.cumsum(values)])


class Path:
    """The sets of the first units of an order, asked for by increasing size.

    Parameters
    ----------
    view : SparseCosts
    order : sequence of int
    """

    def __init__(self, view: SparseCosts, order: Sequence[int]) -> None:
        self.view, self.order = view, list(order)
        own = view.own(self.order)
        self._levels = view.model.threshold - np.concatenate([[0.0], np.cumsum(own)])
        sizes = np.concatenate([[0.0], np.cumsum(np.abs(own))])
        self._sizes = abs(view.model.threshold) + sizes
        self._certain = view.certain_along(self.order)
        self._changes = view.changes_along(self.order)
        # More than what a difference of two of them is off by.
        self._doubt = 2.0**-52 * (len(self.order) + 2) * (1 + float(self._changes[-1]))
        self._spectrum, self._at = view.spectrum, 0
        self._running = self._spectrum.fixing([])

    def enclose(self, size: int) -> Enclosure:
        """Enclose the guarantee of the first so many units."""
        if self._certain[size]:
            return Enclosure.of(Fraction(1))
        if size > self._at:
            some = self.order[self._at : size]
            running = self._running.fixing(self._spectrum, some)
            self._spectrum, self._running = self._spectrum.renewed(running, self.order[:size])
            self._at = size
        level, sum_of_sizes = float(self._levels[size]), float(self._sizes[size])
        return self.view.told(self._spectrum, self._running, level, sum_of_sizes)

    def may_reach(self, size: int, above: Fraction, delta: Fraction) -> int:
        """Return the next size that may reach a level, if this one's guarantee is at most so much.

        Those between are refuted (Lemma 138).
        """
        change = float(self._changes[size]) + float(delta - above) - 2 * self._doubt
        return max(size + 1, int(np.searchsorted(self._changes, change)))


def first_along(duels: Sequence[SparseCosts], order: Sequence[int], delta: Fraction) -> int:
    """Return the first size along an order that surely keeps ahead of all rivals (Proposition 34).

    The rival that refuted the last size is asked first.
    """
    paths = [Path(duel, order) for duel in duels]
    size = 0
    while size < len(order):
        lost = Fraction(0)
        for i, path in enumerate(paths):
            below, above = path.enclose(size).ends()
            lost += 1 - below
            if 1 - lost < delta:
                paths.insert(0, paths.pop(i))
                size = path.may_reach(size, above, delta)
                break
        else:
            return size
    return len(order)


# So many units beyond twice a guess are tried.
_BEYOND = 64


class SparseLaw(Law):
    """A model of two classes whose unknown units are independent and mostly zero."""

    takes_sparse = True

    def __init__(self, model: LinearModel, distribution: Any, laws: SparseUnits) -> None:
        super().__init__(model, distribution)
        self.linear, self.laws = model, laws

    @property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return self.laws.means

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what a unit may be, one line a state, and their chances."""
        return self.laws.states(unit)

    @cached_property
    def spectrum(self) -> SparseTables:
        """The sum of what all units contribute."""
        return SparseTables(self.laws, self.linear)

    def view(self, row: Row) -> SparseCosts:
        """Return one instance, a checked row, before this law."""
        positive = bool(self.linear.is_positive(one_row(row))[0])
        return SparseCosts(self.linear, self.spectrum, row, positive)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, SparseCosts)
        prover = SparseProver(view, task)
        return SparseCertainty(prover, [view]) if task.delta == 1 else prover

    def _first_along(self, view: View, order: list[int], delta: Fraction) -> int:
        """Return the first size along an order that surely reaches a level."""
        assert isinstance(view, SparseCosts)
        return first_along([view], order, delta)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return self.laws.nbytes + self.spectrum.nbytes


class SparseProver(Prover):
    """The sets of one instance: each is looked up in the spectrum."""

    def __init__(self, view: Ranks, task: Task) -> None:
        self.view, self.task, self.costs = view, task, view
        self.forced = list(task.include)
        self._rankings = view.rankings(view.open_to(task), self.forced, task.delta)
        sizes = [view.guess(self.forced, order, task.delta) for order in self._rankings]
        most = min(sizes) * 1.25 + 2
        # Beside the first, by mean cost, the orders that promise the shortest sets.
        some = [k for k, size in enumerate(sizes) if k == 0 or size <= most]
        self.orders = [self._rankings[k].tolist() for k in some]
        self._guesses = {id(order): sizes[k] for k, order in zip(some, self.orders, strict=True)}
        self._short = [order for order in self.orders if self._guesses[id(order)] <= most]
        self.members, by_mean = self.orders[0], self._rankings[0]
        self.pure = set(by_mean[~view.may_hurt(by_mean)].tolist())
        self.monotone = len(self.pure) == len(self.members)
        self.least = 0

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        """Where each unit is among the members; -1 if it is none."""
        place = np.full(self.view.n_units, -1, dtype=np.intp)
        place[self._rankings[0]] = np.arange(len(self.members))
        return place

    def in_order(self, chosen: Collection[int]) -> list[int]:
        """Return a set in the order of the members."""
        places = np.sort(self._place[np.array([*chosen], dtype=np.intp)])
        return [self.members[k] for k in places[places >= 0].tolist()]

    def proposals(self) -> list[list[int]]:
        """Return the orders that promise the shortest sets for a normal law."""
        return self._short

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return the shortest prefix found, from a guess on: there are too many to be tried."""
        at = self._guesses.get(id(order))
        if at is None:
            at = self.costs.guess(self.forced, np.array(order, dtype=np.intp), self.task.delta)
        return self._stepwise(order[: 2 * at + _BEYOND], at)

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Prove that nothing can be left out, or leave it out; few sets are looked at."""
        mixed = len(chosen - self.pure)
        if mixed <= MOST_MIXED and 2**mixed > self.task.effort.limits.few_sets:
            # One by one, and no word on leaving out several at once.
            verdicts = [
                None if self.task.is_over else self.verdict(chosen - {u}) for u in sorted(chosen)
            ]
            if not any(verdicts):
                word = "locally-minimal"
                return chosen, f"near-{word}" if None in verdicts else word, 0.0
        return super().claim(chosen)


class SparseCertainty(CertainProver):
    """The sets that keep the class for certain; units are too many to be sorted by fractions."""

    def __init__(self, likely: SparseProver, duels: Sequence[SparseCosts]) -> None:
        super().__init__(likely, duels)
        self.thin = duels

    def proposals(self) -> list[list[int]]:
        """Return the members by the most that they cost; before several rivals, in two orders."""
        if len(self.thin) == 1:
            return [self.thin[0].by_most(self.members)]
        covered = sum(duel.share_covered(self._members, self.forced) for duel in self.thin)
        order = self._members[np.argsort(-np.asarray(covered), kind="stable")]
        return [self.members, order.tolist()]

    @cached_property
    def _members(self) -> NDArray[np.intp]:
        return np.array(self.members, dtype=np.intp)

    @cached_property
    def fewest(self) -> int:
        """Fewer members than this are too few: before a single rival the largest costs do most."""
        return max(duel.fewest_certain(self.forced, self.members) for duel in self.thin)

    def pruned(self, order: list[int]) -> set[int]:
        """Leave out what is not needed, the last first; sums run on from one unit to the next."""
        found = [duel.spare(self.forced, order) for duel in self.thin]
        left, chosen = np.array([one[0] for one in found]), set(order)
        worst, doubt = np.array([one[1] for one in found]), np.array([one[2] for one in found])
        for i in range(len(order) - 1, -1, -1):
            beyond = left + worst[:, i]
            if self._without(chosen, order[i], beyond, doubt):
                chosen.discard(order[i])
                left = beyond
        again = not self.monotone and len(chosen) < len(order)
        return self.pruned(self.in_order(chosen)) if again else chosen

    def _without(
        self, chosen: set[int], unit: int, beyond: NDArray[np.float64], doubt: NDArray[np.float64]
    ) -> bool:
        """Tell whether a set is certain without a unit, by what the others then exceed it by."""
        if (beyond > doubt).any():
            return False
        return bool((beyond < -doubt).all()) or self.verdict(chosen - {unit})

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Leave out what can be left out; where fixing never hurts, nothing else can be then."""
        if not self.monotone:
            return super().claim(chosen)
        return self.pruned(self.in_order(chosen)), "subset-minimal", 0.0

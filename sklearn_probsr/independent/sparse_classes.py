"""Several classes before units that are mostly zero, as the words of documents are.

As before rivals over listed units (Propositions 34 and 136), but nothing is asked of each of very
many units: those that are zero in the instance, as most are, are alike for all of a class. Where
two rivals are both ahead, so are they on average (Proposition 167): the sum of two duels is one
linear decision with tables as each of them has. It bounds from above how likely both are ahead,
and so from below how likely some rival is, by a bound of Bonferroni's kind: Dawson and Sankoff's,
of the best sub-family (Lemma 86).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sklearn_probsr.core.law import TOL, Law, Memo, Row, View
from sklearn_probsr.core.monte_carlo import hoeffding_radius
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import Prover
from sklearn_probsr.independent.sparse import SparseTables, SparseUnits, completed
from sklearn_probsr.independent.sparse_law import (
    Ranks,
    SparseCertainty,
    SparseCosts,
    SparseProver,
    first_along,
    may_move,
    open_to,
)
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import LinearModel
from sklearn_probsr.model.sparse import one_row

__all__ = [
    "Absent",
    "SparseDuels",
    "SparseRivals",
    "sampled",
    "some_ahead",
    "summed_duel",
    "together",
    "union_below",
]

# Guarantees whose proved bounds are further apart are sampled as well, so often, at this risk
# (Corollary 27).
_FAR_APART, _SAMPLES, _RISK = 0.02, 100_000, 1e-6
# More than what sums and products of at most twelve probabilities are rounded by (Lemma 86).
_ROUNDED = 1e-13
# Sub-families of so many events are all tried.
_MOST = 12


def union_below(single: NDArray[np.float64], pair: NDArray[np.float64]) -> float:
    """Bound a union from below, by lower bounds of events and upper bounds of their pairs.

    The events are in decreasing order; beyond the first twelve they are left out.
    """
    n = min(len(single), _MOST)
    families = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    first = families @ single[:n]
    inside = np.triu(pair[:n, :n], 1)
    second = ((families @ inside) * families).sum(axis=1)
    best = float(single.max(initial=0.0))
    for k in range(1, n):
        best = max(best, float((2 / (k + 1) * first - 2 / (k * (k + 1)) * second).max()))
    return max(best - _ROUNDED, 0.0)


def sampled(view: View, fixed: Collection[int], known: Enclosure) -> Enclosure:
    """Draw completions where bounds of a set are far apart; what they say has a confidence."""
    if known.width <= _FAR_APART:
        return known
    rng = np.random.default_rng(0)  # the same question has the same answer
    share = float(view.kept(list(fixed), [], _SAMPLES, rng)[0] / _SAMPLES)
    radius = hoeffding_radius(_SAMPLES, _RISK)
    lower, upper = max(known.lower, share - radius), min(known.upper, share + radius)
    # But for the risk, the two overlap.
    return Enclosure(min(lower, upper), max(lower, upper), 1 - _RISK)


def together(each: Iterable[Enclosure]) -> Enclosure:
    """Enclose the probability of winning every duel (Proposition 34)."""
    lost, least = Fraction(0), Fraction(1)
    for known in each:
        below, above = known.ends()
        lost += 1 - below
        least = min(least, above)
    return Enclosure.between(max(1 - lost, Fraction(0)), least)


# What returns the sum of the duels with two rivals, by their places; None if floats round it.
Summed: TypeAlias = Callable[[int, int], SparseCosts | None]

# So many rivals are looked at in pairs: each of these has a spectrum, and of 20 classes there would
# be 171 for each. And those rivals that are ahead as often as this.
_RIVALS, _SLIGHT = 4, 3e-4


def summed_duel(model: ArgmaxModel, winner: int, rivals: tuple[int, int]) -> LinearModel | None:
    """Return the sum of the duels of a class with two rivals; None if it is not a sum of floats."""
    first, second = (model.duel(winner, rival) for rival in rivals)
    weights, threshold = first.weights + second.weights, first.threshold + second.threshold
    # What a sum of two floats is rounded by is a float, found by five operations (Knuth).
    part = weights - first.weights
    off = (first.weights - (weights - part)) + (second.weights - part)
    exact = Fraction(first.threshold) + Fraction(second.threshold) == Fraction(threshold)
    if not exact or not np.isfinite(weights).all() or off.any():
        return None
    return LinearModel._over(model, weights, threshold, True, first.classes)


def some_ahead(lost: list[Enclosure], fixed: frozenset[int], summed: Summed) -> float:
    """Bound from below how likely some rival is ahead, from how likely each is."""
    if len(lost) > _RIVALS:
        return max(one.lower for one in lost)
    order = sorted(range(len(lost)), key=lambda i: -lost[i].upper)
    order = [i for i in order if lost[i].upper > _SLIGHT]
    above: NDArray[np.float64] = np.array([lost[i].upper for i in order])
    most = np.minimum.outer(above, above)
    for b in range(1, len(order)):
        for a in range(b):
            both = summed(order[a], order[b])
            if both is not None:
                ahead = 1.0 - both.enclose(fixed).lower
                most[a, b] = most[b, a] = min(most[a, b], np.nextafter(ahead, 2.0))
    return union_below(np.array([lost[i].lower for i in order]), most)


# Of absent units, so many are looked at closely before each rival: those that help most.
_EACH = 512
# The weights of rivals are put right so often.
_ROUNDS = 6
# So many units of an order are looked at together.
_AT_ONCE = 4096


class Absent:
    """What units that are zero do for a class, whatever else an instance has.

    Parameters
    ----------
    model : ArgmaxModel
    laws : SparseUnits
    winner : int
        The class, by position.
    """

    def __init__(self, model: ArgmaxModel, laws: SparseUnits, winner: int) -> None:
        rivals = [k for k in range(len(model.classes)) if k != winner]
        d = len(laws.zeros)
        self.mean, best = np.zeros(d), []
        self.costs, self.gains = np.zeros((2, d), dtype=np.bool_)
        zeros = np.zeros(d)
        for k in rivals:
            weights = model.weights[winner] - model.weights[k]
            costs, gains = may_move(weights, zeros, *laws.ends)
            self.costs |= costs
            self.gains |= gains
            mean = -weights * laws.means
            self.mean += mean
            best.append(np.argpartition(-mean, min(_EACH, d - 1))[:_EACH])
        self.candidates = np.unique(np.concatenate(best))
        self.candidates = self.candidates[self.costs[self.candidates]]
        order = np.argsort(-self.mean, kind="stable")
        self.order = order[self.costs[order]]

    @property
    def nbytes(self) -> int:
        """How much memory that takes."""
        return int(self.mean.nbytes + 2 * self.costs.nbytes + self.order.nbytes)


class SparseRivals(Ranks):
    """What unknown units may cost an instance before each of its rivals.

    Parameters
    ----------
    model : ArgmaxModel
    winner : int
    duels : list of SparseCosts
        The instance before each rival, all over the same laws.
    absent : Absent
        What the units do that are zero.
    row : ndarray
    summed : Summed
        The same before two of them, on average.
    """

    def __init__(
        self,
        model: ArgmaxModel,
        winner: int,
        duels: list[SparseCosts],
        absent: Absent,
        row: Row,
        summed: Summed,
    ) -> None:
        super().__init__(len(row))
        self._summed: dict[tuple[int, int], SparseCosts | None] = {}
        self._make_summed = summed
        self.argmax, self.winner, self.duels, self.absent = model, winner, duels, absent
        self.row, self.laws = row, duels[0].spectrum.laws
        self._there = np.flatnonzero(row)
        self._known: dict[tuple[frozenset[int], Fraction | None], Enclosure] = {}

    # --- what units may do -------------------------------------------------------------------

    def _weights(self, units: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the weights of some units before each rival."""
        return np.stack([duel.sign * duel.model.weights[units] for duel in self.duels])

    @cached_property
    def _helps(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which units may cost something when they are unknown, before some rival, or gain."""
        costs, gains, at = self.absent.costs.copy(), self.absent.gains.copy(), self._there
        least, most = (end[at] for end in self.laws.ends)
        some = may_move(self._weights(at), self.row[at], least, most)
        costs[at], gains[at] = (moved.any(axis=0) for moved in some)
        return costs, gains

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything, before some rival."""
        return bool(self._helps[0][unit])

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything, before some rival."""
        return bool(self._helps[1][unit])

    def may_hurt(self, units: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which of some units fixing can hurt."""
        found: NDArray[np.bool_] = self._helps[1][units]
        return found

    def members(self) -> list[int]:
        """Return the units that fixing can help."""
        found: list[int] = np.flatnonzero(self._helps[0]).tolist()
        return found

    def open_to(self, task: Task) -> NDArray[np.intp]:
        """Return the units that may be chosen: fixing can help, and they are forced neither way."""
        return open_to(self._helps[0], task)

    @cached_property
    def monotone(self) -> bool:
        """Whether fixing a unit that can help never hurts."""
        costs, gains = self._helps
        return not bool((costs & gains).any())

    # --- one set -----------------------------------------------------------------------------

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size whether so many units along an order keep the class for certain."""
        each = (duel.certain_along(order) for duel in self.duels)
        return [all(sure) for sure in zip(*each, strict=True)]

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set: by the union bound, by the worst rival, and by pairs.

        With a level, the first rival that refutes it is enough.
        """
        inside = frozenset(fixed)
        for asked in (None, delta):
            if (inside, asked) in self._known:
                return self._known[inside, asked]
        each: list[Enclosure] = []
        for i in self._hardest_first:
            each.append(self.duels[i].enclose(inside, delta))
            if delta is not None and (each[-1] >= delta).value is False:
                self._known[inside, delta] = found = Enclosure(0.0, each[-1].upper)
                return found
        found = together(each)
        if delta is None or not (found >= delta).decided:
            lost = [Enclosure(1.0, 1.0)] * len(each)
            for i, known in zip(self._hardest_first, each, strict=True):
                lost[i] = Enclosure.proved(1.0 - known.upper, 1.0 - known.lower)
            some = some_ahead(lost, inside, self._both)
            found = found.intersect(Enclosure.proved(0.0, 1.0 - some))
        self._known[inside, delta] = found
        return found

    def _both(self, i: int, j: int) -> SparseCosts | None:
        """Return the instance before two rivals on average, made once."""
        pair = (min(i, j), max(i, j))
        if pair not in self._summed:
            self._summed[pair] = self._make_summed(*pair)
        return self._summed[pair]

    def answer(self, fixed: Collection[int], tol: float) -> Enclosure:
        """Enclose the guarantee of a set for a reader, also by completions where it stays wide."""
        return sampled(self, fixed, self.enclose(fixed, None, tol))

    @cached_property
    def _hardest_first(self) -> list[int]:
        """The rivals, those first that were closest if all sums were normal."""
        mean, variance = self._totals
        lost = (mean - self._margins) / np.sqrt(np.maximum(variance, 1e-300))
        return [int(i) for i in np.argsort(-lost, kind="stable")]

    # --- orders ------------------------------------------------------------------------------

    @cached_property
    def _margins(self) -> NDArray[np.float64]:
        return np.array([duel.margin for duel in self.duels])

    @cached_property
    def _totals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What all units cost on average before each rival, and how much that varies."""
        own = self._weights(self._there) @ self.row[self._there]
        mean = own - [duel.sign * duel.spectrum.centre for duel in self.duels]
        return mean, np.array([duel.spectrum.variance for duel in self.duels])

    def _moments(self, units: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what some units cost on average before each rival, and how much that varies."""
        weights = self._weights(units)
        mean = weights * (self.row[units] - self.laws.means[units])
        return mean, weights**2 * self.laws.variances[units]

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by mean cost, and by what they save if sums are normal."""
        at = np.array(members, dtype=np.intp)
        return [order.tolist() for order in self.rankings(at, forced, Fraction(9, 10))]

    def rankings(
        self, at: NDArray[np.intp], forced: Sequence[int], delta: Fraction
    ) -> list[NDArray[np.intp]]:
        """Return some units by mean cost, and by what they save when about enough are known."""
        allowed = np.zeros(self.n_units, dtype=np.bool_)
        allowed[at] = True
        by_mean = self._by_mean(at, allowed)
        close = np.union1d(self.absent.candidates, self._there).astype(np.intp)
        close = close[allowed[close]]
        if not len(close):
            return [by_mean]
        first = self._weighted(close, list(forced), delta)
        allowed[first] = False
        return [by_mean, np.concatenate([first, by_mean[allowed[by_mean]]])]

    def _by_mean(self, at: NDArray[np.intp], allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return some units by mean cost before all rivals: what is there among what is not."""
        own = np.zeros(self.n_units, dtype=np.bool_)
        own[self._there] = True
        others = self.absent.order
        others = others[allowed[others] & ~own[others]]
        mine = self._there[allowed[self._there]]
        means = self._moments(mine)[0].sum(axis=0)
        mine, means = mine[np.argsort(-means, kind="stable")], np.sort(means)[::-1]
        places = np.searchsorted(-self.absent.mean[others], -means)
        found: NDArray[np.intp] = np.insert(others, places, mine)
        if len(found) < len(at):  # units that are asked about though fixing them cannot help
            rest = np.setdiff1d(at, found)
            found = np.concatenate([found, rest[np.argsort(-self.absent.mean[rest])]])
        return found

    def _weighted(
        self, units: NDArray[np.intp], forced: list[int], delta: Fraction
    ) -> NDArray[np.intp]:
        """Order units by what they save, were sums normal, where a prefix of them just suffices.

        Rivals count by how likely they are ahead there, which is found round by round.
        """
        mean, variance = self._moments(units)
        state = self._without(forced)
        best, least = units, len(units) + 1
        for _ in range(_ROUNDS):
            left = np.sqrt(np.maximum(state[1], 1e-300))
            away = np.clip((self._margins - state[0]) / left, -8.0, 8.0)
            dense = np.exp(-(away**2) / 2)
            dense /= dense.sum()
            saved = (dense / left) @ mean + (dense * away / left**2 / 2) @ variance
            at = np.argsort(-saved, kind="stable")
            size = self.guess(forced, units[at], delta)
            if size >= least:
                break
            best, least = units[at], size
            state = self._without([*forced, *best[:size].tolist()])
        return best

    def _without(self, fixed: list[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the totals of all units but some."""
        mean, variance = self._moments(np.array(fixed, dtype=np.intp))
        total, spread = self._totals
        return total - mean.sum(axis=1), spread - variance.sum(axis=1)

    def guess(self, forced: Sequence[int], order: NDArray[np.intp], delta: Fraction) -> int:
        """Return the first size along an order that suffices for normal laws of all duels."""
        left_mean, left_variance = self._without(list(forced))
        allowed = max(1.0 - float(delta), 1e-12)
        for first in range(0, max(len(order), 1), _AT_ONCE):
            mean, variance = self._moments(order[first : first + _AT_ONCE])
            means = left_mean[:, None] - _steps(mean)
            spread = np.sqrt(np.maximum(left_variance[:, None] - _steps(variance), 1e-300))
            lost = ndtr((means - self._margins[:, None]) / spread).sum(axis=0)
            enough = np.flatnonzero(lost <= allowed)
            if len(enough):
                return first + int(enough[0])
            left_mean, left_variance = means[:, -1], left_variance - variance.sum(axis=1)
        return len(order)

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size."""
        total = np.zeros(len(order) + 1, dtype=np.int64)
        for drawn in self.laws.draws(samples, rng):
            steps = completed(drawn, self.row, forced, order)
            total += [np.count_nonzero(self.argmax.winners(rows) == self.winner) for rows in steps]
        return total


def _steps(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the first 0, 1, 2, ... columns."""
    found: NDArray[np.float64] = np.cumsum(np.insert(values, 0, 0.0, axis=1), axis=1)
    return found


# Factors of so many duels are kept in the memory that those of a single decision have.
_OF = 16
# Beyond this the duels that were not asked for lately are made anew when they are needed.
_MOST_BYTES = 2**28


class SparseDuels(Law):
    """A model of several classes whose unknown units are independent and mostly zero."""

    takes_sparse = True

    def __init__(self, model: ArgmaxModel, distribution: Any, laws: SparseUnits) -> None:
        super().__init__(model, distribution)
        self.argmax, self.laws = model, laws
        self._spectra: Memo[SparseTables] = Memo(_MOST_BYTES, lambda one: one.nbytes)
        self._absent: Memo[Absent] = Memo(_MOST_BYTES // 4, lambda one: one.nbytes)

    @property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return self.laws.means

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what a unit may be, one line a state, and their chances."""
        return self.laws.states(unit)

    def view(self, row: Row) -> SparseRivals:
        """Return one instance, a checked row, before this law."""
        winner = int(self.argmax.winners(one_row(row))[0])
        rivals = [k for k in range(len(self.argmax.classes)) if k != winner]
        duels = [self._duel(winner, rival, row) for rival in rivals]
        absent = self._absent.get(winner, lambda: Absent(self.argmax, self.laws, winner))

        def summed(i: int, j: int) -> SparseCosts | None:
            return self._summed(winner, rivals[i], rivals[j], row)

        return SparseRivals(self.argmax, winner, duels, absent, row, summed)

    def _duel(self, winner: int, rival: int, row: Row) -> SparseCosts:
        # A duel is the same whoever wins it: two classes have one spectrum.
        pair = (min(winner, rival), max(winner, rival))
        duel = self.argmax.duel(*pair)
        spectrum = self._spectra.get(pair, lambda: SparseTables(self.laws, duel, _OF))
        return SparseCosts(duel, spectrum, row, winner == pair[0])

    def _summed(self, winner: int, first: int, second: int, row: Row) -> SparseCosts | None:
        rivals = (min(first, second), max(first, second))
        duel = summed_duel(self.argmax, winner, rivals)
        if duel is None:
            return None
        key = (winner, *rivals)
        spectrum = self._spectra.get(key, lambda: SparseTables(self.laws, duel, _OF))
        return SparseCosts(duel, spectrum, row, True)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, SparseRivals)
        prover = SparseProver(view, task)
        return SparseCertainty(prover, view.duels) if task.delta == 1 else prover

    def _first_along(self, view: View, order: list[int], delta: Fraction) -> int:
        """Return the first size along an order that surely reaches a level."""
        assert isinstance(view, SparseRivals)
        return first_along(view.duels, order, delta)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        spectra = sum(one.nbytes for one in self._spectra.values())
        return self.laws.nbytes + spectra + sum(one.nbytes for one in self._absent.values())

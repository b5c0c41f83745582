"""The law of a background: unknown units are replaced together, by those of a row of the data.

The guarantee of a set is the share of the rows that keep the class, an exact count. The law answers
searches itself (`sklearn_probsr.rows.answers`), row by row and each row as if it were alone; its
views count sets and curves with no table at all (`sklearn_probsr.rows.exact`).

Its rest compares what is lost of some facts with order statistics.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found, unreachable
from sklearn_probsr.core.law import TOL, Duel, Law, Lengths, Rest, Row, View, is_open
from sklearn_probsr.core.means import (
    checked_rows,
    column_mean,
    mean_doubts,
    weighted_means,
    worth,
)
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import Prover
from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.inputs import distinct_states
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import about
from sklearn_probsr.rows import exact
from sklearn_probsr.rows.answers import (
    Answer,
    Candidates,
    best_of,
    cheapest,
    claimed,
    first_of,
    is_too_large,
    smallest,
)
from sklearn_probsr.rows.exact import Winner, decider, winner_of
from sklearn_probsr.rows.stream import DenseRows, Instance, Light, StreamedRows, blocks
from sklearn_probsr.rows.table import Known, Table

__all__ = ["BackgroundLaw", "BackgroundView", "RowsRest", "Sums"]


@dataclass(frozen=True)
class Sums:
    """What the completions of all background rows add towards the class, with some facts fixed.

    Attributes
    ----------
    whole : ndarray of int64, shape (n,)
        In whole numbers of a scale; short by less than ``doubt``.
    scale : Fraction
    doubt : int
        0 if nothing was rounded.
    """

    whole: NDArray[np.int64]
    scale: Fraction
    doubt: int


class RowsRest(Rest):
    """The rest before background rows: what is lost is compared with order statistics.

    ``row`` is the instance, ``columns`` those of the fixed units.
    """

    exact = True

    def __init__(
        self,
        duels: list[Duel],
        delta: Fraction,
        sums: list[Sums],
        rows: Any,
        weights: NDArray[np.int64],
        row: Row,
        columns: Sequence[int],
    ) -> None:
        super().__init__(duels, delta)
        self.sums, self.rows, self.weights = sums, rows, weights
        self.row, self.fixed = row, np.zeros(rows.shape[1], dtype=np.bool_)
        self.fixed[list(columns)] = True
        self.total = int(weights.sum())
        self.needed = -(-delta.numerator * self.total // delta.denominator)

    def holds(self, losses: Sequence[Fraction]) -> bool:
        """Tell whether delta holds with such losses; with two classes by one comparison."""
        if len(self.duels) > 1:
            return self._kept(losses) >= self.needed
        if self.slack is None:
            return True
        open_ = is_open(*self.duels[0])
        return losses[0] < self.slack if open_ else losses[0] <= self.slack

    def enclose(self, losses: Sequence[Fraction]) -> Enclosure:
        """Return the exact share of background rows that keep the class in every duel."""
        return Enclosure.of(Fraction(self._kept(losses), self.total))

    @cached_property
    def slack(self) -> Fraction | None:
        """What may be lost before one rival: a weighted order statistic (Proposition 59).

        None if anything may be.
        """
        return self._statistic(0) if self.needed > 0 else None

    def _statistic(self, k: int) -> Fraction:
        """Return the largest value that the sums of enough rows reach, less the threshold."""
        held, duel = self.sums[k], self.duels[k]
        order = np.argsort(-held.whole, kind="stable")
        reached = np.cumsum(self.weights[order])
        at = int(held.whole[order[int(np.searchsorted(reached, self.needed))]])
        threshold = duel.sign * Fraction(duel.model.threshold)
        if not held.doubt:
            return at * held.scale - threshold
        # The statistic of the exact sums is one of those that rounding cannot tell from it.
        near = np.flatnonzero(np.abs(held.whole - at) < held.doubt)
        reached_before = int(self.weights[held.whole >= at + held.doubt].sum())
        values = sorted(self._exact_sums(k, near), reverse=True)
        for value, weight in values:
            reached_before += weight
            if reached_before >= self.needed:
                return value - threshold
        raise AssertionError("the rows near an order statistic hold it")

    def _exact_sums(self, k: int, at: NDArray[np.intp]) -> list[tuple[Fraction, int]]:
        """Return the exact sums of some rows, equal rows together, and their weights."""
        duel = self.duels[k]
        mixed = np.where(self.fixed, self.row, np.asarray(self.rows[at]))
        different, which = np.unique(mixed, axis=0, return_inverse=True)
        weights = np.zeros(len(different), dtype=np.int64)
        np.add.at(weights, which.ravel(), self.weights[at])
        sums = [duel.sign * sum(duel.model.contributions(row), Fraction(0)) for row in different]
        return list(zip(sums, weights.tolist(), strict=True))

    def _kept(self, losses: Sequence[Fraction]) -> int:
        """Return the weight of the rows that keep the class with such losses, exactly."""
        sure = np.ones(len(self.weights), dtype=np.bool_)
        maybe = sure.copy()
        for held, duel, loss in zip(self.sums, self.duels, losses, strict=True):
            level = _level(duel, loss, held.scale)
            sure &= held.whole >= level
            maybe &= held.whole > level - max(held.doubt, 1)
        unsure = np.flatnonzero(maybe & ~sure)
        kept = int(self.weights[sure].sum())
        for i in unsure.tolist():
            kept += int(self.weights[i]) * self._keeps(i, losses)
        return kept

    def _keeps(self, i: int, losses: Sequence[Fraction]) -> bool:
        mixed = np.where(self.fixed, self.row, self.rows[i])
        for duel, loss in zip(self.duels, losses, strict=True):
            total = duel.sign * sum(duel.model.contributions(mixed), Fraction(0)) - loss
            left = total - duel.sign * Fraction(duel.model.threshold)
            if left < 0 or (left == 0 and is_open(*duel)):
                return False
        return True

    def room(self, used: Sequence[Fraction], direction: Sequence[Fraction]) -> float:
        """Return about how many times a direction can be lost on top of what is used."""
        if not self.needed:
            return math.inf
        if len(self.duels) == 1:
            assert self.slack is not None
            return max(about((self.slack - used[0]) / direction[0]), 0.0)
        times = np.full(len(self.weights), np.inf)
        for held, duel, loss, step in zip(self.sums, self.duels, used, direction, strict=True):
            left = held.whole - about(Fraction(_level(duel, loss, held.scale)))
            per = about(step / held.scale)
            each = left / per if per else np.full(len(left), np.inf)
            times = np.minimum(times, np.where(left < 0, -1.0, each))
        order = np.argsort(-times, kind="stable")
        reached = np.cumsum(self.weights[order])
        return max(float(times[order[int(np.searchsorted(reached, self.needed))]]), 0.0)


def _level(duel: Duel, loss: Fraction, scale: Fraction) -> int:
    """Return what a sum must reach, in whole numbers of a scale, if so much of it is lost."""
    reached = (duel.sign * Fraction(duel.model.threshold) + loss) / scale
    return math.floor(reached) + 1 if is_open(*duel) else math.ceil(reached)


# Of rows with more gains than this before all rivals no table is made: they are gone through. The
# second is for two classes, where a table takes no more than the rows do.
MANY_GAINS, MOST_GAINS = 2**21, 2**27
# Instances whose contributions are worked out together: so many, and so many numbers of each kind.
_AT_ONCE, _NUMBERS_AT_ONCE = 256, 2**15
# Different states of a unit that are compared exactly, and whose answers are remembered.
_FEW_STATES, _MOST_SIDES = 64, 2**16
# Rows that are looked through for the states of a unit of several columns.
_MANY_ROWS = 2**17


class BackgroundLaw(Law):
    """A model whose unknown units are replaced together by those of a background row."""

    def __init__(self, model: Model, distribution: Background) -> None:
        super().__init__(model, distribution)
        self.rows, self.weights = checked_rows(model, distribution), distribution.weights
        self.total = int(self.weights.sum())
        self.decider = decider(model)
        units = model.units
        self.columns = [[u] if units is None else [*units[u].columns] for u in range(model.n_units)]
        self._several = [u for u, at in enumerate(self.columns) if len(at) > 1]
        self._winners: dict[int, Winner] = {}
        self._gains: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._shares: dict[int, Enclosure] = {}
        self._leads: dict[int, exact.Bounds] = {}
        self._sides: dict[tuple[int, int, bytes], tuple[bool, bool]] = {}
        several = self.rivals > 1 or self.rows.dtype != np.float64
        gains = self.rivals * model.n_units * len(self.rows)
        self.is_large = gains > (MANY_GAINS if several else MOST_GAINS)

    @property
    def rivals(self) -> int:
        """How many classes a winner has beside it."""
        return max(len(self.decider.weights) - 1, 1)

    @cached_property
    def table(self) -> Table:
        """The rows in whole numbers."""
        return Table(self.decider, self.rows, self.model.n_units)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return self.table.nbytes if "table" in self.__dict__ else int(self.rows.nbytes)

    def winner(self, place: int) -> Winner:
        """Return a class before its rivals."""
        if place not in self._winners:
            self._winners[place] = winner_of(self.model, place)
        return self._winners[place]

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """The rows as floats, if they are few."""
        return np.ascontiguousarray(self.rows, dtype=np.float64)

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield all rows as floats, those of a large background piece by piece."""
        if not self.is_large or self.rows.dtype == np.float64:
            yield slice(0, len(self.rows)), self.floats
        else:
            yield from blocks(self.rows)

    # --- what other rooms ask -----------------------------------------------------------------

    @property
    def data(self) -> tuple[Any, NDArray[np.int64]]:
        """The rows that unknown units are taken from, and how much each counts."""
        return self.rows, self.weights

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return weighted_means(self.rows, self.weights)

    @cached_property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far the mean of each column may be off."""
        return mean_doubts(self.rows)

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return column_mean(self.rows, column, self.weights)

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of an unknown unit are in every row, and the share of each."""
        return self.rows[:, self.columns[unit]], self.weights / self.weights.sum()

    def view(self, row: Row) -> BackgroundView:
        """Return one instance, a checked row, before this law."""
        return BackgroundView(self, row, int(self.model.winners(row[None, :])[0]))

    def views(self, rows: Row) -> Iterator[BackgroundView]:
        """Yield several instances before this law, whose classes are told together."""
        if len(rows):
            winners = self.model.winners(rows).tolist()
            yield from (BackgroundView(self, x, w) for x, w in zip(rows, winners, strict=True))

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        return _RowsProver(view, task)

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> RowsRest:
        """Return what may be lost of some facts of an instance while delta holds."""
        winner = int(self.model.winners(row[None, :])[0])
        model: Any = self.model
        if model.by_class:
            duels = [Duel(duel, True) for duel in model.duels(winner)]
        else:
            duels = [Duel(model, bool(winner))]
        columns = [j for u in features for j in self.columns[u]]
        fixed = np.zeros(self.rows.shape[1], dtype=np.bool_)
        fixed[columns] = True
        sums = [self._sums(duel, row, fixed) for duel in duels]
        return RowsRest(duels, delta, sums, self.rows, self.weights, row, columns)

    def _sums(self, duel: Duel, row: Row, fixed: NDArray[np.bool_]) -> Sums:
        """Return what every row adds towards the class with some columns fixed, rounded down."""
        weights, n = duel.sign * duel.model.weights, len(self.rows)
        sums, size = np.empty(n), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for at, rows in self.blocks():
                mixed = np.where(fixed, row, rows)
                sums[at] = np.einsum("ij,j->i", mixed, weights)
                size = max(size, float(np.einsum("ij,j->i", np.abs(mixed), np.abs(weights)).max()))
        if not size < math.inf:
            each = [worth(weights, np.where(fixed, row, r)) for r in self.rows]
            scale = Fraction(2) ** (max(_above(abs(v)) for v in each) - 50)
            return Sums(np.array([math.floor(v / scale) for v in each]), scale, 2)
        # A float sum of d products is off by less than half of this.
        off = (len(weights) + 3) * 2.0**-51 * size + 2.0**-1060
        scale = Fraction(2) ** math.frexp(off)[1]
        whole = np.floor(np.ldexp(sums, -math.frexp(off)[1])).astype(np.int64) - 1
        return Sums(whole, scale, 3)

    def once_known(
        self, row: Row, known: Collection[int], unit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Count the rows of ``classes[1]`` for every state of a unit: a sort for all of them.

        With contributions ``e`` of the unit and margins ``m`` without it, the others known, row r
        is of the class once the unit is as in row s iff ``m_r + e_s >= 0`` (Proposition 68). None
        if there are several classes.
        """
        if self.model.by_class:
            return None
        weights, own = self.decider.weights[0], self.columns[unit]
        fixed = np.zeros(len(weights), dtype=np.bool_)
        fixed[[j for u in known for j in self.columns[u]]] = True
        others = weights.copy()
        others[own] = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            mixed = np.where(fixed, row, self.rows)
            margins = np.einsum("ij,j->i", mixed, others) + self.decider.intercepts[0]
            gains = np.einsum("ij,j->i", self.rows[:, own].astype(np.float64), weights[own])
            sizes = np.abs(mixed).max(axis=0) + np.abs(self.rows).max(axis=0)
            size = float(sizes @ np.abs(weights)) + abs(float(self.decider.intercepts[0]))
        off = (len(weights) + 4) * 2.0**-51 * size + 2.0**-1060
        order = np.argsort(margins, kind="stable")
        after = np.append(np.cumsum(self.weights[order][::-1])[::-1], 0)
        sure = after[np.searchsorted(margins[order], off - gains, side="right")]
        perhaps = after[np.searchsorted(margins[order], -off - gains, side="left")]
        open_ones = (sure != perhaps) if size < math.inf else np.ones(len(sure), dtype=np.bool_)
        at = np.flatnonzero(open_ones)
        different, which = np.unique(self.rows[at][:, own], axis=0, return_inverse=True)
        mask = self.mask([*known, unit])
        for k, state in enumerate(different):
            told = row.astype(np.float64)
            told[own] = state
            sure[at[which.ravel() == k]] = int(self.weights @ self.kept(told, 1, mask))
        return sure, self.weights

    def follow_one(
        self, i: int, view: View, order: list[int], at: int, delta: Fraction, found: Lengths
    ) -> None:
        """Follow an order of one row, counting rows along it."""
        assert isinstance(view, BackgroundView)
        needed = -(-delta.numerator * self.total // delta.denominator)
        kept = view.weights_along(order)
        share = Enclosure.of(Fraction(int(kept[at]), self.total))
        found.write(i, int(np.flatnonzero(kept >= needed)[0]), share)

    # --- counts ------------------------------------------------------------------------------

    def mask(self, units: Collection[int]) -> NDArray[np.bool_]:
        """Return which units are fixed, as kernels read it."""
        fixed = np.zeros(self.model.n_units + 1, dtype=np.bool_)
        fixed[[*units]] = True
        return fixed

    def kept(
        self, x: NDArray[np.float64], winner: int, fixed: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Tell which rows have a class with some units of an instance fixed, exactly."""
        return np.concatenate(
            [self.kept_of(self.winner(winner), rows, x, fixed) for _, rows in self.blocks()]
        )

    def kept_of(
        self,
        winner: Winner,
        rows: NDArray[np.float64],
        x: NDArray[np.float64],
        fixed: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Tell the same of some rows."""
        most = np.maximum(self._largest, np.abs(x))
        return exact.kept(self.decider, winner, self._lead(winner), rows, most, x, fixed)

    def leads_of(
        self,
        winner: Winner,
        rows: NDArray[np.float64],
        x: NDArray[np.float64],
        fixed: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """Return about how far a class is ahead of its closest rival in some rows."""
        found = exact.leads(self.decider, self._lead(winner), rows, x, fixed)
        return np.asarray(found.min(axis=0))

    def _lead(self, winner: Winner) -> exact.Bounds:
        key = int(winner.lines[0])
        if key not in self._leads:
            self._leads[key] = exact.bounds(self.decider, winner)
        return self._leads[key]

    @cached_property
    def _largest(self) -> NDArray[np.float64]:
        return np.asarray(np.maximum(np.abs(self.table.least), np.abs(self.table.most)))

    def kept_along(
        self, x: NDArray[np.float64], winner: int, order: Sequence[int]
    ) -> NDArray[np.int64]:
        """Return the weight kept with the first 0, 1, 2, ... of an order fixed, exactly."""
        return self.kept_before(self.winner(winner), x, order)

    def kept_before(
        self, winner: Winner, x: NDArray[np.float64], order: Sequence[int]
    ) -> NDArray[np.int64]:
        """Return the same before the rivals of a class."""
        columns = [self.columns[u] for u in order]
        most, lead = np.maximum(self._largest, np.abs(x)), self._lead(winner)
        found = np.zeros(len(order) + 1, dtype=np.int64)
        for at, rows in self.blocks():
            found += exact.kept_along(
                self.decider, winner, lead, rows, self.weights[at], most, x, columns
            )
        return found

    def mean_gains(self, rows: Row, winner: int) -> NDArray[np.float64]:
        """Return what fixing each unit of some instances (m, d) gains on average, about.

        In each row before the rival that is closest there with nothing known.
        """
        if winner not in self._gains:
            self._gains[winner] = self._mean_gains(winner)
        factors, means = self._gains[winner]
        with np.errstate(over="ignore", invalid="ignore"):
            each: NDArray[np.float64] = rows.astype(np.float64) * factors - means
            if not self._several:
                return np.asarray(each[:, [at[0] for at in self.columns]])
            return np.stack([each[:, at].sum(axis=1) for at in self.columns], axis=1)

    def _mean_gains(self, winner: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the factor of each column, and what rows have of it, over all rows."""
        (weights, intercepts, _), lines = self.decider, self.winner(winner).lines
        zero = np.zeros(weights.shape[1])
        ahead = np.stack(
            [
                (weights[lines[0]] if lines[0] >= 0 else zero)
                - (weights[line] if line >= 0 else zero)
                for line in lines[1:]
            ]
        )
        factors, means = np.zeros(weights.shape[1]), np.zeros(weights.shape[1])
        step = max(2**18 // weights.shape[1], 1)
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, len(self.rows), step):
                rows = self.rows[first : first + step].astype(np.float64)
                counts = self.weights[first : first + step] / self.total
                if len(ahead) == 1:
                    worst = np.zeros(len(rows), dtype=np.intp)
                else:  # not by BLAS, whose digits depend on how many threads it has
                    scores = np.einsum("ij,kj->ik", rows, weights) + intercepts
                    worst = np.argmax(scores[:, lines[1:]], axis=1)
                for k in range(len(ahead)):
                    some = counts * (worst == k)
                    factors += some.sum() * ahead[k]
                    means += np.einsum("i,ij->j", some, rows) * ahead[k]
        return factors, means

    def sides(self, rows: Row, winner: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell which units of some instances can help if they are fixed, and which can hurt.

        Shape (m, units) each. Exact for units of one column, and for others with few states; else
        what cannot be told apart counts as both.
        """
        table, values = self.table, rows.astype(np.float64)
        for_it, against = self._signs(winner)
        above, below = values > table.least, values < table.most
        helps = (for_it & above) | (against & below)
        hurts = (for_it & below) | (against & above)
        heads = [at[0] for at in self.columns]
        by_unit, others = helps[:, heads], hurts[:, heads]
        for u in self._several:
            at = self.columns[u]
            for i in range(len(values)):
                by_unit[i, u], others[i, u] = (
                    self._side(winner, u, values[i, at])
                    if len(self.rows) <= _MANY_ROWS
                    else (helps[i, at].any(), hurts[i, at].any())
                )
        return by_unit, others

    def _signs(self, winner: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell which columns speak for a class before some rival, and which against it."""
        weights, lines = self.decider.weights, self.winner(winner).lines
        zero = np.zeros(weights.shape[1])
        own = weights[lines[0]] if lines[0] >= 0 else zero
        rivals = [weights[line] if line >= 0 else zero for line in lines[1:]]
        return np.any([own > w for w in rivals], axis=0), np.any([own < w for w in rivals], axis=0)

    def _side(self, winner: int, unit: int, state: NDArray[np.float64]) -> tuple[bool, bool]:
        """Tell whether fixing a unit of several columns can help, and whether it can hurt."""
        key = (winner, unit, state.tobytes())
        if key in self._sides:
            return self._sides[key]
        at, lines = self.columns[unit], self.winner(winner).lines
        states = self._states_of(unit)
        zero = np.zeros(len(at))
        weights = self.decider.weights[:, at]
        helps = hurts = False
        for line in lines[1:]:
            ahead = (weights[lines[0]] if lines[0] >= 0 else zero) - (
                weights[line] if line >= 0 else zero
            )
            with np.errstate(over="ignore", invalid="ignore"):
                each = (ahead * (state - states)).sum(axis=1)
                off = (
                    2.0**-48
                    * len(at)
                    * (np.abs(ahead) * (np.abs(state) + np.abs(states))).sum(axis=1)
                    + 2.0**-1060
                )
            helps |= bool((each > off).any())
            hurts |= bool((each < -off).any())
            near = states[~(np.abs(each) > off)]
            if not (helps and hurts) and len(near) <= _FEW_STATES:
                first = weights[lines[0]] if lines[0] >= 0 else zero
                second = weights[line] if line >= 0 else zero
                # A difference of two weights may be rounded: each is taken as it is.
                gains = [
                    worth(first, state) - worth(second, state)
                    - (worth(first, other) - worth(second, other))
                    for other in near
                ]  # fmt: skip
                helps |= any(gain > 0 for gain in gains)
                hurts |= any(gain < 0 for gain in gains)
            elif len(near) > _FEW_STATES:
                helps = hurts = True
        if len(self._sides) >= _MOST_SIDES:
            self._sides.clear()
        self._sides[key] = helps, hurts
        return helps, hurts

    def _states_of(self, unit: int) -> NDArray[np.float64]:
        """Return the different states of a unit of several columns."""
        if unit not in self._known_states:
            states, _ = distinct_states(self.rows[:, self.columns[unit]])
            self._known_states[unit] = states.astype(np.float64)
        return self._known_states[unit]

    @cached_property
    def _known_states(self) -> dict[int, NDArray[np.float64]]:
        return {}

    @cached_property
    def shuffled(self) -> NDArray[np.intp]:
        """All rows in the order in which they are drawn."""
        rng = np.random.default_rng(self.distribution.random_state)
        return rng.permutation(len(self.rows)).astype(np.intp)

    # --- searches ----------------------------------------------------------------------------

    def answer(self, rows: Row, task: Task) -> Found:
        """Return a small set of each row that reaches delta, and what was proved of it."""
        n, units = len(rows), self.model.n_units
        found = Found.empty(n, units)
        if not n:
            return found
        task = self.within(rows, task)
        step = min(_AT_ONCE, max(_NUMBERS_AT_ONCE // units, 1))
        for first in range(0, n, step):
            some = slice(first, min(first + step, n))
            for i, one in self.instances(rows[some], task.of_rows(some)):
                asked = task.of_row(first + i)
                if task.has_prices:
                    self._price(first + i, one, asked, found)
                else:
                    self._answer(first + i, one, asked, found)
        found.end_proofs(task)
        return found

    def instances(self, rows: Row, task: Task) -> Iterator[tuple[int, Candidates]]:
        """Yield checked rows before the background, each with its candidates."""
        winners = self.model.winners(rows)
        known: Known = self.table.known(rows)
        may = task.may_choose(len(rows), self.model.n_units)
        helps, hurts = np.empty_like(may), np.empty_like(may)
        gains = np.empty(may.shape, dtype=np.float64)
        for winner in np.unique(winners).tolist():
            at = np.flatnonzero(winners == winner)
            helps[at], hurts[at] = self.sides(rows[at], winner)
            gains[at] = self.mean_gains(rows[at], winner)
        may &= helps
        orders = np.argsort(-gains, axis=1, kind="stable")
        forced = np.array(task.include, dtype=np.int64)
        needed = -(-task.delta.numerator * self.total // task.delta.denominator)
        for i, winner in enumerate(winners.tolist()):
            order = orders[i]
            units = order[may[i, order]].astype(np.int64)
            one = Instance(
                rows[i].astype(np.float64),
                self.winner(winner),
                int(known.exponents[i]),
                known.parts[i],
                int(known.doubts[i]),
                units,
                forced,
                not hurts[i, units].any(),
                self.total - needed,
            )
            yield i, self.before(one)

    def before(self, one: Instance) -> Candidates:
        """Return the rows before an instance: a table of gains, or those that are gone through."""
        sample = self.distribution.sample
        if sample is None and not self.is_large:
            return DenseRows(self, one, self.floats, self.weights, None, self._light)
        return StreamedRows(self, one, sample)

    @cached_property
    def _light(self) -> Light:
        return Light.of(self.weights)

    def _answer(self, i: int, rows: Candidates, task: Task, found: Found) -> None:
        """Write down the answer of a row: of the fewest features."""
        best = smallest(rows, first_of(rows), task)
        least = best.least
        if best.chosen is None or is_too_large(best, task):
            best, word = self._out_of_reach(i, rows, best, task, found)
            if word:
                self._write(i, rows, best, word, least, task, found)
                return
        if len(best.chosen or []) == least:
            self._write(i, rows, best, "minimum", least, task, found)
            return
        late = best.late
        best, word = claimed(rows, best, task)
        if len(best.chosen or []) == least:
            word = "minimum"
        self._write(i, rows, best, word, least, task, found)
        if late and word != "minimum":
            found.stopped[i] = "time"

    def _write(
        self,
        i: int,
        rows: Candidates,
        best: Answer,
        word: str,
        least: int,
        task: Task,
        found: Found,
    ) -> None:
        """Write down what was found of a row, its features by decreasing mean gain."""
        chosen = rows.units[sorted(best.chosen or [])].tolist()
        share = self._share(best.lost)
        found.write(i, [*task.include, *chosen], share, word, len(task.include) + least)

    def _share(self, lost: int) -> Enclosure:
        """Return the guarantee of a set that loses a weight; many rows lose the same."""
        if lost not in self._shares:
            if len(self._shares) >= _MOST_SIDES:
                self._shares.clear()
            self._shares[lost] = Enclosure.of(Fraction(self.total - lost, self.total))
        return self._shares[lost]

    def _out_of_reach(
        self, i: int, rows: Candidates, none: Answer, task: Task, found: Found
    ) -> tuple[Answer, str]:
        """Return the best set of a row that does not reach delta, and say why not."""
        h = len(rows.units)
        best = best_of(rows, h if task.most is None else min(task.most, h), task)
        if best.lost <= rows.spare:
            chosen, lost = rows.pruned(best.chosen or [], rows.spare)
            return Answer(chosen, lost, none.least), ""
        if task.max_size is None:
            known = Enclosure.of(Fraction(self.total - best.lost, self.total))
            what = "is not reached by any set found"
            told = f"the best guarantee found is {known}"
            if rows.monotone:  # it is that of all others together
                told = f"the best guarantee that the others give is {known}"
            if rows.monotone or none.least > h:
                what = "cannot be reached"
            if not task.has_others(self.model.n_units):
                told = f"there are no others, and with nothing known the guarantee is {known}"
            found.give_up(i, unreachable(task, what, told, str(self.distribution)), task)
        return best, "best-of-size"

    def _price(self, i: int, rows: Candidates, task: Task, found: Found) -> None:
        """Write down the answer of a row: of the cheapest features."""
        prices = task.prices
        assert prices is not None
        forced = prices.total(task.include)
        # Half of the time is for the fewest features.
        half = replace(task, until=task.until - task.effort.time_limit / 2)
        start = smallest(rows, first_of(rows), half)
        if start.chosen is None or is_too_large(start, task):
            best, word = self._out_of_reach(i, rows, start, task, found)
            if word:
                self._write(i, rows, best, word, start.least, task, found)
                found.cost_lower[i] = forced
                return
            start = best._replace(least=start.least)
        best, word = cheapest(rows, start, start.least, prices, task)
        found.cost_lower[i] = forced + best.least
        self._write(i, rows, best, word, start.least, task, found)
        if (best.late or start.late) and word != "minimum":
            found.stopped[i] = "time"


def _above(number: Fraction) -> int:
    """Return a power of two that is above a number."""
    return abs(number.numerator).bit_length() - number.denominator.bit_length() + 1


class BackgroundView(View):
    """One instance before background rows."""

    def __init__(self, law: BackgroundLaw, row: Row, winner: int) -> None:
        super().__init__(law.model.n_units)
        self.law, self.row, self.winner = law, row, winner
        self._x = row.astype(np.float64)

    @property
    def whole_parts(self) -> int:
        """Guarantees are shares of the weight of all rows."""
        return self.law.total

    @cached_property
    def _sides(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        helps, hurts = self.law.sides(self.row[None, :], self.winner)
        return helps[0], hurts[0]

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown costs some row anything."""
        return bool(self._sides[0][unit])

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown gains some row anything."""
        return bool(self._sides[1][unit])

    def members(self) -> list[int]:
        """Return the units that fixing can help."""
        found: list[int] = np.flatnonzero(self._sides[0]).tolist()
        return found

    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""
        return self.law.kept(self._x, self.winner, self.law.mask(features))

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Return the exact share of background rows that keep the class."""
        weight = int(self.law.weights @ self.keeps(fixed))
        return Enclosure.of(Fraction(weight, self.law.total))

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing mean gain, the signed SHAP value."""
        gains = self.law.mean_gains(self.row[None, :], self.winner)[0][members]
        return [[members[j] for j in np.argsort(-gains, kind="stable").tolist()]]

    def ranking(self) -> list[int]:
        """Return all units in the order in which greed fixes them."""
        _, rows = next(self.law.instances(self.row[None, :], Task(Fraction(1))))
        order: list[int] = rows.units[rows.ranked()].tolist()
        chosen = set(order)
        rest = self.orders([u for u in range(self.n_units) if u not in chosen], ())[0]
        return [*order, *rest]

    def weights_along(self, order: Sequence[int]) -> NDArray[np.int64]:
        """Return the weight kept with the first 0, 1, 2, ... of an order fixed, exactly."""
        return self.law.kept_along(self._x, self.winner, order)

    def along(self, order: Sequence[int], tol: float) -> list[Enclosure]:
        """Return the exact share with the first 0, 1, 2, ... of an order fixed."""
        total = self.law.total
        return [Enclosure.of(Fraction(w, total)) for w in self.weights_along(order).tolist()]

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many background rows drawn, those that keep the class, at every size."""
        counts = rng.multinomial(samples, self.law.weights / self.law.weights.sum())
        sizes = range(len(order) + 1)
        return np.array([int(counts @ self.keeps([*forced, *order[:k]])) for k in sizes])


class _RowsProver(Prover):
    """The sets of one instance, of which rows are counted and searched."""

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members that reaches the level."""
        view = self.view
        assert isinstance(view, BackgroundView)
        task = replace(self.task, max_size=len(self.forced) + size)
        _, rows = next(view.law.instances(view.row[None, :], task))
        start = first_of(rows)
        if start.chosen is None or len(start.chosen) > size:
            start = smallest(rows, start, task)
        if start.chosen is not None and len(start.chosen) <= size:
            return True, set(rows.units[start.chosen].tolist())
        return (False if start.least > min(size, len(rows.units)) else None), set()

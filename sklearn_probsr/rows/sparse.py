"""Background rows that are mostly zeros, as words in documents are.

What comes in is a model of any number of classes and rows by their values; what goes out are counts
of the rows that keep the class with some units fixed, exact, and small sets with what is proved of
them. Contributions are cut to whole numbers value by value (Lemma 45): zeros contribute nothing on
any scale. Fixing a word that an instance lacks moves only the rows that hold it, so that a set is
counted over its own columns, and nothing as large as a filled table is made.

Every unit is one column here, and two classes are a winner and its one rival.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import Duel, Law, Row
from sklearn_probsr.core.options import Task
from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows, one_row
from sklearn_probsr.rows.answers import Searched
from sklearn_probsr.rows.exact import Decider, bounds, kept
from sklearn_probsr.rows.kernels import Rows
from sklearn_probsr.rows.law import BackgroundLaw, BackgroundView, RowsRest, Sums
from sklearn_probsr.rows.search import Prices, Search
from sklearn_probsr.rows.sparse_kernels import (
    Case,
    Columns,
    Documents,
    Members,
    add_lifts,
    follow,
    needs,
)
from sklearn_probsr.rows.stream import RIVAL_BYTES, Light

__all__ = ["SparseCandidates", "SparseLaw", "SparseView"]

# What rows contribute reaches 2^49 at most, what an instance does as much again, so that all sums
# stay below 2^53.
_BITS = 49
# Greed asks so many rows, drawn at random, which members to look at in all rows.
_PART = 2048
# So many members that are best in the part are looked at in all rows, if they save this part of
# what the best saves there; of the others one in so many is looked at in every step.
_FINALISTS, _ASKED, _NEAR = 10, 24, 0.85
# Words that an instance lacks are judged by so many rows that are lost. Where they save less than
# this part of what the best saves, they wait for so many steps.
_LOST, _FAR, _WAIT = 512, 0.7, 4
# Cells of margins that greed may move.
_GREED = 2**29
# The parts of a set are gone through over so many gains, in so many steps.
_CLAIM_GAINS, _CLAIM_STEPS = 2**20, 1024
# Rows that need more members than are surely needed are looked for until they are so few.
_FEW = 0.02
# With more gains no table of them is made, and with as few before all rivals rows are filled in.
FEW_GAINS = FEW_FILLED = 2**20
# Of numbers that are searched together in floats of 32 bits.
_LIGHT_BITS = 22
# From here on weights together are no floats.
_HEAVY = 2**53
# Numbers that no sum has room for.
_TOO_LARGE = 2.0**1000
# Values that are settled with all digits at once.
_AT_ONCE = 2**22


class Scaled(NamedTuple):
    """What the values of all rows contribute to scores, in whole numbers.

    The last score is that which is always 0.

    Attributes
    ----------
    exponent : int
        One whole number is worth two to this power.
    exact : bool
        Whether nothing is rounded.
    columns : Columns
    scores : ndarray of float64, shape (K, n)
    intercepts : ndarray of float64, shape (K,)
    """

    exponent: int
    exact: bool
    columns: Columns
    scores: NDArray[np.float64]
    intercepts: NDArray[np.float64]


class SparseTable:
    """The rows of a background by rows and by columns.

    By columns they stand in a random order, those that count before those that do not.

    Parameters
    ----------
    decider : Decider
    data : SparseRows
        Checked rows.
    weights : ndarray of int64, shape (n,)
        How much each row counts.
    sample : int or None
        How many rows greed asks first; None: some.
    random_state : int
        Draws them.
    """

    def __init__(
        self,
        decider: Decider,
        data: SparseRows,
        weights: NDArray[np.int64],
        sample: int | None,
        random_state: int,
    ) -> None:
        self.decider, self.data = decider, data
        rng, counting = np.random.default_rng(random_state), weights > 0
        drawn = rng.permutation(np.flatnonzero(counting))
        self.order = np.concatenate([drawn, np.flatnonzero(~counting)])
        self.counts = weights[self.order].astype(np.float64)
        self.part = min(_PART if sample is None else sample, len(drawn))
        by_column = data.matrix[self.order].tocsc()
        self.starts = by_column.indptr.astype(np.int64)
        self.rows = by_column.indices.astype(np.int32)
        values, sizes = by_column.data.astype(np.float64), np.diff(self.starts)
        held = np.flatnonzero(sizes)
        self.least, self.most = np.zeros((2, data.width))
        if len(held):
            self.least[held] = np.minimum.reduceat(values, self.starts[held])
            self.most[held] = np.maximum.reduceat(values, self.starts[held])
        some = sizes < len(data)  # of the other columns no row has a zero
        self.least[some] = np.minimum(self.least[some], 0.0)
        self.most[some] = np.maximum(self.most[some], 0.0)
        # Columns far from 1 are divided by a power of two, so that no product is out of range.
        top = np.frexp(np.maximum(np.abs(self.least), np.abs(self.most)))[1]
        self.powers = np.where(np.abs(top) < 200, 0, top)
        self._top = top - self.powers
        self.values = np.ldexp(values, -np.repeat(self.powers, sizes))
        self._whole = bool((values == np.rint(values)).all()) and not self.powers.any()
        self.longest = int(np.diff(data.starts).max(initial=0))

    @cached_property
    def documents(self) -> Documents:
        """The rows one by one, their values over the powers of their columns."""
        data = self.data
        values = np.ldexp(data.values.astype(np.float64), -self.powers[data.indices])
        return Documents(data.starts, data.indices, values, self.order)

    @cached_property
    def scaled(self) -> Scaled:
        """What all rows contribute to scores, on the finest scale that has room for them."""
        used = (self.least != 0) | (self.most != 0)
        sizes = np.frexp(np.abs(self.decider.weights[:, used]).max(axis=0, initial=0.0))[1]
        reach = int((sizes + self.powers[used] + self._top[used]).max(initial=-5000))
        highest = int(np.frexp(self.decider.intercepts)[1].max())
        # Sums before a rival are of twice as many terms.
        return self.on(max(reach + (self.longest + 2).bit_length(), highest + 1) + 1 - _BITS)

    def on(self, exponent: int) -> Scaled:
        """Write it on a scale."""
        weights = np.zeros((self.data.width, len(self.decider.weights) + 1))
        with np.errstate(over="ignore", under="ignore"):
            weights[:, :-1] = np.ldexp(self.decider.weights.T, self.powers[:, None] - exponent)
            levels = np.rint(np.ldexp(self.decider.intercepts, -exponent))
            exact = bool((np.ldexp(levels, exponent) == self.decider.intercepts).all())
        # Those of columns that no row holds may be far beyond the scale.
        np.clip(weights, -_TOO_LARGE, _TOO_LARGE, out=weights)
        exact = exact and self._whole and bool((weights == np.rint(weights)).all())
        columns = Columns(self.starts, self.rows, self.values, weights)
        scores, sizes = np.zeros((len(levels) + 1, len(self.data))), np.diff(self.starts)
        for line, own in zip(scores[:-1], weights.T[:-1], strict=True):
            each = np.rint(np.repeat(own, sizes) * self.values)
            line[:] = np.bincount(self.rows, each, len(line))
        return Scaled(exponent, exact, columns, scores, np.append(levels, 0.0))

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        found = self.data.nbytes + self.rows.nbytes + self.values.nbytes + 5 * self.starts.nbytes
        if "scaled" in self.__dict__:
            found += self.scaled.columns.weights.nbytes + self.scaled.scores.nbytes
        return int(found + self.documents.values.nbytes if "documents" in self.__dict__ else found)


class SparseView(BackgroundView):
    """One instance before background rows, of which only what is not zero is touched.

    Attributes
    ----------
    case : Case
        All rows with nothing fixed.
    present : ndarray of intp, shape (k,)
        The units that the instance has.
    helps, hurts : ndarray of bool, shape (d,)
        Which units fixing can help, and hurt.
    doubt : int
        How far a margin may be off.
    """

    law: SparseLaw

    def __init__(self, law: SparseLaw, row: Row, winner: int) -> None:
        super().__init__(law, row, winner)
        self._texts = texts = law.texts
        self.present = np.flatnonzero(row)
        values, scaled = self._x[self.present], texts.scaled
        known, exponent = self._known(scaled, values)
        while exponent > scaled.exponent:  # so far out that sums would have no room
            scaled = texts.on(exponent)
            known, exponent = self._known(scaled, values)
        self.scaled = scaled
        self.helps, self.hurts = self._sides
        exact = scaled.exact and bool((values == np.rint(values)).all())
        # A margin is off by less than two for each value and each level (Lemma 45).
        self.doubt = 0 if exact else 2 * (texts.longest + len(values)) + 4
        first, rivals, margins = law.ahead(scaled, winner)
        margins += (self.doubt - law.winner(winner).loses)[:, None]
        place = np.full(len(row), -1, dtype=np.int32)
        place[self.present] = np.arange(len(self.present))
        self.case = Case(
            margins,
            margins.min(axis=0),
            texts.counts,
            first,
            rivals,
            place,
            known[:, first, None] - known[:, rivals],
            np.inf if law.is_heavy else 2.0 * self.doubt,
            np.empty(margins.shape[1]),
            np.empty((2, len(rivals))),
        )

    def _known(self, scaled: Scaled, values: NDArray[np.float64]) -> tuple[Any, int]:
        """Return what the values of the instance contribute, and a scale on which it has room.

        By mantissas and exponents: values may be far out, and in columns that no row holds.
        """
        shares, powers = np.frexp(values)
        mantissas, exponents = np.frexp(self._texts.decider.weights[:, self.present].T)
        shifts = exponents + (powers.astype(np.int64) - scaled.exponent)[:, None]
        terms = mantissas * shares[:, None]
        reach = int(shifts[terms != 0].max(initial=0)) + len(values).bit_length() + 1
        whole = np.zeros((len(values), len(scaled.intercepts)))
        whole[:, :-1] = np.rint(np.ldexp(terms, np.clip(shifts, -1000, 1000)))
        return whole, scaled.exponent + max(reach - _BITS, 0)

    # --- counts ------------------------------------------------------------------------------

    def fixed(self, units: Collection[int], case: Case | None = None) -> Case:
        """Return a case, or the one with nothing fixed, with more units fixed."""
        before = self.case if case is None else case
        found = before._replace(margins=before.margins.copy(), low=before.low.copy())
        self.follow(found, np.array([*units], dtype=np.intp))
        return found

    def follow(
        self, case: Case, order: NDArray[np.intp], sign: float = 1.0, spare: float = -np.inf
    ) -> NDArray[np.float64]:
        """Fix units of a case one by one, or free them (-1), until at most ``spare`` is lost.

        Returns what is lost and missing before and after each, and how many rows are in doubt;
        shape (how many + 1, 3).
        """
        told = np.empty((len(order) + 1, 3))
        made = follow(self.scaled.columns, case, order, sign, len(case.low), True, spare, told)
        return told[: made + 1]

    def looked(
        self, case: Case, units: NDArray[np.intp], sign: float = 1.0, n: int | None = None
    ) -> NDArray[np.float64]:
        """Return the same of the first n rows with each of some units fixed alone, or freed."""
        told = np.empty((len(units) + 1, 3))
        n = len(case.low) if n is None else n
        follow(self.scaled.columns, case, units, sign, n, False, 0.0, told)
        return told

    def lost_along(
        self, forced: Sequence[int], order: Sequence[int] | NDArray[np.intp], spare: float = -np.inf
    ) -> NDArray[np.int64]:
        """Return the weight lost with the first 0, 1, 2, ... of an order fixed beside others.

        Exact; until no more than ``spare`` is lost.
        """
        steps, case = np.array([*order], dtype=np.intp), self.fixed(forced)
        lost: list[int] = []
        told = self.follow(case, steps, 1.0, float(spare))
        while True:
            for least, _, doubts in told.tolist():
                open_one = doubts > 0 or self.law.is_heavy
                some = [*forced, *steps[: len(lost)].tolist()] if open_one else []
                lost.append(self.lost(some) if open_one else int(least))
            if len(lost) > len(steps) or lost[-1] <= spare:
                return np.array(lost, dtype=np.int64)
            told = self.follow(case, steps[len(lost) - 1 : len(lost)])[1:]  # it was in doubt

    def lost(self, units: Collection[int]) -> int:
        """Return the weight of the rows that lose the class with some units fixed, exactly."""
        return int(self.law.weights[~self.keeps(units)].sum())

    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""
        case, order = self.fixed(features), self._texts.order
        keeps = np.empty(len(order), dtype=np.bool_)
        keeps[order] = case.low >= 0.0
        doubtful = order[(case.low >= 0.0) & (case.low < case.sure)]
        step = max(_AT_ONCE // (self._texts.longest + len(self.present) + 1) // 64, 1)
        for first in range(0, len(doubtful), step):
            some = doubtful[first : first + step]
            keeps[some] = self._settled(some, features)
        return keeps

    def _settled(self, at: NDArray[np.intp], fixed: Collection[int]) -> NDArray[np.bool_]:
        """Tell which of some rows keep the class with some units fixed, with all digits."""
        some, told = self._texts.data[at], self._texts.decider
        columns = np.union1d(some.indices, self.present).astype(np.intp)
        rows = np.zeros((len(at), len(columns)))
        rows[some.places, np.searchsorted(columns, some.indices)] = some.values
        weights = np.ascontiguousarray(told.weights[:, columns])
        few = Decider(weights, told.intercepts, np.arange(len(columns)))
        inside = np.append(np.isin(columns, [*fixed]), False)
        own, x = self.law.winner(self.winner), self._x[columns]
        most = np.maximum(np.abs(rows).max(axis=0), np.abs(x))
        return kept(few, own, bounds(few, own), rows, most, x, inside)

    def weights_along(self, order: Sequence[int]) -> NDArray[np.int64]:
        """Return the weight kept with the first 0, 1, 2, ... of an order fixed, exactly."""
        return self.law.total - self.lost_along((), order)

    def gains(
        self, units: NDArray[np.intp], rows: NDArray[np.intp] | slice = slice(None)
    ) -> NDArray[np.float64]:
        """Return what fixing each of some units adds to the margins of rows; shape (h, R, rows)."""
        (starts, at, values, weights), case = self.scaled.columns, self.case
        place = np.full(len(case.low), -1)
        place[rows] = np.arange(len(place[rows]))
        found = np.zeros((len(units), len(case.rivals), int(place.max(initial=-1)) + 1))
        for i, u in enumerate(units.tolist()):
            if case.place[u] >= 0:
                found[i] = case.known[case.place[u], :, None]
            inside = slice(starts[u], starts[u + 1])
            held = place[at[inside]]
            ahead = weights[u, case.winner] - weights[u, case.rivals]
            found[i][:, held[held >= 0]] -= np.rint(ahead[:, None] * values[inside][held >= 0])
        return found

    # --- units -------------------------------------------------------------------------------

    @cached_property
    def _mean_gains(self) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self.law.mean_gains(self._x[None, :], self.winner)[0]
        return found

    def by_gain(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return units by decreasing mean gain."""
        return units[np.argsort(-self._mean_gains[units], kind="stable")]

    def greedy(
        self,
        case: Case,
        allowed: NDArray[np.bool_],
        prices: Any,
        spare: int,
        hinge: bool,
        most: int,
    ) -> NDArray[np.intp]:
        """Return allowed units in the order in which greed fixes them beside a case.

        Until no more than ``spare`` is lost: each of at most so many saves most for its price
        (``prices`` are (d,)) of the weight that is lost, or with ``hinge`` of what is missing.
        Those that are best in a part of the rows are looked at in all of them.
        """
        texts, n = self._texts, len(case.low)
        case = self.fixed((), case)
        present = self.present[allowed[self.present]]
        worth = allowed / prices  # of units that the instance lacks, while they are free
        worth[self.present] = 0.0
        lost, wait, order = float(texts.counts[case.low < 0].sum()), 0, []
        scores = np.zeros(len(present))
        for step in range(min(most, _GREED // max(case.margins.size, 1))):
            if lost <= spare:
                break
            due = np.argsort(-scores, kind="stable")[: len(scores) if step == 0 else _ASKED]
            some = present[due]
            scores[due], found = self._saved(case, some, texts.part, hinge) / prices[some]
            best = np.argsort(-found, kind="stable")[:_FINALISTS]
            top = found.max(initial=-np.inf)
            tried = some[best[found[best] >= min(_NEAR * top, top)]]
            saved = self._saved(case, tried, n, hinge)[1] / prices[tried]
            top = saved.max(initial=0.0)
            if wait and top > 0.0:
                wait -= 1
            else:
                absent, bound = self._lifting(case, worth, hinge)
                wait = _WAIT if lost * bound < _FAR * top else 0
                tried = np.append(tried, absent)
                saved = np.append(saved, self._saved(case, absent, n, hinge)[1] / prices[absent])
            if not len(tried):
                break
            chosen = tried[int(saved.argmax())]
            if case.place[chosen] >= 0:
                present, scores = present[present != chosen], scores[present != chosen]
            else:
                worth[chosen], wait = 0.0, 0
            lost = self.follow(case, np.array([chosen]))[-1, 0]
            order.append(chosen)
        return np.array(order, dtype=np.intp)

    def followed_by(self, order: NDArray[np.intp], allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return an order, and the other allowed units by mean gain."""
        left = allowed.copy()
        left[order] = False
        return np.append(order, self.by_gain(np.flatnonzero(left)))

    def _saved(self, case: Case, units: NDArray[np.intp], n: int, hinge: bool) -> Any:
        """Return what fixing each of some units takes off what the first n rows miss.

        And what greed goes by, that or the weight that it saves; shape (2, units).
        """
        told = self.looked(case, units, 1.0, n)
        lost, missing, _ = (told[:1] - told[1:]).T
        lost -= missing * (0.5 / (1.0 - told[0, 1]))
        return np.array([-missing, -missing if hinge else lost])

    def _lifting(
        self, case: Case, worth: NDArray[np.float64], hinge: bool
    ) -> tuple[NDArray[np.intp], float]:
        """Return the units that bring most before the worst rivals of rows that are lost.

        And how much of the weight the first may save. ``worth`` (d,) is what they count.
        """
        texts, columns = self._texts, self.scaled.columns
        lost = np.flatnonzero(case.low[: texts.part] < 0)[:_LOST]
        for missing in (hinge, True):  # perhaps no word lifts a row to 0 by itself
            lifts = np.zeros(len(worth))
            seen = add_lifts(columns, texts.documents, case, lost, missing, lifts)
            lifts *= worth
            top = lifts.max(initial=0.0)
            if top > 0.0:
                break
        some = np.flatnonzero(lifts > 0.5 * top)
        best = some[np.argsort(-lifts[some], kind="stable")[:_FINALISTS]]
        return best, float(top / max(seen, 1.0))


class SparseCandidates:
    """Rows before an instance, and the units that may be fixed; see `answers.Candidates`.

    Too many for a table of gains: greed proposes sets, rows say what they need on their own, and
    the parts of a set are gone through.

    Parameters
    ----------
    view : SparseView
    task : Task
        What is asked of the instance.
    """

    def __init__(self, view: SparseView, task: Task) -> None:
        self._view, self._forced = view, list(task.include)
        self._allowed = view.helps & task.may_choose(1, len(view.helps))[0]
        self.units = np.flatnonzero(self._allowed).astype(np.int64)
        self.monotone = not bool(view.hurts[self.units].any())
        self._most = len(self.units) if task.most is None else min(task.most, len(self.units))
        total = view.law.total
        self.spare = total + (-task.delta.numerator * total // task.delta.denominator)
        self.cells = view.case.margins.size
        self._case = view.fixed(self._forced) if self._forced else view.case
        self._known: dict[frozenset[int], int] = {}

    @property
    def gains(self) -> float:
        """How many numbers a table has; infinite if it would be too large to be made."""
        size = len(self.units) * self.cells
        return size if size <= FEW_GAINS and not self._view.law.is_heavy else math.inf

    def of(self, places: Sequence[int]) -> NDArray[np.intp]:
        """Return the units at some places."""
        return self.units[[*places]] if len(places) else np.zeros(0, dtype=np.intp)

    def _places(self, units: Any) -> list[int]:
        found: list[int] = np.searchsorted(self.units, units).tolist()
        return found

    def lost(self, chosen: Sequence[int], spare: int) -> int:
        """Return the weight lost with a set fixed, exactly."""
        key = frozenset(chosen)
        if key not in self._known:
            self._known[key] = self._view.lost([*self._forced, *self.of(chosen).tolist()])
        return self._known[key]

    def pruned(self, order: Sequence[int], spare: int) -> tuple[list[int], int]:
        """Leave out what is not needed, the last first; return the rest, and what it loses."""
        view, chosen = self._view, list(order)
        case, changed = view.fixed(self.of(chosen), self._case), True
        while changed:
            changed = False
            for j in reversed(list(chosen)):
                rest, unit = [i for i in chosen if i != j], self.of([j])
                lost, _, doubts = view.looked(case, unit, -1.0)[1]
                lost = self.lost(rest, spare) if doubts > 0 or view.law.is_heavy else lost
                if lost <= spare:
                    view.follow(case, unit, -1.0)
                    chosen, changed = rest, not self.monotone
        return chosen, self.lost(chosen, spare)

    def proposals(self, prices: NDArray[np.float32]) -> list[tuple[list[int], bool]]:
        """Return orders that greed takes candidates in, and whether each reaches the level."""
        view, found, each = self._view, [], np.ones(len(self._allowed))
        each[self.units] = prices
        for hinge in (False, True):
            many = len(self.units)
            order = view.greedy(self._case, self._allowed, each, self.spare, hinge, many)
            lost = view.lost_along(self._forced, order, self.spare)
            if lost[-1] > self.spare:
                order = view.followed_by(order, self._allowed)
                lost = view.lost_along(self._forced, order, self.spare)
            found.append((self._places(order[: len(lost) - 1]), bool(lost[-1] <= self.spare)))
        return found

    def ranked(self) -> list[int]:
        """Return all candidates in the order in which greed takes them, the better of two."""
        view, ones, orders = self._view, np.ones(len(self._allowed)), []
        for hinge in (False, True):
            order = view.greedy(self._case, self._allowed, ones, 0, hinge, self._most)
            lost = view.follow(view.fixed((), self._case), order)[:, 0]
            orders.append((lost.min(), hinge, order))
        return self._places(view.followed_by(min(orders)[2], self._allowed))

    def along(self, order: Sequence[int]) -> NDArray[np.int64]:
        """Return the weight lost with the first 0, 1, 2, ... of an order fixed, exactly."""
        return self._view.lost_along(self._forced, self.of(order))

    def least(self, most: int) -> int:
        """Return a size, at most ``most``, below which no set reaches the level.

        Rows that need more members than a size on their own weigh more than may be lost (Lemma 32).
        Those that lack most are asked first, until few that follow need as many.
        """
        view, case = self._view, self._case
        if view.law.is_heavy:
            return 0
        hard = np.flatnonzero((case.low < 0.0) & (case.counts > 0))
        hard = hard[np.argsort(case.low[hard], kind="stable")]
        known = np.where(self._allowed[view.present][:, None], case.known, 0.0)
        ranked = np.ascontiguousarray(np.argsort(-known, axis=0, kind="stable").T)
        members = Members(self._allowed, ranked, np.zeros(len(known), np.int64), np.empty(most))
        case = case._replace(known=known)
        columns, documents = view.scaled.columns, view.law.texts.documents
        weights = np.zeros(most + 2)  # of the rows that need so many
        found = first = 0
        while first < len(hard):
            size = int(2 * self.spare / max(case.counts.mean(), 1.0)) + 64
            asked = hard[first : first + (size if first == 0 else size // 2)]
            sizes = np.zeros(len(asked), dtype=np.int64)
            members.held[:] = 0
            needs(columns, documents, case, members, asked, found, sizes)
            more = np.bincount(sizes, case.counts[asked], most + 2)
            weights += more
            needed = weights[::-1].cumsum()[::-1]  # of the rows that need at least so many
            over = np.flatnonzero(needed > self.spare)
            found = int(over[-1]) if len(over) else 0
            if first and more[found + 1 :].sum() < _FEW * len(asked):
                break
            first += len(asked)
        return min(found, most)

    def parted(self, chosen: Sequence[int], task: Task) -> tuple[int, list[int]]:
        """Look for a part of a set that reaches the level: 1 with one, 0 if none does, or -1.

        Each member stays or is left out, in turn, as long as rows that are nearest to being lost
        may be kept if the others stay where that is good for a row (Lemma 175).
        """
        view, units = self._view, self._view.by_gain(self.of(chosen))
        if view.law.is_heavy:
            return -1, []
        case = view.fixed(units, self._case)
        many = max(_CLAIM_GAINS // max(len(units) * len(case.margins), 1), 1)
        rows = np.argsort(case.low, kind="stable")[:many]
        gains, counts = view.gains(units, rows), case.counts[rows]
        hurts, helps = np.minimum(gains, 0.0), np.maximum(gains, 0.0)
        # What is not decided, with the best margins that rows can have, and what is left out.
        ways = [(0, case.margins[:, rows] - hurts.sum(axis=0), frozenset[int]())]
        for _ in range(_CLAIM_STEPS):
            if not ways:
                return 0, []
            i, margins, out = ways.pop()
            if out and counts[(margins < 0).any(axis=0)].sum() > self.spare:
                continue
            if i < len(units):
                ways.append((i + 1, margins + hurts[i], out))
                ways.append((i + 1, margins - helps[i], out | {i}))
            elif out:
                rest = self._places(np.delete(units, [*out]))
                if self.lost(rest, self.spare) <= self.spare:
                    return 1, rest
        return -1, []

    def searched(self, prices: Prices, part: Sequence[int] | None = None) -> Searched:
        """Return a search for sets of some price, of all candidates if these are few.

        Numbers are divided by a power of two and rounded up: what is refuted is (Lemma 32).
        """
        view, margins = self._view, self._case.margins
        gains = view.gains(self.units if part is None else self.units[part])
        reach = np.abs(margins).max(initial=0) + np.abs(gains).sum(axis=0).max(initial=0)
        bits = max(int(np.frexp(reach)[1]) - _LIGHT_BITS, 0)
        weights = view.law.weights[view.law.texts.order]
        rows = Rows(
            np.ceil(np.ldexp(margins, -bits)).astype(np.float32),
            np.ceil(np.ldexp(gains, -bits)).astype(np.float32),
            weights,
            Light.of(weights).weights,
            np.float32(0.0),
        )
        search = Search(rows, prices, RIVAL_BYTES)
        return Searched(search, search.lost, 0)


class SparseLaw(BackgroundLaw):
    """A model, of two classes or several, before background rows that are mostly zeros."""

    takes_sparse = True

    def __init__(self, model: Model, distribution: Background, rows: SparseRows) -> None:
        Law.__init__(self, model, distribution)
        self.rows: Any = rows
        self.weights, self.total = distribution.weights, int(distribution.weights.sum())
        # Sums of larger weights are no floats: every set is counted in whole numbers.
        self.is_heavy = self.total >= _HEAVY
        self.decider = Decider(*model.outputs, np.arange(rows.width))
        self.texts = SparseTable(
            self.decider, rows, self.weights, distribution.sample, distribution.random_state
        )
        self._winners, self._gains, self._shares = {}, {}, {}
        self._known_signs: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}

    def ahead(self, scaled: Scaled, winner: int) -> tuple[int, NDArray[np.int64], Any]:
        """Return the score of a class, those of its rivals, and how far it is ahead in each row."""
        first, *others = (self.winner(winner).lines % len(scaled.scores)).tolist()
        rivals = np.array(others)
        levels = scaled.intercepts[first] - scaled.intercepts[rivals]
        return first, rivals, scaled.scores[first] - scaled.scores[rivals] + levels[:, None]

    def sides(self, rows: Row, winner: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell which units of some instances can help if they are fixed, and which can hurt."""
        if winner not in self._known_signs:
            self._known_signs[winner] = self._signs(winner)
        for_it, against = self._known_signs[winner]
        above, below = rows > self.texts.least, rows < self.texts.most
        return (for_it & above) | (against & below), (for_it & below) | (against & above)

    def _mean_gains(self, winner: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the factor of each column, and what rows have of it, over all rows."""
        scaled, counts = self.texts.scaled, self.texts.counts
        first, rivals, margins = self.ahead(scaled, winner)
        (starts, rows, values, weights), nearest = scaled.columns, margins.argmin(axis=0)
        factors, sums = np.zeros((2, self.rows.width))
        columns = np.repeat(np.arange(self.rows.width), np.diff(starts))
        with np.errstate(over="ignore", invalid="ignore"):
            for k, rival in enumerate(rivals.tolist()):
                own, ahead = counts * (nearest == k), weights[:, first] - weights[:, rival]
                factors += own.sum() / self.total * ahead
                sums += np.bincount(columns, own[rows] * values, self.rows.width) * ahead
            return factors, sums / self.total

    def mean_gains(self, rows: Row, winner: int) -> NDArray[np.float64]:
        """Return what fixing each unit of some instances (m, d) gains on average, about."""
        if winner not in self._gains:
            self._gains[winner] = self._mean_gains(winner)
        factors, means = self._gains[winner]
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.ldexp(rows.astype(np.float64), -self.texts.powers)
            return np.asarray(np.nan_to_num(scaled * factors - means))

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what an unknown unit is in the rows that hold it, and last in the others."""
        texts = self.texts
        inside = slice(texts.starts[unit], texts.starts[unit + 1])
        held = self.weights[texts.order[texts.rows[inside]]]
        values = np.ldexp(texts.values[inside], texts.powers[unit])
        chances = np.append(held, self.total - held.sum()) / self.total
        return np.append(values, 0.0)[:, None], chances

    def view(self, row: Row) -> SparseView:
        """Return one instance, a checked row, before this law."""
        return SparseView(self, row, int(self.model.winners(one_row(row))[0]))

    def views(self, rows: Any) -> Iterator[SparseView]:
        """Yield several instances before this law."""
        return (self.view(rows[i]) for i in range(len(rows)))

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> RowsRest:
        """Return what may be lost of some facts of an instance while delta holds."""
        view = self.view(row)
        model: Any = self.model
        duels = [Duel(model, bool(view.winner))]
        if model.by_class:
            duels = [Duel(duel, True) for duel in model.duels(view.winner)]
        scaled, order = view.scaled, self.texts.order
        levels = scaled.intercepts[view.case.rivals] - scaled.intercepts[view.case.winner]
        off = self.winner(view.winner).loses + levels - view.doubt
        margins = np.empty_like(view.case.margins)
        margins[:, order] = view.fixed(features).margins + off[:, None]
        scale = Fraction(2) ** scaled.exponent
        sums = [Sums(line.astype(np.int64), scale, view.doubt) for line in margins]
        return RowsRest(duels, delta, sums, self.rows, self.weights, row, features)

    def once_known(self, row: Row, known: Collection[int], unit: int) -> None:
        """States of words are asked one by one."""

    @cached_property
    def filled(self) -> BackgroundLaw | None:
        """The law of the rows filled in, if these are few: then more can be proved."""
        if self.rivals * self.rows.width * len(self.rows) > FEW_FILLED:
            return None
        return BackgroundLaw(self.model, self.distribution)

    def answer(self, rows: Any, task: Task) -> Found:
        """Return a small set of each row that reaches delta, and what was proved of it."""
        if self.filled is not None:
            return self.filled.answer(rows, task)
        return super().answer(rows, task)

    def instances(self, rows: Any, task: Task) -> Iterator[tuple[int, SparseCandidates]]:
        """Yield checked rows before the background, each with its candidates."""
        for i in range(len(rows)):
            yield i, SparseCandidates(self.view(rows[i]), task.of_row(i))

    def _write(
        self, i: int, rows: Any, best: Any, word: str, least: int, task: Task, found: Found
    ) -> None:
        chosen = rows._view.by_gain(rows.of(best.chosen or [])).tolist()
        share = self._share(best.lost)
        found.write(i, [*task.include, *chosen], share, word, len(task.include) + least)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        kept_ones = (2 * len(self._known_signs) + 16 * len(self._gains)) * self.rows.width
        return int(self.texts.nbytes + kept_ones)

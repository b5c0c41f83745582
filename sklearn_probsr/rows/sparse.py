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
from sklearn_probsr.core.law import Law, Lengths
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Duel, Row, View
from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows, one_row
from sklearn_probsr.rows.answers import Searched
from sklearn_probsr.rows.exact import Decider, Winner, bounds, kept, winner_of
from sklearn_probsr.rows.kernels import Rows
from sklearn_probsr.rows.law import BackgroundLaw, BackgroundView
from sklearn_probsr.rows.rest import RowsRest, Sums
from sklearn_probsr.rows.search import Prices, Search
from sklearn_probsr.rows.sparse_kernels import (
    Candidates,
    Case,
    Columns,
    Documents,
    Members,
    Room,
    add_up,
    claim,
    column_sums,
    follow,
    greedy,
    needs,
    prune,
)
from sklearn_probsr.rows.stream import RIVAL_BYTES, Light

__all__ = ["SparseCandidates", "SparseLaw", "SparseView"]

# What rows contribute reaches 2^49 at most, what an instance does as much again, so that all sums
# stay below 2^53.
_BITS = 49
# Greed asks a part of the rows which members to look at in all rows: so many, with no more numbers
# of what their words contribute than these.
_PART, _LIFTS = 2048, 2**22
# So many members that are best in the part are looked at in all rows.
_FINALISTS = 10
# Cells that greed may look at, and one look at whether a part of a set does; so many looks.
_GREED, _CLAIM_CELLS, _CLAIM_LOOKS = 2**29, 2**25, 512
# Rows that need more members than are surely needed are looked for until they are so few.
_FEW = 0.02
# With as few gains the rows are filled in.
FEW_GAINS = 2**20
# Of numbers that are searched together in floats of 32 bits.
_LIGHT_BITS = 22
# From here on weights together are no floats.
_HEAVY = 2**53
# Numbers that no sum has room for.
_TOO_LARGE = 2.0**1000


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
    docs : Documents
        A part of the rows by rows.
    """

    exponent: int
    exact: bool
    columns: Columns
    scores: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    docs: Documents


class Towards(NamedTuple):
    """What is the same for all instances of a class.

    Attributes
    ----------
    winner : Winner
        The class and its rivals.
    helps, hurts : ndarray of bool, shape (d,)
        Of which columns a larger value is good for the class before some rival, and bad.
    """

    winner: Winner
    helps: NDArray[np.bool_]
    hurts: NDArray[np.bool_]


class SparseTable:
    """The rows of a background by rows and by columns.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
    data : SparseRows
        Checked rows.
    counts : ndarray of int64, shape (n,)
        How much each row counts.
    sample : int or None
        How many rows greed asks first; None: some.
    random_state : int or None
        Draws them.
    """

    def __init__(
        self,
        model: Any,
        data: SparseRows,
        counts: NDArray[np.int64],
        sample: int | None,
        random_state: Any,
    ) -> None:
        self.model, self.data, self.counts = model, data, counts
        weights, intercepts = model.outputs
        self.decider = Decider(weights, intercepts, np.arange(data.width))
        by_column = data.matrix.tocsc()
        self.starts = by_column.indptr.astype(np.int64)
        self.rows = by_column.indices.astype(np.int32)
        values = by_column.data.astype(np.float64)
        sizes = np.diff(self.starts)
        held = np.flatnonzero(sizes)
        self.least, self.most = np.zeros(data.width), np.zeros(data.width)
        if len(held):
            self.least[held] = np.minimum.reduceat(values, self.starts[held])
            self.most[held] = np.maximum.reduceat(values, self.starts[held])
        some = sizes < len(data)  # of the other columns no row has a zero
        self.least[some] = np.minimum(self.least[some], 0.0)
        self.most[some] = np.maximum(self.most[some], 0.0)
        # Columns far from 1 are divided by a power of two, so that no product is out of range.
        top = np.frexp(np.maximum(np.abs(self.least), np.abs(self.most)))[1]
        self.powers = np.where(np.abs(top) < 200, 0, top)
        self.top = top - self.powers
        if self.powers.any():
            values = np.ldexp(values, -np.repeat(self.powers, sizes))
        self.whole = bool((values == np.rint(values)).all()) and not self.powers.any()
        self.values = values
        self.longest = int(np.diff(data.starts).max(initial=0))
        rng = np.random.default_rng(random_state)
        rivals = max(len(weights) - 1, 1)
        room = _LIFTS // (rivals * max(len(values) // max(len(data), 1), 1))
        asked = min(_PART, max(room, 256)) if sample is None else sample
        self._draw(rng.permutation(np.flatnonzero(counts))[:asked])

    def _draw(self, part: NDArray[np.intp]) -> None:
        """Write a part of the rows by rows and by columns."""
        some = self.data[part]
        order = np.argsort(some.indices, kind="stable")
        held = np.bincount(some.indices, minlength=self.data.width)
        starts = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        values = np.ldexp(some.values.astype(np.float64), -self.powers[some.indices])
        self.part, self.words = part, np.flatnonzero(held)
        self.part_starts, self.part_values = starts, values[order]
        self.part_rows = some.places[order].astype(np.int32)
        self._place = np.zeros(self.data.width, dtype=np.int32)
        self._place[self.words] = np.arange(len(self.words))
        self._docs, self._doc_values = some, values

    @cached_property
    def scaled(self) -> Scaled:
        """What all rows contribute to scores, on the finest scale that has room for them."""
        intercepts = [*map(Fraction, self.decider.intercepts.tolist())]
        used = (self.least != 0) | (self.most != 0)
        sizes = np.frexp(np.abs(self.decider.weights[:, used]).max(axis=0, initial=0.0))[1]
        reach = int((sizes + self.powers[used] + self.top[used]).max(initial=-5000))
        highest = max(map(_exponent_of, intercepts))
        # Sums before a rival are of twice as many terms.
        return self.on(max(reach + (self.longest + 2).bit_length(), highest + 1) + 1 - _BITS)

    def on(self, exponent: int) -> Scaled:
        """Write it on a scale."""
        weights = np.zeros((self.data.width, len(self.decider.weights) + 1))
        with np.errstate(over="ignore", under="ignore"):
            weights[:, :-1] = np.ldexp(self.decider.weights.T, self.powers[:, None] - exponent)
        # Those of columns that no row holds may be far beyond the scale.
        np.clip(weights, -_TOO_LARGE, _TOO_LARGE, out=weights)
        told = [Fraction(b) / Fraction(2) ** exponent for b in self.decider.intercepts.tolist()]
        exact = self.whole and all(b.denominator == 1 for b in told)
        exact = exact and bool((weights == np.rint(weights)).all())
        intercepts = np.array([*map(float, map(round, told)), 0.0])
        columns = Columns(self.starts, self.rows, self.values, weights)
        scores = np.zeros((len(intercepts), len(self.data)))
        add_up(columns, scores)
        some = self._docs
        worths = np.empty((len(intercepts), len(some.indices)), dtype=np.float32)
        for k, line in enumerate(worths):
            np.multiply(weights[some.indices, k], self._doc_values, out=line, casting="unsafe")
        docs = Documents(some.starts, self._place[some.indices], worths)
        return Scaled(exponent, exact, columns, scores, intercepts, docs)

    def towards(self, winner: int) -> Towards:
        """Return what is the same for all instances of a class."""
        own = winner_of(self.model, winner)
        scores = np.vstack([self.decider.weights, np.zeros((1, self.data.width))])
        first, others = scores[own.lines[0]], own.lines[1:].tolist()
        helps, hurts = (np.zeros(self.data.width, dtype=np.bool_) for _ in range(2))
        for k in others:
            helps |= first > scores[k]
            hurts |= first < scores[k]
        lines = own.lines % len(scores)
        return Towards(own._replace(lines=lines), helps, hurts)

    @cached_property
    def by_rows(self) -> NDArray[np.float64]:
        """The values row by row, over the powers of their columns."""
        values = self.data.values.astype(np.float64, copy=False)
        return np.ldexp(values, -self.powers[self.data.indices]) if self.powers.any() else values

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        part = 3 * self.part_values.nbytes + self.part_starts.nbytes
        if "scaled" in self.__dict__:
            scaled = self.scaled
            part += scaled.columns.weights.nbytes + scaled.scores.nbytes + scaled.docs.worths.nbytes
        own = self.rows.nbytes + self.values.nbytes + 5 * self.starts.nbytes
        return int(own + part) + self.data.nbytes


def _exponent_of(number: Fraction) -> int:
    """Return the exponent of a power of two that is above a number."""
    return abs(number.numerator).bit_length() - number.denominator.bit_length() + 1


class SparseView(BackgroundView):
    """One instance before background rows, of which only what is not zero is touched.

    Attributes
    ----------
    case : Case
        All rows with nothing fixed.
    helps, hurts : ndarray of bool, shape (d,)
        Which units fixing can help, and hurt.
    """

    law: SparseLaw

    def __init__(self, law: SparseLaw, row: Row, winner: int) -> None:
        super().__init__(law, row, winner)
        self.texts, self.counts = law.texts, law.counts
        self.present = np.flatnonzero(row)
        values = self._x[self.present]
        towards, scaled = law.towards(winner), self.texts.scaled
        (first, *rivals), loses = towards.winner.lines.tolist(), towards.winner.loses
        known, exponent = self._known(scaled, values)
        while exponent > scaled.exponent:  # so far out that sums would have no room
            scaled = self.texts.on(exponent)
            known, exponent = self._known(scaled, values)
        self.towards, self.scaled = towards, scaled
        exact = scaled.exact and bool((values == np.rint(values)).all())
        # A margin is off by less than two for each value and each level (Lemma 45).
        self.doubt = 0 if exact else 2 * (self.texts.longest + len(values)) + 4
        levels = scaled.intercepts[rivals] - scaled.intercepts[first] + loses
        margins = scaled.scores[first] - scaled.scores[rivals]
        margins += (self.doubt - levels)[:, None]
        place = np.full(len(row), -1, dtype=np.int32)
        place[self.present] = np.arange(len(self.present))
        self.case = Case(
            margins,
            first,
            np.array(rivals),
            self.counts,
            place,
            known[:, first, None] - known[:, rivals],
            np.inf if law.is_heavy else 2.0 * self.doubt,
        )
        above, below = self._x > self.texts.least, self._x < self.texts.most
        self.helps = (towards.helps & above) | (towards.hurts & below)
        self.hurts = (towards.helps & below) | (towards.hurts & above)

    def _known(self, scaled: Scaled, values: NDArray[np.float64]) -> tuple[Any, int]:
        """Return what the values of the instance contribute, and a scale on which it has room.

        By mantissas and exponents: values may be far out, and in columns that no row holds.
        """
        shares, powers = np.frexp(values)
        mantissas, exponents = np.frexp(self.texts.decider.weights[:, self.present].T)
        shifts = exponents + (powers.astype(np.int64) - scaled.exponent)[:, None]
        terms = mantissas * shares[:, None]
        reach = int(shifts[terms != 0].max(initial=0)) + len(values).bit_length() + 1
        whole = np.zeros((len(values), len(scaled.intercepts)))
        whole[:, :-1] = np.rint(np.ldexp(terms, np.clip(shifts, -1000, 1000)))
        return whole, scaled.exponent + max(reach - _BITS, 0)

    @property
    def _sides(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.helps, self.hurts

    # --- counts ------------------------------------------------------------------------------

    def fixed(self, units: Collection[int], case: Case | None = None) -> Case:
        """Return a case, or the one with nothing fixed, with more units fixed."""
        before = self.case if case is None else case
        found = before._replace(margins=before.margins.copy())
        if len(units):
            self._follow(found, np.array([*units], dtype=np.intp), -1.0, len(units))
        return found

    def _follow(
        self, case: Case, order: NDArray[np.intp], spare: float, at: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Fix an order in a case: return the weight lost at each size, and the rows in doubt.

        Until no more than ``spare`` is lost, after at least ``at``.
        """
        low = np.empty(len(self.counts))
        lost, doubts = np.empty(len(order) + 1), np.empty(len(order) + 1, dtype=np.int64)
        made = follow(self.scaled.columns, case, order, spare, at, low, lost, doubts)
        return lost[: made + 1].astype(np.int64), doubts[: made + 1]

    def lost_along(
        self,
        forced: Sequence[int],
        order: Sequence[int] | NDArray[np.intp],
        spare: int = -1,
        at: int = 0,
    ) -> NDArray[np.int64]:
        """Return the weight lost with the first 0, 1, 2, ... of an order fixed beside others.

        Exact; until no more than ``spare`` is lost, after at least ``at``.
        """
        steps = np.array([*order], dtype=np.intp)
        lost, doubts = self._follow(self.fixed(forced), steps, float(spare), at)
        for k in np.flatnonzero((doubts > 0) | self.law.is_heavy).tolist():
            lost[k] = self.lost([*forced, *steps[:k].tolist()])
        if len(lost) <= len(order) and lost[-1] > spare:  # it was in doubt
            return self.lost_along(forced, order, spare, len(lost))
        return lost

    def lost(self, units: Collection[int]) -> int:
        """Return the weight of the rows that lose the class with some units fixed, exactly."""
        return int(self.law.weights[~self.keeps(units)].sum())

    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""
        case = self.fixed(features)
        low = case.margins.min(axis=0)
        keeps = np.asarray(low >= 0.0)
        doubtful = np.flatnonzero(keeps & (low < case.sure))
        if len(doubtful):
            keeps[doubtful] = self._settled(doubtful, features)
        return keeps

    def _settled(self, at: NDArray[np.intp], fixed: Collection[int]) -> NDArray[np.bool_]:
        """Tell which of some rows keep the class with some units fixed, with all digits."""
        some, told = self.texts.data[at], self.texts.decider
        columns = np.union1d(some.indices, self.present).astype(np.intp)
        rows = np.zeros((len(at), len(columns)))
        rows[some.places, np.searchsorted(columns, some.indices)] = some.values
        weights = np.ascontiguousarray(told.weights[:, columns])
        few = Decider(weights, told.intercepts, np.arange(len(columns)))
        inside = np.append(np.isin(columns, [*fixed]), False)
        own, x = winner_of(self.texts.model, self.winner), self._x[columns]
        most = np.maximum(np.abs(rows).max(axis=0), np.abs(x))
        return kept(few, own, bounds(few, own), rows, most, x, inside)

    def weights_along(self, order: Sequence[int]) -> NDArray[np.int64]:
        """Return the weight kept with the first 0, 1, 2, ... of an order fixed, exactly."""
        return self.law.total - self.lost_along((), order)

    # --- units -------------------------------------------------------------------------------

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """What fixing each unit gains on average, about; shape (d,)."""
        found: NDArray[np.float64] = self.law.mean_gains(self._x[None, :], self.winner)[0]
        return found

    def by_gain(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return units by decreasing mean gain."""
        return units[np.argsort(-self.gains[units], kind="stable")]

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing mean gain, the signed SHAP value."""
        return [self.by_gain(np.array(members, dtype=np.intp)).tolist()]

    def greedy(
        self, case: Case, allowed: NDArray[np.bool_], prices: Any, spare: int, hinge: bool
    ) -> NDArray[np.intp]:
        """Return allowed units as greed fixes them beside a case, until at most ``spare`` is lost.

        The most useful for its price first; prices (d,) are 1 if there are none.
        """
        texts, columns, docs = self.texts, self.scaled.columns, self.scaled.docs
        n, m, k, w = len(self.counts), len(texts.part), len(self.present), len(texts.words)
        own = case._replace(margins=case.margins.copy())
        margins = np.ascontiguousarray(case.margins[:, texts.part])
        few = case._replace(margins=margins, counts=case.counts[texts.part])
        some = Candidates(
            self.present,
            allowed[self.present],
            np.ones(k) if prices is None else prices[self.present],
            texts.words,
            allowed[texts.words] & (case.place[texts.words] < 0),
            np.ones(w) if prices is None else prices[texts.words],
            prices is not None,
        )
        low, worst, part_low, part_worst = np.empty(n), np.empty(n), np.empty(m), np.empty(m)
        favourite, chosen = np.zeros(k, dtype=np.bool_), np.empty(_FINALISTS, dtype=np.intp)
        room = Room(low, worst, part_low, part_worst, np.empty(w), np.empty(k), favourite, chosen)
        part = Columns(texts.part_starts, texts.part_rows, texts.part_values, columns.weights)
        order = np.empty(int(allowed.sum()), dtype=np.intp)
        made = greedy(columns, own, part, few, docs, some, float(spare), hinge, _GREED, room, order)
        return order[:made]

    def followed_by(self, order: NDArray[np.intp], allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return an order, and the other allowed units by mean gain."""
        left = allowed.copy()
        left[order] = False
        return np.concatenate([order, self.by_gain(np.flatnonzero(left))])

    def ranking(self) -> list[int]:
        """Return all units in the order in which greed fixes them."""
        order = self.greedy(self.case, self.helps, None, 0, False)
        order = self.followed_by(self.followed_by(order, self.helps), self.helps | True)
        found: list[int] = order.tolist()
        return found


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

    def told(self, chosen: Sequence[int]) -> list[int]:
        """Return the units of a set by decreasing mean gain."""
        found: list[int] = self._view.by_gain(np.array(self._of(chosen), dtype=np.intp)).tolist()
        return found

    def _of(self, places: Sequence[int]) -> list[int]:
        found: list[int] = self.units[[*places]].tolist() if len(places) else []
        return found

    def _places(self, units: Any) -> list[int]:
        found: list[int] = np.searchsorted(self.units, units).tolist()
        return found

    def lost(self, chosen: Sequence[int], spare: int) -> int:
        """Return the weight lost with a set fixed, exactly."""
        key = frozenset(chosen)
        if key not in self._known:
            self._known[key] = self._view.lost([*self._forced, *self._of(chosen)])
        return self._known[key]

    def pruned(self, order: Sequence[int], spare: int) -> tuple[list[int], int]:
        """Leave out what is not needed, the last first; return the rest, and what it loses."""
        view, chosen = self._view, list(order)
        stays, low = np.ones(len(chosen), dtype=np.bool_), np.empty(len(view.counts))
        units = np.array(self._of(chosen), dtype=np.intp)
        case = view.fixed(units, self._case)
        if prune(view.scaled.columns, case, units, float(spare), low, stays):
            chosen = [j for j, stay in zip(chosen, stays.tolist(), strict=True) if stay]
            return chosen, self.lost(chosen, spare)
        changed = True  # some row was in doubt
        while changed:
            changed = False
            for j in reversed(list(chosen)):
                rest = [i for i in chosen if i != j]
                if self.lost(rest, spare) <= spare:
                    chosen, changed = rest, not self.monotone
        return chosen, self.lost(chosen, spare)

    def proposals(self, prices: NDArray[np.float32]) -> list[tuple[list[int], bool]]:
        """Return orders that greed takes candidates in, and whether each reaches the level."""
        view, found, each = self._view, [], None
        if (prices != 1).any():
            each = np.ones(len(view.helps))
            each[self.units] = prices
        for hinge in (False, True):
            order = view.greedy(self._case, self._allowed, each, self.spare, hinge)
            lost = view.lost_along(self._forced, order, self.spare)
            if lost[-1] > self.spare:
                order = view.followed_by(order, self._allowed)
                lost = view.lost_along(self._forced, order, self.spare)
            found.append((self._places(order[: len(lost) - 1]), bool(lost[-1] <= self.spare)))
        return found

    def ranked(self) -> list[int]:
        """Return all candidates in the order in which greed takes them."""
        order = self._view.greedy(self._case, self._allowed, None, 0, False)
        return self._places(self._view.followed_by(order, self._allowed))

    def along(self, order: Sequence[int]) -> NDArray[np.int64]:
        """Return the weight lost with the first 0, 1, 2, ... of an order fixed, exactly."""
        return self._view.lost_along(self._forced, self._of(order))

    def least(self, most: int) -> int:
        """Return a size, at most ``most``, below which no set reaches the level.

        Rows that need more members than a size on their own weigh more than may be lost (Lemma 32).
        Those that lack most are asked first, until few that follow need as many.
        """
        view, texts, case = self._view, self._view.texts, self._case
        if view.law.is_heavy:
            return 0
        low = case.margins.min(axis=0)
        hard = np.flatnonzero((low < 0.0) & (case.counts > 0))
        hard = hard[np.argsort(low[hard], kind="stable")]
        known = np.where(self._allowed[view.present][:, None], case.known, 0.0)
        ranked = np.ascontiguousarray(np.argsort(-known, axis=0, kind="stable").T)
        held, best = np.zeros(len(known), dtype=np.int64), np.empty(most)
        members = Members(self._allowed, ranked, held, best)
        case = case._replace(known=known)
        none = np.zeros((0, 0), dtype=np.float32)
        docs = Documents(texts.data.starts, texts.data.indices, none)
        weights = np.zeros(most + 2)  # of the rows that need so many
        found = first = 0
        while first < len(hard):
            size = int(2 * self.spare / max(case.counts.mean(), 1.0)) + 64
            asked = hard[first : first + (size if first == 0 else size // 2)]
            sizes = np.zeros(len(asked), dtype=np.int64)
            needs(view.scaled.columns, docs, texts.by_rows, case, members, asked, found, sizes)
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
        """Look for a part of a set that reaches the level: 1 with one, 0 if none does, or -1."""
        view, units = self._view, np.array(self._of(chosen), dtype=np.intp)
        units = view.by_gain(units)
        case, state = view.fixed(units, self._case), np.empty(len(units), dtype=np.int8)
        looks = min(_CLAIM_CELLS // max(self.cells, 1), _CLAIM_LOOKS)
        low = np.empty(len(view.counts))
        verdict = claim(view.scaled.columns, case, units, float(self.spare), looks, low, state)
        fewer = self._places(units[state == 1])
        if view.law.is_heavy and verdict == 0:
            return -1, []
        if verdict == 1 and self.lost(fewer, self.spare) > self.spare:
            verdict = -1  # by a doubt
        return int(verdict), fewer

    def searched(self, prices: Prices, part: Sequence[int] | None = None) -> Searched:
        """Return a search for sets of some price, of all candidates if these are few.

        Numbers are divided by a power of two and rounded up: what is refuted is (Lemma 32).
        """
        view, case, units = self._view, self._case, self.units if part is None else self.units[part]
        each = [view.fixed([u], case).margins - case.margins for u in units.tolist()]
        gains = np.array(each).reshape(len(units), *case.margins.shape)
        reach = np.abs(case.margins).max(initial=0) + np.abs(gains).sum(axis=0).max(initial=0)
        bits = max(int(np.frexp(reach)[1]) - _LIGHT_BITS, 0)
        weights = view.law.weights
        light = Light.of(weights)
        rows = Rows(
            np.ceil(np.ldexp(case.margins, -bits)).astype(np.float32),
            np.ceil(np.ldexp(gains, -bits)).astype(np.float32),
            weights,
            light.weights,
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
        self.weights = distribution.weights
        self.counts, self.total = self.weights.astype(np.float64), int(self.weights.sum())
        self.texts = SparseTable(
            model, rows, self.weights, distribution.sample, distribution.random_state
        )
        # Sums of larger weights are no floats: every set is counted in whole numbers.
        self.is_heavy = self.total >= _HEAVY
        self.decider = self.texts.decider
        self._towards: dict[int, Towards] = {}
        self._gains, self._shares = {}, {}

    def towards(self, winner: int) -> Towards:
        """Return what all rows contribute towards a class."""
        if winner not in self._towards:
            self._towards[winner] = self.texts.towards(winner)
        return self._towards[winner]

    def _mean_gains(self, winner: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the factor of each column, and what rows have of it, over all rows."""
        scaled, (first, *rivals) = self.texts.scaled, self.towards(winner).winner.lines.tolist()
        ahead = scaled.intercepts[first] - scaled.intercepts[rivals]
        margins = scaled.scores[first] - scaled.scores[rivals] + ahead[:, None]
        nothing = np.zeros(0, dtype=np.int32), np.zeros((0, len(rivals)))
        case = Case(margins, first, np.array(rivals), self.counts, *nothing, 0.0)
        nearest, sums = np.empty(len(self.counts), dtype=np.intp), np.zeros(self.rows.width)
        column_sums(scaled.columns, case, nearest, sums)
        shares = np.bincount(nearest, self.counts, len(rivals)) / self.total
        weights = scaled.columns.weights
        return weights[:, first] - weights[:, rivals] @ shares, sums / self.total

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
        held = self.weights[texts.rows[inside]]
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
        scaled, (first, *rivals) = view.scaled, view.towards.winner.lines.tolist()
        levels = scaled.intercepts[rivals] - scaled.intercepts[first]
        off = view.towards.winner.loses + levels - view.doubt
        margins = view.fixed(features).margins + off[:, None]
        scale = Fraction(2) ** scaled.exponent
        sums = [Sums(line.astype(np.int64), scale, view.doubt) for line in margins]
        return RowsRest(duels, delta, sums, self.rows, self.weights, row, features)

    def once_known(self, row: Row, known: Collection[int], unit: int) -> None:
        """States of words are asked one by one."""

    def follow_one(
        self, i: int, view: View, order: list[int], at: int, delta: Fraction, found: Lengths
    ) -> None:
        """Follow an order of one row, counting rows along it."""
        assert isinstance(view, SparseView)
        spare = self.total + (-delta.numerator * self.total // delta.denominator)
        lost = view.lost_along((), order, spare, at)
        share = Enclosure.of(Fraction(int(self.total - lost[at]), self.total))
        found.write(i, int(np.flatnonzero(lost <= spare)[0]), share)

    def answer(self, rows: Any, task: Task) -> Found:
        """Return a small set of each row that reaches delta, and what was proved of it."""
        if self.filled is not None:
            return self.filled.answer(rows, task)
        found = Found.empty(len(rows), self.model.n_units)
        for i, one in self.instances(rows, self.within(rows, task)):
            asked = task.of_row(i)
            if task.has_prices:
                self._price(i, one, asked, found)
            else:
                self._answer(i, one, asked, found)
        found.end_proofs(task)
        return found

    def instances(self, rows: Any, task: Task) -> Iterator[tuple[int, SparseCandidates]]:
        """Yield checked rows before the background, each with its candidates."""
        for i in range(len(rows)):
            yield i, SparseCandidates(self.view(rows[i]), task.of_row(i))

    @cached_property
    def filled(self) -> BackgroundLaw | None:
        """The law of the rows filled in, if these are few: then more can be proved."""
        rivals = max(len(self.decider.weights) - 1, 1)
        if rivals * self.rows.width * len(self.rows) > FEW_GAINS:
            return None
        return BackgroundLaw(self.model, self.distribution)

    def _write(
        self, i: int, rows: Any, best: Any, word: str, least: int, task: Task, found: Found
    ) -> None:
        chosen = rows.told(best.chosen or [])
        share = self._share(best.lost)
        found.write(i, [*task.include, *chosen], share, word, len(task.include) + least)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        kept_ones = 4 * (len(self._towards) + 4 * len(self._gains)) * self.rows.width
        return int(self.texts.nbytes + kept_ones)

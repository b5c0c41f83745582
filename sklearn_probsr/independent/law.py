"""The law of independent units before two classes, on divided tables.

What comes in are a model and a source of its units' values; what goes out are answers to rows: sets
that reach a level, with what was proved of them (`TabledLaw.together`), bounds of given
sets and orders, and views for all other questions. What tables leave open is decided by exact
counts of the view (`Costs`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import Lengths
from sklearn_probsr.core.options import MOST_MIXED, Effort, Task
from sklearn_probsr.core.search import Prover
from sklearn_probsr.core.view import TOL, Row, View
from sklearn_probsr.engines.sums._far import far_change
from sklearn_probsr.engines.sums._up_sets import count_up_sets
from sklearn_probsr.independent.level import Level
from sklearn_probsr.independent.refute import Budget
from sklearn_probsr.independent.search import (
    Proofs,
    Rows,
    Sets,
    follow,
    measure,
    propose,
    prove,
    without_some,
)
from sklearn_probsr.independent.spectrum import enclose
from sklearn_probsr.independent.unit_laws import Seen, Tables
from sklearn_probsr.laws.sums._certain_rows import CertainRows
from sklearn_probsr.laws.sums._certainty import CertainProver
from sklearn_probsr.laws.sums._costs import ROUGH, WIDE, Costs
from sklearn_probsr.laws.sums._crowd_costs import CrowdCosts
from sklearn_probsr.laws.sums._crowds import Crowds
from sklearn_probsr.laws.sums._independent import IndependentLaw, IndependentProver
from sklearn_probsr.laws.sums._promises import promises
from sklearn_probsr.laws.sums._spectra import Shared, are_few
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["TabledLaw"]

# Rows that are searched at once.
_CHUNK = 256
# What the proofs of a row may cost, in nodes of a table at about half a nanosecond each: by
# default, and in each second that they may take.
_WORK, _EACH_SECOND = 100_000_000, 500_000_000
_MUCH = 2**62
# Bounds of given sets that are wider than this are looked at again.
_WIDE = 5e-3


def budget_of(effort: Effort) -> Budget:
    """Return what refuting the sets of a row may cost."""
    if effort.max_evals is not None:
        return Budget(effort.max_evals, _MUCH, effort.limits.room)
    work = _WORK
    if effort.thorough:
        work = int(min(effort.time_limit, 60.0) * _EACH_SECOND)
    return Budget(_MUCH, work, effort.limits.room)


class _Batch(NamedTuple):
    """Rows of one class before the tables of a model, and at which places they stood."""

    at: NDArray[np.intp]
    rows: Rows
    seen: Seen


class TabledLaw(IndependentLaw):
    """A model of two classes whose unknown units are independent."""

    def spectra(self, positive: bool, whole: bool, few: bool = False) -> Shared | None:
        """Return the values of units in turns, those of all of them for both classes."""
        return super().spectra(positive, True, few)

    @cached_property
    def tables(self) -> Tables | None:
        """The tables of the model; None where floats cannot tell its numbers apart."""
        shared = self.spectra(True, True, few=True)
        return None if shared is None else Tables(shared)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        tables = vars(self).get("tables")
        return super().nbytes + (0 if tables is None else tables.nbytes)

    @cached_property
    def _certain(self) -> CertainRows:
        return CertainRows(self.linear, self.contributions)

    def view(self, row: Row) -> Costs:
        """Return one instance, a checked row, before this law."""
        kind = _TabledCrowd if isinstance(self.contributions, Crowds) else _TabledCosts
        found = kind(self.contributions, row, self.spectra)
        found.tabled = self
        return found

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, Costs)
        prover = _TabledProver(self, view, task)
        return CertainProver(prover, [view]) if task.delta == 1 else prover

    # --- rows together -----------------------------------------------------------------------

    def together(self, rows: Row, task: Task, found: Found) -> dict[int, set[int]]:
        """Answer the rows that tables decide; return starts for some of the others."""
        starts: dict[int, set[int]] = {}
        positive = self.linear.is_positive(rows)
        if task.delta == 1:
            self._certain.answer(rows, positive, task, found)
            return starts
        if are_few(self.contributions) or self.tables is None:
            return starts  # they are counted, one by one
        for side in (False, True):
            places = np.flatnonzero(positive == side)
            for first in range(0, len(places), _CHUNK):
                at = places[first : first + _CHUNK]
                self._search(
                    self._batch(rows, side, at, task.of_rows(at)), rows, task, found, starts
                )
        return starts

    def _batch(self, rows: Row, positive: bool, at: NDArray[np.intp], task: Task) -> _Batch:
        """Return rows of a class as kernels read them, without those that are too far out."""
        tables = self.tables
        assert tables is not None
        seen = tables.look(rows[at], positive)
        member = seen.costly & task.may_choose(*seen.costly.shape)
        order = self._orders(seen.gain, member, positive)
        near = np.flatnonzero(seen.near)
        if len(near) < len(at):
            seen, order = seen.take(near), order[:, near]
            member, at = member[near], at[near]
        return _Batch(
            at,
            Rows(
                seen.gain, seen.cut, seen.blur, np.full(len(at), positive), seen.gainful,
                np.ascontiguousarray(order), member.sum(axis=1),
                np.array(task.include, dtype=np.int64), tables.far,
            ),
            seen,
        )  # fmt: skip

    @cached_property
    def _widths(self) -> NDArray[np.float64]:
        assert self.tables is not None
        shared = self.tables.shared
        return np.array([float((most - least) / shared.period) for least, most in shared.ends])

    def _orders(
        self, gain: NDArray[np.float64], member: NDArray[np.bool_], positive: bool
    ) -> NDArray[np.int64]:
        """Return the members of every row, before the others, by decreasing promise."""
        assert self.tables is not None
        shared = self.tables.shared
        mean = gain if positive else -gain
        score = mean + (shared.centre if positive else self._widths - shared.centre)
        scale = np.maximum(np.where(member, mean, 0.0).max(axis=1, initial=0.0), 1e-300)[:, None]
        return np.stack(
            [
                np.argsort(np.where(member, -key, np.inf), axis=1, kind="stable")
                for key in promises(score, mean, shared.variance, scale)
            ]
        )

    def _search(
        self, batch: _Batch, rows: Row, task: Task, found: Found, starts: dict[int, set[int]]
    ) -> None:
        """Search some rows, and write down what is certain of them."""
        tables = self.tables
        assert tables is not None
        n, units = batch.seen.gain.shape
        forced, known = len(task.include), 1
        level = Level.around(task.delta).passed
        sets = Sets(np.zeros((n, units), dtype=np.int64), np.full(n, -1), np.zeros(n), np.ones(n))
        asked = np.ones(n, dtype=np.bool_)
        while asked.any():
            coarse, sharp = tables.coarse(forced + known), tables.sharp(forced + known)
            propose(coarse, sharp, batch.rows, level, sets, asked)
            wide = asked & (sets.size >= 0) & (sets.upper - sets.lower > WIDE)
            if coarse is not sharp and wide.any():
                measure(sharp, batch.rows, sets, wide)
            asked, known = asked & (sets.size < 0), sharp.most - forced + 1
            if sharp.most >= units:
                break
        proofs = self._proofs(batch, level, sets, task.effort)
        smaller: dict[int, set[int]] = {}
        for j in np.flatnonzero(sets.size >= 0).tolist():
            reached, proofs.least[j] = self._judged(proofs, j, rows[batch.at[j]], task)
            if reached is not None:
                smaller[j] = reached
        rest = self._without_some(batch, level, sets, proofs)
        ranks = np.empty(units, dtype=np.int64)
        for j in np.flatnonzero(sets.size >= 0).tolist():
            i, least = int(batch.at[j]), int(proofs.least[j])
            ranks[batch.rows.order[0, j]] = np.arange(units)
            chosen = sorted(sets.units[j, : sets.size[j]].tolist(), key=ranks.__getitem__)
            if task.most is not None and len(chosen) > task.most:
                starts[i] = set(chosen)
                continue
            near = False
            if j not in smaller and least < len(chosen):
                reached, left = self._judged(rest, j, rows[i], task)
                near = left < len(chosen)  # whether all of it is needed stays open
                if reached is not None:
                    smaller[j] = reached
                elif rest.kept[j] < 0:
                    smaller[j] = set(chosen)
            if j in smaller:
                starts[i] = smaller[j]
                continue
            word = "subset-minimal"
            if np.count_nonzero(batch.rows.mixed[j, chosen]) > MOST_MIXED:
                word = "locally-minimal"
            elif not near:  # not even the empty set reaches the level
                least = max(least, min(len(chosen), 1))
            word = f"near-{word}" if near else word
            if least == len(chosen):
                word = "minimum"
            bounds = Enclosure.proved(float(sets.lower[j]), float(sets.upper[j]))
            found.write(i, [*task.include, *chosen], bounds, word, forced + least)
            timed = task.effort.thorough and task.effort.max_evals is None
            if (
                timed and word != "minimum" and not proofs.kept[j]
            ):  # the work that there is time for
                found.stopped[i] = "time"

    def _without_some(self, batch: _Batch, level: Level, sets: Sets, proofs: Proofs) -> Proofs:
        """Return what is left of sets without some units, as far as it may reach the level."""
        tables = self.tables
        assert tables is not None
        rest = Proofs(
            proofs.least, np.zeros(len(batch.at), dtype=np.bool_), np.zeros_like(proofs.kept),
            np.zeros_like(proofs.sets), np.zeros_like(proofs.sizes),
        )  # fmt: skip
        left = np.flatnonzero(sets.size > proofs.least)
        if len(left):
            size = len(batch.rows.forced) + int(sets.size.max())
            without_some(tables.coarse(size), tables.sharp(size), batch.rows, level, sets, rest)
            # As if nothing were known but what these sets tell.
            rest = rest._replace(least=sets.size.copy())
        return rest

    def _proofs(
        self, batch: _Batch, level: Level, sets: Sets, effort: Effort, least: int = 0
    ) -> Proofs:
        """Refute sets that are smaller than those found."""
        tables = self.tables
        assert tables is not None
        n, largest = len(batch.at), max(int(sets.size.max(initial=0)), 1)
        budget = budget_of(effort)
        room = budget.room
        proofs = Proofs(
            np.full(n, least), np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64),
            np.zeros((n, room, largest), dtype=np.int64), np.zeros((n, room), dtype=np.int64),
        )  # fmt: skip
        if effort.wanted and n:
            size = largest + len(batch.rows.forced)
            prove(
                tables.coarse(size), tables.sharp(size), batch.rows,
                tables.atoms(bool(batch.rows.positive[0])), batch.seen.known, batch.seen.same,
                batch.seen.slack, np.full(n, least), tables.shared.variance, level, sets, budget,
                proofs,
            )  # fmt: skip
        return proofs

    def _judged(self, proofs: Proofs, j: int, row: Row, task: Task) -> tuple[set[int] | None, int]:
        """Look at the sets that tables leave open with all digits.

        Returns one that reaches the level, or None and the size below which surely none does.
        """
        least, count = int(proofs.least[j]), int(proofs.kept[j])
        view = self.view(row) if count else None
        for k in range(count):
            chosen = proofs.sets[j, k, : proofs.sizes[j, k]].tolist()
            if proofs.reached[j] and k == count - 1:
                return set(chosen), least
            assert view is not None
            known = view.enclose([*task.include, *chosen], task.delta)
            verdict = None if task.is_late else (known >= task.delta).value
            if verdict:
                return set(chosen), least
            if verdict is None:
                least = min(least, len(chosen))
        return None, least

    # --- given sets --------------------------------------------------------------------------

    def follow_together(
        self,
        rows: Row,
        orders: NDArray[np.intp],
        at: NDArray[np.int64],
        delta: Fraction,
        found: Lengths,
    ) -> NDArray[np.bool_]:
        """Follow one order of every row as far as tables tell, and say which rows are left."""
        left = np.ones(len(rows), dtype=np.bool_)
        if not len(rows) or delta == 1 or self._told or self.tables is None:
            return left
        level = Level.around(delta).passed
        for batch in self._sides(rows):
            sizes, bounds = np.full(len(batch.at), -1), np.empty((len(batch.at), 2))
            order = np.ascontiguousarray(orders[batch.at]).astype(np.int64)
            tables = self.tables
            most = int(at[batch.at].max(initial=0))
            follow(
                tables.coarse(most), tables.sharp(most), batch.rows, order, level, at[batch.at],
                sizes, bounds,
            )  # fmt: skip
            good = (sizes >= 0) & (bounds[:, 1] - bounds[:, 0] <= _WIDE)
            for j in np.flatnonzero(good).tolist():
                known = Enclosure.proved(float(bounds[j, 0]), float(bounds[j, 1]))
                found.write(int(batch.at[j]), int(sizes[j]), known)
            left[batch.at[good]] = False
        return left

    def score_together(
        self, rows: Row, mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Bound the guarantee of one set of every row by tables, and say which rows are left."""
        n = len(rows)
        lower, upper, left = np.zeros(n), np.ones(n), np.ones(n, dtype=np.bool_)
        if not n or self._told or self.tables is None:
            return lower, upper, left
        for batch in self._sides(rows):
            chosen = mask[batch.at]
            sizes = chosen.sum(axis=1).astype(np.int64)
            units = np.argsort(~chosen, axis=1, kind="stable").astype(np.int64)
            m = len(batch.at)
            sets = Sets(units, sizes, np.zeros(m), np.ones(m))
            most = int(sizes.max(initial=0))
            measure(self.tables.sharp(most), batch.rows, sets, np.ones(m, dtype=np.bool_))
            narrow = sets.upper - sets.lower <= _WIDE
            for j in np.flatnonzero(narrow).tolist():
                known = Enclosure.proved(float(sets.lower[j]), float(sets.upper[j]))
                lower[batch.at[j]], upper[batch.at[j]] = known.lower, known.upper
            left[batch.at[narrow]] = False
        return lower, upper, left

    @cached_property
    def _told(self) -> bool:
        """Whether sets are counted because there are so few values."""
        return are_few(self.contributions)

    def _sides(self, rows: Row) -> list[_Batch]:
        """Return the rows of each class as kernels read them, with nothing forced or barred."""
        positive = self.linear.is_positive(rows)
        found = []
        for side in (False, True):
            places = np.flatnonzero(positive == side)
            for first in range(0, len(places), _CHUNK):
                at = places[first : first + _CHUNK]
                found.append(self._batch(rows, side, at, Task(Fraction(1))))
        return found


class _TabledCosts(Costs):
    """What units may cost an instance, bounded by tables before anything is counted."""

    tabled: TabledLaw

    def _by_spectrum(
        self, fixed: frozenset[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure | None:
        """Bound a guarantee by tables; None where there are none."""
        tables = self.tabled.tables if self._spectra(True) is not None else None
        if tables is None:
            return None
        return _bounded(self, tables, fixed, self.cut_of(fixed, tables.shared), delta, tol)


class _TabledCrowd(CrowdCosts):
    """The same where values are not listed."""

    tabled: TabledLaw

    def _bounded(self, fixed: frozenset[int], delta: Fraction | None, tol: float) -> Enclosure:
        tables = self.tabled.tables
        assert tables is not None
        return _bounded(self, tables, fixed, self._exact_cut(fixed, tables.shared), delta, tol)


def _bounded(
    costs: Costs,
    tables: Tables,
    fixed: frozenset[int],
    cut: tuple[float, float],
    delta: Fraction | None,
    tol: float,
) -> Enclosure:
    """Bound the guarantee of a set by tables, the coarse one first where it may do."""
    beta, blur = cut[0], cut[1] + tables.doubt
    change = far_change(tables.shared.inner.far, abs(beta) + blur)
    best = Enclosure(0.0, 1.0)
    ways = (tables.coarse, tables.sharp) if delta is not None or tol >= ROUGH else (tables.sharp,)
    for way in ways:
        lower, upper = enclose(way(len(fixed)), fixed, beta, blur)
        lower, upper = lower - change, upper + change
        if costs.positive:
            lower, upper = 1 - upper, 1 - lower
        best = best.intersect(Enclosure.proved(max(lower, 0.0), min(upper, 1.0)))
        if (best >= delta).decided if delta is not None else best.width <= tol:
            break
    return best


class _TabledProver(IndependentProver):
    """The sets of one instance, refuted on tables."""

    law: TabledLaw
    _open_from: float = math.inf  # sets of so many units, or more, stay open

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members: all up-sets are refuted, or one is found."""
        if self.costs.counted:
            most = min(self.task.effort.limits.most_sets, self.task.effort.sets)
            if count_up_sets(self._above, size, not self.monotone, most) <= most:
                return self.first_of(self._up_sets(size, not self.monotone, most))
        if self.law.tables is None:
            return Prover.look(self, size)
        if size >= self._open_from:
            return None, set()
        law, view = self.law, self.costs
        rows = view.row[None, :]
        batch = law._batch(rows, view.positive, np.zeros(1, dtype=np.intp), self.task)
        if not len(batch.at):
            return Prover.look(self, size)
        sets = Sets(
            np.zeros((1, self.view.n_units), dtype=np.int64), np.array([size + 1]), np.zeros(1),
            np.ones(1),
        )  # fmt: skip
        level = Level.around(self.task.delta).passed
        proofs = law._proofs(batch, level, sets, self.task.effort, self.least)
        reached, least = law._judged(proofs, 0, view.row, self.task)
        if reached is not None:
            return True, reached
        if least > size:
            return False, set()
        self.least = max(self.least, least)
        self._open_from = self.least
        return None, set()

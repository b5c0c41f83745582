"""The law of independent units before two classes, on divided tables.

What comes in are a model and a source of its units' values; what goes out are answers to rows: sets
that reach a level, with what was proved of them (`TabledLaw.together`), bounds of given
sets and orders, and views for all other questions. What tables leave open is decided by exact
counts of the view (`Costs`).

In general no single ranking of units is optimal. So several propose a set: by mean cost, by largest
cost, and by ``mean + lambda variance``, the normal law's compromise between them (Proposition 120).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import TOL, Duel, Law, Lengths, Rest, Row, View, is_open
from sklearn_probsr.core.options import MOST_MIXED, Effort, Task
from sklearn_probsr.core.search import (
    MOST_COMPARED,
    ROOM,
    Branched,
    ChainScout,
    Prover,
    Rounded,
    Scout,
)
from sklearn_probsr.independent.exact import (
    CertainProver,
    CertainRows,
    FiniteSum,
    Part,
    enclose_finite,
)
from sklearn_probsr.independent.level import Level
from sklearn_probsr.independent.order import order_members
from sklearn_probsr.independent.refute import (
    Budget,
    Offers,
    PriceLimits,
    Scene,
    branch,
    cheap_set,
)
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
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.independent.spectrum import enclose, far_change
from sklearn_probsr.independent.unit_laws import (
    FAR,
    Contributions,
    Seen,
    Tables,
    are_few,
    turned,
)
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import LinearModel, Model
from sklearn_probsr.model.numbers import about

__all__ = ["Costs", "IndependentLaw", "LoweredRest", "TabledLaw", "promises"]

# Rows that are searched at once, and completions that are drawn at once.
_CHUNK, _DRAWN = 256, 4096
# What the proofs of a row may cost, in nodes of a table at about half a nanosecond each: by
# default, and in each second that they may take.
_WORK, _EACH_SECOND = 100_000_000, 500_000_000
_MUCH = 2**62
# Answers that are wider than this are looked at again, and so are bounds of given sets; where a
# guarantee need not be known better than this, the coarse table is asked first.
_WIDE_ANSWER, _WIDE, _ROUGH = 1e-3, 5e-3, 5e-3
# Readers are told fractions where values, or completions, are no more than this.
_FEW_TOLD, _FEW_COMPLETIONS = 120, 2**10
# Relative weights of the variance in the rankings (Proposition 120); 0 is the mean cost, the signed
# SHAP value.
_LAMBDAS = (0.0, 0.25, 1.0, 4.0, math.inf)
# Cuts are no further out than this, in turns: what is moved counts there with all of its chance.
_FARTHEST = 2.0**900
# How often a range is halved: what may be lost is known to a part in a thousand of the most that
# could be, and where that is nothing, to a part in a million. It is a guide only.
_HALVINGS, _MOST_HALVINGS = 10, 20
# Branches of a search by price, and how many take a second; the degree of their table.
_BRANCHES, _BRANCHES_A_SECOND, _PRICED = (5_000, 1_000_000), 20_000, 2**12


def promises(
    score: NDArray[np.float64],
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    scale: float | NDArray[np.float64],
) -> Iterator[NDArray[np.float64]]:
    """Yield the keys of the rankings: the largest promise comes first in each (Prop. 120)."""
    for weight in _LAMBDAS:
        yield score if math.isinf(weight) else mean + weight * variance / scale


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


class IndependentLaw(Law):
    """A model whose unknown units are independent, each as its source says."""

    def __init__(self, model: Model, distribution: Any, source: Source) -> None:
        super().__init__(model, distribution)
        self.source = source

    @property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return self.source.means

    @property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far the mean of each column may be off."""
        return self.source.mean_doubts

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return self.source.mean_of(column)

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of an unknown unit may be, and how likely each is."""
        return self.source.states(unit)

    @property
    def data(self) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """The rows that unknown units are taken from, and how much each counts; None if none."""
        return self.source.seen


class TabledLaw(IndependentLaw):
    """A model of two classes whose unknown units are independent."""

    def __init__(self, model: LinearModel, distribution: Any, source: Source) -> None:
        super().__init__(model, distribution, source)
        self.linear = model

    @cached_property
    def contributions(self) -> Contributions:
        """What each unit may add to the decision function, exactly."""
        return Contributions(self.linear, self.source)

    @cached_property
    def tables(self) -> Tables:
        """The tables of the model."""
        return Tables(self.contributions)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        tables = vars(self).get("tables")
        return self.source.nbytes + (0 if tables is None else tables.nbytes)

    @cached_property
    def _certain(self) -> CertainRows:
        return CertainRows(self.contributions, self.tables.middle)

    def view(self, row: Row) -> Costs:
        """Return one instance, a checked row, before this law."""
        return Costs(self.contributions, row, lambda: self.tables)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, Costs)
        prover = _TabledProver(self, view, task)
        return CertainProver(prover, [view]) if task.delta == 1 else prover

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> LoweredRest:
        """Return what may be lost of some facts of an instance while delta holds."""
        view = self.view(row)
        return LoweredRest(
            [view.duel],
            delta,
            features,
            lambda losses: view.lowered(features, losses[0]),
            [view.spared(features)],
        )

    def scout(self, prover: Prover, prices: dict[int, int], row: Row) -> Scout:
        """Return what looks ahead for the cheapest set of an instance."""
        if isinstance(prover, CertainProver):
            return super().scout(prover, prices, row)
        mean = self.view(row).moments.mean
        order = sorted(prover.members, key=lambda u: (-mean[u], prices[u]))
        return self.along(order, prices, prover, row, mean[order].tolist())

    def along(
        self,
        order: list[int],
        prices: dict[int, int],
        prover: Prover,
        row: Row,
        worth: list[float],
        above: NDArray[np.bool_] | None = None,
    ) -> Scout:
        """Return what looks ahead along members, of which some cost stochastically more."""
        verdict, positive = prover.verdict, bool(self.linear.is_positive(row[None, :])[0])
        if len(order) > MOST_COMPARED or not order:
            return Scout(order, prices, verdict, prover.monotone, worth)
        batch = self._batch(row[None, :], positive, np.zeros(1, dtype=np.intp), prover.task)
        if not len(batch.at):
            return Scout(order, prices, verdict, prover.monotone, worth)
        if above is None:
            seen, above = batch.seen, np.zeros((len(order), len(order)), dtype=np.bool_)
            order_members(
                self.tables.atoms(positive), seen.known[0], seen.same[0], positive,
                seen.slack[0], np.array(order, dtype=np.int64), above,
            )  # fmt: skip
        if self._told:
            return ChainScout(order, prices, verdict, prover.monotone, worth, above.item)
        return _PricedScout(order, prices, prover, worth, above, self.tables, batch)

    # --- rows together -----------------------------------------------------------------------

    def together(self, rows: Row, task: Task, found: Found) -> dict[int, set[int]]:
        """Answer the rows that tables decide; return starts for some of the others."""
        starts: dict[int, set[int]] = {}
        positive = self.linear.is_positive(rows)
        if task.delta == 1:
            self._certain.answer(rows, positive, task, found)
            return starts
        if self._told:
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

    def _orders(
        self, gain: NDArray[np.float64], member: NDArray[np.bool_], positive: bool
    ) -> NDArray[np.int64]:
        """Return the members of every row, before the others, by decreasing promise."""
        tables = self.tables
        mean = gain if positive else -gain
        score = mean + (tables.below if positive else tables.above)
        scale = np.maximum(np.where(member, mean, 0.0).max(axis=1, initial=0.0), 1e-300)[:, None]
        return np.stack(
            [
                np.argsort(np.where(member, -key, np.inf), axis=1, kind="stable")
                for key in promises(score, mean, tables.variance, scale)
            ]
        )

    def _search(
        self, batch: _Batch, rows: Row, task: Task, found: Found, starts: dict[int, set[int]]
    ) -> None:
        """Search some rows, and write down what is certain of them."""
        tables = self.tables
        n, units = batch.seen.gain.shape
        forced, known = len(task.include), 1
        level = Level.around(task.delta).passed
        sets = Sets(np.zeros((n, units), dtype=np.int64), np.full(n, -1), np.zeros(n), np.ones(n))
        asked = np.ones(n, dtype=np.bool_)
        while asked.any():
            coarse, sharp = tables.coarse(forced + known), tables.sharp(forced + known)
            propose(coarse, sharp, batch.rows, level, sets, asked)
            wide = asked & (sets.size >= 0) & (sets.upper - sets.lower > _WIDE_ANSWER)
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
                batch.seen.slack, np.full(n, least), tables.variance, level, sets, budget,
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
        if not len(rows) or delta == 1 or self._told:
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
        if not n or self._told:
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


class Moments(NamedTuple):
    """The most that each unit can cost, mean and variance of its cost, and the margin, in turns.

    Without values that are far out: rare ones would make up all of mean and variance.
    """

    score: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    margin: float


class Costs(View):
    """What each unit of an instance may cost, and how likely that is.

    Parameters
    ----------
    contributions : Contributions
    row : ndarray
    tables : callable
        Returns the tables of the contributions, built at the first call.
    """

    def __init__(
        self, contributions: Contributions, row: Row, tables: Callable[[], Tables]
    ) -> None:
        super().__init__(len(contributions.ends))
        self.contributions, self.row, self._make_tables = contributions, row, tables
        self.positive = bool(contributions.model.is_positive(row[None, :])[0])
        self.known = contributions.known(row)
        self._known: dict[tuple[frozenset[int], Fraction | None, float], Enclosure] = {}

    @property
    def tables(self) -> Tables:
        """The tables of the contributions."""
        return self._make_tables()

    def lowered(self, features: Sequence[int], loss: Fraction) -> Costs:
        """Return the same instance, and the same class, with facts that are worth less together.

        The loss is in units of the decision function.
        """
        twin = copy.copy(self)
        for name in ("at_worst", "_at_best", "moments", "_worths"):
            twin.__dict__.pop(name, None)
        less = loss / self.contributions.scale
        twin.known = list(self.known)
        twin.known[features[0]] += -less if self.positive else less
        twin._known = {}
        return twin

    @property
    def duel(self) -> Duel:
        """The decision that is looked at."""
        return Duel(self.contributions.model, self.positive)

    def spared(self, features: Collection[int]) -> Fraction:
        """Return a loss of some facts beyond which no completion has the class."""
        inside, left = set(features), -self.contributions.threshold
        for u, (least, most) in enumerate(self.contributions.ends):
            left += self.known[u] if u in inside else most if self.positive else least
        return max(left if self.positive else -left, Fraction(0)) * self.contributions.scale

    # --- for certain -------------------------------------------------------------------------

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything."""
        return self.most(unit) > 0

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything."""
        return self.least(unit) < 0

    def most(self, unit: int) -> Fraction:
        """Return the most that a unit can cost."""
        least, most = self.contributions.ends[unit]
        return self.known[unit] - least if self.positive else most - self.known[unit]

    def least(self, unit: int) -> Fraction:
        """Return the least that a unit can cost; less than nothing, if it can gain."""
        least, most = self.contributions.ends[unit]
        return self.known[unit] - most if self.positive else least - self.known[unit]

    def is_certain(self, fixed: Collection[int]) -> bool:
        """Tell whether a set keeps the class for certain: the others fit the margin at worst."""
        worst, beyond = self.at_worst
        return beyond <= sum(worst[u] for u in set(fixed))

    def is_hopeless(self, fixed: Collection[int]) -> bool:
        """Tell whether a set never keeps the class: the others exceed the margin at best."""
        best, beyond = self._at_best
        return beyond > sum(best[u] for u in set(fixed))

    def may_hurt_at_worst(self, units: Collection[int]) -> list[int]:
        """Return those of some units that surely gain when they are unknown, by some amount."""
        return [u for u in units if self.most(u) < 0]

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size whether so many units along an order keep the class for certain."""
        worst, beyond = self.at_worst
        return [beyond <= known for known in accumulate((worst[u] for u in order), initial=0)]

    @cached_property
    def at_worst(self) -> tuple[list[int], int]:
        """What each unit costs at most, and by how much all together exceed the margin."""
        return self._at_ends(self.most)

    @cached_property
    def _at_best(self) -> tuple[list[int], int]:
        """What each unit costs at least, and by how much all together exceed the margin."""
        return self._at_ends(self.least)

    def _at_ends(self, end: Callable[[int], Fraction]) -> tuple[list[int], int]:
        """Return ends of what units cost, and by how much all together exceed the margin."""
        whole = self.contributions.fineness
        times = math.lcm(whole, *(known.denominator for known in self.known))
        costs = [int(end(u) * times) for u in range(len(self.known))]
        left = sum(self.known, start=-self.contributions.threshold) * times
        left = left if self.positive else -left
        needs_more = is_open(self.contributions.model, self.positive)
        return costs, sum(costs) - (math.ceil(left) - 1 if needs_more else math.floor(left))

    # --- how likely --------------------------------------------------------------------------

    @property
    def counted(self) -> bool:
        """Whether sets are counted one by one, and not looked up in tables."""
        return are_few(self.contributions)

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set, until delta is on one side or it is narrow enough."""
        key = (frozenset(fixed), delta, tol)
        if key not in self._known:
            self._known[key] = self._enclose(*key)
        return self._known[key]

    def _enclose(self, fixed: frozenset[int], delta: Fraction | None, tol: float) -> Enclosure:
        if self.is_certain(fixed):
            return Enclosure.of(Fraction(1))
        if self.is_hopeless(fixed):
            return Enclosure.of(Fraction(0))
        seen = self.contributions
        if seen.values is None:
            share = self._share_of_rows(fixed)
            return self.glance(fixed, delta, tol) if share is None else Enclosure.of(share)
        if self.counted or (delta is None and self._is_told(fixed)):
            return enclose_finite(self._question(fixed), delta, tol)
        rough = self.glance(fixed, delta, tol)
        if (rough >= delta).decided if delta is not None else rough.width <= tol:
            return rough
        return rough.intersect(enclose_finite(self._question(fixed), delta, tol))

    def _is_told(self, fixed: frozenset[int]) -> bool:
        """Tell whether a reader is told the fraction: values, or completions, are few."""
        seen = self.contributions
        if seen.values is None:
            return False
        if are_few(seen, _FEW_TOLD):
            return True
        if len(seen.by_range) - len(fixed) > _FEW_COMPLETIONS.bit_length():
            return False
        free = (len(seen.values[u]) for u in seen.by_range if u not in fixed)
        return math.prod(free) <= _FEW_COMPLETIONS

    def _share_of_rows(self, fixed: frozenset[int]) -> Fraction | None:
        """Count the rows in which the one unit that is unknown keeps the class, exactly."""
        seen = self.contributions
        free = [u for u in seen.by_range if u not in fixed]
        if len(free) != 1:
            return None
        known = sum((self.known[u] for u in fixed), start=Fraction(0))
        still = set(range(self.n_units)).difference(fixed, free)
        left = seen.threshold - known - sum(seen.ends[u][0] for u in still)
        reached = seen.count_above(free[0], left, seen.model.strict)
        return reached if reached is None or self.positive else 1 - reached

    def _question(self, fixed: Collection[int]) -> FiniteSum:
        """Return the random sum that is left when some units are known."""
        seen, inside = self.contributions, set(fixed)
        assert seen.values is not None
        assert seen.chances is not None
        capacity = seen.cut(sum((self.known[u] for u in inside), start=Fraction(0)))
        capacity = -capacity if self.positive else capacity - 1
        parts = []
        for u in seen.by_range:
            if u not in inside:
                v, chances = seen.values[u], seen.chances[u]
                if self.positive:
                    part = Part(tuple(v[-1] - c for c in reversed(v)), tuple(reversed(chances)))
                else:
                    part = Part(tuple(c - v[0] for c in v), tuple(chances))
                parts.append(part)
        for u in range(self.n_units):
            if u not in inside:
                capacity += seen.values[u][-1] if self.positive else -seen.values[u][0]
        return FiniteSum(parts, seen.denominator, capacity)

    def glance(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Bound the guarantee of a set by tables, the coarse one first where it may do."""
        tables, units = self.tables, sorted(fixed)
        gains = np.array([self._worths[u] for u in units])
        whole = all(self.known[u].denominator == 1 for u in units)
        beta, blur = tables.cuts[whole], 0.0
        if abs(beta) > FAR or bool((np.abs(gains) > FAR).any()):
            # With all digits, rounded once, as far out as floats can be added up.
            above = self.contributions.threshold - sum(self.known[u] for u in units)
            inside = set(units)
            above -= sum(m for u, m in enumerate(tables.middle) if u not in inside)
            beta, blur = turned(above / tables.turn, _FARTHEST), 4 * UNIT + tables.doubt
        else:
            blur = float(tables.blur(beta, gains))
            beta -= math.fsum(gains)
        change = far_change(tables.far, abs(beta) + blur)
        best, size = Enclosure(0.0, 1.0), len(units)
        rough = delta is not None or tol >= _ROUGH
        for way in (tables.coarse, tables.sharp) if rough else (tables.sharp,):
            lower, upper = enclose(way(size), units, beta, blur)
            lower, upper = lower - change, upper + change
            if self.positive:
                lower, upper = 1 - upper, 1 - lower
            best = best.intersect(Enclosure.proved(max(lower, 0.0), min(upper, 1.0)))
            if (best >= delta).decided if delta is not None else best.width <= tol:
                break
        return best

    @cached_property
    def _worths(self) -> list[float]:
        """How far fixing each unit moves the cut, in turns."""
        tables = self.tables
        each = zip(self.known, tables.middle, strict=True)
        return [turned((known - middle) / tables.turn) for known, middle in each]

    # --- orders ------------------------------------------------------------------------------

    @cached_property
    def moments(self) -> Moments:
        """The moments of every unit's cost."""
        tables, gain = self.tables, np.array(self._worths)
        left = abs(sum(self.known, start=-self.contributions.threshold))
        margin = turned(left / tables.turn)
        if self.positive:
            return Moments(gain + tables.below, gain, tables.variance, margin)
        return Moments(tables.above - gain, -gain, tables.variance, margin)

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by decreasing promise, in several ways."""
        score, mean, variance = (part[members] for part in self.moments[:3])
        scale = max(float(mean.max(initial=0.0)), 1e-300)
        return [
            [members[j] for j in np.argsort(-key, kind="stable")]
            for key in promises(score, mean, variance, scale)
        ]

    def guess(self, forced: Sequence[int], order: list[int], delta: Fraction) -> int:
        """Return the first size along an order that suffices for a normal law."""
        _, mean, variance, margin = self.moments
        free = np.ones(len(mean), dtype=np.bool_)
        free[list(forced)] = False
        means = mean[free].sum() - np.concatenate([[0.0], np.cumsum(mean[order])])
        left = np.maximum(
            variance[free].sum() - np.concatenate([[0.0], np.cumsum(variance[order])]), 0.0
        )
        quantile = float(np.clip(ndtri(float(delta)), -8.0, 8.0))
        enough = np.flatnonzero(margin - means >= quantile * np.sqrt(left))
        return int(enough[0]) if len(enough) else len(order)

    # --- completions -------------------------------------------------------------------------

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size.

        Contributions are summed up in floats, and exactly where that is near the threshold.
        """
        seen, inside, steps = self.contributions, {*forced, *order}, len(order)
        units = [*order, *(u for u in range(self.n_units) if u not in inside)]
        draws = [seen.drawn(u) for u in units]
        scale = float(seen.scale)
        known = np.array([_near(self.known[u] * seen.scale) for u in order])
        base = sum((self.known[u] for u in forced), start=-seen.threshold)
        limit, total = -_near(base * seen.scale), np.zeros(steps + 1, dtype=np.int64)
        for start in range(0, samples, _DRAWN):
            m = min(_DRAWN, samples - start)
            which = np.empty((m, len(units)), dtype=np.intp)
            drawn = np.empty((m, len(units)))
            for j, (values, chances, _) in enumerate(draws):
                which[:, j] = rng.choice(len(chances), size=m, p=chances)
                drawn[:, j] = values[which[:, j]]
            for k in range(steps + 1):
                sums = drawn[:, k:].sum(axis=1) + known[:k].sum()
                size = np.abs(drawn[:, k:]).sum(axis=1) + np.abs(known[:k]).sum() + abs(limit)
                keeps = (sums > limit) == self.positive
                doubt = 16 * UNIT * (len(units) + 1) * size + 1e-290 * scale
                for a in np.flatnonzero(~(np.abs(sums - limit) > doubt)):
                    left = base + sum(self.known[u] for u in order[:k])
                    left += sum(draws[j][2](int(which[a, j])) for j in range(k, len(units)))
                    left = left if self.positive else -left
                    keeps[a] = left > 0 if is_open(seen.model, self.positive) else left >= 0
                total[k] += np.count_nonzero(keeps)
        return total


def _near(value: Fraction | float) -> float:
    """Return about a number, of any size that sums of it are not infinite at."""
    return turned(Fraction(value), _FARTHEST)


class _TabledProver(Prover):
    """The sets of one instance, refuted on tables."""

    def __init__(self, law: TabledLaw, view: Costs, task: Task) -> None:
        super().__init__(view, task)
        self.law, self.costs = law, view
        self._open_from: float = math.inf  # sets of so many units, or more, stay open

    def guess(self, order: list[int]) -> int | None:
        """Return the first size along an order that suffices for a normal law."""
        return self.costs.guess(self.forced, order, self.task.delta)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members: all up-sets are refuted, or one is found."""
        if self.costs.counted:
            most = min(self.task.effort.limits.most_sets, self.task.effort.sets)
            sets = self._up_sets(size, not self.monotone, most)
            if sets is not None:
                return self.first_of(sets)
        if size >= self._open_from:
            return None, set()
        law, view = self.law, self.costs
        rows = view.row[None, :]
        batch = law._batch(rows, view.positive, np.zeros(1, dtype=np.intp), self.task)
        if not len(batch.at):
            return super().look(size)
        sets_ = Sets(
            np.zeros((1, self.view.n_units), dtype=np.int64), np.array([size + 1]), np.zeros(1),
            np.ones(1),
        )  # fmt: skip
        level = Level.around(self.task.delta).passed
        proofs = law._proofs(batch, level, sets_, self.task.effort, self.least)
        reached, least = law._judged(proofs, 0, view.row, self.task)
        if reached is not None:
            return True, reached
        if least > size:
            return False, set()
        self.least = max(self.least, least)
        self._open_from = self.least
        return None, set()

    def improve(self, chosen: set[int]) -> set[int]:
        """Return the best of the up-sets of the same size, if they are few and quick to count."""
        if not self.costs.counted:
            return chosen
        sets = self._up_sets(len(chosen), False, self.task.effort.limits.most_compared)
        return chosen if sets is None else max([chosen, *sets], key=self.worth)

    def _up_sets(self, size: int, smaller: bool, most: int) -> list[set[int]] | None:
        """Return the sets of a size that have, with each member, all that are above it.

        If asked for, those of smaller sizes as well. None if there are more than so many.
        """
        found: list[set[int]] = []
        members, n = self.members, len(self.members)
        stack: list[tuple[int, tuple[int, ...], int]] = [(0, (), 0)]
        while stack:
            at, taken, barred = stack.pop()
            open_ = sum(not barred >> j & 1 for j in range(at, n))
            if len(taken) == size or (smaller and at == n):
                found.append({members[j] for j in taken})
                if len(found) > most:
                    return None
            elif at < n and (smaller or len(taken) + open_ >= size):
                stack.append((at + 1, taken, barred | self._below[at]))
                if not barred >> at & 1:
                    stack.append((at + 1, (*taken, at), barred))
        return found

    @cached_property
    def _below(self) -> list[int]:
        """For each member which of those that come later cost stochastically less, as bits.

        That is Lemma 10, in whole numbers.
        """
        seen, view, n = self.costs.contributions, self.costs, len(self.members)
        assert seen.values is not None
        assert seen.chances is not None
        times = math.lcm(*(view.known[u].denominator for u in self.members), 1)
        laws = []
        for u in self.members:
            own, step = int(view.known[u] * times), -1 if view.positive else 1
            costs = [step * (c * times - own) for c in seen.values[u][::step]]
            laws.append(list(zip(costs, accumulate(seen.chances[u][::step]), strict=True)))
        return [
            sum(1 << b for b in range(a + 1, n) if _costs_more(laws[a], laws[b])) for a in range(n)
        ]


def _costs_more(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    """Tell whether a unit costs stochastically more than another; chances are cumulated."""
    at, below = 0, 0
    for cost, chance in one:
        while at < len(other) and other[at][0] <= cost:
            below, at = other[at][1], at + 1
        if below < chance:
            return False
    return True


class _PricedScout(ChainScout):
    """Members of which tables tell what sets of them guarantee, for the cheapest set.

    What tables leave open is asked again, with all digits.
    """

    def __init__(
        self,
        order: Sequence[int],
        prices: dict[int, int],
        prover: Prover,
        worth: Sequence[float],
        above: NDArray[np.bool_],
        tables: Tables,
        batch: _Batch,
    ) -> None:
        super().__init__(order, prices, prover.verdict, prover.monotone, worth, above.item)
        self.branches = _BRANCHES
        self._rounded = Rounded.of(self.prices)
        each = np.array(self.prices, dtype=object)
        dearer = (each[:, None] <= each[None, :]).astype(np.bool_)
        chain = self.chain_of if prover.monotone else [-1] * len(self.order)
        self._offers = Offers(
            np.array(self.order, dtype=np.int64), self._rounded.prices, above & dearer,
            np.array(chain, dtype=np.int64), np.array(prover.forced, dtype=np.int64),
            self._rounded.bits == 0,
        )  # fmt: skip
        rows = batch.rows
        self._scene = Scene(rows.gain[0], rows.cut[0], rows.blur[0], rows.positive[0], rows.far)
        self._table = tables.of_degree(_PRICED, len(order) + len(prover.forced))
        self._level = Level.around(prover.task.delta).passed

    def proposed(self) -> list[list[int]] | None:
        """Return places of sets that surely reach delta, by worth for their price."""
        if not self.monotone:
            return None
        worth, found = np.maximum(np.array(self.worth), 0.0), []
        prices = np.array([turned(price, 1e300) for price in self.prices])
        dearest = np.lexsort((worth, -prices)).astype(np.int64)
        for power in (1.0, 0.5):
            order = np.argsort(-worth / prices**power, kind="stable").astype(np.int64)
            fixed = np.zeros(len(order), dtype=np.bool_)
            if cheap_set(
                self._table, self._scene, self._offers, order, dearest, self._level, fixed
            ):
                found.append(np.flatnonzero(fixed).tolist())
        return found

    def branches_in(self, seconds: float) -> int:
        """Return how many branches surely take less than so many seconds."""
        return int(min(seconds, 1e6) * _BRANCHES_A_SECOND) + 1

    def branched(self, limit: int, most: int, fewest: int, branches: int) -> Branched:
        """Go through the sets that count at most a limit (Proposition 91)."""
        limits = PriceLimits(limit >> self._rounded.bits, most, fewest, branches, ROOM)
        sets, sure = np.zeros((ROOM, len(self.order)), np.bool_), np.zeros(ROOM, np.bool_)
        verdict, kept = branch(
            self._table, self._scene, self._offers, self._level, limits, sets, sure
        )
        return self.judged(sets[:kept], sure[:kept], limit, verdict == 1)


class LoweredRest(Rest):
    """The rest of facts that a view can be asked about at less than their worth.

    ``lower`` returns the view of the same instance, its facts worth less in each duel by so much;
    ``most`` is, for each duel, a loss that leaves no completion of the class.
    """

    def __init__(
        self,
        duels: list[Duel],
        delta: Fraction,
        features: Sequence[int],
        lower: Callable[[Sequence[Fraction]], View],
        most: Sequence[Fraction],
    ) -> None:
        super().__init__(duels, delta)
        self.features, self._lower, self.most = list(features), lower, most
        # Losses that are known to hold, and those that are not: all smaller ones hold as well, and
        # no larger one does.
        self._held: list[Sequence[Fraction]] = []
        self._broken: list[Sequence[Fraction]] = []

    def enclose(self, losses: Sequence[Fraction]) -> Enclosure:
        """Enclose the guarantee with such losses, narrow enough for a reader."""
        view = self._lower(losses)
        return view.enclose(self.features).intersect(view.enclose(self.features, self.delta))

    def holds(self, losses: Sequence[Fraction]) -> bool | None:
        """Tell whether delta is proved to hold with such losses; None where that is open."""
        if any(_within(losses, held) for held in self._held):
            return True
        if any(_within(broken, losses) for broken in self._broken):
            return None
        found = self.verdict(losses)
        (self._held if found else self._broken).append(list(losses))
        return found

    def verdict(self, losses: Sequence[Fraction]) -> bool | None:
        """Tell the same, and whether it is proved that delta does not hold."""
        view = self._lower(losses)
        certain = view.certain_along(self.features) if self.delta == 1 else None
        if certain is not None:
            return certain[-1]
        return (view.enclose(self.features, self.delta) >= self.delta).value

    def room(self, used: Sequence[Fraction], direction: Sequence[Fraction]) -> float:
        """Return about how many times a direction can be lost on top of what is used."""
        ends = [
            (most - loss) / step
            for most, loss, step in zip(self.most, used, direction, strict=True)
            if step > 0
        ]
        if not ends:
            return math.inf
        low, high = Fraction(0), max(min(ends), Fraction(0))
        for turn in range(_MOST_HALVINGS):
            if turn >= _HALVINGS and low:
                break
            middle = (low + high) / 2
            losses = [loss + middle * step for loss, step in zip(used, direction, strict=True)]
            if self.holds(losses):
                low = middle
            else:
                high = middle
        return about(low)


def _within(losses: Sequence[Fraction], others: Sequence[Fraction]) -> bool:
    """Tell whether no loss is larger than another's."""
    return all(a <= b for a, b in zip(losses, others, strict=True))

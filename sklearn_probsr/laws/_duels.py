"""Several classes: the winner must stay ahead of each of its rivals.

Over background rows a row keeps the class if it stays ahead of every rival in it: a count, exact as
with two classes. Over independent units the events "ahead of rival j" have proved probabilities
``p_j``, and the class is kept with a probability between ``1 - sum_j (1 - p_j)`` (the union bound)
and ``min_j p_j`` (Proposition 34). It is kept for certain iff it is before every rival, at worst:
no probability is asked for that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.engines._samples import hoeffding_radius
from sklearn_probsr.engines.rows._counts import worst_gains
from sklearn_probsr.laws._certainty import CertainProver
from sklearn_probsr.laws._costs import ROUGH, WIDE, Costs
from sklearn_probsr.laws._independent import IndependentLaw
from sklearn_probsr.laws._law import Law
from sklearn_probsr.laws._ledger import Ledger
from sklearn_probsr.laws._prover import Prover
from sklearn_probsr.laws._replacement import Replacement, RowsLaw
from sklearn_probsr.laws._rows_view import PartedView
from sklearn_probsr.laws._sources import Source
from sklearn_probsr.laws._sums_rest import LoweredRest
from sklearn_probsr.laws._table import Places
from sklearn_probsr.laws._task import Task
from sklearn_probsr.laws._view import TOL, Row, View
from sklearn_probsr.model._argmax import ArgmaxModel
from sklearn_probsr.model._enclosure import Enclosure

__all__ = ["IndependentDuels", "ReplacementDuels"]

# Guarantees whose proved bounds are further apart are sampled as well, so often, at this risk
# (Corollary 27).
_FAR_APART = 0.02
_SAMPLES = 100_000
_RISK = 1e-6
# Completions that are drawn at once, and gains that are looked at: so many numbers.
_CELLS, _GAINS = 2**20, 2**18
# Before more gains than this, a search begins with rows that have so many, and of these at most so
# many; unless nearly all have to be kept.
_MANY_CELLS, _PART_CELLS, _PART = 2**20, 3 * 2**17, 4096
_NEARLY_ALL = Fraction(999, 1000)


class ReplacementDuels(RowsLaw):
    """Background rows before a model of several classes."""

    def __init__(self, model: ArgmaxModel, distribution: Background) -> None:
        super().__init__(model, distribution)
        self.argmax = model
        self._ledgers: dict[int, list[Ledger]] = {}

    def view(self, row: Row) -> RivalRows:
        """Return one instance, a checked row, before this law."""
        winner = int(self.argmax.winners(row[None, :])[0])
        return RivalRows(self._before(winner), row)

    def _before(self, winner: int) -> list[Ledger]:
        """Return the ledgers of a winner: one for each rival, each with a number for every row.

        Those of the last winners are kept, together half as many numbers as the rows are.
        """
        if winner not in self._ledgers:
            rivals = [k for k in range(len(self.argmax.classes)) if k != winner]
            while (
                self._ledgers and 2 * (len(self._ledgers) + 1) * len(rivals) > self.table.n_columns
            ):
                del self._ledgers[next(iter(self._ledgers))]
            self._ledgers[winner] = [
                Ledger.of(self.argmax.duel(winner, rival), self.table, True) for rival in rivals
            ]
        return self._ledgers[winner]

    def first_part(self, view: PartedView, task: Task) -> int | None:
        """Return how many rows a search begins with; None for all."""
        asked = super().first_part(view, task)
        if asked is not None:
            return asked
        many = isinstance(view, RivalRows) and view.is_large
        return _first_part(view) if many and task.delta < _NEARLY_ALL else None

    def before(self, row: Row) -> list[Replacement]:
        """Return an instance before each of its rivals."""
        return self.view(row).duels


def _first_part(view: PartedView) -> int:
    """Return of how many rows the gains are few."""
    each = view.n_units * (len(view.margins) // len(view.weights))
    return max(min(_PART_CELLS // each, _PART), 1)


class RivalRows(PartedView):
    """One instance before background rows, with one margin for each rival."""

    def __init__(self, ledgers: list[Ledger], row: Row) -> None:
        super().__init__(ledgers[0].table.n_units)
        seen = [Replacement(ledger, row) for ledger in ledgers]
        # Margins of different rivals are compared with each other: they need one scale.
        scale = max(one.ledger.scale for one in seen)
        self.duels = [
            one if one.ledger.scale == scale else Replacement(ledger, row, scale)
            for one, ledger in zip(seen, ledgers, strict=True)
        ]
        self.exact = all(one.exact for one in self.duels)
        self.margins = np.stack([one.margins for one in self.duels], axis=1).ravel()
        self.weights = ledgers[0].table.counts

    def part(self, places: Places) -> RivalRows:
        """Return the instance before some of the rows."""
        found = self.copied()
        table = self.duels[0].ledger.table.part(places)
        found.duels = [one.part(places, table) for one in self.duels]
        found.margins = self.margins.reshape(len(self.weights), -1)[places].ravel()
        found.weights = self.weights[places]
        return found

    def gains(self, units: Sequence[int]) -> NDArray[np.int64]:
        """Return what fixing some units adds to each margin, a table of their own."""
        out = np.empty((len(units), len(self.margins)), dtype=np.int64)
        for i, one in enumerate(self.duels):
            one.write_gains(units, out, i)
        return out

    @property
    def doubt(self) -> int:
        """How much a margin may be short by, plus one."""
        return max(one.doubt for one in self.duels)

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown costs some row anything, before some rival."""
        return any(one.can_cost(unit) for one in self.duels)

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown gains some row anything, before some rival."""
        return any(one.can_gain(unit) for one in self.duels)

    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""
        kept: NDArray[np.bool_] = np.logical_and.reduce([d.keeps(features) for d in self.duels])
        return kept

    def weight(self, features: Collection[int]) -> int:
        """Return the weight of the background rows that keep the class, exactly."""
        return sum(super(RivalRows, piece).weight(features) for piece in self._pieces())

    def weights_along(self, order: Sequence[int], needed: int, at: int) -> NDArray[np.int64]:
        """Count what is kept with the first 0, 1, 2, ... of an order fixed, exactly."""
        pieces = list(self._pieces())
        if len(pieces) == 1:
            return super().weights_along(order, needed, at)
        every = (self.total + 1, len(order))
        kept: NDArray[np.int64] = np.sum(
            [super(RivalRows, piece).weights_along(order, *every) for piece in pieces], axis=0
        )
        reached = np.flatnonzero(kept >= needed)
        return kept[: max(int(reached[0]), at) + 1] if len(reached) else kept

    def _pieces(self) -> Iterator[RivalRows]:
        """Return the rows in pieces, whose gains take little memory."""
        n = len(self.weights)
        step = max(_GAINS // (self.n_units * len(self.duels)), 1)
        if n <= step:
            yield self
            return
        for start in range(0, n, step):
            yield self.part(slice(start, min(start + step, n)))

    @property
    def is_large(self) -> bool:
        """Whether the gains of all units before all rivals take much memory."""
        return len(self.margins) * self.n_units > _MANY_CELLS

    def ranking(self) -> list[int]:
        """Return all units in the order in which greed fixes them, before a part of many rows."""
        if not self.is_large:
            return super().ranking()
        n = len(self.weights)
        part = self.part(np.arange(0, n, -(-n // _first_part(self))))
        return super(RivalRows, part).ranking()

    def by_mean_gain(self, units: list[int]) -> list[int]:
        """Return units by decreasing mean gain of fixing them, before each row's worst rival."""
        means = self._mean_gains
        return [units[j] for j in np.argsort(-means[units], kind="stable")]

    @cached_property
    def _mean_gains(self) -> NDArray[np.float64]:
        found: NDArray[np.float64] = sum(
            (worst_gains(piece.rows) for piece in self._pieces()), start=np.zeros(self.n_units)
        )
        return found


class IndependentDuels(Law):
    """Independent units before a model of several classes."""

    def __init__(self, model: ArgmaxModel, distribution: Any, source: Source) -> None:
        super().__init__(model, distribution)
        self.argmax, self.source = model, source
        self._laws: dict[tuple[int, int], IndependentLaw] = {}

    @property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return self.source.means

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of an unknown unit may be, and how likely each is."""
        return self.source.states(unit)

    @property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far the mean of each column may be off."""
        return self.source.mean_doubts

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return self.source.mean_of(column)

    def duel(self, winner: int, rival: int) -> IndependentLaw:
        """Return the law of one duel, made once."""
        pair = (winner, rival)
        if pair not in self._laws:
            duel = self.argmax.duel(winner, rival)
            self._laws[pair] = IndependentLaw(duel, self.distribution, self.source)
        return self._laws[pair]

    def view(self, row: Row) -> RivalCosts:
        """Return one instance, a checked row, before this law."""
        winner = int(self.argmax.winners(row[None, :])[0])
        rivals = [k for k in range(len(self.argmax.classes)) if k != winner]
        costs = [self.duel(winner, rival).view(row) for rival in rivals]
        return RivalCosts(costs, lambda *asked: self._kept(row, winner, *asked))

    @property
    def data(self) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """The rows that unknown units are taken from, and how much each counts; None if none."""
        return self.source.seen

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> LoweredRest:
        """Return what may be lost of some facts of an instance, before each of its rivals."""
        view = self.view(row)

        def lower(losses: Sequence[Fraction]) -> RivalCosts:
            return view.lowered(features, losses)

        most = [one.spared(features) for one in view.duels]
        return LoweredRest([one.duel for one in view.duels], delta, features, lower, most)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, RivalCosts)
        prover = Prover(view, task)
        return CertainProver(prover, view.duels) if task.delta == 1 else prover

    def _kept(
        self, row: Row, winner: int, fixed: list[list[int]], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw completions, and count for each of some sets those that keep the class."""
        model, total = self.argmax, np.zeros(len(fixed), dtype=np.int64)
        units = model.units
        columns = [[u] if units is None else list(units[u].columns) for u in range(model.n_units)]
        states = [self.source.states(u) for u in range(model.n_units)]
        chunk = max(_CELLS // model.n_features, 1)
        for start in range(0, samples, chunk):
            m = min(chunk, samples - start)
            drawn = np.empty((m, model.n_features), dtype=row.dtype)
            for at, (values, chances) in zip(columns, states, strict=True):
                drawn[:, at] = values[rng.choice(len(values), m, p=chances)]
            for k, features in enumerate(fixed):
                inside = [column for u in features for column in columns[u]]
                completed = drawn.copy()
                completed[:, inside] = row[inside]
                total[k] += np.count_nonzero(model.winners(completed) == winner)
        return total

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return self.source.nbytes + sum(law.nbytes for law in self._laws.values())


def _nested(costs: Costs, fixed: frozenset[int], tol: float) -> Enclosure:
    """Enclose one duel; a closer look never takes back what a rough one said."""
    known = costs.enclose(fixed, None, ROUGH)
    return known if tol >= ROUGH else known.intersect(costs.enclose(fixed, None, tol))


class RivalCosts(View):
    """What unknown units may cost an instance before each of its rivals, if independent."""

    def __init__(self, duels: list[Costs], draw: Callable[..., NDArray[np.int64]]) -> None:
        super().__init__(duels[0].n_units)
        self.duels = duels
        self._draw = draw
        self._known: dict[tuple[frozenset[int], Fraction | None, float], Enclosure] = {}

    def lowered(self, features: Sequence[int], losses: Sequence[Fraction]) -> RivalCosts:
        """Return the same instance, before each rival with facts that are worth less."""
        each = zip(self.duels, losses, strict=True)
        return RivalCosts([duel.lowered(features, loss) for duel, loss in each], self._draw)

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything, before some rival."""
        return any(duel.can_cost(unit) for duel in self.duels)

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything, before some rival."""
        return any(duel.can_gain(unit) for duel in self.duels)

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size whether so many units along an order keep the class for certain."""
        return [
            all(each) for each in zip(*(d.certain_along(order) for d in self.duels), strict=True)
        ]

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set: by the union bound, and by the worst rival."""
        key = (frozenset(fixed), delta, tol)
        if key not in self._known:
            self._known[key] = self._enclose(*key)
        return self._known[key]

    def _enclose(self, fixed: frozenset[int], delta: Fraction | None, tol: float) -> Enclosure:
        """Look at rivals roughly, and more sharply if the level is not on one side of that."""
        found = Enclosure(0.0, 1.0)
        for width in (ROUGH, WIDE) if delta is not None else (ROUGH, tol):
            lost, least = Fraction(0), Fraction(1)
            for duel in self.duels:
                below, above = _nested(duel, fixed, width).ends()
                lost += 1 - below
                least = min(least, above)
                if delta is not None and least < delta:
                    return Enclosure.between(Fraction(0), least)
            found = Enclosure.between(max(1 - lost, Fraction(0)), least)
            if delta is not None and (found >= delta).decided:
                return found
        return found

    def answer(self, fixed: Collection[int], tol: float) -> Enclosure:
        """Enclose the guarantee of a set for a reader.

        Where the union bound and the worst rival are far apart, completions are drawn as well, and
        what they say holds with a confidence.
        """
        known = self.enclose(fixed, None, tol)
        if known.width <= _FAR_APART:
            return known
        rng = np.random.default_rng(0)  # the same question has the same answer
        share = float(self.kept(list(fixed), [], _SAMPLES, rng)[0] / _SAMPLES)
        radius = hoeffding_radius(_SAMPLES, _RISK)
        lower, upper = max(known.lower, share - radius), min(known.upper, share + radius)
        # But for the risk, the two overlap.
        return Enclosure(min(lower, upper), max(lower, upper), 1 - _RISK)

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by mean cost, and as greed fixes them, were all sums normal."""
        means = np.array([duel.moments.mean for duel in self.duels])
        by_mean = [members[j] for j in np.argsort(-means[:, members].sum(axis=0), kind="stable")]
        return [by_mean, self._as_if_normal(members, list(forced), means)]

    def _as_if_normal(
        self, members: list[int], forced: list[int], means: NDArray[np.float64]
    ) -> list[int]:
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
        return order

    def ranking(self) -> list[int]:
        """Return all units in the order in which greed fixes them."""
        return self.orders(list(range(self.n_units)), ())[1]

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size."""
        sets = [[*forced, *order[:k]] for k in range(len(order) + 1)]
        return self._draw(sets, samples, rng)

"""Several classes over independent units: one law for each duel of a winner with a rival.

A class is kept iff it is kept in every duel. How likely that is is bounded by the duels, one by one
(Proposition 34), and by pairs of rivals (Proposition 85); where few completions are left they are
counted, before all rivals at once. A minimum is proved by going through all smaller sets: most are
refuted by one duel, and those that are not by pairs of rivals (Proposition 361).

A duel is any law of a model of two classes over the same units: what is asked of it is its view of
a row, the table of its units (`Tables.plain`), and where a row stands before that.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import TOL, Memo, Row, View
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import Prover
from sklearn_probsr.independent.exact import CertainProver
from sklearn_probsr.independent.law import IndependentLaw, LoweredRest, TabledLaw, budget_of
from sklearn_probsr.independent.level import ANY, Level
from sklearn_probsr.independent.pairs import (
    DEGREES,
    SCALES,
    Lines,
    PairTable,
    States,
    Windows,
    bound_pairs,
    build_pairs,
    union_above,
    union_below,
)
from sklearn_probsr.independent.rival_kernels import Duels, Rivals, bound_each, open_sets, stacked
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.independent.sparse_classes import sampled, together
from sklearn_probsr.independent.unit_laws import Contributions, Tables
from sklearn_probsr.independent.vaaler import UNIT, coefficient_sum
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["SeveralClasses"]

# The degrees of tables: that which given sets are bounded with, and that which many are.
_DEGREE, _COARSE = 2**12, 2**6
# Winners whose tables are kept, and completions that are drawn at once: so many numbers.
_MOST_WINNERS, _CELLS = 16, 2**20
# Tables of pairs are made of models with no more states.
_MOST_STATES = 2**14
# Pairs of rivals that are ahead less often than this are not looked at.
_SLIGHT = 1e-3
# No more completions than this are counted, and whole numbers below this are 64-bit ones.
_MOST_COUNTED, _SHORT = 2**12, 2**62
# What is further out than two to this many turns is held there.
_FAR_BITS = 900
# Losses are no further out than this, in turns.
_FARTHEST = 10**6
# Bounds of a duel by its table are no further apart than this, about.
_WIDE = 4e-4
# So many of an order are looked at together, then twice as many.
_PREFIXES = 16
# A set costs so many nodes at least; so many sets may be left open by duels; so many are bounded at
# once.
_EACH, _ROOM, _AT_ONCE = 400, 2**14, 1024
# Of sets of so many units all parts are gone through.
_MOST_PARTS = 16


class Winner:
    """What all rows of a class share: the duels with its rivals, and their tables.

    Parameters
    ----------
    duels : list of TabledLaw
        The law of each duel, in which the winner is ``classes[1]``.
    source : Source
        What units may be.
    """

    def __init__(self, duels: list[TabledLaw], source: Source) -> None:
        self.duels, self.source = duels, source
        # Two classes with the same weights never change places.
        self.moving = [j for j, duel in enumerate(duels) if duel.linear.weights.any()]
        self._stacks: dict[tuple[int, int], Duels] = {}
        self._windows: dict[int, Windows] = {}
        self._lines = Lines()
        self._pairs: dict[tuple[int, ...], PairTable] = {}

    @property
    def tables(self) -> list[Tables]:
        """What the rows have before each rival that moves."""
        return [self.duels[j].tables for j in self.moving]

    def stack(self, size: int, degree: int = _DEGREE) -> Duels:
        """Return the tables of all duels that know sets of so many units."""
        known = 16
        while known < size:
            known *= 2
        if (known, degree) not in self._stacks:
            tables = [each.of_degree(degree, known) for each in self.tables]
            self._stacks[known, degree] = stacked(tables)
        return self._stacks[known, degree]

    def rivals(self, row: Row) -> Rivals | None:
        """Return a row before the tables; None if it is too far out for them."""
        if not self.moving:
            return None
        tables = self.tables
        seen = [each.look(row[None, :], True) for each in tables]
        if not all(bool(each.near[0]) for each in seen):
            return None
        entries = max(len(each.far) for each in tables)
        far = np.zeros((len(tables), entries))
        for line, each in zip(far, tables, strict=True):
            line[: len(each.far)] = each.far
        return Rivals(
            np.concatenate([each.gain for each in seen]),
            np.concatenate([each.cut for each in seen]),
            np.concatenate([each.blur for each in seen]),
            np.ones(len(tables), dtype=np.bool_),
            far,
        )

    # --- pairs of rivals ---------------------------------------------------------------------

    @cached_property
    def states(self) -> States | None:
        """The states of units before all rivals; None where they are not listed, or many."""
        listed = self._listed
        if not self.moving or listed is None:
            return None
        if any(sum(map(len, seen.values or ())) > _MOST_STATES for seen in listed):
            return None
        chances = [each for _, each in self.source.worths(self.duels[0].linear)]
        if sum(map(len, chances)) > _MOST_STATES:
            return None
        there = [np.array([chance > 0 for chance in each]) for each in chances]
        whole = self.source.denominator
        shares = [chance / whole for each in chances for chance in each if chance > 0]
        start = np.cumsum([0, *(int(each.sum()) for each in there)])
        turns = np.array([self._turns(self.duels[j], there) for j in self.moving])
        return States(start.astype(np.int64), np.array(shares), turns)

    def _turns(self, duel: TabledLaw, there: list[NDArray[np.bool_]]) -> list[float]:
        """Return what every state adds in a duel, in turns around its unit's mean."""
        tables, scale, turns = duel.tables, duel.contributions.scale, []
        period = Fraction(tables.turn * scale)
        each = zip(self.source.worths(duel.linear), there, strict=True)
        for u, ((values, _), occurs) in enumerate(each):
            middle = Fraction(tables.middle[u] * scale)
            a, b = period.denominator, period.numerator * middle.denominator
            most, least = float(tables.above[u]), -float(tables.below[u])
            for value, is_there in zip(values, occurs.tolist(), strict=True):
                if is_there:  # what is far out is held where the tables hold it
                    p, q = value.numerator, value.denominator
                    above, whole = a * (p * middle.denominator - middle.numerator * q), b * q
                    far = above.bit_length() - whole.bit_length() > _FAR_BITS
                    turn = math.copysign(2.0**_FAR_BITS, above) if far else above / whole
                    turns.append(max(min(turn, most), least))
        return turns

    def windows(self, j: int) -> Windows:
        """Return what sums leave outside of periods in a duel."""
        if j not in self._windows:
            assert self.states is not None
            self._windows[j] = Windows(self.states, j)
        return self._windows[j]

    def pair(self, i: int, j: int, scales: tuple[int, int], degree: int, size: int) -> PairTable:
        """Return the table of two rivals, in periods of some scales."""
        known = 8
        while known < size:
            known *= 2
        key = (i, j, *scales, degree, known)
        if key not in self._pairs:
            assert self.states is not None
            by = (SCALES[scales[0]], SCALES[scales[1]])
            self._pairs[key] = build_pairs(self.states, (i, j), by, degree, known, self._lines)
        return self._pairs[key]

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        parts = [*list(self._stacks.values()), *list(self._pairs.values())]
        arrays = [part for table in parts for part in table if isinstance(part, np.ndarray)]
        windows = sum(each.nbytes for each in list(self._windows.values()))
        duels = sum(duel.nbytes - self.source.nbytes for duel in self.duels)
        return sum(part.nbytes for part in arrays) + windows + duels + self._lines.nbytes

    # --- few completions ---------------------------------------------------------------------

    @cached_property
    def _listed(self) -> list[Contributions] | None:
        """The contributions of each duel; None where their values are not listed."""
        each = [duel.contributions for duel in self.duels]
        return None if any(seen.values is None for seen in each) else each

    @cached_property
    def _varying(self) -> frozenset[int]:
        """The units that may be one thing or another before some rival."""
        return frozenset(u for seen in self._listed or () for u in seen.by_range)

    @cached_property
    def _laws(self) -> list[dict[tuple[int, ...], int]]:
        """What units contribute, a whole number for each duel, with the chance of that."""
        each = [
            [[int(value / seen.scale) for value in values] for values, _ in self.source.worths(one)]
            for seen, one in ((seen, seen.model) for seen in self._listed or ())
        ]
        chances = [those for _, those in self.source.worths(self.duels[0].linear)]
        laws: list[dict[tuple[int, ...], int]] = []
        for *worths, those in zip(*each, chances, strict=True):
            law: dict[tuple[int, ...], int] = {}
            for vector, chance in zip(zip(*worths, strict=True), those, strict=True):
                if chance:
                    law[vector] = law.get(vector, 0) + chance
            laws.append(law)
        return laws

    def count(self, views: Sequence[Any], fixed: Collection[int]) -> Fraction | None:
        """Return the guarantee of a set of an instance; None where completions are too many.

        ``views`` are the instance before each rival.
        """
        if self._listed is None:
            return None
        inside = set(fixed)
        free = sorted(self._varying - inside)
        if 2 ** len(free) > _MOST_COUNTED:
            return None
        if any(
            math.prod(len(seen.values[u]) for u in free) > _MOST_COUNTED
            for seen in self._listed
            if seen.values is not None
        ):
            return None
        laws = [self._laws[u] for u in free]
        if math.prod(map(len, laws)) > _MOST_COUNTED:
            return None
        still = set(range(views[0].n_units)) - inside - self._varying
        cuts = []
        for k, (seen, view) in enumerate(zip(self._listed, views, strict=True)):
            known = sum((view.known[u] for u in inside), Fraction(0))
            cuts.append(seen.cut(known + sum(next(iter(self._laws[u]))[k] for u in still)))
        whole = self.source.denominator ** len(free)
        most = sum(max(abs(c) for vector in law for c in vector) for law in laws)
        short = max(most, *map(abs, cuts)) < _SHORT
        sums = np.zeros((1, len(cuts)), dtype=np.int64 if short else object)
        ways = np.ones(1, dtype=np.int64 if whole < _SHORT else object)
        for law in laws:
            vectors = np.array(list(law), dtype=sums.dtype)
            sums = (sums[:, None] + vectors).reshape(-1, len(cuts))
            ways = np.multiply.outer(ways, np.array(list(law.values()), dtype=ways.dtype)).ravel()
        kept = (sums >= np.array(cuts, dtype=sums.dtype)).all(axis=1)
        return Fraction(int(ways[kept].sum()), whole)


class SeveralClasses(IndependentLaw):
    """Independent units before a model of several classes."""

    def __init__(self, model: ArgmaxModel, distribution: Any, source: Source) -> None:
        super().__init__(model, distribution, source)
        self.argmax = model
        self._winners: Memo[Winner] = Memo(_MOST_WINNERS)

    def against(self, winner: int) -> Winner:
        """Return what rows of a class share, made once."""

        def make() -> Winner:
            duels = self.argmax.duels(winner)
            return Winner(
                [TabledLaw(duel, self.distribution, self.source) for duel in duels], self.source
            )

        return self._winners.get(winner, make)

    def view(self, row: Row) -> RivalView:
        """Return one instance, a checked row, before this law."""
        winner = int(self.argmax.winners(row[None, :])[0])
        return RivalView(self, winner, row)

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> LoweredRest:
        """Return what may be lost of some facts of an instance, before each of its rivals."""
        view = self.view(row)

        def lower(losses: Sequence[Fraction]) -> RivalView:
            return view.lowered(features, losses)

        most = [one.spared(features) for one in view.duels]
        return LoweredRest([one.duel for one in view.duels], delta, features, lower, most)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, RivalView)
        prover = RivalProver(view, task)
        return CertainProver(prover, view.duels) if task.delta == 1 else prover

    def draw(
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
        return self.source.nbytes + sum(each.nbytes for each in self._winners.values())


class RivalView(View):
    """What unknown units may cost an instance before each of its rivals, if independent."""

    def __init__(self, law: SeveralClasses, winner: int, row: Row) -> None:
        self.law, self.winner, self.row = law, winner, row
        self.shared = law.against(winner)
        self.duels = [duel.view(row) for duel in self.shared.duels]
        super().__init__(self.duels[0].n_units)
        self._apart = False  # whether what is lost before two rivals may not be lost at once
        self._known: dict[tuple[frozenset[int], Fraction | None, float], Enclosure] = {}
        self._counted: dict[frozenset[int], Fraction | None] = {}

    @cached_property
    def rivals(self) -> Rivals | None:
        """The row before the tables of its duels; None if these cannot tell."""
        return self.shared.rivals(self.row)

    def lowered(self, features: Sequence[int], losses: Sequence[Fraction]) -> RivalView:
        """Return the same instance, before each rival with facts that are worth less.

        No instance need lose all of that at once: what is refuted is so by a single rival. Only
        sets with these facts may be asked about.
        """
        twin = copy.copy(self)
        each = zip(self.duels, losses, strict=True)
        twin.duels = [duel.lowered(features, loss) for duel, loss in each]
        twin._apart, twin._known, twin._counted = True, {}, {}
        twin.rivals = self.rivals
        if self.rivals is not None:
            moving, shared = self.shared.moving, self.shared
            each_less = [
                losses[j] / shared.duels[j].contributions.scale / tables.turn
                for j, tables in zip(moving, shared.tables, strict=True)
            ]
            less = np.array([float(min(one, Fraction(_FARTHEST))) for one in each_less])
            gain = self.rivals.gain.copy()
            gain[:, features[0]] -= less
            blur = self.rivals.blur + 8 * (self.n_units + 8) * UNIT * less
            twin.rivals = self.rivals._replace(gain=gain, blur=blur)
            others = (loss for j, loss in enumerate(losses) if j not in moving)
            if any(others) or not (less < _FARTHEST).all():
                twin.rivals = None
        return twin

    # --- what units may do -------------------------------------------------------------------

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything, before some rival."""
        return any(duel.can_cost(unit) for duel in self.duels)

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything, before some rival."""
        return any(duel.can_gain(unit) for duel in self.duels)

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size whether so many units along an order keep the class for certain."""
        each = (duel.certain_along(order) for duel in self.duels)
        return [all(sure) for sure in zip(*each, strict=True)]

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
        return self.law.draw(self.row, self.winner, sets, samples, rng)

    # --- bounds of sets ----------------------------------------------------------------------

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set: by duels, by a count, and by pairs of rivals."""
        key = (frozenset(fixed), delta, tol)
        if key not in self._known:
            self._known[key] = self._enclose(*key)
        return self._known[key]

    def _enclose(self, fixed: frozenset[int], delta: Fraction | None, tol: float) -> Enclosure:
        counted = self.count(fixed)
        if counted is not None:
            return Enclosure.of(counted)
        if all(duel.is_certain(fixed) for duel in self.duels):
            return Enclosure.of(Fraction(1))
        found = Enclosure(0.0, 1.0)
        if self.rivals is not None:
            units = np.array([sorted(fixed)], dtype=np.int64)
            level = ANY if delta is None else Level.around(delta).passed
            lower, upper = self.bounds(units, np.array([len(fixed)]), level)
            found = Enclosure.proved(float(lower[0]), float(upper[0]))
            # Sharper bounds of single duels are asked for only where they may settle it.
            near = found.width <= _WIDE * len(self.duels)
            if delta is None or (found >= delta).decided or not near:
                return found
        each = [duel.enclose(fixed, None, tol) for duel in self.duels]
        return found.intersect(together(each))

    def count(self, fixed: frozenset[int]) -> Fraction | None:
        """Return the guarantee of a set where completions are few; else None."""
        if fixed not in self._counted:
            counted = None if self._apart else self.shared.count(self.duels, fixed)
            self._counted[fixed] = counted
        return self._counted[fixed]

    def bounds(
        self, units: NDArray[np.int64], sizes: NDArray[np.int64], level: Level
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bound some sets by tables: by single duels, and where those leave the level by pairs.

        The members of a set are the first ``sizes[i]`` of ``units[i]``.
        """
        assert self.rivals is not None
        most, k = int(sizes.max(initial=0)), len(self.rivals.cut)
        stack = self.shared.stack(most)
        each = np.empty((len(units), k, 2))
        bound_each(stack, self.rivals, units, sizes, each)
        lost, least = 1.0 - each[:, :, 0], 1.0 - each[:, :, 1]
        # More than a sum of so many is rounded.
        lower, upper = 1.0 - lost.sum(axis=1) - 4 * k * UNIT, each[:, :, 1].min(axis=1)
        left = np.flatnonzero((lower < level.high) & (upper >= level.low))
        if len(left) and self.shared.states is not None:
            low, high = self._by_pairs(units[left], sizes[left], lost[left], least[left], level)
            lower[left] = np.maximum(lower[left], low)
            upper[left] = np.minimum(upper[left], high)
        return np.maximum(lower, 0.0), np.maximum(upper, 0.0)

    def _by_pairs(
        self,
        units: NDArray[np.int64],
        sizes: NDArray[np.int64],
        lost: NDArray[np.float64],
        least: NDArray[np.float64],
        level: Level,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bound some sets by pairs of rivals, the likeliest first (Proposition 85)."""
        assert self.rivals is not None
        n, k = lost.shape
        high = np.minimum(lost[:, :, None], lost[:, None, :])  # how likely two are ahead
        low = np.zeros((n, k, k))
        lower, upper = np.zeros(n), np.ones(n)
        inside = np.zeros((n, self.n_units), dtype=np.bool_)
        within = np.arange(units.shape[1]) < sizes[:, None]
        inside[np.nonzero(within)[0], units[within]] = True
        cuts = self.rivals.cut - np.einsum("iu,ju->ij", inside, self.rivals.gain)
        scales, outside = [0] * k, np.zeros((n, k))
        for j in np.flatnonzero(lost.max(axis=0) > _SLIGHT).tolist():
            scales[j], outside[:, j] = self.shared.windows(j).scale(inside)
        pairs = [(a, b) for b in range(k) for a in range(b)]
        weight = high.mean(axis=0)
        pairs.sort(key=lambda pair: -weight[pair])
        left = np.ones(n, dtype=np.bool_)
        for degree, (a, b) in product(DEGREES if level != ANY else DEGREES[:1], pairs):
            some = np.flatnonzero(left & (high[:, a, b] > _SLIGHT))
            by = np.array([SCALES[scales[a]], SCALES[scales[b]]])
            within = by * cuts[:, [a, b]]
            some = some[np.abs(within[some]).max(axis=1) < 0.5]
            if not len(some):
                continue
            table = self.shared.pair(a, b, (scales[a], scales[b]), degree, int(sizes.max()))
            some = some[sizes[some] < len(table.counts)]
            blur = float(by @ self.rivals.blur[[a, b]]) + 4 * UNIT
            # Table 3, lines 1 and 2. Either reading of a moved value is possible (Proposition 166).
            slack = outside[some, a] + outside[some, b]
            slack += 24 * (degree + 1) * (1 + coefficient_sum(degree)) * blur
            slack += 2 * (self.rivals.far[a, -1] + self.rivals.far[b, -1])
            found = np.empty((len(some), 2))
            bound_pairs(table, units[some], sizes[some], within[some], slack, found)
            for one, other in ((a, b), (b, a)):
                low[some, one, other] = np.maximum(low[some, one, other], found[:, 0])
                high[some, one, other] = np.minimum(high[some, one, other], found[:, 1])
            below = 0.0 if self._apart else union_below(least[some], high[some])
            upper[some] = np.minimum(upper[some], 1.0 - below)
            lower[some] = np.maximum(lower[some], 1.0 - union_above(lost[some], low[some]))
            left[some] = (lower[some] < level.high) & (upper[some] >= level.low)
        return lower, upper

    def answer(self, fixed: Collection[int], tol: float) -> Enclosure:
        """Enclose the guarantee of a set for a reader.

        Where proved bounds are far apart, completions are drawn as well, and what they say holds
        with a confidence.
        """
        return sampled(self, fixed, self.enclose(fixed, None, tol))


class RivalProver(Prover):
    """The sets of one instance before several rivals, where unknown units are independent."""

    def __init__(self, view: RivalView, task: Task) -> None:
        super().__init__(view, task)
        self.rivals = view
        self._verdicts: dict[frozenset[int], bool | None] = {}
        self._budget = budget_of(task.effort)
        # The size at which going up ended, whether a set of it reaches the level, and which.
        self._ended: tuple[int, bool | None, set[int]] | None = None

    @cached_property
    def _level(self) -> Level:
        return Level.around(self.task.delta).passed

    def verdict(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set of members reaches the level."""
        key = frozenset(chosen)
        if key not in self._verdicts:
            self._verdicts[key] = self.verdicts([key])[0]
        return self._verdicts[key]

    def verdicts(self, sets: Sequence[Collection[int]]) -> list[bool | None]:
        """Tell the same of several sets; what bounds leave open is counted, or has all digits."""
        view, level = self.rivals, self._level
        if view.rivals is None:
            return [super(RivalProver, self).verdict(chosen) for chosen in sets]
        units, sizes = self._padded(sets)
        lower, upper = view.bounds(units, sizes, level)
        found: list[bool | None] = []
        for chosen, low, high in zip(sets, lower.tolist(), upper.tolist(), strict=True):
            verdict = True if low >= level.high else False if high < level.low else None
            if verdict is None:
                verdict = super().verdict(chosen)
            found.append(verdict)
        return found

    def _padded(
        self, sets: Sequence[Collection[int]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the units of some sets, with those that are forced, and how many they are."""
        held = len(self.forced)
        units = np.zeros((len(sets), held + max(map(len, sets), default=0)), dtype=np.int64)
        units[:, :held] = self.forced
        for line, chosen in zip(units, sets, strict=True):
            line[held : held + len(chosen)] = sorted(chosen)
        return units, np.array([held + len(chosen) for chosen in sets], dtype=np.int64)

    def worth(self, chosen: Collection[int]) -> float:
        """Return what the guarantee of a set surely is."""
        if self.rivals.rivals is None:
            return self.guarantee(chosen).lower
        return float(self.rivals.bounds(*self._padded([chosen]), ANY)[0][0])

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return the shortest prefix of an order that is seen to reach the level."""
        if self.rivals.rivals is None:
            return super().prefix(order)
        first, last = 0, _PREFIXES
        while first <= len(order):
            prefixes = [order[:k] for k in range(first, min(last, len(order)) + 1)]
            verdicts = self.verdicts(prefixes)
            if True in verdicts:
                return prefixes[verdicts.index(True)]
            first, last = last + 1, 2 * last
        return None

    # --- the sets of a size ------------------------------------------------------------------

    def bound_least(self, size: int) -> None:
        """Raise ``least``, up to a size, by going through all smaller sets.

        Where they are too many, no set is smaller than the smallest of a duel (Lemma 80).
        """
        n, least = len(self.members), self.least
        if sum(math.comb(n, k) for k in range(least, size)) * _EACH > self._budget.work:
            self._raise_by_duels(size)
        while self.least < size and not self.task.is_late:
            left = self._open(self.members, self.least)
            verdict, found = (None, set()) if left is None else self.first_of(left)
            if verdict is not False:
                self._ended = self.least, verdict, found
                break
            self.least += 1

    def _raise_by_duels(self, size: int) -> None:
        """Raise ``least`` to what is proved of the smallest set of any duel."""
        row, task = self.rivals.row[None, :], replace(self.task, max_size=None)
        for law in self.rivals.shared.duels:
            if self.least < size and not self.task.is_late:
                found = Found.empty(1, self.rivals.n_units)
                law.together(row, task, found)
                self.least = max(self.least, min(int(found.size_lower[0]) - len(self.forced), size))

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members: what was found when sizes were gone up."""
        if self._ended is None:
            return super().look(size)
        at, verdict, found = self._ended
        if verdict is None and at < size and not self.task.is_late:
            left = self._open(self.members, size)
            verdict, found = (None, set()) if left is None else self.first_of(left)
        return (verdict, found) if verdict and at <= size else (None, set())

    def first_of(self, sets: Iterable[Collection[int]]) -> tuple[bool | None, set[int]]:
        """Look at sets: the first that reaches the level, or what is proved of all."""
        each, undecided = list(sets), False
        for first in range(0, len(each), _AT_ONCE):
            some = each[first : first + _AT_ONCE]
            verdicts: list[bool | None] = [None]
            if not self.task.is_late:
                verdicts = self.verdicts(some)
            if True in verdicts:
                return True, set(some[verdicts.index(True)])
            undecided |= None in verdicts
        return (None if undecided else False), set()

    def _open(self, members: list[int], size: int) -> list[set[int]] | None:
        """Return the sets of a size that no duel refutes; None: that takes too much."""
        view, held = self.rivals, len(self.forced)
        if size == 0:
            return [set()]
        if size > len(members):
            return []
        sets, work, _ = self._budget
        count = math.comb(len(members), size)
        if count > sets or count * _EACH > work:
            return None
        rivals = view.rivals
        stack = view.shared.stack(held + size, _COARSE) if rivals is not None else None
        if rivals is None or stack is None or held + size >= stack.counts.shape[1]:
            few = count <= self.task.effort.limits.few_sets  # no table tells of them
            return [set(some) for some in combinations(members, size)] if few else None
        found = np.empty((_ROOM, size), dtype=np.int64)
        kept, _, used = open_sets(
            stack, rivals, np.array(self.forced, dtype=np.int64),
            np.array(members, dtype=np.int64), size, self._level.low, self._budget, found,
        )  # fmt: skip
        self._budget = self._budget._replace(work=work - used)
        return None if kept < 0 else [set(line) for line in found[:kept].tolist()]

    # --- what is proved of a set -------------------------------------------------------------

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Prove that nothing can be left out, or leave it out."""
        order, is_pure = self.in_order(chosen), self.pure.issuperset(chosen)
        whole = is_pure or len(chosen) <= _MOST_PARTS
        word, near = "subset-minimal" if whole else "locally-minimal", False
        least = max(len(chosen) - 1, 0) if is_pure or not whole else self.least
        for size in range(len(chosen) - 1, least - 1, -1):
            left = None if self.task.is_over else self._open(order, size)
            if left is None:
                left = [chosen.difference(few) for few in combinations(order, len(order) - size)]
            verdict, found = self.first_of(left)
            if verdict:
                return self.claim(self.pruned(self.in_order(found)))
            near |= verdict is None
        return chosen, f"near-{word}" if near else word, 0.0

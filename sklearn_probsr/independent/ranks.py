"""Ranks: the features of a model by decreasing magnitude, and tables of them for all its rows.

Under fair coins the first members of a row down this ranking are its best set of each size
(Corollary 6), and what they leave free does not depend on the row. In come a model, the features
that are forced, and rows with their cuts; out come the smallest sets that reach a level, and bounds
of any set of members.

A few heavy ranks are taken case by case (Lemma 28); the others have tables that divide out what a
set fixes (Proposition 200), of a low degree where no higher one has few nodes that matter.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.independent.certainty import Answers, Members, next_member
from sklearn_probsr.independent.level import Level
from sklearn_probsr.independent.spectrum import Nodes, build_coins, coin_bounds, coin_period
from sklearn_probsr.model.linear import LinearModel

__all__ = [
    "EFFORTS",
    "MOST_HEAVY",
    "Aim",
    "Ladder",
    "Ranks",
    "bound_pair",
    "count_heavy",
    "new_memo",
    "search_rows",
]

# (degree, nodes a set may look at) of the tables that are tried in turn.
EFFORTS = ((2**16, 512), (2**19, 4096), (2**21, 4096))
# The same of tables for sets with one rank apart, and the error from which on they are of no use.
_APART, _MOST_ERROR = ((2**16, 512), (2**20, 512)), 1e-4
# Up to so many of the first ranks a table of a ladder knows sets, if no table knows all, and that
# of sets that are common.
_RUNGS, _COMMON = (72, 60, 50, 42, 35, 29, 24, 20, 17, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), 12
# Beyond this blur, in sums of magnitudes, tables would decide nothing.
_MOST_BLUR = 1e-6
# Models on so short a lattice are searched by dynamic programming.
_LATTICE_WORK, _COARSE_WORK = 2**21, 2**27
# How many of the largest values may be taken case by case (Lemma 28).
MOST_HEAVY = 6
# The rounding of an average of at most 64 cases (Lemma 28).
_OF_CASES = 2.0**-48
# Bounds of sets of up to so many ranks are remembered, for so many rows at least.
_BITS, _MOST_ALONE = 60, 256
# How often a row's first guess may be moved by one.
_MOST_MOVES = 12


def count_heavy(squares: list[float] | list[int], most: int = MOST_HEAVY) -> int:
    """Return how many leading values to take case by case, from the squares of all (Lemma 28).

    After them a sixteenth of the squares is left, or a sixteenth of a sixteenth; 0 where that takes
    more than a few.
    """
    left = [*accumulate(reversed(squares), initial=0)][::-1]
    found = 0
    for h in range(1, min(most, len(squares) - 1) + 1):
        if 16 * left[h] < left[found]:
            found = h
    return found


class Ladder(NamedTuple):
    """Tables of one ranking behind each other, from fine ones for shallow sets to coarse ones.

    A set whose ranks, less the heavy ones, are among the first h has table ``pick[h]`` (-1: none).
    The arrays of T tables are as in `Table`, filled up with zeros to the most nodes of any.
    """

    pick: NDArray[np.int64]  # (n + 1,)
    degree: NDArray[np.int64]  # (T,)
    error: NDArray[np.float64]  # (T,)
    counts: NDArray[np.int64]  # (T, n + 1)
    nodes: NDArray[np.float64]  # (T, 4, L): node, sign, vaaler, fejer
    whole: NDArray[np.float64]  # (T, L)
    inverse: NDArray[np.float64]  # (T, n, L)
    heavy: int
    apart: bool
    period: float
    blur: float
    magnitudes: NDArray[np.float64]  # (heavy + n,)
    reach: float  # half of what they sum to

    @property
    def nbytes(self) -> int:
        """How much memory the tables take."""
        return self.inverse.nbytes + self.nodes.nbytes + self.whole.nbytes


def build_ladder(
    magnitudes: NDArray[np.float64], blur: float, effort: tuple[int, int], apart: bool
) -> Ladder:
    """Build the tables of a ranking; with ``apart`` one unit of a set may be of any rank."""
    (degree, most_nodes), first = effort, count_heavy((magnitudes**2).tolist())
    rest = magnitudes[first:]
    n, period = len(rest), coin_period(rest)
    turns = rest / (2 * period)
    deepest = min(n, math.ceil(5 * math.sqrt(n)))
    rungs = [deepest, *(rung for rung in _RUNGS if rung < deepest)]
    tables = build_coins(turns, degree, rungs[:1] if apart else rungs, most_nodes, apart)[::-1]
    pick = np.full(n + 1, -1, dtype=np.int64)
    counts = np.zeros((len(tables), n + 1), dtype=np.int64)
    size = max(len(t.node) for t in tables)
    nodes, whole = np.zeros((len(tables), 4, size)), np.zeros((len(tables), size))
    inverse = np.zeros((len(tables), n, size))
    for i, t in reversed(list(enumerate(tables))):
        pick[: t.most + 1], counts[i, : t.most + 1], many = i, t.counts, len(t.node)
        nodes[i, :, :many] = t.node, t.sign, t.vaaler, t.fejer
        whole[i, :many], inverse[i, :, :many] = t.whole[0], t.inverse[:, 0]
    degrees = np.array([t.degree for t in tables], dtype=np.int64)
    error = np.array([t.error for t in tables])
    return Ladder(
        pick,
        degrees,
        error,
        counts,
        nodes,
        whole,
        inverse,
        first,
        apart,
        period,
        blur,
        magnitudes,
        0.5 * float(magnitudes.sum()),
    )


# --- the ranks of a model ------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranks:
    """The features that are not forced in and have a weight, by decreasing magnitude.

    Magnitudes are scaled by a power of two to a sum near 1; ``lead`` is how far the centre of
    all completions is on the side of ``classes[1]``, in the same scale, and ``blur`` bounds the
    rounding of a row's cut.
    """

    model: LinearModel
    forced: tuple[int, ...]
    features: NDArray[np.intp]
    magnitudes: NDArray[np.float64]
    upward: NDArray[np.bool_]
    lead: float
    exponent: int
    blur: float

    @classmethod
    def of(cls, model: LinearModel, forced: tuple[int, ...]) -> Ranks:
        """Rank the features of a model."""
        weights = model.weights.copy()
        weights[list(forced)] = 0.0
        features = np.argsort(-np.abs(weights), kind="stable")
        features = features[: np.count_nonzero(weights)]
        exact = list(map(Fraction, model.weights.tolist()))
        total = sum((abs(exact[i]) for i in features), start=Fraction(0))
        # Scaled, the sum of the magnitudes is between 1/2 and 2.
        exponent = total.denominator.bit_length() - total.numerator.bit_length()
        unit = Fraction(2) ** exponent
        lead = _clamped((sum(exact, start=Fraction(0)) / 2 - Fraction(model.threshold)) * unit)
        outer = _clamped(sum((abs(exact[i]) for i in forced), start=Fraction(0)) * unit)
        # The rounding of at most d additions (Proposition 201).
        steps = len(model.weights) + 8
        blur = steps * (2.0**-51 * (1 + abs(lead) + outer) + 2.0**-1070)
        magnitudes = np.ldexp(np.abs(model.weights[features]), exponent)
        upward = model.weights[features] > 0
        return cls(model, forced, features, magnitudes, upward, lead, exponent, blur)

    @cached_property
    def tails(self) -> NDArray[np.float64]:
        """What the squares, and the fourth powers, of halves sum to from each rank on."""
        half = 0.5 * self.magnitudes[::-1]
        # From the last rank on, one after the other: nothing cancels.
        sums = [np.append(np.cumsum(half**p)[::-1], 0.0) for p in (2, 4)]
        return np.stack(sums)

    def cuts(self, rows: NDArray[np.bool_], positive: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how far inside its class the centre of each row's completions is: its cut."""
        centre = np.full(len(rows), self.lead)
        for i in self.forced:
            half = math.ldexp(float(self.model.weights[i]), self.exponent - 1)
            centre += np.where(rows[:, i], half, -half)
        return np.where(positive, centre, -centre)

    def ladder(self, effort: int) -> Ladder:
        """Return the tables of an effort, built at the first call."""
        if effort not in self._built:
            self._built[effort] = build_ladder(self.magnitudes, self.blur, EFFORTS[effort], False)
        return self._built[effort]

    def apart(self) -> Iterator[Ladder]:
        """Yield tables of sets with one rank apart, ever finer, if they say anything."""
        for effort in _APART:
            if effort not in self._apart:
                self._apart[effort] = build_ladder(self.magnitudes, self.blur, effort, apart=True)
            if self._apart[effort].error[0] > _MOST_ERROR:
                break
            yield self._apart[effort]

    def bounds(self, ladder: Ladder, chosen: Collection[int], cut: float) -> tuple[float, float]:
        """Bound the guarantee of a set of features of a row by its cut, an ulp outward."""
        fixed = np.array(sorted(self.places[u] for u in chosen), dtype=np.int64)
        room = np.empty(ladder.whole.shape[1])
        cut += 0.5 * float(self.magnitudes[fixed].sum())
        lower, upper, *_ = bound_pair(ladder, fixed, len(fixed), (cut, cut), room)
        return max(math.nextafter(lower, -1.0), 0.0), min(math.nextafter(upper, 2.0), 1.0)

    @cached_property
    def places(self) -> dict[int, int]:
        """The rank of each feature."""
        return {u: rank for rank, u in enumerate(self.features.tolist())}

    @cached_property
    def _built(self) -> dict[int, Ladder]:
        return {}

    @cached_property
    def _apart(self) -> dict[tuple[int, int], Ladder]:
        return {}

    @property
    def decays(self) -> bool:
        """Whether products decay, so that common sets have tables of the largest degree."""
        first = self.ladder(0)
        return bool(first.degree[first.pick[min(_COMMON, len(first.pick) - 1)]] == EFFORTS[0][0])

    @property
    def nbytes(self) -> int:
        """How much memory the tables take."""
        return sum(ladder.nbytes for ladder in (*self._built.values(), *self._apart.values()))

    @property
    def usable(self) -> bool:
        """Whether there is something to rank, and floats see it beside what is forced in."""
        return len(self.features) > 0 and self.blur < _MOST_BLUR

    @cached_property
    def integers(self) -> NDArray[np.int64] | None:
        """The magnitudes as integers, where a dynamic programme over them is the way to go.

        That is so if it is cheap, or if the lattice is so coarse that thresholds lie on heavy
        atoms, which nothing else can tell from the space beside them.
        """
        form = self.model.integer_form
        values = [abs(form.weights[i]) for i in self.features]
        total, n = sum(values), len(values)
        if sum(map(abs, form.weights)) + abs(form.threshold) >= 2**53:
            return None
        coarse = total <= 64 * n and total * n <= _COARSE_WORK
        return np.array(values, dtype=np.int64) if coarse or total * n <= _LATTICE_WORK else None


def _clamped(value: Fraction) -> float:
    """Return a number as a float, cut off where floats end."""
    largest = Fraction(10) ** 300
    return float(max(min(value, largest), -largest))


# --- a set, and the same without its last rank ---------------------------------------------------


class Pair(NamedTuple):
    """Bounds of the guarantee of some ranks, and of all of them but the last."""

    lower: float
    upper: float
    lower_before: float
    upper_before: float


@kernel
def bound_pair(
    ladder: Ladder,
    fixed: NDArray[np.int64],
    size: int,
    cuts: tuple[float, float],
    room: NDArray[np.float64],
) -> Pair:
    """Bound the guarantee with the first ``size`` of some ranks fixed, and without the last.

    The ranks ascend. ``cuts`` are how far the centre of what is free is inside the class, with all
    of them fixed and without the last; ``room`` is as long as the tables have nodes. Bounds of
    ``(0, 1)`` mean that there is no table (Propositions 200 and 201).
    """
    last = size - 2 if ladder.apart else size - 1
    index = max(fixed[last] + 1 - ladder.heavy, 0) if last >= 0 else 0
    t = ladder.pick[index]
    if t < 0:
        return Pair(0.0, 1.0, 0.0, 1.0)
    product, whole = room[: ladder.counts[t, index]], ladder.whole[t]
    for i in range(len(product)):
        product[i] = whole[i]
    here, before = (0.0, 1.0), (0.0, 1.0)
    for j in range(size + 1):
        if j >= size - 1:  # all but the last are fixed, and then all
            before = here
            here = _bound(ladder, t, product, fixed, j, cuts[size - j])
        if j < size and fixed[j] >= ladder.heavy:
            inverse = ladder.inverse[t, fixed[j] - ladder.heavy]
            for i in range(len(product)):
                product[i] *= inverse[i]
    return Pair(here[0], here[1], before[0], before[1])


@inner
def _bound(
    ladder: Ladder,
    t: int,
    product: NDArray[np.float64],
    fixed: NDArray[np.int64],
    size: int,
    cut: float,
) -> tuple[float, float]:
    """Bound the guarantee of a set from its product, by a table (Corollary 19).

    Heavy ranks that are free add half of what they are, or take it off (Lemma 28).
    """
    of = ladder.nodes[t]
    nodes, degree, error = Nodes(of[0], of[1], of[2], of[3]), ladder.degree[t], ladder.error[t]
    blur = ladder.blur / ladder.period
    lower, upper, cases = 0.0, 0.0, 0
    for case in range(1 << ladder.heavy):
        beta, at, again = cut / ladder.period, 0, False
        for rank in range(ladder.heavy):
            above = (case >> rank) & 1
            if at < size and fixed[at] == rank:
                at += 1
                again |= above == 1  # a rank that is fixed has one case
            else:
                half = 0.5 * ladder.magnitudes[rank] / ladder.period
                beta += half if above == 1 else -half
        if not again:
            low, high = coin_bounds(nodes, product, degree, error, beta, blur)
            lower += low
            upper += high
            cases += 1
    off = _OF_CASES if cases > 1 else 0.0
    return max(lower / cases - off, 0.0), min(upper / cases + off, 1.0)


class Memo(NamedTuple):
    """Bounds by what is fixed and the class: rows with the same facts and the same cut share them.

    A set of ranks is a key while it fits the bits of an integer. A memo may have no room at all.
    """

    keys: NDArray[np.uint64]
    pairs: NDArray[np.float64]  # (keys, 4)


def new_memo(rows: int, ranks: int) -> Memo:
    """Return an empty memo; without room where it would not pay."""
    room = 2 ** min((2 * rows).bit_length(), 15) if rows >= _MOST_ALONE and ranks <= _BITS else 0
    return Memo(np.zeros(room, dtype=np.uint64), np.empty((room, 4)))


@inner
def _place(memo: Memo, chosen: NDArray[np.int64], k: int, positive: bool) -> tuple[int, np.uint64]:
    """Return where a set is, or may be, and its key; -1 where no place is free."""
    key = np.uint64(3 if positive else 2) << np.uint64(_BITS)
    for i in range(k):
        key |= np.uint64(1) << np.uint64(chosen[i])
    at = int((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) % len(memo.keys)
    for _ in range(8):
        if memo.keys[at] == key or memo.keys[at] == np.uint64(0):
            return at, key
        at = (at + 1) % len(memo.keys)
    return -1, key


# --- rows ----------------------------------------------------------------------------------------


class Aim(NamedTuple):
    """What a row's members must reach.

    ``quantile`` is that of the normal law at delta. With ``most`` members fixed and still
    ``v < delta`` the search ends there, and ``upper < delta`` shows it. If ``final``, a row whose
    ``v_{k-1}`` stays undecided is answered too.
    """

    level: Level
    quantile: float
    most: int
    final: bool


@kernel
def search_rows(
    members: Members,
    cuts: NDArray[np.float64],
    tails: NDArray[np.float64],
    aim: Aim,
    ladder: Ladder,
    memo: Memo,
    answers: Answers,
) -> None:
    """Find for each row the smallest k with ``v_k >= delta > v_{k-1}``, both proved.

    A row walks down the ranking and fixes members until a normal law with this fourth cumulant says
    that they suffice; the tables then bound the guarantee of that many and of one fewer (Table 1
    line 5). How a size is guessed does not matter: by Corollary 6 the answer is the smallest such
    k, however it was found. Nothing suffices for an infinite quantile: then it is as many as there
    may be.
    """
    features, magnitudes = members.features, ladder.magnitudes
    upward, fixable = members.upward, members.fixable
    n = len(features)
    chosen = np.empty(n + 1, dtype=np.int64)
    halves = np.empty(n + 2)  # what the first k members sum to, halved
    halves[0] = 0.0
    room = np.empty(len(ladder.whole[0]))
    quantile = min(aim.quantile, 1e3)
    bend = (quantile * quantile - 3.0) * quantile / 12.0  # Cornish and Fisher
    for r in range(len(members.rows)):
        row, positive, cut = members.rows[r], members.positive[r], cuts[r]
        k, j = 0, 0
        passed = 0.0  # the variance of free ranks before rank j: added up, so that nothing cancels
        while k < aim.most:
            left = max(passed + tails[0, j], 1e-300)
            bound = math.sqrt(left) * (quantile - bend * tails[1, j] / (left * left))
            if quantile < 1e3 and cut + halves[k] >= bound:
                break
            while j < n and not (fixable[j] & ((row[features[j]] == upward[j]) == positive)):
                passed += 0.25 * magnitudes[j] * magnitudes[j]
                j += 1
            if j == n:
                break
            chosen[k] = j
            halves[k + 1] = halves[k] + 0.5 * magnitudes[j]
            j += 1
            k += 1
        for _ in range(_MOST_MOVES):
            found = _judged(ladder, memo, chosen, k, positive, cut, halves, room)
            level = aim.level
            too_much = k > 0 and found.lower_before >= level.high
            minimal = k == 0 or found.upper_before < level.low or (aim.final and not too_much)
            short = found.upper < level.low
            if (found.lower >= level.high and minimal) or (k == aim.most and short):
                answers.size[r], answers.before[r] = k, found.upper_before
                answers.lower[r], answers.upper[r] = found.lower, found.upper
                break
            if too_much:
                k -= 1
            elif short and k < aim.most:
                j = next_member(members, r, chosen[k - 1] + 1 if k > 0 else 0)
                if j == n:
                    break
                chosen[k] = j
                halves[k + 1] = halves[k] + 0.5 * magnitudes[j]
                k += 1
            else:
                break


@inner
def _judged(
    ladder: Ladder,
    memo: Memo,
    chosen: NDArray[np.int64],
    k: int,
    positive: bool,
    cut: float,
    halves: NDArray[np.float64],
    room: NDArray[np.float64],
) -> Pair:
    """Bound the guarantee of the first k members, and of one fewer; certainty is known as such.

    It is where all that is free together cannot use up the margin (Proposition 8).
    """
    at, key = -1, np.uint64(0)
    if len(memo.keys) > 0:
        at, key = _place(memo, chosen, k, positive)
        if at >= 0 and memo.keys[at] == key:
            known = memo.pairs[at]
            return Pair(known[0], known[1], known[2], known[3])
    before = halves[max(k - 1, 0)]
    found = bound_pair(ladder, chosen, k, (cut + halves[k], cut + before), room)
    certain = ladder.reach + 2.0 * ladder.blur
    if cut + 2.0 * halves[k] >= certain:
        found = Pair(1.0, 1.0, found.lower_before, found.upper_before)
    if k > 0 and cut + 2.0 * before >= certain:
        found = Pair(found.lower, found.upper, 1.0, found.upper_before)
    if at >= 0:
        memo.keys[at] = key
        pair = memo.pairs[at]
        pair[0], pair[1] = found.lower, found.upper
        pair[2], pair[3] = found.lower_before, found.upper_before
    return found

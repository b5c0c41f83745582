"""One search of the smallest or cheapest set over background rows: any rivals, any prices.

What comes in are rows before an instance, `Rows`, what candidates cost (1 each where the fewest are
asked for) and how much weight may be lost. What goes out are sets, one after the other, and in the
end the word that there is no other. Numbers are whole and rounded up: what is refuted is refuted, a
set that is found is to be counted exactly.

Four things are done, each by one kernel. What each row can have at every price says which rows no
set keeps, and which rivals are the nearest (Proposition 172). Of the others those that
have least to spare are gathered, before their three nearest rivals: what loses to these is lost
(Lemma 173). What candidates from each place of an order on can add to a row at every price is
tabulated. Then candidates are taken or left in turn; a branch is given up once too many rows stay
lost even if each is given what is best for it.

The last step knows rows by three functions alone, told apart by the type of what it is given
(`storage`): dense rows are one such type, any function of a set is another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.rows.duality import refutes
from sklearn_probsr.rows.kernels import (
    BLOCK,
    Branches,
    Rows,
    branch_ahead,
    branch_look,
    branch_take,
)

__all__ = ["Prices", "Search", "State", "branch", "storage", "thin_of"]

# Numbers of branches have 16 bits, weights of rows so few that those of a block add up in 16.
_LARGEST, _WEIGHT_BITS = 2**15 - 4, 9
# Rows that are looked at together while a table is made: their numbers fit the nearest cache.
_LINE = 512
# Rivals of a row that are looked at: what is lost is mostly lost to the nearest.
_NEAREST = 3
# A table of one block takes no more bytes than these, whatever room there is said to be.
_LEAST_ROOM = 2**26
# A refutation across rows costs so many times as many cells as there are gains.
_TO_REFUTE = 500
# How fast a row counts less, the more it has to spare without a candidate: a part of the median.
_WIDTH = 0.3

# --- what rows say of a set --------------------------------------------------------------------

_STORAGE: dict[type, tuple[Callable[..., Any], ...]] = {}


def storage(kind: type, look: Any, ahead: Any, take: Any) -> None:
    """Say how rows of a type, a NamedTuple, are asked about sets; compiled functions (`inner`).

    Parameters
    ----------
    kind : type
    look : callable
        ``look(rows, depth, place, spare)``: whether at most ``spare`` is lost with what is taken at
        a depth and one more candidate, and what it cost to tell, in cells.
    ahead : callable
        ``ahead(rows, depth, place, level, spare)``: whether so few may be lost if candidates from a
        place on are added, of a price of at most so many steps; False is a proof that not.
    take : callable
        ``take(rows, depth, place)``: write the next depth, with one more candidate taken; returns
        what that cost.
    """
    _STORAGE[kind] = (look, ahead, take)


def _look(case: Any, depth: int, place: int, spare: float) -> tuple[bool, int]:
    return _STORAGE[type(case)][0](case, depth, place, spare)  # type: ignore[no-any-return]


def _ahead(case: Any, depth: int, place: int, level: int, spare: float) -> tuple[bool, int]:
    return _STORAGE[type(case)][1](case, depth, place, level, spare)  # type: ignore[no-any-return]


def _take(case: Any, depth: int, place: int) -> int:
    return _STORAGE[type(case)][2](case, depth, place)  # type: ignore[no-any-return]


def _of(case: Any, which: int) -> Any:
    """Return the function of a storage, by the type that Numba has for it."""
    if not isinstance(case, types.NamedTuple | types.NamedUniTuple):
        return None
    return _STORAGE[case.instance_class][which]


@overload(_look)
def _compiled_look(case, depth, place, spare):  # type: ignore[no-untyped-def]
    function = _of(case, 0)
    return lambda case, depth, place, spare: function(case, depth, place, spare)  # noqa: PLW0108


@overload(_ahead)
def _compiled_ahead(case, depth, place, level, spare):  # type: ignore[no-untyped-def]
    function = _of(case, 1)
    return lambda case, depth, place, level, spare: function(  # noqa: PLW0108
        case, depth, place, level, spare
    )


@overload(_take)
def _compiled_take(case, depth, place):  # type: ignore[no-untyped-def]
    function = _of(case, 2)
    return lambda case, depth, place: function(case, depth, place)  # noqa: PLW0108


def _compiled_as(which: int) -> Callable[[], list[Any]]:
    """Return what lists the compiled functions of all types, for code that is kept on disk."""
    return lambda: [functions[which] for functions in _STORAGE.values()]


for _which, _function in enumerate((_look, _ahead, _take)):
    _function.compiled_as = _compiled_as(_which)  # type: ignore[attr-defined]

storage(Branches, branch_look, branch_ahead, branch_take)


class State(NamedTuple):
    """Where a search stands: which places are taken, and how far it is.

    Attributes
    ----------
    taken : ndarray of int64, shape (most + 1,)
    at : ndarray of int64, shape (3,)
        How many are taken, the next place, and what was paid.
    """

    taken: NDArray[np.int64]
    at: NDArray[np.int64]


class Asked(NamedTuple):
    """What a search is asked for.

    Attributes
    ----------
    prices : ndarray of int64, shape (h,)
        Of the candidates at each place.
    step, cheapest : int
        What a level of prices is worth, and the least price.
    limit, most, fewest : int
        What a set may cost, and how many it may and must have.
    spare : float
        The weight that may be lost.
    budget : int
        Cells that may be looked at.
    """

    prices: NDArray[np.int64]
    step: Any
    cheapest: Any
    limit: Any
    most: Any
    fewest: Any
    spare: Any
    budget: Any


@kernel
def branch(case: Any, state: State, asked: Asked) -> tuple[Any, Any, Any]:
    """Go on through the branches, until a set is found, all are gone through, or the budget ends.

    Returns the verdict (1, 0, -1), how many candidates the set found has, and the cells looked at
    (Propositions 91 and 172).
    """
    h = len(asked.prices)
    depth, place, paid = state.at[0], state.at[1], state.at[2]
    spent = np.int64(0)
    verdict, size = np.int64(-1), np.int64(0)
    while spent <= asked.budget:
        left = asked.limit - paid
        hopeful = place < h and depth < asked.most and left >= asked.cheapest
        if hopeful:
            hopeful, cells = _ahead(case, depth, place, left // asked.step, asked.spare)
            spent += cells
        if not hopeful:
            # Go back to the last candidate taken, and leave it.
            depth -= 1
            if depth < 0:
                verdict = np.int64(0)
                break
            place = state.taken[depth]
            paid -= asked.prices[place]
            place += 1
            continue
        price = asked.prices[place]
        if price <= left:
            state.taken[depth] = place
            found = False
            if depth + 1 >= asked.fewest:
                found, cells = _look(case, depth, place, asked.spare)
                spent += cells
                size = depth + 1
            if left - price >= asked.cheapest and depth + 1 < asked.most:
                spent += _take(case, depth, place)
                depth += 1
                paid += price
            if found:
                verdict = np.int64(1)
                place += 1
                break
        place += 1
    state.at[0], state.at[1], state.at[2] = depth, place, paid
    return verdict, size, spent


# --- what each row can have --------------------------------------------------------------------


class Prices(NamedTuple):
    """What candidates cost, and in how many steps their sums are told apart.

    Attributes
    ----------
    each : ndarray of int64, shape (h,)
    step : int
        Prices are rounded down to whole steps, so that no set is taken for dearer than it is.
    levels : int
        How many steps the dearest set that is looked for may cost.
    most : int
        How many candidates it may have.
    """

    each: NDArray[np.int64]
    step: int
    levels: int
    most: int


class Reach(NamedTuple):
    """What each row can have at most, before each rival, with candidates at a price.

    Attributes
    ----------
    at, beyond : ndarray of float32, shape (R, n)
        At the highest price that is asked for, and at one step more.
    lost : ndarray of int64, shape (levels + 1,)
        The weight of the rows that no set at a price keeps.
    """

    at: NDArray[np.float32]
    beyond: NDArray[np.float32]
    lost: NDArray[np.int64]


@kernel
def _reach(
    rows: Rows,
    steps: NDArray[np.int64],
    best: NDArray[np.float32],
    fails: NDArray[np.bool_],
    found: Reach,
) -> None:
    """Write down what each row can have at every price (Proposition 172).

    ``steps`` are the prices; ``best`` (levels + 2, line) and ``fails`` (levels + 1, line) are room
    to work in.
    """
    h, rivals, n = rows.gains.shape
    levels = len(best) - 2
    line = best.shape[1]
    for first in range(0, n, line):
        width = min(line, n - first)
        fails[:] = False
        for k in range(rivals):
            margin = rows.margins[k, first : first + width]
            for b in range(levels + 2):
                _copy(best[b], margin)
            for j in range(h):
                gain = rows.gains[j, k, first : first + width]
                price = steps[j]
                for b in range(levels + 1, price - 1, -1):
                    _raise(best[b], best[b - price], gain)
            _copy(found.at[k, first : first + width], best[levels])
            _copy(found.beyond[k, first : first + width], best[levels + 1])
            for b in range(levels + 1):
                for r in range(width):
                    fails[b, r] |= best[b, r] < np.float32(0.0)
        for b in range(levels + 1):
            for r in range(width):
                found.lost[b] += rows.weights[first + r] if fails[b, r] else np.int64(0)


@inner
def _copy(to: NDArray[np.float32], what: NDArray[np.float32]) -> None:
    """Write numbers down, as many as the shorter has."""
    for r in range(min(len(to), len(what))):
        to[r] = what[r]


@inner
def _raise(
    best: NDArray[np.float32], cheaper: NDArray[np.float32], gain: NDArray[np.float32]
) -> None:
    """Take one more candidate where that adds more."""
    for r in range(len(gain)):
        best[r] = max(best[r], cheaper[r] + gain[r])


# --- from rows to branches ---------------------------------------------------------------------


class Gathered(NamedTuple):
    """Some rows before some of their rivals, and what they can have.

    Attributes
    ----------
    margins, at, beyond : ndarray of float32, shape (R, n)
        As in `Rows` and `Reach`.
    gains : ndarray of float32, shape (h, R, n)
    sizes : ndarray of float32, shape (n,)
        Room to work in.
    """

    margins: NDArray[np.float32]
    at: NDArray[np.float32]
    beyond: NDArray[np.float32]
    gains: NDArray[np.float32]
    sizes: NDArray[np.float32]


@kernel
def _open_rows(
    at: NDArray[np.float32],
    worst: NDArray[np.float32],
    bits: NDArray[np.int32],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
) -> Any:
    """Write down the rows that some set may keep, those first that have least to spare (Lemma 173).

    ``worst`` (n) is room for what each can have, ``bits`` are the same numbers as whole ones: the
    first 11 bits of floats that are not negative are in their order, fine enough for what may come
    in any. ``starts`` (2049,) is room, too. Returns how many rows there are.
    """
    many, n = at.shape
    for k in range(many):
        high = at[k]
        for r in range(n):
            worst[r] = high[r] if k == 0 else min(worst[r], high[r])
    for i in range(len(starts)):
        starts[i] = 0
    for r in range(n):
        if worst[r] >= np.float32(0.0):
            starts[(bits[r] >> 20) + 1] += 1
    for i in range(len(starts) - 1):
        starts[i + 1] += starts[i]
    found = starts[len(starts) - 1]
    for r in range(n):
        if worst[r] >= np.float32(0.0):
            key = bits[r] >> 20
            places[starts[key]] = r
            starts[key] += 1
    return found


@kernel
def _gather(
    rows: Rows,
    reach: Reach,
    places: NDArray[np.int64],
    nearest: NDArray[np.int64],
    some: Gathered,
) -> Any:
    """Write down some rows before the nearest of their rivals (Lemma 173).

    ``nearest`` (R, n) has rivals. Returns what no sum of the numbers of a row exceeds.
    """
    many, n = nearest.shape
    top = np.float32(0.0)
    for k in range(many):
        near, margin, high, higher = nearest[k], some.margins[k], some.at[k], some.beyond[k]
        size = some.sizes
        for r in range(n):
            margin[r] = rows.margins[near[r], places[r]]
            high[r] = reach.at[near[r], places[r]]
            higher[r] = reach.beyond[near[r], places[r]]
            size[r] = abs(margin[r])
        for j in range(len(rows.gains)):
            gain, every = some.gains[j, k], rows.gains[j]
            for r in range(n):
                gain[r] = every[near[r], places[r]]
                size[r] += abs(gain[r])
        for r in range(n):
            top = max(top, size[r])
    return top


@kernel
def _order(
    some: Gathered,
    weights: NDArray[np.int16],
    order: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Write the order of candidates: those first without which the rows suffer most (Lemma 173).

    Rows suffer the more the nearer they come to the floor. Without a candidate a row can have at
    most what it can at the price, or at a step more less what the candidate gains. ``scores`` (h)
    is room to work in.
    """
    many, n = some.margins.shape
    near = some.sizes
    half = some.at[0, n // 2]
    for k in range(1, many):
        half = min(half, some.at[k, n // 2])
    part = np.float32(1.0) / (np.float32(8 * _WIDTH) * max(half, np.float32(1.0)))
    for p in range(len(order)):
        for k in range(many):
            gain, high, higher = some.gains[p, k], some.at[k], some.beyond[k]
            for r in range(n):
                left = min(high[r], higher[r] - gain[r])
                near[r] = left if k == 0 else min(near[r], left)
        score = 0.0
        for r in range(n):
            # About exp(-what is left / the width).
            left = max(np.float32(1.0) - part * max(near[r], np.float32(0.0)), np.float32(0.0))
            left *= left
            left *= left
            score += weights[r] * left * left
        i = p
        while i > 0 and scores[i - 1] < score:
            scores[i] = scores[i - 1]
            order[i] = order[i - 1]
            i -= 1
        scores[i] = score
        order[i] = p


@kernel
def _tabulate(
    some: Gathered,
    order: NDArray[np.int64],
    steps: NDArray[np.int64],
    part: np.float32,
    case: Branches,
    best: NDArray[np.int16],
) -> None:
    """Write rows in whole steps, with what candidates can add from every place on.

    Margins are rounded down, gains up; ``part`` is 1 over a step (Proposition 172). Rows without
    weight fill the last block. ``best`` (levels + 1, line) is room to work in.
    """
    many = len(some.margins)
    h, cells = case.gains.shape
    whole = len(case.weights)
    for k in range(many):
        _floor(some.margins[k], part, case.margins[0, k * whole : (k + 1) * whole])
        for p in range(h):
            _ceil(some.gains[order[p], k], part, case.gains[p, k * whole : (k + 1) * whole])
    levels, line = len(best) - 1, best.shape[1]
    for first in range(0, cells, line):
        width = min(line, cells - first)
        for b in range(levels + 1):
            for r in range(width):
                best[b, r] = 0
                case.more[b, h, first + r] = 0
        for p in range(h - 1, -1, -1):
            gain = case.gains[p, first : first + width]
            price = steps[order[p]]
            for b in range(levels, price - 1, -1):
                _raise_whole(best[b], best[b - price], gain)
            for b in range(levels + 1):
                _put(best[b], case.more[b, p, first : first + width])


@inner
def _floor(what: NDArray[np.float32], part: np.float32, to: NDArray[np.int16]) -> None:
    """Write numbers in whole steps, rounded down, and 0 behind them."""
    for r in range(len(what)):
        to[r] = np.int16(np.floor(what[r] * part))
    for r in range(len(what), len(to)):
        to[r] = 0


@inner
def _ceil(what: NDArray[np.float32], part: np.float32, to: NDArray[np.int16]) -> None:
    """Write numbers in whole steps, rounded up, and 0 behind them."""
    for r in range(len(what)):
        to[r] = np.int16(np.ceil(what[r] * part))
    for r in range(len(what), len(to)):
        to[r] = 0


@inner
def _put(what: NDArray[np.int16], to: NDArray[np.int16]) -> None:
    """Write numbers down."""
    for r in range(len(to)):
        to[r] = what[r]


@inner
def _raise_whole(
    best: NDArray[np.int16], cheaper: NDArray[np.int16], gain: NDArray[np.int16]
) -> None:
    """Take one more candidate where that adds more."""
    for r in range(len(gain)):
        more = np.int16(cheaper[r] + gain[r])
        best[r] = max(best[r], more)


def thin_of(total: int) -> int:
    """Return by how many bits weights are thinned, so that 32-bit floats hold their sum."""
    return max(total.bit_length() - 24, 0)


class Search:
    """The sets of candidates that cost at most a limit, gone through one after the other.

    Parameters
    ----------
    rows : Rows
    prices : Prices
        What candidates cost, and up to what price sets are looked for.
    room : int
        How many bytes the table may take. If that is too little for all rows, it has those that
        have least to spare, and the others refute nothing (Lemma 173).

    Attributes
    ----------
    lost : ndarray of int64, shape (levels + 1,)
        The weight of the rows that no set keeps, for every step of its price.
    spent : int
        How many cells of the gains were looked at.
    """

    def __init__(self, rows: Rows, prices: Prices, room: int) -> None:
        self._rows, self.prices, self._room = rows, prices, room
        h, rivals, n = rows.gains.shape
        levels = prices.levels
        self._steps = prices.each // prices.step
        self.reach = Reach(
            np.empty((rivals, n), dtype=np.float32),
            np.empty((rivals, n), dtype=np.float32),
            np.zeros(levels + 1, dtype=np.int64),
        )
        line = min(_LINE, max(n, 1))
        best = np.empty((levels + 2, line), dtype=np.float32)
        fails = np.empty((levels + 1, line), dtype=np.bool_)
        _reach(rows, self._steps, best, fails, self.reach)
        self.spent = h * n * rivals * (levels + 2)
        self._state: State | None = None

    @property
    def lost(self) -> NDArray[np.int64]:
        """The weight of the rows that no set keeps, for every step of its price."""
        return self.reach.lost

    @property
    def _bytes(self) -> int:
        """How many bytes a table takes for each of its rows."""
        h, levels = len(self._rows.gains), self.prices.levels
        many = 1 if len(self.reach.at) == 1 else _NEAREST
        each = 2 * (levels + 1) * (h + 1) + 6 * h + 2 * min(self.prices.most, h) + 16
        return many * each + 4

    @property
    def fits(self) -> bool:
        """Whether there is room for a table of a block at least."""
        few = 2 * len(self._rows.gains) < _LARGEST
        return few and BLOCK * self._bytes <= max(self._room, _LEAST_ROOM)

    def _start(self, spare: int) -> None:
        """Write the table, before the first branch, for sets that lose at most ``spare``."""
        rows, reach = self._rows, self.reach
        h, rivals, n = rows.gains.shape
        levels, most = self.prices.levels, min(self.prices.most, h)
        worst, places = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.int64)
        starts = np.zeros(2**11 + 1, dtype=np.int64)
        n = int(_open_rows(reach.at, worst, worst.view(np.int32), starts, places))
        places = places[: min(n, max(self._room // self._bytes, BLOCK))]
        n, many = len(places), 1 if rivals == 1 else _NEAREST
        nearest = np.zeros((many, n), dtype=np.int64)
        if rivals > 1:
            each = np.argsort(reach.at[:, places], axis=0, kind="stable")[:_NEAREST]
            nearest[: len(each)] = each
        margins, at, beyond = np.empty((3, many, n), dtype=np.float32)
        gains = np.empty((h, many, n), dtype=np.float32)
        some = Gathered(margins, at, beyond, gains, np.empty(n, dtype=np.float32))
        top = float(_gather(rows, reach, places, nearest, some))
        whole = max(-(-n // BLOCK), 1) * BLOCK
        # More than may be lost is as good as all.
        weights = np.minimum(rows.weights[places], spare + 1)
        self._thin = max(int(weights.max(initial=0)).bit_length() - _WEIGHT_BITS, 0)
        case = self._case = Branches(
            np.empty((most + 1, many * whole), dtype=np.int16),
            np.empty((h, many * whole), dtype=np.int16),
            np.zeros(whole, dtype=np.int16),
            np.empty((levels + 1, h + 1, many * whole), dtype=np.int16),
        )
        case.weights[:n] = weights >> self._thin
        self._order = np.arange(h)
        if n:
            _order(some, case.weights, self._order, np.empty(h))
        step = 2 ** max(math.ceil(top / (_LARGEST - h)) - 1, 0).bit_length()
        best = np.empty((levels + 1, min(_LINE, many * whole)), dtype=np.int16)
        _tabulate(some, self._order, self._steps, np.float32(1 / step), case, best)
        self._each = self.prices.each[self._order]
        self._cheapest = int(min(self._each, default=1))
        self._state = State(np.zeros(most + 1, dtype=np.int64), np.zeros(3, dtype=np.int64))
        self._begun = False
        self.spent += case.more.size + case.gains.size

    def least(self, first: int, last: int, spare: int) -> int:
        """Return the first size from one to another that is not refuted across rows (Lemma 300).

        All prices are 1. What is refuted of a size is refuted of all smaller ones.
        """
        spare -= int(self.reach.lost[self.prices.levels])
        if self._state is None:
            self._start(spare)
        step = 1
        while first <= last:
            size = min(first + step - 1, last)
            refuted = refutes(self._case, size, spare >> self._thin)
            self.spent += _TO_REFUTE * self._case.gains.size
            if refuted:
                first, step = size + 1, 2 * step
            elif step == 1:
                break
            else:
                last, step = size - 1, 1
        return first

    def again(self) -> None:
        """Begin before the first branch again."""
        if self._state is not None:
            self._state.at[:] = 0
            self._begun = False

    def next(
        self, limit: int, fewest: int, spare: int, budget: int
    ) -> tuple[int, NDArray[np.int64]]:
        """Return the next set that costs at most a limit and loses no more than ``spare``.

        Limits may only fall from one call to the next, and so may ``spare``, until it begins again.
        Sets of fewer than ``fewest`` candidates are known to lose more. Returns the verdict (1:
        found, by rounded numbers; 0: there is no other; -1: the budget of cells does not suffice)
        and its candidates; what was looked at is added to `spent`.
        """
        none = np.zeros(0, dtype=np.int64)
        spare -= int(self.reach.lost[self.prices.levels])
        if spare < 0:
            return 0, none
        if self._state is None:
            self._start(spare)
        assert self._state is not None
        state, case, thin = self._state, self._case, self._thin
        if not self._begun and fewest == 0:
            self._begun = True
            below = (case.margins[0].reshape(-1, len(case.weights)) < 0).any(axis=0)
            if case.weights[below].sum() <= spare >> thin:
                return 1, none
        asked = Asked(
            self._each,
            self.prices.step,
            self._cheapest,
            limit,
            min(self.prices.most, len(self._each)),
            fewest,
            spare >> thin,
            budget,
        )
        verdict, size, spent = branch(case, state, asked)
        self.spent += spent
        return verdict, self._order[state.taken[:size]]

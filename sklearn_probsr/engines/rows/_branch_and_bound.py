"""The one search of sets of members over background rows: any number of rivals, any prices.

What comes in is an instance before background rows, `Rows`, and what members cost, 1 each where
the fewest are asked for. Numbers are rounded up to whole floats of 32 bits, whose sums are exact in
any order: what is refuted is refuted, a set that is found is to be counted again (Lemma 110).

Four things are done, each by one kernel. What each row can gain at every price says which rows no
set keeps, and which rivals are the nearest (Lemma 32, Proposition 92). Of the others the rows that
have least to spare are gathered, before their three nearest rivals: what loses to these is lost
(Lemma 121).
What members from each place of an order on can gain a row at every price is tabulated. Then members
are taken or left in turn; a branch is given up once too many rows stay lost even if each is given
what is best for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.rows._counts import Rows

__all__ = ["Prices", "BranchAndBound"]

# Sums of whole numbers below this are exact in 32-bit floats, in any order (Lemma 110).
_EXACT = 2**24
# The table of what is ahead has numbers of 16 bits, each worth so many steps.
_LARGEST = 2**15 - 1
# Rows come in blocks of so many, whole steps of any processor; a look ends with a block.
_BLOCK = 64
# What a look costs beside the cells that it is at, in cells.
_LOOK = 512
# Rows that are looked at together while a table is made: their numbers fit the nearest cache.
_LINE = 512
# Rivals of a row that are looked at: what is lost is mostly lost to the nearest.
_NEAREST = 3
# A table of one block takes no more bytes than these, whatever room there is said to be.
_LEAST_ROOM = 2**26
# How fast a row counts less, the more it has to spare without a member: a part of the median.
_WIDTH = 0.3


class Prices(NamedTuple):
    """What members cost, and in how many steps their sums are told apart.

    Attributes
    ----------
    each : ndarray of int64, shape (h,)
    step : int
        Prices are rounded down to whole steps, so that no set is taken for dearer than it is.
    levels : int
        How many steps the dearest set that is looked for may cost.
    most : int
        How many members it may have.
    """

    each: NDArray[np.int64]
    step: int
    levels: int
    most: int


class _Reach(NamedTuple):
    """What each row can have at most, before each rival, with members at a price."""

    at: NDArray[np.float32]  # (K, n): at the highest price that is asked for
    beyond: NDArray[np.float32]  # (K, n): at one step more
    lost: NDArray[np.int64]  # (levels + 1,): the weight of the rows that no set at a price keeps


@inner
def _rounded(number: int, shift: int) -> np.float32:
    """Return a whole number in units of a power of two, rounded up."""
    return np.float32(-((-number) >> shift))


@kernel
def _reach(
    rows: Rows,
    floor: int,
    shift: int,
    steps: NDArray[np.int64],
    best: NDArray[np.float32],
    gain: NDArray[np.float32],
    fails: NDArray[np.bool_],
    found: _Reach,
) -> None:
    """Write down what each row can have at every price (Lemma 32, Proposition 92).

    ``steps`` are the prices; ``best`` (levels + 2, line), ``gain`` (line) and ``fails``
    (levels + 1, line) are room to work in.
    """
    h = len(rows.gains)
    n, rivals = len(rows.weights), len(found.at)
    levels = len(best) - 2
    line = best.shape[1]
    for first in range(0, n, line):
        last = min(first + line, n)
        width = last - first
        fails[:] = False
        for k in range(rivals):
            for r in range(width):
                margin = _rounded(rows.margins[(first + r) * rivals + k] - floor, shift)
                for b in range(levels + 2):
                    best[b, r] = margin
            for j in range(h):
                for r in range(width):
                    gain[r] = _rounded(rows.gains[j, (first + r) * rivals + k], shift)
                price = steps[j]
                for b in range(levels + 1, price - 1, -1):
                    _take(best[b], best[b - price], gain, width)
            for r in range(width):
                found.at[k, first + r] = best[levels, r]
                found.beyond[k, first + r] = best[levels + 1, r]
            for b in range(levels + 1):
                for r in range(width):
                    fails[b, r] |= best[b, r] < np.float32(0.0)
        for b in range(levels + 1):
            for r in range(width):
                found.lost[b] += rows.weights[first + r] * fails[b, r]


@inner
def _take(
    best: NDArray[np.float32], cheaper: NDArray[np.float32], gain: NDArray[np.float32], width: int
) -> None:
    """Take one more member where that adds more."""
    for r in range(width):
        best[r] = max(best[r], cheaper[r] + gain[r])


class _Gathered(NamedTuple):
    """Some rows before some of their rivals, in whole floats; the floor is at 0.

    Rows without weight fill the last block.
    """

    margins: NDArray[np.float32]  # (k, n)
    weights: NDArray[np.float32]  # (n,)
    gains: NDArray[np.float32]  # (h, k, n)


@kernel
def _gather(
    rows: Rows,
    places: NDArray[np.intp],
    nearest: NDArray[np.intp],
    floor: int,
    shift: int,
    thin: int,
    found: _Gathered,
) -> None:
    """Round some rows up, before the nearest of their rivals: ``nearest`` has a line for each.

    Weights are rounded down, in units of a power of two: no more is lost than there is.
    """
    many, n = len(nearest), len(places)
    rivals = len(rows.margins) // max(len(rows.weights), 1)
    for k in range(many):
        for r in range(n):
            at = places[r] * rivals + nearest[k, r]
            found.margins[k, r] = _rounded(rows.margins[at] - floor, shift)
        for j in range(len(rows.gains)):
            for r in range(n):
                at = places[r] * rivals + nearest[k, r]
                found.gains[j, k, r] = _rounded(rows.gains[j, at], shift)
    for r in range(n):
        found.weights[r] = np.float32(rows.weights[places[r]] >> thin)


@kernel
def _suffering(
    found: _Gathered,
    at: NDArray[np.float32],
    beyond: NDArray[np.float32],
    part: np.float32,
    near: NDArray[np.float32],
    scores: NDArray[np.float64],
) -> None:
    """Write down how much rows suffer without each member: the nearer they come to the floor.

    Without a member a row can have at most what it can at the price, or at a step more less what
    the member gains. ``near`` (n) is room to work in.
    """
    many, n = at.shape
    for p in range(len(found.gains)):
        near[:] = np.float32(np.inf)
        for k in range(many):
            gain, high, higher = found.gains[p, k], at[k], beyond[k]
            for r in range(n):
                near[r] = min(near[r], high[r], higher[r] - gain[r])
        score = 0.0
        for r in range(n):
            # About exp(-what is left / the width).
            left = max(np.float32(1.0) - part * max(near[r], np.float32(0.0)), np.float32(0.0))
            left *= left
            left *= left
            score += found.weights[r] * left * left
        scores[p] = score


@kernel
def _tabulate(
    gains: NDArray[np.float32],
    order: NDArray[np.intp],
    steps: NDArray[np.int64],
    part: np.float32,
    best: NDArray[np.float32],
    ahead: NDArray[np.int16],
) -> None:
    """Write down what members from a place on can add to each row at every price, rounded up.

    ``gains`` is (h, cells), of the members as they come, ``ahead`` (levels + 1, h + 1, cells);
    ``best`` (levels + 1, line) is room to work in.
    """
    h, cells = gains.shape
    levels, line = len(best) - 1, best.shape[1]
    for first in range(0, cells, line):
        width = min(line, cells - first)
        for b in range(levels + 1):
            for r in range(width):
                best[b, r] = np.float32(0.0)
                ahead[b, h, first + r] = 0
        for p in range(h - 1, -1, -1):
            gain = gains[order[p], first : first + width]
            price = steps[order[p]]
            for b in range(levels, price - 1, -1):
                _take(best[b], best[b - price], gain, width)
            for b in range(levels + 1):
                _write(best[b], part, ahead[b, p, first : first + width])


@inner
def _write(best: NDArray[np.float32], part: np.float32, ahead: NDArray[np.int16]) -> None:
    """Write down what is added, in larger steps, rounded up."""
    for r in range(len(ahead)):
        ahead[r] = np.int16(np.ceil(best[r] * part))


@inner
def _lost_to_one(
    margins: NDArray[np.float32], more: NDArray[np.float32], weights: NDArray[np.float32]
) -> np.float32:
    """Return the weight of the rows that stay below 0."""
    lost = np.float32(0.0)
    for r in range(len(weights)):
        lost += weights[r] if margins[r] + more[r] < np.float32(0.0) else np.float32(0.0)
    return lost


@inner
def _lost_to_three(
    margins: NDArray[np.float32],
    more: NDArray[np.float32],
    weights: NDArray[np.float32],
    first: Any,
    n: int,
) -> np.float32:
    """Return the weight of the rows of a block that stay below 0 before one of three rivals."""
    a, b, c = margins[first:], margins[n + first :], margins[2 * n + first :]
    x, y, z = more[first:], more[n + first :], more[2 * n + first :]
    lost = np.float32(0.0)
    for r in range(len(weights)):
        worst = min(a[r] + x[r], b[r] + y[r], c[r] + z[r])
        lost += weights[r] if worst < np.float32(0.0) else np.float32(0.0)
    return lost


@inner
def _ahead_of_one(
    margins: NDArray[np.float32],
    ahead: NDArray[np.int16],
    step: np.float32,
    weights: NDArray[np.float32],
) -> np.float32:
    """Return the weight of the rows that stay below 0 with what is ahead."""
    lost = np.float32(0.0)
    for r in range(len(weights)):
        below = margins[r] + step * np.float32(ahead[r]) < np.float32(0.0)
        lost += weights[r] if below else np.float32(0.0)
    return lost


@inner
def _ahead_of_three(
    margins: NDArray[np.float32],
    ahead: NDArray[np.int16],
    step: np.float32,
    weights: NDArray[np.float32],
    first: Any,
    n: int,
) -> np.float32:
    """Return the same of a block of rows, before three rivals."""
    a, b, c = margins[first:], margins[n + first :], margins[2 * n + first :]
    x, y, z = ahead[first:], ahead[n + first :], ahead[2 * n + first :]
    lost = np.float32(0.0)
    for r in range(len(weights)):
        worst = min(
            a[r] + step * np.float32(x[r]),
            b[r] + step * np.float32(y[r]),
            c[r] + step * np.float32(z[r]),
        )
        lost += weights[r] if worst < np.float32(0.0) else np.float32(0.0)
    return lost


@inner
def _reached(
    margins: NDArray[np.float32],
    gain: NDArray[np.float32],
    weights: NDArray[np.float32],
    spare: np.float32,
) -> tuple[Any, Any]:
    """Tell whether no more weight is lost than may be with one more member, and what that took."""
    n = len(weights)
    three = len(margins) > n
    lost, first = np.float32(0.0), np.int64(0)
    while first < n and lost <= spare:
        last = first + _BLOCK
        if three:
            lost += _lost_to_three(margins, gain, weights[first:last], first, n)
        else:
            lost += _lost_to_one(margins[first:last], gain[first:last], weights[first:last])
        first = last
    return lost <= spare, first


@inner
def _hopeful(
    margins: NDArray[np.float32],
    ahead: NDArray[np.int16],
    step: np.float32,
    weights: NDArray[np.float32],
    spare: np.float32,
) -> tuple[Any, Any]:
    """Tell whether no more weight need be lost than may be, with what is ahead; and its cost."""
    n = len(weights)
    three = len(margins) > n
    lost, first = np.float32(0.0), np.int64(0)
    while first < n and lost <= spare:
        last = first + _BLOCK
        if three:
            lost += _ahead_of_three(margins, ahead, step, weights[first:last], first, n)
        else:
            lost += _ahead_of_one(margins[first:last], ahead[first:last], step, weights[first:last])
        first = last
    return lost <= spare, first


@inner
def _move(
    margins: NDArray[np.float32], gain: NDArray[np.float32], moved: NDArray[np.float32]
) -> None:
    """Write down margins with one more member taken."""
    for r in range(len(margins)):
        moved[r] = margins[r] + gain[r]


class _State(NamedTuple):
    """Where a search stands: which members are taken, what it has paid, and the next place."""

    taken: NDArray[np.int64]  # (most + 1,)
    margins: NDArray[np.float32]  # (most + 1, cells)
    at: NDArray[np.int64]  # depth, position, paid


class _Case(NamedTuple):
    """What a search looks at; places are those of its order."""

    weights: NDArray[np.float32]  # (n,)
    gains: NDArray[np.float32]  # (h, cells)
    order: NDArray[np.intp]  # (h,): of the members
    ahead: NDArray[np.int16]  # (levels + 1, h + 1, cells)
    worth: np.float32  # of one that is ahead
    prices: NDArray[np.int64]  # (h,)
    step: int
    cheapest: int


@kernel
def _branch(
    case: _Case, state: _State, limit: int, most: int, fewest: int, spare: float, budget: int
) -> tuple[Any, Any, Any]:
    """Go on through the branches, until a set is found, all are gone through, or the budget ends.

    Returns the verdict (1, 0, -1), how many members the set found has, and the cells looked at.
    """
    h, cells = case.gains.shape
    rivals = cells // len(case.weights)
    depth, position, paid = state.at[0], state.at[1], state.at[2]
    may = np.float32(spare)
    spent = np.int64(0)
    verdict, size = np.int64(-1), np.int64(0)
    while spent <= budget:
        left = limit - paid
        hopeful = position < h and depth < most and left >= case.cheapest
        if hopeful:
            ahead = case.ahead[left // case.step, position]
            hopeful, looked = _hopeful(state.margins[depth], ahead, case.worth, case.weights, may)
            spent += rivals * looked + _LOOK
        if not hopeful:
            # Go back to the last member taken, and leave it.
            depth -= 1
            if depth < 0:
                verdict = np.int64(0)
                break
            position = state.taken[depth]
            paid -= case.prices[position]
            position += 1
            continue
        price = case.prices[position]
        if price <= left:
            gain = case.gains[case.order[position]]
            state.taken[depth] = position
            found = False
            if depth + 1 >= fewest:
                found, looked = _reached(state.margins[depth], gain, case.weights, may)
                spent += rivals * looked + _LOOK
                size = depth + 1
            if left - price >= case.cheapest and depth + 1 < most:
                _move(state.margins[depth], gain, state.margins[depth + 1])
                spent += cells + _LOOK
                depth += 1
                paid += price
            if found:
                verdict = np.int64(1)
                position += 1
                break
        position += 1
    state.at[0], state.at[1], state.at[2] = depth, position, paid
    return verdict, size, spent


class BranchAndBound:
    """The sets of members that cost at most a limit, gone through one after the other.

    Parameters
    ----------
    rows : Rows
        The rows that members decide.
    floor : int
        Margins below it are surely lost.
    prices : Prices
        What members cost, and up to what price sets are looked for.
    room : int
        How many bytes the table may take. If that is too little for all rows, it has those that
        come nearest to the floor, and the others refute nothing (Lemma 121).

    Attributes
    ----------
    lost : ndarray of int64
        The weight of the rows that no set keeps, for every step of its price.
    spent : int
        How many cells of the gains were looked at.
    """

    def __init__(self, rows: Rows, floor: int, prices: Prices, room: int) -> None:
        self._rows, self._floor, self.prices = rows, floor, prices
        h, n = len(rows.gains), len(rows.weights)
        rivals = max(len(rows.margins) // max(n, 1), 1)
        highest, lowest = rows.gains.max(axis=1, initial=0), rows.gains.min(axis=1, initial=0)
        sizes = np.maximum(highest, -lowest)
        widest = max(abs(int(rows.margins.max()) - floor), abs(int(rows.margins.min()) - floor))
        self._steps = prices.each // prices.step
        levels, least = prices.levels, int(self._steps.min(initial=1))
        takes = self._takes = min((levels + 1) // least, h) if least else h
        widest += sum(sorted(sizes.tolist())[h - takes :])
        widest += (widest >> 14) + 1
        self._shift = (widest // (_EXACT - 2 * takes - 8)).bit_length()
        self._thin = max(int(rows.weights.sum()).bit_length() - 24, 0)
        self._reach = _Reach(
            np.empty((rivals, n), dtype=np.float32),
            np.empty((rivals, n), dtype=np.float32),
            np.zeros(levels + 1, dtype=np.int64),
        )
        line = min(_LINE, n)
        _reach(
            rows,
            floor,
            self._shift,
            self._steps,
            np.empty((levels + 2, line), dtype=np.float32),
            np.empty(line, dtype=np.float32),
            np.empty((levels + 1, line), dtype=np.bool_),
            self._reach,
        )
        self.spent = h * n * rivals * (levels + 2)
        self._room = room
        self._state: _State | None = None

    @property
    def lost(self) -> NDArray[np.int64]:
        """The weight of the rows that no set keeps, for every step of its price."""
        return self._reach.lost

    @property
    def _bytes(self) -> int:
        """How many bytes a table takes for each of its rows."""
        h, levels = len(self._rows.gains), self.prices.levels
        many = 1 if len(self._reach.at) == 1 else _NEAREST
        each = 2 * (levels + 1) * (h + 1) + 4 * (h + min(self.prices.most, h) + 2)
        return many * each + 4

    @property
    def fits(self) -> bool:
        """Whether there is room for a table of a block at least."""
        return _BLOCK * self._bytes <= max(self._room, _LEAST_ROOM)

    def start(self) -> int:
        """Write the table, before the first branch, and return how many cells that took."""
        rows, reach, h = self._rows, self._reach, len(self._rows.gains)
        rivals = len(reach.at)
        levels, most = self.prices.levels, min(self.prices.most, h)
        worst = reach.at.min(axis=0)
        places = np.flatnonzero(worst >= 0)
        many = 1 if rivals == 1 else _NEAREST
        # In whole parts: rows that have about as much to spare stay as they come.
        self._least = int(rows.weights.sum()) - int(rows.weights[places].sum())
        order = np.argsort(worst[places], kind="stable")[: max(self._room // self._bytes, _BLOCK)]
        places = places[order]
        if rivals == 1:
            nearest = np.zeros((1, len(places)), dtype=np.intp)
        else:
            nearest = np.argsort(reach.at[:, places], axis=0, kind="stable")[:_NEAREST]
            if rivals < _NEAREST:
                nearest = nearest[[*range(rivals), *[0] * (_NEAREST - rivals)]]
        padded = max(-(-len(places) // _BLOCK), 1) * _BLOCK
        found = _Gathered(
            np.zeros((many, padded), dtype=np.float32),
            np.zeros(padded, dtype=np.float32),
            np.zeros((h, many, padded), dtype=np.float32),
        )
        _gather(rows, places, nearest, self._floor, self._shift, self._thin, found)
        self.order = self._ordered(found, places, nearest)
        cells = many * padded
        gains = found.gains.reshape((h, cells))
        ahead = np.empty((levels + 1, h + 1, cells), dtype=np.int16)
        highest = gains.max(axis=1, initial=0.0)
        top = float(np.sort(highest)[h - self._takes :].sum())
        worth = np.float32(2 ** int(top / _LARGEST).bit_length())
        line = min(_LINE, cells)
        best = np.empty((levels + 1, line), dtype=np.float32)
        _tabulate(gains, self.order, self._steps, np.float32(1.0) / worth, best, ahead)
        prices = self.prices.each[self.order]
        cheapest = int(prices.min(initial=1))
        self._case = _Case(
            found.weights, gains, self.order, ahead, worth, prices, self.prices.step, cheapest
        )
        self._state = _State(
            np.zeros(most + 1, dtype=np.int64),
            np.empty((most + 1, cells), dtype=np.float32),
            np.zeros(3, dtype=np.int64),
        )
        self._state.margins[0] = found.margins.ravel()
        self._begun = False
        return ahead.size + gains.size

    def again(self) -> None:
        """Begin before the first branch again."""
        assert self._state is not None
        self._state.at[:] = 0
        self._begun = False

    def _ordered(
        self, found: _Gathered, places: NDArray[np.intp], nearest: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return members, those first without which the rows suffer most."""
        scores, n = np.zeros(len(found.gains)), len(places)
        if n:
            at, beyond = self._reach.at[nearest, places], self._reach.beyond[nearest, places]
            half = np.partition(at.min(axis=0), n // 2)[n // 2]
            part = np.float32(1 / (8 * _WIDTH * max(float(half), 1.0)))
            _suffering(found, at, beyond, part, np.empty(n, dtype=np.float32), scores)
        return np.argsort(-scores, kind="stable")

    def next(
        self, limit: int, fewest: int, spare: int, budget: int
    ) -> tuple[int, NDArray[np.intp], int]:
        """Return the next set that costs at most a limit and loses no more than ``spare``.

        Limits may only fall from one call to the next. Sets of fewer than ``fewest`` members are
        known to lose more. Returns the verdict (1: found, by rounded numbers; 0: there is no
        other; -1: the budget of cells does not suffice), its members, and what was spent.
        """
        assert self._state is not None
        spare -= self._least
        if spare < 0:
            return 0, np.zeros(0, dtype=np.intp), 0
        state, weights = self._state, self._case.weights
        if not self._begun:
            self._begun = True
            cells = state.margins[0].reshape(-1, len(weights))
            if fewest == 0 and weights[(cells < 0).any(axis=0)].sum() <= spare >> self._thin:
                return 1, self.order[:0], cells.size
        most = min(self.prices.most, len(self.order))
        verdict, size, spent = _branch(
            self._case, state, limit, most, fewest, float(spare >> self._thin), budget
        )
        return verdict, self.order[state.taken[:size]], spent

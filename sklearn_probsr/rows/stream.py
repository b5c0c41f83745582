"""Rows before one instance as searches ask them: those of a table, and those of large backgrounds.

Where a table of all gains is small it is made, and kernels work on it. Else sets are searched on a
part of the rows, drawn at random, and all rows confirm them. That a set misses delta is proved by
rows that lose the class, whichever they are, once they weigh more than may be lost (Lemma 53): all
rows are gone through once, in pieces, for what each can have at a price, and those that come
nearest to being lost are searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.rows import exact
from sklearn_probsr.rows.answers import Searched, part_of
from sklearn_probsr.rows.exact import Decider, Winner
from sklearn_probsr.rows.kernels import Rows, counted, greedy, prune
from sklearn_probsr.rows.search import Prices, Search, thin_of
from sklearn_probsr.rows.table import Table

__all__ = ["DenseRows", "Instance", "Light", "StreamedRows", "blocks"]

# Greed takes so many looks at margins, about a quarter of a second.
_LOOKS = 2**28
# A table of branches takes no more bytes than these, with several rivals the latter, or than
# two thirds of the gains: of more rows it has those that have least to spare (Lemma 173).
FEW_BYTES, RIVAL_BYTES = 3 * 2**20, 2**25
# Numbers of rows that are looked at together.
PIECE = 2**18
# Gains of the rows that sets are searched on at first, and of those that are searched for a proof.
PART, HARD = 2**17, 2**19
# The most gains of a part, however large a sample is asked for.
MOST = 2**20
# Rows that are lost most easily: so many times what may be lost, and these.
_TIMES, _FEW = 3, 1024
# So often a part is asked for more weight before it grows.
_TRIES = 8


class Instance(NamedTuple):
    """One instance, and what is asked of it.

    Attributes
    ----------
    x : ndarray of float64, shape (d,)
    winner : Winner
    exponent : int
        Of the scale of what its units add to scores.
    known : ndarray of float32, shape (K, units)
    doubt : int
    units : ndarray of int64, shape (h,)
        The candidates.
    forced : ndarray of int64
        Units that are fixed in every set.
    monotone : bool
    spare : int
        The weight that may be lost.
    """

    x: NDArray[np.float64]
    winner: Winner
    exponent: int
    known: NDArray[np.float32]
    doubt: int
    units: NDArray[np.int64]
    forced: NDArray[np.int64]
    monotone: bool
    spare: int


class _Tabled:
    """What rows that are searched by a table of gains have in common; see `Candidates`."""

    units: NDArray[np.int64]
    cells: int

    @property
    def gains(self) -> float:
        """How many numbers a table begins with."""
        return len(self.units) * self.cells

    def lost(self, chosen: Sequence[int], spare: int) -> int:
        """Return the weight lost with a set fixed, exactly, or more than ``spare`` of it."""
        raise NotImplementedError

    def along(self, order: Sequence[int]) -> NDArray[np.int64]:
        """Return the weight lost with the first 0, 1, 2, ... of an order fixed, exactly."""
        most = np.iinfo(np.int64).max
        return np.array([self.lost(order[:k], most) for k in range(len(order) + 1)])

    def least(self, most: int) -> int:
        """Return a size below which no set reaches the level: that takes a table."""
        return 0

    def parted(self, chosen: Sequence[int], task: Task) -> tuple[int, list[int]]:
        """Look for a part of a set that reaches the level: 1 with one, 0 if none does, or -1."""
        return part_of(self, chosen, task)  # type: ignore[arg-type]


class Light(NamedTuple):
    """About the weights of rows, so that 32-bit floats hold their sum, and what 1 is there."""

    weights: NDArray[np.float32]
    unit: float

    @classmethod
    def of(cls, weights: NDArray[np.int64]) -> Light:
        """Return about some weights."""
        unit = 2.0 ** -thin_of(int(weights.sum()))
        return cls((weights * unit).astype(np.float32), unit)


class DenseRows(_Tabled):
    """Rows before an instance as a table of gains; see `Candidates`.

    Parameters
    ----------
    decider : Decider
    table : Table
    rows : ndarray of float64, shape (n, d)
        All rows of the table, or those at some places.
    weights : ndarray of int64, shape (n,)
    one : Instance
    at : ndarray of intp or slice or None
        The places; None: all.
    light : Light or None
        The weights once more, if they are at hand.
    """

    def __init__(
        self,
        decider: Decider,
        table: Table,
        rows: NDArray[np.float64],
        weights: NDArray[np.int64],
        one: Instance,
        at: NDArray[np.intp] | slice | None = None,
        light: Light | None = None,
    ) -> None:
        self._light = Light.of(weights) if light is None else light
        self.units, self.monotone, self.spare = one.units, one.monotone, one.spare
        parts, (first, *rivals) = table.parts(one.exponent, at), one.winner.lines.tolist()
        many, n, h = len(rivals), len(rows), len(one.units)
        self.cells = many * n
        margins = np.empty((many, n), dtype=np.float32)
        gains = np.empty((h, many, n), dtype=np.float32)
        for k, second in enumerate(rivals):  # whole numbers: exact in any order (Proposition 171)
            more = _ahead(one.known, first, second)[:, None] - _ahead(parts.parts, first, second)
            gains[:, k] = more[one.units]
            margins[k] = _ahead(parts.scores, first, second) + more[one.forced].sum(axis=0)
            margins[k] += np.float32(one.doubt - one.winner.loses[k])
        sure = np.float32(2 * one.doubt)
        self.rows = Rows(margins, gains, weights, self._light.weights, sure)
        self._exactly, self._one = (decider, one.winner, rows), one
        self._room = np.empty((many + 1, n), dtype=np.float32)

    def lost(self, chosen: Any, spare: int) -> int:
        """Return the weight lost with a set fixed, exactly, or more than ``spare`` of it."""
        at, one = np.array(chosen, dtype=np.int64), self._one
        found, perhaps = counted(self.rows, at, self._room)
        if perhaps > found <= spare:
            fixed = np.zeros(one.known.shape[1] + 1, dtype=np.bool_)
            fixed[one.forced] = fixed[one.units[at]] = True
            near, keeps = self._room[-1], np.zeros(len(self.rows.weights), dtype=np.bool_)
            open_ones = (near >= 0) & (near < self.rows.sure)
            exact.settle(*self._exactly, one.x, fixed, open_ones, keeps)
            found += self.rows.weights[open_ones & ~keeps].sum()
        return int(found)

    def pruned(self, order: Sequence[int], spare: int) -> tuple[list[int], int]:
        """Leave out what is not needed, the last first; return the rest, and what it loses.

        Where fixing can hurt, again until nothing more goes (Corollary 4b).
        """
        at, stays = np.array(order, dtype=np.int64), np.ones(len(order), dtype=np.bool_)
        before = len(order) + 1
        while stays.sum() < before:
            before, i = stays.sum(), len(order)
            while i >= 0:
                i = prune(self.rows, at, i - 1, spare, self._room, stays)
                if i >= 0:
                    stays[i] = False
                    stays[i] = self.lost(at[stays], spare) > spare
            if self.monotone:
                break
        return at[stays].tolist(), self.lost(at[stays], spare)

    def _greedy(
        self, prices: NDArray[np.float32], spare: int, hinge: bool, looks: int = _LOOKS
    ) -> tuple[list[int], bool]:
        h, size = len(self.units), -1
        order, free = np.empty(h, dtype=np.int64), np.empty(h, dtype=np.bool_)
        looks = max(looks // max(self.cells, 1), 64 * h if looks else 0)
        light = np.float32(spare * self._light.unit)
        while True:
            size = greedy(self.rows, prices, light, hinge, looks, size + 1, self._room, order, free)
            if self.lost(order[:size], spare) <= spare:
                return order[:size].tolist(), True
            if size == h:
                return order.tolist(), False

    def proposals(self, prices: NDArray[np.float32]) -> list[tuple[list[int], bool]]:
        """Return orders that greed takes candidates in, and whether each reaches the level."""
        found = [self._greedy(prices, self.spare, hinge) for hinge in (False, True)]
        if len(self.rows.margins) > 1:  # greed goes astray more often: also by mean gain
            found.append(self._greedy(prices, self.spare, False, 0))
        return found

    def ranked(self) -> list[int]:
        """Return all candidates in the order in which greed takes them."""
        return self._greedy(np.ones(len(self.units), dtype=np.float32), -1, False)[0]

    def searched(self, prices: Prices, part: Sequence[int] | None = None) -> Searched:
        """Return a search for sets of some price, of all candidates or of some."""
        rows = self.rows if part is None else self.rows._replace(gains=self.rows.gains[[*part]])
        few = RIVAL_BYTES if len(rows.margins) > 1 else FEW_BYTES
        search = Search(rows, prices, max(few, 2 * rows.gains.nbytes // 3))
        return Searched(search, search.lost, 0)


def _ahead(lines: NDArray[np.float32], first: int, second: int) -> NDArray[np.float32]:
    """Return a line less another; -1 stands for zeros."""
    own = lines[max(first, 0)]
    if second < 0:
        return np.asarray(own)
    return np.asarray(-lines[second] if first < 0 else own - lines[second])


class StreamedRows(_Tabled):
    """Rows before an instance of which no table is made; see `Candidates`.

    Parameters
    ----------
    law : BackgroundLaw
    one : Instance
    sample : int or None
        How many rows a search begins with; None: some.
    """

    def __init__(self, law: Any, one: Instance, sample: int | None) -> None:
        self._law, self._one = law, one
        self.units, self.monotone, self.spare = one.units, one.monotone, one.spare
        self._many = len(one.winner.loses)
        self.cells = self._many * len(law.rows)
        each = max(self._many * max(len(one.units), 1), 1)
        self._first = max(PART // each, 1) if sample is None else min(sample, max(MOST // each, 1))
        self._hard = max(HARD // each, 64)
        self._counted: dict[frozenset[int], int] = {}
        self._exposed: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None

    # --- one set -----------------------------------------------------------------------------

    def lost(self, chosen: Sequence[int], spare: int) -> int:
        """Return the weight lost with a set fixed, exactly, or more than ``spare`` of it."""
        key = frozenset(chosen)
        if key in self._counted:
            return self._counted[key]
        law, one = self._law, self._one
        fixed = law.mask([*one.forced.tolist(), *self.units[[*chosen]].tolist()])
        if self._exposed is not None:
            rows, weights = self._exposed
            found = int(weights[~law.kept_of(one.winner, rows, one.x, fixed)].sum())
            if found > spare:
                return found
        found = 0
        for at, rows in blocks(law.rows):
            keeps = law.kept_of(one.winner, rows, one.x, fixed)
            found += int(law.weights[at][~keeps].sum())
            if found > spare:
                return found
        self._counted[key] = found
        return found

    def pruned(self, order: Sequence[int], spare: int) -> tuple[list[int], int]:
        """Leave out what is not needed, the last first; return the rest, and what it loses."""
        chosen, changed = list(order), True
        self._expose(chosen)
        while changed:
            changed = False
            for j in reversed(list(chosen)):
                rest = [i for i in chosen if i != j]
                if self.lost(rest, spare) <= spare:
                    chosen, changed = rest, not self.monotone
        return chosen, self.lost(chosen, np.iinfo(np.int64).max)

    def _expose(self, chosen: Sequence[int]) -> None:
        """Keep the rows that are lost most easily with a set fixed: they refute smaller ones."""
        law, one = self._law, self._one
        fixed = law.mask([*one.forced.tolist(), *self.units[[*chosen]].tolist()])
        least = np.concatenate(
            [law.leads_of(one.winner, rows, one.x, fixed) for _, rows in blocks(law.rows)]
        )
        size = _TIMES * len(least) * self.spare // law.total + _FEW
        if size < len(least) // 2:
            at = np.sort(np.argpartition(least, size)[:size])
            self._exposed = law.rows[at].astype(np.float64), law.weights[at]

    # --- sets that a part of the rows proposes -----------------------------------------------

    def _drawn(self, size: int, spare: int) -> DenseRows:
        """Return some rows, drawn at random, which may lose as large a share as all."""
        law = self._law
        at = np.sort(law.shuffled[:size])
        weights = law.weights[at]
        share = spare * int(weights.sum()) // law.total
        rows = np.ascontiguousarray(law.rows[at], dtype=np.float64)
        one = self._one._replace(spare=share)
        return DenseRows(law.decider, law.table, rows, weights, one, at)

    def proposals(self, prices: NDArray[np.float32]) -> list[tuple[list[int], bool]]:
        """Return sets that a part of the rows gives, and that all rows confirm.

        A part is asked for more weight, and grows, until they do.
        """
        n, size, spare = len(self._law.rows), self._first, self.spare
        found: list[tuple[list[int], bool]] = []
        while True:
            part = self._drawn(min(size, n), spare)
            for _ in range(_TRIES):
                found = []
                missing = 0
                for order, reaches in part.proposals(prices):
                    if not reaches:
                        continue
                    chosen, _ = part.pruned(order, part.spare)
                    more = self.lost(chosen, np.iinfo(np.int64).max) - self.spare
                    found.append((chosen, more <= 0))
                    missing = max(missing, more)
                if any(reaches for _, reaches in found):
                    return found
                if not found or part.spare == 0:
                    break
                less = -(-missing * int(part.rows.weights.sum()) // self._law.total)
                part.spare = max(part.spare - max(less, 1), 0)
            if size >= n or 2 * size * self._many * len(self.units) > MOST:
                return self._along(part)
            size = min(2 * size, n)
            del part  # there is not room for two

    def _along(self, part: DenseRows) -> list[tuple[list[int], bool]]:
        """Return the shortest prefix of an order that reaches the level."""
        order, law, one = part.ranked(), self._law, self._one
        forced = one.forced.tolist()
        units = [*forced, *self.units[order].tolist()]
        kept = law.kept_before(one.winner, one.x, units)[len(forced) :]
        reached = np.flatnonzero(law.total - kept <= self.spare)
        if not len(reached):
            return [(order, False)]
        return [(order[: int(reached[0])], True)]

    def ranked(self) -> list[int]:
        """Return all candidates in the order in which greed takes them, before a part."""
        return self._drawn(min(self._first, len(self._law.rows)), self.spare).ranked()

    # --- proofs ------------------------------------------------------------------------------

    def searched(self, prices: Prices, part: Sequence[int] | None = None) -> Searched:
        """Return a search over the rows that come nearest to being lost, of all."""
        law = self._law
        one = self._one
        if part is not None:
            one = one._replace(units=one.units[[*part]])
        n, levels = len(law.rows), prices.levels
        worst = np.empty(n, dtype=np.float32)
        lost_by_price = np.zeros(levels + 1, dtype=np.int64)
        step = max(PIECE // max(self._many * max(len(one.units), 1), 1), 1)
        for first in range(0, n, step):
            at = slice(first, min(first + step, n))
            search = Search(self._some(one, at).rows, prices, 0)
            worst[at] = search.reach.at.min(axis=0)
            lost_by_price += search.lost
        open_ones = np.flatnonzero(worst >= 0)
        if len(open_ones) > self._hard:
            nearest = np.argpartition(worst[open_ones], self._hard)[: self._hard]
            open_ones = np.sort(open_ones[nearest])
        hard = self._some(one, open_ones)
        search = Search(hard.rows, prices, min(RIVAL_BYTES, int(law.rows.nbytes) // 2))
        return Searched(search, lost_by_price, int(lost_by_price[-1]))

    def _some(self, one: Instance, at: NDArray[np.intp] | slice) -> DenseRows:
        """Return some of the rows before the instance."""
        law = self._law
        rows = np.ascontiguousarray(law.rows[at], dtype=np.float64)
        return DenseRows(law.decider, law.table, rows, law.weights[at], one, at)


def blocks(rows: NDArray[Any]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield rows as floats, piece by piece."""
    step = max(PIECE // max(rows.shape[1], 1), 1)
    for first in range(0, len(rows), step):
        at = slice(first, min(first + step, len(rows)))
        yield at, np.ascontiguousarray(rows[at], dtype=np.float64)

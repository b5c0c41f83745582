"""Sets that are searched on some of the background rows, and counted over all of them.

Nothing that is said of a set rests on the part. Its guarantee is counted over all rows; that a set
misses delta is proved by rows that lose the class, whichever they are, once they weigh more than
may be lost (Lemma 53). No table of all rows before all rivals is ever made.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.engines._level import MOST_MIXED
from sklearn_probsr.engines.rows._branch_and_bound import BranchAndBound, Prices
from sklearn_probsr.engines.rows._greed import greedy
from sklearn_probsr.laws.rows._hard_rows import HardRows, all_lose, with_fixed
from sklearn_probsr.laws.rows._parted_view import PartedView
from sklearn_probsr.laws.rows._rows_prover import RowsProver
from sklearn_probsr.search._prover import Prover

__all__ = ["PartProver"]

# How many rows are looked at that are likely to be lost: so many times what may be, and these.
_TIMES, _MORE_TIMES, _LEAST = 4, 10, 1024
# A part of a quarter of the rows is large, and so is one with so many gains: rather than growing,
# it is asked for more weight, so often.
_ENOUGH, _MANY_GAINS, _TRIES = 4, 2**18, 8
# The most bytes of the table of its search, and the most cells: it proposes sets, and hardly ever
# proves anything.
_ROOM, _CELLS = 2**22, 20_000_000
# What is lost to so many of the closest rivals of a row is mostly enough.
_FEW_RIVALS = 3
# Where nearly all rows have to be kept, those that are lost join the part.
_NEARLY_ALL = Fraction(999, 1000)


class PartProver(Prover):
    """The sets of one instance, searched on a part of the rows.

    Parameters
    ----------
    view : PartedView
        The instance before all rows.
    task : Task
    shuffled : ndarray of intp
        All rows, in the order in which they are drawn.
    first : int
        How many are drawn at first. Where the set found misses delta over all rows, twice as many
        are, and so on.
    """

    def __init__(
        self, view: PartedView, task: Task, shuffled: NDArray[np.intp], first: int
    ) -> None:
        self.seen, self.task, self._shuffled = view, task, shuffled
        self.needed = math.ceil(task.delta * view.total)
        self.spare = view.total - self.needed
        self._strict = task.delta >= _NEARLY_ALL
        self._part = shuffled[: max(first // 4, 1) if self._strict else first]
        self.inner = self._searched()
        self._orders: list[list[int]] = []  # of the part, that reach so much weight
        self._enough = -1
        super().__init__(self.inner.view, task)
        self.view = view
        self._weights: dict[frozenset[int], int] = {}
        self._hard: HardRows | None = None

    def _searched(self) -> RowsProver:
        """Return what knows the sets of the rows that are drawn."""
        if self.whole:
            return RowsProver(self.seen, self.task)
        inner = RowsProver(self.seen.part(np.sort(self._part)), self.task)
        inner.room, inner.cells = _ROOM, min(inner.cells, _CELLS)
        if self._strict:
            inner.needed = inner.total - self.spare  # what misses that misses delta (Lemma 53)
        return inner

    # --- one set -----------------------------------------------------------------------------

    def weight(self, chosen: Collection[int]) -> int:
        """Return the weight of all rows that keep the class with a set of members fixed."""
        key = frozenset(chosen)
        if key not in self._weights:
            self._weights[key] = self.seen.weight([*self.forced, *key])
        return self._weights[key]

    def verdict(self, chosen: Collection[int]) -> bool:
        """Tell whether a set of members reaches the level over all rows."""
        if frozenset(chosen) not in self._weights and self._surely_misses(chosen):
            return False
        return self.weight(chosen) >= self.needed

    def worth(self, chosen: Collection[int]) -> int:
        """Return the weight of the rows that keep the class."""
        return self.weight(chosen)

    def _surely_misses(self, chosen: Collection[int]) -> bool:
        """Tell whether rows that are likely to be lost weigh too much (Lemma 53)."""
        return self._hard is not None and self._hard.lost([*self.forced, *chosen]) > self.spare

    # --- from the part to a set --------------------------------------------------------------

    def proposals(self) -> list[list[int]]:
        """Return the smallest set that the part gives, as an order, if all rows confirm it.

        The part is asked for more until they do; it grows while that is cheap, before one rival to
        all rows. If they do not, the rows that are lost say what to add.
        """
        tried = 0
        while not self.whole:
            found = self._smallest()
            if found is not None and self.verdict(found):
                return [self.in_order(found)]
            tried += 1
            if not self._ask_for_more(found, tried):
                reached = self.bisected(self._longer(found or ()))
                return [] if reached is None else [reached]
        return self.inner.proposals()

    def _ask_for_more(self, found: set[int] | None, tried: int) -> bool:
        """Ask the part for more, or make it grow; False if there is no room for that."""
        again = found is not None and tried <= _TRIES
        if found is not None and again and self._is_large and not self._strict:
            missing = self.needed - self.weight(found)
            self.inner.needed += -(-missing * self.inner.total // self.seen.total)
            return True
        if self._is_large and self.seen.is_large and self.seen.rivals > 1:
            return False
        if found is not None and again and self._strict and not self._is_large:
            self._part = self._joined(found)
        else:
            self._part = self._shuffled[: None if self._is_large else 2 * len(self._part)]
        del self.inner  # there is not room for both
        self.inner, self._enough = self._searched(), -1
        return True

    def _longer(self, found: Collection[int]) -> list[int]:
        """Return a set and then all other members, as greed adds them before the rows it loses."""
        chosen = self.in_order(found)
        rest = [u for u in self.members if u not in found]
        lost = np.argsort(self.seen.leads([*self.forced, *chosen]).least, kind="stable")
        some = self.seen.part(lost[: max(_MANY_GAINS // (self.seen.rivals * len(rest) or 1), 1)])
        order = greedy(with_fixed(some, rest, [*self.forced, *chosen]), math.inf, True)
        return [*chosen, *(rest[j] for j in order)]

    @property
    def _is_large(self) -> bool:
        n, gains = len(self._part), len(self._part) * self.seen.rivals * len(self.members)
        most = 2 * _MANY_GAINS if self._strict else _MANY_GAINS
        return _ENOUGH * n >= len(self._shuffled) or gains > most

    def _joined(self, found: Collection[int]) -> NDArray[np.intp]:
        """Return the part and, half as many, the rows that are lost most with a set fixed."""
        least = self.seen.leads([*self.forced, *found]).least
        least[self._part] = np.inf
        more = max(len(self._part) // 2, 1)
        return np.append(self._part, np.argpartition(least, more)[:more])

    def _smallest(self) -> set[int] | None:
        """Return the smallest set that is found to reach delta over the part."""
        inner = self.inner
        if inner.needed > self._enough:
            # Greed goes on where it would stop: the orders serve when more weight is asked for.
            needed, self._enough = inner.needed, (inner.needed + inner.total) // 2
            inner.needed = self._enough
            self._orders, inner.needed = inner.proposals(), needed
        prefixes = [inner.prefix(order) for order in self._orders]
        sets = [inner.pruned(prefix) for prefix in prefixes if prefix is not None]
        if not sets:
            return None
        best = min(sets, key=lambda s: (len(s), -inner.weight(s)))
        wanted = self.task.effort.wanted
        while wanted and best and not self.task.is_late:
            reached, smaller = inner.look(len(best) - 1)
            if not reached:
                break
            best = inner.pruned(inner.in_order(smaller))
        return inner.improve(best) if wanted else best

    @property
    def whole(self) -> bool:
        """Whether the part has become all rows."""
        return len(self._part) == len(self._shuffled)

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return an order that reaches the level; before all rows, its shortest prefix."""
        if self.whole:
            return self.inner.prefix(order)
        return order if self.verdict(order) else None

    def pruned(self, order: list[int]) -> set[int]:
        """Leave out what is not needed, the last and least first, until every unit is."""
        if self.whole:
            return self.inner.pruned(order)
        if self._hard is None:
            exposed = self.seen.leads([*self.forced, *order]).exposed
            self._hard = HardRows(self.seen, self._worst(exposed, _TIMES))
        self._hard.look_at([*self.forced, *order])
        return super().pruned(order)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members on the part; all rows must confirm it.

        That there is none is proved by the part if it may lose no more than all rows may.
        """
        reached, found = self.inner.look(size)
        if self.whole:
            self.least = max(self.least, self.inner.least)
            return reached, found
        if reached is False and self._strict:
            return False, set()
        return (True, found) if reached and self.verdict(found) else (None, set())

    def improve(self, chosen: set[int]) -> set[int]:
        """Return the better of a set and the best of its size on the part."""
        better = self.inner.improve(chosen)
        return better if self.weight(better) > self.weight(chosen) else chosen

    def best_of(self, size: int) -> set[int]:
        """Return the best set found of at most a size."""
        return self.inner.best_of(size)

    # --- what is proved over all rows --------------------------------------------------------

    def bound_least(self, size: int) -> None:
        """Raise ``least``, up to a size, by what the rows that have least to spare need alone."""
        worst = self.seen.margins.reshape(len(self.seen.weights), -1).min(axis=1)
        lost, each = np.zeros(size, dtype=np.int64), np.ones(len(self.members), dtype=np.int64)
        for piece in self.seen.pieces(len(self.members), self._worst(worst, _TIMES)):
            rows, safe = piece.opened(self.members, self.forced)
            lost += piece.total - safe - int(rows.weights.sum())  # whatever is fixed
            if rows.gains.size:
                lost += BranchAndBound(
                    rows, -self.seen.doubt, Prices(each, 1, size - 1, size - 1), 0
                ).lost
        fails = lost > self.spare
        self.least = size if fails.all() else int(np.argmin(fails))

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Prove that nothing can be left out, or leave it out."""
        if self.whole:
            return self.inner.claim(chosen)
        mixed = [u for u in self.in_order(chosen) if u not in self.pure]
        order = [*mixed, *(u for u in self.in_order(chosen) if u in self.pure)]
        if len(mixed) <= MOST_MIXED and self._are_needed(order, len(mixed)):
            return chosen, "subset-minimal", 0.0
        if self._hard is not None:
            self._hard.look_at([*self.forced, *order])
        return super().claim(chosen)

    def _are_needed(self, order: list[int], mixed: int) -> bool:
        """Prove by the rows that are lost most easily that nothing can be left out of a set.

        What is lost to the closest rivals of each row is lost, and mostly enough; else all rivals
        are looked at.
        """
        exposed = self.seen.leads([*self.forced, *order]).exposed
        places = self._worst(exposed, _MORE_TIMES)
        ways = dict.fromkeys((min(_FEW_RIVALS, self.seen.rivals), self.seen.rivals))
        sets = (order, self.forced, mixed)
        return any(all_lose(self.seen, places, sets, self.spare, few) for few in ways)

    def _worst(
        self, margins: NDArray[np.int64] | NDArray[np.float64], times: int
    ) -> NDArray[np.intp]:
        """Return the rows with the least margins, so many times as many as may be lost."""
        n = len(margins)
        size = min(max(times * n * self.spare // max(self.seen.total, 1), _LEAST), n)
        some = np.argpartition(margins, size)[:size] if size < n else np.arange(n)
        return some[np.argsort(margins[some], kind="stable")]  # the first are lost soonest

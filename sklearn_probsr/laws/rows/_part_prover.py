"""Sets that are searched on some of the background rows, and counted over all of them.

Nothing that is said of a set rests on the part. Its guarantee is counted over all rows; that a set
misses delta is proved by rows that lose the class, whichever they are, once they weigh more than
may be lost (Lemma 53).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._branch_and_bound import needed_alone
from sklearn_probsr.engines.rows._counts import Rows, kept_weight
from sklearn_probsr.engines.rows._pruning import is_needed
from sklearn_probsr.engines.sums._batch import MOST_MIXED
from sklearn_probsr.laws._prover import Prover
from sklearn_probsr.laws._task import Task
from sklearn_probsr.laws.rows._rows_prover import RowsProver
from sklearn_probsr.laws.rows._rows_view import PartedView

__all__ = ["PartProver"]

# How many rows are looked at that are likely to be lost: so many times what may be, and these.
_TIMES, _MORE_TIMES, _LEAST = 4, 10, 1024
# Gains that are looked at together.
_CELLS = 2**18
# A part of a quarter of the rows is large, and so is one with so many gains: rather than growing,
# it is asked for more weight, so often.
_ENOUGH, _MANY_GAINS, _TRIES = 4, 2**19, 8


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
        self._shuffled, self._drawn = shuffled, min(first, len(shuffled))
        self.seen, self.task = view, task
        self.inner = self._searched()
        super().__init__(self.inner.view, task)
        self.view = view
        self.needed = math.ceil(task.delta * view.total)
        self.spare = view.total - self.needed
        self._weights: dict[frozenset[int], int] = {}
        self._hard: tuple[dict[int, int], Rows] | None = None

    def _searched(self) -> RowsProver:
        """Return what knows the sets of the rows that are drawn."""
        if self.whole:
            return RowsProver(self.seen, self.task)
        return RowsProver(self.seen.part(np.sort(self._shuffled[: self._drawn])), self.task)

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
        if self._hard is None or not self._hard[0].keys() >= set(chosen):
            return False
        places, rows = self._hard
        at = np.array([places[u] for u in chosen], dtype=np.intp)
        kept, _, unsure = kept_weight(rows, at, self.seen.doubt)
        return not unsure and int(rows.weights.sum()) - int(kept) > self.spare

    # --- from the part to a set --------------------------------------------------------------

    def proposals(self) -> list[list[int]]:
        """Return the smallest set that the part gives, as an order, if all rows confirm it.

        The part grows until they do, or until it is all of them.
        """
        tried = 0
        while not self.whole:
            found = self._smallest()
            if found is not None and self.verdict(found):
                return [self.in_order(found)]
            tried += 1
            if found is not None and self._is_large and tried <= _TRIES:
                missing = self.needed - self.weight(found)
                self.inner.needed += -(-missing * self.inner.total // self.seen.total)
            else:
                self._grow()
        return self.inner.proposals()

    @property
    def _is_large(self) -> bool:
        gains = self._drawn * self._rivals * len(self.members)
        return _ENOUGH * self._drawn >= len(self._shuffled) or gains > _MANY_GAINS

    def _grow(self) -> None:
        """Draw as many rows again; where a part is large already, take all."""
        self._drawn = len(self._shuffled) if self._is_large else 2 * self._drawn
        del self.inner  # there is not room for both
        self.inner = self._searched()

    def _smallest(self) -> set[int] | None:
        """Return the smallest set that is found to reach delta over the part."""
        inner = self.inner
        prefixes = [inner.prefix(order) for order in inner.proposals()]
        sets = [inner.pruned(prefix) for prefix in prefixes if prefix is not None]
        if not sets:
            return None
        best = min(sets, key=lambda s: (len(s), -inner.weight(s)))
        wanted = self.task.effort.wanted
        while wanted and best:
            reached, smaller = inner.look(len(best) - 1)
            if not reached:
                break
            best = inner.pruned(inner.in_order(smaller))
        return inner.improve(best) if wanted else best

    @property
    def whole(self) -> bool:
        """Whether the part has become all rows."""
        return self._drawn == len(self._shuffled)

    def prefix(self, order: list[int]) -> list[int] | None:
        """Return an order that reaches the level; before all rows, its shortest prefix."""
        if self.whole:
            return self.inner.prefix(order)
        return order if self.verdict(order) else None

    def pruned(self, order: list[int]) -> set[int]:
        """Leave out what is not needed, the last and least first, until every unit is."""
        if self.whole:
            return self.inner.pruned(order)
        self._look_hard(order)
        return super().pruned(order)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most ``size`` members on the part; all rows must confirm it."""
        reached, found = self.inner.look(size)
        if self.whole:
            self.least = max(self.least, self.inner.least)
            return reached, found
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
        places, lost = self._worst(worst, _TIMES), 0
        alone = np.zeros(size + 1, dtype=np.int64)
        for start, stop in self._steps(len(places), len(self.members)):
            part = self.seen.part(places[start:stop])
            rows, safe = part.opened(self.members, self.forced)
            lost += part.total - safe - int(rows.weights.sum())  # whatever is fixed
            alone += needed_alone(rows, -self.seen.doubt, size)
        fails = lost + alone.sum() - np.cumsum(alone[:-1]) > self.spare
        self.least = size if fails.all() else int(np.argmin(fails))

    def _steps(self, n: int, units: int) -> Iterator[tuple[int, int]]:
        """Return pieces of so many rows before which the gains of some units are few."""
        step = max(_CELLS // (max(units, 1) * self._rivals), 1)
        yield from ((start, min(start + step, n)) for start in range(0, n, step))

    @property
    def _rivals(self) -> int:
        return len(self.seen.margins) // len(self.seen.weights)

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Prove that nothing can be left out, or leave it out."""
        if self.whole:
            return self.inner.claim(chosen)
        mixed = [u for u in self.in_order(chosen) if u not in self.pure]
        order = [*mixed, *(u for u in self.in_order(chosen) if u in self.pure)]
        for times in (_TIMES, _MORE_TIMES) if len(mixed) <= MOST_MIXED else ():
            places, rows = self._look_hard(chosen, times)
            at = np.array([places[u] for u in order], dtype=np.intp)
            needed = int(rows.weights.sum()) - self.spare
            if is_needed(rows, at, len(mixed), needed, self.seen.doubt):
                return chosen, "subset-minimal", 0.0
            del rows  # there is not room for two
        return super().claim(chosen)

    def _look_hard(
        self, chosen: Collection[int], times: int = _TIMES
    ) -> tuple[dict[int, int], Rows]:
        """Return the rows that are lost most easily when a unit of a set is left out.

        They come with the places of units in their table; they are remembered.
        """
        units = self.in_order(chosen)
        if self._hard is not None and self._hard[0].keys() >= set(units) and times == _TIMES:
            return self._hard
        self._hard = None  # there is not room for two
        n = len(self.seen.weights)
        worst = np.empty(n, dtype=np.int64)
        for start, stop in self._steps(n, len(units) + len(self.forced)):
            piece = self.seen.part(slice(start, stop))
            gains = piece.gains([*self.forced, *units])
            margins = piece.margins + gains.sum(axis=0)
            # With each unit of the set left out, the largest gain first.
            largest = gains[len(self.forced) :].max(axis=0, initial=0)
            worst[start:stop] = (margins - largest).reshape(stop - start, -1).min(axis=1)
        part = self.seen.part(self._worst(worst, times))
        margins = part.margins.copy()
        for u in self.forced:
            margins += part.gains([u])[0]
        rows = Rows(margins, part.weights, part.gains(units))
        self._hard = {u: j for j, u in enumerate(units)}, rows
        return self._hard

    def _worst(self, margins: NDArray[np.int64], times: int) -> NDArray[np.intp]:
        """Return the rows with the least margins, so many times as many as may be lost."""
        n = len(margins)
        size = min(max(times * n * self.spare // max(self.seen.total, 1), _LEAST), n)
        some = np.argpartition(margins, size)[:size] if size < n else np.arange(n)
        return some[np.argsort(margins[some], kind="stable")]  # the first are lost soonest

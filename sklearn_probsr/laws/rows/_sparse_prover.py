"""The sets of one instance over background rows that are mostly zeros."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.engines._level import MOST_MIXED
from sklearn_probsr.engines.rows._sparse_counts import are_needed, without_idle
from sklearn_probsr.laws.rows._rows_view import places
from sklearn_probsr.laws.rows._sparse_view import ALL, SparseView
from sklearn_probsr.search._prover import Prover

__all__ = ["SampledProver", "SparseProver"]


class SparseProver(Prover):
    """The sets of one instance, too many for a table of gains: of each column its rows are moved.

    What is proved is that nothing can be left out, and below which size no set is enough
    (Lemma 32). Sets of a size are not gone through.
    """

    members: Any

    def __init__(self, view: SparseView, task: Task) -> None:
        self.view, self.task, self.seen = view, task, view
        self.forced = list(task.include)
        self.members = view.sorted_by_gain(np.flatnonzero(view.open_to(task)))
        self.monotone = not bool(view.may_hurt(self.members).any())
        self.least = 0
        self.needed = math.ceil(task.delta * view.total)  # the least weight that reaches delta
        # Those of all rows with what is forced.
        self.margins = view.counted(self.forced)[1] if self.forced else view.ledger.margins
        self._places = np.zeros(view.n_units, dtype=np.intp)
        self._places[self.members] = np.arange(len(self.members))
        self.weights: dict[frozenset[int], int] = {}

    @cached_property
    def pure(self) -> set[int]:  # type: ignore[override]
        """The members that cannot gain."""
        return set(self.members[~self.seen.may_hurt(self.members)].tolist())

    def weight(self, chosen: Collection[int]) -> int:
        """Return the weight of the rows that keep the class with a set of members fixed."""
        key = frozenset(chosen)
        if key not in self.weights:
            kept, unsure, _ = self.seen.moved(self.margins, [*key], ALL, len(key))
            self.weights[key] = (
                self.seen.weight([*self.forced, *key]) if unsure[-1] else int(kept[-1])
            )
        return self.weights[key]

    def verdict(self, chosen: Collection[int]) -> bool:
        """Tell whether a set of members reaches the level."""
        return self.weight(chosen) >= self.needed

    def worth(self, chosen: Collection[int]) -> int:
        """Return the weight of the rows that keep the class."""
        return self.weight(chosen)

    def in_order(self, chosen: Collection[int]) -> list[int]:
        """Return a set in the order of the members."""
        return sorted(chosen, key=self._places.__getitem__)

    def proposals(self) -> list[Any]:
        """Return orders of the members: by mean gain, and as greed takes them in two ways."""
        return [self.members, *self._greedy(float(self.needed))]

    def _greedy(self, needed: float) -> list[NDArray[np.intp]]:
        both = (False, True)
        return [self.seen.greedy(self.margins, self.members, needed, hinge) for hinge in both]

    def prefix(self, order: Any) -> list[int] | None:
        """Return the shortest prefix of an order that reaches the level."""
        kept, unsure, _ = self.seen.moved(self.margins, order, self.needed, 0)
        open_ones = (k for k in np.flatnonzero(unsure).tolist() if self.verdict(order[:k]))
        size = next(open_ones, len(kept) - 1 if kept[-1] >= self.needed else None)
        return None if size is None else [int(u) for u in order[:size]]

    def pruned(self, order: list[int]) -> set[int]:
        """Leave out what is not needed, the last and least first, until every unit is."""
        table, steps = self.seen.table(self.margins, order), np.arange(len(order))
        stays, sure = without_idle(table, steps, self.needed, self.seen.doubt)
        if not sure:
            return super().pruned(order)
        return {u for u, stay in zip(order, stays.tolist(), strict=True) if stay}

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Prove that nothing can be left out, or leave it out."""
        order = self.in_order(chosen)
        if self.monotone and self.pruned(order) == chosen:
            return chosen, "subset-minimal", 0.0  # Corollary 4b
        hurts = self.seen.may_hurt(places(order))
        mixed = int(np.count_nonzero(hurts))
        word = "subset-minimal" if mixed <= MOST_MIXED else "locally-minimal"
        table, at = self.seen.table(self.margins, order), np.argsort(~hurts, kind="stable")
        mixed = mixed if mixed <= MOST_MIXED else 0  # too many: each alone
        if are_needed(table, at, mixed, self.needed, self.seen.doubt):
            return chosen, word, 0.0
        return super().claim(chosen)

    def best_of(self, size: int) -> set[int]:
        """Return the best set found of at most a size."""
        tried = []
        for order in (self.members, *self._greedy(math.inf)):
            some = order[:size]
            kept, _, _ = self.seen.moved(self.margins, some, ALL, len(some))
            tried.append(set(order[: int(np.argmax(kept))].tolist()))
        return max(tried, key=self.worth)

    def bound_least(self, size: int) -> None:
        """Raise ``least``, up to a size, by what each row needs on its own."""
        self.least = self.seen.least_size(self.margins, self.members, self.needed, size)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look at no set but the empty one and that of all members: there are too many."""
        if 0 < size < len(self.members):
            return None, set()
        chosen = set(self.members[:size].tolist())
        if self.verdict(chosen):
            return True, chosen
        return (False if size == 0 or self.monotone else None), set()


class SampledProver(SparseProver):
    """The sets of one instance, searched on a part of the rows and counted over all of them.

    As with `PartProver`, nothing that is said of a set rests on the part (Lemma 53).

    Parameters
    ----------
    view : SparseView
        The instance before all rows.
    task : Task
    searched : callable
        Yields what knows the sets of the instance on parts of the rows, each larger than the last.
    """

    def __init__(
        self,
        view: SparseView,
        task: Task,
        searched: Callable[[SparseView, Task], Iterator[Prover]],
    ) -> None:
        super().__init__(view, task)
        self._searched = searched

    def proposals(self) -> list[Any]:
        """Return the smallest set that a part gives, as an order, if all rows confirm it."""
        for part in self._searched(self.seen, self.task):
            prefixes = [part.prefix(order) for order in part.proposals()]
            sets = [part.pruned(prefix) for prefix in prefixes if prefix is not None]
            for found in sorted(sets, key=len):
                if self.verdict(found):
                    return [np.array(self.in_order(found), dtype=np.intp)]
        return super().proposals()

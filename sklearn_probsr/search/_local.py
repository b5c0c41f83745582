"""The search of rows: from proposals to a set that is proved to be minimal in some sense.

A law answers what it can for all rows together; every other row is searched by itself. Several
orders propose a prefix that reaches delta, the smallest is pruned until nothing can be left out,
and then smaller sets are looked for until there is none (proved), or none is found.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sklearn_probsr.core.answers import Found, unreachable
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Task
from sklearn_probsr.search._prover import Prover

__all__ = ["search"]


def search(law: Law, rows: Any, task: Task) -> Found:
    """Return a small set of each row that reaches delta, and what was proved of it."""
    found = Found.empty(len(rows), law.model.n_units)
    if not len(rows):  # whoever checks what may be asked has no kernel compiled for it
        return found
    rows = rows if law.takes_sparse else np.asarray(rows)
    task = law.within(rows, task)
    starts = law.together(rows, task, found)
    left = (found.minimality == "").nonzero()[0]
    for i, view in zip(left.tolist(), law.views(rows[left]), strict=True):
        asked = task.of_row(i)
        one = _Search(law.prover(view, asked), asked)
        give_up = partial(found.give_up, i, task=task)
        chosen, minimality, epsilon = one.run(give_up, law.distribution, starts.get(i))
        prover = one.prover
        found.write(
            i,
            [*prover.forced, *prover.in_order(chosen)],
            prover.guarantee(chosen),
            minimality,
            len(prover.forced) + prover.least,
            epsilon,
        )
        if asked.is_late and found.minimality[i] != "minimum":
            found.stopped[i] = "time"
        del one, prover  # tables as large as the data: there is not room for those of two rows
    return found


class _Search:
    """The search of one row."""

    def __init__(self, prover: Prover, task: Task) -> None:
        self.prover, self.task = prover, task

    def run(
        self, give_up: Callable[[str], None], over: Any, start: set[int] | None
    ) -> tuple[set[int], str, float]:
        """Return the row's set, what was proved of it, and the slack of that.

        ``start`` is a set that reaches delta, and from which nothing can be left out; ``give_up``
        is told why none does.
        """
        prover, members = self.prover, self.prover.members
        chosen = self.smallest() if start is None else self.shrink(self.shorter(start))
        most = len(members) if self.task.most is None else self.task.most
        if chosen is not None and len(chosen) > prover.least:
            near = prover.within_slack()
            if near is not None and len(near[0]) <= most:
                return near[0], "near-minimum" if near[1] else "minimum", near[1]
        if chosen is None or len(chosen) > most:
            chosen = prover.best_of(min(most, len(members)))
            verdict = prover.settled(chosen)
            if not verdict and self.task.max_size is None:
                known = prover.guarantee(chosen)
                misses = (known < self.task.delta).value
                what = "is not reached by any set found" if misses else "is not proved"
                best = f"the best guarantee found is {known}"
                if prover.monotone:  # it is that of all others together
                    best = f"the best guarantee that the others give is {known}"
                if verdict is False and (prover.monotone or prover.least > len(members)):
                    what = "cannot be reached"
                if not self.task.has_others(prover.view.n_units):
                    best = f"there are no others, and with nothing known the guarantee is {known}"
                give_up(unreachable(self.task, what, best, str(over)))
            if not verdict:
                return chosen, "best-of-size", 0.0
            chosen = prover.pruned(prover.in_order(chosen))
        elif self.task.effort.wanted and not self.task.is_late:
            chosen = prover.improve(chosen)
        if len(chosen) == prover.least:
            return chosen, "minimum", 0.0
        chosen, word, epsilon = prover.claim(chosen)
        return (chosen, "minimum", 0.0) if len(chosen) == prover.least else (chosen, word, epsilon)

    def smallest(self) -> set[int] | None:
        """Return the smallest set found that reaches delta."""
        prover = self.prover
        prefixes = [prover.prefix(order) for order in prover.proposals()]
        sets = [prover.pruned(prefix) for prefix in prefixes if prefix is not None]
        if not sets:
            return self.shrink(None)
        least = min(map(len, sets))
        best = [s for s in sets if len(s) == least]
        return self.shrink(best[0] if len(best) == 1 else max(best, key=prover.worth))

    def shorter(self, chosen: set[int]) -> set[int]:
        """Return a set no larger than the shortest prefix by mean cost that is seen to suffice."""
        prover = self.prover
        order = prover.proposals()[0][: max(len(chosen) - 1, 0)]
        sizes = [len(order)] if prover.monotone else range(len(order) + 1)
        if len(chosen) == 0 or not any(prover.verdict(order[:k]) for k in sizes):
            return chosen
        return prover.pruned(prover.prefix(order) or [])

    def shrink(self, chosen: set[int] | None) -> set[int] | None:
        """Look for smaller sets until there is none (proved) or none is found.

        Where a size stays open, smaller ones may not: then less is proved. With no set to start
        from, the first sets looked for are those of all sizes. With one, the time may be up.
        """
        prover, wanted = self.prover, self.task.effort.wanted or self.prover.view.chain
        if chosen and wanted and not self._is_late:
            prover.bound_least(len(chosen))
        size = len(prover.members) if chosen is None else len(chosen) - 1
        while size >= prover.least and not (chosen is not None and self._is_late):
            verdict, found = prover.look(size) if wanted or chosen is None else (None, set())
            if verdict:
                chosen = prover.pruned(prover.in_order(found))  # it may hold what it does not need
                size = len(chosen) - 1
            elif verdict is False:
                prover.least = size + 1
            elif chosen is None and not prover.view.chain:
                break
            else:
                size -= 1
        return chosen

    @property
    def _is_late(self) -> bool:
        """Whether the time of a row is up; where sets are prefixes, a look is nothing."""
        return self.task.is_late and not self.prover.view.chain

"""An order of very many units, followed: each size is told from the size before.

Fixing what is almost always as it is changes almost nothing, so that most sizes are told by one
before them (Lemma 138).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sklearn_probsr.laws.sums._thin_view import ThinCosts
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["Path", "first_along"]


class Path:
    """The sets of the first units of an order, asked for by increasing size.

    Parameters
    ----------
    view : ThinCosts
    order : sequence of int
    """

    def __init__(self, view: ThinCosts, order: Sequence[int]) -> None:
        self.view, self.order = view, list(order)
        own = view.own(self.order)
        self._levels = view.model.threshold - np.concatenate([[0.0], np.cumsum(own)])
        sizes = np.concatenate([[0.0], np.cumsum(np.abs(own))])
        self._sizes = abs(view.model.threshold) + sizes
        self._certain = view.certain_along(self.order)
        self._changes = view.changes_along(self.order)
        # More than what a difference of two of them is off by.
        self._doubt = 2.0**-52 * (len(self.order) + 2) * (1 + float(self._changes[-1]))
        self._spectrum, self._at = view.spectrum, 0
        self._running = self._spectrum.fixing([])

    def enclose(self, size: int) -> Enclosure:
        """Enclose the guarantee of the first so many units."""
        if self._certain[size]:
            return Enclosure.of(Fraction(1))
        if size > self._at:
            some = self.order[self._at : size]
            running = self._running.fixing(self._spectrum, some)
            self._spectrum, self._running = self._spectrum.renewed(running, self.order[:size])
            self._at = size
        level, sum_of_sizes = float(self._levels[size]), float(self._sizes[size])
        return self.view.told(self._spectrum, self._running, level, sum_of_sizes)

    def may_reach(self, size: int, above: Fraction, delta: Fraction) -> int:
        """Return the next size that may reach a level, if this one's guarantee is at most so much.

        Those between are refuted (Lemma 138).
        """
        change = float(self._changes[size]) + float(delta - above) - 2 * self._doubt
        return max(size + 1, int(np.searchsorted(self._changes, change)))


def first_along(duels: Sequence[ThinCosts], order: Sequence[int], delta: Fraction) -> int:
    """Return the first size along an order that surely keeps ahead of all rivals (Proposition 34).

    The rival that refuted the last size is asked first.
    """
    paths = [Path(duel, order) for duel in duels]
    size = 0
    while size < len(order):
        lost = Fraction(0)
        for i, path in enumerate(paths):
            below, above = path.enclose(size).ends()
            lost += 1 - below
            if 1 - lost < delta:
                paths.insert(0, paths.pop(i))
                size = path.may_reach(size, above, delta)
                break
        else:
            return size
    return len(order)

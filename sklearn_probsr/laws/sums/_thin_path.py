"""An order of very many units, followed: each size is told from the size before."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sklearn_probsr.laws.sums._thin_view import ThinCosts
from sklearn_probsr.model._enclosure import Enclosure

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
        self._at, self._running = 0, view.spectrum.fixing([])

    def enclose(self, size: int) -> Enclosure:
        """Enclose the guarantee of the first so many units."""
        if self._certain[size]:
            return Enclosure.of(Fraction(1))
        if size > self._at:
            some = self.order[self._at : size]
            self._running = self._running.fixing(self.view.spectrum, some)
            self._at = size
        level, sum_of_sizes = float(self._levels[size]), float(self._sizes[size])
        return self.view.told(self._running, level, sum_of_sizes)


def first_along(duels: Sequence[ThinCosts], order: Sequence[int], delta: Fraction) -> int:
    """Return the first size along an order that surely keeps ahead of all rivals (Proposition 34).

    The rival that refuted the last size is asked first.
    """
    paths = [Path(duel, order) for duel in duels]
    for size in range(len(order)):
        lost, ahead = Fraction(0), True
        for i, path in enumerate(paths):
            below, _ = path.enclose(size).ends()
            lost += 1 - below
            if 1 - lost < delta:
                paths.insert(0, paths.pop(i))
                ahead = False
                break
        if ahead:
            return size
    return len(order)

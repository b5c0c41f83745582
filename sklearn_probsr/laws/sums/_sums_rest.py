"""Rests of independent units: what may be lost is found by bisection on certified bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from sklearn_probsr.core.view import Duel, Rest, View
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.numbers import about

__all__ = ["LoweredRest"]

# How often a range is halved: what may be lost is known to a part in a thousand of the most that
# could be, and where that is nothing, to a part in a million. It is a guide only.
_HALVINGS, _MOST_HALVINGS = 10, 20


class LoweredRest(Rest):
    """The rest of facts that a view can be asked about at less than their worth.

    ``lower`` returns the view of the same instance, its facts worth less in each duel by so much;
    ``most`` is, for each duel, a loss that leaves no completion of the class.
    """

    def __init__(
        self,
        duels: list[Duel],
        delta: Fraction,
        features: Sequence[int],
        lower: Callable[[Sequence[Fraction]], View],
        most: Sequence[Fraction],
    ) -> None:
        super().__init__(duels, delta)
        self.features, self._lower, self.most = list(features), lower, most
        # Losses that are known to hold, and those that are not: all smaller ones hold as well, and
        # no larger one does.
        self._held: list[Sequence[Fraction]] = []
        self._broken: list[Sequence[Fraction]] = []

    def enclose(self, losses: Sequence[Fraction]) -> Enclosure:
        """Enclose the guarantee with such losses, narrow enough for a reader."""
        view = self._lower(losses)
        return view.enclose(self.features).intersect(view.enclose(self.features, self.delta))

    def holds(self, losses: Sequence[Fraction]) -> bool | None:
        """Tell whether delta is proved to hold with such losses; None where that is open."""
        if any(_within(losses, held) for held in self._held):
            return True
        if any(_within(broken, losses) for broken in self._broken):
            return None
        found = self.verdict(losses)
        (self._held if found else self._broken).append(list(losses))
        return found

    def verdict(self, losses: Sequence[Fraction]) -> bool | None:
        """Tell the same, and whether it is proved that delta does not hold."""
        view = self._lower(losses)
        certain = view.certain_along(self.features) if self.delta == 1 else None
        if certain is not None:
            return certain[-1]
        return (view.enclose(self.features, self.delta) >= self.delta).value

    def room(self, used: Sequence[Fraction], direction: Sequence[Fraction]) -> float:
        """Return about how many times a direction can be lost on top of what is used."""
        ends = [
            (most - loss) / step
            for most, loss, step in zip(self.most, used, direction, strict=True)
            if step > 0
        ]
        if not ends:
            return math.inf
        low, high = Fraction(0), max(min(ends), Fraction(0))
        for turn in range(_MOST_HALVINGS):
            if turn >= _HALVINGS and low:
                break
            middle = (low + high) / 2
            losses = [loss + middle * step for loss, step in zip(used, direction, strict=True)]
            if self.holds(losses):
                low = middle
            else:
                high = middle
        return about(low)


def _within(losses: Sequence[Fraction], others: Sequence[Fraction]) -> bool:
    """Tell whether no loss is larger than another's."""
    return all(a <= b for a, b in zip(losses, others, strict=True))

"""Widening: facts become sets of values, as wide as the guarantee allows.

First the slack is shared out so that many rows of the data fall under the rule; what no row can be
won with is shared equally; then each side takes what it still can, those first that win most rows.
Nothing rests on that but the number of rows: every box is asked of the law (Proposition 60), and
what is said of the next values is Corollary 61, with several classes Proposition 62.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Rest
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.numbers import about
from sklearn_probsr.rules._short_numbers import short_from, whole_from
from sklearn_probsr.rules._sides import NumberSide, Side, StateSide
from sklearn_probsr.rules._unit_values import Values

__all__ = ["Box", "widen"]


def widen(sides: list[Side], rest: Rest, values: Values) -> Box:
    """Widen facts until no single one can be widened to its next value, and cut them."""
    box = Box(sides, rest, values)
    if sides:  # else nothing depends on the facts
        box.share()
        box.fill()
        box.cut()
    return box


class Box:
    """How far each side of some facts is widened, and what that loses.

    Attributes
    ----------
    sides : list of Side
    steps : list of int
        How many values each takes in beyond the fact.
    cuts : dict of int to float
        Where the numbers of a side end, by its place.
    """

    def __init__(self, sides: list[Side], rest: Rest, values: Values) -> None:
        self.sides, self.rest = sides, rest
        self.steps = [0] * len(sides)
        self.cuts: dict[int, float] = {}
        self.rows, self.weights = values.sample
        self.nothing = [Fraction(0)] * len(rest.duels)
        self.direction = self._direction()
        # What a loss costs in each duel: its share of all that could be lost there.
        self.rates = [about(1 / d) if d else np.inf for d in self.direction]

    def _direction(self) -> list[Fraction]:
        """Return how much could be lost in each duel if nothing were lost in the others."""
        if len(self.nothing) == 1:
            return [Fraction(1)]
        found = []
        for k in range(len(self.nothing)):
            alone = [Fraction(int(j == k)) for j in range(len(self.nothing))]
            room = self.rest.room(self.nothing, alone)
            found.append(Fraction(room) if np.isfinite(room) else Fraction(2) ** 1000)
        return found

    def losses(self, changed: dict[int, list[Fraction]] | None = None) -> list[Fraction]:
        """Return what is lost in each duel, with the losses of some sides changed."""
        total = list(self.nothing)
        for j, side in enumerate(self.sides):
            each = (changed or {}).get(j)
            if each is None and j in self.cuts and isinstance(side, NumberSide):
                each = side.losses_at(self.cuts[j])
            for k, loss in enumerate(side.losses(self.steps[j]) if each is None else each):
                total[k] += loss
        return total

    def holds(self, changed: dict[int, list[Fraction]] | None = None) -> bool:
        """Tell whether delta is proved to hold."""
        return bool(self.rest.holds(self.losses(changed)))

    # --- sharing -----------------------------------------------------------------------------

    def share(self) -> None:
        """Share the slack out by the rows of the data, and step back where that is too far."""
        budget = self.rest.room(self.nothing, self.direction)
        if budget == np.inf:  # all may go, or there is nothing to lose anywhere
            self.steps = [side.steps for side in self.sides]
            if not self.holds():
                self.steps = [0] * len(self.sides)
            return
        from sklearn_probsr.rules._shares import share_out  # few explanations ask for rules

        costs = np.stack([side.costs(self.rows, self.rates) for side in self.sides], axis=1)
        with np.errstate(over="ignore"):
            near = costs.sum(axis=1) <= budget
        shares = share_out(costs[near], self.weights[near], budget)
        left = max(budget - float(shares.sum()), 0.0) / len(self.sides)
        for j, side in enumerate(self.sides):
            self.steps[j] = side.reached(float(shares[j]) + left, self.rates)
        if not self.holds():
            self._step_back()

    def _step_back(self) -> None:
        """Take single values back: rounding, or several duels at once, went too far."""
        for _ in range(2 * len(self.sides)):
            priced = [self._price(j) for j in range(len(self.sides))]
            worst = int(np.argmax(priced))
            if not priced[worst]:
                break
            self.steps[worst] -= 1
            if self.holds():
                return
        self.steps = [0] * len(self.sides)

    def _price(self, j: int) -> float:
        losses = self.sides[j].losses(self.steps[j])
        return max(about(x) * r if x else 0.0 for x, r in zip(losses, self.rates, strict=True))

    # --- taking what is left -----------------------------------------------------------------

    def fill(self) -> None:
        """Let each side go as far as it can, those first that win most rows."""
        open_sides = {j for j, side in enumerate(self.sides) if self.steps[j] < side.steps}
        while open_sides:
            far = {j: self._furthest(j) for j in sorted(open_sides)}
            open_sides = {j for j in open_sides if far[j] > self.steps[j]}
            if open_sides:
                best = max(sorted(open_sides), key=lambda j: self._won(j, far[j]))
                self.steps[best] = far[best]
                open_sides.discard(best)
        for j, side in enumerate(self.sides):
            if isinstance(side, StateSide) and len(self.nothing) > 1:
                self._pick(j, side)

    def _pick(self, j: int, side: StateSide) -> None:
        """Take in single states behind one that is refused: they may lose where there is room."""
        for state in side.order[self.steps[j] :]:
            side.bring_forward(state, self.steps[j])
            if self.holds({j: side.losses(self.steps[j] + 1)}):
                self.steps[j] += 1

    def _furthest(self, j: int) -> int:
        """Return how far one side can go if the others stay where they are."""
        side, low = self.sides[j], self.steps[j]

        def fine(step: int) -> bool:
            return self.holds({j: side.losses(step)})

        return _last(fine, low, side.steps)

    def _won(self, j: int, step: int) -> float:
        """Return the weight of the rows of the sample under the rule, one side further."""
        if not len(self.rows):
            return 0.0
        inside = np.ones(len(self.rows), dtype=np.bool_)
        for i, side in enumerate(self.sides):
            inside &= self._taken_in(side, step if i == j else self.steps[i])
        return float(self.weights[inside].sum())

    def _taken_in(self, side: Side, step: int) -> NDArray[np.bool_]:
        ones = [1.0] * len(self.nothing)
        limit = max(about(loss) for loss in side.losses(step))
        return side.costs(self.rows, ones) <= limit

    # --- cuts --------------------------------------------------------------------------------

    def cut(self) -> None:
        """End numbers between the last that is taken in and the first that cannot be."""
        numbers = [j for j, side in enumerate(self.sides) if isinstance(side, NumberSide)]
        share = self.rest.room(self.losses(), self.direction) / max(len(numbers), 1)
        for j in numbers:
            side = self.sides[j]
            assert isinstance(side, NumberSide)
            last = side.at(self.steps[j])
            self.cuts[j] = last
            if side.kind.bounded and self.steps[j] == side.steps:
                continue
            limit = side.beyond(share, self.rates, last)
            if self.steps[j] < side.steps:
                following = side.at(self.steps[j] + 1)
                limit = min(limit, following) if side.up else max(limit, following)
            chosen = (whole_from if side.kind.whole else short_from)(last, limit)
            if chosen != last and self.holds({j: side.losses_at(chosen)}):
                self.cuts[j] = chosen

    def recut(self, unit: int, low: float, high: float) -> None:
        """End the numbers of a unit elsewhere: not as far, as whoever asks has made sure."""
        for j, side in enumerate(self.sides):
            if side.unit == unit and isinstance(side, NumberSide):
                self.cuts[j] = high if side.up else low

    # --- what is proved ----------------------------------------------------------------------

    def nexts(self) -> list[str]:
        """Say of each side what is known of one value more.

        It is "refuted", "undecided", "conservative" (beyond the bound by the worst value in each
        duel, and perhaps only that), or there is "none".
        """
        return [
            "none" if self.steps[j] == side.steps else self._refused(j, side)
            for j, side in enumerate(self.sides)
        ]

    def _refused(self, j: int, side: Side) -> str:
        if len(self.nothing) == 1:
            further = side.losses(self.steps[j] + 1)
            verdict = self.rest.verdict(self.losses({j: further}))
            return "undecided" if verdict is None else "refuted"
        if not isinstance(side, StateSide):
            return "refuted" if self._is_refuted(j) else "conservative"
        for state in side.order[self.steps[j] :]:  # each of them could be the next
            side.bring_forward(state, self.steps[j])
            if not self._is_refuted(j):
                return "conservative"
        return "refuted"

    def _is_refuted(self, j: int) -> bool:
        """Tell whether the next value of a side is refuted at a corner that is worst for a duel."""
        corners = (self._corner(k, j) for k in range(len(self.nothing)))
        return any(self.rest.verdict(corner) is False for corner in corners)

    def guarantee(self) -> Enclosure:
        """Enclose the guarantee of the worst corner."""
        known = self.rest.enclose(self.losses())
        if len(self.nothing) == 1:
            return known
        corners = [self.rest.enclose(self._corner(k)) for k in range(len(self.nothing))]
        upper = min(corner.ends()[1] for corner in corners)
        return Enclosure.between(known.ends()[0], max(upper, known.ends()[0]))

    def _corner(self, k: int, further: int | None = None) -> list[Fraction]:
        """Return what is lost in each duel at the corner that is worst for one of them.

        Of one side the next value may be taken in.
        """
        total = list(self.nothing)
        for u in dict.fromkeys(side.unit for side in self.sides):
            places = [j for j, side in enumerate(self.sides) if side.unit == u]
            corners = [c for j in places for c in self._ends(j, further == j)]
            worst = max(corners, key=lambda losses: losses[k])
            total = [a + b for a, b in zip(total, worst, strict=True)]
        return total

    def _ends(self, j: int, further: bool) -> Sequence[list[Fraction]]:
        """Return what is lost in each duel at the values of a side that may be the worst."""
        side, step = self.sides[j], self.steps[j] + further
        if isinstance(side, StateSide):
            return [side.signed(s) for s in side.admitted(step)]
        assert isinstance(side, NumberSide)
        value = side.at(step) if further else self.cuts[j]
        return [side.signed_at(value), list(self.nothing)]


def _last(fine: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number up to which something holds, given that it does at the first."""
    reach = 1
    while low + reach <= high and fine(low + reach):
        low, reach = low + reach, 2 * reach
    above = min(low + reach, high + 1)
    while above - low > 1:
        middle = (low + above) // 2
        if fine(middle):
            low = middle
        else:
            above = middle
    return low

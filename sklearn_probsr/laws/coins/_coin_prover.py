"""The sets of one instance whose unknown features are fair coins, asked for one level.

The best set of each size is a prefix of the members by decreasing score (Corollary 6).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction

from sklearn_probsr.laws.coins._coin_view import CoinView
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._exact import float_above
from sklearn_probsr.search._prover import Prover

__all__ = ["CoinProver", "just_above"]


class CoinProver(Prover):
    """The sets of one instance whose unknown features are fair coins: prefixes are the best."""

    view: CoinView

    def verdict(self, chosen: Collection[int]) -> bool | None:
        """Tell whether a set of members reaches the level; None if that stays open."""
        if self.task.delta == 1:
            return self.view.is_certain([*self.forced, *chosen])
        return super().verdict(chosen)

    def guarantee(self, chosen: Collection[int]) -> Enclosure:
        """Enclose the guarantee of a set for a reader; it agrees with the verdict."""
        if self.task.delta == 1:
            return self.view.enclose([*self.forced, *chosen])
        return super().guarantee(chosen)

    def pruned(self, order: list[int]) -> set[int]:
        """Return the set: of a shortest prefix nothing is known to be superfluous."""
        return set(order)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        """Look at the best set of a size, the first members (Corollary 6)."""
        verdict = self.verdict(self.members[:size])
        return verdict, set(self.members[:size]) if verdict else set()

    def is_needed(self, size: int, place: int) -> bool | None:
        """Tell whether a member is in every set of a size that reaches the level (Prop. 63)."""
        others = [u for u in self.members[: size + 1] if u != self.members[place]]
        verdict = self.verdict(others[:size])
        return None if verdict is None else not verdict

    def is_possible(self, size: int, place: int) -> bool | None:
        """Tell whether a member is in some set of a size that reaches the level (Prop. 63)."""
        return self.verdict([*self.members[: size - 1], self.members[place]])

    def least_from(self, size: int) -> int:
        """Return the size, at most so large, below which nothing reaches the level as proved."""
        while size > 0 and self.verdict(self.members[: size - 1]) is not False:
            size -= 1
        return size

    def within_slack(self) -> tuple[set[int], float] | None:
        """Return the smallest set that is not surely too small, if it is within the slack."""
        if self.task.slack is None:
            return None
        small = self.members[: self.least]
        short = self.task.delta - Fraction(self.guarantee(small).lower)
        if short > self.task.slack:
            return None
        return set(small), float_above(max(short, Fraction(0)))

    def claim(self, chosen: set[int]) -> tuple[set[int], str, float]:
        """Say by how much smaller sets may exceed the level.

        No smaller set reaches ``delta + epsilon``, with epsilon just above ``upper_{k-1} - delta``.
        (Where nothing is excluded v_{k-1} < v_k, by Lemma 7, so the set is a minimum for some level
        in ``[delta, delta + epsilon]``.)
        """
        before = self.view.enclose(
            [*self.forced, *self.members[: len(chosen) - 1]], self.task.delta
        )
        return chosen, "near-minimum", just_above(Fraction(before.upper) - self.task.delta)


def just_above(value: Fraction) -> float:
    return math.nextafter(float_above(value), 2.0)

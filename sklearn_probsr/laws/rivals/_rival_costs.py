"""One instance before each of its rivals, if units are independent.

The events "ahead of rival j" have proved probabilities ``p_j``, and the class is kept with a
probability between ``1 - sum_j (1 - p_j)`` (the union bound) and ``min_j p_j`` (Proposition 34).
Where few completions are left they are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sklearn_probsr.core.monte_carlo import hoeffding_radius
from sklearn_probsr.core.view import TOL, View
from sklearn_probsr.laws.rivals._joint_counts import JointCounts
from sklearn_probsr.laws.rivals._pairs import PairedSets
from sklearn_probsr.laws.rivals._unions import union_above, union_below
from sklearn_probsr.laws.sums._costs import Costs
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["RivalCosts", "sampled", "together"]

# Guarantees whose proved bounds are further apart are sampled as well, so often, at this risk
# (Corollary 27).
_FAR_APART = 0.02
_SAMPLES = 100_000
_RISK = 1e-6
# Rivals that are ahead less often than this are not looked at in pairs: roughly, and sharply.
_SLIGHT = (3e-4, 3e-4, 3e-3)
# So many units of each order are those that sets are made of, most likely.
_AHEAD = 16
# Where the bounds of single duels make up so much of a width, sharper ones are asked for.
_ROUGHLY = 4.0


class RivalCosts(View):
    """What unknown units may cost an instance before each of its rivals, if independent."""

    def __init__(
        self,
        winner: int,
        duels: list[Costs],
        pairs: PairedSets,
        counts: JointCounts,
        draw: Callable[..., NDArray[np.int64]],
    ) -> None:
        super().__init__(duels[0].n_units)
        self.winner, self.duels, self.pairs, self._draw = winner, duels, pairs, draw
        self._counts = counts
        self._apart = False  # whether what is lost before two rivals may not be lost at once
        self._known: dict[tuple[frozenset[int], Fraction | None, float], Enclosure] = {}
        self._glances: dict[frozenset[int], list[Enclosure]] = {}
        self._counted: dict[frozenset[int], Fraction | None] = {}
        self._ahead: frozenset[int] = frozenset()  # what sets will be made of, most likely

    def lowered(self, features: Sequence[int], losses: Sequence[Fraction]) -> RivalCosts:
        """Return the same instance, before each rival with facts that are worth less.

        No instance need lose all of that at once: what is refuted is so by a single rival.
        """
        each = zip(self.duels, losses, strict=True)
        duels = [duel.lowered(features, loss) for duel, loss in each]
        lowered = RivalCosts(self.winner, duels, self.pairs, self._counts, self._draw)
        lowered._apart = True
        return lowered

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may cost anything, before some rival."""
        return any(duel.can_cost(unit) for duel in self.duels)

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown may gain anything, before some rival."""
        return any(duel.can_gain(unit) for duel in self.duels)

    def certain_along(self, order: Sequence[int]) -> list[bool]:
        """Tell for each size whether so many units along an order keep the class for certain."""
        return [
            all(each) for each in zip(*(d.certain_along(order) for d in self.duels), strict=True)
        ]

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set: by the union bound, and by the worst rival."""
        key = (frozenset(fixed), delta, tol)
        if key not in self._known:
            self._known[key] = self._enclose(*key)
        return self._known[key]

    def _enclose(self, fixed: frozenset[int], delta: Fraction | None, tol: float) -> Enclosure:
        """Look at rivals roughly, and more sharply if they leave the level open."""
        found = self.glance(fixed, delta)
        if found.exact is not None or (delta is not None and (found >= delta).decided):
            return found
        rough = sum(known.width for known in self._glances[fixed])
        if found.width <= _ROUGHLY * rough:
            each = [
                known if known.exact is not None else duel.enclose(fixed, None, tol)
                for known, duel in zip(self._glances[fixed], self.duels, strict=True)
            ]
            found = found.intersect(together(each))
            if delta is not None and (found >= delta).decided:
                return found
        return self._by_pairs(fixed, delta, found)

    def _by_pairs(
        self, fixed: frozenset[int], delta: Fraction | None, found: Enclosure
    ) -> Enclosure:
        """Narrow what is known by pairs of rivals, the likeliest first (Proposition 85)."""
        lost = [(1.0 - known.upper, 1.0 - known.lower) for known in self._glances[fixed]]
        order = sorted(range(len(lost)), key=lambda i: -lost[i][1])
        below, above = (np.array([lost[i][side] for i in order]) for side in (0, 1))
        most = np.minimum.outer(above, above)
        least = np.zeros_like(most)
        several = np.count_nonzero(above > _SLIGHT[0]) > 1
        levels = self.pairs.levels if several else range(0)
        places = [self.pairs.place(i, self.duels[i], fixed) for i in order] if levels else []
        for level in levels if delta is not None else levels[:1]:
            for b in range(1, int(np.count_nonzero(above > _SLIGHT[level]))):
                for a in range(b):
                    one, other = places[a], places[b]
                    if one is None or other is None:
                        continue
                    low, high = self.pairs.bounds(one, other, fixed, level)
                    least[a, b] = least[b, a] = max(least[a, b], low)
                    most[a, b] = most[b, a] = min(most[a, b], high)
                some = 0.0 if self._apart else union_below(below, most)
                kept = Enclosure.proved(1.0 - union_above(above, least), 1.0 - some)
                found = found.intersect(kept)
                if delta is not None and (found >= delta).decided:
                    return found
        return found

    def glance(self, fixed: Collection[int], delta: Fraction | None = None) -> Enclosure:
        """Enclose the guarantee of a set by quick bounds of the duels; of few completions exactly.

        With a level, the first rival that refutes it is enough.
        """
        key = frozenset(fixed)
        if key not in self._counted:
            self._counted[key] = None if self._apart else self._counts.guarantee(self.duels, key)
        counted = self._counted[key]
        if counted is not None:
            return Enclosure.of(counted)
        if key not in self._glances:
            each: dict[int, Enclosure] = {}
            near = next((some for some in (self.pairs.universe, self._ahead) if some >= key), None)
            for i in self._hardest_first:
                if near:
                    self.duels[i].focus(near)
                each[i] = self.duels[i].glance(key)
                if delta is not None and (each[i] >= delta).value is False:
                    return Enclosure(0.0, each[i].upper)
            self._glances[key] = [each[i] for i in range(len(self.duels))]
        return together(self._glances[key])

    @cached_property
    def _hardest_first(self) -> list[int]:
        """The rivals, those first that were closest if all sums were normal."""
        moments = [duel.moments for duel in self.duels]
        spare = np.array([m.margin - m.mean.sum() for m in moments])
        spread = np.sqrt([max(m.variance.sum(), 1e-300) for m in moments])
        return [int(i) for i in np.argsort(spare / spread, kind="stable")]

    def answer(self, fixed: Collection[int], tol: float) -> Enclosure:
        """Enclose the guarantee of a set for a reader.

        Where the union bound and the worst rival are far apart, completions are drawn as well, and
        what they say holds with a confidence.
        """
        return sampled(self, fixed, self.enclose(fixed, None, tol))

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members by mean cost, and as greed fixes them, were all sums normal."""
        means = np.array([duel.moments.mean for duel in self.duels])
        by_mean = [members[j] for j in np.argsort(-means[:, members].sum(axis=0), kind="stable")]
        by_greed = self._as_if_normal(members, list(forced), means)
        self._ahead = frozenset([*forced, *by_mean[:_AHEAD], *by_greed[:_AHEAD]])
        return [by_mean, by_greed]

    def _as_if_normal(
        self, members: list[int], forced: list[int], means: NDArray[np.float64]
    ) -> list[int]:
        variances = np.array([duel.moments.variance for duel in self.duels])
        margins = np.array([duel.moments.margin for duel in self.duels])
        left_mean = means.sum(axis=1) - means[:, forced].sum(axis=1)
        left_variance = variances.sum(axis=1) - variances[:, forced].sum(axis=1)
        order: list[int] = []
        free = list(members)
        while free:
            mean = left_mean[:, None] - means[:, free]
            spread = np.sqrt(np.maximum(left_variance[:, None] - variances[:, free], 1e-300))
            lost = ndtr((mean - margins[:, None]) / spread).sum(axis=0)
            # Where nothing is lost any more, what costs most on average comes first.
            best = free[int(np.lexsort((-means[:, free].sum(axis=0), lost))[0])]
            order.append(best)
            free.remove(best)
            left_mean -= means[:, best]
            left_variance -= variances[:, best]
        return order

    def ranking(self) -> list[int]:
        """Return all units in the order in which greed fixes them."""
        return self.orders(list(range(self.n_units)), ())[1]

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class, at every size."""
        sets = [[*forced, *order[:k]] for k in range(len(order) + 1)]
        return self._draw(sets, samples, rng)


def sampled(view: View, fixed: Collection[int], known: Enclosure) -> Enclosure:
    """Draw completions where bounds of a set are far apart; what they say has a confidence."""
    if known.width <= _FAR_APART:
        return known
    rng = np.random.default_rng(0)  # the same question has the same answer
    share = float(view.kept(list(fixed), [], _SAMPLES, rng)[0] / _SAMPLES)
    radius = hoeffding_radius(_SAMPLES, _RISK)
    lower, upper = max(known.lower, share - radius), min(known.upper, share + radius)
    # But for the risk, the two overlap.
    return Enclosure(min(lower, upper), max(lower, upper), 1 - _RISK)


def together(each: Iterable[Enclosure]) -> Enclosure:
    """Enclose the probability of winning every duel (Proposition 34)."""
    lost, least = Fraction(0), Fraction(1)
    for known in each:
        below, above = known.ends()
        lost += 1 - below
        least = min(least, above)
    return Enclosure.between(max(1 - lost, Fraction(0)), least)

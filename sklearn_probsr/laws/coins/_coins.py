"""Fair coins: every unknown feature is 0 or 1 with the same chance, independently.

Under the uniform distribution the features with positive scores, by decreasing score, are the
answer (Lemma 5): the best set of each size is a prefix, and prefixes only get better (Corollary
6). So one number is searched, the smallest k with ``v_k >= delta``. Rows are first tried all
together on tables that depend on the model alone; what those leave undecided goes through the
cascade of engines, row by row. A row's answer never depends on the other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.cache import Memo
from sklearn_probsr.core.law import Law, Lengths, Ranked, RankedSwaps
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Rest, Row, View
from sklearn_probsr.engines.coins._answers import Answers
from sklearn_probsr.engines.coins._deficits import Instance
from sklearn_probsr.engines.coins._enumeration import MOST_COMPILED
from sklearn_probsr.laws._sources import Source
from sklearn_probsr.laws.coins._coin_batch import claim_rows, decide, helping, tell
from sklearn_probsr.laws.coins._coin_prover import CoinProver
from sklearn_probsr.laws.coins._coin_view import CoinView
from sklearn_probsr.laws.coins._ranking import Ranking
from sklearn_probsr.laws.coins._whole import Shown
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._exact import about, float_above, float_below
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.search._prover import Prover, last_place
from sklearn_probsr.search._scout import CoverScout, Scout

if TYPE_CHECKING:
    from sklearn_probsr.engines.coins._swaps import Swaps
    from sklearn_probsr.laws.sums._independent import IndependentLaw

__all__ = ["CoinLaw"]

# Enclosures and rankings that are remembered.
_MOST_KNOWN, _MOST_RANKINGS = 4096, 8


class CoinLaw(Law):
    """A model of two classes on 0/1 features that are fair coins when they are unknown."""

    rows_at_once = 8192

    def __init__(
        self, model: LinearModel, core: LinearModel, distribution: Any, source: Source
    ) -> None:
        super().__init__(model, distribution)
        self.linear, self.core, self.source = model, core, source
        self._known: Memo[Enclosure] = Memo(_MOST_KNOWN)
        self._rankings: Memo[Ranking] = Memo(_MOST_RANKINGS)

    @cached_property
    def sums(self) -> IndependentLaw:
        """The same features as independent units: most questions never ask them."""
        from sklearn_probsr.laws.sums._independent import IndependentLaw

        return IndependentLaw(self.linear, self.distribution, self.source)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return np.full(self.model.n_features, 0.5)

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the columns of an unknown unit may be, and how likely each is."""
        return self.source.states(unit)

    def view(self, row: Row) -> CoinView:
        """Return one instance, a checked row, before this law."""
        return CoinView(Instance(self.core, self.linear.core_rows(row[None, :])[0]), self._known)

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> Rest:
        """Return what may be lost of some facts of an instance while delta holds."""
        return self.sums.rest(row, features, delta)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, CoinView)
        return CoinProver(view, task)

    def scout(self, prover: Prover, prices: dict[int, int], row: Row) -> Scout:
        """Return what looks ahead for the cheapest set of an instance: scores are a chain."""
        seen = prover.view
        assert isinstance(seen, CoinView)
        scores = seen.instance.magnitudes
        order = sorted(prover.members, key=lambda u: (-scores[u], prices[u]))
        if prover.task.delta == 1:
            needed = seen.beyond - sum(scores[u] for u in prover.forced if seen.can_cost(u))
            return CoverScout(order, prices, prover.verdict, [[scores[u] for u in order]], [needed])
        worth = [about(Fraction(scores[u])) for u in order]
        above = np.tri(len(order), k=-1, dtype=np.bool_).T
        return self.sums.along(order, prices, prover, row, worth, above)

    def together(self, rows: Row, task: Task, found: Found) -> dict[int, set[int]]:
        """Answer the rows that whole numbers or shared tables decide."""
        ones = np.ascontiguousarray(self.linear.core_rows(rows))
        given = Shown.of(self.core, ones, task)
        ranking = self._ranking(task.include)
        size, before = np.full(len(ones), -1, dtype=np.int64), np.zeros(len(ones))
        answers = Answers(size, found.lower, found.upper, before)
        needed = decide(ranking, given, task, answers)
        done = answers.size >= 0
        near = claim_rows(answers, task, found, done)
        if needed is not None:
            found.size_lower[done] = len(task.include) + needed[done]
        for i in near:
            prover, k = CoinProver(self.view(rows[i]), task.of_row(i)), int(answers.size[i])
            smaller = prover.verdict(prover.members[: k - 1])
            found.size_lower[i] = len(task.include) + prover.least_from(k)
            if smaller is False:  # what the tables left open, an engine has settled
                found.minimality[i], found.epsilon[i] = "minimum", 0.0
            elif smaller:
                found.minimality[i] = ""
                answers.size[i] = -1
        tell(ranking, given, answers.size, task, found)
        return {}

    def follow_together(
        self,
        rows: Row,
        orders: NDArray[np.intp],
        at: NDArray[np.int64],
        delta: Fraction,
        found: Lengths,
    ) -> NDArray[np.bool_]:
        """Follow orders on the spectra of the sums, and say which rows are left."""
        return self.sums.follow_together(rows, orders, at, delta, found)

    def score_together(
        self, rows: Row, mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Bound sets by the spectra of the sums, and say which rows are left."""
        return self.sums.score_together(rows, mask)

    def swaps(self, rows: Row, task: Task, sizes: NDArray[np.int64]) -> RankedSwaps:
        """Tell how far down its ranking members are in every minimum reason, and in some."""
        from sklearn_probsr.laws.coins._coin_swaps import no_swaps

        given = Shown.of(self.core, self.linear.core_rows(rows), task)
        ranking = self._ranking(task.include)
        helps = helping(ranking, given, task.exclude)
        swaps = no_swaps(sizes, helps.sum(axis=1))
        self._narrow(swaps, ranking, given, rows, task, sizes)
        return RankedSwaps(swaps, ranking.features, helps)

    def _narrow(
        self,
        swaps: Swaps,
        ranking: Ranking,
        given: Shown,
        rows: Row,
        task: Task,
        sizes: NDArray[np.int64],
    ) -> None:
        """Narrow down what is open, by tables of all rows, or by sets of one."""
        from sklearn_probsr.laws.coins._coin_swaps import open_swaps, swaps_on_table

        tables = ranking.usable and ranking.integers is None and task.delta < 1
        left = np.flatnonzero(sizes > 0)
        for table in ranking.swap_tables() if tables and len(left) else ():
            swaps_on_table(ranking, table, given, task, sizes, swaps, left)
            left = left[open_swaps(swaps, left)]
            if not len(left):
                return
        # Where there are many features the tables have the last word, as in a search.
        if tables and len(ranking.features) > MOST_COMPILED and ranking.has_swaps:
            return
        for i in left.tolist():
            prover, size = CoinProver(self.view(rows[i]), task.of_row(i)), int(sizes[i])
            needed, possible = (partial(f, size) for f in (prover.is_needed, prover.is_possible))
            swaps.needed[i] = last_place(needed, *swaps.needed[i].tolist())
            swaps.possible[i] = last_place(possible, *swaps.possible[i].tolist())

    def ranked_sets(self, row: Row, task: Task) -> Ranked:
        """Return the members of a row by rank, and what bounds a set of places among them."""
        from sklearn_probsr.laws.coins._coin_swaps import SetBounds

        prover = CoinProver(self.view(row), task)
        quick = SetBounds.of(self._ranking(task.include), prover.view.instance.row, task)

        def bound(places: tuple[int, ...]) -> tuple[bool | None, float]:
            chosen = [prover.members[p] for p in places]
            if quick is not None:
                lower, upper = quick.bounds(chosen)
                if lower >= float_above(task.delta):
                    return True, lower
                if upper < float_below(task.delta):
                    return False, lower
            verdict = prover.settled(chosen)
            return verdict, prover.guarantee(chosen).lower if verdict else 0.0

        return prover.members, bound

    def _ranking(self, forced: tuple[int, ...]) -> Ranking:
        return self._rankings.get(forced, lambda: Ranking.of(self.core, forced))

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        sums = self.sums.nbytes if "sums" in vars(self) else 0
        return sums + sum(ranking.nbytes for ranking in self._rankings.values())

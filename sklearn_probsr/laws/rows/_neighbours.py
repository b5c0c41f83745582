"""Matches: the rows that share facts with an instance, counted, and a bound from those held out.

What the bound is worth, and why rows are split, is Theorem 14; which facts need not be looked at is
Lemma 150.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.view import TOL, View
from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.engines._clopper_pearson import clopper_pearson
from sklearn_probsr.engines.rows._facts import Facts, Missed, worth
from sklearn_probsr.engines.rows._telling_facts import missed_by, telling
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws.rows._matched_rows import Table
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._exact import float_below

__all__ = [
    "Count",
    "Matches",
    "Neighbours",
    "counts",
    "greedy_order",
]

# What a standard deviation of lead counts for in a cautious search, beside the share.
_FIRMNESS = 0.02
# Of so many facts those that cannot tell are left out before the search.
_MANY = 256
# The facts that rows do not share are listed row by row if these are so many times fewer than all.
_FEWER = 16


class Count(NamedTuple):
    """Of some rows, how many share the facts, and how many of those keep the class."""

    kept: int
    matching: int
    rows: int

    def __str__(self) -> str:
        return f"{self.kept} of {self.matching}"


@dataclass(frozen=True)
class Matches:
    """The rows that share the facts of a reason.

    Attributes
    ----------
    searched : Count
        In the part that the set was searched on: ``kept`` of ``matching`` among ``rows``.
    confirmed : Count
        In the part that was held out, which alone the guarantee is made of.
    """

    searched: Count
    confirmed: Count

    @property
    def descriptive(self) -> Count:
        """In all rows together. It describes them; as an estimate it is optimistic."""
        kept, matching, rows = map(sum, zip(self.searched, self.confirmed, strict=True))
        return Count(kept, matching, rows)

    @property
    def coverage(self) -> float:
        """The share of the rows held out that share the facts."""
        return self.confirmed.matching / max(self.confirmed.rows, 1)


class Neighbours(View):
    """One instance before rows that may share its facts: it is given by its states."""

    side = True  # that of the instance's own class

    def __init__(self, table: Table, law: Matching, states: NDArray[Any]) -> None:
        super().__init__(len(states))
        self.states = states
        self.confidence = law.confidence
        self._firmness = _FIRMNESS if law.cautious else 0.0
        self._table = table

    def can_cost(self, unit: int) -> bool:
        """Tell whether fixing a unit can help: with fewer rows, anything can happen."""
        return True

    def can_gain(self, unit: int) -> bool:
        """Tell whether fixing a unit can hurt: with fewer rows, anything can happen."""
        return True

    def matches(self, features: Collection[int]) -> Matches:
        """Count the rows that share the facts of a set."""
        parts = self._table.searched, self._table.confirmed
        return Matches(*(Count(*part.count(self.states, self.side, features)) for part in parts))

    def members(self) -> list[int]:
        """Return the units that fixing can help: all of them."""
        return list(range(self.n_units))

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the probability that a row which shares the facts of a set keeps the class."""
        kept, matching, _ = self._table.confirmed.count(self.states, self.side, fixed)
        return self._confirmed(kept, matching)

    def along(self, order: Sequence[int], tol: float) -> list[Enclosure]:
        """Enclose the guarantee with the first 0, 1, 2, ... of an order fixed.

        A row counts up to the first fact that it does not share.
        """
        found = self._table.confirmed.counts_along(self.states, self.side, order)
        known = {pair: self._confirmed(*pair) for pair in set(found)}
        return [known[pair] for pair in found]

    def _confirmed(self, kept: int, matching: int) -> Enclosure:
        """Enclose the chance of which so many rows held out tell, a copy of the instance apart."""
        part, risk = self._table.confirmed, 1 - self.confidence
        lower, upper = clopper_pearson(kept, matching, risk)
        if part.place(self.states, self.side) is not None:
            # The copy may be another row after all. Then it counts, which raises both bounds: this
            # lower one and that upper one hold either way.
            _, upper = clopper_pearson(kept + 1, matching + 1, risk)
        return Enclosure(lower, upper, float_below(self.confidence))

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members in the order in which greed adds facts in the rows searched."""
        return [[members[k] for k in greedy_order(self.facts(forced, members))]]

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Refuse: rows are counted, and none is drawn."""
        raise InvalidInputError("Matching counts rows and draws none: use method='certified'.")

    def facts(self, forced: Collection[int], candidates: Collection[int]) -> Facts:
        """Return which of the rows searched share each candidate, and which all that is forced."""
        (good, all_good), (bad, all_bad) = (
            self._table.bits(self.states, side, forced, candidates)
            for side in (self.side, not self.side)
        )
        own = self._table.searched.place(self.states, self.side)
        if own is not None:
            all_good[own // 64] &= ~(np.uint64(1) << np.uint64(own % 64))
        leads = self._table.searched.leads
        return Facts(
            good, bad, all_good, all_bad, leads[self.side], leads[not self.side], self._firmness
        )

    def telling(
        self, forced: Collection[int], candidates: NDArray[np.intp], least: int
    ) -> tuple[NDArray[np.intp], Facts, Missed | None]:
        """Return the candidates that a search need look at (Lemma 150), and what they leave.

        Where rows share most of them, also which ones each row does not.
        """
        if len(candidates) < _MANY:  # the search leaves them out itself as quickly
            return candidates, self.facts(forced, candidates), None
        some = self._table.promising(self.states, forced, candidates, least)
        facts = self.facts(forced, some)
        kept = telling(facts, least)
        facts = facts._replace(good=facts.good[kept], bad=facts.bad[kept])
        return some[kept], facts, _missed(facts)


def _missed(facts: Facts) -> Missed | None:
    """Return the facts that each row does not share, if that is short."""
    found: list[NDArray[Any]] = []
    for bits, everyone in ((facts.good, facts.all_good), (facts.bad, facts.all_bad)):
        most = int(np.bitwise_count(everyone).sum()) * len(bits) // _FEWER
        starts, missed = missed_by(bits, everyone, most)
        if len(starts) == 1:
            return None
        found += [starts, missed]
    bads = int(np.bitwise_count(facts.all_bad).sum())
    good_starts, good, bad_starts, bad = found
    return Missed(good_starts, good, bad_starts, bad, -(-len(bad) // max(bads, 1)))


def greedy_order(facts: Facts) -> list[int]:
    """Return facts in an order: always the one next that leaves the rows that are worth most.

    Facts that leave all rows change no count: those before the first one that does are taken at
    once, so that there are no more turns than rows, however many facts there are.
    """
    good, bad = facts.all_good, facts.all_bad
    left, found = np.arange(len(facts.good)), [np.zeros(0, dtype=np.intp)]
    goods, bads = np.array(counts(facts, good, bad), dtype=np.int64).reshape(-1, 2).T
    while len(left):
        worths = _worths(goods[left], bads[left])
        rows = [int(np.bitwise_count(some).sum()) for some in (good, bad)]
        best = np.flatnonzero(worths == worths.max())
        idle = (goods[left[best]] == rows[0]) & (bads[left[best]] == rows[1])
        taken = best[: max(int(np.argmin(np.append(idle, False))), 1)]
        first = left[taken[0]]
        found.append(left[taken])
        left = np.delete(left, taken)
        gone = good & ~facts.good[first], bad & ~facts.bad[first]
        goods, bads = goods - _shared(facts.good, gone[0]), bads - _shared(facts.bad, gone[1])
        good, bad = good & facts.good[first], bad & facts.bad[first]
    return [int(k) for k in np.concatenate(found)]


def _worths(goods: NDArray[np.int64], bads: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what counts are worth, each pair of them looked at once."""
    # As numbers: NumPy compares pairs in Python, and of Ctrl-C there it makes a TypeError.
    wide = int(bads.max()) + 1
    pairs, places = np.unique(goods * wide + bads, return_inverse=True)
    return np.array([worth(*divmod(pair, wide)) for pair in pairs.tolist()])[places]


def _shared(each: NDArray[np.uint64], rows: NDArray[np.uint64]) -> Any:
    """Count for each fact the rows, of some, that share it."""
    at = np.flatnonzero(rows)
    return np.bitwise_count(each[:, at] & rows[at]).sum(axis=1, dtype=np.int64) if len(at) else 0


def counts(
    facts: Facts, good: NDArray[np.uint64], bad: NDArray[np.uint64]
) -> list[tuple[int, int]]:
    """Count the good and the bad rows that are left with each of the facts more."""
    goods = np.bitwise_count(facts.good & good).sum(axis=1, dtype=np.int64)
    bads = np.bitwise_count(facts.bad & bad).sum(axis=1, dtype=np.int64)
    return list(zip(goods.tolist(), bads.tolist(), strict=True))

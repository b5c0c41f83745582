"""Matches: the rows that share facts with an instance, counted, and a bound from those held out.

What the bound is worth, and why rows are split, is Theorem 14.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.engines._clopper_pearson import clopper_pearson
from sklearn_probsr.engines.rows._facts import Facts, worth
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws._view import TOL, View
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._exact import float_below

__all__ = [
    "Count",
    "Matches",
    "Neighbours",
    "Table",
    "and_all",
    "counts",
    "states_of",
]

# What a standard deviation of lead counts for in a cautious search, beside the share.
_FIRMNESS = 0.02


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


class _Part:
    """Some of the rows, by class, as the states of their units."""

    def __init__(
        self,
        states: NDArray[np.int64],
        positive: NDArray[np.bool_],
        leads: NDArray[np.float64],
    ) -> None:
        self.n = len(states)
        self.leads = {side: leads[positive == side] for side in (False, True)}
        self.states = {side: states[positive == side] for side in (False, True)}
        self._places = {
            side: {row.tobytes(): r for r, row in enumerate(rows)}
            for side, rows in self.states.items()
        }

    def place(self, states: NDArray[np.int64], side: bool) -> int | None:
        """Return where a copy of an instance is, among the rows of its class."""
        return self._places[side].get(states.tobytes())

    def count(self, states: NDArray[np.int64], side: bool, features: Collection[int]) -> Count:
        """Count the rows that share facts with an instance, a copy of it left out."""
        own = self.place(states, side) is not None
        at = list(features)
        kept, others = (
            int(np.count_nonzero((self.states[which][:, at] == states[at]).all(axis=1)))
            for which in (side, not side)
        )
        return Count(kept - own, kept + others - own, self.n - own)


class Table:
    """What a model sees in the rows: the states of their units, and whether they are of a class."""

    def __init__(self, model: Model, law: Matching, rows: NDArray[Any], winner: int) -> None:
        states, positive = states_of(model, rows), model.winners(rows) == winner
        leads, held = _leads(model, rows, winner), law.confirming
        self.searched = _Part(states[~held], positive[~held], leads[~held])
        self.confirmed = _Part(states[held], positive[held], leads[held])
        if model.units is None:
            widths = [2] * model.n_units
        else:
            widths = [len(unit.states or ()) for unit in model.units]
        self.starts = np.cumsum([0, *widths])[:-1]
        self.bits, self.everyone = {}, {}
        for side, part in self.searched.states.items():
            inside = np.zeros((sum(widths) + 1, len(part)), dtype=np.bool_)
            inside[(self.starts + part).T, np.arange(len(part))] = True
            inside[-1] = True
            *states_bits, everyone = _packed(inside)
            self.bits[side], self.everyone[side] = np.array(states_bits), everyone
        self.nbytes = sum(bits.nbytes for bits in self.bits.values()) + 3 * states.nbytes


def _leads(model: Model, rows: NDArray[Any], winner: int) -> NDArray[np.float64]:
    """Return about how far each row is on the side of a class, at most 1."""
    finite: NDArray[np.float64] = np.nan_to_num(model.leads(rows, winner))
    return finite / (np.abs(finite).max(initial=0.0) or 1.0)


def _packed(inside: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return booleans as words of 64, at least one."""
    words = max(-(-inside.shape[1] // 64), 1)
    padded = np.zeros((len(inside), 64 * words), dtype=np.bool_)
    padded[:, : inside.shape[1]] = inside
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def states_of(model: Model, rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return which state every unit of checked rows is in."""
    if model.units is None:
        return rows.astype(np.int64)
    found = np.zeros((len(rows), model.n_units), dtype=np.int64)
    for u, unit in enumerate(model.units):
        part = rows[:, list(unit.columns)]
        for number, state in enumerate(unit.states or ()):
            found[(part == state).all(axis=1), u] = number
    return found


class Neighbours(View):
    """One instance before rows that may share its facts: it is given by its states."""

    side = True  # that of the instance's own class

    def __init__(self, table: Table, law: Matching, states: NDArray[np.int64]) -> None:
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
        return Matches(*(part.count(self.states, self.side, features) for part in parts))

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the probability that a row which shares the facts of a set keeps the class."""
        part, risk = self._table.confirmed, 1 - self.confidence
        kept, matching, _ = part.count(self.states, self.side, fixed)
        lower, upper = clopper_pearson(kept, matching, risk)
        if part.place(self.states, self.side) is not None:
            # The copy may be another row after all. Then it counts, which raises both bounds: this
            # lower one and that upper one hold either way.
            _, upper = clopper_pearson(kept + 1, matching + 1, risk)
        return Enclosure(lower, upper, float_below(self.confidence))

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members in the order in which greed adds facts in the rows searched."""
        left = list(range(len(members)))
        facts = self.facts(forced, members)
        good, bad = facts.all_good, facts.all_bad
        order: list[int] = []
        while left:
            worths = [worth(*count) for count in counts(facts, good, bad)]
            best = max(left, key=worths.__getitem__)
            order.append(members[best])
            left.remove(best)
            good, bad = good & facts.good[best], bad & facts.bad[best]
        return [order]

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Refuse: rows are counted, and none is drawn."""
        raise InvalidInputError("Matching counts rows and draws none: use method='certified'.")

    def facts(self, forced: Collection[int], candidates: Collection[int]) -> Facts:
        """Return which of the rows searched share each candidate, and which all that is forced."""
        at = self._table.starts + self.states
        (good, all_good), (bad, all_bad) = (
            (
                self._table.bits[side][at[list(candidates)]],
                and_all(self._table.everyone[side], self._table.bits[side][at[list(forced)]]),
            )
            for side in (self.side, not self.side)
        )
        own = self._table.searched.place(self.states, self.side)
        if own is not None:
            all_good[own // 64] &= ~(np.uint64(1) << np.uint64(own % 64))
        leads = self._table.searched.leads
        return Facts(
            good, bad, all_good, all_bad, leads[self.side], leads[not self.side], self._firmness
        )


def and_all(start: NDArray[np.uint64], facts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the rows that share all of some facts."""
    rows = start.copy()
    for fact in facts:
        rows &= fact
    return rows


def counts(
    facts: Facts, good: NDArray[np.uint64], bad: NDArray[np.uint64]
) -> list[tuple[int, int]]:
    """Count the good and the bad rows that are left with each of the facts more."""
    goods = np.bitwise_count(facts.good & good).sum(axis=1, dtype=np.int64)
    bads = np.bitwise_count(facts.bad & bad).sum(axis=1, dtype=np.int64)
    return list(zip(goods.tolist(), bads.tolist(), strict=True))

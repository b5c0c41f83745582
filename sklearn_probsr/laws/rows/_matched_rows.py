"""Rows that may share facts with an instance: the states of their units, as a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model._base import Model

__all__ = ["Bits", "MatchedRows", "Part", "Table", "and_all", "leads_of", "left_along", "states_of"]


class Bits(NamedTuple):
    """Which of some rows share each fact, 64 to a word, and which share all that is forced."""

    each: NDArray[np.uint64]
    everyone: NDArray[np.uint64]


class Part(Protocol):
    """Some of the rows, by class."""

    leads: dict[bool, NDArray[np.float64]]

    def place(self, states: NDArray[Any], side: bool) -> int | None:
        """Return where a copy of an instance is, among the rows of its class."""

    def count(
        self, states: NDArray[Any], side: bool, features: Collection[int]
    ) -> tuple[int, int, int]:
        """Count the rows that share facts with an instance, a copy of it left out.

        How many of them keep the class, how many there are, and of how many rows.
        """

    def counts_along(
        self, states: NDArray[Any], side: bool, order: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Count the same for the first 0, 1, 2, ... of an order: those that keep it, and all."""


class Table(Protocol):
    """What a model sees in the rows: the states of their units, and whether they are of a class."""

    @property
    def searched(self) -> Part:
        """The rows that are searched."""

    @property
    def confirmed(self) -> Part:
        """The rows that were held out."""

    def promising(
        self, states: NDArray[Any], forced: Collection[int], units: NDArray[np.intp], least: int
    ) -> NDArray[np.intp]:
        """Leave out facts of an instance that a search need not look at, where many are seen."""

    def bits(
        self, states: NDArray[Any], side: bool, forced: Collection[int], units: Collection[int]
    ) -> Bits:
        """Return which of the rows searched, on one side, share facts of an instance."""


class _MatchedPart:
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

    def count(
        self, states: NDArray[np.int64], side: bool, features: Collection[int]
    ) -> tuple[int, int, int]:
        """Count the rows that share facts with an instance, a copy of it left out."""
        own = self.place(states, side) is not None
        at = list(features)
        kept, others = (
            int(np.count_nonzero((self.states[which][:, at] == states[at]).all(axis=1)))
            for which in (side, not side)
        )
        return kept - own, kept + others - own, self.n - own

    def counts_along(
        self, states: NDArray[np.int64], side: bool, order: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Count the rows that share the first facts of an order, a copy left out."""
        own, at = self.place(states, side) is not None, list(order)
        kept, others = (
            left_along(_first_missed(self.states[which][:, at] != states[at]), len(at)) - own * mine
            for which, mine in ((side, True), (not side, False))
        )
        return list(zip(kept.tolist(), (kept + others).tolist(), strict=True))


class MatchedRows:
    """The rows before one class: a table of states, and bits of every state."""

    def __init__(
        self, model: Model, rows: NDArray[Any], held: NDArray[np.bool_], winner: int
    ) -> None:
        states, positive = states_of(model, rows), model.winners(rows) == winner
        leads = leads_of(model, rows, winner)
        self.searched = _MatchedPart(states[~held], positive[~held], leads[~held])
        self.confirmed = _MatchedPart(states[held], positive[held], leads[held])
        if model.units is None:
            widths = [2] * model.n_units
        else:
            widths = [len(unit.states or ()) for unit in model.units]
        self._starts = np.cumsum([0, *widths])[:-1]
        self._bits, self._everyone = {}, {}
        for side, part in self.searched.states.items():
            inside = np.zeros((sum(widths) + 1, len(part)), dtype=np.bool_)
            inside[(self._starts + part).T, np.arange(len(part))] = True
            inside[-1] = True
            *states_bits, everyone = _packed(inside)
            self._bits[side], self._everyone[side] = np.array(states_bits), everyone
        self.nbytes = sum(bits.nbytes for bits in self._bits.values()) + 3 * states.nbytes

    def promising(
        self, states: NDArray[Any], forced: Collection[int], units: NDArray[np.intp], least: int
    ) -> NDArray[np.intp]:
        """Return all facts: the bits of all are there."""
        return units

    def bits(
        self, states: NDArray[Any], side: bool, forced: Collection[int], units: Collection[int]
    ) -> Bits:
        """Return which of the rows searched, on one side, share facts of an instance."""
        at, bits = self._starts + states, self._bits[side]
        return Bits(bits[at[list(units)]], and_all(self._everyone[side], bits[at[list(forced)]]))


def left_along(first_missed: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Count the rows that share the first 0, 1, ..., n facts, from the first that each does not.

    Of a row that shares all, that is n.
    """
    ends = np.bincount(first_missed, minlength=n + 1)
    return np.cumsum(ends[::-1])[::-1]


def _first_missed(misses: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the place of the first fact that each row does not share, or how many there are."""
    found = misses.argmax(axis=1) if misses.shape[1] else np.zeros(len(misses), dtype=np.int64)
    return np.where(misses.any(axis=1), found, misses.shape[1]).astype(np.int64)


def leads_of(model: Model, rows: Any, winner: int) -> NDArray[np.float64]:
    """Return about how far each row is on the side of a class, at most 1."""
    finite: NDArray[np.float64] = np.nan_to_num(model.leads(rows, winner))
    return finite / (np.abs(finite).max(initial=0.0) or 1.0)


def and_all(start: NDArray[np.uint64], facts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the rows that share all of some facts."""
    rows = start.copy()
    for fact in facts:
        rows &= fact
    return rows


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

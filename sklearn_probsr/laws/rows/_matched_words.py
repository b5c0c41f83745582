"""Rows that are mostly zeros, and may share facts with an instance: words that are there, or not.

Each word has the list of rows that hold it. Bits are made for one instance at a time, of the facts
that a search need look at (Lemma 150).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._telling_facts import packed_words
from sklearn_probsr.laws.rows._matched_rows import Bits, and_all, leads_of, left_along
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._sparse import SparseRows

__all__ = ["Documents", "MatchedWords"]


class _Postings:
    """Some of the rows, with the rows that hold each column."""

    def __init__(self, data: SparseRows) -> None:
        self.data = data
        order = np.argsort(data.indices, kind="stable")
        self.rows = data.places[order].astype(np.int32)
        held = np.bincount(data.indices, minlength=data.width)
        self.starts = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        self._copies = {data.row(r)[0].tobytes(): r for r in range(len(data))}
        self.nbytes = data.nbytes + self.rows.nbytes + self.starts.nbytes

    def copy_of(self, there: NDArray[np.bool_]) -> int | None:
        """Return the last row that has the same words."""
        return self._copies.get(np.flatnonzero(there).astype(np.int32).tobytes())

    def sharing(self, there: NDArray[np.bool_], features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which rows share facts with an instance."""
        found = np.ones(len(self.data), dtype=np.bool_)
        for column in features:
            inside = self.rows[self.starts[column] : self.starts[column + 1]]
            if there[column]:
                kept, found = found[inside], np.zeros_like(found)
                found[inside] = kept
            else:
                found[inside] = False
        return found

    def first_missed(self, there: NDArray[np.bool_], order: Sequence[int]) -> NDArray[np.int64]:
        """Return the place in an order of the first fact that each row does not share.

        It is the first word of the row that the instance lacks, or the first of the instance that
        the row lacks; of a row that shares all, the length of the order.
        """
        place = np.full(self.data.width, len(order), dtype=np.int64)
        place[list(order)] = np.arange(len(order))
        found = np.full(len(self.data), len(order), dtype=np.int64)
        odd = ~there[self.data.indices]
        np.minimum.at(found, self.data.places[odd], place[self.data.indices[odd]])
        for column in np.flatnonzero(there).tolist():
            lacks = np.ones(len(found), dtype=np.bool_)
            lacks[self.rows[self.starts[column] : self.starts[column + 1]]] = False
            found[lacks] = np.minimum(found[lacks], place[column])
        return found

    def held_by(self, some: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count for every column the rows that hold it, of some rows."""
        inside = np.repeat(some, np.diff(self.data.starts))
        return np.bincount(self.data.indices[inside], minlength=self.data.width)


class Documents:
    """All rows, in two parts, with their classes: what the tables of all classes share."""

    def __init__(self, model: Model, rows: SparseRows, held: NDArray[np.bool_]) -> None:
        self.model, self.rows, self.held = model, rows, held
        self.winners = model.winners(rows)
        self.searched, self.confirmed = _Postings(rows[~held]), _Postings(rows[held])

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return self.rows.nbytes + self.searched.nbytes + self.confirmed.nbytes


class _WordsPart:
    """Some of the rows, by class."""

    def __init__(
        self, postings: _Postings, positive: NDArray[np.bool_], leads: NDArray[np.float64]
    ) -> None:
        self.postings, self.positive = postings, positive
        self.leads = {side: leads[positive == side] for side in (False, True)}

    def place(self, states: NDArray[np.bool_], side: bool) -> int | None:
        """Return where a copy of an instance is, among the rows of its class."""
        row = self.postings.copy_of(states)
        return None if row is None else int(self.places[side][row])

    def count(
        self, states: NDArray[np.bool_], side: bool, features: Collection[int]
    ) -> tuple[int, int, int]:
        """Count the rows that share facts with an instance, a copy of it left out."""
        own = self.postings.copy_of(states) is not None
        shared = self.postings.sharing(states, features)
        kept = int(np.count_nonzero(shared & (self.positive == side)))
        return kept - own, int(np.count_nonzero(shared)) - own, len(shared) - own

    def counts_along(
        self, states: NDArray[np.bool_], side: bool, order: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Count the rows that share the first facts of an order, a copy left out."""
        own = self.postings.copy_of(states) is not None
        missed, mine = self.postings.first_missed(states, order), self.positive == side
        found = [left_along(missed[some], len(order)) - own for some in (mine, slice(None))]
        return list(zip(*(counts.tolist() for counts in found), strict=True))

    @cached_property
    def places(self) -> dict[bool, NDArray[np.int32]]:
        """Where every row is among those of its side; -1 on the other."""
        found = {}
        for side in (False, True):
            inside = self.positive == side
            found[side] = np.where(inside, np.cumsum(inside) - 1, -1).astype(np.int32)
        return found


class MatchedWords:
    """The rows before one class, by the rows that hold each column; columns are units."""

    def __init__(self, documents: Documents, winner: int) -> None:
        positive, held = documents.winners == winner, documents.held
        leads = leads_of(documents.model, documents.rows, winner)
        self.searched = _WordsPart(documents.searched, positive[~held], leads[~held])
        self.confirmed = _WordsPart(documents.confirmed, positive[held], leads[held])
        self.nbytes = 4 * leads.nbytes

    def promising(
        self, states: NDArray[Any], forced: Collection[int], units: NDArray[np.intp], least: int
    ) -> NDArray[np.intp]:
        """Leave out facts that remove no bad row, or leave too few (Lemma 150)."""
        postings, good = self.searched.postings, self.searched.positive
        shared = postings.sharing(states, forced)
        own = postings.copy_of(states)
        if own is not None:
            shared[own] = False
        others = shared & ~good
        held, held_by_others = postings.held_by(shared)[units], postings.held_by(others)[units]
        rows, bad = int(np.count_nonzero(shared)), int(np.count_nonzero(others))
        there = states[units]
        left = np.where(there, held, rows - held)
        bad_left = np.where(there, held_by_others, bad - held_by_others)
        return units[(left >= least) & (bad_left < bad)]

    def bits(
        self,
        states: NDArray[Any],
        side: bool,
        forced: Collection[int],
        units: Collection[int],
    ) -> Bits:
        """Return which of the rows searched, on one side, share facts of an instance."""
        at = self.searched.places[side]
        n = len(self.searched.leads[side])
        everyone = np.zeros(max(-(-n // 64), 1), dtype=np.uint64)
        everyone[: n // 64] = ~np.uint64(0)
        if n % 64:
            everyone[n // 64] = (np.uint64(1) << np.uint64(n % 64)) - np.uint64(1)
        both = (np.array([*some], dtype=np.intp) for some in (units, forced))
        each, kept = (self._packed(at, everyone, some, states) for some in both)
        return Bits(each, and_all(everyone, kept))

    def _packed(
        self,
        places: NDArray[np.int32],
        everyone: NDArray[np.uint64],
        columns: NDArray[np.int64],
        states: NDArray[np.bool_],
    ) -> NDArray[np.uint64]:
        postings = self.searched.postings
        return packed_words(
            postings.starts, postings.rows, places, everyone, columns, states[columns]
        )

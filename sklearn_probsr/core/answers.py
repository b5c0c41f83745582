"""Answers as arrays: the sets of all rows one behind the other, and what was proved of each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.numbers import exact_text

__all__ = ["ENDS", "WORD", "FeatureSets", "Found", "SetsWriter", "of_row", "unreachable"]

# Long enough for every word of minimality.
WORD = "<U20"
# How a proof ended: there is nothing smaller (or cheaper), its time was up, or nothing is left that
# is tried.
ENDS = ("proved", "time", "exhausted")
# What a message calls its row; an error calls it by its number.
_THIS_ROW = "this row"


@dataclass(frozen=True, eq=False)
class FeatureSets:
    """Sets of features, one behind the other in one array.

    Attributes
    ----------
    features : ndarray of int32
        The features of all sets; those of one set in the order in which they are told.
    indptr : ndarray of int64, shape (n + 1,)
        Where each set begins; the next one begins where it ends.
    width : int
        How many features there are to choose from.
    """

    features: NDArray[np.int32]
    indptr: NDArray[np.int64]
    width: int

    def __post_init__(self) -> None:
        for column in (self.features, self.indptr):
            column.flags.writeable = False

    @classmethod
    def concatenate(cls, parts: Sequence[FeatureSets]) -> FeatureSets:
        """Put the sets of several batches behind each other."""
        sizes = np.concatenate([part.sizes for part in parts])
        features = np.concatenate([part.features for part in parts])
        return cls(features, _indptr(sizes), parts[0].width)

    @classmethod
    def of_mask(cls, mask: NDArray[np.bool_]) -> FeatureSets:
        """Return sets that are told by which features they have, in the order of these."""
        features = mask.nonzero()[1].astype(np.int32)
        return cls(features, _indptr(mask.sum(axis=1)), mask.shape[1])

    @classmethod
    def of_lists(cls, lists: Sequence[Sequence[int]], width: int) -> FeatureSets:
        """Return sets that are told as lists."""
        features = np.array([j for inside in lists for j in inside], dtype=np.int32)
        sizes = np.array([len(inside) for inside in lists], dtype=np.int64)
        return cls(features, _indptr(sizes), width)

    @classmethod
    def union(cls, several: Sequence[FeatureSets]) -> FeatureSets:
        """Return of each row the features of any of several sets, in ascending order."""
        n, width = len(several[0]), max(several[0].width, 1)
        keys = [np.repeat(np.arange(n), sets.sizes) * width + sets.features for sets in several]
        rows, features = np.divmod(np.unique(np.concatenate(keys)), width)
        sizes = np.bincount(rows, minlength=n)
        return cls(features.astype(np.int32), _indptr(sizes), several[0].width)

    @classmethod
    def _of_bytes(cls, features: bytes, indptr: bytes, width: int) -> FeatureSets:
        return cls(np.frombuffer(features, dtype="<i4"), np.frombuffer(indptr, dtype="<i8"), width)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a pickle holds; read again, the arrays are as read-only as these are."""
        bits = self.features.astype("<i4").tobytes(), self.indptr.astype("<i8").tobytes()
        return self._of_bytes, (*bits, self.width)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(self._cut(self.features))

    def of(self, i: int) -> tuple[int, ...]:
        """Return the features of one set."""
        return tuple(self.features[self.indptr[i] : self.indptr[i + 1]].tolist())

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many features each set has."""
        return np.diff(self.indptr)

    def mask(self) -> NDArray[np.bool_]:
        """Return which features are in each set, one row a set."""
        inside = np.zeros((len(self), self.width), dtype=np.bool_)
        inside[np.repeat(np.arange(len(self)), self.sizes), self.features] = True
        return inside

    def named(self, names: tuple[str, ...]) -> NDArray[Any]:
        """Return for each set the names of its features, as a tuple."""
        found = np.empty(len(self), dtype=object)
        found[:] = self._cut(np.array(names, dtype=object)[self.features])
        return found

    def only(self, which: NDArray[np.bool_]) -> FeatureSets:
        """Return of each set some features, told for all of them behind each other."""
        ends = np.concatenate([[0], np.cumsum(which)])[self.indptr]
        return FeatureSets(self.features[which], ends.astype(np.int64), self.width)

    def take(self, positions: NDArray[np.intp]) -> FeatureSets:
        """Return some of the sets, in the order of their positions."""
        return _gathered(
            self.features, self.indptr[:-1][positions], self.sizes[positions], self.width
        )

    def among(self, at: NDArray[np.intp], n: int) -> FeatureSets:
        """Return these sets at some places, in ascending order, among n; the others are empty."""
        sizes = np.zeros(n, dtype=np.int64)
        sizes[at] = self.sizes
        return FeatureSets(self.features, _indptr(sizes), self.width)

    def _cut(self, told: NDArray[Any]) -> list[tuple[Any, ...]]:
        whole, ends = tuple(told.tolist()), self.indptr.tolist()
        return [whole[a:b] for a, b in pairwise(ends)]


class SetsWriter:
    """Room for the sets of n rows, which may be written in any order and more than once."""

    def __init__(self, n: int, width: int) -> None:
        self._pool = array("i")
        self._starts, self._sizes = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._width = width

    def write(self, i: int, features: Sequence[int]) -> None:
        """Write the set of one row."""
        self._starts[i], self._sizes[i] = len(self._pool), len(features)
        self._pool.extend(features)

    def write_many(
        self, at: NDArray[np.intp], sizes: NDArray[np.int64], features: NDArray[np.int32]
    ) -> None:
        """Write the sets of several rows, one behind the other in one array."""
        self._starts[at] = len(self._pool) + _indptr(sizes)[:-1]
        self._sizes[at] = sizes
        self._pool.frombytes(features.tobytes())

    def sets(self) -> FeatureSets:
        """Return what was written; the sets of other rows are empty."""
        pool = np.array(self._pool, dtype=np.int32)
        return _gathered(pool, self._starts, self._sizes, self._width)


def _indptr(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    indptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=indptr[1:])
    return indptr


def _gathered(
    pool: NDArray[np.int32], starts: NDArray[np.int64], sizes: NDArray[np.int64], width: int
) -> FeatureSets:
    """Return sets that lie somewhere in a pool, one behind the other."""
    indptr = _indptr(sizes)
    if len(pool) == indptr[-1] and (starts == indptr[:-1]).all():  # they lie there so
        return FeatureSets(pool, indptr, width)
    at = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
    return FeatureSets(pool[at], indptr, width)


@dataclass(frozen=True)
class Found:
    """The answers, one row each; ``exact`` holds guarantees that are known as fractions.

    ``size_lower`` is the size below which no allowed set reaches delta, as far as was proved, and
    ``cost_lower`` what such a set costs at least, in whole prices, if features have any.
    ``stopped`` says how the proof of that ended (`ENDS`); nothing if none was tried.
    ``flagged`` says of some rows why they do not reach delta.
    """

    writer: SetsWriter
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    minimality: NDArray[np.str_]
    epsilon: NDArray[np.float64]
    size_lower: NDArray[np.int64]
    exact: dict[int, Fraction]
    cost_lower: list[int]
    stopped: NDArray[np.str_]
    flagged: dict[int, str] = field(default_factory=dict)

    @classmethod
    def empty(cls, n: int, units: int) -> Found:
        """Return room for the answers of some rows."""
        names = np.zeros(n, dtype=WORD)
        least = np.zeros(n, dtype=np.int64)
        lower, upper, slack = np.zeros(n), np.ones(n), np.zeros(n)
        ends = np.zeros(n, dtype=f"<U{max(map(len, ENDS))}")
        return cls(SetsWriter(n, units), lower, upper, names, slack, least, {}, [0] * n, ends)

    def write(
        self,
        i: int,
        features: Sequence[int],
        guarantee: Enclosure,
        minimality: str,
        size_lower: int,
        epsilon: float = 0.0,
    ) -> None:
        """Write down the answer of one row; its features as a reader is told of them."""
        self.writer.write(i, features)
        self.minimality[i], self.epsilon[i] = minimality, epsilon
        self.size_lower[i] = size_lower
        self.bound(i, guarantee)

    @property
    def sets(self) -> FeatureSets:
        """The features of each row, in the order in which they were written."""
        return self.writer.sets()

    def end_proofs(self, task: Task) -> None:
        """Write down how proofs ended where no law said so."""
        if task.effort.wanted:
            self.stopped[(self.stopped == "") & (self.minimality == "minimum")] = "proved"
            self.stopped[self.stopped == ""] = "exhausted"
        else:
            self.stopped[:] = np.where(self.minimality == "minimum", "proved", "")

    def give_up(self, i: int, message: str, task: Task) -> None:
        """Write down why a row does not reach delta, or raise it if rows are not to be flagged."""
        if not task.flag:
            raise UnreachableError(of_row(message, i))
        self.flagged[i] = message

    def bound(self, i: int, guarantee: Enclosure) -> None:
        """Write down the guarantee of one row."""
        self.lower[i], self.upper[i] = guarantee.lower, guarantee.upper
        if guarantee.exact is not None:
            self.exact[i] = guarantee.exact


def of_row(message: str, i: int) -> str:
    """Return what a row's message says, with the number of the row."""
    return message.replace(_THIS_ROW, f"row {i}", 1)


def unreachable(task: Task, what: str, known: str, over: str) -> str:
    """Return the message that names the best guarantee without the features that are barred."""
    fewer = "Allow more features" if task.restricted else "Exclude fewer features"
    hint = f"{fewer}, lower delta, or set max_size to get the best set all the same."
    if task.flag:  # it is there already
        hint = f"{fewer}, or lower delta."
    told = f"delta = {exact_text(float(task.delta))} {what} for {_THIS_ROW} {task.barring}"
    return f"{told}: {known} ({over}). {hint}"

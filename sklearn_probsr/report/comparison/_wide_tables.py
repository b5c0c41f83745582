"""Wide tables: of rows that are mostly zeros, what differs from a line that many share.

A word that is absent has the same SHAP value in all rows of a class: what it contributes at zero,
less its mean. So a table of documents and words is a line or a few, and beside them the words that
are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.model.sparse import SparseRows

__all__ = ["Wide", "filled", "how_often", "pieces", "some_rows", "sum_by_column"]

# So many numbers of a wide table are filled in at once.
_CELLS = 2**18


@dataclass(frozen=True, eq=False)
class Wide:
    """A table of which rows are filled in when they are looked at.

    Attributes
    ----------
    lines : ndarray of shape (lines, columns)
        What rows are but for some places.
    line : ndarray of int, shape (n,)
        Which of the lines each row is.
    places : FeatureSets
        Where each row is not.
    values : ndarray
        What it is there, behind each other.
    """

    lines: NDArray[Any]
    line: NDArray[np.intp]
    places: FeatureSets
    values: NDArray[Any]

    @classmethod
    def of(cls, rows: SparseRows, line: Any, lines: NDArray[Any], values: NDArray[Any]) -> Wide:
        """Return a table that is not a line where sparse rows are not zero."""
        which = np.broadcast_to(np.asarray(line, dtype=np.intp), len(rows)).copy()
        return cls(lines, which, FeatureSets(rows.indices, rows.starts, rows.width), values)

    def __len__(self) -> int:
        return len(self.line)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        return len(self.line), self.lines.shape[1]

    def take(self, at: NDArray[np.intp]) -> Wide:
        """Return some of the rows."""
        places = self.places.take(at)
        inside = np.arange(len(places.features))
        inside += np.repeat(self.places.indptr[:-1][at] - places.indptr[:-1], places.sizes)
        return Wide(self.lines, self.line[at], places, self.values[inside])

    def among(self, at: NDArray[np.intp], n: int, blank: Any) -> Wide:
        """Return these rows at some places among n; the others are blank."""
        lines = np.concatenate([self.lines, np.full_like(self.lines[:1], blank)])
        line = np.full(n, len(lines) - 1, dtype=np.intp)
        line[at] = self.line
        return Wide(lines, line, self.places.among(at, n), self.values)

    def with_words(self, words: dict[int, dict[int, Any]], say: Callable[[int, int], Any]) -> Wide:
        """Return the table with other words at some places that have a value."""
        if not words:
            return self
        values = self.values.astype(object)
        for i, columns in words.items():
            first, last = self.places.indptr[i : i + 2]
            for k in range(first, last):
                if int(self.places.features[k]) in columns:
                    values[k] = say(i, int(self.places.features[k]))
        return replace(self, lines=self.lines.astype(object), values=values)

    def toarray(self) -> NDArray[Any]:
        """Return all rows, filled in."""
        table = self.lines[self.line]
        table[np.repeat(np.arange(len(self)), self.places.sizes), self.places.features] = (
            self.values
        )
        return table


def filled(table: Any) -> Any:
    """Return a table with all of its values; nothing of nothing."""
    if isinstance(table, FeatureSets):
        return table.mask()
    return table.toarray() if isinstance(table, Wide) else table


def some_rows(table: Any, at: NDArray[np.intp]) -> Any:
    """Return some rows of a table, kept as it is; nothing of nothing."""
    if table is None:
        return None
    return table.take(at) if isinstance(table, FeatureSets | Wide) else table[at]


def pieces(table: Any) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of a table in pieces that may be filled in; one that is filled in is one."""
    n, width = table.shape
    step = max(_CELLS // max(width, 1), 1) if isinstance(table, Wide | SparseRows) else max(n, 1)
    for first in range(0, n, step):
        yield np.arange(first, min(first + step, n))


def how_often(mask: Any, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return in how many of some rows each feature is."""
    if not isinstance(mask, FeatureSets):
        often: NDArray[np.int64] = mask[rows].sum(axis=0)
        return often
    return np.bincount(mask.take(np.flatnonzero(rows)).features, minlength=mask.width)


def sum_by_column(table: Any, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the sum of the absolute values of each column over some rows."""
    if not isinstance(table, Wide):
        total: NDArray[np.float64] = np.abs(table[rows]).sum(axis=0)
        return total
    total = np.zeros(table.shape[1])
    for at in pieces(table):
        # Row after row, as the sums of a filled table are made.
        total = np.vstack([total, np.abs(table.take(at[rows[at]]).toarray())]).sum(axis=0)
    return total

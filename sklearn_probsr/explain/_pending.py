"""Pending: what the values of an explanation of sparse rows are made of, until they are asked for.

A thousand documents of a hundred thousand words would be a table of a hundred million numbers, of
which a reason has a handful. So values, data and masks are kept for what is there, and filled in
for the rows that somebody looks at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model._sparse import SparseRows, joined_rows
from sklearn_probsr.results._reason import SufficientReasons

__all__ = ["Pending", "held_sets"]


def held_sets(reasons: SufficientReasons) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return where the features of each reason begin, and all of them behind each other."""
    starts = np.concatenate([[0], np.cumsum(reasons.size)]).astype(np.int64)
    each = [np.array(features, dtype=np.intp) for features in reasons.in_order]
    return starts, np.concatenate([np.zeros(0, dtype=np.intp), *each])


@dataclass(frozen=True, eq=False)
class Pending:
    """Rows of an explanation that are not filled in.

    Attributes
    ----------
    starts, features : ndarray of int
        The features of each reason.
    values : ndarray of shape (features in all,) or (features in all, classes)
    base_values : ndarray of shape (n,) or (n, classes)
    data : SparseRows
    display : SparseRows or None
    at : ndarray of int
        Which of the reasons these are; a single number for a single row.
    """

    starts: NDArray[np.int64]
    features: NDArray[np.intp]
    values: NDArray[np.float64]
    base_values: NDArray[np.float64]
    data: SparseRows
    display: SparseRows | None
    at: NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the values would have."""
        width = (self.data.width, *self.values.shape[1:])
        return width if self.at.ndim == 0 else (len(self.at), *width)

    def rows(self, item: Any) -> Pending:
        """Return some of the rows, or one of them."""
        places = np.arange(len(self.data))[item]
        some = np.atleast_1d(places)
        sizes = np.diff(self.starts)[some]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        inside = np.arange(starts[-1]) + np.repeat(self.starts[some] - starts[:-1], sizes)
        return Pending(
            starts,
            self.features[inside],
            self.values[inside],
            self.base_values[some],
            self.data[some],
            None if self.display is None else self.display[some],
            self.at[places],
        )

    def arrays(self) -> dict[str, NDArray[Any] | None]:
        """Return values, base values, data and display data, filled in."""
        each = np.repeat(np.arange(len(self.data)), np.diff(self.starts))
        values = np.zeros((len(self.data), self.data.width, *self.values.shape[1:]))
        values[each, self.features] = self.values
        return {
            "values": values,
            "base_values": self.base_values,
            "data": self.data.toarray().astype(np.float64),
            "display_data": None if self.display is None else self.display.toarray(),
        }

    @classmethod
    def concatenate(cls, parts: list[Pending]) -> Pending:
        """Put rows behind each other."""
        ends = np.cumsum([0, *(part.starts[-1] for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)]
        shown = [part.data if part.display is None else part.display for part in parts]
        told = any(part.display is not None for part in parts)
        return cls(
            np.concatenate([*starts, ends[-1:]]).astype(np.int64),
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.base_values for part in parts]),
            joined_rows([part.data for part in parts]),
            joined_rows(shown) if told else None,
            np.arange(sum(len(part.data) for part in parts)),
        )

"""Pending values: what those of sparse rows are made of, until somebody asks for them.

A thousand documents of a hundred thousand words would be a table of a hundred million numbers. So
data are kept for what is there, SHAP values follow from the rows, and both are filled in for the
rows that somebody looks at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.explain._shap_values import values_of_reasons
from sklearn_probsr.model.sparse import SparseRows, joined_rows
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["Pending", "filled_values"]


def filled_values(sets: FeatureSets, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values of the features of reasons as a table, with zeros for all others."""
    table = np.zeros((len(sets), sets.width, *values.shape[1:]))
    table[np.repeat(np.arange(len(sets)), sets.sizes), sets.features] = values
    return table


@dataclass(frozen=True, eq=False)
class Pending:
    """Rows of an explanation that are not filled in.

    Attributes
    ----------
    sets : FeatureSets
        The features of each reason.
    values : ndarray of shape (features in all,) or (features in all, classes), or None
        Of the features of all reasons, behind each other, with zeros for all others; None: SHAP
        values of all features.
    base_values : ndarray of shape (n,) or (n, classes)
    data : SparseRows
    display : SparseRows or None
    at : ndarray of int
        Which of the reasons these are; a single number for a single row.
    names : pair
        The names of the features, and of the output or outputs.
    """

    sets: FeatureSets
    values: NDArray[np.float64] | None
    base_values: NDArray[np.float64]
    data: SparseRows
    display: SparseRows | None
    at: NDArray[np.intp]
    names: tuple[list[str], Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the values would have."""
        width = (self.sets.width, *self.base_values.shape[1:])
        return width if self.at.ndim == 0 else (len(self.at), *width)

    def rows(self, item: Any) -> Pending:
        """Return some of the rows, or one of them."""
        places = np.arange(len(self.data))[item]
        some = np.atleast_1d(places)
        sizes, starts = self.sets.sizes[some], self.sets.indptr[:-1][some]
        sets = self.sets.take(some)
        inside = np.arange(len(sets.features)) + np.repeat(starts - sets.indptr[:-1], sizes)
        return Pending(
            sets,
            None if self.values is None else self.values[inside],
            self.base_values[some],
            self.data[some],
            None if self.display is None else self.display[some],
            np.asarray(self.at[places]),
            self.names,
        )

    @property
    def parts(self) -> tuple[Any, Any, Any, Any]:
        """Values, base values, data and display data, as they are kept."""
        return self.values, self.base_values, self.data, self.display

    def sparse_values(self) -> sparse.csr_array:
        """Return the values of one output as a sparse matrix, for the features of reasons."""
        assert self.values is not None  # zeros outside the reasons
        found = sparse.csr_array(
            (self.values, self.sets.features, self.sets.indptr),
            shape=(len(self.sets), self.sets.width),
            copy=True,
        )
        found.sort_indices()
        return found

    def filled(self, reasons: SufficientReasons) -> NDArray[np.float64]:
        """Return the values of all features; the reasons are those of these rows."""
        if self.values is None:
            return values_of_reasons(reasons, self.base_values.ndim == 2)
        return filled_values(self.sets, self.values)

    def arrays(self, reasons: SufficientReasons) -> tuple[Any, Any, Any, Any]:
        """Return values, base values, data and display data, filled in."""
        shown = None if self.display is None else self.display.toarray()
        data = self.data.toarray().astype(np.float64)
        return self.filled(reasons), self.base_values, data, shown

    @classmethod
    def concatenate(cls, parts: list[Pending]) -> Pending:
        """Put rows behind each other."""
        shown = [part.data if part.display is None else part.display for part in parts]
        told = any(part.display is not None for part in parts)
        values = [part.values for part in parts if part.values is not None]
        return cls(
            FeatureSets.concatenate([part.sets for part in parts]),
            np.concatenate(values) if values else None,
            np.concatenate([part.base_values for part in parts]),
            joined_rows([part.data for part in parts]),
            joined_rows(shown) if told else None,
            np.arange(sum(len(part.data) for part in parts)),
            parts[0].names,
        )

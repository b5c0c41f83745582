"""Rows that are mostly zeros, as words in documents are, kept by what is in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.numbers import no_number

# Fewer numbers than this are filled in: tables of them are quick, and take eight megabytes.
_FEW_CELLS = 2**20
# With more columns even a single row stays sparse: names and values of all would take longer.
_WIDE = 2**13


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows by their values that are not zero; a single one of them is an array with all values.

    Parameters
    ----------
    starts : ndarray of int64, shape (n + 1,)
        Row i has the values from ``starts[i]`` up to ``starts[i + 1]``.
    indices : ndarray of int32
        The column of every value, increasing in each row.
    values : ndarray of float64 or bool
        None of them is zero; booleans if all are 1.
    width : int
        The number of columns.
    """

    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    width: int

    def __post_init__(self) -> None:
        for array in (self.starts, self.indices, self.values):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        return len(self), self.width

    @property
    def ndim(self) -> int:
        """Two: rows and columns."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the rows are when they are filled in."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return int(self.starts.nbytes + self.indices.nbytes + self.values.nbytes)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        """Return one row, filled in, or some of them, as they are kept, or one value."""
        if isinstance(index, tuple):  # values, each of a row and a column
            return self.cells(*index)
        at = np.arange(len(self))[index]
        if at.ndim == 0:
            row = np.zeros(self.width, dtype=self.dtype)
            columns, values = self.row(int(at))
            row[columns] = values
            return row
        sizes = np.diff(self.starts)[at]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[at] - starts[:-1], sizes)
        return SparseRows(starts, self.indices[places], self.values[places], self.width)

    def row(self, i: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the columns of a row that are not zero, and their values."""
        inside = slice(self.starts[i], self.starts[i + 1])
        return self.indices[inside], self.values[inside]

    def cells(self, rows: Any, columns: Any) -> Any:
        """Return the values at some places, each of a row and a column."""
        keys = self.places * self.width + self.indices
        asked = np.asarray(rows, dtype=np.int64) * self.width + np.asarray(columns)
        at = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
        if not len(keys):
            return np.zeros(asked.shape, dtype=self.dtype)[()]
        return np.where(keys[at] == asked, self.values[at], self.dtype.type(0))[()]

    def columns_at(self, columns: NDArray[np.intp]) -> SparseRows:
        """Return the rows with their columns in another order."""
        if np.array_equal(columns, np.arange(self.width)):
            return self
        return sparse_rows(self.matrix[:, columns], None, "X")

    def spread(self, at: NDArray[np.intp], n: int) -> SparseRows:
        """Return n rows, these at some places among rows of zeros."""
        sizes = np.zeros(n, dtype=np.int64)
        sizes[at] = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return SparseRows(starts, self.indices, self.values, self.width)

    def astype(self, dtype: Any) -> SparseRows:
        """Return the same rows with values of another kind."""
        return SparseRows(self.starts, self.indices, self.values.astype(dtype), self.width)

    def copy(self) -> SparseRows:
        """Return the rows themselves: they never change."""
        return self

    def __abs__(self) -> SparseRows:
        return SparseRows(self.starts, self.indices, np.abs(self.values), self.width)

    def __matmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.matrix @ weights
        return product

    @property
    def matrix(self) -> Any:
        """The same as a matrix of SciPy's, on the same memory."""
        from scipy import sparse

        return sparse.csr_array((self.values, self.indices, self.starts), shape=self.shape)

    @property
    def places(self) -> NDArray[np.intp]:
        """The row of every value."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def toarray(self) -> NDArray[Any]:
        """Return all rows, filled in."""
        filled = np.zeros(self.shape, dtype=self.dtype)
        filled[self.places, self.indices] = self.values
        return filled

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.toarray(), dtype=dtype)


def columns_of(rows: Any, columns: Sequence[int]) -> NDArray[Any]:
    """Return some columns of rows, filled in."""
    if isinstance(rows, SparseRows):
        filled: NDArray[Any] = rows.matrix[:, list(columns)].toarray()
        return filled
    found: NDArray[Any] = rows[:, list(columns)]
    return found


def is_large(X: Any) -> bool:
    """Tell whether something is sparse, and so large that it should stay so."""
    if isinstance(X, SparseRows):
        return True
    # Who has none of SciPy's has not imported them, and need not wait for that.
    library = sys.modules.get("scipy.sparse")
    if library is None or not library.issparse(X) or X.ndim != 2:
        return False
    n, d = X.shape
    return bool(d > _WIDE or n * d > _FEW_CELLS)


def sparse_rows(X: Any, names: Sequence[str] | None, name: str) -> SparseRows:
    """Return a sparse matrix by its values; those of one place are added, as SciPy has it.

    Parameters
    ----------
    X : sparse matrix or array, or SparseRows
    names : sequence of str or None
        Of the columns, for messages; None: their numbers.
    name : str
        What the matrix is called in messages.
    """
    if isinstance(X, SparseRows):
        return X
    from scipy import sparse

    csr = sparse.csr_array(X, copy=True)
    csr.sum_duplicates()
    values = csr.data
    if values.dtype.kind not in "biuf":
        values = values.astype(object)
    try:
        bad = ~np.isfinite(values.astype(np.float64))
    except (TypeError, ValueError):
        bad = np.ones(len(values), dtype=np.bool_)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        row, column = int(np.searchsorted(csr.indptr, at, "right")) - 1, int(csr.indices[at])
        label = str(column) if names is None else names[column]
        raise no_number(values[at], f"row {row}, column {label!r}", name)
    csr.eliminate_zeros()
    values = csr.data
    ones = values.dtype == np.bool_ or bool((values == 1).all())
    return SparseRows(
        csr.indptr.astype(np.int64),
        csr.indices.astype(np.int32),
        values.astype(np.bool_ if ones else np.float64),
        csr.shape[1],
    )


def one_row(row: NDArray[Any]) -> SparseRows:
    """Return a single row by its values."""
    columns = np.flatnonzero(row)
    starts = np.array([0, len(columns)], dtype=np.int64)
    return SparseRows(starts, columns.astype(np.int32), row[columns], len(row))


def to_sparse(rows: Any) -> SparseRows:
    """Return rows by their values."""
    return rows if isinstance(rows, SparseRows) else sparse_rows(rows, None, "X")


def joined_rows(parts: Sequence[Any]) -> Any:
    """Put rows behind each other; they are sparse if some of them are."""
    if not any(isinstance(part, SparseRows) for part in parts):
        return np.concatenate(parts)
    if len(parts) == 1:
        return parts[0]
    parts = [to_sparse(part) for part in parts]
    kind = np.bool_ if all(part.dtype == np.bool_ for part in parts) else np.float64
    ends = np.cumsum([0, *(part.starts[-1] for part in parts)])
    starts = [part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)]
    return SparseRows(
        np.concatenate([*starts, ends[-1:]]).astype(np.int64),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]).astype(kind),
        parts[0].width,
    )

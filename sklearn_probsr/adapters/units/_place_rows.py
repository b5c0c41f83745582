"""Rows at a place of a pipeline: what its own fitted steps make of the raw ones.

Every step is run by scikit-learn itself, on the rows that it would get in the pipeline.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sklearn_probsr.model.numbers import value_kind

__all__ = ["Input", "Output", "Rows", "Taken", "as_floats", "names_may_lack", "vectorized"]

_FILTERS = threading.RLock()


def names_may_lack(X: Any) -> AbstractContextManager[None]:
    """Let sparse rows go without the names that steps were fitted with; they are checked before."""
    return _nameless() if sparse.issparse(X) else nullcontext()


@contextmanager
def _nameless() -> Iterator[None]:
    # Filters belong to the process: threads that come and go across each other would lose them.
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


class Rows(Protocol):
    """A place of a pipeline: gives its rows for raw ones; ``memo`` keeps what was computed."""

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Return the rows at this place."""


@dataclass(frozen=True, eq=False)
class Input:
    """The raw rows themselves."""

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Return the raw rows."""
        return X


@dataclass(frozen=True, eq=False)
class Output:
    """What a fitted transformer makes of rows."""

    step: Any
    parent: Rows

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Run the transformer, once for each set of raw rows."""
        if id(self) not in memo:
            rows = self.parent.of(X, memo)
            if getattr(self.step, "copy", True) is False and hasattr(rows, "copy"):
                rows = rows.copy()  # the step writes into what it is given
            memo[id(self)] = self.step.transform(rows)
        return memo[id(self)]


@dataclass(frozen=True, eq=False)
class Taken:
    """Some of the columns; a single index takes one column as a vector."""

    parent: Rows
    columns: int | tuple[int, ...]

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Select the columns as a ColumnTransformer does."""
        from sklearn.utils import _safe_indexing

        key = self.columns if isinstance(self.columns, int) else list(self.columns)
        return _safe_indexing(self.parent.of(X, memo), key, axis=1)


def vectorized(rows: Rows) -> Output | None:
    """Return what a vectorizer makes of texts, from which a place comes; None if from none."""
    while isinstance(rows, Output):
        if hasattr(rows.step, "build_analyzer"):
            return rows
        rows = rows.parent
    return None


def as_floats(rows: Any) -> NDArray[np.float64]:
    """Return rows as a dense matrix of floats."""
    if hasattr(rows, "to_numpy"):
        found = rows.to_numpy()
    else:
        found = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    try:
        if found.dtype.kind in "cmM":  # NumPy would make numbers of dates
            raise TypeError
        floats = found.astype(np.float64)
    except (TypeError, ValueError):  # pandas' missing value in a column of objects
        floats = np.array(
            [[_float(v) for v in row] for row in found.reshape(len(found), -1)], dtype=np.float64
        )
    matrix: NDArray[np.float64] = floats[:, None] if floats.ndim == 1 else floats
    return matrix


def _float(value: Any) -> float:
    try:
        return np.nan if value_kind(value) else float(value)
    except (TypeError, ValueError):
        return np.nan

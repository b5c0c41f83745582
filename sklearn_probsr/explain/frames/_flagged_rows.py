"""Flagged rows: those that a model does not take, why not, and the rows that it takes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._row_index import index_of
from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows, joined_rows, to_sparse
from sklearn_probsr.results._reason import STATUSES

__all__ = ["ON_ERROR", "Sifted", "check_on_error", "count_flagged", "sift", "warn_of"]

ON_ERROR = ("raise", "flag")


@dataclass(frozen=True, eq=False)
class Sifted:
    """Rows in the columns of the model, with any that it takes in place of invalid ones.

    Attributes
    ----------
    rows : ndarray or SparseRows of shape (n, columns of the model)
    numbers : ndarray or SparseRows of shape (n, features)
        NaN in invalid rows; zeros if they are sparse.
    display : ndarray or SparseRows of shape (n, features), or None
        None in invalid rows; zeros if they are sparse.
    at : ndarray of int
        Which rows are valid.
    invalid : dict of int to str
        Why the others are not.
    index : pandas Index
        What the rows are called.
    raw : object
        The rows that are valid, as they came.
    """

    rows: Any
    numbers: Any
    display: Any
    at: NDArray[np.intp]
    invalid: dict[int, str]
    index: Any
    raw: Any

    def __len__(self) -> int:
        return len(self.rows)

    def warn(self, stacklevel: int) -> None:
        """Warn once of all rows that are invalid."""
        status = np.array(["ok"] * len(self), dtype=object)
        status[list(self.invalid)] = "invalid"
        warn_of(status, stacklevel + 1, self.invalid.get(0, ""))

    @property
    def valid(self) -> Any:
        """The rows that are valid."""
        return self.rows[self.at] if self.invalid else self.rows


def check_on_error(on_error: Any) -> str:
    """Return what to do with a row that cannot be explained, or say that it is no such thing."""
    if not isinstance(on_error, str) or on_error not in ON_ERROR:
        raise InvalidInputError(f"on_error must be one of {ON_ERROR}, got {on_error!r}.")
    return on_error


def sift(subject: Subject, X: Any, on_error: str) -> Sifted:
    """Return the rows of X as the model takes them.

    What is wrong with all rows alike is raised in any case: their number of columns for one, or
    numbers in all of them where the model knows 0 and 1 only.
    """
    raw = subject.frame(X)
    try:
        rows = subject.transform(raw)
    except Exception as error:  # the steps of a Pipeline may refuse a row in any way
        if on_error == "raise":
            raise
        return _row_by_row(subject, X, raw, error)
    numbers, display = subject.read(raw, rows)
    index = index_of(X, raw, len(rows))
    if isinstance(rows, SparseRows) and not isinstance(numbers, SparseRows):
        rows = rows.toarray()  # as what a person reads of them is
    return Sifted(rows, numbers, display, np.arange(len(rows)), {}, index, raw)


def _row_by_row(subject: Subject, X: Any, raw: Any, error: Exception) -> Sifted:
    try:
        table = raw if subject.takes_text or hasattr(raw, "shape") else np.asarray(raw)
        subject.transform(_take(table, []))
    except Exception:
        raise error from None
    n = int(table.shape[0]) if hasattr(table, "shape") else len(table)
    if _all_strange(subject, table, n):
        raise error
    invalid: dict[int, str] = {}
    found = [
        taken for group in _suspects(table, n) for taken in _taken(subject, table, group, invalid)
    ]
    at = np.array([i for i in range(n) if i not in invalid], dtype=np.intp)
    parts = [rows for _, rows in found]
    if len(found) > 1:
        order = np.argsort(np.concatenate([places for places, _ in found]))
        parts = [joined_rows(parts)[order]]
    index = index_of(X, raw, n)
    if any(isinstance(part, SparseRows) for part in parts):
        found_sparse = _sparse_ones(subject, table, parts, at, n, invalid, index)
        if found_sparse is not None:
            return found_sparse
        parts = [np.asarray(joined_rows(parts))]
    rows = np.repeat(_any_row(subject.model)[None, :], n, axis=0)
    numbers, display = np.full((n, subject.model.n_units), np.nan), None
    if len(at):
        rows[at] = np.concatenate(parts)
        some, shown = subject.read(_take(table, at.tolist()), rows[at])
        numbers[at] = some
        if shown is not None:
            display = np.full(numbers.shape, None, dtype=object)
            display[at] = shown
    return Sifted(rows, numbers, display, at, invalid, index, _take(table, at.tolist()))


def _all_strange(subject: Subject, table: Any, n: int) -> bool:
    """Whether all rows have numbers where only 0 or 1 can be: it is the columns, not a row.

    A single row may be the odd one out, unless nobody said that the columns are 0/1.
    """
    if n < 2 and not subject.assumed:
        return False
    try:
        return bool(subject.are_strange(table).all())
    except Exception:  # the steps of a Pipeline may refuse a row in any way
        return False


def _sparse_ones(
    subject: Subject,
    raw: Any,
    parts: list[Any],
    at: NDArray[np.intp],
    n: int,
    invalid: dict[int, str],
    index: Any,
) -> Sifted | None:
    """Return sparse rows of which some are invalid: those have nothing but zeros.

    None if what a person reads of them is not sparse.
    """
    valid = joined_rows(parts)
    given = _take(raw, at.tolist())
    numbers, display = subject.read(given, valid)
    if isinstance(valid, SparseRows) and not isinstance(numbers, SparseRows):
        return None
    rows, numbers = (to_sparse(part).spread(at, n) for part in (valid, numbers))
    shown = None if display is None else to_sparse(display).spread(at, n)
    return Sifted(rows, numbers, shown, at, invalid, index, given)


def _suspects(raw: Any, n: int) -> list[list[int]]:
    """Return the rows without gaps, and those with: what a model refuses is mostly among them."""
    import pandas as pd

    if not isinstance(raw, pd.DataFrame | np.ndarray) or raw.ndim != 2:
        return [list(range(n))]
    gaps = np.asarray(pd.isna(raw)).any(axis=1)
    return [np.flatnonzero(some).tolist() for some in (~gaps, gaps) if some.any()]


def _taken(
    subject: Subject, raw: Any, at: list[int], invalid: dict[int, str]
) -> list[tuple[list[int], Any]]:
    """Return which of some rows are valid, with these, and write down why the others are not."""
    try:
        return [(at, subject.transform(_take(raw, at)))]
    except Exception as error:  # the steps of a Pipeline may refuse a row in any way
        if len(at) == 1:
            invalid[at[0]] = _message(error)
            return []
    halves = (at[: len(at) // 2], at[len(at) // 2 :])
    return [part for half in halves for part in _taken(subject, raw, half, invalid)]


def _message(error: Exception) -> str:
    """Return what is wrong with a row that was looked at alone, without its number there."""
    text = str(error).replace(" in row 0, column", " in column").replace(" in row 0", "")
    if isinstance(error, InvalidInputError):
        return text
    return f"The estimator does not take it: {type(error).__name__}: {text}"


def _take(raw: Any, at: list[int]) -> Any:
    """Return some rows of whatever holds them."""
    if hasattr(raw, "iloc"):
        return raw.iloc[at]
    if sparse.issparse(raw):
        return raw.tocsr()[at]
    if not hasattr(raw, "shape"):
        return [raw[i] for i in at]
    return raw[np.array(at, dtype=np.intp)] if isinstance(raw, np.ndarray) else raw[at]


def _any_row(model: Model) -> NDArray[Any]:
    """Return a row that a model takes."""
    if model.units is None:
        return np.zeros(model.n_features, dtype=np.bool_)
    row = np.zeros(model.n_features)
    for unit in model.units:
        if unit.states is not None:
            row[list(unit.columns)] = unit.states[0]
    return row


def count_flagged(status: NDArray[Any]) -> str:
    """Say how many rows are flagged, of which kind: "2 invalid, 1 unreachable"."""
    counts = {word: int(np.count_nonzero(status == word)) for word in STATUSES[:0:-1]}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def warn_of(status: NDArray[Any], stacklevel: int, first: str = "") -> None:
    """Warn once of all rows that are flagged; if all are, with what the first one is told."""
    flagged, n = int(np.count_nonzero(status != "ok")), len(status)
    if flagged:
        cause = f" The first: {first}" if first and flagged == n > 1 else ""
        warnings.warn(
            f"{flagged} of {n} row{'s' if n > 1 else ''} could not be explained as asked: "
            f"{count_flagged(status)}. See their status and message, or pass on_error='raise'."
            f"{cause}",
            stacklevel=stacklevel + 1,
        )

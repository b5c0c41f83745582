"""Raw columns: what the estimator was fitted on, and rows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_probsr.adapters._declarations import Linear, Words
from sklearn_probsr.adapters._follow import check_fitted
from sklearn_probsr.adapters._named_columns import needed_columns, spelling_of
from sklearn_probsr.adapters._registry import Entry, entry_of, find, name_of
from sklearn_probsr.adapters.classifiers._additive import Additive
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import as_array, check_names, in_memory, is_flat, no_table
from sklearn_probsr.model.numbers import listing

__all__ = ["RawColumns", "raw_columns"]

_INSIDE = ("best_estimator_", "estimator_", "estimators_", "calibrated_classifiers_", "estimator")

# What LightGBM and interpret call columns without names.
_MADE_UP = ("Column_{}", "feature_{:04}")


@dataclass(frozen=True)
class RawColumns:
    """The names of the raw columns; whether the estimator knows them, and takes texts.

    ``needed`` are those that a frame must have if its columns are found by their names, wherever
    they are and whatever else there is; None: they must come in their order, and no others.
    ``spelling`` is what the estimator makes of names; two of which it makes one are the same name.
    """

    names: tuple[str, ...]
    named: bool = False
    text: bool = False
    needed: frozenset[str] | None = None
    spelling: Callable[[str], str] | None = None

    def check(self, X: Any, name: str = "X") -> Any:
        """Return raw rows as the estimator takes them, or say what is wrong with them."""
        given = X = in_memory(X, name)
        if self.text:
            return _texts(X, name)
        if np.ma.isMaskedArray(X):
            X = as_array(X, name)
        if not hasattr(X, "shape"):
            array = np.asarray(X)
            # Texts must not make texts of the numbers beside them.
            X = np.asarray(X, dtype=object) if array.dtype.kind in "US" else array
        if len(X.shape) != 2:
            raise InvalidInputError(
                f"{name} must have two dimensions, (rows, {len(self.names)} raw columns), "
                f"{no_table(given, X.shape)}"
            )
        if hasattr(X, "tocsr") and X.format not in {"csr", "csc"}:
            X = X.tocsr()  # one whose rows and columns can be taken
        columns = getattr(X, "columns", None)
        if columns is not None and self.named:
            X, columns = self._respelled(X, _listed(columns))
            X = self._by_name(X, columns, name)
        elif columns is not None and self.needed is not None and self.needed <= set(columns):
            X = _select(X, self.names)  # the names that a user gave; a frame may have others
        if X.shape[1] != len(self.names):
            raise InvalidInputError(
                f"{name} must have one column per raw column, {len(self.names)}, got {X.shape[1]}."
            )
        if columns is not None and not self.named:
            return X.to_numpy()
        if columns is None and self.named and not hasattr(X, "toarray"):
            return self.frame(X)
        return X

    def _respelled(self, X: Any, columns: list[str]) -> tuple[Any, list[str]]:
        """Return a frame whose columns are called as here, and their names."""
        if self.spelling is None or columns == list(self.names):
            return X, columns
        own = {self.spelling(known): known for known in self.names}
        names = [own.get(self.spelling(column), column) for column in columns]
        if len(set(names)) < len(names):
            return X, columns
        frame = X.copy(deep=False) if hasattr(X, "iloc") else X.clone()  # polars
        frame.columns = names
        return frame, names

    def _by_name(self, X: Any, columns: list[str], name: str) -> Any:
        """Return a frame with these columns, as far as the estimator's own `predict` does that."""
        if columns == list(self.names):
            return X
        for column in self.names:
            if columns.count(column) > 1:
                raise InvalidInputError(
                    f"{name} must have every column once, it has {column!r} "
                    f"{columns.count(column)} times."
                )
        known = "the columns that the estimator was fitted with"
        for column in self.names:
            if column not in columns and (self.needed is None or column in self.needed):
                raise InvalidInputError(
                    f"{name} must have {known}, it lacks {column!r}. It has {listing(columns)}."
                )
        if self.needed is not None:
            return _select(X, self.names)
        at = next((i for i, own in enumerate(self.names) if columns[i] != own), len(self.names))
        frame = name if name.isidentifier() else "X"
        raise InvalidInputError(
            f"{name} must have {known}, in their order, got {columns[at]!r} as column {at}. "
            f"Write {frame}[list(estimator.feature_names_in_)]."
        )

    def frame(self, X: Any, given: Any = None) -> Any:
        """Return checked raw rows as a frame with these names, and the index of those given."""
        import pandas as pd

        if isinstance(X, pd.DataFrame):
            return X
        index = getattr(given, "index", None) if hasattr(given, "iloc") else None
        if self.text:
            return pd.DataFrame({self.names[0]: list(X)}, index=index)
        rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        return pd.DataFrame(rows, index=index, columns=list(self.names)).infer_objects()


def _listed(columns: Any) -> list[str]:
    """Return the names of a frame's columns."""
    given = columns.tolist() if hasattr(columns, "tolist") else columns  # pandas, which is slow
    return [str(column) for column in given]


def _select(X: Any, names: Sequence[str]) -> Any:
    """Return the named columns of a frame; those that it lacks are missing values."""
    if hasattr(X, "reindex"):
        return X.reindex(columns=list(names))
    absent = dict.fromkeys(name for name in names if name not in X.columns)
    return X.with_columns(**absent).select(list(names))  # polars


def _texts(X: Any, name: str) -> Any:
    if not is_flat(X):
        columns: Any = getattr(X, "columns", ())
        if len(columns) == 1:
            frame = name if name.isidentifier() else "X"
            remedy = f"Write {frame}[{columns[0]!r}]."
        elif len(getattr(X, "shape", ())) == 2:
            remedy = "Pass the texts themselves: the Pipeline makes the matrix."
        elif isinstance(X, list | tuple):
            remedy = "Pass one text per row: words that were split already, joined by spaces."
        elif isinstance(X, Iterable) and not isinstance(X, Sequence):
            remedy = "Pass a list of them."
        else:
            remedy = "Write [text] for a single one."
        raise InvalidInputError(f"{name} must be a sequence of texts, got {_summary(X)}. {remedy}")
    return X


def _summary(X: Any) -> str:
    if isinstance(X, Iterator):
        return type(X).__name__
    if isinstance(X, str) or not hasattr(X, "shape"):
        return repr(X)[:60]
    return f"{type(X).__name__} of shape {X.shape}"


def raw_columns(estimator: Any, names: Sequence[str] | None, X_sample: Any) -> RawColumns:
    """Return the raw columns of an estimator; the names are for one that has none."""
    if isinstance(estimator, Additive) or (isinstance(estimator, tuple) and len(estimator) == 2):
        return _given(estimator, names, X_sample)
    entry = find(estimator, "classifier")
    check_fitted(estimator, entry.prefit)
    for part in _first_parts(estimator):
        if _takes_text(part):
            return RawColumns(check_names(names, 1) if names is not None else ("text",), text=True)
        known = _known(part)
        if isinstance(known, int):
            return RawColumns(check_names(names, known))
        if known is not None:
            spelling = spelling_of(estimator)
            if spelling is not None:
                known = _spelled_as(known, spelling, X_sample if names is None else names)
            columns = _agreed(known, names, estimator)
            needed = _needed(estimator, part, columns)
            return RawColumns(columns, named=True, needed=needed, spelling=spelling)
        if hasattr(part, "n_features_in_"):
            return RawColumns(check_names(names, int(part.n_features_in_)))
    return RawColumns(check_names(names, _guess(estimator, entry, names, X_sample)))


def _given(estimator: Any, names: Sequence[str] | None, X_sample: Any) -> RawColumns:
    """Return the raw columns of a pair (coef, intercept) or of an Additive."""
    if isinstance(estimator, tuple):
        n = _width(Linear(*estimator))
    elif names is None and estimator.names is not None:
        return RawColumns(estimator.names, named=True, needed=frozenset(estimator.names))
    else:
        given = 0 if X_sample is None or np.ndim(X_sample) != 2 else np.shape(X_sample)[1]
        n = estimator.width(len(names or ()) or given)
    frame = _names_of(X_sample, n) if names is None else None
    if frame is None:
        chosen = check_names(names, n)
        return RawColumns(chosen, needed=None if names is None else frozenset(chosen))
    return RawColumns(frame, named=True, needed=frozenset(frame))


def _known(part: Any) -> tuple[str, ...] | int | None:
    """Return the names that an estimator was fitted with, unless it made them up."""
    entry = entry_of(part)
    if entry is not None and entry.inputs is not None:
        return entry.inputs(part)
    known = getattr(part, "feature_names_in_", None)
    if known is None or not all(isinstance(name, str) for name in known):
        return None
    if any(all(name == form.format(i) for i, name in enumerate(known)) for form in _MADE_UP):
        return None
    return tuple(map(str, known))


def _spelled_as(known: tuple[str, ...], spelling: Callable[[str], str], given: Any) -> Any:
    """Return the names of which an estimator made those that it knows, if they are given."""
    columns = given if isinstance(given, list | tuple) else _columns_of(given)
    if columns is None:
        return known
    own = {spelling(column): column for column in columns if isinstance(column, str)}
    return tuple(own.get(name, name) for name in known)


def _columns_of(X: Any) -> Any:
    """Return the names of a frame's columns, if it has some."""
    return getattr(X, "column_names", getattr(X, "columns", None))  # Arrow's, then all others'


def _needed(estimator: Any, part: Any, columns: tuple[str, ...]) -> frozenset[str] | None:
    """Return which columns of a frame are found by name, if they are."""
    entry = entry_of(part)
    if entry is not None and entry.inputs is not None:
        return frozenset(columns)
    return needed_columns(estimator)


def _names_of(X: Any, n: int) -> tuple[str, ...] | None:
    """Return the names of a frame's columns, if it has so many and they are texts."""
    columns = _columns_of(X)
    if columns is None or len(columns) != n or not all(isinstance(c, str) for c in columns):
        return None
    return check_names(columns, n)


def _guess(estimator: Any, entry: Entry, names: Sequence[str] | None, X_sample: Any) -> int:
    """Return how many columns an estimator takes that does not say so."""
    if names is not None and hasattr(names, "__len__"):
        return len(names)
    if X_sample is not None and len(np.shape(X_sample)) == 2:
        return int(np.shape(X_sample)[1])
    part = None if entry.composite else entry.adapter(estimator)
    if entry.composite and hasattr(estimator, "coef_"):
        part = estimator.coef_, 0.0
    if isinstance(part, Linear | tuple):
        return _width(part)
    raise InvalidInputError(
        f"{name_of(estimator)} does not say how many columns it takes. Pass feature_names to "
        "to_linear_model, or X_sample to adapt."
    )


def _width(part: Any) -> int:
    coef = part.coef if isinstance(part, Linear) else part[0]
    shape = np.shape(coef)
    if not 1 <= len(shape) <= 2:
        raise InvalidInputError(
            f"coef must be a vector, or a matrix with one row per class, got {coef!r}."
        )
    return int(shape[-1])


def _agreed(known: tuple[str, ...], names: Sequence[str] | None, estimator: Any) -> tuple[str, ...]:
    if names is None:
        return known
    given = check_names(names, len(known))
    if given != known:
        at = next(i for i, name in enumerate(known) if given[i] != name)
        raise InvalidInputError(
            f"feature_names must be those that {name_of(estimator)} was fitted with, in their "
            f"order, got {given[at]!r} in place of {known[at]!r}. Leave feature_names out."
        )
    return known


def _first_parts(estimator: Any) -> Iterator[Any]:
    """Yield an estimator, and what is inside it that sees the raw rows first."""
    yield estimator
    for _, step in getattr(estimator, "steps", []):
        if step is not None and not isinstance(step, str):
            yield from _first_parts(step)
    for _, step in getattr(estimator, "transformer_list", []):
        if not isinstance(step, str):
            yield from _first_parts(step)
    for name in _INSIDE:
        inside = getattr(estimator, name, None)
        if inside is not None:
            yield from _first_parts(inside[0] if isinstance(inside, list) else inside)


def _takes_text(part: Any) -> bool:
    entry = entry_of(part)
    if entry is None or entry.composite or entry.role not in {"transformer", "registered"}:
        return False
    try:
        check_fitted(part, entry.prefit)
    except InvalidInputError:
        return False
    return isinstance(entry.adapter(part), Words)

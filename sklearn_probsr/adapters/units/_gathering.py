"""Gathering: raw rows to the base columns of a model, each from the place where it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from sklearn_probsr.adapters.units._columns import Base
from sklearn_probsr.adapters.units._place_rows import (
    Rows,
    as_floats,
    names_may_lack,
    vectorized,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import no_text
from sklearn_probsr.model.numbers import no_number, value_kind
from sklearn_probsr.model.sparse import SparseRows, is_large, sparse_rows

__all__ = ["Gathering", "count_rows", "raw_numbers"]


class _Place(NamedTuple):
    """A place that has so many columns, and which of them are wanted; None for all."""

    rows: Rows
    width: int
    wanted: list[int] | None


class Gathering:
    """Where base columns are computed, and in which order they come; the same for all rows."""

    def __init__(self, bases: Sequence[Base]) -> None:
        self.bases = bases
        together: dict[int, list[int]] = {}
        for i, base in enumerate(bases):
            together.setdefault(id(base.rows), []).append(i)
        self._places = [_place([bases[i] for i in at]) for at in together.values()]
        come = [i for at in together.values() for i in at]
        self._names = [base.name for base in bases]
        self._order = None if come == list(range(len(bases))) else np.argsort(come)

    def of(self, X: Any, name: str = "X") -> Any:
        """Return the base columns of raw rows; those of large sparse ones stay sparse."""
        memo: dict[int, Any] = {}
        with names_may_lack(X):
            parts = [_columns_at(place, X, memo) for place in self._places]
        if _are_mostly_sparse(parts):
            whole = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")
            if is_large(whole):  # of many columns that words are hashed to few may be wanted
                few = sparse_rows(whole, self._names, name)
                return few if self._order is None else few.columns_at(self._order)
        dense = [as_floats(part) if sparse.issparse(part) else part for part in parts]
        found = dense[0] if len(dense) == 1 else np.hstack(dense)
        return np.ascontiguousarray(found if self._order is None else found[:, self._order])

    def computed(self, raw: Any, names: Sequence[str], name: str) -> Any:
        """Return the base columns of checked raw rows, or say what a step cannot take in them."""
        if not count_rows(raw):
            return np.zeros((0, len(self.bases)))  # steps refuse to look at no rows
        try:
            rows = self.of(raw, name)
        except InvalidInputError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            self._check_texts(raw, names, name)
            self._check_numbers(raw, names, name)
            raise InvalidInputError(f"The steps of the estimator refuse {name}: {error}") from error
        if not isinstance(rows, SparseRows) and not np.isfinite(rows).all():
            self._check_numbers(raw, names, name)
        return rows

    def _check_texts(self, raw: Any, names: Sequence[str], name: str) -> None:
        """Refuse what is no text where a vectorizer splits texts, and cannot split this."""
        for base in {id(base.rows): base for base in self.bases}.values():
            found = vectorized(base.rows)
            if found is None:
                continue
            where = f" in column {names[base.raw]!r}" if len(names) > 1 else ""
            split = found.step.build_analyzer()
            for row, value in enumerate(found.parent.of(raw, {})):
                if isinstance(value, str | bytes):
                    continue
                try:
                    split(value)
                except Exception:  # of any kind: a user's own function may be in it
                    raise no_text(value, row, name, where) from None

    def _check_numbers(self, raw: Any, names: Sequence[str], name: str) -> None:
        """Refuse texts and dates in the raw columns that are numbers to the model."""
        for at in sorted({b.raw for b in self.bases if b.own is None and not b.domain.values}):
            column = _safe_indexing(raw, at, axis=1)
            values = column.toarray().ravel() if hasattr(column, "toarray") else np.asarray(column)
            for row, value in enumerate(values if values.dtype.kind not in "biuf" else ()):
                if value_kind(value):
                    raise no_number(value, f"row {row}, column {names[at]!r}", name)


def _place(bases: Sequence[Base]) -> _Place:
    """Return the place that some base columns share."""
    width, wanted = bases[0].width, [base.at for base in bases]
    return _Place(bases[0].rows, width, None if wanted == list(range(width)) else wanted)


def _are_mostly_sparse(parts: Sequence[Any]) -> bool:
    """Tell whether most columns are sparse, as those of words are beside a few numbers."""
    widths = [part.shape[1] for part in parts]
    few = [width for part, width in zip(parts, widths, strict=True) if sparse.issparse(part)]
    return bool(2 * sum(few) > sum(widths))


def _columns_at(place: _Place, X: Any, memo: dict[int, Any]) -> Any:
    """Return the columns of a place that are wanted, as floats."""
    rows = place.rows.of(X, memo)
    rows = rows.tocsr() if sparse.issparse(rows) else as_floats(rows)
    if rows.shape[1] != place.width:
        raise InvalidInputError(
            f"a step gives {rows.shape[1]} columns, its adapter says {place.width}."
        )
    return rows if place.wanted is None else rows[:, place.wanted]


def raw_numbers(raw: Any, columns: Sequence[int]) -> NDArray[np.float64] | None:
    """Return some raw columns, if all of them are finite numbers by their type."""
    found = [np.asarray(_safe_indexing(raw, at, axis=1)) for at in columns]
    if any(column.dtype.kind not in "iuf" or not np.isfinite(column).all() for column in found):
        return None
    numbers = [column.astype(np.float64) for column in found]
    return np.column_stack(numbers) if numbers else np.zeros((count_rows(raw), 0))


def count_rows(raw: Any) -> int:
    """Return how many raw rows there are."""
    return int(raw.shape[0]) if hasattr(raw, "shape") else len(raw)

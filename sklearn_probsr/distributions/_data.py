"""Data: rows of a background, and how much each counts."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import as_array, finite_floats, in_memory, texts_of, zeros_and_ones
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.model.sparse import SparseRows, is_large, sparse_rows

__all__ = ["Data", "HandedOver", "binary_rows", "check_shape", "rows_of", "whole_number"]


class HandedOver(NamedTuple):
    """Rows that were made for a data set, and that nobody else holds: they need not be copied."""

    rows: Any


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of a data set, and how much each counts.

    A frame may hold what a pipeline still has to encode, and so may texts: their values are looked
    at when a model first asks for them; those of an array are at once.

    Two are equal if they are of one kind, with equal rows, kept in the same way (filled in, sparse,
    a frame or texts), equal weights and equal settings.
    """

    source: Any
    weights: NDArray[np.int64]
    columns: tuple[Any, ...] | None
    shape: tuple[int, int]
    _own: bool  # whether the source is in memory that nobody else can write to

    # Whether units must have states: one of equal chances, or one that can be matched.
    needs_states: ClassVar[bool] = False

    def __init__(self, X: ArrayLike | HandedOver, weights: ArrayLike | None = None) -> None:
        own = isinstance(X, HandedOver)
        X = in_memory(X.rows if isinstance(X, HandedOver) else X, "A background")
        names: Any
        if texts := texts_of(X, "A background"):
            X, names, shape = texts, ("text",), (len(texts), 1)
        else:
            names = getattr(X, "columns", None)
            shape = check_shape(X if hasattr(X, "toarray") else as_array(X, "A background"))
        put = object.__setattr__
        if names is not None and _is_floats(X):
            put(self, "source", _floats(X))
            own = True
        else:
            put(self, "source", _copied(X) if names is not None or is_large(X) else _array(X))
        put(self, "_own", own)
        put(self, "weights", _weights(weights, shape[0]))
        put(self, "columns", None if names is None else tuple(names))
        put(self, "shape", shape)
        if names is None:
            put(self, "source", self.rows)

    def taken(self, places: Sequence[int]) -> Data:
        """Return the same for some columns of a frame, which need not have others to be read."""
        array = _array(self.source)[:, list(places)]
        return self.with_rows(rows_of(array, [(self.columns or ())[i] for i in places], own=True))

    def with_rows(self, rows: ArrayLike) -> Data:
        """Return the same for other columns of the same rows, which are handed over."""
        return type(self)(HandedOver(rows), self.weights)

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.source, "weights": self.weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        if (self.shape, self.columns, self._said) != (other.shape, other.columns, other._said):
            return False
        return np.array_equal(self.weights, other.weights) and _alike(self.source, other.source)

    def __hash__(self) -> int:
        return hash((type(self), self.shape, self.columns, self._said))  # not a look at the rows

    @property
    def _said(self) -> tuple[Any, ...]:
        """What is said beside the rows and their weights."""
        return ()

    @cached_property
    def rows(self) -> Any:
        """The rows: booleans where all is 0 or 1, else floats; `SparseRows` if they are large."""
        if is_large(self.source):
            return sparse_rows(self.source, None, "A background")
        if isinstance(self.source, list):
            raise InvalidInputError(
                f"{type(self).__name__} has {self.shape[0]:,} texts, which only a Pipeline with a "
                "vectorizer makes numbers of. Pass such a Pipeline, or rows of numbers."
            )
        return rows_of(_array(self.source), self.columns, self._own)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are mostly zeros, and so many that only what is in them is kept."""
        return is_large(self.source)

    @property
    def total(self) -> int:
        """The weight of all rows together."""
        return int(self.weights.sum())

    @property
    def evenly(self) -> bool:
        """Whether all rows count the same."""
        return bool((self.weights == self.weights[0]).all())

    @property
    def _text(self) -> str:
        n = self.shape[0]
        kind = "" if self.evenly else "weighted "
        return f"{n:,} {kind}background row{'s' if n > 1 else ''}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{self.shape[0]} rows, {self.shape[1]} columns>)"


def _array(X: Any) -> NDArray[Any]:
    return as_array(X, "A background")


def _is_floats(frame: Any) -> bool:
    """Tell whether all columns of a frame of pandas are floats of 64 bits."""
    plain = type(frame).__name__ == "DataFrame" and hasattr(frame, "iloc")
    return plain and all(dtype == np.float64 for dtype in frame.dtypes)


def _floats(frame: Any) -> Any:
    """Return such a frame over an array of its own, whose rows need no other copy."""
    array = np.array(frame, dtype=np.float64, order="C")
    array.flags.writeable = False
    return type(frame)(array, index=frame.index, columns=frame.columns, copy=False)


def _alike(one: Any, other: Any) -> bool:
    """Tell whether two sources are of one kind, and hold the same."""
    if type(one) is not type(other):
        return False
    if isinstance(one, SparseRows):
        parts = ((one.starts, other.starts), (one.indices, other.indices))
        same = all(np.array_equal(*pair) for pair in parts)
        return same and np.array_equal(one.values, other.values)
    if hasattr(one, "equals"):  # a frame of pandas' or polars'
        return bool(one.equals(other))
    return one == other if isinstance(one, list) else np.array_equal(one, other)


def _copied(frame: Any) -> Any:
    """Return a frame that stays as it is when the caller changes theirs; polars' are cloned."""
    for way in ("copy", "clone"):
        if hasattr(frame, way):
            return getattr(frame, way)()
    return frame


def whole_number(value: Any, name: str, least: int) -> int:
    """Return a whole number that is large enough, or say that it is none."""
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InvalidInputError(f"{name} must be a whole number >= {least}, got {value!r}.")
    return number


def check_shape(array: Any) -> tuple[int, int]:
    if array.ndim != 2 and array.shape != (0,):
        raise InvalidInputError(
            f"A background must have two dimensions, (rows, features), got an array of shape "
            f"{array.shape}."
        )
    if 0 in array.shape:
        what = "row" if array.shape[0] == 0 else "column"
        raise InvalidInputError(f"A background must have at least one {what}, got none.")
    n, d = array.shape
    return n, d


def rows_of(array: NDArray[Any], names: Any, own: bool = False) -> NDArray[Any]:
    """Return booleans where all is 0 or 1, else floats; their own ones need no copy."""
    rows: NDArray[Any]
    rows, valid = zeros_and_ones(array)
    if not valid.all():
        columns = range(array.shape[1]) if names is None else names
        rows = finite_floats(array, [str(name) for name in columns], "A background", own)
    rows.flags.writeable = False
    return rows


def binary_rows(rows: Any, names: Any) -> Any:
    if rows.dtype == np.bool_:
        return rows
    if isinstance(rows, SparseRows):
        at = int(np.flatnonzero(rows.values != 1)[0])
        row, column, value = int(rows.places[at]), int(rows.indices[at]), rows.values[at]
    else:
        row, column = np.argwhere((rows != 0) & (rows != 1))[0]
        value = rows[row, column]
    name = column if names is None else repr(names[column])
    raise InvalidInputError(
        f"A background must be 0 or 1 in every column, got {value:g} in row {row}, "
        f"column {name}. Binarize it as the instances are, or declare units."
    )


def _weights(weights: ArrayLike | None, n: int) -> NDArray[np.int64]:
    """Return whole numbers in the proportion of the weights."""
    if weights is None:
        whole = np.ones(n, dtype=np.int64)
    else:
        given = np.asarray(weights)
        if given.shape != (n,):
            raise InvalidInputError(
                f"weights must hold one number per background row, {n}, got shape {given.shape}."
            )
        whole = np.array(
            _proportion(given) if given.dtype == np.int64 else _whole(_fractions(given)),
            dtype=np.int64,
        )
    whole.flags.writeable = False
    return whole


def _proportion(given: NDArray[np.int64]) -> Any:
    """Return whole numbers divided by what divides them all; many, as files have them, at once."""
    if given.min() < 0 or not given.any() or float(given.max()) * len(given) >= 2.0**62:
        return _whole(_fractions(given))
    return given // np.gcd.reduce(given)


def _fractions(given: NDArray[Any]) -> list[Fraction]:
    try:
        numbers = [decimal_fraction(w) for w in given]
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("weights must be finite numbers.") from None
    for i, number in enumerate(numbers):
        if number < 0:
            raise InvalidInputError(f"weights must not be negative, got {given[i]} in row {i}.")
    if not any(numbers):
        raise InvalidInputError("weights must not all be zero.")
    return numbers


def _whole(numbers: list[Fraction]) -> list[int]:
    denominator = math.lcm(*(number.denominator for number in numbers))
    whole = [int(number * denominator) for number in numbers]
    divisor = math.gcd(*whole)
    whole = [w // divisor for w in whole]
    if sum(whole) >= 2**62:
        raise InvalidInputError(
            "weights have too many digits to be counted exactly together. "
            "Round them, for instance with numpy.round(weights, 9)."
        )
    return whole

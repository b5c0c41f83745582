"""Checks: the arguments of a model and its rows, or an error that says what is wrong."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr.exceptions import InvalidInputError

__all__ = [
    "as_array",
    "check_classes",
    "check_names",
    "check_threshold",
    "check_weights",
    "finite_floats",
    "finite_matrix",
    "first_wrong",
    "in_memory",
    "labels_of",
    "listing",
    "no_number",
    "no_table",
    "pieces",
    "value_kind",
    "zeros_and_ones",
]

# Numbers in rows that are looked at together.
_AT_ONCE = 2**18


def check_weights(weights: ArrayLike) -> NDArray[np.float64]:
    """Return finite weights as a read-only vector."""
    try:
        if np.iscomplexobj(weights):
            raise TypeError
        with np.errstate(over="ignore"):
            values = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(
            f"weights must be a vector of numbers, got {type(weights).__name__}."
        ) from None
    if values.ndim != 1:
        raise InvalidInputError(
            f"weights must be a vector, got an array of shape {values.shape}. "
            "Pass coef_.ravel() of a two-class estimator."
        )
    if len(values) == 0:
        raise InvalidInputError("weights must hold at least one feature, got an empty vector.")
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InvalidInputError(f"weights must be finite, got {values[bad]} at index {bad}.")
    values.flags.writeable = False
    return values


def finite_matrix(values: ArrayLike, ndim: int, name: str) -> NDArray[np.float64]:
    """Return numbers of so many dimensions, whose differences are finite too."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(
            f"{name} must be an array of numbers, got {type(values).__name__}."
        ) from None
    if found.ndim != ndim or not found.size:
        raise InvalidInputError(
            f"{name} must be an array of {ndim} dimension{'s' if ndim > 1 else ''}, got shape "
            f"{found.shape}."
        )
    if not (np.abs(found) < 2.0**1022).all():
        bad = found[~(np.abs(found) < 2.0**1022)][0]
        raise InvalidInputError(f"{name} must be finite and below 4e307, got {bad}.")
    return found


def check_threshold(threshold: float) -> float:
    """Return a finite threshold; an array of one number is one."""
    try:
        value = float(np.asarray(threshold).item())  # intercept_ is an array of one number
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"threshold must be a number, got {threshold!r}.") from None
    if not math.isfinite(value):
        raise InvalidInputError(f"threshold must be finite, got {value}.")
    return value


def check_names(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """Return one unique name per feature."""
    if names is None:
        return tuple(f"x{i}" for i in range(d))
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise InvalidInputError(f"feature_names must be a sequence of names, got {names!r}.")
    chosen = tuple(str(name) for name in names)
    if len(chosen) != d:
        raise InvalidInputError(
            f"feature_names must hold one name per weight, {d}, got {len(chosen)}."
        )
    if len(set(chosen)) != d:
        twice = next(name for name in chosen if chosen.count(name) > 1)
        raise InvalidInputError(f"feature_names must be unique, got {twice!r} twice.")
    return chosen


def check_classes(classes: Sequence[Any]) -> tuple[Any, Any]:
    """Return two different labels."""
    try:
        first, second = classes
        different = bool(first != second)
    except (TypeError, ValueError):
        different = False
    if not different:
        shown = repr(classes)
        if len(shown) > 200:  # of somebody's file, perhaps
            shown = f"{shown[:200]}..."
        raise InvalidInputError(f"classes must be two different labels, got {shown}.")
    return first, second


def labels_of(x: Any) -> Any:
    """Return the names that a frame or a series gives to the values of one instance."""
    return getattr(x, "columns", x.index if hasattr(x, "iloc") else None)


def no_table(X: Any, shape: tuple[int, ...]) -> str:
    """Say what was given in place of rows, and what to do."""
    if X is None:
        return "got None."
    if isinstance(X, str):
        return f"got the text {X!r}. Read the file first, with pandas.read_csv for one."
    if isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        return "got a list of mappings. Write pandas.DataFrame(X)."
    return f"got an array of shape {shape}. Write [x] for a single instance."


def in_memory(X: Any, name: str) -> Any:
    """Return rows as they are, Arrow's tables as pandas'; refuse those that are not read yet."""
    library, kind = type(X).__module__.partition(".")[0], type(X).__name__
    for other, method in (("dask", "compute"), ("polars", "collect")):
        if library == other and hasattr(X, method):
            raise InvalidInputError(
                f"{name} must be in memory, got a {library} {kind}. Read it first: "
                f"{name if name.isidentifier() else 'X'}.{method}()."
            )
    if library == "pyarrow" and hasattr(X, "to_pandas"):
        frame = X.to_pandas()
        if not hasattr(frame, "columns"):  # of an array
            return frame
        # A null among texts is None to scikit-learn, and NaN to pandas.
        texts = [name for name in frame.columns if frame[name].dtype.kind == "O"]
        return frame.assign(**{name: _with_none(frame[name]) for name in texts})
    return X


def _with_none(texts: Any) -> Any:
    values = texts.astype(object)
    return values.where(texts.notna(), None)


def as_array(X: Any, name: str) -> NDArray[Any]:
    """Return data as an array; sparse matrices are filled in."""
    if np.ma.is_masked(X):
        raise InvalidInputError(f"{name} has masked values. Fill them in, or drop their rows.")
    if hasattr(X, "toarray"):
        X = X.toarray()
    try:
        return np.asarray(X)
    except ValueError:
        raise InvalidInputError(f"{name} must have rows of equal length.") from None


def pieces(rows: Any) -> list[Any]:
    """Return rows of an array in pieces, of which what is computed takes little memory."""
    if not isinstance(rows, np.ndarray) or rows.size <= _AT_ONCE:
        return [rows]
    step = max(_AT_ONCE // rows.shape[1], 1)
    return [rows[i : i + step] for i in range(0, len(rows), step)]


def zeros_and_ones(array: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell where an array is 1, and where it is 0 or 1."""
    try:
        ones = np.asarray(array == 1, dtype=np.bool_)
        return ones, ones | np.asarray(array == 0, dtype=np.bool_)
    except (TypeError, ValueError):  # a missing value that will not be compared
        ones = np.array([[_is(v, 1) for v in row] for row in array.tolist()], dtype=np.bool_)
        zeros = np.array([[_is(v, 0) for v in row] for row in array.tolist()], dtype=np.bool_)
        return ones, ones | zeros


def _is(value: Any, number: int) -> bool:
    try:
        return bool(value == number)
    except (TypeError, ValueError):
        return False


def first_wrong(valid: NDArray[np.bool_], name: str) -> tuple[int, int, str]:
    """Return where the first value is that is not valid, and how to say its row."""
    row, column = map(int, np.argwhere(~valid)[0])
    return row, column, f"row {row}, " if name != "x" else ""


def finite_floats(
    array: NDArray[Any], names: Sequence[str], name: str, own: bool = False
) -> NDArray[np.float64]:
    """Return rows of finite numbers, or say where there is something else.

    They are a copy; of an array that nobody else writes to only if it must be.
    """
    try:
        if array.dtype.kind in "cmM":  # NumPy would make numbers of dates
            raise TypeError
        make = np.ascontiguousarray if own else partial(np.array, order="C")
        rows = make(array, dtype=np.float64)
        finite = np.isfinite(rows)
    except (TypeError, ValueError, OverflowError):
        rows = np.full(array.shape, np.nan)
        for index, value in np.ndenumerate(array):
            with contextlib.suppress(TypeError, ValueError, OverflowError):
                rows[index] = np.nan if value_kind(value) else float(value)
        finite = np.isfinite(rows)
    if not finite.all():
        row, column, where = first_wrong(finite, name)
        raise no_number(array[row, column], f"{where}column {names[column]!r}", name)
    return rows


def value_kind(value: Any) -> str:
    """Say what a value is that is no number, though Python may make one of it; else nothing."""
    if isinstance(value, str | bytes):
        try:
            float(value)
        except ValueError:
            return "text"
        return ""
    if isinstance(value, complex | np.complexfloating):
        return "complex number"
    if isinstance(value, np.datetime64 | datetime.date):
        return "date"
    return "duration" if isinstance(value, np.timedelta64 | datetime.timedelta) else ""


_REMEDIES = {
    "": "Fill in or drop what is missing.",
    "text": "Write it as a number, or let a step of the Pipeline encode it.",
    "complex number": "Pass its real and imaginary part as two columns.",
    "date": "Make it a number first, for instance the days since a date.",
    "duration": "Make it a number first, for instance of days.",
}


def no_number(value: Any, where: str, name: str) -> InvalidInputError:
    """Return the error about a value that is no finite number."""
    kind = value_kind(value)
    value = value.item() if isinstance(value, np.str_ | np.bytes_) else value
    shown = repr(value) if kind == "text" else str(value)
    got = f"the {kind} {shown}" if kind else shown
    return InvalidInputError(
        f"{name} must hold finite numbers, got {got} in {where}. {_REMEDIES[kind]}"
    )


def listing(names: Sequence[str], most: int = 8) -> str:
    """Return names as text, the first few of many."""
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"

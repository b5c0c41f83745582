"""Inputs: the columns of a model, the units that they belong to, and checks of what comes in.

What users pass (weights, names, classes, rows, texts, features by name) is checked here, once, and
an error says what was wrong, what was received and what to do. Rows leave as booleans where every
column is a feature of its own, else as finite floats; large sparse ones stay sparse.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import fact, listing, no_number, value_kind
from sklearn_probsr.model.sparse import SparseRows, columns_of, is_large, sparse_rows
from sklearn_probsr.model.units import Unit

# Rows are compared with so many states one by one.
_FEW = 16
# Numbers in rows that are looked at together.
_AT_ONCE = 2**18


class Inputs:
    """What rows of a model are made of: columns with names, and the units that they belong to."""

    feature_names: tuple[str, ...]
    units: tuple[Unit, ...] | None

    @property
    def n_features(self) -> int:
        """The number of columns, d."""
        return len(self.feature_names)

    @property
    def n_units(self) -> int:
        """The number of units; every column is one if none were declared."""
        return len(self.feature_names) if self.units is None else len(self.units)

    @cached_property
    def unit_names(self) -> tuple[str, ...]:
        """The name of every unit."""
        if self.units is None:
            return self.feature_names
        return tuple(unit.name for unit in self.units)

    @cached_property
    def first_columns(self) -> list[int]:
        """The first column of every unit: its only one where all are 0/1 features."""
        if self.units is None:
            return list(range(self.n_features))
        return [unit.columns[0] for unit in self.units]

    @cached_property
    def columns_first(self) -> NDArray[np.intp]:
        """The same as an array."""
        return np.array(self.first_columns, dtype=np.intp)

    def sum_by_unit(self, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of numbers per column (rows, columns) over the columns of each unit."""
        if self.units is None:
            return parts
        columns, starts = self._by_unit
        totals: NDArray[np.float64] = np.add.reduceat(parts[:, columns], starts, axis=1)
        return totals

    @cached_property
    def _by_unit(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The columns of all units, one unit after the other, and where each begins."""
        columns = [unit.columns for unit in self.units or ()]
        starts = np.cumsum([0, *map(len, columns)])[:-1]
        return np.array([*chain.from_iterable(columns)], dtype=np.intp), starts

    def present(self, rows: Any) -> NDArray[np.bool_]:
        """Tell which units of checked rows are there: a word that occurs, a number other than 0."""
        filled = rows.astype(np.bool_).toarray() if isinstance(rows, SparseRows) else rows
        nonzero: NDArray[np.bool_] = filled != 0
        if self.units is None:
            return nonzero
        found = nonzero[:, self.first_columns]
        for u, unit in enumerate(self.units):
            if unit.has_states:
                found[:, u] = True
            elif len(unit.columns) > 1:
                found[:, u] = nonzero[:, list(unit.columns)].any(axis=1)
        return found

    def describe(self, unit: int, row: NDArray[Any], raw: Any = None) -> str:
        """Say in words what a unit is in a row; ``raw`` is what its columns were made of."""
        if self.units is None:
            name = self.feature_names[unit]
            return f"{name} = {row[unit]:d}" if raw is None else fact(name, float(row[unit]), raw)
        chosen = self.units[unit]
        return chosen.describe([float(row[column]) for column in chosen.columns], raw)

    def check_row(self, x: ArrayLike) -> NDArray[Any]:
        """Return one instance, or say which value it cannot have."""
        x = in_memory(x, "x")
        array = as_array(x, "x")
        if array.ndim == 2 and array.shape[0] == 1:
            array = array[0]
        places = self.places(labels_of(x), "x")
        if places is not None and array.ndim == 1:
            array = array[places]
        if array.ndim != 1:
            raise InvalidInputError(
                f"x must be one instance, a vector of {self.n_features} numbers, got an "
                f"array of shape {array.shape}. Use sufficient_reasons for several rows."
            )
        if len(array) != self.n_features:
            raise InvalidInputError(
                f"x must have one value per feature, {self.n_features}, got {len(array)}."
            )
        row: NDArray[Any] = self.check_values(array[None, :], "x")[0]
        return row

    def check_rows(self, X: Any, name: str = "X", remedy: str | None = None) -> Any:
        """Return instances, or say which value they cannot have, and what to do about it.

        They are booleans where every column is a feature of its own, else floats. The columns of a
        frame are taken by name; others that it has are left out. Large sparse ones stay sparse.
        """
        if not self.takes_sparse and is_large(X) and X.shape[1] == self.n_features:
            # Looked at while it is small; one-hot columns are mostly zeros.
            return self.check_sparse(X, name, remedy).toarray().astype(np.float64, copy=False)
        X = self.arranged(X, name)
        if is_large(X):
            return self.check_sparse(X, name, remedy)
        return self.check_values(X, name, remedy)

    def arranged(self, X: Any, name: str = "X") -> Any:
        """Return the columns of rows in their order, whatever is in them: an array, or sparse."""
        X = in_memory(X, name)
        if self.takes_sparse and is_large(X) and X.shape[1] == self.n_features:
            return X
        array = as_array(X, name)
        places = None if is_large(X) else self.places(getattr(X, "columns", None), name)
        if places is not None and array.ndim == 2:
            array = array[:, places]
        if array.ndim != 2:
            raise InvalidInputError(
                f"{name} must have two dimensions, (rows, {self.n_features} features), "
                f"{no_table(X, array.shape)}"
            )
        if array.shape[1] != self.n_features:
            raise InvalidInputError(
                f"{name} must have one column per feature, {self.n_features}, got {array.shape[1]}."
            )
        return array

    def are_strange(self, X: Any) -> NDArray[np.bool_]:
        """Tell which rows have a number other than 0 and 1 where one of these must be.

        They are as `arranged` returns them. What is missing or no number is another matter.
        """
        if is_large(X):
            from scipy import sparse

            rows = X.matrix if isinstance(X, SparseRows) else sparse.csr_array(X)
            wrong = ~np.isin(rows.data, (0, 1)) & np.isfinite(rows.data)
            wrong &= self._binary_columns[rows.indices]
            places = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            return np.bincount(places[wrong], minlength=rows.shape[0]) > 0
        some = X[:, self._binary_columns]
        if some.dtype.kind not in "biuf":
            numbers = [[_number(value) for value in row] for row in some.tolist()]
            some = np.array(numbers, dtype=np.float64).reshape(some.shape)
        found: NDArray[np.bool_] = ((some != 0) & (some != 1) & np.isfinite(some)).any(axis=1)
        return found

    @cached_property
    def takes_sparse(self) -> bool:
        """Whether rows can be kept by their values: every unit is a column that may be zero."""
        return self.units is None or all(
            len(unit.columns) == 1 and (unit.states is None or unit.is_binary)
            for unit in self.units
        )

    @cached_property
    def _binary_columns(self) -> NDArray[np.bool_]:
        """Which columns are units of their own that are 0 or 1."""
        if self.units is None:
            return np.ones(self.n_features, dtype=np.bool_)
        binary = np.zeros(self.n_features, dtype=np.bool_)
        binary[[unit.columns[0] for unit in self.units if unit.is_binary]] = True
        return binary

    def check_sparse(self, X: Any, name: str, remedy: str | None = None) -> SparseRows:
        """Return sparse rows by their values, or say which value they cannot have.

        Takes time and memory in what is not zero, whatever states the units have.
        """
        rows = sparse_rows(X, self.feature_names, name)
        if self.units is None and rows.dtype == np.bool_:
            return rows
        wrong = np.flatnonzero(self._binary_columns[rows.indices] & (rows.values != 1))
        odd = [*rows.places[wrong[:1]].tolist(), *self._out_of_state(rows)[:1]]
        if odd:
            # As those of an array are told: the row is looked at alone.
            i = min(odd)
            try:
                self.check_values(rows[i : i + 1].toarray(), name, remedy)
            except InvalidInputError as error:
                raise InvalidInputError(str(error).replace("row 0", f"row {i}", 1)) from None
        return rows if rows.dtype != np.bool_ or not self.takes_sparse else rows.astype(np.float64)

    def _out_of_state(self, rows: SparseRows) -> list[int]:
        """Return the rows in which some unit of several columns or states is in none of them.

        Where one value of a unit is not zero, as in one-hot columns, it is looked up; where there
        are more, the unit is compared as in `check_states`.
        """
        if self.takes_sparse:
            return []
        owner, alone, may_be_zero = self._sparse_states
        inside = np.flatnonzero(owner[rows.indices] >= 0)
        place, column, value = rows.places[inside], rows.indices[inside], rows.values[inside]
        n, width = len(rows), len(may_be_zero)
        key = place * width + owner[column]
        counts = np.bincount(key, minlength=n * width)
        good = counts[key] == 1
        good &= alone[column] == value
        fine = (counts == 0) & np.tile(may_be_zero, n)
        fine[key[good]] = True
        doubtful = np.flatnonzero(~fine)
        found = set((doubtful[counts[doubtful] == 0] // width).tolist())
        for u in np.unique(doubtful % width).tolist():
            at = doubtful[doubtful % width == u] // width
            unit = self._several_states[u]
            part = columns_of(rows[at], unit.columns).astype(np.float64)
            found |= set(at[~are_states(part, np.array(unit.states))].tolist())
        return sorted(found)

    @cached_property
    def _several_states(self) -> list[Unit]:
        """The units with states that are not just a binary column."""
        return [unit for unit in self.units or () if unit.states is not None and not unit.is_binary]

    @cached_property
    def _sparse_states(
        self,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.bool_]]:
        """Which of these units owns each column (-1: none), which value may stand in it alone.

        NaN where none may, or different ones; and which units may be all zeros.
        """
        owner = np.full(self.n_features, -1, dtype=np.intp)
        alone = np.full(self.n_features, np.nan)
        may_be_zero = np.zeros(len(self._several_states), dtype=np.bool_)
        for u, unit in enumerate(self._several_states):
            columns, states = np.array(unit.columns), np.array(unit.states)
            owner[columns] = u
            filled = np.count_nonzero(states, axis=1)
            may_be_zero[u] = not filled.all()
            line, at = np.nonzero(states * (filled == 1)[:, None])
            alone[columns[at]] = states[line, at]
            at, times = np.unique(at, return_counts=True)
            alone[columns[at[times > 1]]] = np.nan
        return owner, alone, may_be_zero

    def places(self, columns: Any, name: str) -> list[int] | None:
        """Return where a frame's columns are that this model knows by name; None if it is as it is.

        Names that nobody gave say nothing about a frame that has others.
        """
        if columns is None or tuple(columns) == self.feature_names:
            return None
        given = list(columns)
        at = {column: j for j, column in reversed(list(enumerate(given)))}
        missing = [known for known in self.feature_names if known not in at]
        if not missing:
            counts = Counter(given)
            twice = [known for known in self.feature_names if counts[known] > 1]
            if twice:
                raise InvalidInputError(
                    f"{name} must have each of the model's columns once, got {twice[0]!r} twice."
                )
            return [at[known] for known in self.feature_names]
        if all(isinstance(column, str) for column in given) and not self._names_made_up:
            raise InvalidInputError(
                f"{name} must have the model's columns, it lacks {missing[0]!r}. "
                f"It has {listing(given)}."
            )
        return None

    def check_values(
        self, array: NDArray[Any], name: str, remedy: str | None = None
    ) -> NDArray[Any]:
        """Return rows of the right shape as booleans or floats, or say what is wrong in them."""
        if self.units is not None:
            return check_states(array, self.units, self.feature_names, name, remedy)
        if array.dtype == np.bool_:
            return array.copy()  # the caller's own may be changed later
        ones, valid = zeros_and_ones(array)
        if not valid.all():
            row, column, where = first_wrong(valid, name)
            raise InvalidInputError(
                f"{name} must be 0 or 1 in every column, got {array[row, column]} in {where}"
                f"column {self.feature_names[column]!r}. {remedy or 'Binarize it first.'}"
            )
        return ones

    def check_features(self, features: Iterable[int | str], argument: str) -> tuple[int, ...]:
        """Return the indices of units, given as indices or as names, without repetition."""
        if isinstance(features, str):
            raise InvalidInputError(
                f"{argument} must be a collection of features, got the text {features!r}. "
                f"Write [{features!r}]."
            )
        try:
            given = list(features)
        except TypeError:
            raise InvalidInputError(
                f"{argument} must be a collection of features, got {features!r}."
            ) from None
        return tuple(dict.fromkeys(self._index(feature, argument) for feature in given))

    def _index(self, feature: int | str, argument: str) -> int:
        if isinstance(feature, str):
            if feature in self._positions:
                return self._positions[feature]
            raise InvalidInputError(
                f"{argument} names an unknown feature, {feature!r}. "
                f"The model's features are {listing(self.unit_names)}."
            )
        try:
            index = operator.index(feature)
        except TypeError:
            raise InvalidInputError(
                f"{argument} must hold feature indices or names, got {feature!r}."
            ) from None
        if isinstance(feature, bool | np.bool_):
            raise InvalidInputError(
                f"{argument} must hold feature indices or names, got {feature!r}. "
                "Use np.flatnonzero to turn a mask into indices."
            )
        if not 0 <= index < self.n_units:
            raise InvalidInputError(
                f"{argument} names an unknown feature, {index}. "
                f"The model's features are 0 to {self.n_units - 1}."
            )
        return index

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.unit_names)}

    @cached_property
    def _names_made_up(self) -> bool:
        return self.feature_names == check_names(None, self.n_features)


def _number(value: Any) -> float:
    """Return a value that is a number, and NaN for all else."""
    return float(value) if isinstance(value, int | float | np.number | np.bool_) else np.nan


def check_states(
    array: NDArray[Any],
    units: Sequence[Unit],
    feature_names: Sequence[str],
    name: str,
    remedy: str | None = None,
) -> NDArray[np.float64]:
    """Return rows as floats in which every unit is in a state that it can have.

    ``remedy`` is what to say to those who cannot declare units.
    """
    rows = finite_floats(array, feature_names, name)
    for unit in units:
        if unit.states is None:
            continue
        part = rows[:, unit.columns]
        bad = ~are_states(part, np.array(unit.states))
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            _refuse(unit, part[i], f" in row {i}" if name != "x" else "", name, remedy)
    return rows


def are_states(part: NDArray[np.float64], states: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which rows are one of the states."""
    if len(states) <= _FEW:
        found = np.zeros(len(part), dtype=np.bool_)
        for state in states:
            found |= (part == state).all(axis=1)
        return found
    if part.shape[1] == 1:
        return np.isin(part[:, 0], states[:, 0])
    # Of many states, sorting tells; a row of numbers is one key, and minus zero is zero.
    key = np.dtype((np.void, 8 * part.shape[1]))
    rows, known = (np.ascontiguousarray(array + 0.0).view(key)[:, 0] for array in (part, states))
    return np.isin(rows, known)


def distinct_states(part: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the different rows of some columns, in their order, and which one each row is.

    As ``numpy.unique(part, axis=0, return_inverse=True)`` does, which takes long for one-hot
    columns: of these, the place of the one tells all.
    """
    width = part.shape[1]
    ones, valid = zeros_and_ones(part) if width > _FEW else (part, np.zeros(1, dtype=np.bool_))
    if not valid.all() or (ones.sum(axis=1) > 1).any():
        different, which = np.unique(part, axis=0, return_inverse=True)
        return different, which.ravel()
    key = np.where(ones.any(axis=1), width - np.argmax(ones, axis=1), 0)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return part[first], which


def _refuse(
    unit: Unit, values: NDArray[np.float64], where: str, name: str, remedy: str | None
) -> None:
    shown = ", ".join(f"{v:g}" for v in values)
    if unit.is_binary:
        kind = "unit" if remedy is None else "column"
        remedy = remedy or "Binarize it first, or declare it as Unit.real."
        raise InvalidInputError(
            f"{name} must be 0 or 1 in {kind} {unit.name!r}, got {shown}{where}. {remedy}"
        )
    hint = remedy or "Encode it as the model was trained, or give the unit one state more."
    if np.count_nonzero(values == 1) > 1:
        raise InvalidInputError(
            f"{name} has more than one category in unit {unit.name!r}: ({shown}){where}. {hint}"
        )
    if not values.any() and remedy is None:
        hint = "If a category was dropped, declare it with Unit.one_hot(..., dropped=True)."
    raise InvalidInputError(
        f"{name} has a category in unit {unit.name!r} that was never seen: ({shown}){where} is "
        f"none of its {len(unit.states or ())} states. {hint}"
    )


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


def is_flat(X: Any) -> bool:
    """Tell whether something holds one value per row, whatever these are; not whether it has any.

    So do a list, a tuple, a Series and an array of one dimension; a single text does not, nor does
    what can be gone through only once, nor a list of lists. Texts are not copied: in an array each
    would take as much room as the longest.
    """
    if hasattr(X, "shape"):
        return len(X.shape) == 1
    if isinstance(X, str | bytes | bytearray | Mapping):
        return False
    if not (hasattr(X, "__len__") and hasattr(X, "__getitem__")):
        return False
    return all(isinstance(one, str | bytes) or np.ndim(one) == 0 for one in X)


def texts_of(X: Any, name: str) -> list[str | bytes] | None:
    """Return a sequence of texts as a list; None if it is no sequence, or there is no text in it.

    A text is a str, or bytes, which a vectorizer decodes.

    Raises
    ------
    InvalidInputError
        If it is a single text, can be gone through only once, or holds something beside texts.
    """
    single = isinstance(X, str | bytes)
    if single or isinstance(X, Iterator):
        got = repr(X)[:60] if single else type(X).__name__
        remedy = "Write [text] for a single one" if single else "Pass a list of what it gives"
        raise InvalidInputError(
            f"{name} must have rows and columns, or be a sequence of texts, got {got}. {remedy}."
        )
    if not is_flat(X):
        return None
    found = list(X)
    odd = [row for row, one in enumerate(found) if not isinstance(one, str | bytes)]
    if len(odd) == len(found):
        return None
    if odd:
        raise no_text(found[odd[0]], odd[0], name)
    return found


def no_text(value: Any, row: int, name: str, where: str = "") -> InvalidInputError:
    """Return the error about a value that is no text; ``where`` names its column."""
    plain = value.item() if isinstance(value, np.generic) else value
    gap = plain is None or type(plain).__name__ in {"NAType", "NaTType"}
    gap = gap or (isinstance(plain, float) and math.isnan(plain))
    shown = repr(plain) if len(repr(plain)) <= 60 else f"a {type(plain).__name__}"
    remedy = "'' for a text without words" if gap else "it as a text"
    return InvalidInputError(
        f"{name} must hold texts{where}, got {shown} in row {row}. Leave that row out, or write "
        f"{remedy}."
    )

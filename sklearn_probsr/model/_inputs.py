"""The columns of a model and the units that they belong to, and checks of rows and features."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import (
    as_array,
    check_names,
    check_states,
    first_wrong,
    in_memory,
    labels_of,
    no_table,
    zeros_and_ones,
)
from sklearn_probsr.model.numbers import fact, listing
from sklearn_probsr.model.sparse import SparseRows, is_large, sparse_rows
from sklearn_probsr.model.units import Unit

__all__ = ["Inputs"]


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
        """Return sparse rows by their values, or say which value they cannot have."""
        rows = sparse_rows(X, self.feature_names, name)
        if rows.dtype == np.bool_:
            return rows if self.units is None else rows.astype(np.float64)
        wrong = np.flatnonzero(self._binary_columns[rows.indices] & (rows.values != 1))
        if len(wrong):
            # As those of an array are told: the row is looked at alone.
            i = int(rows.places[wrong[0]])
            try:
                self.check_values(rows[i : i + 1].toarray(), name, remedy)
            except InvalidInputError as error:
                raise InvalidInputError(str(error).replace("row 0", f"row {i}", 1)) from None
        return rows

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

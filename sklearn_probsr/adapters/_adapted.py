"""Adapted: a linear model, its units, and the way from raw rows to both."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sklearn_probsr.adapters._adapted_card import adapted_card
from sklearn_probsr.adapters._raw_columns import RawColumns
from sklearn_probsr.adapters.steps._hashed_words import words_in
from sklearn_probsr.adapters.steps._text_words import told_apart
from sklearn_probsr.adapters.units._columns import Base, is_missing
from sklearn_probsr.adapters.units._gathering import Gathering, count_rows, raw_numbers
from sklearn_probsr.adapters.units._pipeline_units import categories, tried
from sklearn_probsr.adapters.units._place_rows import Input, as_floats, vectorized
from sklearn_probsr.adapters.units._state_labels import is_number
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import MISSING, value_text
from sklearn_probsr.model.sparse import SparseRows, sparse_rows
from sklearn_probsr.model.units import Unit

__all__ = ["Adapted"]


@dataclass(frozen=True, eq=False)
class Adapted:
    """A fitted estimator as a linear model over units that its user recognises.

    Made by `adapt`.

    Attributes
    ----------
    model : LinearModel or ArgmaxModel
        Decides as the estimator does, on its own columns; see `transform`.
    units : tuple of Unit
        What can be known or unknown: mostly the raw columns, or the words of a text.
    feature_names : tuple of str
        The raw columns.
    cut : float, default=0.0
        The score from which the model measures: where the class changes on the scale of the
        estimator's own decision function, which is 0 unless a threshold was moved.
    """

    model: Model
    units: tuple[Unit, ...]
    feature_names: tuple[str, ...]
    _raw: RawColumns
    _bases: tuple[Base, ...]
    cut: float = 0.0
    _others: tuple[Base, ...] = ()

    def _repr_html_(self) -> str:
        return adapted_card(self.model, self.units, self.feature_names)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return raw rows in the columns of the model.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts
            Rows as the estimator takes them.

        Returns
        -------
        ndarray of shape (n, columns of the model)
        """
        return np.asarray(self.computed(self.check(X)))

    @cached_property
    def is_plain(self) -> bool:
        """Whether the columns of the model are raw ones, as they come: numbers tell all."""
        own = all(len(u.columns) == 1 and not u.labels and not u.coded for u in self.units)
        return own and all(isinstance(base.rows, Input) for base in self._bases)

    @property
    def takes_text(self) -> bool:
        """Whether raw rows are texts."""
        return self._raw.text

    @property
    def by_name(self) -> tuple[str, ...] | None:
        """The names that a frame must have, and no others; None if it may, or needs none."""
        raw = self._raw
        return raw.names if raw.text or (raw.named and raw.needed is None) else None

    def check(self, X: Any, name: str = "X") -> Any:
        """Return raw rows as the steps take them, or say what is wrong with them."""
        return self._raw.check(X, name)

    def computed(self, raw: Any, name: str = "X") -> Any:
        """Return checked raw rows in the columns of the model; large sparse ones stay sparse."""
        return self._gathering.computed(raw, self.feature_names, name)

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each unit adds to the decision function.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts
            Rows as the estimator takes them.

        Returns
        -------
        ndarray of shape (n, units)
            Together with ``-model.threshold`` they sum up to the decision function, up to
            rounding; it is positive for ``model.classes[1]``. Of a model of several classes, shape
            (n, units, classes): with ``model.intercepts``, the score of each.
        """
        rows = self.transform(X)
        parts = [self.model.sum_by_unit(rows * weights) for weights in self.model.outputs[0]]
        return np.stack(parts, axis=2) if self.model.by_class else parts[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each raw row, as the model decides."""
        return self.model.predict(self.transform(X))

    def describe(self, X: Any) -> Any:
        """Say in words what each unit is in each raw row.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts
            Rows as the estimator takes them.

        Returns
        -------
        DataFrame of shape (n, units)
            Texts such as "job: admin" or "age in [30, 45)".
        """
        import pandas as pd

        shown, rows = self.display(X), self.transform(X)
        texts = [
            [
                _describe(unit, shown.iat[i, j], row[list(unit.columns)])
                for j, unit in enumerate(self.units)
            ]
            for i, row in enumerate(rows)
        ]
        return pd.DataFrame(texts, index=shown.index, columns=shown.columns)

    def display(self, X: Any) -> Any:
        """Return the raw value of each unit; of a word, whether or how often it occurs.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts
            Rows as the estimator takes them.

        Returns
        -------
        DataFrame of shape (n, units)
        """
        import pandas as pd

        checked = self.check(X)
        raw, counts = self._raw.frame(checked, X), self._counts(checked)
        found = {}
        for j, (unit, base) in enumerate(zip(self.units, self._firsts, strict=True)):
            values = counts[j] if base.own else raw.iloc[:, base.raw].to_numpy()
            found[unit.name] = pd.Series(values, index=raw.index)
        return pd.DataFrame(found)

    def words(self, raw: Any, sets: Any) -> dict[int, dict[int, tuple[str, ...]]]:
        """Return by row and unit the words in checked raw rows that units do not name.

        Of each row those of a set of units that words were hashed to, as far as it has any.
        """
        if not self._hashed:
            return {}
        asked = {j: self._hashed[j] for j in np.unique(sets.features).tolist() if j in self._hashed}
        return words_in(raw, asked, sets) if asked else {}

    def spelling(self, units: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """Return which of some units are words that case or accents tell from others.

        What a function of one's own makes of them is not known: then they are taken not to.
        """
        found: dict[str, list[int]] = {}
        for j in units:
            output = vectorized(self._firsts[j].rows)
            for kind in () if output is None else told_apart(output.step):
                found.setdefault(kind, []).append(j)
        return {kind: tuple(some) for kind, some in found.items()}

    @cached_property
    def _hashed(self) -> dict[int, Base]:
        """The units that words were hashed to."""
        return {j: base for j, base in enumerate(self._firsts) if base.hashes}

    def tried(self, unit: int, values: Sequence[Any]) -> NDArray[np.float64] | None:
        """Return what raw values of a unit become in its columns; None if they are refused."""
        at = self.units[unit].columns
        if self._bases[at[0]].own is not None:  # a word of a text
            return None
        if self.is_plain:  # no step makes anything of them, and there may be many columns
            found = as_floats(np.array([*values, None], dtype=object)[:-1])
            return found if np.isfinite(found).all() else None
        named, others = self._raw.named, self._others
        return tried(self._bases, self.feature_names, named, at, values, others)

    def categories(self, unit: int) -> list[tuple[str, tuple[float, ...]]] | None:
        """Return the categories of a unit, and what each becomes; None if it has numbers."""
        at = self.units[unit].columns
        if self._bases[at[0]].own is not None:
            return None
        return categories(self._bases, self.feature_names, self._raw.named, at, self._others)

    def is_monotone(self, unit: int) -> bool:
        """Whether the only column of a unit is declared never to fall where its raw one grows."""
        columns = self.units[unit].columns
        return len(columns) == 1 and self._bases[columns[0]].monotone

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: not what is made from it on demand."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def _gathering(self) -> Gathering:
        """Where the columns of the model come from."""
        return Gathering(self._bases)

    @cached_property
    def _words(self) -> tuple[Gathering | None, list[int]]:
        """Where it is counted how often words occur, if there are any, and the other units."""
        words = [base.source or base for base in self._firsts if base.own]
        others = [j for j, base in enumerate(self._firsts) if not base.own]
        return Gathering(words) if words else None, others

    @cached_property
    def _firsts(self) -> list[Base]:
        """The first column of every unit."""
        return [self._bases[unit.columns[0]] for unit in self.units]

    def _counts(self, raw: Any) -> dict[int, NDArray[np.float64]]:
        """Return how often the word of a unit occurs in checked raw rows, by the unit's index."""
        words = {j: base.source or base for j, base in enumerate(self._firsts) if base.own}
        found = (
            Gathering(list(words.values())).of(raw)
            if words and count_rows(raw)
            else np.zeros((0, len(words)))
        )
        return dict(zip(words, np.asarray(found).T, strict=True))

    def read_sparse(self, raw: Any, rows: SparseRows) -> SparseRows | None:
        """Return the value of each unit in sparse rows, or how often its word occurs.

        None if some units are something else, or a number among them is missing.
        """
        if self.is_plain:
            return rows.columns_at(self.model.columns_first)
        words, others = self._words
        numbers = raw_numbers(raw, [self._firsts[j].raw for j in others])
        counts = None if numbers is None or words is None else words.of(raw)
        if not isinstance(counts, SparseRows) or numbers is None or not len(others):
            return counts if isinstance(counts, SparseRows) else None
        own = [j for j, base in enumerate(self._firsts) if base.own]
        both = sparse.hstack([counts.matrix, numbers], format="csr")
        return sparse_rows(both[:, np.argsort([*own, *others])], None, "X")

    def read(
        self, raw: Any, codes: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return checked raw rows as numbers, and as a person reads them in `display`.

        A value that is missing is NaN, and "missing". ``codes`` are the numbers of units whose raw
        values are none.
        """
        import pandas as pd

        given = self._given(raw)
        if given.dtype.kind in "biu":
            return given.astype(np.float64), given
        gaps = pd.isna(given)
        shown = np.where(gaps, MISSING, given.astype(object)) if gaps.any() else given
        if given.dtype.kind == "f":
            return given.astype(np.float64), shown
        numbers = codes.copy()
        for j, unit in enumerate(self.units):
            known = [v for i in unit.columns for v in self._bases[i].domain.values]
            if all(is_number(v) or is_missing(v) for v in known):
                # What a step takes as a number may be a date or a text all the same.
                with suppress(TypeError, ValueError):
                    numbers[:, j] = np.where(gaps[:, j], np.nan, given[:, j]).astype(np.float64)
        return numbers, shown

    def _given(self, raw: Any) -> NDArray[Any]:
        """Return the raw value of each unit in checked raw rows."""
        counts = self._counts(raw)
        if len(counts) == len(self.units):
            return np.column_stack(list(counts.values()))
        if hasattr(raw, "to_numpy"):
            values = raw.to_numpy()
            if values.dtype.kind in "mM" and hasattr(raw, "iloc"):  # else numbers come of dates
                values = raw.astype(object).to_numpy()
        else:
            values = raw.toarray() if hasattr(raw, "toarray") else np.asarray(raw)
        given: NDArray[Any] = values[:, [base.raw for base in self._firsts]]
        if counts or given.dtype.kind not in "biuf":
            given = given.astype(object)
        for j, count in counts.items():
            given[:, j] = count
        return given


def _describe(unit: Unit, value: Any, columns: NDArray[np.float64]) -> str:
    if unit.labels:
        return unit.describe(columns.tolist())
    if is_missing(value):
        return f"{unit.name} is missing"
    return f"{unit.name}: {value_text(value)}"

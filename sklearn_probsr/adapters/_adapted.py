"""Adapted: a linear model, its units, and the way from raw rows to both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._model import LinearModel
from sklearn_probsr._units import Unit
from sklearn_probsr.adapters._columns import Base, is_missing
from sklearn_probsr.adapters._raw import RawColumns
from sklearn_probsr.adapters._states import gather

__all__ = ["Adapted"]


@dataclass(frozen=True, eq=False)
class Adapted:
    """A fitted estimator as a linear model over units that its user recognises.

    Made by `adapt`.

    Attributes
    ----------
    model : LinearModel
        Decides as the estimator does, on its own columns; see `transform`.
    units : tuple of Unit
        What can be known or unknown: mostly the raw columns, or the words of a text.
    feature_names : tuple of str
        The raw columns.
    """

    model: LinearModel
    units: tuple[Unit, ...]
    feature_names: tuple[str, ...]
    _raw: RawColumns
    _bases: tuple[Base, ...]

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return raw rows in the columns of the model.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts

        Returns
        -------
        ndarray of shape (n, columns of the model)
        """
        return gather(self._bases, self._raw.check(X))

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each unit adds to the decision function.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts

        Returns
        -------
        ndarray of shape (n, units)
            Together with ``-model.threshold`` they sum up to the decision function, up to
            rounding; it is positive for ``model.classes[1]``.
        """
        parts = self.transform(X) * self.model.weights
        return np.column_stack([parts[:, list(unit.columns)].sum(axis=1) for unit in self.units])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each raw row, as the model decides."""
        return self.model.predict(self.transform(X))

    def describe(self, X: Any) -> Any:
        """Say in words what each unit is in each raw row.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts

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

        Returns
        -------
        DataFrame of shape (n, units)
        """
        import pandas as pd

        raw, rows = self._raw.frame(X), self.transform(X)
        found = {}
        for unit in self.units:
            base = self._bases[unit.columns[0]]
            values = rows[:, unit.columns[0]] if base.own else raw.iloc[:, base.raw].to_numpy()
            found[unit.name] = pd.Series(values, index=raw.index)
        return pd.DataFrame(found)


def _describe(unit: Unit, value: Any, columns: NDArray[np.float64]) -> str:
    if unit.states is not None and unit.labels:
        return unit.describe(columns.tolist())
    if is_missing(value):
        return f"{unit.name} is missing"
    shown = f"{value:g}" if isinstance(value, float | np.floating) else str(value)
    return f"{unit.name}: {shown}"

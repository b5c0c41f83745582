"""Adapted: a linear model, its units, and the way from raw rows to both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._columns import Base, is_missing
from sklearn_probsr.adapters._raw import RawColumns
from sklearn_probsr.adapters._states import gather
from sklearn_probsr.model._argmax import ArgmaxModel
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._units import Unit

__all__ = ["MISSING", "Adapted"]

MISSING = "missing"


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
    """

    model: Model
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
        return self.computed(self.check(X))

    @property
    def takes_text(self) -> bool:
        """Whether raw rows are texts."""
        return self._raw.text

    def check(self, X: Any) -> Any:
        """Return raw rows as the steps take them, or say what is wrong with them."""
        return self._raw.check(X)

    def computed(self, raw: Any) -> NDArray[np.float64]:
        """Return checked raw rows in the columns of the model."""
        if not (raw.shape[0] if hasattr(raw, "shape") else len(raw)):
            return np.zeros((0, self.model.n_features))  # steps refuse to look at no rows
        return gather(self._bases, raw)

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each unit adds to the decision function.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts

        Returns
        -------
        ndarray of shape (n, units)
            Together with ``-model.threshold`` they sum up to the decision function, up to
            rounding; it is positive for ``model.classes[1]``. Of a model of several classes, shape
            (n, units, classes): with ``model.intercepts``, the score of each.
        """
        rows = self.transform(X)
        if isinstance(self.model, ArgmaxModel):
            parts = [self.model.sum_by_unit(rows * weights) for weights in self.model.weights]
            return np.stack(parts, axis=2)
        return self.model.sum_by_unit(rows * self.model.weights)

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

    def shown(self, raw: Any, rows: NDArray[np.float64]) -> NDArray[Any]:
        """Return what a person reads in `display`; checked raw rows have become ``rows``."""
        import pandas as pd

        firsts = [unit.columns[0] for unit in self.units]
        if all(self._bases[i].own for i in firsts):
            return rows[:, firsts]
        if hasattr(raw, "to_numpy"):
            values = raw.to_numpy()
        else:
            values = raw.toarray() if hasattr(raw, "toarray") else np.asarray(raw)
        taken = values[:, [self._bases[i].raw for i in firsts]]
        own = [j for j, i in enumerate(firsts) if self._bases[i].own]
        if own:
            taken = taken.astype(object)
            taken[:, own] = rows[:, [firsts[j] for j in own]]
        gaps = pd.isna(taken)
        return np.where(gaps, MISSING, taken.astype(object)) if gaps.any() else taken


def _describe(unit: Unit, value: Any, columns: NDArray[np.float64]) -> str:
    if unit.states is not None and unit.labels:
        return unit.describe(columns.tolist())
    if is_missing(value):
        return f"{unit.name} is missing"
    shown = f"{value:g}" if isinstance(value, float | np.floating) else str(value)
    return f"{unit.name}: {shown}"

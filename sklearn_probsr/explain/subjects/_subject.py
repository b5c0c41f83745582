"""Subject: what is explained, and the way from the rows that a user has to those of its model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import row_sums
from sklearn_probsr.model.sparse import SparseRows

__all__ = ["Subject", "one_row"]


class Subject(ABC):
    """A linear model, and the way from the rows that a user has to its own."""

    model: Model
    # The names of the raw columns; None if they are those of the model.
    columns: tuple[str, ...] | None = None
    # From which score the model measures, on the scale of an estimator's decision function.
    cut: float = 0.0
    # Whether rows are texts; and the names that a frame's columns must have, in their order, and no
    # others. None: they go by their place, or others may be beside them.
    takes_text: bool = False
    by_name: tuple[str, ...] | None = None
    # Whether nobody said what replaces unknown features, so that columns are taken to be 0/1.
    assumed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        return self.model.unit_names

    @property
    def nothing(self) -> NDArray[Any]:
        """No rows at all, in the columns of the model."""
        return np.zeros((0, self.model.n_features))

    @property
    def whole(self) -> Subject:
        """The subject without groups of features."""
        return self

    @property
    def sources(self) -> list[tuple[str, ...]]:
        """The raw columns that each feature is made of."""
        units, names = self.model.units, self.model.feature_names
        if self.columns is not None or units is None:  # features are called as their columns
            return [(name,) for name in self.names]
        return [tuple(names[j] for j in unit.columns) for unit in units]

    @abstractmethod
    def frame(self, X: Any, name: str = "X") -> Any:
        """Return rows as the other methods take them, or say what is wrong with them.

        A single one becomes a batch of one.
        """

    @abstractmethod
    def transform(self, raw: Any, name: str = "X") -> Any:
        """Return rows in the columns of the model."""

    @abstractmethod
    def are_strange(self, raw: Any) -> NDArray[np.bool_]:
        """Tell which rows have a number other than 0 and 1 where one of these must be."""

    def background(self, data: Any) -> Any:
        """Return the rows of a masker in the columns of the model."""
        return self.transform(self.frame(data, "masker"), "masker")

    def tried(self, unit: int, values: Sequence[Any]) -> NDArray[np.float64] | None:
        """Return what raw values of a feature become in its columns; None if that is not known."""
        return None

    def categories(self, unit: int) -> list[tuple[str, tuple[float, ...]]] | None:
        """Return the categories of a feature, and what each becomes in its columns.

        None if it has none, or if that is not known.
        """
        return None

    def is_monotone(self, unit: int) -> bool:
        """Whether a feature's column is declared never to fall where the raw one grows."""
        return False

    @abstractmethod
    def read(self, raw: Any, rows: Any) -> tuple[Any, Any]:
        """Return each feature as a number, and as a person reads it; None if that is the number.

        Both stay sparse where the rows are, and words or numbers are all that there is.
        """

    def given(self, display: Any) -> Any:
        """Return the values that the columns were made of, if these are not all that there is."""
        return None

    def words(self, raw: Any, sets: FeatureSets) -> dict[int, dict[int, tuple[str, ...]]]:
        """Return the words of the texts in raw rows that features of a set do not name."""
        return {}

    def spelling(self, sets: FeatureSets) -> dict[str, tuple[int, ...]]:
        """Return which features of some sets are words that case or accents tell from others."""
        return {}

    def codes(self, rows: Any) -> Any:
        """Return one number for each feature: its column, or which state its columns are in.

        Of several columns of any numbers, what they add to the decision function; of a model of
        several classes, to the lead of the last over the first.
        """
        units, weights = self.model.units, self.model.weights
        if isinstance(rows, SparseRows):
            return rows.astype(np.float64).columns_at(self.model.columns_first)
        if units is None:
            return rows.astype(np.float64)
        towards = weights if weights.ndim == 1 else weights[-1] - weights[0]
        found = rows[:, self.model.first_columns].astype(np.float64)
        for u, unit in enumerate(units):
            if len(unit.columns) == 1:
                continue
            part = rows[:, list(unit.columns)]
            if unit.states is None:
                found[:, u] = row_sums(part * towards[list(unit.columns)])
            else:
                for code, state in enumerate(unit.states):
                    found[(part == state).all(axis=1), u] = code
        return found


def one_row(X: Any, width: int) -> Any:
    """Return a single row, be it a series or a vector, as a batch of one."""
    if getattr(X, "ndim", 0) == 1 and hasattr(X, "to_frame") and hasattr(X, "iloc"):
        # A pandas Series.
        if width == 1 and len(X) != 1:  # the only column
            return X.to_frame()
        return X.to_frame().T.infer_objects()
    if hasattr(X, "shape"):
        return X[None, :] if isinstance(X, np.ndarray) and X.shape == (width,) else X
    if isinstance(X, list | tuple) and len(X) == width and not any(map(np.ndim, X)):
        texts = any(isinstance(value, str) for value in X)
        return np.array(X, dtype=object if texts else None)[None, :]
    return X

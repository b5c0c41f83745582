"""Subject: what is explained, be it a LinearModel or an adapted estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._model import LinearModel

__all__ = ["Subject", "subject_of"]


class Subject(ABC):
    """A linear model, and the way from the rows that a user has to its own."""

    model: LinearModel

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        return self.model.unit_names

    @property
    @abstractmethod
    def nothing(self) -> Any:
        """No rows at all."""

    @abstractmethod
    def frame(self, X: Any) -> Any:
        """Return rows as the other methods take them; a single one becomes a batch of one."""

    @abstractmethod
    def transform(self, raw: Any) -> NDArray[Any]:
        """Return rows in the columns of the model."""

    @abstractmethod
    def display(self, raw: Any, rows: NDArray[Any]) -> NDArray[Any] | None:
        """Return what a person reads in each feature; None if that is the number."""

    def codes(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return one number for each feature: its column, or which state its columns are in."""
        units = self.model.units
        if units is None:
            return rows.astype(np.float64)
        found = np.empty((len(rows), len(units)))
        for u, unit in enumerate(units):
            part = rows[:, list(unit.columns)]
            if len(unit.columns) == 1:
                found[:, u] = part[:, 0]
            elif unit.states is None:
                found[:, u] = part @ self.model.weights[list(unit.columns)]
            else:
                for code, state in enumerate(unit.states):
                    found[(part == state).all(axis=1), u] = code
        return found


class _Direct(Subject):
    """A LinearModel: its rows are its columns."""

    def __init__(self, model: LinearModel) -> None:
        self.model = model

    @property
    def nothing(self) -> Any:
        return np.zeros((0, self.model.n_features), dtype=np.bool_)

    def frame(self, X: Any) -> Any:
        return one_row(X, self.model.n_features)

    def transform(self, raw: Any) -> NDArray[Any]:
        return self.model.check_rows(raw)

    def display(self, raw: Any, rows: NDArray[Any]) -> NDArray[Any] | None:
        units = self.model.units
        if units is None or not any(unit.labels for unit in units):
            return None
        shown = self.codes(rows).astype(object)
        for u, unit in enumerate(units):
            if unit.labels and unit.states is not None:
                labels = np.array(unit.labels, dtype=object)
                part = rows[:, list(unit.columns)]
                for code, state in enumerate(unit.states):
                    shown[(part == state).all(axis=1), u] = labels[code]
        return shown


class _Estimator(Subject):
    """An adapted estimator: rows are what it takes."""

    def __init__(self, adapted: Any) -> None:
        self.adapted = adapted
        self.model = adapted.model

    @cached_property
    def nothing(self) -> Any:
        return np.zeros((0, self.model.n_features))

    def frame(self, X: Any) -> Any:
        return one_row(X, len(self.adapted.feature_names))

    def transform(self, raw: Any) -> NDArray[Any]:
        if raw is self.nothing:
            return self.model.check_rows(raw)
        return self.model.check_rows(self.adapted.transform(raw))

    def display(self, raw: Any, rows: NDArray[Any]) -> NDArray[Any] | None:
        if self.model.units is None:
            return None
        shown: NDArray[Any] = self.adapted.display(raw).to_numpy()
        return shown


def one_row(X: Any, width: int) -> Any:
    """Return a single row, be it a series or a vector, as a batch of one."""
    if hasattr(X, "to_frame") and hasattr(X, "iloc"):  # a pandas Series
        return X.to_frame().T.infer_objects()
    if not hasattr(X, "shape") and isinstance(X, list | tuple) and np.ndim(X) == 1:
        first = X[0] if len(X) else None
        if len(X) == width and not isinstance(first, str):
            return np.asarray(X)[None, :]
    if isinstance(X, np.ndarray) and X.ndim == 1 and len(X) == width and X.dtype.kind != "O":
        return X[None, :]
    return X


def subject_of(
    model: Any,
    data: Any,
    target: Any,
    versus: Any,
    feature_names: Sequence[str] | None,
) -> Subject:
    """Return what is to be explained; ``data`` are raw rows to compare an estimator on."""
    if isinstance(model, LinearModel):
        return _Direct(model)
    from sklearn_probsr.adapters import adapt

    adapted = adapt(
        model,
        data,
        target=target,
        versus=versus,
        binary=data is None,  # coins, fair or not, are for 0/1 columns
        feature_names=feature_names,
    )
    return _Estimator(adapted)

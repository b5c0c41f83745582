"""Subject: what is explained, be it a LinearModel or an adapted estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._argmax import AnyModel
from sklearn_probsr._checks import listing
from sklearn_probsr._shared import row_sums
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["Subject", "subject_of"]


class Subject(ABC):
    """A linear model, and the way from the rows that a user has to its own."""

    model: AnyModel

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        return self.model.unit_names

    @property
    def nothing(self) -> NDArray[Any]:
        """No rows at all, in the columns of the model."""
        return np.zeros((0, self.model.n_features))

    @abstractmethod
    def frame(self, X: Any) -> Any:
        """Return rows as the other methods take them, or say what is wrong with them.

        A single one becomes a batch of one.
        """

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
        found = rows[:, self.model.first_columns].astype(np.float64)
        for u, unit in enumerate(units):
            if len(unit.columns) == 1:
                continue
            part = rows[:, list(unit.columns)]
            if unit.states is None:
                found[:, u] = row_sums(part * self.model.weights[list(unit.columns)])
            else:
                for code, state in enumerate(unit.states):
                    found[(part == state).all(axis=1), u] = code
        return found


class _Direct(Subject):
    """A LinearModel: its rows are its columns."""

    def __init__(self, model: AnyModel) -> None:
        self.model = model

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
                # A plot writes the name beside it, so "job: nurse" is "nurse".
                labels = [label.removeprefix(f"{unit.name}: ") for label in unit.labels]
                part = rows[:, list(unit.columns)]
                for label, state in zip(labels, unit.states, strict=True):
                    shown[(part == state).all(axis=1), u] = label
        return shown


class _Estimator(Subject):
    """An adapted estimator: rows are what it takes."""

    def __init__(self, adapted: Any) -> None:
        self.adapted = adapted
        self.model = adapted.model

    def frame(self, X: Any) -> Any:
        if not self.adapted.takes_text:
            X = one_row(X, len(self.adapted.feature_names))
        return self.adapted.check(X)

    def transform(self, raw: Any) -> NDArray[Any]:
        return self.model.check_rows(self.adapted.computed(raw))

    def display(self, raw: Any, rows: NDArray[Any]) -> NDArray[Any] | None:
        if self.model.units is None:
            return None
        shown: NDArray[Any] = self.adapted.shown(raw, rows)
        return shown


def one_row(X: Any, width: int) -> Any:
    """Return a single row, be it a series or a vector, as a batch of one."""
    if hasattr(X, "to_frame") and hasattr(X, "iloc"):  # a pandas Series
        if width == 1 and len(X) != 1:  # the only column
            return X.to_frame()
        return X.to_frame().T.infer_objects()
    if hasattr(X, "shape"):
        return X[None, :] if isinstance(X, np.ndarray) and X.shape == (width,) else X
    if isinstance(X, list | tuple) and len(X) == width and not any(map(np.ndim, X)):
        texts = any(isinstance(value, str) for value in X)
        return np.array(X, dtype=object if texts else None)[None, :]
    return X


def subject_of(
    model: Any,
    data: Any,
    target: Any,
    versus: Any,
    feature_names: Sequence[str] | None,
) -> Subject:
    """Return what is to be explained; ``data`` are raw rows to compare an estimator on."""
    if isinstance(model, AnyModel):
        return _Direct(_asked(model, target, versus, feature_names))
    from sklearn_probsr.adapters import adapt

    adapted = adapt(
        model,
        data,
        target=target,
        versus=versus,
        binary=data is None,  # coins, fair or not, are for 0/1 columns
        feature_names=feature_names,
        all_classes=True,
    )
    return _Estimator(adapted)


def _asked(
    model: AnyModel, target: Any, versus: Any, feature_names: Sequence[str] | None
) -> AnyModel:
    """Return a model with names, or say that it cannot be asked so."""
    if len(model.classes) > 2:
        model = _duel(model, target, versus)
    first, second = model.classes[0], model.classes[1]
    if len(model.classes) == 2 and (
        not (target is None or target == second) or not (versus is None or versus == first)
    ):
        raise InvalidInputError(
            "target and versus choose among the classes of an estimator; a LinearModel explains "
            f"{second!r} against {first!r}, got target={target!r}, versus={versus!r}."
        )
    if feature_names is None or tuple(feature_names) == model.unit_names:
        return model
    if model.units is not None:
        raise InvalidInputError(
            "feature_names are for models without units; this one's units have names of their own: "
            f"{listing(model.unit_names)}."
        )
    return model.renamed(feature_names)


def _duel(model: Any, target: Any, versus: Any) -> AnyModel:
    """Return a model of several classes, or one of its duels if two classes are named."""
    if target is None and versus is None:
        whole: AnyModel = model
        return whole
    places = []
    for name, label in (("target", target), ("versus", versus)):
        if label not in model.classes:
            raise InvalidInputError(
                f"{name} must be one of the classes, {listing(model.classes)}, got {label!r}. Name "
                "both target and versus, or neither."
            )
        places.append(model.classes.index(label))
    if places[0] == places[1]:
        raise InvalidInputError(f"versus must be another class than target, got {versus!r} twice.")
    duel: AnyModel = model.duel(*places)
    return duel

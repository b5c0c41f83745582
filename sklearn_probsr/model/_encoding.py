"""Encoding: rows of a model from what a person calls its features' states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import listing
from sklearn_probsr.model.units import Unit

__all__ = ["encoded"]


def encoded(units: Sequence[Unit], n_features: int, X: Any) -> NDArray[np.float64]:
    """Return rows in the columns of a model whose units have the states that a table names."""
    columns, n = _columns([unit.name for unit in units], X)
    rows = np.zeros((n, n_features))
    for unit in units:
        values = columns[unit.name]
        for i, value in enumerate(values):
            rows[i, list(unit.columns)] = _state(unit, value, i)
    return rows


def _columns(names: list[str], X: Any) -> tuple[dict[str, list[Any]], int]:
    """Return the values of every unit, by name."""
    if isinstance(X, Sequence) and all(isinstance(row, Mapping) for row in X):
        missing = [(i, name) for i, row in enumerate(X) for name in names if name not in row]
        if missing:
            i, name = missing[0]
            raise InvalidInputError(f"X must have every feature, row {i} lacks {name!r}.")
        return {name: [row[name] for row in X] for name in names}, len(X)
    if not (hasattr(X, "columns") or isinstance(X, Mapping)):
        raise InvalidInputError(
            "X must be a frame with a column for every feature, or a list of mappings, got "
            f"{type(X).__name__}."
        )
    given = list(X.columns if hasattr(X, "columns") else X)
    lacking = [name for name in names if name not in given]
    if lacking:
        raise InvalidInputError(
            f"X must have every feature, it lacks {lacking[0]!r}. It has "
            f"{listing([str(name) for name in given])}."
        )
    found = {name: list(X[name]) for name in names}
    return found, len(found[names[0]])


def _state(unit: Unit, value: Any, i: int) -> Any:
    """Return the columns of a unit in a state, by its label, with or without the unit's name."""
    text = str(value)
    if unit.states is not None and unit.labels:
        for label, state in zip(unit.labels, unit.states, strict=True):
            if text in (label, label.removeprefix(f"{unit.name}: ")):
                return state
        known = [label.removeprefix(f"{unit.name}: ") for label in unit.labels]
        raise InvalidInputError(
            f"{unit.name!r} must be one of {listing(known)}, got {value!r} in row {i}."
        )
    try:
        numbers = np.array(value, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if len(numbers) != len(unit.columns):
        raise InvalidInputError(
            f"{unit.name!r} must be {len(unit.columns)} numbers, got {value!r} in row {i}."
        )
    return numbers

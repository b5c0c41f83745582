"""The states of units: which rows are in states that they can have, and what to say of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import finite_floats
from sklearn_probsr.model.units import Unit

__all__ = ["are_states", "check_states"]

# Rows are compared with so many states one by one.
_FEW = 16


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

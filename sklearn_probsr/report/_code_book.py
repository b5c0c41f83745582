"""The code book: codes by feature and by state, all of them checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import listing, unnamed
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["Book", "code_book", "code_of"]


Book = dict[tuple[int, str | None], tuple[str, str]]


def code_book(codes: Any, told: SufficientReasons) -> Book:
    """Return codes by feature and state, all of them checked."""
    if not isinstance(codes, Mapping) or not codes:
        raise InvalidInputError(
            "codes must map features, or features and states, to (code, text), got "
            f"{type(codes).__name__ if not isinstance(codes, Mapping) else 'an empty mapping'}."
        )
    names = told.model.unit_names
    book: Book = {}
    for key, value in codes.items():
        feature, state = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        if feature not in names:
            raise InvalidInputError(
                f"codes name an unknown feature, {feature!r}. The model's features are "
                f"{listing(names)}."
            )
        pair = isinstance(value, tuple | list) and len(value) == 2
        if not pair or not all(isinstance(part, str) and part for part in value):
            raise InvalidInputError(
                f"codes must give a code and a text for {key!r}, two texts, got {value!r}."
            )
        unit = names.index(feature)
        if state is not None:
            known = _states(told, unit)
            if str(state) not in known:
                raise InvalidInputError(
                    f"codes name a state that {feature!r} does not have, {state!r}. It has "
                    f"{listing(sorted(known))}."
                )
        book[unit, None if state is None else str(state)] = (value[0], value[1])
    return book


def _states(told: SufficientReasons, unit: int) -> set[str]:
    """Return what a feature can be, in words: its states, and what it is in the rows."""
    units = told.model.units
    name = told.model.unit_names[unit]
    found = {state_of(told, i, unit) for i in range(len(told))}
    declared = () if units is None else units[unit].states or ()
    if units is None:
        found |= {"0", "1"}
    return found | {unnamed(name, units[unit].describe(s)) for s in declared if units is not None}


def code_of(book: Book, told: SufficientReasons, i: int, unit: int) -> tuple[str, str] | None:
    """Return the code of a feature in a row: of what it is there, of its state, or of itself."""
    own = told.model.describe(unit, told.rows[i])
    for state in (state_of(told, i, unit), unnamed(told.model.unit_names[unit], own), None):
        if (unit, state) in book:
            return book[unit, state]
    return None


def state_of(told: SufficientReasons, i: int, unit: int) -> str:
    """Return what a feature is in a row, in words."""
    raw = None if told.shown is None else told.shown[i, unit]
    return unnamed(told.model.unit_names[unit], told.model.describe(unit, told.rows[i], raw))

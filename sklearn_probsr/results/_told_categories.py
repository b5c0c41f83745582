"""Categories in an archive: what a feature's categories are called, and the state of each."""

from __future__ import annotations

from typing import Any

from sklearn_probsr.model.linear import Model
from sklearn_probsr.results._checked_json import UnsoundError, flat, members, shown, text, whole
from sklearn_probsr.results._reasons import SufficientReasons
from sklearn_probsr.rules._category_words import CategoryReader

__all__ = ["read_categories", "told_categories"]

_NAME = "meta.reasons.categories"


def told_categories(reasons: SufficientReasons) -> dict[str, Any]:
    """Return the categories of features by the numbers of their states, as JSON has it, if any."""
    found, reader = {}, reasons.reader
    for u, unit in enumerate(reasons.model.units or ()):
        known = None if reader is None or not unit.states else reader.categories(u)
        if known is not None and unit.states:
            places = {state: k for k, state in enumerate(unit.states)}
            found[str(u)] = [[name, places[state]] for name, state in known if state in places]
    return {"categories": found} if found else {}


def read_categories(told: Any, model: Model) -> CategoryReader | None:
    """Return what tells conditions on categories; None if there are none."""
    if told is None:
        return None
    units = model.units or ()
    with_states = {str(u): unit for u, unit in enumerate(units) if unit.states}
    if not isinstance(told, dict) or not told.keys() <= with_states.keys():
        raise UnsoundError(f"{_NAME} must name features with states, got {shown(told)}")
    found = {}
    for key, entries in members(told, _NAME, tuple(told)).items():
        states, name = with_states[key].states or (), f"{_NAME}[{key}]"
        found[int(key)] = [
            (text(word, name), states[whole(state, name, 0, len(states) - 1)])
            for word, state in (flat(e, name, (2,)) for e in flat(entries, name, (None,)))
        ]
    return CategoryReader(model, found)

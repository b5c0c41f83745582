"""Spelling in an archive: which features are words that case or accents tell from others."""

from __future__ import annotations

from typing import Any

from sklearn_probsr.results._checked_json import flat, members, whole
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["read_spelling", "told_spelling"]

_NAME = "meta.reasons.spelling"
_KINDS = ("accents", "case")


def told_spelling(reasons: SufficientReasons) -> dict[str, Any]:
    """Return the features of which case or accents matter, as JSON has it, or nothing."""
    found = {kind: list(reasons.spelling.get(kind, ())) for kind in _KINDS}
    return {"spelling": found} if any(found.values()) else {}


def read_spelling(told: Any, width: int) -> dict[str, tuple[int, ...]]:
    """Return the features of which case or accents matter; nothing is told of others."""
    if told is None:
        return {}
    told = members(told, _NAME, _KINDS)
    found: dict[str, tuple[int, ...]] = {}
    for kind in _KINDS:
        name = f"{_NAME}.{kind}"
        units = flat(told[kind], name, (None,))
        found[kind] = tuple(whole(unit, name, 0, width - 1) for unit in units)
    return {kind: units for kind, units in found.items() if units}

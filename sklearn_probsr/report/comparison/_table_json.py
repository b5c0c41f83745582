"""Reading the table of a comparison: every column of the kind and in the range that it must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.report.comparison._shared_members import COUNTS
from sklearn_probsr.results._checked_json import (
    UnsoundError,
    cells,
    flat,
    members,
    numbers,
    one_of,
    shown,
    text,
    texts,
    wholes,
)
from sklearn_probsr.results._reason import STATUSES
from sklearn_probsr.results._sentence import CLAIMS

__all__ = ["claims", "read_columns"]
_SIZES = ("reason_size", "sure_size", "abs_shap_size", "signed_shap_size", "hurting")
_OPTIONAL = ("probability", "true_class", "undecided", "cost", "cost_lower")
_ALTERNATIVES = ("independent_guarantee", "joint_guarantee")
# What rounding may add to a share that is 1.
_ROUNDING = 1e-9


def claims(told: Any, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    entries = flat(told, name, shape)
    for entry in entries:
        if type(entry) is not str or entry not in CLAIMS:
            raise UnsoundError(f"{name} must hold what can be proved, got {shown(entry)}")
    return np.array(entries, dtype=object).reshape(shape)


def read_columns(
    told: Any,
    mask: FeatureSets | NDArray[np.bool_],
    names: list[str],
    classes: list[Any],
    others: list[str],
    missing: dict[str, str],
) -> dict[str, NDArray[Any]]:
    """Return the columns, in the order in which they are told."""
    sets = mask if isinstance(mask, FeatureSets) else FeatureSets.of_mask(mask)
    n, width = len(sets), sets.width
    counted = [name for name in COUNTS if name in (told or ())]
    sizes = [*_SIZES, *counted, *(f"{name}_size" for name in others)]
    bounded = ["guarantee", "top_shap_guarantee", "signed_shap_guarantee"]
    bounded += [f"{name}_guarantee" for name in others]
    if isinstance(told, dict):
        bounded += [word for word in _ALTERNATIVES if f"{word}_lower" in told]
    overlaps = ["overlap", *(f"{name}_overlap" for name in others)]
    ends = [f"{word}_{end}" for word in bounded for end in ("lower", "upper")]
    known = {
        "prediction", "margin", "reason", "minimality", "shap_share", "status", "message",
        *sizes, *ends, *overlaps, *(name for name in _OPTIONAL if name in (told or ())),
    }  # fmt: skip
    told = members(told, "table", sorted(known))
    status = _statuses(told["status"], "table.status", n)
    invalid, flagged = status == "invalid", status != "ok"
    unlike: dict[str, Callable[[Any, str], NDArray[Any]]] = {
        "status": lambda _, where: status,
        "message": lambda told, where: _messages(told, where, n),
        "prediction": lambda told, where: _where_valid(
            told, where, invalid, lambda some, m: _labels(some, where, m, classes)
        ),
        "minimality": lambda told, where: _where_valid(
            told, where, invalid, lambda some, m: claims(some, where, (m,))
        ),
        "reason": lambda told, where: _reasons(told, where, sets, names),
        "reason_size": lambda told, where: wholes(told, where, (n,), width),
        "margin": lambda told, where: numbers(told, where, (n,), gaps=True),
        "probability": lambda told, where: numbers(told, where, (n,), 0, 1, gaps=True),
        "cost": lambda told, where: numbers(told, where, (n,), 0, gaps=True),
        "cost_lower": lambda told, where: numbers(told, where, (n,), 0, gaps=True),
        "true_class": lambda told, where: cells(told, where, (n,)),
        "undecided": lambda told, where: _named(told, where, n, names),
    }
    found: dict[str, NDArray[Any]] = {}
    for name, column in told.items():
        where = f"table.{name}"
        if name in unlike:
            found[name] = unlike[name](column, where)
        elif name in sizes:
            found[name] = _sizes(column, where, width, flagged | (name in missing))
        else:
            most = 1.0 if name in ends else 1.0 + _ROUNDING
            # Of SHAP values that are not finite, and of rows that are not valid.
            gaps_at = invalid | (name == "shap_share")
            if name in {"guarantee_lower", "guarantee_upper"}:
                gaps_at = np.zeros_like(invalid)
            found[name] = _shares(column, where, most, gaps_at)
    for word in bounded:
        if (found[f"{word}_lower"] > found[f"{word}_upper"]).any():
            raise UnsoundError(f"table.{word}_lower must not be above table.{word}_upper")
    if not np.array_equal(found["reason_size"], sets.sizes):
        raise UnsoundError("table.reason_size must be how many features of each row mask has")
    return found


def _statuses(told: Any, name: str, n: int) -> NDArray[Any]:
    entries = flat(told, name, (n,))
    for entry in entries:
        one_of(entry, name, STATUSES)
    return np.array([*entries, None], dtype=object)[:-1]


def _messages(told: Any, name: str, n: int) -> NDArray[Any]:
    entries = flat(told, name, (n,))
    for entry in entries:
        text(entry, name)
    return np.array([*entries, None], dtype=object)[:-1]


def _where_valid(
    told: Any,
    name: str,
    invalid: NDArray[np.bool_],
    read: Callable[[Any, int], NDArray[Any]],
) -> NDArray[Any]:
    """Return a column that has nothing where a row is invalid."""
    n = len(invalid)
    if not invalid.any():
        return read(told, n)
    entries = flat(told, name, (n,))
    if any(entries[i] is not None for i in np.flatnonzero(invalid)):
        raise UnsoundError(f"{name} must be empty where a row is invalid")
    some = [entry for entry, gap in zip(entries, invalid, strict=True) if not gap]
    found = np.full(n, None, dtype=object)
    found[~invalid] = read(some, len(some))
    return found


def _shares(told: Any, name: str, most: float, gaps_at: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return numbers from 0 to ``most``, and NaN only where it may be."""
    found = numbers(told, name, (len(gaps_at),), 0, most, bool(gaps_at.any()))
    if np.isnan(found[~gaps_at]).any():
        raise UnsoundError(f"{name} must hold numbers where a row is valid")
    return found


def _sizes(told: Any, name: str, width: int, gaps_at: NDArray[np.bool_]) -> NDArray[Any]:
    """Return whole numbers; where rows are flagged, or some are missing, there may be none."""
    entries = flat(told, name, (len(gaps_at),))
    gaps = np.array([entry is None for entry in entries], dtype=np.bool_) & gaps_at
    held = [entry for entry, gap in zip(entries, gaps, strict=True) if not gap]
    known = wholes(held, name, (len(held),), width)
    if not gaps.any():
        return known
    found = np.full(len(entries), np.nan)
    found[~gaps] = known
    return found


def _labels(told: Any, name: str, n: int, classes: list[Any]) -> NDArray[Any]:
    """Return the labels of rows, in the type that all of them have."""
    entries = flat(told, name, (n,))
    known = {(type(value), value) for value in classes}
    for entry in entries:
        if isinstance(entry, list | dict) or (type(entry), entry) not in known:
            raise UnsoundError(f"{name} must hold classes, got {shown(entry)}")
    if len({type(value) for value in classes}) == 1:
        return np.array(entries, dtype=np.array(classes).dtype if not n else None)
    found = np.empty(n, dtype=object)
    found[:] = entries
    return found


def _named(told: Any, name: str, n: int, names: list[str]) -> NDArray[Any]:
    """Return one tuple of features a row."""
    found = np.empty(n, dtype=object)
    for i, entry in enumerate(flat(told, name, (n,))):
        inside = texts(entry, f"{name}[{i}]")
        if not {*inside} <= {*names}:
            raise UnsoundError(f"{name}[{i}] must name features")
        found[i] = tuple(inside)
    return found


def _reasons(told: Any, name: str, sets: FeatureSets, names: list[str]) -> NDArray[Any]:
    entries = flat(told, name, (len(sets),))
    found = np.empty(len(sets), dtype=object)
    for i, (entry, features) in enumerate(zip(entries, sets, strict=True)):
        inside = texts(entry, f"{name}[{i}]")
        if {*inside} != {names[j] for j in features}:
            raise UnsoundError(f"{name}[{i}] must name the features that mask has")
        found[i] = tuple(inside)
    return found

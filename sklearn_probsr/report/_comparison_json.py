"""Reading comparisons: whatever a JSON text says, one that can be, or what is wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.report._growth import Growth
from sklearn_probsr.results._checked import (
    UnsoundError,
    allowance,
    cells,
    flat,
    json_size,
    label,
    members,
    number,
    numbers,
    parsed,
    shown,
    text,
    texts,
    wholes,
)
from sklearn_probsr.results._reason import CLAIMS

__all__ = ["FORMAT", "read_comparison"]

FORMAT = "sklearn-probsr comparison 2"
_MEMBERS = (
    "format", "table", "shap_values", "values", "growth", "mask", "feature_names", "classes",
    "delta", "distribution", "others", "missing", "rules", "index",
)  # fmt: skip
_SIZES = ("reason_size", "sure_size", "abs_shap_size", "signed_shap_size", "hurting")
_ALTERNATIVES = ("independent_guarantee", "joint_guarantee")
# What rounding may add to a share that is 1.
_ROUNDING = 1e-9


def read_comparison(source: Any, max_bytes: int | None) -> tuple[dict[str, Any], Growth, Any]:
    """Return the fields of a comparison, its growth, and the index of its rows.

    Raises
    ------
    UnsoundError
        If a member is not what `Comparison.to_json` writes; it is named.
    """
    if not isinstance(source, str):
        raise UnsoundError(f"it must be a text, got {type(source).__name__}")
    most, size = allowance(len(source), max_bytes), json_size(source)
    if size > most:
        raise UnsoundError(
            f"its values take up to {size:,} bytes, more than the {most:,} that they may; if you "
            f"trust it, pass max_bytes={size}"
        )
    held = parsed(source, "it")
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        got = held.get("format") if isinstance(held, dict) else held
        raise UnsoundError(f"it must have the format {FORMAT!r}, got {shown(got)}")
    members(held, "it", _MEMBERS)
    names = texts(held["feature_names"], "feature_names")
    classes = [
        label(value, f"classes[{i}]")
        for i, value in enumerate(flat(held["classes"], "classes", (None,)))
    ]
    if len(set(classes)) != len(classes):
        raise UnsoundError(f"classes must be different labels, got {shown(classes)}")
    n = len(flat(held["mask"], "mask", (None,)))
    shape, others = (n, len(names)), texts(held["others"], "others")
    mask = wholes(held["mask"], "mask", shape, 1).astype(np.bool_)
    delta = number(held["delta"], "delta", 0, 1)
    growth = _growth(held["growth"], shape)
    missing = _missing(held["missing"])
    if delta not in growth.levels:
        raise UnsoundError(f"growth.levels must hold delta, {delta:g}")
    fields = {
        "table": _table(held["table"], mask, names, classes, others, missing),
        "shap_values": numbers(held["shap_values"], "shap_values", shape, gaps=True),
        "values": cells(held["values"], "values", shape),
        "mask": mask,
        "feature_names": tuple(names),
        "classes": tuple(classes),
        "delta": delta,
        "distribution": text(held["distribution"], "distribution"),
        "others": tuple(others),
        "missing": missing,
        "rules": text(held["rules"], "rules"),
    }
    return fields, growth, _index(held["index"], n)


def _index(told: Any, n: int) -> Any:
    """Return what the rows are called, or None."""
    import pandas as pd

    if told is None:
        return None
    told = members(told, "index", ("name", "labels"))
    name = None if told["name"] is None else text(told["name"], "index.name")
    labels = flat(told["labels"], "index.labels", (n,))
    return pd.Index(
        [label(value, f"index.labels[{i}]") for i, value in enumerate(labels)], name=name
    )


def _missing(told: Any) -> dict[str, str]:
    """Return which columns could not be had, and why."""
    known = ("sure_size", "abs_shap_size", "signed_shap_size", "independent_guarantee")
    if not isinstance(told, dict) or not all(name in known for name in told):
        raise UnsoundError(f"missing must say of {known} why, got {shown(told)}")
    return {name: text(reason, f"missing.{name}") for name, reason in told.items()}


def _growth(told: Any, shape: tuple[int, int]) -> Growth:
    told = members(told, "growth", ("levels", "mask", "lower", "minimality"))
    n, width = shape
    count = len(flat(told["levels"], "growth.levels", (None,)))
    levels = tuple(numbers(told["levels"], "growth.levels", (count,), 0, 1).tolist())
    if list(levels) != sorted(set(levels)):
        raise UnsoundError(f"growth.levels must increase, got {shown(levels)}")
    bits = wholes(told["mask"], "growth.mask", (count, n, -(-width // 8)), 255).astype(np.uint8)
    return Growth(
        levels,
        np.unpackbits(bits, axis=2, count=width).astype(np.bool_),
        numbers(told["lower"], "growth.lower", (count, n), 0, 1),
        _claims(told["minimality"], "growth.minimality", (count, n)).astype(np.str_),
    )


def _claims(told: Any, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    entries = flat(told, name, shape)
    for entry in entries:
        if type(entry) is not str or entry not in CLAIMS:
            raise UnsoundError(f"{name} must hold what can be proved, got {shown(entry)}")
    return np.array(entries, dtype=object).reshape(shape)


# --- the table -------------------------------------------------------------------------------


def _table(
    told: Any,
    mask: NDArray[np.bool_],
    names: list[str],
    classes: list[Any],
    others: list[str],
    missing: dict[str, str],
) -> dict[str, NDArray[Any]]:
    """Return the columns, in the order in which they are told."""
    n, width = mask.shape
    sizes = [*_SIZES, *(f"{name}_size" for name in others)]
    bounded = ["guarantee", "top_shap_guarantee", *(f"{name}_guarantee" for name in others)]
    if isinstance(told, dict):
        bounded += [word for word in _ALTERNATIVES if f"{word}_lower" in told]
    overlaps = ["overlap", *(f"{name}_overlap" for name in others)]
    ends = [f"{word}_{end}" for word in bounded for end in ("lower", "upper")]
    known = {
        "prediction", "margin", "reason", "minimality", "shap_share", *sizes, *ends, *overlaps
    }  # fmt: skip
    told = members(told, "table", sorted(known))
    found: dict[str, NDArray[Any]] = {}
    for name, column in told.items():
        where = f"table.{name}"
        if name == "prediction":
            found[name] = _labels(column, where, n, classes)
        elif name == "reason":
            found[name] = _reasons(column, where, mask, names)
        elif name == "minimality":
            found[name] = _claims(column, where, (n,))
        elif name in missing:
            found[name] = _sizes(column, where, n, width)
        elif name in sizes:
            found[name] = wholes(column, where, (n,), width)
        elif name == "margin":
            found[name] = numbers(column, where, (n,), gaps=True)
        else:
            most = 1.0 if name in ends else 1.0 + _ROUNDING
            gaps = name == "shap_share"  # of SHAP values that are not finite
            found[name] = numbers(column, where, (n,), 0, most, gaps)
    for word in bounded:
        if not (found[f"{word}_lower"] <= found[f"{word}_upper"]).all():
            raise UnsoundError(f"table.{word}_lower must not be above table.{word}_upper")
    if not np.array_equal(found["reason_size"], mask.sum(axis=1)):
        raise UnsoundError("table.reason_size must be how many features of each row mask has")
    return found


def _sizes(told: Any, name: str, n: int, width: int) -> NDArray[np.float64]:
    """Return sizes, NaN in the rows that have none."""
    entries = flat(told, name, (n,))
    known = [entry for entry in entries if entry is not None]
    found = np.full(n, np.nan)
    found[[entry is not None for entry in entries]] = wholes(known, name, (len(known),), width)
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


def _reasons(told: Any, name: str, mask: NDArray[np.bool_], names: list[str]) -> NDArray[Any]:
    entries = flat(told, name, (len(mask),))
    found = np.empty(len(mask), dtype=object)
    for i, entry in enumerate(entries):
        inside = texts(entry, f"{name}[{i}]")
        if {*inside} != {names[j] for j in np.flatnonzero(mask[i])}:
            raise UnsoundError(f"{name}[{i}] must name the features that mask has")
        found[i] = tuple(inside)
    return found

"""Reading comparisons: whatever a JSON text says, one that can be, or what is wrong with it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.model.numbers import exact_text
from sklearn_probsr.report.comparison._growth import Growth
from sklearn_probsr.report.comparison._shared_members import COUNTS, read_shared
from sklearn_probsr.report.comparison._table_json import claims, read_columns
from sklearn_probsr.report.comparison._wide_json import read_sets, read_table
from sklearn_probsr.results._checked_json import (
    UnsoundError,
    allowance,
    cells,
    flag,
    flat,
    json_size,
    label,
    members,
    number,
    numbers,
    one_of,
    parsed,
    shown,
    text,
    texts,
    whole,
    wholes,
)
from sklearn_probsr.results._row_labels import checked_labels
from sklearn_probsr.results._scope import Scope

__all__ = ["FORMAT", "read_comparison"]

FORMAT = "sklearn-probsr comparison 6"
_MEMBERS = (
    "format", "table", "shap_values", "values", "growth", "mask", "feature_names", "classes",
    "delta", "distribution", "others", "missing", "rules", "scope", "threshold",
    "index", "shared",
)  # fmt: skip


def read_comparison(source: Any, max_bytes: int | None) -> tuple[dict[str, Any], Growth]:
    """Return the fields of a comparison, and its growth.

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
    n = len(flat(_listed(held["mask"]), "mask", (None,)))
    shape, others = (n, len(names)), texts(held["others"], "others")
    mask = _mask(held["mask"], n, len(names))
    delta = number(held["delta"], "delta", 0, 1)
    growth = _growth(held["growth"], shape)
    missing = _missing(held["missing"])
    if delta not in growth.levels:
        raise UnsoundError(f"growth.levels must hold delta, {exact_text(delta)}")
    found = {
        "table": read_columns(held["table"], mask, names, classes, others, missing),
        "shap_values": read_table(
            held["shap_values"],
            "shap_values",
            shape,
            lambda told, name, shape: numbers(told, name, shape, gaps=True),
        ),
        "values": read_table(held["values"], "values", shape, cells),
        "mask": mask,
        "feature_names": tuple(names),
        "classes": tuple(classes),
        "delta": delta,
        "distribution": text(held["distribution"], "distribution"),
        "others": tuple(others),
        "missing": missing,
        "index": checked_labels(held["index"], "index", n),
        "rules": text(held["rules"], "rules"),
        "scope": _scope(held["scope"], names),
        "threshold": text(held["threshold"], "threshold"),
        "shared": read_shared(held["shared"], held["table"], shape),
    }
    return found, growth


def _listed(told: Any) -> Any:
    """Return which sets there are, however they are told."""
    return told.get("sets") if isinstance(told, dict) else told


def _mask(told: Any, n: int, width: int) -> FeatureSets | NDArray[np.bool_]:
    """Return the features of each row's reason: as sets, if they are told so."""
    if isinstance(told, dict):
        return read_sets(told, "mask", (n, width))
    return wholes(told, "mask", (n, width), 1).astype(np.bool_)


def _missing(told: Any) -> dict[str, str]:
    """Return which columns could not be had, and why."""
    known = ("sure_size", "abs_shap_size", "signed_shap_size", "independent_guarantee", *COUNTS)
    if not isinstance(told, dict) or not all(name in known for name in told):
        raise UnsoundError(f"missing must say of {known} why, got {shown(told)}")
    return {name: text(reason, f"missing.{name}") for name, reason in told.items()}


def _scope(told: Any, names: list[str]) -> Scope:
    """Return which sets were allowed."""
    told = members(told, "scope", tuple(field.name for field in fields(Scope)))
    include, only = (texts(told[name], f"scope.{name}") for name in ("include", "only"))
    if not {*include} <= {*names}:
        raise UnsoundError("scope.include must name features")
    for word in only:
        one_of(word, "scope.only", ("present", "supporting"))
    most = told["max_size"]
    return Scope(
        tuple(include),
        flag(told["exclude"], "scope.exclude"),
        tuple(only),
        None if most is None else whole(most, "scope.max_size", 0),
        whole(told["min_rows"], "scope.min_rows", 0),
    )


def _growth(told: Any, shape: tuple[int, int]) -> Growth:
    told = members(told, "growth", ("levels", "mask", "lower", "minimality", "refuted", "against"))
    n = shape[0]
    count = len(flat(told["levels"], "growth.levels", (None,)))
    levels = tuple(numbers(told["levels"], "growth.levels", (count,), 0, 1).tolist())
    if list(levels) != sorted(set(levels)):
        raise UnsoundError(f"growth.levels must increase, got {shown(levels)}")
    each = enumerate(flat(told["mask"], "growth.mask", (count,)))
    sets = tuple(_flagged_features(level, f"growth.mask[{k}]", shape) for k, level in each)
    against = _flagged_features(told["against"], "growth.against", shape)
    known = FeatureSets.union(sets).sizes if sets else np.zeros(n, dtype=np.int64)
    if (FeatureSets.union([*sets, against]).sizes > known).any():
        raise UnsoundError("growth.against must have features of growth.mask alone")
    return Growth(
        levels,
        sets,
        numbers(told["lower"], "growth.lower", (count, n), 0, 1),
        claims(told["minimality"], "growth.minimality", (count, n)).astype(np.str_),
        wholes(told["refuted"], "growth.refuted", (count, n), 1).astype(np.bool_),
        against,
    )


def _flagged_features(told: Any, name: str, shape: tuple[int, int]) -> FeatureSets:
    """Return sets of features, told as such or as flags, which are held eight to a byte."""
    if isinstance(told, dict):
        return read_sets(told, name, shape)
    n, width = shape
    held = wholes(told, name, (n, -(-width // 8)), 255).astype(np.uint8)
    return FeatureSets.of_mask(np.unpackbits(held, axis=-1, count=width).astype(np.bool_))

"""Reading the model and the distribution of an archive, or what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._completions import (
    Background,
    Distribution,
    Marginals,
    Matching,
    Product,
    Uniform,
)
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.linear import LinearModel, Model
from sklearn_probsr.model.units import Unit
from sklearn_probsr.results._checked_json import (
    UnsoundError,
    flag,
    flat,
    fraction,
    label,
    members,
    number,
    one_of,
    shown,
    text,
    texts,
    whole,
)
from sklearn_probsr.results._unit_forms import Form, form_at, read_forms, unit_of

__all__ = ["OF_LAWS", "read_law", "read_model"]

# The members that only the archives of some distributions have.
OF_LAWS = {"law/rows": "bf", "law/weights": "i", "law/confirming": "b"}
# Which of those a distribution has.
_EACH = {
    "Uniform": (),
    "Product": (),
    "Background": ("law/rows", "law/weights"),
    "Marginals": ("law/rows", "law/weights"),
    "Matching": ("law/rows", "law/weights", "law/confirming"),
}


# --- the model -------------------------------------------------------------------------------


def read_model(weights: NDArray[np.float64], told: Any) -> Model:
    """Return the model of some weights and what JSON says of it."""
    several = weights.ndim == 2
    decides = ("intercepts", "last") if several else ("threshold", "strict", "decimal")
    told = members(told, "meta.model", (*decides, "feature_names", "classes", "units", "forms"))
    d = weights.shape[-1]
    names = texts(told["feature_names"], "meta.model.feature_names", d)
    named: dict[str, Any] = {
        "feature_names": names,
        "classes": [
            label(value, f"meta.model.classes[{i}]")
            for i, value in enumerate(flat(told["classes"], "meta.model.classes", (None,)))
        ],
        "units": _units(told["units"], read_forms(told["forms"], "meta.model.forms"), names),
    }
    if several:
        intercepts = flat(told["intercepts"], "meta.model.intercepts", (len(weights),))
        each = [number(v, f"meta.model.intercepts[{i}]") for i, v in enumerate(intercepts)]
        return ArgmaxModel(weights, each, last=flag(told["last"], "meta.model.last"), **named)
    threshold = number(told["threshold"], "meta.model.threshold")
    for name in ("strict", "decimal"):
        named[name] = flag(told[name], f"meta.model.{name}")
    return LinearModel(weights, threshold, **named)


def _units(told: Any, forms: Sequence[Form], names: Sequence[str]) -> list[Unit] | None:
    """Return units; a number in place of one is the form of the column at that place."""
    if told is None:
        return None
    entries = flat(told, "meta.model.units", (None,))
    parts = {
        i: members(
            entry, f"meta.model.units[{i}]", ("name", "columns", "states", "labels", "coded")
        )
        for i, entry in enumerate(entries)
        if type(entry) is not int or i >= len(names)
    }
    texts([part["name"] for part in parts.values()], "meta.model.units names")
    d = len(names)
    return [
        _unit(parts[i], f"meta.model.units[{i}]", d)
        if i in parts
        else unit_of(form_at(entry, forms, f"meta.model.units[{i}]"), i, names[i])
        for i, entry in enumerate(entries)
    ]


def _unit(told: dict[str, Any], name: str, d: int) -> Unit:
    columns = [
        whole(column, f"{name}.columns", 0, d - 1)
        for column in flat(told["columns"], f"{name}.columns", (None,))
    ]
    states = told["states"]
    if states is not None:
        entries = flat(states, f"{name}.states", (None, len(columns)))
        for entry in entries:
            number(entry, f"{name}.states")
    labels = flat(told["labels"], f"{name}.labels", (None,))
    for entry in labels:
        text(entry, f"{name}.labels")
    coded = flag(told["coded"], f"{name}.coded")
    return Unit(told["name"], tuple(columns), states, tuple(labels), coded)


# --- the distribution ------------------------------------------------------------------------


def read_law(held: dict[str, Any], told: Any) -> Distribution:
    """Return the distribution of some arrays and what JSON says of it."""
    told = members(told, "meta.law", ("kind", "p", "matching", "sample"))
    kind = one_of(told["kind"], "meta.law.kind", _EACH)
    for name in OF_LAWS:
        if (name in held) != (name in _EACH[kind]):
            raise UnsoundError(f"{name} is {'unknown' if name in held else 'missing'} under {kind}")
    for name in ("p", "matching"):
        if (told[name] is not None) != (name == {"Product": "p", "Matching": "matching"}.get(kind)):
            raise UnsoundError(f"meta.law.{name} must not be {shown(told[name])} under {kind}")
    if told["sample"] is not None and kind != "Background":
        raise UnsoundError(f"meta.law.sample must not be {shown(told['sample'])} under {kind}")
    if kind == "Uniform":
        return Uniform()
    if kind == "Product":
        entries = flat(told["p"], "meta.law.p", (None,))
        return Product(tuple(fraction(p, f"meta.law.p[{i}]") for i, p in enumerate(entries)))
    if kind == "Background":
        size, seed = (None, 0) if told["sample"] is None else _drawn(told["sample"])
        return Background(held["law/rows"], held["law/weights"], sample=size, random_state=seed)
    if kind == "Marginals":
        return Marginals(held["law/rows"], held["law/weights"])
    min_rows, confidence, cautious = flat(told["matching"], "meta.law.matching", (3,))
    if not (held["law/weights"] == 1).all():
        raise UnsoundError("law/weights must all be 1 under Matching")
    return Matching(
        held["law/rows"],
        min_rows=whole(min_rows, "meta.law.matching[0]", 1),
        confirm=held["law/confirming"],
        confidence=fraction(confidence, "meta.law.matching[1]"),
        cautious=flag(cautious, "meta.law.matching[2]"),
    )


def _drawn(told: Any) -> tuple[int, int]:
    """Return how many rows were searched on, and the seed that they were drawn with."""
    size, seed = flat(told, "meta.law.sample", (2,))
    return whole(size, "meta.law.sample[0]", 1), whole(seed, "meta.law.sample[1]", 0)

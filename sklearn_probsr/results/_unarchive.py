"""Reading archives: whatever is in the file, reasons that can be, or what is wrong with it."""

from __future__ import annotations

import math
from typing import IO, Any

from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.results._archive import FORMAT
from sklearn_probsr.results._archive_arrays import Declared, declared, load
from sklearn_probsr.results._checked_json import (
    UnsoundError,
    allowance,
    cells,
    flag,
    json_size,
    members,
    one_of,
    parsed,
    shown,
    text,
    texts,
)
from sklearn_probsr.results._reasons import COLUMNS, SufficientReasons
from sklearn_probsr.results._row_labels import checked_labels
from sklearn_probsr.results._sparse_arrays import KINDS, DeclaredRows, gathered
from sklearn_probsr.results._unarchive_model import OF_LAWS, read_law, read_model
from sklearn_probsr.results._unarchive_reasons import Arrays, checked_reasons
from sklearn_probsr.results._unit_forms import unit_bytes

__all__ = ["read_reasons"]

# The members of every archive, and what each holds; some have those of a distribution too, and
# values. Sparse rows have these of the features in reasons only; without them they are SHAP values.
_VALUES = {"more/values": "f"}
_VIEWS = ("all", "reason", "guarantee")
_EVERY = {
    "meta": "u", "model/weights": "f", "more/base_values": "f", "more/data": "f",
    "reasons/rows": "bf", "reasons/features": "i", "reasons/indptr": "i", "reasons/lower": "f",
    "reasons/upper": "f", "reasons/minimality": "U", "reasons/epsilon": "f",
    "reasons/size_lower": "i", "reasons/samples": "i", "reasons/stopped": "U",
}  # fmt: skip


def read_reasons(
    file: IO[bytes], size: int, max_bytes: int | None
) -> tuple[SufficientReasons, Arrays, dict[str, Any]]:
    """Return the reasons in an archive, arrays and texts that belong to them.

    Parameters
    ----------
    file : binary file
    size : int
        How many bytes it has.
    max_bytes : int or None
        How many its arrays and texts may take.

    Raises
    ------
    UnsoundError
        If a member is not what `write_reasons` writes; it is named.
    """
    each = declared(file, _EVERY | _VALUES | OF_LAWS | KINDS)
    width = (each["model/weights"].shape or (0,))[-1] if "model/weights" in each else 0
    said = gathered(each, width)
    for name in _EVERY:
        if name not in said:
            raise UnsoundError(f"{name} is missing")
    most = allowance(size, max_bytes)
    total = sum(array.nbytes for array in said.values())
    _check_total(total, most)
    if len(said["meta"].shape) != 1:
        raise UnsoundError(f"meta must be a vector, got shape {said['meta'].shape}")
    source = load(file, each["meta"]).tobytes()
    del said["meta"]
    _check_total(total + json_size(source), most)
    meta = parsed(source, "meta")
    # A file of another version is told as such, whatever else it has.
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        got = meta.get("format") if isinstance(meta, dict) else meta
        raise UnsoundError(f"meta must have the format {FORMAT!r}, got {shown(got)}")
    meta = members(meta, "meta", ("format", "model", "law", "reasons", "texts"))
    _check_shapes(said, meta)
    _check_total(total + json_size(source) + unit_bytes(meta["model"]), most)
    held = {name: _loaded(file, array) for name, array in said.items()}
    model = read_model(held["model/weights"], meta["model"])
    law = law_of(model, read_law(held, meta["law"])).distribution
    reasons = checked_reasons(model, law, held, meta["reasons"])
    names = ("values", "base_values", "data")
    more = {name: held[f"more/{name}"] for name in names if f"more/{name}" in held}
    return reasons, more, _texts(meta["texts"], reasons, more)


def _loaded(file: IO[bytes], array: Declared | DeclaredRows) -> Any:
    return array.load(file) if isinstance(array, DeclaredRows) else load(file, array)


def _check_total(total: int, most: int) -> None:
    if total > most:
        raise UnsoundError(
            f"it takes {total:,} bytes unpacked, more than the {most:,} that it may; if you trust "
            f"it, pass max_bytes={total}"
        )


def _check_shapes(said: dict[str, Declared | DeclaredRows], meta: dict[str, Any]) -> None:
    """Refuse arrays that do not fit each other, before any of them is read."""
    told = meta["model"]
    several = isinstance(told, dict) and "intercepts" in told
    weights, data = said["model/weights"].shape, said["more/data"].shape
    if len(weights) != 1 + several:
        raise UnsoundError(f"model/weights must have {1 + several} dimensions, got shape {weights}")
    if len(data) != 2:
        raise UnsoundError(f"more/data must have 2 dimensions, got shape {data}")
    n = data[0]
    told_of: tuple[int, ...] = data
    if isinstance(said["more/data"], DeclaredRows):  # values of what is in the reasons alone
        told_of = (math.prod(said["reasons/features"].shape),)
    elif "more/values" not in said:
        raise UnsoundError("more/values is missing")
    outputs = (weights[0],) if several and len(said["more/base_values"].shape) == 2 else ()
    expected: dict[str, tuple[int, ...]] = {f"reasons/{name}": (n,) for name in COLUMNS}
    expected |= {
        "reasons/rows": (n, weights[-1]),
        "reasons/features": (math.prod(said["reasons/features"].shape),),
        "reasons/indptr": (n + 1,),
        "more/base_values": (n, *outputs),
    }
    if "more/values" in said:
        expected["more/values"] = (*told_of, *outputs)
    if "law/rows" in said:
        rows = said["law/rows"].shape[:1]
        expected |= {"law/rows": (*rows, weights[-1])}
        expected |= {name: rows for name in ("law/weights", "law/confirming") if name in said}
    for name, shape in expected.items():
        if said[name].shape != shape:
            raise UnsoundError(f"{name} must have shape {shape}, got {said[name].shape}")


def _texts(told: Any, reasons: SufficientReasons, more: Arrays) -> dict[str, Any]:
    known = ("feature_names", "output_names", "display_data", "single", "view", "index")
    held = dict(members(told, "meta.texts", known))
    n, width = len(reasons), reasons.model.n_units
    texts(held["feature_names"], "meta.texts.feature_names", width)
    if more["base_values"].ndim == 2:
        texts(held["output_names"], "meta.texts.output_names", more["base_values"].shape[1])
    else:
        text(held["output_names"], "meta.texts.output_names")
    if held["display_data"] is not None:
        held["display_data"] = cells(held["display_data"], "meta.texts.display_data", (n, width))
    views: tuple[str, ...] = _VIEWS
    if isinstance(more["data"], SparseRows):  # without values they are SHAP values
        views = views[1:] if "values" in more else views[:1]
    one_of(held["view"], "meta.texts.view", views)
    checked_labels(held["index"], "meta.texts.index", n)
    if flag(held["single"], "meta.texts.single") and n != 1:
        raise UnsoundError(f"meta.texts.single must be false, there are {n} rows")
    return held

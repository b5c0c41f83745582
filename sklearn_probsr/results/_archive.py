"""Archives: reasons with their model and distribution in a file that holds no code."""

from __future__ import annotations

import json
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

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
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws._sources import checked_rows
from sklearn_probsr.model._argmax import ArgmaxModel
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.model._units import Unit
from sklearn_probsr.results._reason import COLUMNS, SufficientReasons

__all__ = [
    "atomically",
    "plain_value",
    "plain_values",
    "read_reasons",
    "reading",
    "values_of",
    "write_reasons",
]

_FORMAT = "sklearn-probsr reasons 3"
# What reading a file that is something else, or cut short, may end in.
_BROKEN = (
    ValueError, LookupError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def write_reasons(
    path: Path, reasons: SufficientReasons, arrays: dict[str, NDArray[Any]], texts: dict[str, Any]
) -> None:
    """Write reasons, and what else belongs to them, to a NumPy archive."""
    model, law = reasons.model, reasons.distribution
    held = {f"reasons/{name}": np.asarray(getattr(reasons, name)) for name in COLUMNS}
    held |= {"model/weights": model.weights, **{f"more/{k}": v for k, v in arrays.items()}}
    if isinstance(law, Background | Marginals | Matching):
        held |= {"law/rows": checked_rows(model, law), "law/weights": law.weights}
    if isinstance(law, Matching):
        held |= {"law/confirming": law.confirming}
    meta = {
        "format": _FORMAT,
        "model": {
            **_decision(model),
            "feature_names": model.feature_names,
            "classes": [plain_label(label) for label in model.classes],
            "units": None if model.units is None else [_unit(unit) for unit in model.units],
        },
        "law": {
            "kind": type(law).__name__,
            "p": [str(p) for p in law.p] if isinstance(law, Product) else None,
            "matching": [law.min_rows, str(law.confidence), law.cautious]
            if isinstance(law, Matching)
            else None,
        },
        "reasons": {
            "delta": reasons.delta,
            "confidence": reasons.confidence,
            "method": reasons.method,
            "forced": reasons.forced,
            "exact": {str(i): str(value) for i, value in reasons.exact.items()},
            "shown": None if reasons.shown is None else plain_values(reasons.shown),
        },
        "texts": texts,
    }
    held["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    atomically(path, lambda file: np.savez_compressed(file, allow_pickle=False, **held))


def read_reasons(path: Path) -> tuple[SufficientReasons, dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `write_reasons` wrote."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        held = {name: archive[name] for name in archive.files}
    meta = json.loads(held["meta"].tobytes())
    if meta["format"] != _FORMAT:
        raise KeyError(meta["format"])
    return _reasons(held, meta), _under("more/", held), dict(meta["texts"])


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say of a file that turns out to be something else, or cut short, that it is."""
    try:
        yield
    except _BROKEN as error:
        raise InvalidInputError(
            f"{path} is not a file that ReasonExplanation.save wrote with this version."
        ) from error


def _under(prefix: str, held: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name[len(prefix) :]: held[name] for name in held if name.startswith(prefix)}


def _reasons(held: dict[str, NDArray[Any]], meta: dict[str, Any]) -> SufficientReasons:
    units = meta["model"].pop("units")
    kind = ArgmaxModel if "intercepts" in meta["model"] else LinearModel
    model = kind(
        held["model/weights"],
        units=None if units is None else [Unit(**unit) for unit in units],
        **meta["model"],
    )
    told = meta["reasons"]
    exact = {int(i): Fraction(value) for i, value in told.pop("exact").items()}
    forced, shown = tuple(told.pop("forced")), told.pop("shown")
    columns: dict[str, Any] = {name: held[f"reasons/{name}"] for name in COLUMNS}
    law = _law(held, meta["law"])
    return SufficientReasons(
        model=model,
        distribution=law,
        exact=exact,
        forced=forced,
        shown=None if shown is None else values_of(shown, model.n_units),
        **told,
        **columns,
    )


def _law(held: dict[str, NDArray[Any]], law: dict[str, Any]) -> Distribution:
    if law["kind"] == "Uniform":
        return Uniform()
    if law["kind"] == "Product":
        return Product(tuple(Fraction(p) for p in law["p"]))
    if law["kind"] == "Background":
        return Background(held["law/rows"], held["law/weights"])
    if law["kind"] == "Marginals":
        return Marginals(held["law/rows"], held["law/weights"])
    if law["kind"] == "Matching":
        min_rows, confidence, cautious = law["matching"]
        return Matching(
            held["law/rows"],
            min_rows=min_rows,
            confirm=held["law/confirming"],
            cautious=cautious,
            confidence=Fraction(confidence),
        )
    raise KeyError(law["kind"])


def plain_label(label: Any) -> Any:
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise InvalidInputError(
            f"Class labels must be text, numbers or booleans to be saved, got {label!r}."
        )
    return value


def _decision(model: Model) -> dict[str, Any]:
    """Return what decides beside the weights, as JSON has it."""
    rest = {name: value for name, value in model.decision.items() if name != "weights"}
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in rest.items()}


def _unit(unit: Unit) -> dict[str, Any]:
    return {
        "name": unit.name,
        "columns": unit.columns,
        "states": unit.states,
        "labels": unit.labels,
        "coded": unit.coded,
    }


def plain_values(values: NDArray[Any]) -> list[list[Any]]:
    """Return what a person reads in each feature of some rows, in values that JSON has."""
    return [[plain_value(value) for value in row] for row in values]


def plain_value(value: Any) -> Any:
    """Return a value that JSON has; one that is neither text nor number as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def values_of(lists: list[list[Any]], width: int) -> NDArray[Any]:
    """Return what `plain_values` made lists of."""
    found = np.empty((len(lists), width), dtype=object)
    for i, row in enumerate(lists):
        found[i] = row
    return found


def atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside its place and move it there, so that no half of it is ever seen."""
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with beside.open("xb") as file:
            write(file)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)

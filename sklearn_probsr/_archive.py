"""Archives: reasons with their model and distribution in a file that holds no code."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._distributions import Background, Marginals, Product, Uniform, rows_for
from sklearn_probsr._model import LinearModel
from sklearn_probsr._reason import SufficientReasons
from sklearn_probsr._units import Unit
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["atomically", "read_reasons", "write_reasons"]

_FORMAT = "sklearn-probsr reasons 1"
_COLUMNS = ("rows", "mask", "lower", "upper", "minimality", "epsilon", "samples")


def write_reasons(
    path: Path, reasons: SufficientReasons, arrays: dict[str, NDArray[Any]], texts: dict[str, Any]
) -> None:
    """Write reasons, and what else belongs to them, to a NumPy archive."""
    model, law = reasons.model, reasons.distribution
    held = {f"reasons/{name}": np.asarray(getattr(reasons, name)) for name in _COLUMNS}
    held |= {"model/weights": model.weights, **{f"more/{k}": v for k, v in arrays.items()}}
    if isinstance(law, Background | Marginals):
        held |= {"law/rows": rows_for(model, law), "law/weights": law.weights}
    meta = {
        "format": _FORMAT,
        "model": {
            "threshold": model.threshold,
            "strict": model.strict,
            "feature_names": model.feature_names,
            "classes": [_label(label) for label in model.classes],
            "units": None if model.units is None else [_unit(unit) for unit in model.units],
        },
        "law": {
            "kind": type(law).__name__,
            "p": [str(p) for p in law.p] if isinstance(law, Product) else None,
        },
        "reasons": {
            "delta": reasons.delta,
            "confidence": reasons.confidence,
            "method": reasons.method,
            "forced": reasons.forced,
            "exact": {str(i): str(value) for i, value in reasons.exact.items()},
        },
        "texts": texts,
    }
    held["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    atomically(path, lambda file: np.savez_compressed(file, allow_pickle=False, **held))


def read_reasons(path: Path) -> tuple[SufficientReasons, dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `write_reasons` wrote."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            held = {name: archive[name] for name in archive.files}
        meta = json.loads(held["meta"].tobytes())
        if meta["format"] != _FORMAT:
            raise KeyError(meta["format"])
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            f"{path} is not a file that ReasonExplanation.save wrote with this version."
        ) from error
    units = meta["model"].pop("units")
    model = LinearModel(
        held["model/weights"],
        units=None if units is None else [Unit(**unit) for unit in units],
        **meta["model"],
    )
    kind, p = meta["law"]["kind"], meta["law"]["p"]
    law: Any = Uniform()
    if kind == "Product":
        law = Product(tuple(Fraction(value) for value in p))
    elif kind != "Uniform":
        law = {"Background": Background, "Marginals": Marginals}[kind](
            held["law/rows"], held["law/weights"]
        )
    told = meta["reasons"]
    exact = {int(i): Fraction(value) for i, value in told.pop("exact").items()}
    forced = tuple(told.pop("forced"))
    reasons = SufficientReasons(
        model=model,
        distribution=law,
        exact=exact,
        forced=forced,
        **told,
        **{name: held[f"reasons/{name}"] for name in _COLUMNS},
    )
    more = {name[5:]: array for name, array in held.items() if name.startswith("more/")}
    return reasons, more, meta["texts"]


def _label(label: Any) -> Any:
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise InvalidInputError(
            f"Class labels must be text, numbers or booleans to be saved, got {label!r}."
        )
    return value


def _unit(unit: Unit) -> dict[str, Any]:
    return {
        "name": unit.name,
        "columns": unit.columns,
        "states": unit.states,
        "labels": unit.labels,
    }


def atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside its place and move it there, so that no half of it is ever seen."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise

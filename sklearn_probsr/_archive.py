"""Archives: reasons with their model and distribution in a file that holds no code."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._argmax import AnyModel
from sklearn_probsr._distributions import Background, Marginals, Matching, Product, rows_for
from sklearn_probsr._reason import COLUMNS, SufficientReasons
from sklearn_probsr._units import Unit
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["FORMAT", "atomically", "plain_label", "write_reasons"]

FORMAT = "sklearn-probsr reasons 2"


def write_reasons(
    path: Path, reasons: SufficientReasons, arrays: dict[str, NDArray[Any]], texts: dict[str, Any]
) -> None:
    """Write reasons, and what else belongs to them, to a NumPy archive."""
    model, law = reasons.model, reasons.distribution
    held = {f"reasons/{name}": np.asarray(getattr(reasons, name)) for name in COLUMNS}
    held |= {"model/weights": model.weights, **{f"more/{k}": v for k, v in arrays.items()}}
    if isinstance(law, Background | Marginals | Matching):
        held |= {"law/rows": rows_for(model, law), "law/weights": law.weights}
    if isinstance(law, Matching):
        held |= {"law/confirming": law.confirming}
    meta = {
        "format": FORMAT,
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
        },
        "texts": texts,
    }
    held["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    atomically(path, lambda file: np.savez_compressed(file, allow_pickle=False, **held))


def plain_label(label: Any) -> Any:
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise InvalidInputError(
            f"Class labels must be text, numbers or booleans to be saved, got {label!r}."
        )
    return value


def _decision(model: AnyModel) -> dict[str, Any]:
    """Return what decides beside the weights, as JSON has it."""
    rest = {name: value for name, value in model.decision.items() if name != "weights"}
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in rest.items()}


def _unit(unit: Unit) -> dict[str, Any]:
    return {
        "name": unit.name,
        "columns": unit.columns,
        "states": unit.states,
        "labels": unit.labels,
    }


def atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside its place and move it there, so that no half of it is ever seen."""
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with beside.open("xb") as file:
            write(file)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)

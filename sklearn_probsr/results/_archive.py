"""Archives: reasons with their model and distribution in a file that holds no code."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import re
import uuid
import zipfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.means import rows_before
from sklearn_probsr.distributions._completions import (
    Background,
    Marginals,
    Matching,
    Product,
    Uniform,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.model.units import Unit
from sklearn_probsr.results._reasons import COLUMNS, SufficientReasons
from sklearn_probsr.results._sparse_arrays import split
from sklearn_probsr.results._told_categories import told_categories
from sklearn_probsr.results._told_costs import told_costs
from sklearn_probsr.results._told_spelling import told_spelling
from sklearn_probsr.results._unit_forms import Form, form_of

__all__ = [
    "FORMAT",
    "atomically",
    "plain_label",
    "plain_value",
    "plain_values",
    "write_reasons",
]

FORMAT = "sklearn-probsr reasons 8"
# Of more units than these, those of a form are not written out.
_MANY = 2**12


def write_reasons(
    path: Path, reasons: SufficientReasons, arrays: dict[str, Any], texts: dict[str, Any]
) -> None:
    """Write reasons, and what else belongs to them, to a NumPy archive."""
    model, law = reasons.model, reasons.distribution
    held = {f"reasons/{name}": getattr(reasons, name) for name in COLUMNS}
    for name in ("features", "indptr"):
        held[f"reasons/{name}"] = getattr(reasons.sets, name).astype(np.int64)
    held |= {"model/weights": model.weights, **{f"more/{k}": v for k, v in arrays.items()}}
    told_law, arrays_of_law = _law(model, law)
    held |= {f"law/{name}": array for name, array in arrays_of_law.items()}
    meta = {
        "format": FORMAT,
        "model": {
            **_decision(model),
            "feature_names": model.feature_names,
            "classes": [plain_label(label) for label in model.classes],
            **_units(model),
        },
        "law": told_law,
        "reasons": {
            "delta": reasons.delta,
            "confidence": reasons.confidence,
            "method": reasons.method,
            "forced": reasons.forced,
            "barred": reasons.barred,
            "max_size": reasons.max_size,
            "only": reasons.only,
            "words": {
                str(i): {str(unit): words for unit, words in told.items()}
                for i, told in reasons.words.items()
            },
            "exact": {str(i): str(value) for i, value in reasons.exact.items()},
            "flagged": {str(i): list(told) for i, told in reasons.flagged.items()},
            "shown": _shown(reasons.shown),
            "of_texts": reasons.of_texts,
            **told_costs(reasons),
            **told_categories(reasons),
            **told_spelling(reasons),
        },
        "texts": texts,
    }
    held = split(held)
    held["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    # A file may become fifty times what it is: many names are kept as they are.
    plain = {"meta"} if model.n_units > _MANY else set()
    atomically(path, lambda file: _write_arrays(file, held, plain))


def _write_arrays(file: IO[bytes], held: dict[str, NDArray[Any]], plain: Collection[str]) -> None:
    """Write arrays as NumPy's archives have them, all but some of them compressed."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in held.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            member.compress_type = zipfile.ZIP_STORED if name in plain else zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as inside:
                np.lib.format.write_array(inside, np.asanyarray(array), allow_pickle=False)


def _shown(values: Any) -> Any:
    """Return what a person reads; of sparse rows that is what the data say."""
    if values is None:
        return None
    return "data" if isinstance(values, SparseRows) else plain_values(values)


def _law(model: Model, law: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what JSON says of a distribution, and its arrays."""
    told: dict[str, Any] = {
        "kind": type(law).__name__, "p": None, "matching": None, "sample": None,
    }  # fmt: skip
    arrays: dict[str, NDArray[Any]] = {}
    match law:
        case Uniform():
            pass
        case Product():
            told["p"] = [str(p) for p in law.p]
        case Background() | Marginals():
            arrays = {"rows": rows_before(model, law), "weights": law.weights}
            state = law.__getstate__()
            if state.get("sample") is not None:
                told["sample"] = [state["sample"], state["random_state"]]
        case Matching():
            told["matching"] = [law.min_rows, str(law.confidence), law.cautious]
            arrays = {"rows": rows_before(model, law), "weights": law.weights}
            arrays["confirming"] = law.confirming
        case _:
            raise InvalidInputError(
                f"Explanations over {law} cannot be saved: {type(law).__name__} is not one of "
                "Uniform, Product, Marginals, Background and Matching. Pickle them."
            )
    return told, arrays


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


def _units(model: Model) -> dict[str, Any]:
    """Return the units and their forms; of many units, each that has one is its number."""
    if model.units is None or len(model.units) <= _MANY:
        units = None if model.units is None else [_unit(unit) for unit in model.units]
        return {"units": units, "forms": []}
    forms: dict[Form, int] = {}
    told: list[dict[str, Any] | int] = []
    for j, unit in enumerate(model.units):
        form = form_of(unit, j, model.feature_names[j])
        told.append(_unit(unit) if form is None else forms.setdefault(form, len(forms)))
    return {"units": told, "forms": [form._asdict() for form in forms]}


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


def atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside its place and move it there, so that no half of it is ever seen.

    What a process that was killed has left of the same file is removed.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "A folder is not a file to write to", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "There is no such folder", str(path.parent))
    _remove_left(path)
    beside = path.with_name(f".{path.name}.{_machine()}{os.getpid():08x}{uuid.uuid4().hex[:16]}")
    try:
        with beside.open("xb") as file:
            write(file)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


# What comes behind the name of a file that is being written: machine, process, and a number.
_BEING_WRITTEN = re.compile(r"([0-9a-f]{8})([0-9a-f]{8})[0-9a-f]{16}")


def _machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _remove_left(path: Path) -> None:
    """Remove what processes of this machine that are no more were writing for the same path."""
    start = f".{path.name}."
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(start)]
    for name in names:
        found = _BEING_WRITTEN.fullmatch(name.removeprefix(start))
        if found is None or found[1] != _machine() or _lives(int(found[2], 16)):
            continue
        with contextlib.suppress(OSError):  # somebody else's, or gone already
            path.with_name(name).unlink()


def _lives(process: int) -> bool:
    if os.name == "nt":  # where asking would end it, and what it has open cannot be removed
        return process == os.getpid()
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True

"""The files of a request, read and checked against each other: they become a case."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_probsr.cli._paths import check_input
from sklearn_probsr.cli._table_features import Features, features_of, take_columns
from sklearn_probsr.cli._table_files import load_table
from sklearn_probsr.cli._trusted_models import load_model
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import listing

if TYPE_CHECKING:
    pass
from sklearn_probsr.cli._case import Case
from sklearn_probsr.cli._class_labels import label_text, named_classes
from sklearn_probsr.cli._request import Request

__all__ = ["load_case", "split"]


# A number that is written as Python writes it, and that a browser can count with.
_WHOLE = re.compile(r"0|-?[1-9]\d{0,14}", re.ASCII)


def load_case(request: Request, table: Any = None, asked: Sequence[int] = ()) -> Case:
    """Read the files, the ones first that are read fastest.

    ``table`` are some rows in place of the whole data. What the model says of them is asked only if
    they replace what is unknown. ``asked`` are numbers of rows that the data must have.
    """
    request.check()
    for path in request.inputs:
        if table is None or path != request.data:
            check_input(path)
    whole = table is None
    table, truth, ids = split(request, request.data, table)
    _check_asked(asked, len(table), request.data)
    other = request.background_path
    beside = None if other is None else split(request, other, other=True)[0]
    model = load_model(request.model, request.trust, request.trust_pickle)
    label, versus = named_classes(model, request)
    taken = [*request.drop, *([] if request.target is None else [request.target])]
    predict = whole or request.background is None
    features = features_of(
        model, table, request.data, request.model, taken, request.id, predict=predict
    )
    _tell_ignored(features, request.data)
    if whole:
        _tell_others(features, request)
    background = None if request.uniform else features.rows
    if beside is not None and other is not None:
        if features.names is not None:  # the model knows no names, so the two files must agree
            beside = _same_columns(beside, other, features.names, request.data)
        background = features_of(model, beside, other, request.model).rows
    if request.independent and features.rows.ndim == 1:
        raise InvalidInputError("--independent is for tables, and the model takes texts.")
    if request.sample is not None and features.rows.ndim == 1:
        raise InvalidInputError("--sample is for tables, and the model takes texts.")
    index = _index(ids) if whole else None
    return Case(request, model, features, background, truth, index, label, versus)


def _check_asked(asked: Sequence[int], n: int, path: Path) -> None:
    """Refuse a row that is not there, before what takes long."""
    for row in asked:
        if not 0 <= row < n:
            raise InvalidInputError(
                f"--row {row}: {path} has {n} row{'s' if n > 1 else ''}"
                f"{f', 0 to {n - 1}' if n > 1 else ', which is 0'}."
            )


def split(
    request: Request, path: Path, table: Any = None, other: bool = False
) -> tuple[Any, Any, Any]:
    """Return the columns that may be features, the true classes, and the ids.

    ``table`` are rows of the file that were read already; ``other`` are rows of the background.
    """
    if table is None:
        table = load_table(path, request.sep, [] if request.id is None else [request.id])
    drop = [name for name in request.drop if not other or name in table.columns]
    table, _ = take_columns(table, drop, path, "--drop")
    found = []
    for name, option in ((request.target, "--target"), (request.id, "--id")):
        column = None
        if name is not None and not (other and name not in table.columns):
            table, taken = take_columns(table, [name], path, option)
            column = taken[name]
        found.append(column)
    return table, *found


def _index(ids: Any) -> Any:
    """Return a column of ids as an index, whole numbers as such; note those that are not unique."""
    import pandas as pd

    if ids is None:
        return None
    index = pd.Index(ids, name=ids.name)
    if all(isinstance(label, str) and _WHOLE.fullmatch(label) for label in index):
        index = pd.Index([int(label) for label in index], name=ids.name)
    n = int(index.duplicated(keep=False).sum())
    if n:
        warnings.warn(
            f"{n} rows share their id in the column {ids.name!r} with another row.", stacklevel=3
        )
    return index


def _same_columns(table: Any, path: Path, names: list[str], data: Path) -> Any:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise InvalidInputError(
            f"{path} must have the columns of {data}, it lacks {listing(missing)}."
        )
    return table[names]


def _tell_ignored(features: Features, path: Path) -> None:
    n = len(features.ignored)
    if n:
        warnings.warn(
            f"{path} has {n} column{'s' if n > 1 else ''} that the model does not know, which "
            f"{'are' if n > 1 else 'is'} ignored: {listing(features.ignored)}.",
            stacklevel=3,
        )


def _tell_others(features: Features, request: Request) -> None:
    """Say that rows are of neither class, where two of several are told apart."""
    if request.versus is None:
        return
    pair = {request.label, request.versus}
    n = sum(label_text(said) not in pair for said in features.predictions)
    if n:
        warnings.warn(
            f"The model calls {n} of {len(features.rows)} rows neither {request.label} nor "
            f"{request.versus}; their reasons say why one of the two rather than the other.",
            stacklevel=3,
        )

"""Features of a table: the columns that a model takes, and the cell that it does not."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn_probsr.cli._table_files import are_values
from sklearn_probsr.cli._terminal_text import one_line
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import listing
from sklearn_probsr.results.codec import refusing

__all__ = ["Features", "features_of", "take_columns"]


@dataclass(frozen=True, eq=False)
class Features:
    """What a model takes of a table.

    Attributes
    ----------
    rows : DataFrame, or Series of texts
        The model's columns, in its order.
    names : list of str or None
        What the table calls them, if the model was fitted without names.
    ignored : tuple of str
        Columns of the table that the model does not know.
    predictions : ndarray or None
        What the model says of each row, if it was asked.
    """

    rows: Any
    names: list[str] | None
    ignored: tuple[str, ...]
    predictions: Any


def take_columns(table: Any, names: Sequence[str], path: Path, option: str) -> tuple[Any, Any]:
    """Return a table without some columns, and these."""
    for name in names:
        if name not in table.columns:
            raise InvalidInputError(
                f"{option} {name}: {path} has no such column. "
                f"It has {listing(list(table.columns))}."
            )
    return table.drop(columns=list(names)), table[list(names)]


def features_of(
    model: Any,
    table: Any,
    path: Path,
    model_path: Path,
    taken: Sequence[str] = (),
    ids: str | None = None,
    predict: bool = True,
) -> Features:
    """Return what a model takes of a table, or say which column or cell is wrong.

    ``path`` and ``model_path`` are for the messages, ``taken`` are columns that were taken away,
    ``ids`` the one that names rows. Without ``predict`` cells are not looked at.
    """
    from sklearn_probsr.adapters._follow import follow
    from sklearn_probsr.adapters._raw_columns import raw_columns
    from sklearn_probsr.adapters.units._columns import Columns
    from sklearn_probsr.adapters.units._place_rows import Input

    if not hasattr(model, "predict"):
        raise InvalidInputError(f"{model_path} holds no classifier, but a {type(model).__name__}.")

    def said(rows: Any, named: bool) -> Any:
        return _predictions(model, rows, named, path) if predict else None

    with refusing(f"{model_path} cannot be explained"):
        raw = raw_columns(model, None, table)
        if predict:  # nothing of a model runs before all of its parts are known
            follow(model, Columns.start(raw.names, Input(), False), "classifier")
    if raw.text:
        _check_count(table, 1, path, "the texts")
        rows, names, ignored = table.iloc[:, 0], None, ()
        return Features(rows, names, ignored, said(rows, False))
    columns = list(table.columns)
    if not raw.named:
        _check_count(table, len(raw.names), path, "those that the model was fitted on")
        if are_values(columns):
            raise InvalidInputError(
                f"{path} must begin with a line of names, it begins with {listing(columns)}."
            )
        return Features(table, columns, (), said(table, False))
    _check_names(columns, raw.names, path, taken, ids)
    known = set(raw.names)
    ignored = tuple(name for name in columns if name not in known)
    rows = table[list(raw.names)]
    return Features(rows, None, ignored, said(rows, True))


def _check_count(table: Any, n: int, path: Path, which: str) -> None:
    columns = list(table.columns)
    if len(columns) != n:
        wanted = f"{n} column{'s' if n != 1 else ''}, {which}"
        raise InvalidInputError(
            f"{path} must have {wanted}, it has {len(columns)}: {listing(columns)}. Name a column "
            "that holds the true class with --target, and others to leave out with --drop."
        )


def _check_names(
    columns: list[str], wanted: Sequence[str], path: Path, taken: Sequence[str], ids: str | None
) -> None:
    there, known = set(columns), set(wanted)
    missing = [name for name in wanted if name not in there]
    if not missing:
        return
    if ids in missing:
        raise InvalidInputError(f"{ids!r} cannot be an --id: the model was fitted on it.")
    for name in taken:
        if name in missing:
            raise InvalidInputError(
                f"{name!r} cannot be a --target or dropped: the model was fitted on it."
            )
    others = [name for name in columns if name not in known]
    hint = " Is its first line a line of names?" if are_values(columns) else ""
    has = f"It has instead {listing(others)}." if others else "It has no others."
    raise InvalidInputError(
        f"{path} lacks {len(missing)} of the {len(wanted)} columns that the model was fitted on: "
        f"{listing(missing)}. {has}{hint}"
    )


# --- values ----------------------------------------------------------------------------------


def _predictions(model: Any, rows: Any, named: bool, path: Path) -> Any:
    try:
        return _predict(model, rows, named)
    except MemoryError:
        raise
    except Exception as error:  # any step of a pipeline may refuse a value in its own way
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = _refused(model, rows, named, path, error)
        raise InvalidInputError(text) from error


def _predict(model: Any, rows: Any, named: bool) -> Any:
    return model.predict(rows if named else rows.to_numpy())


def _refused(model: Any, rows: Any, named: bool, path: Path, error: Exception) -> str:
    """Say which cell a model refuses; all else that is known is its error."""
    # "Input X contains NaN." and the like come with a paragraph of advice.
    reason = one_line(str(error).strip().split("\n")[0])[:200].rstrip(".:")
    found = _refused_cell(model, rows, named, reason)
    if found is None:
        return f"{path} does not fit the model: {reason}."
    row, column = found
    value = rows.iat[row] if rows.ndim == 1 else rows.iat[row, column]
    name = rows.name if rows.ndim == 1 else rows.columns[column]
    place = f"row {row} (the first is 0), column {name!r}"
    if _is_missing(value):
        return (
            f"{path} has no value in {place}, and the model needs one. Fill it in, or drop the row."
        )
    shown = repr(value)[:60] if isinstance(value, str) else str(value)
    if isinstance(value, str) and re.search("convert|non-numeric", reason):
        return f"{path} has the text {shown} in {place}, where the model takes a number."
    return f"{path} has {shown} in {place}, which the model does not take: {reason}."


def _refused_cell(model: Any, rows: Any, named: bool, reason: str) -> tuple[int, int] | None:
    """Return row and column of a value that a model refuses, if it can be found."""

    def fails(part: Any) -> bool:
        try:
            _predict(model, part, named)
        except Exception:
            return True
        return False

    works, row = 0, len(rows)  # so many rows from the first on are fine; so many are not
    while row - works > 1:
        middle = (works + row) // 2
        works, row = (works, middle) if fails(rows.iloc[:middle]) else (middle, row)
    row -= 1
    if rows.ndim == 1:
        return row, 0
    for good in range(min(len(rows), 50)):
        if good == row or fails(rows.iloc[good : good + 1]):
            continue
        for column in range(rows.shape[1]):  # put the values into a row that the model takes
            changed = rows.iloc[good : good + 1].copy()
            changed.isetitem(column, rows.iloc[row : row + 1, column].array)
            if fails(changed):
                return row, column
        break
    return _odd_cell(rows, row, reason)


def _odd_cell(rows: Any, row: int, reason: str) -> tuple[int, int] | None:
    """Return a cell that looks wrong, where no row is right."""
    quoted = re.search(r"convert string to float: '(.*)'$", reason)
    for column in range(rows.shape[1]):
        value = rows.iat[row, column]
        if _is_missing(value) if "NaN" in reason else quoted and value == quoted[1]:
            return row, column
    return None


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_scalar(value) and pd.isna(value))

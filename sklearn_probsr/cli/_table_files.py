"""Tables from files: CSV, Parquet or Feather, told apart by their first bytes."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from sklearn_probsr.cli._csv_files import csv_chunks
from sklearn_probsr.cli._paths import bearable, check_input
from sklearn_probsr.cli._terminal_text import one_line
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["are_values", "load_table"]

_PACKED = {
    b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd",
}  # fmt: skip


def load_table(path: Path, sep: str | None = None, texts: Collection[str] = ()) -> Any:
    """Return a table with at least one row, its columns named by texts.

    Parameters
    ----------
    path : Path
        CSV in UTF-8 with a line of names, Parquet or Feather; its first bytes tell which.
    sep : str or None, default=None
        What is between the fields of a CSV; None: a comma, or a tab if the file ends in ``.tsv``.
    texts : collection of str, default=()
        Columns of a CSV that are read as they are written, so that 007 is not 7.

    Returns
    -------
    DataFrame
    """
    check_input(path)
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise InvalidInputError(f"{path} is empty.")
    table = _read(path, start, sep, texts)
    table.columns = [str(name) for name in table.columns]
    names = list(table.columns)
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        hint = " Is its first line a line of names?" if are_values(names) else ""
        raise InvalidInputError(f"{path} has two columns named {twice[0]!r}.{hint}")
    if not names:
        raise InvalidInputError(f"{path} has no columns.")
    if not len(table):
        raise InvalidInputError(f"{path} has {_columns(names)} but no rows.")
    return table.reset_index(drop=True)


def are_values(names: list[str]) -> bool:
    """Whether names look like a row of numbers, and not like positions 0, 1, 2, ..."""
    numbers = all(re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", name) for name in names)
    return numbers and names != [str(i) for i in range(len(names))]


def _columns(names: list[str]) -> str:
    return f"{len(names)} column{'s' if len(names) > 1 else ''}"


def _read(path: Path, start: bytes, sep: str | None, texts: Collection[str]) -> Any:
    if start.startswith(b"PAR1"):
        return _arrow(path, "Parquet", "read_parquet")
    if start.startswith((b"ARROW1", b"FEA1")):
        return _arrow(path, "Feather", "read_feather")
    for kind, ending in (("Parquet", ".parquet"), ("Feather", ".feather")):
        if path.suffix.lower() == ending:
            raise InvalidInputError(f"{path} is not a {kind} file, in spite of its name.")
    for magic, name in _PACKED.items():
        if start.startswith(magic):
            raise InvalidInputError(f"{path} is packed with {name}. Unpack it first.")
    return _csv(path, sep, texts)


def _arrow(path: Path, kind: str, reader: str) -> Any:
    import pandas as pd

    try:
        if kind == "Parquet":
            _check_cells(path)
        return getattr(pd, reader)(path)
    except InvalidInputError:
        raise
    except (ImportError, OSError, MemoryError) as error:
        # pyarrow says OSError also of what it cannot read; those of the system have a number.
        if not isinstance(error, OSError) or error.errno is not None:
            raise
        reason: Exception = error
    except Exception as error:  # pyarrow has many errors of its own
        reason = error
    text = one_line(str(reason)).rstrip(".")
    raise InvalidInputError(f"{path} cannot be read as {kind}: {text}.") from reason


def _check_cells(path: Path) -> None:
    """Refuse a table of far more cells than its bytes should have; equal ones take none."""
    try:
        from pyarrow.parquet import read_metadata
    except ImportError:  # another library reads it, or none, which pandas will say
        return
    about = read_metadata(path)
    if 8 * about.num_rows * about.num_columns > bearable(path):
        raise InvalidInputError(
            f"{path} has {about.num_rows:,} rows and {about.num_columns:,} columns, too many for "
            "its size. If you trust it, save it as CSV."
        )


def _csv(path: Path, sep: str | None, texts: Collection[str]) -> Any:
    return next(csv_chunks(path, sep, texts))

"""Tables from files: CSV, Parquet or Feather, told apart by their first bytes."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from sklearn_probsr.cli._csv_files import csv_chunks
from sklearn_probsr.cli._packed_tables import framed, read_feather, read_parquet, reading
from sklearn_probsr.cli._paths import check_input
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
        Columns of a CSV that are read as they are written, so that 007 is not 7; in other files
        whole numbers in them stay whole where others are missing.

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
    if not table.columns.is_unique:
        twice = names[int(table.columns.duplicated().argmax())]
        hint = " Is its first line a line of names?" if are_values(names) else ""
        raise InvalidInputError(f"{path} has two columns named {twice!r}.{hint}")
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
    for magic, kind, read in (
        (b"PAR1", "Parquet", read_parquet),
        (b"ARROW1", "Feather", read_feather),
        (b"FEA1", "Feather", read_feather),
    ):
        if start.startswith(magic):
            with reading(path, kind):
                return framed(read(path), texts)
    for kind, ending in (("Parquet", ".parquet"), ("Feather", ".feather")):
        if path.suffix.lower() == ending:
            raise InvalidInputError(f"{path} is not a {kind} file, in spite of its name.")
    for magic, name in _PACKED.items():
        if start.startswith(magic):
            raise InvalidInputError(f"{path} is packed with {name}. Unpack it first.")
    return _csv(path, sep, texts)


def _csv(path: Path, sep: str | None, texts: Collection[str]) -> Any:
    return next(csv_chunks(path, sep, texts))

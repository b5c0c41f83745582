"""Batched files: those of any size, read in batches of so many rows, always the same ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_probsr.cli._csv_files import csv_chunks
from sklearn_probsr.cli._packed_tables import (
    check_parquet,
    framed,
    parquet_dataset,
    reading,
    written_out,
)
from sklearn_probsr.cli._paths import check_input
from sklearn_probsr.cli._table_files import load_table
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["BATCH", "Source", "in_batches", "open_source"]

# Rows that are read, explained and written together.
BATCH = 10_000
# A file with more rows than a batch, or a CSV with more bytes than this, is read in batches.
_LARGE = 1 << 22
_TABLES = (".parquet", ".csv")


def in_batches(
    data: Path, output: Path | None, jobs: int | None = None, resume: bool = False
) -> bool:
    """Tell whether all rows of some files go to a file, batch by batch; refuse what cannot."""
    asked = jobs is not None or resume
    if output is None or output.suffix.lower() not in _TABLES:
        if data.is_dir() or asked:
            what = f"{data} is a folder" if data.is_dir() else "--jobs and --resume are for files"
            raise InvalidInputError(
                f"{what}: name one to write to, with -o reasons.parquet or -o reasons.csv."
            )
        return False
    if data.is_dir():
        return True
    check_input(data)
    if not _is_parquet(data):
        feather = data.suffix.lower() == ".feather"
        return asked or (not feather and data.stat().st_size > _LARGE)
    return asked or open_source(data, None).rows > BATCH


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


class Source(ABC):
    """The rows of some files.

    Attributes
    ----------
    rows : int
        How many there are.
    files : list of Path
        Where they are.
    """

    rows: int
    files: list[Path]

    @abstractmethod
    def batches(self) -> Iterator[Any]:
        """Yield frames of `BATCH` rows, and a last one that may have fewer."""

    def type_of(self, name: str) -> Any:
        """Return Arrow's type of a column that is carried along: a text, unless the file says."""
        import pyarrow as pa

        return pa.string()

    def sample(self, n: int) -> Any:
        """Return all rows, or so many that are drawn at random, always the same ones."""
        import pandas as pd

        if self.rows <= n:
            return pd.concat(self.batches(), ignore_index=True)
        drawn = np.sort(np.random.default_rng(0).choice(self.rows, n, replace=False))
        parts, start = [], 0
        for batch in self.batches():
            here = drawn[(drawn >= start) & (drawn < start + len(batch))] - start
            parts.append(batch.iloc[here])
            start += len(batch)
        return pd.concat(parts, ignore_index=True)


class _Parquet(Source):
    """Parquet, in a file or in a folder of files."""

    def __init__(self, path: Path, exact: Collection[str] = ()) -> None:
        with reading(path, "Parquet"):
            files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
            self.files = [f for f in files if not _is_hidden(f.relative_to(path))]
            if not self.files:
                raise InvalidInputError(f"{path} is a folder without Parquet files.")
            for file in self.files:
                check_parquet(file, BATCH)
            root = {"partition_base_dir": str(path)} if path.is_dir() else {}
            self._data, self._schema = parquet_dataset(self.files, **root)
            self.rows = int(self._data.count_rows())
        self._path, self._exact = path, exact
        if not self.rows:
            raise InvalidInputError(f"{path} has no rows.")

    def type_of(self, name: str) -> Any:
        import pyarrow as pa

        kind = self._schema.field(name).type
        simple = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)
        return kind if simple else pa.string()

    def batches(self) -> Iterator[Any]:
        import pyarrow as pa

        waiting: list[Any] = []
        held = 0
        read = self._data.to_batches(batch_size=BATCH, batch_readahead=1, fragment_readahead=1)
        with reading(self._path, "Parquet"):
            for batch in read:
                waiting.append(written_out(batch, self.files, self._schema))
                held += batch.num_rows
                while held >= BATCH:
                    table = pa.Table.from_batches(waiting)
                    yield _frame(table.slice(0, BATCH), self._exact)
                    rest = table.slice(BATCH)
                    waiting, held = rest.to_batches(), rest.num_rows
            if held:
                yield _frame(pa.Table.from_batches(waiting), self._exact)


class _Csv(Source):
    """A CSV, whose columns have the types in every batch that they have in the whole."""

    def __init__(self, path: Path, sep: str | None, texts: Collection[str]) -> None:
        self.files = [path]
        self._read = (path, sep, texts)
        self._words: set[str] = set()
        self.rows = 0
        for chunk in csv_chunks(*self._read, size=BATCH):
            self.rows += len(chunk)
            self._words |= {name for name in chunk if _has_text(chunk[name])}

    def batches(self) -> Iterator[Any]:
        yield from csv_chunks(*self._read, self._words, BATCH)


class _Whole(Source):
    """A file that can only be read whole."""

    def __init__(self, path: Path, sep: str | None, texts: Collection[str]) -> None:
        self.files = [path]
        self._table = load_table(path, sep, texts)
        self.rows = len(self._table)

    def batches(self) -> Iterator[Any]:
        for start in range(0, self.rows, BATCH):
            yield self._table.iloc[start : start + BATCH].reset_index(drop=True)


def open_source(path: Path, sep: str | None, texts: Collection[str] = ()) -> Source:
    """Return the rows of a file, or of a folder of Parquet files.

    Parameters
    ----------
    path : Path
    sep : str or None
        What is between the fields of a CSV.
    texts : collection of str, default=()
        Columns of a CSV that are read as they are written; see `load_table` of other files.
    """
    if path.is_dir():
        return _Parquet(path, texts)
    check_input(path)
    if _is_parquet(path):
        return _Parquet(path, texts)
    if path.stat().st_size <= _LARGE or path.suffix.lower() == ".feather":
        return _Whole(path, sep, texts)
    return _Csv(path, sep, texts)


def _frame(table: Any, exact: Collection[str]) -> Any:
    frame = framed(table, exact).reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    return frame


def _is_hidden(path: Path) -> bool:
    """Whether a file is none of the rows: those of a run that goes on begin with a dot."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _has_text(column: Any) -> bool:
    return column.dtype.kind not in "biuf" and any(isinstance(value, str) for value in column)

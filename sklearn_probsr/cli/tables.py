"""Tables: the rows of CSV, Parquet and Feather files, read as many at a time as are wanted.

A path comes in; a `Table` goes out that knows how many rows there are, and yields them as frames
whose columns are named by texts. A file is told by its first bytes, not by its name.
"""

from __future__ import annotations

import csv
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_probsr.cli.packed import (
    check_parquet,
    framed,
    parquet_dataset,
    read_feather,
    reading,
    written_out,
)
from sklearn_probsr.exceptions import InvalidInputError

# A longer line than this is no row of a table; to look for its end could take all memory.
_LONGEST_LINE = 10_000_000
# No table has more columns; to name so many takes seconds.
_MOST_COLUMNS = 200_000
# More rows than these are never read at once, where a file can be read in parts.
MOST_ROWS = 10_000
_SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'"}
_PACKED = {
    b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a file, or of a folder of Parquet files.

    Attributes
    ----------
    path : Path
    names : list of str
        What the columns are called.
    rows : int
        How many rows there are, at least one.
    integers : frozenset of str
        Columns of whole numbers, if the file says so.
    read : callable
        Takes a number of rows and yields frames of so many, the last of which may have fewer;
        None: one frame of all.
    """

    path: Path
    names: list[str]
    rows: int
    integers: frozenset[str]
    read: Callable[[int | None], Iterator[Any]]

    def whole(self) -> Any:
        """Return all rows as one frame."""
        return next(self.read(None))

    def sample(self, n: int) -> Any:
        """Return all rows, or so many that are drawn at random, always the same ones."""
        import pandas as pd

        if self.rows <= n:
            return self.whole()
        drawn = np.sort(np.random.default_rng(0).choice(self.rows, n, replace=False))
        parts, start = [], 0
        for batch in self.read(MOST_ROWS):
            here = drawn[(drawn >= start) & (drawn < start + len(batch))] - start
            parts.append(batch.iloc[here])
            start += len(batch)
        return pd.concat(parts, ignore_index=True)


def open_table(path: Path, sep: str | None = None, exact: Collection[str] = ()) -> Table:
    """Return the table that a file holds, or the Parquet files in a folder and below it.

    Parameters
    ----------
    path : Path
        CSV in UTF-8 with a line of names, Parquet, Feather, or a folder.
    sep : str or None, default=None
        What is between the fields of a CSV; None: a comma, or a tab if the file ends in ``.tsv``.
    exact : collection of str, default=()
        Columns of a CSV that are read as they are written, so that 007 is not 7; in other files
        whole numbers in them stay whole where others are missing.
    """
    if path.is_dir():
        with reading(path, "Parquet"):
            return _parquet(path, exact)
    if not path.exists():
        raise InvalidInputError(f"There is no file {path}.")
    if not path.is_file():  # it is opened more than once, and a pipe is empty then
        raise InvalidInputError(f"{path} is no regular file. Save what it gives to one first.")
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise InvalidInputError(f"{path} is empty.")
    if start.startswith(b"PAR1"):
        with reading(path, "Parquet"):
            return _parquet(path, exact)
    if start.startswith((b"ARROW1", b"FEA1")):
        with reading(path, "Feather"):
            table = read_feather(path)
            frame = framed(table, exact)
        names = list(frame.columns)
        return _checked(Table(path, names, len(frame), _integers(table.schema), _slices(frame)))
    for kind in ("Parquet", "Feather"):
        if path.suffix.lower() == f".{kind.lower()}":
            raise InvalidInputError(f"{path} is not a {kind} file, in spite of its name.")
    for magic, name in _PACKED.items():
        if start.startswith(magic):
            raise InvalidInputError(f"{path} is packed with {name}. Unpack it first.")
    return _csv(path, sep, exact)


def are_values(names: Sequence[str]) -> bool:
    """Whether names look like a row of numbers, and not like positions 0, 1, 2, ..."""
    numbers = all(re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", name) for name in names)
    return numbers and list(names) != [str(i) for i in range(len(names))]


def _checked(table: Table) -> Table:
    """Refuse a table without rows or columns, or with two columns of one name."""
    names, path = table.names, table.path
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        hint = " Is its first line a line of names?" if are_values(names) else ""
        raise InvalidInputError(f"{path} has two columns named {twice!r}.{hint}")
    if not names:
        raise InvalidInputError(f"{path} has no columns.")
    if not table.rows:
        columns = f"{len(names)} column{'s' if len(names) > 1 else ''}"
        raise InvalidInputError(f"{path} has {columns} but no rows.")
    return table


def _slices(frame: Any) -> Callable[[int | None], Iterator[Any]]:
    def read(size: int | None) -> Iterator[Any]:
        for start in range(0, len(frame), size or len(frame)):
            yield frame[start : start + (size or len(frame))].reset_index(drop=True)

    return read


def _parquet(path: Path, exact: Collection[str]) -> Table:
    """Return the table in a Parquet file, or in a folder of them."""
    import pyarrow as pa

    files, root = [path], {}
    if path.is_dir():
        # What begins with a dot or an underscore is none of the rows.
        below = ((file, file.relative_to(path).parts) for file in sorted(path.rglob("*.parquet")))
        files = [file for file, parts in below if not any(part[0] in "._" for part in parts)]
        root = {"partition_base_dir": str(path)}
    if not files:
        raise InvalidInputError(f"{path} is a folder without Parquet files.")
    for file in files:
        check_parquet(file, MOST_ROWS)
    data, schema = parquet_dataset(files, **root)

    def read(size: int | None) -> Iterator[Any]:
        with reading(path, "Parquet"):
            if size is None:
                for file in files:
                    check_parquet(file)
                yield framed(written_out(data.to_table(), files, schema), exact)
                return
            waiting: list[Any] = []
            held = 0
            for batch in data.to_batches(batch_size=size, batch_readahead=1, fragment_readahead=1):
                waiting.append(written_out(batch, files, schema))
                held += batch.num_rows
                while held >= size:
                    table = pa.Table.from_batches(waiting)
                    yield framed(table.slice(0, size), exact)
                    rest = table.slice(size)
                    waiting, held = rest.to_batches(), rest.num_rows
            if held:
                yield framed(pa.Table.from_batches(waiting), exact)

    names = list(framed(schema.empty_table()).columns)
    return _checked(Table(path, names, data.count_rows(), _integers(schema), read))


def _integers(schema: Any) -> frozenset[str]:
    from pyarrow import types

    return frozenset(str(field.name) for field in schema if types.is_signed_integer(field.type))


# --- CSV -------------------------------------------------------------------------------------


def _csv(path: Path, sep: str | None, exact: Collection[str]) -> Table:
    """Return the table in a CSV, whose columns have the types in a part that they have in all."""
    import pandas as pd

    _check_lines(path)
    chosen = sep or ("\t" if path.suffix.lower() == ".tsv" else ",")
    names = _names(path, chosen)
    for other, shown in _SEPARATORS.items():
        if sep is None and len(names) == 1 and other in names[0]:
            raise InvalidInputError(
                f"{path} has one column, named {names[0][:40]!r}. Pass --sep {shown}."
            )
    written = {name: str for name in exact if name in names}
    words: dict[str, type] = {}  # columns with a text somewhere, where a number is one as well

    def read(size: int | None) -> Iterator[Any]:
        settings = {"sep": chosen, "encoding": "utf-8-sig", "header": 0, "names": names}
        settings |= {"index_col": False, "low_memory": False, "converters": written, "dtype": words}
        with _telling(path), pd.read_csv(path, chunksize=size or sys.maxsize, **settings) as parts:
            while True:
                with warnings.catch_warnings():
                    # Said of rows that are longer than the first line, whose end would be lost.
                    warnings.simplefilter("error", pd.errors.ParserWarning)
                    part = next(parts, None)
                if part is None:
                    return
                yield part.reset_index(drop=True)

    _checked(Table(path, names, 1, frozenset(), read))
    rows = 0
    for part in read(MOST_ROWS):
        rows += len(part)
        for name, kind in part.dtypes.items():
            known = kind.kind in "biuf" or name in written or name in words
            if not known and any(isinstance(value, str) for value in part[name]):
                words[name] = str
    return _checked(Table(path, names, rows, frozenset(), read))


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Say what is wrong with the text of a CSV."""
    import pandas as pd

    try:
        yield
    except UnicodeDecodeError:
        raise InvalidInputError(f"{path} is not text in UTF-8. Save it as UTF-8.") from None
    except pd.errors.ParserWarning:
        raise InvalidInputError(
            f"{path} has rows with more fields than there are names in its first line."
        ) from None
    except (pd.errors.ParserError, csv.Error) as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise InvalidInputError(f"{path} cannot be read as CSV: {reason.rstrip('.')}.") from error


def _names(path: Path, sep: str) -> list[str]:
    """Return what the first line says that is not blank; a column without a name gets one."""
    with _telling(path), path.open(newline="", encoding="utf-8-sig") as file:
        for names in csv.reader(file, delimiter=sep):
            if len(names) > _MOST_COLUMNS:
                raise InvalidInputError(
                    f"{path} has more than {_MOST_COLUMNS:,} columns, and no more are read. Of "
                    "texts, make one column, which a vectorizer in the model takes apart."
                )
            if any(name.strip() for name in names) or len(names) > 1:
                return [name or f"Unnamed: {k}" for k, name in enumerate(names)]
    raise InvalidInputError(f"{path} is empty.")


def _check_lines(path: Path) -> None:
    """Refuse what is no text, and a line so long that it is no row."""
    line, length = 1, 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            if b"\0" in chunk:
                raise InvalidInputError(
                    f"{path} is not text: CSV in UTF-8, Parquet and Feather can be read."
                )
            # Only a line that goes on from chunk to chunk can be too long.
            first = chunk.find(b"\n")
            if length + (len(chunk) if first < 0 else first) > _LONGEST_LINE:
                raise InvalidInputError(
                    f"Line {line} of {path} has more than {_LONGEST_LINE:,} characters. "
                    "Is this a CSV file?"
                )
            length = length + len(chunk) if first < 0 else len(chunk) - chunk.rfind(b"\n") - 1
            line += chunk.count(b"\n")

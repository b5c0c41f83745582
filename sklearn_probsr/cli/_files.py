"""Files: tables that are read, and output that overwrites nothing by accident."""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError

__all__ = [
    "are_values",
    "bearable",
    "check_input",
    "check_output",
    "csv_chunks",
    "load_table",
    "one_line",
    "printable",
    "write_output",
]

# A longer line than this is no row of a table; to look for its end could take all memory.
LONGEST_LINE = 10_000_000
_CHUNK = 1 << 20
# What a packed file may become: so many bytes, or so many times its size.
_BEARABLE, _TIMES = 1 << 28, 50
_PACKED = {
    b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd",
}  # fmt: skip
_SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'"}


def one_line(text: str) -> str:
    """Return text as one line that a terminal can show, whatever somebody has put into it."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else "?" for c in words)


def printable(text: str) -> str:
    """Return text of several lines that a terminal can show."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def check_input(path: Path) -> None:
    """Refuse a path that no file is at."""
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder, not a file.")
    if not path.exists():
        raise InvalidInputError(f"There is no file {path}.")
    if not path.is_file():  # it is opened more than once, and a pipe is empty then
        raise InvalidInputError(f"{path} is no regular file. Save what it gives to one first.")


def bearable(path: Path) -> int:
    """Return how many bytes a file may take unpacked; more is made to fill the memory."""
    return max(_BEARABLE, _TIMES * path.stat().st_size)


# --- tables ----------------------------------------------------------------------------------


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


def csv_chunks(
    path: Path,
    sep: str | None,
    texts: Collection[str],
    words: Collection[str] = (),
    size: int | None = None,
) -> Iterator[Any]:
    """Yield the rows of a CSV, so many at a time; None: all of them.

    Parameters
    ----------
    path : Path
    sep : str or None
        What is between the fields; None: a comma, or a tab if the file ends in ``.tsv``.
    texts : collection of str
        Columns that are read as they are written.
    words : collection of str, default=()
        Columns that hold texts somewhere, so that a number in them is one as well.
    size : int or None, default=None
    """
    import pandas as pd

    _check_lines(path)
    chosen = sep or ("\t" if path.suffix.lower() == ".tsv" else ",")
    settings = {"sep": chosen, "encoding": "utf-8-sig", "engine": "c", "index_col": False}
    names: list[str] = []
    try:
        head = pd.read_csv(path, header=None, nrows=1, dtype=str, na_filter=False, **settings)
        names = [str(name) for name in head.iloc[0]]
        settings["converters"] = {name: str for name in texts if name in names}
        settings["dtype"] = {name: str for name in words if name in names and name not in texts}
        read = _readings(path, low_memory=False, chunksize=size, **settings)
        for chunk in read:
            if sep is None:
                _check_separator(path, names)
            yield _named(chunk, names)
    except UnicodeDecodeError:
        raise InvalidInputError(f"{path} is not text in UTF-8. Save it as UTF-8.") from None
    except pd.errors.EmptyDataError:
        raise InvalidInputError(f"{path} is empty.") from None
    except pd.errors.ParserWarning:
        raise InvalidInputError(
            f"{path} has rows with more fields than the {len(names)} names in its first line."
        ) from None
    except (pd.errors.ParserError, csv.Error) as error:
        reason = one_line(str(error)).removeprefix("Error tokenizing data. C error: ").rstrip(".")
        raise InvalidInputError(f"{path} cannot be read as CSV: {reason}.") from error


def _check_separator(path: Path, names: list[str]) -> None:
    for other, shown in _SEPARATORS.items():
        if len(names) == 1 and other in names[0]:
            raise InvalidInputError(
                f"{path} has one column, named {names[0][:40]!r}. Pass --sep {shown}."
            )


def _readings(path: Path, chunksize: int | None, **settings: Any) -> Iterator[Any]:
    """Yield what pandas reads; a row that is longer than the line of names is an error."""
    import pandas as pd

    def strictly(read: Callable[[], Any]) -> Any:
        with warnings.catch_warnings():
            # Said of rows that are longer than the line of names, whose end would be lost.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return read()

    if chunksize is None:
        yield strictly(lambda: pd.read_csv(path, **settings))
        return
    with strictly(lambda: pd.read_csv(path, chunksize=chunksize, **settings)) as chunks:
        while (chunk := strictly(lambda: next(chunks, None))) is not None:
            yield chunk.reset_index(drop=True)


def _named(table: Any, names: list[str]) -> Any:
    """Give columns the names of the first line; pandas has its own for some of them."""
    if len(names) == table.shape[1]:
        table.columns = [
            # Those without one, and those that occur twice.
            given if given else str(made)
            for made, given in zip(table.columns, names, strict=True)
        ]
    return table


def _check_lines(path: Path) -> None:
    """Refuse what is no text, and a line so long that it is no row."""
    line, length = 1, 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            if b"\0" in chunk:
                raise InvalidInputError(
                    f"{path} is not text: CSV in UTF-8, Parquet and Feather can be read."
                )
            # Only a line that goes on from chunk to chunk can be too long.
            first = chunk.find(b"\n")
            if length + (len(chunk) if first < 0 else first) > LONGEST_LINE:
                raise InvalidInputError(
                    f"Line {line} of {path} has more than {LONGEST_LINE:,} characters. "
                    "Is this a CSV file?"
                )
            length = length + len(chunk) if first < 0 else len(chunk) - chunk.rfind(b"\n") - 1
            line += chunk.count(b"\n")


# --- output ----------------------------------------------------------------------------------


def check_output(path: Path, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse to write where that cannot be done, or where something is already.

    Parameters
    ----------
    path : Path
    force : bool
        Whether a file that is there may be overwritten.
    inputs : iterable of Path, default=()
        Files that must not be overwritten in any case.
    """
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder. Name a file in it.")
    if os.path.lexists(path):
        if not force:
            raise InvalidInputError(f"{path} exists already. Choose another name, or pass --force.")
        if any(path.exists() and path.samefile(other) for other in inputs if other.exists()):
            raise InvalidInputError(
                f"{path} is read, so it cannot be written. Choose another name."
            )
    folder = path.parent
    if not folder.is_dir():
        raise InvalidInputError(f"There is no folder {folder} to write {path.name} to.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"Nothing can be written to the folder {folder}.")


def write_output(path: Path, force: bool, write: Callable[[Path], Any]) -> None:
    """Let something write a file, unless one has come to be there meanwhile."""
    check_output(path, force)
    try:
        write(path)
    except OSError as error:
        raise InvalidInputError(
            f"{path} could not be written: {error.strerror or error}."
        ) from error

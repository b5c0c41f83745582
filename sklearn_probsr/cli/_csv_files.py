"""CSV files: rows read so many at a time, or what is wrong with the text of the file."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from sklearn_probsr.cli._terminal_text import one_line
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["csv_chunks"]

# A longer line than this is no row of a table; to look for its end could take all memory.
LONGEST_LINE = 10_000_000
# No table has more columns; to name so many takes seconds.
MOST_COLUMNS = 200_000
_CHUNK = 1 << 20
_SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'"}


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

    chosen = sep or ("\t" if path.suffix.lower() == ".tsv" else ",")
    _check_lines(path)
    settings = {"sep": chosen, "encoding": "utf-8-sig", "engine": "c", "index_col": False}
    _check_width(path, settings)
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


def _check_width(path: Path, settings: dict[str, Any]) -> None:
    """Refuse more columns than a table has, before they are named."""
    import pandas as pd

    beyond = {"header": None, "nrows": 1, "usecols": [MOST_COLUMNS], "dtype": str}
    try:  # whose line ends and quotes are to count as when it reads the names
        pd.read_csv(path, na_filter=False, **beyond, **settings)
    except ValueError:  # there is no such column, or there are worse faults, told below
        return
    raise InvalidInputError(
        f"{path} has more than {MOST_COLUMNS:,} columns, and no more are read. Of texts, make one "
        "column, which a vectorizer in the model takes apart."
    )


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

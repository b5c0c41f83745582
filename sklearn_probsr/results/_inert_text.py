"""Inert text: somebody else's words in tables and pages, where they must do nothing."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np

__all__ = ["csv_cell", "csv_text", "markdown", "visible", "writable"]

# What changes the direction of the text after it, so that it reads other than it is.
_UNSEEN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# How a spreadsheet knows a formula, in Japan too; what it may skip before; numbers, which are none.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_SKIPPED = re.compile(r"[\s\"\x00-\x1f\x7f-\x9f\u200b-\u200f\u2060\ufeff]*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
# Where another program may see the end of a cell, whatever was meant.
_CELLS = re.compile(r"([;\t\r\n])")
# What a part of a cell is quoted for.
_ODD = re.compile(r'[;\r\n]|^["\s]')
# What a text may hold and a file of texts cannot: halves of characters, and what ends texts in C.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def visible(text: str) -> str:
    r"""Return text with the characters that turn its direction shown by their numbers.

    Examples
    --------
    >>> visible("safe\u202efdp.exe")
    'safe⟨U+202E⟩fdp.exe'
    """
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def writable(text: str) -> str:
    r"""Return text that a file of text can hold: what it cannot is U+FFFD there.

    Examples
    --------
    >>> writable("a\ud800b")
    'a\ufffdb'
    """
    return _UNWRITABLE.sub("\ufffd", text)


def csv_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet runs: text that looks like a formula gets a ``'``.

    So does what follows a semicolon, a tab or a line end inside of a text: a spreadsheet may take
    these for the end of a cell.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("-1"), csv_cell(-1)
    ("'=1+1", '-1', -1)
    >>> csv_cell("x;=1+1")
    "x;'=1+1"
    """
    if not isinstance(value, str):
        return value
    text = "".join(map(_inert, _CELLS.split(value)))
    return f"'{text}" if text.startswith(("\t", "\r", "\n")) else text


def _inert(part: str) -> str:
    """Return what may be a cell with a ``'`` before what looks like a formula."""
    start = _SKIPPED.match(part).end()  # type: ignore[union-attr]
    if not part.startswith(_FORMULA, start) or _NUMBER.fullmatch(part.strip()):
        return part
    spaces = len(part) - len(part.lstrip(" "))
    return f"{part[:spaces]}'{part[spaces:]}"


def csv_text(table: Any, header: bool = True) -> str:
    r"""Return a DataFrame as CSV that a spreadsheet runs nothing of.

    Lists in a cell are separated by semicolons, and quoted as a CSV is where they hold one:
    ``next(csv.reader([cell], delimiter=";", skipinitialspace=True))`` takes them apart.

    Examples
    --------
    >>> import pandas as pd
    >>> csv_text(pd.DataFrame({"reason": [["age = 31", "job = nurse"]]}))
    'reason\nage = 31; job = nurse\n'
    """
    names = [_text_cell(str(name)) for name in table.columns]
    columns = [_cells(table.iloc[:, k]) for k in range(len(names))]
    lines = _Lines()
    write = csv.writer(lines, lineterminator="\r\n")
    if header:
        write.writerow(names)
    write.writerows(zip(*columns, strict=True))
    return lines.getvalue()


class _Lines(io.StringIO):
    """Lines that end in one character: the writer is told two, so that it quotes both in cells."""

    def write(self, line: str) -> int:
        return super().write(f"{line[:-2]}\n")


def _cells(column: Any) -> list[Any]:
    """Return the cells of a column; gaps are empty."""
    gaps = column.isna()
    return ["" if gap else _text_cell(value) for value, gap in zip(column, gaps, strict=True)]


def _text_cell(value: Any) -> Any:
    if isinstance(value, list | tuple | np.ndarray):
        value = "; ".join(_quoted(writable(str(part))) for part in value)
    return csv_cell(writable(value)) if isinstance(value, str) else value


def _quoted(part: str) -> str:
    """Return a part of a cell, in quotation marks if it could not be told where it ends."""
    if _ODD.search(part) is None:
        return part
    return '"' + part.replace('"', '""') + '"'


def markdown(text: str) -> str:
    """Return text as Markdown that shows it: no HTML, no link, in one line, in one cell.

    Examples
    --------
    >>> markdown("a|b <i>")
    'a&#124;b &lt;i&gt;'
    """
    words = " ".join(visible(text).split())
    return words.translate(_HTML).replace("|", "&#124;").replace("](", "]&#40;")

"""Inert text: somebody else's words in tables and pages, where they must do nothing."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["csv_cell", "csv_frame", "markdown", "visible"]

# What changes the direction of the text after it, so that it reads other than it is.
_UNSEEN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# How a spreadsheet knows a formula; and numbers, which are none.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def visible(text: str) -> str:
    r"""Return text with the characters that turn its direction shown by their numbers.

    Examples
    --------
    >>> visible("safe\u202efdp.exe")
    'safe⟨U+202E⟩fdp.exe'
    """
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def csv_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet runs: text that looks like a formula gets a ``'``.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("-1"), csv_cell(-1)
    ("'=1+1", '-1', -1)
    """
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def csv_frame(table: Any) -> Any:
    """Return a DataFrame whose texts, and the names of its columns, no spreadsheet runs."""
    found = table.rename(columns=csv_cell)
    for k, column in enumerate(found.columns):
        if found.dtypes.iloc[k].kind not in "biuf":
            found[column] = [csv_cell(value) for value in found.iloc[:, k]]
    return found


def markdown(text: str) -> str:
    """Return text as Markdown that shows it: no HTML, no link, in one line, in one cell.

    Examples
    --------
    >>> markdown("a|b <i>")
    'a&#124;b &lt;i&gt;'
    """
    words = " ".join(visible(text).split())
    return words.translate(_HTML).replace("|", "&#124;").replace("](", "]&#40;")

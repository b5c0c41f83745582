"""Reasons as a table of plain text, for who prints them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.results._inert_text import visible
from sklearn_probsr.results._listed import joined
from sklearn_probsr.results._notebook_html import bound
from sklearn_probsr.results._sentence import marked_facts

__all__ = ["TOLD_ROWS", "by_place", "reasons_text"]

# Rows of the table, and letters of a cell.
TOLD_ROWS = 5
_LONGEST = {"": 16, "class": 16, "facts": 56}


def by_place(label: Any) -> str:
    """Say how rows are found whose labels are not their places."""
    told = label.item() if hasattr(label, "item") else label
    return f"reasons[0] is reasons.loc[{told!r}]."


def reasons_text(first: Any, labels: Any, whole: Any, by_label: bool) -> str:
    """Return the first reasons of many as a table of text.

    Parameters
    ----------
    first : SufficientReasons
        No more than are told.
    labels : pandas Index or range
        What all rows are called.
    whole : SufficientReasons
        Where the level and the distribution stand.
    by_label : bool
        Whether labels are not places.

    Returns
    -------
    str
    """
    n = len(labels)
    head = (
        f"Reasons of {n:,} row{'' if n == 1 else 's'} with {whole.model.n_units:,} features, "
        f"delta = {whole.delta:g}, over {whole.distribution}"
    )
    if not n:
        return head
    table: list[tuple[str, ...]] = [("", "class", "guarantee", "size", "facts")]
    table += [
        _cells(label, reason)
        for label, reason in zip(islice(labels, len(first)), first, strict=True)
    ]
    more = [f"… and {n - len(first):,} more."] if n > len(first) else []
    more += [by_place(labels[0])] if by_label else []
    return "\n".join([head, *_laid_out(table), *([" ".join(more)] if more else [])])


def _cells(label: Any, reason: Any) -> tuple[str, ...]:
    """Return a line of the table."""
    if reason.status == "invalid":
        return str(label), "", "", "", f"invalid: {reason.message}"
    known = reason.guarantee
    sure = lower_text(known.lower if known.exact is None else known.exact, 4)
    facts = joined(marked_facts(reason)) or "whatever the features are"
    flag = "" if reason.status == "ok" else f"{reason.status}: "
    return str(label), str(reason.prediction), bound(sure), str(reason.size), f"{flag}{facts}"


def _laid_out(table: Sequence[tuple[str, ...]]) -> list[str]:
    """Return lines with columns below each other, numbers to the right, long cells cut."""
    names = table[0]
    rows = [
        [_cut(visible(cell), _LONGEST.get(n, 16)) for n, cell in zip(names, row, strict=True)]
        for row in table
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = {"guarantee", "size"}
    return [
        "  ".join(
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(names, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _cut(text: str, most: int) -> str:
    """Return a text in one line, with its end left out where it is too long."""
    told = " ".join(text.split())
    return told if len(told) <= most else f"{told[: most - 1].rstrip()}…"

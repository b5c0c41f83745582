"""Reasons in HTML, for notebooks: one as a card, many as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.model.numbers import exact_text
from sklearn_probsr.results._listed import count, joined
from sklearn_probsr.results._notebook_html import (
    SHOWN_ROWS,
    bound,
    bullets,
    card,
    line,
    strong,
    table,
)
from sklearn_probsr.results._sentence import claim, cost_text, count_text, marked_facts

__all__ = ["reason_card", "reasons_table"]

_DIGITS = 4


def reason_card(reason: Any, called: Any = None, more: str = "") -> str:
    """Return a reason as a card: the class and how sure, the facts, what is proved, and more."""
    if reason.status == "invalid":
        told = "No class, no reason" if called is None else f"Row {called}: no class, no reason"
        return card(line(told, head=True), line(reason.message))
    head = "Class " if called is None else f"Row {called}: class "
    held, trust = f" is kept with probability at least {_sure(reason.guarantee)}", ""
    if reason.guarantee.confidence < 1:
        trust = f", with confidence {lower_text(reason.guarantee.confidence, 9)}"
    given = ", given" if reason.facts else ", whatever the features are"
    size = f"{count_text(reason)}; {claim(reason)}."
    over = f"Over {reason.distribution}."
    if reason.matches is not None:
        held = f" is kept in at least {_sure(reason.guarantee)} of the rows that share these facts"
        given, over = "", str(reason)
    parts = [
        line(head, strong(reason.prediction), held, trust, given, head=True),
        bullets(marked_facts(reason)),
        line(size),
        line(over),
        *([line(more)] if more else []),
    ]
    if reason.status != "ok":
        parts.append(line(strong(reason.status), ": ", reason.message))
    return card(*parts)


def reasons_table(
    reasons: Iterable[Any],
    labels: Iterable[Any],
    total: int,
    whole: Any,
    places: str = "",
) -> str:
    """Return the first reasons of many as a table.

    Parameters
    ----------
    reasons : iterable of SufficientReason
        No more than are shown.
    labels : iterable
        What their rows are called.
    total : int
        How many there are in all.
    whole : SufficientReasons
        Where the level, the distribution and the scope stand.
    places : str, default=""
        How rows are found whose labels are not their places.
    """
    told = list(reasons)[:SHOWN_ROWS]
    flagged = any(reason.status != "ok" for reason in told)
    priced = any(reason.priced for reason in told)
    headings = ["row", "class", "reason", "features", "guarantee", "proved"]
    headings[4:4] = ["cost"] if priced else []
    rows = []
    for label, reason in zip(labels, told, strict=False):
        known = reason.status != "invalid"
        cells = [
            label,
            reason.prediction if known else "",
            (joined(marked_facts(reason)) or "whatever the features are") if known else "",
            reason.size if known else "",
            bound(_sure(reason.guarantee)) if known else "",
            reason.minimality,
        ]
        cells[4:4] = [cost_text(reason.cost) if known else ""] if priced else []
        if flagged:
            cells.append("ok" if reason.status == "ok" else f"{reason.status}: {reason.message}")
        rows.append(cells)
    more = [f"{count(total - len(told), 'more row')}."] if total > len(told) else []
    more += [places] if places else []
    level = f" at delta = {exact_text(whole.delta)}"
    those = whole.scope.words(sized=True)
    proved = [line(f"Proved among the sets{those}.")] if those else []
    head = line("Sufficient reasons of ", strong(count(total, "row")), level, head=True)
    shown = table([*headings, *(["status"] if flagged else [])], rows, " ".join(more))
    return card(head, line(f"Over {whole.distribution}."), *proved, shown)


def _sure(known: Any) -> str:
    return lower_text(known.lower if known.exact is None else known.exact, _DIGITS)

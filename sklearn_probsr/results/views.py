"""What people see of results: cards and tables for notebooks, and text for who prints them.

The HTML is escaped, needs no script, and follows the theme that is around it. Of many reasons the
first rows are told, by the same cells in a notebook and in print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any

from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.model.numbers import exact_text
from sklearn_probsr.results._inert_text import visible
from sklearn_probsr.results._listed import count, joined
from sklearn_probsr.results._sentence import claim, cost_text, count_text, marked_facts

# Rows of a table in a notebook.
SHOWN_ROWS = 10

# Colours are those of whatever is around; only the accent is ours. Notebooks and sites say which
# theme they show by themselves, and others go by what the reader prefers.
_STYLE = """
.probsr{--probsr-accent:#a3123a;border-left:3px solid var(--probsr-accent);color:inherit;
font-size:.95em;line-height:1.45;margin:.4em 0;max-width:72rem;padding-left:.8em}
@media(prefers-color-scheme:dark){.probsr{--probsr-accent:#ff8fa3}}
[data-jp-theme-light=true] .probsr,html[data-theme=light] .probsr,.vscode-light .probsr
{--probsr-accent:#a3123a}
[data-jp-theme-light=false] .probsr,html[data-theme=dark] .probsr,.vscode-dark .probsr
{--probsr-accent:#ff8fa3}
.probsr p{margin:.35em 0}
.probsr .probsr-head{font-weight:600}
.probsr .probsr-head b{color:var(--probsr-accent)}
.probsr ul{margin:.35em 0;padding-left:1.4em}
.probsr .probsr-scroll{overflow-x:auto}
.probsr table{border-collapse:collapse;border:0;margin:.5em 0;color:inherit;font-size:1em}
.probsr th,.probsr td{background:none;border:0;border-bottom:1px solid rgba(128,128,128,.35);
color:inherit;max-width:36em;overflow-wrap:break-word;padding:.3em .7em .3em 0;text-align:left;
vertical-align:top;white-space:normal}
.probsr th{font-weight:600}
.probsr .probsr-number{font-variant-numeric:tabular-nums;text-align:right;white-space:nowrap}
""".replace("\n", "")


class Markup(str):
    """HTML that is made here; any other text is escaped."""

    __slots__ = ()


def text(value: Any) -> Markup:
    """Return a value as text that does nothing, in HTML.

    Examples
    --------
    >>> text("<b>")
    '&lt;b&gt;'
    """
    return value if isinstance(value, Markup) else Markup(escape(visible(str(value))))


def line(*parts: Any, head: bool = False) -> Markup:
    """Return a paragraph; as the head of a card, what matters most in it is `strong`."""
    kind = ' class="probsr-head"' if head else ""
    return Markup(f"<p{kind}>{''.join(map(text, parts))}</p>")


def strong(value: Any) -> Markup:
    """Return a value in bold, and in a head in the colour of reasons."""
    return Markup(f"<b>{text(value)}</b>")


def bullets(items: Iterable[Any]) -> Markup:
    """Return a list; nothing if there is nothing to list."""
    told = "".join(f"<li>{text(item)}</li>" for item in items)
    return Markup(f"<ul>{told}</ul>" if told else "")


def table(headings: Sequence[Any], rows: Iterable[Sequence[Any]], more: str = "") -> Markup:
    """Return a table, in a box of its own that scrolls where it is too wide.

    Parameters
    ----------
    headings : sequence
    rows : iterable of sequences
        Cells; numbers, and texts that begin with a sign of comparison, stand to the right.
    more : str, default=""
        What is said of rows that are not shown.
    """
    lines = [list(row) for row in rows]
    right = [bool(lines) and all(_is_number(row[k]) for row in lines) for k in range(len(headings))]
    numbers = [' class="probsr-number"' if is_right else "" for is_right in right]
    head = "".join(
        f'<th scope="col"{kind}>{text(name)}</th>'
        for name, kind in zip(headings, numbers, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{text(cell)}</td>" for cell, kind in zip(row, numbers, strict=True))
        + "</tr>"
        for row in lines
    )
    after = line(more) if more else ""
    return Markup(
        '<div class="probsr-scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{after}"
    )


def card(*parts: Markup) -> str:
    """Return parts as one view, with its style."""
    return f'<style>{_STYLE}</style><div class="probsr">{"".join(parts)}</div>'


def bound(told: str) -> str:
    """Return a probability that is surely reached, as a cell; what is not known stays empty."""
    return told if told in {"", "1"} else f"≥ {told}"


def _is_number(cell: Any) -> bool:
    """Tell whether a cell is a number, or a bound of one, or stands where one is not known."""
    told = str(cell).removeprefix("≥ ")
    return told == "" or told.replace(".", "", 1).replace("-", "", 1).isdigit()


# --- reasons ---------------------------------------------------------------------------------

# Rows that are printed, and letters of a cell.
TOLD_ROWS = 5
_LONGEST = {"": 16, "class": 16, "facts": 56}


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
    told = list(islice(reasons, SHOWN_ROWS))
    names = ["row", "class", "reason", "features", "guarantee", "proved"]
    names[4:4] = ["cost"] if any(reason.priced for reason in told) else []
    names += ["status"] if any(reason.status != "ok" for reason in told) else []
    cells = [_cells(label, reason) for label, reason in zip(labels, told, strict=False)]
    more = [f"{count(total - len(told), 'more row')}."] if total > len(told) else []
    more += [places] if places else []
    level = f" at delta = {exact_text(whole.delta)}"
    those = whole.scope.words(sized=True)
    proved = [line(f"Proved among the sets{those}.")] if those else []
    head = line("Sufficient reasons of ", strong(count(total, "row")), level, head=True)
    shown = table(names, [[row[name] for name in names] for row in cells], " ".join(more))
    return card(head, line(f"Over {whole.distribution}."), *proved, shown)


def _cells(label: Any, reason: Any) -> dict[str, Any]:
    """Return what is told of one row of many, by column."""
    known = reason.status != "invalid"
    message = "ok" if reason.status == "ok" else f"{reason.status}: {reason.message}"
    facts = (joined(marked_facts(reason)) or "whatever the features are") if known else ""
    return {
        "row": label,
        "class": reason.prediction if known else "",
        "reason": facts,
        "features": reason.size if known else "",
        "cost": cost_text(reason.cost) if known and reason.priced else "",
        "guarantee": bound(_sure(reason.guarantee)) if known else "",
        "proved": reason.minimality,
        "status": message,
    }


def _sure(known: Any) -> str:
    return lower_text(known.lower if known.exact is None else known.exact, 4)


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
    lines = [("", "class", "guarantee", "size", "facts")]
    for label, reason in zip(labels, first, strict=False):
        cells = _cells(label, reason)
        told = {"ok": cells["reason"], "invalid": cells["status"]}.get(
            reason.status, f"{reason.status}: {cells['reason']}"
        )
        lines.append(
            (str(label), str(cells["class"]), cells["guarantee"], str(cells["features"]), told)
        )
    more = [f"… and {n - len(first):,} more."] if n > len(first) else []
    more += [by_place(labels[0])] if by_label else []
    return "\n".join([head, *_laid_out(lines), *([" ".join(more)] if more else [])])


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

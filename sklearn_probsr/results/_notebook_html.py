"""HTML for notebooks: cards and tables that are escaped, need no script, and follow the theme."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from sklearn_probsr.results._inert_text import visible

__all__ = ["SHOWN_ROWS", "Markup", "bound", "bullets", "card", "line", "strong", "table", "text"]

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

"""The words of reasons in their texts: where they are, and how they are marked."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.pictures import _canvas as canvas
from sklearn_probsr.explain.pictures._canvas import BLUE, GREY, RED
from sklearn_probsr.model.enclosure import lower_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_probsr.explain._explanation import ReasonExplanation
    from sklearn_probsr.results._reason import SufficientReason
    from sklearn_probsr.results._reasons import SufficientReasons
import unicodedata
from collections.abc import Collection

__all__ = ["places", "readable", "text"]


def places(
    text: str, words: Collection[str], matter: Collection[str] = ()
) -> list[tuple[int, int]]:
    """Return where some words are in a text, as spans that do not overlap, in order.

    A word is found whatever its "case" and its "accents", unless these ``matter``, one of several
    words also across other signs; what is no whole word anywhere, such as a few letters, is found
    inside words, and with a space before or behind it, where one begins or ends.
    """
    plain, at = _folded(text, matter)
    inside = [False] * len(plain)
    for word in words:
        for start, end in _spans(plain, _folded(word, matter)[0]):
            inside[start:end] = [True] * (end - start)
    found: list[tuple[int, int]] = []
    for i, marked in enumerate(inside):
        if not marked:
            continue
        if i and inside[i - 1] and found:
            found[-1] = (found[-1][0], at[i] + 1)
        else:
            found.append((at[i], at[i] + 1))
    return found


def _spans(plain: str, word: str) -> list[tuple[int, int]]:
    parts = word.split()
    if not parts:
        return []
    whole = r"(?<!\w)" + r"\W+".join(map(re.escape, parts)) + r"(?!\w)"
    found = [match.span() for match in re.finditer(whole, plain)]
    if found:
        return found
    first, last = r"(?<!\w)" * word[0].isspace(), r"(?!\w)" * word[-1].isspace()
    letters = first + r"\s+".join(map(re.escape, parts)) + last
    return [match.span() for match in re.finditer(letters, plain)]


def _folded(text: str, matter: Collection[str]) -> tuple[str, list[int]]:
    """Return a text in lower case without accents, and where each of its letters came from."""
    given: Iterable[str] = text
    if "case" not in matter:
        low = text.lower()  # the letter at the end of a Greek word is another one than inside
        given = low if len(low) == len(text) else map(str.lower, text)
    letters, at = [], []
    for i, letter in enumerate(given):
        bare = letter if "accents" in matter else unicodedata.normalize("NFKD", letter)
        for part in bare:
            if "accents" in matter or not unicodedata.combining(part):
                letters.append(part)
                at.append(i)
    return "".join(letters), at


def readable(text: str, has: Collection[int] | None = None) -> str:
    """Return a text that can be drawn: one sign for each, spaces for what none can see.

    ``has`` are the signs that the font has; others become a box, one for each, so that places stay.
    """
    drawn = []
    for letter in text:
        if letter.isspace() or not letter.isprintable():
            drawn.append(" " if letter != "\n" else "\n")
        else:
            drawn.append(letter if has is None or ord(letter) in has else "\N{WHITE SQUARE}")
    return "".join(drawn)


_FONT = "DejaVu Sans Mono"  # comes with Matplotlib; every letter has the same width
_WIDTH, _COLUMNS = 9.0, 88
# Inches of a line, and what a letter is wide for its height.
_LINE, _SHAPE = 0.2, 0.602
# How far below its middle the letters of a line stand.
_BASE = 0.26
_DRAWN = ("ok", "unreachable")
# Text before and after a marked word that is shown of a long document.
_LINES_AROUND = 1


class _Line(NamedTuple):
    """A line as it is drawn: letters, and the spans of them that are marked, each in a colour."""

    letters: str
    marks: tuple[tuple[int, int, str], ...] = ()
    style: str = "text"


def text(
    explanation: ReasonExplanation,
    documents: Sequence[str],
    *,
    ax: Axes | None = None,
    max_rows: int = 8,
    max_lines: int = 14,
    show: bool = False,
) -> Axes:
    """Draw documents with the words of their reasons in them.

    Words of the reason stand on a red ground where they speak for the predicted class, and on a
    blue one where they speak against it; all others are grey. What is known not to be there, and
    what is no word at all, stands below.

    Parameters
    ----------
    explanation : ReasonExplanation
        Of one text or of several, explained as such.
    documents : sequence of str
        The texts of its rows, in their order; one text, if there is one row. Of a table, its column
        of texts; of a table with several, one with its name, such as ``X["title"]``: then words of
        the others stand below. What stands for an invalid row is not looked at.
    ax : matplotlib Axes or None, default=None
        None: a new figure with room for all that is drawn.
    max_rows : int, default=8
        The most documents to draw, the first ones.
    max_lines : int, default=14
        The most lines of each; of longer ones those with words of the reason, and one around each.
    show : bool, default=False
        Whether to call ``matplotlib.pyplot.show()``; else that is left to you, or to the notebook.

    Returns
    -------
    Axes
    """
    told = canvas.batch(explanation, "text", _DRAWN).reasons
    texts = _texts(explanation, documents)
    most = canvas.at_least_one(max_lines, "max_lines")
    some = min(len(told), canvas.at_least_one(max_rows, "max_rows"))
    column = _column(told[:some], getattr(documents, "name", None))
    lines: list[_Line] = []
    for i in range(some):
        lines += [*([_Line("")] if i else []), *_lines(told, i, texts[i], most, column)]
    left = len(told) - some
    if left:
        more = f"{left} more row{'s are' if left > 1 else ' is'} not shown"
        lines += [_Line(""), _Line(more, style="note")]
    if note := canvas.note(explanation, _DRAWN):
        lines += [_Line(""), _Line(note[0], style="note")]
    ax = _axes(ax, len(lines))
    _draw(ax, lines)
    return canvas.done(ax, show)


def _texts(explanation: ReasonExplanation, documents: Any) -> list[str]:
    """Return the documents of the rows that are drawn, or say what is wrong with them."""
    whole = np.atleast_1d(explanation.status)
    given = [documents] if isinstance(documents, str) else documents
    if not isinstance(given, Iterable):
        raise InvalidInputError(
            f"documents must be the texts of the rows, got {type(documents).__name__}."
        )
    found = list(given)
    if len(found) != len(whole):
        raise InvalidInputError(
            f"documents must hold one text per row, {len(whole)}, got {len(found)}."
        )
    drawn = [i for i, status in enumerate(whole) if status in _DRAWN]
    for i in drawn:
        if not isinstance(found[i], str):
            raise InvalidInputError(
                f"documents must hold texts, got {type(found[i]).__name__} in row {i}."
            )
    return [found[i] for i in drawn]


def _column(told: SufficientReasons, name: Any) -> str:
    """Return how the names of words begin that are of the documents; nothing if all are."""
    found = set()
    for i, reason in enumerate(told):
        for unit, fact in zip(reason.features, reason.facts, strict=True):
            if _words(told, i, unit, fact):
                before, colon, _ = told.model.unit_names[unit].partition(": ")
                found.add(f"{before}{colon}" if colon and fact.startswith(f"{before}: ") else "")
    if f"{name}: " in found:
        return f"{name}: "
    if len(found) > 1 and "" not in found:
        several = " and ".join(repr(part[:-2]) for part in sorted(found))
        raise InvalidInputError(
            f"documents must be a column with its name, such as X[{min(found)[:-2]!r}], since the "
            f"reasons have words of {several}; got {name!r} for its name."
        )
    return ""


def _lines(told: SufficientReasons, i: int, document: str, most: int, column: str) -> list[_Line]:
    """Return the lines of one document: a heading, its text, and what is not in it."""
    reason, drawable, whole = told[i], _signs(), document.expandtabs(4)
    body = readable(whole, drawable)
    colours: list[str | None] = [None] * len(body)
    there, names = told.model.present(told.rows[i : i + 1])[0], told.model.unit_names
    elsewhere = []
    for unit, fact in zip(reason.features, reason.facts, strict=True):
        here = there[unit] and names[unit].startswith(column)
        # In the text as it came: where the font lacks a sign, the word is still there.
        kinds = [kind for kind, units in told.spelling.items() if unit in units]
        spans = places(whole, _words(told, i, unit, fact), kinds) if here else []
        colour = BLUE if unit in reason.against else RED
        for start, end in spans:
            colours[start:end] = [colour] * (end - start)
        if not spans:
            elsewhere.append(f"although {fact}" if unit in reason.against else fact)
    heading = _wrapped(readable(_heading(reason), drawable), "heading")
    below = _wrapped(readable(f"and {', '.join(elsewhere)}", drawable), "fact") if elsewhere else []
    return [*heading, *_shortened(_laid_out(body, colours), most), *below]


def _words(told: SufficientReasons, i: int, unit: int, fact: str) -> tuple[str, ...]:
    """Return the words that a feature of a row is: none, if it is a number beside texts."""
    if known := told.words.get(i, {}).get(unit):
        return known
    name = told.model.unit_names[unit]
    first, last = fact.find('"'), fact.rfind('"')
    if 0 <= first < last and fact[first + 1 : last] in name:
        return (fact[first + 1 : last],)  # without the column of the text
    # Columns of a matrix of words are named after these.
    return () if any(one.labels for one in told.model.units or ()) else (name,)


def _heading(reason: SufficientReason) -> str:
    known = reason.guarantee
    sure = lower_text(known.lower if known.exact is None else known.exact, 4)
    facts = {0: "whatever the words are", 1: "given 1 fact"}.get(
        reason.size, f"given {reason.size} facts"
    )
    short = f" (short of {reason.delta:g})" if reason.status == "unreachable" else ""
    return f"{reason.prediction!s}: kept with probability ≥ {sure}{short}, {facts}"


def _wrapped(words: str, style: str) -> list[_Line]:
    return [_Line(part, style=style) for part in textwrap.wrap(words, _COLUMNS)] or [_Line("")]


def _laid_out(body: str, colours: Sequence[str | None]) -> list[_Line]:
    """Cut a text into lines that fit, between words if it can be."""
    found, start = [], 0
    for paragraph in body.split("\n"):
        end = start + len(paragraph)
        at = start
        while True:
            stop = end
            if end - at > _COLUMNS:
                gap = body.rfind(" ", at + 1, at + _COLUMNS + 1)
                stop = gap if gap > at else at + _COLUMNS
            found.append(_line(body, colours, at, stop))
            at = stop + (stop < end and body[stop] == " ")
            if at >= end:
                break
        start = end + 1
    while len(found) > 1 and not found[-1].letters.strip():
        found.pop()
    return found


def _line(body: str, colours: Sequence[str | None], start: int, end: int) -> _Line:
    marks: list[tuple[int, int, str]] = []
    for k in range(start, end):
        colour = colours[k]
        if colour is None:
            continue
        if marks and marks[-1][1] == k - start and marks[-1][2] == colour:
            marks[-1] = (marks[-1][0], k - start + 1, colour)
        else:
            marks.append((k - start, k - start + 1, colour))
    return _Line(body[start:end], tuple(marks))


def _shortened(lines: list[_Line], most: int) -> list[_Line]:
    """Return the lines to draw of a document: all, or those with marks and what is around."""
    if len(lines) <= most:
        return lines
    near = {0}
    for at in (k for k, line in enumerate(lines) if line.marks):
        near |= set(range(at - _LINES_AROUND, at + _LINES_AROUND + 1))
    rest = (k for k in range(len(lines)) if k not in near)
    chosen = sorted(k for k in near if 0 <= k < len(lines))
    chosen = sorted([*chosen, *(k for k, _ in zip(rest, range(most - len(chosen)), strict=False))])
    chosen = chosen[:most]
    found: list[_Line] = []
    for before, k in zip([-1, *chosen], chosen, strict=False):
        found += [_Line("[...]", style="note")] if k > before + 1 else []
        found.append(lines[k])
    marked = sum(bool(line.marks) for line in lines[chosen[-1] + 1 :])
    more = f"[...] and {marked} more lines with words of the reason" if marked else "[...]"
    return [*found, *([_Line(more, style="note")] if chosen[-1] + 1 < len(lines) else [])]


@cache
def _signs() -> frozenset[int]:
    """Return the signs that the font has."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family=_FONT))).get_charmap())


def _axes(ax: Axes | None, n: int) -> Axes:
    if ax is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(_WIDTH, _LINE * (n + 1)))
        ax = figure.add_axes((0.02, 0.02, 0.96, 0.96))
    ax.set(xlim=(0, _COLUMNS), ylim=(n - 0.3, -0.7))
    ax.set_axis_off()
    return ax


def _draw(ax: Axes, lines: Sequence[_Line]) -> None:
    """Write lines in a typewriter's letters, marked words on a coloured ground."""
    from matplotlib.patches import Rectangle

    box = ax.get_window_extent()
    points = 72 / ax.figure.dpi
    size = min(box.width * points / _COLUMNS / _SHAPE, box.height * points / len(lines) * 0.8)
    step = _SHAPE * size / points * _COLUMNS / box.width  # of a letter, in data
    styles: dict[str, dict[str, Any]] = {
        "heading": {"color": "black", "weight": "bold"},
        "fact": {"color": RED, "style": "italic"},
        "note": {"color": GREY},
        "text": {"color": GREY},
    }
    letters: dict[str, Any] = {
        "family": _FONT, "fontsize": size, "va": "baseline", "ha": "left", "parse_math": False,
    }  # fmt: skip
    for row, line in enumerate(lines):
        plain = list(line.letters)
        for start, end, colour in line.marks:
            ax.add_patch(
                Rectangle(
                    ((start - 0.15) * step, row - 0.44),
                    (end - start + 0.3) * step,
                    0.88,
                    color=colour,
                    linewidth=0,
                )
            )
            for word in re.finditer(r"\S+", line.letters[start:end]):
                at = (start + word.start()) * step
                ax.text(at, row + _BASE, word[0], color="white", **letters)
            plain[start:end] = " " * (end - start)
        # Word by word: letters are drawn a little wider or narrower than they are counted.
        for word in re.finditer(r"\S+", "".join(plain)):
            ax.text(word.start() * step, row + _BASE, word[0], **letters, **styles[line.style])

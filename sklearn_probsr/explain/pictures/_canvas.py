"""Canvas: what our pictures have in common: colours, axes, and texts that fit."""

from __future__ import annotations

import re
import textwrap
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._explanation import ReasonExplanation
from sklearn_probsr.explain.frames._flagged_rows import count_flagged

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE", "GREY", "PALE", "RED",
    "at_least_one", "axes", "batch", "done", "drawable", "note", "number", "plain", "short",
    "short_fact", "title",
]  # fmt: skip

RED, BLUE, GREY, PALE = "#ff0051", "#008bfb", "#777777", "#bbbbbb"
_INCHES = 0.42
# The least room for the name of a fact beside its value.
_NAME = 12
# What stands between a name and its value.
_SIGN = re.compile(r"(:|\s(=|is|in|coded as|[<>≤≥]))\s+")
# What begins a formula.
_DOLLAR = re.compile(r"(?<!\\)\$")


def batch(reasons: Any, what: str, drawn: tuple[str, ...] = ("ok",)) -> ReasonExplanation:
    """Return the rows of an explanation to draw, as a batch, or say why they cannot be drawn.

    Only those whose status is to be ``drawn``; `note` says how many are not.
    """
    if not isinstance(reasons, ReasonExplanation):
        raise InvalidInputError(
            f"{what} draws a ReasonExplanation, got {type(reasons).__name__}. An aggregate, such "
            "as mean(0), is no longer made of reasons."
        )
    found = reasons._batch(what).of_prediction()
    if not len(found.reasons):
        raise InvalidInputError(f"{what} needs at least one row, this explanation has none.")
    found = found._batch(what) if found._single else found
    inside = np.isin(found.status, drawn)
    if inside.all():
        return found
    if not inside.any():
        count = f"{len(inside)} are" if len(inside) > 1 else "row is"
        raise InvalidInputError(
            f"{what} needs a row that could be explained, here the {count} "
            f"{' and '.join(sorted(set(found.status.tolist())))}: {found.message[0]}"
        )
    some: ReasonExplanation = found[np.flatnonzero(inside)]
    return some


def note(reasons: ReasonExplanation, drawn: tuple[str, ...] = ("ok",)) -> list[str]:
    """Return a line on the rows that a picture leaves out; none if there are none."""
    status = np.atleast_1d(reasons.status)
    count = count_flagged(status[~np.isin(status, drawn)])
    return [f"left out: {count}"] if count else []


def done(ax: Axes, show: bool) -> Axes:
    """Return axes when all is drawn; ``show`` opens the figure, as in shap."""
    if show:
        import matplotlib.pyplot as plt

        plt.show()
    return ax


def at_least_one(most: Any, name: str) -> int:
    """Return how many may be drawn, or say that it is no such number."""
    if not isinstance(most, int | np.integer) or isinstance(most, bool) or most < 1:
        raise InvalidInputError(f"{name} must be a whole number >= 1, got {most!r}.")
    return int(most)


def axes(ax: Axes | None, width: float, lines: float) -> Axes:
    """Return the given axes, or new ones with room for so many lines."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, _INCHES * lines), layout="constrained")[1]


def number(value: float, sign: str = "+") -> str:
    """Return a number with three digits and a proper minus."""
    return f"{value:{sign}.3g}".replace("-", "\N{MINUS SIGN}")


def short(name: Any, most: int = 36) -> str:
    """Return a name that fits; long ones often differ at their ends, so both are kept."""
    return drawable(_cut(str(name), most))


def short_fact(fact: str, name: str, most: int = 36) -> str:
    """Return a fact that fits: its name is cut in the middle, and what it says of it never is.

    What is too long for a line goes on in the next.
    """
    if len(fact) <= most or not fact.startswith(name):
        return "\n".join(drawable(part) for part in textwrap.wrap(fact, most)) or fact
    said = fact[len(name) :]
    room = most - len(said)
    if room >= _NAME:
        return drawable(_cut(name, room) + said)
    sign = _SIGN.match(said)
    word = sign[0].rstrip() if sign else ""
    lines = [_cut(name, most - len(word)) + word, *textwrap.wrap(said[len(word) :].strip(), most)]
    return "\n".join(map(drawable, lines))


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 1].rstrip()}…{text[-tail:].lstrip()}"


def drawable(text: str) -> str:
    """Return text as Matplotlib draws it: no formulas, and no character that its font lacks.

    Such a character is written by its number, as Python does. (A font that has it can be named in
    ``rcParams["font.family"]``, behind the first one.)
    """
    shown = _DOLLAR.sub(r"\\$", text)
    if shown.isascii():
        return shown
    has = _characters(_families())
    return "".join(c if ord(c) in has or c == "\n" else ascii(c)[1:-1] for c in shown)


def _families() -> tuple[str, ...]:
    """Return the families of fonts that texts are drawn with, the generic ones by their names."""
    from matplotlib import rcParams

    settings = dict(rcParams.items())
    return tuple(
        name
        for family in rcParams["font.family"]
        for name in settings.get(f"font.{family}", [family])
    )


@lru_cache(maxsize=8)
def _characters(families: tuple[str, ...]) -> frozenset[int]:
    """Return the characters that some of the fonts have: the first there is, and those named."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    paths = []
    for family in families:
        with suppress(ValueError):
            paths.append(findfont(FontProperties(family=[family]), fallback_to_default=False))
    return frozenset(
        code
        for path in paths or [findfont(FontProperties())]
        for code in get_font(path).get_charmap()
    )


def title(ax: Axes, lines: list[str], pad: float, width: int = 50) -> None:
    """Write a title from the left edge on, in lines that fit."""
    wrapped = [drawable(part) for line in lines for part in textwrap.wrap(line, width)]
    ax.set_title("\n".join(wrapped), fontsize=10, loc="left", pad=pad)


def plain(ax: Axes) -> None:
    """Leave out the lines that say nothing."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)

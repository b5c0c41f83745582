"""Marks: in pictures, which features every minimum reason has, and which some have."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.explain.pictures import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_probsr.explain._explanation import ReasonExplanation
    from sklearn_probsr.questions._alternatives import Alternatives

__all__ = ["Roles", "legend_of", "mark_cells", "mark_of", "mark_shares", "mark_table", "roles_of"]

_EVERY, _SOME, _OPEN = "◆", "◇", "(?)"
_MEANING = {
    _EVERY: "in every reason of this size{those}",
    _SOME: "in some of them",
    _OPEN: "in some, perhaps in every one",
}
# What there is room for under the axis of a waterfall.
_WIDTH = 52


class Roles:
    """Which features are in every minimum reason of each row, in some, and of which it is open.

    Attributes
    ----------
    necessary, possible, undecided : ndarray of bool, shape (n, features)
    those : str
        What is said of the sets, if not all were allowed: " of the features allowed".
    """

    def __init__(self, each: Sequence[Alternatives], width: int, those: str) -> None:
        self.those = those
        groups = ("necessary", "possible", "undecided")
        self.necessary, self.possible, self.undecided = (
            np.zeros((len(each), width), dtype=np.bool_) for _ in groups
        )
        for i, one in enumerate(each):
            for group in groups:
                getattr(self, group)[i, list(getattr(one, group))] = True

    @property
    def open_rows(self) -> str:
        """Say in how many rows a word stays open; nothing if in none."""
        count = int(self.undecided.any(axis=1).sum())
        some = f"{count} row{'s' if count > 1 else ''}"
        return f"in {some} of some features it stays undecided" if count else ""


def roles_of(found: ReasonExplanation) -> Roles | None:
    """Return the roles of features in the rows of a batch; None if nobody asked for them."""
    others = found.alternatives
    if others is None:
        return None
    told = found.reasons
    each = [one for one in others if one is not None]
    return Roles(each, told.model.n_units, told.scope.words())


def mark_of(one: Alternatives | None, unit: int) -> str:
    """Return what stands before a fact of a reason: whether every other one of its size has it."""
    if one is None or (one.n_necessary is None and not one.possible):
        return ""
    if unit in one.necessary:
        return f"{_EVERY} "
    return f"{_OPEN if unit in one.undecided else _SOME} "


def legend_of(one: Alternatives | None) -> list[str]:
    """Return lines that say what such marks mean, of those that there are."""
    if one is None:
        return []
    marks = {mark_of(one, u).strip() for u in one.reason.features}
    if "" in marks:
        return ["not proved to be the smallest: others are not known"]
    meanings = ", ".join(f"{mark} {told}" for mark, told in _MEANING.items() if mark in marks)
    lines = textwrap.wrap(meanings.format(those=one.reason.scope.words()), _WIDTH)
    known = len(set(one.possible) - set(one.reason.features))
    perhaps = len(set(one.undecided) - set(one.possible))
    if known:
        lines.append(f"{known} more feature{'s are' if known > 1 else ' is'} in some of them")
    if perhaps:
        lines.append(f"of {perhaps} feature{'s' if perhaps > 1 else ''} that is undecided")
    return lines


def mark_shares(
    ax: Axes, places: Any, height: float, needed: Any, possible: Any, *, key: str | None
) -> None:
    """Mark at bars of shares how often a feature is in every reason, and how often in some.

    ``key`` is what the legend says of the sets, "" if all were allowed; None: nothing is said.
    """
    colour = _ink()
    ax.barh(
        places, possible, height=height, facecolor="none", edgecolor=colour, linewidth=0.8,
        linestyle=(0, (2, 1.5)), label=None if key is None else "in some of that size",
    )  # fmt: skip
    ax.barh(
        places, needed, height=height * 0.25, color=colour,
        label=None if key is None else f"in every reason of that size{key}",
    )  # fmt: skip


def mark_table(
    ax: Axes, roles: Roles, order: Sequence[int], classes: Sequence[NDArray[np.bool_]]
) -> None:
    """Write in a table of shares in how many rows every reason has a feature, and some have it."""
    shades = {(round(t.get_position()[0]), round(t.get_position()[1])): t for t in ax.texts}
    for k, rows in enumerate(classes):
        needed, some = (g[rows].mean(axis=0) for g in (roles.necessary, roles.possible))
        for i, u in enumerate(order):
            if not some[u]:
                continue
            above = shades.get((k, i))
            ax.text(
                k, i + 0.3, f"{100 * needed[u]:.0f} to {100 * some[u]:.0f}%", ha="center",
                va="center", fontsize=7, color="black" if above is None else above.get_color(),
            )  # fmt: skip
            if above is not None:
                above.set_y(i - 0.15)
    legend = f"small: in every reason of that size{roles.those}, to in some of them"
    ax.set_xlabel(f"{ax.get_xlabel()}\n{legend}")


def mark_cells(
    ax: Axes, needed: NDArray[np.bool_], elsewhere: NDArray[np.bool_], those: str
) -> list[str]:
    """Mark cells of a heatmap, features down and rows across; return what the marks mean.

    ``those`` is what is said of the sets, "" if all were allowed.
    """
    from matplotlib.colors import ListedColormap

    told = []
    if elsewhere.any():
        ax.imshow(
            np.where(elsewhere, 1.0, np.nan), cmap=ListedColormap([canvas.PALE]), alpha=0.6,
            aspect="auto", interpolation="nearest",
        )  # fmt: skip
        told.append(f"grey: in another reason of that size{those}")
    if needed.any():
        at, across = needed.nonzero()
        ax.hlines(at, across - 0.5, across + 0.5, color=_ink(), linewidth=1.6)
        told.append("line: in every one" if told else f"line: in every one of that size{those}")
    return told


def _ink() -> Any:
    """Return the colour of text, dark on light figures and light on dark ones."""
    from matplotlib import rcParams

    return rcParams["text.color"]

"""Which features are in which rows' reasons, rows grouped by class and by size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_probsr.explain.pictures import _canvas as canvas
from sklearn_probsr.explain.pictures._canvas import BLUE, RED
from sklearn_probsr.explain.pictures._marks import mark_cells, roles_of
from sklearn_probsr.explain.pictures._most_frequent import NOTHING, most_often

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from sklearn_probsr.explain._explanation import ReasonExplanation

__all__ = ["reasons_heatmap"]


def reasons_heatmap(
    reasons: ReasonExplanation,
    *,
    ax: Axes | None = None,
    max_display: int = 20,
    show: bool = False,
) -> Axes:
    """Draw which features are in which rows' reasons, rows grouped by class and by size.

    Parameters
    ----------
    reasons : ReasonExplanation
        Of one row or of several.
    ax : matplotlib Axes or None, default=None
        Where to draw; None: on a new figure.
    max_display : int, default=20
        The most features to draw, those that are in most reasons first.
    show : bool, default=False
        Whether to call ``matplotlib.pyplot.show()``; else that is left to you, or to the notebook.

    Returns
    -------
    Axes
        One column a row of data. A cell is empty outside the reason, red where the feature speaks
        for the second class, blue where it speaks for the first (of more than two: red where it
        raises the score of the row's own class), and pale where the fact speaks against the row's
        class (of more than two: in the duel with the runner-up, whose score it may raise more); no
        cell is faint because its value is small. Of an explanation that was asked for
        ``alternatives``, a line runs through what every reason of that size has, and cells are grey
        that only another one has.
    """
    from matplotlib.colors import ListedColormap

    found = canvas.batch(reasons, "reasons_heatmap")
    told = found.reasons
    won = told.model.winners(told.rows)
    often, roles = told.mask.mean(axis=0), roles_of(found)
    rank = often if roles is None else often + 1e-6 * roles.possible.mean(axis=0)
    features, rest = most_often(rank, canvas.at_least_one(max_display, "max_display"))
    across = np.lexsort((*(~told.mask[:, u] for u in features[::-1]), told.size, won))
    upward = found.values >= 0
    if found.in_probability and len(told.model.classes) == 2:  # a gain is one of the row's class
        upward = upward == (won == 1)[:, None]
    signs = np.where(told.mask, np.where(upward, 1.0, -1.0), np.nan)[across][:, features].T
    ax = canvas.axes(ax, 7.5, max(len(features), 1) + 3.6)
    ax.imshow(
        signs if features else np.full((1, len(told)), np.nan), cmap=ListedColormap([BLUE, RED]),
        vmin=-1, vmax=1, aspect="auto", interpolation="nearest",
    )  # fmt: skip
    pale = told.against.mask()[across][:, features].T
    if pale.any():
        ax.imshow(
            np.where(pale, 1.0, np.nan), cmap=ListedColormap(["white"]), alpha=0.6, aspect="auto",
            interpolation="nearest",
        )  # fmt: skip
    marks = []
    if roles is not None and features:
        cells = (roles.necessary, roles.possible & ~told.mask)
        needed, elsewhere = (cell[across][:, features].T for cell in cells)
        marks = mark_cells(ax, needed, elsewhere, roles.those)
    ax.hlines(np.arange(1, len(features)) - 0.5, -0.5, len(told) - 0.5, color="white", linewidth=1)
    labels = [f"{canvas.short(told.model.unit_names[u])}  {100 * often[u]:.0f}%" for u in features]
    ax.set_yticks(range(len(features)), labels)
    if not features:
        ax.text(0.5, 0.5, NOTHING, transform=ax.transAxes, ha="center")
    _mark_classes(ax, told.model.classes, np.bincount(won, minlength=len(told.model.classes)))
    ax.set_xticks([])
    gained = "guarantee" if found.in_probability else "score"
    colours = f"red raises the {gained} of the row's class, blue lowers it"
    against = "the row's class before the runner-up"
    if len(told.model.classes) == 2:
        first, second = (canvas.short(label, 16) for label in told.model.classes)
        gap = " " if len(first + second) <= 24 else "\n"
        colours = f"blue speaks for {first},{gap}red for {second}"
        against = "the row's class"
    if pale.any():
        colours += f"; pale: against {against}"
    open_rows = "" if roles is None else roles.open_rows
    colours = "\n".join(filter(None, [colours, "; ".join(marks), open_rows]))
    ax.set_xlabel(f"rows, by class, then by the size of the reason\n{colours}{rest}")
    heading = [f"delta = {told.delta:g}, over {told.distribution}", *canvas.note(reasons)]
    canvas.title(ax, heading, pad=24, width=60)
    for edge in ("top", "right", "bottom"):
        ax.spines[edge].set_visible(False)
    return canvas.done(ax, show)


def _mark_classes(ax: Axes, classes: Sequence[Any], counts: Any) -> None:
    """Separate the classes of rows that are drawn in their order, and write them above."""
    total, start = int(counts.sum()), 0
    for k, (label, count) in enumerate(zip(classes, counts.tolist(), strict=True)):
        if not count:
            continue
        if start:
            ax.axvline(start - 0.5, color="black", linewidth=1.2)
        name = f"{canvas.short(label, 16)} ({count})"
        x, align = (start + count / 2) / total, "center"
        if len(classes) == 2:
            x, align = (1.0, "right") if k else (0.0, "left")
        ax.text(
            x, 1.01, name, transform=ax.transAxes, ha=align, va="bottom",
            fontsize=10 if len(classes) <= 4 else 7,
        )  # fmt: skip
        start += count

"""How often each feature is in a reason, for each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_probsr.explain.pictures import _canvas as canvas
from sklearn_probsr.explain.pictures._canvas import BLUE, RED
from sklearn_probsr.explain.pictures._marks import mark_shares, mark_table, roles_of
from sklearn_probsr.explain.pictures._most_frequent import NOTHING, most_often

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_probsr.explain._explanation import ReasonExplanation
    from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["frequency"]


def frequency(
    reasons: ReasonExplanation,
    *,
    ax: Axes | None = None,
    max_display: int = 15,
    show: bool = False,
) -> Axes:
    """Draw how often each feature is in a reason, for each class.

    Parameters
    ----------
    reasons : ReasonExplanation
        Of one row or of several.
    ax : matplotlib Axes or None, default=None
        Where to draw; None: on a new figure.
    max_display : int, default=15
        The most features to draw, those that are in most reasons of a class first.
    show : bool, default=False
        Whether to call ``matplotlib.pyplot.show()``; else that is left to you, or to the notebook.

    Returns
    -------
    Axes
        Of an explanation that was asked for ``alternatives`` it shows as well in how many rows a
        feature is in every reason of that size, and in how many it is in some.
    """
    found = canvas.batch(reasons, "frequency")
    told, roles = found.reasons, roles_of(found)
    won = told.model.winners(told.rows)
    sides = np.unique(won).tolist()
    shares = {side: told.mask[won == side].mean(axis=0) for side in sides}
    often = np.max(list(shares.values()), axis=0)
    if roles is not None:  # features of other reasons come behind those of these
        often = often + 1e-6 * roles.possible.mean(axis=0)
    order, rest = most_often(often, canvas.at_least_one(max_display, "max_display"))
    tall = 1.4 if roles is not None and len(told.model.classes) > 2 else 1.0
    ax = canvas.axes(ax, 7.0, tall * max(len(order), 1) + 3.0)
    classes = {
        side: f"{canvas.short(told.model.classes[side], 14)} ({_rows(won == side)})"
        for side in sides
    }
    heading = [f"delta = {told.delta:g}, over {told.distribution}", *canvas.note(reasons)]
    if roles is not None and roles.open_rows:
        heading.append(roles.open_rows)
    if len(told.model.classes) > 2:
        _shares_by_class(ax, told, order, shares, list(classes.values()), rest)
        if roles is not None:
            mark_table(ax, roles, order, [won == side for side in sides])
        canvas.title(ax, heading, pad=36, width=60)
        return canvas.done(ax, show)
    height = 0.78 / len(sides)
    for k, side in enumerate(sides):
        offset = (k - (len(sides) - 1) / 2) * height
        ax.barh(
            np.arange(len(order)) + offset, shares[side][order], height=height * 0.92,
            color=RED if side else BLUE, label=classes[side],
        )  # fmt: skip
        if roles is not None:
            groups = (roles.necessary, roles.possible)
            needed, some = (group[won == side].mean(axis=0)[order] for group in groups)
            where = (np.arange(len(order)) + offset, height * 0.92)
            mark_shares(ax, *where, needed, some, key=roles.those if side == sides[-1] else None)
    names = told.model.unit_names
    ax.set_yticks(range(len(order)), [canvas.short(names[u]) for u in order])
    ax.set_ylim(max(len(order), 1) - 0.5, -0.5)
    ax.set_xlim(0, 1.02)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
    ax.set_xlabel(f"rows whose reason holds the feature{rest}")
    if order:
        key = ax.legend(
            frameon=False, loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=2, fontsize=8,
            borderpad=0, columnspacing=1,
        )  # fmt: skip
        key.set_in_layout(False)  # a long name must not squeeze the picture
    else:
        ax.text(0.5, 0.5, NOTHING, transform=ax.transAxes, ha="center", va="center")
    canvas.title(ax, heading, pad=28 if order else 8, width=60)
    canvas.plain(ax)
    return canvas.done(ax, show)


def _rows(which: Any) -> str:
    count = int(np.count_nonzero(which))
    return f"{count} row{'s' if count > 1 else ''}"


def _shares_by_class(
    ax: Axes,
    told: SufficientReasons,
    order: list[int],
    shares: dict[int, Any],
    classes: list[str],
    rest: str,
) -> None:
    """Draw the shares of several classes side by side, as a table whose cells are filled in."""
    from matplotlib.colors import LinearSegmentedColormap

    table = np.array([shares[side][order] for side in shares]).T.reshape(-1, len(classes))
    filled = LinearSegmentedColormap.from_list("share", ["white", RED])
    ax.imshow(table if order else np.zeros((1, len(classes))), cmap=filled, vmin=0, vmax=1,
              aspect="auto")  # fmt: skip
    for (i, k), share in np.ndenumerate(table):
        if share:
            shade = "white" if share > 0.55 else "black"
            ax.text(k, i, f"{100 * share:.0f}%", ha="center", va="center", fontsize=8, color=shade)
    ax.set_yticks(range(len(order)), [canvas.short(told.model.unit_names[u]) for u in order])
    ax.set_xticks(range(len(classes)), [name.replace(" (", "\n(") for name in classes], fontsize=8)
    ax.tick_params(axis="x", length=0, top=False, labeltop=True, labelbottom=False)
    ax.set_xlabel(f"rows of the class whose reason holds the feature{rest}")
    if not order:
        ax.text(0.5, 0.5, NOTHING, transform=ax.transAxes, ha="center", va="center")
    for edge in ax.spines.values():
        edge.set_visible(False)
    ax.tick_params(axis="y", length=0)

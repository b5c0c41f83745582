"""Pictures of sufficient reasons, where shap's own are not enough.

Every function returns the Axes, draws on ``ax`` if one is given, and shows nothing unless asked
with ``show=True``. Rows that are flagged are left out, and the title says how many. Colours are
shap's: red pushes the decision function up, blue down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._functions import guarantee, guarantee_curve
from sklearn_probsr.explain.pictures import _canvas as canvas
from sklearn_probsr.explain.pictures._canvas import BLUE, RED
from sklearn_probsr.explain.pictures._marks import mark_cells, mark_shares, mark_table, roles_of
from sklearn_probsr.explain.pictures._rule_bars import rules
from sklearn_probsr.explain.pictures._text import text
from sklearn_probsr.explain.pictures._waterfall import waterfall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from sklearn_probsr.explain._explanation import ReasonExplanation
    from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["curve", "frequency", "reasons_heatmap", "rules", "text", "waterfall"]

# More rows than this are drawn as one band of a curve.
_MOST_LINES = 12
_NOTHING = "no reason holds a feature"


def curve(
    reasons: ReasonExplanation,
    *,
    ax: Axes | None = None,
    max_size: int | None = None,
    show: bool = False,
) -> Axes:
    """Draw the guarantee against the number of facts.

    The features of a reason come first, in its order, then the others as
    `sklearn_probsr.guarantee_curve` orders them: so every curve passes through its reason.

    Parameters
    ----------
    reasons : ReasonExplanation
        Of one row or of several.
    ax : matplotlib Axes or None, default=None
        Where to draw; None: on a new figure.
    max_size : int or None, default=None
        The most features on the axis; None: a little more than the reasons have.
    show : bool, default=False
        Whether to call ``matplotlib.pyplot.show()``; else that is left to you, or to the notebook.

    Returns
    -------
    Axes
        With the level asked for. For up to a dozen rows, the enclosures as bands and a dot at each
        reason; for more, the median and the middle half of their lower bounds.
    """
    from matplotlib.ticker import MaxNLocator

    told = canvas.batch(reasons, "curve").reasons
    most = told.size.max() + 4 if max_size is None else canvas.at_least_one(max_size, "max_size")
    shown = min(int(most), told.model.n_units)
    ax = canvas.axes(ax, 6.4, 9.0)
    bounds = np.array([_along(told, i, shown) for i in range(len(told))])
    lower, upper = bounds[:, 0], bounds[:, 1]
    if len(told) > _MOST_LINES:
        _band(ax, lower)
    else:
        _lines(ax, told, lower, upper)
    ax.axhline(told.delta, color="black", linewidth=0.9, linestyle=(0, (4, 3)))
    ax.annotate(
        f"delta = {told.delta:g}", (shown, told.delta), xytext=(0, -4),
        textcoords="offset points", ha="right", va="top", fontsize=9,
    )  # fmt: skip
    ax.legend(frameon=False, loc="lower right")
    ax.set_xlim(-0.3, shown + 0.3)
    ax.set_ylim(min(0.5, float(lower.min()) - 0.03, told.delta - 0.06), 1.02)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("facts, those of the reason first")
    ax.set_ylabel("probability that the class is kept")
    canvas.title(ax, [f"over {told.distribution}", *canvas.note(reasons)], pad=8)
    canvas.plain(ax)
    return canvas.done(ax, show)


def _along(told: SufficientReasons, i: int, shown: int) -> NDArray[np.float64]:
    """Return bounds of the guarantee of the first 0, 1, ... features, those of the reason first."""
    row, law = told.rows[i], told.distribution
    known = guarantee_curve(told.model, row, distribution=law)
    first = list(told[i].features)
    if known.order[: len(first)].tolist() == first:
        return np.array([known.lower[: shown + 1], known.upper[: shown + 1]])
    order = first + [u for u in known.order.tolist() if u not in first]
    sets = [guarantee(told.model, row, order[:k], distribution=law) for k in range(shown + 1)]
    return np.array([[s.lower for s in sets], [s.upper for s in sets]])


def _band(ax: Axes, lower: Any) -> None:
    sizes = np.arange(lower.shape[1])
    low, middle, high = np.percentile(lower, [25, 50, 75], axis=0)
    ax.fill_between(sizes, low, high, color=BLUE, alpha=0.2, linewidth=0, label="middle half")
    ax.plot(sizes, middle, color=BLUE, marker=".", label=f"median of {len(lower)} rows")


def _lines(ax: Axes, told: SufficientReasons, lower: Any, upper: Any) -> None:
    sizes = np.arange(lower.shape[1])
    alike: dict[Any, list[int]] = {}
    for i, (row, size) in enumerate(zip(lower, told.size, strict=True)):
        alike.setdefault((row.tobytes(), int(size), str(told.prediction[i])), []).append(i)
    for k, ((_, size, label), rows) in enumerate(alike.items()):
        i, colour = rows[0], BLUE if len(alike) == 1 else f"C{k}"
        ax.fill_between(sizes, lower[i], upper[i], color=colour, alpha=0.25, linewidth=0)
        ax.plot(sizes, lower[i], color=colour, marker=".", linewidth=1.4)
        whose = f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}"
        facts = "1 fact" if size == 1 else f"{size} facts"
        ax.plot(
            size, told.lower[i], "o", color=colour, markersize=9, markeredgecolor="white",
            label=f"{'reason' if len(told) == 1 else whose}: {canvas.short(label, 24)}, {facts}",
        )  # fmt: skip


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
    order, rest = _most_often(often, canvas.at_least_one(max_display, "max_display"))
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
            mark_shares(ax, *where, needed, some, key=side == sides[-1])
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
        ax.text(0.5, 0.5, _NOTHING, transform=ax.transAxes, ha="center", va="center")
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
        ax.text(0.5, 0.5, _NOTHING, transform=ax.transAxes, ha="center", va="center")
    for edge in ax.spines.values():
        edge.set_visible(False)
    ax.tick_params(axis="y", length=0)


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
        speaks for the row's own class), and pale where the fact speaks against the row's class; no
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
    features, rest = _most_often(rank, canvas.at_least_one(max_display, "max_display"))
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
        marks = mark_cells(ax, *(cell[across][:, features].T for cell in cells))
    ax.hlines(np.arange(1, len(features)) - 0.5, -0.5, len(told) - 0.5, color="white", linewidth=1)
    labels = [f"{canvas.short(told.model.unit_names[u])}  {100 * often[u]:.0f}%" for u in features]
    ax.set_yticks(range(len(features)), labels)
    if not features:
        ax.text(0.5, 0.5, _NOTHING, transform=ax.transAxes, ha="center")
    _mark_classes(ax, told.model.classes, np.bincount(won, minlength=len(told.model.classes)))
    ax.set_xticks([])
    colours = "red speaks for the class, blue against it"
    if len(told.model.classes) == 2:
        first, second = (canvas.short(label, 16) for label in told.model.classes)
        gap = " " if len(first + second) <= 24 else "\n"
        colours = f"blue speaks for {first},{gap}red for {second}"
    if pale.any():
        colours += "; pale: against the row's class"
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


def _most_often(shares: Any, most: int) -> tuple[list[int], str]:
    """Return the features that occur, the most frequent first, and a word on those left out."""
    order = [int(u) for u in np.argsort(-shares, kind="stable") if shares[u] > 0]
    left = len(order) - most
    ones = "one is" if left == 1 else "ones are"
    return order[:most], f"\n({left} rarer {ones} not shown)" if left > 0 else ""

"""Pictures of sufficient reasons, where shap's own are not enough.

Every function returns the Axes, draws on ``ax`` if one is given, and never shows anything by
itself. Colours are shap's: red pushes the decision function up, blue down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_probsr._api import guarantee_curve
from sklearn_probsr._enclosure import lower_text
from sklearn_probsr.exceptions import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_probsr._explanation import ReasonExplanation

__all__ = ["curve", "frequency", "reasons_heatmap", "waterfall"]

_RED, _BLUE, _GREY = "#ff0051", "#008bfb", "#777777"
_CLASSES = (_BLUE, _RED)
_INCHES = 0.42
# More rows than this are drawn as one band of a curve.
_MOST_LINES = 12


def waterfall(reason: ReasonExplanation, *, ax: Axes | None = None, max_display: int = 20) -> Axes:
    """Draw how the features of one reason carry the decision function away from its average.

    Parameters
    ----------
    reason : ReasonExplanation
        Of one row: write ``reasons[0]``.
    ax : matplotlib Axes or None, default=None
    max_display : int, default=20
        The most features to draw; the weakest others are summed up in one bar.

    Returns
    -------
    Axes
        The title says the guarantee, and over what. An empty reason is drawn as what it is: no
        fact is needed.
    """
    one = _single(reason)
    told = one.reasons[0]
    order = list(told.features)
    values = {u: float(one.values[0, u]) for u in order}
    order.sort(key=lambda u: -abs(values[u]))
    bars = [(dict(zip(told.features, told.facts, strict=True))[u], values[u]) for u in order]
    if len(bars) > max_display:
        rest = bars[max_display - 1 :]
        total = sum(value for _, value in rest)
        bars = [*bars[: max_display - 1], (f"{len(rest)} more facts", total)]
    ax = _axes(ax, 7.0, max(len(bars), 1) + 2.6)
    base = float(one.base_values[0])
    at = base
    for i, (_, value) in enumerate(bars):
        colour = _RED if value > 0 else _BLUE
        ax.barh(i, value, left=at, height=0.62, color=colour)
        _number(ax, at + value, i, value, colour)
        if i:
            ax.plot([at, at], [i - 0.69, i - 0.31], color="#bbbbbb", linewidth=0.8)
        at += value
    if not bars:
        ax.text(
            0.5, 0.5, "no fact is needed", transform=ax.transAxes,
            ha="center", va="center", color=_GREY, fontsize=13,
        )  # fmt: skip
    ax.axvline(base, color="#bbbbbb", linewidth=0.9, linestyle=(0, (3, 3)), zorder=0)
    ax.axvline(0.0, color="black", linewidth=0.9, zorder=0)
    ax.set_yticks(range(len(bars)), [_short(name) for name, _ in bars])
    ax.set_ylim(max(len(bars), 1) - 0.4, -0.6)
    ax.margins(x=0.16)
    reach = max(abs(base), abs(at), 1e-12)
    ax.set_xlim(min(ax.get_xlim()[0], -0.08 * reach), max(ax.get_xlim()[1], 0.08 * reach))
    first, second = told_classes(one)
    ax.set_xlabel(f"{first}  ←  decision function (0: the boundary)  →  {second}")
    _above(ax, base, f"average\n{base:.3g}")
    ax.set_title(_title(one), fontsize=11, loc="left", pad=34)
    _plain(ax)
    return ax


def curve(
    reasons: ReasonExplanation, *, ax: Axes | None = None, max_size: int | None = None
) -> Axes:
    """Draw the guarantee against the number of features fixed.

    Parameters
    ----------
    reasons : ReasonExplanation
        Of one row or of several; beyond a dozen, their median and the middle half are drawn.
    ax : matplotlib Axes or None, default=None
    max_size : int or None, default=None
        The most features on the axis; None: a little more than the reasons have.

    Returns
    -------
    Axes
        With the enclosures as bands, the level asked for, and a dot at each reason.
    """
    told = reasons.reasons
    if not len(told):
        raise InvalidInputError("curve needs at least one row, this explanation has none.")
    from matplotlib.ticker import MaxNLocator

    ax = _axes(ax, 6.4, 9.0)
    last = told.mask.shape[1]
    shown = min(int(told.size.max()) + 4 if max_size is None else max_size, last)
    curves = [guarantee_curve(told.model, row, distribution=told.distribution) for row in told.rows]
    lower = np.array([c.lower[: shown + 1] for c in curves])
    upper = np.array([c.upper[: shown + 1] for c in curves])
    sizes = np.arange(shown + 1)
    if len(curves) > _MOST_LINES:
        low, middle, high = np.percentile(lower, [25, 50, 75], axis=0)
        ax.fill_between(sizes, low, high, color=_BLUE, alpha=0.2, linewidth=0, label="middle half")
        ax.plot(sizes, middle, color=_BLUE, marker=".", label=f"median of {len(curves)} rows")
        ax.legend(frameon=False, loc="lower right")
    else:
        for i in range(len(curves)):
            colour = _BLUE if len(curves) == 1 else f"C{i}"
            ax.fill_between(sizes, lower[i], upper[i], color=colour, alpha=0.25, linewidth=0)
            ax.plot(sizes, lower[i], color=colour, marker=".", linewidth=1.4)
            ax.plot(
                told.size[i], told.lower[i], "o", color=colour, markersize=9,
                markeredgecolor="white", label=f"{told.prediction[i]}: {told.size[i]} facts",
            )  # fmt: skip
        ax.legend(frameon=False, loc="lower right", title="reason" if len(curves) == 1 else None)
    ax.axhline(told.delta, color="black", linewidth=0.9, linestyle=(0, (4, 3)))
    ax.annotate(
        f"delta = {told.delta:g}", (shown, told.delta), xytext=(0, -4),
        textcoords="offset points", ha="right", va="top", fontsize=9,
    )  # fmt: skip
    ax.set_xlim(-0.3, shown + 0.3)
    ax.set_ylim(min(0.5, float(lower.min()) - 0.03), 1.02)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("features fixed")
    ax.set_ylabel("probability that the class is kept")
    ax.set_title(f"over {told.distribution}", fontsize=11, loc="left")
    _plain(ax)
    return ax


def frequency(reasons: ReasonExplanation, *, ax: Axes | None = None, max_display: int = 15) -> Axes:
    """Draw how often each feature is in a reason, for each class.

    Parameters
    ----------
    reasons : ReasonExplanation
    ax : matplotlib Axes or None, default=None
    max_display : int, default=15
        The most features to draw.

    Returns
    -------
    Axes
    """
    told = reasons.reasons
    if not len(told):
        raise InvalidInputError("frequency needs at least one row, this explanation has none.")
    positive = told.model.is_positive(told.rows)
    sides = [side for side in (False, True) if (positive == side).any()]
    shares = {side: told.mask[positive == side].mean(axis=0) for side in sides}
    most = np.max(list(shares.values()), axis=0)
    order = [u for u in np.argsort(-most, kind="stable") if most[u] > 0][:max_display]
    ax = _axes(ax, 7.0, max(len(order), 1) + 2.4)
    height = 0.78 / len(sides)
    for k, side in enumerate(sides):
        offset = (k - (len(sides) - 1) / 2) * height
        ax.barh(
            np.arange(len(order)) + offset, shares[side][order], height=height * 0.92,
            color=_CLASSES[side],
            label=f"{told.model.classes[side]} ({np.count_nonzero(positive == side)} rows)",
        )  # fmt: skip
    names = told.model.unit_names
    ax.set_yticks(range(len(order)), [_short(names[u]) for u in order])
    ax.set_ylim(max(len(order), 1) - 0.5, -0.5)
    ax.set_xlim(0, 1.02)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
    ax.set_xlabel("rows whose reason holds the feature")
    ax.set_title(f"delta = {told.delta:g}, over {told.distribution}", fontsize=11, loc="left")
    if not order:
        ax.text(0.5, 0.5, "no reason holds a feature", transform=ax.transAxes, ha="center")
    else:
        ax.legend(frameon=False, loc="lower right")
    _plain(ax)
    return ax


def reasons_heatmap(
    reasons: ReasonExplanation, *, ax: Axes | None = None, max_display: int = 20
) -> Axes:
    """Draw which features are in which rows' reasons, rows grouped by class and by size.

    Parameters
    ----------
    reasons : ReasonExplanation
    ax : matplotlib Axes or None, default=None
    max_display : int, default=20
        The most features to draw.

    Returns
    -------
    Axes
        One column a row of data. A cell is empty outside the reason, red where the feature speaks
        for the second class, blue where it speaks for the first; no cell is faint because its
        value is small.
    """
    told = reasons.reasons
    if not len(told):
        raise InvalidInputError(
            "reasons_heatmap needs at least one row, this explanation has none."
        )
    values = np.atleast_2d(reasons.values)
    positive = told.model.is_positive(told.rows)
    often = told.mask.mean(axis=0)
    features = [u for u in np.argsort(-often, kind="stable") if often[u] > 0][:max_display]
    across = np.lexsort((*(~told.mask[:, u] for u in features[::-1]), told.size, positive))
    signs = np.where(told.mask, np.where(values < 0, -1.0, 1.0), np.nan)[across][:, features].T
    ax = _axes(ax, 7.5, max(len(features), 1) + 2.4)
    from matplotlib.colors import ListedColormap

    ax.imshow(
        signs if len(features) else np.full((1, len(told)), np.nan), cmap=ListedColormap(_CLASSES),
        vmin=-1, vmax=1, aspect="auto", interpolation="nearest",
    )  # fmt: skip
    names = told.model.unit_names
    ax.set_yticks(
        range(len(features)), [f"{_short(names[u])}  {100 * often[u]:.0f}%" for u in features]
    )
    split = int(np.count_nonzero(~positive))
    if 0 < split < len(told):
        ax.axvline(split - 0.5, color="black", linewidth=1.2)
    for start, stop, side in ((0, split, 0), (split, len(told), 1)):
        if stop > start:
            ax.text(
                (start + stop - 1) / 2, -0.75, f"{told.model.classes[side]} ({stop - start})",
                ha="center", va="bottom", fontsize=10,
            )  # fmt: skip
    ax.set_xticks([])
    ax.set_xlabel("rows, by class, then by the size of the reason")
    ax.set_title(
        f"delta = {told.delta:g}, over {told.distribution}", fontsize=11, loc="left", pad=22
    )
    for edge in ("top", "right", "bottom"):
        ax.spines[edge].set_visible(False)
    return ax


def _single(reason: ReasonExplanation) -> ReasonExplanation:
    """Return an explanation of one row as a batch of one."""
    instances = np.atleast_1d(reason._s.instance)
    if len(instances) != 1:
        raise InvalidInputError(
            f"waterfall draws one row, this explanation has {len(instances)}. Write reasons[0]."
        )
    if np.ndim(reason.values) == 2:
        return reason
    from sklearn_probsr._explanation import ReasonExplanation

    return ReasonExplanation(
        reason.reasons,
        np.atleast_2d(reason.values),
        np.atleast_1d(reason.base_values),
        np.atleast_2d(reason.data),
        None,
        list(reason.feature_names),
        str(reason.output_names),
    )


def told_classes(one: ReasonExplanation) -> tuple[Any, Any]:
    """Return the two classes that a decision function tells apart."""
    first, second = one.reasons.model.classes
    return first, second


def _title(one: ReasonExplanation) -> str:
    told = one.reasons[0]
    known = told.guarantee
    sure = lower_text(known.lower if known.exact is None else known.exact, 4)
    trust = "" if known.confidence == 1 else f" (confidence {lower_text(known.confidence, 6)})"
    count = {0: "whatever the features are", 1: "given this 1 fact"}
    given = count.get(told.size, f"given these {told.size} facts")
    return (
        f"Class {told.prediction}, kept with probability ≥ {sure}{trust}\n"
        f"{given}, over {told.distribution}"
    )


def _axes(ax: Axes | None, width: float, lines: float) -> Axes:
    """Return the given axes, or new ones with room for so many lines."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, _INCHES * lines), layout="constrained")[1]


def _number(ax: Axes, x: float, y: float, value: float, colour: str) -> None:
    ax.annotate(
        f"{value:+.3g}".replace("-", "\N{MINUS SIGN}"), (x, y), xytext=(4 if value > 0 else -4, 0),
        textcoords="offset points", ha="left" if value > 0 else "right", va="center",
        fontsize=9, color=colour, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip


def _above(ax: Axes, x: float, text: str) -> None:
    ax.annotate(
        text, (x, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
        textcoords="offset points", ha="center", va="bottom", fontsize=8, color=_GREY,
    )  # fmt: skip


def _short(name: str, most: int = 44) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _plain(ax: Axes) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)

"""Curves of guarantees against the number of facts, those of the reason first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._functions import guarantee, guarantee_curve
from sklearn_probsr.explain.pictures import _canvas as canvas
from sklearn_probsr.explain.pictures._canvas import BLUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_probsr.explain._explanation import ReasonExplanation
    from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["curve"]

# More rows than this are drawn as one band of a curve.
_MOST_LINES = 12


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

    batch = canvas.batch(reasons, "curve")
    told = batch.reasons
    most = told.size.max() + 4 if max_size is None else canvas.at_least_one(max_size, "max_size")
    shown = min(int(most), told.model.n_units)
    ax = canvas.axes(ax, 6.4, 9.0)
    bounds = np.array([_along(told, i, shown) for i in range(len(told))])
    lower, upper = bounds[:, 0], bounds[:, 1]
    if len(told) > _MOST_LINES:
        _band(ax, lower)
    else:
        _lines(ax, told, lower, upper, batch.index)
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


def _lines(ax: Axes, told: SufficientReasons, lower: Any, upper: Any, names: Any) -> None:
    sizes = np.arange(lower.shape[1])
    alike: dict[Any, list[int]] = {}
    for i, (row, size) in enumerate(zip(lower, told.size, strict=True)):
        alike.setdefault((row.tobytes(), int(size), str(told.prediction[i])), []).append(i)
    for k, ((_, size, label), rows) in enumerate(alike.items()):
        i, colour = rows[0], BLUE if len(alike) == 1 else f"C{k}"
        ax.fill_between(sizes, lower[i], upper[i], color=colour, alpha=0.25, linewidth=0)
        ax.plot(sizes, lower[i], color=colour, marker=".", linewidth=1.4)
        whose = f"row{'s' if len(rows) > 1 else ''} {', '.join(str(names[i]) for i in rows)}"
        facts = "1 fact" if size == 1 else f"{size} facts"
        ax.plot(
            size, told.lower[i], "o", color=colour, markersize=9, markeredgecolor="white",
            label=f"{'reason' if len(told) == 1 else whose}: {canvas.short(label, 24)}, {facts}",
        )  # fmt: skip

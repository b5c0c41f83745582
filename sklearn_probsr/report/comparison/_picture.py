"""The picture of a comparison: how many features, how sure, and which."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.explain.pictures import _canvas as canvas
from sklearn_probsr.explain.pictures._canvas import BLUE, GREY, PALE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


from sklearn_probsr.report.comparison._compared import Compared, known_sizes

__all__ = ["draw"]

# Reasons are red, SHAP is grey, other methods have colours of their own.
_SURE = "#ff9fb8"
_OTHERS = (BLUE, "#00a88f", "#8a63ff", "#e08a00")
_MOST_FEATURES = 10
# Sizes are counted one by one up to this many, then in groups.
_MOST_BINS = 40
_LEAST_WIDTH = 8
# More rows than this are drawn as lines instead of dots.
_MOST_DOTS, _FEW_DOTS = 300, 30


def draw(comparison: Compared, note: str = "") -> Figure:
    """Draw sizes side by side, guarantees of the top SHAP features, and ranks; a note above."""
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    n = len(comparison)
    space = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.06)
    figure, axes = plt.subplots(
        1, 3, figsize=(13, 4.5 + 0.7 * len(comparison.others)), width_ratios=[1, 1, 0.9],
        layout=space,
    )  # fmt: skip
    for ax, panel in zip(axes, (_sizes, _guarantees, _features), strict=True):
        if n:
            panel(comparison, ax)
            canvas.plain(ax)
        else:
            ax.set_axis_off()
    if not n:
        axes[1].text(0.5, 0.5, "no rows to compare", ha="center", va="center", color=GREY)
    rows = "1 row" if n == 1 else f"{n} rows"
    figure.suptitle(
        canvas.drawable(f"{rows}, delta = {comparison.delta:g}, over {comparison.distribution}")
        + (f"\n{note}" if note else ""),
        x=0.008, ha="left", fontsize=10, color=GREY,
    )  # fmt: skip
    return figure


def _sizes(comparison: Compared, ax: Axes) -> None:
    """Draw how many rows need how many features, one lane for each way to choose them."""
    lanes = [
        ("the reason", "reason_size", RED),
        ("by SHAP\ntowards the class", "signed_shap_size", PALE),
        ("by |SHAP|", "abs_shap_size", GREY),
        ("for certain", "sure_size", _SURE),
        *((canvas.short(name, 18), f"{name}_size", c) for name, c in _others(comparison)),
    ]
    known = {name: known_sizes(comparison.table[name]) for _, name, _ in lanes}
    lanes = [lane for lane in lanes if len(known[lane[1]])]
    most = max(int(known[name].max()) for _, name, _ in lanes)
    step = 1 + most // _MOST_BINS
    edges = np.arange(0, most + step + 1, step) - 0.5
    for at, (_, name, colour) in enumerate(lanes):
        sizes = known[name]
        counts, _ = np.histogram(sizes, edges)
        heights = 0.68 * counts / counts.max()
        ax.bar(edges[:-1] + step / 2, -heights, 0.86 * step, bottom=at, color=colour)
        ax.axhline(at, color=PALE, linewidth=0.6)
        middle = float(np.median(sizes))
        ax.plot([middle, middle], [at, at + 0.09], color="black", linewidth=1.4)
        ax.annotate(
            f"{middle:g}", (middle, at + 0.09), xytext=(0, -1), textcoords="offset points",
            ha="center", va="top", fontsize=9,
        )  # fmt: skip
    ax.set_yticks([at - 0.24 for at in range(len(lanes))], [label for label, *_ in lanes])
    ax.set_ylim(len(lanes) - 0.66, -0.86)
    ax.set_xlim(-0.7 * step, max(float(edges[-1]), _LEAST_WIDTH) + 0.7 * step)
    ax.xaxis.set_major_locator(_whole())
    ax.set_xlabel("features needed (number: median)")
    canvas.title(ax, ["How many features?"], pad=8)
    ax.spines["left"].set_visible(False)


def _guarantees(comparison: Compared, ax: Axes) -> None:
    """Draw what the reason keeps in every row, and as many features by other choices."""
    n, delta = len(comparison), comparison.delta
    ours, top, signed = (
        comparison.table[f"{name}guarantee_lower"] for name in ("", "top_shap_", "signed_shap_")
    )
    series = [
        ("the reason", ours, RED),
        ("by signed SHAP", signed, PALE),
        ("as many by |SHAP|", top, GREY),
    ]
    for name, colour in _others(comparison):
        series.append((canvas.short(name, 18), comparison.table[f"{name}_guarantee_lower"], colour))
    order = np.lexsort((ours, top))
    places = np.arange(1, n + 1)
    large = 8 if n <= _FEW_DOTS else 5
    for k, (name, known, colour) in enumerate(series):
        if n > _MOST_DOTS:
            style: dict[str, Any] = {"linewidth": 1.2}
        else:  # smaller ones on top, so that equal ones are both seen
            size = large if k == 0 else 0.72 * large
            style = {"linestyle": "none", "marker": "o", "markersize": size, "markeredgewidth": 0}
        style |= {"color": colour, "label": name, "zorder": 3 + k}
        ax.plot(places, known[order], clip_on=False, **style)
    ax.axhline(delta, color="black", linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    lowest = min(float(known.min()) for _, known, _ in series)
    low = max(min(lowest, delta) - 0.06, 0.0)
    ax.set_ylim(low, 1 + 0.03 * (1 - low))
    ax.set_xlim(0.5 - 0.01 * n, n + 0.5 + 0.01 * n)
    ax.xaxis.set_major_locator(_whole())
    ax.set_xlabel("rows, by what |SHAP| keeps")
    ax.set_ylabel("probability that the class is kept")
    ax.legend(
        frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, borderpad=0,
        handletextpad=0.3, columnspacing=1.2,
    )  # fmt: skip
    reach, reach_signed = (int(np.count_nonzero(known >= delta)) for known in (top, signed))
    told = f"How sure? By |SHAP| {reach}, signed {reach_signed} of {n}"
    canvas.title(ax, [told], pad=8)


def _features(comparison: Compared, ax: Axes) -> None:
    """Draw how often features are in reasons beside how large their SHAP values are."""
    table = comparison.features().iloc[: len(comparison.feature_names)]  # of all classes
    often, mean = table["in_reason"].to_numpy(), table["mean_abs_shap"].to_numpy()
    ranks = table["rank_by_reason"].to_numpy(), table["rank_by_shap"].to_numpy()
    shown = _first_by_either(often, mean)
    for k, (values, colour) in enumerate(((often, RED), (mean / (mean.max() or 1.0), GREY))):
        places = np.arange(len(shown)) + (k - 0.5) * 0.38
        ax.barh(places, values[shown], 0.36, color=colour)
        for place, u in zip(places, shown, strict=True):
            ax.annotate(
                f"{ranks[k][u]}", (values[u], place), xytext=(3, 0), textcoords="offset points",
                va="center", fontsize=8, color=colour,
            )  # fmt: skip
    names = [canvas.short(comparison.feature_names[u], 30) for u in shown]
    ax.set_yticks(range(len(shown)), names)
    ax.set_ylim(max(len(shown), 3) - 0.4, -0.6)
    ax.set_xlim(0, 1.06)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
    ax.set_xlabel("red: share of reasons that hold it\ngrey: mean |SHAP|, of the largest")
    canvas.title(ax, ["Which features? With their ranks"], pad=8)


def _first_by_either(often: NDArray[np.float64], mean: NDArray[np.float64]) -> list[int]:
    """Return the first features of both rankings in turn, then by how often they are in reasons."""
    rankings = (np.argsort(-values, kind="stable") for values in (often, mean))
    turns = [int(u) for pair in zip(*rankings, strict=True) for u in pair]
    first = list(dict.fromkeys(turns))[:_MOST_FEATURES]
    return sorted(first, key=lambda u: (-often[u], -mean[u]))


def _others(comparison: Compared) -> zip[tuple[str, str]]:
    """Return the names of other methods, each with its colour."""
    return zip(comparison.others, cycle(_OTHERS), strict=False)


def _whole() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True, min_n_ticks=1)

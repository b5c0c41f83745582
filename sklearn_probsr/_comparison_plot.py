"""The picture of a comparison: how many features, how sure, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sklearn_probsr._comparison import Comparison

__all__ = ["draw"]

_REASON, _SHAP, _SIGNED = "#008bfb", "#ff0051", "#ffa6c0"
_LABELLED = 6


def draw(comparison: Comparison) -> Figure:
    """Draw sizes side by side, guarantees of the top SHAP features, and ranks."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    if len(comparison):
        _sizes(comparison, axes[0])
        _guarantees(comparison, axes[1])
        _ranks(comparison, axes[2])
    for ax in axes:
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    figure.suptitle(
        f"{len(comparison)} rows, delta = {comparison.delta:g}, over {comparison.distribution}",
        x=0.01, ha="left", fontsize=11,
    )  # fmt: skip
    return figure


def _sizes(comparison: Comparison, ax: Axes) -> None:
    columns = {
        "reason": ("reason_size", _REASON),
        "by SHAP towards\nthe prediction": ("signed_shap_size", _SIGNED),
        "by |SHAP|": ("abs_shap_size", _SHAP),
        "for certain": ("sure_size", "#bbbbbb"),
    }
    for at, (name, colour) in enumerate(columns.values()):
        values = comparison.table[name]
        low, middle, high = np.percentile(values, [25, 50, 75])
        ax.plot([at, at], [values.min(), values.max()], color=colour, linewidth=1.2)
        ax.bar(at, max(high - low, 0.12), bottom=low, width=0.55, color=colour)
        ax.plot([at - 0.28, at + 0.28], [middle, middle], color="black", linewidth=1.6)
        ax.annotate(
            f"{middle:g}", (at + 0.31, middle), va="center", fontsize=9, annotation_clip=False
        )
    ax.set_xticks(range(len(columns)), list(columns), fontsize=9)
    ax.set_xlim(-0.6, len(columns) - 0.3)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("features")
    ax.set_title("Features needed (range, middle half, median)", fontsize=10, loc="left")


def _guarantees(comparison: Comparison, ax: Axes) -> None:
    ours = comparison.table["guarantee_lower"]
    top = comparison.table["top_shap_guarantee_lower"]
    ax.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.9, zorder=0)
    ax.axvline(comparison.delta, color="black", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    ax.axhline(comparison.delta, color="black", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    ax.scatter(ours, top, s=16, color=_SHAP, alpha=0.55, edgecolors="none")
    low = min(float(ours.min()), comparison.delta)
    ax.set_xlim(low - 0.02 * (1.01 - low), 1 + 0.04 * (1.01 - low))
    ax.set_ylim(min(float(top.min()) - 0.03, low), 1.02)
    short = np.mean(top < comparison.delta)
    ax.set_xlabel("guarantee of the reason")
    ax.set_ylabel("of as many features, by |SHAP|")
    ax.set_title(f"{100 * short:.0f}% of the rows fall short by |SHAP|", fontsize=10, loc="left")


def _ranks(comparison: Comparison, ax: Axes) -> None:
    often = comparison.mask.mean(axis=0)
    mean = np.abs(comparison.shap_values).mean(axis=0)
    share = mean / (mean.max() or 1.0)
    ax.scatter(share, often, s=22, color=_REASON, alpha=0.7, edgecolors="none")
    telling = np.argsort(-(often + share), kind="stable")[:_LABELLED]
    free = 1.1
    for u in sorted(telling, key=lambda u: (-often[u], share[u])):
        free = min(float(often[u]), free - 0.055)  # labels do not overlap
        ax.annotate(
            comparison.feature_names[u], (share[u], often[u]), xytext=(1.06, free),
            textcoords="data", fontsize=8, va="center",
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "linewidth": 0.6},
        )  # fmt: skip
    ax.set_xlim(-0.03, 1.62)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
    ax.set_ylim(-0.03, 1.06)
    ax.set_xlabel("mean |SHAP|, of the largest")
    ax.set_ylabel("share of reasons that hold it")
    ax.set_title("Which features: SHAP against reasons", fontsize=10, loc="left")

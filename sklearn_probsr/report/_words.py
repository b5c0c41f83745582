"""Comparisons in words: a summary, and a table for Markdown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model._enclosure import lower_text
from sklearn_probsr.report._compared import Compared
from sklearn_probsr.results._inert import markdown

__all__ = ["summary", "table_in_markdown"]

# People take in about so many facts at once.
_FEW = 7


def summary(found: Compared) -> str:
    """Say in plain words what a comparison without flagged rows says."""
    n, table = len(found), found.table
    head = f"{n} row{'s' if n != 1 else ''}, delta = {found.delta:g}, over {found.distribution}."
    if found.left_out:
        head += f"\n{found.left_out}"
    if not n:
        return head
    size, top = table["reason_size"], table["top_shap_guarantee_lower"]
    short = np.mean(size <= _FEW)
    proved = np.mean(table["minimality"] == "minimum")
    enough = np.mean(top >= found.delta)
    certain = ""
    if "sure_size" not in found.missing:
        certain = f"; to be certain, {_middle(table['sure_size'])}"
    lines = [
        head,
        f"A reason has {_middle(size)} features of {len(found.feature_names)}; {_share(short)} "
        f"have at most {_FEW}. {_share(proved)} are proved to be as small as possible.",
        f"By |SHAP| one must show {_middle(table['abs_shap_size'])} features to be as sure, by "
        f"SHAP value towards the prediction {_middle(table['signed_shap_size'])}{certain}.",
        f"Stopping at as many features as the reason has, those with the largest |SHAP| keep "
        f"the class in {_least(np.median(top))} (median); {_share(enough)} of the rows "
        f"reach {found.delta:g}.",
        f"They share {_share(np.mean(table['overlap']))} of their features with the reason "
        f"(mean Jaccard overlap); {np.mean(table['hurting']):.1f} of them speak against the "
        "prediction.",
    ]
    for word, meaning in (
        ("independent", "If the features were independent, the reasons' guarantees would be"),
        ("joint", "In the rows themselves, where features go together, the guarantees are"),
    ):
        if f"{word}_guarantee_lower" in table:
            median = np.median(table[f"{word}_guarantee_lower"])
            low = np.min(table[f"{word}_guarantee_lower"])
            lines.append(f"{meaning} {_least(median)} (median), {_least(low)} at worst.")
    for name in found.others:
        known = table[f"{name}_guarantee_lower"]
        lines.append(
            f"{name}: {_middle(table[f'{name}_size'])} features, which keep the class in "
            f"{_least(np.median(known))} (median); {_share(np.mean(known >= found.delta))} of "
            f"the rows reach {found.delta:g}."
        )
    lines += [f"{name} is missing: {reason}" for name, reason in found.missing.items()]
    return "\n".join(lines)


def table_in_markdown(found: Compared, max_rows: int, flagged: bool) -> str:
    """Return the summary and the first rows; if some are flagged, with their messages."""
    names = [
        "prediction", "reason", "reason_size", "guarantee_lower", "minimality",
        "abs_shap_size", "top_shap_guarantee_lower", "overlap", "hurting",
    ]  # fmt: skip
    if flagged:
        names += ["status", "message"]
    # The summary has bars of its own, around SHAP, and stands in no cell.
    words = [markdown(line).replace("&#124;", "|") for line in found.summary().split("\n")]
    lines = [*words, "", f"| row | {' | '.join(names)} |"]
    lines.append("|" + " --- |" * (len(names) + 1))
    for i in range(min(len(found), max_rows)):
        cells = [_cell(name, found.table[name][i]) for name in names]
        lines.append(f"| {_label(found.index[i])} | {' | '.join(cells)} |")
    if len(found) > max_rows:
        lines.append(f"\n{len(found) - max_rows} more rows.")
    return "\n".join(lines)


def _middle(sizes: NDArray[Any]) -> str:
    return f"{np.median(sizes):g} (median, {sizes.min()} to {sizes.max()})"


def _share(value: Any) -> str:
    return f"{100 * float(value):.0f}%"


def _least(value: Any) -> str:
    return lower_text(float(value), 4)


def _cell(name: str, value: Any) -> str:
    if name == "reason":
        return ", ".join(markdown(str(v)) for v in value)
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if name.endswith("lower"):
        return lower_text(float(value), 4)
    return markdown(f"{value:.3g}" if isinstance(value, float) else str(value))


def _label(value: Any) -> str:
    """Return what a row is called, in a cell."""
    parts = value if isinstance(value, tuple) else (value,)
    return markdown(", ".join(map(str, parts)))

"""Comparisons in words: a summary, and a table for Markdown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.model.numbers import exact_text
from sklearn_probsr.report.comparison._compared import Compared, known_sizes
from sklearn_probsr.report.comparison._row_names import ids_of
from sklearn_probsr.report.comparison._shared_members import COUNTS
from sklearn_probsr.results._inert_text import markdown
from sklearn_probsr.results._listed import count, joined

__all__ = ["cell", "summary", "table_in_markdown"]

# People take in about so many facts at once.
_FEW = 7
# What stands beside the size of a reason.
_ORDERS = ("abs_shap", "signed_shap", "sure")
# Whose guarantees are told, all of the same size.
_SETS = {
    "guarantee": "The reason keeps",
    "top_shap_guarantee": "As many features by |SHAP| keep",
    "signed_shap_guarantee": "As many by SHAP value towards the prediction keep",
}


def summary(found: Compared) -> str:
    """Say in plain words what a comparison without flagged rows says."""
    n, table = len(found), found.table
    head = f"{count(n, 'row')}, delta = {exact_text(found.delta)}, over {found.distribution}."
    if found.left_out:
        head += f"\n{found.left_out}"
    if not n:
        return head
    size = table["reason_size"]
    short = f"; {_share(np.mean(size <= _FEW))} have at most {_FEW}"
    proved = np.mean(table["minimality"] == "minimum")
    lines, cost = [head], table.get("cost")
    if found.rules:
        best = np.mean(table["minimality"] == "best-of-size")
        reach = f"no set found so surely reaches {exact_text(found.delta)}"
        but = f"; in {_share(best)} of the rows {reach}" if best else ""
        lines.append(f"{found.rules}{but}.")
    may_be = "that allows" if found.scope.words(sized=True) else "possible"
    lines += [
        f"A reason has {_middle(size)} features of {len(found.feature_names):,}"
        f"{short if len(found.feature_names) > _FEW else ''}. {_share(proved)} are proved to be as "
        f"{'small' if cost is None else 'cheap'} as {may_be}.",
        *_beside(found),
        *(
            f"{what} the class in {_kept(table[f'{word}_lower'], found.delta)}."
            for word, what in _SETS.items()
        ),
        f"Those by |SHAP| share {_share(np.mean(table['overlap']))} of their features with the "
        f"reason (mean Jaccard overlap); {np.mean(table['hurting']):.1f} of them speak against "
        "the prediction.",
    ]
    lines += _shared(found)
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
            f"the rows reach {exact_text(found.delta)}."
        )
    lines += [f"{name} is missing: {reason}" for name, reason in found.missing.items()]
    return "\n".join(lines)


def _beside(found: Compared) -> list[str]:
    """Say how many features other orders take, as far as there are rows in which they do."""
    sizes = {name: known_sizes(found.table[f"{name}_size"]) for name in _ORDERS}
    if not len(sizes["abs_shap"]) or not len(sizes["signed_shap"]):
        return []
    certain = f"; to be certain, {_middle(sizes['sure'])}" if len(sizes["sure"]) else ""
    return [
        f"By |SHAP| one must show {_middle(sizes['abs_shap'])} features to be as sure, by "
        f"SHAP value towards the prediction {_middle(sizes['signed_shap'])}{certain}."
    ]


def _shared(found: Compared) -> list[str]:
    """Say how many features all minimum reasons of a row share, if somebody asked."""
    if found.shared is None:
        return []
    every, some = (known_sizes(found.table[name]) for name in COUNTS)
    if not len(every) or not len(some):
        return []
    size = f"that size{found.scope.words()}"
    return [f"In every reason of {size} are {_middle(every)} features, in some {_middle(some)}."]


def table_in_markdown(found: Compared, max_rows: int, flagged: bool) -> str:
    """Return the summary and the first rows; if some are flagged, with their messages."""
    names = [
        "prediction", "reason", "reason_size", "guarantee_lower", "minimality",
        "abs_shap_size", "top_shap_guarantee_lower", "overlap", "hurting",
        *(COUNTS if found.shared is not None else ()),
        *(name for name in ("cost",) if name in found.table),
    ]  # fmt: skip
    if flagged:
        names += ["status", "message"]
    # The summary has bars of its own, around SHAP, and stands in no cell.
    words = [markdown(line).replace("&#124;", "|") for line in found.summary().split("\n")]
    called, labels = "row", [str(i) for i in range(len(found))]
    if (ids := ids_of(found)) is not None:
        called, labels = markdown(ids.name), [markdown(str(label)) for label in ids.labels]
    lines = [*words, "", f"| {called} | {' | '.join(names)} |"]
    lines.append("|" + " --- |" * (len(names) + 1))
    for i in range(min(len(found), max_rows)):
        cells = [markdown(cell(name, found.table[name][i])) for name in names]
        lines.append(f"| {labels[i]} | {' | '.join(cells)} |")
    if len(found) > max_rows:
        lines.append(f"\n{count(len(found) - max_rows, 'more row')}.")
    return "\n".join(lines)


def _middle(sizes: NDArray[Any]) -> str:
    return f"{np.median(sizes):g} (median, {sizes.min():g} to {sizes.max():g})"


def _kept(lower: NDArray[np.float64], delta: float) -> str:
    """Say how often features keep the class: in the middle, at worst, and enough in how many."""
    return (
        f"{_least(np.median(lower))} (median), {_least(lower.min())} at worst; "
        f"{_share(np.mean(lower >= delta))} of the rows reach {exact_text(delta)}"
    )


def _share(value: Any) -> str:
    return f"{100 * float(value):.0f}%"


def _least(value: Any) -> str:
    return lower_text(float(value), 4)


def cell(name: str, value: Any) -> str:
    """Return a cell of the table as text."""
    if name == "reason":
        return joined(list(map(str, value)))
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if name.endswith("lower"):
        return lower_text(float(value), 4)
    return f"{value:.3g}" if isinstance(value, float) else str(value)

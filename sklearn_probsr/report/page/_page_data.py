"""The page's data: what its script reads of every row, in few digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.numbers import value_text, without_rounding
from sklearn_probsr.report.comparison._compared import Compared
from sklearn_probsr.report.comparison._row_names import ids_of
from sklearn_probsr.report.comparison._shared_members import COUNTS, roles
from sklearn_probsr.report.comparison._wide_tables import sum_by_column
from sklearn_probsr.report.page._headings import (
    SIZES,
    has_size,
    messages_of,
    percent,
    status_of,
)
from sklearn_probsr.results._inert_text import visible
from sklearn_probsr.results._sentence import template

__all__ = ["page_data"]
# Bars of a row: the largest SHAP values, and whatever is in one of its reasons.
_BARS = 12
# Of more features than these the page holds those that some row shows, and the largest.
_MANY, _LARGEST = 4096, 100
# Guarantees are written as whole parts of this, rounded down.
_PARTS = 10_000


def page_data(comparison: Compared, columns: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the script of the page reads."""
    table, growth = comparison.table, comparison.growth
    classes = [visible(str(label)) for label in comparison.classes]
    held: dict[str, list[Any]] = {
        key: _wholes(table[name]) for key, name in SIZES.items() if has_size(comparison, key)
    }
    held |= {
        "hurting": _wholes(table["hurting"]),
        "top": _parts(table["top_shap_guarantee_lower"]),
        "overlap": _short(table["overlap"]),
        "share": _short(table["shap_share"]),
        "margin": _short(table["margin"]),
    }
    if "probability" in table:
        held["probability"] = [
            # What is not certain is not told as certain.
            None if np.isnan(v) else _rounded(v if v == 1 else min(v, 0.999999), 6)
            for v in table["probability"].tolist()
        ]
    if "true_class" in table:
        held["true"] = [None if v is None else visible(str(v)) for v in table["true_class"]]
    for word in ("independent", "joint"):
        if f"{word}_guarantee_lower" in table:
            held[word] = _parts(table[f"{word}_guarantee_lower"])
    for k, name in enumerate(comparison.others):
        held[f"other-{k}-size"] = _wholes(table[f"{name}_size"])
        held[f"other-{k}-lower"] = _parts(table[f"{name}_guarantee_lower"])
    if comparison.shared is not None:
        held |= {key: _wholes(table[n]) for key, n in zip(("every", "some"), COUNTS, strict=True)}
    each = zip(growth.minimality.ravel().tolist(), growth.refuted.ravel().tolist(), strict=True)
    words = sorted(set(each))
    rows = [row for piece in comparison.pieces() for row in _rows(piece, words)]
    mean = sum_by_column(comparison.held("shap_values"), np.ones(len(comparison), np.bool_))
    kept = _kept(rows, mean)
    return {
        "features": [visible(comparison.feature_names[u]) for u in kept],
        "count": len(comparison.feature_names),
        "classes": classes,
        "distribution": visible(comparison.distribution),
        "delta": comparison.delta,
        "deltaText": percent(comparison.delta),
        "levels": growth.levels,
        "words": [word for word, _ in words],
        "claims": [_claim(comparison, *word) for word in words],
        "meanShap": _short(mean[kept] / len(comparison)),
        "table": columns,
        "columns": held,
        **_called(comparison),
        "short": (table["top_shap_guarantee_lower"] < comparison.delta).astype(int).tolist(),
        "rows": rows,
    }


def _kept(rows: list[dict[str, Any]], mean: NDArray[np.float64]) -> list[int]:
    """Return which features the page holds: all, or of many those that it may show.

    Those are what is listed in some row, and the largest SHAP values. Rows then number them so.
    """
    if len(mean) <= _MANY:
        return list(range(len(mean)))
    largest = np.argsort(-mean, kind="stable")[:_LARGEST].tolist()
    kept = sorted({unit for row in rows for unit in row["units"][::3]} | {*largest})
    places = {unit: place for place, unit in enumerate(kept)}
    for row in rows:
        row["units"][::3] = [places[unit] for unit in row["units"][::3]]
    return kept


def _called(comparison: Compared) -> dict[str, Any]:
    """Return what rows are called, and how they ended, where that is not said by their place."""
    held: dict[str, Any] = {}
    ids, status = ids_of(comparison), status_of(comparison)
    if ids is not None:
        # Beyond this, whole numbers of a script are not exact.
        numbers = all(type(label) is int and abs(label) < 2**53 for label in ids.labels)
        held["ids"] = ids.labels if numbers else [visible(str(label)) for label in ids.labels]
        held["idName"] = visible(ids.name)
    if any(word != "ok" for word in status):
        held["status"], held["message"] = status, messages_of(comparison)
    return held


def _claim(comparison: Compared, word: str, refuted: bool) -> str:
    """Return what a word claims, without the numbers that differ from row to row."""
    reached = f"{{delta}} is not {'reached' if refuted else 'proved'}"
    told = template(word, comparison.scope, "cost" in comparison.table, reached=reached)
    for verb in ("reaches", "reach"):
        told = told.replace(f"{verb} {{delta}} + {{epsilon}}", "is known to reach {delta}")
    return visible(told)


def _rows(comparison: Compared, words: list[tuple[str, bool]]) -> list[dict[str, Any]]:
    """Return each row's features, those with the largest SHAP values first, and its reasons."""
    growth, shap_values = comparison.growth, without_rounding(comparison.shap_values)
    n, width = shap_values.shape
    order = np.argsort(-np.abs(shap_values), axis=1, kind="stable")
    # From here on features are in that order.
    sets = np.take_along_axis(growth.mask, order[None], axis=2)
    listed = sets.any(axis=0) | (np.arange(width) < _BARS)
    units = order[listed]
    of_row = np.repeat(np.arange(n), listed.sum(axis=1))
    effects = _short(shap_values[of_row, units])
    cells = [_plain(value) for value in comparison.values[of_row, units].tolist()]
    flat = [part for three in zip(units.tolist(), effects, cells, strict=True) for part in three]
    ends = [0, *(3 * listed.sum(axis=1).cumsum()).tolist()]
    rest = _short(np.where(listed, 0.0, np.take_along_axis(shap_values, order, axis=1)).sum(axis=1))
    places = listed.cumsum(axis=1) - 1
    changes = _changes(sets, places)
    against = np.take_along_axis(growth.against, order, axis=1)
    lower = np.array([_parts(level) for level in growth.lower]).T.tolist()
    claimed: NDArray[np.intp] = np.zeros(growth.minimality.shape, dtype=np.intp)
    for k, (word, refuted) in enumerate(words):
        claimed[(growth.minimality == word) & (growth.refuted == refuted)] = k
    proved = claimed.T.tolist()
    known = {label: k for k, label in enumerate(comparison.classes)}
    won = [known.get(label, -1) for label in comparison.table["prediction"].tolist()]
    others = (~listed).sum(axis=1).tolist()
    shared = roles(comparison, order, listed, status_of(comparison))
    return [
        {
            "class": won[i],
            "units": flat[ends[i] : ends[i + 1]],
            "others": others[i],
            "rest": rest[i],
            "sets": changes[i],
            "lower": lower[i],
            "proved": proved[i],
            "against": places[i, against[i]].tolist(),
            **shared[i],
        }
        for i in range(n)
    ]


def _changes(sets: NDArray[np.bool_], places: NDArray[np.intp]) -> list[list[list[int]]]:
    """Return, row by row, the places that join or leave its set from level to level."""
    changed = np.diff(sets, axis=0, prepend=False).transpose(1, 0, 2)
    of_row, _, column = changed.nonzero()
    flat = places[of_row, column].tolist()
    ends = changed.sum(axis=2).cumsum().tolist()
    parts = [flat[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    levels = len(sets)
    return [parts[levels * i : levels * (i + 1)] for i in range(len(places))]


def _wholes(sizes: NDArray[Any]) -> list[int | None]:
    """Return sizes, None where there are none."""
    return [None if np.isnan(size) else int(size) for size in sizes.tolist()]


def _parts(lower: NDArray[np.float64]) -> list[int]:
    """Return lower bounds in whole parts, rounded down; 0 where nothing is known."""
    lower = np.nan_to_num(lower)
    parts = np.floor(lower * _PARTS + 1e-6)  # 0.57 is 5700 parts, though its product is less
    whole: list[int] = (parts - (parts / _PARTS > lower)).astype(np.int64).tolist()
    return whole


def _short(values: NDArray[np.float64]) -> list[float]:
    """Return numbers to four digits, whole ones as such; infinities become large."""
    finite: list[float] = np.nan_to_num(values).tolist()
    return [_rounded(value, 4) for value in finite]


def _rounded(value: float, digits: int) -> float:
    if value.is_integer() and abs(value) < 10**15:
        return int(value)
    return float(f"{value:.{digits}g}")


def _plain(value: Any) -> Any:
    """Return a value as the page shows it: a number with the digits that words have, or text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isfinite(value):
        return _rounded(float(value_text(value)), 17)
    if isinstance(value, int) and abs(value) < 2**53:
        return int(value)
    return visible(str(value))

"""Spoken reasons: those of single rows, as a terminal shows them or as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_probsr.cli._case import Case
from sklearn_probsr.cli._class_labels import label_text
from sklearn_probsr.cli._terminal_text import one_line
from sklearn_probsr.explain._explanation import ReasonExplanation
from sklearn_probsr.model.numbers import value_text, without_rounding
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["explain", "flagged", "to_json", "to_text"]

# So many features are shown beside those of the reason.
_SHOWN = 10


def explain(case: Case, rows: Sequence[int]) -> dict[str, Any]:
    """Return what there is to say about some rows, in values that JSON has."""
    explainer = case.explainer()
    found = explainer(case.rows.iloc[list(rows)])
    flags = _flags(found)
    model, reasons = explainer.linear_model, found.reasons
    shap_values, base = found.of_prediction().values, explainer.expected_value
    base = base if len(model.classes) == 2 else base.tolist()
    request = case.request
    return {
        "model": str(request.model),
        "data": str(request.data),
        "background": str(request.background or request.data),
        "distribution": str(explainer.distribution),
        "delta": request.delta,
        **request.told_costs,
        **reasons.scope.column,
        "classes": [_plain(label) for label in model.classes],
        "base_value": base,
        **({} if case.ids is None else {"id": str(case.ids.name)}),
        "rows": [
            {
                "row": row,
                **({} if case.ids is None else {"id": _plain(case.ids[row])}),
                **({} if case.truth is None else {"truth": _plain(case.truth.iat[row])}),
                **flags[i],
                **_reason(found, reasons, shap_values[i], i, flags[i]),
            }
            for i, row in enumerate(rows)
        ],
    }


def _flags(found: ReasonExplanation) -> list[dict[str, Any]]:
    """Return how each row ended, and what there is to say of it, where that is known."""
    table = found.to_frame()
    if "status" not in table:
        return [{}] * len(table)
    told = zip(table["status"], table["message"], strict=True)
    return [
        {"status": str(status), "message": text if isinstance(text, str) else ""}
        for status, text in told
    ]


def flagged(told: dict[str, Any]) -> bool:
    """Whether there are rows without a reason."""
    return any(row.get("status", "ok") != "ok" for row in told["rows"])


def _reason(
    found: ReasonExplanation,
    reasons: SufficientReasons,
    shap_values: Any,
    i: int,
    flag: dict[str, Any],
) -> dict[str, Any]:
    if flag.get("status") == "invalid":  # there is nothing that could be said of it
        return {
            "prediction": None,
            "sentence": flag["message"],
            "reason": [],
            "facts": [],
            "guarantee": {"lower": 0.0, "upper": 1.0, "text": "[0, 1]"},
            "minimality": "",
            "size_lower": 0,
            "epsilon": 0.0,
            "features": [],
        }
    reason = reasons[i]
    shown = found.data[i] if found.display_data is None else found.display_data[i]
    inside = set(reason.features)
    return {
        "prediction": _plain(reason.prediction),
        "sentence": str(reason),
        "reason": list(reason.feature_names),
        "facts": list(reason.facts),
        "guarantee": {
            "lower": reason.guarantee.lower,
            "upper": reason.guarantee.upper,
            "text": str(reason.guarantee),
        },
        "minimality": reason.minimality,
        "size_lower": reason.size_lower,
        **({"cost": reason.cost, "cost_lower": reason.cost_lower} if reason.priced else {}),
        "epsilon": reason.epsilon,
        "features": [
            {
                "feature": found.feature_names[j],
                "value": _plain(shown[j]),
                "shap_value": _plain(shap_values[j]),
                "in_reason": j in inside,
            }
            for j in np.argsort(-np.abs(shap_values), kind="stable").tolist()
        ],
    }


def _plain(value: Any) -> Any:
    """Return a value that JSON has; what is no number is null."""
    import pandas as pd

    value = value.item() if isinstance(value, np.generic) else value
    if value is pd.NaT or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def to_json(told: dict[str, Any]) -> str:
    """Return it as JSON, in which nothing steers a terminal."""
    text = json.dumps(told, indent=2, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def to_text(told: dict[str, Any]) -> str:
    """Return it as a person reads it."""
    return "\n\n".join(_row(told, row) for row in told["rows"])


def _row(told: dict[str, Any], row: dict[str, Any]) -> str:
    """Say it of one row; the texts in it, which are somebody else's, each in one line."""
    called = f" ({one_line(told['id'])} {one_line(str(row['id']))})" if "id" in row else ""
    head = f"Row {row['row']}{called} of {one_line(told['data'])}:"
    status, message = row.get("status", "ok"), one_line(row.get("message", ""))
    if status == "invalid":
        return f"{head} {status}. {message}"
    said, truth, classes = row["prediction"], "", told["classes"]
    rather, towards, base = "", said, told["base_value"]
    if len(classes) == 2:
        rather = f" rather than {one_line(str(classes[said == classes[0]]))}"
        towards = classes[1]
    else:
        base = base[classes.index(said)]
    if row.get("truth") is not None:
        known = label_text(row["truth"])
        truth = f", {'and' if known == label_text(said) else 'but'} it is {one_line(known)}"
    those = f", among sets {told['scope']}" if "scope" in told else ""
    # Of several classes no number is where the class changes.
    zero = "; at 0 the class changes" if len(classes) == 2 else ""
    lines = [
        f"{head} called {one_line(str(said))}{rather}{truth}.",
        *([] if status == "ok" else [f"It is {status}: {message}"]),
        one_line(row["sentence"]),
        f"Guarantee: {row['guarantee']['text']}. Minimality: {row['minimality']}{those}.",
        "",
        *_table(row["features"]),
        f"  SHAP values above 0 are towards {one_line(str(towards))}, from {base:.4g} on "
        f"average{zero}.",
    ]
    return "\n".join(lines)


def _table(features: list[dict[str, Any]]) -> list[str]:
    told = without_rounding(np.array([f["shap_value"] or 0.0 for f in features])).tolist()
    shown = [
        (f, value)
        for k, (f, value) in enumerate(zip(features, told, strict=True))
        if k < _SHOWN or f["in_reason"]
    ]
    cells = [("feature", "value", "SHAP value", "")]
    cells += [
        (
            one_line(str(f["feature"])),
            _shown(f["value"]),
            "" if f["shap_value"] is None else f"{value:+.4g}",
            "in the reason" if f["in_reason"] else "",
        )
        for f, value in shown
    ]
    wide = [max(len(row[k]) for row in cells) for k in range(3)]
    lines = [
        f"  {a:<{wide[0]}}  {b:>{wide[1]}}  {c:>{wide[2]}}  {d}".rstrip() for a, b, c, d in cells
    ]
    left = len(features) - len(shown)
    return lines + ([f"  and {left} more, with smaller SHAP values"] if left else [])


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    text = one_line(value_text(value))
    return text if len(text) <= 24 else f"{text[:21]}..."

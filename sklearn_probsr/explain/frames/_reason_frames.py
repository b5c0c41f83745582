"""Reasons as frames: one line a row, and what each feature adds to the guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.results._listed import Names, joined
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["cost_columns", "gains", "table"]

# Width to which a guarantee on the way to a reason is computed.
_WIDTH = 1e-4


def gains(reasons: SufficientReasons) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each feature of a reason adds to the guarantee, and the guarantee of nothing.

    The former behind each other, in the order of the reasons and of their features, which are
    fixed one by one; the last one reaches the guarantee. Sets are bounded once for all rows that
    share them: the guarantee depends on the class and the facts.
    """
    model, law = reasons.model, law_of(reasons.model, reasons.distribution)
    values, base = [np.zeros(0)], np.zeros(len(reasons))
    classes = model.winners(reasons.rows).tolist()
    columns = [[u] for u in range(model.n_units)]
    if model.units is not None:
        columns = [list(unit.columns) for unit in model.units]
    known: dict[Any, float] = {}
    for i, features in enumerate(reasons.sets):
        if reasons.flagged.get(i, ("", ""))[0] == "invalid":
            continue
        row, view, facts, levels = reasons.rows[i], None, frozenset[Any](), []
        for k, unit in enumerate([*features, None]):
            if unit is None:
                levels.append(float(reasons.lower[i]))
                break
            key = (classes[i], facts) if not law.conditional else (i, k)
            if key not in known:
                view = law.view(row) if view is None else view
                known[key] = view.answer(features[:k], _WIDTH).lower
            levels.append(known[key])
            facts |= {(unit, row[columns[unit]].tobytes())}
        base[i] = levels[0]
        values.append(np.diff(levels))
    return np.concatenate(values), base


def table(reasons: SufficientReasons, index: Any) -> Any:
    """Return a DataFrame with one line for each reason."""
    import pandas as pd

    told, law = reasons.sets, law_of(reasons.model, reasons.distribution)
    columns = {
        "prediction": reasons.prediction,
        "reason": _cells(told, reasons),
        "reason_size": reasons.size,
        "against": _cells(reasons.against, reasons),
        "guarantee_lower": reasons.lower,
        "guarantee_upper": reasons.upper,
        "minimality": _words(reasons.minimality),
        **reasons.scope.column,
        **cost_columns(reasons),
        "distribution": str(reasons.distribution),
        "status": _words(reasons.status),
        "message": reasons.message,
    }
    if law.conditional:
        columns |= _shared(reasons, list(told))
    return pd.DataFrame(columns, index=index)


def _cells(sets: FeatureSets, reasons: SufficientReasons) -> NDArray[Any]:
    """Return the names of some features of each row; as text, as in a CSV, they are facts."""

    def facts(i: int) -> str:
        return joined([reasons.fact(i, u) for u in sets.of(i)])

    found = sets.named(reasons.model.unit_names)
    found[:] = Names.cells(found, facts)
    return found


def cost_columns(reasons: SufficientReasons) -> dict[str, NDArray[np.float64]]:
    """Return what reasons cost, and what is proved of that; nothing if nobody asked."""
    if reasons.prices is None:
        return {}
    return {"cost": reasons.cost, "cost_lower": reasons.cost_lower}


def _words(column: NDArray[np.str_]) -> NDArray[Any]:
    """Return words as objects, one for each different word; None for no word."""
    found, left = np.full(len(column), None, dtype=object), column != ""
    while left.any():
        word = str(column[int(np.argmax(left))])
        same = column == word
        found[same] = word
        left &= ~same
    return found


def _shared(reasons: SufficientReasons, features: list[tuple[int, ...]]) -> dict[str, Any]:
    """Return how many rows share the facts of each reason; none of an invalid row."""
    valid = reasons.status != "invalid"
    held = [
        reasons.matches(i, f) if ok else None
        for i, (f, ok) in enumerate(zip(features, valid.tolist(), strict=True))
    ]
    return {
        "coverage": [0.0 if m is None else m.coverage for m in held],
        "matching_rows": [0 if m is None else m.confirmed.matching for m in held],
        "kept_rows": [0 if m is None else m.confirmed.kept for m in held],
    }

"""Writing comparisons: everything in one, its growth included, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.report.comparison._compared import Compared
from sklearn_probsr.report.comparison._comparison_json import FORMAT
from sklearn_probsr.report.comparison._shared_members import COUNTS
from sklearn_probsr.report.comparison._wide_json import plain_bits, plain_sets, plain_table
from sklearn_probsr.results._archive import plain_label, plain_value
from sklearn_probsr.results._row_labels import plain_labels

__all__ = ["json_text", "without_gaps"]


def json_text(comparison: Compared) -> str:
    """Return everything that a comparison holds."""
    columns = {
        name: [_json(v) for v in _whole(name, column)] for name, column in comparison.table.items()
    }
    growth, mask, shared = comparison.growth, comparison.held("mask"), comparison.held("shared")
    wide = isinstance(mask, FeatureSets)
    plain = plain_sets if wide else plain_bits
    return json.dumps(
        {
            "format": FORMAT,
            "table": columns,
            "shap_values": plain_table(comparison.held("shap_values"), float),
            "values": plain_table(comparison.held("values"), _json),
            "growth": {
                "levels": growth.levels,
                "mask": [plain(level) for level in growth.sets],
                "lower": growth.lower.tolist(),
                "minimality": growth.minimality.tolist(),
                "refuted": growth.refuted.astype(int).tolist(),
                "against": plain(growth.contrary),
            },
            "mask": plain_sets(mask) if wide else mask.astype(int).tolist(),
            "feature_names": comparison.feature_names,
            "classes": [plain_label(label) for label in comparison.classes],
            "delta": comparison.delta,
            "distribution": comparison.distribution,
            "others": comparison.others,
            "missing": comparison.missing,
            "rules": comparison.rules,
            "scope": asdict(comparison.scope),
            "threshold": comparison.threshold,
            "shared": None if shared is None else plain_table(shared, int),
            "index": plain_labels(comparison.index),
        }
    )


def _is_size(name: str) -> bool:
    return name.endswith("_size") or name in {"hurting", *COUNTS}


def without_gaps(name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Return sizes as whole numbers again, where nothing is unknown any more."""
    if _is_size(name) and column.dtype.kind == "f" and np.isfinite(column).all():
        return column.astype(np.int64)
    return column


def _whole(name: str, column: NDArray[Any]) -> Iterable[Any]:
    """Return sizes as JSON has them, None where they are not known."""
    if _is_size(name) and column.dtype.kind == "f":
        return [None if np.isnan(v) else int(v) for v in column]
    return column


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return plain_value(value)

"""Named columns: those of a frame that an estimator's own `predict` finds wherever they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline

from sklearn_probsr.adapters._registry import entry_of

__all__ = ["is_sampler", "needed_columns", "spelling_of"]

# Wrappers that hand rows on without a look at their names, and where they keep what gets them.
_WRAPPERS: dict[type, tuple[str, ...]] = {
    CalibratedClassifierCV: ("calibrated_classifiers_",),
    FixedThresholdClassifier: ("estimator_", "estimator"),
    FrozenEstimator: ("estimator",),
    GridSearchCV.__base__: ("best_estimator_",),
    OneVsRestClassifier: ("estimators_",),
    TunedThresholdClassifierCV: ("estimator_",),
}


def needed_columns(part: Any) -> frozenset[str] | None:
    """Return the columns that a fitted estimator needs and finds by name; None if order counts.

    A ColumnTransformer looks for its columns by name, and does without those that it drops. All
    else that checks names wants them in their order.
    """
    if isinstance(part, ColumnTransformer):
        return _of_blocks(part)
    firsts = _first_in(part)
    found = [needed_columns(first) for first in firsts]
    if not found or None in found:
        return None
    return frozenset(name for needed in found for name in needed or ())


def spelling_of(part: Any) -> Callable[[str], str] | None:
    """Return what the part of an estimator that gets the rows first makes of their names."""
    entry = entry_of(part)
    if entry is not None and entry.spelling is not None:
        return entry.spelling
    firsts = _first_in(part)
    return spelling_of(firsts[0]) if firsts else None


def is_sampler(step: Any) -> bool:
    """Tell whether a step draws rows when it is fitted, and does nothing to those it predicts."""
    return hasattr(step, "fit_resample") and not hasattr(step, "transform")


def _of_blocks(part: Any) -> frozenset[str] | None:
    if not hasattr(part, "feature_names_in_"):
        return None
    places = [
        part._transformer_to_input_indices[name]
        for name, block, _ in part.transformers_
        if not (isinstance(block, str) and block == "drop")
    ]
    return frozenset(str(part.feature_names_in_[i]) for at in places for i in at)


def _first_in(part: Any) -> list[Any]:
    """Return what is inside an estimator and gets the rows as they came."""
    if isinstance(part, Pipeline):
        steps = (step for _, step in part.steps if step not in (None, "passthrough"))
        return [step for step in steps if not is_sampler(step)][:1]
    if isinstance(part, FeatureUnion):
        return [step for _, step in part.transformer_list if not isinstance(step, str)]
    for kind, names in _WRAPPERS.items():
        if isinstance(part, kind):
            inside = next(getattr(part, name) for name in names if hasattr(part, name))
            first = inside[0] if isinstance(inside, list) else inside
            # A calibrated classifier keeps its own in one part more.
            return [first.estimator if kind is CalibratedClassifierCV else first]
    return []

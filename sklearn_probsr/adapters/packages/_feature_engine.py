"""feature-engine: steps that change some columns of a frame, or add some, and leave the others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_probsr.adapters._declarations import Affine, PerColumn
from sklearn_probsr.adapters._refusals import CannotFollowError
from sklearn_probsr.adapters._registry import name_of, registered_from
from sklearn_probsr.adapters.classifiers._shapes import Steps
from sklearn_probsr.adapters.classifiers._trees import float32_cuts
from sklearn_probsr.adapters.units._columns import is_missing

__all__: list[str] = []

_from = partial(
    registered_from, "feature-engine", "1.9", module="feature_engine", role="transformer"
)
_RISING = {
    "ArcSinhTransformer",
    "ArbitraryOutlierCapper",
    "ArcsinTransformer",
    "BoxCoxTransformer",
    "LogCpTransformer",
    "LogTransformer",
    "Winsorizer",
    "YeoJohnsonTransformer",
}


def _in_place(step: Any, kind: str, **more: Any) -> PerColumn:
    """Return a step that changes some columns where they are."""
    changed = set(step.variables_)
    kinds = [kind if name in changed else "same" for name in step.feature_names_in_]
    return PerColumn(range(len(kinds)), kinds, **more)


def _appended(step: Any, columns: Iterable[tuple[Any, str]], kind: str, **more: Any) -> PerColumn:
    """Return a step that appends columns, each made of one; ``kept`` says which stay."""
    names, kept = list(step.feature_names_in_), more.pop("kept")
    plain = [i for i, name in enumerate(names) if name in kept]
    new = [(names.index(name), suffix) for name, suffix in columns]
    return PerColumn(
        [*plain, *(i for i, _ in new)],
        ["same"] * len(plain) + [kind] * len(new),
        names=[""] * len(plain) + [suffix for _, suffix in new],
        **more,
    )


@_from(
    "ArbitraryDiscretiser",
    "DecisionTreeDiscretiser",
    "EqualFrequencyDiscretiser",
    "EqualWidthDiscretiser",
    "GeometricWidthDiscretiser",
    note='one unit per raw column with states such as "age in (30, 45]"; other columns stay',
)
def _discretiser(step: Any) -> PerColumn:
    names = step.feature_names_in_

    def cuts(column: int) -> Iterable[float]:
        bins = step.binner_dict_[names[column]]
        if hasattr(bins, "best_estimator_"):  # a tree, which rounds numbers to 32 bits
            tree = bins.best_estimator_.tree_
            bins = np.unique(float32_cuts(tree.threshold[tree.feature >= 0]))
            bins = bins[np.isfinite(bins)]
            return Steps(bins, range(len(bins) + 1), closed="right", single=True).shown_cuts()
        return [float(cut) for cut in bins if np.isfinite(cut)]

    return _in_place(step, "finite", cuts=cuts, missing=np.nan)


@_from(
    "CountFrequencyEncoder",
    "DecisionTreeEncoder",
    "MeanEncoder",
    "OrdinalEncoder",
    "RareLabelEncoder",
    "WoEEncoder",
    note="one unit per raw column, one state for the categories that it encodes alike; unknown and "
    "missing ones are states, or refused if the encoder refuses them; other columns stay",
)
def _encoder(step: Any) -> PerColumn:
    return _in_place(step, "finite", values=_categories(step))


def _categories(step: Any) -> Any:
    names = step.feature_names_in_
    return lambda column: [v for v in step.encoder_dict_[names[column]] if not is_missing(v)]


@_from(
    "OneHotEncoder",
    note="one unit per raw column; categories without a column, unknown ones too, share a state",
)
def _one_hot(step: Any) -> PerColumn:
    changed = set(step.variables_)
    made = ((name, f": {c}") for name in step.variables_ for c in step.encoder_dict_[name])
    kept = {name for name in step.feature_names_in_ if name not in changed}
    return _appended(step, made, "finite", kept=kept, values=_categories(step))


@_from(
    "ArbitraryNumberImputer",
    "CategoricalImputer",
    "EndTailImputer",
    "MeanMedianImputer",
    note="a missing value belongs to the state or the number that stands for it",
)
def _imputer(step: Any) -> PerColumn:
    changed = step.imputer_dict_
    kinds = ["keep" if name in changed else "same" for name in step.feature_names_in_]
    return PerColumn(range(len(kinds)), kinds, missing=np.nan)


@_from(
    "AddMissingIndicator",
    note="that a value is missing belongs to its raw column",
)
def _indicator(step: Any) -> PerColumn:
    made = ((name, " is missing") for name in step.variables_)
    kept = set(step.feature_names_in_)
    return _appended(step, made, "finite", kept=kept, missing=np.nan)


@_from(
    "ArbitraryOutlierCapper",
    "ArcSinhTransformer",
    "ArcsinTransformer",
    "BoxCoxTransformer",
    "LogCpTransformer",
    "LogTransformer",
    "PowerTransformer",
    "ReciprocalTransformer",
    "Winsorizer",
    "YeoJohnsonTransformer",
    note="a real-valued function of its column; other columns stay",
)
def _curve(step: Any) -> PerColumn:
    if getattr(step, "add_indicators", False):
        raise CannotFollowError(
            f"{name_of(step)} must have add_indicators=False, got True: the columns that it adds "
            "are not followed. Fit it without."
        )
    return _in_place(step, "real", monotone=name_of(step) in _RISING)


@_from(
    "DropConstantFeatures",
    "DropCorrelatedFeatures",
    "DropDuplicateFeatures",
    "DropFeatures",
    "DropHighPSIFeatures",
    "ProbeFeatureSelection",
    "RecursiveFeatureAddition",
    "RecursiveFeatureElimination",
    "SelectByInformationValue",
    "SelectByShuffling",
    "SelectBySingleFeaturePerformance",
    "SelectByTargetMeanPerformance",
    "SmartCorrelatedSelection",
    note="columns that it drops leave the model",
)
def _selector(step: Any) -> Affine:
    dropped = set(step.features_to_drop_)
    kept = [i for i, name in enumerate(step.feature_names_in_) if name not in dropped]
    return Affine(sparse.csr_array(sparse.eye_array(step.n_features_in_))[kept])

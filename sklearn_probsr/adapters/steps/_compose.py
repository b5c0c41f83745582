"""Pipelines, column transformers and unions: they are followed part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.semi_supervised import SelfTrainingClassifier

from sklearn_probsr.adapters._named_columns import is_sampler
from sklearn_probsr.adapters._refusals import CannotFollowError
from sklearn_probsr.adapters._registry import registered, registered_from
from sklearn_probsr.adapters.units._columns import Columns, stack
from sklearn_probsr.adapters.units._place_rows import Output, Taken
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []


@registered_from(
    "imbalanced-learn",
    "0.14",
    "Pipeline",
    role="wrapper",
    module="imblearn",
    note="step by step, without its samplers, which do nothing to rows that are predicted",
    composite=True,
)
@registered(
    "wrapper",
    Pipeline,
    note='step by step; `"passthrough"` too, and as a step of another one',
    composite=True,
)
def _pipeline(estimator: Any, columns: Columns, role: str, follow: Any) -> Any:
    *steps, (_, last) = estimator.steps
    for k, (_, step) in enumerate(steps, start=1):
        try:
            if not is_sampler(step):
                columns = follow(step, columns, "transformer")
        except CannotFollowError as error:
            if role != "classifier":  # it is a step of another pipeline
                raise
            raise InvalidInputError(
                f"{error} Or explain what comes after it: pipeline[{k}:], over rows as "
                f"pipeline[:{k}].transform gives them."
            ) from None
    return follow(last, columns, role)


@registered("wrapper", FrozenEstimator, note="the estimator inside")
def _frozen(estimator: Any) -> Any:
    return estimator.estimator


@registered(
    "wrapper",
    GridSearchCV.__base__,
    note="`best_estimator_`",
    listed=(
        "GridSearchCV",
        "HalvingGridSearchCV",
        "HalvingRandomSearchCV",
        "RandomizedSearchCV",
    ),
)
def _search(estimator: Any) -> Any:
    if not estimator.refit:
        raise InvalidInputError(
            f"{type(estimator).__name__} must have refit=True, got refit={estimator.refit!r}: it "
            "has no fitted estimator. Pass the one that you fitted yourself."
        )
    return estimator.best_estimator_


@registered("wrapper", SelfTrainingClassifier, note="`estimator_`")
def _self_training(estimator: Any) -> Any:
    return estimator.estimator_


@registered(
    "transformer",
    ColumnTransformer,
    note='block by block; `"drop"`, `"passthrough"` and `remainder` too',
    composite=True,
)
def _column_transformer(step: Any, columns: Columns, role: str, follow: Any) -> Columns:
    if step.n_features_in_ != len(columns):
        raise InvalidInputError(
            f"ColumnTransformer takes {step.n_features_in_} columns, {len(columns)} reach it."
        )
    blocks = []
    for name, part, key in step.transformers_:
        places = [int(i) for i in step._transformer_to_input_indices[name]]
        if (isinstance(part, str) and part == "drop") or not places:
            continue
        single = isinstance(key, str | int | np.integer) and not isinstance(key, bool)
        rows = Taken(columns.rows, places[0] if single else tuple(places))
        block = follow(part, columns.take(places, rows), "transformer")
        width = step.output_indices_[name]
        if len(block) != width.stop - width.start:
            raise InvalidInputError(
                f"block {name!r} of the ColumnTransformer gives {width.stop - width.start} "
                f"columns, its adapter says {len(block)}."
            )
        blocks.append(block)
    return _stacked(blocks, step, columns)


@registered(
    "transformer",
    FeatureUnion,
    note="side by side, with `transformer_weights`",
    composite=True,
)
def _union(step: Any, columns: Columns, role: str, follow: Any) -> Columns:
    weights = step.transformer_weights or {}
    blocks = []
    for name, part in step.transformer_list:
        if isinstance(part, str) and part == "drop":
            continue
        block = follow(part, columns, "transformer")
        if name in weights:
            factor = sparse.eye_array(len(block)) * float(weights[name])
            block = block.affine(factor, 0.0, block.rows)
        blocks.append(block)
    return _stacked(blocks, step, columns)


def _stacked(blocks: list[Columns], step: Any, columns: Columns) -> Columns:
    if not blocks:
        raise InvalidInputError(f"{type(step).__name__} drops every column: no feature is left.")
    return stack(blocks, Output(step, columns.rows))

"""category_encoders: one column in, one or several columns out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sklearn_probsr.adapters._declarations import PerColumn
from sklearn_probsr.adapters._refusals import CannotFollowError
from sklearn_probsr.adapters._registry import name_of, registered_from
from sklearn_probsr.adapters.units._columns import is_missing

__all__: list[str] = []

_from = partial(
    registered_from, "category-encoders", "2.11", module="category_encoders", role="transformer"
)
_NOTE = (
    "one unit per raw column, one state for the categories that it encodes alike; unknown and "
    "missing ones are states, or refused if the encoder refuses them; other columns stay"
)


@_from(
    "BackwardDifferenceEncoder",
    "BaseNEncoder",
    "BinaryEncoder",
    "CatBoostEncoder",
    "CountEncoder",
    "CountTargetEncoder",
    "GLMMEncoder",
    "GrayEncoder",
    "HelmertEncoder",
    "JamesSteinEncoder",
    "LeaveOneOutEncoder",
    "MEstimateEncoder",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PolynomialEncoder",
    "QuantileEncoder",
    "RankHotEncoder",
    "SumEncoder",
    "SummaryEncoder",
    "TargetEncoder",
    "WOEEncoder",
    note=_NOTE,
)
def _encoder(step: Any) -> PerColumn:
    _check(step)
    return _described(step, "finite", lambda column: _categories(step, column))


@_from(
    "MultiHotEncoder",
    note="a real-valued function of its column, as any list of items can come",
)
def _items(step: Any) -> PerColumn:
    known = {switch["col"]: next(iter(switch["item_pos"]), "") for switch in step.mapping}
    names = step.feature_names_in_
    return _described(step, "real", typical=lambda column: known.get(names[column], 0.0))


def _check(step: Any) -> None:
    """Refuse what makes one column of several."""
    if getattr(step, "composite_members_", None):
        group = " and ".join(map(repr, next(iter(step.composite_members_.values()))))
        raise CannotFollowError(
            f"{name_of(step)} encodes {group} together, by composite_cols, so that its columns "
            "are not functions of one raw column each. Fit it without."
        )
    if getattr(step, "hierarchy", None) is not None:
        raise CannotFollowError(
            f"{name_of(step)} has a hierarchy, whose levels are not followed. Fit it without."
        )


def _described(step: Any, kind: str, values: Any = None, typical: Any = None) -> PerColumn:
    """Say which column each of those that come out is made of."""
    inputs, outputs = list(step.feature_names_in_), np.asarray(step.feature_names_out_).tolist()
    place = {name: i for i, name in enumerate(inputs)}
    encoded = {out: place[col] for col in step.cols for out in _made_of(step, col)}
    plain = {name: i for name, i in place.items() if name not in set(step.cols)}
    if set(encoded) & set(plain) or len(set(outputs)) < len(outputs):
        twice = next(n for n in outputs if (n in plain and n in encoded) or outputs.count(n) > 1)
        raise CannotFollowError(
            f"{name_of(step)} gives two columns the name {twice!r}, so that nobody can tell which "
            "column each is made of. Rename the raw column."
        )
    owner = {**plain, **encoded}
    return PerColumn(
        [owner[out] for out in outputs],
        [kind if out in encoded else "same" for out in outputs],
        values=values,
        typical=typical,
        names=[_suffix(out, inputs[owner[out]]) for out in outputs],
    )


def _suffix(out: Any, column: Any) -> str:
    """Return what tells the columns that are made of one apart."""
    return "" if out == column else f": {str(out).removeprefix(f'{column}_')}"


def _made_of(step: Any, col: Any) -> list[Any]:
    """Return the names of the columns that are made of one."""
    if getattr(step, "encoder_list", None) is not None:  # one for each quantile
        return [f"{col}_{round(quantile * 100)}" for quantile in step.quantiles]
    if isinstance(step.mapping, list):
        found: dict[str, Any] = next((s for s in step.mapping if s["col"] == col), {})
        columns = found.get("columns", getattr(found.get("mapping"), "columns", None))
    else:
        by_class = getattr(step, "counts_", None) is not None
        columns = getattr(step.mapping[col], "columns", None) if by_class else None
    return [col] if columns is None else list(columns)


def _categories(step: Any, column: int) -> list[Any]:
    """Return the raw values that it knows; what is missing is tried anyway."""
    col = step.feature_names_in_[column]
    first = (getattr(step, "encoder_list", None) or [step])[0]
    ordinal = getattr(first, "ordinal_encoder", None)
    if ordinal is None and isinstance(first.mapping, list):
        ordinal = first
    if ordinal is None:
        known = first.mapping[col].index
    else:
        known = next(s["mapping"].index for s in ordinal.mapping if s["col"] == col)
    lumped = getattr(first, "min_group_lumping_", None) or {}
    lumped = lumped or getattr(first, "_min_group_categories", None) or {}
    values = [*known.tolist(), *lumped.get(col, {})]
    return [v for v in dict.fromkeys(values) if not is_missing(v)]

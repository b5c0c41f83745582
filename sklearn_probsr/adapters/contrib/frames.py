"""Encoders of frames: skrub's and category_encoders', one column in, one or several out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sklearn_probsr.adapters.columns import is_missing
from sklearn_probsr.adapters.registry import (
    CannotFollowError,
    PerColumn,
    entry_of,
    name_of,
    registered_from,
)

_of_skrub = partial(registered_from, "skrub", "0.11", role="transformer")

# Encoders of one column of skrub's own, whose numbers do not depend on the other rows.
_REAL = {"DatetimeEncoder", "MinHashEncoder", "PassThrough", "StringEncoder"}
# What is done to a number that stays the number that it is, up to 32 bits.
_NUMERIC = {"DropUninformative", "PassThrough", "ToFloat", "ToFloat32"}


@_of_skrub(
    "TableVectorizer",
    note="one unit per raw column: numbers and dates are real-valued, with all the columns that a "
    "date becomes; categories are states, as in `OneHotEncoder`; a text that is encoded as a whole "
    "by `StringEncoder` or `MinHashEncoder` is one real-valued unit",
)
def _vectorizer(step: Any) -> PerColumn:
    if step._preprocessors[0].module_name_ != "pandas":
        raise CannotFollowError(
            "TableVectorizer must be fitted on a pandas frame, got one that was fitted on a "
            f"{step._preprocessors[0].module_name_} frame."
        )
    inputs = list(step.feature_names_in_)
    columns = [_Column(step, name) for name in inputs]
    outputs = list(step.get_feature_names_out())
    owners = [inputs.index(step.output_to_input_[out]) for out in outputs]
    return PerColumn(
        owners,
        [columns[i].kind for i in owners],
        values=lambda column: columns[column].values,
        missing=np.nan,
        typical=lambda column: columns[column].typical,
        names=[_skrub_suffix(out, inputs[i]) for out, i in zip(outputs, owners, strict=True)],
        monotone=[columns[i].monotone for i in owners],
    )


def _skrub_suffix(out: str, column: str) -> str:
    return "" if out == column else f": {out.removeprefix(f'{column}_')}"


class _Column:
    """What is done to one raw column, and what can come of it."""

    def __init__(self, step: Any, name: str) -> None:
        self.steps = [s for s in step.all_processing_steps_[name] if hasattr(s, "transform")]
        self.kind, self.values = "real", []
        if not step.input_to_outputs_[name]:
            return
        encoder = step.transformers_.get(name)
        entry = entry_of(encoder)
        if name_of(encoder) == "ToCategorical":
            self.kind = "keep"
        elif entry is not None and entry.role == "transformer" and not entry.composite:
            part = entry.adapter(encoder)
            if isinstance(part, PerColumn) and part.values is not None:
                self.kind = "finite"
                self.values = [v for v in part.values(0) if not is_missing(v)]
        elif name_of(encoder) not in _REAL:
            raise CannotFollowError(
                f"TableVectorizer encodes {name!r} by {name_of(encoder)}, which is not followed. "
                "Fit it with OneHotEncoder or StringEncoder in its place."
            )

    @property
    def monotone(self) -> bool:
        """Whether it is a number that stays one."""
        return {name_of(step) for step in self.steps} <= _NUMERIC

    @property
    def typical(self) -> Any:
        """A raw value that all of its steps take."""
        import pandas as pd

        done = {name_of(step): step for step in self.steps}
        if "ToDatetime" in done:
            day, form = pd.Timestamp(2000, 1, 1), done["ToDatetime"].format_
            return day if form is None else day.strftime(form)
        if "DurationToFloat" in done:
            return pd.Timedelta(1, "D")
        return 1.0 if self.monotone else self.values[0] if self.values else "1"


@_of_skrub("SquashingScaler", note="a real-valued function of its column")
def _squashed(step: Any) -> PerColumn:
    return PerColumn(range(step.n_features_in_), monotone=True)


_of_category_encoders = partial(
    registered_from, "category-encoders", "2.11", module="category_encoders", role="transformer"
)
_NOTE = (
    "one unit per raw column, one state for the categories that it encodes alike; unknown and "
    "missing ones are states, or refused if the encoder refuses them; other columns stay"
)


@_of_category_encoders(
    "BackwardDifferenceEncoder BaseNEncoder BinaryEncoder CatBoostEncoder CountEncoder "
    "CountTargetEncoder GLMMEncoder GrayEncoder HelmertEncoder JamesSteinEncoder "
    "LeaveOneOutEncoder MEstimateEncoder OneHotEncoder OrdinalEncoder PolynomialEncoder "
    "QuantileEncoder RankHotEncoder SumEncoder SummaryEncoder TargetEncoder WOEEncoder",
    note=_NOTE,
)
def _encoder(step: Any) -> PerColumn:
    _check(step)
    return _described(step, "finite", lambda column: _categories(step, column))


@_of_category_encoders(
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

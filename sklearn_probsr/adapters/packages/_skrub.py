"""skrub: tables as they come, vectorised column by column."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sklearn_probsr.adapters._declarations import PerColumn
from sklearn_probsr.adapters._refusals import CannotFollowError
from sklearn_probsr.adapters._registry import entry_of, name_of, registered_from
from sklearn_probsr.adapters.units._columns import is_missing

__all__: list[str] = []

_from = partial(registered_from, "skrub", "0.11", role="transformer")

# Encoders of one column of skrub's own, whose numbers do not depend on the other rows.
_REAL = {"DatetimeEncoder", "MinHashEncoder", "PassThrough", "StringEncoder"}
# What is done to a number that stays the number that it is, up to 32 bits.
_NUMERIC = {"DropUninformative", "PassThrough", "ToFloat", "ToFloat32"}


@_from(
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
        names=[_suffix(out, inputs[i]) for out, i in zip(outputs, owners, strict=True)],
        monotone=[columns[i].monotone for i in owners],
    )


def _suffix(out: str, column: str) -> str:
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


@_from("SquashingScaler", note="a real-valued function of its column")
def _squashed(step: Any) -> PerColumn:
    return PerColumn(range(step.n_features_in_), monotone=True)

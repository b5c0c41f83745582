"""OwnModel: a LinearModel or ArgmaxModel as it is, whose rows are its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.explain.subjects._subject import Subject, one_row
from sklearn_probsr.model.inputs import in_memory
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import unnamed
from sklearn_probsr.model.units import Unit

__all__ = ["OwnModel"]


class OwnModel(Subject):
    """A LinearModel: its rows are its columns."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def frame(self, X: Any, name: str = "X") -> Any:
        return one_row(in_memory(X, name), self.model.n_features)

    def transform(self, raw: Any, name: str = "X") -> Any:
        return self.model.check_rows(raw, name)

    def are_strange(self, raw: Any) -> NDArray[np.bool_]:
        return self.model.are_strange(self.model.arranged(raw))

    def read(self, raw: Any, rows: Any) -> tuple[Any, Any]:
        numbers, units = self.codes(rows), self.model.units
        if units is None or all(_is_its_column(unit) for unit in units):
            return numbers, None
        rows, numbers = np.asarray(rows), np.asarray(numbers)
        shown = numbers.astype(object)
        for u, unit in enumerate(units):
            if _is_its_column(unit):
                continue
            part = rows[:, list(unit.columns)]
            different, which = np.unique(part, axis=0, return_inverse=True)
            texts = [unnamed(unit.name, unit.describe(values)) for values in different.tolist()]
            shown[:, u] = np.array(texts, dtype=object)[which.reshape(-1)]
        return numbers, shown


def _is_its_column(unit: Unit) -> bool:
    """Whether the number in its column is what a person calls it."""
    return len(unit.columns) == 1 and not unit.labels and not unit.coded

"""AdaptedModel: an estimator as a linear model, asked with rows as the estimator takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.explain.subjects._subject import Subject, one_row
from sklearn_probsr.model.inputs import in_memory
from sklearn_probsr.model.sparse import SparseRows

__all__ = ["AdaptedModel"]


class AdaptedModel(Subject):
    """An adapted estimator: rows are what it takes."""

    def __init__(self, adapted: Any, remedy: str | None, assumed: bool = False) -> None:
        self.adapted, self._remedy, self.assumed = adapted, remedy, assumed
        self.model = adapted.model
        self.columns = adapted.feature_names
        self.cut = adapted.cut
        self.takes_text = adapted.takes_text
        self.by_name = adapted.by_name

    def frame(self, X: Any, name: str = "X") -> Any:
        if not self.takes_text:
            X = one_row(in_memory(X, name), len(self.adapted.feature_names))
        return self.adapted.check(X, name)

    def transform(self, raw: Any, name: str = "X") -> Any:
        return self.model.check_rows(self.adapted.computed(raw, name), name, self._remedy)

    def background(self, data: Any) -> Any:
        rows = self.adapted.computed(self.frame(data, "masker"), "masker")
        if isinstance(rows, SparseRows):
            return self.model.check_sparse(rows, "masker", self._remedy)
        return self.model.check_rows(rows, "masker", self._remedy)

    def are_strange(self, raw: Any) -> NDArray[np.bool_]:
        return self.model.are_strange(self.adapted.computed(raw))

    def read(self, raw: Any, rows: Any) -> tuple[Any, Any]:
        if isinstance(rows, SparseRows):
            words = self.adapted.read_sparse(raw, rows)
            if words is not None:
                return words.astype(np.float64), words.astype(np.float64)
            rows = rows.toarray()
        if self.adapted.is_plain and ((rows == 0) | (rows == 1)).all():
            return self.codes(rows), None
        numbers, shown = self.adapted.read(raw, self.codes(rows))
        return numbers, shown

    def given(self, display: Any) -> Any:
        return display

    def words(self, raw: Any, sets: FeatureSets) -> dict[int, dict[int, tuple[str, ...]]]:
        found: dict[int, dict[int, tuple[str, ...]]] = self.adapted.words(raw, sets)
        return found

    def spelling(self, sets: FeatureSets) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = self.adapted.spelling(np.unique(sets.features).tolist())
        return found

    def tried(self, unit: int, values: Sequence[Any]) -> NDArray[np.float64] | None:
        found: NDArray[np.float64] | None = self.adapted.tried(unit, values)
        return found

    def categories(self, unit: int) -> list[tuple[str, tuple[float, ...]]] | None:
        found: list[tuple[str, tuple[float, ...]]] | None = self.adapted.categories(unit)
        return found

    def is_monotone(self, unit: int) -> bool:
        return bool(self.adapted.is_monotone(unit))

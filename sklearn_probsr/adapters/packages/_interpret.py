"""Explainable boosting machines: one step function or table of categories per column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._declarations import sigmoid
from sklearn_probsr.adapters._registry import registered_from
from sklearn_probsr.adapters.classifiers._additive import Additive
from sklearn_probsr.adapters.classifiers._shapes import Categories, Steps, Term
from sklearn_probsr.adapters.units._columns import is_missing
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []


@registered_from(
    "interpret-core",
    "0.7",
    "ExplainableBoostingClassifier",
    note="`interactions=0`; missing and unknown values are states; a tie belongs to the first "
    "class",
    module="interpret",
)
def _machine(estimator: Any) -> Additive:
    pairs = [term for term in estimator.term_features_ if len(term) > 1]
    if pairs:
        names = " and ".join(repr(estimator.feature_names_in_[j]) for j in pairs[0])
        raise InvalidInputError(
            f"ExplainableBoostingClassifier has {len(pairs)} terms of several columns, the first "
            f"of {names}, and fits some unless told otherwise: it is not additive. Fit it with "
            "interactions=0."
        )
    terms: dict[int, Term] = {}
    for (column,), scores in zip(estimator.term_features_, estimator.term_scores_, strict=True):
        terms[column] = _term(estimator.bins_[column][0], np.asarray(scores, dtype=np.float64))
    level = np.asarray(estimator.intercept_, dtype=np.float64)
    several = len(estimator.classes_) > 2
    return Additive(
        [terms.get(j) for j in range(estimator.n_features_in_)],
        level if several else float(level.ravel()[0]),
        estimator.classes_,
        probability=None if several else sigmoid,
    )


def _term(bins: Any, scores: NDArray[np.float64]) -> Term:
    """Return a term; the first score is that of missing values, the last of unknown ones."""
    if isinstance(bins, Mapping):
        by_bin: dict[int, list[str]] = {}
        for category, code in bins.items():
            by_bin.setdefault(code, []).append(category)
        table = {c: scores[code] for code, some in by_bin.items() for c in some}
        return _Nominal(table, scores[0], scores[-1])
    return Steps(bins, scores[1:-1], scores[0])


@dataclass(frozen=True, eq=False)
class _Nominal(Categories):
    """Categories by their texts, as interpret writes them: a whole number has no point."""

    def key(self, value: Any) -> Any:
        """Return what stands for a raw value in the table."""
        if isinstance(value, bool | np.bool_):
            return str(value) if str(value) in self.table else str(int(value))
        if isinstance(value, float) and value.is_integer() and not is_missing(value):
            return str(int(value))
        return str(value)

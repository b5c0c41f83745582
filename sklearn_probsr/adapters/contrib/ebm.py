"""Additive models of other libraries: interpret's boosting machines and pyGAM's splines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters.additive import Additive, Categories, Steps, Term
from sklearn_probsr.adapters.columns import is_missing
from sklearn_probsr.adapters.registry import registered_from, sigmoid
from sklearn_probsr.exceptions import InvalidInputError


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


def _width(gam: Any) -> int:
    _check(gam)
    return int(gam.statistics_["m_features"])


def _check(gam: Any) -> None:
    if not gam._is_fitted:
        raise InvalidInputError(
            "estimator must be fitted, got LogisticGAM that is not. Call fit first."
        )


@registered_from(
    "pygam",
    "0.12",
    "LogisticGAM",
    note="without tensor terms and `by`: a real-valued function of each column; class 1 iff the "
    "probability is above one half, or from `adapters.Threshold` on",
    prefit=True,
    inputs=_width,
)
def _smooth(gam: Any) -> Additive:
    _check(gam)
    n = _width(gam)
    by_column: dict[int, list[int]] = {}
    level = 0.0
    for i, term in enumerate(gam.terms):
        if term.isintercept:
            level = float(gam.coef_[gam.terms.get_coef_indices(i)].sum())
        elif term.istensor or getattr(term, "by", None) is not None:
            raise InvalidInputError(
                f"LogisticGAM has the term {term!r}, which is made of several columns: it does not "
                "add up column by column. Fit it with terms s, l and f alone."
            )
        else:
            by_column.setdefault(int(term.feature), []).append(i)
    terms: dict[int, Term] = {j: _Curve(gam, j, n, tuple(some)) for j, some in by_column.items()}
    return Additive([terms.get(j) for j in range(n)], level, (0, 1), probability=sigmoid)


@dataclass(frozen=True, eq=False)
class _Curve:
    """The sum of the terms of one column, as pyGAM computes them."""

    gam: Any
    column: int
    width: int
    terms: tuple[int, ...]

    def __call__(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.zeros((len(numbers), self.width))
        rows[:, self.column] = numbers
        found = np.zeros(len(numbers))
        for i in self.terms:
            weights = self.gam.coef_[self.gam.terms.get_coef_indices(i)]
            found += np.asarray(self.gam._modelmat(rows, term=i) @ weights).ravel()
        return found

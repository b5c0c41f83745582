"""pyGAM: logistic models of smooth terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._declarations import sigmoid
from sklearn_probsr.adapters._registry import registered_from
from sklearn_probsr.adapters.classifiers._additive import Additive
from sklearn_probsr.adapters.classifiers._shapes import Term
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []


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

"""Scorers: how short explanations are, as something that model selection can weigh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn_probsr._explainer import SufficientReasonExplainer
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["guarantee_scorer", "neg_reason_size_scorer"]


@dataclass(frozen=True)
class _Scorer:
    """A scorer in scikit-learn's sense: called with an estimator, rows and, if any, labels."""

    masker: Any
    delta: float
    max_size: int | None
    n_jobs: int | None

    def __call__(self, estimator: Any, X: Any, y: Any = None, **params: Any) -> float:
        explainer = SufficientReasonExplainer(
            estimator, self.masker, delta=self.delta, max_size=self.max_size, n_jobs=self.n_jobs
        )
        reasons = explainer(X, silent=True)
        if not len(reasons):
            raise InvalidInputError("A score needs at least one row, got none.")
        if self.max_size is None:
            return -float(reasons.reason_size.mean())
        return float(reasons.guarantee_lower.mean())


def neg_reason_size_scorer(
    *, delta: float = 0.95, masker: Any = None, n_jobs: int | None = None
) -> _Scorer:
    """Return a scorer: minus the mean size of the sufficient reasons of the rows.

    Parameters
    ----------
    delta : float, default=0.95
        The probability that each reason guarantees.
    masker : None, "uniform", data, shap masker or distribution, default=None
        What may replace an unknown feature, as in `SufficientReasonExplainer`.
    n_jobs : int or None, default=None
        How many jobs share the rows.

    Returns
    -------
    callable
        ``scorer(estimator, X, y=None)``, for `GridSearchCV` and the like; greater is better.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
    >>> neg_reason_size_scorer(delta=0.9)(LogisticRegression(C=9).fit(X, y), X)
    -1.0
    """
    return _Scorer(masker, delta, None, n_jobs)


def guarantee_scorer(*, max_size: int, masker: Any = None, n_jobs: int | None = None) -> _Scorer:
    """Return a scorer: the mean guarantee of the best reasons of at most a size.

    Parameters
    ----------
    max_size : int
        The most features that a reader is shown.
    masker : None, "uniform", data, shap masker or distribution, default=None
        What may replace an unknown feature, as in `SufficientReasonExplainer`.
    n_jobs : int or None, default=None
        How many jobs share the rows.

    Returns
    -------
    callable
        ``scorer(estimator, X, y=None)``, in [0, 1]; greater is better.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
    >>> guarantee_scorer(max_size=1)(LogisticRegression(C=9).fit(X, y), X)
    1.0
    """
    # Certainty is asked for, so that no row stops at a smaller and less certain set.
    return _Scorer(masker, 1.0, max_size, n_jobs)

"""Scorers: how short explanations are, as something that model selection can weigh."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._explainer import SufficientReasonExplainer
from sklearn_probsr.explain._explanation import ReasonExplanation

__all__ = ["make_guarantee_scorer", "make_reason_size_scorer"]


@dataclass(frozen=True)
class _Scorer(ABC):
    """A scorer in scikit-learn's sense: called with an estimator, rows and, if any, labels."""

    masker: Any
    n_jobs: int | None

    def __call__(self, estimator: Any, X: Any, y: Any = None, **params: Any) -> float:
        explainer = SufficientReasonExplainer(
            estimator, self.masker, n_jobs=self.n_jobs, on_error="raise", **self._options
        )
        reasons = explainer(X, silent=True)
        if not len(reasons):
            raise InvalidInputError("A score needs at least one row, got none.")
        return self._score(reasons)

    @property
    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """What is asked of the explainer."""

    @abstractmethod
    def _score(self, reasons: ReasonExplanation) -> float:
        """Return the score of some reasons."""


@dataclass(frozen=True)
class _Sizes(_Scorer):
    delta: float

    @property
    def _options(self) -> dict[str, Any]:
        return {"delta": self.delta}

    def _score(self, reasons: ReasonExplanation) -> float:
        return -float(reasons.reason_size.mean())

    def __repr__(self) -> str:
        return (
            f"make_reason_size_scorer(delta={self.delta!r}, masker={_called(self.masker)}, "
            f"n_jobs={self.n_jobs!r})"
        )


@dataclass(frozen=True)
class _Guarantees(_Scorer):
    max_size: int

    @property
    def _options(self) -> dict[str, Any]:
        # Certainty is asked for, so that no row stops at a smaller and less certain set.
        return {"delta": 1.0, "max_size": self.max_size}

    def _score(self, reasons: ReasonExplanation) -> float:
        return float(reasons.guarantee_lower.mean())

    def __repr__(self) -> str:
        return (
            f"make_guarantee_scorer(max_size={self.max_size!r}, masker={_called(self.masker)}, "
            f"n_jobs={self.n_jobs!r})"
        )


def _called(masker: Any) -> str:
    """Return a masker as it is printed: of data the size alone."""
    shape = getattr(masker, "shape", None)
    return repr(masker) if shape is None else f"<{type(masker).__name__} of shape {shape}>"


def make_reason_size_scorer(
    *, delta: float = 0.95, masker: Any = None, n_jobs: int | None = None
) -> _Scorer:
    """Make a scorer: minus the mean size of the sufficient reasons of the rows.

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
        ``scorer(estimator, X, y=None)``, for ``GridSearchCV`` and the like; greater is better.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
    >>> make_reason_size_scorer(delta=0.9)(LogisticRegression(C=9).fit(X, y), X)
    -1.0
    """
    return _Sizes(masker, n_jobs, delta)


def make_guarantee_scorer(
    *, max_size: Any, masker: Any = None, n_jobs: int | None = None
) -> _Scorer:
    """Make a scorer: the mean guarantee of the best reasons of at most a size.

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
    >>> make_guarantee_scorer(max_size=1)(LogisticRegression(C=9).fit(X, y), X)
    1.0
    """
    if not isinstance(max_size, int) or isinstance(max_size, bool) or max_size < 0:
        raise InvalidInputError(f"max_size must be a whole number >= 0, got {max_size!r}.")
    return _Guarantees(masker, n_jobs, max_size)

"""Follow an estimator: what each of its parts does to the columns that reach it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import FeatureUnion
from sklearn.utils.validation import check_is_fitted

from sklearn_probsr.adapters._declarations import Affine, Linear, PerColumn, Weights, Words
from sklearn_probsr.adapters._registry import find, name_of

# Importing the adapters fills the registry.
from sklearn_probsr.adapters.classifiers import (  # noqa: F401
    _additive_classifiers,
    _linear_classifiers,
    _linear_lookalikes,
    _threshold,
    _wrappers,
)
from sklearn_probsr.adapters.classifiers._additive import Additive
from sklearn_probsr.adapters.classifiers._additive_terms import added_up
from sklearn_probsr.adapters.classifiers._decision import Decision
from sklearn_probsr.adapters.packages import (  # noqa: F401
    _category_encoders,
    _feature_engine,
    _interpret,
    _lightgbm,
    _optbinning,
    _pygam,
    _skrub,
    _statsmodels,
    _xgboost,
)
from sklearn_probsr.adapters.steps import _affine, _compose, _encoders  # noqa: F401
from sklearn_probsr.adapters.steps._per_column import PerColumnStep
from sklearn_probsr.adapters.steps._text_words import weights_of, words_of
from sklearn_probsr.adapters.units._columns import Columns
from sklearn_probsr.adapters.units._place_rows import Output
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["check_fitted", "follow"]


def follow(estimator: Any, columns: Columns, role: str) -> Any:
    """Return the columns after a transformer, or the decision of a classifier."""
    if role == "transformer" and (estimator is None or name_of(estimator) == "passthrough"):
        return columns
    if role == "classifier" and _is_given(estimator):
        return _conclude(estimator, estimator, columns)
    entry = find(estimator, role)
    check_fitted(estimator, entry.prefit)
    if entry.composite:
        return entry.adapter(estimator, columns, role, follow)
    part = entry.adapter(estimator)
    return (
        _conclude(part, estimator, columns)
        if role == "classifier"
        else _step(part, estimator, columns)
    )


def _is_given(estimator: Any) -> bool:
    """Whether it is what an adapter would return, without an estimator."""
    return isinstance(estimator, Additive) or (isinstance(estimator, tuple) and len(estimator) == 2)


def _step(part: Any, estimator: Any, columns: Columns) -> Columns:
    """Return the columns after a transformer, given what its adapter says."""
    if isinstance(part, Affine):
        return _affinely(part, estimator, columns)
    if isinstance(part, PerColumn):
        return PerColumnStep(part, estimator, columns).columns_out()
    if isinstance(part, Words):
        return words_of(part, estimator, columns)
    if isinstance(part, Weights):
        return weights_of(estimator, columns)
    if not hasattr(part, "transform"):
        raise InvalidInputError(
            f"the adapter of {name_of(estimator)} must return an Affine, PerColumn or Words, or a "
            f"fitted transformer, got {part!r}."
        )
    found: Columns = follow(part, columns, "transformer")
    return found


def check_fitted(estimator: Any, prefit: bool = False) -> None:
    """Refuse an estimator that was not fitted, or whose estimator was not if that is enough."""
    if prefit:
        estimator = getattr(estimator, "estimator_", getattr(estimator, "estimator", None))
    # Hashing needs no fit, which scikit-learn 1.6 does not say of it; a union is what its parts
    # are, and these are asked one by one.
    if not hasattr(estimator, "fit") or isinstance(estimator, FeatureUnion | HashingVectorizer):
        return
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InvalidInputError(
            f"estimator must be fitted, got {name_of(estimator)} that is not. Call fit first."
        ) from None
    except (AttributeError, TypeError):  # of another library, which has no tags
        return


def _conclude(part: Any, estimator: Any, columns: Columns) -> Decision:
    name = "(coef, intercept)" if isinstance(estimator, tuple) else name_of(estimator)
    if isinstance(part, tuple) and len(part) == 2:
        rows = np.shape(part[0])[0] if np.ndim(part[0]) == 2 else 1
        classes = getattr(estimator, "classes_", range(max(2, rows)))
        part = Linear(part[0], part[1], classes)
    if isinstance(part, Linear):
        try:
            return Decision(columns, part.checked(name, len(columns)), name)
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(
                f"{name} must hold numbers, got {part.coef!r} and {part.intercept!r}."
            ) from None
    if isinstance(part, Additive):
        return added_up(part, estimator, columns, follow)
    if not hasattr(part, "predict"):
        raise InvalidInputError(
            f"the adapter of {name} must return (coef, intercept), a Linear, an Additive, or a "
            f"fitted classifier, got {part!r}."
        )
    decision: Decision = follow(part, columns, "classifier")
    return decision


def _affinely(part: Affine, step: Any, columns: Columns) -> Columns:
    rows = Output(step, columns.rows)
    matrix = sparse.eye_array(len(columns)) if part.matrix is None else part.matrix
    if np.shape(matrix)[1] != len(columns):
        raise InvalidInputError(
            f"{name_of(step)} takes {np.shape(matrix)[1]} columns, {len(columns)} reach it."
        )
    return columns.affine(matrix, part.offset, rows)

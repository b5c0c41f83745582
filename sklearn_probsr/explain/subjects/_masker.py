"""Maskers: what shap users pass for a background becomes a distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray

from sklearn_probsr.core.dispatch import is_registered
from sklearn_probsr.distributions._completions import Background, Uniform
from sklearn_probsr.distributions._data import Data, HandedOver
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import in_memory, texts_of

__all__ = ["background_data", "distribution_of"]

# The most rows that weights may have been counted in.
_MOST_COUNTED = 10**6


def background_data(masker: Any) -> Any:
    """Return the rows that a masker holds, as they were given; None if it holds none.

    Raises
    ------
    InvalidInputError
        If it stands for something that is no distribution over rows.
    """
    if isinstance(masker, Data):
        return masker.source.astype(float).matrix if masker.is_sparse else masker.source
    if masker is None or is_registered(masker):
        return None
    masker = in_memory(masker, "masker")
    if _is_summary(masker):
        return masker.data
    if isinstance(masker, str):
        if masker == "uniform":
            return None
        raise InvalidInputError(
            "masker must be None, 'uniform', data, a shap masker or a distribution, got "
            f"{masker!r}."
        )
    if isinstance(masker, shap.maskers.Masker):
        return _shap_data(masker)
    shape: tuple[int, ...] = getattr(masker, "shape", ())
    if (isinstance(masker, list | tuple) and not masker) or (0 < len(shape) < 3 and not shape[0]):
        raise InvalidInputError("masker must have at least one row, got none.")
    if _is_data(masker):
        return masker
    hint = " The model comes first, then the data." if hasattr(masker, "predict") else ""
    if isinstance(masker, Iterator):
        hint = " Pass a list of what it gives."
    raise InvalidInputError(
        "masker must be None, 'uniform', data with two dimensions, a shap masker or a "
        f"distribution, got {_summary(masker)}.{hint}"
    )


def _is_summary(masker: Any) -> bool:
    """Whether something is weighted rows, as `shap.kmeans` and `shap.sample` make them."""
    return (
        type(masker).__module__.startswith("shap.") and {"data", "weights"} <= vars(masker).keys()
    )


def _shares(weights: Any) -> Any:
    """Return the counts that shap divided by their sum, as far as floats tell."""
    found = [Fraction(float(weight)).limit_denominator(_MOST_COUNTED) for weight in weights]
    return found if sum(found) == 1 else weights


def _summary(masker: Any) -> str:
    shape = getattr(masker, "shape", None)
    name = type(masker).__name__
    return name if shape is None else f"{name} of shape {tuple(shape)}"


def _is_data(masker: Any) -> bool:
    """Whether something has rows and columns, or is a sequence of texts."""
    if hasattr(masker, "shape"):
        dimensions = len(masker.shape)
    elif isinstance(masker, list | tuple) and masker:
        dimensions = 2 if all(np.ndim(row) == 1 for row in masker) else 1
    else:
        return False
    return dimensions == 2 or texts_of(masker, "masker") is not None


def _shap_data(masker: Any) -> Any:
    """Return the rows of a shap masker that replaces features by those of a row."""
    name = type(masker).__name__
    if isinstance(masker, shap.maskers.Independent | shap.maskers.Partition):
        if hasattr(masker, "mean"):
            raise InvalidInputError(
                f"shap.maskers.{name} was made of a mean and a covariance, which are no rows. "
                "Pass data, or one of Background(X), Marginals.fit(X), Product(p) and Uniform()."
            )
        # Both put in the features of a background row, together; a partition's clustering is about
        # which features SHAP adds at once.
        return masker.data
    if isinstance(masker, shap.maskers.Impute):
        raise InvalidInputError(
            "shap.maskers.Impute fills in conditional estimates, which are no distribution over "
            "rows. Pass its data: masker.data."
        )
    raise InvalidInputError(
        f"shap.maskers.{name} cannot be read as a distribution over rows. Pass data, or one of "
        "Background(X), Marginals.fit(X), Product(p) and Uniform()."
    )


def _holds(data: Data, rows: Any) -> bool:
    """Tell whether the rows of a data set are these already, and need not be kept twice."""
    if data.columns is not None or not isinstance(rows, np.ndarray) or data.is_sparse:
        return False
    return rows.dtype == data.rows.dtype and np.array_equal(rows, data.rows)


def distribution_of(masker: Any, transform: Callable[[Any], NDArray[Any]]) -> Any:
    """Return the distribution that a masker stands for; data means background rows.

    ``transform`` takes raw rows to the columns of the linear model.
    """
    data = background_data(masker)
    if data is None:
        return masker if is_registered(masker) else Uniform()
    rows = transform(data)
    if isinstance(masker, Data):
        return masker if _holds(masker, rows) else masker.with_rows(rows)
    return Background(HandedOver(rows), _shares(masker.weights) if _is_summary(masker) else None)

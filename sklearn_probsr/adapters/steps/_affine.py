"""Affine transformers: they are folded into the weights and the threshold.

White-listed by type: no trial run can prove that a transformer is affine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import (
    RFE,
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from sklearn_probsr.adapters._declarations import Affine, PerColumn, Weights
from sklearn_probsr.adapters._registry import registered
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []

# Functions that never fall.
_RISING = {
    np.arctan, np.arcsinh, np.cbrt, np.exp, np.exp2, np.expm1, np.log, np.log10, np.log1p, np.log2,
    np.sinh, np.sqrt, np.tanh,
}  # fmt: skip
_SCALED = "folded into the weights and the threshold"


@registered("transformer", StandardScaler, RobustScaler, note=_SCALED)
def _scaler(step: Any) -> Affine:
    n = step.n_features_in_
    centred = step.with_mean if isinstance(step, StandardScaler) else step.with_centering
    scaled = step.with_std if isinstance(step, StandardScaler) else step.with_scaling
    centre = np.zeros(n)
    if centred:
        centre = step.mean_ if isinstance(step, StandardScaler) else step.center_
    return _diagonal(1 / np.asarray(step.scale_) if scaled else np.ones(n), centre)


def _diagonal(slope: Any, centre: Any) -> Affine:
    """Return ``(x - centre) * slope``."""
    factors = np.asarray(slope, dtype=np.float64)
    return Affine(sparse.diags_array(factors), -np.asarray(centre, dtype=np.float64) * factors)


@registered(
    "transformer",
    MinMaxScaler,
    MaxAbsScaler,
    note="folded; with `clip=True`, a real-valued function of its column",
)
def _ranged(step: Any) -> Affine | PerColumn:
    if getattr(step, "clip", False):
        return PerColumn(range(step.n_features_in_), monotone=True)
    if isinstance(step, MaxAbsScaler):
        return _diagonal(1 / np.asarray(step.scale_), 0.0)
    return Affine(sparse.diags_array(np.asarray(step.scale_, dtype=np.float64)), step.min_)


@registered(
    "transformer",
    VarianceThreshold,
    SelectKBest,
    SelectPercentile,
    SelectFpr,
    SelectFdr,
    SelectFwe,
    GenericUnivariateSelect,
    SelectFromModel,
    RFE,
    RFECV,
    SequentialFeatureSelector,
    note="columns that are not selected leave the model",
)
def _selector(step: Any) -> Affine:
    kept = np.flatnonzero(step.get_support())
    return Affine(sparse.csr_array(sparse.eye_array(len(step.get_support())))[kept])


@registered(
    "transformer",
    PCA,
    IncrementalPCA,
    TruncatedSVD,
    FastICA,
    FactorAnalysis,
    GaussianRandomProjection,
    SparseRandomProjection,
    note="folded: the features are the columns before it",
)
def _projection(step: Any) -> Affine:
    matrix = step.components_
    if sparse.issparse(matrix):
        return Affine(matrix)
    if isinstance(step, FactorAnalysis):
        weights = matrix / step.noise_variance_
        matrix = np.linalg.inv(np.eye(len(matrix)) + weights @ matrix.T) @ weights
    elif isinstance(step, PCA | IncrementalPCA) and step.whiten:
        scale = np.sqrt(step.explained_variance_)
        matrix = matrix / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]
    centred = isinstance(step, PCA | IncrementalPCA | FactorAnalysis) or (
        isinstance(step, FastICA) and step.whiten
    )
    return Affine(matrix, -(matrix @ step.mean_) if centred else 0.0)


@registered(
    "transformer",
    FunctionTransformer,
    note="`func=None` is the identity, a NumPy function such as `np.log1p` a real-valued function "
    "of its column; nothing can be known about others",
)
def _function(step: Any) -> Affine | PerColumn:
    n = getattr(step, "n_features_in_", None)
    if step.func is not None and not isinstance(step.func, np.ufunc):
        name = getattr(step.func, "__name__", repr(step.func))
        raise InvalidInputError(
            f"FunctionTransformer must have func=None or a NumPy function of one number such as "
            f"np.log1p, got {name}: what it does to the columns cannot be known. Write a "
            "transformer class and register an adapter for it with register_adapter."
        )
    if n is None:
        return Affine(None)
    if step.func is None:
        return Affine(sparse.eye_array(n))
    return PerColumn(range(n), monotone=step.func in _RISING)


@registered(
    "transformer",
    TfidfTransformer,
    note="with `norm=None` and `sublinear_tf=False` folded; else a feature is a word's weight",
)
def _tfidf(step: Any) -> Affine | Weights:
    if step.norm is not None or step.sublinear_tf:
        return Weights()
    if step.use_idf:
        return _diagonal(step.idf_, 0.0)
    return Affine(None)

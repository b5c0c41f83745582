"""SufficientReasonTransformer: reasons as a step of a Pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import ClassifierTags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._explainer import SufficientReasonExplainer
from sklearn_probsr.model.inputs import texts_of

__all__ = ["SufficientReasonTransformer"]

_OUTPUTS = ("values", "mask", "rows")


class SufficientReasonTransformer(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Turn rows into their sufficient reasons.

    Parameters
    ----------
    estimator : classifier or Pipeline
        Fitted by `fit`; put a fitted one into `sklearn.frozen.FrozenEstimator` to keep it.
    output : {"values", "mask", "rows"}, default="values"
        The values of `ReasonExplanation.reason_only` (SHAP values, zeros outside the reason; of
        more than two classes, those of the predicted one), which features are in it (0 or 1), or
        the rows as they were given with NaN outside it (categories as codes).
    masker : "fit", None, "uniform", data, shap masker or distribution, default="fit"
        What may replace an unknown feature; "fit": the rows that `fit` sees.
    delta : float, default=0.95
        The probability to guarantee.
    target, versus : label or None, default=None
        The two classes to tell apart; see `adapt`.
    include, exclude : iterable of int or str, default=()
        Features that every reason must have, and must not have.
    max_size : int or None, default=None
        The most features that a reason may have.
    prove : {"auto", True, False}, default="auto"
        How hard to try to prove that no smaller set will do; see `sufficient_reasons`.
    max_evals : int or None, default=None
        The most sets of one size that a proof may look at in a row.
    time_limit : float, default=10.0
        The most seconds that proofs may take in a row with ``prove=True``, not counting those in
        which kernels are compiled.
    n_jobs : int or None, default=None
        How many jobs share the rows.
    present_only : bool, default=False
        Whether only features that are there may be chosen, such as words that occur; see
        `sufficient_reasons`.
    supporting_only : bool, default=False
        Whether only facts that speak for the class may be chosen; see `sufficient_reasons`.
    groups : mapping of str to list of str, or None, default=None
        Features that are known or unknown together, and count as one; see
        `SufficientReasonExplainer`.
    cost : mapping, array-like or None, default=None
        What it costs to know each feature: the cheapest reasons are looked for; see
        `sufficient_reasons`.

    Attributes
    ----------
    estimator_ : classifier or Pipeline
        The fitted estimator.
    explainer_ : SufficientReasonExplainer
        What finds the reasons, once it is fitted.
    classes_ : ndarray
        The classes that are told apart.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
    >>> step = SufficientReasonTransformer(LogisticRegression(C=9), output="mask", delta=0.9)
    >>> step.fit_transform(X, y)
    array([[1., 0., 0.],
           [1., 0., 0.],
           [1., 0., 0.],
           [1., 0., 0.]])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        output: str = "values",
        masker: Any = "fit",
        delta: float = 0.95,
        target: Any = None,
        versus: Any = None,
        include: Iterable[int | str] = (),
        exclude: Iterable[int | str] = (),
        max_size: int | None = None,
        prove: str | bool = "auto",
        max_evals: int | None = None,
        time_limit: float = 10.0,
        n_jobs: int | None = None,
        present_only: bool = False,
        supporting_only: bool = False,
        groups: Any = None,
        cost: Any = None,
    ) -> None:
        self.estimator = estimator
        self.output = output
        self.masker = masker
        self.delta = delta
        self.target = target
        self.versus = versus
        self.include = include
        self.exclude = exclude
        self.max_size = max_size
        self.prove = prove
        self.max_evals = max_evals
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.present_only = present_only
        self.supporting_only = supporting_only
        self.groups = groups
        self.cost = cost

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> SufficientReasonTransformer:
        """Fit the estimator, and prepare to explain it.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or sequence of texts
            Rows as the model takes them.
        y : array-like of shape (n,) or None, default=None
            The classes; None if the estimator is frozen.
        **fit_params : dict
            For the estimator's `fit`; with metadata routing, those that it asks for.

        Returns
        -------
        SufficientReasonTransformer
        """
        if self.output not in _OUTPUTS:
            raise InvalidInputError(f"output must be one of {_OUTPUTS}, got {self.output!r}.")
        X = self._check(X, reset=True, texts=texts_of(X, "X") is not None)
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        self.estimator_ = clone(self.estimator).fit(X, y, **fit_params)
        fitted = isinstance(self.masker, str) and self.masker == "fit"
        self.explainer_ = SufficientReasonExplainer(
            self.estimator_,
            X if fitted else self.masker,
            delta=self.delta,
            target=self.target,
            versus=self.versus,
            include=self.include,
            exclude=self.exclude,
            max_size=self.max_size,
            prove=self.prove,
            max_evals=self.max_evals,
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
            present_only=self.present_only,
            supporting_only=self.supporting_only,
            groups=self.groups,
            cost=self.cost,
            on_error="raise",  # a line of zeros would look like an empty reason
        )
        self.classes_ = np.array(self.explainer_.linear_model.classes)
        return self

    def transform(self, X: Any) -> NDArray[np.float64] | sparse.csr_array:
        """Return the reasons of some rows.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or sequence of texts
            Rows as the model takes them.

        Returns
        -------
        ndarray or csr_array of shape (n, features)
            Sparse if X is, or holds texts, except for ``output="rows"``.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False, texts=self._takes_text)
        reasons = self.explainer_(X, silent=True)
        if self.output == "rows":
            rows: NDArray[np.float64] = np.where(reasons.reason_mask, reasons.data, np.nan)
            return rows
        found = reasons.of_prediction().reason_only
        if found._sparse is not None:  # large sparse rows, of which no table is made
            kept = found._sparse.matrix(found.reasons.sets)
            if self.output == "mask":
                kept.data = np.ones_like(kept.data)
            else:
                kept.eliminate_zeros()
            return kept
        dense = found.values if self.output == "values" else reasons.reason_mask.astype(float)
        return sparse.csr_array(dense) if sparse.issparse(X) or self._takes_text else dense

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features, which are the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Compared with the names seen in `fit`, where there were any.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = np.asarray(self.explainer_.linear_model.unit_names, dtype=object)
        if input_features is None:
            return names
        given = np.asarray(input_features, dtype=object)
        if hasattr(self, "feature_names_in_"):
            if not np.array_equal(given, self.feature_names_in_):
                raise ValueError("input_features is not equal to feature_names_in_")
            return names
        if not hasattr(self, "n_features_in_"):  # of texts
            return names
        if len(given) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(given)}"
            )
        return given if len(given) == len(names) else names

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell where metadata goes: to the estimator's `fit`."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="fit_transform", callee="fit")  # what a Pipeline calls
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.target_tags.required = True
        tags.input_tags = replace(
            get_tags(self.estimator).input_tags,
            # A search does not say that of what it searches.
            allow_nan=get_tags(self._inner).input_tags.allow_nan,
        )
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _inner(self) -> Any:
        """What is inside searches and other wrappers: a Pipeline, or an estimator."""
        inner = self.estimator
        while hasattr(inner, "estimator") and not hasattr(inner, "steps"):
            inner = inner.estimator
        return inner

    @property
    def _takes_text(self) -> bool:
        """Whether rows are texts, once it is fitted."""
        return bool(self.explainer_._subject.takes_text)

    def _check(self, X: Any, reset: bool, texts: bool) -> Any:
        """Check the number and names of the columns; the values are the estimator's business."""
        if texts and not reset:
            return X  # the explainer looks at them
        array = not hasattr(X, "columns") and not texts
        steps = hasattr(self._inner, "steps")  # which may fill in what is missing
        if array:
            allowed = steps or get_tags(self).input_tags.allow_nan
            X = check_array(
                X, accept_sparse=("csr", "csc"), dtype=None, estimator=self,
                ensure_all_finite="allow-nan" if allowed else True,
                ensure_min_samples=1 if reset else 0,
            )  # fmt: skip
        X = validate_data(self, X, reset=reset, skip_check_array=True)
        if array and steps and not reset and X.shape[0]:
            self.estimator_.predict(X)  # refuses what they do not fill in
        return X

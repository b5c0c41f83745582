"""skglm, and other objects that have what scikit-learn's linear classifiers have."""

import warnings

import numpy as np
import pytest

from sklearn_probsr import SufficientReasonExplainer, adapt

pytest.importorskip("skglm", reason="skglm is not installed")
from skglm.estimators import LinearSVC, SparseLogisticRegression


@pytest.mark.parametrize("estimator", [SparseLogisticRegression(alpha=0.01), LinearSVC()])
def test_what_agrees_with_predict_is_taken(estimator: object):
    """By their coefficients, compared on the rows that are given."""
    X = np.random.default_rng(0).normal(size=(200, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own loops are told that they could be faster
        fitted = estimator.fit(X, np.where(X[:, 0] > X[:, 1], "left", "right"))
    adapted = adapt(fitted, X)
    assert (adapted.predict(X) == fitted.predict(X)).all()
    assert SufficientReasonExplainer(fitted, X)(X[:3]).shape == (3, 4)

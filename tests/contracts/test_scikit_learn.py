"""What we rely on in scikit-learn: which class a linear classifier says at a tie."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import LinearModel

pytestmark = pytest.mark.contract


def test_a_logistic_regression_is_a_strict_linear_model():
    """`coef_` is (1, p), `predict` is `score > 0`: a tie belongs to class 0."""
    vertices = (np.arange(256)[:, None] >> np.arange(8)) & 1
    y = (vertices @ np.arange(-4, 4) > 0).astype(int)
    estimator = LogisticRegression().fit(vertices, y)
    estimator.coef_ = np.round(estimator.coef_)
    estimator.intercept_ = np.array([-1.0])
    model = LinearModel(estimator.coef_.ravel(), -estimator.intercept_[0], strict=True)
    assert estimator.coef_.shape == (1, 8)
    assert (np.abs(vertices @ estimator.coef_.ravel() - 1) == 0).any()
    assert (model.predict(vertices) == estimator.predict(vertices)).all()

"""What we rely on in shap: the values of a linear model under its own background."""

import numpy as np
import pytest

from sklearn_probsr import LinearModel

pytestmark = pytest.mark.contract


def test_linear_values_are_contributions_less_their_means():
    """`(coef, intercept)` with all background rows: values w (x - mean), base the mean margin."""
    import shap

    rng = np.random.default_rng(0)
    model = LinearModel(rng.standard_normal(6), 0.4)
    background = rng.integers(0, 2, (150, 6)).astype(float)
    masker = shap.maskers.Independent(background, max_samples=len(background))
    explainer = shap.LinearExplainer((model.weights, -model.threshold), masker)
    x = rng.integers(0, 2, (3, 6)).astype(float)
    found = explainer(x)
    assert np.allclose(found.values, model.weights * (x - background.mean(axis=0)))
    assert np.allclose(found.values.sum(axis=1) + found.base_values, model.margin(x))

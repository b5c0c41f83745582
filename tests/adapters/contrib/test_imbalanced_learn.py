"""imbalanced-learn's Pipelines: samplers do nothing when a row is predicted."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_probsr import SufficientReasonExplainer, adapt

imblearn = pytest.importorskip("imblearn", reason="imbalanced-learn is not installed")


@pytest.mark.parametrize("first", [True, False])
def test_samplers_are_left_out(first):
    """A sampler before or behind other steps changes the fit, and no prediction."""
    from imblearn.over_sampling import RandomOverSampler
    from imblearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "job": rng.choice(["nurse", "clerk", "cook"], 200),
            "age": rng.integers(20, 60, 200),
            "pay": rng.normal(size=200),
        }
    )
    y = (X["job"] == "nurse") & (X["age"] > 45)
    steps = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "pay"]))
    sampler = RandomOverSampler(random_state=0)
    parts = (sampler, steps) if first else (steps, sampler)
    model = make_pipeline(*parts, LogisticRegression()).fit(X, y)
    adapted = adapt(model, X)
    again = adapted.model.predict(adapted.transform(X))
    assert (again == model.predict(X)).all()
    explainer = SufficientReasonExplainer(model, X, delta=0.9)
    assert explainer.verify(X[:10])["agrees"].all()
    shuffled = X[["pay", "job", "age"]]
    np.testing.assert_array_equal(explainer(shuffled[:5]).reason_size, explainer(X[:5]).reason_size)

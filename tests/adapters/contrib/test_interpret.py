"""Explainable boosting machines."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr import adapt
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.contrib.cases import PLAIN, TABLE, THREE, TWO, agree, unseen

pytest.importorskip("interpret.glassbox", reason="interpret-core is not installed")
from interpret.glassbox import ExplainableBoostingClassifier


def machine(X: Any, y: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its pictures leave out missing values
        settings = {"interactions": 0, "max_rounds": 30, "outer_bags": 2, "n_jobs": 1}
        return ExplainableBoostingClassifier(**(settings | options)).fit(X, y)


@pytest.mark.parametrize("y", [np.where(TWO, "yes", "no"), THREE], ids=["two", "three"])
def test_a_machine_is_its_terms(y: Any):
    """With gaps, unknown categories and numbers as categories; scores to the last digits."""
    estimator, rows = machine(TABLE, y), unseen()
    adapted = agree(estimator, rows)
    scores = adapted.contributions(rows).sum(axis=1)
    scores += adapted.model.outputs[1] if adapted.model.by_class else -adapted.model.threshold
    np.testing.assert_allclose(scores, estimator.decision_function(rows), rtol=0, atol=1e-12)
    assert "job: missing, or another category" in adapted.units[1].labels
    assert any("missing" in label for label in adapted.units[0].labels)


def test_categories_as_texts():
    """Whole floats, texts of numbers and booleans are found as interpret finds them."""
    X = pd.DataFrame({"i": [0, 1, 2] * 40, "b": [True, False] * 60, "f": [1.0, 2.5] * 60})
    estimator = machine(X, X["i"] == 1, feature_types=["nominal", "nominal", "nominal"])
    values = [[0, 1.0, "1", 7, None], [True, False, None, "x", 1], [1, 2.5, "2.5", 3, 1]]
    series = [pd.Series(some, dtype=object) for some in values]
    agree(estimator, pd.DataFrame(dict(zip(X, series, strict=True))))


def test_an_array_has_no_names():
    """The names that interpret makes up are not asked of a frame."""
    numbers = TABLE[PLAIN].fillna(40.0)
    estimator = machine(numbers.to_numpy(), TWO)
    assert agree(estimator, numbers.to_numpy()).feature_names == ("x0", "x1")
    assert adapt(estimator, numbers).model.n_units == 2


def test_pairs_are_refused():
    """Its default fits pairs: the message says so, and how to fit without."""
    estimator = machine(TABLE[PLAIN].fillna(40.0), TWO, interactions=1)
    message = (
        "ExplainableBoostingClassifier has 1 terms of several columns, the first of 'age' and "
        "'balance', and fits some unless told otherwise: it is not additive. Fit it with "
        "interactions=0."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        adapt(estimator)

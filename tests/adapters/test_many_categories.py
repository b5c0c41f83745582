"""Columns of many categories: set-up is linear in them."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_probsr import adapt


def _pipeline(categories: int) -> tuple[object, pd.DataFrame]:
    values = np.array([f"v{k}" for k in range(categories)])
    X = pd.DataFrame({f"c{i}": np.roll(values, i) for i in range(5)})
    y = np.arange(categories) % 2
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(encoder, LogisticRegression()).fit(X, y), X


def test_categories_are_told_apart_once_for_a_column_and_not_once_for_each_of_them():
    """Five columns of 200 categories take no time that grows with the square of these."""
    model, X = _pipeline(200)
    start = time.process_time()
    adapted = adapt(model)
    assert time.process_time() - start < 2  # 7 s, when each output merged them anew
    assert [len(unit.states) for unit in adapted.model.units] == [201] * 5
    assert adapted.model.units[0].labels[:2] == ("c0: v0", "c0: v1")
    assert (adapted.model.predict(adapted.transform(X)) == model.predict(X)).all()

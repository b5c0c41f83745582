"""Columns of many categories: set-up is linear in them."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    SufficientReasonExplainer,
    Unit,
    adapt,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import distinct_states


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


def _table(n: int, categories: int, columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    values = np.array([f"v{k}" for k in range(categories)], dtype=object)
    X = pd.DataFrame({f"c{i}": values[rng.integers(categories, size=n)] for i in range(columns)})
    return X, rng.integers(2, size=n)


@pytest.mark.parametrize("masker", [Background, Marginals])
def test_the_rows_of_many_categories_take_a_byte_a_column(masker):
    """20,000 rows of ten columns of 200 categories: no table of floats is made to set up."""
    X, y = _table(20_000, 200, 10)
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(encoder, LogisticRegression(max_iter=200, tol=0.1)).fit(X, y)
    tracemalloc.start()
    explainer = SufficientReasonExplainer(model, masker(X))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # 505 MB once
    assert explainer(X[:1]).values.shape == (1, 10)


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(drop="first"),
        OneHotEncoder(drop="if_binary"),
        OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(max_categories=5, drop="first", handle_unknown="infrequent_if_exist"),
    ],
)
def test_rows_of_categories_are_checked_alike_sparse_and_filled_in(encoder):
    """What is in no state is refused with the same words, and everything else is taken."""
    X, y = _table(500, 40, 3)
    X.iloc[::7, 0] = None
    X["two"] = np.where(y == 1, "a", "b")
    model = make_pipeline(encoder, LogisticRegression()).fit(X, y)
    adapted = adapt(model, X)
    rows = adapted.transform(X)
    linear = adapted.model
    assert (linear.check_sparse(sparse.csr_array(rows), "X").toarray() == rows).all()
    rng = np.random.default_rng(1)
    for _ in range(60):
        odd = rows[:20].copy()
        for i in rng.integers(20, size=rng.integers(1, 3)):
            at = rng.integers(rows.shape[1], size=rng.integers(1, 3))
            odd[i, at] = rng.choice([0.0, 1.0, 2.0, 0.5], size=len(at))
        said = []
        for check, X_odd in (
            (linear.check_values, odd),
            (linear.check_sparse, sparse.csr_array(odd)),
        ):
            try:
                check(X_odd, "X")
                said.append("")
            except InvalidInputError as error:
                said.append(str(error))
        assert bool(said[0]) == bool(said[1])


def test_states_of_a_unit_with_several_numbers_are_compared_whole():
    """Codes of several digits, as a base encoder has them, are states that no place tells."""
    units = [("a", [0, 1]), Unit("b", [2, 3], [[0, 0], [1, 1], [1, 2], [0, 3]]), Unit.real("c", 4)]
    model = LinearModel([1.0, 2.0, 3.0, 4.0, 5.0], 0.0, units=units)
    good = np.array([[0, 1, 1, 2, 0.5], [1, 0, 0, 3, 0], [1, 0, 0, 0, 7]], dtype=float)
    assert (model.check_sparse(sparse.csr_array(good), "X").toarray() == good).all()
    for at, value in (((0, 0), 1), ((1, 0), 0), ((0, 3), 3), ((1, 3), 2), ((2, 2), 1)):
        bad = good.copy()
        bad[at] = value
        with pytest.raises(InvalidInputError) as dense:
            model.check_values(bad, "X")
        with pytest.raises(InvalidInputError) as few:
            model.check_sparse(sparse.csr_array(bad), "X")
        assert str(dense.value) == str(few.value)


@pytest.mark.parametrize("width", [3, 40])
def test_distinct_states_are_those_of_numpy(width):
    """One-hot rows, with none or several ones, come in NumPy's order."""
    rng = np.random.default_rng(2)
    one_hot = np.eye(width + 1)[rng.integers(width + 1, size=300)][:, :width]
    several = (rng.random((300, width)) < 0.2) * 1.0
    for part in (one_hot, one_hot.astype(bool), several, one_hot * 2.5):
        states, which = distinct_states(part)
        expected, places = np.unique(part, axis=0, return_inverse=True)
        assert (states == expected).all()
        assert (which == places.ravel()).all()

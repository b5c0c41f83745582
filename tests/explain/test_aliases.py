"""What was made of an array stays as it is when the caller changes the array afterwards."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Matching,
    Product,
    SufficientReasonExplainer,
    Unit,
    guarantee,
    sufficient_reason,
    sufficient_reasons,
)

MODEL = LinearModel([3, -2, 1, 1], threshold=1)
UNITS = LinearModel([3, -2, 1, 1], threshold=1, units=[Unit.real(f"x{j}", j) for j in range(4)])
ROWS = np.random.default_rng(0).integers(0, 2, (60, 4))
KINDS: dict[str, Callable[[], Any]] = {
    "bool": lambda: ROWS.astype(np.bool_),
    "bool, by columns": lambda: np.asfortranarray(ROWS.astype(np.bool_)),
    "int": ROWS.copy,
    "float": lambda: ROWS.astype(np.float64),
    "object": lambda: ROWS.astype(object),
    "frame": lambda: pd.DataFrame(ROWS.astype(np.bool_), columns=[f"x{j}" for j in range(4)]),
    "polars": lambda: pl.DataFrame(ROWS, schema=[f"x{j}" for j in range(4)]),
    "sparse": lambda: sparse.csr_array(ROWS.astype(np.float64)),
}


def overwrite(array: Any) -> None:
    """Exchange zeros and ones in place."""
    if isinstance(array, pl.DataFrame):
        for j, name in enumerate(array.columns):
            array.replace_column(j, 1 - array[name])
    elif isinstance(array, pd.DataFrame):
        array.iloc[:, :] = ~array.to_numpy()
    elif sparse.issparse(array):
        array.data[:] = 0.0
    else:
        array[:] = 1 - array.astype(np.int64)


def read(reasons: Any) -> tuple[Any, ...]:
    return (
        reasons.prediction.tolist(),
        reasons.rows.tolist(),
        [str(reason) for reason in reasons],
        [repr(reason.partial_instance) for reason in reasons],
    )


@pytest.mark.smoke
def test_a_boolean_row_may_be_changed_after_it_was_explained():
    """Its class is that of the row that was asked about."""
    X = np.array([[True, True]])
    reasons = sufficient_reasons(LinearModel([1, 1], 1), X)
    X[:] = False
    assert reasons.prediction.tolist() == [1]
    assert reasons[0].prediction == 1


@pytest.mark.parametrize("model", [MODEL, UNITS], ids=["columns", "units"])
@pytest.mark.parametrize("kind", KINDS)
def test_results_keep_their_rows(kind: str, model: LinearModel):
    """Predictions, rows, sentences and partial instances are read after the change."""
    X = KINDS[kind]()
    law = Background(ROWS)
    reasons = sufficient_reasons(model, X, distribution=law)
    explained = SufficientReasonExplainer(model, ROWS)(X)
    overwrite(X)
    assert read(reasons) == read(sufficient_reasons(model, KINDS[kind](), distribution=law))
    again = SufficientReasonExplainer(model, ROWS)(KINDS[kind]())
    assert read(explained.reasons) == read(again.reasons)
    for part in ("values", "base_values", "data"):
        np.testing.assert_array_equal(getattr(explained, part), getattr(again, part))


@pytest.mark.parametrize("law", [Background, Marginals, Matching, Product.fit])
@pytest.mark.parametrize("kind", KINDS)
def test_distributions_keep_their_rows(kind: str, law: Callable[[Any], Any]):
    """Also where values are looked at only when a model asks for them."""
    X = KINDS[kind]()
    made = law(X)
    overwrite(X)
    again = law(KINDS[kind]())
    for features in ([], [0], [1], [2, 3]):
        expected = guarantee(MODEL, [1, 0, 1, 1], features, distribution=again)
        assert guarantee(MODEL, [1, 0, 1, 1], features, distribution=made) == expected


def test_other_arguments_are_copied():
    """Weights of models and of rows, intercepts, chances, states and which rows are held out."""
    weights, intercepts = np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([0.5, 0.0])
    states = np.array([[0.0], [1.0], [3.0]])
    parts, chances, held = np.arange(1.0, 61.0), np.full(2, 0.25), np.arange(60) % 2 == 0
    made = [
        LinearModel(weights[0], 1.0),
        ArgmaxModel(weights, intercepts),
        Unit("level", [0], states),
        Product(chances),
        Background(ROWS, parts),
        Matching(ROWS, confirm=held),
    ]
    before = [pickle.dumps(one) for one in made]
    for array in (weights, intercepts, states, parts, chances):
        array[:] = 7.0
    held[:] = ~held
    assert [pickle.dumps(one) for one in made] == before


def test_results_are_read_only():
    """Neither columns nor rows of a result can be written to, nor a slice of them."""
    reasons = sufficient_reasons(MODEL, ROWS[:4].astype(np.bool_), distribution=Background(ROWS))
    for one in (reasons, reasons[1:], reasons[[2]]):
        for name in ("rows", "mask", "lower", "upper", "minimality", "epsilon", "samples"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(one, name)[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        sufficient_reason(MODEL, ROWS[0]).partial_instance[0] = 1

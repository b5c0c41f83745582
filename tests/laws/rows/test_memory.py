"""What an answer takes of memory, beside the rows that it is about."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    SufficientReasonExplainer,
    Unit,
    sufficient_reason,
)
from tests.interpreted import long_loops


@long_loops
@pytest.mark.parametrize(
    ("classes", "delta", "sample"),
    [(2, 0.95, None), (2, 0.5, None), (10, 0.95, None), (10, 1.0, 40_000)],
)
def test_memory_beyond_the_rows_stays_below_three_times_theirs(
    classes: int, delta: float, sample: int | None
):
    """Set-up, tables that are kept and a row's scratch, with two classes and with ten.

    The second row asked is one whose set on a part of the rows misses delta over all of them.
    """
    n, d = 50_000, 30
    rng = np.random.default_rng(0)
    weights, units = rng.standard_normal((10, d)), [Unit.real(f"x{j}", j) for j in range(d)]
    rows, asked = rng.standard_normal((n, d)), rng.standard_normal((6, d))
    model = (
        LinearModel(weights[0], 0.1, units=units)
        if classes == 2
        else ArgmaxModel(weights, np.zeros(10), units=units)
    )

    def explain() -> None:
        law = Background(rows, sample=sample)
        for x in asked[:2]:
            assert sufficient_reason(model, x, delta=delta, distribution=law).guarantee >= delta

    assert _peak(explain) < 3 * rows.nbytes


@long_loops
@pytest.mark.parametrize("classes", [2, 3])
def test_an_explainer_takes_no_more(classes: int):
    """The comparison with `predict`, and rows one after the other, each with tables of its own."""
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((50_000, 30)), rng.standard_normal((3, 30))
    scores = X[:2_000] @ weights[:classes].T
    model = LogisticRegression(max_iter=50).fit(X[:2_000], scores.argmax(axis=1))

    def explain() -> None:
        assert (SufficientReasonExplainer(model, X)(X[:3]).reasons.lower >= 0.95).all()

    assert _peak(explain) < 3 * X.nbytes


def _peak(explain: Callable[[], None]) -> int:
    """Return the most memory that is taken at a time."""
    explain()  # compiled code is not counted
    tracemalloc.start()
    try:
        explain()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak

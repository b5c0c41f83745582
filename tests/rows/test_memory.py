"""What an answer takes of memory, beside the rows that it is about."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    SufficientReasonExplainer,
    Unit,
    compare,
    sufficient_reason,
)
from sklearn_probsr.rows import stream
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


@long_loops
@pytest.mark.parametrize(
    ("n", "classes", "delta"),
    [(20_000, 2, 0.9), (20_000, 2, 0.99), (20_000, 2, 1.0), (50_000, 10, 0.95)],
)
def test_proofs_take_no_more(n: int, classes: int, delta: float, monkeypatch: pytest.MonkeyPatch):
    """A table of all rows would take as much as the data for each feature of a reason."""
    monkeypatch.setattr(stream, "FEW_BYTES", 0)  # rows are few here
    model, rows, asked = _drawn(n, 30, classes)
    proved = []

    def explain() -> None:
        law = Background(rows)
        for x in asked[:2]:
            found = sufficient_reason(model, x, delta=delta, distribution=law, prove=True)
            proved.append(found.minimality)

    assert _peak(explain) < 3 * rows.nbytes
    assert classes > 2 or set(proved) == {"minimum"}


@long_loops
def test_a_frame_is_kept_once():
    """Its copy is the rows that are counted; it stays as it is when its owner changes theirs."""
    model, rows, asked = _drawn(20_000, 30, 2)
    names = [f"x{j}" for j in range(30)]
    frame = pd.DataFrame(rows, columns=names, index=range(7, 20_007), copy=False)

    def explain() -> None:
        law = Background(frame)
        for x in asked[:2]:
            sufficient_reason(model, x, distribution=law)

    assert _peak(explain) < 3 * rows.nbytes
    law = Background(frame)
    pd.testing.assert_frame_equal(law.source, frame)
    before = rows.copy()
    rows[:] = 0
    pd.testing.assert_frame_equal(law.source, pd.DataFrame(before, frame.index, names))
    assert (law.rows == before).all()
    assert np.shares_memory(law.rows, np.asarray(law.source))


@long_loops
@pytest.mark.parametrize(
    "ask",
    [lambda model, X, law: SufficientReasonExplainer(model, law)(X), compare],
    ids=["call", "compare"],
)
def test_a_background_that_is_passed_on_is_kept_once(ask: Callable[[Any, Any, Any], Any]):
    """Many rows at once, and a comparison, over rows of a model of ours."""
    model, rows, asked = _drawn(20_000, 30, 2)
    law = Background(rows)
    assert SufficientReasonExplainer(model, law).distribution is law

    def explain() -> None:
        ask(model, asked, Background(rows))

    assert _peak(explain) < 3 * rows.nbytes


def test_rows_that_an_explainer_makes_are_its_own():
    """They are not copied again, and what the user has can be changed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    explainer = SufficientReasonExplainer(model, X)
    before = explainer(X[:5]).reasons.lower.tolist()
    asked, X[:] = X[:5].copy(), 7.0
    assert explainer(asked).reasons.lower.tolist() == before


@long_loops
def test_marginals_of_many_values_take_seven_times_theirs():
    """The values of a duel, their chances and their turns are there while its table is made."""
    model, rows, asked = _drawn(50_000, 30, 3)

    def explain() -> None:
        law = Marginals.fit(rows)
        for x in asked[:2]:
            sufficient_reason(model, x, delta=0.9, distribution=law)

    assert _peak(explain) < 7.5 * rows.nbytes


def _drawn(n: int, d: int, classes: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a model of real-valued columns, rows, and rows to explain."""
    rng = np.random.default_rng(0)
    weights, units = rng.standard_normal((classes, d)), [Unit.real(f"x{j}", j) for j in range(d)]
    rows, asked = rng.standard_normal((n, d)), rng.standard_normal((6, d))
    if classes == 2:
        return LinearModel(weights[0], 0.1, units=units), rows, asked
    return ArgmaxModel(weights, np.zeros(classes), units=units), rows, asked


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

"""A column of texts beside numbers: sparse as the texts alone would be, and told as filled in."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import ReasonExplanation, SufficientReasonExplainer
from sklearn_probsr.model import sparse as _sparse
from sklearn_probsr.model.sparse import SparseRows
from tests.explained import same_reasons

WORDS = ["server", "is", "down", "again", "lunch", "menu", "today", "please", "restart", "soup"]


def table(n: int = 40) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 7))) for _ in range(n)]
    X = pd.DataFrame({"age": rng.integers(0, 4, n), "note": texts, "pay": rng.random(n).round(3)})
    return X, (X["pay"] * 2 + X["note"].str.count("server") > 1.2).astype(int)


def fitted(X: Any, y: Any, vectorizer: Any, filled: bool = False) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler()) if filled else StandardScaler()
    steps = make_column_transformer((vectorizer, "note"), (numbers, ["pay", "age"]))
    return make_pipeline(steps, LogisticRegression(C=5)).fit(X, y)


@pytest.mark.parametrize(
    "vectorizer", [TfidfVectorizer(), CountVectorizer(), TfidfVectorizer(norm=None)]
)
def test_words_beside_numbers_are_explained_as_filled_in(
    vectorizer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Reasons, words and numbers, slices, files, and a row that cannot be taken."""
    X, y = table()
    model = fitted(X, y, vectorizer)
    dense = SufficientReasonExplainer(model, X, delta=0.8)(X[:8])
    monkeypatch.setattr(_sparse, "_FEW_CELLS", -1)
    explainer = SufficientReasonExplainer(model, X, delta=0.8)
    assert isinstance(explainer.distribution.rows, SparseRows)
    found = explainer(X[:8])
    assert found._slicer is None
    assert [r.facts for r in found.reasons] == [r.facts for r in dense.reasons]
    np.testing.assert_array_equal(found.guarantee_lower, dense.guarantee_lower)
    np.testing.assert_allclose(found.values, dense.values, atol=1e-12)
    np.testing.assert_array_equal(found.data, dense.data)
    assert found.to_frame().equals(dense.to_frame())
    found.save(tmp_path / "mixed.npz")
    assert same_reasons(ReasonExplanation.load(tmp_path / "mixed.npz"), found)
    assert found[::-2].reasons[0].facts == dense.reasons[7].facts
    odd = X[:8].assign(note=X["note"][:8].astype(object).where(X.index[:8] != 3, None))
    with pytest.warns(UserWarning, match="^1 of 8 rows could not"):
        flagged = explainer(odd)
    assert flagged._slicer is None
    assert flagged.reasons[5].facts == dense.reasons[5].facts


def test_numbers_that_are_missing_are_told_as_missing(monkeypatch: pytest.MonkeyPatch):
    """A gap cannot be kept among zeros: such rows are filled in."""
    X, y = table()
    X["pay"] = X["pay"].where(X.index % 5 != 0)
    model = fitted(X, y, TfidfVectorizer(), filled=True)
    options: dict[str, Any] = {"delta": 0.8, "include": ["pay"]}
    dense = SufficientReasonExplainer(model, X, **options)(X[:6])
    assert "pay is missing" in dense.reasons[0].facts
    monkeypatch.setattr(_sparse, "_FEW_CELLS", -1)
    explainer = SufficientReasonExplainer(model, X, **options)
    found = explainer(X[:6])
    assert [r.facts for r in found.reasons] == [r.facts for r in dense.reasons]
    odd = X[:6].assign(note=X["note"][:6].astype(object).where(X.index[:6] != 3, None))
    with pytest.warns(UserWarning, match="^1 of 6 rows could not"):
        flagged = explainer(odd)
    assert flagged.reasons[0].facts == dense.reasons[0].facts


def test_nothing_of_the_size_of_rows_times_words_is_made_beside_numbers():
    """30,000 words beside two numbers: 72 MB, if they were filled in."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(30_000)])
    texts = [" ".join(words), *(" ".join(rng.choice(words, 50)) for _ in range(299))]
    X = pd.DataFrame({"note": texts, "age": rng.integers(20, 60, 300), "pay": rng.random(300)})
    model = fitted(X, np.arange(300) % 2, TfidfVectorizer())
    SufficientReasonExplainer(model, X[:50], delta=0.6)(X[1:3])  # kernels are not counted
    tracemalloc.start()
    try:
        found = SufficientReasonExplainer(model, X, delta=0.6)(X[1:100])
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()
    assert found._slicer is None

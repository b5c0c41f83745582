"""Comparisons of rows that are mostly zeros: as those of filled rows, without filling them in."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shap
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import (
    ArgmaxModel,
    Comparison,
    Marginals,
    SufficientReasonExplainer,
    compare,
)
from sklearn_probsr.model import sparse as _sparse
from sklearn_probsr.report.comparison import _wide_tables
from sklearn_probsr.report.comparison._compare import compare_explained
from sklearn_probsr.report.page import _page as _page_data
from sklearn_probsr.report.page._page import page_data

WORDS = 900


@pytest.fixture(autouse=True)
def small_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is filled in for being small, and a few hundred features are many for a page."""
    monkeypatch.setattr(_sparse, "_FEW_CELLS", -1)
    monkeypatch.setattr(_page_data, "_MANY", 500)
    monkeypatch.setattr(_wide_tables, "_CELLS", 2**11)


def documents(n: int, words: int = WORDS, each: int = 12) -> sparse.csr_array:
    """Return rows with a few counts each."""
    rng = np.random.default_rng(0)
    at = np.repeat(np.arange(n), each), rng.integers(0, words, n * each)
    return sparse.csr_array((rng.integers(1, 4, n * each), at), shape=(n, words))


def linear(words: int = WORDS) -> Any:
    return np.random.default_rng(1).normal(size=(1, words)), np.array([-0.3])


def filled(found: Comparison) -> Comparison:
    """Return a comparison with tables that are arrays."""
    tables = {name: getattr(found, name) for name in ("shap_values", "values", "mask")}
    return replace(found, **tables, search=lambda: found.growth)


def test_sparse_rows_are_compared_as_filled_ones_are():
    """Everything that is told of a comparison is the same when its tables are filled in."""
    X = documents(200)
    found = compare(linear(), X[:9], X, delta=0.9, others={"first": [[0]] * 9}, prove=False)
    dense = filled(found)
    mask = shap.maskers.Independent(X.toarray(), max_samples=X.shape[0])
    (weights,), (shift,) = linear()
    own = shap.LinearExplainer((weights, shift), mask).shap_values(X[:9].toarray())
    np.testing.assert_allclose(found.shap_values, own, rtol=1e-9, atol=1e-12)
    assert found.values.tolist() == X[:9].toarray().tolist()
    assert found.features().equals(dense.features())
    assert found.summary() == dense.summary()
    ours, theirs = (page_data(each, []) for each in (found, dense))
    assert ours == theirs
    assert len(ours["features"]) < ours["count"] == WORDS
    top = np.argsort(-np.abs(found.shap_values), axis=1, kind="stable")
    for i, size in enumerate(found.table["reason_size"]):
        first, reason = {*top[i, :size].tolist()}, {*np.flatnonzero(found.mask[i]).tolist()}
        assert found.table["overlap"][i] == len(first & reason) / len(first | reason)
        assert found.table["first_overlap"][i] == len({0} & reason) / len({0} | reason)
        share = np.abs(own[i, list(reason)]).sum() / np.abs(own[i]).sum()
        assert found.table["shap_share"][i] == pytest.approx(share)


def test_flagged_rows_and_several_classes_are_compared_without_filling_in():
    """A row that cannot be explained is a line of zeros; each class has a line of its own."""
    X = documents(150).astype(float)
    weights = np.random.default_rng(2).normal(size=(3, WORDS))
    model = LogisticRegression()
    model.classes_, model.coef_ = np.arange(3), weights
    model.intercept_, model.n_features_in_ = np.zeros(3), WORDS
    rows = X[:6].copy()
    rows.data[rows.indptr[2]] = np.nan
    with pytest.warns(UserWarning, match="1 of 6 rows could not be explained"):
        found = compare(model, rows, X, delta=0.8, prove=False)
    assert found.table["status"].tolist() == ["ok"] * 2 + ["invalid"] + ["ok"] * 3
    assert not found.shap_values[2].any()
    own = ArgmaxModel(weights, np.zeros(3)).weights[found.table["prediction"][[5]].astype(int)[0]]
    expected = own * (X[[5]].toarray()[0] - X.toarray().mean(axis=0))
    np.testing.assert_allclose(found.shap_values[5], expected, rtol=1e-9, atol=1e-12)
    assert found.features().equals(filled(found).features())
    assert found.features()["rows"].iloc[0] == 5


def test_words_are_told_in_comparisons_that_are_not_filled_in():
    """Words that are absent read as such, and hashed ones with the words of the text."""
    texts = ["server down again", "all is well here", "server is slow", "well done"] * 5
    steps = make_pipeline(HashingVectorizer(n_features=2**10), LogisticRegression())
    steps.fit(texts, [1, 0] * 10)
    server = f"hash {steps[0].transform(['server']).indices[0]}"
    found = compare(steps, texts[:2], texts, delta=0.9, include=[server])
    told = [fact for fact in found.values[0].tolist() if not fact.startswith("no ")]
    assert len(told) == 3
    assert "(server" in found.values[0, found.feature_names.index(server)]


def test_memory_does_not_grow_by_a_table_of_rows_and_words():
    """With 25 rows more, far less is needed than the SHAP values of one word in eight."""
    words, X = 8_000, documents(30, 8_000)
    explainer, peaks = SufficientReasonExplainer(linear(words), X, delta=0.6, prove=False), []
    compare_explained(explainer, X[:1])
    for n in (5, 30):
        tracemalloc.start()
        found = compare_explained(explainer, X[:n])
        found.features()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 25 * words
    assert found.shap_values.shape == (30, words)


def test_sparse_marginals_are_compared_too():
    """Under independent words, with what the reasons guarantee in the rows themselves."""
    X = documents(150)
    found = compare(linear(), X[:2], Marginals.fit(X), delta=0.7, prove=False, dependence=True)
    assert (found.table["joint_guarantee_lower"] <= found.table["joint_guarantee_upper"]).all()
    assert (found.table["guarantee_lower"] >= 0.7).all()

"""Sparse rows in the explainer: as dense ones, and never filled in unless somebody asks for it."""

from __future__ import annotations

import copy
import pickle
import re
import tracemalloc
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shap
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import (
    Background,
    LinearModel,
    ReasonExplanation,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    Uniform,
    sufficient_reasons,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model import sparse as _sparse
from sklearn_probsr.model.sparse import SparseRows, one_row, sparse_rows
from tests.explained import same_reasons

WORDS = ["server", "is", "down", "again", "lunch", "menu", "today", "please", "restart", "soup"]


@pytest.fixture
def small_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is filled in for being small."""
    monkeypatch.setattr(_sparse, "_FEW_CELLS", -1)


def data(n: int = 40, seed: int = 0, real: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, 12)) < 0.3) * (rng.random((n, 12)) if real else 1.0)
    return X, (X @ rng.normal(size=12) > 0).astype(int)


def both(X: Any, y: Any, classes: Any = None, **options: Any) -> tuple[Any, Any, Any]:
    """Explain the same rows filled in and sparse."""
    model = LogisticRegression(C=9.0).fit(X, y if classes is None else classes)
    full = SufficientReasonExplainer(model, X, delta=0.9, **options)(X[:9])
    thin = SufficientReasonExplainer(model, sparse.csr_array(X), delta=0.9, **options)(
        sparse.csr_array(X[:9])
    )
    return full, thin, model


def same(full: Any, thin: Any) -> None:
    for name in ("values", "base_values", "data", "reason_mask", "guarantee_lower", "minimality"):
        found, expected = getattr(thin, name), getattr(full, name)
        assert np.shape(found) == np.shape(expected), name
        if np.asarray(expected).dtype.kind == "f":
            np.testing.assert_allclose(found, expected, atol=1e-12)
        else:
            np.testing.assert_array_equal(found, expected)
    assert list(thin.feature_names) == list(full.feature_names)
    assert thin.shape == full.shape


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.usefixtures("small_stay_sparse")
def test_sparse_rows_give_the_explanation_of_dense_ones(real: bool):
    """Values, sentences, tables and slices, of all rows, of some, and of one."""
    full, thin, _ = both(*data(real=real))
    assert thin._slicer is None
    for i in range(9):
        assert thin.describe(i) == full.describe(i)
    assert thin.to_frame().equals(full.to_frame())
    assert len(thin) == 9
    for item in (3, -1, slice(2, 5), [1, 4], np.arange(9) % 2 == 0, slice(0, 0)):
        assert thin[item]._slicer is None
        same(full[item], thin[item])
    assert thin._slicer is None  # a slice is filled in alone
    same(full[:, 2:5], thin[:, 2:5])
    same(full[3, 2:5], thin[3, 2:5])
    same(full[2:6][:, "x3"], thin[2:6][:, "x3"])
    same(full, copy.copy(thin))
    same(full, thin)
    assert thin._slicer is not None
    assert isinstance(thin.abs.mean(0), shap.Explanation)


@pytest.mark.usefixtures("small_stay_sparse")
def test_several_classes_keep_their_outputs():
    """One value for each class, and those of the predicted class on request."""
    X, y = data(60)
    three = np.argmax(X[:, :9].reshape(60, 3, 3).sum(axis=2), axis=1)
    full, thin, _ = both(X, y, three)
    assert thin.shape == full.shape == (9, 12, 3)
    same(full.of_prediction(), thin.of_prediction())
    same(full[2].of_prediction(), thin[2].of_prediction())
    same(full, thin)


@pytest.mark.usefixtures("small_stay_sparse")
def test_files_pickles_and_pieces(tmp_path: Path):
    """What is read, or put together, is what was there, and is not filled in."""
    X, y = data(real=True)
    full, _, model = both(X, y)
    explainer = SufficientReasonExplainer(model, Background(sparse.csr_array(X)), delta=0.9)
    thin, other = explainer(sparse.csr_array(X[:9])), explainer(X[:4])
    thin.save(tmp_path / "reasons.npz")
    names = zipfile.ZipFile(tmp_path / "reasons.npz").namelist()
    assert "more/data/values.npy" in names
    assert "more/data.npy" not in names
    for again in (
        ReasonExplanation.load(tmp_path / "reasons.npz"),
        pickle.loads(pickle.dumps(thin)),
        ReasonExplanation.concatenate([thin[:4], thin[4], thin[5:]]),
        ReasonExplanation.concatenate([other, thin[4:]]),
    ):
        assert again._slicer is None
        assert [again.describe(i) for i in range(9)] == [full.describe(i) for i in range(9)]
        same(full, again)
    thin[4].save(tmp_path / "one.npz")
    same(full[4], ReasonExplanation.load(tmp_path / "one.npz"))
    same(full[4], pickle.loads(pickle.dumps(thin[4])))
    np.testing.assert_allclose(thin.as_guarantee().values, full.as_guarantee().values)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("more/data/starts", lambda a: a[:0], "must have shape"),
        ("more/data/starts", lambda a: a + 1, "must rise from 0 to how many numbers"),
        ("more/data/indices", lambda a: a + 12, "must hold whole numbers from 0 to 11"),
        ("reasons/rows/indices", lambda a: a[::-1].copy(), "must rise in every row"),
        ("law/rows/values", lambda a: a * 0, "must hold finite numbers other than 0"),
        ("law/rows/values", lambda a: a[:3], "must have shape"),
        ("law/rows/values", None, "law/rows/values is missing"),
        ("more/values", lambda a: np.zeros(len(a) + 1), "more/values must have shape"),
        (
            "more/values",
            lambda a: np.zeros(len(a)),
            "meta.more.view must not be 'all' of values in reasons alone",
        ),
    ],
)
@pytest.mark.usefixtures("small_stay_sparse")
def test_parts_that_do_not_fit_are_refused(tmp_path: Path, part: str, change: Any, message: str):
    """A file is not trusted: rows, columns and values must be such as there can be."""
    _, thin, _ = both(*data(real=True))
    thin.save(tmp_path / "reasons.npz")
    with np.load(tmp_path / "reasons.npz") as held:
        arrays = {name: held[name] for name in held.files if change or name != part}
    if change:
        arrays[part] = change(arrays.get(part, arrays["reasons/features"]))
    np.savez_compressed(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InvalidInputError, match=message):
        ReasonExplanation.load(tmp_path / "bad.npz")


def odd_ones(X: Any) -> list[Any]:
    """The same numbers in all forms that SciPy has."""
    coo = sparse.coo_matrix(X)
    twice = sparse.coo_matrix(
        (
            np.concatenate([coo.data, coo.data * 0.25, coo.data * -0.25]),
            (np.tile(coo.row, 3), np.tile(coo.col, 3)),
        ),
        shape=X.shape,
    )
    zeros = sparse.csr_matrix((X != 7).astype(float))
    zeros.data[:] = X.ravel()
    unsorted = sparse.csr_matrix(X)
    for a, b in zip(unsorted.indptr[:-1], unsorted.indptr[1:], strict=True):
        unsorted.indices[a:b] = unsorted.indices[a:b][::-1].copy()
        unsorted.data[a:b] = unsorted.data[a:b][::-1].copy()
    unsorted.has_sorted_indices = False
    whole = [sparse.csr_array(X.astype(kind)) for kind in (np.int8, np.int64, np.float32)]
    kinds = (sparse.csr_matrix, sparse.csc_array, sparse.lil_matrix, sparse.dok_array)
    return [twice, zeros, unsorted, *whole, *(kind(X) for kind in kinds)]


@pytest.mark.usefixtures("small_stay_sparse")
def test_all_kinds_of_sparse_matrices_are_read():
    """Values of one place are added, zeros that are stored are zeros, and columns come sorted."""
    X, _ = data()
    for given in odd_ones(X):
        rows = sparse_rows(given, None, "X")
        np.testing.assert_array_equal(rows.toarray(), X)
        assert rows.dtype == np.bool_
        assert (rows.values != 0).all()
        np.testing.assert_array_equal(np.array([*rows]), X)
        np.testing.assert_array_equal(rows[[3, 1]].toarray(), X[[3, 1]])
        np.testing.assert_array_equal(rows[np.arange(4), np.arange(4)], X[range(4), range(4)])
    np.testing.assert_array_equal(one_row(X[2]).toarray(), X[2:3])
    assert isinstance(Background(sparse.csr_array(X) == 1).rows, SparseRows)


@pytest.mark.usefixtures("small_stay_sparse")
def test_what_is_wrong_is_named():
    """A number that is none, and one that a binary feature cannot be."""
    X = sparse.csr_array([[1.0, 0.0], [0.0, np.nan]])
    with pytest.raises(InvalidInputError) as error:
        Background(X)
    assert str(error.value) == (
        "A background must hold finite numbers, got nan in row 1, column '1'. Fill in or drop what "
        "is missing."
    )
    model = LinearModel([1, 1], 1, feature_names=["a", "b"])
    with pytest.raises(InvalidInputError) as error:
        sufficient_reasons(model, sparse.csr_array([[1, 0], [0, 3]]))
    assert str(error.value) == (
        "X must be 0 or 1 in every column, got 3.0 in row 1, column 'b'. Binarize it first."
    )
    with pytest.raises(InvalidInputError, match="got 3 in row 1, column 'b'"):
        sufficient_reasons(
            model, [[1, 0]], distribution=Background(sparse.csr_array([[1, 0], [0, 3]]))
        )


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("width", [30, 9000])
def test_what_is_wrong_in_a_sparse_masker_is_told_of_the_masker(width: int, form: str):
    """Whatever its format, large or small; of rows it is told of X."""
    X = sparse.random(60, width, 0.1, format="csr", random_state=0)
    model = LogisticRegression().fit(X, np.arange(60) % 2)
    bad = X.copy()
    bad.data[37] = np.nan
    row = int(np.searchsorted(X.indptr, 37, "right")) - 1
    wrong = (
        f"must hold finite numbers, got nan in row {row}, column 'x{X.indices[37]}'. Fill in "
        "or drop what is missing."
    )
    with pytest.raises(InvalidInputError, match=f"^masker {re.escape(wrong)}$"):
        SufficientReasonExplainer(model, bad.asformat(form))
    explainer = SufficientReasonExplainer(model, X, on_error="raise")
    with pytest.raises(InvalidInputError, match=f"^X {re.escape(wrong)}$"):
        explainer(bad.asformat(form))
    with pytest.warns(UserWarning, match="^1 of 8 rows could not"):
        found = SufficientReasonExplainer(model, X)(bad[: row + 8][-8:].asformat(form))
    assert np.flatnonzero(found.status == "invalid").tolist() == [0]


@pytest.mark.usefixtures("small_stay_sparse")
def test_a_bad_row_among_good_ones_is_flagged():
    """The others are explained, and nothing is filled in."""
    X, y = data(real=True)
    explainer = SufficientReasonExplainer(LogisticRegression().fit(X, y), sparse.csr_array(X))
    X = X[:9].copy()
    X[4, 2] = np.inf
    with pytest.warns(UserWarning, match="1 of 9 rows could not be explained as asked: 1 invalid"):
        found = explainer(sparse.csr_array(X))
    assert found._slicer is None
    assert found.status.tolist() == ["ok"] * 4 + ["invalid"] + ["ok"] * 4
    assert not found[4].values.any()


@pytest.mark.usefixtures("small_stay_sparse")
def test_uniform_completions_take_sparse_rows_too():
    """Where a law wants rows filled in, they are, a few at a time."""
    X, _ = data()
    model = LinearModel(np.arange(12) - 5, 3)
    explainer = SufficientReasonExplainer(model, Uniform())
    same(explainer(X), explainer(sparse.csr_array(X)))


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.usefixtures("small_stay_sparse")
def test_words_of_documents(binary: bool, monkeypatch: pytest.MonkeyPatch):
    """Documents stay sparse from the vectorizer to the explanation."""
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(60)]
    model = make_pipeline(CountVectorizer(binary=binary), LogisticRegression())
    model.fit(texts, ["server" in text for text in texts])
    thin = SufficientReasonExplainer(model, texts, delta=0.9)(texts[:5])
    monkeypatch.setattr(_sparse, "_FEW_CELLS", 10**9)
    full = SufficientReasonExplainer(model, texts, delta=0.9)(texts[:5])
    assert thin._slicer is None
    assert full._slicer is not None
    assert [thin.describe(i) for i in range(5)] == [full.describe(i) for i in range(5)]
    np.testing.assert_array_equal(thin.display_data, full.display_data)
    same(full, thin)


def test_nothing_of_the_size_of_rows_times_words_is_made(tmp_path: Path):
    """600 documents of 40,000 words would take 192 MB as floats, and 40 of them 13 MB."""
    n, d = 600, 40_000
    rng = np.random.default_rng(0)
    columns = np.minimum(rng.zipf(1.3, (n, 40)), d) - 1
    X = sparse.csr_array((np.ones(n * 40), (np.repeat(range(n), 40), columns.ravel())), (n, d))
    X.data[:] = 1.0
    model = LinearModel(rng.normal(size=d), 0.0)
    ones = (X > 0).astype(float)
    SufficientReasonExplainer(model, ones)(ones[:5])  # kernels are compiled by then
    tracemalloc.start()
    explainer = SufficientReasonExplainer(model, ones, delta=0.9)
    found = explainer(ones[:40])
    found.save(tmp_path / "reasons.npz")
    again = ReasonExplanation.load(tmp_path / "reasons.npz")
    assert again[3:40].describe(2) == found.describe(5)
    assert len(pickle.loads(pickle.dumps(found[:20])).to_frame()) == 20
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found._slicer is None
    # The table that proves of a set that nothing can be left out takes up to 14 MB of it.
    assert peak < 40e6


@pytest.mark.usefixtures("small_stay_sparse")
def test_where_columns_come_from_is_found_out_once(monkeypatch: pytest.MonkeyPatch):
    """A further row costs nothing that depends on the number of columns alone."""
    from sklearn_probsr.adapters.columns import Gathering

    texts = ["server is down", "lunch menu today", "please restart server", "soup again"] * 5
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [1, 0] * 10)
    explainer, made = SufficientReasonExplainer(model, texts, delta=0.8), []
    explainer(texts[:1])
    made_before = Gathering.__init__

    def count(self: Any, bases: Any) -> None:
        made.append(bases)
        made_before(self, bases)

    monkeypatch.setattr(Gathering, "__init__", count)
    found = explainer(texts[1:2])
    assert not made
    assert pickle.loads(pickle.dumps(explainer))(texts[1:2]).describe(0) == found.describe(0)
    assert made  # a pickle holds nothing that is made on demand


def test_no_kernel_is_compiled_for_no_rows(monkeypatch: pytest.MonkeyPatch):
    """An explainer checks what it is asked for without a search."""
    from sklearn_probsr.independent.uniform import UniformLaw

    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(UniformLaw, "together", refuse)
    model = LinearModel([2, 1, 1], threshold=2)
    SufficientReasonExplainer(model, delta=0.9)
    assert len(sufficient_reasons(model, np.zeros((0, 3)))) == 0
    with pytest.raises(InvalidInputError, match=r"delta must lie in \[0, 1\], got 2"):
        SufficientReasonExplainer(model, delta=2)


@pytest.mark.usefixtures("small_stay_sparse")
@pytest.mark.parametrize("seed", range(4))
def test_sparse_rows_are_searched_on_a_sample_and_counted_over_all(seed: int):
    """The guarantee is the count over all rows, and so is what is proved of the set."""
    X, y = data(60, seed, real=bool(seed % 2))
    model = LogisticRegression(C=9.0).fit(X, y)
    over = Background(sparse.csr_array(X), sample=6, random_state=seed)
    explainer = SufficientReasonExplainer(model, over, delta=0.8)
    found = explainer(sparse.csr_array(X[:6]))
    assert "6 of 60 background rows" in found.describe(0)
    for i, reason in enumerate(found.reasons):
        won = model.predict(X[[i]])

        def share(features: Any, i: int = i, won: Any = won) -> float:
            mixed = X.copy()
            mixed[:, list(features)] = X[i, list(features)]
            return float(np.mean(model.predict(mixed) == won))

        assert share(reason.features) == pytest.approx(reason.guarantee.lower, abs=1e-12)
        assert reason.guarantee.exact >= Fraction(4, 5)
        assert reason.minimality in {"minimum", "subset-minimal", "locally-minimal"}
        for u in reason.features:
            assert share(set(reason.features) - {u}) < 0.8
    whole = SufficientReasonExplainer(model, Background(sparse.csr_array(X)), delta=0.8)
    told = whole(sparse.csr_array(X[:6])).reasons
    assert (told.size <= found.reasons.size).all()


@pytest.mark.usefixtures("small_stay_sparse")
def test_printing_sparse_reasons_fills_in_nothing():
    """They read as those that are filled in."""
    X, y = data()
    full, thin, _ = both(X, y)
    assert repr(thin) == repr(full)
    assert repr(thin[0]) == str(thin[0]) == full[0].describe()
    assert thin._slicer is None


@pytest.mark.usefixtures("small_stay_sparse")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("output", ["values", "mask"])
def test_a_transformer_makes_no_table_of_sparse_rows(output: str, several: bool):
    """What comes out is what comes of the same rows filled in, and sparse on the way."""
    X, y = data(real=True)
    y = np.arange(40) % 3 if several else y
    step = SufficientReasonTransformer(LogisticRegression(C=9.0), output=output, delta=0.9)
    expected = step.fit(X, y).transform(X[:9])
    thin = step.fit(sparse.csr_array(X), y)
    found = thin.transform(sparse.csr_array(X[:9]))
    assert sparse.issparse(found)
    assert found.has_canonical_format
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)
    np.testing.assert_array_equal(
        thin.transform(sparse.csr_array(X[:9])).toarray(), found.toarray()
    )


def test_rules_of_many_columns_run_no_step_on_all_of_them(monkeypatch: pytest.MonkeyPatch):
    """Without steps, a value is what it is: the rule of a word costs nothing for the others."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 9000), density=0.01, rng=rng, format="csr")
    model = LogisticRegression().fit(X, np.arange(60) % 2)
    found = SufficientReasonExplainer(model, X, delta=0.8)(X[:2])
    monkeypatch.setattr("sklearn_probsr.adapters.units.Trials.tried", None)
    rules = found.rules()
    assert len(rules) == 2
    assert not any("missing" in str(rule) for rule in rules)


def test_a_file_of_many_columns_is_read_without_another_limit(tmp_path: Path):
    """What is written of a column is little, so that the file stays within its own limit."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 100_000), density=1e-4, rng=rng, format="csr")
    model = LogisticRegression().fit(X, np.arange(40) % 2)
    found = SufficientReasonExplainer(model, X, delta=0.8)(X[:2])
    found.save(tmp_path / "wide.npz")
    again = ReasonExplanation.load(tmp_path / "wide.npz")
    assert again.reasons.model.units == found.reasons.model.units
    assert again.describe(1) == found.describe(1)


@pytest.mark.parametrize(
    "vectorizer",
    [TfidfVectorizer(), CountVectorizer(binary=True), HashingVectorizer(n_features=2**20)],
)
def test_a_file_of_many_words_is_read_without_another_limit(tmp_path: Path, vectorizer):
    """So few documents of so many words leave a short file."""
    texts = [" ".join(f"w{k}" for k in range(i, 60_000, 7 + i)) for i in range(12)]
    model = make_pipeline(vectorizer, LogisticRegression()).fit(texts, np.arange(12) % 2)
    found = SufficientReasonExplainer(model, texts, delta=0.8)(texts[:2])
    found.save(tmp_path / "words.npz")
    again = ReasonExplanation.load(tmp_path / "words.npz")
    assert again.reasons.model.units == found.reasons.model.units
    assert again.describe(1) == found.describe(1)
    assert (tmp_path / "words.npz").stat().st_size < 2**21


@pytest.mark.parametrize("asked", ["values", "data", "display_data"])
@pytest.mark.parametrize("kind", ["words", "bits", "numbers", "classes"])
def test_a_file_can_be_read_of_what_was_filled_in_before_it_was_saved(
    kind: str, asked: str, tmp_path: Path
):
    """A plot asks for values, and so may anybody, before they save."""
    X = sparse.random(40, 9000, 0.01, format="csr", random_state=0)
    X = X.sign() if kind == "bits" else X
    y = np.arange(40) % (3 if kind == "classes" else 2)
    model, rows = LogisticRegression().fit(X, y), X[:3]
    if kind == "words":
        words = [f"w{k}" for k in range(9000)]
        texts = [" ".join(words[j] for j in row.indices) for row in X]
        model = make_pipeline(TfidfVectorizer(vocabulary=words), LogisticRegression())
        X, rows = texts, texts[:3]
        model.fit(texts, y)
    explainer = SufficientReasonExplainer(model, X, delta=0.7)
    plain, found = explainer(rows), explainer(rows)
    getattr(found, asked)
    for one, name in ((plain, "plain"), (found, "found"), (found[1:], "some")):
        one.save(tmp_path / name)
    again = ReasonExplanation.load(tmp_path / "found")
    assert same_reasons(again, ReasonExplanation.load(tmp_path / "plain"))
    np.testing.assert_array_equal(again.values, plain.values)
    some = ReasonExplanation.load(tmp_path / "some")
    assert [r.facts for r in some.reasons] == [r.facts for r in plain[1:].reasons]
    changed = explainer(rows)
    changed.values = changed.values + 1.0
    changed.save(tmp_path / "changed")
    again = ReasonExplanation.load(tmp_path / "changed", max_bytes=10**9)
    np.testing.assert_array_equal(again.values, plain.values + 1.0)
    both = ReasonExplanation.concatenate([found, explainer(rows)])
    assert both[0].reasons[0].facts == both[3].reasons[0].facts == plain[0].reasons[0].facts


@pytest.mark.parametrize("copied", [lambda one: one, lambda one: pickle.loads(pickle.dumps(one))])
def test_explanations_of_weighted_words_are_pickled_with_their_rules(copied: Any):
    """As those of the same words filled in: the counts that were seen are listed."""
    words = [f"w{k}" for k in range(9000)]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words[:30], 12)) for _ in range(40)]
    y = [text.count("w1 ") + text.count("w2") > 3 for text in texts]
    told = []
    for vocabulary in (words, words[:30]):
        model = make_pipeline(TfidfVectorizer(vocabulary=vocabulary), LogisticRegression(C=9))
        explainer = SufficientReasonExplainer(model.fit(texts, y), texts, delta=0.7)
        found = copied(explainer(texts[:3]))
        assert (found._slicer is None) == (len(vocabulary) == 9000)
        told.append([[c.text for c in rule.conditions] for rule in found.rules()])
        again = copied(explainer)(texts[:3])
        assert [r.facts for r in again.reasons] == [r.facts for r in found.reasons]
    assert told[0] == told[1]

"""Matching rows that are mostly zeros, against the same rows filled in, and curves of both."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import (
    ArgmaxModel,
    LinearModel,
    Matching,
    ReasonExplanation,
    SufficientReasonExplainer,
    Unit,
    guarantee,
    guarantee_curve,
    sufficient_reasons,
)
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.extend import law_of
from sklearn_probsr.model import sparse as _sparse
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.rows import matching
from sklearn_probsr.rows.matching_kernels import worth
from tests.interpreted import examples

LEVELS = st.sampled_from([0.0, 0.3, 0.5, 0.75, 0.9, 1.0])


@contextmanager
def patched(**values: Any) -> Iterator[None]:
    """Set constants of the search for a while; ``sparse=True`` keeps every sparse matrix so."""
    with pytest.MonkeyPatch.context() as patch:
        if values.pop("sparse", False):
            patch.setattr(_sparse, "_FEW_CELLS", -1)
        for name, value in values.items():
            patch.setattr(matching, name, value)
        yield


@st.composite
def questions(draw: st.DrawFn) -> tuple[Any, np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw a model, rows with copies and equal columns, instances, and what is asked of them."""
    d, n = draw(st.integers(1, 7)), draw(st.integers(2, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.1, 0.3, 0.6]))
    rows = (rng.random((n, d)) < share).astype(int)
    rows = rows[:, rng.integers(0, d, d)]  # some columns are equal
    if draw(st.booleans()):
        weights = rng.integers(-3, 4, d).astype(float)
        model: Any = LinearModel(weights, float(rng.integers(-2, 3)))
    else:
        model = ArgmaxModel(rng.integers(-3, 4, (3, d)), rng.integers(-1, 2, 3))
    if draw(st.booleans()):
        units = [Unit.binary(f"w{j}", j) for j in range(d)]
        if isinstance(model, LinearModel):
            model = LinearModel(model.weights, model.threshold, units=units)
        else:
            model = ArgmaxModel(model.weights, model.intercepts, units=units)
    fresh = (rng.random((2, d)) < share).astype(int)
    asked = np.vstack([rows[rng.integers(0, n, 3)], fresh])
    options: dict[str, Any] = {"delta": draw(LEVELS)}
    some = rng.permutation(d)
    if draw(st.booleans()):
        options["include"] = some[:1].tolist()
    if draw(st.booleans()):
        options["exclude"] = some[1:3].tolist()
    options["max_size"] = draw(st.integers(len(options.get("include", ())), d))
    options["present_only"] = draw(st.booleans())
    options["supporting_only"] = draw(st.booleans())
    held = rng.random(n) < 0.4
    held[0], held[-1] = True, False
    settings_of = {
        "confirm": held,
        "min_rows": draw(st.integers(1, max(np.count_nonzero(~held) // 2, 1))),
        "cautious": draw(st.booleans()),
    }
    return model, rows, asked, {"options": options, "matching": settings_of}


def answered(model: Any, rows: Any, asked: Any, told: dict[str, Any]) -> list[Any]:
    """Return everything that is said of each row, or why there is nothing."""
    law = Matching(rows, **told["matching"])
    found: list[Any] = []
    for i in range(asked.shape[0]):
        try:
            reasons = sufficient_reasons(model, asked[[i]], distribution=law, **told["options"])
        except UnreachableError as error:
            found.append(str(error))
            continue
        reason = reasons[0]
        found.append((reason.features, reason.guarantee, reason.minimality, reason.size_lower))
        found.append((reason.matches, str(reason)))
    return found


@settings(max_examples=examples(150))
@given(questions(), st.sampled_from([0, 10**9]))
def test_words_are_matched_as_tables_are(question: Any, fewer: int):
    """Sparse rows give the answers of the same rows filled in, by lists of facts and by bits."""
    model, rows, asked, told = question
    dense = answered(model, rows, asked, told)
    with patched(sparse=True, _FEWER=fewer):
        thin, few = sparse.csr_array(rows), sparse.csr_array(asked)
        law = law_of(model, Matching(thin, **told["matching"]))
        assert isinstance(law.rows, SparseRows)
        assert law.takes_sparse
        assert answered(model, thin, few, told) == dense


@settings(max_examples=examples(100))
@given(questions(), st.sampled_from([0, 16]), st.sampled_from([2, 32]))
def test_a_beam_grows_the_same_sets(question: Any, fewer: int, beam: int):
    """Without a budget sparse rows and tables grow the same sets, by lists and by bits."""
    model, rows, asked, told = question
    with patched(_BUDGET=-1, _BEAM=beam, _FEWER=10**9):
        dense = answered(model, rows, asked, told)
    with patched(sparse=True, _BUDGET=-1, _BEAM=beam, _FEWER=fewer):
        thin, few = sparse.csr_array(rows), sparse.csr_array(asked)
        assert answered(model, thin, few, told) == dense


def test_counts_are_those_of_the_table():
    """Any set of facts is shared by the same rows, a copy of the instance left out."""
    rng = np.random.default_rng(0)
    rows = (rng.random((40, 6)) < 0.3).astype(int)
    model = LinearModel([1, -2, 1, 1, 0, 2], 1)
    law = Matching(rows, min_rows=2)
    with patched(sparse=True):
        thin = Matching(sparse.csr_array(rows), min_rows=2)
        for x in rows[:10]:
            for bits in range(2**6):
                features = [j for j in range(6) if bits >> j & 1]
                one, other = (
                    law_of(model, some).view(model.check_row(x)).matches(features)
                    for some in (law, thin)
                )
                assert one == other
                known = guarantee(model, x, features, distribution=thin)
                assert known == guarantee(model, x, features, distribution=law)
        assert 0 < law_of(model, thin).rows.nbytes < law_of(model, thin).nbytes


def test_units_in_another_order_are_filled_in():
    """Where units are not the columns in their order, rows are compared as a table."""
    rows = (np.random.default_rng(0).random((60, 3)) < 0.4).astype(int)
    units = [Unit.binary("b", 1), Unit.binary("a", 0), Unit.binary("c", 2)]
    model = LinearModel([1.0, 2.0, 1.0], 2.0, units=units)
    dense = sufficient_reasons(
        model, rows[:5], distribution=Matching(rows, min_rows=2), delta=0.7, max_size=3
    )
    with patched(sparse=True):
        law = Matching(sparse.csr_array(rows), min_rows=2)
        thin = sufficient_reasons(model, rows[:5], distribution=law, delta=0.7, max_size=3)
    assert [reason.features for reason in thin] == [reason.features for reason in dense]


def test_numbers_are_not_matched():
    """Sparse numbers other than 0 and 1 have no states, as those of a table have none."""
    model = LinearModel([1.0, 1.0], 1.0, units=[Unit.real("a", 0), Unit.binary("b", 1)])
    with patched(sparse=True):
        law = Matching(sparse.csr_array([[0.5, 1], [0, 1], [2, 0], [1, 1]]), min_rows=1)
        with pytest.raises(InvalidInputError, match="'a' is real-valued"):
            law_of(model, law)


def texts(n: int, words: int, classes: int) -> tuple[Any, list[str]]:
    """Return a pipeline on texts, and the texts."""
    rng = np.random.default_rng(0)
    ends = np.cumsum(1 / np.arange(1, words + 1))
    drawn = np.searchsorted(ends / ends[-1], rng.random((n, 30)))
    told = [" ".join(f"w{j}" for j in row) for row in drawn]
    names = [f"w{j}" for j in range(words)]
    counter = CountVectorizer(binary=True, vocabulary=names, token_pattern=r"\S+")
    scores = counter.transform(told) @ rng.normal(size=(words, classes))
    target = np.argmax(scores - np.median(scores, axis=0), axis=1)
    return make_pipeline(counter, LogisticRegression(C=10, max_iter=500)).fit(told, target), told


@pytest.mark.parametrize("classes", [2, 4])
def test_nothing_is_filled_in(classes: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any):
    """An explainer of texts never makes a table of all rows and words, nor does what it returns."""
    model, told = texts(400, 9000, classes)

    def refuse(rows: SparseRows) -> Any:
        raise AssertionError(f"{rows.shape} were filled in")

    monkeypatch.setattr(SparseRows, "toarray", refuse)
    law = Matching(told, min_rows=10)
    explainer = SufficientReasonExplainer(model, law, delta=0.8, on_error="flag")
    found = explainer(told[:6])
    assert explainer.law.takes_sparse
    frame = found.to_frame()
    assert (frame["matching_rows"] >= frame["kept_rows"]).all()
    assert "share" in found.describe(0)
    path = tmp_path / "told.npz"
    found.save(path)
    again = ReasonExplanation.load(path)
    assert again.describe(0) == found.describe(0)
    for copied in (again, pickle.loads(pickle.dumps(found))):
        assert copied.to_frame().astype(str).equals(frame.astype(str))
    more = pickle.loads(pickle.dumps(explainer))(told[:6])
    assert more.to_frame().astype(str).equals(frame.astype(str))


def test_columns_of_a_sparse_matrix_that_are_zeros_and_ones(monkeypatch: pytest.MonkeyPatch):
    """Columns that are 0 and 1 in sparse rows are binary to Matching, as those of a table are."""
    rng = np.random.default_rng(0)
    rows = (rng.random((1100, 1000)) < 0.02).astype(float)
    model = LogisticRegression(max_iter=20, tol=0.1).fit(rows, rows[:, :9].sum(axis=1) > 0)
    dense = SufficientReasonExplainer(model, Matching(rows), delta=0.8, on_error="flag")
    thin = SufficientReasonExplainer(
        model, Matching(sparse.csr_array(rows)), delta=0.8, on_error="flag"
    )
    assert thin.law.takes_sparse
    assert not dense.law.takes_sparse
    one, other = dense(rows[:4]).to_frame(), thin(sparse.csr_array(rows[:4])).to_frame()
    told = ["reason", "guarantee_lower", "minimality", "matching_rows", "kept_rows"]
    assert one[told].astype(str).equals(other[told].astype(str))
    rows[0, 3] = 2.0
    with pytest.raises(InvalidInputError, match="'x3' is real-valued"):
        SufficientReasonExplainer(model, Matching(sparse.csr_array(rows)))


# --- curves ----------------------------------------------------------------------------------


@given(questions())
@settings(max_examples=examples(60))
def test_curves_have_the_enclosures_of_their_sets(question: Any):
    """Of every size, sparse and filled in, with a copy of the instance among the rows or not."""
    model, rows, instances, _ = question
    held = np.arange(len(rows)) % 2 == 0
    for form in (np.asarray, sparse.csr_array):
        with patched(sparse=True):
            law = Matching(form(rows), min_rows=1, confirm=held)
            view = law_of(model, law).view(model.check_row(instances[0]))
            order = view.ranking()
            found = view.along(order, 1e-4)
            assert found == [view.enclose(order[:k]) for k in range(len(order) + 1)]
            assert view.along(order[:2], 1e-4) == found[:3][: len(order[:2]) + 1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 90), st.integers(1, 90))
@settings(max_examples=examples(60))
def test_the_order_is_that_of_greed_fact_by_fact(seed: int, n_good: int, n_bad: int):
    """Facts that change nothing are taken at once, in the place that each would have had."""
    rng = np.random.default_rng(seed)
    shared = rng.random((9, n_good + n_bad)) < rng.random((9, 1)) ** 0.2  # by the row of ones
    rows = np.column_stack([shared.T, np.arange(n_good + n_bad) < n_good]).astype(int)
    held = np.zeros((1, 10), dtype=int)
    model = LinearModel([0] * 9 + [1], 1)
    law = Matching(
        np.vstack([rows, held]), min_rows=1, confirm=np.arange(len(rows) + 1) >= len(rows)
    )
    left, expected, here = list(range(9)), [], rows[:, :9].all(axis=1) & (rows[:, 9] == 1)
    here = np.arange(len(rows)) != np.flatnonzero(here)[0] if here.any() else rows[:, 9] >= 0
    while left:
        counts = {k: [int((here & (rows[:, k] == 1) & (rows[:, 9] == c)).sum()) for c in (1, 0)]
                  for k in left}  # fmt: skip
        best = max(left, key=lambda k: worth(*counts[k]))
        expected.append(best)
        left.remove(best)
        here = here & (rows[:, best] == 1)
    view = law_of(model, law).view(model.check_row([1] * 10))
    assert view.orders(list(range(9)), ()) == [expected]


def test_a_curve_of_many_words_takes_about_as_long_as_a_reason():
    """It was quadratic in the words: half a minute of these."""
    rng = np.random.default_rng(0)
    words = sparse.random(400, 20_000, 0.005, format="csr", random_state=0).sign()
    model, law = LinearModel(rng.standard_normal(20_000), 0.1), Matching(words, min_rows=5)
    row = words[:1].toarray()[0]
    sufficient_reasons(model, words[:1], distribution=law)
    started = time.process_time()
    curve = guarantee_curve(model, row, distribution=law)
    assert time.process_time() - started < 10
    assert len(curve) == 20_001

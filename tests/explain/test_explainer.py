"""SufficientReasonExplainer: what it takes, what it refuses, and that nothing else matters."""

import io
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import shap
from joblib.parallel import ParallelBackendBase
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Product,
    ReasonExplanation,
    SufficientReasonExplainer,
    Uniform,
    Unit,
    adapt,
    sufficient_reasons,
)
from sklearn_probsr.core.options import Options
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.explain import jobs
from sklearn_probsr.extend import Law
from sklearn_probsr.independent.uniform import UniformLaw
from tests.explained import (
    classifier,
    explainer,
    explanation,
    mixed,
    mixed_explanation,
    people,
    same_reasons,
    tumours,
)


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


@cache
def raw_explainer() -> SufficientReasonExplainer:
    """Return an explainer of real-valued columns, scaled in a pipeline."""
    _, raw, y = tumours()
    return SufficientReasonExplainer(
        make_pipeline(StandardScaler(), LogisticRegression()).fit(raw[:400], y[:400]), raw[:400]
    )


# --- What X may be ---------------------------------------------------------------------------

CONTAINERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "DataFrame": lambda frame: frame,
    "array": lambda frame: frame.to_numpy(),
    "Fortran array": lambda frame: np.asfortranarray(frame.to_numpy()),
    "csr_matrix": lambda frame: sparse.csr_matrix(frame.to_numpy()),
    "csr_array": lambda frame: sparse.csr_array(frame.to_numpy()),
    "csc_array": lambda frame: sparse.csc_array(frame.to_numpy()),
    "polars": lambda frame: pl.DataFrame(frame.to_dict("list")),
    "lists": lambda frame: frame.to_numpy().tolist(),
    "tuples": lambda frame: tuple(map(tuple, frame.to_numpy().tolist())),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_the_container_does_not_matter(container: Any):
    """The same rows give identical reasons, also as booleans and integers, also as a masker."""
    X, _, _ = tumours()
    assert same_reasons(explainer()(container(X[400:440])), explanation())
    assert same_reasons(explainer()(container(X[400:440].astype(int))), explanation())
    masked = SufficientReasonExplainer(classifier(), container(X[:400]))
    assert same_reasons(masked(X[400:440]), explanation())


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_the_container_of_raw_columns_does_not_matter(container: Any):
    """Real-valued columns before a scaler, which is folded; the data are the raw numbers."""
    _, raw, _ = tumours()
    explain = raw_explainer()
    expected = explain(raw[400:405])
    found = explain(container(raw[400:405]))
    assert same_reasons(found, expected)
    assert np.allclose(found.data, raw[400:405].to_numpy())


@pytest.mark.parametrize("container", ["DataFrame", "polars", "array", "lists"])
def test_the_container_of_strings_does_not_matter(container: str):
    """Categories and numbers, in a frame or in an array of objects."""
    frame, y = people()
    frame = frame.drop(columns="savings").assign(job=frame["job"].fillna("none"))
    steps = make_column_transformer((OneHotEncoder(), [1, 2]), remainder="passthrough")
    fitted = make_pipeline(steps, LogisticRegression(max_iter=1000)).fit(frame, y)
    explain = SufficientReasonExplainer(fitted, frame, delta=0.9)
    found = explain(CONTAINERS[container](frame[:8]))
    assert same_reasons(found, explain(frame[:8]))
    assert found.display_data.tolist() == frame[:8].to_numpy().tolist()


def test_frames_and_arrays_without_names():
    """An estimator that was fitted on an array takes frames as well, by position."""
    X, _, y = tumours()
    fitted = LogisticRegression().fit(X[:400].to_numpy(), y[:400])
    named = SufficientReasonExplainer(fitted, X[:400], feature_names=X.columns)
    assert same_reasons(named(X[400:440]), explanation())
    plain = SufficientReasonExplainer(fitted, X[:400].to_numpy())(X[400:440])
    assert list(plain.feature_names) == [f"x{i}" for i in range(30)]
    assert np.array_equal(plain.values, explanation().values)


@pytest.mark.parametrize("model", ["binary", "raw"])
def test_a_single_row(model: str):
    """As a Series, a vector, a list, or a batch of one: a batch of one."""
    X = tumours()[0] if model == "binary" else tumours()[1]
    explain = explainer() if model == "binary" else raw_explainer()
    expected = explain(X[400:403])[:1]
    row = X.iloc[400]
    for one in (row, row.to_numpy(), row.tolist(), tuple(row), X[400:401], row.astype(object)):
        found = explain(one)
        assert found.shape == (1, 30)
        assert same_reasons(found, expected)


def test_a_row_of_strings():
    """A Series or a list with texts in it is a row, too."""
    X, _ = people()
    explain = SufficientReasonExplainer(mixed(), X, delta=0.9)
    for one in (X.iloc[0], X.iloc[0].tolist(), X.iloc[0].to_numpy()):
        assert same_reasons(explain(one), mixed_explanation()[:1])


def test_no_rows():
    """Of every kind: no row is no mistake."""
    X, _ = people()
    explain = SufficientReasonExplainer(mixed(), X)
    for none in (X[:0], X[:0].to_numpy(), pl.DataFrame(X[:0].to_dict("list"))):
        found = explain(none)
        assert type(found) is ReasonExplanation
        assert found.shape == (0,)
        assert found.values.shape == (0, 4)
        assert list(found.feature_names) == ["age", "job", "savings", "smoker"]
    for none in (np.zeros((0, 30)), sparse.csr_array((0, 30))):
        assert explainer()(none).values.shape == (0, 30)


def test_a_single_column():
    """A model of one feature, over data and over a coin; rows as a frame, an array, a Series."""
    X = pd.DataFrame({"a": [0.0, 0, 1, 1, 0, 1]})
    fitted = LogisticRegression().fit(X, [0, 0, 1, 1, 0, 1])
    for masker in (X, None):
        explain = SufficientReasonExplainer(fitted, masker)
        expected = explain(X)
        assert expected.reason_size.tolist() == [1] * 6
        assert same_reasons(explain(X.to_numpy()), expected)
        assert same_reasons(explain(X["a"]), expected)
        assert same_reasons(explain([[v] for v in X["a"]]), expected)
        assert same_reasons(explain([1.0]), expected[2:3])


def test_texts():
    """A pipeline of words takes texts, its background too; a Series of them is many rows."""
    texts = pd.Series(["good film", "bad film", "good good cast", "bad cast", "bad", "good"])
    fitted = make_pipeline(CountVectorizer(binary=True), LogisticRegression(C=9))
    fitted.fit(texts, [1, 0, 1, 0, 0, 1])
    for data in (texts, texts.tolist(), texts.to_numpy()):
        found = SufficientReasonExplainer(fitted, data, delta=0.9)(data)
        assert list(found.feature_names) == ["bad", "cast", "film", "good"]
        assert found.shape == (6, 4)
        assert "given " in found.describe(1)
    assert SufficientReasonExplainer(fitted)(["good cast"]).shape == (1, 4)


def test_wrong_columns_get_the_adapters_errors():
    """Missing, in another order, too many; and what a LinearModel says of its own."""
    X, _, _ = tumours()
    names = list(X.columns)
    shown = ", ".join(map(repr, names[1:9]))
    with refused(
        "X must have the columns that the estimator was fitted with, it lacks 'mean radius'. It "
        f"has {shown}, ... (29 in all)."
    ):
        explainer()(X[names[1:]])
    with refused(
        "X must have the columns that the estimator was fitted with, in their order, got "
        "'worst fractal dimension' as column 0. Write X[list(estimator.feature_names_in_)]."
    ):
        explainer()(X[names[::-1]])
    with refused("X must have one column per raw column, 30, got 31."):
        explainer()(np.zeros((2, 31)))
    with refused(
        "X must have two dimensions, (rows, 30 raw columns), got an array of shape (29,). Write "
        "[x] for a single instance."
    ):
        explainer()(np.zeros(29))
    # The background is 0/1, and its numbers are numbers all the same.
    assert len(explainer()(np.array([[0.0] * 30, [3.5] + [0.0] * 29]))) == 2
    model = LinearModel([1.0, 2.0], 0.5)
    with refused("X must have one column per feature, 2, got 3."):
        SufficientReasonExplainer(model)([[1, 0, 1]])


# --- Chunks, jobs, seeds ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 39])
def test_chunks_do_not_matter(size: int, monkeypatch: pytest.MonkeyPatch):
    """Rows alone, in small batches, or all at once: number by number the same."""
    X, _, _ = tumours()
    monkeypatch.setattr(Law, "rows_at_once", size)
    monkeypatch.setattr(UniformLaw, "rows_at_once", size)
    assert same_reasons(explainer()(X[400:440]), explanation())
    parts = [explainer()(X[start : start + size]) for start in range(400, 440, size)]
    values = np.concatenate([part.values for part in parts])
    assert np.array_equal(values[:40], explanation().values)
    uniform = SufficientReasonExplainer(classifier(), "uniform")
    whole = sufficient_reasons(uniform.linear_model, X[400:440].to_numpy())
    found = uniform(X[400:440])
    assert np.array_equal(found.reason_mask, whole.mask)
    assert np.array_equal(found.guarantee_lower, whole.lower)
    assert found.reasons.exact == whole.exact


def test_jobs_do_not_matter():
    """Two processes, two threads, or none: the same reasons, of the same model."""
    X, _, _ = tumours()
    for options in (
        {"masker": X[:400]},
        {"masker": X[:400], "method": "monte-carlo", "epsilon": 0.05, "seed": 1},
    ):
        alone = SufficientReasonExplainer(classifier(), **options)(X[400:412])
        shared = SufficientReasonExplainer(classifier(), n_jobs=2, **options)
        found = shared(X[400:412])
        assert same_reasons(found, alone)
        assert found.reasons.model is shared.linear_model
        assert found.distribution is shared.distribution
        for backend in ("threading", "multiprocessing"):
            with joblib.parallel_config(backend=backend):
                assert same_reasons(shared(X[400:412]), alone)


def test_the_jobs_of_a_configuration():
    """None means as many jobs as joblib was told to take, as in scikit-learn; else one."""
    X, _, _ = tumours()
    rows = X[400:412].to_numpy(dtype=bool)
    alone = explainer()._question.answer(rows, None, silent=True)
    for n_jobs, pieces in ((None, 2), (1, 0)):
        remote = Remote(workers=2)
        with joblib.parallel_config(backend=remote, n_jobs=2):
            found = explainer()._question.answer(rows, n_jobs, silent=True)
        assert np.array_equal(found.mask, alone.mask)
        assert len(remote.sent) == pieces


class Remote(ParallelBackendBase):
    """A backend of machines without a common disk: all that goes there and back is pickled.

    The answers come as a list, as from Ray, Spark and multiprocessing.
    """

    def __init__(self, workers: int, forgetful: bool = False, late: int = 0, **options: Any):
        super().__init__(**options)
        self.memories: list[dict[str, Any]] = [{} for _ in range(workers)]
        self.forgetful, self.late = forgetful, late
        self.sent: list[int] = []
        self.back: list[int] = []

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        return len(self.memories)

    def submit(self, func: Any, callback: Any = None) -> Any:
        there = pickle.dumps(func)
        # The last worker starts when the others have taken the first pieces.
        n = len(self.sent)
        awake = len(self.memories) - (n < self.late)
        memory = {} if self.forgetful else self.memories[n % awake]
        self.sent.append(len(there))
        at_home, jobs._KEPT = jobs._KEPT, memory
        try:
            result = pickle.loads(there)()
        finally:
            jobs._KEPT = at_home
        self.back.append(len(pickle.dumps(result)))
        callback(result)
        return SimpleNamespace(get=lambda: pickle.loads(pickle.dumps(result)))

    apply_async = submit


@cache
def heavy() -> tuple[SufficientReasonExplainer, np.ndarray, int]:
    """Return an explainer with a large background, rows, and the bytes of the background."""
    rng = np.random.default_rng(0)
    data = rng.random((3000, 20)) < 0.5
    one = SufficientReasonExplainer(LinearModel(rng.normal(size=20), 0.1), data)
    return one, data[:40], data.nbytes + one.distribution.weights.nbytes


def test_the_background_goes_once_to_each_worker(monkeypatch: pytest.MonkeyPatch):
    """Pieces carry rows there and arrays back, also if a machine is late or forgets."""
    monkeypatch.setattr(Law, "rows_at_once", 2)
    one, rows, size = heavy()
    alone = one(rows)
    for options, pieces, laws in (
        ({"workers": 2}, 20, 2),
        ({"workers": 3, "late": 3}, 20 + 5, 3 + 3),
        ({"workers": 2, "forgetful": True}, sum(range(2, 21, 2)), 20),
    ):
        remote = Remote(**options)
        with joblib.parallel_config(backend=remote, n_jobs=2):
            found = one._question.answer(rows, 2, silent=True)
        assert np.array_equal(found.lower, alone.guarantee_lower)
        assert np.array_equal(found.mask, alone.reason_mask)
        assert found.model is one.linear_model
        assert len(remote.sent) == pieces
        assert sum(n > size for n in remote.sent) == laws
        assert sum(remote.sent) < laws * 1.1 * size + pieces * 1000
        assert max(remote.back) < 4000


@pytest.mark.parametrize("masker", [np.asarray, Background, Marginals.fit, pd.DataFrame])
def test_one_copy_of_the_background_is_pickled(masker: Callable[..., Any]):
    """An explainer, its explanation and a slice of it hold the background once, as it counts."""
    made, _, size = heavy()
    data = made.distribution.rows.astype(float)
    frame = pd.DataFrame(data, columns=made.linear_model.feature_names)
    fitted = LogisticRegression().fit(frame, made.linear_model.predict(data))
    given = masker(frame)
    for model in (made.model, fitted):
        one = SufficientReasonExplainer(model, given, delta=0.9)
        extra = 5000
        again = pickle.loads(pickle.dumps(one))
        assert len(pickle.dumps(one)) < size + extra
        assert len(pickle.dumps(again)) < size + extra
        asked = frame[:5]
        found = one(asked)
        assert same_reasons(again(asked), found)
        assert again.distribution.rows.tobytes() == one.distribution.rows.tobytes()
        assert len(pickle.dumps([one, found, found[3], found[:2]])) < size + extra + 15_000
        # A row has the fitted steps with it, by which its rule takes raw rows.
        assert len(pickle.dumps(one(frame[:40])[7])) < size + 2 * extra
        file = io.BytesIO()
        again.save(file)
        file.seek(0)
        assert same_reasons(SufficientReasonExplainer.load(file)(asked), found)


def test_a_pickled_explainer_is_that_of_the_day():
    """Rows that are changed afterwards change neither it nor its copy."""
    X, _, _ = tumours()
    rows = np.array(X[:400])
    one = SufficientReasonExplainer(LinearModel(classifier().coef_[0], 0.3), rows)
    told = one(X[400:410].to_numpy())
    rows[:] = 1 - rows
    assert same_reasons(pickle.loads(pickle.dumps(one))(X[400:410].to_numpy()), told)


def test_a_prepared_explainer_of_another_model():
    """What was made of one estimator is refused for one that has other columns."""
    X, _, y = tumours()
    state = explainer().__getstate__()
    state["model"] = LogisticRegression().fit(X.iloc[:, :2].to_numpy(), y)
    with refused("feature_names must hold one name per weight, 2, got 30."):
        SufficientReasonExplainer(**state)
    kept = pickle.loads(pickle.dumps(explainer()))._given_masker
    short = replace(kept, model=LinearModel([1.0, 2.0], 0.5))
    names = ", ".join(repr(name) for name in X.columns[:8])
    with refused(
        f"The linear model of LogisticRegression must have the columns {names}, ... (30 in all), "
        "got 'x0', 'x1'. Make the explainer anew."
    ):
        SufficientReasonExplainer(classifier(), short)


def test_a_process_keeps_its_last_law():
    """The tables of a model are built once in each process, not once for every chunk or level."""
    X, _, _ = tumours()
    question = explainer()._question
    rows = X[400:402].to_numpy(dtype=bool)
    law = (question.law.model, question.law.distribution)

    def ask(token: str, sent: tuple[Any, ...], delta: float) -> Any:
        search = partial(jobs._search, method="certified", options=Options(delta=delta), seed=None)
        return jobs._answer(search, token, sent, jobs._law, rows)

    assert ask("one", (), 0.9) is None
    first = ask("one", (law,), 0.9)
    assert "model" not in first
    again = ask("one", (), 0.5)
    assert (first["delta"], again["delta"]) == (0.9, 0.5)
    ask("other", (law,), 0.9)
    assert list(jobs._KEPT) == ["other"]


def test_a_seed_fixes_the_samples_of_each_row():
    """Whatever rows are beside it; another seed gives others, and so does none."""
    X, _, _ = tumours()
    options: dict[str, Any] = {"masker": X[:400], "method": "monte-carlo", "epsilon": 0.05}
    one = SufficientReasonExplainer(classifier(), seed=3, **options)
    first, again = one(X[400:410]), one(X[405:410])
    assert same_reasons(first[5:], again)
    assert set(first.minimality) == {"near-prefix-minimal"}
    assert first.reasons.confidence < 1
    assert (first.reasons.samples > 0).all()
    assert not np.array_equal(
        one._question._generator(np.zeros(3)).random(4),
        SufficientReasonExplainer(classifier(), seed=4, **options)
        ._question._generator(np.zeros(3))
        .random(4),
    )
    for wrong in (-1, 1.5, "a"):
        with refused(f"seed must be None or a whole number >= 0, got {wrong!r}."):
            SufficientReasonExplainer(classifier(), seed=wrong, **options)
    assert SufficientReasonExplainer(classifier(), **options)(X[400:402]).shape == (2, 30)


def test_a_progress_bar_appears_only_on_work_that_lasts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Not at once; after ten seconds, in rows that are there, unless it is to be silent."""
    X, _, _ = tumours()
    whole = explanation()
    capsys.readouterr()
    monkeypatch.setattr(Law, "rows_at_once", 2)
    monkeypatch.setattr(jobs.time, "monotonic", lambda: 0.0)
    explainer()(X[400:410])
    assert capsys.readouterr().err == ""

    clock = iter(range(0, 10**6, 4))
    monkeypatch.setattr(jobs.time, "monotonic", lambda: float(next(clock)))
    slow = explainer()(X[400:409])
    shown = capsys.readouterr().err
    assert shown.startswith("\rSufficientReasonExplainer:  67%")
    assert [int(n) for n in re.findall(r"(\d+)/9 ", shown)][:1] == [6]
    assert re.search(r"100%\|\S+\| 9/9 \[[^\r]*\]\n$", shown)
    assert "it" not in shown.replace("Sufficient", "")
    assert same_reasons(slow, whole[:9])
    explainer()(X[400:410], silent=True)
    explainer().shap_values(X[400:410])
    assert capsys.readouterr().err == ""


# --- Maskers ---------------------------------------------------------------------------------


def test_no_masker_is_uniform():
    """None, its name and the distribution are the same; the base is the mean over coins."""
    X, _, _ = tumours()
    fitted = classifier()
    by_none = SufficientReasonExplainer(fitted)(X[400:410])
    for masker in ("uniform", Uniform()):
        assert same_reasons(SufficientReasonExplainer(fitted, masker)(X[400:410]), by_none)
    base = fitted.coef_.sum() / 2 + fitted.intercept_[0]
    assert by_none.base_values.tolist() == pytest.approx([base] * 10)
    assert str(by_none.distribution) == "uniform completions"


def test_data_are_not_cut():
    """All 400 rows count; shap's own masker keeps what it keeps."""
    X, _, _ = tumours()
    assert str(explainer().distribution) == "replacement by 400 background rows"
    cut = SufficientReasonExplainer(classifier(), shap.maskers.Independent(X[:400]))
    assert str(cut.distribution) == "replacement by 100 background rows"


def test_maskers_of_shap_are_mapped():
    """Independent and Partition hold rows, with or without names; they mean Background."""
    X, _, _ = tumours()
    for data in (X[:400], X[:400].to_numpy()):
        for masker in (
            shap.maskers.Independent(data, max_samples=400),
            shap.maskers.Partition(data, max_samples=400),
        ):
            found = SufficientReasonExplainer(classifier(), masker)
            assert same_reasons(found(X[400:440]), explanation())

    class Own(shap.maskers.Independent):
        """A masker of somebody's own, which is still one."""

    found = SufficientReasonExplainer(classifier(), Own(X[:400], max_samples=400))
    assert same_reasons(found(X[400:440]), explanation())


def test_other_maskers_are_refused_with_a_reason():
    """Each says what it is, and what to pass instead."""
    X, _, _ = tumours()
    instead = "Pass data, or one of Background(X), Marginals.fit(X), Product(p) and Uniform()."
    moments = shap.maskers.Independent({"mean": np.zeros(30), "cov": np.eye(30)})
    cases = [
        (
            shap.maskers.Impute(X[:50].to_numpy()),
            "shap.maskers.Impute fills in conditional estimates, which are no distribution over "
            "rows. Pass its data: masker.data.",
        ),
        (
            shap.maskers.Fixed(),
            f"shap.maskers.Fixed cannot be read as a distribution over rows. {instead}",
        ),
        (
            moments,
            "shap.maskers.Independent was made of a mean and a covariance, which are no rows. "
            f"{instead}",
        ),
        (
            "normal",
            "masker must be None, 'uniform', data, a shap masker or a distribution, got 'normal'.",
        ),
    ]
    data = (
        "masker must be None, 'uniform', data with two dimensions, a shap masker or a distribution"
    )
    cases += [
        (X.iloc[0], f"{data}, got Series of shape (30,)."),
        ((np.zeros(30), np.eye(30)), f"{data}, got tuple."),
        ({"mean": 1}, f"{data}, got dict."),
        (7, f"{data}, got int."),
        ([], "masker must have at least one row, got none."),
    ]
    for masker, message in cases:
        with refused(message):
            SufficientReasonExplainer(classifier(), masker)
        assert not SufficientReasonExplainer.supports_model_with_masker(classifier(), masker)


def test_distributions_of_ours():
    """Background is data, with weights if it has some; Product and Marginals are themselves."""
    X, _, _ = tumours()
    by_rows = SufficientReasonExplainer(classifier(), Background(X[:400]))
    assert same_reasons(by_rows(X[400:440]), explanation())
    weights = np.arange(1, 401)
    weighted = SufficientReasonExplainer(classifier(), Background(X[:400], weights))
    assert str(weighted.distribution) == "replacement by 400 weighted background rows"
    means = np.average(X[:400], axis=0, weights=weights)
    expected = means @ classifier().coef_.ravel() + classifier().intercept_[0]
    assert weighted.expected_value == pytest.approx(expected)
    product, marginals = Product.fit(X[:400]), Marginals.fit(X[:400])
    first = SufficientReasonExplainer(classifier(), product)
    second = SufficientReasonExplainer(classifier(), marginals)
    assert first.distribution == product
    assert type(second.distribution) is Marginals
    rows = X[400:404]
    assert np.allclose(first(rows).guarantee_lower, second(rows).guarantee_lower)
    assert first.expected_value == pytest.approx(explainer().expected_value)


@pytest.mark.parametrize("law", [Background, Marginals])
def test_distributions_of_a_raw_frame(law: Any):
    """With strings and missing values that only the pipeline can encode and fill in."""
    X, _ = people()
    found = SufficientReasonExplainer(mixed(), law(X), delta=0.9)
    adapted = adapt(mixed(), X)
    inside = sufficient_reasons(
        adapted.model, adapted.transform(X[:10]), delta=0.9, distribution=law(adapted.transform(X))
    )
    assert np.array_equal(found(X[:10]).reason_mask, inside.mask)
    assert found.distribution.shape == (120, adapted.model.n_features)
    if law is Background:
        assert same_reasons(found(X[:20]), mixed_explanation())


def test_a_distribution_that_does_not_fit_is_refused():
    """Uniform over real numbers, a product over categories, too few columns."""
    with refused("masker must have one column per raw column, 30, got 29."):
        SufficientReasonExplainer(classifier(), np.zeros((3, 29)))
    units = [Unit.real("a", 0)]
    with refused(
        "Uniform needs features with finitely many states, and 'a' is real-valued. Pass a "
        "background: Background(X), or Marginals.fit(X)."
    ):
        SufficientReasonExplainer(LinearModel([1.0], 0.5, units=units))
    with refused("Product must hold one probability per feature, 30, got 2."):
        SufficientReasonExplainer(classifier(), Product([0.5, 0.5]))
    assert not SufficientReasonExplainer.supports_model_with_masker(
        classifier(), Product([0.5, 0.5])
    )


# --- Models and options -----------------------------------------------------------------------


def test_what_a_model_may_be():
    """An estimator, its coefficients, or a LinearModel: the same reasons."""
    X, _, _ = tumours()
    fitted = classifier()
    pair = (fitted.coef_, fitted.intercept_)
    expected = explanation().reason_mask
    by_pair = SufficientReasonExplainer(pair, X[:400].to_numpy())(X[400:440].to_numpy())
    assert np.array_equal(by_pair.reason_mask, expected)
    model = LinearModel(fitted.coef_.ravel(), -fitted.intercept_[0], strict=True)
    for names in (None, X.columns):
        found = SufficientReasonExplainer(model, X[:400], feature_names=names)(X[400:440])
        assert np.array_equal(found.reason_mask, expected)
        assert found.feature_names[0] == ("x0" if names is None else "mean radius")
    supports = SufficientReasonExplainer.supports_model_with_masker
    assert supports(fitted, X[:400])
    assert supports(pair, None)
    assert supports(model, X)
    tree = DecisionTreeClassifier().fit(X, tumours()[2])
    assert not supports(tree, X)
    assert not supports(LogisticRegression(), X)
    assert not supports(len, None)


def test_a_linear_model_has_two_classes_and_its_own_names():
    """It cannot be asked for others."""
    model = LinearModel([1.0, 2.0], 0.5, classes=("no", "yes"))
    SufficientReasonExplainer(model, target="yes", versus="no")
    with refused(
        "target and versus choose among the classes of an estimator; a LinearModel explains "
        "'yes' against 'no', got target='no', versus=None."
    ):
        SufficientReasonExplainer(model, target="no")
    units = [Unit.binary("a", 0), Unit.binary("b", 1)]
    named = LinearModel([1.0, 2.0], 0.5, units=units)
    assert SufficientReasonExplainer(named, feature_names=["a", "b"]).linear_model == named
    with refused(
        "feature_names are for models without units; this one's units have names of their own: "
        "'a', 'b'."
    ):
        SufficientReasonExplainer(named, feature_names=["c", "d"])
    with refused("feature_names must hold one name per weight, 2, got 1."):
        SufficientReasonExplainer(model, feature_names=["c"])


def test_a_linear_model_with_labels_displays_them():
    """Codes in the data, labels where there are some."""
    units = [
        Unit.one_hot("job", [0, 1], labels=["job: clerk", "job: nurse"]),
        Unit.real("size", [2, 3]),
        Unit.real("age", 4),
    ]
    model = LinearModel([4.0, -4.0, 1.0, 2.0, 0.5], 1.0, units=units)
    rows = [[0, 1, 1.0, 2.0, 40.0], [1, 0, 3.0, 1.0, 50.0]]
    found = SufficientReasonExplainer(model, rows)(rows)
    assert found.data.tolist() == [[1.0, 5.0, 40.0], [0.0, 5.0, 50.0]]
    assert found.display_data.tolist() == [["nurse", "(1, 2)", 40.0], ["clerk", "(3, 1)", 50.0]]
    assert list(found.feature_names) == ["job", "size", "age"]


def test_raw_columns_of_a_pipeline():
    """Names of the raw columns, numbers in the data, what a person reads in display_data."""
    X, _ = people()
    found = mixed_explanation()
    assert list(found.feature_names) == list(X.columns)
    assert found.data.dtype == np.float64
    expected = [[68, 0, 9647.93, 0], [23, 3, 8664.45, 0], [67, 0, np.nan, 1]]
    assert np.array_equal(found.data[[0, 1, 5]], expected, equal_nan=True)
    assert found.display_data[[0, 1, 5]].tolist() == [
        [68.0, "admin", 9647.93, "no"],
        [23.0, "missing", 8664.45, "no"],
        [67.0, "admin", "missing", "yes"],
    ]
    assert found.output_names == "decision function of refused against granted"
    assert explanation().display_data is None
    raw = raw_explainer()(tumours()[1][400:402])
    assert np.array_equal(raw.display_data, tumours()[1][400:402].to_numpy())


def test_target_and_versus():
    """One class against another, or against the rest where the estimator decides so."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))
    fitted = LogisticRegression(max_iter=1000).fit(X, y)
    options: dict[str, Any] = {"target": "virginica", "versus": "versicolor"}
    explain = SufficientReasonExplainer(fitted, X, **options)
    assert explain.linear_model == adapt(fitted, X, **options).model
    assert explain.linear_model.classes == ("versicolor", "virginica")
    found = explain(X[100:103])
    assert found.output_names == "decision function of virginica against versicolor"
    assert set(found.prediction) == {"virginica"}
    assert SufficientReasonExplainer(fitted, X).linear_model.classes == tuple(fitted.classes_)
    tumour = SufficientReasonExplainer(classifier(), tumours()[0][:400], target="benign")
    assert tumour.linear_model.classes == ("malignant", "benign")
    assert tumour.expected_value == pytest.approx(-explainer().expected_value)


def test_include_exclude_and_size():
    """By name or number, from any iterable; a reason that falls short says so."""
    X, _, _ = tumours()

    def reasons(**options: Any) -> ReasonExplanation:
        return SufficientReasonExplainer(classifier(), X[:400], **options)(X[400:410])

    forced = reasons(include=["mean area", 4])
    assert forced.reason_mask[:, [3, 4]].all()
    assert forced.reasons[0].features[:2] == (3, 4)
    assert same_reasons(reasons(include=iter(["mean area", 4])), forced)
    without = explanation().reasons[0].features[0]
    assert not reasons(exclude=[without]).reason_mask[:, without].any()
    small = reasons(max_size=2)
    assert (small.reason_size <= 2).all()
    assert "best-of-size" in small.minimality
    with pytest.raises(UnreachableError):
        reasons(exclude=range(30), on_error="raise")


def test_how_hard_to_prove():
    """The options of a proof reach the search; the lower bound on the size comes along."""
    X, _, _ = tumours()

    def reasons(**options: Any) -> ReasonExplanation:
        return SufficientReasonExplainer(classifier(), X[:400], **options)(X[400:406])

    assert (reasons().minimality == "minimum").all()
    without = reasons(prove=False)
    assert set(without.minimality) == {"subset-minimal"}
    assert (without.size_lower == 0).all()
    few, solved = reasons(prove=True, max_evals=0), reasons(prove=True)
    assert (few.size_lower <= solved.size_lower).all()
    assert few.size_lower.sum() < solved.size_lower.sum()
    assert (solved.size_lower == solved.reason_size).all()
    assert solved[0].size_lower == solved[0].reason_size


def test_options_are_checked_at_once():
    """When the explainer is made, before it sees a row."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"delta": 1.5}, "delta must lie in [0, 1], got 1.5."),
        (
            {"method": "magic"},
            "method must be one of ('certified', 'monte-carlo', 'paper'), got 'magic'.",
        ),
        ({"epsilon": 2}, "epsilon must lie strictly between 0 and 1, got 2."),
        ({"gamma": 0}, "gamma must lie strictly between 0 and 1, got 0."),
        (
            {"include": "a"},
            "include must be a collection of features, got the text 'a'. Write ['a'].",
        ),
        ({"exclude": 3}, "exclude must be a collection of features, got 3."),
        (
            {"include": ["z"]},
            "include names an unknown feature, 'z'. The model's features are 'x0', 'x1'.",
        ),
        ({"max_size": -1}, "max_size must be a whole number >= 0, got -1."),
        ({"prove": "hard"}, "prove must be 'auto', True or False, got 'hard'."),
        (
            {"link": shap.links.logit},
            "link must be shap.links.identity: the values are in units of the decision function, "
            f"got {shap.links.logit!r}.",
        ),
    ]
    for options, message in cases:
        with refused(message):
            SufficientReasonExplainer(LinearModel([1.0, 2.0], 0.5), **options)


def test_the_published_method():
    """For fair coins, with its seed; over data it is refused."""
    model = LinearModel([1.0, 2.0, -1.0], 0.5)
    options: dict[str, Any] = {"method": "paper", "epsilon": 0.2, "gamma": 0.2}
    found = SufficientReasonExplainer(model, seed=0, **options)([[1, 1, 0], [0, 0, 1]])
    assert found.reasons.method == "paper"
    assert (found.reasons.samples > 0).all()
    with pytest.raises(InvalidInputError, match=r"^method='paper' is for uniform binary features"):
        SufficientReasonExplainer(model, [[1, 0, 1]], **options)


def test_the_numbers_alone():
    """`shap_values` are the values; names of outputs and arguments of shap are taken."""
    X, _, _ = tumours()
    assert np.array_equal(explainer().shap_values(X[400:440]), explanation().values)
    assert explainer().expected_value == explanation().base_values[0]
    named = SufficientReasonExplainer(
        classifier(), X[:400], shap.links.identity, output_names="log-odds", linearize_link=False
    )
    found = named(
        X[400:402], max_evals=10, main_effects=False, error_bounds=False, batch_size=5,
        outputs=None, silent=True,
    )  # fmt: skip
    assert found.output_names == "log-odds"


# --- Files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", [SufficientReasonExplainer, shap.Explainer])
def test_save_and_load(reader: Any):
    """By our class and by shap's, with every setting; several explainers in one file."""
    X, _ = people()
    explain = SufficientReasonExplainer(
        mixed(), Marginals.fit(X), delta=0.85, include=["age"], max_size=3, n_jobs=1, seed=4,
        output_names="score", linearize_link=False, target="granted", versus="refused",
        prove=True, max_evals=100, time_limit=1.5,
    )  # fmt: skip
    file = io.BytesIO()
    explain.save(file)
    explainer().save(file)
    file.seek(0)
    again, other = reader.load(file), reader.load(file)
    assert type(again) is SufficientReasonExplainer
    assert same_reasons(again(X[:5]), explain(X[:5]))
    assert again.expected_value == explain.expected_value
    names = (
        "delta", "include", "max_size", "seed", "output_names", "linearize_link", "target", "prove",
        "max_evals", "time_limit",
    )  # fmt: skip
    assert [getattr(again, name) for name in names] == [getattr(explain, name) for name in names]
    assert same_reasons(other(tumours()[0][400:440]), explanation())


def test_save_and_load_with_a_model_format_of_ones_own():
    """The savers and loaders are those of shap: called with the value and the file."""
    file = io.BytesIO()
    explainer().save(file, model_saver=pickle.dump)
    file.seek(0)
    again = SufficientReasonExplainer.load(file, model_loader=pickle.load)
    assert same_reasons(again(tumours()[0][400:440]), explanation())
    with pytest.raises(ValueError, match=r"supposed to be sklearn_probsr\.SufficientReason"):
        SufficientReasonExplainer.load(wrong_block(), instantiate=False)


def wrong_block() -> io.BytesIO:
    """Return a block of shap's own explainers."""
    from shap._serializable import Serializer

    file = io.BytesIO()
    with Serializer(file, "shap.Explainer", version=0) as s:
        s.save("model", None)
    file.seek(0)
    return file

"""SufficientReasonTransformer: a step like any other of scikit-learn."""

import pickle
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Matching,
    Product,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    Uniform,
    Unit,
)
from sklearn_probsr.cli.models import ALLOWED
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import classifier, explanation, mixed, mixed_explanation, people, tumours


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


OUTPUTS = ("values", "mask", "rows")
NAMED_CHECKS = [
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_set_output_transform_polars",
]


def frozen(**options: Any) -> SufficientReasonTransformer:
    """Return a step around the classifier of the binary columns, fitted on 400 rows."""
    X, _, y = tumours()
    step = SufficientReasonTransformer(FrozenEstimator(classifier()), **options)
    return step.fit(X[:400], y[:400])


# --- By scikit-learn's own rules ---------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Skipping check check_array_api_input")
@pytest.mark.parametrize(
    "inner",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(MaxAbsScaler(), LogisticRegression()),
    ],
    ids=["classifier", "pipeline", "sparse pipeline"],
)
def test_check_estimator(inner: Any):
    """Every check passes; none is expected to fail, around a Pipeline neither."""
    results = check_estimator(SufficientReasonTransformer(inner), on_fail="raise")
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert skipped <= {"check_array_api_input"}


@pytest.mark.parametrize(
    ("inner", "sparse_rows", "gaps"),
    [
        (LogisticRegression(), True, False),
        (make_pipeline(StandardScaler(), LogisticRegression()), False, False),
        (make_pipeline(MaxAbsScaler(), LogisticRegression()), True, False),
        (HistGradientBoostingClassifier(max_depth=1), False, True),
        (GridSearchCV(HistGradientBoostingClassifier(), {"max_depth": [1]}), False, True),
        (FrozenEstimator(make_pipeline(StandardScaler(), LogisticRegression())), False, False),
    ],
    ids=str,
)
def test_tags_are_those_of_what_is_inside(inner: Any, sparse_rows: bool, gaps: bool):
    """Sparse rows and missing values are taken where the estimator takes them."""
    tags = get_tags(SufficientReasonTransformer(inner)).input_tags
    assert (tags.sparse, tags.allow_nan) == (sparse_rows, gaps)


def test_missing_values_are_left_to_the_steps():
    """An imputer fills them in; where none does, scikit-learn's own error says so."""
    X, y = np.array([[0.0, 1.0], [np.nan, 0.0], [3.0, 1.0], [5.0, 2.0]] * 5), [0, 0, 1, 1] * 5
    filled = SufficientReasonTransformer(make_pipeline(SimpleImputer(), LogisticRegression()))
    assert filled.fit(X, y).transform(X).shape == (20, 2)
    scaled = SufficientReasonTransformer(make_pipeline(StandardScaler(), LogisticRegression()))
    scaled.fit(np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        scaled.transform(X)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("check", ["general", "data_not_an_array", "preserve_dtypes"])
def test_checks_of_transformers(check: str, output: str):
    """Those that see what comes out, for everything that may."""
    estimator = SufficientReasonTransformer(LogisticRegression(), output=output)
    run = getattr(estimator_checks, f"check_transformer_{check}")
    run("SufficientReasonTransformer", estimator)


# They fit on a frame and transform an array, or the reverse, which scikit-learn remarks on.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("check", NAMED_CHECKS)
def test_checks_that_are_called_by_name(check: str):
    """Names out and set_output, for pandas and polars."""
    getattr(estimator_checks, check)(
        "SufficientReasonTransformer", SufficientReasonTransformer(LogisticRegression())
    )


def test_it_clones_and_pickles():
    """Parameters are kept as they are given; a fitted one answers the same elsewhere."""
    X, _, y = tumours()
    data = Marginals.fit(X[:50])
    step = SufficientReasonTransformer(LogisticRegression(C=3), masker=data, include=["mean area"])
    twin = clone(step)
    assert twin.get_params()["estimator__C"] == 3
    assert twin.include == ["mean area"]
    twin.set_params(estimator__C=0.5, delta=0.8)
    assert (twin.estimator.C, step.estimator.C) == (0.5, 3)
    fitted = SufficientReasonTransformer(LogisticRegression()).fit(X[:400], y[:400])
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(X[400:410]), fitted.transform(X[400:410]))


# --- What comes out ----------------------------------------------------------------------------


def test_the_three_outputs():
    """Those of the explainer: values, mask, and rows with NaN outside the reason."""
    X, _, _ = tumours()
    expected = explanation()
    assert np.array_equal(frozen().transform(X[400:440]), expected.reason_only.values)
    assert np.array_equal(frozen(output="mask").transform(X[400:440]), expected.reason_mask)
    rows = np.where(expected.reason_mask, expected.data, np.nan)
    assert np.array_equal(frozen(output="rows").transform(X[400:440]), rows, equal_nan=True)
    with pytest.raises(
        InvalidInputError,
        match=re.escape("output must be one of ('values', 'mask', 'rows'), got 'sizes'."),
    ):
        frozen(output="sizes")


@pytest.mark.parametrize("output", OUTPUTS)
def test_frames_come_out_where_they_are_asked_for(output: str):
    """With the names of the features, and the index of a pandas frame."""
    X, _, _ = tumours()
    step = frozen(output=output)
    plain = step.transform(X[400:410])
    as_pandas = step.set_output(transform="pandas").transform(X[400:410])
    assert as_pandas.columns.tolist() == X.columns.tolist()
    assert as_pandas.index.tolist() == list(range(400, 410))
    assert np.array_equal(as_pandas.to_numpy(), plain, equal_nan=True)
    as_polars = step.set_output(transform="polars").transform(
        pl.DataFrame(X[400:410].to_dict("list"))
    )
    assert isinstance(as_polars, pl.DataFrame)
    assert as_polars.columns == X.columns.tolist()
    assert np.array_equal(as_polars.to_numpy(), plain, equal_nan=True)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_in_sparse_out(kind: Any):
    """Values and mask are sparse where the rows are; rows hold NaN, so they are not."""
    X, _, y = tumours()
    given = kind(X.to_numpy())
    for output in OUTPUTS:
        step = SufficientReasonTransformer(LogisticRegression(), output=output)
        dense = step.fit(X[:400].to_numpy(), y[:400]).transform(X[400:410].to_numpy())
        found = step.fit(given[:400], y[:400]).transform(given[400:410])
        assert sparse.issparse(found) == (output != "rows")
        # The solver rounds otherwise on sparse rows.
        assert np.allclose(found if output == "rows" else found.toarray(), dense, equal_nan=True)


def test_names_out():
    """Of the features, compared with the names that are given."""
    X, _, y = tumours()
    step = frozen()
    assert step.get_feature_names_out().tolist() == X.columns.tolist()
    assert step.get_feature_names_out(X.columns).tolist() == X.columns.tolist()
    with pytest.raises(ValueError, match=r"^input_features is not equal to feature_names_in_$"):
        step.get_feature_names_out(X.columns[::-1])
    plain = SufficientReasonTransformer(LogisticRegression()).fit(X.to_numpy(), y)
    assert plain.get_feature_names_out().tolist() == [f"x{i}" for i in range(30)]
    assert plain.get_feature_names_out(X.columns).tolist() == X.columns.tolist()
    message = "input_features should have length equal to number of features (30), got 2"
    with pytest.raises(ValueError, match=re.escape(message)):
        plain.get_feature_names_out(["a", "b"])
    with pytest.raises(NotFittedError):
        SufficientReasonTransformer(LogisticRegression()).get_feature_names_out()


# --- What goes in ------------------------------------------------------------------------------


def test_a_frozen_estimator_is_not_fitted_again():
    """Its coefficients stay; y may be missing; the rows of fit are the background."""
    X, _, y = tumours()
    before = classifier().coef_.copy()
    step = SufficientReasonTransformer(FrozenEstimator(classifier())).fit(X[:100])
    assert np.array_equal(step.estimator_.coef_, before)
    assert str(step.explainer_.distribution) == "replacement by 100 background rows"
    assert step.classes_.tolist() == ["benign", "malignant"]
    loose = SufficientReasonTransformer(classifier()).fit(X[:100], y[:100])
    assert not np.array_equal(loose.estimator_.coef_, before)
    assert np.array_equal(classifier().coef_, before)


def test_options_reach_the_explainer():
    """Masker, level, target, constraints and jobs."""
    X, _, y = tumours()
    step = SufficientReasonTransformer(
        LogisticRegression(), output="mask", masker="uniform", delta=0.8, target="benign",
        include=["mean area"], exclude=[0], max_size=4, n_jobs=1, prove=True, max_evals=9,
        time_limit=3,
    )  # fmt: skip
    mask = step.fit(X[:400], y[:400]).transform(X[400:410])
    explain = SufficientReasonExplainer(
        step.estimator_, Uniform(), delta=0.8, target="benign", include=["mean area"],
        exclude=[0], max_size=4,
    )  # fmt: skip
    assert np.array_equal(mask, explain(X[400:410]).reason_mask)
    assert step.classes_.tolist() == ["malignant", "benign"]
    inner = step.explainer_
    assert (inner.prove, inner.max_evals, inner.time_limit) == (True, 9, 3)
    own = SufficientReasonTransformer(LogisticRegression(), masker=X[:30]).fit(X[:400], y[:400])
    assert str(own.explainer_.distribution) == "replacement by 30 background rows"


def test_categories():
    """A classifier that is a Pipeline over categories: its features are the raw columns."""
    X, y = people()
    step = SufficientReasonTransformer(clone(mixed()), delta=0.9).fit(X, y)
    expected = mixed_explanation()
    assert step.get_feature_names_out().tolist() == ["age", "job", "savings", "smoker"]
    assert np.allclose(step.transform(X[:20]), expected.reason_only.values)
    rows = step.set_params(output="rows").transform(X[:20])
    assert np.array_equal(rows[expected.reason_mask], expected.data[expected.reason_mask])
    assert np.isnan(rows[~expected.reason_mask]).all()
    framed = step.set_output(transform="pandas").transform(X[:20])
    assert framed.columns.tolist() == X.columns.tolist()


def test_missing_values_are_the_estimators_business():
    """Refused before a classifier that takes none, passed on to a Pipeline that fills them in."""
    from sklearn.impute import SimpleImputer

    rows = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, 0.0], [4.0, np.nan], [5.0, 1.0]])
    y = [0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="contains NaN"):
        SufficientReasonTransformer(LogisticRegression()).fit(rows, y)
    pipeline = make_pipeline(SimpleImputer(), LogisticRegression())
    found = SufficientReasonTransformer(pipeline).fit(rows, y).transform(rows)
    assert np.isfinite(found).all()
    searched = GridSearchCV(pipeline, {"logisticregression__C": [1.0]}, cv=2)
    again = SufficientReasonTransformer(searched).fit(rows[[0, 1, 2, 3]], [0, 0, 1, 1])
    assert again.transform(rows).shape == (5, 2)


def test_wrong_columns_get_scikit_learns_errors():
    """Those that every step gives."""
    X, _, _ = tumours()
    with pytest.raises(ValueError, match="feature names should match those that were passed"):
        frozen().transform(X[X.columns[::-1]])
    plain = SufficientReasonTransformer(LogisticRegression()).fit(X.to_numpy(), tumours()[2])
    with pytest.raises(ValueError, match="is expecting 30 features as input"):
        plain.transform(np.zeros((2, 29)))


# --- In a workflow -----------------------------------------------------------------------------


def test_in_a_pipeline_and_a_grid_search():
    """The mask feeds another classifier, and delta is chosen like any parameter."""
    X, _, y = tumours()
    pipeline = make_pipeline(
        SufficientReasonTransformer(LogisticRegression(), output="mask", masker="uniform"),
        LogisticRegression(),
    )
    search = GridSearchCV(pipeline, {"sufficientreasontransformer__delta": [0.8, 0.95]}, cv=2).fit(
        X[:200], y[:200]
    )
    assert search.best_params_["sufficientreasontransformer__delta"] in (0.8, 0.95)
    assert search.score(X[200:], y[200:]) > 0.8
    names = search.best_estimator_[:-1].get_feature_names_out()
    assert names.tolist() == X.columns.tolist()


def test_weights_reach_the_estimator():
    """Directly, and by metadata routing where it is enabled and asked for."""
    X, _, y = tumours()
    weights = np.where(y == "benign", 5.0, 0.1)
    expected = LogisticRegression().fit(X, y, sample_weight=weights).coef_
    plain = SufficientReasonTransformer(LogisticRegression(), masker=None)
    assert np.allclose(plain.fit(X, y, sample_weight=weights).estimator_.coef_, expected)
    assert not np.allclose(plain.fit(X, y).estimator_.coef_, expected)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = LogisticRegression().set_fit_request(sample_weight=True)
        step = SufficientReasonTransformer(asked, masker=None)
        assert np.allclose(step.fit(X, y, sample_weight=weights).estimator_.coef_, expected)
        inside = make_pipeline(step, LinearSVC().set_fit_request(sample_weight=False))
        inside.fit(X, y, sample_weight=weights)
        assert np.allclose(inside[0].estimator_.coef_, expected)
        with pytest.raises(UnsetMetadataPassedError):
            plain.fit(X, y, sample_weight=weights)


def test_no_rows_and_one():
    """No row gives no row, and one gives one."""
    X, _, _ = tumours()
    assert frozen().transform(X[:0]).shape == (0, 30)
    assert frozen().transform(X[400:401]).shape == (1, 30)
    assert frozen().transform(pd.DataFrame(X[400:402])).shape == (2, 30)


# --- Files ------------------------------------------------------------------------------------

# What a file of a fitted transformer may hold of this package; see docs/pipelines.md.
OWN = {
    "distributions._completions.Background", "distributions._completions.Marginals",
    "distributions._completions.Product", "distributions._completions.Uniform",
    "distributions._matching.Matching", "explain._explainer.SufficientReasonExplainer",
    "explain.subjects._subject_of.Prepared", "explain._transformer.SufficientReasonTransformer",
    "model.argmax.ArgmaxModel", "model.linear.LinearModel", "model.units.Unit",
}  # fmt: skip


def saved(step: Any) -> Any:
    """Return a fitted step from a skops file, which may hold no other types than those listed."""
    data = skops.io.dumps(step)
    unknown = set(skops.io.get_untrusted_types(data=data)) - ALLOWED
    assert unknown <= {f"sklearn_probsr.{name}" for name in OWN}
    return skops.io.loads(data, trusted=sorted(unknown | ALLOWED))


@pytest.mark.parametrize(
    "masker",
    ["fit", None, Background, Marginals.fit, Product.fit, lambda X: Matching(X, min_rows=5)],
    ids=["fit", "none", "background", "marginals", "product", "matching"],
)
@pytest.mark.parametrize("several", [False, True], ids=["two classes", "three classes"])
def test_skops_keeps_a_fitted_transformer(masker: Any, several: bool):
    """Under every distribution, and twice over: the same rows give the same columns, bit by bit."""
    rng = np.random.default_rng(5)
    X = (rng.random((80, 5)) < 0.5).astype(float)
    score = X @ [3, 2, -1, 1, -2]
    y = np.array(["a", "b", "c"])[(score > 1) * 1 + (several & (score > 3))]
    law = masker(X) if callable(masker) else masker
    for output in ("values", "rows"):
        step = SufficientReasonTransformer(
            LogisticRegression(), output=output, masker=law, delta=0.8, max_size=4
        )
        told = step.fit(X, y).transform(X[:9])
        again = saved(step)
        assert again.transform(X[:9]).tobytes() == told.tobytes()
        assert saved(again).transform(X[:9]).tobytes() == told.tobytes()
        assert again.classes_.tolist() == step.classes_.tolist()
        assert again.explainer_.expected_value == pytest.approx(step.explainer_.expected_value)


def test_skops_keeps_a_pipeline_of_frames():
    """Categories, gaps and bins come back, in a step around a Pipeline and inside one."""
    X, y = people()
    step = SufficientReasonTransformer(mixed(), delta=0.9).set_output(transform="pandas").fit(X, y)
    assert saved(step).transform(X[:20]).equals(step.transform(X[:20]))
    raw = tumours()[1].iloc[:200, :4]
    inside = SufficientReasonTransformer(LogisticRegression(), output="mask")
    pipeline = make_pipeline(StandardScaler(), inside).fit(raw, tumours()[2][:200])
    assert np.array_equal(saved(pipeline).transform(raw[:20]), pipeline.transform(raw[:20]))


def test_a_forged_file_is_checked():
    """What a file says of a unit, a model or a law is checked as if it were typed in."""
    X = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    explainer = SufficientReasonTransformer(LogisticRegression()).fit(X, X[:, 0]).explainer_
    model, state = explainer.linear_model, explainer.__getstate__()
    with refused("unit 'u' must have at least one column, got none."):
        Unit.__new__(Unit).__setstate__({"name": "u", "columns": (), "states": None})
    with refused("threshold must be finite, got nan."):
        LinearModel.__new__(LinearModel).__setstate__({**model.__getstate__(), "threshold": np.nan})
    narrow = replace(state["masker"], distribution=Background([[0, 1]]))
    with refused("The background must have the model's columns, 3, got 2."):
        SufficientReasonExplainer.__new__(SufficientReasonExplainer).__setstate__(
            {**state, "masker": narrow}
        )

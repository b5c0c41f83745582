"""Values of an explanation are SHAP values, all of them, and the reason stays beside them."""

import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shap
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from sklearn_probsr import (
    Background,
    Marginals,
    Matching,
    Product,
    ReasonExplanation,
    SufficientReasonExplainer,
    Uniform,
)
from tests.explained import explainer, explanation, tumours

Scores = Callable[[Any, Any], NDArray[np.float64]]


def decided(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the scores of a model as it tells them itself."""
    return np.asarray(model.decision_function(X))


def log_odds(model: Any, X: Any) -> NDArray[np.float64]:
    """Return them of a model that has probabilities only."""
    logs = model.predict_log_proba(X)
    return logs[:, 1] - logs[:, 0]


def less_cut(model: Any, X: Any) -> NDArray[np.float64]:
    """Return scores from a threshold on the probability of the first class."""
    cut = np.log(model.threshold / (1 - model.threshold))
    return model.estimator_.decision_function(X) - cut


def boosted(**options: Any) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=5, interaction_cst="no_interactions", min_samples_leaf=2, **options
    )


# Models of binary columns, of which any distribution may be asked, and of numbers.
BITS: dict[str, tuple[Callable[[], Any], Scores]] = {
    "logistic": (lambda: LogisticRegression(C=3.0), decided),
    "ridge": (RidgeClassifier, decided),
    "hinge": (lambda: SGDClassifier(max_iter=20, tol=None, random_state=0), decided),
    "naive Bayes": (BernoulliNB, log_odds),
    "threshold": (
        lambda: FixedThresholdClassifier(LogisticRegression(), threshold=0.2, pos_label=1),
        less_cut,
    ),
}
NUMBERS: dict[str, tuple[Callable[[], Any], Scores]] = {
    "scaled": (lambda: make_pipeline(StandardScaler(), LogisticRegression()), decided),
    "binned": (
        lambda: make_pipeline(KBinsDiscretizer(3, strategy="uniform"), LogisticRegression(C=3.0)),
        decided,
    ),
    "boosted stumps": (boosted, decided),
}
LAWS: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda X: Uniform(),
    "product": lambda X: Product(np.linspace(0.2, 0.7, X.shape[1])),
    "marginals": Marginals.fit,
    "background": Background,
    "matching": lambda X: Matching(X, min_rows=1),
}
CASES = [
    *((kind, law, classes) for kind in BITS for law in LAWS for classes in (2, 3)),
    *((kind, law, n) for kind in NUMBERS for law in ("marginals", "background") for n in (2, 3)),
]


@pytest.mark.filterwarnings("ignore:.* of 4 rows could not be explained as asked:UserWarning")
@given(
    case=st.sampled_from(
        [c for c in CASES if c[2] == 2 or c[0] not in ("naive Bayes", "threshold")]
    ),
    seed=st.integers(0, 10**6),
    grouped=st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_base_and_values_are_the_decision_function(
    case: tuple[str, str, int], seed: int, grouped: bool
):
    """Of every kind of model, under every distribution, behind groups, and of every class."""
    kind, law, classes = case
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5)) if kind in NUMBERS else rng.integers(0, 2, (60, 5)).astype(float)
    y = np.argsort(np.argsort(X @ rng.normal(size=5) + rng.normal(size=60))) * classes // 60
    make, scores = (BITS | NUMBERS)[kind]
    model = make().fit(X, y)
    groups = {"both": ["x1", "x3"]} if grouped and law != "product" else None
    explain = SufficientReasonExplainer(
        model, LAWS[law](X), groups=groups, delta=0.7, on_error="flag", prove=False
    )
    some = X[:4]
    expected = scores(model, some)
    found = explain.shap_values(some)
    np.testing.assert_allclose(explain.expected_value + found.sum(axis=1), expected, atol=1e-8)
    reasons = explain(some)
    np.testing.assert_array_equal(reasons.values, found)
    np.testing.assert_array_equal(reasons.base_values[0], explain.expected_value)
    one = reasons.of_prediction()
    best = expected if classes == 2 else expected.max(axis=1)
    np.testing.assert_allclose(one.base_values + one.values.sum(axis=1), best, atol=1e-8)


@pytest.mark.parametrize("cut", [3, slice(2, 9), slice(None)])
def test_shap_computes_the_same(cut: Any):
    """LinearExplainer's values on the same background, of all features, in all slices and files."""
    X = tumours()[0][:400]
    masker = shap.maskers.Independent(X, max_samples=400)
    ours, fitted = explainer(), tumours_model()
    theirs = shap.LinearExplainer(fitted, masker)(tumours()[0][400:440])
    found = explanation()[cut]
    for again in (found, pickle.loads(pickle.dumps(found))):
        np.testing.assert_allclose(again.values, theirs.values[cut], atol=1e-12)
        np.testing.assert_allclose(again.base_values, theirs.base_values[cut], atol=1e-12)
    assert ours.expected_value == pytest.approx(theirs.base_values[0])


def tumours_model() -> tuple[NDArray[np.float64], float]:
    model = explainer().linear_model
    return model.weights, -model.threshold


def test_shap_values_look_for_no_reason(monkeypatch: pytest.MonkeyPatch):
    """The second call of shap's explainers does what its name says, and takes their y."""
    X, y = tumours()[0][400:403], tumours()[2][400:403]
    expected = explanation()[:3].values
    monkeypatch.setattr(type(explainer()._question), "answer", None)
    for found in (
        explainer().shap_values(X),
        explainer().shap_values(X, y),
        explainer().shap_values(X, y, check_additivity=False, silent=True),
    ):
        np.testing.assert_array_equal(found, expected)
    assert explainer().shap_values(X.iloc[0]).shape == (1, 30)
    assert explainer().shap_values(X[:0]).shape == (0, 30)


def test_a_row_that_is_no_number_has_no_values():
    """Zeros in both calls, with the same warning."""
    X = tumours()[0][400:403].copy()
    X.iloc[1, 2] = np.nan
    with pytest.warns(UserWarning, match="^1 of 3 rows could not be explained as asked: 1 inv"):
        found = explainer().shap_values(X)
    assert not found[1].any()
    np.testing.assert_array_equal(found[[0, 2]], explanation()[[0, 2]].values)
    with pytest.warns(UserWarning, match="^1 of 3 rows"):
        np.testing.assert_array_equal(explainer()(X).values, found)


# --- The reason beside them --------------------------------------------------------------------


@pytest.mark.parametrize("rows", [slice(None), slice(3, 6), 2], ids=str)
def test_the_reason_alone(rows: Any, tmp_path: Path):
    """Zeros outside, the same fields, and an output whose name says so; files keep what it is."""
    whole = explanation()[rows]
    only = whole.reason_only
    assert type(only) is ReasonExplanation
    np.testing.assert_array_equal(only.values, np.where(whole.reason_mask, whole.values, 0.0))
    np.testing.assert_array_equal(only.reason_mask, whole.reason_mask)
    np.testing.assert_array_equal(only.base_values, whole.base_values)
    assert only.describe(0) == whole.describe(0)
    assert only.output_names == f"{whole.output_names} (reason only)"
    assert not np.signbit(only.values[only.values == 0]).any()
    assert only.reason_only is only
    only.save(tmp_path / "only")
    again = ReasonExplanation.load(tmp_path / "only")
    np.testing.assert_array_equal(again.values, only.values)
    assert again.reason_only is again
    assert only.as_guarantee().reason_only.in_probability


def test_the_reason_alone_of_several_classes():
    """Of every output, and of the predicted one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    model = LogisticRegression().fit(X, np.digitize(X @ [2, 1, 0.5, -1], [-1, 1]))
    found = SufficientReasonExplainer(model, X)(X[:6])
    only = found.reason_only
    assert only.output_names == ["0 (reason only)", "1 (reason only)", "2 (reason only)"]
    inside = found.reason_mask
    np.testing.assert_array_equal(only.values, np.where(inside[:, :, None], found.values, 0.0))
    for one in (only.of_prediction(), found.of_prediction().reason_only):
        expected = np.where(inside, found.of_prediction().values, 0.0)
        np.testing.assert_array_equal(one.values, expected)
        assert one.output_names == "score of the predicted class (reason only)"
    np.testing.assert_array_equal(
        found[:, :, 1].reason_only.values, np.where(inside, found.values[:, :, 1], 0.0)
    )


def test_explanations_of_different_values_are_not_put_together():
    """Sums of the one would be true, and of the other not."""
    found = explanation()
    with pytest.raises(ValueError, match=r"these differ in the unit of the values\.$"):
        ReasonExplanation.concatenate([found[:2], found[2:4].reason_only])


# --- Names of one row --------------------------------------------------------------------------


def test_names_of_one_row_are_written_with_a_mark():
    """Those in the reason, where they become text; they are equal to the names as they are."""
    whole = explanation()
    one, names = whole[3], list(whole.feature_names)
    assert one.feature_names == names
    assert [str(name) for name in one.feature_names] == [
        f"● {name}" if inside else name
        for name, inside in zip(names, whole.reason_mask[3], strict=True)
    ]
    first = names.index(next(n for n in one.feature_names if str(n) != n))
    assert f"{one.feature_names[first]}" == "1 = "[:0] + f"● {names[first]}"
    assert "1 = " + one.feature_names[first] == f"1 = ● {names[first]}"
    assert tumours()[0][one.feature_names].shape == tumours()[0].shape
    assert dict.fromkeys(one.feature_names, 1)[names[first]] == 1
    assert [str(name) for name in whole.feature_names] == names
    part = one[first : first + 2]
    assert [str(n).startswith("●") for n in part.feature_names] == part.reason_mask.tolist()
    assert pickle.loads(pickle.dumps(one.feature_names)) == names


def test_access_by_name_is_as_ever():
    """Of all rows, of one, of marked features and of others, and after a copy."""
    whole = explanation()
    for j, name in enumerate(whole.feature_names):
        assert np.array_equal(whole[:, name].values, whole.values[:, j])
        assert whole[3, name].values == whole[3][name].values == whole.values[3, j]
        assert whole[3][whole[3].feature_names[j]].values == whole.values[3, j]
    assert type(whole[3].abs) is shap.Explanation
    assert [str(n) for n in whole[3].abs.feature_names] == list(whole.feature_names)
    assert whole[3].as_guarantee().feature_names == list(whole.feature_names)


# --- Sparse rows -------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_values_of_sparse_rows_are_made_when_asked_for(classes: int, tmp_path: Path):
    """Those of the rows that are looked at, also of a file, which holds none of them."""
    n, d = 120, 20_000
    X = sparse.random(n, d, 1e-3, format="csr", random_state=0)
    model = LogisticRegression(max_iter=20).fit(X, np.arange(n) % classes)
    explain = SufficientReasonExplainer(model, X, delta=0.6, prove=False)
    found = explain(X[:100], silent=True)
    found.save(tmp_path / "found")
    again = ReasonExplanation.load(tmp_path / "found", max_bytes=10**9)
    tracemalloc.start()
    parts = [found[3], again[3], ReasonExplanation.concatenate([found[:3], again[3:]])[3]]
    only, own = found.reason_only, found.of_prediction()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * d * 8 / 4  # a quarter of what all values of one output would take
    scores = model.decision_function(X[[3]])[0]
    for one in parts:
        assert one._slicer is None
        np.testing.assert_allclose(one.base_values + one.values.sum(axis=0), scores, atol=1e-8)
    assert only._slicer is None
    inside = only[3].values.any(axis=-1) if classes == 3 else only[3].values != 0
    assert inside.sum() == found.reason_size[3]
    assert pickle.loads(pickle.dumps(found))[3].values.tolist() == found[3].values.tolist()
    assert own._slicer is None
    assert own[5].base_values + own[5].values.sum() == pytest.approx(
        model.decision_function(X[[5]]).max() if classes == 3 else model.decision_function(X[[5]])
    )
    only.save(tmp_path / "only")
    read = ReasonExplanation.load(tmp_path / "only", max_bytes=10**9)
    np.testing.assert_array_equal(read[3].values, only[3].values)
    assert read.reason_only is read

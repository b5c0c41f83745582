"""What code written for shap.LinearExplainer finds on an explainer of reasons."""

import pickle
import re
from typing import Any

import numpy as np
import pytest
import shap
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import Marginals, SufficientReasonExplainer
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import classifier, explainer, mixed, people, tumours


def theirs(X: Any, model: Any) -> shap.LinearExplainer:
    return shap.LinearExplainer(model, shap.maskers.Independent(X, max_samples=len(X)))


def pairs() -> list[tuple[Any, Any, Any]]:
    """Return ours and shap's explainer of the same model and rows: of two classes, and of three."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    several = LogisticRegression().fit(X, np.digitize(X @ [2, 1, -1], [-1, 1]))
    binary = tumours()[0][:400]
    return [
        (explainer(), theirs(binary, classifier()), binary),
        (SufficientReasonExplainer(several, X), theirs(X, several), X),
    ]


def masked(explain: Any, mask: Any, row: Any) -> Any:
    """Return the background rows with what is known of a row; shap has arrays in a tuple."""
    found = explain.masker(mask, row)
    return np.asarray(found[0] if isinstance(found, tuple) else found)


@pytest.mark.parametrize("case", [0, 1], ids=["two classes", "three classes"])
def test_the_attributes_are_those_of_shap(case: int):
    """Weights, means, background rows, and a masker that puts these in."""
    ours, other, X = pairs()[case]
    for name in ("coef", "intercept", "mean", "expected_value"):
        np.testing.assert_allclose(getattr(ours, name), getattr(other, name), atol=1e-12)
        assert np.shape(getattr(ours, name)) == np.shape(getattr(other, name))
    np.testing.assert_array_equal(ours.data, np.asarray(X))
    assert ours.data_feature_names == list(ours(X[:1]).feature_names)
    row, mask = np.asarray(X)[3], np.arange(X.shape[1]) % 2 == 0
    assert type(ours.masker(mask, row)) is type(other.masker(mask, row))
    np.testing.assert_array_equal(masked(ours, mask, row), masked(other, mask, row))
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.data, np.asarray(X))
    np.testing.assert_array_equal(masked(again, mask, row), masked(other, mask, row))


@pytest.mark.parametrize("case", [0, 1], ids=["two classes", "three classes"])
def test_a_row_is_explained_as_shap_does(case: int):
    """The same dictionary, with the same shapes."""
    ours, other, X = pairs()[case]
    row = np.asarray(X)[3]
    expected = other.explain_row(
        row, max_evals=10, main_effects=False, error_bounds=False, outputs=None, silent=True
    )
    found = ours.explain_row(row, max_evals=10, main_effects=False, silent=True)
    assert list(found) == list(expected)
    for name in ("values", "expected_values", "main_effects"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12)
    assert found["mask_shapes"] == expected["mask_shapes"]
    assert found["clustering"] is None
    with pytest.raises(InvalidInputError, match=r"^explain_row takes one row, got 2 arguments\.$"):
        ours.explain_row(row, row)


def test_without_rows_there_is_no_data():
    """A masker is what was given then, and shap's own stay what they are."""
    free = SufficientReasonExplainer(classifier())
    assert free.data is None
    assert free.masker is None
    given = shap.maskers.Independent(tumours()[0][:50])
    assert SufficientReasonExplainer(classifier(), given).masker is given
    X, _ = people()
    frame = SufficientReasonExplainer(mixed(), Marginals.fit(X))
    assert frame.data.shape == X.shape
    assert frame.data_feature_names == list(X.columns)


def test_the_time_is_told():
    """In seconds, of the whole call, also on some of its rows."""
    found = explainer()(tumours()[0][:3])
    assert found.compute_time > 0
    assert found[1].compute_time == found[1:].compute_time == found.compute_time


REFUSED = {
    "algorithm": ("linear", "Leave it out: SHAP values of a linear model are exact."),
    "data": ([[1.0]], "Pass the data as masker."),
    "feature_dependence": ("x", "What replaces unknown features is what masker says."),
    "feature_perturbation": (
        "interventional",
        "What replaces unknown features is what masker says: data are put in their place whole "
        "rows at a time, which is 'interventional'; Matching(data) asks rows that share the facts "
        "instead.",
    ),
    "interactions": (True, "Leave it out: a linear model has none."),
    "model_output": (
        "probability",
        "Leave it out: values are in units of the decision function; explanation.as_guarantee() "
        "has those in probability.",
    ),
    "nsamples": (
        10, "Leave it out: nothing is sampled; method='monte-carlo' does, with epsilon."
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_options_of_shap_are_answered_by_what_to_write(name: str):
    """A sentence for those that shap's explainers have, and Python's words for all others."""
    value, hint = REFUSED[name]
    shown = "a list" if name == "data" else repr(value)
    message = f"SufficientReasonExplainer takes no {name}, got {shown}. {hint}"
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        SufficientReasonExplainer(classifier(), **{name: value})
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'detla'$"):
        SufficientReasonExplainer(classifier(), detla=0.9)
    with pytest.raises(
        InvalidInputError, match=r"takes no data, got a ndarray of shape \(9, 2\)\."
    ):
        SufficientReasonExplainer(classifier(), data=np.zeros((9, 2)))

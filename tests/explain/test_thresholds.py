"""Moved thresholds: the score is measured from them, and labels say so."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier

from sklearn_probsr import SufficientReasonExplainer, adapt
from tests.explained import classifier, tumours


def moved(threshold: float, label: str, **options: str) -> FixedThresholdClassifier:
    return FixedThresholdClassifier(classifier(), threshold=threshold, pos_label=label, **options)


@pytest.mark.parametrize("label", ["benign", "malignant"])
@pytest.mark.parametrize("threshold", [0.1, 0.8])
def test_a_threshold_on_the_probability(label: str, threshold: float):
    """Expected value and margins are the score less its threshold; SHAP values are the same."""
    X = tumours()[0][:400]
    model = moved(threshold, label)
    plain, explain = (SufficientReasonExplainer(m, X) for m in (classifier(), model))
    cut = np.log(threshold / (1 - threshold)) * (1 if label == classifier().classes_[1] else -1)
    assert explain.expected_value == pytest.approx(plain.expected_value - cut)
    found, before = explain(X[:9]), plain(X[:9])
    assert found.output_names == (
        f"decision function of malignant against benign, from its threshold of {cut:.4g}"
    )
    assert pickle.loads(pickle.dumps(explain))(X[:1]).output_names == found.output_names
    assert adapt(model, X).cut == pytest.approx(cut)
    np.testing.assert_allclose(found.values, before.values, atol=1e-12)
    scores = explain.expected_value + found.values.sum(axis=1)
    np.testing.assert_allclose(scores, classifier().decision_function(X[:9]) - cut, atol=1e-9)
    assert ((scores > 0) == (model.predict(X[:9]) == "malignant")).all()


def test_a_threshold_on_the_score():
    """It is what the label names, with the sign of the class that it is about."""
    X = tumours()[0][:400]
    name = "decision function of malignant against benign"
    for label, sign in (("malignant", 1), ("benign", -1)):
        model = moved(1.5, label, response_method="decision_function")
        found = SufficientReasonExplainer(model, X)(X[:1])
        assert found.output_names == f"{name}, from its threshold of {sign * 1.5:.4g}"
    named = SufficientReasonExplainer(moved(0.2, "benign"), X, output_names="risk")
    assert named(X[:1]).output_names == "risk"


def test_where_nothing_was_moved():
    """The usual threshold goes without saying, and several classes have none."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    several = LogisticRegression(max_iter=1000).fit(X, y)
    assert SufficientReasonExplainer(several, X)(X[:1]).output_names == ["0", "1", "2"]
    assert adapt(several, X, target=2, versus=1).cut == 0
    rows = tumours()[0][:400]
    assert adapt(classifier(), rows).cut == 0
    half = SufficientReasonExplainer(moved(0.5, "malignant"), rows)(rows[:1])
    assert half.output_names == "decision function of malignant against benign"

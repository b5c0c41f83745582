"""Guarantees counted again by the estimator's own predictions, with none of the engines."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_probsr import Background, LinearModel, Marginals, SufficientReasonExplainer
from sklearn_probsr.exceptions import InvalidInputError


@pytest.fixture(scope="module")
def people():
    """A frame with an index of its own, and a Pipeline of three classes or two."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "job": rng.choice(["nurse", "clerk", "cook"], 50),
            "age": rng.integers(20, 60, 50),
            "pay": rng.normal(size=50).round(1),
        },
        index=[f"r{i}" for i in range(50)],
    )
    score = (X["job"] == "nurse") + X["age"] / 20 + X["pay"]
    steps = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "pay"]))
    two = make_pipeline(steps, LogisticRegression(C=9)).fit(X, score > 2.5)
    three = make_pipeline(steps, LogisticRegression(C=9)).fit(X, np.digitize(score, [2, 3]))
    return X, two, three


@pytest.mark.parametrize("classes", [2, 3])
def test_counts_agree_with_what_was_claimed(people, classes):
    """Over background rows the count is the guarantee itself."""
    X, two, three = people
    explainer = SufficientReasonExplainer(two if classes == 2 else three, X, delta=0.9)
    found = explainer.verify(X[:10])
    assert list(found.index) == list(X.index[:10])
    assert found["agrees"].all()
    assert (found["near"] == 0).all()
    np.testing.assert_allclose(found["counted"], found["claimed_lower"], atol=1e-12)


def test_samples_agree_over_independent_features(people):
    """Over marginals completions are drawn, and chance is allowed for over all rows at once."""
    X, two, _ = people
    found = SufficientReasonExplainer(two, Marginals.fit(X), delta=0.9).verify(X[:5])
    assert found["agrees"].all()
    assert (found["counted"] != found["claimed_lower"]).any()


def test_rows_without_a_reason_agree_with_nothing(people):
    """The estimator is not asked about them; no rows have no lines."""
    X, two, _ = people
    rows = X[:4].astype({"pay": float})
    rows.iloc[1, 2] = np.inf
    rows.iloc[2, 0] = "pilot"
    explainer = SufficientReasonExplainer(two, X, delta=0.9)
    with pytest.warns(UserWarning, match="2 of 4 rows"):
        found = explainer.verify(rows)
    assert found["agrees"].tolist() == [True, False, False, True]
    assert found["counted"].isna().tolist() == [False, True, True, False]
    assert list(explainer.verify(X[:0])) == list(found)


def test_a_planted_fault_is_found(people):
    """A model that changed after it was adapted no longer agrees."""
    X, two, _ = people
    model = pickle.loads(pickle.dumps(two))
    explainer = SufficientReasonExplainer(model, X, delta=0.9)
    model[-1].coef_ = -model[-1].coef_
    assert not explainer.verify(X[:10])["agrees"].all()
    model[-1].coef_ = -0.2 * model[-1].coef_
    assert not explainer.verify(X[:10])["agrees"].all()


def test_models_without_an_estimator():
    """A LinearModel with weighted rows, groups, and a pair are counted as well."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (30, 5))
    weights = rng.integers(1, 5, 30)
    model = LinearModel([3, -2, 1, 4, -1], threshold=2)
    explainer = SufficientReasonExplainer(
        model, Background(rows, weights), groups={"both": ["x1", "x3"]}
    )
    assert explainer.verify(rows[:6])["agrees"].all()
    pair = SufficientReasonExplainer(([1.0, -2.0, 0.5, 1.5, 0.3], -0.4), rows)
    assert pair.verify(rows[:6])["agrees"].all()


def test_rows_on_the_threshold_are_counted_apart():
    """Where a score is within rounding of the threshold either side is right."""
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[0.1, 0.2, -0.3]]), np.array([0.0])
    model.n_features_in_ = 3
    rows = np.array([[1.0, 1, 1], [0, 0, 1], [1, 0, 0], [1, 1, 0]])
    found = SufficientReasonExplainer(model, rows, delta=0.5).verify(rows[2:])
    assert (found["near"] > 0).any()
    assert found["agrees"].all()


def test_what_cannot_be_counted(people):
    """No raw rows, no texts, no nonsense."""
    X, two, _ = people
    explainer = SufficientReasonExplainer(two, X)
    with pytest.raises(
        InvalidInputError,
        match=r"^verify needs the raw background, which an explainer that was pickled or loaded no "
        r"longer has\. Make the explainer anew from its data\.$",
    ):
        pickle.loads(pickle.dumps(explainer)).verify(X[:2])
    with pytest.raises(InvalidInputError, match=r"^samples must be a whole number >= 1, got 0\.$"):
        explainer.verify(X[:2], samples=0)
    with pytest.raises(
        InvalidInputError,
        match=r"^verify counts raw rows, and uniform completions has none\. Pass data as masker: "
        r"Background\(X\) or Marginals\.fit\(X\)\.$",
    ):
        SufficientReasonExplainer(LinearModel([1, 2], 1)).verify([[1, 1]])
    texts = ["good day", "bad day", "good night", "bad night"]
    words = make_pipeline(CountVectorizer(binary=True), LogisticRegression()).fit(texts, [1, 0] * 2)
    with pytest.raises(
        InvalidInputError,
        match=r"^verify puts raw facts into raw rows, and the words of a text are not columns of "
        r"one\. Explain the steps after the vectorizer on its matrix to count there\.$",
    ):
        SufficientReasonExplainer(words, texts).verify(texts)

"""Several classes: one against another, one against the rest, and what is not one linear score."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from sklearn_probsr import adapt, to_linear_model
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.cases import VERTICES, fitted

LABELS = np.array(["ant", "bee", "cow", "dog"])


def several() -> np.ndarray:
    """Return one of four classes for every vertex."""
    rng = np.random.default_rng(1)
    return LABELS[(VERTICES @ rng.normal(size=(8, 4)) + rng.normal(size=(256, 4))).argmax(axis=1)]


ARGMAX = {
    "LogisticRegression": LogisticRegression(),
    "LinearSVC": LinearSVC(random_state=0),
    "Perceptron": Perceptron(random_state=0),
    "SGDClassifier": SGDClassifier(random_state=0),
    "RidgeClassifier": RidgeClassifier(),
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(),
    "BernoulliNB": BernoulliNB(),
    "MultinomialNB": MultinomialNB(),
    "ComplementNB": ComplementNB(),
    "CategoricalNB": CategoricalNB(),
    "NearestCentroid": NearestCentroid(),
    "NearestCentroid, priors": NearestCentroid(priors="empirical"),
    "DummyClassifier": DummyClassifier(),
    "OneVsRestClassifier": OneVsRestClassifier(LinearSVC(random_state=0)),
    "OneVsRestClassifier, NB": OneVsRestClassifier(MultinomialNB()),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.mark.parametrize("name", ARGMAX)
def test_the_winner_wins_every_pair(name: str):
    """`predict` says the class whose pairwise models all say so."""
    estimator = fitted(ARGMAX[name], several())
    said = estimator.predict(VERTICES)
    wins = np.ones((256, 4), dtype=bool)
    for i, target in enumerate(LABELS):
        for versus in np.delete(LABELS, i):
            adapted = adapt(estimator, VERTICES, target=target, versus=versus)
            assert adapted.model.classes == (versus, target)
            wins[:, i] &= adapted.predict(VERTICES) == target
    assert (wins.sum(axis=1) == 1).all()
    assert (LABELS[wins.argmax(axis=1)] == said).all()


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), OneVsRestClassifier(LogisticRegression()), MultinomialNB()],
)
def test_equal_scores_go_to_the_class_that_scikit_learn_says(estimator: Any):
    """Whole weights make ties between classes; each release has its own rule for one-vs-rest."""
    estimator = fitted(estimator, several())
    rows = np.random.default_rng(2).integers(-2, 3, size=(4, 8)).astype(float)
    if isinstance(estimator, OneVsRestClassifier):
        for part, row in zip(estimator.estimators_, rows, strict=True):
            part.coef_, part.intercept_ = row[None, :], np.zeros(1)
    elif isinstance(estimator, MultinomialNB):
        estimator.feature_log_prob_, estimator.class_log_prior_ = rows, np.zeros(4)
    else:
        estimator.coef_, estimator.intercept_ = rows, np.zeros(4)
    scores = np.sort(VERTICES @ rows.T, axis=1)
    assert (scores[:, -1] == scores[:, -2]).sum() > 10
    said = estimator.predict(VERTICES)
    for target in LABELS:
        wins = np.ones(256, dtype=bool)
        for versus in LABELS[target != LABELS]:
            model = to_linear_model(estimator, target=target, versus=versus)
            wins &= model.predict(VERTICES) == target
        assert (wins == (said == target)).all()


@pytest.mark.parametrize("machine", [SVC(kernel="linear"), NuSVC(kernel="linear", nu=0.1)])
def test_duels_of_a_support_vector_machine(machine: Any):
    """Each pair's model decides its vote, and the votes decide the class."""
    classes = LABELS[(VERTICES @ np.random.default_rng(1).normal(size=(8, 4))).argmax(axis=1)]
    estimator = machine.fit(VERTICES, classes)
    votes = np.zeros((256, 4), dtype=int)
    for i, target in enumerate(LABELS):
        for versus in np.delete(LABELS, i):
            adapted = adapt(estimator, VERTICES, target=target, versus=versus)
            votes[:, i] += adapted.predict(VERTICES) == target
    assert (votes.sum(axis=1) == 6).all()
    assert (LABELS[votes.argmax(axis=1)] == estimator.predict(VERTICES)).all()


@pytest.mark.parametrize("inner", [LogisticRegression(), SVC(kernel="linear"), BernoulliNB()])
def test_one_class_against_the_rest(inner: Any):
    """The estimator of a class decides it by a positive score."""
    estimator = OneVsRestClassifier(inner).fit(VERTICES, several())
    for part, target in zip(estimator.estimators_, LABELS, strict=True):
        model = to_linear_model(estimator, target=target)
        assert model.classes == (f"not {target}", target)
        assert model.strict
        if hasattr(part, "decision_function"):
            expected = part.decision_function(VERTICES) > 0
        else:
            expected = part.predict_proba(VERTICES)[:, 1] > 0.5
        assert ((model.predict(VERTICES) == target) == expected).all()
        adapt(estimator, VERTICES, target=target)


@pytest.mark.parametrize(
    "inner", [SVC(kernel="linear"), make_pipeline(StandardScaler(), SVC(kernel="linear"))]
)
def test_several_labels_at_once(inner: Any):
    """With a matrix of labels, one-vs-rest decides on each; steps inside are followed."""
    Y = np.column_stack([several() == "ant", several() != "bee"]).astype(int)
    estimator = OneVsRestClassifier(inner).fit(VERTICES, Y)
    for label in (0, 1):
        adapted = adapt(estimator, VERTICES, target=label)
        assert ((adapted.predict(VERTICES) == label) == estimator.predict(VERTICES)[:, label]).all()


def test_a_matrix_of_coefficients():
    """(coef, intercept) with a row per class, as shap takes it: classes are row numbers."""
    rows = np.random.default_rng(0).normal(size=(3, 8))
    model = to_linear_model((rows, np.zeros(3)), target=2, versus=0)
    assert ((model.predict(VERTICES) == 2) == (VERTICES @ (rows[2] - rows[0]) > 0)).all()


BAD = [
    (
        LogisticRegression(),
        {},
        "LogisticRegression tells 4 classes apart, 'ant', 'bee', 'cow', 'dog': it takes the "
        "largest "
        "of 4 scores, which is not one (weights, threshold) pair. Ask for one class against "
        "another: target='ant', versus='bee'.",
    ),
    (
        LogisticRegression(),
        {"target": "bee"},
        "LogisticRegression tells 4 classes apart, 'ant', 'bee', 'cow', 'dog': it takes the "
        "largest "
        "of 4 scores, which is not one (weights, threshold) pair. Ask for one class against "
        "another: target='bee', versus='ant'.",
    ),
    (
        SVC(kernel="linear"),
        {"versus": "ant"},
        "SVC tells 4 classes apart, 'ant', 'bee', 'cow', 'dog': it counts votes, which is not one "
        "(weights, threshold) pair. Ask for one class against another: target='bee', versus='ant'.",
    ),
    (
        OneVsRestClassifier(LogisticRegression()),
        {},
        "OneVsRestClassifier tells 4 classes apart, 'ant', 'bee', 'cow', 'dog': it takes the "
        "largest of 4 scores, which is not one (weights, threshold) pair. Ask for one class "
        "against another: target='ant', versus='bee'. Or for its own decision on one class "
        "against the rest: target='ant'.",
    ),
    (
        LogisticRegression(),
        {"target": "cat", "versus": "ant"},
        "target must be one of the classes, 'ant', 'bee', 'cow', 'dog', got 'cat'.",
    ),
    (
        LogisticRegression(),
        {"target": "ant", "versus": 3},
        "versus must be one of the classes, 'ant', 'bee', 'cow', 'dog', got 3.",
    ),
    (
        LogisticRegression(),
        {"target": "ant", "versus": "ant"},
        "versus must be another class than target, got 'ant' twice.",
    ),
]


@pytest.mark.parametrize(("estimator", "options", "message"), BAD)
def test_an_argmax_is_not_one_score(estimator: Any, options: dict[str, Any], message: str):
    """The error names the classes and what to ask for."""
    estimator = fitted(estimator, several())
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        to_linear_model(estimator, **options)


def test_labels_one_by_one():
    """Several labels at once: one has to be picked."""
    Y = np.column_stack([several() == "ant", several() != "bee"]).astype(int)
    estimator = OneVsRestClassifier(LogisticRegression()).fit(VERTICES, Y)
    message = (
        "OneVsRestClassifier decides on each of 0, 1 by itself. Pick one: target=0, without versus."
    )
    for options in ({}, {"target": 0, "versus": 1}):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            to_linear_model(estimator, **options)
    ridge = RidgeClassifier().fit(VERTICES, Y)
    message = (
        "RidgeClassifier was fitted on several labels at once. Fit one for the label to be "
        "explained."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        to_linear_model(ridge)

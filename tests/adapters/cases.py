"""Fitted estimators for the tests: every supported classifier, on all vertices of the 8-cube."""

import contextlib
import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import linear_model
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC, NuSVC

VERTICES = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(float)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Fit without scikit-learn's advice, which changes from release to release."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _passive_aggressive() -> dict[str, Any]:
    kind = getattr(linear_model, "PassiveAggressiveClassifier", None)
    with quietly():
        return {} if kind is None else {"PassiveAggressiveClassifier": kind(random_state=0)}


def plain() -> dict[str, Any]:
    """Return classifiers that hold `coef_` and `intercept_`."""
    return {
        "LogisticRegression": LogisticRegression(),
        "LogisticRegression, no intercept": LogisticRegression(fit_intercept=False),
        "LogisticRegressionCV": LogisticRegressionCV(Cs=2, cv=2),
        "LinearSVC": LinearSVC(random_state=0),
        "LinearSVC, no intercept": LinearSVC(fit_intercept=False, random_state=0),
        "Perceptron": Perceptron(random_state=0),
        "SGDClassifier": SGDClassifier(random_state=0),
        "RidgeClassifier": RidgeClassifier(),
        "RidgeClassifier, no intercept": RidgeClassifier(fit_intercept=False),
        "RidgeClassifierCV": RidgeClassifierCV(),
        "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(),
        **_passive_aggressive(),
    }


def others() -> dict[str, Any]:
    """Return the other classifiers, and what goes around classifiers."""
    logistic = LogisticRegression()
    return {
        "SVC": SVC(kernel="linear"),
        "NuSVC": NuSVC(kernel="linear", nu=0.8),
        "BernoulliNB": BernoulliNB(),
        "BernoulliNB, as it is": BernoulliNB(binarize=None),
        "BernoulliNB, never above": BernoulliNB(binarize=1.5),
        "MultinomialNB": MultinomialNB(),
        "MultinomialNB, flat prior": MultinomialNB(fit_prior=False),
        "ComplementNB": ComplementNB(),
        "CategoricalNB": CategoricalNB(),
        "fixed threshold": FixedThresholdClassifier(logistic, threshold=0.7),
        "fixed score": FixedThresholdClassifier(
            logistic, threshold=-0.4, response_method="decision_function"
        ),
        "fixed threshold, half": FixedThresholdClassifier(logistic),
        "fixed threshold, NB": FixedThresholdClassifier(BernoulliNB(), threshold=0.31),
        "fixed threshold, SVC": FixedThresholdClassifier(SVC(kernel="linear"), threshold=0.2),
        "fixed threshold, SGD": FixedThresholdClassifier(
            SGDClassifier(loss="modified_huber", random_state=0), threshold=0.6
        ),
        "fixed threshold, unreachable": FixedThresholdClassifier(
            SGDClassifier(loss="modified_huber", random_state=0), threshold=1.5
        ),
        "fixed threshold, always": FixedThresholdClassifier(logistic, threshold=0.0),
        "fixed threshold, calibrated": FixedThresholdClassifier(
            CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False, cv=2), threshold=0.6
        ),
        "tuned threshold": TunedThresholdClassifierCV(logistic, cv=2, thresholds=20),
        "tuned threshold, ridge": TunedThresholdClassifierCV(
            RidgeClassifier(), cv=2, thresholds=20
        ),
        "calibrated": CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False, cv=2),
        "calibrated NB": CalibratedClassifierCV(MultinomialNB(), ensemble=False, cv=2),
        "frozen": FrozenEstimator(logistic),
        "grid search": GridSearchCV(logistic, {"C": [0.1, 1.0]}, cv=2),
        "random search": RandomizedSearchCV(
            logistic, {"C": [0.1, 1.0]}, n_iter=1, cv=2, random_state=0
        ),
        "search of a pipeline": GridSearchCV(
            make_pipeline(StandardScaler(), LinearSVC(random_state=0)),
            {"linearsvc__C": [0.1, 1.0]},
            cv=2,
        ),
        "self training": SelfTrainingClassifier(logistic),
        "NearestCentroid": NearestCentroid(),
        "NearestCentroid, shrunken": NearestCentroid(shrink_threshold=0.3),
        "NearestCentroid, priors": NearestCentroid(priors=[0.3, 0.7]),
        "fixed threshold, NearestCentroid": FixedThresholdClassifier(
            NearestCentroid(priors=[0.3, 0.7]), threshold=0.6
        ),
        "DummyClassifier": DummyClassifier(),
        "DummyClassifier, most frequent": DummyClassifier(strategy="most_frequent"),
        "fixed threshold, DummyClassifier": FixedThresholdClassifier(
            DummyClassifier(), threshold=0.1
        ),
        "fixed threshold, no DummyClassifier": FixedThresholdClassifier(
            DummyClassifier(), threshold=0.9
        ),
        "one vs rest, DummyClassifier": OneVsRestClassifier(DummyClassifier()),
        "one vs rest": OneVsRestClassifier(logistic),
        "one vs rest, SVC": OneVsRestClassifier(SVC(kernel="linear")),
        "one vs rest, NB": OneVsRestClassifier(BernoulliNB()),
    }


def targets(kind: str) -> np.ndarray:
    """Return classes of the vertices: noisy, separable, with strings or in reverse."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=8)
    scores = VERTICES @ weights - weights.sum() / 2
    if kind != "separable":
        scores = scores + rng.normal(size=256) * 1.5
    y = (scores > 0).astype(int)
    if kind == "strings":
        return np.array(["yes", "no"])[y]
    return 1 - y if kind == "swapped" else y


def fitted(estimator: Any, y: np.ndarray, X: Any = VERTICES) -> Any:
    """Fit a copy, without warnings; what is frozen is fitted before."""
    with quietly():
        estimator = copy.deepcopy(estimator)
        if isinstance(estimator, FrozenEstimator):
            estimator.estimator.fit(X, y)
        if isinstance(estimator, SelfTrainingClassifier) and y.dtype.kind == "U":
            y = y.astype(object)  # it takes strings only so
        return estimator.fit(X, y)


def with_ties(estimator: Any) -> Any:
    """Give a fitted linear classifier small whole weights, so that many vertices are ties."""
    weights = np.array([2.0, -1.0, 3.0, 1.0, -2.0, 1.0, 0.0, -1.0])
    estimator.coef_ = weights.reshape(np.shape(estimator.coef_))
    estimator.intercept_ = np.full(np.shape(estimator.intercept_), -1.0)
    return estimator

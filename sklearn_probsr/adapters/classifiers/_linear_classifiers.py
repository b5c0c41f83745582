"""Linear classifiers: the scores that scikit-learn's own decide by.

A tie belongs to the first class, except for support vector machines: libsvm gives it to the second.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import linear_model
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import Binarizer
from sklearn.svm import SVC, LinearSVC, NuSVC

from sklearn_probsr.adapters._declarations import Linear, PerColumn, sigmoid
from sklearn_probsr.adapters._registry import name_of, registered
from sklearn_probsr.adapters.classifiers._decision import Decision
from sklearn_probsr.adapters.units._columns import Columns, Kind
from sklearn_probsr.adapters.units._place_rows import Rows, as_floats
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []


@registered(
    "classifier",
    LogisticRegression,
    LogisticRegressionCV,
    note="`coef_`, `intercept_`; a tie belongs to the first class",
)
def _logistic(estimator: Any) -> Linear:
    # Until scikit-learn 1.7, two classes could be fitted as a softmax over -score and score.
    softmax = getattr(estimator, "multi_class", "auto") == "multinomial"
    return _coefficients(estimator, _twice if softmax else sigmoid)


def _twice(score: float) -> float:
    return sigmoid(2 * score)


@registered(
    "classifier",
    LinearDiscriminantAnalysis,
    note="`coef_`, `intercept_`; a tie belongs to the first class",
)
def _discriminant(estimator: Any) -> Linear:
    return _coefficients(estimator, sigmoid)


@registered(
    "classifier",
    LinearSVC,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    getattr(linear_model, "PassiveAggressiveClassifier", None),
    note="`coef_`, `intercept_`; a tie belongs to the first class",
)
def _linear(estimator: Any) -> Linear:
    return _coefficients(estimator, None)


@registered(
    "classifier",
    SGDClassifier,
    note="`coef_`, `intercept_`; a tie belongs to the first class",
)
def _sgd(estimator: Any) -> Linear:
    links = {"log_loss": sigmoid, "modified_huber": _ramp}
    return _coefficients(estimator, links.get(estimator.loss))


def _ramp(score: float) -> float:
    return (min(1.0, max(-1.0, score)) + 1) / 2


def _coefficients(estimator: Any, probability: Callable[[float], float] | None) -> Linear:
    classes = estimator.classes_
    coef = estimator.coef_
    if isinstance(estimator, RidgeClassifier | RidgeClassifierCV) and np.ndim(coef) == 2:
        several = estimator._label_binarizer.y_type_.startswith("multilabel")
        if several:
            raise InvalidInputError(
                f"{name_of(estimator)} was fitted on several labels at once. "
                "Fit one for the label to be explained."
            )
    return Linear(coef, estimator.intercept_, classes, probability=probability)


@registered(
    "classifier",
    SVC,
    NuSVC,
    note='`kernel="linear"`; a tie belongs to the second class; of more than two, `versus` gives '
    "the duel that the two classes fight in the vote",
    composite=True,
)
def _support_vectors(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    name = name_of(estimator)
    if estimator.kernel != "linear":
        raise InvalidInputError(
            f"{name} must have kernel='linear', got kernel={estimator.kernel!r}: its score is not "
            "linear in the columns. Fit it with kernel='linear'."
        )
    binary = len(estimator.classes_) == 2
    linear = Linear(
        estimator.coef_,
        estimator.intercept_,
        estimator.classes_,
        strict=not binary,
        # libsvm finds its probabilities by iteration: no cut on the score is exactly theirs.
        probability=_unknown if getattr(estimator, "probability", False) else None,
        duels=not binary,
    )
    judge = None if binary else _Duels(estimator, columns.rows)
    return Decision(columns, linear.checked(name, len(columns)), name, judge=judge)


def _unknown(score: float) -> float:
    raise InvalidInputError(
        "SVC(probability=True) has probabilities that are not a function of its score. Threshold "
        "its decision_function (response_method='decision_function'), or calibrate it with "
        "CalibratedClassifierCV(ensemble=False)."
    )


class _Duels:
    """Which rows win each duel of a one-vs-one machine, by its own arithmetic."""

    def __init__(self, estimator: Any, rows: Rows) -> None:
        self.rows = rows
        self.estimator = copy.copy(estimator)
        self.estimator.decision_function_shape = "ovo"
        self.estimator.break_ties = False

    def __call__(self, X: Any, duel: int) -> NDArray[np.bool_]:
        scores = self.estimator.decision_function(self.rows.of(X, {}))
        wins: NDArray[np.bool_] = scores[:, duel] > 0
        return wins


@registered(
    "classifier",
    NearestCentroid,
    note='`metric="euclidean"`: of two squared distances the difference is linear; a tie belongs '
    "to the first class",
    composite=True,
)
def _nearest(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    name = name_of(estimator)
    if estimator.metric != "euclidean":
        raise InvalidInputError(
            f"{name} must have metric='euclidean', got metric={estimator.metric!r}: its score is "
            "not linear in the columns. Fit it with metric='euclidean'."
        )
    centers, priors = np.asarray(estimator.centroids_), np.asarray(estimator.class_prior_)
    if not (priors > 0).all():
        raise InvalidInputError(
            f"{name} must have priors above 0, got {priors.tolist()}: of a class with none it has "
            "no finite score. Fit it without the rows of that class."
        )
    # With equal priors `predict` takes the distances as they are, and `decision_function` scales
    # them by the spread inside classes; with others both do.
    equal = bool(np.isclose(priors, 1 / len(priors)).all())
    spread = np.asarray(estimator.within_class_std_dev_)
    scale = np.ones(centers.shape[1]) if equal else np.where(spread != 0, spread, 1.0)
    centers = centers / scale
    squares = [sum((Fraction(v) ** 2 for v in center), Fraction()) for center in centers.tolist()]
    levels = np.zeros(len(priors)) if equal else 2 * np.log(priors)
    # Distances are sums of what may be much larger than what they differ by.
    size = np.abs(centers).max(axis=0)
    rows = 2 * centers / scale
    precision = sys.float_info.epsilon
    if len(priors) == 2:
        rows = rows[[1]] - rows[[0]]
        intercept = [float(squares[0] - squares[1]) + levels[1] - levels[0]]
        largest = np.abs(rows).max()
        precision *= max(1.0, 4 * float((size / scale).max() / largest)) if largest else 1.0
    else:
        intercept = [level - float(square) for level, square in zip(levels, squares, strict=True)]
    linear = Linear(
        rows,
        intercept,
        estimator.classes_,
        probability=None if equal else sigmoid,
        precision=precision,
        slack=8 * (centers.shape[1] + 2) * sys.float_info.epsilon * float(max(squares)),
    )
    return Decision(columns, linear.checked(name, len(columns)), name, scored=not equal)


@registered(
    "classifier",
    DummyClassifier,
    note='`strategy="prior"`, `"most_frequent"` or `"constant"`: one class for all rows',
    composite=True,
)
def _constant(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    name, strategy = name_of(estimator), estimator.strategy
    if strategy not in {"prior", "most_frequent", "constant"} or estimator.n_outputs_ != 1:
        got = f"strategy={strategy!r} and {estimator.n_outputs_} label"
        raise InvalidInputError(
            f"{name} must say the same class of all rows, got {got}"
            f"{'s' if estimator.n_outputs_ > 1 else ''}. Fit it to one label with "
            "strategy='prior'."
        )
    chances = np.asarray(estimator.predict_proba(np.zeros((1, 1))))[0]
    two = len(chances) == 2
    levels = chances[[1]] - chances[[0]] if two else chances
    linear = Linear(
        np.zeros((len(levels), len(columns))),
        levels,
        estimator.classes_,
        probability=_Always(float(chances[-1])),
    )
    return Decision(columns, linear.checked(name, len(columns)), name)


@dataclass(frozen=True)
class _Always:
    """The same probability for every score."""

    chance: float

    def __call__(self, score: float) -> float:
        return self.chance


@registered(
    "classifier",
    MultinomialNB,
    ComplementNB,
    note="differences of the classes' `feature_log_prob_`; a tie belongs to the first class",
)
def _naive_bayes(estimator: Any) -> Linear:
    prior = 0.0 if isinstance(estimator, ComplementNB) else estimator.class_log_prior_
    return _difference(estimator, estimator.feature_log_prob_, prior)


def _difference(estimator: Any, weights: Any, intercept: Any) -> Linear:
    rows = np.asarray(weights)
    levels = np.broadcast_to(np.asarray(intercept), len(estimator.classes_))
    if len(estimator.classes_) == 2:
        rows, levels = rows[[1]] - rows[[0]], levels[[1]] - levels[[0]]
    return Linear(rows, levels, estimator.classes_, probability=sigmoid)


@registered(
    "classifier",
    BernoulliNB,
    note="its `binarize` makes binary features; a tie belongs to the first class",
    composite=True,
)
def _bernoulli(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    if estimator.binarize is not None:
        if columns.binary:  # the raw columns that come this far are 0/1, as was promised
            columns = _as_flags(columns)
        columns = follow(Binarizer(threshold=estimator.binarize), columns, "transformer")
    there = np.asarray(estimator.feature_log_prob_)
    with np.errstate(divide="ignore", invalid="ignore"):
        absent = np.log(1 - np.exp(there))  # as scikit-learn does, bit for bit
        linear = _difference(
            estimator, there - absent, estimator.class_log_prior_ + absent.sum(axis=1)
        )
    name = name_of(estimator)
    return Decision(columns, linear.checked(name, len(columns)), name)


def _as_flags(columns: Columns) -> Columns:
    bases = [
        replace(base, kind=Kind.FLAG) if base.kind is Kind.RAW else base for base in columns.bases
    ]
    return replace(columns, bases=tuple(bases))


@registered(
    "classifier",
    CategoricalNB,
    note="one unit per column, one state per category; a tie belongs to the first class",
    composite=True,
)
def _categorical(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    counts = [part.shape[1] for part in estimator.feature_log_prob_]
    weights = np.hstack(estimator.feature_log_prob_)
    linear = _difference(estimator, weights, estimator.class_log_prior_)
    columns = follow(_Codes(counts), columns, "transformer")
    name = name_of(estimator)
    return Decision(columns, linear.checked(name, len(columns)), name)


class _Codes:
    """One-hot columns of category codes, as a transformer."""

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    def transform(self, rows: Any) -> NDArray[np.float64]:
        """Return one column per code; a code that was never seen is refused."""
        codes = as_floats(rows)
        parts = [codes[:, [i]] == np.arange(n) for i, n in enumerate(self.counts)]
        for i, part in enumerate(parts):
            if not part.any(axis=1).all():
                bad = codes[~part.any(axis=1), i][0]
                raise InvalidInputError(
                    f"CategoricalNB knows the codes 0 to {self.counts[i] - 1} in column {i}, got "
                    f"{bad:g}."
                )
        return np.hstack(parts).astype(np.float64)


@registered("internal", _Codes, note="", prefit=True)
def _codes(step: _Codes) -> PerColumn:
    owners = np.repeat(np.arange(len(step.counts)), step.counts)
    return PerColumn(
        owners.tolist(),
        "finite",
        values=lambda column: range(step.counts[column]),
        names=[f": {k}" for n in step.counts for k in range(n)],
    )

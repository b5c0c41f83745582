"""Linear classifiers: the scores by which scikit-learn's own decide, and which one is asked for.

A `Decision` has the scores over some columns; `choose` takes one of them, or the difference of two,
and `contest` all. A tie belongs to the first class, except for support vector machines: libsvm
gives it to the second. Classifiers around classifiers (thresholds, calibration, one against the
rest) change the score, the cut or the tie of what is inside.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from sklearn import linear_model
from sklearn.calibration import CalibratedClassifierCV
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
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import Binarizer
from sklearn.svm import SVC, LinearSVC, NuSVC

from sklearn_probsr.adapters.columns import Columns, Kind, Rows, as_floats, stack
from sklearn_probsr.adapters.registry import (
    Linear,
    PerColumn,
    identity,
    name_of,
    registered,
    registered_alike,
    sigmoid,
)
from sklearn_probsr.adapters.units import boundary
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import listing


@dataclass(frozen=True)
class Decision:
    """A classifier over some columns.

    ``rest(i)`` is the decision for class ``i`` against the others, for a classifier that decides
    each class on its own; ``several`` says that it may also say several classes, or none. Where
    `predict` does not say which class a score speaks for, ``judge(X, i)`` tells for which raw rows
    score ``i`` is above the cut. ``unproved`` says that nothing but `predict` on rows can tell
    whether it is so; ``scored`` whether `decision_function` is the score that `predict` goes by.
    """

    columns: Columns
    linear: Linear
    name: str
    rest: Callable[[int], Decision] | None = None
    several: bool = False
    judge: Callable[[Any, int], NDArray[np.bool_]] | None = None
    unproved: bool = False
    scored: bool = True


@dataclass(frozen=True)
class Choice:
    """One score: the second of two classes iff ``coef · columns + intercept`` is above the cut.

    ``judge`` tells which raw rows belong to the second class, where `predict` does not say so.
    """

    columns: Columns
    coef: NDArray[np.float64]
    intercept: float
    cut: float
    strict: bool
    classes: tuple[Any, Any]
    precision: float
    slack: float
    judge: Callable[[Any], NDArray[np.bool_]] | None = None


@dataclass(frozen=True)
class Contest:
    """Several scores, the largest of which wins: ``coef · columns + intercept`` of each class."""

    columns: Columns
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    strict: bool  # of equal scores the first wins, else the last
    classes: tuple[Any, ...]
    precision: float
    slack: float


def contest(decision: Decision) -> Contest | None:
    """Return the scores of a classifier of more than two classes that takes the largest."""
    linear = decision.linear
    if len(linear.classes) <= 2 or linear.duels or decision.several:
        return None
    return Contest(
        decision.columns,
        linear.coef,
        np.asarray(linear.intercept),
        linear.strict,
        tuple(linear.classes),
        linear.precision,
        2 * linear.slack,
    )


def choose(decision: Decision, target: Any, versus: Any) -> Choice:
    """Return the score of a target class, against another one or against all others."""
    i, j = _place(decision, target, "target"), _place(decision, versus, "versus")
    if i is not None and i == j:
        raise InvalidInputError(f"versus must be another class than target, got {versus!r} twice.")
    if decision.several or (i is not None and j is None and decision.rest is not None):
        return _against_rest(decision, i, j)
    if len(decision.linear.classes) > 2:
        return _pair(decision, i, j)
    choice = _score(decision, 0, (0, 1))
    return _swapped(choice) if i == 0 or (i is None and j == 1) else choice


def _score(decision: Decision, row: int, classes: tuple[int, int]) -> Choice:
    """Return one of the scores, as the decision between two classes."""
    linear, judge = decision.linear, decision.judge
    return Choice(
        decision.columns,
        linear.coef[row],
        float(linear.intercept[row]),
        linear.cut,
        linear.strict,
        (linear.classes[classes[0]], linear.classes[classes[1]]),
        linear.precision,
        linear.slack,
        None if judge is None else lambda X: judge(X, row),
    )


def _swapped(choice: Choice) -> Choice:
    """Return the same decision with the first class as the positive one."""
    judge = choice.judge
    return replace(
        choice,
        coef=-choice.coef,
        intercept=-choice.intercept,
        cut=-choice.cut,
        strict=not choice.strict,
        classes=choice.classes[::-1],
        judge=None if judge is None else lambda X: ~judge(X),
    )


def _pair(decision: Decision, i: int | None, j: int | None) -> Choice:
    linear = decision.linear
    if i is None or j is None:
        raise InvalidInputError(_not_one_pair(decision, i, j))
    if not linear.duels:
        wins_tie = i < j if linear.strict else i > j
        return replace(
            _score(decision, i, (j, i)),
            coef=linear.coef[i] - linear.coef[j],
            intercept=float(linear.intercept[i] - linear.intercept[j]),
            strict=not wins_tie,
            slack=2 * linear.slack,
        )
    low, high, n = min(i, j), max(i, j), len(linear.classes)
    row = low * n - low * (low + 1) // 2 + high - low - 1
    choice = _score(decision, row, (high, low))
    return choice if i == low else _swapped(choice)


def _not_one_pair(decision: Decision, i: int | None, j: int | None) -> str:
    classes, n = decision.linear.classes, len(decision.linear.classes)
    how = "counts votes" if decision.linear.duels else f"takes the largest of {n} scores"
    if i is None:
        i = 1 if j == 0 else 0
    if j is None:
        j = 1 if i == 0 else 0
    text = (
        f"{decision.name} tells {n} classes apart, {listing(classes)}: it {how}, which is not one "
        f"(weights, threshold) pair. Ask for one class against another: target={classes[i]!r}, "
        f"versus={classes[j]!r}."
    )
    if decision.rest is not None:
        text += f" Or for its own decision on one class against the rest: target={classes[i]!r}."
    return text


def _against_rest(decision: Decision, i: int | None, j: int | None) -> Choice:
    classes = decision.linear.classes
    if i is None or j is not None or decision.rest is None:
        raise InvalidInputError(
            f"{decision.name} decides on each of {listing(classes)} by itself. "
            f"Pick one: target={classes[0]!r}, without versus."
        )
    choice = choose(decision.rest(i), None, None)
    return replace(choice, classes=(f"not {classes[i]}", classes[i]))


def _place(decision: Decision, label: Any, name: str) -> int | None:
    if label is None:
        return None
    classes = decision.linear.classes
    label = label.item() if isinstance(label, np.generic) else label
    for i, known in enumerate(classes):
        if np.ndim(label) == 0 and bool(label == known):
            return i
    raise InvalidInputError(
        f"{name} must be one of the classes, {listing(classes)}, got {label!r}."
    )


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


_NEEDED = ("coef_", "intercept_", "classes_", "decision_function", "predict")


def _has_all(estimator: Any) -> bool:
    return not isinstance(estimator, type) and all(hasattr(estimator, name) for name in _NEEDED)


@registered_alike(
    _has_all,
    note="any other object that has these, such as skglm's: taken at its word where rows are given "
    "on which its `predict` agrees, refused elsewhere",
    listed="coef_`, `intercept_`, `classes_`, `decision_function`, `predict",
)
def _duck(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    name = name_of(estimator)
    try:
        linear = Linear(estimator.coef_, estimator.intercept_, estimator.classes_)
        return Decision(columns, linear.checked(name, len(columns)), name, unproved=True)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"{name} has coefficients that are not numbers, got {estimator.coef_!r}."
        ) from None


_MOVED = (
    "the threshold on the score, or on the probability carried over to the score; a tie belongs to "
    "`pos_label`"
)


@registered("classifier", FixedThresholdClassifier, note=_MOVED, composite=True, prefit=True)
def _fixed(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    inner = getattr(estimator, "estimator_", estimator.estimator)
    return _moved(estimator, inner, estimator.threshold, estimator.pos_label, columns, follow)


@registered("classifier", TunedThresholdClassifierCV, note=_MOVED, composite=True)
def _tuned(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    positive = estimator._curve_scorer._get_pos_label()
    return _moved(
        estimator, estimator.estimator_, estimator.best_threshold_, positive, columns, follow
    )


def _moved(
    estimator: Any, inner: Any, threshold: Any, positive: Any, columns: Columns, follow: Any
) -> Decision:
    """Return an inner decision with another threshold, on its score or its probability."""
    name = name_of(estimator)
    decision = _by_its_scores(inner, columns, name, follow)
    linear = decision.linear
    second = positive is None or positive == linear.classes[1]
    # scikit-learn asks for predict_proba first, unless told otherwise.
    by_probability = (
        hasattr(inner, "predict_proba")
        if estimator.response_method == "auto"
        else estimator.response_method == "predict_proba"
    )
    if threshold == "auto":
        threshold = 0.5 if by_probability else 0.0
    if by_probability:
        chance = _link(linear, name)
        if second:
            cut, strict = boundary(lambda score: chance(score) >= threshold)
        else:
            cut, strict = boundary(lambda score: not 1.0 - chance(score) >= threshold)
    else:
        cut, strict = (threshold, False) if second else (-threshold, True)
    linear = replace(linear, cut=float(cut), strict=strict)
    return replace(decision, linear=linear, name=name, judge=None)


def _by_its_scores(inner: Any, columns: Columns, name: str, follow: Any) -> Decision:
    """Return the decision of an estimator of which another one takes the scores."""
    decision: Decision = follow(inner, columns, "classifier")
    if not decision.scored:
        raise InvalidInputError(
            f"{name} goes by the scores of a {decision.name}, whose predict goes by others: with "
            "equal priors it does not scale its distances. Fit it with other priors, or a "
            "LinearDiscriminantAnalysis in its place."
        )
    return decision


def _link(linear: Linear, name: str) -> Callable[[float], float]:
    if linear.probability is None:
        raise InvalidInputError(
            f"{name} thresholds probabilities that are not known as a function of the score. Give "
            "it response_method='decision_function'."
        )
    return linear.probability


@registered(
    "classifier",
    CalibratedClassifierCV,
    note="with one calibrator (`ensemble=False`, or a frozen estimator), sigmoid or temperature",
    composite=True,
)
def _calibrated(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    name = name_of(estimator)
    fitted = estimator.calibrated_classifiers_
    method = estimator.method
    if len(fitted) != 1 or method == "isotonic" or len(estimator.classes_) != 2:
        raise InvalidInputError(
            f"{name} must have one sigmoid calibrator and two classes, got {len(fitted)} "
            f"calibrator{'s' if len(fitted) > 1 else ''} with method={method!r} and "
            f"{len(estimator.classes_)} classes: it is not linear otherwise. Fit it with "
            "ensemble=False and method='sigmoid'."
        )
    decision = _by_its_scores(fitted[0].estimator, columns, name, follow)
    linear = decision.linear
    scored = hasattr(fitted[0].estimator, "decision_function")
    response: Callable[[float], float] = _Same() if scored else _link(linear, name)
    calibrator = fitted[0].calibrators[0]
    chance: Callable[[float], float]
    if method == "sigmoid":
        a, b = float(calibrator.a_), float(calibrator.b_)
        if a > 0:  # the calibration turned the score around
            linear = linear.flipped()
            response = _Negative(response)
        chance = _Platt(a, b, response)
    else:
        chance = _Temperature(float(calibrator.beta_), scored, response)
    cut, strict = boundary(lambda score: chance(score) > 0.5)
    linear = replace(linear, cut=cut, strict=strict, probability=chance)
    return replace(decision, linear=linear, name=name, judge=None)


class _Same:
    def __call__(self, score: float) -> float:
        return score


@dataclass(frozen=True)
class _Negative:
    response: Callable[[float], float]

    def __call__(self, score: float) -> float:
        return self.response(-score)


@dataclass(frozen=True)
class _Platt:
    a: float
    b: float
    response: Callable[[float], float]

    def __call__(self, score: float) -> float:
        return sigmoid(-(self.a * self.response(score) + self.b))


@dataclass(frozen=True)
class _Temperature:
    beta: float
    scored: bool
    response: Callable[[float], float]

    def __call__(self, score: float) -> float:
        # The two logits are -score and score, or the logarithms of the two probabilities, whose
        # difference is the score.
        return sigmoid((2 if self.scored else 1) * self.beta * score)


@registered(
    "classifier",
    OneVsRestClassifier,
    note="`target` gives a class against the rest as its own estimator decides it, with `versus` "
    "one class against another",
    composite=True,
)
def _one_vs_rest(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    name = name_of(estimator)
    parts = [_OneOfRest(part, columns, follow) for part in estimator.estimators_]
    if len(estimator.classes_) == 2 and not estimator.multilabel_:
        decision = parts[0].decision()
        classes = tuple(np.asarray(estimator.classes_).tolist())
        return replace(decision, linear=replace(decision.linear, classes=classes), name=name)
    found = [part.decision() for part in parts]
    inner = columns
    coef = [one.linear.coef for one in found]
    if any(one.columns is not columns for one in found):  # each has columns of its own
        inner = stack([one.columns for one in found], columns.rows)
        coef = [block_diag(*coef)]
    linear = Linear(
        np.vstack(coef),
        np.concatenate([one.linear.intercept for one in found]),
        estimator.classes_,
        strict=_first_wins(),
        slack=max(one.linear.slack for one in found),
    )
    if len(estimator.classes_) == 2:
        linear = replace(linear, coef=linear.coef[:1], intercept=linear.intercept[:1])
    return Decision(
        inner,
        linear.checked(name, len(inner)),
        name,
        rest=lambda i: found[i],
        several=bool(estimator.multilabel_),
        unproved=any(one.unproved for one in found),
    )


@dataclass(frozen=True)
class _OneOfRest:
    """One estimator of a one-vs-rest classifier, which decides by ``score > 0``."""

    estimator: Any
    columns: Columns
    follow: Any

    def decision(self) -> Decision:
        found = _by_its_scores(self.estimator, self.columns, "OneVsRestClassifier", self.follow)
        scored = hasattr(self.estimator, "decision_function")
        if found.linear.cut != 0 and found.linear.probability is not identity:
            raise InvalidInputError(
                f"OneVsRestClassifier must hold plain linear classifiers, got "
                f"{name_of(self.estimator)}: it would compare its scores, not its decisions."
            )
        method = "decision_function" if scored else "predict_proba"
        judge = _RestJudge(self.estimator, method, self.columns.rows)
        return replace(found, linear=replace(found.linear, strict=True), judge=judge)


@dataclass(frozen=True)
class _RestJudge:
    estimator: Any
    method: str
    rows: Rows

    def __call__(self, X: Any, score: int) -> NDArray[np.bool_]:
        scores = getattr(self.estimator, self.method)(self.rows.of(X, {}))
        positive: NDArray[np.bool_] = scores > 0 if scores.ndim == 1 else scores[:, 1] > 0.5
        return positive


@cache
def _first_wins() -> bool:
    """Tell which of equal scores wins: the last one until scikit-learn 1.7, then the first."""
    trial = OneVsRestClassifier(LogisticRegression()).fit(np.eye(3), [0, 1, 2])
    for part in trial.estimators_:
        part.coef_, part.intercept_ = np.zeros((1, 3)), np.zeros(1)
    return bool(trial.predict(np.zeros((1, 3)))[0] == 0)


@dataclass(frozen=True)
class Threshold:
    """A fitted model that gives probabilities of two classes, with a threshold on them.

    For models of other libraries, such as statsmodels' results and pyGAM's; scikit-learn has its
    own ``FixedThresholdClassifier``.

    Parameters
    ----------
    estimator : fitted model
        One that gives probabilities, by ``predict_proba`` or ``predict``.
    threshold : float, default=0.5
        The second class is said iff its probability is at least so large.
    classes : pair of labels, default=(0, 1)
        What to say below the threshold and from it on.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_probsr import adapt
    >>> from sklearn_probsr.adapters import Threshold
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> careful = Threshold(LogisticRegression().fit(X, y), 0.2, classes=("no", "yes"))
    >>> adapt(careful, X).predict(X)
    array(['no', 'yes', 'yes', 'yes'], dtype='<U3')
    """

    estimator: Any
    threshold: float = 0.5
    classes: tuple[Any, Any] = (0, 1)

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise InvalidInputError(
                f"threshold must be a probability, from 0 to 1, got {self.threshold!r}."
            )

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        found = self.estimator
        if hasattr(found, "predict_proba"):
            chances = np.asarray(found.predict_proba(X))
            chances = chances if chances.ndim == 1 else chances[:, 1]
        else:
            chances = np.asarray(found.predict(X))
        said: NDArray[Any] = np.asarray(self.classes)[(chances >= self.threshold).astype(int)]
        return said


@registered(
    "wrapper",
    Threshold,
    note="a model of probabilities by another library, with a threshold on them; a tie belongs to "
    "the second class",
    composite=True,
    prefit=True,
)
def _threshold(estimator: Threshold, columns: Columns, role: str, follow: Any) -> Decision:
    decision: Decision = follow(estimator.estimator, columns, "classifier")
    chance = decision.linear.probability
    if chance is None or len(decision.linear.classes) != 2:
        raise InvalidInputError(
            f"Threshold must hold a model of two classes whose probabilities are known as a "
            f"function of its score, got {name_of(estimator.estimator)}."
        )
    cut, strict = boundary(lambda score: chance(score) >= estimator.threshold)
    linear = replace(decision.linear, cut=float(cut), strict=strict, classes=estimator.classes)
    judge = _ThresholdJudge(estimator, columns.rows)
    return replace(decision, linear=linear, name="Threshold", judge=judge)


@dataclass(frozen=True)
class _ThresholdJudge:
    estimator: Threshold
    rows: Rows

    def __call__(self, X: Any, score: int) -> NDArray[np.bool_]:
        said = self.estimator.predict(self.rows.of(X, {}))
        return np.asarray(said == self.estimator.classes[1], dtype=np.bool_)

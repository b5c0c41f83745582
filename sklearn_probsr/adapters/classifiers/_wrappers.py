"""Classifiers around classifiers: moved thresholds, calibration, one against the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier

from sklearn_probsr.adapters._declarations import Linear, identity, sigmoid
from sklearn_probsr.adapters._float_order import boundary
from sklearn_probsr.adapters._registry import name_of, registered
from sklearn_probsr.adapters.classifiers._decision import Decision
from sklearn_probsr.adapters.units._columns import Columns, stack
from sklearn_probsr.adapters.units._place_rows import Rows
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []


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
    parts = [_Rest(part, columns, follow) for part in estimator.estimators_]
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
class _Rest:
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
        judge = _Judge(self.estimator, method, self.columns.rows)
        return replace(found, linear=replace(found.linear, strict=True), judge=judge)


@dataclass(frozen=True)
class _Judge:
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

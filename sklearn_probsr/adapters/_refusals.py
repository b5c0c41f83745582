"""Refusals: what to say about an estimator that has no adapter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from types import FunctionType, MethodType
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["NEVER", "CannotFollowError", "refusal"]


class CannotFollowError(InvalidInputError):
    """A step of a pipeline is none that can be followed; those after it may be."""


# What no (weights, threshold) pair over raw columns can say, and why.
NEVER = {
    "Normalizer": "it divides each row by its own length, which mixes all columns",
    "PolynomialFeatures": "it multiplies columns with each other",
    "RandomTreesEmbedding": "its leaves depend on several columns at once",
    "HashingEncoder": "it hashes all of its columns into the same ones",
    "KNNImputer": "it fills in values from other columns",
    "IterativeImputer": "it fills in values from other columns",
    "OneVsOneClassifier": "it counts votes, which is not one linear score",
    "VotingClassifier": "it averages probabilities or counts votes, which does not add up column "
    "by column",
    "StackingClassifier": "it feeds predictions to another model, which is not linear",
}

# So many supported names that are like an unknown one are told; the page has them all.
_NEAR = 3
_PAGE = "docs/adapters.md"

_STUMPS = "HistGradientBoostingClassifier(max_depth=1)"
_TREES = "it averages trees that split on several columns each", _STUMPS
_COMPARED = "it compares whole rows"
_SPREAD = "it spreads labels between rows that are near each other"
_FILLED_IN = "MeanMedianImputer, CategoricalImputer"
_LABELS = "it tells several labels at once"
# What else does not add up column by column, and what does that is most like it.
_WHY = {
    "DropMissingData": ("it drops rows", _FILLED_IN),
    "RandomSampleImputer": (
        "it fills in values at random",
        "MeanMedianImputer, CategoricalImputer",
    ),
    "RandomForestClassifier": _TREES,
    "ExtraTreesClassifier": _TREES,
    "BaggingClassifier": ("it averages probabilities or counts votes", "LogisticRegression"),
    "MLPClassifier": ("its layers mix all columns", _STUMPS),
    "QuadraticDiscriminantAnalysis": (
        "it multiplies columns with each other",
        "LinearDiscriminantAnalysis, GaussianNB",
    ),
    "KNeighborsClassifier": (_COMPARED, "NearestCentroid"),
    "RadiusNeighborsClassifier": (_COMPARED, "NearestCentroid"),
    "GaussianProcessClassifier": (_COMPARED, "LogisticRegression"),
    "LabelPropagation": (_SPREAD, "SelfTrainingClassifier(LogisticRegression())"),
    "LabelSpreading": (_SPREAD, "SelfTrainingClassifier(LogisticRegression())"),
    "OutputCodeClassifier": (
        "it looks for the code that is nearest to several scores, which is not one linear score",
        "OneVsRestClassifier",
    ),
    "ClassifierChain": (
        f"{_LABELS}, each from those before it",
        "the classifier of one label, fitted alone",
    ),
    "MultiOutputClassifier": (_LABELS, "the classifier of one label, in its estimators_"),
    "Booster": ("it knows no classes", "the LGBMClassifier or XGBClassifier that was fitted"),
}


def _is_regressor(estimator: Any) -> bool:
    from sklearn.base import is_regressor

    try:
        return bool(hasattr(estimator, "fit") and is_regressor(estimator))
    except Exception:  # an object of another library has no tags, or anything in their place
        return bool(getattr(estimator, "_estimator_type", None) == "regressor")


def _no_estimator(given: Any) -> str:
    """Say what something is that people pass in place of an estimator; nothing if it may be one."""
    if given is None:
        return "None. Pass what fit returned."
    if isinstance(given, type):
        name = given.__name__
        return f"the class {name}. Fit an object of it first: {name}().fit(X, y)."
    if isinstance(given, str | os.PathLike):
        return f"the text {os.fspath(given)!r}. Load or fit a model first, and pass that."
    if isinstance(given, FunctionType | MethodType):
        return (
            f"the function {given.__name__}. Pass the estimator itself, not what it predicts with."
        )
    if hasattr(given, "shape"):
        kind = f"{type(given).__name__} of shape {tuple(given.shape)}"
        return f"{kind}. The model comes first; weights go as the pair (coef, intercept)."
    return ""


def refusal(estimator: Any, role: str, names: Sequence[str], kinds: Sequence[type]) -> str:
    """Say why an estimator cannot be adapted, and what to do.

    ``names`` and ``kinds`` are the types that can be, in that role.
    """
    what = _no_estimator(estimator)
    if what:
        return f"estimator must be a fitted {role}, got {what}"
    name = type(estimator).__name__
    reason = NEVER.get(name)
    if reason:
        remedy = (
            "Fit a linear classifier in its place." if role == "classifier" else "Leave it out."
        )
        return f"{name} cannot be part of a linear model over the raw columns: {reason}. {remedy}"
    if _is_regressor(estimator):
        return f"estimator must be a classifier, got the regressor {name}. Fit a classifier."
    if name in names:  # one of that name is supported, by another library
        same = [kind for kind in kinds if kind.__name__ == name]
        own = " or ".join(sorted(f"{kind.__module__}.{name}" for kind in same))
        return (
            f"{type(estimator).__module__}.{name} is not a {role} that can be adapted, only {own} "
            f"is. To add it: register_adapter({name}, ...)."
        )
    if name in _WHY:
        cause, near = _WHY[name]
        return (
            f"{name} is not a {role} that can be adapted: {cause}. Nearest that is: {near}. "
            f"All that are: {_PAGE}."
        )
    near = ", ".join(get_close_matches(name, names, _NEAR))
    return (
        f"{name} is not a {role} that can be adapted. "
        f"{f'Nearest that is: {near}. ' if near else ''}All that are: {_PAGE}. "
        f"To add it: register_adapter({name}, ...)."
    )

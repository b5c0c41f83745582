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

# Of more supported names than these, so many that are like an unknown one are told.
_ALL, _NEAR = 40, 3

_TREES = "It averages trees that split on several columns each. "
_DISTANCES = "It compares whole rows. "
# What else does not add up column by column.
_WHY = {
    "DropMissingData": "It drops rows. ",
    "RandomSampleImputer": "It fills in values at random. ",
    "RandomForestClassifier": _TREES,
    "ExtraTreesClassifier": _TREES,
    "BaggingClassifier": "It averages probabilities or counts votes. ",
    "MLPClassifier": "Its layers mix all columns. ",
    "QuadraticDiscriminantAnalysis": "It multiplies columns with each other. ",
    "KNeighborsClassifier": _DISTANCES,
    "RadiusNeighborsClassifier": _DISTANCES,
    "GaussianProcessClassifier": _DISTANCES,
    "Booster": "It knows no classes: pass the LGBMClassifier or XGBClassifier that was fitted. ",
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
    return (
        f"{name} is not a {role} that can be adapted. {_WHY.get(name, '')}Supported: "
        f"{_some(name, names)}. To add one: register_adapter({name}, ...)."
    )


def _some(name: str, names: Sequence[str]) -> str:
    """Return names that are supported: all, or of many those that are most like another."""
    if len(names) <= _ALL:
        return ", ".join(names)
    near = get_close_matches(name, names, _NEAR)
    told = f"{', '.join(near)} and " if near else ""
    more = f"{len(names) - len(near)}{' more' if near else ''}"
    return f"{told}{more} that the page on adapters lists (docs/adapters.md)"

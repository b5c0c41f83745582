"""Additive classifiers of scikit-learn: stumps, boosted ones, and the naive Bayes of bells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_probsr.adapters._declarations import identity, sigmoid
from sklearn_probsr.adapters._registry import name_of, registered
from sklearn_probsr.adapters.classifiers._additive import Additive
from sklearn_probsr.adapters.classifiers._additive_terms import added_up
from sklearn_probsr.adapters.classifiers._decision import Decision
from sklearn_probsr.adapters.classifiers._trees import Tree, float32_cuts, mixed_columns, summed
from sklearn_probsr.adapters.units._columns import Columns, stack
from sklearn_probsr.adapters.units._place_rows import Taken
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []


@registered(
    "classifier",
    DecisionTreeClassifier,
    note="`max_depth=1`, or any tree that splits on one column; a tie belongs to the first class",
)
def _tree(estimator: Any) -> Additive:
    classes = _one_output(estimator)
    chances = estimator.tree_.value[:, 0, :]
    chances = chances / chances.sum(axis=1, keepdims=True)  # counts until scikit-learn 1.3
    two = len(classes) == 2
    tree = _split(estimator, chances[:, 1] if two else chances)
    found = summed(
        [tree],
        estimator.n_features_in_,
        lambda a, b: mixed_columns(estimator, a, b, "Fit it with max_depth=1."),
        takes_missing=_takes_missing(estimator),
        single=True,
    )
    return Additive(
        found.terms, found.intercept, classes, cut=0.5 if two else 0.0,
        probability=identity if two else None, slack=found.slack,
    )  # fmt: skip


def _one_output(estimator: Any) -> Any:
    if isinstance(estimator.classes_, list):
        raise InvalidInputError(
            f"{name_of(estimator)} was fitted on several labels at once. "
            "Fit one for the label to be explained."
        )
    return estimator.classes_


def _takes_missing(estimator: Any) -> bool:
    return bool(estimator.__sklearn_tags__().input_tags.allow_nan)


def _split(estimator: Any, value: NDArray[np.float64]) -> Tree:
    """Return a tree of scikit-learn, which compares numbers that are rounded to 32 bits."""
    inner = estimator.tree_
    leaf = inner.children_left < 0
    return Tree(
        np.where(leaf, -1, inner.feature),
        float32_cuts(inner.threshold),
        inner.children_left,
        inner.children_right,
        np.asarray(inner.missing_go_to_left, dtype=bool),
        np.ascontiguousarray(value, dtype=np.float64),
    )


@registered(
    "classifier",
    AdaBoostClassifier,
    note="of trees that split on one column each, as its stumps do; a tie belongs to the first "
    "class",
)
def _adaboost(estimator: Any) -> Additive:
    if getattr(estimator, "algorithm", "") == "SAMME.R":
        raise InvalidInputError(
            "AdaBoostClassifier must have algorithm='SAMME', got 'SAMME.R': it adds up logarithms "
            "of probabilities. Fit it with algorithm='SAMME'."
        )
    other = [e for e in estimator.estimators_ if not isinstance(e, DecisionTreeClassifier)]
    if other:
        raise InvalidInputError(
            f"AdaBoostClassifier is additive if it boosts trees of one split, got "
            f"{name_of(other[0])}: it counts votes. Fit it with its own stumps, estimator=None."
        )
    shares = estimator.estimator_weights_[: len(estimator.estimators_)]
    shares = shares / shares.sum()
    n = len(estimator.classes_)
    trees = []
    for part, share in zip(estimator.estimators_, shares.tolist(), strict=True):
        said = part.tree_.value[:, 0, :].argmax(axis=1)
        votes = np.full((len(said), n), -share / (n - 1))
        votes[np.arange(len(said)), said] = share
        trees.append(_split(part, np.where(said, share, -share) * 2 if n == 2 else votes))
    found = summed(
        trees,
        estimator.n_features_in_,
        lambda a, b: mixed_columns(estimator, a, b, "Fit it with its own stumps, estimator=None."),
        takes_missing=_takes_missing(estimator),
        single=True,
    )
    return Additive(
        found.terms, found.intercept, estimator.classes_, probability=sigmoid, slack=found.slack
    )


@registered(
    "classifier",
    GradientBoostingClassifier,
    note="`max_depth=1`; of two classes, a tie belongs to the second",
)
def _gradient(estimator: Any) -> Additive:
    start = estimator.init_
    if not isinstance(start, str | DummyClassifier):
        raise InvalidInputError(
            f"GradientBoostingClassifier must start from a constant, got init={name_of(start)}: "
            "its scores are added to those of the trees. Fit it with init=None."
        )
    stages = estimator.estimators_
    scores = stages.shape[1]
    trees = []
    for stage in stages:
        for k, part in enumerate(stage):
            value = estimator.learning_rate * part.tree_.value[:, 0, 0]
            trees.append(_split(part, value if scores == 1 else np.outer(value, np.eye(scores)[k])))
    found = summed(
        trees,
        estimator.n_features_in_,
        lambda a, b: mixed_columns(estimator, a, b, "Fit it with max_depth=1."),
        takes_missing=False,
        single=True,
    )
    level = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), np.float32))[0]
    return Additive(
        found.terms,
        (float(level[0]) if scores == 1 else level) + found.intercept,
        estimator.classes_,
        strict=scores > 1,
        probability=_twice if estimator.loss == "exponential" else sigmoid,
        slack=found.slack,
    )


def _twice(score: float) -> float:
    return sigmoid(2 * score)


@registered(
    "classifier",
    HistGradientBoostingClassifier,
    note='`interaction_cst="no_interactions"` or `max_depth=1`; missing values and categories are '
    "states; a tie belongs to the first class",
    composite=True,
)
def _histograms(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    categorical = estimator.is_categorical_
    codes: dict[int, int] = {}
    order = list(range(estimator.n_features_in_))
    if categorical is not None and categorical.any():
        # The categories come first there, as the codes of an encoder.
        encoder = estimator._preprocessor.named_transformers_["encoder"]
        first, rest = np.flatnonzero(categorical).tolist(), np.flatnonzero(~categorical).tolist()
        codes = {j: len(known) for j, known in enumerate(encoder.categories_)}
        blocks = [
            follow(encoder, columns.take(first, Taken(columns.rows, tuple(first))), "transformer")
        ]
        if rest:
            blocks.append(columns.take(rest, Taken(columns.rows, tuple(rest))))
        columns, order = stack(blocks, _Preprocessed(estimator, columns.rows)), first + rest
    scores = estimator.n_trees_per_iteration_
    trees = []
    for stage in estimator._predictors:
        for k, part in enumerate(stage):
            value = np.asarray(part.nodes["value"], dtype=np.float64)
            trees.append(
                _binned(part, value if scores == 1 else np.outer(value, np.eye(scores)[k]))
            )
    found = summed(
        trees,
        estimator.n_features_in_,
        lambda a, b: mixed_columns(
            estimator, order[a], order[b], "Fit it with interaction_cst='no_interactions'."
        ),
        codes=codes,
    )
    level = np.asarray(estimator._baseline_prediction, dtype=np.float64).ravel()
    part = Additive(
        found.terms,
        (float(level[0]) if scores == 1 else level) + found.intercept,
        estimator.classes_,
        probability=sigmoid,
        slack=found.slack,
    )
    return added_up(part, estimator, columns, follow)


@dataclass(frozen=True, eq=False)
class _Preprocessed:
    """Rows as the trees of a histogram booster get them: codes of categories first."""

    estimator: Any
    parent: Any

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Return the rows at this place."""
        if id(self) not in memo:
            rows = self.parent.of(X, memo)
            memo[id(self)] = self.estimator._preprocess_X(rows, reset=False)
        return memo[id(self)]


def _binned(part: Any, value: NDArray[np.float64]) -> Tree:
    """Return a tree of a histogram booster."""
    nodes = part.nodes
    members = {
        node: _codes(part.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        for node in np.flatnonzero(nodes["is_categorical"].astype(bool)).tolist()
    }
    return Tree(
        np.where(nodes["is_leaf"], -1, nodes["feature_idx"].astype(np.intp)),
        np.asarray(nodes["num_threshold"], dtype=np.float64),
        nodes["left"].astype(np.intp),
        nodes["right"].astype(np.intp),
        nodes["missing_go_to_left"].astype(bool),
        value,
        members,
    )


def _codes(bitset: Any) -> frozenset[int]:
    bits = np.unpackbits(np.asarray(bitset, dtype="<u4").view(np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(bits).tolist())


@registered(
    "classifier",
    GaussianNB,
    note="a quadratic function of each column: real-valued units; a tie belongs to the first class",
)
def _gaussian(estimator: Any) -> Additive:
    prior = np.log(estimator.class_prior_)
    level = prior - 0.5 * np.sum(np.log(2.0 * np.pi * estimator.var_), axis=1)
    return Additive(
        [_Bell(*parts) for parts in zip(estimator.theta_.T, estimator.var_.T, strict=True)],
        level,
        estimator.classes_,
        probability=sigmoid,
    )


@dataclass(frozen=True, eq=False)
class _Bell:
    """The logarithm of a normal density of each class, without its constant."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]

    def __call__(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = -0.5 * (numbers[:, None] - self.mean) ** 2 / self.variance
        return found

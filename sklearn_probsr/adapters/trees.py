"""Trees: those that split on one column each add up to one step function per column.

Of scikit-learn, LightGBM and XGBoost: each library's trees are read into `Tree`, and `summed` adds
them up exactly. A gradient-boosted linear model of XGBoost is here too.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from sklearn_probsr.adapters.additive import Additive, Categories, Steps, Term, added_up
from sklearn_probsr.adapters.columns import Columns, Taken, is_missing, stack
from sklearn_probsr.adapters.linear import Decision
from sklearn_probsr.adapters.registry import (
    Linear,
    identity,
    name_of,
    registered,
    registered_from,
    sigmoid,
)
from sklearn_probsr.exceptions import InvalidInputError

# What to do about trees that split on several columns.
CONSTRAINED = "Fit it with max_depth=1, or interaction_constraints of one column each"


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree by its nodes, the first of which is the root.

    Parameters
    ----------
    feature : ndarray of int
        The column that each node splits on; -1 for a leaf.
    cut : ndarray of float
        The largest number that goes left, or infinity.
    left, right : ndarray of int
    missing_left : ndarray of bool
        Whether a missing value goes left.
    value : ndarray of shape (nodes,) or (nodes, scores)
        What a leaf adds.
    members : dict of int to frozenset, default={}
        Of nodes that split on categories, the codes that go left; others are missing if they are
        not known, else go right.
    zero : ndarray of float or None, default=None
        How far from zero a number counts as missing at each node; negative: none does.
    """

    feature: NDArray[np.intp]
    cut: NDArray[np.float64]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    members: dict[int, frozenset[int]] = field(default_factory=dict)
    zero: NDArray[np.float64] | None = None

    @property
    def cuts(self) -> list[float]:
        """The numbers up to which it may add something else than after them."""
        inner = self.feature >= 0
        found: list[float] = self.cut[inner].tolist()
        if self.zero is not None:
            for near in np.unique(self.zero[inner & (self.zero >= 0)]).tolist():
                found += [float(np.nextafter(-near, -np.inf)), near]
        return found

    @property
    def columns(self) -> list[int]:
        """The columns that it splits on."""
        found: list[int] = np.unique(self.feature[self.feature >= 0]).tolist()
        return found

    def of(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what it adds, given numbers of its only column."""
        at = np.zeros(len(numbers), dtype=np.intp)
        nothing = np.isnan(numbers)
        while (inner := self.feature[at] >= 0).any():
            gaps = nothing if self.zero is None else nothing | (np.abs(numbers) <= self.zero[at])
            left = np.where(gaps, self.missing_left[at], numbers <= self.cut[at])
            for node in set(at[inner].tolist()) & self.members.keys():
                here = (at == node) & ~nothing
                left[here] = np.isin(numbers[here], list(self.members[node]))
            at = np.where(inner, np.where(left, self.left[at], self.right[at]), at)
        found: NDArray[np.float64] = self.value[at]
        return found


@dataclass(frozen=True)
class Ensemble:
    """The terms and the intercept that trees add up to, and what rounding may do to their sum."""

    terms: list[Term]
    intercept: NDArray[np.float64]
    slack: float


def summed(
    trees: Sequence[Tree],
    estimator: Any,
    remedy: str,
    *,
    order: Sequence[int] | None = None,
    codes: dict[int, int] | None = None,
    takes_missing: bool = True,
    markers: Sequence[Any] = (),
    precision: float = 2.0**-52,
    single: bool = False,
) -> Ensemble:
    """Return the sum of trees over the columns of an estimator, exactly rounded at every step.

    ``remedy`` says what to do about a tree that splits on two columns; ``order`` which column of
    the estimator each is, if they come otherwise; ``codes`` how many categories a column has, if
    it has some, whose codes are 0, 1, ...; ``precision`` is the rounding unit in which the
    estimator itself adds up; ``single`` says that it compares numbers of 32 bits.
    """
    by_column: dict[int, list[Tree]] = {}
    alone = [np.zeros(trees[0].value.shape[1:])] if trees else [np.zeros(())]
    for tree in trees:
        columns = tree.columns
        if len(columns) > 1:
            own = getattr(estimator, "feature_names_in_", None)
            at = [j if order is None else order[j] for j in columns[:2]]
            names = [str(j if own is None else repr(str(own[j]))) for j in at]
            raise InvalidInputError(
                f"{name_of(estimator)} is not additive: a tree of it splits on two columns, "
                f"{names[0]} and {names[1]}. {remedy}"
            )
        if columns:
            by_column.setdefault(columns[0], []).append(tree)
        else:
            alone.append(tree.value[0])
    # What does not count does not make a missing value welcome.
    nothing = None if takes_missing else Steps((), [np.zeros_like(alone[0])])
    terms: list[Term] = [nothing] * estimator.n_features_in_
    for column, some in by_column.items():
        known = (codes or {}).get(column)
        if known is None:
            terms[column] = _steps(some, takes_missing, markers, single)
        else:
            terms[column] = _table(some, known)
    largest = sum(float(np.abs(tree.value).max()) for tree in trees)
    slack = 2 * (len(trees) + 1) * precision * largest
    return Ensemble(terms, _exact_sums(np.array(alone)), slack)


def _steps(
    trees: Sequence[Tree], takes_missing: bool, markers: Sequence[Any], single: bool
) -> Steps:
    cuts = np.unique([cut for tree in trees for cut in tree.cuts])
    cuts = cuts[np.isfinite(cuts)]
    # A number stands for all up to it from the cut before, infinity for those after the last.
    tried = np.array([*cuts, np.inf, np.nan])
    values = _exact_sums(np.array([tree.of(tried) for tree in trees]))
    changes = np.any(np.diff(values[:-1].reshape(len(cuts) + 1, -1), axis=0) != 0, axis=1)
    kept = values[:-1][np.append(changes, True)]
    missing = values[-1] if takes_missing else None
    return Steps(cuts[changes], kept, missing, "right", markers, single)


def _table(trees: Sequence[Tree], n: int) -> Categories:
    tried = np.array([*range(n), np.nan])
    values = _exact_sums(np.array([tree.of(tried) for tree in trees]))
    return Categories(dict(enumerate(values[:-1])), values[-1], values[-1])


def _exact_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums over the first axis, each rounded once."""
    cells = values.reshape(len(values), -1).T
    return np.array([math.fsum(cell) for cell in cells.tolist()]).reshape(values.shape[1:])


def float32_cuts(thresholds: Any) -> NDArray[np.float64]:
    """Return the largest floats that are at most a threshold once they are rounded to 32 bits."""
    levels = np.asarray(thresholds, dtype=np.float64)
    with np.errstate(over="ignore"):
        below = levels.astype(np.float32)
    below = np.where(below > levels, np.nextafter(below, np.float32(-np.inf)), below)
    after = np.nextafter(below, np.float32(np.inf))
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (below.astype(np.float64) + after.astype(np.float64)) / 2
        # A number half way between goes to the one whose last bit is 0.
        found = np.where(middle.astype(np.float32) <= below, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isfinite(after), found, np.inf)


@registered(
    "classifier",
    DecisionTreeClassifier,
    note="`max_depth=1`, or any tree that splits on one column; a tie belongs to the first class",
)
def _decision_tree(estimator: Any) -> Additive:
    classes = _one_output(estimator)
    chances = estimator.tree_.value[:, 0, :]
    chances = chances / chances.sum(axis=1, keepdims=True)  # counts until scikit-learn 1.3
    two = len(classes) == 2
    tree = _split(estimator, chances[:, 1] if two else chances)
    found = summed(
        [tree],
        estimator,
        "Fit it with max_depth=1.",
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
        estimator,
        "Fit it with its own stumps, estimator=None.",
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
        estimator,
        "Fit it with max_depth=1.",
        takes_missing=False,
        single=True,
    )
    level = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), np.float32))[0]
    return Additive(
        found.terms,
        (float(level[0]) if scores == 1 else level) + found.intercept,
        estimator.classes_,
        strict=scores > 1,
        probability=_exponential if estimator.loss == "exponential" else sigmoid,
        slack=found.slack,
    )


def _exponential(score: float) -> float:
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
        estimator,
        "Fit it with interaction_cst='no_interactions'.",
        order=order,
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


_LINKED = {"binary": 1, "cross_entropy": 1, "multiclass": None, "multiclassova": None}
# Numbers so close to zero are zero there.
_ZERO = float(np.float32(1e-35))


def _spelled(name: str) -> str:
    """Return what LightGBM calls a column."""
    return name.replace(" ", "_")


@registered_from(
    "lightgbm",
    "4.7",
    "LGBMClassifier",
    note="`max_depth=1`, or `interaction_constraints` of one column each; missing values and "
    "categories are states; a tie belongs to the first class",
    spelling=_spelled,
)
def _lightgbm(estimator: Any) -> Additive:
    dump = estimator.booster_.dump_model()
    objective, *options = dump.get("objective", "custom").split()
    scores, classes = dump["num_tree_per_iteration"], estimator.classes_
    if objective not in _LINKED or len(classes) < 2:
        raise InvalidInputError(
            f"LGBMClassifier must be fitted on two classes or more by objective 'binary', "
            f"'multiclass' or 'multiclassova', got {objective!r} and {len(classes)} classes: it is "
            "not known how it decides."
        )
    shared = len(dump["tree_info"]) / scores if dump["average_output"] else 1.0
    trees = [
        _lightgbm_tree(info["tree_structure"], k % scores, scores, shared)
        for k, info in enumerate(dump["tree_info"])
    ]
    categories = _lightgbm_categories(dump, estimator)
    found = summed(
        trees,
        estimator,
        f"{CONSTRAINED}.",
        codes={j: len(known) + 1 for j, known in categories.items()},
    )
    terms = [
        _lightgbm_named(term, categories[j]) if j in categories else term
        for j, term in enumerate(found.terms)
    ]
    slope = next((float(o.partition(":")[2]) for o in options if o.startswith("sigmoid:")), 1.0)
    return Additive(
        terms,
        found.intercept,
        classes,
        probability=_Sigmoid(slope) if scores == 1 else None,
        slack=found.slack,
    )


class _Sigmoid:
    """The probability of the second class, by the slope that was chosen."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def __call__(self, score: float) -> float:
        return sigmoid(self.slope * score)


def _lightgbm_tree(root: dict[str, Any], score: int, scores: int, shared: float) -> Tree:
    """Return a tree by its nodes; every one of them is put behind its parent."""
    nodes, places = [root], {}
    for node in nodes:
        if "left_child" in node:
            places[id(node)] = len(nodes)
            nodes += [node["left_child"], node["right_child"]]
        elif node.get("leaf_coeff"):
            raise InvalidInputError(
                "LGBMClassifier must have constant leaves, got linear ones. Fit it with "
                "linear_tree=False."
            )
    inner = [id(node) in places for node in nodes]
    left = np.array([places.get(id(node), 0) for node in nodes])
    listed = [node.get("decision_type") == "==" for node in nodes]
    cut = [
        float(node["threshold"]) if deep and not by_list else np.inf
        for node, deep, by_list in zip(nodes, inner, listed, strict=True)
    ]
    kinds = [node.get("missing_type") for node in nodes]
    gaps = [
        # Where no missing value was seen it counts as zero; among categories it goes right.
        not by_list and (level >= 0.0 if kind == "None" else bool(node.get("default_left")))
        for node, by_list, level, kind in zip(nodes, listed, cut, kinds, strict=True)
    ]
    value = np.array([node.get("leaf_value", 0.0) for node in nodes]) / shared
    return Tree(
        np.array([node.get("split_feature", -1) for node in nodes]),
        np.array(cut),
        left,
        left + 1,
        np.array(gaps, dtype=bool),
        value if scores == 1 else np.outer(value, np.eye(scores)[score]),
        {
            i: frozenset(int(code) for code in str(nodes[i]["threshold"]).split("||"))
            for i in np.flatnonzero(listed).tolist()
        },
        np.array([_ZERO if kind == "Zero" else -1.0 for kind in kinds]),
    )  # fmt: skip


def _lightgbm_categories(dump: dict[str, Any], estimator: Any) -> dict[int, list[Any] | range]:
    """Return the categories of columns that have some: what they are called, or their codes."""
    names = dump["feature_names"]
    coded = [names.index(n) for n, info in dump["feature_infos"].items() if info["values"]]
    named = dump["pandas_categorical"]
    if not named:
        tops = {j: int(max(dump["feature_infos"][names[j]]["values"])) for j in coded}
        return {j: range(top + 1) for j, top in tops.items()}
    if len(named) != len(coded):
        raise InvalidInputError(
            f"{name_of(estimator)} was fitted on {len(named)} columns of dtype category and uses "
            f"{len(coded)}: it does not say which. Fit it without those that have one category, "
            "and without categorical_feature."
        )
    return dict(zip(sorted(coded), named, strict=True))


def _lightgbm_named(term: Term, known: list[Any] | range) -> Term:
    """Return a table of codes, of which the last stands for all others, by their names."""
    if not isinstance(term, Categories):
        return term
    *values, other = term.values
    if not isinstance(known, range):
        return Categories(dict(zip(known, values, strict=True)), term.missing, other)
    # A number is cut to a whole one; below 0 and after the last code it is none.
    return Steps([*known, len(known)], [other, *values, other], term.missing)


_EPS = float(np.finfo(np.float32).eps)
_OBJECTIVES = ("binary:logistic", "binary:logitraw", "multi:softprob", "multi:softmax")


@registered_from(
    "xgboost",
    "3.2",
    "XGBClassifier XGBRFClassifier",
    note='`max_depth=1`, or `interaction_constraints` of one column each, or `booster="gblinear"`; '
    "numbers are compared in 32 bits, as it does; a tie belongs to the first class",
    composite=True,
)
def _xgboost(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    learner = json.loads(bytes(estimator.get_booster().save_raw("json")))["learner"]
    objective, name = learner["objective"]["name"], name_of(estimator)
    classes = range(estimator.n_classes_)
    if objective not in _OBJECTIVES or len(classes) < 2:
        raise InvalidInputError(
            f"{name} must be fitted on two classes or more by one of the objectives "
            f"{', '.join(map(repr, _OBJECTIVES))}, got {objective!r} and {len(classes)} classes: "
            "it is not known how it decides."
        )
    booster = learner["gradient_booster"]
    level = _level(learner, objective)
    raw = objective == "binary:logitraw"
    deciding: dict[str, Any] = {
        "cut": 0.5 if raw else 0.0,
        "probability": (identity if raw else sigmoid) if len(classes) == 2 else None,
        "precision": _EPS,
    }
    if booster["name"] == "gblinear":
        # Not coef_ and intercept_: these are rounded to six digits, and lack the base score.
        weights = np.array(booster["model"]["weights"], dtype=np.float64)
        weights = weights.reshape(len(columns) + 1, len(level))
        linear = Linear(weights[:-1].T, weights[-1] + level, classes, **deciding)
        return Decision(columns, linear.checked(name, len(columns)), name)
    part = _additive(estimator, learner, booster, level, classes, deciding)
    # What a sparse row does not hold is missing to it, and not zero.
    return added_up(part, estimator, replace(columns, rows=_Absent(columns.rows)), follow)


def _level(learner: dict[str, Any], objective: str) -> NDArray[np.float64]:
    """Return the score that it starts from, for each of its outputs."""
    text = learner["learner_model_param"]["base_score"]
    base = np.array(json.loads(text if text.startswith("[") else f"[{text}]"), dtype=np.float32)
    outputs = max(1, int(learner["learner_model_param"]["num_class"]))
    if objective == "binary:logistic":  # it is a probability there, elsewhere a score
        base = -np.log(np.float32(1.0) / base - np.float32(1.0))
    return np.broadcast_to(base.astype(np.float64), outputs)


def _additive(
    estimator: Any,
    learner: dict[str, Any],
    booster: dict[str, Any],
    level: NDArray[np.float64],
    classes: Sequence[int],
    deciding: dict[str, Any],
) -> Additive:
    """Return the sum of the trees that predict uses."""
    model = booster.get("gbtree", booster)["model"]
    used = len(model["trees"])
    if "best_iteration" in learner["attributes"]:  # where it was stopped early
        used = model["iteration_indptr"][int(learner["attributes"]["best_iteration"]) + 1]
    shares = booster.get("weight_drop", [1.0] * used)
    scores = len(level)
    trees = [
        _xgboost_tree(tree, share, k, scores, estimator)
        for tree, share, k in zip(model["trees"][:used], shares, model["tree_info"], strict=False)
    ]
    known = _xgboost_categories(learner, model, estimator)
    marker = estimator.missing
    found = summed(
        trees,
        estimator,
        f"{CONSTRAINED}.",
        codes={j: len(some) for j, some in known.items()},
        markers=() if marker is None or is_missing(marker) else (marker,),
        precision=_EPS,
        single=True,
    )
    terms = [_xgboost_named(term, known.get(j)) for j, term in enumerate(found.terms)]
    start = level if scores > 1 else level[0]
    return Additive(terms, start + found.intercept, classes, slack=found.slack, **deciding)


def _xgboost_tree(
    tree: dict[str, Any], share: float, score: int, scores: int, estimator: Any
) -> Tree:
    """Return a tree; numbers of 32 bits go left if they are less than a condition."""
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise InvalidInputError(
            f"{name_of(estimator)} must have one tree for each class. Fit it with "
            "multi_strategy='one_output_per_tree'."
        )
    left = np.array(tree["left_children"])
    leaf = left < 0
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    below = np.nextafter(conditions, np.float32(-np.inf))
    value = np.where(leaf, conditions, 0).astype(np.float64) * share
    listed = zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    )
    return Tree(
        np.where(leaf, -1, np.array(tree["split_indices"])),
        np.where(np.array(tree["split_type"]) == 1, np.inf, float32_cuts(below)),
        left,
        np.array(tree["right_children"]),
        np.array(tree["default_left"], dtype=bool),
        value if scores == 1 else np.outer(value, np.eye(scores)[score]),
        {
            # Those that are listed go right.
            node: frozenset(range(_MOST)) - frozenset(tree["categories"][start : start + size])
            for node, start, size in listed
        },
    )


_MOST = 1 << 14  # categories that a column may have


def _xgboost_categories(
    learner: dict[str, Any], model: dict[str, Any], estimator: Any
) -> dict[int, list[Any]]:
    """Return what the categories of columns that have some are called."""
    encoded = model.get("cats", {}).get("enc", [])
    found = {}
    for j, kind in enumerate(learner["feature_types"]):
        if kind != "c":
            continue
        known = encoded[j] if j < len(encoded) else {"values": []}
        if not known["values"]:
            raise InvalidInputError(
                f"{name_of(estimator)} must know its categories by name, got column {j} with codes "
                "alone. Fit it on a frame with columns of dtype category and "
                "enable_categorical=True."
            )
        found[j] = _texts(known, j) if "offsets" in known else list(known["values"])
    return found


def _texts(known: dict[str, Any], column: int) -> list[str]:
    letters = bytes(byte % 256 for byte in known["values"])
    if not letters.isascii():
        raise InvalidInputError(
            f"the categories of column {column} have letters that XGBoost keeps cut off, as of "
            f"{letters.decode(errors='replace')[:20]!r}. Rename them without accents and fit again."
        )
    return [letters[a:b].decode() for a, b in itertools.pairwise(known["offsets"])]


def _xgboost_named(term: Term, known: list[Any] | None) -> Term:
    if known is None or not isinstance(term, Categories):
        return term
    return Categories(dict(zip(known, term.values, strict=True)), term.missing)


@dataclass(frozen=True, eq=False)
class _Absent:
    """Rows as they are, but for sparse ones: what they do not hold is missing."""

    parent: Any

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Return the rows at this place."""
        rows = self.parent.of(X, memo)
        if not hasattr(rows, "tocoo"):
            return rows
        held = rows.tocoo()
        found = np.full(rows.shape, np.nan)
        found[held.row, held.col] = held.data
        return found

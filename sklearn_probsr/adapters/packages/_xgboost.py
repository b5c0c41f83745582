"""XGBoost: boosted trees that split on one column each, and its linear booster."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._declarations import Linear, identity, sigmoid
from sklearn_probsr.adapters._registry import name_of, registered_from
from sklearn_probsr.adapters.classifiers._additive import Additive
from sklearn_probsr.adapters.classifiers._additive_terms import added_up
from sklearn_probsr.adapters.classifiers._decision import Decision
from sklearn_probsr.adapters.classifiers._shapes import Categories, Term
from sklearn_probsr.adapters.classifiers._trees import (
    CONSTRAINED,
    Tree,
    float32_cuts,
    mixed_columns,
    summed,
)
from sklearn_probsr.adapters.units._columns import Columns, is_missing
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []

_EPS = float(np.finfo(np.float32).eps)
_OBJECTIVES = ("binary:logistic", "binary:logitraw", "multi:softprob", "multi:softmax")


@registered_from(
    "xgboost",
    "3.2",
    "XGBClassifier",
    "XGBRFClassifier",
    note='`max_depth=1`, or `interaction_constraints` of one column each, or `booster="gblinear"`; '
    "numbers are compared in 32 bits, as it does; a tie belongs to the first class",
    composite=True,
)
def _boosted(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
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
        _tree(tree, share, k, scores, estimator)
        for tree, share, k in zip(model["trees"][:used], shares, model["tree_info"], strict=False)
    ]
    known = _categories(learner, model, estimator)
    marker = estimator.missing
    found = summed(
        trees,
        int(learner["learner_model_param"]["num_feature"]),
        lambda a, b: mixed_columns(estimator, a, b, f"{CONSTRAINED}."),
        codes={j: len(some) for j, some in known.items()},
        markers=() if marker is None or is_missing(marker) else (marker,),
        precision=_EPS,
        single=True,
    )
    terms = [_named(term, known.get(j)) for j, term in enumerate(found.terms)]
    start = level if scores > 1 else level[0]
    return Additive(terms, start + found.intercept, classes, slack=found.slack, **deciding)


def _tree(tree: dict[str, Any], share: float, score: int, scores: int, estimator: Any) -> Tree:
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


def _categories(
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


def _named(term: Term, known: list[Any] | None) -> Term:
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

"""LightGBM: boosted trees that split on one column each."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_probsr.adapters._declarations import sigmoid
from sklearn_probsr.adapters._registry import name_of, registered_from
from sklearn_probsr.adapters.classifiers._additive import Additive
from sklearn_probsr.adapters.classifiers._shapes import Categories, Steps, Term
from sklearn_probsr.adapters.classifiers._trees import CONSTRAINED, Tree, mixed_columns, summed
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []

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
def _boosted(estimator: Any) -> Additive:
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
        _tree(info["tree_structure"], k % scores, scores, shared)
        for k, info in enumerate(dump["tree_info"])
    ]
    categories = _categories(dump, estimator)
    found = summed(
        trees,
        estimator.n_features_in_,
        lambda a, b: mixed_columns(estimator, a, b, f"{CONSTRAINED}."),
        codes={j: len(known) + 1 for j, known in categories.items()},
    )
    terms = [
        _named(term, categories[j]) if j in categories else term
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


def _tree(root: dict[str, Any], score: int, scores: int, shared: float) -> Tree:
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


def _categories(dump: dict[str, Any], estimator: Any) -> dict[int, list[Any] | range]:
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


def _named(term: Term, known: list[Any] | range) -> Term:
    """Return a table of codes, of which the last stands for all others, by their names."""
    if not isinstance(term, Categories):
        return term
    *values, other = term.values
    if not isinstance(known, range):
        return Categories(dict(zip(known, values, strict=True)), term.missing, other)
    # A number is cut to a whole one; below 0 and after the last code it is none.
    return Steps([*known, len(known)], [other, *values, other], term.missing)

"""Trees: those that split on one column each add up to one step function per column."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._registry import name_of
from sklearn_probsr.adapters.classifiers._shapes import Categories, Steps, Term
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["CONSTRAINED", "Ensemble", "Tree", "float32_cuts", "mixed_columns", "summed"]

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


def mixed_columns(estimator: Any, first: int, second: int, remedy: str) -> InvalidInputError:
    """Return the error about a tree that splits on two columns."""
    known = getattr(estimator, "feature_names_in_", None)
    names = [str(j if known is None else repr(str(known[j]))) for j in (first, second)]
    return InvalidInputError(
        f"{name_of(estimator)} is not additive: a tree of it splits on two columns, {names[0]} and "
        f"{names[1]}. {remedy}"
    )


def summed(
    trees: Sequence[Tree],
    n: int,
    refuse: Callable[[int, int], InvalidInputError],
    *,
    codes: dict[int, int] | None = None,
    takes_missing: bool = True,
    markers: Sequence[Any] = (),
    precision: float = 2.0**-52,
    single: bool = False,
) -> Ensemble:
    """Return the sum of trees over ``n`` columns, exactly rounded at every step.

    ``refuse`` makes the error about a tree that splits on two columns; ``codes`` says how many
    categories a column has, if it has some, whose codes are 0, 1, ...; ``precision`` is the
    rounding unit in which the estimator itself adds up; ``single`` says that it compares numbers
    of 32 bits.
    """
    by_column: dict[int, list[Tree]] = {}
    alone = [np.zeros(trees[0].value.shape[1:])] if trees else [np.zeros(())]
    for tree in trees:
        columns = tree.columns
        if len(columns) > 1:
            raise refuse(columns[0], columns[1])
        if columns:
            by_column.setdefault(columns[0], []).append(tree)
        else:
            alone.append(tree.value[0])
    # What does not count does not make a missing value welcome.
    nothing = None if takes_missing else Steps((), [np.zeros_like(alone[0])])
    terms: list[Term] = [nothing] * n
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

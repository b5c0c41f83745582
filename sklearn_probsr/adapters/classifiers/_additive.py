"""Additive: a classifier whose score is a sum of functions, each of one raw column."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_probsr.adapters.classifiers._shapes import (
    Categories,
    Steps,
    Term,
    as_term,
    check_values,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import listing

__all__ = ["Additive", "n_scores"]


@dataclass(frozen=True, eq=False)
class Additive:
    """A classifier whose score is the sum of a function of each raw column.

    What an adapter may return, see `register_adapter`; `adapt` and the explainer take it as it is,
    too. Two classes: the second iff ``score > cut``, or ``>=`` if not ``strict``. More classes: the
    largest score, one for each class; of equal ones the first, or the last if not ``strict``.

    Parameters
    ----------
    terms : sequence, or mapping of columns to terms
        For every column that reaches the classifier its term; in a mapping, by name or index, for
        those that count. A term is a `adapters.Steps` or a pair ``(cuts, values)``; a
        `adapters.Categories` or a mapping of categories to values; a function that takes the
        column's numbers as an array and returns as many, or one row of scores for each; or None,
        if the column does not count.
    intercept : float or array-like of shape (scores,), default=0.0
        What is added to the score, or to each.
    classes : sequence of labels or None, default=None
        The estimator's ``classes_`` when None, or 0, 1, ...
    strict : bool, default=True
        How ties are broken, as above.
    cut : float, default=0.0
        The score at which the class changes.
    probability : callable or None, default=None
        The second class's probability as a function of the score, never falling.
    precision : float, default=2.220446049250313e-16
        The rounding unit in which the estimator computes its scores.
    slack : float, default=0.0
        What rounding may add to them beyond that, if the estimator adds up many small numbers
        for each term.

    Examples
    --------
    >>> from sklearn_probsr import Additive, adapt
    >>> terms = {
    ...     "age": ([30, 45], [-1, 0, 2]),
    ...     "job": {"clerk": -1, "nurse": 1},
    ...     "debt": np.negative,
    ... }
    >>> adapted = adapt(Additive(terms, intercept=1))
    >>> adapted.predict([[41, "clerk", 0.5], [41, "nurse", 0.5]])
    array([0, 1])
    """

    terms: Any
    intercept: Any = 0.0
    classes: Sequence[Any] | None = None
    strict: bool = True
    cut: float = 0.0
    probability: Callable[[float], float] | None = None
    precision: float = sys.float_info.epsilon
    slack: float = 0.0

    def __post_init__(self) -> None:
        put = object.__setattr__
        terms = self.terms
        if isinstance(terms, Mapping):
            put(self, "terms", {key: as_term(term, repr(key)) for key, term in terms.items()})
        elif isinstance(terms, Sequence) and not isinstance(terms, str):
            put(self, "terms", [as_term(term, f"number {i}") for i, term in enumerate(terms)])
        else:
            raise InvalidInputError(
                f"terms must be a sequence of terms, or map columns to them, got {terms!r}."
            )
        if not self.terms:
            raise InvalidInputError("terms must hold at least one term, got none.")
        put(self, "intercept", check_values(self.intercept, "intercept"))
        if self.intercept.ndim > 1:
            raise InvalidInputError(
                f"intercept must be one number, or one for each score, got {self.intercept!r}."
            )

    @property
    def names(self) -> tuple[str, ...] | None:
        """The columns, if all terms are given by name."""
        keys = tuple(self.terms) if isinstance(self.terms, Mapping) else ()
        return keys if keys and all(isinstance(key, str) for key in keys) else None

    def width(self, given: int) -> int:
        """Return how many columns it takes, if there are as many as ``given`` in a table."""
        if not isinstance(self.terms, Mapping):
            return len(self.terms)
        if self.names is not None:
            return given or len(self.names)
        return max(given, *(int(key) + 1 for key in self.terms if not isinstance(key, str)))

    def in_order(self, names: Sequence[str], name: str) -> list[Term]:
        """Return a term for each of the columns that reach it, which have these names."""
        if not isinstance(self.terms, Mapping):
            if len(self.terms) != len(names):
                raise InvalidInputError(
                    f"{name} must have one term per column that reaches it, {len(names)}, got "
                    f"{len(self.terms)}."
                )
            return list(self.terms)
        found: list[Term] = [None] * len(names)
        for key, term in self.terms.items():
            at = key if isinstance(key, int | np.integer) else -1
            if isinstance(key, str) and key in names:
                at = list(names).index(key)
            if not 0 <= at < len(names):
                raise InvalidInputError(
                    f"{name} has a term of the column {key!r}, and the columns that reach it are "
                    f"{listing(names)}."
                )
            found[at] = term
        return found


def n_scores(additive: Additive, terms: Sequence[Term], name: str) -> int | None:
    """Return how many scores the terms have; None if they are single numbers."""
    known = [term.values for term in terms if isinstance(term, Steps | Categories)]
    shapes = {values.shape[1:] for values in known}
    if additive.intercept.ndim:
        shapes.add(additive.intercept.shape)
    if len(shapes) > 1:
        raise InvalidInputError(
            f"{name} must have terms and an intercept of as many scores each, got "
            f"{' and '.join(str(shape[0] if shape else 1) for shape in sorted(shapes))}."
        )
    shape = shapes.pop() if shapes else ()
    return shape[0] if shape else None

"""What an adapter declares of a fitted estimator, in a small vocabulary of frozen values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sklearn_probsr.adapters.units._columns import is_missing
from sklearn_probsr.exceptions import InvalidInputError

__all__ = [
    "Affine",
    "Linear",
    "PerColumn",
    "Weights",
    "Words",
    "identity",
    "sigmoid",
]


@dataclass(frozen=True)
class Affine:
    """A transformer that computes ``X @ matrix.T + offset``.

    Parameters
    ----------
    matrix : array-like or sparse of shape (columns out, columns in)
        The slopes.
    offset : float or array-like of shape (columns out,), default=0.0
        What is added.
    """

    matrix: Any
    offset: Any = 0.0


@dataclass(frozen=True)
class PerColumn:
    """A transformer of which every output column depends on one input column.

    Parameters
    ----------
    owners : sequence of int or None, default=None
        The input column of each output column. None: as many come out as go in, in order.
    kinds : str or sequence of str, default="real"
        For each output column: "finite" for one of the values that ``cuts`` and ``values`` tell
        apart, "piecewise" for the same where the cuts can be carried back to a raw column and any
        number elsewhere, "keep" for the input itself with missing values filled in, "same" for the
        input as it is, "real" for any number.
    cuts : callable or None, default=None
        Takes an input column's index, returns where its number changes what comes out.
    values : callable or None, default=None
        Takes an input column's index, returns its categories.
    missing : object, default=None
        What stands for a missing value, if the transformer takes one.
    markers : callable or None, default=None
        Takes an input column's index, returns what else stands for a missing value in it.
    special : callable or None, default=None
        Takes an input column's index, returns single values apart from the bins around them.
    typical : callable or None, default=None
        Takes an input column's index, returns a value that the transformer takes, if it does not
        take every number.
    names : sequence of str, default=()
        What to append to the raw column's name for each output column.
    ranked : bool, default=True
        Whether states are told in the order of the numbers that come out, and not in that of the
        values that go in.
    monotone : bool or sequence of bool, default=False
        Whether every output column, or each, never falls where its input column grows. Rules then
        say "income ≥ 1200"; of a function of which that is not declared they list values.
    """

    owners: Sequence[int] | None = None
    kinds: str | Sequence[str] = "real"
    cuts: Callable[[int], Iterable[float]] | None = None
    values: Callable[[int], Iterable[Any]] | None = None
    missing: Any = None
    markers: Callable[[int], Iterable[Any]] | None = None
    special: Callable[[int], Iterable[Any]] | None = None
    typical: Callable[[int], Any] | None = None
    names: Sequence[str] = ()
    ranked: bool = True
    monotone: bool | Sequence[bool] = False

    def rises(self, column: int) -> bool:
        """Return whether an output column never falls where its input column grows."""
        if isinstance(self.monotone, bool):
            # Filled in: a number is what it was, unless one stands for a missing value.
            kept = self.kind(column) == "keep" and is_missing(self.missing)
            return self.monotone or (kept and self.markers is None)
        return self.monotone[column]

    def kind(self, column: int) -> str:
        """Return what an output column is."""
        return self.kinds if isinstance(self.kinds, str) else self.kinds[column]


@dataclass(frozen=True)
class Words:
    """A transformer of one text: each word is a feature, there or not, counted, or weighed.

    Parameters
    ----------
    words : sequence of str
        The word of each column.
    binary : bool
        Whether a column is 0 or 1.
    weights : bool, default=False
        Whether a column is neither 0 or 1 nor a count, but a weight. It may depend on the other
        words of the text; to the model it is a number like any other.
    counter : transformer or None, default=None
        What counts the words, if the columns are ``scale`` times its own.
    scale : array-like of shape (words,) or None, default=None
        What each column is a multiple of its count by; None: 1.
    """

    words: Sequence[str]
    binary: bool
    weights: bool = False
    counter: Any = None
    scale: Any = None


@dataclass(frozen=True)
class Weights:
    """A transformer of word counts that makes each a weight, which other words may change."""


@dataclass(frozen=True)
class Linear:
    """A classifier that decides by linear scores of its columns.

    Two classes: the second iff ``score > cut``, or ``>=`` if not ``strict``. More classes: the
    largest score; of equal ones the first, or the last if not ``strict``. With ``duels``, one
    score for every pair of classes, in order, which says the later one iff ``score <= 0``.

    Parameters
    ----------
    coef : array-like or sparse of shape (scores, columns)
        The weights of each score.
    intercept : float or array-like of shape (scores,)
        What is added to each score.
    classes : sequence of labels, default=(0, 1)
        What is decided, in the order of the scores.
    strict : bool, default=True
        How a tie is broken, as told above.
    cut : float, default=0.0
        What the score of two classes is compared with.
    probability : callable or None, default=None
        The second class's probability as a function of the score, never falling.
    duels : bool, default=False
        Whether there is one score for every pair of classes.
    precision : float, default=2.220446049250313e-16
        The rounding unit in which the scores are computed.
    slack : float, default=0.0
        What rounding may add to the scores beyond that.
    """

    coef: Any
    intercept: Any
    classes: Sequence[Any] = (0, 1)
    strict: bool = True
    cut: float = 0.0
    probability: Callable[[float], float] | None = None
    duels: bool = False
    precision: float = sys.float_info.epsilon
    slack: float = 0.0

    def checked(self, name: str, columns: int) -> Linear:
        """Return it with arrays of the right shapes, or say what is wrong with an estimator."""
        coef = self.coef.toarray() if hasattr(self.coef, "toarray") else np.asarray(self.coef)
        eps = np.finfo(coef.dtype).eps if coef.dtype.kind == "f" else None
        rows = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        intercept = np.asarray(self.intercept, dtype=np.float64).ravel()
        classes = tuple(np.asarray(self.classes).tolist())
        pairs = len(classes) * (len(classes) - 1) // 2
        scores = 1 if len(classes) == 2 else pairs if self.duels else len(classes)
        if len(classes) < 2 or rows.shape[0] != scores or intercept.size not in {1, scores}:
            raise InvalidInputError(
                f"{name} must have one row of coefficients for 2 classes and one per class for "
                f"more, got coefficients of shape {rows.shape}, {intercept.size} "
                f"intercept{'s' if intercept.size != 1 else ''} and {len(classes)} "
                f"class{'es' if len(classes) != 1 else ''}."
            )
        if rows.shape[1] != columns:
            raise InvalidInputError(
                f"{name} must have one coefficient per column that reaches it, {columns}, got "
                f"{rows.shape[1]}."
            )
        if not np.isfinite(rows).all() or not np.isfinite(intercept).all():
            raise InvalidInputError(
                f"{name} must have finite coefficients, got infinite ones or NaN. "
                "A naive Bayes model gets them when it is fitted with alpha=0: use alpha > 0."
            )
        return replace(
            self,
            coef=rows,
            intercept=np.broadcast_to(intercept, scores),
            classes=classes,
            precision=max(float(eps or 0), self.precision),
        )

    def flipped(self) -> Linear:
        """Return the same classifier with the opposite score, for two classes."""
        rows: NDArray[np.float64] = -self.coef
        return replace(self, coef=rows, intercept=-self.intercept)


def sigmoid(score: float) -> float:
    """Return the logistic function, as scikit-learn computes it."""
    return float(expit(score))


def identity(score: float) -> float:
    """Return a score that is a probability by itself."""
    return score

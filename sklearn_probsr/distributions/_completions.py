"""Distributions: who may replace an unknown feature."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_probsr.distributions._data import (
    Data,
    HandedOver,
    binary_rows,
    check_shape,
    rows_of,
    whole_number,
)
from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import as_array
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.model.sparse import is_large, sparse_rows

__all__ = [
    "Background",
    "Distribution",
    "Marginals",
    "Matching",
    "Product",
    "Uniform",
]


@dataclass(frozen=True)
class Uniform:
    """Every unknown feature takes each of its states with the same chance, independently.

    A binary feature is a fair coin; of one-hot columns every category is as likely as the others,
    the dropped one too. A real-valued feature has no uniform distribution.

    Examples
    --------
    >>> str(Uniform())
    'uniform completions'
    """

    def __str__(self) -> str:
        return "uniform completions"


class Background(Data):
    """The unknown features are replaced together, by those of a row of a data set.

    This is what SHAP calls interventional: the facts of the instance stay, all else comes from
    one background row. The guarantee is the share of the rows that keep the class, an exact
    count, and correlations between the unknown features are those of the data.

    Parameters
    ----------
    X : array-like of shape (n, d), or sequence of texts
        Rows in the columns of the model: zeros and ones, or what the model's units can be. For an
        explainer, rows as its estimator takes them, so texts for a Pipeline with a vectorizer.
    weights : array-like of shape (n,) or None, default=None
        How much each row counts; they mean the decimals that they print as. None: all the same.
    sample : int or None, default=None
        How many rows, drawn at random, reasons are searched on. The guarantee of the set found is
        counted over all rows all the same, and so is all that is proved of it; where it misses
        delta, the search goes on with twice as many. None, or as many as there are: all rows. (Of
        several classes and many rows, no more are searched at a time than memory has room for.)
    random_state : int, default=0
        The seed of that draw.

    Examples
    --------
    >>> background = Background([[0, 0], [0, 1], [1, 1]])
    >>> str(background)
    'replacement by 3 background rows'
    >>> str(Background([[0, 0], [0, 1], [1, 1]], sample=2))
    'replacement by 2 of 3 background rows'
    """

    sample: int | None
    random_state: int

    def __init__(
        self,
        X: ArrayLike | HandedOver,
        weights: ArrayLike | None = None,
        *,
        sample: int | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(X, weights)
        size = None if sample is None else whole_number(sample, "sample", 1)
        put = object.__setattr__
        put(self, "sample", None if size is None or size >= self.shape[0] else size)
        put(self, "random_state", whole_number(random_state, "random_state", 0))

    def with_rows(self, rows: ArrayLike) -> Background:
        """Return the same for other columns of the same rows, which are handed over."""
        return Background(
            HandedOver(rows), self.weights, sample=self.sample, random_state=self.random_state
        )

    def __getstate__(self) -> dict[str, Any]:
        drawn = {"sample": self.sample, "random_state": self.random_state}
        return {**super().__getstate__(), **drawn}

    @property
    def _said(self) -> tuple[Any, ...]:
        return () if self.sample is None else (self.sample, self.random_state)

    def __str__(self) -> str:
        if self.sample is None:
            return f"replacement by {self._text}"
        return f"replacement by {self.sample:,} of {self._text}"

    def __repr__(self) -> str:
        drawn = "" if self.sample is None else f", {self.sample:,} of them searched"
        return f"Background(<{self.shape[0]} rows{drawn}, {self.shape[1]} columns>)"


class Marginals(Data):
    """Every unknown unit is distributed as in a data set, independently of the others.

    A unit keeps its columns together (one-hot columns never contradict each other), real-valued
    ones take the values that were seen; correlations between units are assumed away. With binary
    features it is what `Product.fit` gives.

    Parameters
    ----------
    X : array-like of shape (n, d), or sequence of texts
        Rows in the columns of the model, or for an explainer as its estimator takes them.
    weights : array-like of shape (n,) or None, default=None
        How much each row counts; they mean the decimals that they print as. None: all the same.

    Examples
    --------
    >>> str(Marginals.fit([[0.5, 0], [1.5, 1]]))
    'independent completions with the marginals of 2 background rows'
    """

    @classmethod
    def fit(cls, X: ArrayLike, weights: ArrayLike | None = None) -> Marginals:
        """Take the marginals of a data set.

        Parameters
        ----------
        X : array-like of shape (n, d), or sequence of texts
            Rows in the columns of the model, or for an explainer as its estimator takes them.
        weights : array-like of shape (n,) or None, default=None
            How much each row counts.

        Returns
        -------
        Marginals
        """
        return cls(X, weights)

    def __str__(self) -> str:
        return f"independent completions with the marginals of {self._text}"


@dataclass(frozen=True)
class Product:
    """Every unknown feature is 1 with a probability of its own, independently of the others.

    For 0/1 columns, in the order of the model's columns.

    Parameters
    ----------
    p : array-like of shape (d,)
        The probability that each feature is 1, in [0, 1]. They mean the decimals that they
        print as.

    Examples
    --------
    >>> str(Product([0.1, 0.5]))
    'independent completions with 2 given marginals'
    """

    p: tuple[Fraction, ...]

    def __init__(self, p: ArrayLike | tuple[Fraction, ...]) -> None:
        shape = np.shape(np.asarray(p, dtype=object))
        if len(shape) != 1 or shape[0] == 0:
            raise InvalidInputError(
                f"p must be a vector with one probability per feature, got shape {shape}."
            )
        # Each keeps its type: the float32 that prints as 0.9 is nine tenths.
        values = p if isinstance(p, list | tuple) else np.asarray(p)
        object.__setattr__(self, "p", tuple(_probability(v, i) for i, v in enumerate(values)))

    @classmethod
    def fit(cls, X: ArrayLike) -> Product:
        """Take the share of ones in each column of a data set, as SHAP's values do.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of zeros and ones.

        Returns
        -------
        Product
            With the exact fractions. Columns that are constant in X are named in a warning:
            leaving them unknown never changes them.
        """
        names = getattr(X, "columns", None)
        rows: Any
        if is_large(X):
            check_shape(X)
            rows = binary_rows(sparse_rows(X, None, "A background"), None)
            ones = np.bincount(rows.indices, minlength=rows.width).tolist()
        else:
            array = as_array(X, "A background")
            check_shape(array)
            rows = binary_rows(rows_of(array, names), names)
            ones = np.count_nonzero(rows, axis=0).tolist()
        constant = [i for i, count in enumerate(ones) if count in {0, len(rows)}]
        if constant:
            shown = [str(i if names is None else names[i]) for i in constant[:8]]
            more = "" if len(constant) <= 8 else f" and {len(constant) - 8} more"
            warnings.warn(
                f"constant in X: {', '.join(shown)}{more}. Unknown, these features keep that "
                "value for certain. Use more data, or give their probabilities by hand.",
                stacklevel=2,
            )
        return cls(tuple(Fraction(count, len(rows)) for count in ones))

    # By integers, as a skops file holds no fractions.
    def __getstate__(self) -> dict[str, Any]:
        return {"p": [p.as_integer_ratio() for p in self.p]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, tuple(Fraction(*p) for p in state["p"]))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(p.as_integer_ratio() for p in self.p))  # the same of equal fractions

    @cached_property
    def denominator(self) -> int:
        """A common denominator of the probabilities."""
        return math.lcm(*(p.denominator for p in self.p))

    @cached_property
    def numerators(self) -> list[int]:
        """The probabilities times the denominator."""
        return [int(p * self.denominator) for p in self.p]

    def __str__(self) -> str:
        marginals = "marginal" if len(self.p) == 1 else "marginals"
        return f"independent completions with {len(self.p):,} given {marginals}"

    def __repr__(self) -> str:
        return f"Product(<{len(self.p)} probabilities>)"


Distribution = Uniform | Product | Marginals | Background | Matching


def _probability(value: Any, i: int) -> Fraction:
    try:
        number = decimal_fraction(value)
    except (TypeError, ValueError, OverflowError):
        number = Fraction(-1)
    if not 0 <= number <= 1:
        raise InvalidInputError(f"p must lie in [0, 1], got {value!r} for feature {i}.")
    return number

"""LinearModel: frozen weights, threshold, tie rule and names."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr._checks import (
    as_array,
    check_classes,
    check_names,
    check_threshold,
    check_weights,
    labels_of,
    listing,
    zeros_and_ones,
)
from sklearn_probsr._exact import integer_multiples
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["IntegerForm", "LinearModel"]

T = TypeVar("T")

_EXACT_FLOAT_SUM = 2**53


@dataclass(frozen=True)
class IntegerForm:
    """The same classifier on integers: class 1 iff ``weights · x >= threshold``.

    On integers, ``>`` is ``>=`` with the next threshold, so the tie rule disappears: class 1
    is kept iff ``weights · x >= threshold`` and class 0 iff ``weights · x <= threshold - 1``.
    """

    weights: list[int]
    threshold: int

    def margin(self, row: NDArray[np.bool_]) -> tuple[bool, int]:
        """Return the class of a row, and what its class can lose before it changes."""
        total = sum(self.weights[i] for i in np.flatnonzero(row))
        positive = total >= self.threshold
        return positive, (total - self.threshold if positive else self.threshold - 1 - total)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear classifier on 0/1 features, as the exact real function of its float weights.

    It says ``classes[1]`` iff ``x · weights >= threshold`` (``>`` when ``strict``).

    Parameters
    ----------
    weights : array-like of shape (d,)
        Finite weights.
    threshold : float
        Finite threshold.
    strict : bool, default=False
        Whether a tie ``x · weights == threshold`` belongs to ``classes[0]``.
    feature_names : sequence of str or None, default=None
        Unique names; ``x0, x1, ...`` when None.
    classes : pair of labels, default=(0, 1)
        The label of each class.

    Examples
    --------
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> model.predict([[1, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
    array([1, 0])
    >>> model.margin([[1, 0, 0, 1, 1]])
    array([1.])
    """

    weights: NDArray[np.float64]
    threshold: float
    strict: bool = field(default=False, kw_only=True)
    feature_names: tuple[str, ...] = field(default=(), kw_only=True)
    classes: tuple[Any, Any] = field(default=(0, 1), kw_only=True)

    def __init__(
        self,
        weights: ArrayLike,
        threshold: float,
        *,
        strict: bool = False,
        feature_names: Sequence[str] | None = None,
        classes: Sequence[Any] = (0, 1),
    ) -> None:
        values = check_weights(weights)
        put = object.__setattr__
        put(self, "weights", values)
        put(self, "threshold", check_threshold(threshold))
        put(self, "strict", bool(strict))
        put(self, "feature_names", check_names(feature_names, len(values)))
        put(self, "classes", check_classes(classes))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (
            self.weights, self.threshold, self.strict, self.feature_names, self.classes
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearModel):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key()[:3])

    def _key(self) -> tuple[Any, ...]:
        return (
            self.weights.tobytes(), self.threshold, self.strict, self.feature_names, self.classes
        )  # fmt: skip

    @property
    def n_features(self) -> int:
        """The number of features, d."""
        return len(self.weights)

    @cached_property
    def integer_form(self) -> IntegerForm:
        """The same classifier with integer weights, where no tie is left."""
        multiples, unit = integer_multiples(self.weights)
        level = Fraction(self.threshold) / unit
        return IntegerForm(multiples, math.floor(level) + 1 if self.strict else math.ceil(level))

    @cached_property
    def _float_form(self) -> tuple[NDArray[np.float64], float, float]:
        """Weights, threshold and error bound of a float dot product that decides the class.

        The score ``x · w - t`` in floats is within the bound of the exact one, times a positive
        number. Small integers make it exact; a cut half way between them makes ties visible.
        """
        form = self.integer_form
        if sum(map(abs, form.weights)) + abs(form.threshold) < _EXACT_FLOAT_SUM // 2:
            return np.array(form.weights, dtype=np.float64), form.threshold - 0.5, 0.0
        top = max(float(np.abs(self.weights).max()), abs(self.threshold))
        exponent = -math.frexp(top)[1] - len(self.weights).bit_length()
        weights = np.ldexp(self.weights, exponent)
        threshold = math.ldexp(self.threshold, exponent)
        total = float(np.abs(weights).sum()) + abs(threshold)
        # |fl(x·w - t) - (x·w - t)| <= (d + 1) u (sum |w| + |t|) / (1 - (d + 1) u), any order
        # of summation, u = 2^-53; the second term is the underflow of the scaling.
        n = len(weights) + 2
        return weights, threshold, n * 2.0**-52 * total + n * 2.0**-1073

    def is_positive(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell by the exact sign which 0/1 rows belong to ``classes[1]``."""
        weights, threshold, bound = self._float_form
        scores = rows.astype(np.float64) @ weights - threshold
        positive: NDArray[np.bool_] = scores > 0
        for i in np.flatnonzero(np.abs(scores) <= bound):
            positive[i] = self.integer_form.margin(rows[i])[0]
        return positive

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class label of each row, by the exact sign of ``x · weights - threshold``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of zeros and ones.

        Returns
        -------
        ndarray of shape (n,)
            Labels out of ``classes``.
        """
        positive = self.is_positive(self.check_rows(X))
        return self._labels[positive.astype(np.intp)]

    @cached_property
    def _labels(self) -> NDArray[Any]:
        labels = np.empty(2, dtype=object)
        labels[:] = self.classes
        if type(self.classes[0]) is type(self.classes[1]) and np.ndim(self.classes[0]) == 0:
            return np.array(self.classes)
        return labels

    def margin(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return ``x · weights - threshold`` for each row, correctly rounded.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of zeros and ones.

        Returns
        -------
        ndarray of shape (n,)
            The nearest floats; infinite where the exact value is beyond the largest float.
        """
        return np.array([self._margin_of(row) for row in self.check_rows(X)], dtype=np.float64)

    def _margin_of(self, row: NDArray[np.bool_]) -> float:
        terms = [*self.weights[row].tolist(), -self.threshold]
        try:
            return math.fsum(terms)
        except OverflowError:
            exact = sum(map(Fraction, terms))
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf

    def check_row(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Return one instance as booleans, or say which value is not 0 or 1."""
        array = as_array(x, "x")
        self.check_columns(labels_of(x), "x")
        if array.ndim == 2 and array.shape[0] == 1:
            array = array[0]
        if array.ndim != 1:
            raise InvalidInputError(
                f"x must be one instance, a vector of {self.n_features} zeros and ones, got an "
                f"array of shape {array.shape}. Use sufficient_reasons for several rows."
            )
        if len(array) != self.n_features:
            raise InvalidInputError(
                f"x must have one value per feature, {self.n_features}, got {len(array)}."
            )
        row: NDArray[np.bool_] = self._binary(array[None, :], "x")[0]
        return row

    def check_rows(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return instances as booleans, or say which value is not 0 or 1."""
        array = as_array(X, "X")
        self.check_columns(getattr(X, "columns", None), "X")
        if array.ndim != 2:
            raise InvalidInputError(
                f"X must have two dimensions, (rows, {self.n_features} features), got an array "
                f"of shape {array.shape}. Write [x] for a single instance."
            )
        if array.shape[1] != self.n_features:
            raise InvalidInputError(
                f"X must have one column per feature, {self.n_features}, got {array.shape[1]}."
            )
        return self._binary(array, "X")

    def check_columns(self, columns: Any, name: str) -> None:
        """Refuse a frame whose columns are this model's features in another order."""
        if columns is None or tuple(columns) == self.feature_names:
            return
        if set(columns) == set(self.feature_names):
            at = next(i for i, column in enumerate(columns) if column != self.feature_names[i])
            raise InvalidInputError(
                f"{name} has the model's features in another order: column {at} is "
                f"{columns[at]!r}, the model has {self.feature_names[at]!r} there. "
                "Reorder it with X[list(model.feature_names)]."
            )

    def _binary(self, array: NDArray[Any], name: str) -> NDArray[np.bool_]:
        if array.dtype == np.bool_:
            return array
        ones, valid = zeros_and_ones(array)
        if not valid.all():
            row, column = np.argwhere(~valid)[0]
            where = f"row {row}, " if name == "X" else ""
            raise InvalidInputError(
                f"{name} must be 0 or 1 in every column, got {array[row, column]} in {where}"
                f"column {self.feature_names[column]!r}. Binarize it first."
            )
        return ones

    def check_features(self, features: Iterable[int | str], argument: str) -> tuple[int, ...]:
        """Return feature indices, given as indices or as names, without repetition."""
        if isinstance(features, str):
            raise InvalidInputError(
                f"{argument} must be a collection of features, got the text {features!r}. "
                f"Write [{features!r}]."
            )
        try:
            given = list(features)
        except TypeError:
            raise InvalidInputError(
                f"{argument} must be a collection of features, got {features!r}."
            ) from None
        return tuple(dict.fromkeys(self._index(feature, argument) for feature in given))

    def _index(self, feature: int | str, argument: str) -> int:
        if isinstance(feature, str):
            if feature in self._positions:
                return self._positions[feature]
            raise InvalidInputError(
                f"{argument} names an unknown feature, {feature!r}. "
                f"The model's features are {listing(self.feature_names)}."
            )
        try:
            index = operator.index(feature)
        except TypeError:
            raise InvalidInputError(
                f"{argument} must hold feature indices or names, got {feature!r}."
            ) from None
        if isinstance(feature, bool | np.bool_):
            raise InvalidInputError(
                f"{argument} must hold feature indices or names, got {feature!r}. "
                "Use np.flatnonzero to turn a mask into indices."
            )
        if not 0 <= index < self.n_features:
            raise InvalidInputError(
                f"{argument} names an unknown feature, {index}. "
                f"The model's features are 0 to {self.n_features - 1}."
            )
        return index

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.feature_names)}

    def cached(self, key: Any, make: Callable[[], T]) -> T:
        """Return what ``make`` gave for ``key`` before, or make it now and keep it.

        Tables that depend on the weights alone live as long as the model and are not pickled.
        """
        if key not in self._cache:
            self._cache[key] = make()
        value: T = self._cache[key]
        return value

    @cached_property
    def _cache(self) -> dict[Any, Any]:
        return {}


def _rebuild(
    weights: ArrayLike, threshold: float, strict: bool, names: Sequence[str], classes: Sequence[Any]
) -> LinearModel:
    return LinearModel(weights, threshold, strict=strict, feature_names=names, classes=classes)

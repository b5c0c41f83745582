"""LinearModel: frozen weights, threshold, tie rule and names; and what all models share.

A model answers exactly: a float product settles most rows with a proved error bound, the others
are added in fractions.
"""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import (
    Inputs,
    check_classes,
    check_names,
    check_threshold,
    check_weights,
    pieces,
)
from sklearn_probsr.model.numbers import decimal_fraction, integer_multiples
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.model.units import Unit, check_units, encoded


class Model(Inputs, ABC):
    """A classifier by its columns, the units that they belong to, and its classes."""

    weights: NDArray[np.float64]
    classes: tuple[Any, ...]

    @property
    @abstractmethod
    def decision(self) -> dict[str, Any]:
        """What decides: the arguments of the model, but for names, classes and units."""

    def _with(self, feature_names: Sequence[str]) -> dict[str, Any]:
        """Return all arguments that make the same model, with some names of its columns."""
        return {
            **self.decision,
            "feature_names": feature_names,
            "classes": self.classes,
            "units": self.units,
        }

    def renamed(self, feature_names: Sequence[str]) -> Self:
        """Return the same model with other names of its columns."""
        return type(self)(**self._with(feature_names))

    # By the arguments alone, which are checked again: pickles and skops files hold no tables.
    def __getstate__(self) -> dict[str, Any]:
        return self._with(self.feature_names)

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._key()[0])

    def _key(self) -> tuple[Any, ...]:
        values = self.decision.values()
        decides = tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)
        return decides, self.feature_names, self.classes, self.units

    @property
    def whole(self) -> Self:
        """The same classifier on numbers that mean what floats are: what laws are made of."""
        return self

    @property
    @abstractmethod
    def outputs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (outputs, d) and constants of the scores that plots and SHAP values show.

        Of two classes there is one, positive where ``classes[1]`` wins; of several, one each.
        """

    @property
    @abstractmethod
    def by_class(self) -> bool:
        """Whether there is one score for each class, the largest of which wins."""

    @abstractmethod
    def closest(self, row: NDArray[Any]) -> Any:
        """Return the decision between a checked row's class and the one that comes closest."""

    @abstractmethod
    def winners(self, rows: Any) -> NDArray[np.intp]:
        """Return which of the classes each checked row belongs to, exactly."""

    @abstractmethod
    def margin(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return for each row how far its class is ahead of the next one."""

    @abstractmethod
    def leads(self, rows: Any, winner: int) -> NDArray[np.float64]:
        """Return about how far each checked row is on the side of a class."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class label of each row, by exact arithmetic.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of zeros and ones, or of what the units can be.

        Returns
        -------
        ndarray of shape (n,)
            Labels out of ``classes``.
        """
        return self._labels[self.winners(self.check_rows(X))]

    def encode(self, X: Any) -> NDArray[np.float64]:
        """Return rows of this model, made of what a person calls the states of its features.

        Parameters
        ----------
        X : DataFrame, mapping of columns, or list of mappings
            One column for each feature, with the labels of its states ("nurse" or "job: nurse"), or
            numbers where it has no labels.

        Returns
        -------
        ndarray of shape (n, d)
        """
        units = self.units
        if units is None:
            units = tuple(Unit.binary(name, j) for j, name in enumerate(self.feature_names))
        return encoded(units, self.n_features, X)

    @cached_property
    def _labels(self) -> NDArray[Any]:
        if len({type(label) for label in self.classes}) == 1 and np.ndim(self.classes[0]) == 0:
            return np.array(self.classes)
        labels = np.empty(len(self.classes), dtype=object)
        labels[:] = self.classes
        return labels


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


def _times(pair: list[Fraction], x: float) -> Fraction:
    """Return what a column contributes, given what it does when it is 0 and when it is 1."""
    if not x:
        return pair[0]
    return pair[1] if x == 1 else pair[1] * Fraction(x)


@dataclass(frozen=True, eq=False)
class LinearModel(Model):
    """A linear classifier, as the exact real function of its float weights.

    It says ``classes[1]`` iff ``x · weights >= threshold`` (``>`` when ``strict``). Its features
    are 0/1 columns, unless ``units`` says otherwise.

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
    units : sequence of Unit, of (name, columns) pairs, mapping or None, default=None
        Which columns are known or unknown together, and what they can be. A pair stands for a
        binary column, or for one-hot columns without a dropped category if there are several;
        `Unit` says more. Reasons, masks and curves then count units. None: every column is a
        binary feature of its own.
    decimal : bool, default=False
        Whether the weights and the threshold mean the decimals that they print as, as they do on a
        scorecard: 0.1 + 0.2 is then 0.3. Otherwise they are the binary fractions that floats are,
        as an estimator computes with them.

    Examples
    --------
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> model.predict([[1, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
    array([1, 0])
    >>> model.margin([[1, 0, 0, 1, 1]])
    array([1.])
    >>> LinearModel([0.1, 0.2], 0.3, strict=True).predict([[1, 1]])
    array([1])
    >>> LinearModel([0.1, 0.2], 0.3, strict=True, decimal=True).predict([[1, 1]])
    array([0])
    """

    weights: NDArray[np.float64]
    threshold: float
    strict: bool = field(default=False, kw_only=True)
    feature_names: tuple[str, ...] = field(default=(), kw_only=True)
    classes: tuple[Any, Any] = field(default=(0, 1), kw_only=True)
    units: tuple[Unit, ...] | None = field(default=None, kw_only=True)
    decimal: bool = field(default=False, kw_only=True)

    def __init__(
        self,
        weights: ArrayLike,
        threshold: float,
        *,
        strict: bool = False,
        feature_names: Sequence[str] | None = None,
        classes: Sequence[Any] = (0, 1),
        units: Any = None,
        decimal: bool = False,
    ) -> None:
        values = check_weights(weights)
        names = check_names(feature_names, len(values))
        parts = None if units is None else check_units(units, len(values))
        self._put(values, threshold, bool(strict), names, classes, parts, bool(decimal))
        if decimal:
            self.whole  # noqa: B018 (numbers with too many digits are refused now)

    def _put(
        self,
        weights: NDArray[np.float64],
        threshold: float,
        strict: bool,
        feature_names: tuple[str, ...],
        classes: Sequence[Any],
        units: tuple[Unit, ...] | None,
        decimal: bool,
    ) -> None:
        put = object.__setattr__
        put(self, "weights", weights)
        put(self, "threshold", check_threshold(threshold))
        put(self, "strict", strict)
        put(self, "feature_names", feature_names)
        put(self, "classes", check_classes(classes))
        put(self, "units", units)
        put(self, "decimal", decimal)

    @classmethod
    def _over(
        cls, model: Model, weights: ArrayLike, threshold: float, strict: bool, classes: Any
    ) -> LinearModel:
        """Return a decision over the features of another model, whose names were checked."""
        found = cls.__new__(cls)
        names, units = model.feature_names, model.units
        found._put(check_weights(weights), threshold, strict, names, classes, units, False)
        return found

    @property
    def decision(self) -> dict[str, Any]:
        """What decides: the arguments of the model, but for names, classes and units."""
        return {
            "weights": self.weights,
            "threshold": self.threshold,
            "strict": self.strict,
            "decimal": self.decimal,
        }

    @cached_property
    def whole(self) -> LinearModel:
        """The same classifier on whole numbers if its numbers are decimals, else the model itself.

        Laws are made of it: where sums are those of whole numbers, ties are ties.
        """
        if not self.decimal:
            return self
        weights, threshold, _ = self._in_tens
        return LinearModel(
            weights,
            threshold,
            strict=self.strict,
            feature_names=self.feature_names,
            classes=self.classes,
            units=self.units,
        )

    @cached_property
    def _in_tens(self) -> tuple[list[int], int, int]:
        """Weights and threshold times a power of ten that makes them whole, and that power."""
        given = [*map(decimal_fraction, self.weights.tolist()), decimal_fraction(self.threshold)]
        scale = math.lcm(*(value.denominator for value in given))
        *weights, threshold = (int(value * scale) for value in given)
        longest = max(map(abs, [*weights, threshold]))
        if longest > _EXACT_FLOAT_SUM:
            raise InvalidInputError(
                "with decimal=True the weights and the threshold must be whole multiples of one "
                "number, none of more than 2**53 of it: decimals of few digits, as on a scorecard. "
                f"Got {longest} times 1/{scale}. Round them, or leave decimal=False."
            )
        return weights, threshold, scale

    @property
    def outputs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (1, d) and the constant of the decision function."""
        return self.weights[None, :], np.array([-self.threshold])

    @property
    def by_class(self) -> bool:
        """Whether there is one score for each class, the largest of which wins."""
        return False

    def closest(self, row: NDArray[Any]) -> LinearModel:
        """Return the decision between a checked row's class and the other one: the model."""
        return self

    @cached_property
    def binary_core(self) -> LinearModel | None:
        """The same model on one 0/1 column per unit, without units; None if there are others."""
        if self.units is None:
            return self
        if not all(unit.is_binary for unit in self.units):
            return None
        return LinearModel(
            self.weights[self.first_columns],
            self.threshold,
            strict=self.strict,
            feature_names=self.unit_names,
            classes=self.classes,
            decimal=self.decimal,
        )

    @cached_property
    def pairs(self) -> list[list[Fraction]]:
        """What the first column of each unit contributes, exactly, when it is 0 and when 1."""
        return [[Fraction(0), Fraction(w)] for w in self.weights[self.first_columns].tolist()]

    def ones(self, rows: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Return checked rows as booleans, one for each unit; None unless they are all 0/1.

        Real-valued columns may happen to be, and are then as quick as binary ones.
        """
        if self.units is None:
            known: NDArray[np.bool_] = rows
            return known
        if not self._one_column_each:
            return None
        values = rows[:, self.columns_first]
        ones: NDArray[np.bool_] = values == 1
        return ones if (values == ones).all() else None

    @cached_property
    def _one_column_each(self) -> bool:
        return self.n_units == self.n_features

    def core_rows(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return checked rows in the columns of the binary core."""
        ones: NDArray[np.bool_]
        if self.units is None:
            ones = rows
            return ones
        ones = rows[:, self.columns_first] == 1
        return ones

    @cached_property
    def integer_form(self) -> IntegerForm:
        """The same classifier with integer weights, where no tie is left."""
        if self.decimal:
            return self.whole.integer_form
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

    def is_positive(self, rows: Any) -> NDArray[np.bool_]:
        """Tell by the exact sign which checked rows belong to ``classes[1]``."""
        if self.decimal:
            return self.whole.is_positive(rows)
        return np.concatenate([self._is_positive(some) for some in pieces(rows)])

    def _is_positive(self, rows: Any) -> NDArray[np.bool_]:
        if rows.dtype == np.bool_:
            weights, threshold, bound = self._float_form
            scores = rows.astype(np.float64) @ weights - threshold
            doubtful = np.abs(scores) <= bound
        else:
            scores, doubtful = self._scores(rows)
        positive: NDArray[np.bool_] = scores > 0
        for i in doubtful.nonzero()[0].tolist():
            positive[i] = self._exact_sign(rows[i])
        return positive

    def _scores(self, rows: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return ``x · w - t`` in floats, and where rounding may have changed its sign."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = rows @ self.weights - self.threshold
            sizes = abs(rows) @ self._magnitudes + abs(self.threshold)
            # As in _float_form, with what underflow may take from each product.
            n = len(self.weights) + 2
            safe = np.abs(scores) > n * 2.0**-52 * sizes + n * 2.0**-1070
        return scores, ~(safe & np.isfinite(sizes))

    @cached_property
    def _magnitudes(self) -> NDArray[np.float64]:
        return np.abs(self.weights)

    def _exact_sign(self, row: NDArray[Any]) -> bool:
        total, level = self._score(row), Fraction(self.threshold)
        return total > level if self.strict else total >= level

    def _score(self, row: NDArray[Any]) -> Fraction:
        """Return ``x · weights`` of a checked row, exactly; zeros are not looked at."""
        there = np.flatnonzero(row)
        terms = zip(self.weights[there].tolist(), row[there].tolist(), strict=True)
        return sum((Fraction(w) * Fraction(x) for w, x in terms), start=Fraction(0))

    def contributions(self, row: NDArray[Any]) -> list[Fraction]:
        """Return exactly what each unit of a checked row adds to ``x · weights``."""
        if self.decimal:
            scale = self._in_tens[2]
            return [part / scale for part in self.whole.contributions(row)]
        if self.units is None:
            terms = zip(self.weights.tolist(), row.tolist(), strict=True)
            return [Fraction(w) if x else Fraction(0) for w, x in terms]
        values = row.tolist()
        if self._one_column_each:
            each = zip(self.pairs, (values[j] for j in self.first_columns), strict=True)
            return [_times(pair, x) for pair, x in each]
        weights = self.weights.tolist()
        return [
            sum(
                (Fraction(weights[j]) * Fraction(values[j]) for j in unit.columns if values[j]),
                start=Fraction(0),
            )
            for unit in self.units
        ]

    def winners(self, rows: Any) -> NDArray[np.intp]:
        """Return which of the classes each checked row belongs to, exactly."""
        return self.is_positive(rows).astype(np.intp)

    def leads(self, rows: Any, winner: int) -> NDArray[np.float64]:
        """Return about how far each checked row is on the side of a class."""
        with np.errstate(over="ignore", invalid="ignore"):
            # Not by BLAS, whose digits depend on how many threads it has.
            leads: NDArray[np.float64] = (
                rows @ self.weights
                if isinstance(rows, SparseRows)
                else np.einsum("ij,j->i", rows * 1.0, self.weights)
            )
            leads -= self.threshold
        return leads if winner else -leads

    def margin(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return ``x · weights - threshold`` for each row, correctly rounded.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of zeros and ones, or of what the units can be.

        Returns
        -------
        ndarray of shape (n,)
            The nearest floats; infinite where the exact value is beyond the largest float.
        """
        return np.array([self._margin_of(row) for row in self.check_rows(X)], dtype=np.float64)

    def _margin_of(self, row: NDArray[Any]) -> float:
        ones = row == 1
        if not self.decimal and (ones | (row == 0)).all():
            with contextlib.suppress(OverflowError):
                return math.fsum([*self.weights[ones].tolist(), -self.threshold])
        if self.decimal:
            exact = sum(self.contributions(row), start=-decimal_fraction(self.threshold))
        else:
            exact = self._score(row) - Fraction(self.threshold)
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf

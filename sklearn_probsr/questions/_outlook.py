"""Outlooks: what is settled of a decision while some of its features are not known yet."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.options import Options, Prices
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import decimal_fraction, exact_text
from sklearn_probsr.questions._asked_decision import Decision, reaches
from sklearn_probsr.questions._next_feature import gain_of, next_frame
from sklearn_probsr.questions._partial_row import PartialRow
from sklearn_probsr.results._listed import count
from sklearn_probsr.results._reason import SufficientReason

__all__ = ["Outlook", "check_marker", "is_marker", "outlook", "same"]

# The width to which the probability of a class is enclosed.
_TOL = 1e-4


def outlook(
    model: Model,
    row: ArrayLike,
    *,
    unknown: Any,
    delta: float = 0.95,
    distribution: Any = None,
    cost: Any = None,
) -> Outlook:
    """Tell what is settled of a row of which some features are not known yet.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
        What decides.
    row : array-like of shape (d,), Series, or mapping of names to values
        What is known; anything may stand in the columns of unknown features, which a mapping may
        lack.
    unknown : iterable of int or str, or a marker
        The features that are not known. Anything else, such as NaN, None, -1 or "?", is a marker:
        the features are unknown in whose columns it stands.
    delta : float, default=0.95
        The probability from which on a class is settled.
    distribution : Uniform, Product, Marginals, Background or None, default=None
        What the unknown features may be; None means uniform.
    cost : mapping, array-like or None, default=None
        What it costs to learn a feature, positive numbers; 1 for those that a mapping lacks.

    Returns
    -------
    Outlook

    Examples
    --------
    >>> from sklearn_probsr import LinearModel, outlook
    >>> model = LinearModel([3, 2, 1, 1], threshold=4, feature_names=["a", "b", "c", "d"])
    >>> seen = outlook(model, {"a": 1}, unknown=["b", "c", "d"], delta=0.9)
    >>> seen.prediction, str(seen.probability(1)), seen.settled
    (1, '0.875', False)
    >>> print(seen.next[["feature", "settled", "expected"]])
      feature  settled  expected
    0       b      0.5     0.875
    1       c      0.5     0.875
    2       d      0.5     0.875
    >>> seen.tell("b", 1).settled
    True
    """
    law = law_of(model, distribution)
    options = Options(delta)
    options.task(law.model)
    values = _values(model, row)
    missing = _unknown(model, values, unknown)
    partial = PartialRow(law, _checked(model, values, missing), missing)
    costs = None if cost is None else Prices.of(cost, model.unit_names).floats()
    return Outlook(partial, options, costs)


def _values(model: Model, row: Any) -> list[Any]:
    """Return the values of the columns as they were given; None where a mapping lacks one."""
    if hasattr(row, "to_dict") and hasattr(row, "iloc"):
        row = dict(zip(row.index, row.tolist(), strict=True))
    if isinstance(row, Mapping):
        strange = [name for name in row if name not in set(model.feature_names)]
        if strange and not any(name in row for name in model.feature_names):
            raise InvalidInputError(
                f"row must name the model's columns, got {strange[0]!r}. They are "
                f"{', '.join(map(repr, model.feature_names[:8]))}."
            )
        return [row.get(name) for name in model.feature_names]
    values = np.asarray(row, dtype=object)
    if values.ndim == 2 and len(values) == 1:
        values = values[0]
    if values.ndim != 1 or len(values) != model.n_features:
        raise InvalidInputError(
            f"row must have one value per column, {model.n_features}, got an array of shape "
            f"{values.shape}."
        )
    return list(values)


def is_marker(unknown: Any) -> bool:
    """Tell whether something marks unknown values, and is no collection of features."""
    return unknown is None or isinstance(unknown, str) or not isinstance(unknown, Iterable)


def same(value: Any, marker: Any) -> bool:
    """Tell whether a value is a marker; NaN, None and what pandas has for them are all one."""
    if value is marker:
        return True
    missing = [_is_missing(v) for v in (value, marker)]
    if any(missing):
        return all(missing)
    return type(value) is not bool and bool(np.all(value == marker))


def _is_missing(value: Any) -> bool:
    """Tell whether something stands for no value; `pandas.NA` and NaT are not equal to it."""
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return True
    return type(value).__name__ in {"NAType", "NaTType"}


def check_marker(marker: Any, marked: bool, names: Collection[str]) -> None:
    """Say that what was taken for a marker, and marks nothing, is the name of a feature."""
    if not marked and isinstance(marker, str) and marker in names:
        raise InvalidInputError(
            f"unknown = {marker!r} is what marks unknown cells, and no cell holds it. To name the "
            f"feature, write unknown=[{marker!r}]."
        )


def _unknown(model: Model, values: list[Any], unknown: Any) -> tuple[int, ...]:
    """Return the units that are unknown."""
    if not is_marker(unknown):
        return tuple(sorted(model.check_features(unknown, "unknown")))
    marked = [same(value, unknown) for value in values]
    check_marker(unknown, any(marked), (*model.feature_names, *model.unit_names))
    units = model.units
    columns = [[u] if units is None else units[u].columns for u in range(model.n_units)]
    return tuple(u for u, at in enumerate(columns) if any(marked[j] for j in at))


def _checked(model: Model, values: list[Any], unknown: tuple[int, ...]) -> Any:
    """Return a row that the model takes, with any values in the columns of unknown units."""
    filled = list(values)
    for u in unknown:
        unit = None if model.units is None else model.units[u]
        columns = [u] if unit is None else unit.columns
        state = unit.states[0] if unit is not None and unit.states else [0.0] * len(columns)
        for j, value in zip(columns, state, strict=True):
            filled[j] = value
    absent = [model.feature_names[j] for j, value in enumerate(filled) if value is None]
    if absent:
        raise InvalidInputError(
            f"row has no value of {absent[0]!r}, which is not named in unknown either."
        )
    try:
        numbers = np.array(filled, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"row must hold numbers in the columns that are known, got {filled!r}."
        ) from None
    return model.check_row(numbers)


@dataclass(frozen=True, eq=False)
class Outlook:
    """What is settled of a decision while some of its features are not known yet.

    Asking until it is settled changes the final class with probability at most 1 - delta, if the
    row is drawn from a law of independent features (Corollary 69); over background rows that is
    not promised.

    Attributes
    ----------
    partial : PartialRow
        The row before its law.
    options : Options
        What is asked, delta among it.
    costs : tuple of float or None, default=None
        What it costs to learn each feature.
    read : callable or None, default=None
        ``read(feature, value)`` returns what a told value is in the columns of the model; None: it
        is given in them.
    prediction : label
        The class that is most likely.
    settled : bool or None
        Whether it is at least as likely as delta; None where that stays open.
    reason : SufficientReason or None
        The smallest part of the known facts that settles it; None if it is not settled.
    next : DataFrame
        What to ask next, best first: ``feature``, ``settled`` (how likely the decision is settled
        once it is known), ``expected`` (the expected probability of the likeliest class then), the
        bounds of both, and ``method``: "exact", "certified" (numbers are the middles of proved
        bounds), or "estimate" (made of 32 of the feature's values). With costs, by what is gained
        per unit of cost.
    unknown : tuple of str
        The names of the features that are not known.
    """

    partial: PartialRow = field(repr=False)
    options: Options
    costs: tuple[float, ...] | None = None
    read: Callable[[int, Any], Any] | None = field(default=None, repr=False)

    @property
    def delta(self) -> Fraction:
        """The probability from which on a class is settled."""
        return decimal_fraction(self.options.delta)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names of the features that are not known."""
        names = self.partial.law.model.unit_names
        return tuple(names[u] for u in self.partial.unknown)

    @cached_property
    def _probabilities(self) -> list[Enclosure]:
        return self.partial.probabilities(_TOL, self.delta)

    def probability(self, label: Any) -> Enclosure:
        """Enclose the probability of a class, the unknown features being completed.

        Parameters
        ----------
        label : label
            One of the model's classes.

        Returns
        -------
        Enclosure
        """
        classes = list(self.partial.law.model.classes)
        if label not in classes:
            raise InvalidInputError(
                f"label must be one of the classes, {', '.join(map(repr, classes))}, got {label!r}."
            )
        return self._probabilities[classes.index(label)]

    @cached_property
    def _likeliest(self) -> int:
        middles = [e.lower + e.upper for e in self._probabilities]
        return max(range(len(middles)), key=lambda k: middles[k])

    @property
    def prediction(self) -> Any:
        """The class that is most likely."""
        return self.partial.law.model.classes[self._likeliest]

    @property
    def settled(self) -> bool | None:
        """Whether some class is at least as likely as delta; None where that stays open."""
        verdicts = [(e >= self.delta).value for e in self._probabilities]
        if True in verdicts:
            return True
        return None if None in verdicts else False

    @cached_property
    def reason(self) -> SufficientReason | None:
        """The smallest part of the known facts that settles the decision; None if it is not."""
        completion = self.partial.completions[self._likeliest]
        if not self.settled or completion is None:
            return None
        decision = Decision(self.partial.law, completion, self.options)
        found = decision.reason(exclude=self.partial.unknown)
        return found if reaches(found) else None

    @cached_property
    def next(self) -> Any:
        """What to ask next, the best first: a DataFrame."""
        unknown = self.partial.unknown
        gains = [gain_of(self.partial, u, self.delta) for u in unknown]
        costs = None if self.costs is None else [self.costs[u] for u in unknown]
        best = self._probabilities[self._likeliest]
        return next_frame(self.unknown, gains, costs, (best.lower + best.upper) / 2)

    def tell(self, feature: int | str, value: Any) -> Outlook:
        """Return the outlook with one more feature known.

        Parameters
        ----------
        feature : int or str
            Which one, by index or name.
        value : number, sequence of numbers, or raw value
            What it is: in the column of the model, or one number for each of its columns; if the
            outlook is an explainer's, as the estimator takes it.

        Returns
        -------
        Outlook
        """
        model = self.partial.law.model
        (unit,) = model.check_features([feature], "feature")
        if unit not in self.partial.unknown:
            raise InvalidInputError(f"{model.unit_names[unit]!r} is known already.")
        values = self.read(unit, value) if self.read is not None else value
        columns = self.partial.columns(unit)
        try:
            numbers = np.array(values, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if len(numbers) != len(columns):
            noun = "a number" if len(columns) == 1 else f"{len(columns)} numbers"
            raise InvalidInputError(
                f"value must be {noun} for {model.unit_names[unit]!r}, got {value!r}."
            )
        row = self.partial.row.astype(np.float64)
        row[columns] = numbers
        checked = model.check_row(row)
        return replace(self, partial=self.partial.told(unit, checked[columns]))

    def __str__(self) -> str:
        best = self._probabilities[self._likeliest]
        level = f"{exact_text(float(self.delta))}"
        word = {
            True: f"settled at {level}",
            False: f"not settled at {level}",
            None: f"undecided at {level}",
        }[self.settled]
        return (
            f"Class {self.prediction} with probability {best} over "
            f"{self.partial.law.distribution}, {len(self.partial.unknown):,} of "
            f"{count(self.partial.law.model.n_units, 'feature')} unknown: {word}."
        )

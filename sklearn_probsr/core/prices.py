"""Prices: what it costs to know each feature, in whole numbers.

A cost means the decimal that it prints as, so all of them are whole multiples of one unit of cost,
and sums of them are exact.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import decimal_fraction

__all__ = ["Prices"]

# So many names of features are told in a message.
_MOST_NAMED = 8


@dataclass(frozen=True)
class Prices:
    """What each feature costs: whole multiples of one unit of cost.

    Parameters
    ----------
    whole : tuple of int
        One positive number for each feature.
    unit : Fraction
        What one of them is worth.
    """

    whole: tuple[int, ...]
    unit: Fraction

    @classmethod
    def of(cls, cost: Any, names: Sequence[str]) -> Prices:
        """Return the costs of some features, or say what is wrong with them.

        ``cost`` is a mapping (also a Series) of names or indices, where what it lacks costs 1, or
        has one number for each feature; what was read before is returned as it is.
        """
        if isinstance(cost, cls):
            return cost
        given = _given(cost, names)
        exact = [_positive(value, name) for value, name in zip(given, names, strict=True)]
        try:
            float(sum(exact))
        except OverflowError:
            raise InvalidInputError(
                "cost must add up to a number that a float can hold, got "
                f"{max(given, key=float)!r} among the numbers."
            ) from None
        times = math.lcm(*(value.denominator for value in exact))
        whole = [int(value * times) for value in exact]
        unit = math.gcd(*whole) or 1
        return cls(tuple(value // unit for value in whole), Fraction(unit, times))

    @cached_property
    def equal(self) -> bool:
        """Whether all features cost the same: then the fewest are the cheapest."""
        return len(set(self.whole)) <= 1

    def total(self, units: Collection[int]) -> int:
        """Return what some features cost together, in units of cost."""
        return sum(self.whole[u] for u in units)

    def money(self, whole: int) -> float:
        """Return so many units of cost as a float."""
        return float(whole * self.unit)

    def of_sets(self, sets: Iterable[Collection[int]]) -> NDArray[np.float64]:
        """Return what each of some sets costs."""
        return np.array([self.money(self.total(one)) for one in sets], np.float64)

    def floats(self) -> tuple[float, ...]:
        """Return what each feature costs as a float."""
        return tuple(self.money(value) for value in self.whole)


def _given(cost: Any, names: Sequence[str]) -> list[Any]:
    """Return one value for each feature as it was given."""
    if hasattr(cost, "to_dict") and hasattr(cost, "index"):
        cost = cost.to_dict()
    if isinstance(cost, Mapping):
        values: list[Any] = [1] * len(names)
        places = {name: j for j, name in enumerate(names)}
        named = set()
        for key, value in cost.items():
            j = _place(key, places)
            if j in named:
                raise InvalidInputError(f"cost names {names[j]!r} twice.")
            named.add(j)
            values[j] = value
        return values
    # Made objects, the numbers of an array would print with other digits than their own.
    kind = None if isinstance(cost, np.ndarray) else object
    values = list(np.asarray(cost, dtype=kind).ravel())
    if len(values) != len(names):
        raise InvalidInputError(
            f"cost must have one number per feature, {len(names)}, got {len(values)}."
        )
    return values


def _place(key: Any, places: Mapping[str, int]) -> int:
    """Return the feature that a name or an index means."""
    if isinstance(key, str) and key in places:
        return places[key]
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < len(places):
        return int(key)
    raise InvalidInputError(
        f"cost names an unknown feature, {key!r}. The model's features are "
        f"{', '.join(map(repr, list(places)[:_MOST_NAMED]))}."
    )


def _positive(value: Any, name: str) -> Fraction:
    """Return a positive number as the decimal that it prints as."""
    number = None
    if not isinstance(value, bool | np.bool_ | str | bytes):
        try:
            number = decimal_fraction(value)
        except (TypeError, ValueError, OverflowError):
            number = None
    if number is None or number <= 0:
        raise InvalidInputError(f"cost must be a positive number, got {value!r} for {name!r}.")
    return number

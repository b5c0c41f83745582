"""RowReader: rules in the terms of the rows that an explainer takes.

Columns that are raw ones, scaled or filled in, need no translation: the model has folded the scales
into its weights. Of a column that is a function of a raw one, a cut is carried back by running the
fitted steps at it, if the function is declared never to fall; else raw values that were seen are
listed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.explain.frames._flagged_rows import sift
from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.model.numbers import MISSING, exact_text, value_text
from sklearn_probsr.model.sparse import SparseRows, columns_of
from sklearn_probsr.model.units import Unit
from sklearn_probsr.rules._category_words import Categories, by_category
from sklearn_probsr.rules._condition import Condition
from sklearn_probsr.rules._phrases import could, range_text
from sklearn_probsr.rules._rule import Taken
from sklearn_probsr.rules._short_numbers import short_from, whole_from

__all__ = ["RowReader"]

# Values that a condition lists.
_MOST_LISTED = 6
# How often a cut is moved half of the way back to the last value that is admitted.
_TRIES = 4


class RowReader:
    """What takes the rows of an explainer's user to its model, and conditions back.

    Parameters
    ----------
    subject : Subject
    seen : object or None
        The rows of the background as they were given, if there are any.
    """

    def __init__(self, subject: Subject, seen: Any) -> None:
        self.subject, self._seen = subject, seen
        self._memo: dict[Any, Any] = {}
        self._raw: tuple[Any, Any] | None = None

    # Without the background; the values of features that are told by their raw ones go along.
    def __getstate__(self) -> dict[str, Any]:
        coded = [(u, unit) for u, unit in enumerate(self.subject.model.units or ()) if unit.coded]
        table = self._table() if coded else None
        if table is not None and isinstance(table[1], SparseRows):  # of all words it is shorter
            return {"subject": self.subject, "_seen": None, "_memo": {}, "_raw": table}
        memo = {u: self._known(u, unit) for u, unit in coded}
        return {"subject": self.subject, "_seen": None, "_memo": memo, "_raw": None}

    def taken(self, X: Any, name: str = "X") -> Taken:
        """Return the rows that can be taken, as the model has them and as they were given."""
        found = sift(self.subject, X, "flag")
        given = self.subject.given(found.display)
        return Taken(found.valid, None if given is None else given[found.at], found.at, len(found))

    def told(self, condition: Condition, given: NDArray[Any] | None) -> Condition:
        """Return a condition in the terms of whoever gave an instance."""
        units = self.subject.model.units
        if units is None or given is None:
            return condition
        unit = units[condition.unit]
        if unit.coded:
            return self._of_raw(condition, unit, given)
        if condition.values is not None:
            known, own = self.categories(condition.unit), str(given[condition.unit])
            return condition if known is None else by_category(condition, known, own)
        if self._admits_missing(condition):
            return replace(condition, text=f"{condition.text} or {MISSING}", missing=True)
        return condition

    def categories(self, unit: int) -> Categories | None:
        """Return the categories of a feature; None if it has none, or if they are not known."""
        key = ("categories", unit)
        if key not in self._memo:
            self._memo[key] = self.subject.categories(unit)
        found: Categories | None = self._memo[key]
        return found

    def _admits_missing(self, condition: Condition) -> bool:
        """Tell whether a missing value is taken for one that satisfies a condition."""
        key = -1 - condition.unit
        if key not in self._memo:
            self._memo[key] = self.subject.tried(condition.unit, [np.nan])
        filled = self._memo[key]
        return filled is not None and bool(condition.inside(filled)[0])

    def _of_raw(self, coded: Condition, unit: Unit, given: NDArray[Any]) -> Condition:
        """Return a condition on the column that a feature was made of."""
        values, columns = self._observed(coded.unit, unit, given)
        inside, missing = coded.inside(columns), self._admits_missing(coded)
        own = given[coded.unit]
        numbers = _numbers([own, *values])
        found = None
        if numbers is not None and coded.values is None and self.subject.is_monotone(coded.unit):
            found = self._range(coded, numbers[0], numbers[1:], inside)
        if found is None:
            kept = tuple(sorted({v for v, ok in zip(values, inside, strict=True) if ok}, key=_key))
            found = replace(coded, values=kept, low=-math.inf, high=math.inf, slack="",
                            text=_listed(unit.name, kept))  # fmt: skip
            inner = replace(coded, values=tuple(map(tuple, columns[inside].tolist())))
            found = replace(found, coded=inner)
        if missing:
            found = replace(found, text=f"{found.text} or {MISSING}")
        return replace(found, missing=missing)

    def _observed(
        self, u: int, unit: Unit, given: NDArray[Any]
    ) -> tuple[list[Any], NDArray[np.float64]]:
        """Return different raw values of a feature that were seen, and its columns there."""
        values, columns, known = self._known(u, unit)
        own = given[u]
        if own == MISSING or own in known:
            return values, columns
        tried = self.subject.tried(u, [own])
        if tried is None:
            return values, columns
        return [own, *values], np.concatenate([tried, columns])

    def _known(self, u: int, unit: Unit) -> tuple[list[Any], NDArray[np.float64], set[Any]]:
        """Return what is known of a feature from the background, computed once."""
        if u not in self._memo:
            found = self._different(u, unit)
            self._memo[u] = (*found, set(found[0]))
        known: tuple[list[Any], NDArray[np.float64], set[Any]] = self._memo[u]
        return known

    def _different(self, u: int, unit: Unit) -> tuple[list[Any], NDArray[np.float64]]:
        table = self._table()
        if table is None:
            return [], np.zeros((0, len(unit.columns)))
        rows, shown = table
        sparse = isinstance(shown, SparseRows)
        column = shown.cells(np.arange(len(shown)), u) if sparse else shown[:, u]
        first: dict[Any, int] = {}
        for i, value in enumerate(column.tolist()):
            first.setdefault(value, i)
        first.pop(MISSING, None)
        some = columns_of(rows[list(first.values())], unit.columns)
        return list(first), some.astype(np.float64)

    def _table(self) -> tuple[Any, Any] | None:
        """Return the background in the columns of the model, and as a person reads it."""
        if self._raw is None and self._seen is not None:
            raw = self.subject.frame(self._seen, "masker")
            rows = self.subject.transform(raw, "masker")
            shown = self.subject.given(self.subject.read(raw, rows)[1])
            self._raw = (rows, rows if shown is None else shown)
        return self._raw

    def _range(
        self, coded: Condition, own: float, seen: NDArray[np.float64], inside: NDArray[np.bool_]
    ) -> Condition | None:
        """Return an interval of raw numbers all of which satisfy a condition on their column."""
        low, high = -math.inf, math.inf
        whole = bool((seen == np.floor(seen)).all())
        if coded.low != -math.inf:
            low = self._cut(coded, seen[inside].min(initial=own), seen[~inside], False, whole)
        if coded.high != math.inf:
            high = self._cut(coded, seen[inside].max(initial=own), seen[~inside], True, whole)
        name = coded.feature
        ends = self.subject.tried(coded.unit, [v for v in (low, high) if math.isfinite(v)])
        if ends is None:
            return None
        found = dict(zip([v for v in (low, high) if math.isfinite(v)], ends[:, 0], strict=True))
        return replace(
            coded,
            low=low,
            high=high,
            text=range_text(name, low, high),
            slack=could(name, own, low, high),
            coded=replace(
                coded, low=float(found.get(low, -math.inf)), high=float(found.get(high, math.inf))
            ),
        )

    def _cut(
        self, coded: Condition, last: float, outside: NDArray[np.float64], up: bool, whole: bool
    ) -> float:
        """Return a raw number up to which a condition holds, tried on the fitted steps."""
        beyond = outside[outside > last] if up else outside[outside < last]
        if not len(beyond):
            return float(last)
        limit = float(beyond.min() if up else beyond.max())
        for _ in range(_TRIES):
            chosen = (whole_from if whole else short_from)(float(last), limit)
            tried = self.subject.tried(coded.unit, [chosen])
            if tried is not None and coded.inside(tried)[0]:
                return chosen
            limit = (limit + float(last)) / 2
        return float(last)


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return values as numbers; None if one is none."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found).all() else None


def _key(value: Any) -> tuple[bool, Any]:
    """Order numbers before texts."""
    return isinstance(value, str), value


def _listed(name: str, values: Sequence[Any]) -> str:
    """Say that a feature is one of some values that were seen."""
    if len(values) == 1:
        return f"{name}{':' if isinstance(values[0], str) else ' ='} {exact_text(values[0])}"
    if len(values) <= _MOST_LISTED:
        return f"{name} in {{{', '.join(map(exact_text, values))}}}"
    first, last = value_text(values[0]), value_text(values[-1])
    return f"{name} one of {len(values)} values seen from {first} to {last}"

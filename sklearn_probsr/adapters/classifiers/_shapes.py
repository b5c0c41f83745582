"""Shapes: functions of one raw column, by steps or by categories, and their values at raw ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters.units._columns import Cut, is_missing
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import exact_text, listing, no_number, value_kind

__all__ = ["Categories", "Steps", "Term", "as_term", "check_values", "evaluated"]


@dataclass(frozen=True, eq=False)
class Steps:
    """A function of a number that is constant between cuts.

    Parameters
    ----------
    cuts : sequence of float
        Where it changes, in increasing order.
    values : array-like of shape (len(cuts) + 1,) or (len(cuts) + 1, scores)
        What it is before the first cut, between them, and after the last.
    missing : float, array-like of shape (scores,) or None, default=None
        What it is where the number is missing. None: the estimator refuses such a row.
    closed : {"left", "right"}, default="left"
        To which side a number belongs that is a cut: "left" for bins such as [20, 30), whose
        left end is theirs; "right" for (20, 30], as trees split by ``x <= cut``.
    markers : sequence, default=()
        Numbers that stand for a missing one too.
    single : bool, default=False
        Whether the estimator rounds numbers to 32 bits before it compares them. Cuts are then told
        as 32-bit numbers, in as few digits as mean the same one.

    Examples
    --------
    >>> from sklearn_probsr import Additive, adapt
    >>> from sklearn_probsr.adapters import Steps
    >>> age = Steps([30, 45], [-1.0, 0.0, 2.0], missing=0.0)
    >>> adapt(Additive({"age": age}, intercept=-0.5)).units[0].labels
    ('age < 30', 'age in [30, 45), or missing', 'age ≥ 45')
    """

    cuts: Any
    values: Any
    missing: Any = None
    closed: str = "left"
    markers: Sequence[Any] = ()
    single: bool = False

    def __post_init__(self) -> None:
        cuts = _floats(self.cuts, "cuts").ravel()
        if not (np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()):
            raise InvalidInputError(
                f"cuts must be finite numbers in increasing order, got {self.cuts!r}."
            )
        if self.closed not in {"left", "right"}:
            raise InvalidInputError(f"closed must be 'left' or 'right', got {self.closed!r}.")
        values = check_values(self.values)
        if values.ndim not in {1, 2} or len(values) != len(cuts) + 1:
            raise InvalidInputError(
                f"values must hold one value more than there are cuts, {len(cuts) + 1}, got an "
                f"array of shape {values.shape}."
            )
        put = object.__setattr__
        put(self, "cuts", cuts)
        put(self, "values", values)
        put(self, "missing", _gap(self.missing, values.shape[1:]))

    @property
    def breaks(self) -> NDArray[np.float64]:
        """The smallest floats after each cut: a number from there on has the next value."""
        cuts: NDArray[np.float64] = self.cuts
        return np.nextafter(cuts, np.inf) if self.closed == "right" else cuts

    @property
    def is_constant(self) -> bool:
        """Whether it is the same everywhere."""
        return len(np.unique(self.values, axis=0)) == 1 and (
            self.missing is None or bool(np.array_equal(self.missing, self.values[0]))
        )

    def shown_cuts(self) -> list[Cut]:
        """Return for every change of the value the float before or after it, whichever is shorter.

        Of floats, to be greater than one is to be the next or greater.
        """
        kind = np.float32 if self.single else np.float64
        changes = np.any(np.diff(self.values.reshape(len(self.values), -1), axis=0) != 0, axis=1)
        found = []
        for cut in self.breaks[changes].tolist():
            ends = (cut, float(np.nextafter(cut, -np.inf)))
            found.append(
                min((Cut(c, exact_text(kind(c))) for c in ends), key=lambda c: len(c.text))
            )
        return found

    def of(self, column: Any, name: str) -> NDArray[np.float64]:
        """Return its values at raw ones."""
        raw = numbers(column, name)
        for marker in self.markers:
            raw = np.where(raw == marker, np.nan, raw)
        gaps = np.isnan(raw)
        found: NDArray[np.float64] = self.values[np.searchsorted(self.breaks, raw, side="right")]
        if gaps.any():
            if self.missing is None:
                at = int(np.flatnonzero(gaps)[0])
                raise no_number(np.asarray(column)[at], f"row {at}, column {name!r}", "X")
            found[gaps] = self.missing
        return found


@dataclass(frozen=True, eq=False)
class Categories:
    """A function of a category.

    Parameters
    ----------
    table : mapping of categories to float or array-like of shape (scores,)
        What each category adds.
    missing : float, array-like of shape (scores,) or None, default=None
        What it is where the category is missing. None: the estimator refuses such a row, unless
        None or NaN is in the table.
    unknown : float, array-like of shape (scores,) or None, default=None
        What it is for any other category. None: the estimator refuses such a row.

    Examples
    --------
    >>> from sklearn_probsr import Additive, adapt
    >>> from sklearn_probsr.adapters import Categories
    >>> job = Categories({"clerk": -1.0, "nurse": 2.0, "cook": -1.0}, unknown=0.0)
    >>> adapt(Additive({"job": job}, intercept=-0.5)).units[0].labels
    ('job: clerk or cook', 'job: nurse', 'job: another category')
    """

    table: Any
    missing: Any = None
    unknown: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.table, Mapping) or not self.table:
            raise InvalidInputError(
                f"table must map categories to values, got {self.table!r}. Write "
                "{'clerk': -1.0, 'nurse': 2.0}."
            )
        values = check_values(list(self.table.values()))
        table = dict(zip(self.table, values, strict=True))
        gaps = [value for category, value in table.items() if is_missing(category)]
        put = object.__setattr__
        put(self, "table", {k: v for k, v in table.items() if not is_missing(k)})
        put(self, "missing", _gap(gaps[0] if gaps else self.missing, values.shape[1:]))
        put(self, "unknown", _gap(self.unknown, values.shape[1:]))

    @property
    def values(self) -> NDArray[np.float64]:
        """The values of the categories."""
        return np.array(list(self.table.values()), dtype=np.float64)

    def of(self, column: Any, name: str) -> NDArray[np.float64]:
        """Return its values at raw ones."""
        return np.array(
            [self._one(value, row, name) for row, value in enumerate(np.asarray(column).tolist())],
            dtype=np.float64,
        )

    def key(self, value: Any) -> Any:
        """Return what stands for a raw value in the table."""
        return value

    def _one(self, value: Any, row: int, name: str) -> Any:
        if is_missing(value):
            found, known = self.missing, "no missing category"
        else:
            try:
                found = self.table.get(self.key(value), self.unknown)
            except TypeError:
                found = self.unknown
            known = f"the categories {listing(list(self.table))}"
        if found is None:
            raise InvalidInputError(
                f"the estimator knows {known} of {name!r}, got {value!r} in row {row}."
            )
        return found


Term = Steps | Categories | Callable[[NDArray[np.float64]], Any] | None


def as_term(term: Any, which: str) -> Term:
    """Return what a user gave as a term, or say that it is none."""
    if isinstance(term, tuple | list) and len(term) == 2:
        return Steps(*term)
    if isinstance(term, Mapping):
        return Categories(term)
    if term is None or isinstance(term, Steps | Categories) or callable(term):
        found: Term = term
        return found
    raise InvalidInputError(
        f"term {which} must be Steps or a pair (cuts, values), Categories or a mapping, a function "
        f"or None, got {term!r}."
    )


def evaluated(term: Term, column: Any, name: str, scores: int | None) -> NDArray[np.float64]:
    """Return a term at the raw values of its column, one line a row and one number a score."""
    n = len(column)
    if term is None:
        return np.zeros((n, scores or 1))
    if isinstance(term, Steps | Categories):
        found = term.of(column, name)
    else:
        found = np.asarray(term(numbers(column, name)), dtype=np.float64)
    wanted = (n,) if scores is None else (n, scores)
    if found.shape != wanted:
        raise InvalidInputError(
            f"the term of {name!r} must give an array of shape {wanted} for {n} values, got shape "
            f"{found.shape}."
        )
    return found.reshape(n, scores or 1) + 0.0  # no negative zeros


def numbers(column: Any, name: str) -> NDArray[np.float64]:
    """Return raw values as floats, missing ones as NaN, or say which is no number."""
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    found = np.full(len(values), np.nan)
    for row, value in enumerate(values.tolist() if values.dtype.kind not in "mM" else values):
        if is_missing(value):
            continue
        if value_kind(value):
            raise no_number(value, f"row {row}, column {name!r}", "X")
        try:
            found[row] = float(value)
        except (TypeError, ValueError):
            raise no_number(value, f"row {row}, column {name!r}", "X") from None
    return found


def _floats(values: Any, name: str) -> NDArray[np.float64]:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be numbers, got {values!r}.") from None


def check_values(values: Any, name: str = "values") -> NDArray[np.float64]:
    """Return finite numbers as an array."""
    found = _floats(values, name)
    if not np.isfinite(found).all():
        bad = found[~np.isfinite(found)].ravel()[0]
        raise InvalidInputError(f"{name} must be finite, got {bad}.")
    return found + 0.0


def _gap(value: Any, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Return the value of missing or unknown ones, if there is one."""
    if value is None:
        return None
    found = check_values(value, "the value of what is missing or unknown")
    if found.shape != shape:
        raise InvalidInputError(
            f"the value of what is missing or unknown must be of shape {shape}, like the others, "
            f"got {value!r}."
        )
    return found

"""Additive classifiers: a score that is a sum of functions, each of one raw column.

A term is constant between cuts (`Steps`), a table (`Categories`) or any function. The value of a
column of the model is what its raw column adds to a score, so that the weights are 1; where it is
constant between cuts, or a table, its states are found as those of any other step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import _safe_indexing

from sklearn_probsr.adapters.columns import Columns, Cut, Kind, is_missing
from sklearn_probsr.adapters.linear import Decision
from sklearn_probsr.adapters.registry import Linear, Part, PerColumn, name_of, registered, sigmoid
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import exact_text, listing, no_number, value_kind


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


class _Terms(Part):
    """What some columns add to each score, as a transformer that speaks for its classifier."""

    def __init__(
        self, name: str, terms: dict[int, Term], scores: int | None, names: Sequence[str]
    ) -> None:
        super().__init__(name)
        self.terms, self.scores, self.names = terms, scores, tuple(names)

    def transform(self, rows: Any) -> NDArray[np.float64]:
        """Return one column for each term and score."""
        if hasattr(rows, "tocsc"):
            rows = rows.tocsc()
        parts = [
            evaluated(term, _column(rows, j), self.names[j], self.scores)
            for j, term in self.terms.items()
        ]
        return np.hstack(parts)


def _column(rows: Any, j: int) -> NDArray[Any]:
    if hasattr(rows, "toarray"):  # by a list: SciPy 1.13 has no sparse vectors
        dense: NDArray[Any] = rows[:, [j]].toarray().ravel()
        return dense
    return np.asarray(_safe_indexing(rows, j, axis=1))


@registered("internal", _Terms, note="", prefit=True)
def _per_column(step: _Terms) -> PerColumn:
    each = step.scores or 1
    kinds = [_kind(term) for term in step.terms.values()]
    return PerColumn(
        np.repeat(list(step.terms), each).tolist(),
        np.repeat(kinds, each).tolist(),
        cuts=lambda column: _cuts(step.terms[column]),
        values=lambda column: _categories(step.terms[column]),
        missing=np.nan,
        markers=lambda column: getattr(step.terms[column], "markers", ()),
        names=[f": score {k}" if each > 1 else "" for _ in kinds for k in range(each)],
        ranked=False,
    )


def _kind(term: Term) -> str:
    if term is None or isinstance(term, Categories):
        return "finite"
    return "piecewise" if isinstance(term, Steps) else "real"


def _cuts(term: Term) -> Iterable[float]:
    return term.shown_cuts() if isinstance(term, Steps) else ()


def _categories(term: Term) -> Iterable[Any]:
    return list(term.table) if isinstance(term, Categories) else ()


def added_up(part: Additive, estimator: Any, columns: Columns, follow: Any) -> Decision:
    """Return the decision of an additive classifier over the columns that reach it."""
    name = name_of(estimator)
    names = [_name(columns, j) for j in range(len(columns))]
    terms = part.in_order(names, name)
    scores = n_scores(part, terms, name)
    if part.classes is not None:
        classes = part.classes
    else:
        classes = getattr(estimator, "classes_", range(max(2, scores or 1)))
    counted = {j: term for j, term in enumerate(terms) if _counts(term) or _keeps(columns, j)}
    step = _Terms(name, counted or dict(enumerate(terms)), scores, names)
    if columns.binary:  # functions of raw columns that are 0/1, as was promised
        columns = _with_flags(columns, terms)
    after: Columns = follow(step, columns, "transformer")
    coef, intercept = _weights(len(step.terms), scores, len(classes), part.intercept)
    linear = Linear(
        coef, intercept, classes, strict=part.strict, cut=part.cut,
        probability=part.probability, precision=part.precision, slack=part.slack,
    )  # fmt: skip
    return Decision(after, linear.checked(name, len(after)), name)


def _weights(
    n: int, scores: int | None, classes: int, intercept: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights of the terms' columns: ones, or of two scores the second less the first."""
    if scores is None:
        return np.ones((1, n)), intercept
    each = np.eye(scores)
    levels = np.broadcast_to(intercept, scores)
    if scores == 2 and classes == 2:
        return np.tile(each[1] - each[0], n)[None, :], levels[[1]] - levels[[0]]
    return np.tile(each, (1, n)), levels


def _name(columns: Columns, j: int) -> str:
    raw = columns.raw_of(j)
    return raw[0] if len(raw) == 1 else f"column {j}"


def _counts(term: Term) -> bool:
    return not (term is None or (isinstance(term, Steps) and term.is_constant))


def _keeps(columns: Columns, j: int) -> bool:
    """Whether a column that does not count is still a feature: not one of many words, say."""
    sources = columns.sources(j)
    kinds = {base.kind for base in sources if base.own is None}
    return len(sources) == 1 and kinds <= {Kind.RAW, Kind.FINITE} and bool(kinds)


def _with_flags(columns: Columns, terms: Sequence[Term]) -> Columns:
    """Take raw columns for 0/1 ones where nothing else says what they can be."""
    curved = {
        id(base)
        for j, term in enumerate(terms)
        if callable(term)
        for base in columns.sources(j)
        if base.kind is Kind.RAW
    }
    bases = [replace(b, kind=Kind.FLAG) if id(b) in curved else b for b in columns.bases]
    return replace(columns, bases=tuple(bases))


@registered(
    "classifier",
    GaussianNB,
    note="a quadratic function of each column: real-valued units; a tie belongs to the first class",
)
def _gaussian(estimator: Any) -> Additive:
    prior = np.log(estimator.class_prior_)
    level = prior - 0.5 * np.sum(np.log(2.0 * np.pi * estimator.var_), axis=1)
    return Additive(
        [_Bell(*parts) for parts in zip(estimator.theta_.T, estimator.var_.T, strict=True)],
        level,
        estimator.classes_,
        probability=sigmoid,
    )


@dataclass(frozen=True, eq=False)
class _Bell:
    """The logarithm of a normal density of each class, without its constant."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]

    def __call__(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = -0.5 * (numbers[:, None] - self.mean) ** 2 / self.variance
        return found

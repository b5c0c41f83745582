"""Columns: what is known about the columns at one place of a pipeline, and their rows there.

Each is an affine function of *base columns*, and each base column depends on one raw column. An
affine step changes the function; a step that is not affine, but works column by column, makes new
base columns. At the end of the pipeline, the base columns are the columns of the linear model.
Their rows are what the fitted steps themselves make of raw ones (`Gathering`).
"""

from __future__ import annotations

import threading
import warnings
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import no_text
from sklearn_probsr.model.numbers import no_number, value_kind
from sklearn_probsr.model.sparse import SparseRows, is_large, sparse_rows

_FILTERS = threading.RLock()


def names_may_lack(X: Any) -> AbstractContextManager[None]:
    """Let sparse rows go without the names that steps were fitted with; they are checked before."""
    return _nameless() if sparse.issparse(X) else nullcontext()


@contextmanager
def _nameless() -> Iterator[None]:
    # Filters belong to the process: threads that come and go across each other would lose them.
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


class Rows(Protocol):
    """A place of a pipeline: gives its rows for raw ones; ``memo`` keeps what was computed."""

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Return the rows at this place."""


@dataclass(frozen=True, eq=False)
class Input:
    """The raw rows themselves."""

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Return the raw rows."""
        return X


@dataclass(frozen=True, eq=False)
class Output:
    """What a fitted transformer makes of rows."""

    step: Any
    parent: Rows

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Run the transformer, once for each set of raw rows."""
        if id(self) not in memo:
            rows = self.parent.of(X, memo)
            if getattr(self.step, "copy", True) is False and hasattr(rows, "copy"):
                rows = rows.copy()  # the step writes into what it is given
            memo[id(self)] = self.step.transform(rows)
        return memo[id(self)]


@dataclass(frozen=True, eq=False)
class Taken:
    """Some of the columns; a single index takes one column as a vector."""

    parent: Rows
    columns: int | tuple[int, ...]

    def of(self, X: Any, memo: dict[int, Any]) -> Any:
        """Select the columns as a ColumnTransformer does."""
        from sklearn.utils import _safe_indexing

        key = self.columns if isinstance(self.columns, int) else list(self.columns)
        return _safe_indexing(self.parent.of(X, memo), key, axis=1)


def vectorized(rows: Rows) -> Output | None:
    """Return what a vectorizer makes of texts, from which a place comes; None if from none."""
    while isinstance(rows, Output):
        if hasattr(rows.step, "build_analyzer"):
            return rows
        rows = rows.parent
    return None


def as_floats(rows: Any) -> NDArray[np.float64]:
    """Return rows as a dense matrix of floats."""
    if hasattr(rows, "to_numpy"):
        found = rows.to_numpy()
    else:
        found = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    try:
        if found.dtype.kind in "cmM":  # NumPy would make numbers of dates
            raise TypeError
        floats = found.astype(np.float64)
    except (TypeError, ValueError):  # pandas' missing value in a column of objects
        floats = np.array(
            [[_float(v) for v in row] for row in found.reshape(len(found), -1)], dtype=np.float64
        )
    matrix: NDArray[np.float64] = floats[:, None] if floats.ndim == 1 else floats
    return matrix


def _float(value: Any) -> float:
    try:
        return np.nan if value_kind(value) else float(value)
    except (TypeError, ValueError):
        return np.nan


class Kind(Enum):
    """What the values of a base column can be."""

    RAW = "the raw column's own values, of any type; missing ones may have been filled in"
    REAL = "numbers"
    FINITE = "a function of the raw column with finitely many values"
    FLAG = "0 or 1, a feature of its own"
    COUNT = "a number of times, a feature of its own"
    WEIGHT = "a number, a feature of its own"


class Cut(float):
    """A number where something changes, and the text that tells it."""

    text: str

    def __new__(cls, value: float, text: str) -> Cut:
        """Return a number with its text."""
        found = super().__new__(cls, value)
        found.text = text
        return found


class Carried(float):
    """A cut carried back through affine steps, up to rounding, and the column that has it."""

    rows: Rows
    at: int

    def __new__(cls, value: float, rows: Rows, at: int) -> Carried:
        """Return a number with the place and the column where it is a cut."""
        found = super().__new__(cls, value)
        found.rows, found.at = rows, at
        return found


@dataclass(frozen=True)
class Domain:
    """Which values of a raw column are worth telling apart.

    Parameters
    ----------
    cuts : tuple of float, default=()
        Where a number changes its bin.
    values : tuple, default=()
        Categories.
    missing : tuple, default=()
        Markers that stand for a missing value, besides NaN.
    special : tuple, default=()
        Single values apart from the bins that they would be in.
    typical : tuple, default=()
        Values that the steps are known to take, where not every number is one.
    """

    cuts: tuple[float, ...] = ()
    values: tuple[Any, ...] = ()
    missing: tuple[Any, ...] = ()
    special: tuple[Any, ...] = ()
    typical: tuple[Any, ...] = ()

    def merge(self, other: Domain) -> Domain:
        """Return a domain that tells apart what either does, in time linear in their values."""
        if self is other:
            return self
        cuts = tuple(sorted({*self.cuts, *other.cuts}))
        parts = [
            mine + _missing_from(mine, theirs)
            for mine, theirs in (
                (self.values, other.values),
                (self.missing, other.missing),
                (self.special, other.special),
                (self.typical, other.typical),
            )
        ]
        return Domain(cuts, *parts)


def is_missing(value: Any) -> bool:
    """Whether a single value is None, NaN or pandas' missing value."""
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal, or both missing."""
    if is_missing(a) or is_missing(b):
        return is_missing(a) and is_missing(b)
    return bool(a == b)


def _missing_from(known: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values that are not among those known; any two missing ones are the same."""
    held = {None if is_missing(v) else v for v in known}
    return tuple(v for v in values if (None if is_missing(v) else v) not in held)


@dataclass(frozen=True, eq=False)
class Base:
    """A column of the linear model.

    ``rows`` and ``at`` say where it is computed, ``raw`` on which raw column it depends, ``own``
    names the feature if the raw column holds many of them, as a text holds words, and ``source`` is
    then the column that counts the word, if this one is made of it. ``hashes`` is the transformer
    and the column of it that words were hashed to, if they were. ``reading`` is how the text was
    split: a word and the same letters inside words are not one feature. ``ranked`` says that states
    are told in the order of its numbers; ``monotone``, that it never falls where the raw one
    grows.
    """

    rows: Rows
    at: int
    width: int
    raw: int
    name: str
    kind: Kind
    domain: Domain = Domain()
    own: str | None = None
    labels: tuple[str, ...] = ()
    source: Base | None = None
    hashes: Any = None
    reading: Hashable = None
    ranked: bool = True
    monotone: bool = False

    @property
    def unit(self) -> tuple[int, str, Hashable]:
        """The unit that it belongs to."""
        return self.raw, self.own or "", self.reading


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns at one place: ``matrix @ base + offset``, one row of the matrix for each."""

    rows: Rows
    bases: Sequence[Base]
    matrix: Any
    offset: NDArray[np.float64]
    raw_names: tuple[str, ...]
    binary: bool = False

    @classmethod
    def start(cls, raw_names: Sequence[str], rows: Rows, binary: bool) -> Columns:
        """Return the raw columns; ``binary`` says that those which reach the model are 0/1."""
        n = len(raw_names)
        bases = tuple(Base(rows, i, n, i, name, Kind.RAW) for i, name in enumerate(raw_names))
        return cls(rows, bases, _identity(n), np.zeros(n), tuple(raw_names), binary)

    def __len__(self) -> int:
        return len(self.offset)

    def sources(self, column: int) -> list[Base]:
        """Return the base columns on which a column depends."""
        inside = slice(*self.matrix.indptr[column : column + 2])
        used = self.matrix.indices[inside][self.matrix.data[inside] != 0]
        return [self.bases[i] for i in used]

    def raw_of(self, column: int) -> list[str]:
        """Return the names of the raw columns on which a column depends."""
        return [self.raw_names[i] for i in sorted({base.raw for base in self.sources(column)})]

    def slope(self, column: int) -> tuple[float, float]:
        """Return slope and offset of a column that depends on one base column."""
        data = self.matrix.data[slice(*self.matrix.indptr[column : column + 2])]
        return float(data[data != 0][0]), float(self.offset[column])

    def take(self, indices: Sequence[int], rows: Rows) -> Columns:
        """Return some of the columns."""
        at = list(indices)
        return replace(self, rows=rows, matrix=self.matrix[at], offset=self.offset[at])

    def affine(self, matrix: Any, offset: Any, rows: Rows) -> Columns:
        """Return ``matrix @ columns + offset``."""
        step = sparse.csr_array(matrix)
        shift = np.asarray(step @ self.offset).ravel() + np.asarray(offset, dtype=np.float64)
        return replace(self, rows=rows, matrix=sparse.csr_array(step @ self.matrix), offset=shift)

    def new(self, bases: Sequence[Base], rows: Rows) -> Columns:
        """Return new base columns as they are."""
        n = len(bases)
        held = tuple(bases) if isinstance(bases, list) else bases
        return replace(self, rows=rows, bases=held, matrix=_identity(n), offset=np.zeros(n))


class Chain(Sequence[Base]):
    """Base columns of several blocks behind each other, none of which is made before its time."""

    def __init__(self, parts: Sequence[Sequence[Base]]) -> None:
        self.parts = parts
        self.ends = np.cumsum([len(part) for part in parts]).tolist()

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(len(self))[i]]
        at = range(len(self))[i]
        which = bisect_right(self.ends, at)
        return self.parts[which][at - (self.ends[which - 1] if which else 0)]


def listed(bases: Sequence[Base]) -> list[Base]:
    """Return base columns, of those that are made when asked for only the first."""
    parts = bases.parts if isinstance(bases, Chain) else [bases]
    return [base for part in parts for base in (part if isinstance(part, tuple) else part[:1])]


def may_go(bases: Sequence[Base]) -> NDArray[np.bool_]:
    """Tell which base columns are no features unless they have a weight."""
    parts = bases.parts if isinstance(bases, Chain) else [bases]
    return np.repeat(
        [bool(getattr(part, "may_go", False)) for part in parts], list(map(len, parts))
    )


def stack(blocks: Sequence[Columns], rows: Rows) -> Columns:
    """Return columns side by side; they share the base columns that they have in common."""
    known: dict[int, int] = {}
    held: list[Sequence[Base]] = []
    places = []
    n = 0
    for block in blocks:
        at = []
        for part in block.bases.parts if isinstance(block.bases, Chain) else [block.bases]:
            if not isinstance(part, tuple):  # whole, as its columns are made when asked for
                if id(part) not in known:
                    known[id(part)], n = n, n + len(part)
                    held.append(part)
                at.append(np.arange(len(part)) + known[id(part)])
                continue
            fresh = [base for base in part if id(base) not in known]
            known |= {id(base): n + i for i, base in enumerate(fresh)}
            held, n = [*held, tuple(fresh)], n + len(fresh)
            at.append(np.array([known[id(base)] for base in part], dtype=np.intp))
        places.append(np.concatenate(at))
    parts = []
    for block, at_block in zip(blocks, places, strict=True):
        entries = sparse.coo_array(block.matrix)
        row, column = entries.coords
        shape = (len(block), n)
        parts.append(sparse.coo_array((entries.data, (row, at_block[column])), shape=shape))
    matrix = sparse.csr_array(sparse.vstack(parts))
    offset = np.concatenate([block.offset for block in blocks])
    return replace(blocks[0], rows=rows, bases=Chain(held), matrix=matrix, offset=offset)


def _identity(n: int) -> Any:
    return sparse.csr_array(sparse.eye_array(n))


class _Place(NamedTuple):
    """A place that has so many columns, and which of them are wanted; None for all."""

    rows: Rows
    width: int
    wanted: list[int] | None


class Gathering:
    """Where base columns are computed, and in which order they come; the same for all rows."""

    def __init__(self, bases: Sequence[Base]) -> None:
        self.bases = bases
        together: dict[int, list[int]] = {}
        for i, base in enumerate(bases):
            together.setdefault(id(base.rows), []).append(i)
        self._places = [_place([bases[i] for i in at]) for at in together.values()]
        come = [i for at in together.values() for i in at]
        self._names = [base.name for base in bases]
        self._order = None if come == list(range(len(bases))) else np.argsort(come)

    def of(self, X: Any, name: str = "X") -> Any:
        """Return the base columns of raw rows; those of large sparse ones stay sparse."""
        memo: dict[int, Any] = {}
        with names_may_lack(X):
            parts = [_columns_at(place, X, memo) for place in self._places]
        if _are_mostly_sparse(parts):
            whole = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")
            if is_large(whole):  # of many columns that words are hashed to few may be wanted
                few = sparse_rows(whole, self._names, name)
                return few if self._order is None else few.columns_at(self._order)
        dense = [as_floats(part) if sparse.issparse(part) else part for part in parts]
        found = dense[0] if len(dense) == 1 else np.hstack(dense)
        return np.ascontiguousarray(found if self._order is None else found[:, self._order])

    def computed(self, raw: Any, names: Sequence[str], name: str) -> Any:
        """Return the base columns of checked raw rows, or say what a step cannot take in them."""
        if not count_rows(raw):
            return np.zeros((0, len(self.bases)))  # steps refuse to look at no rows
        try:
            rows = self.of(raw, name)
        except InvalidInputError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            self._check_texts(raw, names, name)
            self._check_numbers(raw, names, name)
            raise InvalidInputError(f"The steps of the estimator refuse {name}: {error}") from error
        if not isinstance(rows, SparseRows) and not np.isfinite(rows).all():
            self._check_numbers(raw, names, name)
        return rows

    def _check_texts(self, raw: Any, names: Sequence[str], name: str) -> None:
        """Refuse what is no text where a vectorizer splits texts, and cannot split this."""
        for base in {id(base.rows): base for base in self.bases}.values():
            found = vectorized(base.rows)
            if found is None:
                continue
            where = f" in column {names[base.raw]!r}" if len(names) > 1 else ""
            split = found.step.build_analyzer()
            for row, value in enumerate(found.parent.of(raw, {})):
                if isinstance(value, str | bytes):
                    continue
                try:
                    split(value)
                except Exception:  # of any kind: a user's own function may be in it
                    raise no_text(value, row, name, where) from None

    def _check_numbers(self, raw: Any, names: Sequence[str], name: str) -> None:
        """Refuse texts and dates in the raw columns that are numbers to the model."""
        for at in sorted({b.raw for b in self.bases if b.own is None and not b.domain.values}):
            column = _safe_indexing(raw, at, axis=1)
            values = column.toarray().ravel() if hasattr(column, "toarray") else np.asarray(column)
            for row, value in enumerate(values if values.dtype.kind not in "biuf" else ()):
                if value_kind(value):
                    raise no_number(value, f"row {row}, column {names[at]!r}", name)


def _place(bases: Sequence[Base]) -> _Place:
    """Return the place that some base columns share."""
    width, wanted = bases[0].width, [base.at for base in bases]
    return _Place(bases[0].rows, width, None if wanted == list(range(width)) else wanted)


def _are_mostly_sparse(parts: Sequence[Any]) -> bool:
    """Tell whether most columns are sparse, as those of words are beside a few numbers."""
    widths = [part.shape[1] for part in parts]
    few = [width for part, width in zip(parts, widths, strict=True) if sparse.issparse(part)]
    return bool(2 * sum(few) > sum(widths))


def _columns_at(place: _Place, X: Any, memo: dict[int, Any]) -> Any:
    """Return the columns of a place that are wanted, as floats."""
    rows = place.rows.of(X, memo)
    rows = rows.tocsr() if sparse.issparse(rows) else as_floats(rows)
    if rows.shape[1] != place.width:
        raise InvalidInputError(
            f"a step gives {rows.shape[1]} columns, its adapter says {place.width}."
        )
    return rows if place.wanted is None else rows[:, place.wanted]


def raw_numbers(raw: Any, columns: Sequence[int]) -> NDArray[np.float64] | None:
    """Return some raw columns, if all of them are finite numbers by their type."""
    found = [np.asarray(_safe_indexing(raw, at, axis=1)) for at in columns]
    if any(column.dtype.kind not in "iuf" or not np.isfinite(column).all() for column in found):
        return None
    numbers = [column.astype(np.float64) for column in found]
    return np.column_stack(numbers) if numbers else np.zeros((count_rows(raw), 0))


def count_rows(raw: Any) -> int:
    """Return how many raw rows there are."""
    return int(raw.shape[0]) if hasattr(raw, "shape") else len(raw)

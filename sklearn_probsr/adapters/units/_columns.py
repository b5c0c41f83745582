"""Columns: what is known about the columns at one place of a pipeline.

Each is an affine function of *base columns*, and each base column depends on one raw column. An
affine step changes the function; a step that is not affine, but works column by column, makes new
base columns. At the end of the pipeline, the base columns are the columns of the linear model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sklearn_probsr.adapters.units._place_rows import Rows

__all__ = [
    "Base",
    "Carried",
    "Chain",
    "Columns",
    "Cut",
    "Domain",
    "Kind",
    "is_missing",
    "listed",
    "may_go",
    "same",
    "stack",
]


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

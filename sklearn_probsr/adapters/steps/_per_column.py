"""Per column: what a step that works column by column makes of the columns that reach it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_probsr.adapters._declarations import PerColumn
from sklearn_probsr.adapters._registry import name_of
from sklearn_probsr.adapters.units._columns import Base, Carried, Columns, Domain, Kind, stack
from sklearn_probsr.adapters.units._place_rows import Output, as_floats
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import exact_text

__all__ = ["PerColumnStep"]


class PerColumnStep:
    """A step that works column by column, at its place in a pipeline."""

    def __init__(self, part: PerColumn, step: Any, columns: Columns) -> None:
        self.part, self.step, self.columns = part, step, columns
        self.owners = list(range(len(columns)) if part.owners is None else part.owners)
        self.rows = Output(step, columns.rows)
        self._domains: dict[int, Domain] = {}
        if self.owners and max(self.owners) >= len(columns):
            raise InvalidInputError(
                f"{name_of(step)} takes {max(self.owners) + 1} columns, {len(columns)} reach it."
            )

    def columns_out(self) -> Columns:
        """Return the columns after the step; those that it leaves alone are what they were."""
        alone = [k for k in range(len(self.owners)) if self.part.kind(k) == "same"]
        made = [k for k in range(len(self.owners)) if self.part.kind(k) != "same"]
        if not alone:
            return self._made(made)
        kept = self.columns.take([self.owners[k] for k in alone], self.rows)
        both = stack([self._made(made), kept], self.rows) if made else kept
        return both.take(np.argsort([*made, *alone]).tolist(), self.rows)

    def _made(self, at: Sequence[int]) -> Columns:
        """Return some of the columns after the step: new base columns, except where 0/1 came in."""
        flags = [self._is_flag(j) for j in range(len(self.columns))]
        bases = {
            k: None if flags[j] else self._base(k, j, self.columns.sources(j))
            for k, j in ((k, self.owners[k]) for k in at)
        }
        if not any(flags[self.owners[k]] for k in at):
            return self.columns.new([base for base in bases.values() if base], self.rows)
        return self._with_flags(bases)

    def _is_flag(self, j: int) -> bool:
        """Whether a column is a function of one 0/1 column, or of none."""
        sources = self.columns.sources(j)
        return len(sources) <= 1 and all(base.kind is Kind.FLAG for base in sources)

    def _with_flags(self, bases: dict[int, Base | None]) -> Columns:
        """Keep 0/1 base columns: on two values, every function is affine."""
        columns = self.columns
        off = columns.offset.copy()
        on = off + np.asarray(columns.matrix.sum(axis=1)).ravel()
        plain = [j for j in range(len(columns)) if not self._is_flag(j)]
        off[plain], on[plain] = 0.0, 0.0
        known = self.part.values
        trial = np.array([off, on], dtype=object if known else None)
        for j in set(plain) & set(self.owners):
            trial[:, j] = 0.0 if known is None else next(iter(known(j)), 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the names of the columns are not told
            low, high = as_floats(self.step.transform(trial))
        kept = [base for base in columns.bases if base.kind is Kind.FLAG]
        fresh = [base for base in bases.values() if base is not None]
        place = {id(base): i for i, base in enumerate([*kept, *fresh])}
        matrix = sparse.lil_array((len(bases), len(place)))
        offset = np.zeros(len(bases))
        for row, (k, base) in enumerate(bases.items()):
            if base is not None:
                matrix[row, place[id(base)]] = 1.0
                continue
            offset[row] = low[k]
            for source in columns.sources(self.owners[k]):
                matrix[row, place[id(source)]] = high[k] - low[k]
        mixed = columns.new([*kept, *fresh], self.rows)
        return mixed.affine(sparse.csr_array(matrix), offset, self.rows)

    def _base(self, k: int, j: int, sources: list[Base]) -> Base:
        """Return the base column that an output column becomes."""
        name, kind = name_of(self.step), self.part.kind(k)
        if len({base.unit for base in sources}) > 1:
            raise InvalidInputError(
                f"{name} is not affine, so each of its columns must come from one raw column, got "
                f"one that mixes {' and '.join(map(repr, self.columns.raw_of(j)[:2]))}. "
                f"Put {name} before the step that mixes them."
            )
        first = sources[0]
        kinds = {base.kind for base in sources}
        domain = first.domain
        for base in sources[1:]:
            domain = domain.merge(base.domain)
        label = first.own or self.columns.raw_names[first.raw]
        suffix = self.part.names[k] if self.part.names else ""
        made: dict[str, Any] = {
            "rows": self.rows, "at": k, "width": len(self.owners), "raw": first.raw,
            "name": label + suffix, "own": first.own, "ranked": self.part.ranked,
            "source": (first.source or first) if first.own else None, "hashes": first.hashes,
            "reading": first.reading,
            "monotone": self.part.rises(k) and self._is_rising(j, sources),
        }  # fmt: skip
        if kinds == {Kind.FINITE}:
            return Base(kind=Kind.FINITE, domain=domain, **made)
        if kind == "piecewise":
            kind = "finite" if len(sources) == 1 and first.kind is Kind.RAW else "real"
        if kinds <= {Kind.COUNT, Kind.WEIGHT}:
            return self._counted(j, kind, first, made)
        if kind == "finite" and kinds != {Kind.RAW} and not (self.part.cuts or self.part.values):
            kind = "real"  # it tells what is missing of a number that a step made
        if kind == "finite":
            if j not in self._domains:  # one for all columns that are made of it
                self._domains[j] = domain.merge(self._domain(j, sources))
            return Base(kind=Kind.FINITE, domain=self._domains[j], **made)
        keeps = kind == "keep" and kinds == {Kind.RAW} and self._untouched(j)
        typical = () if self.part.typical is None else (self.part.typical(j),)
        more = Domain(missing=self._markers(j) if kind == "keep" else (), typical=typical)
        return Base(kind=Kind.RAW if keeps else Kind.REAL, domain=domain.merge(more), **made)

    def _is_rising(self, j: int, sources: list[Base]) -> bool:
        """Whether all before the step are declared never to fall."""
        if len(sources) != 1 or self.columns.slope(j)[0] <= 0:
            return False
        return sources[0].monotone or sources[0].kind is Kind.RAW

    def _counted(self, j: int, kind: str, first: Base, made: dict[str, Any]) -> Base:
        """Return a base column made of a word's count, or of its weight."""
        if kind != "finite":
            return Base(kind=Kind.WEIGHT, labels=first.labels, **made)
        cuts = self._cuts(j)
        if len(cuts) != 1 or self.part.values is not None:
            raise InvalidInputError(
                f"{name_of(self.step)} after word counts is not supported, only Binarizer. Use "
                "CountVectorizer(binary=True)."
            )
        word, cut = made["own"], exact_text(cuts[0])
        labels: tuple[str, ...] = (
            f"{word}: {cut} times or fewer",
            f"{word}: more than {cut} times",
        )
        if first.kind is Kind.WEIGHT:
            labels = (f"{word}: at most {cut}", f"{word}: more than {cut}")
        if cuts[0] == 0 or (first.kind is Kind.COUNT and 0 <= cuts[0] < 1):
            labels = first.labels
        return Base(kind=Kind.FLAG, labels=labels, **made)

    def _untouched(self, j: int) -> bool:
        return self.columns.slope(j) == (1.0, 0.0)

    def _cuts(self, j: int) -> tuple[float, ...]:
        """Return where the base column changes the outcome, given where the column does."""
        if self.part.cuts is None:
            return ()
        if self._untouched(j):
            return tuple(sorted(self.part.cuts(j)))
        slope, offset = self.columns.slope(j)
        back = ((float(cut) - offset) / slope for cut in self.part.cuts(j))
        return tuple(sorted(Carried(cut, self.columns.rows, j) for cut in back))

    def _domain(self, j: int, sources: list[Base]) -> Domain:
        name = name_of(self.step)
        values = () if self.part.values is None else tuple(self.part.values(j))
        if len(sources) > 1 or sources[0].kind is not Kind.RAW:
            raise InvalidInputError(
                f"{name} must get raw columns, scaled or filled in at most, got a function of "
                f"{self.columns.raw_of(j)[0]!r} whose values cannot be carried back to it. Put "
                f"{name} first."
            )
        if values and not self._untouched(j):
            raise InvalidInputError(
                f"{name} must get its categories as they are, got "
                f"{self.columns.raw_of(j)[0]!r} scaled. Put {name} before the scaling."
            )
        special = () if self.part.special is None else tuple(self.part.special(j))
        return Domain(self._cuts(j), values, self._markers(j), special)

    def _markers(self, j: int) -> tuple[Any, ...]:
        more = () if self.part.markers is None else tuple(self.part.markers(j))
        return more if self.part.missing is None else (self.part.missing, *more)

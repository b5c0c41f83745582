"""Outlooks of rows as they come, of which some cells are not known yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Options, Prices
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._flagged_rows import Sifted, sift
from sklearn_probsr.explain.frames._raw_frames import raw_frame, raw_names
from sklearn_probsr.explain.subjects._masker import background_data
from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.explain.subjects._subject_of import Prepared
from sklearn_probsr.questions._outlook import Outlook, check_marker, is_marker, same
from sklearn_probsr.questions._partial_row import PartialRow

__all__ = ["outlooks_of"]


def outlooks_of(
    subject: Subject,
    law: Law,
    masker: Any,
    options: Options,
    X: Any,
    unknown: Any,
    cost: Any,
    on_error: str,
) -> tuple[list[Outlook | None], Sifted]:
    """Return the outlook of every row, None of invalid ones, and the rows."""
    if subject.takes_text:
        raise InvalidInputError("outlook takes rows of columns, and this model takes texts.")
    names, sources = raw_names(subject), subject.sources
    raw, missing = _marked(X, names, dict(zip(subject.names, sources, strict=True)), unknown)
    # A feature of which a column is unknown is unknown.
    places = [
        tuple(u for u, some in enumerate(sources) if not gaps.isdisjoint(some)) for gaps in missing
    ]
    blank = [
        {c for u in units for c in sources[u]} | gaps
        for units, gaps in zip(places, missing, strict=True)
    ]
    filled = _filled(subject, raw, blank, masker)
    taken = sift(subject, filled, on_error)
    costs = None if cost is None else Prices.of(cost, law.model.unit_names).floats()
    found: list[Outlook | None] = [None] * len(raw)
    for i, row in zip(taken.at.tolist(), taken.valid, strict=True):
        partial = PartialRow(law, row, places[i])
        read = _Reader(subject, filled.iloc[i : i + 1], tuple(sources))
        found[i] = Outlook(partial, options, costs, read)
    return found, taken


@dataclass(frozen=True)
class _Reader:
    """What a told value is in the columns of the model: as the steps make it in this row."""

    subject: Subject
    row: Any
    sources: tuple[tuple[str, ...], ...]

    def __call__(self, unit: int, value: Any) -> Any:
        told, columns = self.row.copy(), self.sources[unit]
        for name, one in zip(columns, self._values(unit, value), strict=True):
            if not np.can_cast(np.asarray(one).dtype, told[name].to_numpy().dtype, "safe"):
                told[name] = told[name].astype(object)
            told[name] = [one]
        rows = self.subject.transform(self.subject.frame(told.infer_objects()), "value")
        units = self.subject.model.units
        return rows[0][[unit] if units is None else list(units[unit].columns)]

    def _values(self, unit: int, value: Any) -> list[Any]:
        """Return the raw values of a feature, one for each of its columns."""
        columns = self.sources[unit]
        if len(columns) == 1 and not isinstance(value, Mapping):
            return [value]
        if isinstance(value, Mapping):
            found = [value[c] for c in columns if c in value]
        else:
            found = [] if isinstance(value, str) else list(np.atleast_1d(np.asarray(value, object)))
        if len(found) != len(columns):
            raise InvalidInputError(
                f"value must hold one value for each column of {self.subject.names[unit]!r}, "
                f"{', '.join(map(repr, columns))}, got {value!r}."
            )
        return found


def _marked(
    X: Any, names: Sequence[str], features: dict[str, tuple[str, ...]], unknown: Any
) -> tuple[Any, list[set[str]]]:
    """Return the rows as a frame, and the names of the columns that are unknown in each."""
    if is_marker(unknown):
        raw = raw_frame(X, names)
        cells = raw[list(names)].astype(object)
        marked = np.array([[same(value, unknown) for value in row] for row in cells.to_numpy()])
        each = marked.reshape(len(raw), -1)
        check_marker(unknown, bool(each.any()), (*names, *features))
        return raw, [{names[j] for j in np.flatnonzero(row).tolist()} for row in each]
    by_place: dict[Any, str] = dict(enumerate(names))
    given: set[str] = set()
    for one in unknown:
        name = by_place.get(one, one)
        if name not in names and name not in features:
            raise InvalidInputError(
                f"unknown names a column that the model does not have, {one!r}. It has "
                f"{', '.join(map(repr, names[:8]))}."
            )
        given |= {name} if name in names else set(features[name])
    raw = raw_frame(X, names, may_lack=given)
    return raw, [given] * len(raw)


def _filled(subject: Subject, raw: Any, missing: list[set[str]], masker: Any) -> Any:
    """Return the rows with values that the steps take in place of unknown ones; any will do."""
    import pandas as pd

    data = None if isinstance(masker, Prepared) else background_data(masker)
    filled = raw.copy()
    for j, name in enumerate(raw_names(subject)):
        at = np.array([name in some for some in missing], dtype=np.bool_)
        if not at.any():
            continue
        column = raw[name] if name in raw.columns else pd.Series([None] * len(raw), raw.index)
        known = column[~at].dropna()
        if data is not None:
            known = pd.Series(np.asarray(_column(data, name, j))).dropna()
        value = known.iloc[0] if len(known) else _category(subject, name)
        whole = pd.Series([value if gap else old for gap, old in zip(at, column, strict=True)])
        if whole.dtype == object and isinstance(value, Number):  # what was read beside a marker
            with suppress(TypeError, ValueError):
                whole = pd.to_numeric(whole)
        filled[name] = whole.to_numpy()
    return filled


def _category(subject: Subject, name: str) -> Any:
    """Return what a column that was never seen may hold: one of its categories, or a number."""
    plain = subject.whole
    places = [u for u, some in enumerate(plain.sources) if some == (name,)]
    known = plain.categories(places[0]) if places else None
    return known[0][0] if known else 0.0


def _column(data: Any, name: str, j: int) -> Any:
    """Return a column of a background, by name or by its place in the model."""
    if hasattr(data, "columns"):
        return data[name]
    if sparse.issparse(data):
        return data.tocsc()[:, [j]].toarray().ravel()
    return np.asarray(data)[:, j]

"""Outlooks of rows as they come, of which some cells are not known yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._masker import background_data
from sklearn_probsr.explain._raw_frames import raw_frame, raw_names
from sklearn_probsr.explain._subject import Prepared, Subject
from sklearn_probsr.laws._law import Law
from sklearn_probsr.laws._prices import Prices
from sklearn_probsr.questions._outlook import Outlook, is_marker, same
from sklearn_probsr.questions._partial import PartialRow
from sklearn_probsr.search._arguments import Options

__all__ = ["outlooks_of"]


def outlooks_of(
    subject: Subject, law: Law, masker: Any, options: Options, X: Any, unknown: Any, cost: Any
) -> tuple[list[Outlook], Any]:
    """Return the outlook of every row, and what the rows are called."""
    names = raw_names(subject)
    raw, missing = _marked(subject, X, names, unknown)
    filled = _filled(raw, names, missing, masker)
    rows = subject.transform(subject.frame(filled))
    costs = None if cost is None else Prices.of(cost, law.model.unit_names).floats()
    found = []
    for i, row in enumerate(rows):
        places = [u for u, name in enumerate(law.model.unit_names) if name in missing[i]]
        partial = PartialRow(law, row, tuple(places))
        read = _Reader(subject, filled.iloc[i : i + 1], law.model.unit_names)
        found.append(Outlook(partial, options, costs, read))
    return found, raw.index


@dataclass(frozen=True)
class _Reader:
    """What a told value is in the columns of the model: as the steps make it in this row."""

    subject: Subject
    row: Any
    names: tuple[str, ...]

    def __call__(self, unit: int, value: Any) -> Any:
        told = self.row.copy()
        name = self.names[unit]
        if not np.can_cast(np.asarray(value).dtype, told[name].to_numpy().dtype, "safe"):
            told[name] = told[name].astype(object)
        told[name] = [value]
        rows = self.subject.transform(self.subject.frame(told.infer_objects()), "value")
        units = self.subject.model.units
        return rows[0][[unit] if units is None else list(units[unit].columns)]


def _marked(
    subject: Subject, X: Any, names: Sequence[str], unknown: Any
) -> tuple[Any, list[set[str]]]:
    """Return the rows as a frame, and the names of the columns that are unknown in each."""
    if subject.takes_text:
        raise InvalidInputError("outlook takes rows of columns, and this model takes texts.")
    raw = raw_frame(X, names)
    if is_marker(unknown):
        cells = raw[list(names)].astype(object)
        marked = np.array([[same(value, unknown) for value in row] for row in cells.to_numpy()])
        each = marked.reshape(len(raw), -1)
        return raw, [{names[j] for j in np.flatnonzero(row).tolist()} for row in each]
    by_place = dict(enumerate(names))
    given = [by_place.get(u, u) for u in unknown]
    strange = [name for name in given if name not in names]
    if strange:
        raise InvalidInputError(
            f"unknown names a column that the model does not have, {strange[0]!r}. It has "
            f"{', '.join(map(repr, names[:8]))}."
        )
    return raw, [set(given)] * len(raw)


def _filled(raw: Any, names: Sequence[str], missing: list[set[str]], masker: Any) -> Any:
    """Return the rows with values that the steps take in place of unknown ones; any will do."""
    import pandas as pd

    data = None if isinstance(masker, Prepared) else background_data(masker)
    filled = raw.copy()
    for j, name in enumerate(names):
        at = np.array([name in some for some in missing])
        if not at.any():
            continue
        column = raw[name]
        if data is not None:
            values = pd.Series(np.asarray(_column(data, name, j)))
        else:
            values = column[~at] if (~at).any() else pd.Series([0.0])
        seen = values.dropna()
        value = seen.iloc[0] if len(seen) else values.iloc[0]
        filled[name] = [value if gap else old for gap, old in zip(at, column, strict=True)]
    return filled


def _column(data: Any, name: str, j: int) -> Any:
    """Return a column of a background, by name or by its place in the model."""
    if hasattr(data, "columns"):
        return data[name]
    if sparse.issparse(data):
        return data.tocsc()[:, [j]].toarray().ravel()
    return np.asarray(data)[:, j]

"""Grouped features: a subject whose features of a group are known or unknown together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.model.numbers import value_text
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.model.units import check_groups, grouped

__all__ = ["Grouped", "grouped_subject"]


def grouped_subject(subject: Subject, groups: Any) -> Subject:
    """Return a subject with its features in groups; without any, the subject itself."""
    if groups is None:
        return subject
    found = check_groups(groups, subject.names)
    return Grouped(subject, found) if found else subject


class Grouped(Subject):
    """What another subject explains, some of its features taken together."""

    def __init__(self, inner: Subject, groups: dict[str, tuple[str, ...]]) -> None:
        self.inner, self.groups = inner, groups
        self.model = grouped(inner.model, groups)
        self.columns, self.cut = inner.columns, inner.cut
        self.takes_text, self.by_name = inner.takes_text, inner.by_name
        self.assumed = inner.assumed

    @property
    def whole(self) -> Subject:
        """The subject without groups."""
        return self.inner

    @property
    def sources(self) -> list[tuple[str, ...]]:
        """The raw columns that each feature is made of: those of all features of a group."""
        inner = dict(zip(self.inner.names, self.inner.sources, strict=True))
        each = [self.groups.get(name, (name,)) for name in self.names]
        return [tuple(column for member in some for column in inner[member]) for some in each]

    def frame(self, X: Any, name: str = "X") -> Any:
        return self.inner.frame(X, name)

    def transform(self, raw: Any, name: str = "X") -> Any:
        rows = self.inner.transform(raw, name)
        if isinstance(rows, SparseRows):
            rows = rows.toarray()
        return self.model.check_values(np.asarray(rows, dtype=np.float64), name)

    def are_strange(self, raw: Any) -> NDArray[np.bool_]:
        return self.inner.are_strange(raw)

    def read(self, raw: Any, rows: Any) -> tuple[Any, Any]:
        numbers, shown = self.inner.read(raw, rows)
        numbers = np.asarray(numbers)
        parts = numbers if shown is None else np.asarray(shown)
        place = {name: u for u, name in enumerate(self.inner.names)}
        codes = np.asarray(self.codes(rows))
        texts = np.empty((len(codes), len(self.names)), dtype=object)
        for u, name in enumerate(self.names):
            members = self.groups.get(name)
            if members is None:
                texts[:, u], codes[:, u] = parts[:, place[name]], numbers[:, place[name]]
                continue
            each = parts[:, [place[member] for member in members]]
            texts[:, u] = [f"({', '.join(map(value_text, row))})" for row in each]
        return codes, texts

    def given(self, display: Any) -> Any:
        return display

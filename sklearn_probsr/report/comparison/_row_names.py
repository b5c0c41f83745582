"""Row names: what rows are called in the data that they come from."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn_probsr.results.codec import plain_value

__all__ = ["Ids", "ids_of"]


class Ids(NamedTuple):
    """The labels of rows, in texts and numbers, and what they are called together."""

    name: str
    labels: list[Any]


def ids_of(comparison: Any) -> Ids | None:
    """Return the index of the rows compared; None if it only counts them from 0 on."""
    index = getattr(comparison, "index", None)
    if index is None:
        return None
    labels = [_label(value) for value in index]
    counted = all(type(label) is int and label == i for i, label in enumerate(labels))
    return None if counted else Ids(_name(index) or "id", labels)


def _name(index: Any) -> str | None:
    names = [str(name) for name in getattr(index, "names", ()) if name is not None]
    return ", ".join(names) or None


def _label(value: Any) -> Any:
    """Return a label as text, number or boolean; the parts of one that has several in one text."""
    if isinstance(value, tuple):
        return ", ".join(str(_label(part)) for part in value)
    plain = plain_value(value)
    return "missing" if plain is None or plain != plain else plain  # noqa: PLR0124

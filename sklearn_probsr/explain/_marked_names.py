"""Marked names: those of the features in a reason, where one row is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["MARK", "marked"]

MARK = "●"


class MarkedName(str):
    """The name of a feature, which is written with a mark.

    It is equal to the name, and finds what the name finds: columns of a frame, keys, features of an
    explanation. Only where it becomes part of a text, as in labels of a plot, the mark is there.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return f"{MARK} {str.__str__(self)}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __radd__(self, before: str) -> str:
        return f"{before}{self}"


def marked(names: Sequence[str], inside: Iterable[Any]) -> list[str]:
    """Return names of features, marked where these are inside a reason."""
    return [MarkedName(name) if here else name for name, here in zip(names, inside, strict=True)]

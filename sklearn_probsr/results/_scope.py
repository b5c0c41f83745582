"""Scope: the sets that an answer speaks of when it says that none is smaller, or one the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from sklearn_probsr.results._listed import count, listed

__all__ = ["ALL", "Scope"]

# More forced features than these are not named.
_NAMED = 3


@dataclass(frozen=True)
class Scope:
    """Which sets were allowed, by what was asked for: all, if nothing was.

    Attributes
    ----------
    include : tuple of str, default=()
        The names of the features that every set has.
    exclude : bool, default=False
        Whether there are features that no set has.
    only : tuple of str, default=()
        Of which kind the other features are: "present", "supporting".
    max_size : int or None, default=None
        The most features of a set.
    min_rows : int, default=0
        How many of the rows searched must share the facts of a set, under `Matching`.

    Examples
    --------
    >>> Scope(include=("age",), exclude=True).words()
    ' with age and otherwise of the features allowed'
    >>> Scope(only=("supporting",), max_size=3).words(sized=True)
    ' of at most 3 supporting features'
    >>> Scope().words()
    ''
    """

    include: tuple[str, ...] = ()
    exclude: bool = False
    only: tuple[str, ...] = ()
    max_size: int | None = None
    min_rows: int = 0

    def __repr__(self) -> str:
        told = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        asked = ", ".join(f"{name}={value!r}" for name, value, nothing in told if value != nothing)
        return f"Scope({asked})"

    @classmethod
    def of(cls, task: Any, names: Sequence[str]) -> Scope:
        """Return the scope of what is asked of every row, a `Task`."""
        forced = tuple(names[u] for u in task.include)
        return cls(forced, bool(task.exclude), task.only, task.max_size)

    @property
    def forced(self) -> str:
        """The features that every set has, by name if they are few."""
        return listed(self.include) if len(self.include) <= _NAMED else "the features in include"

    @property
    def kind(self) -> str:
        """What the other features must be; empty if anything."""
        kind = " and ".join(self.only)
        if self.exclude:
            return f"the {kind} features allowed" if kind else "the features allowed"
        return f"{kind} features" if kind else ""

    def words(self, sized: bool = False) -> str:
        """Say which sets are meant, behind the noun: " of the features allowed"; empty if all are.

        ``sized`` says of how many features at most, too, where that was asked for.
        """
        told, kind = "", self.kind
        if sized and self.max_size is not None:
            told = f" of at most {count(self.max_size, 'feature')}"
            if kind and not self.include:
                told = f" of at most {self.max_size:,} {'of ' if self.exclude else ''}{kind}"
        elif kind and not self.include:
            told = f" of {kind}"
        if self.include:
            told += f" with {self.forced}" + (f" and otherwise of {kind}" if kind else "")
        if self.min_rows:
            rows = "row shares" if self.min_rows == 1 else "rows share"
            told += f" that at least {self.min_rows:,} {rows}"
        return told

    @property
    def column(self) -> dict[str, str]:
        """The column of a table whose minimality speaks of these sets alone; none if of all."""
        told = self.words(sized=True).strip()
        return {"scope": told} if told else {}


# Nothing was asked for.
ALL = Scope()

"""Lists in sentences: facts and names, told apart also where one of them has a comma inside."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["Names", "count", "joined", "listed"]


class Names(tuple[str, ...]):
    """Names in a cell of a frame, which a CSV has as one text: what was told of them.

    Parameters
    ----------
    names : sequence of str
    told : str or None, default=None
        What they are as a text. None: the names.

    Examples
    --------
    >>> cell = Names(["age", "job"], "age = 41; job: cook")
    >>> cell == ("age", "job"), str(cell), str(Names(["age", "job"]))
    (True, 'age = 41; job: cook', 'age; job')
    """

    told: str | tuple[Callable[[int], str], int] | None

    def __new__(cls, names: Sequence[str], told: str | None = None) -> Names:
        found = super().__new__(cls, names)
        found.told = told
        return found

    @classmethod
    def cells(cls, names: Iterable[Sequence[str]], told: Callable[[int], str]) -> list[Names]:
        """Return cells of many rows, of which ``told`` says by number what they are as texts."""
        new, at_work = tuple.__new__, gc.isenabled()
        gc.disable()  # it would go through a hundred thousand cells over and over
        try:
            found = [new(cls, each) for each in names]
            for i, cell in enumerate(found):
                cell.told = (told, i)
        finally:
            if at_work:
                gc.enable()
        return found

    def __str__(self) -> str:
        if self.told is None:
            return joined(self)
        if isinstance(self.told, tuple):
            tell, row = self.told
            return tell(row)
        return self.told

    def __reduce__(self) -> Any:
        # A frame in a file holds no explanation.
        return Names, (tuple(self), str(self))


def listed(parts: Sequence[str], although: Sequence[str] = ()) -> str:
    """List facts or names in a sentence, so that it can be read which there are.

    They stand behind each other by commas and "and"; by semicolons, if one of them has a comma, a
    semicolon or "and" inside. What then could still be taken for two is quoted.

    Parameters
    ----------
    parts : sequence of str
    although : sequence of str, default=()
        Those that stand behind "although".

    Examples
    --------
    >>> listed(["age = 41", "job: cook", "debt = 0"], although=["home: rented"])
    'age = 41, job: cook and debt = 0, although home: rented'
    >>> listed(["age in [30, 45)", "job: cook"], although=["debt = 9"])
    'age in [30, 45); job: cook; although debt = 9'
    """
    everything = [*parts, *although]
    if not any(mark in part for part in everything for mark in (",", ";", " and ")):
        between, told = ", ", [_and(parts), _and(although)]
    elif len(everything) == 1 and " and " in everything[0]:
        between, told = "", [f"“{part}”" for part in everything]
        told = [*told, ""] if parts else ["", *told]
    else:
        between, told = "; ", [joined(parts), joined(although)]
    return between.join(filter(None, [told[0], f"although {told[1]}" if although else ""]))


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def count(n: int, noun: str) -> str:
    """Say how many there are of something.

    Examples
    --------
    >>> count(1, "row"), count(100_000, "row")
    ('1 row', '100,000 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def joined(parts: Sequence[str]) -> str:
    """List them in a cell, by semicolons; what has one itself is quoted.

    Examples
    --------
    >>> joined(["age = 41", "job: cook"]), joined(["note: a; b", "debt = 0"])
    ('age = 41; job: cook', '“note: a; b”; debt = 0')
    """
    return "; ".join(f"“{part}”" if ";" in part else part for part in parts)

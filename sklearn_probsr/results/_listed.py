"""Lists in sentences: facts and names, told apart also where one of them has a comma inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Names", "count", "joined", "listed"]


class Names(tuple[str, ...]):
    """Names in a cell of a frame, which a CSV has as one text: what was told of them.

    Parameters
    ----------
    names : sequence of str
    told : str, callable or None, default=None
        What they are as a text, or what returns it when it is asked for. None: the names.

    Examples
    --------
    >>> cell = Names(["age", "job"], "age = 41; job: cook")
    >>> cell == ("age", "job"), str(cell), str(Names(["age", "job"]))
    (True, 'age = 41; job: cook', 'age; job')
    """

    told: str | Callable[[], str] | None

    def __new__(cls, names: Sequence[str], told: str | Callable[[], str] | None = None) -> Names:
        found = super().__new__(cls, names)
        found.told = told
        return found

    def __str__(self) -> str:
        if self.told is None:
            return joined(self)
        return self.told if isinstance(self.told, str) else self.told()

    def __reduce__(self) -> Any:
        # A frame in a file holds no explanation.
        return Names, (tuple(self), str(self))


def listed(parts: Sequence[str], although: Sequence[str] = (), last: str = " and ") -> str:
    """List facts or names by commas, or by semicolons if one of them has a comma or "and" inside.

    Parameters
    ----------
    parts : sequence of str
    although : sequence of str, default=()
        Those that stand behind "although".
    last : str, default=" and "
        What stands before the last one, where commas do.

    Examples
    --------
    >>> listed(["age = 41", "job: cook", "debt = 0"])
    'age = 41, job: cook and debt = 0'
    >>> listed(["age in [30, 45)", "job: cook"], although=["debt = 9"])
    'age in [30, 45); job: cook; although debt = 9'
    """
    ambiguous = any(mark in part for part in (*parts, *although) for mark in (",", ";", " and "))
    told = [
        joined(some) if ambiguous else last.join(filter(None, [", ".join(some[:-1]), *some[-1:]]))
        for some in (parts, although)
    ]
    if although:
        told[1] = f"although {told[1]}"
    return ("; " if ambiguous else ", ").join(filter(None, told))


def count(n: int, noun: str) -> str:
    """Say how many there are of something.

    Examples
    --------
    >>> count(1, "row"), count(100_000, "row")
    ('1 row', '100,000 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def joined(parts: Sequence[str]) -> str:
    """List them by semicolons; what has one itself stands in quotation marks.

    Examples
    --------
    >>> joined(["age = 41", "job: cook"]), joined(["note: a; b", "debt = 0"])
    ('age = 41; job: cook', '“note: a; b”; debt = 0')
    """
    return "; ".join(f"“{part}”" if ";" in part else part for part in parts)

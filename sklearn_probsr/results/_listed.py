"""Lists in sentences: facts and names, told apart also where one of them has a comma inside."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["count", "joined", "listed"]


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
        joined(some)
        if ambiguous
        else last.join(filter(None, [", ".join(some[:-1]), *some[-1:]]))
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

"""Words of conditions: intervals, unions of them, sets of categories, flags."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from sklearn_probsr.model.numbers import MISSING, exact_text, unnamed
from sklearn_probsr.model.units import Unit

__all__ = ["alone", "categories_text", "could", "either", "range_text", "states_text"]

# Categories that are not admitted are told where they are fewer than those that are, and these
# more than this.
_FEW = 3
# Values that are listed, where there may be others.
_MOST = 6
_NUMBER = r"(-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf))"


class _Piece(NamedTuple):
    """An interval of numbers; an end is a number and whether it is outside, which orders ends."""

    start: tuple[float, bool]
    end: tuple[float, bool]


# What a label tells that is no interval.
_OTHER = _Piece((math.nan, False), (math.nan, False))


def range_text(name: str, low: float, high: float) -> str:
    """Say that a number is in an interval with its ends.

    Examples
    --------
    >>> range_text("age", 41, math.inf), range_text("age", -math.inf, 40.5), range_text("age", 1, 2)
    ('age ≥ 41', 'age ≤ 40.5', 'age in [1, 2]')
    """
    if low == high:
        return f"{name} = {exact_text(low)}"
    if high == math.inf:
        return f"{name} ≥ {exact_text(low)}"
    if low == -math.inf:
        return f"{name} ≤ {exact_text(high)}"
    return f"{name} in [{exact_text(low)}, {exact_text(high)}]"


def states_text(
    unit: Unit, states: Sequence[tuple[float, ...]], admitted: Sequence[int], bounded: bool
) -> str:
    """Say that a unit is in one of some states, given all states."""
    if len(admitted) == 1:
        return unit.describe(states[admitted[0]])
    labels = [unit.describe(states[s]) for s in admitted]
    pieces = [piece for label in labels for piece in _pieces(unit.name, label)]
    if any(piece is not None for piece in pieces) and _OTHER not in pieces:
        return _union(unit.name, pieces)
    if not bounded and len(admitted) > _MOST:
        return f"{unit.name} one of {len(admitted)} values seen"
    others = [s for s in range(len(states)) if s not in set(admitted)]
    if bounded and len(others) < len(admitted) and len(admitted) > _FEW:
        return f"{unit.name} not in {_set([alone(unit, states[s]) for s in others])}"
    return f"{unit.name} in {_set([alone(unit, states[s]) for s in admitted])}"


def categories_text(name: str, inside: Sequence[str], outside: Sequence[str]) -> str:
    """Say which categories of a feature are admitted, given those that are not.

    Examples
    --------
    >>> categories_text("job", ["nurse", "clerk", "missing"], ["cook"])
    'job in {nurse, clerk} or missing'
    >>> categories_text("job", ["nurse", "clerk", "pilot", "another category"], ["cook", "missing"])
    'job not in {cook}'
    """
    listed = [text for text in dict.fromkeys(inside) if text != MISSING]
    gap = [f"{name} is {MISSING}" if not listed else MISSING] if MISSING in inside else []
    barred = [text for text in dict.fromkeys(outside) if text != MISSING]
    if len(listed) == 1:
        return " or ".join([f"{name}: {listed[0]}", *gap])
    if len(barred) < len(listed) and len(listed) > _FEW:
        if not barred:
            return " or ".join([f"{name} is known", *gap])
        return " or ".join([f"{name} not in {_set(barred)}", *gap])
    return " or ".join([*([f"{name} in {_set(listed)}"] if listed else []), *gap])


def either(texts: Sequence[str]) -> str:
    """Join texts as alternatives.

    Examples
    --------
    >>> either(["clerk", "cook", "nurse"])
    'clerk, cook or nurse'
    """
    return " or ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def alone(unit: Unit, state: tuple[float, ...]) -> str:
    """Say what a state of a unit is without the unit's name."""
    return unnamed(unit.name, unit.describe(state))


def could(name: str, own: float, low: float, high: float) -> str:
    """Say how far a number could go."""
    told = []
    if low < own and low != -math.inf:
        told.append(f"fall to {exact_text(low)}")
    if high > own and high != math.inf:
        told.append(f"rise to {exact_text(high)}")
    return f"{name} could {' or '.join(told)}" if told else ""


def _set(texts: Sequence[str]) -> str:
    # One-hot columns without names are "in column 3".
    return f"{{{', '.join(text.removeprefix('in ') for text in texts)}}}"


def _pieces(name: str, label: str) -> list[_Piece | None]:
    """Return the intervals that a label tells, as those of bins do; None stands for missing ones.

    Examples
    --------
    >>> len(_pieces("age", "age < 30 or age in [45, 50), or missing"))
    3
    >>> _pieces("age", "age: old") == [_OTHER]
    True
    """
    found: list[_Piece | None] = []
    for part in re.split(rf",? or |, (?={re.escape(name)} )", label):
        if part in (MISSING, f"{name} is {MISSING}"):
            found.append(None)
            continue
        if not part.startswith(f"{name} "):
            return [_OTHER]
        text = part.removeprefix(f"{name} ")
        one = re.fullmatch(rf"([≤<≥>]) {_NUMBER}", text)
        two = re.fullmatch(rf"in ([\[(]){_NUMBER}, {_NUMBER}([\])])", text)
        if one:
            value = float(one[2])
            if one[1] in "≥>":
                found.append(_Piece((value, one[1] == ">"), (math.inf, False)))
            else:
                found.append(_Piece((-math.inf, False), (value, one[1] == "≤")))
        elif two:
            found.append(_Piece((float(two[2]), two[1] == "("), (float(two[3]), two[4] == "]")))
        else:
            return [_OTHER]
    return found


def _union(name: str, pieces: Sequence[_Piece | None]) -> str:
    """Say that a number is in one of some intervals, those that touch as one, or missing."""
    merged: list[_Piece] = []
    for piece in sorted(piece for piece in pieces if piece is not None):
        if merged and piece.start <= merged[-1].end:
            merged[-1] = _Piece(merged[-1].start, max(merged[-1].end, piece.end))
        else:
            merged.append(piece)
    gaps = [MISSING] if None in pieces else []
    return " or ".join([*(_piece_text(name, piece) for piece in merged), *gaps])


def _piece_text(name: str, piece: _Piece) -> str:
    (low, above), (high, closed) = piece
    if low == -math.inf and high == math.inf:
        return f"{name} is known"
    if low == -math.inf:
        return f"{name} {'≤' if closed else '<'} {exact_text(high)}"
    if high == math.inf:
        return f"{name} {'>' if above else '≥'} {exact_text(low)}"
    left, right = "(" if above else "[", "]" if closed else ")"
    return f"{name} in {left}{exact_text(low)}, {exact_text(high)}{right}"

"""Labels of rows: the index of a table in values that JSON has, and back, checked."""

from __future__ import annotations

import math
import re
from typing import Any

from sklearn_probsr.results._checked_json import (
    UnsoundError,
    cells,
    flag,
    flat,
    members,
    number,
    shown,
    whole,
)

__all__ = ["checked_labels", "plain_labels"]

# How the values of a level are written: whole numbers (also dates, counted from 1970 on in their
# unit), other numbers, truth values, or texts and all else. A range is its three numbers.
_WHOLE = re.compile(r"u?int(8|16|32|64)|datetime64\[(s|ms|us|ns)(, [\w/+:\-]{1,64})?\]|"
                    r"timedelta64\[(s|ms|us|ns)\]")  # fmt: skip
_FLOAT = re.compile(r"float(32|64)")
_ANY = ("object", "any")
_LONGEST = 2**63


def plain_labels(index: Any) -> dict[str, Any]:
    """Return a pandas Index as JSON has it.

    Numbers, texts, truth values and dates keep their types; what JSON has no value for becomes
    text.
    """
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    told = [_level(level) for level in levels]
    return {
        "names": [_plain(name) for name in index.names],
        "kinds": [kind for kind, _ in told],
        "levels": [values for _, values in told],
    }


def _level(level: Any) -> tuple[str, list[Any]]:
    kind = str(level.dtype)
    if hasattr(level, "start") and hasattr(level, "step"):
        return "range", [level.start, level.stop, level.step]
    if _WHOLE.fullmatch(kind):
        return kind, (level.asi8 if hasattr(level, "asi8") else level.to_numpy()).tolist()
    if _FLOAT.fullmatch(kind) or kind == "bool":
        return kind, level.to_numpy().tolist()
    gaps = level.isna()
    values = [None if gap else _plain(v) for v, gap in zip(level, gaps, strict=True)]
    return "object" if kind == "object" else "any", values


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "dtype") else value
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def checked_labels(told: Any, name: str, n: int) -> dict[str, Any]:
    """Return the labels of n rows as `plain_labels` writes them, or say what is wrong with them."""
    held = members(told, name, ("names", "kinds", "levels"))
    kinds = flat(held["kinds"], f"{name}.kinds", (None,))
    if not kinds:
        raise UnsoundError(f"{name}.kinds must hold at least one kind, got none")
    flat(held["levels"], f"{name}.levels", (len(kinds),))
    cells(held["names"], f"{name}.names", (len(kinds),))
    for k, (kind, values) in enumerate(zip(kinds, held["levels"], strict=True)):
        _check_level(kind, values, f"{name}.levels[{k}]", n)
    return held


def _check_level(kind: Any, values: Any, name: str, n: int) -> None:
    if type(kind) is not str:
        raise UnsoundError(f"the kind of {name} must be a text, got {shown(kind)}")
    if kind == "range":
        start, stop, step = (whole(v, name, -_LONGEST, _LONGEST) for v in flat(values, name, (3,)))
        if step == 0 or len(range(start, stop, step)) != n:
            raise UnsoundError(f"{name} must be a range of {n} numbers, got {shown(values)}")
    elif _WHOLE.fullmatch(kind):
        for value in flat(values, name, (n,)):
            whole(value, name, -_LONGEST, 2 * _LONGEST)
    elif _FLOAT.fullmatch(kind):
        for value in flat(values, name, (n,)):
            if type(value) is not float or not math.isnan(value):
                number(value, name)
    elif kind == "bool":
        for value in flat(values, name, (n,)):
            flag(value, name)
    elif kind in _ANY:
        cells(values, name, (n,))
    else:
        raise UnsoundError(f"the kind of {name} is unknown, {shown(kind)}")

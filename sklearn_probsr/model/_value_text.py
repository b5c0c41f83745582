"""Values in words: numbers with the digits that people read, and facts such as "age = 45"."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MISSING", "exact_text", "fact", "may_be_written", "told_of", "unnamed", "value_text",
    "without_rounding",
]  # fmt: skip

# What a person reads where a raw value is missing.
MISSING = "missing"
# Numbers with so many digits may have been typed.
_WRITTEN = 10


def fact(name: str, value: float, raw: Any = None, word: str = "=") -> str:
    """Say what a feature is: what it was made of if that is known, else its column."""
    if isinstance(raw, str) and raw == MISSING:
        return f"{name} is missing"
    return f"{name} {word} {value_text(value)}" if raw is None else f"{name} = {value_text(raw)}"


def told_of(name: str, label: str, raw: Any) -> str:
    """Return what a state's label says of a row whose value is known: of gaps, if it is one.

    Steps may treat a gap as some number or category, and their state has both.

    Examples
    --------
    >>> told_of("age", "age in [30, 45), or missing", 41.0)
    'age in [30, 45)'
    >>> told_of("age", "age in [30, 45), or missing", "missing")
    'age is missing'
    """
    if raw is None or MISSING not in label:
        return label
    also = f", or {MISSING}"
    if isinstance(raw, str) and raw == MISSING:
        shared = also in label or label.startswith(f"{name}: {MISSING}, or ")
        return f"{name} is {MISSING}" if shared else label
    return label.replace(f"{name}: {MISSING}, or ", f"{name}: ").replace(also, "")


def unnamed(name: str, text: str) -> str:
    """Return what is said of a feature without its name: "nurse", "(1, 2)", "missing"."""
    for before in (f"{name}: ", f"{name} = ", f"{name} is ", f"{name} "):
        if text.startswith(before):
            return text.removeprefix(before)
    return text


def exact_text(value: Any) -> str:
    """Return a value with all of its digits, as few as mean the same number; a day as a day."""
    if not isinstance(value, float | np.floating):
        day = isinstance(value, datetime.date)
        return str(value).removesuffix(" 00:00:00") if day else str(value)
    whole = value.is_integer() and abs(float(value)) < 1e15
    return f"{value + 0.0:.0f}" if whole else str(value)


def may_be_written(text: str) -> bool:
    """Tell whether a number, in digits, has so few that a person may have written it."""
    return len(text.partition("e")[0].replace(".", "").lstrip("-0")) <= _WRITTEN


def value_text(value: Any) -> str:
    """Return a value as a person reads it: as it was written, if that took ten digits at most.

    One with more was computed, and is told to six digits, or two behind the point if it is large.
    """
    text = exact_text(value)
    if may_be_written(text) or not isinstance(value, float | np.floating):
        return text
    size = abs(float(value))
    return f"{value:.2f}" if 1e4 <= size < 1e15 else f"{value:g}"


def without_rounding(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the features of each row contribute as it is shown: 0 for what is rounding.

    What an imputer fills in is the average, and after a scaler it is so but for some 1e-16.
    """
    largest = np.abs(values).max(axis=-1, keepdims=True, initial=0)
    return np.where(np.abs(values) > 1e-12 * largest, values, 0.0)

"""Numbers: exact where something is decided, and in words where people read them.

A float is a dyadic rational, so a float vector is an integer vector times a power of two.
Everything that must not be rounded (signs, ties, lattice sums) is decided on those integers;
bounds are rounded outward. People read the digits that they wrote, or six of what was computed,
in facts such as "age = 45"; what is no number is told by its kind.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError

# Levels that are asked for again and again are read and rounded once.
_MOST_LEVELS = 256


def decimal_fraction(value: Any) -> Fraction:
    """Return the rational number that ``value`` prints as: 0.9 is nine tenths.

    Examples
    --------
    >>> decimal_fraction(0.9)
    Fraction(9, 10)
    """
    if not isinstance(value, float) and isinstance(value, Rational | Decimal):
        return Fraction(value)
    return _read(str(value))


@lru_cache(_MOST_LEVELS)
def _read(text: str) -> Fraction:
    return Fraction(text)


def about(value: Fraction) -> float:
    """Return about the value of a fraction, infinite if that is beyond floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def float_below(value: Fraction) -> float:
    """Return the largest float that is at most ``value``."""
    return float_pair(value)[0]


def float_above(value: Fraction) -> float:
    """Return the smallest float that is at least ``value``."""
    return float_pair(value)[1]


@lru_cache(_MOST_LEVELS)
def floats_around(level: Fraction) -> tuple[float, float]:
    """Return the largest float that is at most a level, and the smallest that is at least it."""
    return float_pair(level)


def float_pair(value: Fraction) -> tuple[float, float]:
    """Return the same of a number that is not asked for again."""
    nearest = float(value)
    exact = Fraction(nearest)
    below = nearest if exact <= value else math.nextafter(nearest, -math.inf)
    return below, nearest if exact >= value else math.nextafter(nearest, math.inf)


def integer_multiples(values: Sequence[float] | np.ndarray) -> tuple[list[int], Fraction]:
    """Write finite floats as integer multiples of the largest unit that measures them all.

    Returns
    -------
    multiples : list of int
    unit : Fraction
        ``multiples[i] * unit == values[i]`` exactly; 1 when every value is zero.

    Examples
    --------
    >>> integer_multiples([0.5, -0.75, 3.0])
    ([2, -3, 12], Fraction(1, 4))
    """
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    digits = np.ldexp(mantissas, 53).astype(np.int64)
    nonzero = digits != 0
    if not nonzero.any():
        return [0] * len(digits), Fraction(1)
    lowest = int(exponents[nonzero].min())
    shifts = np.where(nonzero, exponents - lowest, 0)
    integers = [n << s for n, s in zip(digits.tolist(), shifts.tolist(), strict=True)]
    divisor = math.gcd(*integers)
    unit = Fraction(2) ** (lowest - 53) * divisor
    return [n // divisor for n in integers], unit


def row_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum along the last axis; a row's digits do not depend on how many others there are.

    NumPy adds in the order in which numbers lie in memory, and that of a batch may be by columns.
    """
    sums: NDArray[np.float64] = np.ascontiguousarray(values).sum(axis=-1)
    return sums


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


def value_kind(value: Any) -> str:
    """Say what a value is that is no number, though Python may make one of it; else nothing."""
    if isinstance(value, str | bytes):
        try:
            float(value)
        except ValueError:
            return "text"
        return ""
    if isinstance(value, complex | np.complexfloating):
        return "complex number"
    if isinstance(value, np.datetime64 | datetime.date):
        return "date"
    return "duration" if isinstance(value, np.timedelta64 | datetime.timedelta) else ""


_REMEDIES = {
    "": "Fill in or drop what is missing.",
    "text": "Write it as a number, or let a step of the Pipeline encode it.",
    "complex number": "Pass its real and imaginary part as two columns.",
    "date": "Make it a number first, for instance the days since a date.",
    "duration": "Make it a number first, for instance of days.",
}


def no_number(value: Any, where: str, name: str) -> InvalidInputError:
    """Return the error about a value that is no finite number."""
    kind = value_kind(value)
    value = value.item() if isinstance(value, np.str_ | np.bytes_) else value
    shown = repr(value) if kind == "text" else str(value)
    got = f"the {kind} {shown}" if kind else shown
    return InvalidInputError(
        f"{name} must hold finite numbers, got {got} in {where}. {_REMEDIES[kind]}"
    )


def listing(names: Sequence[str], most: int = 8) -> str:
    """Return names as text, the first few of many."""
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"

"""Checked JSON: values from somewhere, each of the kind and in the range that it must be.

Whoever wrote it may be careless or hostile: nothing here costs more than the text is long, and
whatever is wrong is told with the name of the member that it is in.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from reprlib import Repr
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError

__all__ = [
    "UnsoundError",
    "allowance",
    "cells",
    "check_max_bytes",
    "flag",
    "flat",
    "fraction",
    "json_size",
    "label",
    "members",
    "number",
    "numbers",
    "one_of",
    "parsed",
    "refusing",
    "shown",
    "text",
    "texts",
    "whole",
    "wholes",
]

# Without max_bytes, a file may become this large, or so many times what it is.
_SMALL, _TIMES = 1 << 26, 50
# Longer numbers than Python itself reads unasked; to read one takes quadratic time.
_DIGITS = 4300
_FRACTION = re.compile(rf"([0-9]{{1,{_DIGITS}}})(?:/([0-9]{{1,{_DIGITS}}}))?")
_PLAIN = (str, int, float, bool, type(None))
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


class UnsoundError(ValueError):
    """What is wrong with a file, and in which member of it."""


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Say that something is not ``what``, and why, however reading it ends."""
    try:
        yield
    except (UnsoundError, InvalidInputError) as error:
        reason = str(error).rstrip(".")
        raise InvalidInputError(f"{what}: {reason}.") from error
    except Exception as error:  # what somebody has made up may break in any way
        reason = shown(f"{type(error).__name__}: {error}")[1:-1].rstrip(".")
        raise InvalidInputError(f"{what}: {reason}.") from error


def shown(value: Any) -> str:
    """Return a value as an error shows it: short, and in one line."""
    return _SHORT.repr(value)


def _refuse(name: str, kind: str, value: Any) -> UnsoundError:
    return UnsoundError(f"{name} must be {kind}, got {shown(value)}")


# --- sizes -----------------------------------------------------------------------------------


def check_max_bytes(max_bytes: Any) -> None:
    """Refuse a limit that is none."""
    if max_bytes is None:
        return
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int | np.integer) or max_bytes < 1:
        raise InvalidInputError(
            f"max_bytes must be None or a whole number >= 1, got {shown(max_bytes)}."
        )


def allowance(size: int, max_bytes: int | None) -> int:
    """Return how many bytes something of a size may become."""
    return max(_SMALL, _TIMES * size) if max_bytes is None else int(max_bytes)


def json_size(source: str | bytes) -> int:
    """Return about how many bytes the values of a JSON text take, at most, without reading it."""

    def count(character: str) -> int:
        if isinstance(source, str):
            return source.count(character)
        return source.count(character.encode())

    return 2 * len(source) + 40 * count(",") + 72 * count("[") + 250 * count("{")


# --- JSON ------------------------------------------------------------------------------------


def parsed(source: str | bytes, name: str) -> Any:
    """Return the values of a JSON text in which no name occurs twice."""
    try:
        return json.loads(source, object_pairs_hook=_once, parse_int=_integer)
    except RecursionError:
        raise UnsoundError(f"{name} is nested too deeply") from None
    except UnicodeDecodeError:
        raise UnsoundError(f"{name} must be JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise UnsoundError(f"{name} must be JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise UnsoundError(f"{shown(twice)} is there twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise UnsoundError(f"a number of {len(digits)} digits is too long")
    return int(digits)


def members(value: Any, name: str, known: Collection[str]) -> dict[str, Any]:
    """Return an object that has the members that are known, and no others."""
    if not isinstance(value, dict):
        raise _refuse(name, "an object", value)
    for key in known:
        if key not in value:
            raise UnsoundError(f"{name} lacks {key!r}")
    for key in value:
        if key not in known:
            raise UnsoundError(f"{name} has an unknown member {shown(key)}")
    return value


# --- single values ---------------------------------------------------------------------------


def number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number in a range."""
    sound = type(value) in {int, float} and low <= value <= high
    if not sound or not abs(value) <= sys.float_info.max:
        kind = "a finite number" if math.isinf(high) else f"a number from {low:g} to {high:g}"
        raise _refuse(name, kind, value)
    return float(value)


def whole(value: Any, name: str, low: int, high: int = 2**63 - 1) -> int:
    """Return a whole number in a range."""
    if type(value) is not int or not low <= value <= high:
        raise _refuse(name, f"a whole number from {low} to {high}", value)
    return value


def flag(value: Any, name: str) -> bool:
    """Return true or false."""
    if type(value) is not bool:
        raise _refuse(name, "true or false", value)
    return value


def text(value: Any, name: str) -> str:
    """Return a text that can be written."""
    if type(value) is not str:
        raise _refuse(name, "a text", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _refuse(name, "a text of whole characters", value) from None
    return value


def one_of(value: Any, name: str, known: Collection[str]) -> str:
    """Return one of the texts that are known."""
    if type(value) is not str or value not in known:
        raise _refuse(name, f"one of {', '.join(map(repr, known))}", value)
    return value


def label(value: Any, name: str) -> Any:
    """Return the label of a class."""
    if type(value) is str:
        return text(value, name)
    if type(value) not in {int, float, bool} or (type(value) is float and math.isnan(value)):
        raise _refuse(name, "a text, a number or a boolean", value)
    return value


def fraction(value: Any, name: str) -> Fraction:
    """Return a fraction from 0 to 1, written as two whole numbers."""
    match = _FRACTION.fullmatch(value) if type(value) is str else None
    below = 0 if match is None else int(match[2] or 1)
    if match is None or not 0 <= int(match[1]) <= below or not below:
        raise _refuse(name, "a fraction from 0 to 1, such as '1/3'", value)
    return Fraction(int(match[1]), below)


# --- many values -----------------------------------------------------------------------------


def texts(value: Any, name: str, n: int | None = None) -> list[str]:
    """Return different texts, ``n`` of them if that is known."""
    entries = flat(value, name, (n,))
    for i, entry in enumerate(entries):
        text(entry, f"{name}[{i}]")
    seen: set[str] = set()
    for entry in entries:
        if entry in seen:
            raise UnsoundError(f"{name} must hold different texts, got {shown(entry)} twice")
        seen.add(entry)
    return entries


def flat(value: Any, name: str, shape: Sequence[int | None]) -> list[Any]:
    """Return the entries of nested lists in one list; None is any length, of the first axis."""
    parts = [value]
    for length in shape:
        for part in parts:
            if type(part) is not list:
                raise _refuse(name, "a list" if len(shape) == 1 else "a list of lists", part)
            if length is not None and len(part) != length:
                raise UnsoundError(
                    f"{name} must be of shape {tuple(shape)}, got a list of {len(part)}"
                )
        parts = [entry for part in parts for entry in part]
    return parts


def numbers(
    value: Any,
    name: str,
    shape: Sequence[int],
    low: float = -math.inf,
    high: float = math.inf,
    gaps: bool = False,
) -> NDArray[np.float64]:
    """Return numbers in a range; ``gaps`` lets NaN pass."""
    entries = flat(value, name, shape)
    for entry in entries:
        if type(entry) not in {int, float} or not (
            low <= entry <= high or (gaps and math.isnan(entry))
        ):
            kind = "numbers" if math.isinf(high) else f"numbers from {low:g} to {high:g}"
            raise UnsoundError(f"{name} must hold {kind}, got {shown(entry)}")
    try:
        return np.array(entries, dtype=np.float64).reshape(shape)
    except OverflowError:
        raise UnsoundError(f"{name} must hold numbers below 1.8e308") from None


def wholes(value: Any, name: str, shape: Sequence[int], high: int) -> NDArray[np.int64]:
    """Return whole numbers from 0 to a highest one."""
    entries = flat(value, name, shape)
    for entry in entries:
        if type(entry) is not int or not 0 <= entry <= high:
            raise UnsoundError(
                f"{name} must hold whole numbers from 0 to {high}, got {shown(entry)}"
            )
    return np.array(entries, dtype=np.int64).reshape(shape)


def cells(value: Any, name: str, shape: Sequence[int]) -> NDArray[Any]:
    """Return texts, numbers, booleans and gaps, as a person reads them."""
    entries = flat(value, name, shape)
    for entry in entries:
        if type(entry) is str:
            text(entry, name)
        elif type(entry) not in _PLAIN:
            raise UnsoundError(f"{name} must hold texts and numbers, got {shown(entry)}")
    found = np.empty(len(entries), dtype=object)
    found[:] = entries
    return found.reshape(shape)

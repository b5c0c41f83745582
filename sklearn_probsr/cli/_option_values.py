"""Values of options: texts of the command line as numbers and costs, or what is wrong with them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from decimal import Decimal

__all__ = ["at_least", "cost", "jobs", "probability", "separator", "slack", "whole"]


# Costs are exact: one of a million digits would take all memory.
_LEAST, _MOST = Decimal("1e-300"), Decimal("1e300")


def whole(text: str) -> int:
    """Return a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None


def at_least(least: int) -> Callable[[str], int]:
    """Return what takes whole numbers from one on."""

    def count(text: str) -> int:
        number = whole(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
        return number

    return count


def jobs(text: str) -> int:
    """Return a number of processes; -1 stands for all cores."""
    number = whole(text)
    if number == 0:
        raise argparse.ArgumentTypeError("must be at least 1, or -1 for all cores, got 0")
    return number


def probability(text: str) -> float:
    """Return a number from 0 to 1."""
    number = _number(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, got {text!r}")
    return number


def slack(text: str) -> float:
    """Return a number between 0 and 1, neither of them."""
    number = _number(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, got {text!r}")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


def cost(text: str) -> str:
    """Return "name=number" as it is, if it is that."""
    name, _, told = text.rpartition("=")
    try:
        number = Decimal(told)
    except ArithmeticError:
        number = Decimal(0)
    # Costs are exact numbers, and one of a million digits takes all memory.
    if not name or not number.is_finite() or not _LEAST <= number <= _MOST:
        raise argparse.ArgumentTypeError(
            f"must be the name of a feature, =, and a number from {_LEAST} to {_MOST}, got {text!r}"
        )
    return text


def separator(text: str) -> str:
    """Return the character between the fields of a CSV."""
    named = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(named) != 1:
        raise argparse.ArgumentTypeError(f"must be one character, or tab, got {text!r}")
    if named in '"\r\n\0' or not named.isascii():
        raise argparse.ArgumentTypeError(
            f"must be of ASCII, and neither a quotation mark nor a line end, got {text!r}"
        )
    return named

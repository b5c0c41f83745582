"""Costs in an archive: what features cost, and what was proved of that."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.prices import Prices
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.results._checked_json import UnsoundError, flat, members, number, shown
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["read_costs", "told_costs"]

# A positive fraction of numbers as long as floats can be.
_COST = re.compile(r"([0-9]{1,1000})(?:/([0-9]{1,1000}))?")
_NAME = "meta.reasons.costs"


def told_costs(reasons: SufficientReasons) -> dict[str, Any]:
    """Return what features cost, and what was proved of that, as JSON has it, or nothing."""
    prices, least = reasons.prices, reasons.least_cost
    if prices is None:
        return {}
    each = [str(whole * prices.unit) for whole in prices.whole]
    return {"costs": {"each": each, "least": None if least is None else least.tolist()}}


def read_costs(
    told: Any, names: Sequence[str], n: int
) -> tuple[Prices | None, NDArray[np.float64] | None]:
    """Return what features cost, and what was proved of that for n rows; nothing if none do."""
    if told is None:
        return None, None
    told = members(told, _NAME, ("each", "least"))
    each = [_cost(value) for value in flat(told["each"], f"{_NAME}.each", (len(names),))]
    try:
        prices = Prices.of(each, names)
    except InvalidInputError as error:
        raise UnsoundError(f"{_NAME}.each is unsound: {error}") from None
    if told["least"] is None:
        if not prices.equal:
            raise UnsoundError(f"{_NAME}.least must be there where costs differ")
        return prices, None
    name = f"{_NAME}.least"
    least = [number(value, name, 0, math.inf) for value in flat(told["least"], name, (n,))]
    return prices, np.array(least, dtype=np.float64)


def _cost(value: Any) -> Fraction:
    match = _COST.fullmatch(value) if type(value) is str else None
    if match is None or not int(match[2] or 1):
        raise UnsoundError(f"{_NAME}.each must hold fractions, such as '3/2', got {shown(value)}")
    return Fraction(int(match[1]), int(match[2] or 1))

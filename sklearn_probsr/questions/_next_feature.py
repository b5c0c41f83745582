"""What to ask next: how likely a decision is settled once one more feature is known."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.questions._partial_row import PartialRow

__all__ = ["Gain", "gain_of", "next_frame"]

# So many values of a feature are looked at; of one with more, as many as these, evenly spread.
_MOST_VALUES = 32
# The width to which the probability of a class is enclosed for each value.
_TOL = 1e-3


class Gain(NamedTuple):
    """What knowing a feature brings: bounds of two probabilities, and what they are.

    ``method`` is "exact", "certified" (the bounds are proved), or "estimate" (of some of the values
    that the feature has).
    """

    settled: tuple[float, float]
    expected: tuple[float, float]
    method: str


def gain_of(partial: PartialRow, unit: int, delta: Fraction) -> Gain:
    """Return what knowing a unit brings."""
    counted = partial.law.once_known(partial.row, partial.known, unit)
    if counted is not None:
        counts, weights = counted
        total = weights.sum()
        shares = np.stack([counts, total - counts]) / total
        reached = shares >= float(delta)  # a share of rows is at least delta iff its float is
        return _summed(shares, shares, (reached, reached), weights / total, "exact")
    values, chances = _different(*partial.states(unit))
    method = None
    if len(values) > _MOST_VALUES:
        values, chances, method = *_spread(partial, unit, values, chances), "estimate"
    each = [partial.told(unit, value).probabilities(_TOL, delta) for value in values]
    low = np.array([[e.lower for e in one] for one in each]).T
    high = np.array([[e.upper for e in one] for one in each]).T
    verdicts = [[(e >= delta).value for e in one] for one in each]
    reached = np.array([[v is True for v in one] for one in verdicts]).T
    perhaps_so = np.array([[v is not False for v in one] for one in verdicts]).T
    if method is None:
        exact = all(e.exact is not None for one in each for e in one)
        method = "exact" if exact else "certified"
    return _summed(low, high, (reached, perhaps_so), chances, method)


def _different(
    values: NDArray[Any], chances: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return states once each, with the chances of all that are alike."""
    states, which = np.unique(values, axis=0, return_inverse=True)
    together: NDArray[Any] = np.bincount(which.ravel(), chances, minlength=len(states))
    return states, together


def _spread(
    partial: PartialRow, unit: int, values: NDArray[Any], chances: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return some of many states, each standing for as much probability as the others."""
    weights, _ = partial.law.model.outputs
    order = np.argsort(values @ weights[0][partial.columns(unit)], kind="stable")
    cumulated = np.cumsum(chances[order])
    middles = (np.arange(_MOST_VALUES) + 0.5) / _MOST_VALUES * cumulated[-1]
    at = order[np.searchsorted(cumulated, middles).clip(max=len(order) - 1)]
    return values[at], np.full(_MOST_VALUES, 1 / _MOST_VALUES)


def _summed(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    reached: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    chances: NDArray[np.float64],
    method: str,
) -> Gain:
    """Add up over the states what is known of every class in each: surely, and perhaps."""
    settled = [float(chances @ some.any(axis=0) / chances.sum()) for some in reached]
    expected = [float(chances @ each.max(axis=0) / chances.sum()) for each in (low, high)]
    return Gain((settled[0], min(settled[1], 1.0)), (expected[0], min(expected[1], 1.0)), method)


def next_frame(
    names: Sequence[str], gains: Sequence[Gain], costs: Sequence[float] | None, now: float
) -> Any:
    """Return a table of what to ask, the best first: by its gain, or its gain per unit of cost."""
    import pandas as pd

    middle = [[(a + b) / 2 for a, b in (gain.settled, gain.expected)] for gain in gains]
    frame = pd.DataFrame(
        {
            "feature": pd.Series(list(names), dtype=object),
            "settled": pd.Series([m[0] for m in middle], dtype=float),
            "expected": pd.Series([m[1] for m in middle], dtype=float),
            "settled_lower": pd.Series([g.settled[0] for g in gains], dtype=float),
            "settled_upper": pd.Series([g.settled[1] for g in gains], dtype=float),
            "expected_lower": pd.Series([g.expected[0] for g in gains], dtype=float),
            "expected_upper": pd.Series([g.expected[1] for g in gains], dtype=float),
            "method": pd.Series([g.method for g in gains], dtype=object),
        }
    )
    each = np.ones(len(frame)) if costs is None else np.asarray(costs, dtype=np.float64)
    if costs is not None:
        frame.insert(3, "cost", each)
    gained = np.maximum(frame["expected"].to_numpy() - now, 0.0)
    order = np.lexsort((-gained / each, -frame["settled"].to_numpy() / each))
    return frame.iloc[order].reset_index(drop=True)

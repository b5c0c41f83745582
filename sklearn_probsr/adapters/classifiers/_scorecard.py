"""Scorecards: points per bin or category, a cutoff, and the model that decides by them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.linear import LinearModel
from sklearn_probsr.model.numbers import decimal_fraction, listing
from sklearn_probsr.model.units import Unit

__all__ = ["scorecard"]

_BINS = ("bin", "category")
_TIES = ("above", "below")


def scorecard(
    table: Any,
    *,
    cutoff: Any,
    base: Any = 0,
    labels: Sequence[Any] | None = None,
    tie: str = "above",
) -> LinearModel:
    """Return the model of a scorecard: points that add up, and a cutoff.

    Parameters
    ----------
    table : DataFrame or mapping of columns
        With columns ``feature``, ``bin`` (or ``category``) and ``points``, one line for each bin of
        each feature, as in the table that a scorecard is printed as.
    cutoff : number
        The score from which on it says ``labels[1]``.
    base : number, default=0
        Points that every score starts from.
    labels : pair of labels or None, default=None
        What it says below the cutoff, and from it on; 0 and 1 when None.
    tie : {"above", "below"}, default="above"
        On which side of the cutoff a score is that equals it.

    Returns
    -------
    LinearModel
        Every feature is a unit, with one column for each of its bins, of which one is 1;
        `LinearModel.encode` turns a table of bins into such rows. Points mean the decimals that
        they print as.

    Examples
    --------
    >>> from sklearn_probsr import scorecard, sufficient_reason
    >>> model = scorecard(
    ...     {
    ...         "feature": ["age", "age", "home", "home", "debts", "debts"],
    ...         "bin": ["< 25", ">= 25", "rent", "own", "none", "some"],
    ...         "points": [10, 25, 5, 20.5, 30, 0],
    ...     },
    ...     cutoff=50,
    ...     labels=["decline", "approve"],
    ... )
    >>> row = model.encode([{"age": ">= 25", "home": "own", "debts": "none"}])[0]
    >>> print(sufficient_reason(model, row, delta=0.9))
    Class approve is kept with probability at least 1 over uniform completions, given debts: none \
and home: own (2 of 3 features; no smaller set reaches 0.9).
    """
    features, bins, points = _columns(table)
    if tie not in _TIES:
        raise InvalidInputError(f"tie must be one of {_TIES}, got {tie!r}.")
    weights = [float(_points(p, f"points of {f!r}")) for f, p in zip(features, points, strict=True)]
    threshold = _points(cutoff, "cutoff") - _points(base, "base")
    units, order = [], dict.fromkeys(features)
    for feature in order:
        at = [i for i, name in enumerate(features) if name == feature]
        texts = [bins[i] for i in at]
        twice = [text for k, text in enumerate(texts) if text in texts[:k]]
        if twice:
            raise InvalidInputError(
                f"table must have every bin of a feature once, got {twice[0]!r} of {feature!r} "
                "twice."
            )
        units.append(_unit(feature, at, texts))
    return LinearModel(
        weights,
        float(threshold),
        strict=tie == "below",
        feature_names=[f"{f}: {b}" for f, b in zip(features, bins, strict=True)],
        classes=(0, 1) if labels is None else labels,
        units=units,
        decimal=True,
    )


def _unit(feature: str, at: list[int], texts: list[str]) -> Unit:
    """Return a feature with its bins; one with a single bin has it always."""
    labels = [f"{feature}: {text}" for text in texts]
    if len(at) == 1:
        return Unit(feature, tuple(at), ((1.0,),), tuple(labels))
    return Unit.one_hot(feature, at, labels=labels)


def _columns(table: Any) -> tuple[list[str], list[str], list[Any]]:
    """Return the features, bins and points of a table, or say which column it lacks."""
    names = list(getattr(table, "columns", table if hasattr(table, "keys") else ()))
    bins = next((name for name in _BINS if name in names), None)
    missing = [name for name in ("feature", "points") if name not in names]
    if bins is None or missing:
        raise InvalidInputError(
            "table must have columns 'feature', 'bin' (or 'category') and 'points', got "
            f"{listing([str(n) for n in names]) or type(table).__name__}."
        )
    features, states, points = (list(table[name]) for name in ("feature", bins, "points"))
    if not features:
        raise InvalidInputError("table must have a line for every bin, got none.")
    return [str(f) for f in features], [str(b) for b in states], points


def _points(value: Any, name: str) -> Fraction:
    """Return a number of points as the decimal that it prints as."""
    try:
        if isinstance(value, bool | str) or not math.isfinite(float(value)):
            raise ValueError
        return decimal_fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{name} must be a finite number, got {value!r}.") from None

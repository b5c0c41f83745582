"""Distributions: who may replace an unknown feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["Uniform", "check_distribution"]


@dataclass(frozen=True)
class Uniform:
    """Every unknown feature is 0 or 1 by a fair coin, independently of the others.

    Examples
    --------
    >>> str(Uniform())
    'uniform completions'
    """

    def __str__(self) -> str:
        return "uniform completions"


def check_distribution(distribution: Any) -> Uniform:
    """Return the distribution that an argument means; None means uniform."""
    if distribution is None:
        return Uniform()
    if isinstance(distribution, Uniform):
        return distribution
    raise InvalidInputError(
        f"distribution must be None or Uniform(), got {distribution!r} of type "
        f"{type(distribution).__name__}."
    )

"""Promises: by what units are ranked, from their mean cost to their variance (Proposition 120)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["promises"]

# Relative weights of the variance in the rankings (Proposition 120); 0 is the mean cost, the signed
# SHAP value.
_LAMBDAS = (0.0, 0.25, 1.0, 4.0, math.inf)


def promises(
    score: NDArray[np.float64],
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    scale: float | NDArray[np.float64],
) -> Iterator[NDArray[np.float64]]:
    """Return the keys of the rankings: the largest promise comes first in each."""
    for weight in _LAMBDAS:
        yield score if math.isinf(weight) else mean + weight * variance / scale

"""Vaaler's bounds of an arc: their coefficients, sines, and the constants of their budget.

What the engines share that bound a distribution function by its characteristic function
(Theorem 18, Corollary 19). Table 2 of docs/guarantees.md is the budget of their errors.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import kernel

__all__ = [
    "SPREADS",
    "TAIL",
    "TRIG_ERROR",
    "UNIT",
    "coefficient_sum",
    "coefficient_table",
    "coefficients",
    "sin_cos_turns",
]

# The mass that a period of SPREADS standard deviations may leave outside (Lemma 20, Table 2 line
# 1): Pr[|W| > P/2] <= 2 exp(-(P/2)^2 / (2 sigma^2)), sigma^2 = sum (v/2)^2.
TAIL = 1e-10
SPREADS = 2 * math.sqrt(2 * math.log(2 / TAIL))
# Error of one sine or cosine of an argument in turns (Lemma 21), and of one multiplication by it
# (Table 2 line 3).
TRIG_ERROR = 5e-15
# The relative error of one rounding (Table 2, lines 4 and 5).
UNIT = 2.0**-53


@kernel
def sin_cos_turns(turns: float) -> tuple[float, float]:
    """Return the sine and cosine of ``2 pi turns``, to 2e-15, without a branch (Lemma 21).

    The argument is reduced to ``|f| <= 1/2`` exactly; Taylor polynomials of ``pi f`` (their
    remainders are below 2e-17 for ``|pi f| <= pi / 2``) and the double angle do the rest.
    """
    f = turns - np.floor(turns + 0.5)
    x = math.pi * f
    z = x * x
    s = 1.0 / 51090942171709440000.0
    s = -1.0 / 121645100408832000.0 + z * s
    s = 1.0 / 355687428096000.0 + z * s
    s = -1.0 / 1307674368000.0 + z * s
    s = 1.0 / 6227020800.0 + z * s
    s = -1.0 / 39916800.0 + z * s
    s = 1.0 / 362880.0 + z * s
    s = -1.0 / 5040.0 + z * s
    s = 1.0 / 120.0 + z * s
    s = -1.0 / 6.0 + z * s
    s = x + x * (z * s)
    c = 1.0 / 2432902008176640000.0
    c = -1.0 / 6402373705728000.0 + z * c
    c = 1.0 / 20922789888000.0 + z * c
    c = -1.0 / 87178291200.0 + z * c
    c = 1.0 / 479001600.0 + z * c
    c = -1.0 / 3628800.0 + z * c
    c = 1.0 / 40320.0 + z * c
    c = -1.0 / 720.0 + z * c
    c = 1.0 / 24.0 + z * c
    c = -0.5 + z * c
    c = 1.0 + z * c
    return 2.0 * s * c, 1.0 - 2.0 * s * s


@kernel
def coefficients(k: float, degree: int) -> tuple[float, float]:
    """Return ``a_k`` and ``b_k`` of Corollary 19.

    They are ``J(k/(K+1)) / (pi k)`` and ``(1 - k/(K+1)) / (K + 1)``.
    """
    u = k / (degree + 1.0)
    vaaler = math.pi * u * (1.0 - u) / math.tan(math.pi * u) + u
    return vaaler / (math.pi * k), (1.0 - u) / (degree + 1.0)


@kernel
def coefficient_table(
    nodes: NDArray[np.float64], degree: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two coefficients of every node."""
    vaaler = np.empty(len(nodes))
    fejer = np.empty(len(nodes))
    for i in range(len(nodes)):
        vaaler[i], fejer[i] = coefficients(nodes[i], degree)
    return vaaler, fejer


@kernel
def coefficient_sum(degree: int) -> float:
    """Bound the sum of ``a_k + 2 b_k`` over all nodes: A of Proposition 22."""
    return 0.4 * math.log(degree + 1.0) + 2.5

"""Fourier bounds of a sum of independent costs, with a characteristic function that is complex.

``phi_k = prod_u sum_j p_uj exp(2 pi i k v_uj / P)``, and with the arc from ``alpha`` to ``beta``

    middle = beta - alpha + sum_k a_k (Im(phi_k e(-k alpha)) - Im(phi_k e(-k beta)))
    radius = 1/(K+1) + sum_k b_k (Re(phi_k e(-k alpha)) + Re(phi_k e(-k beta)))

enclose the probability of the arc (Theorem 18, and Corollary 19 in its complex form).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.engines.sums._finite_sum import FiniteSum
from sklearn_probsr.independent.level import Level
from sklearn_probsr.independent.vaaler import (
    NEGLIGIBLE,
    SPREADS,
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficients,
    sin_cos_turns,
)
from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["fourier"]


class _Atoms(NamedTuple):
    """The values of all parts in turns, but for the first of each, 0, and their chances."""

    starts: NDArray[np.int64]  # (parts + 1,)
    turns: NDArray[np.float64]  # (atoms,)
    chances: NDArray[np.float64]  # (atoms,)


class _Arc(NamedTuple):
    """The arc whose measure is asked for, in turns.

    Its ends are known up to the ``blur`` together; ``reach`` is the largest sum.
    """

    alpha: float
    beta: float
    length: float
    blur: float
    reach: float


def fourier(question: FiniteSum, level: Level, tol: float, largest_degree: int) -> Enclosure:
    """Enclose the probability to ``tol``, or until a level is to one side of it."""
    total = question.total
    spread = math.isqrt(question.squares) + 1
    window = spread * math.ceil(SPREADS * 2**19) // 2**20 + 5
    covers = window >= total + 2
    period = total + 2 if covers else window
    tail = 0.0 if covers else TAIL  # Lemma 20
    # The window is [left, left + period], around the mean; between integers there is no mass.
    left = Fraction(-1 if covers else 2 * (math.floor(question.mean) - period // 2) + 1, 2)
    cut = question.capacity + Fraction(1, 2)
    if cut >= left + period:
        return Enclosure.proved(1 - tail, 1.0)
    if cut <= left:
        return Enclosure.proved(0.0, tail)
    atoms = _Atoms(
        # A part's first value is 0: only the others turn.
        np.cumsum([0, *(len(part.values) - 1 for part in question.parts)]),
        # Two roundings each, which the error of a turn covers (Table 2 line 5).
        np.concatenate([part.shares * (part.values[-1] / period) for part in question.parts]),
        np.concatenate([part.probabilities[1:] for part in question.parts]),
    )
    alpha, beta = float(left / period), float(cut / period)
    blur = 2 * UNIT * (abs(alpha) + abs(beta))
    arc = _Arc(alpha, beta, float((cut - left) / period), blur, total / period)
    asked = Level(level.low - tail, level.high + tail)
    lower, upper = _enclose(atoms, arc, asked, tol, largest_degree >> np.arange(9, -1, -3))
    return Enclosure.proved(lower - tail, upper + tail)


@inner
def _phi(atoms: _Atoms, k: int) -> tuple[float, float]:
    """Return the characteristic function at a node; 0 once it is negligible."""
    re = 1.0
    im = 0.0
    for u in range(len(atoms.starts) - 1):
        x = 1.0
        y = 0.0
        for i in range(atoms.starts[u], atoms.starts[u + 1]):
            sine, cosine = sin_cos_turns(k * atoms.turns[i])
            x -= atoms.chances[i] * (1.0 - cosine)
            y += atoms.chances[i] * sine
        re, im = re * x - im * y, re * y + im * x
        if re * re + im * im < NEGLIGIBLE * NEGLIGIBLE:
            return 0.0, 0.0
    return re, im


@inner
def _bounds(atoms: _Atoms, arc: _Arc, phi: NDArray[np.float64], degree: int) -> tuple[float, float]:
    """Return middle and radius at one degree (Corollary 19); ``phi`` holds the nodes up to it."""
    middle = arc.length
    radius = 1.0 / (degree + 1.0)
    slope = 2.0
    for k in range(1, degree + 1):
        re, im = phi[k - 1, 0], phi[k - 1, 1]
        if re != 0.0 or im != 0.0:
            a, b = coefficients(float(k), degree)
            sin_a, cos_a = sin_cos_turns(k * arc.alpha)
            sin_b, cos_b = sin_cos_turns(k * arc.beta)
            middle += a * ((im * cos_a - re * sin_a) - (im * cos_b - re * sin_b))
            radius += b * ((re * cos_a + im * sin_a) + (re * cos_b + im * sin_b))
            slope += 4.0 * math.pi * k * (a + b) * math.sqrt(re * re + im * im)
    # The slope times the blur is Table 2 line 2. Twice Table 2, lines 3 to 6, as for complex
    # factors (Proposition 24): a factor is off by the
    # trigonometry of its atoms and one rounding for each of them.
    total = 2.0 * coefficient_sum(degree)
    factors = (len(atoms.starts) - 1) * 2.0 * TRIG_ERROR + 4.0 * len(atoms.turns) * UNIT
    rounding = total * (factors + NEGLIGIBLE)
    ends = arc.reach + abs(arc.alpha) + abs(arc.beta)
    rounding += degree * UNIT * (40.0 * ends + 8.0 * total)
    return middle, radius + slope * arc.blur + rounding


@kernel
def _enclose(
    atoms: _Atoms, arc: _Arc, level: Level, tol: float, degrees: NDArray[np.int64]
) -> tuple[float, float]:
    """Raise the degree until the bounds leave the level to one side, or are ``tol`` wide."""
    phi = np.empty((degrees[-1], 2))
    done = 0
    best_lower = 0.0
    best_upper = 1.0
    for degree in degrees:
        for k in range(done + 1, degree + 1):
            phi[k - 1, 0], phi[k - 1, 1] = _phi(atoms, k)
        done = degree
        middle, radius = _bounds(atoms, arc, phi, degree)
        best_lower = max(best_lower, middle - radius)
        best_upper = min(best_upper, middle + radius)
        if best_lower >= level.high or best_upper < level.low or best_upper - best_lower <= tol:
            break
    return best_lower, best_upper

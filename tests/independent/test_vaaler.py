"""What Vaaler's bounds are made of: sines, cosines and coefficients."""

import math

import mpmath
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.independent.vaaler import coefficient_sum, coefficients, sin_cos_turns


def test_sines_and_cosines_to_the_claimed_error():
    """The branchless polynomials are within 2e-15 of the truth (exact arguments in turns)."""
    rng = np.random.default_rng(0)
    turns = np.concatenate(
        [rng.uniform(-1, 1, 300), rng.uniform(-(2**17), 2**17, 300), [0.25, 0.5]]
    )
    with mpmath.workdps(40):
        for t in turns.tolist():
            sine, cosine = sin_cos_turns(t)
            angle = 2 * mpmath.pi * mpmath.mpf(t)
            assert abs(mpmath.sin(angle) - sine) < 2e-15
            assert abs(mpmath.cos(angle) - cosine) < 2e-15


@given(st.floats(-0.999, 0.999), st.integers(1, 200))
def test_vaalers_inequality(t: float, degree: int):
    """|psi - V_K| <= F_K / (2K + 2): the theorem that the engine stands on, as it is coded."""
    k = np.arange(1, degree + 1)
    a, b = np.array([coefficients(float(i), degree) for i in k]).T
    vaaler = -np.sum(a * np.sin(2 * np.pi * k * t))
    fejer = (1 + 2 * np.sum(b * (degree + 1) * np.cos(2 * np.pi * k * t))) / (2 * degree + 2)
    psi = t - math.floor(t) - 0.5
    assert abs(psi - vaaler) <= fejer + 1e-12


@given(st.integers(1, 3000))
def test_the_sum_of_the_coefficients(degree: int):
    """A of the budget bounds the sum of a_k + 2 b_k, by not much more than twice."""
    total = sum(
        a + 2 * b for a, b in (coefficients(float(k), degree) for k in range(1, degree + 1))
    )
    assert total <= coefficient_sum(degree) <= 2.5 * total + 2.5

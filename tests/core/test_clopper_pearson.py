"""Clopper and Pearson's bounds, against binomial tails in exact rationals."""

import math
from fractions import Fraction

import mpmath
import pytest

from sklearn_probsr.core.monte_carlo import clopper_pearson


def tail(n: int, k: int, p: Fraction) -> Fraction:
    """Return Pr[Bin(n, p) >= k]."""
    terms = (math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))
    return sum(terms, Fraction(0))


@pytest.mark.parametrize("risk", [Fraction(1, 20), Fraction(1, 2), Fraction(1, 10**6)])
def test_both_tails_hold_and_nothing_is_given_away(risk: Fraction):
    """At the bounds, as the rationals that they are, each tail is at most half the risk."""
    for n in range(19):
        for k in range(n + 1):
            lower, upper = clopper_pearson(k, n, risk)
            below, above = Fraction(lower), Fraction(upper)
            assert 0 <= below <= Fraction(k, max(n, 1)) <= above <= 1 or n == 0
            if k:
                assert tail(n, k, below) <= risk / 2 < tail(n, k, below + Fraction(1, 10**7))
            else:
                assert lower == 0
            if k < n:
                assert tail(n, n - k, 1 - above) <= risk / 2
                assert tail(n, n - k, 1 - above + Fraction(1, 10**7)) > risk / 2
            else:
                assert upper == 1


def decimal_tail(n: int, k: int, p: mpmath.mpf) -> mpmath.mpf:
    """Return Pr[Bin(n, p) >= k], term by term in many digits."""
    term = mpmath.binomial(n, k) * p**k * (1 - p) ** (n - k)
    total = term
    for j in range(k, n):
        term *= (n - j) * p / ((j + 1) * (1 - p))
        total += term
    return total


def test_many_trials():
    """With twenty thousand trials the tails still hold, in arithmetic of 40 digits."""
    n = 20_000
    with mpmath.workdps(40):
        half = mpmath.mpf(1) / 40
        for k in (1, 7, 10_000, 19_123, n - 1, n):
            lower, upper = clopper_pearson(k, n, Fraction(1, 20))
            assert 0.99 * half < decimal_tail(n, k, mpmath.mpf(lower)) <= half
            if k < n:
                assert 0.99 * half < decimal_tail(n, n - k, 1 - mpmath.mpf(upper)) <= half


def test_one_kept_row_more_raises_both_bounds():
    """What makes an enclosure hold whether or not a copy of the instance counts."""
    risk = Fraction(1, 20)
    for n in range(1, 40):
        for k in range(n + 1):
            lower, upper = clopper_pearson(k, n, risk)
            more = clopper_pearson(k + 1, n + 1, risk)
            assert lower <= more[0]
            assert upper <= more[1]

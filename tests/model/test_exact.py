"""Exact numbers."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.model.numbers import (
    decimal_fraction,
    float_above,
    float_below,
    integer_multiples,
)
from tests.strategies import EXTREMES, REALS


@given(st.lists(EXTREMES | REALS | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_integer_multiples_give_the_floats_back(values: list[float]):
    """Each float is its multiple times the unit, exactly, subnormals and extremes included."""
    multiples, unit = integer_multiples(values)
    assert [m * unit for m in multiples] == [Fraction(v) for v in values]


def test_the_unit_is_the_largest_one():
    """Common factors are in the unit, so that lattices come out short."""
    assert integer_multiples([10.0, -15.0, 0.0]) == ([2, -3, 0], Fraction(5))
    assert integer_multiples([0.0, -0.0]) == ([0, 0], Fraction(1))


def test_a_number_means_the_decimal_that_it_prints_as():
    """0.9 is nine tenths, in double and in single precision."""
    for value in (0.9, np.float64(0.9), np.float32(0.9), Decimal("0.9"), Fraction(9, 10)):
        assert decimal_fraction(value) == Fraction(9, 10)
    assert decimal_fraction(1) == 1


@given(st.fractions(0, 1))
def test_neighbouring_floats_enclose(value: Fraction):
    """Rounding down and up gives the nearest floats on each side."""
    below, above = float_below(value), float_above(value)
    assert Fraction(below) <= value <= Fraction(above)
    assert below == above or np.nextafter(below, 2) == above

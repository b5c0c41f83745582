"""Closed forms."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.engines.coins._closed_form import closed_form
from sklearn_probsr.engines.coins._deficits import SubsetSum
from tests.engines.questions import contains
from tests.oracle import subset_count


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(-2, 400))
def test_it_encloses_the_count(values: list[int], capacity: int):
    """Hoeffding's tails and the two extreme atoms hold the exact probability."""
    values.sort(reverse=True)
    truth = Fraction(subset_count(values, capacity), 2 ** len(values))
    assert contains(closed_form(SubsetSum(values, capacity)), truth)


def test_certainty_is_exact():
    """A margin that a tiny weight exceeds is not certainty: 1 + 1e-17 does not fit 1."""
    big, tiny = 10**17, 1
    assert closed_form(SubsetSum([big, tiny], big)).upper < 1
    assert closed_form(SubsetSum([big, tiny], big + 1)).exact == 1
    assert closed_form(SubsetSum([big], -1)).exact == 0
    assert closed_form(SubsetSum([], 0)).exact == 1


def test_hoeffding_settles_a_large_deviation():
    """The paper's d = 1000 example is above 0.999999 by the tail bound alone."""
    assert closed_form(SubsetSum([1] * 999, 749)).lower > 0.999999
    assert closed_form(SubsetSum([1] * 999, 250)).upper < 1e-6

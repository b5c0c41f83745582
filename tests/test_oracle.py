"""The oracle itself, against the plainest brute force."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import Case, brute_force_guarantee, subset_count
from tests.strategies import cases


@given(cases(largest=6), st.data())
def test_the_sum_distribution_agrees_with_every_completion(case: Case, data: st.DataObject):
    """Counting sums and classifying all completions give the same fraction."""
    features = data.draw(st.sets(st.integers(0, case.d - 1)))
    assert case.guarantee(features) == brute_force_guarantee(case, features)


def test_known_counts():
    """Seven of the eight subsets of {1, 2, 4} sum to at most 6."""
    assert subset_count([1, 2, 4], 6) == 7
    case = Case((5, 1, -3, 2, -1), 5, False, (1, 0, 0, 1, 1))
    assert case.best(2) == Fraction(7, 8)
    assert case.minimum_size(Fraction(7, 8)) == 2

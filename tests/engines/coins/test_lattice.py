"""The lattice's dynamic programme."""

from fractions import Fraction
from math import comb

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.engines.coins._deficits import SubsetSum
from sklearn_probsr.engines.coins._lattice import (
    lattice,
    lattice_cost,
    lattice_exact,
    lattice_exact_cost,
    lattice_prefixes,
)
from tests.engines.questions import contains
from tests.oracle import subset_count


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.data())
def test_exact_up_to_53_values(values: list[int], data: st.DataObject):
    """Floats hold multiples of 2^-53 exactly, so the answer is the fraction itself."""
    values.sort(reverse=True)
    question = SubsetSum(values, data.draw(st.integers(0, sum(values))))
    truth = Fraction(subset_count(values, question.capacity), 2 ** len(values))
    assert lattice(question).exact == truth
    assert lattice_exact(question).exact == truth


@given(st.integers(54, 400), st.data())
def test_binomials_beyond(n: int, data: st.DataObject):
    """Past 53 values the enclosure is 13 digits narrow, and the long integers are exact."""
    capacity = data.draw(st.integers(0, n - 1))
    truth = Fraction(sum(comb(n, k) for k in range(capacity + 1)), 2**n)
    found = lattice(SubsetSum([1] * n, capacity))
    assert contains(found, truth)
    assert found.width <= 2e-13
    assert lattice_exact(SubsetSum([1] * n, capacity)).exact == truth


@given(st.integers(1050, 1130), st.integers(0, 14))
def test_tails_below_the_smallest_float(n: int, capacity: int):
    """Where probabilities underflow the enclosure says so, and still holds the truth."""
    truth = Fraction(sum(comb(n, k) for k in range(capacity + 1)), 2**n)
    assert contains(lattice(SubsetSum([1] * n, capacity)), truth)


@given(st.lists(st.integers(1, 6), min_size=3, max_size=12), st.integers(0, 40))
def test_one_programme_gives_every_prefix(values: list[int], capacity: int):
    """Dropping the first k values, for every k, agrees with a programme for each."""
    found = lattice_prefixes(SubsetSum(values, capacity), len(values))
    for k, enclosure in enumerate(found):
        count = subset_count(values[k:], capacity)
        assert enclosure.exact == Fraction(count, 2 ** (len(values) - k))


def test_it_says_where_it_ends():
    """A long lattice is not offered."""
    assert lattice_cost(SubsetSum([2**22, 1], 5)) == np.inf
    assert lattice_exact_cost(SubsetSum([2**22] * 600, 5)) == np.inf

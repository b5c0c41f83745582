"""Enumeration."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.engines.coins._deficits import SubsetSum
from sklearn_probsr.engines.coins._enumeration import (
    enumeration,
    enumeration_cost,
    enumeration_exact,
    enumeration_exact_cost,
)
from tests.engines.questions import contains, gaussian, meet_in_the_middle
from tests.oracle import subset_count

MAGNITUDES = st.one_of(
    st.integers(1, 9),
    st.sampled_from([2**61, 2**70, 2**70 + 1, 3**50, 10**300, 10**300 + 1]),
)


@given(st.lists(MAGNITUDES, max_size=11), st.data())
def test_it_counts_subsets_of_any_magnitude(values: list[int], data: st.DataObject):
    """Exact for short integers, an enclosure for long ones, exact again in the slow count."""
    values.sort(reverse=True)
    subset = data.draw(st.sets(st.sampled_from(range(len(values))))) if values else set()
    capacity = sum(values[i] for i in subset) + data.draw(st.integers(-1, 1))
    truth = Fraction(subset_count(values, capacity), 2 ** len(values))
    question = SubsetSum(values, capacity)
    found = enumeration(question)
    assert contains(found, truth)
    if sum(values) < 2**62:
        assert found.exact == truth
    assert enumeration_exact(question).exact == truth


@pytest.mark.parametrize("n", [20, 27, 33])
def test_gaussian_questions(n: int):
    """Against an independent meet in the middle; near-ties are rare enough to be exact."""
    question = gaussian(np.random.default_rng(n), n)
    assert enumeration(question).exact == meet_in_the_middle(question)


def test_it_says_where_it_ends():
    """Beyond its size the cost is infinite, so the cascade never asks it."""
    assert enumeration_cost(SubsetSum([1] * 44, 3)) < 1
    assert enumeration_cost(SubsetSum([1] * 45, 3)) == np.inf
    assert enumeration_exact_cost(SubsetSum([1] * 33, 3)) == np.inf

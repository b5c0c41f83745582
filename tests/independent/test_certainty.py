"""Fair coins in whole numbers: closed forms, counts by halves, lattices."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.independent.certainty import (
    SubsetSum,
    closed_form,
    count,
    count_cost,
    count_long,
    count_long_cost,
    lattice,
    lattice_cost,
    lattice_long,
    lattice_long_cost,
    lattice_prefixes,
)
from tests.core.questions import contains, gaussian, meet_in_the_middle
from tests.oracle import subset_count


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(-2, 400))
def test_closed_forms_enclose_the_count(values: list[int], capacity: int):
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
    found = count(question)
    assert contains(found, truth)
    if sum(values) < 2**62:
        assert found.exact == truth
    assert count_long(question).exact == truth


@pytest.mark.parametrize("n", [20, 27, 33])
def test_gaussian_questions(n: int):
    """Against an independent meet in the middle; near-ties are rare enough to be exact."""
    question = gaussian(np.random.default_rng(n), n)
    assert count(question).exact == meet_in_the_middle(question)


def test_counts_say_where_they_end():
    """Beyond their size the cost is infinite, so the cascade never asks it."""
    assert count_cost(SubsetSum([1] * 44, 3)) < 1
    assert count_cost(SubsetSum([1] * 45, 3)) == np.inf
    assert count_long_cost(SubsetSum([1] * 33, 3)) == np.inf


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.data())
def test_exact_up_to_53_values(values: list[int], data: st.DataObject):
    """Floats hold multiples of 2^-53 exactly, so the answer is the fraction itself."""
    values.sort(reverse=True)
    question = SubsetSum(values, data.draw(st.integers(0, sum(values))))
    truth = Fraction(subset_count(values, question.capacity), 2 ** len(values))
    assert lattice(question).exact == truth
    assert lattice_long(question).exact == truth


@given(st.integers(54, 400), st.data())
def test_binomials_beyond(n: int, data: st.DataObject):
    """Past 53 values the enclosure is 13 digits narrow, and the long integers are exact."""
    capacity = data.draw(st.integers(0, n - 1))
    truth = Fraction(sum(comb(n, k) for k in range(capacity + 1)), 2**n)
    found = lattice(SubsetSum([1] * n, capacity))
    assert contains(found, truth)
    assert found.width <= 2e-13
    assert lattice_long(SubsetSum([1] * n, capacity)).exact == truth


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
        fit = subset_count(values[k:], capacity)
        assert enclosure.exact == Fraction(fit, 2 ** (len(values) - k))


def test_lattices_say_where_they_end():
    """A long lattice is not offered."""
    assert lattice_cost(SubsetSum([2**22, 1], 5)) == np.inf
    assert lattice_long_cost(SubsetSum([2**22] * 600, 5)) == np.inf

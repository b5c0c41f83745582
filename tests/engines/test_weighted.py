"""Sums of values with chances of their own."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr._deficits import SubsetSum
from sklearn_probsr.engines import _weighted
from sklearn_probsr.engines._fourier import fourier
from sklearn_probsr.engines._weighted import WeightedSum, enclose_weighted
from tests.engines.questions import contains

MAGNITUDES = st.sampled_from([1, 2, 3, 5, 7, 2**30, 2**30 + 1, 2**60, 2**61 - 1, 2**200, 10**300])
CHANCES = st.integers(1, 99)


def truth(question: WeightedSum) -> Fraction:
    """Return the probability from all subsets."""
    total = Fraction(0)
    for mask in range(2 ** len(question.values)):
        weight, size = Fraction(1), 0
        for i, (v, p) in enumerate(zip(question.values, question.chances, strict=True)):
            there = mask >> i & 1
            chance = Fraction(p, question.denominator)
            weight *= chance if there else 1 - chance
            size += v if there else 0
        total += weight * (size <= question.capacity)
    return total


@settings(max_examples=300)
@given(st.lists(st.tuples(MAGNITUDES, CHANCES), min_size=1, max_size=8), st.data())
def test_every_engine_encloses(parts: list[tuple[int, int]], data: st.DataObject):
    """Closed form, counting, Fourier at several degrees, and the exact sum, on any magnitudes."""
    parts.sort(reverse=True)
    values, chances = [v for v, _ in parts], [p for _, p in parts]
    subset = data.draw(st.sets(st.sampled_from(range(len(values)))))
    capacity = sum(values[i] for i in subset) + data.draw(st.integers(-1, 1))
    question = WeightedSum(values, chances, 100, capacity)
    exact = truth(question)
    assert _weighted._exactly(question).exact == exact
    assert contains(_weighted._closed_form(question), exact)
    if 0 <= capacity < question.total:
        assert contains(_weighted._counted(question), exact)
        for degree in (2**9, 2**12):
            assert contains(_weighted._fourier(question, 0.0, 2.0, 0.0, degree), exact)
    assert enclose_weighted(question, None, 1e-4).exact == exact


@pytest.mark.parametrize("n", [30, 36])
def test_counting_and_fourier_agree(n: int):
    """Two engines that share no code enclose the same number."""
    rng = np.random.default_rng(n)
    values = sorted((int(v * 2**40) + 1 for v in rng.exponential(size=n)), reverse=True)
    chances = rng.integers(10, 990, n).tolist()
    mean = sum(v * p for v, p in zip(values, chances, strict=True)) // 1000
    for shift in (-2, 0, 1, 3):
        question = WeightedSum(values, chances, 1000, mean + shift * 2**41)
        counted = _weighted._counted(question)
        analysed = _weighted._fourier(question, 0.0, 2.0, 1e-5, 2**15)
        assert max(counted.lower, analysed.lower) <= min(counted.upper, analysed.upper)
        assert counted.width < 1e-9
        assert analysed.width < 1e-2


def test_fair_coins_agree_with_the_real_engine():
    """With chances of 1/2 the complex bounds meet those of the cosines."""
    rng = np.random.default_rng(0)
    values = sorted((int(v) for v in rng.integers(1, 2**50, 200)), reverse=True)
    capacity = sum(values) // 2 + 2**52
    real = fourier(SubsetSum(values, capacity), 0.0, 2.0, 1e-5, 2**17)
    question = WeightedSum(values, [1] * 200, 2, capacity)
    found = enclose_weighted(question, None, 1e-4)
    assert max(found.lower, real.lower) <= min(found.upper, real.upper)
    assert found.width <= 1e-4
    assert (enclose_weighted(question, Fraction(1, 2), 0.0) >= 0.5).decided

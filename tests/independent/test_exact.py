"""Sums of independent costs with finitely many values."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr.extend import Enclosure
from sklearn_probsr.independent import exact as engines
from sklearn_probsr.independent.exact import FiniteSum, Part, enclose_finite
from tests.core.questions import contains
from tests.interpreted import examples

MAGNITUDES = st.sampled_from([1, 2, 3, 5, 7, 2**30, 2**30 + 1, 2**60, 2**61 - 1, 2**200, 10**300])


@st.composite
def parts(draw: st.DrawFn) -> Part:
    """Draw two to four values from 0 on, and chances over 100."""
    values = sorted({0, *draw(st.lists(MAGNITUDES, min_size=1, max_size=3))})
    cuts = draw(
        st.lists(
            st.integers(1, 99), min_size=len(values) - 1, max_size=len(values) - 1, unique=True
        )
    )
    ends = [0, *sorted(cuts), 100]
    return Part(tuple(values), tuple(b - a for a, b in pairwise(ends)))


def coin(value: int, chance: int, denominator: int) -> Part:
    """Return a value that is there or not."""
    return Part((0, value), (denominator - chance, chance))


def truth(question: FiniteSum) -> Fraction:
    """Return the probability from all combinations."""
    total = Fraction(0)
    for choice in product(*(range(len(part.values)) for part in question.parts)):
        weight, size = Fraction(1), 0
        for part, j in zip(question.parts, choice, strict=True):
            weight *= Fraction(part.chances[j], question.denominator)
            size += part.values[j]
        total += weight * (size <= question.capacity)
    return total


@settings(max_examples=examples(300))
@given(st.lists(parts(), min_size=1, max_size=5), st.data())
def test_every_engine_encloses(drawn: list[Part], data: st.DataObject):
    """Closed form, lattice, counting, and the exact convolution."""
    chosen = [data.draw(st.sampled_from(part.values)) for part in drawn]
    capacity = sum(chosen) + data.draw(st.integers(-1, 1))
    question = FiniteSum(drawn, 100, capacity)
    exact = truth(question)
    assert engines._convolution(question).exact == exact
    assert contains(engines._closed_form(question), exact)
    if 0 <= capacity < question.total:
        assert contains(engines._counted(question), exact)
        if capacity < 2**20:
            assert contains(engines._lattice(question), exact)
    assert enclose_finite(question, None, 1e-4).exact == exact


@st.composite
def rare(draw: st.DrawFn) -> Part:
    """Draw a coin that almost never shows its least value."""
    chance = draw(st.integers(1, 999)) * 10 ** (400 - draw(st.integers(155, 165)))
    return Part((0, draw(st.integers(5, 9))), (chance, 10**400 - chance))


@settings(max_examples=examples(200))
@given(st.lists(rare(), min_size=2, max_size=2), st.data())
def test_probabilities_below_the_smallest_normal_float_are_enclosed(
    rares: list[Part], data: st.DataObject
):
    """Products of chances that underflow on the way are off by more than a relative error."""
    chances = data.draw(st.lists(st.integers(1, 99), min_size=1, max_size=6))
    coins = [coin(1, p * 10**398, 10**400) for p in chances]
    question = FiniteSum([*rares, *coins], 10**400, data.draw(st.integers(0, 4)))
    exact = truth(question)
    assert contains(engines._closed_form(question), exact)
    assert contains(engines._counted(question), exact)
    assert contains(engines._lattice(question), exact)


@pytest.mark.parametrize("engine", [engines._counted, engines._lattice])
def test_a_product_of_rare_chances(engine: Callable[[FiniteSum], Enclosure]):
    """Ten coins halve a subnormal product of two chances, and most of it comes back in a sum."""
    whole = 10**170
    rares = [Part((0, 9), (p, whole - p)) for p in (3 * 10**13, 7 * 10**8)]
    question = FiniteSum([*rares, *[coin(1, whole // 2, whole)] * 10], whole, 8)
    exact = Fraction("2.1e-318") * Fraction(2**10 - 11, 2**10)
    assert truth(question) == exact
    assert contains(engine(question), exact)

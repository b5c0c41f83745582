"""One sum of fair coins by its characteristic function, also where nothing exact reaches."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.extend import Enclosure
from sklearn_probsr.independent import uniform
from sklearn_probsr.independent.certainty import SubsetSum
from sklearn_probsr.independent.level import ANY, Level
from sklearn_probsr.independent.ranks import count_heavy
from sklearn_probsr.independent.uniform import enclose_sum
from tests.core.questions import contains, gaussian, meet_in_the_middle, perturbed
from tests.interpreted import long_loops
from tests.oracle import subset_count


def narrow(question: SubsetSum, tol: float = 1e-4, degree: int = 2**17):
    """Ask for a width, not for a level."""
    return enclose_sum(question, ANY, tol, degree)


@long_loops
@pytest.mark.parametrize("seed", range(8))
def test_gaussian_values_against_an_exact_count(seed: int):
    """34 to 38 values, counted exactly by meeting in the middle."""
    rng = np.random.default_rng(seed)
    question = gaussian(rng, 34 + seed % 5)
    truth = meet_in_the_middle(question)
    for tol in (1e-2, 1e-4):
        found = narrow(question, tol)
        assert contains(found, truth)
        assert found.width <= tol


@long_loops
@pytest.mark.parametrize("n", [200, 300, 500])
@pytest.mark.parametrize("seed", range(4))
def test_integers_plus_noise_against_a_dynamic_programme(n: int, seed: int):
    """The lattice is hidden by noise; a programme on the integers knows the truth."""
    question, truth = perturbed(np.random.default_rng(100 * n + seed), n, largest=40)
    found = narrow(question)
    assert contains(found, truth)
    assert found.width <= 1e-4


@given(st.lists(st.integers(1, 30), min_size=1, max_size=14), st.integers(-1, 400), st.data())
def test_few_values_with_heavy_atoms(values: list[int], capacity: int, data: st.DataObject):
    """Ties and duplicates: an atom at the threshold is inside the gap, never on one side."""
    values.sort(reverse=True)
    truth = Fraction(subset_count(values, capacity), 2 ** len(values))
    degree = data.draw(st.sampled_from([64, 512, 4096]))
    assert contains(narrow(SubsetSum(values, capacity), 0.0, degree), truth)


MAGNITUDES = st.sampled_from([1, 2, 3, 7, 2**30, 2**30 + 1, 2**60, 2**61 - 1, 2**200, 10**300])


@given(st.lists(MAGNITUDES, min_size=1, max_size=12), st.data())
def test_values_of_any_magnitude(values: list[int], data: st.DataObject):
    """Half a turn is told in integers: no rounding puts a threshold on the wrong side of it."""
    values.sort(reverse=True)
    subset = data.draw(st.sets(st.sampled_from(range(len(values)))))
    capacity = sum(values[i] for i in subset) + data.draw(st.integers(-1, 1))
    truth = Fraction(subset_count(values, capacity), 2 ** len(values))
    question = SubsetSum(values, capacity)
    assert contains(narrow(question, 0.0, 512), truth)
    for k, enclosure in enumerate(uniform._prefixes(values, capacity, len(values) - 1, 256)):
        count = subset_count(values[k:], capacity)
        assert contains(enclosure, Fraction(count, 2 ** (len(values) - k)))


def test_a_threshold_just_inside_half_a_turn():
    """Three huge values, of which at most one may be absent: 7/8, not certainty."""
    rest = [64 + i for i in range(50)]
    question = SubsetSum([64 * 2**60] * 3 + sorted(rest, reverse=True), 3 * 64 * 2**60 - 1)
    assert contains(narrow(question), Fraction(7, 8))


@long_loops
def test_heavy_values_are_taken_case_by_case():
    """A heavy value that stays free does not make the enclosure of the rest useless."""
    question, truth = perturbed(np.random.default_rng(1), 80, largest=5)
    heavy = SubsetSum([10**9 * question.total, *question.values], question.capacity)
    found = narrow(heavy)
    assert contains(found, truth / 2)
    assert found.width < 1e-4


@long_loops
@given(st.integers(1, 300), st.integers(1, 30))
def test_one_heavy_value(n: int, seed: int):
    """A period that is much longer than the rest of the spread stays sound."""
    question, _ = perturbed(np.random.default_rng(seed), n, largest=3)
    heavy = 1000 * question.total
    with_heavy = SubsetSum([heavy, *question.values], question.capacity)
    # the heavy one must be left out, and the others must fit
    half = narrow(with_heavy, 1e-3, 2**12)
    alone = narrow(question, 1e-3)
    assert half.lower <= alone.upper / 2 <= alone.upper
    assert half.upper >= alone.lower / 2


@long_loops
def test_it_stops_when_a_level_is_settled():
    """Asked for a level only, the enclosure is as wide as the question allows."""
    question = gaussian(np.random.default_rng(5), 200)
    truth = narrow(question)
    level = truth.upper - 0.3 if truth.upper > 0.5 else truth.lower + 0.3
    found = enclose_sum(question, Level(level, level), 0.0, 2**17)
    assert (found >= level).decided
    assert found.width > truth.width


def test_a_threshold_far_out_is_settled_by_the_tail():
    """Beyond half a period Hoeffding's bound is the answer."""
    values = [1] * 2000
    assert enclose_sum(SubsetSum(values, 1400), ANY, 0, 256).lower > 1 - 2e-10
    assert enclose_sum(SubsetSum(values, 600), ANY, 0, 256).upper < 2e-10


@long_loops
@pytest.mark.parametrize("largest", [9, 2**55])
def test_prefixes_agree_with_single_questions(largest: int):
    """The curve's enclosures hold the exact probability at every size."""
    rng = np.random.default_rng(3)
    values = [int(v) for v in rng.integers(1, largest, 26)]
    question = SubsetSum(values, sum(values) // 2 + 3)
    found = uniform._prefixes(values, question.capacity, 20, 2**12)
    for k, enclosure in enumerate(found):
        part = SubsetSum(values[k:], question.capacity)
        assert contains(enclosure, meet_in_the_middle(part))
        assert enclosure.width < 2e-3 or largest == 9


def rounded_up(n: int) -> list[float]:
    """Return numbers up to 1 whose sum, one after the other, is rounded up as far as can be."""
    numbers, total = [1.0], 1.0
    while len(numbers) < n:
        step = math.ulp(total + 1.0)
        # Just above the middle between two floats, below 1 by little.
        numbers.append(min(1.0 - step / 2 + 2.0**-53, 1.0))
        total += numbers[-1]
    return numbers


def test_an_average_over_cases_covers_its_rounding(monkeypatch: pytest.MonkeyPatch):
    """64 cases whose lower bounds are rounded up whenever one is added."""
    numbers = rounded_up(64)
    exact = sum(map(Fraction, numbers)) / 64
    assert Fraction(sum(numbers)) / 64 - exact > Fraction(1, 2**50)
    known = (Enclosure(number, 1.0) for number in numbers)
    monkeypatch.setattr(uniform, "closed_form", lambda _: next(known))
    question = SubsetSum([2**30, 2**29, 2**28, 2**27, 2**26, 2**25] + [1] * 500, 200)
    found = enclose_sum(question, ANY, 1.0, 64)
    assert next(known, None) is None
    assert exact - Fraction(1, 2**46) <= Fraction(found.lower) <= exact


@long_loops
def test_cases_are_not_split_again():
    """Values that fall by a third each are heavy all the way down: six of them are split, once."""
    values = [3**k for k in range(60, 0, -1)]
    for capacity in (sum(values) // 2, sum(values) - 5):
        start = time.process_time()
        found = enclose_sum(SubsetSum(values, capacity), ANY, 1e-6, 2**12)
        assert time.process_time() - start < 10
        assert contains(found, Fraction(_fitting(values, capacity), 2**60))


def _fitting(values: list[int], capacity: int) -> int:
    """Count subsets of values of which each is more than what follows together."""
    fit = 0
    for i, v in enumerate(values):
        if capacity >= v:
            fit += 2 ** (len(values) - i - 1)  # all that leave it out
            capacity -= v
    return fit + 1


def test_how_many_values_are_heavy():
    """After them a sixteenth of the squares is left, or less; that may take several."""
    for values, many in (
        ([100, 100, 100, 3, 2, 2, 1, 1], 3),
        ([100, 90, 80, 70, 60], 0),
        ([1000, 1], 1),
        ([1], 0),
        ([10**300, 10**200, 10**100, 5, 4, 4], 3),
    ):
        assert count_heavy([v * v for v in values]) == many
    values = [100, 100, 100, 3, 2, 2, 1, 1]
    for capacity in (4, 103, 205, 301):
        truth = Fraction(subset_count(values, capacity), 2**8)
        assert contains(narrow(SubsetSum(values, capacity)), truth)

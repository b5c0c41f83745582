"""The Fourier engine, on sizes that the exact engines of the package do not reach."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.engines._level import ANY, Level
from sklearn_probsr.engines.coins import _fourier
from sklearn_probsr.engines.coins._deficits import SubsetSum
from sklearn_probsr.engines.coins._fourier import fourier, fourier_prefixes
from sklearn_probsr.extend import Enclosure
from tests.engines.questions import contains, gaussian, meet_in_the_middle, perturbed
from tests.interpreted import long_loops
from tests.oracle import subset_count


def narrow(question: SubsetSum, tol: float = 1e-4, degree: int = 2**17):
    """Ask for a width, not for a level."""
    return fourier(question, ANY, tol, degree)


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
    for splits in (0, 2):
        assert contains(fourier(question, ANY, 0.0, 512, splits), truth)
    for k, enclosure in enumerate(fourier_prefixes(question, len(values) - 1, 256)):
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
    found = fourier(question, Level(level, level), 0.0, 2**17)
    assert (found >= level).decided
    assert found.width > truth.width


def test_a_threshold_far_out_is_settled_by_the_tail():
    """Beyond half a period Hoeffding's bound is the answer."""
    values = [1] * 2000
    assert fourier(SubsetSum(values, 1400), ANY, 0, 256).lower > 1 - 2e-10
    assert fourier(SubsetSum(values, 600), ANY, 0, 256).upper < 2e-10


@long_loops
@pytest.mark.parametrize("largest", [9, 2**55])
def test_prefixes_agree_with_single_questions(largest: int):
    """The curve's enclosures hold the exact probability at every size."""
    rng = np.random.default_rng(3)
    values = [int(v) for v in rng.integers(1, largest, 26)]
    question = SubsetSum(values, sum(values) // 2 + 3)
    found = fourier_prefixes(question, 20, 2**12)
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
    monkeypatch.setattr(_fourier, "fourier", lambda *_: next(known))
    question = SubsetSum([64, 32, 16, 8, 4, 2] + [1] * 500, 200)
    found = _fourier._by_cases(question, 6, 1e-6, 64, 0)
    assert next(known, None) is None
    assert exact - Fraction(1, 2**46) <= Fraction(found.lower) <= exact


def test_values_that_are_heavy_only_together():
    """The last of the largest values must outweigh what follows; those before it need not."""
    values = [100, 100, 100, 3, 2, 2, 1, 1]
    assert _fourier._heavy(values, 6) == 3
    assert _fourier._heavy([100, 90, 80, 70, 60], 6) == 0
    for capacity in (4, 103, 205, 301):
        truth = Fraction(subset_count(values, capacity), 2**8)
        assert contains(narrow(SubsetSum(values, capacity)), truth)

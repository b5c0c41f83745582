"""The coupled Monte Carlo estimator."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom

from sklearn_probsr import LinearModel, sufficient_reason, sufficient_reasons
from sklearn_probsr.core.monte_carlo import coupled_sizes, sample_size
from sklearn_probsr.independent.certainty import Instance
from tests.interpreted import long_loops
from tests.oracle import Case
from tests.strategies import cases, models


def failure(samples: int, delta: str, epsilon: str) -> float:
    """Return the design's binomial condition, written out."""
    level, slack = Fraction(delta), Fraction(epsilon)
    needed = -(-level * samples // 1)
    above, below = level + slack, level - slack
    chance = float(binom.sf(int(needed) - 1, samples, float(below))) if below > 0 else 0.0
    return chance + (float(binom.cdf(int(needed) - 1, samples, float(above))) if above < 1 else 0.0)


@pytest.mark.parametrize(
    ("delta", "epsilon", "gamma"),
    [("0.95", "0.1", 0.01), ("0.9", "0.05", 0.001), ("0.5", "0.1", 0.05), ("0.99", "0.02", 1e-4)],
)
def test_the_sample_size_is_the_least_that_holds_for_good(delta: str, epsilon: str, gamma: float):
    """From M on the condition holds; at M - 1 it does not."""
    m = sample_size(Fraction(delta), Fraction(epsilon), gamma)
    assert failure(m - 1, delta, epsilon) > gamma
    assert all(failure(k, delta, epsilon) <= gamma for k in range(m, m + 300))


def test_sample_sizes_that_are_known():
    """64 samples where the published algorithm draws 3.0e8 in each of nine steps."""
    assert sample_size(Fraction("0.95"), Fraction("0.1"), 0.01) == 64
    assert sample_size(Fraction(0), Fraction("0.1"), 0.01) == 1
    assert 40 <= sample_size(Fraction(1), Fraction("0.1"), 0.01) <= 60
    assert sample_size(Fraction("0.5"), Fraction("0.0001"), 1e-6) > 4_000_000


@given(cases(largest=8))
def test_one_batch_follows_the_whole_curve(case: Case):
    """The empirical curve is within a DKW band of the exact one.

    Each example's band fails with probability 1e-9 (and the seed is fixed).
    """
    instance = Instance(models(case), np.array(case.x, dtype=bool))
    members = [i for i in instance.order.tolist() if instance.helps[i]]
    others = [
        v for i, v in enumerate(instance.magnitudes) if v and not instance.helps[i]
    ]  # fmt: skip
    samples = 4000
    sizes = coupled_sizes(
        [instance.magnitudes[i] for i in members],
        others,
        instance.subset_sum(()).capacity,
        samples,
        np.random.default_rng(0),
    )
    assert sizes.max() <= len(members)
    band = np.sqrt(np.log(2 / 1e-9) / (2 * samples))
    for k in range(len(members) + 1):
        assert abs(np.mean(sizes <= k) - float(case.guarantee(members[:k]))) <= band


@long_loops
def test_it_meets_epsilon_and_gamma():
    """Of 2,000 runs at gamma = 0.05 no more fail than chance allows.

    If each run failed with probability exactly 0.05, more than 140 failures would have
    probability 2e-5: that is the false-alarm rate of this test (and its seed is fixed).
    """
    rng = np.random.default_rng(7)
    epsilon, gamma, delta = 0.05, 0.05, 0.9
    model = LinearModel(rng.standard_normal(10), 0.3)
    rows = np.repeat(rng.integers(0, 2, (20, 10)), 100, axis=0)
    found = sufficient_reasons(
        model, rows, delta=delta, method="monte-carlo", epsilon=epsilon, gamma=gamma, random_state=1
    )
    failures = 0
    for i in range(len(rows)):
        case = Case(tuple(model.weights), model.threshold, False, tuple(rows[i].tolist()))
        if i % 100 == 0:
            order = Instance(model, rows[i].astype(bool)).order.tolist()
            exact = [float(case.guarantee(order[:k])) for k in range(len(order) + 1)]
        k = found.size[i]
        below_ok = exact[k] >= delta - epsilon
        minimum_ok = k == 0 or exact[k - 1] < delta + epsilon
        failures += not (below_ok and minimum_ok)
    assert failures <= 140


def test_one_batch_is_drawn_and_reported():
    """The number of samples is the condition's, whatever d; the enclosure carries 1 - gamma."""
    model = LinearModel(np.random.default_rng(0).standard_normal(200), 0.0)
    x = np.ones(200, dtype=int)
    reason = sufficient_reason(
        model, x, method="monte-carlo", epsilon=0.1, gamma=0.01, random_state=0
    )
    assert reason.samples == 64
    assert reason.guarantee.confidence == 0.99
    assert reason.guarantee.lower == 0.85
    assert reason.minimality == "near-minimum"
    assert reason.epsilon == 0.1


def test_the_seed_decides():
    """The same seed gives the same reasons, as an integer, a generator or a RandomState."""
    rng = np.random.default_rng(0)
    model, rows = LinearModel(rng.standard_normal(40), 0.0), rng.integers(0, 2, (30, 40))

    def masks(seed):
        return sufficient_reasons(
            model, rows, method="monte-carlo", epsilon=0.1, gamma=0.1, random_state=seed
        ).mask

    assert (masks(3) == masks(3)).all()
    assert (masks(np.random.default_rng(3)) == masks(3)).all()
    legacy = np.random.RandomState
    assert (masks(legacy(3)) == masks(legacy(3))).all()
    assert (masks(3) != masks(4)).any()


def test_defaults():
    """Epsilon 0.01 and gamma 1e-6 unless given."""
    reason = sufficient_reason(
        LinearModel([3, 2, 1], 3), [1, 1, 1], method="monte-carlo", random_state=0
    )
    assert reason.samples == sample_size(Fraction("0.95"), Fraction("0.01"), 1e-6)
    assert reason.guarantee.confidence == 1 - 1e-6


def test_sums_beyond_53_bits_are_compared_exactly():
    """1e300 beside 1e-300: a margin that only the tiny weight exceeds is exceeded."""
    members, others, capacity = [10**300, 1], [], 10**300
    sizes = coupled_sizes(members, others, capacity, 1000, np.random.default_rng(0))
    assert set(sizes.tolist()) == {0, 1}
    assert 150 < np.count_nonzero(sizes == 1) < 350

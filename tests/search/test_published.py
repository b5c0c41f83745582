"""Algorithms 1 and 2 as published."""

from fractions import Fraction

import numpy as np
import pytest

from sklearn_probsr import LinearModel, sufficient_reason
from sklearn_probsr.engines.coins._deficits import Instance
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws.coins import _published
from sklearn_probsr.laws.coins._published import (
    linear_monte_carlo_explainer,
    monte_carlo_estimation,
    paper_sample_size,
)
from tests.oracle import Case

WEIGHTS, X = (5.0, 1.0, -3.0, 2.0, -1.0), (1, 0, 0, 1, 1)


def instance() -> Instance:
    return Instance(LinearModel(WEIGHTS, 5), np.array(X, dtype=bool))


def test_the_number_of_samples():
    """3.0e8 a step at d = 500, epsilon 0.1, gamma 0.01; 3.1e9 for a success of 1 - gamma."""
    assert paper_sample_size(500, 0.1, 0.01) == pytest.approx(3.0e8, rel=0.02)
    assert paper_sample_size(500, 0.1, 0.01 / 3) == pytest.approx(3.1e9, rel=0.02)
    assert paper_sample_size(1, 0.1, 0.1) > 0


def test_estimation_draws_what_it_says_and_estimates(monkeypatch: pytest.MonkeyPatch):
    """Algorithm 2 is unbiased: 200,000 samples are within 6 standard errors (2e-9) of 7/8."""
    drawn = []
    original = _published._completions

    def counting(row, fixed, count, rng):
        drawn.append(count)
        return original(row, fixed, count, rng)

    monkeypatch.setattr(_published, "_completions", counting)
    estimate = monte_carlo_estimation(instance(), [0, 2], 200_000, np.random.default_rng(0))
    assert sum(drawn) == 200_000
    assert abs(estimate - 7 / 8) < 6 * np.sqrt(7 / 64 / 200_000)


def test_every_step_draws_m_samples(monkeypatch: pytest.MonkeyPatch):
    """The binary search really draws M completions in each of at most floor(log2 d) + 1 steps."""
    calls = []

    def estimation(inst, fixed, samples, rng):
        calls.append(samples)
        return monte_carlo_estimation(inst, fixed, samples, rng)

    monkeypatch.setattr(_published, "monte_carlo_estimation", estimation)
    *_, samples = linear_monte_carlo_explainer(instance(), 0.9, 0.1, 0.2, np.random.default_rng(0))
    assert 1 <= len(calls) <= 3
    assert calls == [paper_sample_size(5, 0.1, 0.2)] * len(calls)
    assert samples == sum(calls)


def test_it_returns_a_minimum_set_for_its_delta_star():
    """Of 40 runs at gamma = 0.1 (proved success 0.7) at most 20 fail.

    If each failed with probability 0.3, more than 20 failures would have probability 0.3%; the
    seed is fixed.
    """
    case = Case(WEIGHTS, 5, False, X)
    failures = 0
    for seed in range(40):
        level, features, _ = linear_monte_carlo_explainer(
            instance(), 0.85, 0.1, 0.1, np.random.default_rng(seed)
        )
        assert 0.75 <= level <= 0.95
        failures += len(features) != case.minimum_size(Fraction(level))
    assert failures <= 20


def test_delta_star_is_clipped():
    """Above 1 no set would do; clipped, the sure one does."""
    for seed in range(10):
        level, features, _ = linear_monte_carlo_explainer(
            instance(), 0.99, 0.4, 0.5, np.random.default_rng(seed)
        )
        assert 0 <= level <= 1
        assert len(features) <= 3


def test_one_feature():
    """d = 1 is mended: M is not 0 * -inf."""
    reason = sufficient_reason(
        LinearModel([1.0], 1.0), [1], method="paper", epsilon=0.2, gamma=0.2, random_state=0
    )
    assert reason.features == (0,)


def test_through_the_public_door():
    """Method "paper": the guarantee is delta* with the paper's confidence, 1 - 3 gamma."""
    reason = sufficient_reason(
        LinearModel(WEIGHTS, 5),
        X,
        delta=0.8,
        method="paper",
        epsilon=0.1,
        gamma=0.1,
        random_state=3,
    )
    assert reason.method == "paper"
    assert reason.guarantee.confidence == pytest.approx(0.7)
    assert 0.7 - 0.1 * 0.1 / 3 <= reason.guarantee.lower <= 0.9
    assert reason.minimality == "near-minimum"
    assert reason.epsilon == 0.1
    assert reason.samples % paper_sample_size(5, 0.1, 0.1) == 0
    assert "with confidence 0.7" in str(reason)


def test_it_knows_no_constraints():
    """The published algorithm has none; the error says which methods do."""
    message = (
        "method='paper' knows no include, exclude, max_size, present_only or supporting_only. "
        "Use method='certified' or 'monte-carlo' with them."
    )
    with pytest.raises(InvalidInputError, match=f"^{message}$"):
        sufficient_reason(LinearModel(WEIGHTS, 5), X, method="paper", include=[0])

"""Heads: bounds shared by the rows of a class, against engines that see each set alone."""

import numpy as np
import pytest

from sklearn_probsr import LinearModel, Product
from sklearn_probsr._costs import Costs
from sklearn_probsr._deficits import Instance
from sklearn_probsr.engines._weighted import enclose_weighted

KINDS = ("normal", "student", "heavy", "integers")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [26, 33, 150])
def test_bounds_agree_with_those_of_the_set_alone(kind: str, d: int):
    """Two engines enclose the same number, for random sets, certain features and all classes."""
    rng = np.random.default_rng(d)
    weights = {
        "normal": rng.standard_normal(d),
        "student": rng.standard_t(2, d),
        "heavy": np.append(rng.standard_normal(d - 1), 200.0),
        "integers": rng.integers(-9, 10, d).astype(float),
    }[kind]
    chances = np.round(rng.uniform(0, 1, d), 2)
    chances[:2] = 0.0, 1.0
    model = LinearModel(weights, float(weights @ chances))
    for _ in range(8):
        costs = Costs(Instance(model, rng.random(d) < chances), Product(chances))
        assert costs._shared is not None
        fixed = frozenset(i for i in costs._shared.positions if rng.random() < 0.15)
        shared = costs._by_head(fixed)
        alone = enclose_weighted(costs.question(fixed), None, 1e-4)
        assert shared is not None
        assert max(shared.lower, alone.lower) <= min(shared.upper, alone.upper)


def test_a_head_of_500_features_is_narrow():
    """Beyond a few hundred features the shared bounds are all that most sets need."""
    rng = np.random.default_rng(0)
    chances = np.round(rng.uniform(0.05, 0.95, 500), 3)
    weights = rng.standard_normal(500)
    model = LinearModel(weights, float(weights @ chances))
    costs = Costs(Instance(model, rng.random(500) < chances), Product(chances))
    assert costs._shared is not None
    found = costs._by_head(frozenset(list(costs._shared.positions)[:10]))
    assert found is not None
    assert found.width < 5e-4
    assert costs._by_head(frozenset(range(500))) is None

"""Spectra: bounds that rows share, against engines that see each set alone."""

import numpy as np
import pytest

from sklearn_probsr import LinearModel, Marginals, Product, Unit, law_of
from sklearn_probsr.engines.sums._finite import enclose_finite
from sklearn_probsr.laws._costs import Costs

KINDS = ("normal", "student", "heavy", "integers")


def costs_of(model: LinearModel, row: np.ndarray, distribution: Product | Marginals) -> Costs:
    view = law_of(model, distribution).view(row)
    assert isinstance(view, Costs)
    return view


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
    model, law = LinearModel(weights, float(weights @ chances)), Product(chances)
    for _ in range(8):
        costs = costs_of(model, rng.random(d) < chances, law)
        spectra = costs._spectra(False)
        assert spectra is not None
        fixed = frozenset(i for i in spectra.positions if rng.random() < 0.15)
        shared = costs._by_spectrum(fixed)
        alone = enclose_finite(costs.question(fixed), None, 1e-4)
        assert shared is not None
        assert max(shared.lower, alone.lower) <= min(shared.upper, alone.upper)


def test_a_head_of_500_features_is_narrow():
    """Beyond a few hundred features the shared bounds are all that most sets need."""
    rng = np.random.default_rng(0)
    chances = np.round(rng.uniform(0.05, 0.95, 500), 3)
    weights = rng.standard_normal(500)
    model = LinearModel(weights, float(weights @ chances))
    costs = costs_of(model, rng.random(500) < chances, Product(chances))
    spectra = costs._spectra(False)
    assert spectra is not None
    found = costs._by_spectrum(frozenset(list(spectra.positions)[:10]))
    assert found is not None
    assert found.width < 5e-4


@pytest.mark.parametrize("size", [1, 5, 12, 20, 28])
def test_spectra_of_real_values_agree_with_counting(size: int):
    """Empirical marginals of 60 rows: the shared tables and the set alone enclose one number."""
    rng = np.random.default_rng(size)
    data = rng.standard_t(3, (60, 30)) * 10.0 ** rng.integers(-2, 3, 30)
    weights = rng.standard_normal(30) / data.std(axis=0)
    units = [Unit.real(f"r{i}", i) for i in range(30)]
    model = LinearModel(weights, float((data @ weights).mean()), units=units)
    law = Marginals.fit(data)
    for row in data[:6]:
        costs = costs_of(model, row, law)
        fixed = frozenset(rng.choice(30, size, replace=False).tolist())
        shared, alone = costs._by_spectrum(fixed), enclose_finite(costs.question(fixed), None, 1e-3)
        assert shared is not None
        assert max(shared.lower, alone.lower) <= min(shared.upper, alone.upper)
        assert shared.width < 2e-2

"""Strolls on spectra of few nodes, against all sets."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sklearn_probsr import LinearModel, Product, sufficient_reasons
from sklearn_probsr.laws.sums import _spectra
from tests.interpreted import cases
from tests.oracle import Case, product_guarantee


@pytest.mark.parametrize("seed", cases(6, 2))
def test_sets_that_strolls_find(seed: int, monkeypatch: pytest.MonkeyPatch):
    """Each reaches the level, nothing can be left out of it, and no bound on its size is too large.

    Models of few features are counted: the limit is set so that these are not.
    """
    monkeypatch.setattr(_spectra, "_FEW", 0)
    monkeypatch.setattr(_spectra, "_MOST_CELLS", 2**12)
    rng = np.random.default_rng(seed)
    weights = rng.integers(-9, 10, 6).astype(float)
    tenths = rng.integers(1, 10, 6)
    p = [Fraction(int(t), 10) for t in tenths]
    model = LinearModel(weights, float(np.round(weights @ tenths / 10)))
    rows = rng.integers(0, 2, (4, 6))
    found = sufficient_reasons(model, rows, delta=0.8, distribution=Product(tenths / 10))
    for row, reason in zip(rows, found, strict=True):
        case = Case(tuple(weights), model.threshold, False, tuple(row.tolist()))
        reached = [
            set(chosen)
            for size in range(7)
            for chosen in combinations(range(6), size)
            if product_guarantee(case, chosen, p) >= Fraction(8, 10)
        ]
        chosen = set(reason.features)
        assert chosen in reached
        assert not any(other < chosen for other in reached)
        assert reason.size_lower <= len(reached[0]) <= len(chosen)

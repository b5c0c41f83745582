"""Rows that are mostly zeros, by their values alone, against rationals and against full tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Unit,
    guarantee,
    guarantee_curve,
    sufficient_reason,
)
from sklearn_probsr.core.options import Task
from sklearn_probsr.extend import law_of
from sklearn_probsr.laws.rows import _sparse_replacement
from sklearn_probsr.laws.rows._sparse_prover import SparseProver
from sklearn_probsr.laws.rows._sparse_replacement import SparseLaw
from sklearn_probsr.model import _sparse
from sklearn_probsr.model._exact import decimal_fraction
from tests.interpreted import examples
from tests.laws.rows.test_far_rows import winner

# Numbers of one class that are far below those of another are rounded, as a warning says.
pytestmark = pytest.mark.filterwarnings("ignore:The (weight|intercept) .* is taken as")

LEVELS = st.sampled_from([0.0, 0.5, 0.6, 0.75, 0.9, 1.0])
FEW = [1.0, -1.0, 2.0, 0.5, 3.0]
MANY = [0.1, 0.2, 0.30000000000000004, -0.3, 1 / 3, 1e-9, -7.1]
FAR = [1e300, -1e300, 1e-300, 5e-324, 2.0**60]
KINDS = {"few": FEW, "many": FEW + MANY, "far": FEW + MANY + FAR}


@pytest.fixture(autouse=True, scope="module")
def small_ones_stay_sparse():
    """Nothing is filled in for being small, and no table of gains is made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sparse, "_FEW_CELLS", -1)
        patch.setattr(_sparse_replacement, "_FEW_GAINS", -1)
        yield


@st.composite
def tables(draw: st.DrawFn, classes: int = 2) -> tuple[Any, Any, list[list[float]], Any]:
    """Draw a model, an instance, a background, and weights of its rows."""
    d, n = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    binary = draw(st.booleans())
    numbers = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    values = [1.0] if binary else numbers
    cell = st.sampled_from([0.0] * (2 * len(values)) + values)
    rows = draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=n, max_size=n))
    x = draw(st.sampled_from(rows) | st.lists(cell, min_size=d, max_size=d))
    weight = st.sampled_from([0.0, *(w for w in numbers if abs(w) < 2.0**1000)])
    names = [f"w{j}" for j in range(d)]
    units = None if binary else [Unit.real(name, j) for j, name in enumerate(names)]
    counts = draw(st.none() | st.lists(st.integers(0, 3), min_size=n, max_size=n))
    counts = counts if counts is None or any(counts) else None
    if classes > 2:
        weights = draw(
            st.lists(st.lists(weight, min_size=d, max_size=d), min_size=classes, max_size=classes)
        )
        constants = draw(st.lists(weight, min_size=classes, max_size=classes))
        last = draw(st.booleans())
        return ArgmaxModel(weights, constants, units=units, last=last), x, rows, counts
    weights = draw(st.lists(weight, min_size=d, max_size=d))
    cut = draw(weight | st.just(sum(w * v for w, v in zip(weights, rows[0], strict=True))))
    cut = cut if abs(cut) < 1e308 else 0.0
    model = LinearModel(weights, cut, strict=draw(st.booleans()), units=units)
    return model, x, rows, counts


def shares(model: Any, x: list[float], rows: list[list[float]], counts: Any) -> dict[Any, Fraction]:
    """The guarantee of every set, in rationals."""
    d, weights = len(x), counts or [1] * len(rows)
    found, own = {}, winner(model, x)
    for chosen in chain.from_iterable(combinations(range(d), k) for k in range(d + 1)):
        kept = 0
        for row, weight in zip(rows, weights, strict=True):
            mixed = [x[j] if j in chosen else row[j] for j in range(d)]
            kept += weight * (winner(model, mixed) == own)
        found[frozenset(chosen)] = Fraction(kept, sum(weights))
    return found


def check(case: Any, delta: float) -> None:
    model, x, rows, counts = case
    distribution = Background(sparse.csr_array(np.array(rows)), counts)
    law = law_of(model, distribution)
    assert isinstance(law, SparseLaw)
    row = model.check_row(x)
    assert isinstance(law.prover(law.view(row), Task(decimal_fraction(delta))), SparseProver)
    truth, level = shares(model, x, rows, counts), decimal_fraction(delta)
    for chosen, share in truth.items():
        assert guarantee(model, x, chosen, distribution=distribution).exact == share
    curve = guarantee_curve(model, x, distribution=distribution)
    for k in range(len(x) + 1):
        share = truth[frozenset(curve.order[:k])]
        assert Fraction(curve.lower[k]) <= share <= Fraction(curve.upper[k])
    found = sufficient_reason(model, x, delta=delta, distribution=distribution)
    own = frozenset(found.features)
    least = min(len(s) for s, share in truth.items() if share >= level)
    assert found.guarantee.exact == truth[own] >= level
    assert found.size_lower <= least <= found.size
    if found.minimality == "minimum":
        assert found.size == least
    inside = [frozenset(s) for k in range(len(own)) for s in combinations(own, k)]
    if found.minimality == "locally-minimal":
        inside = [own - {u} for u in own]
    assert all(truth[s] < level for s in inside)


@settings(max_examples=examples(150), deadline=None)
@given(tables(), LEVELS)
def test_counts_and_claims_are_true(case: Any, delta: float):
    """Every set is counted exactly, and what is claimed of a reason holds among all sets."""
    check(case, delta)


@settings(max_examples=examples(50), deadline=None)
@given(tables(classes=3), LEVELS)
def test_several_classes_are_counted_as_exactly(case: Any, delta: float):
    """The winner has to stay ahead of all rivals at once."""
    check(case, delta)

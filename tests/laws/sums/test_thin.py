"""Independent units that are mostly zero, against exact sums over all that may come."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_probsr import (
    LinearModel,
    Marginals,
    Product,
    Unit,
    guarantee,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.extend import law_of
from sklearn_probsr.laws.sums import _thin_path, _thin_spectrum
from sklearn_probsr.laws.sums._thin_independent import ThinLaw
from sklearn_probsr.model.numbers import decimal_fraction
from tests.interpreted import examples
from tests.thin_units import division, few_are_thin

NUMBERS = [1.0, -1.0, 2.0, 0.5, 0.1, 0.30000000000000004, -0.3, 1 / 3, 7.1]


@pytest.fixture(autouse=True, scope="module")
def thin():
    with few_are_thin():
        yield


@st.composite
def cases(draw: st.DrawFn) -> tuple[LinearModel, list[float], list[list[float]], Any]:
    d, n = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    binary = draw(st.booleans())
    values = [1.0] if binary else NUMBERS
    cell = st.sampled_from([0.0] * (3 * len(values)) + values)
    rows = draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=n, max_size=n))
    x = draw(st.sampled_from(rows) | st.lists(cell, min_size=d, max_size=d))
    weights = draw(st.lists(st.sampled_from([0.0, *NUMBERS]), min_size=d, max_size=d))
    units = None if binary else [Unit.real(f"w{j}", j) for j in range(d)]
    strict, cut = draw(st.booleans()), draw(st.sampled_from(NUMBERS))
    counts = draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return LinearModel(weights, cut, strict=strict, units=units), x, rows, counts


def exactly(model: LinearModel, x: Any, rows: Any, counts: Any) -> dict[Any, Fraction]:
    """The guarantee of every set: all combinations of what each unit may be."""
    d, weights = len(x), counts or [1] * len(rows)
    total, level = sum(weights), Fraction(model.threshold)
    laws = []
    for j, w in enumerate(model.weights.tolist()):
        law: dict[Fraction, Fraction] = {}
        for row, count in zip(rows, weights, strict=True):
            part = Fraction(w) * Fraction(row[j])
            law[part] = law.get(part, Fraction(0)) + Fraction(count, total)
        laws.append(law)
    own = [Fraction(w) * Fraction(v) for w, v in zip(model.weights.tolist(), x, strict=True)]

    def says(score: Fraction) -> bool:
        return score > level if model.strict else score >= level

    found = {}
    for k in range(d + 1):
        for chosen in combinations(range(d), k):
            sums = {sum((own[j] for j in chosen), Fraction(0)): Fraction(1)}
            for j in set(range(d)) - set(chosen):
                new: dict[Fraction, Fraction] = {}
                for score, chance in sums.items():
                    for part, p in laws[j].items():
                        new[score + part] = new.get(score + part, Fraction(0)) + chance * p
                sums = new
            label = says(sum(own, Fraction(0)))
            found[frozenset(chosen)] = sum(
                (p for score, p in sums.items() if says(score) == label), Fraction(0)
            )
    return found


@pytest.mark.parametrize("of_most", [False, True])
@settings(max_examples=examples(60), deadline=None)
@given(cases(), st.sampled_from([0.5, 0.6, 0.75, 0.9, 1.0]), st.booleans())
def test_bounds_hold_and_claims_are_true(of_most: bool, case: Any, delta: float, product: bool):
    """The truth lies within the bounds of every set; what is claimed holds among all sets."""
    with division(of_most):
        check(case, delta, product)


def check(case: Any, delta: float, product: bool) -> None:
    model, x, rows, counts = case
    if product and model.units is None and counts is None:
        ones = np.array(rows).sum(axis=0)
        distribution: Any = Product([Fraction(int(one), len(rows)) for one in ones])
    else:
        distribution = Marginals(sparse.csr_array(np.array(rows)), counts)
    assert isinstance(law_of(model, distribution), ThinLaw)
    truth, level = exactly(model, x, rows, counts), decimal_fraction(delta)
    for chosen, share in truth.items():
        told = guarantee(model, x, chosen, distribution=distribution)
        assert Fraction(told.lower) <= share <= Fraction(told.upper)
    found = sufficient_reason(model, x, delta=delta, distribution=distribution)
    own = frozenset(found.features)
    assert truth[own] >= level
    assert found.size_lower <= min(len(s) for s, share in truth.items() if share >= level)
    if found.minimality in {"subset-minimal", "locally-minimal", "minimum"}:
        assert all(truth[own - {u}] < level for u in own)


@pytest.mark.parametrize("undone", [-1.0, 0.3, 12.0])
@settings(max_examples=examples(40), deadline=None)
@given(cases(), st.sampled_from([0.5, 0.6, 0.75, 0.9, 1.0]), st.randoms(use_true_random=False))
def test_an_order_is_followed_as_its_sets_are(undone: float, case: Any, delta: float, rng: Any):
    """Bounds of spectra made anew hold, and no size that reaches the level is passed over."""
    model, x, rows, counts = case
    law = law_of(model, Marginals(sparse.csr_array(np.array(rows)), counts))
    truth, level = exactly(model, x, rows, counts), decimal_fraction(delta)
    view, order = law.view(model.check_rows([x])[0]), rng.sample(range(len(x)), len(x))
    shares = [truth[frozenset(order[:k])] for k in range(len(x) + 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_thin_spectrum, "_UNDONE", undone)
        path = _thin_path.Path(view, order)
        for k, share in enumerate(shares):
            below, above = path.enclose(k).ends()
            assert below <= share <= above
            assert path._certain[k] or path._running.size == k  # what levels are summed up from
            below, above = view.enclose(order[:k]).ends()
            assert below <= share <= above
            if share < level:
                following = path.may_reach(k, share, level)
                assert all(passed < level for passed in shares[k:following])
        first = _thin_path.first_along([view], order, level)
    assert shares[first] >= level


def test_many_words_are_bounded_as_by_the_law_that_lists_them(monkeypatch: pytest.MonkeyPatch):
    """Both enclose the same probability, to three digits, and find reasons of about one size."""
    monkeypatch.setattr(_thin_spectrum, "_MOSTLY", 0.95)
    monkeypatch.setattr(_thin_spectrum, "_DEGREE", 2**14)
    rng = np.random.default_rng(0)
    p = 0.6 / np.arange(1, 241)
    X = (rng.random((400, 240)) < p).astype(float)
    model = LinearModel(rng.normal(size=240), 0.2)
    thin, full = Marginals(sparse.csr_array(X)), Marginals(X)
    for i in range(4):
        x = X[i]
        for chosen in ([], [0, 3], np.flatnonzero(x).tolist()):
            ours = guarantee(model, x, chosen, distribution=thin)
            theirs = guarantee(model, x, chosen, distribution=full)
            assert ours.width < 1e-3
            assert ours.lower <= theirs.upper
            assert theirs.lower <= ours.upper
    ours = sufficient_reasons(model, sparse.csr_array(X[:12]), distribution=thin, delta=0.9)
    theirs = sufficient_reasons(model, X[:12], distribution=full, delta=0.9)
    assert np.abs(ours.size - theirs.size).max() <= 1
    assert (ours.lower >= 0.9).all()
    assert (law_of(model, thin).means == law_of(model, full).means).all()
    drawn = sufficient_reasons(
        model, sparse.csr_array(X[:1]), distribution=thin, method="monte-carlo", random_state=0,
        epsilon=0.05, gamma=0.01,
    )  # fmt: skip
    assert drawn.lower[0] <= guarantee(model, X[0], drawn[0].features, distribution=full).upper

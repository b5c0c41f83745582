"""Several classes over independent units that are mostly zero, against all that may come."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_probsr import (
    ArgmaxModel,
    Marginals,
    Product,
    Unit,
    guarantee,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core.monte_carlo import hoeffding_radius
from sklearn_probsr.extend import law_of
from sklearn_probsr.laws.rivals._thin_duels import ThinDuels
from sklearn_probsr.laws.sums import _thin_spectrum
from sklearn_probsr.model.numbers import decimal_fraction
from tests.interpreted import INTERPRETED, examples
from tests.thin_units import division, few_are_thin

NUMBERS = [1.0, -1.0, 2.0, 0.5, 0.1, -0.3, 1 / 3, 7.1]


@pytest.fixture(autouse=True, scope="module")
def thin():
    with few_are_thin():
        yield


@st.composite
def cases(draw: st.DrawFn) -> tuple[ArgmaxModel, list[float], list[list[float]], Any]:
    d, n, classes = draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(st.integers(2, 4))
    binary = draw(st.booleans())
    values = [1.0] if binary else NUMBERS
    cell = st.sampled_from([0.0] * (2 * len(values)) + values)
    rows = draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=n, max_size=n))
    x = draw(st.sampled_from(rows) | st.lists(cell, min_size=d, max_size=d))
    number = st.sampled_from([0.0, *NUMBERS])
    line = st.lists(number, min_size=d, max_size=d)
    weights = draw(st.lists(line, min_size=classes, max_size=classes))
    intercepts = draw(st.lists(number, min_size=classes, max_size=classes))
    units = None if binary else [Unit.real(f"w{j}", j) for j in range(d)]
    counts = draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    model = ArgmaxModel(weights, intercepts, last=draw(st.booleans()), units=units)
    return model, x, rows, counts


def exactly(model: ArgmaxModel, x: Any, rows: Any, counts: Any) -> dict[Any, Fraction]:
    """The guarantee of every set: all combinations of what each unit may be."""
    d, weights = len(x), counts or [1] * len(rows)
    total = sum(weights)
    laws: list[dict[float, Fraction]] = [{} for _ in range(d)]
    for row, count in zip(rows, weights, strict=True):
        for law, value in zip(laws, row, strict=True):
            law[value] = law.get(value, Fraction(0)) + Fraction(count, total)
    scores = [[Fraction(w) for w in line] for line in model.weights.tolist()]
    starts = [Fraction(b) for b in model.intercepts.tolist()]

    def wins(values: Any) -> int:
        found = [
            sum((w * Fraction(v) for w, v in zip(line, values, strict=True)), b)
            for line, b in zip(scores, starts, strict=True)
        ]
        best = [k for k, score in enumerate(found) if score == max(found)]
        return best[-1] if model.last else best[0]

    label, found = wins(x), {}
    for k in range(d + 1):
        for chosen in combinations(range(d), k):
            states = [[x[j]] if j in chosen else list(laws[j]) for j in range(d)]
            share = Fraction(0)
            for values in product(*states):
                if wins(values) == label:
                    chance = Fraction(1)
                    for j in set(range(d)) - set(chosen):
                        chance *= laws[j][values[j]]
                    share += chance
            found[frozenset(chosen)] = share
    return found


@pytest.mark.parametrize("of_most", [False, True])
@settings(max_examples=examples(24), deadline=None)
@given(cases(), st.sampled_from([0.5, 0.75, 0.9, 1.0]), st.booleans())
def test_bounds_hold_and_claims_are_true(of_most: bool, case: Any, delta: float, chances: bool):
    """The truth lies within the bounds of every set; what is claimed holds among all sets."""
    with division(of_most):
        check(case, delta, chances)


def check(case: Any, delta: float, given_chances: bool) -> None:
    model, x, rows, counts = case
    if given_chances and model.units is None and counts is None:
        ones = np.array(rows).sum(axis=0)
        distribution: Any = Product([Fraction(int(one), len(rows)) for one in ones])
    else:
        distribution = Marginals(sparse.csr_array(np.array(rows)), counts)
    law = law_of(model, distribution)
    assert isinstance(law, ThinDuels)
    truth, level = exactly(model, x, rows, counts), decimal_fraction(delta)
    view = law.view(model.check_rows([x])[0])
    for chosen, share in truth.items():
        told = view.enclose(chosen)
        assert Fraction(told.lower) <= share <= Fraction(told.upper)
        judged = view.enclose(chosen, level)
        assert Fraction(judged.lower) <= share <= Fraction(judged.upper)
    drawn = guarantee(model, x, [], distribution=distribution)  # sampled where it is wide
    assert Fraction(drawn.lower) <= truth[frozenset()] <= Fraction(drawn.upper)
    order = np.random.default_rng(0).permutation(len(x)).tolist()
    sizes = [k for k in range(len(x) + 1) if truth[frozenset(order[:k])] >= level]
    first = law._first_along(view, order, level)
    assert truth[frozenset(order[:first])] >= level
    assert first >= sizes[0]
    seen = (k for k in range(len(x) + 1) if (view.enclose(order[:k], level) >= level).value)
    assert first == next(seen)
    found = sufficient_reason(model, x, delta=delta, distribution=distribution)
    own = frozenset(found.features)
    reached = [len(s) for s, share in truth.items() if share >= level]
    assert found.size_lower <= min(reached)
    assert truth[own] >= level
    if found.minimality in {"subset-minimal", "locally-minimal", "minimum"}:
        assert all(truth[own - {u}] < level for u in own)
    if delta == 1 and found.minimality == "minimum":
        assert len(own) == min(reached)


def test_many_words_are_bounded_as_completions_come_out(monkeypatch: pytest.MonkeyPatch):
    """Draws agree with the bounds of every class (false alarm: 1e-6 a set); reasons reach delta."""
    monkeypatch.setattr(_thin_spectrum, "_MOSTLY", 0.95)
    monkeypatch.setattr(_thin_spectrum, "_DEGREE", 2**14)
    rng = np.random.default_rng(0)
    X = (rng.random((200, 120)) < 0.9 / np.arange(1, 121)) * rng.integers(1, 4, size=(200, 120))
    units = [Unit.real(f"w{j}", j) for j in range(120)]
    model = ArgmaxModel(rng.normal(size=(3, 120)), rng.normal(size=3), units=units)
    thin, labels = Marginals(sparse.csr_array(X)), model.predict(X)
    law = law_of(model, thin)
    rows = [int(np.flatnonzero(labels == k)[0]) for k in np.unique(labels)]
    radius = hoeffding_radius(4000, 1e-6)
    for i in rows:
        view, there = law.view(X[i].astype(np.float64)), np.flatnonzero(X[i]).tolist()
        counts = view.kept(there[:2], there[2:4], 4000, np.random.default_rng(i))
        for k, count in enumerate(counts.tolist()):
            known = view.enclose(there[: 2 + k])
            assert known.lower - radius <= count / 4000 <= known.upper + radius
    assert np.abs(law.means - X.mean(axis=0)).max() < 1e-12
    some = sparse.csr_array(X[rows])
    for delta in (0.9, 1.0):
        found = sufficient_reasons(model, some, distribution=thin, delta=delta)
        assert (found.lower >= delta).all()
        for i, reason in zip(rows, found, strict=True):
            view = law.view(X[i].astype(np.float64))
            tried = [set(reason.features) - {u} for u in reason.features]
            assert reason.minimality.endswith(("subset-minimal", "locally-minimal"))
            if not reason.minimality.startswith("near-"):
                level = decimal_fraction(delta)
                assert not any((view.enclose(one) >= level).value for one in tried)
    present = sufficient_reasons(
        model, some, distribution=thin, delta=0.6, present_only=True, max_size=30
    )
    assert all((X[i, reason.features] != 0).all() for i, reason in zip(rows, present, strict=True))


@pytest.mark.skipif(INTERPRETED, reason="too slow without a compiler")
def test_a_hundred_thousand_words_stay_sparse():
    """Several classes over a matrix whose dense table would take gigabytes; little memory is used.

    The nodes of a spectrum that matter are few, however many words there are (Lemma 134).
    """
    n, d = 400, 100_000
    rng = np.random.default_rng(1)
    words = (d * rng.random((n, 60)) ** 4).astype(int)
    X = sparse.csr_array((rng.random(n * 60), (np.repeat(np.arange(n), 60), words.ravel())), (n, d))
    model = ArgmaxModel(
        rng.normal(size=(4, d)), np.zeros(4), units=[Unit.real(f"w{j}", j) for j in range(d)]
    )
    distribution = Marginals(X)
    sufficient_reasons(model, X[:1], distribution=distribution, delta=0.8)
    tracemalloc.start()
    try:
        found = sufficient_reasons(model, X[:4], distribution=distribution, delta=0.8)
        assert tracemalloc.get_traced_memory()[1] < 100e6  # a dense table: 320 MB
    finally:
        tracemalloc.stop()
    assert (found.lower >= 0.8).all()
    law = law_of(model, distribution)
    assert isinstance(law, ThinDuels)
    assert all(len(one.nodes) < 2000 for one in law._spectra.values())

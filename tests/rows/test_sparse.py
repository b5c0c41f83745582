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
from sklearn_probsr.model import sparse as _sparse
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.rows import background as rows_background
from sklearn_probsr.rows import sparse as rows_sparse
from sklearn_probsr.rows.sparse import SparseCandidates, SparseLaw
from tests.interpreted import examples
from tests.rows.test_far_rows import winner

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
        patch.setattr(rows_background, "FEW_GAINS", -1)
        patch.setattr(rows_sparse, "FEW_GAINS", -1)
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


def candidates(case: Any, delta: float) -> SparseCandidates:
    model, x, rows, counts = case
    law = law_of(model, Background(sparse.csr_array(np.array(rows)), counts))
    row = model.check_row(x)
    return next(law.instances(row[None, :], Task(decimal_fraction(delta))))[1]


def gains(rows: SparseCandidates) -> np.ndarray:
    """What each candidate adds to every margin, filled in: (h, rivals, n)."""
    view = rows._view
    moved = [view.fixed([u]).margins - view.case.margins for u in rows.units.tolist()]
    assert not moved or (np.stack(moved) == view.gains(rows.units)).all()
    return view.gains(rows.units)


several = st.integers(2, 5).flatmap(lambda n: tables(classes=n))


@settings(max_examples=examples(100), deadline=None)
@given(several, LEVELS, st.integers(1, 6))
def test_rows_need_what_their_largest_gains_say(case: Any, delta: float, most: int):
    """The least size is that of all gains filled in, row by row (Lemmas 32 and 151)."""
    rows = candidates(case, delta)
    if not len(rows.units):
        assert rows.least(most) in {0, most}
        return
    largest = np.maximum(-np.sort(-gains(rows), axis=0), 0)
    margins, counts, found = rows._view.case.margins, rows._view.case.counts, most
    for size in range(most, -1, -1):
        reached = margins + largest[:size].sum(axis=0)
        if counts[(reached < 0).any(axis=0)].sum() <= rows.spare:
            found = size
    assert rows.least(most) == found


@settings(max_examples=examples(100), deadline=None)
@given(several, LEVELS, st.randoms(use_true_random=False))
def test_parts_of_a_set_are_ruled_out_or_shown(case: Any, delta: float, rng: Any):
    """No proper part reaches the level where that is said, and one that is shown does."""
    rows = candidates(case, delta)
    places = list(range(len(rows.units)))
    chosen = sorted(rng.sample(places, rng.randint(0, len(places))))
    verdict, part = rows.parted(chosen, Task(decimal_fraction(delta)))
    parts = [s for k in range(len(chosen)) for s in combinations(chosen, k)]
    reach = [s for s in parts if rows.lost(s, rows.spare) <= rows.spare]
    if verdict == 0:
        assert not reach
    elif verdict == 1:
        assert tuple(sorted(part)) in reach


def documents(n: int, d: int, classes: int) -> tuple[ArgmaxModel, Any]:
    """Random words, the first of them common, and random scores."""
    rng = np.random.default_rng(3)
    chances = np.minimum(20 / np.arange(1, d + 1), 0.5)
    rows = sparse.csr_array((rng.random((n, d)) < chances).astype(float))
    return ArgmaxModel(rng.normal(size=(classes, d)), np.zeros(classes)), rows


def plain_greed(rows: SparseCandidates, hinge: bool) -> list[int]:
    """Members as greed adds them, every one of them looked at in all rows."""
    view, order = rows._view, []
    margins, each = view.case.margins.copy(), gains(rows)
    while view.case.counts @ (margins < 0).any(axis=0) > rows.spare:
        low = (margins + each).min(axis=1)
        left = -np.minimum(low, 0) @ view.case.counts
        lost = np.zeros(len(left)) if hinge else (low < 0) @ view.case.counts
        free = [j for j in range(len(left)) if j not in order]
        order.append(min(free, key=lambda j: (lost[j], left[j])))
        margins += each[order[-1]]
    return order


@pytest.mark.parametrize("hinge", [False, True])
def test_greed_finds_sets_as_small_as_if_it_looked_at_every_word(hinge: bool):
    """Most words that the instance lacks are never looked at, and some are chosen."""
    model, rows = documents(400, 150, 7)
    law, task = law_of(model, Background(rows)), Task(decimal_fraction(0.95))
    own, plain, missing = 0, 0, 0
    for i in range(6):
        row = model.check_row(rows[[i]].toarray()[0])
        one = SparseCandidates(law.view(row), task)
        view = one._view
        ones = np.ones(len(row))
        order = view.greedy(view.case, view.helps, ones, one.spare, hinge, len(row))
        lost = view.lost_along((), order)
        assert lost[-1] <= one.spare < lost[-2]
        own, plain = own + len(order), plain + len(plain_greed(one, hinge))
        missing += int((row[order] == 0).sum())
    assert own <= 1.05 * plain
    assert missing


def test_words_that_an_instance_has_are_proved_minimal_before_many_classes():
    """Sets are subset-minimal though most words help before one rival and hurt before another."""
    model, rows = documents(1000, 3000, 6)
    for i in range(3):
        row = model.check_row(rows[[i]].toarray()[0])
        found = sufficient_reason(model, row, delta=0.9, distribution=Background(rows))
        assert found.minimality in {"subset-minimal", "minimum"}
        assert 0 < found.size_lower <= found.size


@pytest.mark.parametrize("sample", [None, 50, 10_000])
def test_a_part_of_the_rows_proposes_and_all_confirm(sample: int | None):
    """Guarantees are counts over all rows, whichever part greed asks first."""
    model, rows = documents(1000, 3000, 4)
    row = model.check_row(rows[[0]].toarray()[0])
    background = Background(rows, sample=sample, random_state=5)
    found = sufficient_reason(model, row, delta=0.9, distribution=background)
    counted = guarantee(model, row, found.features, distribution=Background(rows))
    assert found.guarantee.exact == counted.exact >= decimal_fraction(0.9)


def test_no_table_of_contributions_is_kept():
    """Before a dozen rivals that would be twelve times the data."""
    model, rows = documents(1500, 800, 13)
    law = law_of(model, Background(rows))
    before = law.nbytes
    for i in range(3):
        law.view(model.check_row(rows[[i]].toarray()[0])).ranking()
    assert law.nbytes - before < 12 * 8 * rows.nnz


def test_a_background_without_any_word_is_counted():
    """What the instance has decides then."""
    model = ArgmaxModel([[2, 0], [0, 2], [1, 1]], [0, 0, 1])
    found = sufficient_reason(
        model, [1, 0], delta=1, distribution=Background(sparse.csr_array((4, 2)))
    )
    assert found.guarantee.exact == 1
    assert found.features in {(), (0,)}

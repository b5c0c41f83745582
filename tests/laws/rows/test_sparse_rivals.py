"""Several classes over rows that are mostly zeros, against full tables of contributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_probsr import ArgmaxModel, Background, sufficient_reason
from sklearn_probsr.core.options import Task
from sklearn_probsr.engines.rows._sparse_counts import Columns, kept_on_the_way, least_size
from sklearn_probsr.extend import law_of
from sklearn_probsr.laws.rows import _rival_words, _sparse_replacement
from sklearn_probsr.laws.rows._rival_words import RivalReplacement
from sklearn_probsr.laws.rows._sparse_ledger import DuelLedger
from sklearn_probsr.laws.rows._sparse_prover import SparseProver
from sklearn_probsr.model import _sparse
from sklearn_probsr.model._exact import decimal_fraction
from tests.interpreted import examples
from tests.laws.rows.test_sparse_rows import LEVELS, check, tables

pytestmark = pytest.mark.filterwarnings("ignore:The (weight|intercept) .* is taken as")


@pytest.fixture(autouse=True, scope="module")
def small_ones_stay_sparse():
    """Nothing is filled in for being small, and orders are followed two units at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sparse, "_FEW_CELLS", -1)
        patch.setattr(_sparse_replacement, "_FEW_GAINS", -1)
        patch.setattr(_rival_words, "_FIRST", 2)
        patch.setattr(_rival_words, "_MOST_BYTES", 64)
        yield


def full_table(view: RivalReplacement, members: Any) -> Columns:
    """All contributions before all rivals, each cut as before a single one."""
    ledger = view.ledger
    full = DuelLedger.on(ledger.table, ledger.sides, ledger.exponent, ledger.exact)
    table = ledger.table
    known = view._known[members]
    return Columns(
        full.margins, table.counts, members, known, table.starts, table.rows, full.entries
    )


def view_of(case: Any) -> RivalReplacement:
    model, x, rows, counts = case
    law = law_of(model, Background(sparse.csr_array(np.array(rows)), counts))
    view = law.view(model.check_row(x))
    assert isinstance(view, RivalReplacement)
    return view


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(3, 6).flatmap(lambda n: tables(classes=n)), LEVELS)
def test_counts_and_claims_are_true_however_orders_are_cut(case: Any, delta: float):
    """Also if a set is counted piece by piece, and columns are forgotten on the way."""
    check(case, delta)


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(3, 5).flatmap(lambda n: tables(classes=n)), st.randoms(use_true_random=False))
def test_columns_are_cut_as_in_a_full_table(case: Any, rng: Any):
    """Margins, with nothing fixed and along any order, are those of a full table, to the unit."""
    view = view_of(case)
    order = list(range(view.n_units))
    rng.shuffle(order)
    full = full_table(view, np.array(order))
    assert np.array_equal(view.ledger.margins, full.margins)
    for needed, at in ((2**62, len(order)), (1, 0), (sum(view.weights), 3)):
        own = view.moved(view.ledger.margins, order, needed, at)
        theirs = kept_on_the_way(full, np.arange(len(order)), view.doubt, needed, at)
        assert all(np.array_equal(a, b) for a, b in zip(own, theirs, strict=True))


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(3, 5).flatmap(lambda n: tables(classes=n)), LEVELS, st.integers(1, 7))
def test_rows_need_as_many_members_as_a_full_table_says(case: Any, delta: float, most: int):
    """The least size is that of Lemma 32, though most gains are never looked at (Lemma 151)."""
    view = view_of(case)
    prover = SparseProver(view, Task(decimal_fraction(delta)))
    full = full_table(view, prover.members)
    theirs = least_size(full, prover.needed, -view.doubt, most)
    assert view.least_size(prover.margins, prover.members, prover.needed, most) == theirs


def documents(n: int, d: int, classes: int) -> tuple[ArgmaxModel, Any]:
    """Random words, the first of them common, and random scores."""
    rng = np.random.default_rng(3)
    chances = np.minimum(20 / np.arange(1, d + 1), 0.5)
    rows = sparse.csr_array((rng.random((n, d)) < chances).astype(float))
    return ArgmaxModel(rng.normal(size=(classes, d)), np.zeros(classes)), rows


def plain_greed(view: RivalReplacement, members: Any, needed: int, hinge: bool) -> list[int]:
    """Members as greed adds them, from all gains, in whole numbers."""
    rivals, order = view.rivals, []
    margins = view.ledger.margins.astype(np.float64)
    gains = view.gains(members).reshape(len(members), -1, rivals).astype(np.float64)
    while view.weights @ (margins.min(axis=1) >= 0) < needed:
        worst = (margins + gains).min(axis=2)
        kept = (worst >= 0) @ view.weights * (not hinge)
        left = np.minimum(worst, 0) @ view.weights
        free = ~np.isin(members, order)
        best = max(np.flatnonzero(free), key=lambda j: (kept[j], left[j]))
        order.append(int(members[best]))
        margins += gains[best]
    return order


@pytest.mark.parametrize("hinge", [False, True])
def test_greed_adds_what_is_best_before_all_rivals(hinge: bool):
    """Bounds leave nothing out that would have been chosen."""
    model, rows = documents(500, 150, 7)
    law, task = law_of(model, Background(rows)), Task(decimal_fraction(0.95))
    missing = 0
    for i in range(6):
        row = model.check_row(rows[[i]].toarray()[0])
        prover = law.prover(law.view(row), task)
        plain = plain_greed(prover.seen, prover.members, prover.needed, hinge)
        order = prover.proposals()[2 if hinge else 1]
        assert order[: len(plain)].tolist() == plain
        assert sorted(order.tolist()) == sorted(prover.members.tolist())
        missing += int((row[plain] == 0).sum())
    assert missing  # words that an instance lacks are among them


def test_greed_finds_small_sets_before_many_rivals():
    """They are often smaller than a prefix by mean gain, also where a part of the rows is asked."""
    model, rows = documents(1000, 3000, 30)
    law, task = law_of(model, Background(rows)), Task(decimal_fraction(0.9))
    smaller = 0
    for i in range(6):
        row = model.check_row(rows[[i]].toarray()[0])
        prover = law.prover(law.view(row), task)
        by_mean, *greedy = (len(prover.prefix(order)) for order in prover.proposals())
        found = sufficient_reason(model, row, delta=0.9, distribution=Background(rows))
        assert found.size_lower <= found.size <= min(by_mean, *greedy)
        smaller += min(greedy) < by_mean
    assert smaller >= 4


def test_no_table_of_contributions_is_kept():
    """Before a dozen rivals that would be twelve times the data."""
    model, rows = documents(1500, 800, 13)
    law = law_of(model, Background(rows))
    before = law.nbytes
    for i in range(3):
        law.view(model.check_row(rows[[i]].toarray()[0])).ranking()
    assert law.nbytes - before < 12 * 8 * rows.nnz


def test_a_background_without_any_word_is_counted():
    """No column has a factor then; what the instance has decides."""
    model = ArgmaxModel([[2, 0], [0, 2], [1, 1]], [0, 0, 1])
    found = sufficient_reason(
        model, [1, 0], delta=1, distribution=Background(sparse.csr_array((4, 2)))
    )
    assert found.guarantee.exact == 1
    assert found.features in {(), (0,)}

"""What each row needs on its own, and searches that have a table of the hardest rows alone."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.engines.rows import _branch_and_bound, _rounded_search
from sklearn_probsr.engines.rows._branch_and_bound import branch_and_bound
from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.engines.rows._needs import hardest, needs_of
from sklearn_probsr.engines.rows._rounded_search import rounded_search, rounded_up
from tests.engines.rows.cases import all_sets, kept, some_rows


def needed(rows: Rows, r: int, floor: int) -> int:
    """Return the size of the smallest set that brings one row to the floor; 7 if none does."""
    sets = all_sets(list(range(len(rows.gains))))
    return min(
        (len(s) for s in sets if rows.margins[r] + rows.gains[s, r].sum() >= floor), default=7
    )


@pytest.mark.parametrize("seed", range(8))
def test_needs_are_those_of_the_best_set_of_each_row(seed: int) -> None:
    """Rounded up they are its size, and the hardest rows are those that need most."""
    rows, floor = some_rows(seed, seed % 2 == 0), -(seed % 3)
    truth = np.array([needed(rows, r, floor) for r in range(len(rows.weights))])
    for most in (1, 3, 7):
        needs = needs_of(rows, floor, most)
        assert needs.most == most
        assert np.ceil(needs.each).tolist() == np.minimum(truth, most).tolist()
        assert needs.weight.tolist() == [
            rows.weights[np.minimum(truth, most) == k].sum() for k in range(most + 1)
        ]
    for size in (2, 4):
        for many in (0, 3, 12):
            found = hardest(rows, size, needs_of(rows, floor, size + 1), many)
            possible = np.flatnonzero(truth <= size)
            assert found.lost == rows.weights[truth > size].sum()
            assert found.whole == (len(possible) <= many)
            assert len(found.places) == min(many, len(possible))
            assert set(found.places) <= set(possible)
            left = np.setdiff1d(possible, found.places)
            assert truth[left].max(initial=0) <= truth[found.places].min(initial=7)


def test_needs_before_several_rivals_are_those_before_the_hardest() -> None:
    """A row is kept before all of them or not at all."""
    rows = some_rows(0, True)
    n = len(rows.weights)
    others = some_rows(1, True)
    both = Rows(
        np.stack([rows.margins, others.margins], axis=1).ravel(),
        rows.weights,
        np.stack([rows.gains, others.gains], axis=2).reshape(6, 2 * n),
    )
    each = [needs_of(one, 0, 7).each for one in (rows, others)]
    assert needs_of(both, 0, 7).each.tolist() == np.maximum(*each).tolist()


def look(rows: Rows, size: int, needed: int, floor: int) -> tuple[int, np.ndarray]:
    """Look for a set with a table of some rows, and go on until all rows confirm one."""
    rounded = rounded_up(rows, size, floor, 10**8)
    assert rounded is not None
    assert rounded.most.dtype == np.int16
    spare, after = int(rows.weights.sum()) - needed, None
    while True:
        verdict, after, _ = rounded_search(rounded, size, spare, 10**8, after)
        if verdict < 1 or kept(rows, np.flatnonzero(after)) >= needed:
            return verdict, after


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("huge", [1, 2**50])
def test_a_table_of_the_hardest_rows_changes_no_verdict(
    seed: int, huge: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is room for none of the rows, for some, or for nearly all that a set decides."""
    monkeypatch.setattr(_branch_and_bound, "FEW_BYTES", (0, 3_000, 40_000)[seed % 3])
    monkeypatch.setattr(_rounded_search, "FEW_BYTES", (0, 3_000, 9_000)[seed % 3])
    rng = np.random.default_rng(seed)
    n = 150
    rows = Rows(
        rng.integers(-60, 20, n) * huge,
        rng.integers(1, 5, n),
        rng.integers(-6 if seed < 4 else 0, 12, (7, n)) * rng.integers(0, 9, (7, 1)) * huge,
    )
    sets = all_sets(list(range(7)))
    for size in range(5):
        best = max(kept(rows, s) for s in sets if len(s) == size)
        for find in (look, lambda *asked: branch_and_bound(*asked, 10**8)[:2]):
            verdict, chosen = find(rows, size, best, 0)
            assert verdict == 1
            assert chosen.sum() == size
            assert kept(rows, np.flatnonzero(chosen)) == best
            assert find(rows, size, best + 1, 0)[0] == 0


def test_branch_and_bound_before_rivals_has_a_table_of_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row is in it before all of its rivals, and all rows confirm what is found."""
    rng = np.random.default_rng(3)
    n = 60
    rows = Rows(
        rng.integers(-30, 15, 2 * n), np.ones(n, np.int64), rng.integers(-3, 20, (6, 2 * n))
    )

    def lost(chosen: np.ndarray) -> int:
        below = rows.margins + rows.gains[chosen].sum(axis=0) < 0
        return int(below.reshape(n, 2).any(axis=1).sum())

    for room in (0, 10_000):
        monkeypatch.setattr(_branch_and_bound, "_RIVAL_BYTES", room)
        for size in range(4):
            least = min(lost(s) for s in all_sets(list(range(6))) if len(s) == size)
            verdict, chosen, _ = branch_and_bound(rows, size, n - least, 0, 10**6)
            assert verdict == 1
            assert lost(np.flatnonzero(chosen)) == least
            assert branch_and_bound(rows, size, n - least + 1, 0, 10**6)[0] == 0

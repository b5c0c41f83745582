"""What is left of a set is needed, and it is proved so."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.engines.rows._pruning import are_needed, exposed, lose, prune
from tests.engines.rows.cases import all_sets, kept, some_rows


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_what_pruning_leaves_is_needed(seed: int, mixed: bool) -> None:
    """The set still reaches the weight, and no single member can be left out."""
    rows = some_rows(seed, mixed)
    order = np.array([3, 1, 5, 0, 2, 4])
    needed = kept(rows, order) - 1
    stays, sure = prune(rows, order, needed, 0)
    left = order[stays]
    assert sure
    assert kept(rows, left) >= needed
    for i in range(len(left)):
        assert kept(rows, np.delete(left, i)) < needed


@pytest.mark.parametrize("mixed", range(6))
@pytest.mark.parametrize("seed", range(10))
def test_nothing_can_be_left_out(seed: int, mixed: int) -> None:
    """It is proved iff leaving out any of the mixed ones, or one of the others, loses too much."""
    rows = some_rows(seed, True)
    order = np.array([3, 1, 5, 0, 2])
    first, others = order[:mixed], order[mixed:]
    removals = [s for s in all_sets(first.tolist()) if len(s)] + [
        others[i : i + 1] for i in range(len(others))
    ]
    best = max(kept(rows, np.setdiff1d(order, removal)) for removal in removals)
    assert are_needed(rows, order, mixed, best + 1, 0)
    assert not are_needed(rows, order, mixed, best, 0)
    assert not are_needed(rows, order, mixed, best + 1, 10**6)


@pytest.mark.parametrize("doubt", [0, 2])
@pytest.mark.parametrize("seed", range(20))
def test_what_exposed_rows_prove_is_so_of_all(seed: int, doubt: int) -> None:
    """They are those that some one removal surely loses; of single removals they tell as much."""
    rows = some_rows(seed, seed % 2 == 0)
    order = np.array([3, 1, 5, 0, 2])
    few = exposed(rows, order, doubt)
    margins = rows.margins + rows.gains[order].sum(axis=0)
    lost = [(margins - rows.gains[j] < 0) & (margins - rows.gains[j] <= -doubt) for j in order]
    at = np.flatnonzero(np.any(lost, axis=0) | ((margins < 0) & (margins <= -doubt)))
    assert few.margins.tolist() == rows.margins[at].tolist()
    assert few.weights.tolist() == rows.weights[at].tolist()
    assert few.gains.tolist() == rows.gains[order][:, at].tolist()
    total, part = int(rows.weights.sum()), int(few.weights.sum())
    for spare in range(total):
        for mixed in range(6):
            whole = are_needed(rows, order, mixed, total - spare, doubt)
            told = are_needed(few, np.arange(5), mixed, part - spare, doubt)
            assert whole >= told
            assert mixed > 1 or whole == told


@pytest.mark.parametrize("mixed", range(6))
@pytest.mark.parametrize("seed", range(4))
def test_what_is_lost_adds_up_over_pieces(seed: int, mixed: int) -> None:
    """Every set that is left out, and single members after it; no more once it is too much."""
    rows = some_rows(seed, True)
    order = np.array([3, 1, 5, 0, 2])
    total, n = int(rows.weights.sum()), len(rows.weights)
    rivals = len(rows.margins) // n
    removals = [s for s in all_sets(order[:mixed].tolist()) if len(s)]
    removals += [order[i : i + 1] for i in range(mixed, 5)]
    truth = sorted(total - kept(rows, np.setdiff1d(order, s)) for s in removals)
    lost = np.zeros(len(removals), dtype=np.int64)
    for r in range(0, n, 7):
        at = slice(r * rivals, (r + 7) * rivals)
        gains = np.ascontiguousarray(rows.gains[:, at])
        piece = Rows(rows.margins[at], rows.weights[r : r + 7], gains)
        lose(piece, order, mixed, 0, total, lost)
    assert sorted(lost) == truth
    first = np.zeros(len(removals), dtype=np.int64)
    lose(rows, order, mixed, 0, -1, first)
    assert not first.any()
    lose(rows, order, mixed, 10**6, total, first)
    assert not first.any()

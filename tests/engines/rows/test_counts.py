"""The compiled parts of the search over background rows, against what they say they do."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest

from sklearn_probsr.engines.rows._counts import (
    Rows,
    branch_and_bound,
    greedy,
    is_needed,
    kept_along,
    kept_weight,
    least_size,
    narrowed,
    open_rows,
    prune,
)
from sklearn_probsr.engines.rows._programme import solve


def some_rows(seed: int, mixed: bool) -> Rows:
    rng = np.random.default_rng(seed)
    gains = rng.integers(-4 if mixed else 0, 9, (6, 12))
    return Rows(rng.integers(-20, 4, 12), rng.integers(1, 4, 12), gains)


def all_sets(items: list[int]) -> list[np.ndarray]:
    sizes = range(len(items) + 1)
    every = chain.from_iterable(combinations(items, k) for k in sizes)
    return [np.array(s, dtype=np.intp) for s in every]


def kept(rows: Rows, chosen: np.ndarray) -> int:
    margins = rows.margins + rows.gains[chosen].sum(axis=0)
    return int(rows.weights[margins >= 0].sum())


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_rows_that_are_never_in_question_are_taken_out(seed: int, mixed: bool) -> None:
    """What is left, and the weight always kept, count every set as all the rows do."""
    rows = some_rows(seed, mixed)
    members, forced = np.array([4, 0, 3, 2]), np.array([5])
    left, safe = open_rows(rows, members, forced, 0)
    assert len(left.margins) < len(rows.margins)
    for chosen in all_sets([0, 1, 2, 3]):
        counted, _, unsure = kept_weight(left, chosen, 0)
        assert unsure == 0
        assert safe + counted == kept(rows, np.append(members[chosen], forced))


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
    assert is_needed(rows, order, mixed, best + 1, 0)
    assert not is_needed(rows, order, mixed, best, 0)
    assert not is_needed(rows, order, mixed, best + 1, 10**6)


@pytest.mark.parametrize("rivals", [1, 2])
@pytest.mark.parametrize("spread", [4, 40])
def test_many_rows_are_narrowed_in_place(spread: int, rivals: int) -> None:
    """Sets of members are counted as before, whether few or most of the rows are open."""
    rng = np.random.default_rng(spread)
    n = 2**16
    rows = Rows(
        rng.integers(-spread, spread, n * rivals),
        rng.integers(1, 4, n),
        rng.integers(-4 if spread < 10 else 0, 9, (10, n * rivals)),
    )
    table = rows.gains.copy()
    left, safe = narrowed(Rows(rows.margins.copy(), rows.weights, table), 0)
    assert np.shares_memory(left.gains, table)
    assert (len(left.weights) == n) == (spread == 4)
    for chosen in ([], [3], [1, 9, 4], range(10)):
        at = np.array(chosen, dtype=np.intp)
        assert safe + kept_weight(left, at, 0)[0] == kept_weight(rows, at, 0)[0]


def test_a_row_in_doubt_is_not_decided() -> None:
    """Pruning and prefixes say so when a margin is too close to zero to be sure."""
    rows = Rows(np.array([-2]), np.array([1]), np.array([[1], [5]]))
    order = np.array([1, 0])
    assert prune(rows, order, 1, 3)[1] is False
    assert prune(rows, order, 1, 0)[1] is True
    assert kept_along(rows, order, 3, 1, 0)[1].tolist() == [True, False]


@pytest.mark.parametrize("seed", range(20))
def test_branch_and_bound_finds_a_set_or_proves_there_is_none(seed: int) -> None:
    """Its verdict is that of trying all sets of the size."""
    rows = some_rows(seed, True)
    for size in range(4):
        best = max(kept(rows, s) for s in all_sets(list(range(6))) if len(s) == size)
        verdict, chosen, _ = branch_and_bound(rows, size, best, 0, 10**6)
        assert verdict == 1
        assert kept(rows, np.flatnonzero(chosen)) >= best
        assert branch_and_bound(rows, size, best + 1, 0, 10**6)[0] == 0
    assert branch_and_bound(rows, 3, 1, 0, 10)[0] == -1


@pytest.mark.parametrize("rivals", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_numbers_next_to_the_limit_are_counted_as_small_ones(seed: int, rivals: int) -> None:
    """Margins and gains of 61 bits together, and weights of 62: no kernel wraps."""
    small = some_rows(seed, True)
    small = Rows(small.margins, small.weights[: 12 // rivals], small.gains)
    reach = int(np.abs(small.margins).max() + np.abs(small.gains).max(axis=1).sum())
    # Powers of two, so that greed, which goes by floats, sees the same ties.
    times, heavy = 2 ** (61 - reach.bit_length()), 2 ** (62 - int(small.weights.sum()).bit_length())
    large = Rows(small.margins * times, small.weights * heavy, small.gains * times)
    members, forced, order = np.array([4, 0, 3, 2]), np.array([5]), np.array([3, 1, 5, 0, 2, 4])
    (left, safe), (open_small, safe_small) = (
        open_rows(rows, members, forced, 0) for rows in (large, small)
    )
    assert safe == heavy * safe_small
    assert left.margins.tolist() == [times * int(m) for m in open_small.margins]
    for hinge in (False, True):
        assert greedy(large, np.inf, hinge).tolist() == greedy(small, np.inf, hinge).tolist()
    weights = kept_along(large, order, 0, 2**62, 0)[0]
    assert weights.tolist() == [heavy * int(w) for w in kept_along(small, order, 0, 2**62, 0)[0]]
    for needed in range(1, int(small.weights.sum()) + 1, 3):
        enough = heavy * needed
        assert prune(large, order, enough, 0)[0].tolist() == (
            prune(small, order, needed, 0)[0].tolist()
        )
        assert least_size(large, enough, 0, 6) == least_size(small, needed, 0, 6)
        for size in range(4):
            verdict, chosen, _ = branch_and_bound(large, size, enough, 0, 10**6)
            expected = branch_and_bound(small, size, needed, 0, 10**6)
            assert (verdict, chosen.tolist()) == (expected[0], expected[1].tolist())
    enough = int(small.weights.sum()) // 2
    assert solve(large, heavy * enough, 0, 5, 10.0)[1] == solve(small, enough, 0, 5, 10.0)[1]

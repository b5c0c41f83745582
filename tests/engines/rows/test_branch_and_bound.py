"""The search of sets before background rows, against all sets."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.engines.rows._branch_and_bound import BranchAndBound, Prices
from sklearn_probsr.engines.rows._counts import Rows
from tests.engines.rows.cases import all_sets, kept, some_rows

ROOM = 2**24


def drawn(seed: int, rivals: int, n: int, h: int = 6) -> Rows:
    """Return rows before some rivals: ties, duplicates, gains that hurt, weights."""
    rng = np.random.default_rng(seed)
    low = -4 if seed % 2 else 0
    gains = rng.integers(low, 9, (h, n * rivals)) * rng.integers(0, 3, (h, 1))
    gains[rng.integers(0, h)] = gains[0]
    return Rows(rng.integers(-25, 12, n * rivals), rng.integers(1, 4, n), gains)


def found_by(
    branching: BranchAndBound, rows: Rows, limit: int, needed: int, budget: int = 10**9
) -> tuple[bool, list[int]]:
    """Go on until a set is confirmed by a count or there is no other; the budget may be small."""
    spare = int(rows.weights.sum()) - needed
    branching.start()
    while True:
        verdict, at, spent = branching.next(limit, 0, spare, budget)
        assert spent >= 0
        if verdict == 0:
            return False, []
        if verdict == 1 and kept(rows, at) >= needed:
            return True, sorted(at.tolist())


@pytest.mark.parametrize("rivals", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(10))
def test_a_set_is_found_iff_there_is_one(seed: int, rivals: int) -> None:
    """At the most weight that sets of up to a size keep, and at one more; in one go or in many."""
    rows = drawn(seed, rivals, 9)
    each, sets = np.ones(6, dtype=np.int64), all_sets(list(range(6)))
    for size in range(5):
        best = max(kept(rows, s) for s in sets if len(s) <= size)
        for budget in (10**9, 1):
            branching = BranchAndBound(rows, 0, Prices(each, 1, size, size), ROOM)
            reached, chosen = found_by(branching, rows, size, best, budget)
            assert reached
            assert len(chosen) <= size
            assert not found_by(branching, rows, size, best + 1, budget)[0]


@pytest.mark.parametrize("rivals", [1, 4])
@pytest.mark.parametrize("seed", range(10))
def test_prices_in_steps_lose_no_set(seed: int, rivals: int) -> None:
    """Prices of any size, told apart in few steps or in many, and at most so many members."""
    rows, rng = drawn(seed, rivals, 9), np.random.default_rng(seed)
    prices = rng.integers(1, 40, 6)
    sets = all_sets(list(range(6)))
    for limit in (15, 40, 90):
        for most in (2, 6):
            asked = [s for s in sets if prices[list(s)].sum() <= limit and len(s) <= most]
            best = max(kept(rows, s) for s in asked)
            for step in (1, 7, 50):
                branching = BranchAndBound(rows, 0, Prices(prices, step, limit // step, most), ROOM)
                reached, chosen = found_by(branching, rows, limit, best)
                assert reached
                assert prices[chosen].sum() <= limit
                assert len(chosen) <= most
                assert not found_by(branching, rows, limit, best + 1)[0]


@pytest.mark.parametrize("rivals", [1, 4])
@pytest.mark.parametrize("room", [0, ROOM])
def test_blocks_and_room_change_nothing(rivals: int, room: int) -> None:
    """More rows than a block, of which a table has all or those that come nearest to the floor."""
    rows, sets = drawn(3, rivals, 150), all_sets(list(range(6)))
    each = np.ones(6, dtype=np.int64)
    for size in (1, 2, 4):
        best = max(kept(rows, s) for s in sets if len(s) <= size)
        branching = BranchAndBound(rows, 0, Prices(each, 1, size, size), room)
        assert found_by(branching, rows, size, best)[0]
        assert not found_by(branching, rows, size, best + 1)[0]


@pytest.mark.parametrize("rivals", [1, 4])
@pytest.mark.parametrize("seed", range(10))
def test_numbers_of_sixty_bits_are_rounded_to_the_safe_side(seed: int, rivals: int) -> None:
    """Margins and gains beyond 24 bits, weights too: no set that keeps enough is passed over."""
    small, rng = drawn(seed, rivals, 12), np.random.default_rng(seed)
    odd = Rows(
        small.margins * 2**50 + rng.integers(-(2**20), 2**20, small.margins.shape),
        small.weights * 2**40 + rng.integers(0, 2**30, small.weights.shape),
        small.gains * 2**50 + rng.integers(-(2**20), 2**20, small.gains.shape),
    )
    each, sets = np.ones(6, dtype=np.int64), all_sets(list(range(6)))
    for size in (1, 3, 5):
        best = max(kept(odd, s) for s in sets if len(s) <= size)
        branching = BranchAndBound(odd, 0, Prices(each, 1, size, size), ROOM)
        assert found_by(branching, odd, size, best)[0]
        assert not found_by(branching, odd, size, best + 1)[0]


@pytest.mark.parametrize("seed", range(10))
def test_what_is_lost_at_a_price_is_lost(seed: int) -> None:
    """The weight of rows that no set of so many members keeps is a bound for each of them."""
    rows, sets = drawn(seed, 1 + seed % 4, 20), all_sets(list(range(6)))
    total = int(rows.weights.sum())
    branching = BranchAndBound(rows, 0, Prices(np.ones(6, dtype=np.int64), 1, 5, 5), ROOM)
    for s in sets:
        if len(s) <= 5:
            assert branching.lost[len(s)] <= total - kept(rows, s)
    assert (np.diff(branching.lost) <= 0).all()


def test_one_unit_at_the_edge_of_what_is_exact_decides() -> None:
    """A margin that gains meet exactly is kept; one below the floor is not, where floats tell."""
    for top, told in ((2**22, True), (2**60, False)):
        for short in (0, 1):
            rows = Rows(
                np.array([-top - short]),
                np.array([1]),
                np.array([[top // 2], [top // 2], [top // 4]]),
            )
            branching = BranchAndBound(rows, 0, Prices(np.ones(3, dtype=np.int64), 1, 2, 2), ROOM)
            branching.start()
            verdict, at, _ = branching.next(2, 0, 0, 10**6)
            assert verdict == (1 if short == 0 or not told else 0)
            assert short or sorted(at.tolist()) == [0, 1]


def test_rows_of_the_same_numbers_take_any_order() -> None:
    """Members that gain nothing, or all the same, are gone through as others are."""
    rows = some_rows(0, True)
    same = rows._replace(gains=np.repeat(rows.gains[:1], 6, axis=0) * 0 + 3)
    each = np.ones(6, dtype=np.int64)
    for size in (1, 3):
        best = kept(same, range(size))
        branching = BranchAndBound(same, 0, Prices(each, 1, size, size), ROOM)
        assert found_by(branching, same, size, best)[0]
        assert not found_by(branching, same, size, best + 1)[0]

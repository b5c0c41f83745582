"""One branch and bound, whatever says what a set loses: against all sets."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner
from sklearn_probsr.rows.kernels import Rows
from sklearn_probsr.rows.search import Asked, Prices, Search, State, branch, storage
from tests.interpreted import examples


class AllSets(NamedTuple):
    """Any function of a set: what each of all sets loses, and the least that sets above it lose.

    ``least[level, place, mask]`` is about a set and any candidates from a place on, of a price of
    at most a level; ``masks`` are the sets at each depth.
    """

    lost: NDArray[np.float32]
    least: NDArray[np.float32]
    masks: NDArray[np.int64]


@inner
def look(case: AllSets, depth: Any, place: Any, spare: Any) -> tuple[Any, Any]:
    return case.lost[case.masks[depth] | (np.int64(1) << place)] <= spare, np.int64(1)


@inner
def ahead(case: AllSets, depth: Any, place: Any, level: Any, spare: Any) -> tuple[Any, Any]:
    return case.least[level, place, case.masks[depth]] <= spare, np.int64(1)


@inner
def take(case: AllSets, depth: Any, place: Any) -> Any:
    case.masks[depth + 1] = case.masks[depth] | (np.int64(1) << place)
    return np.int64(1)


storage(AllSets, look, ahead, take)


def of_all_sets(lost: np.ndarray, prices: np.ndarray, levels: int) -> AllSets:
    """Return a function of sets as branch and bound asks it."""
    d = len(prices)
    least = np.full((levels + 1, d + 1, 2**d), np.inf, dtype=np.float32)
    for level in range(levels + 1):
        for place in range(d, -1, -1):
            for mask in range(2**d):
                found = lost[mask]
                for j in range(place, d):
                    if prices[j] <= level:
                        found = min(found, least[level - prices[j], j + 1, mask | 1 << j])
                least[level, place, mask] = found
    return AllSets(lost, least, np.zeros(d + 2, dtype=np.int64))


@pytest.mark.parametrize("seed", range(examples(60)))
def test_any_function_of_a_set_is_searched(seed: int):
    """Not monotone, no sum: the same kernel goes through all sets of at most a price."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    lost = rng.integers(0, 40, 2**d).astype(np.float32)
    prices = rng.integers(1, 4, d)
    limit, spare = int(rng.integers(0, prices.sum() + 1)), float(rng.integers(0, 12))
    fewest = 1
    costs = {m: int(prices[[j for j in range(d) if m >> j & 1]].sum()) for m in range(1, 2**d)}
    want = sorted(m for m, cost in costs.items() if cost <= limit and lost[m] <= spare)
    case = of_all_sets(lost, prices, limit)
    state = State(np.zeros(d + 1, dtype=np.int64), np.zeros(3, dtype=np.int64))
    cheapest = int(prices.min())
    asked = Asked(prices, 1, cheapest, limit, d, fewest, np.float32(spare), 10**6)
    met = []
    while True:
        verdict, size, _ = branch(case, state, asked)
        if verdict != 1:
            break
        met.append(sum(1 << int(j) for j in state.taken[:size]))
    assert verdict == 0
    assert sorted(met) == want


@pytest.mark.parametrize("rivals", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(examples(40)))
def test_the_cheapest_set_over_rows(seed: int, rivals: int):
    """Any prices, steps, weights, gains of both signs, any room: the cheapest set, or none."""
    rng = np.random.default_rng(seed)
    n, h = int(rng.integers(1, 200)), int(rng.integers(1, 8))
    margins = rng.integers(-30, 10, (rivals, n)).astype(np.float32)
    gains = rng.integers(-9, 15, (h, rivals, n)).astype(np.float32)
    weights = rng.integers(1, 4, n) * int(rng.choice([1, 2**30]))
    prices = rng.integers(1, 4, h) if seed % 2 else np.ones(h, dtype=np.int64)
    limit, step = int(rng.integers(0, prices.sum() + 1)), 1 + int(rng.integers(0, 2)) * (seed % 2)
    spare = int(rng.integers(0, weights.sum()))

    def lost(chosen: Any) -> int:
        with_them = margins + gains[list(chosen)].sum(axis=0)
        return int(weights[(with_them < 0).any(axis=0)].sum())

    sets = [s for k in range(h + 1) for s in combinations(range(h), k)]
    reach = [int(prices[list(s)].sum()) for s in sets if lost(s) <= spare]
    least = min((cost for cost in reach if cost <= limit), default=None)
    rows = Rows(
        margins, gains, weights, (weights / weights.max()).astype(np.float32), np.float32(0)
    )
    search = Search(rows, Prices(prices, step, limit // step, h), int(rng.choice([0, 2**25])))
    # What is told of all sets at a price is true of them.
    for level in range(limit // step + 1):
        below = [lost(s) for s in sets if (prices[list(s)] // step).sum() <= level]
        assert int(search.lost[level]) <= min(below)
    found = None
    while limit >= 0:
        verdict, chosen = search.next(limit, 0, spare, 10**9)
        if verdict != 1:
            break
        if lost(chosen) <= spare:
            found = int(prices[chosen].sum())
            limit = found - 1
    assert found == least


@pytest.mark.parametrize("rivals", [1, 3])
@pytest.mark.parametrize("seed", range(examples(60)))
def test_sizes_that_are_refuted_across_rows_are_too_small(seed: int, rivals: int):
    """Forms of what all rows lose are below the truth for all sets; many sizes are refuted."""
    rng = np.random.default_rng([seed, 1])
    n, h = int(rng.integers(1, 200)), int(rng.integers(2, 9))
    margins = rng.integers(-40, 5, (rivals, n)).astype(np.float32) * int(rng.choice([1, 2000]))
    gains = rng.integers(-9, 15, (h, rivals, n)).astype(np.float32) * int(rng.choice([1, 900]))
    weights = rng.integers(1, 4, n) * int(rng.choice([1, 2**30]))
    sets = [s for k in range(h + 1) for s in combinations(range(h), k)]
    with_them = {s: margins + gains[list(s)].sum(axis=0) for s in sets}
    lost = {s: int(weights[(m < 0).any(axis=0)].sum()) for s, m in with_them.items()}
    spare = int(rng.choice([*lost.values()])) - int(rng.integers(0, 2))
    if spare < 0:
        return
    least = min((len(s) for s in sets if lost[s] <= spare), default=h + 1)
    rows = Rows(margins, gains, weights, weights.astype(np.float32), np.float32(0))
    for most in range(1, h + 1):
        search = Search(rows, Prices(np.ones(h, dtype=np.int64), 1, most, most), 2**25)
        if search.lost[most] <= spare:
            first = int(np.count_nonzero(search.lost > spare))
            assert first <= search.least(first, most, spare) <= least


def test_rows_that_disagree_are_refuted_together():
    """Each row is kept by some single candidate, but no candidate keeps more than two rows."""
    margins = np.full((1, 64), -10.0, dtype=np.float32)
    gains = np.zeros((32, 1, 64), dtype=np.float32)
    gains[np.arange(64) % 32, 0, np.arange(64)] = 10.0
    ones = np.ones(64, dtype=np.int64)
    rows = Rows(margins, gains, ones, ones.astype(np.float32), np.float32(0))
    search = Search(rows, Prices(np.ones(32, dtype=np.int64), 1, 31, 31), 2**25)
    assert int(np.count_nonzero(search.lost > 20)) == 1
    assert search.least(1, 31, 20) == 22  # 22 keep 44 of 64


def test_a_budget_of_cells_ends_a_search():
    """It says so, and goes on where it stopped when it is asked again."""
    rng = np.random.default_rng(0)
    margins = rng.integers(-60, -20, (1, 300)).astype(np.float32)
    gains = rng.integers(0, 12, (14, 1, 300)).astype(np.float32)
    ones = np.ones(300, dtype=np.int64)
    rows = Rows(margins, gains, ones, ones.astype(np.float32), np.float32(0))
    prices = Prices(np.ones(14, dtype=np.int64), 1, 7, 14)
    whole = Search(rows, prices, 2**25)
    assert whole.next(7, 0, 60, 10**9)[0] == 0
    parts, asked = Search(rows, prices, 2**25), 0
    while parts.next(7, 0, 60, 20_000)[0] == -1:
        asked += 1
    assert asked > 1

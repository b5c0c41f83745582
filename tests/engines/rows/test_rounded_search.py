"""The search that rounds gains up, against all sets and against the search in integers."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr import Background, LinearModel, sufficient_reason
from sklearn_probsr.engines.rows._branch_and_bound import branch_and_bound
from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.engines.rows._rounded_search import Rounded, rounded_search, rounded_up
from sklearn_probsr.laws.rows import _rows_prover
from tests.engines.rows.cases import all_sets, kept, some_rows
from tests.interpreted import long_loops


def look(
    rows: Rows, size: int, needed: int, floor: int, budget: int, room: int = 0
) -> tuple[int, np.ndarray]:
    """Return the verdict and the set; -1 also where rows cannot be rounded for that room."""
    rounded = rounded_up(rows, max(size, room), floor, budget)
    if rounded is None:
        return -1, np.zeros(len(rows.gains), dtype=bool)
    spare = int(rows.weights.sum()) - needed
    return rounded_search(rounded, size, spare, budget - rounded.cost)[:2]


@pytest.mark.parametrize("seed", range(20))
def test_what_it_refutes_is_refuted(seed: int) -> None:
    """Small numbers are not rounded, so its verdict is that of trying all sets; huge ones are."""
    rows = some_rows(seed, True)
    for size in range(4):
        best = max(kept(rows, s) for s in all_sets(list(range(6))) if len(s) == size)
        verdict, chosen = look(rows, size, best, 0, 10**6, room=seed % 6)
        assert verdict == 1
        assert kept(rows, np.flatnonzero(chosen)) >= best
        assert look(rows, size, best + 1, 0, 10**6, room=seed % 6)[0] == 0
        # Beyond 24 bits: what is found may miss by less than its rounding, what is refuted stays.
        rng = np.random.default_rng(seed)
        odd = Rows(
            rows.margins * 2**50 + rng.integers(-(2**20), 2**20, rows.margins.shape),
            rows.weights,
            rows.gains * 2**50 + rng.integers(-(2**20), 2**20, rows.gains.shape),
        )
        for needed in (best, best + 1):
            rounded = look(odd, size, needed, 3, 10**6)[0]
            exact = branch_and_bound(odd, size, needed, 3, 10**6)[0]
            assert rounded >= exact
    assert look(rows, 3, 1, 0, 10)[0] == -1


def test_it_says_where_it_does_not_apply() -> None:
    """Several rivals, and weights whose sums are no longer exact; more than all there is."""
    rows = some_rows(0, False)
    rivals = Rows(np.tile(rows.margins, 2), rows.weights, np.tile(rows.gains, (1, 2)))
    assert rounded_up(rivals, 2, 0, 10**6) is None
    heavy = rows._replace(weights=rows.weights * 2**23)
    assert rounded_up(heavy, 2, 0, 10**6) is None
    assert rounded_up(rows._replace(gains=rows.gains[:0]), 0, 0, 10**6) is None
    assert look(rows, 2, int(rows.weights.sum()) + 1, 0, 10**6)[0] == 0
    assert look(rows, 7, 1, 0, 10**6)[0] == 0  # there are six members


@pytest.mark.parametrize("seed", range(6))
def test_blocks_and_orders_change_nothing(seed: int) -> None:
    """More rows than a block, or just one block, of any weight, gains of any size first or last."""
    rng = np.random.default_rng(seed)
    n = (64, 65, 150)[seed % 3]
    rows = Rows(
        rng.integers(-60, 20, n),
        rng.integers(1, 5, n),
        rng.integers(-6 if seed < 3 else 0, 12, (7, n)) * rng.integers(0, 9, (7, 1)),
    )
    sets = all_sets(list(range(7)))
    for size in range(5):
        best = max(kept(rows, s) for s in sets if len(s) == size)
        for find in (look, branch_and_bound):
            verdict, chosen = find(rows, size, best, 0, 10**6)[:2]
            assert verdict == 1
            assert chosen.sum() == size
            assert kept(rows, np.flatnonzero(chosen)) == best
            assert find(rows, size, best + 1, 0, 10**6)[0] == 0


def test_sums_stay_whole_at_the_edge_of_what_is_exact() -> None:
    """One unit in 2^24 decides: margins that a gain meets exactly, or misses by one."""
    top = 2**60
    for short in (0, 1):
        rows = Rows(
            np.array([-top - short], dtype=np.int64),
            np.array([1], dtype=np.int64),
            np.array([[top // 2], [top // 2], [top // 4]], dtype=np.int64),
        )
        exact = branch_and_bound(rows, 2, 1, 0, 10**6)[0]
        assert exact == 1 - short
        assert look(rows, 2, 1, 0, 10**6)[0] >= exact


@long_loops
@pytest.mark.parametrize("prove", ["auto", True])
def test_sets_that_rounding_makes_up_are_not_believed(
    monkeypatch: pytest.MonkeyPatch, prove: bool | str
) -> None:
    """Whatever it finds is counted, and the search in integers goes on."""
    rng = np.random.default_rng(1)
    data = rng.integers(0, 2, (200, 24))
    model = LinearModel(rng.normal(size=24), 0.3)
    asked = {"delta": 0.9, "distribution": Background(data), "prove": prove}
    reasons = [sufficient_reason(model, row, **asked) for row in data[:6]]
    assert {reason.minimality for reason in reasons} == {"minimum"}

    def dreams(rows: Rounded, size: int, *_: int) -> tuple[int, np.ndarray, int]:
        return 1, np.arange(len(rows.gains)) < size, 1

    monkeypatch.setattr(_rows_prover, "rounded_search", dreams)
    for row, reason in zip(data[:6], reasons, strict=True):
        again = sufficient_reason(model, row, **asked)
        assert (again.size, again.minimality) == (reason.size, "minimum")


@long_loops
def test_smaller_sizes_are_refuted_where_the_budget_ends() -> None:
    """The size below which there is no set is known all the same, and true."""
    rng = np.random.default_rng(0)
    data = rng.random((300, 60)) < rng.uniform(0.05, 0.95, 60)
    model = LinearModel(rng.normal(size=60), 0.0)
    for row in data[:4]:
        asked = {"delta": 0.95, "distribution": Background(data)}
        known = sufficient_reason(model, row, prove=True, **asked)
        assert known.minimality == "minimum"
        short = sufficient_reason(model, row, prove=True, max_evals=3000, **asked)
        assert short.size_lower <= known.size <= short.size

"""Members fixed and freed by columns, against tables in which every zero stands."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.engines.rows._sparse_counts import (
    Columns,
    are_needed,
    kept_on_the_way,
    without_idle,
)
from tests.engines.rows.cases import all_sets

ORDER = np.array([3, 1, 5, 0, 2])
SOME = [(seed, rivals) for seed in range(12) for rivals in (1, 3)]


def some_columns(seed: int, rivals: int) -> tuple[Columns, np.ndarray]:
    """Rows that hold some of six members, of which the instance has half; and all gains."""
    rng = np.random.default_rng(seed)
    held = rng.random((6, 12)) < 0.5
    entries = rng.integers(-9, 5, (int(held.sum()), rivals))
    known = rng.integers(-2, 7, (6, rivals)) * (np.arange(6) % 2)[:, None]
    starts = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    margins = rng.integers(-12, 4, (12, rivals))
    members = np.arange(6)
    rows = np.nonzero(held)[1].astype(np.int32)
    table = Columns(margins, rng.integers(1, 4, 12), members, known, starts, rows, entries)
    gains = np.repeat(known[:, None, :], 12, axis=1)
    gains[held] -= entries
    return table, gains


def kept(table: Columns, gains: np.ndarray, chosen: np.ndarray) -> int:
    """The weight of the rows in which no margin is negative."""
    margins = table.margins + gains[chosen].sum(axis=0)
    return int(table.weights[(margins >= 0).all(axis=1)].sum())


@pytest.mark.parametrize(("seed", "rivals"), SOME)
def test_what_is_kept_along_an_order_is_counted(seed: int, rivals: int) -> None:
    """At every size up to the one that is enough; the margins given stay as they are."""
    table, gains = some_columns(seed, rivals)
    before = table.margins.copy()
    truth = [kept(table, gains, ORDER[:k]) for k in range(len(ORDER) + 1)]
    found, unsure, margins = kept_on_the_way(table, ORDER, 0, 2**62, 0)
    assert found.tolist() == truth
    assert not unsure.any()
    assert np.array_equal(margins, before + gains[ORDER].sum(axis=0))
    assert np.array_equal(table.margins, before)
    for at in (0, 3):
        size = next(k for k in range(at, 6) if truth[k] >= truth[2] or k == 5)
        found, _, margins = kept_on_the_way(table, ORDER, 0, truth[2], at)
        assert found.tolist() == truth[: size + 1]
        assert np.array_equal(margins, before + gains[ORDER[:size]].sum(axis=0))


@pytest.mark.parametrize(("seed", "rivals"), SOME)
def test_rows_in_doubt_are_told(seed: int, rivals: int) -> None:
    """They lose the class by less than the doubt before their worst rival."""
    table, gains = some_columns(seed, rivals)
    for doubt in (2, 5):
        _, unsure, _ = kept_on_the_way(table, ORDER, doubt, 2**62, 0)
        for k, told in enumerate(unsure.tolist()):
            worst = (table.margins + gains[ORDER[:k]].sum(axis=0)).min(axis=1)
            assert told == ((worst < 0) & (worst > -doubt)).any()


@pytest.mark.parametrize(("seed", "rivals"), SOME)
def test_what_pruning_leaves_is_needed(seed: int, rivals: int) -> None:
    """The set still reaches the weight, and no single member can be left out."""
    table, gains = some_columns(seed, rivals)
    needed = max(kept(table, gains, ORDER) - 1, 1)
    stays, sure = without_idle(table, ORDER, needed, 0)
    left = ORDER[stays]
    assert sure
    assert kept(table, gains, left) >= needed or kept(table, gains, ORDER) < needed
    for i in range(len(left)):
        assert kept(table, gains, np.delete(left, i)) < needed
    assert not without_idle(table, ORDER, needed, 10**6)[1]


@pytest.mark.parametrize("mixed", range(6))
@pytest.mark.parametrize(("seed", "rivals"), SOME)
def test_nothing_can_be_left_out(seed: int, rivals: int, mixed: int, monkeypatch) -> None:
    """It is proved iff leaving out any of the mixed ones, or one of the others, loses too much."""
    monkeypatch.setattr("sklearn_probsr.engines.rows._sparse_counts._AT_A_TIME", 4)
    table, gains = some_columns(seed, rivals)
    first, others = ORDER[:mixed], ORDER[mixed:]
    removals = [s for s in all_sets(first.tolist()) if len(s)]
    removals += [others[i : i + 1] for i in range(len(others))]
    best = max(kept(table, gains, np.setdiff1d(ORDER, removal)) for removal in removals)
    assert are_needed(table, ORDER, mixed, best + 1, 0)
    assert not are_needed(table, ORDER, mixed, best, 0)
    assert not are_needed(table, ORDER, mixed, best + 1, 10**6)

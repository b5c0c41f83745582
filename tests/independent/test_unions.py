"""Bounds of a union from single events and pairs, against events that are known."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.independent import pairs


def union_below(single: np.ndarray, pair: np.ndarray) -> float:
    """Return the bound of one case."""
    return float(pairs.union_below(single[None], pair[None])[0])


def union_above(single: np.ndarray, pair: np.ndarray) -> float:
    """Return the bound of one case."""
    return float(pairs.union_above(single[None], pair[None])[0])


def events(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return how likely some events are, how likely two at once, and how likely any of them is."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(40, 0.3))
    inside = rng.random((n, 40)) < rng.choice([0.05, 0.3, 0.8])
    inside = inside[np.argsort(-(inside @ chances), kind="stable")]
    pair = (inside[:, None, :] & inside[None, :, :]) @ chances
    return inside @ chances, pair, float(inside.any(axis=0) @ chances)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 14])
def test_a_union_is_between_its_bounds(n: int) -> None:
    """Of any events, also with pairs that are known roughly."""
    for seed in range(60):
        single, pair, union = events(seed, n)
        assert union_below(single, pair) <= union + 1e-12
        assert union_above(single, pair) >= union - 1e-12
        assert union_below(single * 0.9, np.minimum(1.1 * pair, 1)) <= union + 1e-12
        assert union_above(single * 1.1, 0.5 * pair) >= union - 1e-12


def test_where_pairs_tell_all_there_is() -> None:
    """Events that exclude each other, that are the same, and a chain of them."""
    single = np.array([0.3, 0.2, 0.1])
    apart = np.diag(single)
    assert union_below(single, apart) == pytest.approx(0.6)
    assert union_above(single, apart) == pytest.approx(0.6)
    same = np.full((4, 4), 0.25)
    assert union_below(np.full(4, 0.25), same) == pytest.approx(0.25)
    assert union_above(np.full(4, 0.25), same) == pytest.approx(0.25)
    chain = np.array([[0.4, 0.2, 0.0], [0.2, 0.4, 0.2], [0.0, 0.2, 0.4]])
    assert union_above(np.full(3, 0.4), chain) == pytest.approx(0.8)
    assert union_below(np.full(3, 0.4), chain) == pytest.approx(0.8)


def test_a_sub_family_may_tell_more_than_all() -> None:
    """Many small events that mostly happen together spoil the sum of all pairs."""
    single = np.array([0.5, 0.4, *[0.1] * 6])
    pair = np.full((8, 8), 0.1)
    pair[0, 1] = pair[1, 0] = 0.0
    assert union_below(single, pair) >= 0.9 - 1e-12

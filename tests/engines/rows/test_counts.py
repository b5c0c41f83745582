"""Counts of background rows, in doubt and next to the limit of 64-bit numbers."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.engines.rows._counts import Rows, kept_along
from sklearn_probsr.engines.rows._greed import greedy
from sklearn_probsr.engines.rows._open_rows import open_rows
from sklearn_probsr.engines.rows._pruning import prune
from tests.engines.rows.cases import some_rows


def test_a_row_in_doubt_is_not_decided() -> None:
    """Pruning and prefixes say so when a margin is too close to zero to be sure."""
    rows = Rows(np.array([-2]), np.array([1]), np.array([[1], [5]]))
    order = np.array([1, 0])
    assert prune(rows, order, 1, 3)[1] is False
    assert prune(rows, order, 1, 0)[1] is True
    assert kept_along(rows, order, 3, 1, 0)[1].tolist() == [1, 0]


def test_a_doubt_that_does_not_matter_is_none() -> None:
    """Rows in doubt weigh what they weigh: too little to turn the scale, they stop no pruning."""
    rows = Rows(np.array([-9, -2]), np.array([5, 2]), np.array([[9, 0], [0, 1]]))
    order = np.array([0, 1])
    kept, unsure = kept_along(rows, order, 3, 8, 2)
    assert (kept.tolist(), unsure.tolist()) == ([0, 5, 5], [2, 2, 2])
    stays, sure = prune(rows, order, 4, 3)
    assert (stays.tolist(), sure) == ([True, False], True)
    sure_at = [prune(rows, order, needed, 3)[1] for needed in (5, 6, 7, 8)]
    assert sure_at == [True, False, False, True]


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

"""Branch and bound, against all sets."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.engines.rows._branch_and_bound import branch_and_bound
from tests.engines.rows.cases import all_sets, kept, some_rows


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

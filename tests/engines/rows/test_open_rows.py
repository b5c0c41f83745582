"""Rows that are decided whatever is fixed are taken out, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.engines.rows._counts import Rows, kept_weight
from sklearn_probsr.engines.rows._open_rows import narrowed, open_rows
from tests.engines.rows.cases import all_sets, kept, some_rows


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

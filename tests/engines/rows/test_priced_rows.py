"""The kernel that looks for the cheapest set over background rows, against all sets."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.engines.rows._priced_rows import Purse, cheapest_rows, gains_at_prices
from tests.interpreted import cases


@pytest.mark.parametrize("rivals", [1, 2])
@pytest.mark.parametrize("lowest", [0, -5])
def test_the_cheapest_set_is_that_of_all_sets(rivals, lowest):
    """With gains of either sign, ties, steps that round, and a limit of the size (92)."""
    for seed in cases(40, 3):
        rng = np.random.default_rng([seed, rivals])
        h, n = int(rng.integers(0, 8)), int(rng.integers(1, 9))
        rows = Rows(
            rng.integers(-12, 3, n * rivals),
            rng.integers(1, 4, n),
            rng.integers(lowest, 7, (h, n * rivals)),
        )
        order = rng.permutation(h)
        prices, most = rng.integers(1, 9, h), int(rng.integers(1, 8))
        floor, spare = -int(rng.integers(0, 2)), int(rng.integers(0, rows.weights.sum() + 1))
        reached = []
        for bits in product((0, 1), repeat=h):
            margins = (rows.margins + np.array(bits, dtype=np.int64) @ rows.gains[order]).reshape(
                n, rivals
            )
            lost = int(rows.weights[(margins < floor).any(axis=1)].sum())
            if lost <= spare and sum(bits) <= most:
                reached.append((int(np.array(bits, dtype=np.int64) @ prices), bits))
        limit = int(prices.sum())
        for step in (1, 3):
            table = gains_at_prices(rows.gains, order, prices, step, limit // step)
            for exact in (True, False):
                purse = Purse(prices, exact, limit, most, spare, floor, 10**6, 256)
                verdict, sets = cheapest_rows(rows, order, table, step, purse)
                assert verdict == 1
                met = {tuple(mask.astype(int).tolist()) for mask in sets}
                assert met <= {bits for _, bits in reached}
                if reached:
                    assert min(int(np.array(bits) @ prices) for bits in met) == min(reached)[0]
                assert bool(met) == bool(reached)


def test_too_few_branches_or_too_little_room_prove_nothing():
    """Then what was met is returned all the same."""
    rows = Rows(np.array([-1, -1]), np.array([1, 1]), np.eye(2, dtype=np.int64) + 1)
    prices = np.array([1, 1])
    table = gains_at_prices(rows.gains, np.arange(2), prices, 1, 2)
    for branches, room, floor in ((1, 8, 0), (100, 1, -1)):
        purse = Purse(prices, True, 2, 2, 2 if room == 1 else 0, floor, branches, room)
        verdict, sets = cheapest_rows(rows, np.arange(2), table, 1, purse)
        assert verdict == -1
        assert len(sets) <= room

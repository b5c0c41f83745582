"""Greed over background rows, against the best member of every step."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.engines.rows import _greed
from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.engines.rows._greed import greedy
from tests.engines.rows.cases import some_rows


def plain(rows: Rows, hinge: bool) -> list[int]:
    """All members, each the best of those that are left."""
    order: list[int] = []
    margins = rows.margins.copy()
    while len(order) < len(rows.gains):
        after = margins + rows.gains
        kept = (after >= 0) @ rows.weights * (not hinge)
        left = np.minimum(after, 0) @ rows.weights
        free = [j for j in range(len(rows.gains)) if j not in order]
        order.append(max(free, key=lambda j: (kept[j], left[j])))
        margins += rows.gains[order[-1]]
    return order


@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_every_step_takes_the_best(seed: int, hinge: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last step that it may take, the other members follow as they come."""
    rows = some_rows(seed, True)
    order = plain(rows, hinge)
    assert greedy(rows, np.inf, hinge).tolist() == order
    monkeypatch.setattr(_greed, "_LOOKS", 0)
    monkeypatch.setattr(_greed, "_STEPS", 2)
    assert greedy(rows, np.inf, hinge).tolist() == [*order[:2], *sorted(order[2:])]

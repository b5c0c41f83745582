"""The smallest sets that hit every one of some sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

__all__ = ["smallest_hitting_set"]


def smallest_hitting_set(sets: Sequence[frozenset[int]], seconds: float) -> tuple[set[int], int]:
    """Return a small set that shares an element with each set, and a lower bound of its size.

    An integer programme of zeros and ones; Proposition 33 says what is trusted of its solver. Where
    time is up the set may be larger than the bound. No set may be empty.
    """
    elements = sorted(frozenset.union(*sets))
    place = {u: j for j, u in enumerate(elements)}
    cells = [(i, place[u]) for i, s in enumerate(sets) for u in s]
    rows, columns = zip(*cells, strict=True)
    table = csr_array((np.ones(len(cells)), (rows, columns)), shape=(len(sets), len(elements)))
    done = milp(
        np.ones(len(elements)),
        constraints=LinearConstraint(table, lb=1),
        bounds=Bounds(0, 1),
        integrality=np.ones(len(elements)),
        options={"time_limit": seconds},
    )
    bound = done.mip_dual_bound if done.mip_dual_bound is not None else 1.0
    least = max(int(np.ceil(bound - 1e-5)), 1)
    chosen = (
        set() if done.x is None else {u for u, v in zip(elements, done.x, strict=True) if v > 0.5}
    )
    for s in sets:  # whatever the solver says, it is one
        if not chosen & s:
            chosen.add(min(s))
    return chosen, least

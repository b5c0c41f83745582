"""Small backgrounds, and what they keep, counted plainly."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np

from sklearn_probsr.engines.rows._counts import Rows


def some_rows(seed: int, mixed: bool) -> Rows:
    rng = np.random.default_rng(seed)
    gains = rng.integers(-4 if mixed else 0, 9, (6, 12))
    return Rows(rng.integers(-20, 4, 12), rng.integers(1, 4, 12), gains)


def all_sets(items: list[int]) -> list[np.ndarray]:
    sizes = range(len(items) + 1)
    every = chain.from_iterable(combinations(items, k) for k in sizes)
    return [np.array(s, dtype=np.intp) for s in every]


def kept(rows: Rows, chosen: np.ndarray) -> int:
    margins = rows.margins + rows.gains[np.asarray(chosen, dtype=np.intp)].sum(axis=0)
    ahead = (margins >= 0).reshape(len(rows.weights), -1).all(axis=1)  # of every rival
    return int(rows.weights[ahead].sum())

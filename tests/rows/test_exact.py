"""Signs of sums of products of floats, against rationals."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sklearn_probsr.rows.exact import Decider, Winner, bounds, kept, kept_along
from tests.interpreted import examples

WILD = [1e300, -1e300, 1e-300, 5e-324, -5e-324, 0.0, 1.0, 0.1, -0.1, 1.7e308]


def numbers(rng: np.random.Generator, kind: int, size: Any) -> np.ndarray:
    if kind == 0:
        return rng.integers(-9, 10, size) / 10
    if kind == 1:
        return rng.integers(-3, 4, size) * 2.0 ** rng.integers(-1000, 1000, size)
    if kind == 2:
        return rng.choice(WILD, size)
    return rng.integers(0, 2, size).astype(float)


@pytest.mark.parametrize("seed", range(examples(300)))
def test_rows_are_told_exactly(seed: int):
    """Ties, products beyond floats and next to nothing, one score and several, any tie rule."""
    rng = np.random.default_rng(seed)
    many, d, kind = int(rng.integers(1, 4)), int(rng.integers(1, 6)), seed % 4
    weights, start = numbers(rng, kind, (many, d)), numbers(rng, kind, many)
    rows, x = numbers(rng, kind, (5, d)), numbers(rng, kind, d)
    rows[0] = -x
    decider = Decider(weights, start, np.arange(d))
    if many == 1:
        winner = Winner(np.array([0, -1] if seed % 2 else [-1, 0]), np.array([seed // 2 % 2]))
    else:
        winner = Winner(np.arange(many), rng.integers(0, 2, many - 1))
    lead, most = bounds(decider, winner), np.maximum(np.abs(rows).max(axis=0), np.abs(x))
    counts, order = rng.integers(1, 4, 5), [[int(j)] for j in rng.permutation(d)]

    def truth(fixed: np.ndarray) -> list[bool]:
        told = []
        for row in rows:
            z = [Fraction(x[j] if fixed[j] else row[j]) for j in range(d)]
            scores = [
                sum((Fraction(w) * v for w, v in zip(line, z, strict=True)), Fraction(b))
                for line, b in zip(weights.tolist(), start.tolist(), strict=True)
            ]
            first, *others = ([*scores, Fraction(0)][k] for k in winner.lines)
            pairs = zip(others, winner.loses.tolist(), strict=True)
            told.append(all(first > o or (first == o and not loses) for o, loses in pairs))
        return told

    fixed = np.append(rng.random(d) < 0.5, False)
    assert kept(decider, winner, lead, rows, most, x, fixed).tolist() == truth(fixed)
    along = kept_along(decider, winner, lead, rows, counts, most, x, order)
    fixed[:] = False
    for k in range(d + 1):
        if k:
            fixed[order[k - 1]] = True
        assert along[k] == counts[truth(fixed)].sum()

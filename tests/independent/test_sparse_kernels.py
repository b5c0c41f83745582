"""Kernels of units that are mostly zero, against sums of all their terms."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sklearn_probsr.independent.sparse import (
    least_decays,
    log_moments,
    sparse_factors,
    sparse_product,
)
from tests.interpreted import cases


def units(seed: int) -> tuple[Any, Any, Any, Any, Any]:
    """Return the laws of some units, with few and many values, and what scales them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 6, size=30)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = np.round(rng.normal(size=starts[-1]) * rng.choice([0.1, 1.0, 8.0]), 1)
    chances = rng.random(starts[-1]) / 60
    held = [chances[a:b].sum() for a, b in pairwise(starts.tolist())]
    return starts, values, rng.normal(size=30) / 9, chances, 1 - np.array(held)


@pytest.mark.parametrize("seed", cases(6, 2))
def test_factors_and_their_product_and_a_bound_of_its_size(seed: int):
    """The bound is never below the product (Lemma 134), and close to it where units are rare."""
    starts, values, scales, chances, zeros = units(seed)
    nodes = np.arange(1.0, 41.0)
    every = np.arange(30)
    found = sparse_factors(every, starts, values, scales, chances, zeros, nodes)
    owner = np.repeat(every, np.diff(starts))
    turns = values * scales[owner]
    whole = np.ones(40, dtype=np.complex128)
    for u in every:
        at = owner == u
        truth = zeros[u] + (chances[at] * np.exp(2j * np.pi * np.outer(nodes, turns[at]))).sum(1)
        assert np.abs(found[u, :, 0] + 1j * found[u, :, 1] - truth).max() < 1e-12
        whole *= truth
    product = sparse_product(every, starts, values, scales, chances, zeros, nodes, np.zeros(40))
    assert np.abs(product[:, 0] + 1j * product[:, 1] - whole).max() < 1e-12
    decays = least_decays(turns, chances * zeros[owner], 40)
    assert (np.abs(whole) <= np.exp(-decays) * (1 + 1e-12)).all()
    assert (np.abs(whole) >= np.exp(-1.3 * decays) * (1 - 1e-6)).all()
    dropped = sparse_product(every, starts, values, scales, chances, zeros, nodes, np.full(40, 2.0))
    assert (dropped == 0).all()


@pytest.mark.parametrize("seed", cases(6, 2))
def test_exponents_are_bounded_from_above(seed: int):
    """Whether moments stand for the values or not (Lemma 135), by a little at most."""
    starts, values, scales, chances, zeros = units(seed)
    owner = np.repeat(np.arange(30), np.diff(starts))
    table = np.zeros((30, 7))
    for u in range(30):
        own, p = np.append(values[owner == u], 0.0), np.append(chances[owner == u], zeros[u])
        size = np.abs(own).max()
        over = own / (size or 1.0)
        mean = (p * over).sum()
        around = [(p * (over - mean) ** r).sum() for r in (2, 3, 4)]
        table[u] = [size, mean, *around, over.min(), over.max()]
    for exponent in (0.01, 0.3, 2.0, 25.0):
        truth = 0.0
        for u in range(30):
            own, p = np.append(values[owner == u], 0.0), np.append(chances[owner == u], zeros[u])
            terms = exponent * scales[u] * own
            inside = math.fsum(p * np.exp(terms - (p * terms).sum()))
            truth += math.log(inside)
        found = log_moments(starts, values, scales, chances, zeros, table, exponent)
        assert truth * (1 - 1e-9) - 1e-12 <= found <= truth * 1.1 + 1e-12

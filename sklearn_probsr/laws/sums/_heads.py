"""Heads: the units that reasons are made of come first, with those that a proof must know."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.independent.contributions import Contributions
from sklearn_probsr.laws.sums._turns import clamped

__all__ = ["shared_out"]

# How many times as many units as a ranking brings are known in proofs.
_PROOF_FACTOR = 4
# A rest has so many units, or none: few of them would leave nearly all nodes of a high degree.
_LEAST_REST = 96


def shared_out(
    contributions: Contributions,
    centre: NDArray[np.float64],
    variance: NDArray[np.float64],
    period: Fraction | int,
    positive: bool | None,
) -> tuple[list[int], list[int], list[int]]:
    """Return the units of the head, with more that proofs know, and those of the rest."""
    # Those that vary most first: their factors soon make a product negligible.
    varying, n = contributions.by_range, len(centre)
    head = [*varying, *sorted(set(range(n)).difference(varying))]
    broad = head
    if positive is not None:
        head, broad = _heads(contributions, centre, variance, period, positive)
    if 0 < n - len(broad) < _LEAST_REST:
        broad = broad[: max(n - _LEAST_REST, len(head))]
    inside = set(broad)
    return head, broad, [u for u in varying if u not in inside]


def _heads(
    contributions: Contributions,
    centre: NDArray[np.float64],
    variance: NDArray[np.float64],
    period: Fraction | int,
    positive: bool,
) -> tuple[list[int], list[int]]:
    """Return the units that reasons are made of, and those that a proof must know besides.

    The first have the best promise in some ranking. The others are those that the fewest exceed
    in both the most that they can cost and in how likely they do.
    """
    width = np.array([float((most - least) / period) for least, most in contributions.ends])
    cost = width - centre if positive else centre
    scale = cost.max() or 1.0
    # What never varies may still cost, if the instance is different: for a 0/1 column, its weight.
    model = contributions.model
    groups = (
        [(u,) for u in range(len(centre))]
        if model.units is None
        else [unit.columns for unit in model.units]
    )
    unit = contributions.scale * period
    most = [clamped(Fraction(float(np.abs(model.weights[list(g)]).max())) / unit) for g in groups]
    cost = np.where(width > 0, cost, most)
    keys = (cost, cost + variance / scale, width * (cost > 0))
    size = math.ceil(4 * math.sqrt(len(centre)))
    best = [np.argsort(-key, kind="stable")[:size].tolist() for key in keys]
    head = list(dict.fromkeys(u for ranks in zip(*best, strict=True) for u in ranks))
    share = cost / np.maximum(width, 1e-300)
    exceeded = [
        np.count_nonzero((width >= width[u]) & (share >= share[u])) for u in range(len(cost))
    ]
    others = np.argsort(exceeded, kind="stable")[: _PROOF_FACTOR * size].tolist()
    return head, list(dict.fromkeys([*head, *others]))

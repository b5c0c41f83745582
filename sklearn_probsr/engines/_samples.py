"""Monte Carlo: one batch of random completions estimates every size at once.

Draw a completion ``z`` and let ``T(z)`` be the smallest k for which fixing the first k features
already gives the class. Fixing more never undoes it, so ``v_k = Pr[T <= k]`` is a distribution
function, and one batch of T's estimates all of it. The answer ``k* = min{k : v̂_k >= delta}``
is wrong by more than epsilon only if the estimate errs at one of two sizes that do not depend on
the batch: the last with ``v < delta - epsilon`` or the first with ``v >= delta + epsilon``
(Theorem 9; Table 1 line 6).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["coupled_sizes", "hoeffding_radius", "sample_size"]

_LONGEST_SCAN = 4_000_000
_CHUNK_CELLS = 2**22
MOST_SAMPLES = 10**9


def sample_size(delta: Fraction, epsilon: Fraction, gamma: float) -> int:
    """Return how many samples make a failure have probability at most gamma.

    The smallest M from which on ``Pr[Bin(M, delta - eps) >= delta M] +
    Pr[Bin(M, delta + eps) < delta M] <= gamma`` holds for good (a smaller M may meet it by a
    lucky rounding of ``delta M``). Chernoff's bound is a number that surely suffices; the exact
    tails are then scanned downward from it, except beyond four million, where it is taken
    (Corollary 26).

    Examples
    --------
    >>> sample_size(Fraction("0.95"), Fraction("0.1"), 0.01)
    64
    """
    enough = _chernoff_size(float(delta), float(epsilon), gamma)
    if enough > MOST_SAMPLES:
        raise InvalidInputError(
            f"epsilon = {float(epsilon):g} and gamma = {gamma:g} need more than "
            f"{MOST_SAMPLES:,} samples a row. Raise one of them, or use method='certified'."
        )
    if enough > _LONGEST_SCAN:
        return enough
    stop = enough
    while stop > 1:
        start = max(stop - 4096, 1)
        tried = np.arange(start, stop)
        bad = np.flatnonzero(_failure(tried, delta, epsilon) > gamma)
        if len(bad):
            return int(tried[bad[-1]]) + 1
        stop = start
    return 1


def _chernoff_size(delta: float, epsilon: float, gamma: float) -> int:
    """Return from how many samples on each tail is at most gamma / 2, by Corollary 26."""
    rates = [_divergence(delta, p) for p in (delta - epsilon, delta + epsilon) if 0 < p < 1]
    nats = math.log(2) - math.log(gamma) if gamma > 0 else math.inf
    needed = max((nats / rate if rate > 0 else math.inf for rate in rates), default=1.0)
    return math.ceil(needed * (1 + 1e-9)) if needed < 2 * MOST_SAMPLES else 2 * MOST_SAMPLES


def _divergence(a: float, p: float) -> float:
    """Return Kullback and Leibler's divergence of two coins, in nats."""
    heads = a * math.log(a / p) if a > 0 else 0.0
    tails = (1 - a) * math.log((1 - a) / (1 - p)) if a < 1 else 0.0
    return heads + tails


def _failure(sizes: NDArray[np.int64], delta: Fraction, epsilon: Fraction) -> NDArray[np.float64]:
    """Bound the probability that an answer from so many samples is off by epsilon."""
    needed = -(-sizes.astype(object) * delta.numerator // delta.denominator)
    needed = needed.astype(np.int64)  # the ceiling of delta * size
    chance = np.zeros(len(sizes))
    if delta > epsilon:
        chance += bdtrc(needed - 1, sizes, float(delta - epsilon))
    if 0 < delta < 1 - epsilon:
        chance += bdtr(needed - 1, sizes, float(delta + epsilon))
    return chance


def hoeffding_radius(samples: int, gamma: float) -> float:
    """Return how far off one size's estimate may be, but with probability gamma (Corollary 27)."""
    return math.sqrt(math.log(2 / gamma) / (2 * samples))


def coupled_sizes(
    members: list[int],
    others: list[int],
    capacity: int,
    samples: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw completions and return how many members must be fixed to keep the class in each.

    Parameters
    ----------
    members : list of int
        Magnitudes that may be fixed, in the order in which they are.
    others : list of int
        Magnitudes that are always free.
    capacity : int
        The most that the free ones may sum to. ``len(members) + 1`` is returned where even
        fixing every member does not keep the class.
    samples : int
    rng : numpy Generator
    """
    values = members + others
    total = sum(values)
    shift = max(total.bit_length() - 53, 0)
    # Cut to 53 bits, sums of floats are exact; a sum of n cut values is short by less than n
    # (Lemma 16).
    cut = np.array([v >> shift for v in values], dtype=np.float64)
    limit = float(min(capacity, total) >> shift)
    doubt = len(values) if shift else 0
    sizes = np.empty(samples, dtype=np.int64)
    chunk = max(_CHUNK_CELLS // max(len(values), 1), 1)
    for start in range(0, samples, chunk):
        stop = min(start + chunk, samples)
        drawn = rng.integers(0, 2, size=(stop - start, len(values)), dtype=np.bool_)
        costs = np.where(drawn, cut, 0.0)
        rest = costs[:, len(members) :].sum(axis=1)
        # left[:, k] is the cost of what stays free when the first k members are fixed
        left = np.empty((stop - start, len(members) + 1))
        left[:, -1] = rest
        np.cumsum(costs[:, : len(members)][:, ::-1], axis=1, out=left[:, -2::-1])
        left[:, :-1] += rest[:, None]
        sizes[start:stop] = np.count_nonzero(left > limit, axis=1)
        if doubt:
            unsure = np.flatnonzero(((left <= limit) & (left > limit - doubt)).any(axis=1))
            for i in unsure:
                sizes[start + i] = _size_exactly(members, others, capacity, drawn[i])
    return sizes


def _size_exactly(
    members: list[int], others: list[int], capacity: int, drawn: NDArray[np.bool_]
) -> int:
    left = sum(v for v, there in zip(members + others, drawn.tolist(), strict=True) if there)
    for k in range(len(members) + 1):
        if left <= capacity:
            return k
        if k < len(members) and drawn[k]:
            left -= members[k]
    return len(members) + 1

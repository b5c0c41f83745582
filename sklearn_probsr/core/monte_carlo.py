"""Monte Carlo: one batch of random completions estimates every size at once.

The units that can cost something are fixed in the order of their mean cost. Draw a completion ``z``
and let ``T(z)`` be the smallest k for which fixing the first k features already gives the class.
Where none of them can gain, fixing more never undoes it, so ``v_k = Pr[T <= k]`` is a distribution
function, and one batch of T's estimates all of it. The answer ``k* = min{k : v̂_k >= delta}`` is
wrong by more than epsilon only if the estimate errs at one of two sizes that do not depend on the
batch: the last with ``v < delta - epsilon`` or the first with ``v >= delta + epsilon`` (Theorem 9;
Table 1 line 6). Otherwise every size is estimated to within epsilon at once, by Hoeffding's
inequality for each. A single probability is enclosed as Clopper and Pearson do.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, betainc, betaincinv

from sklearn_probsr.core.answers import Found, unreachable
from sklearn_probsr.core.law import Law, Row
from sklearn_probsr.core.options import Task
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.numbers import float_above, float_below

__all__ = [
    "clopper_pearson",
    "coupled_sizes",
    "hoeffding_radius",
    "sample_size",
    "search_by_samples",
]

_LONGEST_SCAN = 4_000_000
_CHUNK_CELLS = 2**22
_MOST_SAMPLES = 10**9
# By so much, relatively, a tail must stay below its level (Lemma 35): far more than the error of
# SciPy's incomplete beta function, and a width that nobody sees.
_SAFE = 1e-9


def search_by_samples(
    law: Law, rows: Row, task: Task, epsilon: Fraction, gamma: float, rng: np.random.Generator
) -> tuple[Found, NDArray[np.int64]]:
    """Return the shortest prefix of each row's order that reaches delta in the samples.

    But for probability gamma its guarantee is at least ``delta - epsilon``, and that of every
    shorter prefix is below ``delta + epsilon``; under fair coins prefixes are the best sets, so
    that it is a (delta, epsilon)-minimum reason. A set that ``max_size`` cuts short is of a fixed
    size where sizes are coupled, so Hoeffding's inequality encloses its guarantee.
    """
    found = Found.empty(len(rows), law.model.n_units)
    drawn = np.zeros(len(rows), dtype=np.int64)
    task = law.within(rows, task)
    for i, generator in enumerate(rng.spawn(len(rows))):
        view = law.view(rows[i])
        order = view.orders(task.of_row(i).open_to(view.members()), task.include)[0]
        coupled = not any(view.can_gain(u) for u in order)
        if coupled:
            samples = sample_size(task.delta, epsilon, gamma)
        else:
            samples = _union_size(len(order) + 1, epsilon, gamma)
        drawn[i] = samples
        kept = view.kept(task.include, order, samples, generator)
        needed = -(-task.delta.numerator * samples // task.delta.denominator)
        reaching = np.flatnonzero(kept >= needed)
        most = len(order) if task.most is None else min(task.most, len(order))
        slack = 0.0
        if len(reaching) and reaching[0] <= most:
            k, slack = int(reaching[0]), float_above(epsilon)
            word = "near-minimum" if view.chain else "near-prefix-minimal"
            known = Enclosure(float_below(max(task.delta - epsilon, Fraction(0))), 1.0)
        elif task.max_size is None:
            best = "the best guarantee found is"
            if not task.of_row(i).has_others(view.n_units):
                best = "there are no others, and with nothing known the guarantee is"
            best += f" about {kept.max() / samples:.4f} in {samples:,} samples"
            what = "is not reached by the estimate"
            found.give_up(i, unreachable(task, what, best, str(law.distribution)), task)
            k, word = int(np.argmax(kept)), "best-of-size"
            # Proved, so that what is said of the rows together fails no more often.
            known = view.enclose([*task.include, *order[:k]])
        else:
            k, word = (most if coupled else int(np.argmax(kept[: most + 1]))), "best-of-size"
            radius = hoeffding_radius(samples, gamma if coupled else gamma / (len(order) + 1))
            share = float(kept[k] / samples)
            known = Enclosure(max(share - radius, 0.0), min(share + radius, 1.0))
        found.write(i, [*task.include, *order[:k]], known, word, 0, slack)
    return found, drawn


def _union_size(sizes: int, epsilon: Fraction, gamma: float) -> int:
    """Return how many samples estimate that many sizes to within epsilon, but for gamma.

    By Corollary 27 for each.
    """
    needed = math.ceil(math.log(2 * sizes / gamma) / (2 * float(epsilon) ** 2) * (1 + 1e-9))
    if needed > _MOST_SAMPLES:
        raise InvalidInputError(
            f"epsilon = {float(epsilon):g} and gamma = {gamma:g} need more than "
            f"{_MOST_SAMPLES:,} samples a row. Raise one of them, or use method='certified'."
        )
    return needed


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
    if enough > _MOST_SAMPLES:
        raise InvalidInputError(
            f"epsilon = {float(epsilon):g} and gamma = {gamma:g} need more than "
            f"{_MOST_SAMPLES:,} samples a row. Raise one of them, or use method='certified'."
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
    return math.ceil(needed * (1 + 1e-9)) if needed < 2 * _MOST_SAMPLES else 2 * _MOST_SAMPLES


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


@lru_cache(maxsize=65536)
def clopper_pearson(kept: int, n: int, risk: Fraction) -> tuple[float, float]:
    """Bound a probability from ``kept`` successes in ``n`` trials; each side errs with risk / 2.

    The lower bound p has ``Pr[Bin(n, p) >= kept] <= risk / 2``, the upper one likewise. What that
    means for rows that were split off is Theorem 14.
    """
    tail = float_below(risk / 2)
    lower = _below(kept, n, tail)
    return lower, 1.0 if kept == n else math.nextafter(1.0 - _below(n - kept, n, tail), 2.0)


def _below(kept: int, n: int, tail: float) -> float:
    """Return a p, about the largest, for which at least ``kept`` successes are that unlikely."""
    if kept == 0:
        return 0.0
    p, step = float(betaincinv(kept, n - kept + 1, tail)), _SAFE
    # Pr[Bin(n, p) >= kept] is the incomplete beta function at p.
    while betainc(kept, n - kept + 1, p) > tail * (1 - _SAFE):
        p, step = p * (1 - step), 2 * step
    return p

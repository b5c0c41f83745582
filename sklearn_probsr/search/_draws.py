"""Monte Carlo over marginals and background rows: one batch of completions for all sizes.

The units that can cost something are fixed in the order of their mean cost. Where none of them can
gain, the sizes are coupled (see ``engines._monte_carlo``) and few samples do; otherwise every size
is estimated to within epsilon at once, by Hoeffding's inequality for each.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._completions import Background, Distribution
from sklearn_probsr.engines._samples import MOST_SAMPLES, hoeffding_radius, sample_size
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws._costs import Costs
from sklearn_probsr.laws._replacement import Replacement
from sklearn_probsr.laws._spectra import contributions_of
from sklearn_probsr.model._exact import float_above, float_below
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.search._coins import Found, Task, unreachable

__all__ = ["search_by_draws"]

_CHUNK = 4096


def search_by_draws(
    model: LinearModel,
    rows: NDArray[np.float64] | NDArray[np.bool_],
    task: Task,
    epsilon: Fraction,
    gamma: float,
    rng: np.random.Generator,
    distribution: Distribution,
) -> tuple[Found, NDArray[np.int64]]:
    """Return the shortest prefix of each row's mean costs that reaches delta in the samples.

    But for probability gamma its guarantee is at least ``delta - epsilon``, and that of every
    shorter prefix is below ``delta + epsilon``.
    """
    found = Found.empty(len(rows), model.n_units)
    drawn = np.zeros(len(rows), dtype=np.int64)
    barred = {*task.include, *task.exclude}
    for i, generator in enumerate(rng.spawn(len(rows))):
        seen: _Rows | _Independent
        if isinstance(distribution, Background):
            seen = _Rows(Replacement(model, rows[i], distribution))
        else:
            seen = _Independent(Costs(contributions_of(model, distribution), rows[i], distribution))
        units = [u for u in range(model.n_units) if u not in barred and seen.side.can_cost(u)]
        order = seen.by_mean_cost(units)
        coupled = not any(seen.side.can_gain(u) for u in units)
        if coupled:
            samples = sample_size(task.delta, epsilon, gamma)
        else:
            samples = _union_size(len(order) + 1, epsilon, gamma)
        drawn[i] = samples
        kept = seen.kept(list(task.include), order, samples, generator)
        needed = -(-task.delta.numerator * samples // task.delta.denominator)
        reaching = np.flatnonzero(kept >= needed)
        most = len(order) if task.most is None else min(task.most, len(order))
        if len(reaching) and reaching[0] <= most:
            k, word = int(reaching[0]), "near-prefix-minimal"
            lower, upper = float_below(max(task.delta - epsilon, Fraction(0))), 1.0
        elif task.max_size is None:
            best = f"about {kept.max() / samples:.4f} in {samples} samples"
            what = "is not reached by the estimate"
            raise unreachable(task, i, what, best, str(distribution))
        else:
            k = most if coupled else int(np.argmax(kept[: most + 1]))
            word, radius = "best-of-size", hoeffding_radius(samples, gamma / (len(order) + 1))
            estimate = float(kept[k] / samples)
            lower, upper = max(estimate - radius, 0.0), min(estimate + radius, 1.0)
        found.mask[i, [*task.include, *order[:k]]] = True
        found.lower[i], found.upper[i], found.minimality[i] = lower, upper, word
        found.epsilon[i] = float_above(epsilon) if word == "near-prefix-minimal" else 0.0
    return found, drawn


def _union_size(sizes: int, epsilon: Fraction, gamma: float) -> int:
    """Return how many samples estimate that many sizes to within epsilon, but for gamma."""
    needed = math.ceil(math.log(2 * sizes / gamma) / (2 * float(epsilon) ** 2) * (1 + 1e-9))
    if needed > MOST_SAMPLES:
        raise InvalidInputError(
            f"epsilon = {float(epsilon):g} and gamma = {gamma:g} need more than "
            f"{MOST_SAMPLES:,} samples a row. Raise one of them, or use method='certified'."
        )
    return needed


class _Rows:
    """Samples of background rows."""

    def __init__(self, side: Replacement) -> None:
        self.side = side

    def by_mean_cost(self, units: list[int]) -> list[int]:
        return self.side.by_mean_gain(units)

    def kept(
        self, forced: list[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count the samples that keep the class with the first 0, 1, 2, ... of an order fixed."""
        weights = self.side.background.weights
        counts = rng.multinomial(samples, weights / weights.sum())
        return np.array(
            [int(counts @ self.side.keeps([*forced, *order[:k]])) for k in range(len(order) + 1)]
        )


class _Independent:
    """Samples of independent costs."""

    def __init__(self, side: Costs) -> None:
        self.side = side

    def by_mean_cost(self, units: list[int]) -> list[int]:
        return self.side.rankings(units)[0]

    def kept(
        self, forced: list[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count the samples that keep the class with the first 0, 1, 2, ... of an order fixed."""
        side = self.side
        inside = {*forced, *order}
        others = [u for u in range(len(side.known)) if u not in inside]
        units = order + others
        whole = math.lcm(*(c.denominator for c in side.known))
        laws = [side.law(u) for u in units]
        costs = [[int(cost * whole) for cost, _ in law] for law in laws]
        capacity = side.spare(whole)
        reach = sum(max(map(abs, law)) for law in costs) + abs(capacity)
        shift = max(reach.bit_length() - 53, 0)
        cut = [np.array([cost >> shift for cost in law], dtype=np.float64) for law in costs]
        doubt = len(units) + 1 if shift else 0
        limit = float(capacity >> shift)
        total = np.zeros(len(order) + 1, dtype=np.int64)
        chances = [
            np.array([chance / side.contributions.denominator for _, chance in law]) for law in laws
        ]
        for start in range(0, samples, _CHUNK):
            m = min(_CHUNK, samples - start)
            which = np.stack([rng.choice(len(p), size=m, p=p / p.sum()) for p in chances], axis=1)
            drawn = np.stack([values[which[:, j]] for j, values in enumerate(cut)], axis=1)
            left = np.zeros((m, len(order) + 1))
            left[:, -1] = drawn[:, len(order) :].sum(axis=1)
            for k in range(len(order) - 1, -1, -1):
                left[:, k] = left[:, k + 1] + drawn[:, k]
            keeps = left <= limit
            # n cut costs are short by less than n: near the limit all digits count
            for a in np.flatnonzero((keeps & (left > limit - doubt)).any(axis=1)):
                exact = [costs[j][which[a, j]] for j in range(len(units))]
                for k in range(len(order) + 1):
                    keeps[a, k] = sum(exact[k:]) <= capacity
            total += np.count_nonzero(keeps, axis=0)
        return total

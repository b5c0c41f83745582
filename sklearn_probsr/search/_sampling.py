"""The sampling methods of the search: coupled Monte Carlo, and the published algorithm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._samples import coupled_sizes, hoeffding_radius, sample_size
from sklearn_probsr.engines.coins._deficits import Instance
from sklearn_probsr.model._exact import float_above, float_below
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.search._coins import Found, Task, unreachable
from sklearn_probsr.search._paper import linear_monte_carlo_explainer, steps

__all__ = ["search_by_samples", "search_as_published"]


def search_by_samples(
    model: LinearModel,
    rows: NDArray[np.bool_],
    task: Task,
    epsilon: Fraction,
    gamma: float,
    rng: np.random.Generator,
) -> tuple[Found, int]:
    """Return a (delta, epsilon)-minimum reason of each row, each but for probability gamma.

    On that event the guarantee is at least ``delta - epsilon``, and leaving out the last feature
    would bring it below ``delta + epsilon``. A set that ``max_size`` cuts short is of a fixed
    size, so Hoeffding's inequality encloses its guarantee.
    """
    samples = sample_size(task.delta, epsilon, gamma)
    needed = -(-task.delta.numerator * samples // task.delta.denominator)
    found = Found.empty(*rows.shape)
    radius = hoeffding_radius(samples, gamma)
    for i, generator in enumerate(rng.spawn(len(rows))):
        instance = Instance(model, rows[i])
        members, weights = instance.members({*task.include, *task.exclude}), instance.magnitudes
        question = instance.subset_sum(task.include)
        inner = {*task.include, *members}
        others = [v for j, v in enumerate(weights) if v and j not in inner]
        sizes = coupled_sizes(
            [weights[j] for j in members], others, question.capacity, samples, generator
        )
        kept = np.cumsum(np.bincount(sizes, minlength=len(members) + 2))[: len(members) + 1]
        reaching = np.flatnonzero(kept >= needed)
        most = len(members) if task.most is None else min(task.most, len(members))
        if len(reaching) and reaching[0] <= most:
            k, minimality = int(reaching[0]), "near-minimum"
            lower, upper = float_below(max(task.delta - epsilon, Fraction(0))), 1.0
        elif task.max_size is None:
            best = f"about {kept[-1] / samples:.4f} in {samples} samples"
            raise unreachable(task, i, "is not reached by the estimate", best)
        else:
            k, minimality = most, "best-of-size"
            estimate = float(kept[k] / samples)
            lower, upper = max(estimate - radius, 0.0), min(estimate + radius, 1.0)
        found.mask[i, [*task.include, *members[:k]]] = True
        found.lower[i], found.upper[i] = lower, upper
        found.minimality[i] = minimality
        found.epsilon[i] = float_above(epsilon) if minimality == "near-minimum" else 0.0
    return found, samples


def search_as_published(
    model: LinearModel,
    rows: NDArray[np.bool_],
    task: Task,
    epsilon: Fraction,
    gamma: float,
    rng: np.random.Generator,
) -> tuple[Found, NDArray[np.int64]]:
    """Run the published algorithm on each row; its set is a minimum one for delta*.

    What its own estimates prove of the guarantee, but for probability ``gamma``, is that it is at
    least ``delta* - epsilon gamma / L``; that also holds where delta* was clipped.
    """
    found = Found.empty(*rows.shape)
    samples = np.zeros(len(rows), dtype=np.int64)
    for i, generator in enumerate(rng.spawn(len(rows))):
        delta_star, features, samples[i] = linear_monte_carlo_explainer(
            Instance(model, rows[i]), float(task.delta), float(epsilon), gamma, generator
        )
        found.mask[i, features] = True
        found.lower[i] = max(delta_star - float(epsilon) * gamma / steps(rows.shape[1]), 0.0)
        found.minimality[i] = "near-minimum"
        found.epsilon[i] = float_above(epsilon)
    return found, samples

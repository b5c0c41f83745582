"""Algorithms 1 and 2 of "Probabilistic Explanations for Linear Models", as published.

The baseline. What the text leaves open is settled as follows: logarithms of d are to base 2 and
``L = floor(log2 d) + 1`` is both the number of steps and the ``log d`` in M (with ``log d`` alone
M is 0 * -inf at d = 1); delta* is clipped to [0, 1] (above 1 the search could only return every
feature). The success probability that the paper proves is ``1 - 3 gamma``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import Law, Row
from sklearn_probsr.core.options import Task
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.independent.certainty import Instance
from sklearn_probsr.independent.uniform import UniformLaw
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.numbers import float_above

__all__ = [
    "linear_monte_carlo_explainer",
    "monte_carlo_estimation",
    "paper_sample_size",
    "search_as_published",
    "steps",
]

_CHUNK_CELLS = 2**23


def paper_sample_size(d: int, epsilon: float, gamma: float) -> int:
    """Return M, the number of samples that Algorithm 1 draws in each step.

    Examples
    --------
    >>> paper_sample_size(500, 0.1, 0.01)
    303569449
    """
    n = steps(d)
    return math.ceil(n**2 / (2 * epsilon**2 * gamma**2) * math.log(2 * n / gamma))


def steps(d: int) -> int:
    """Return L, the number of steps of the binary search: floor(log2 d) + 1."""
    return d.bit_length()


def linear_monte_carlo_explainer(
    instance: Instance, delta: float, epsilon: float, gamma: float, rng: np.random.Generator
) -> tuple[float, list[int], int]:
    """Run Algorithm 1 (LinearMonteCarloExplainer).

    Returns
    -------
    delta_star : float
        The level drawn from ``[delta - epsilon, delta + epsilon]``.
    features : list of int
        With probability at least ``1 - 3 gamma`` a minimum delta*-sufficient reason.
    samples : int
        How many completions were drawn in all.
    """
    d = len(instance.row)
    delta_star = min(max(rng.uniform(delta - epsilon, delta + epsilon), 0.0), 1.0)
    order = instance.order.tolist()
    samples_per_step = paper_sample_size(d, epsilon, gamma)
    lower, upper, done = 0, d, 0
    while lower != upper and done < steps(d):
        done += 1
        middle = (lower + upper) // 2
        estimate = monte_carlo_estimation(instance, order[:middle], samples_per_step, rng)
        if estimate >= delta_star:
            upper = middle
        else:
            lower = middle + 1
    return delta_star, order[:lower], done * samples_per_step


def monte_carlo_estimation(
    instance: Instance, fixed: Sequence[int], samples: int, rng: np.random.Generator
) -> float:
    """Run Algorithm 2 (MonteCarloEstimation): the share of completions that keep the class."""
    kept = 0
    chunk = max(_CHUNK_CELLS // len(instance.row), 1)
    for start in range(0, samples, chunk):
        rows = _completions(instance.row, list(fixed), min(chunk, samples - start), rng)
        kept += int(np.count_nonzero(instance.model.is_positive(rows) == instance.positive))
    return kept / samples


def _completions(
    row: NDArray[np.bool_], fixed: list[int], count: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    d = len(row)
    packed = np.frombuffer(rng.bytes(count * -(-d // 8)), dtype=np.uint8)
    bits = np.unpackbits(packed.reshape(count, -1), axis=1, count=d).view(np.bool_)
    bits[:, fixed] = row[fixed]
    return bits


def search_as_published(
    law: Law, rows: Row, task: Task, epsilon: Fraction, gamma: float, rng: np.random.Generator
) -> tuple[Found, NDArray[np.int64]]:
    """Run the published algorithm on each row; its set is a minimum one for delta*.

    What its own estimates prove of the guarantee, but for probability ``gamma``, is that it is at
    least ``delta* - epsilon gamma / L``; that also holds where delta* was clipped.
    """
    if not isinstance(law, UniformLaw):
        raise InvalidInputError(
            f"method='paper' is for uniform binary features, got {law.distribution!r}. "
            "Use method='certified' or 'monte-carlo'."
        )
    if task.include or task.exclude or task.max_size is not None or task.restricted:
        raise InvalidInputError(
            "method='paper' knows no include, exclude, max_size, present_only or supporting_only. "
            "Use method='certified' or 'monte-carlo' with them."
        )
    found = Found.empty(len(rows), law.model.n_units)
    samples = np.zeros(len(rows), dtype=np.int64)
    for i, generator in enumerate(rng.spawn(len(rows))):
        delta_star, features, samples[i] = linear_monte_carlo_explainer(
            law.view(rows[i]).instance, float(task.delta), float(epsilon), gamma, generator
        )
        lower = max(delta_star - float(epsilon) * gamma / steps(law.model.n_units), 0.0)
        known = Enclosure(lower, 1.0)
        found.write(i, features, known, "near-minimum", 0, float_above(epsilon))
    return found, samples

"""Monte Carlo: one batch of random completions for all sizes.

The units that can cost something are fixed in the order of their mean cost. Where none of them can
gain, the sizes are coupled (Theorem 9) and few samples do; otherwise every size is estimated to
within epsilon at once, by Hoeffding's inequality for each.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found, unreachable
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Row
from sklearn_probsr.engines._samples import MOST_SAMPLES, hoeffding_radius, sample_size
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.numbers import float_above, float_below

__all__ = ["search_by_samples"]


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
    """Return how many samples estimate that many sizes to within epsilon, but for gamma."""
    needed = math.ceil(math.log(2 * sizes / gamma) / (2 * float(epsilon) ** 2) * (1 + 1e-9))
    if needed > MOST_SAMPLES:
        raise InvalidInputError(
            f"epsilon = {float(epsilon):g} and gamma = {gamma:g} need more than "
            f"{MOST_SAMPLES:,} samples a row. Raise one of them, or use method='certified'."
        )
    return needed

"""Robustness: how far the facts of a reason may worsen, and for which levels it is the smallest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sklearn_probsr.core.law import Law, Rest, Row
from sklearn_probsr.core.options import Task
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import floats_around

__all__ = ["Slack", "slack_of"]

# Bisections of what may be lost; what may lose so much may lose anything.
_STEPS, _ANYTHING = 60, 1e300
# Levels are told to one part of so many, where guarantees are no whole numbers of parts.
_LEVELS = 1024


@dataclass(frozen=True)
class Slack:
    """How far the facts of a reason may worsen before delta is lost.

    Attributes
    ----------
    total : float
        How much less all facts together may add towards the class, in units of the decision
        function, while delta is proved to hold; infinite if they do not matter. Before several
        classes, before each rival at once.
    by_fact : dict of str to float
        The same of each fact that is one number, if it alone bore all of it, in units of its
        column: "age could be 3.2 worse".
    levels : tuple of float
        The reason is the smallest for every level above the first, up to the second: it is proved
        that no set of fewer features guarantees more than the first. Over rows and under uniform
        completions that is what the best of them guarantees; elsewhere up to a thousandth, as far
        as it is proved. NaN for the first if the reason is not proved to be minimum.
    """

    total: float
    by_fact: dict[str, float]
    levels: tuple[float, float]


def slack_of(
    law: Law, row: Row, features: Sequence[int], level: Fraction, minimum: bool, lower: float
) -> Slack:
    """Return the slack of a reason at a level that it is proved to reach."""
    low = _least_level(law, row, len(features), level) if minimum else math.nan
    if not features:
        return Slack(math.inf, {}, (low, lower))
    rest = law.rest(row, features, level)
    if rest is None:
        raise InvalidInputError(
            f"{law.distribution} does not say what facts may lose: the rows that count depend on "
            "them. Slack is for reasons over Uniform, Product, Marginals and Background."
        )
    # Of decimals the law counts whole multiples.
    scale = law.given.weights.max() / law.model.weights.max() if law.given is not law.model else 1.0
    total = _most(rest)
    return Slack(total * scale, _by_fact(law, features, total), (low, lower))


def _most(rest: Rest) -> float:
    """Return what may be lost in every duel at once, as far as that is proved."""
    one = [Fraction(1)] * len(rest.duels)

    def holds(loss: float) -> bool:
        return rest.holds([Fraction(loss)] * len(one)) is True

    low, high = 0.0, rest.room([Fraction(0)] * len(one), one)
    high = high if 0 < high < math.inf else 1.0  # a guide, and no more
    while holds(high):
        low, high = high, 2 * high
        if high > _ANYTHING:
            return math.inf
    return _bisected(holds, low, high)


def _bisected(holds: Any, low: float, high: float) -> float:
    """Return a number that holds next to one that does not; the first of two holds."""
    for _ in range(_STEPS):
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _by_fact(law: Law, features: Sequence[int], total: float) -> dict[str, float]:
    units, weights = law.model.units, np.atleast_2d(law.model.outputs[0])
    found = {}
    for u in features:
        columns = [u] if units is None else list(units[u].columns)
        real = units is not None and units[u].states is None and not units[u].coded
        if len(columns) != 1 or not real:
            continue
        most = float(
            np.abs(np.ptp(weights, axis=0) if len(weights) > 1 else weights[0])[columns[0]]
        )
        if most > 0:
            found[law.model.unit_names[u]] = total / most
    return found


def _least_level(law: Law, row: Row, size: int, level: Fraction) -> float:
    """Return a level above which no set of fewer features does anything; none reaches ``level``."""
    if size == 0 or law.conditional:
        return float(level) if size else 0.0
    view = law.view(row)
    if view.chain:
        members = view.orders(view.members(), ())[0]
        return min(float(level), view.enclose(members[: size - 1], level).upper)
    parts = view.whole_parts or _LEVELS
    low, high = 0, math.ceil(level * parts)  # so many are not reached
    while high - low > 1:
        middle = (low + high) // 2
        verdict, _ = law.prover(view, Task(Fraction(middle, parts))).look(size - 1)
        if verdict is None:
            break
        low, high = (middle, high) if verdict else (low, middle)
    # Where guarantees are whole numbers of parts, none has more than one less.
    most = Fraction(high - 1 if view.whole_parts else high, parts)
    return floats_around(min(level, max(most, Fraction(0))))[1]

"""Small models of several classes over independent units, and all that is true of their sets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

from sklearn_probsr import ArgmaxModel, Marginals, Unit, sufficient_reason
from sklearn_probsr.extend import Enclosure, law_of
from sklearn_probsr.independent import several_classes
from sklearn_probsr.independent.level import ANY, Level
from sklearn_probsr.independent.rival_kernels import bound_each
from sklearn_probsr.independent.several_classes import RivalView

ROWS = 10
DELTA = Fraction("0.8")


class Rivals:
    """A small model of several classes, independent units in a few states, and a row."""

    def __init__(self, seed: int, units: int = 6, values: int = 2, classes: int = 4) -> None:
        rng = np.random.default_rng(seed)
        self.rows = rng.integers(0, values, (ROWS, units)).astype(float)
        self.rows[:, rng.integers(0, units)] = 1.0  # one that never varies
        scale = rng.choice([1.0, 0.1, 2.0**40])
        weights = rng.integers(-4, 5, (classes, units)) * scale
        if seed % 3 == 0:
            weights[-1] = weights[-2]  # two rivals that are equal
        self.model = ArgmaxModel(
            weights, rng.integers(-2, 3, classes) * scale, last=bool(seed % 2),
            units=[Unit.real(f"x{i}", i) for i in range(units)],
        )  # fmt: skip
        self.x = rng.integers(0, values, units).astype(float)
        self.law = Marginals.fit(self.rows)
        self.states = [
            [(int(v), int((column == v).sum())) for v in np.unique(column).tolist()]
            for column in self.rows.T
        ]

    @cached_property
    def _scores(self) -> list[list[int]]:
        """The weights of every class and its intercept, as whole numbers."""
        table = np.column_stack([self.model.weights, self.model.intercepts])
        exact = [[Fraction(v) for v in row] for row in table.tolist()]
        times = math.lcm(*(v.denominator for row in exact for v in row))
        return [[int(v * times) for v in row] for row in exact]

    def _wins(self, row: tuple[int, ...]) -> int:
        scores = [sum(w * v for w, v in zip(s, (*row, 1), strict=True)) for s in self._scores]
        best = [k for k, score in enumerate(scores) if score == max(scores)]
        return best[-1] if self.model.last else best[0]

    def truth(self) -> dict[frozenset[int], Fraction]:
        """Return the guarantee of every set, by all completions."""
        row = tuple(int(v) for v in self.x)
        d, own = len(row), self._wins(row)
        # A state more, first: the unit is known. Then unknown ones are summed up, unit by unit.
        each = [[(v, ROWS), *states] for v, states in zip(row, self.states, strict=True)]
        table = {
            at: int(self._wins(tuple(each[i][s][0] for i, s in enumerate(at))) == own)
            for at in product(*(range(len(states)) for states in each))
        }
        for i in range(d):
            summed: dict[Any, int] = {}
            for at, value in table.items():
                key = (*at[:i], at[i] == 0, *at[i + 1 :])
                summed[key] = summed.get(key, 0) + value * each[i][at[i]][1]
            table = summed
        return {
            frozenset(i for i in range(d) if at[i]): Fraction(share, ROWS**d)
            for at, share in table.items()
        }


def check(case: Rivals, delta: Fraction = DELTA, **options: Any) -> Any:
    """Search a case, and hold every claim and bound against the truth."""
    truth = case.truth()
    reason = sufficient_reason(case.model, case.x, delta=delta, distribution=case.law, **options)
    chosen = frozenset(reason.features)
    below, above = reason.guarantee.ends()
    assert below <= truth[chosen] <= above
    assert truth[chosen] >= delta
    least = min(len(s) for s, share in truth.items() if share >= delta)
    assert reason.size_lower <= least
    if reason.minimality == "minimum":
        assert reason.size == least
    if reason.minimality in {"minimum", "subset-minimal"}:
        assert not any(share >= delta for s, share in truth.items() if s < chosen)
    if reason.minimality == "locally-minimal":
        assert not any(truth[chosen - {u}] >= delta for u in chosen)
    return reason


def nothing_counted() -> Any:
    """Let completions be bounded before all rivals, be they as few as they may."""
    return mock.patch.object(several_classes, "_MOST_COUNTED", 0)


@contextmanager
def tables_alone(pairs_alone: bool = False) -> Iterator[None]:
    """Let sets be told by tables and by nothing else, be they as few as they may.

    Or by pairs of rivals alone: single duels are what those are taken off from, and by themselves
    tell nothing.
    """

    plain = RivalView.enclose

    def enclose(self: Any, fixed: Any, delta: Any = None, tol: float = 0.0) -> Enclosure:
        if self.rivals is None:  # nothing varies
            return plain(self, fixed, delta, tol)
        if all(duel.is_certain(fixed) for duel in self.duels):
            return Enclosure.of(Fraction(1))
        sets = np.array([sorted(fixed)], dtype=np.int64)
        level = ANY if delta is None else Level.around(delta).passed
        lower, upper = self.bounds(sets, np.array([len(fixed)]), level)
        return Enclosure.proved(float(lower[0]), float(upper[0]))

    def bounds(self: Any, units: Any, sizes: Any, level: Any) -> Any:
        each = np.empty((len(units), len(self.rivals.cut), 2))
        stack = self.shared.stack(int(sizes.max(initial=0)))
        bound_each(stack, self.rivals, units, sizes, each)
        return self._by_pairs(units, sizes, 1 - each[:, :, 0], 1 - each[:, :, 1], level)

    with ExitStack() as stack:
        stack.enter_context(nothing_counted())
        stack.enter_context(mock.patch.object(RivalView, "enclose", enclose))
        stack.enter_context(mock.patch.object(several_classes, "_SLIGHT", 0.0))
        if pairs_alone:
            stack.enter_context(mock.patch.object(RivalView, "bounds", bounds))
        yield


def told(case: Rivals, delta: Fraction, every: int = 1) -> tuple[int, int, int]:
    """Ask about sets: return how many, of how many the level is told, and falsely.

    A bound that the truth is beyond counts as false, too.
    """
    asked = decided = false = 0
    view = law_of(case.model, case.law).view(case.model.check_row(case.x))
    for chosen, share in list(case.truth().items())[::every]:
        for level in (None, delta):
            known = view.enclose(chosen, level)
            below, above = known.ends()
            false += not below <= share <= above
        verdict = (known >= delta).value
        asked += 1
        decided += verdict is not None
        false += verdict is not None and verdict != (share >= delta)
    return asked, decided, false

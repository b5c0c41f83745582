"""Small models of several classes over independent units, and all that is true of their sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

from sklearn_probsr import ArgmaxModel, Marginals, Unit, sufficient_reason
from sklearn_probsr.core.options import Effort, Limits, Task
from sklearn_probsr.core.search import Prover, search
from sklearn_probsr.extend import Enclosure, law_of
from sklearn_probsr.laws.rivals import _joint_counts, _rival_costs, _rival_prover
from sklearn_probsr.laws.rivals._rival_prover import RivalProver
from sklearn_probsr.laws.sums import _independent

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
    return mock.patch.object(_joint_counts, "_MOST", 0)


@contextmanager
def pairs_alone() -> Iterator[None]:
    """Let sets be told by pairs of rivals and by nothing else, be they as few as they may.

    Single duels are what pairs are taken off from; by themselves they tell nothing but certainty.
    """

    def certain(each: Iterable[Enclosure]) -> Enclosure:
        sure = all(known.exact == 1 for known in each)
        return Enclosure.of(Fraction(1)) if sure else Enclosure(0.0, 1.0)

    with ExitStack() as stack:
        for where, name, instead in (
            (_independent, "are_few", lambda *_: False),
            (_rival_costs, "together", certain),
            (_rival_costs, "_SLIGHT", (0.0,) * 3),
            (RivalProver, "verdict", Prover.verdict),
            (RivalProver, "bound_least", Prover.bound_least),
            (RivalProver, "_left", lambda *_: None),
        ):
            stack.enter_context(mock.patch.object(where, name, instead))
        stack.enter_context(nothing_counted())
        yield


def told_by_pairs(case: Rivals, delta: Fraction, every: int = 1) -> tuple[int, int, int]:
    """Ask about sets by pairs alone: return how many, of how many the level is told, and falsely.

    A bound that the truth is beyond counts as false, too.
    """
    asked = told = false = 0
    view = law_of(case.model, case.law).view(case.model.check_row(case.x))
    view.pairs.settle(range(len(case.x)))
    for chosen, share in list(case.truth().items())[::every]:
        for level in (None, delta):
            known = view.enclose(chosen, level)
            below, above = known.ends()
            false += not below <= share <= above
        verdict = (known >= delta).value
        asked += 1
        told += verdict is not None
        false += verdict is not None and verdict != (share >= delta)
    return asked, told, false


# Up-sets by the exchange in all duels one by one; branches by single duels with no exchange; both.
WAYS = {"exchange": 10**6, "branches": 1, "branches and exchange": 1}


@contextmanager
def branches_alone(way: str) -> Iterator[Limits]:
    """Let nothing be refuted beforehand by single duels, and yield what a search goes by."""
    with ExitStack() as stack:
        stack.enter_context(nothing_counted())
        stack.enter_context(mock.patch.object(RivalProver, "_raise_by", return_value=None))
        if way == "branches":
            stack.enter_context(mock.patch.object(_rival_prover, "above_in_all", _nothing_above))
        yield Limits(rival_sets=WAYS[way])


def _nothing_above(members: Sequence[int], *_: Any) -> Any:
    return np.zeros((len(members), len(members)), dtype=np.bool_)


def searched(case: Rivals, limits: Limits, delta: Fraction) -> str:
    """Search a case thoroughly, and hold what is claimed against all sets."""
    truth = case.truth()
    task = Task(delta, effort=Effort(prove=True, limits=limits))
    found = search(law_of(case.model, case.law), case.model.check_rows([case.x]), task)
    least = min(len(s) for s, share in truth.items() if share >= delta)
    size, word = len(found.sets.of(0)), str(found.minimality[0])
    assert truth[frozenset(found.sets.of(0))] >= delta
    assert found.size_lower[0] <= least
    assert word != "minimum" or size == least
    return word

"""Certainty of many rows at once, against all sets in rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sklearn_probsr import LinearModel, Marginals, Uniform, Unit, sufficient_reasons
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import search
from sklearn_probsr.extend import law_of

# Numbers that are equal, opposite, next to each other, and beyond each other's last digit.
NASTY = (0.0, 1.0, -1.0, 0.1, 0.2, 0.3, -0.3, 1 / 3, 2.0**-60, 1e300, -1e300, 1e-300, 5e-324)
TAME = (0.0, 1.0, -1.0, 2.0, -3.0, 0.5, 1.5)


def least(
    contributions: list[list[Fraction]], known: list[Fraction], level: Fraction, model: LinearModel
) -> tuple[int, bool]:
    """Return the size of the smallest certain set, by trying all, and the class."""
    total = sum(known)
    positive = total > level if model.strict else total >= level
    worst = [min(c) if positive else max(c) for c in contributions]
    for size in range(len(known) + 1):
        for chosen in combinations(range(len(known)), size):
            at_worst = sum(known[u] if u in chosen else worst[u] for u in range(len(known)))
            if (at_worst > level if model.strict else at_worst >= level) == positive:
                return size, positive
    raise AssertionError("the whole instance always keeps its class")


def table(rng: np.random.Generator, numbers: tuple[float, ...]) -> tuple[LinearModel, list[int]]:
    """Return a table of categories of two to four values, some units with a dropped one."""
    units, weights = [], []
    for u in range(int(rng.integers(1, 7))):
        width = int(rng.integers(1, 5))
        columns = range(len(weights), len(weights) + width)
        binary = width == 1
        unit = Unit.binary(f"u{u}", columns[0])
        units.append(unit if binary else Unit.one_hot(f"u{u}", columns, dropped=bool(u % 2)))
        weights += rng.choice(numbers, width).tolist()
    threshold = float(rng.choice([0.0, *rng.choice(numbers, 2)]))
    model = LinearModel(weights, threshold, strict=bool(rng.integers(2)), units=units)
    return model, [len(unit.states or ()) for unit in units]


@pytest.mark.parametrize("numbers", [NASTY, TAME], ids=["nasty", "tame"])
def test_tables(numbers: tuple[float, ...]):
    """Every row has the smallest certain set, alone and beside others (Proposition 70)."""
    rng = np.random.default_rng(7)
    together = 0
    for _ in range(60):
        model, counts = table(rng, numbers)
        units = model.units or ()
        which = np.stack([rng.integers(0, count, 12) for count in counts], axis=1)
        rows = np.hstack([np.array(u.states)[which[:, j]] for j, u in enumerate(units)])
        found = sufficient_reasons(model, rows, delta=1)
        law = law_of(model, Uniform())
        if hasattr(law, "_certain"):
            together += len(_answered(law, model.check_rows(rows)))
        worth = [
            [
                sum(
                    Fraction(model.weights[j]) * Fraction(x)
                    for j, x in zip(u.columns, s, strict=True)
                )
                for s in u.states or ()
            ]
            for u in units
        ]
        for i, row in enumerate(rows):
            known = [worth[u][s] for u, s in enumerate(which[i])]
            size, _ = least(worth, known, Fraction(model.threshold), model)
            assert (found[i].size, found[i].minimality) == (size, "minimum")
            assert found[i].guarantee.exact == 1
            alone = sufficient_reasons(model, row[None, :], delta=1)[0]
            assert alone.features == found[i].features
    assert together > (150 if numbers is NASTY else 500)


def _answered(law: object, rows: np.ndarray) -> np.ndarray:
    """Return the rows that floats decide."""
    from sklearn_probsr.core.answers import Found

    found = Found.empty(len(rows), law.model.n_units)  # type: ignore[attr-defined]
    law.together(rows, Task(Fraction(1)), found)  # type: ignore[attr-defined]
    return np.flatnonzero(found.minimality != "")


def test_options():
    """What is forced, barred or too large is respected; unknown values may only gain."""
    rng = np.random.default_rng(3)
    data = np.round(rng.standard_normal((30, 8)), 1)
    units = [Unit.real(f"r{u}", u) for u in range(8)]
    model = LinearModel(np.round(rng.standard_normal(8), 1), 0.1, units=units)
    law = law_of(model, Marginals.fit(data[:20]))
    rows = data[20:]
    for task in (
        Task(Fraction(1), include=(2,)),
        Task(Fraction(1), include=(1, 3), exclude=(0,), flag=True),
        Task(Fraction(1), max_size=3),
        Task(Fraction(1), supporting_only=True, flag=True),
    ):
        quick = search(law, rows, task)
        for i in range(len(rows)):
            view = law.view(rows[i])
            features = list(quick.sets.of(i))
            if quick.minimality[i] != "minimum":
                continue
            assert view.is_certain(features)
            assert set(task.include) <= set(features)
            assert not set(task.exclude) & set(features)
            others = law.within(rows, task).of_row(i).open_to(view.members())
            fewer = len(features) - len(task.include) - 1
            for chosen in combinations(others, max(fewer, 0)) if fewer >= 0 else ():
                assert not view.is_certain([*task.include, *chosen])


@pytest.mark.filterwarnings("error")
def test_contributions_beyond_floats_are_summed_up_without_a_warning():
    """Values of 1e300 with weights of 1e10: smallest certain sets are those of all completions."""
    rows = np.random.default_rng(0).standard_normal((30, 3)) * 1e300
    units = [Unit.real(f"x{j}", j) for j in range(3)]
    weights = np.array([1e10, 1e9, -1e10])
    model = LinearModel(weights, 0.0, units=units)
    found = sufficient_reasons(model, rows[:3], delta=1, distribution=Marginals.fit(rows))
    for x, size in zip(rows[:3], found.size.tolist(), strict=True):
        small, each, own = weights / 1e10, rows / 1e300, x / 1e300
        sign = 1 if small @ own >= 0 else -1
        worst = (sign * small * each).min(axis=0)
        mine = sign * small * own
        sets = [s for k in range(4) for s in combinations(range(3), k)]
        sure = [len(s) for s in sets if np.where(np.isin(range(3), s), mine, worst).sum() >= 0]
        assert size == min(sure)

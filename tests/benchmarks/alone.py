"""Hold what tables tell of sets of independent units against brute force, by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sklearn_probsr import Uniform, Unit
from sklearn_probsr.core.options import Effort, Limits, Task
from sklearn_probsr.core.search import search
from sklearn_probsr.extend import law_of
from tests.benchmarks.agreement import (
    LEVELS,
    SIXTEENTHS,
    _independent,
    _least,
    _many_valued,
    _model,
)
from tests.benchmarks.report import Row, Table
from tests.rival_classes import Rivals, check, tables_alone, told

CASES = 1_000
# Nothing is counted or compared one by one.
ALONE = Limits(0, 0, 0)


def draw_table(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return a table of categories with few different weights, and what keeps its class."""
    counts = rng.choice([2, 4, 8], int(rng.integers(3, 8))).tolist()
    starts = np.cumsum([0, *counts])
    units = [
        Unit.one_hot(f"c{u}", range(a, a + count))
        for u, (a, count) in enumerate(zip(starts[:-1].tolist(), counts, strict=True))
    ]
    weights = rng.integers(-5, 6, starts[-1]).astype(float)
    x, other = (np.hstack([np.eye(c)[rng.integers(c)] for c in counts]) for _ in range(2))
    model = _model(weights, float(weights @ other) + rng.integers(2) / 2, rng, units=units)
    values, laws = [], []
    for unit, count in zip(units, counts, strict=True):
        found, times = np.unique(weights[list(unit.columns)], return_counts=True)
        values.append(found)
        laws.append(times * (SIXTEENTHS // count))
    return model, x, Uniform(), _independent(model, x, values, laws), len(units)


MAKERS: dict[str, Callable[[np.random.Generator], tuple[Any, ...]]] = {
    "Marginals, many-valued": _many_valued,
    "Uniform, tables": draw_table,
}


@dataclass
class Agreement:
    """How many sizes were the least, how many were claimed to be, and how many claims are false."""

    equal: int = 0
    claimed: int = 0
    false: int = 0
    most: int = 0


def agreement(
    kind: str, limits: Limits, levels: tuple[Any, ...], seeds: Iterable[int]
) -> Agreement:
    """Hold answers against all sets."""
    found = Agreement()
    for seed in seeds:
        model, x, law, truth, n = MAKERS[kind](np.random.default_rng([len(levels), seed]))
        delta = Fraction(str(levels[seed % len(levels)]))
        task = Task(delta, effort=Effort(max_evals=10**6, limits=limits))
        answer = search(law_of(model, law), model.check_rows([x]), task)
        size, least = len(answer.sets.of(0)), _least(n, truth, delta)
        proved = bool(answer.minimality[0] == "minimum")
        found.equal += size == least
        found.claimed += proved
        found.false += (proved and size != least) + bool(answer.size_lower[0] > least)
        found.most = max(found.most, n)
    return found


def tables() -> Iterator[Table]:
    """Yield the table of this benchmark."""
    yield Table(
        "Agreement with brute force, by tables alone",
        "The same comparison over independent units of many values, with sets bounded "
        "by tables and nothing counted one by one; at delta = 1 by sorted costs.",
        ("distribution", "way", "units", "cases", "least size", "claimed minimum", "falsely"),
        tuple(_rows()),
    )
    yield Table(
        "Pairs of rivals alone",
        "Several classes over independent units of two or three values, with sets told by pairs of "
        "rivals alone: every set of every case against all completions, and what a search claims "
        "that asks nothing else. Where a set depends on one rival, pairs have nothing to tell.",
        ("question", "units", "classes", "cases", "asked", "told", "falsely"),
        (_told(), _claimed()),
    )


def _rows() -> Iterator[Row]:
    for kind in MAKERS:
        yield _row(kind, "branch and bound", agreement(kind, ALONE, LEVELS, range(CASES)))
        yield _row(kind, "certainty", agreement(kind, Limits(), (1,), range(CASES)))


def _row(kind: str, way: str, found: Agreement) -> Row:
    shares = f"{100 * found.equal / CASES:.2f}%", f"{100 * found.claimed / CASES:.1f}%"
    cells = (kind, way, f"up to {found.most}", f"{CASES:,}", *shares, str(found.false))
    met = found.equal >= 0.995 * CASES and found.claimed >= 0.9 * CASES and not found.false
    return Row(cells, ">= 99.5%, 90%, 0", met)


def _rivals() -> Iterator[tuple[Rivals, Fraction]]:
    for seed in range(CASES):
        case = Rivals(seed, units=4 + seed % 3, values=2 + seed % 2, classes=3 + seed % 4)
        yield case, Fraction(str(LEVELS[seed % len(LEVELS)]))


def _told() -> Row:
    with tables_alone(pairs_alone=True):
        each = np.array([told(case, delta) for case, delta in _rivals()])
    return _paired("bounds and levels of sets", *each.sum(axis=0).tolist())


def _claimed() -> Row:
    proved = false = 0
    with tables_alone(pairs_alone=True):
        for case, delta in _rivals():
            try:
                proved += not check(case, delta).minimality.startswith("near-")
            except AssertionError:
                false += 1
    return _paired("claims of reasons", CASES, proved, false)


def _paired(question: str, asked: int, told: int, false: int) -> Row:
    share = f"{100 * told / asked:.0f}%"
    cells = (question, "4 to 6", "3 to 6", f"{CASES:,}", f"{asked:,}", share, str(false))
    return Row(cells, ">= 30%, 0", told >= 0.3 * asked and not false)

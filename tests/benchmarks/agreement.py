"""Compare the sizes of reasons with brute force over all sets, under every kind of distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from sklearn_probsr import Background, LinearModel, Marginals, Product, Unit, sufficient_reason
from tests.benchmarks.report import Row, Table

LEVELS = (0.75, 0.9, 0.95, 0.99)
# Chances are multiples of 1/16: with 14 units, products of them are whole numbers below 2^63.
SIXTEENTHS = 16

Truth = Callable[[int], tuple[int, int]]


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield Table(
        "Agreement with brute force",
        "Random cases with ties and repeated weights; the least size of any set that reaches "
        "delta, by trying all sets in integers, against the reason's. A claim of a minimum that "
        "is false, or a lower bound on the size that is too large, would show in the last column.",
        ("distribution", "units", "cases", "least size", "claimed minimum", "falsely"),
        (
            _compared("Product", 2_000, _product),
            _compared("Marginals, many-valued", 1_000, _many_valued),
            _compared("Background, binary", 1_000, _binary_rows),
            _compared("Background, real-valued", 1_000, _real_rows),
            _compared("Background, prove=True", 1_000, _binary_rows, prove=True),
        ),
    )


def _compared(
    name: str, cases: int, make: Callable[[np.random.Generator], Any], **effort: Any
) -> Row:
    equal = claimed = false = most = 0
    for seed in range(cases):
        rng = np.random.default_rng([cases, seed])
        model, x, law, truth, n = make(rng)
        delta = LEVELS[seed % len(LEVELS)]
        reason = sufficient_reason(model, x, delta=delta, distribution=law, **effort)
        least = _least(n, truth, Fraction(str(delta)))
        equal += reason.size == least
        claimed += reason.minimality == "minimum"
        false += reason.minimality == "minimum" and reason.size != least
        false += reason.size_lower > least
        most = max(most, n)
    met = equal >= 0.995 * cases and claimed >= 0.9 * cases and not false
    return Row(
        (
            name,
            f"up to {most}",
            f"{cases:,}",
            f"{100 * equal / cases:.2f}%",
            f"{100 * claimed / cases:.1f}%",
            str(false),
        ),
        ">= 99.5%, 90%, 0",
        met,
    )


def _least(n: int, truth: Truth, delta: Fraction) -> int:
    """Return the least size of a set, given as bits, that reaches delta."""
    for size in range(n + 1):
        for chosen in combinations(range(n), size):
            kept, whole = truth(sum(1 << u for u in chosen))
            if kept * delta.denominator >= delta.numerator * whole:
                return size
    raise AssertionError("the whole instance always keeps its class")


def _model(
    weights: np.ndarray, threshold: float, rng: np.random.Generator, **arguments: Any
) -> LinearModel:
    return LinearModel(weights, threshold, strict=bool(rng.integers(2)), **arguments)


def _keeps(model: LinearModel, totals: np.ndarray, label: bool) -> np.ndarray:
    sides = totals > model.threshold if model.strict else totals >= model.threshold
    return np.asarray(sides == label)


def _product(rng: np.random.Generator) -> tuple[Any, ...]:
    d = int(rng.integers(3, 15))
    weights = rng.integers(-9, 10, d).astype(float)
    chances = rng.integers(0, SIXTEENTHS + 1, d)
    x = rng.integers(0, 2, d)
    model = _model(weights, float(weights @ rng.integers(0, 2, d)) + rng.integers(2) / 2, rng)
    return model, x, Product(chances / SIXTEENTHS), _coins(model, x, chances), d


def _coins(model: LinearModel, x: np.ndarray, chances: np.ndarray) -> Truth:
    """Return the same for binary features, for all sets at once.

    A completion is the set of features in which it differs from x. For one feature after the
    other, entries with its bit set become those where it is free.
    """
    moves = np.where(x == 1, -model.weights, model.weights)
    totals = np.array([float(x @ model.weights)])
    for move in moves:
        totals = np.concatenate([totals, totals + move])
    table = _keeps(model, totals, bool(model.predict([x])[0])).astype(np.int64)
    for i, (value, chance) in enumerate(zip(x, chances, strict=True)):
        other = int(SIXTEENTHS - chance if value else chance)
        pairs = table.reshape(-1, 2, 2**i)
        pairs[:, 1] = (SIXTEENTHS - other) * pairs[:, 0] + other * pairs[:, 1]

    def truth(fixed: int) -> tuple[int, int]:
        free = (len(table) - 1) & ~fixed
        return int(table[free]), SIXTEENTHS ** free.bit_count()

    return truth


def _many_valued(rng: np.random.Generator) -> tuple[Any, ...]:
    n = int(rng.integers(3, 8))
    units, columns, data = [], 0, []
    for u in range(n):
        width = int(rng.integers(1, 4))
        if width == 1:
            units.append(Unit.real(f"u{u}", columns))
            column = rng.integers(-3, 4, SIXTEENTHS)
            column[rng.integers(0, SIXTEENTHS, SIXTEENTHS // 2)] = column[0]
            data.append(column[:, None])
        else:
            units.append(Unit.one_hot(f"u{u}", range(columns, columns + width)))
            data.append(np.eye(width)[rng.integers(0, width, SIXTEENTHS)])
        columns += width
    rows = np.hstack(data).astype(float)
    weights = rng.integers(-5, 6, columns).astype(float)
    x = rows[rng.integers(SIXTEENTHS)]
    threshold = float(weights @ rows[rng.integers(SIXTEENTHS)])
    model = _model(weights, threshold, rng, units=units)
    values, laws = [], []
    for unit in units:
        worth = rows[:, unit.columns] @ weights[list(unit.columns)]
        found, counts = np.unique(worth, return_counts=True)
        values.append(found)
        laws.append(counts)
    return model, x, Marginals.fit(rows), _independent(model, x, values, laws), n


def _independent(
    model: LinearModel, x: np.ndarray, values: list[np.ndarray], laws: list[np.ndarray]
) -> Truth:
    """Return how much of ``16^free`` keeps the class, for any set of fixed units."""
    label = bool(model.predict([x])[0])
    groups = [(u,) for u in range(len(x))]
    if model.units is not None:
        groups = [unit.columns for unit in model.units]
    known = [float(x[list(group)] @ model.weights[list(group)]) for group in groups]

    def truth(fixed: int) -> tuple[int, int]:
        totals, masses, whole = np.zeros(1), np.ones(1, dtype=np.int64), 1
        for u, (worth, chances) in enumerate(zip(values, laws, strict=True)):
            if fixed >> u & 1:
                totals = totals + known[u]
                continue
            totals = np.add.outer(totals, worth).ravel()
            masses = np.multiply.outer(masses, chances).ravel()
            totals, which = np.unique(totals, return_inverse=True)
            sums = np.zeros(len(totals), dtype=np.int64)
            np.add.at(sums, which, masses)
            masses, whole = sums, whole * SIXTEENTHS
        return int(masses[_keeps(model, totals, label)].sum()), whole

    return truth


def _binary_rows(rng: np.random.Generator) -> tuple[Any, ...]:
    d = int(rng.integers(3, 13))
    rows = rng.integers(0, 2, (int(rng.integers(5, 60)), d)).astype(float)
    weights = rng.integers(-9, 10, d).astype(float)
    threshold = float(weights @ rng.integers(0, 2, d)) + rng.integers(2) / 2
    model = _model(weights, threshold, rng)
    x = rng.integers(0, 2, d).astype(float)
    return model, x, Background(rows), _joint(model, x, rows), d


def _real_rows(rng: np.random.Generator) -> tuple[Any, ...]:
    d = int(rng.integers(3, 13))
    rows = rng.integers(-4, 5, (int(rng.integers(5, 60)), d)) / 2
    weights = rng.integers(-9, 10, d).astype(float)
    threshold = float(weights @ rows[0])
    units = [Unit.real(f"r{u}", u) for u in range(d)]
    model = _model(weights, threshold, rng, units=units)
    x = rng.integers(-4, 5, d) / 2
    return model, x, Background(rows), _joint(model, x, rows), d


def _joint(model: LinearModel, x: np.ndarray, rows: np.ndarray) -> Truth:
    label = bool(model.predict([x])[0])

    def truth(fixed: int) -> tuple[int, int]:
        inside = np.array([fixed >> u & 1 for u in range(len(x))], dtype=bool)
        totals = np.where(inside, x, rows) @ model.weights
        return int(np.count_nonzero(_keeps(model, totals, label))), len(rows)

    return truth

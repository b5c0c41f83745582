"""Hypothesis strategies: every generated case of the tests comes from here."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
from hypothesis.strategies import SearchStrategy

from sklearn_probsr import LinearModel, Unit
from tests.oracle import Case, UnitCase

INTEGERS = st.integers(-6, 6).map(float)
# Decimals that are not what they print: 0.1 + 0.2 is not 0.3.
DECIMALS = st.sampled_from([0.1, 0.2, 0.3, 0.6, 0.7, -0.1, -0.2, -0.3, -0.7, 1.1, 0.0])
EXTREMES = st.sampled_from(
    [1e300, -1e300, 1e-300, -1e-300, 1.0, -1.0, 1.0 + 2**-52, 5e-324, 1e16, -1e16, 0.0, 1e308]
)
REALS = st.floats(-4, 4, allow_nan=False, allow_subnormal=False)
KINDS = {"integers": INTEGERS, "decimals": DECIMALS, "extremes": EXTREMES, "reals": REALS}


@st.composite
def cases(draw: st.DrawFn, largest: int = 9) -> Case:
    """Draw a model of one kind of weights, with repeated ones, and an instance, often on a tie."""
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    d = draw(st.integers(1, largest))
    pool = draw(st.lists(kind, min_size=1, max_size=d))
    weights = draw(st.lists(st.sampled_from(pool), min_size=d, max_size=d))
    x = draw(st.lists(st.integers(0, 1), min_size=d, max_size=d))
    z = draw(st.lists(st.integers(0, 1), min_size=d, max_size=d))
    with np.errstate(over="ignore"):
        on_a_vertex = float(np.dot(weights, z))
    candidates = [st.just(t) for t in (on_a_vertex,) if np.isfinite(t)]
    threshold = draw(st.one_of(*candidates, kind, st.just(0.5)))
    return Case(tuple(weights), threshold, draw(st.booleans()), tuple(x))


def models(case: Case) -> LinearModel:
    """Return the package's model of a case."""
    return LinearModel(case.weights, case.threshold, strict=case.strict)


def levels() -> SearchStrategy[float | Fraction]:
    """Draw a delta: round decimals, powers of two (which guarantees hit exactly), the ends."""
    return st.one_of(
        st.sampled_from([0.0, 0.5, 0.75, 0.875, 0.9, 0.95, 0.99, 1.0]),
        st.integers(0, 64).map(lambda n: n / 64),
        st.floats(0, 1),
    )


@st.composite
def backgrounds(draw: st.DrawFn, d: int) -> tuple[list[list[int]], list[float] | None]:
    """Draw background rows with repetitions, and weights or none."""
    row = st.lists(st.integers(0, 1), min_size=d, max_size=d)
    pool = draw(st.lists(row, min_size=1, max_size=8))
    rows = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=14))
    if draw(st.booleans()):
        return rows, None
    numbers = st.sampled_from([0.1, 0.25, 1.0, 3.0, 0.3])
    return rows, draw(st.lists(numbers, min_size=len(rows), max_size=len(rows)))


@st.composite
def unit_models(
    draw: st.DrawFn, largest: int = 5
) -> tuple[LinearModel, UnitCase, list[list[float]]]:
    """Draw a model of binary, one-hot, ordinal and real-valued units, an instance and data."""
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    units: list[Unit] = []
    d = 0
    values: list[SearchStrategy[tuple[float, ...]]] = []
    for i in range(draw(st.integers(1, largest))):
        shape = draw(st.sampled_from(["binary", "one-hot", "dropped", "ordinal", "real"]))
        if shape == "binary":
            units.append(Unit.binary(f"u{i}", d))
        elif shape in {"one-hot", "dropped"}:
            width = draw(st.integers(2, 3))
            units.append(Unit.one_hot(f"u{i}", range(d, d + width), dropped=shape == "dropped"))
        elif shape == "ordinal":
            units.append(Unit(f"u{i}", (d,), ((0.0,), (1.0,), (2.5,))))
        else:
            units.append(Unit.real(f"u{i}", d))
        unit = units[-1]
        d += len(unit.columns)
        numbers = st.sampled_from([-2.5, 0.0, 0.1, 0.3, 1.0, 1e9, 7.25]).map(lambda v: (v,))
        values.append(numbers if unit.states is None else st.sampled_from(unit.states))
    row = st.tuples(*values).map(lambda parts: [v for part in parts for v in part])
    pool = draw(st.lists(row, min_size=1, max_size=6))
    rows = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=9))
    weights = draw(st.lists(kind, min_size=d, max_size=d))
    x = draw(st.one_of(st.sampled_from(pool), row))
    groups = tuple(unit.columns for unit in units)
    case = UnitCase(tuple(weights), 0.0, draw(st.booleans()), groups, tuple(x))
    totals = [sum(case.worth(u, z) for u in range(len(units))) for z in pool]
    ties = [t for total in totals for t in [_as_float(total)] if t is not None]
    threshold = draw(st.one_of(kind, *(st.just(t) for t in ties)))
    case = replace(case, threshold=threshold)
    return LinearModel(weights, threshold, strict=case.strict, units=units), case, rows


def _as_float(value: Fraction) -> float | None:
    """Return a number that is a float, or nothing."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if Fraction(number) == value else None

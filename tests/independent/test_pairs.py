"""Two sums at once: their bounds against exact enumeration in rationals."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr.independent import pairs
from sklearn_probsr.independent.pairs import (
    SCALES,
    Lines,
    States,
    Windows,
    bound_pairs,
    build_pairs,
    union_above,
    union_below,
)

# A unit: its states, each with what it adds to both sums, and how often it occurs.
Unit = list[tuple[int, int, int]]
NUMBERS = st.sampled_from([0, 1, -1, 2, 3, -7, 10**6, 10**15 + 1])
STATE = st.tuples(NUMBERS, NUMBERS, st.integers(1, 5))


class Sums:
    """Independent units, what they add to two sums, and the exact law of the sums."""

    def __init__(self, units: list[Unit], degree: int = 63) -> None:
        self.units, self.degree = units, degree
        self.law = _law(units)
        chances = [often / sum(s[2] for s in unit) for unit in units for *_, often in unit]
        start = np.cumsum([0, *map(len, units)]).astype(np.int64)
        self.sides = [self._side(side) for side in (0, 1)]
        turns = np.array([turns for *_, turns in self.sides])
        self.states = States(start, np.array(chances), turns)

    def _side(self, side: int) -> tuple[int, list[Fraction], list[float]]:
        """Return the period of a sum, the means of its units, and their states in turns."""
        width = sum(max(s[side] for s in u) - min(s[side] for s in u) for u in self.units)
        period, means, turns = 2 * width + 2, [], []
        for unit in self.units:
            means.append(Fraction(sum(s[side] * s[2] for s in unit), sum(s[2] for s in unit)))
            turns += [float((s[side] - means[-1]) / period) for s in unit]
        return period, means, turns

    def share(self, cuts: tuple[Fraction, Fraction], fixed: list[int], strict: bool) -> Fraction:
        """Return how likely what is free is below its cuts, or at most there."""
        law = _law([unit for u, unit in enumerate(self.units) if u not in fixed])
        kept = sum(
            weight
            for pair, weight in law.items()
            if all(v < c or (v == c and not strict) for v, c in zip(pair, cuts, strict=True))
        )
        return Fraction(kept, sum(law.values()))

    def bounds(self, cuts: tuple[Fraction, Fraction], fixed: list[int]) -> tuple[float, float]:
        """Bound that by the table of all units."""
        table = build_pairs(self.states, (0, 1), (1.0, 1.0), self.degree, len(self.units), Lines())
        free = [u for u in range(len(self.units)) if u not in fixed]
        at = [
            float((c - sum(means[u] for u in free)) / period)
            for c, (period, means, _) in zip(cuts, self.sides, strict=True)
        ]
        found = np.empty((1, 2))
        # Table 3, lines 1 and 2.
        slack = np.array([24 * 128 * 6 * 2.0**-50])
        within = np.clip(np.array([at]), -0.5, 0.5)
        units = np.array([fixed], dtype=np.int64).reshape(1, -1)
        bound_pairs(table, units, np.array([len(fixed)]), within, slack, found)
        return float(found[0, 0]), float(found[0, 1])


def _law(units: list[Unit]) -> Counter[tuple[int, int]]:
    law: Counter[tuple[int, int]] = Counter({(0, 0): 1})
    for unit in units:
        grown: Counter[tuple[int, int]] = Counter()
        for (a, b), weight in law.items():
            for x, y, often in unit:
                grown[a + x, b + y] += weight * often
        law = grown
    return law


@given(st.data())
@settings(max_examples=40)
def test_bounds_hold_for_every_reading_of_a_tie(data: st.DataObject) -> None:
    """Ties, zeros, sums that are equal or opposite, one that never varies, and huge ranges."""
    units = data.draw(st.lists(st.lists(STATE, min_size=1, max_size=3), min_size=1, max_size=4))
    kind = data.draw(st.sampled_from(["any", "equal", "opposite", "flat"]))
    other = {"equal": 1, "opposite": -1, "flat": 0}
    if kind != "any":
        units = [[(x, other[kind] * x, often) for x, _, often in unit] for unit in units]
    sums = Sums(units)
    fixed = sorted(data.draw(st.sets(st.integers(0, len(units) - 1))))
    free = _law([unit for u, unit in enumerate(units) if u not in fixed])
    at = data.draw(st.sampled_from(sorted(free)))
    shifts = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(-1)])
    shift = data.draw(st.tuples(shifts, shifts))
    cuts = (at[0] + shift[0], at[1] + shift[1])
    lower, upper = sums.bounds(cuts, fixed)
    assert lower <= sums.share(cuts, fixed, strict=True)
    assert sums.share(cuts, fixed, strict=False) <= upper


@pytest.mark.parametrize("values", [2, 5])
def test_many_units_are_told_to_two_digits(values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most nodes are left out, what remains is narrow, and a sharper look is narrower."""
    rng = np.random.default_rng(values)
    # A small sum beside large ones: an exact law of some thousand pairs.
    units: list[Unit] = [
        [(int(x), int(y), int(often)) for x, y, often in rng.integers([-3, -3, 1], 4, (values, 3))]
        for _ in range(24)
    ]
    sums, widths = Sums(units), []
    fixed = [3, 5]
    free = [u for u in range(24) if u not in fixed]
    for degree in (63, 127):
        sums.degree = degree
        means = [sum(own[u] for u in free) for _, own, _ in sums.sides]
        cuts = (means[0] - Fraction(21, 2), means[1] - Fraction(17, 2))
        lower, upper = sums.bounds(cuts, fixed)
        assert lower <= sums.share(cuts, fixed, strict=False) <= upper
        widths.append(upper - lower)
    assert widths[1] < 0.02
    assert widths[1] < 0.7 * widths[0]


@pytest.mark.parametrize("few", [0, 10**9])
def test_units_on_a_line_are_looked_up(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of many values with a weight before each rival, and one of another kind."""
    monkeypatch.setattr(pairs, "_FEW_STATES", few)
    rng = np.random.default_rng(few % 7)
    weights = [(3, 1), (-2, 5), (4, -4), (1, 0)]
    units: list[Unit] = [
        [(a * int(v), b * int(v), 1) for v in rng.integers(-9, 10, 11)] for a, b in weights
    ]
    units.append([(1, 2, 1), (2, 1, 2), (0, -4, 1)])
    sums = Sums(units, 95)
    for fixed in ([], [1], [0, 4]):
        law = _law([unit for u, unit in enumerate(units) if u not in fixed])
        for cuts in [sorted(law)[len(law) // 3], sorted(law)[len(law) // 2]]:
            at = (Fraction(cuts[0]), Fraction(cuts[1]))
            lower, upper = sums.bounds(at, fixed)
            assert lower <= sums.share(at, fixed, strict=True)
            assert sums.share(at, fixed, strict=False) <= upper
    lines = Lines()
    tables = [
        build_pairs(sums.states, (0, 1), (1.0, 2.2), 47, 3, known)
        for known in (lines, lines, Lines())
    ]
    direct = pairs.PairTable(*tables[0])
    assert all(np.allclose(direct.whole, other.whole, atol=1e-11) for other in tables)
    assert bool(lines.nbytes) == (few == 0)


def test_nodes_that_are_left_out_are_counted() -> None:
    """With a hundred units nearly all nodes are negligible, and no bound is wrong by it."""
    start = np.arange(0, 401, 4).astype(np.int64)
    turns = np.array(
        [np.tile(t, 100) / 60.0 for t in ([1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0])]
    )
    states = States(start, np.full(400, 0.25), turns)
    table = build_pairs(states, (0, 1), (1.0, 1.0), 95, 0, Lines())
    assert len(table.node) < 2000  # of 18,000
    found = np.empty((1, 2))
    bound_pairs(
        table, np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64),
        np.full((1, 2), -0.01), np.full(1, 1e-10), found,
    )  # fmt: skip
    # Independent sums of a hundred signs, below zero: that of a binomial law, squared.
    below = Fraction(sum(math.comb(100, k) for k in range(50)), 2**100)
    assert found[0, 0] <= below**2 <= found[0, 1]
    assert found[0, 1] - found[0, 0] < 0.15


@given(st.data())
def test_what_is_outside_a_period_is_counted(data: st.DataObject) -> None:
    """Every scale, against the exact law of what some sets leave free."""
    units = data.draw(st.lists(st.lists(STATE, min_size=2, max_size=3), min_size=2, max_size=4))
    sums = Sums(units)
    period, means, _ = sums.sides[0]
    fixed = data.draw(st.lists(st.booleans(), min_size=len(units), max_size=len(units)))
    outside = Windows(sums.states, 0).outside(np.array([fixed]))[0]
    free = [unit for unit, known in zip(units, fixed, strict=True) if not known]
    mean = sum(
        (own for own, known in zip(means, fixed, strict=True) if not known), start=Fraction(0)
    )
    law = _law(free)
    for scale, told in zip(SCALES, outside.tolist(), strict=True):
        half = Fraction(period) / Fraction(2 * scale)
        beyond = sum(weight for (x, _), weight in law.items() if abs(x - mean) >= half)
        assert Fraction(beyond, sum(law.values())) <= told


@given(st.lists(st.tuples(st.sets(st.integers(0, 4)), st.integers(1, 9)), min_size=1, max_size=8))
def test_unions_are_bounded_by_pairs(cases: list[tuple[set[int], int]]) -> None:
    """Outcomes in which some of five events happen: both bounds hold, with pairs that are exact."""
    total = sum(weight for _, weight in cases)

    def share(*events: int) -> float:
        return sum(weight for inside, weight in cases if inside >= set(events)) / total

    single = np.array([[share(i) for i in range(5)]])
    pair = np.array([[[share(i, j) for j in range(5)] for i in range(5)]])
    union = Fraction(sum(weight for inside, weight in cases if inside), total)
    assert union_below(single, pair)[0] <= union <= union_above(single, pair)[0]

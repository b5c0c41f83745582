"""Two sums at once: their bounds against exact enumeration in rationals."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr.engines.sums._planes import (
    Powers,
    States,
    build_plane,
    pair_bounds,
    powers_of,
)

# A unit: its states, each with what it adds to both sums, and how often it occurs.
Unit = list[tuple[int, int, int]]
NUMBERS = st.sampled_from([0, 1, -1, 2, 3, -7, 10**6, 10**15 + 1])
STATE = st.tuples(NUMBERS, NUMBERS, st.integers(1, 5))


class Sums:
    """Independent units, what they add to two sums, and the exact law of the sums."""

    def __init__(self, units: list[Unit], degree: int = 63) -> None:
        self.units, self.degree = units, degree
        self.law: Counter[tuple[int, int]] = Counter({(0, 0): 1})
        for unit in units:
            grown: Counter[tuple[int, int]] = Counter()
            for (a, b), weight in self.law.items():
                for x, y, often in unit:
                    grown[a + x, b + y] += weight * often
            self.law = grown
        self.total = sum(self.law.values())
        chances = [often / sum(s[2] for s in unit) for unit in units for *_, often in unit]
        starts = np.cumsum([0, *map(len, units)])
        self.states = States(starts, np.array(chances))
        self.sides = [self._side(side) for side in (0, 1)]

    def _side(self, side: int) -> tuple[int, Fraction, Powers]:
        """Return the period of a sum, its mean, and the powers of its units."""
        width = sum(max(s[side] for s in u) - min(s[side] for s in u) for u in self.units)
        period, total, turns, reach = 2 * width + 2, Fraction(0), [], 0.0
        for unit in self.units:
            mean = Fraction(sum(s[side] * s[2] for s in unit), sum(s[2] for s in unit))
            total += mean
            own = [float((s[side] - mean) / period) for s in unit]
            reach += max(map(abs, own))
            turns += own
        return period, total, Powers(*powers_of(np.array(turns), self.degree), reach)

    def share(self, cuts: tuple[Fraction, Fraction], strict: bool) -> Fraction:
        """Return how likely both sums are below their cuts, or at most there."""
        kept = sum(
            weight
            for pair, weight in self.law.items()
            if all(v < c or (v == c and not strict) for v, c in zip(pair, cuts, strict=True))
        )
        return Fraction(kept, self.total)

    def bounds(self, cuts: tuple[Fraction, Fraction], free: list[int]) -> tuple[float, float]:
        """Bound that, with some units multiplied to the plane of the others."""
        first, second = (side[2] for side in self.sides)
        base = [u for u in range(len(self.units)) if u not in free]
        plane = build_plane(self.states, first, second, np.array(base, dtype=np.int64))
        at = [float((c - mean) / p) for c, (p, mean, _) in zip(cuts, self.sides, strict=True)]
        return pair_bounds(
            plane, self.states, first, second, np.array(free, dtype=np.int64),
            (at[0], at[1]), 2**-50, 0.0,
        )  # fmt: skip


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
    at = data.draw(st.sampled_from(sorted(sums.law)))
    shifts = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(-1)])
    shift = data.draw(st.tuples(shifts, shifts))
    cuts = (at[0] + shift[0], at[1] + shift[1])
    free = sorted(data.draw(st.sets(st.integers(0, len(units) - 1))))
    lower, upper = sums.bounds(cuts, free)
    assert lower <= sums.share(cuts, strict=True)
    assert sums.share(cuts, strict=False) <= upper


@pytest.mark.parametrize("values", [2, 5])
def test_many_units_are_told_to_three_digits(values: int) -> None:
    """Most of a plane is left out, what remains is narrow, and a sharper look is narrower."""
    rng = np.random.default_rng(values)
    # A small sum beside large ones: an exact law of some thousand pairs.
    units: list[Unit] = [
        [(int(x), int(y), int(often)) for x, y, often in rng.integers([-3, -3, 1], 4, (values, 3))]
        for _ in range(24)
    ]
    widths = []
    for degree in (63, 127):
        sums = Sums(units, degree)
        means = [mean for _, mean, _ in sums.sides]
        cuts = (means[0] - Fraction(21, 2), means[1] - Fraction(17, 2))
        lower, upper = sums.bounds(cuts, [3, 5])
        assert lower <= sums.share(cuts, strict=False) <= upper
        widths.append(upper - lower)
    assert widths[1] < 0.02
    assert widths[1] < 0.7 * widths[0]


def test_strips_that_are_left_out_are_counted() -> None:
    """With a hundred units nearly all of a plane is negligible, and no bound is wrong by it."""
    starts = np.arange(0, 401, 4)
    turns = [np.tile(t, 100) / 60.0 for t in ([1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0])]
    first, second = (Powers(*powers_of(t, 31), 100 / 60) for t in turns)
    states = States(starts, np.full(400, 0.25))
    plane = build_plane(states, first, second, np.arange(100))
    assert len(plane.node) < 63
    lower, upper = pair_bounds(
        plane, states, first, second, np.zeros(0, dtype=np.int64), (-0.01, -0.01), 1e-15, 0.0
    )
    # Independent sums of a hundred signs, below zero: that of a binomial law, squared.
    below = Fraction(sum(math.comb(100, k) for k in range(50)), 2**100)
    assert lower <= below**2 <= upper
    assert upper - lower < 0.15

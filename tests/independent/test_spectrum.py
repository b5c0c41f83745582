"""Spectra against exact sums: whatever the laws, the set and the cut, bounds hold."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pytest

from sklearn_probsr.independent import spectrum
from sklearn_probsr.independent.spectrum import (
    Table,
    UnitLaws,
    build,
    build_coins,
    coin_period,
    enclose,
    period_of,
)
from tests.interpreted import INTERPRETED, WHOLE_RUN, long_loops

# Random spectra: all of them in a whole run, elsewhere some.
SPECTRA = 100_000 if WHOLE_RUN else 4 if INTERPRETED else 400
PARTS = 8

Law = dict[Fraction, Fraction]


def laws_of(laws: list[Law]) -> UnitLaws:
    """Return laws as a table takes them: rounded chances, centres next to the means."""
    starts = np.cumsum([0, *map(len, laws)])
    values = np.array([float(v) for law in laws for v in law])
    chances = np.array([float(p) for law in laws for p in law.values()])
    centres = np.array([float(sum(v * p for v, p in law.items())) for law in laws])
    return UnitLaws(starts, values, chances, centres)


def total(laws: list[Law]) -> Law:
    """Return the exact law of a sum."""
    sums = {Fraction(0): Fraction(1)}
    for law in laws:
        grown: Law = {}
        for a, p in sums.items():
            for b, q in law.items():
                grown[a + b] = grown.get(a + b, Fraction(0)) + p * q
        sums = grown
    return sums


def beta_of(cut: Fraction, centres: np.ndarray, period: float) -> tuple[float, float]:
    """Return where a cut lies, in turns, and what that is off by."""
    beta = (cut - sum(map(Fraction, centres.tolist()))) / Fraction(period)
    held = float(max(min(beta, Fraction(10) ** 9), -(Fraction(10) ** 9)))
    return held, abs(held) * 2.0**-52


def drawn_law(rng: np.random.Generator, kind: str) -> Law:
    """Return a random law: of few values, with ties, zeros and very unequal sizes and chances."""
    n = int(rng.integers(1, 5))
    values = {
        "integers": lambda: rng.integers(-3, 4, n).astype(float),
        "normal": lambda: rng.standard_normal(n),
        "large": lambda: rng.standard_normal(n) * 1e300,
        "small": lambda: rng.standard_normal(n) * 1e-300,
        "mixed": lambda: rng.standard_normal(n) * 10.0 ** rng.choice([-300, -8, 0, 8, 300], n),
        "coins": lambda: np.array([1.0, -1.0]) * rng.choice([0.25, 0.5, 1.0]),
    }[kind]()
    parts = [int(p) for p in rng.integers(1, 10, len(values))]
    if kind == "coins":
        parts = [1, 1]
    elif rng.random() < 0.2:  # nearly certain: the other chances are next to nothing
        parts[0] *= 2 ** int(rng.choice([30, 900, 1074]))
    law: Law = {}
    for value, part in zip(values.tolist(), parts, strict=True):
        law[Fraction(value)] = law.get(Fraction(value), Fraction(0)) + Fraction(part, sum(parts))
    return law


KINDS = ("integers", "normal", "large", "small", "mixed", "coins")


def check(table: Table, laws: list[Law], rng: np.random.Generator) -> None:
    """Hold some sets, at some cuts, against exact sums."""
    centres = laws_of(laws).centre
    sets = [s for k in range(table.most + 1) for s in combinations(range(len(laws)), k)]
    for at in rng.permutation(len(sets))[:6].tolist():
        free = [u for u in range(len(laws)) if u not in sets[at]]
        sums = total([laws[u] for u in free])
        atoms = sorted(sums)
        some = atoms[int(rng.integers(len(atoms)))]
        away = Fraction(float(rng.standard_normal())) * (atoms[-1] - atoms[0] + 1)
        for cut in (some, atoms[-1], atoms[0], some + away, (some + atoms[-1]) / 2):
            beta, blur = beta_of(cut, centres[free], table.period)
            lower, upper = enclose(table, sets[at], beta, blur)
            below = sum((p for v, p in sums.items() if v < cut), Fraction(0))
            assert Fraction(lower) <= below
            assert below + sums.get(cut, 0) <= Fraction(upper)


@pytest.mark.parametrize("part", range(PARTS))
def test_bounds_hold_exact_sums(part: int):
    """Laws with ties, zeros, sizes of 1e±300 and chances down to the least float."""
    for seed in range(part, SPECTRA, PARTS):
        rng = np.random.default_rng(seed)
        kind = KINDS[seed // PARTS % len(KINDS)]
        laws = [drawn_law(rng, kind) for _ in range(int(rng.integers(1, 6)))]
        degree = int(2 ** rng.integers(0, 9))
        nodes = int(rng.choice([4, 64, 4096]))
        check(build(laws_of(laws), degree, int(rng.integers(0, 6)), nodes), laws, rng)


def coin_sums(magnitudes: list[int]) -> Law:
    return total([{Fraction(v): Fraction(1, 2), Fraction(0): Fraction(1, 2)} for v in magnitudes])


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("seed", range(40 if not INTERPRETED else 2))
def test_bounds_of_coins_hold_exact_sums(seed: int, apart: bool):
    """Every set of fair coins that lies among the first ranks, and one that lies apart."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 11))
    magnitudes = np.sort(rng.integers(1, 9, n))[::-1] if seed % 2 else np.sort(rng.random(n))[::-1]
    period = coin_period(magnitudes)
    tables = build_coins(magnitudes / (2 * period), 256, [n, n // 2, n // 4], 64, apart)
    assert tables[0].most == n
    for _ in range(20):
        chosen = np.flatnonzero(rng.random(n) < 0.4)
        free = [Fraction(v) for i, v in enumerate(magnitudes.tolist()) if i not in chosen]
        sums = total([{v: Fraction(1, 2), Fraction(0): Fraction(1, 2)} for v in free])
        cut = list(sums)[int(rng.integers(len(sums)))]
        beta = float((cut - sum(free) / 2) / Fraction(period))
        first = chosen[:-1] if apart else chosen
        index = int(first[-1]) + 1 if len(first) else 0
        below = sum((p for v, p in sums.items() if v < cut), Fraction(0))
        for table in tables:
            lower, upper = enclose(table, chosen.tolist(), beta, 1e-15, index)
            assert Fraction(lower) <= below
            assert below + sums[cut] <= Fraction(upper)


def test_factors_that_vanish():
    """Where factors are 0 at every other node, sets that have all of these units are bounded."""
    laws = [{Fraction(1): Fraction(1, 2), Fraction(-1): Fraction(1, 2)} for _ in range(6)]
    laws += [{Fraction(0): Fraction(1, 3), Fraction(1, 10): Fraction(2, 3)}]
    # A quarter of a turn: cosines of k quarters.
    table = build(laws_of(laws), 256, 6, period=16.0)
    assert table.most == 6
    assert (np.hypot(table.factor[:, 0], table.factor[:, 1]) >= 0.99e-12).all()
    assert np.hypot(*table.factor[0]).min() < 1e-11
    check(table, laws, np.random.default_rng(0))
    lower, upper = enclose(table, range(6), 0.0)
    assert lower <= 1 / 3 <= upper
    assert upper - lower < 2 * 2 / 256 + 2 / 3


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_cut_at_the_end_of_the_period(sign: int):
    """All or nothing, up to the error, where a cut is half a period away or more."""
    laws = [{Fraction(1): Fraction(1, 2), Fraction(0): Fraction(1, 2)} for _ in range(4)]
    table = build(laws_of(laws), 64, 2)
    assert 4 <= table.period <= 4 * (1 + 1e-8)
    for beta in (0.5, math.nextafter(0.5, 0), math.nextafter(0.5, 1), 3.0, 1e300):
        lower, upper = enclose(table, [0], sign * beta, 1e-15)
        assert lower <= (1 + sign) / 2 <= upper
        assert upper - lower < 0.1


def test_a_table_knows_sets_up_to_its_size():
    """Of larger ones nothing is said."""
    laws = [{Fraction(1): Fraction(1, 2), Fraction(0): Fraction(1, 2)} for _ in range(5)]
    table = build(laws_of(laws), 64, 2)
    assert table.most == 2
    assert enclose(table, [0, 1, 2], 0.0) == (0.0, 1.0)
    assert enclose(table, [0, 1], 0.0) != (0.0, 1.0)


def test_a_unit_that_never_varies():
    """Its factor is 1, and a sum of such units is what it is."""
    laws = [{Fraction(3): Fraction(1)}, {Fraction(7): Fraction(1)}]
    table = build(laws_of(laws), 16, 2)
    for fixed in ((), (0,), (0, 1)):
        lower, upper = enclose(table, fixed, 0.2)
        assert lower <= 1 <= upper


@long_loops
def test_units_of_many_values_have_the_same_factors():
    """Factors by moments agree with sums of all values, to nine digits."""
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(n) * size for n, size in ((65, 1), (300, 2), (1000, 1e-3))]
    values[1][:100] = 0.25
    start = np.cumsum([0, *map(len, values)])
    chances = np.concatenate([np.full(len(v), 1 / len(v)) for v in values])
    centres = np.array([v.mean() for v in values])
    laws = UnitLaws(start, np.concatenate(values), chances, centres)
    table = build(laws, 512, 1)
    for u, v in enumerate(values):
        turns = (v - centres[u]) / table.period
        truth = np.exp(2j * np.pi * table.node[:, None] * turns).mean(axis=1)
        found = table.factor[u, 0] + 1j * table.factor[u, 1]
        assert np.abs(found - truth).max() < 1e-9


@long_loops
@pytest.mark.parametrize("fixed", [0, 40])
def test_a_hundred_thousand_units(fixed: int):
    """Rare words of one weight: a binomial, whose distribution function is known to forty digits.

    Such a lattice has nodes that matter everywhere, so a table of some megabytes has a low degree.
    """
    n, p = 100_000, 2e-4
    laws = UnitLaws(
        np.arange(0, 2 * n + 1, 2),
        np.tile([0.0, 1.0], n),
        np.tile([1 - p, p], n),
        np.full(n, p),
    )
    table = build(laws, 2**10, 40)
    assert table.most == 40
    mpmath.mp.dps = 40
    free, chance = n - fixed, mpmath.mpf(p)
    below = mpmath.mpf(0)
    for k in range(30):
        below += mpmath.binomial(free, k) * chance**k * (1 - chance) ** (free - k)
        if k in (5, 20, 29):
            beta = (k + 0.5 - free * p) / table.period
            lower, upper = enclose(table, range(fixed), beta, 1e-12)
            assert lower <= below <= upper
            assert upper - lower < 0.15


@long_loops
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("d", [100, 500])
def test_few_nodes_are_left_of_many_coins(d: int, apart: bool):
    """Of 65,536 nodes a set looks at some dozens, and its bounds are as narrow as the degree."""
    magnitudes = np.sort(np.abs(np.random.default_rng(d).standard_normal(d)))[::-1]
    period = coin_period(magnitudes)
    (table,) = build_coins(magnitudes / (2 * period), 2**16, [40, 20, 10], 256, apart)
    assert table.degree == 2**16
    assert table.counts[-1] < 64
    lower, upper = enclose(table, range(0, 20, 2), 0.1, 0.0, 20)
    assert 0 < upper - lower < 5e-5


def test_a_period_holds_nearly_all_of_every_sum():
    """What Chernoff's bound leaves outside is less than it says, by exact sums; ranges hold all."""
    rng = np.random.default_rng(3)
    for kind in ("integers", "mixed", "small"):
        for _ in range(20):
            laws = [drawn_law(rng, kind) for _ in range(5)]
            units = laws_of(laws)
            half = Fraction(period_of(units)) / 2
            for free in ([0, 1, 2, 3, 4], [0, 3], [2]):
                centre = sum(Fraction(units.centre[u]) for u in free)
                outside = sum(
                    p for v, p in total([laws[u] for u in free]).items() if abs(v - centre) > half
                )
                assert outside <= Fraction(spectrum.TAIL)


def test_a_table_says_how_large_it_is():
    """All arrays are counted."""
    (table,) = build_coins(np.array([0.25, 0.125]), 16, [2], 16)
    assert table.nbytes == sum(part.nbytes for part in table if isinstance(part, np.ndarray))
    assert coin_sums([1, 2])[Fraction(3)] == Fraction(1, 4)

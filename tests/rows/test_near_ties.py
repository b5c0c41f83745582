"""Real-valued rows in whole numbers, against rationals: ties, an ulp beside them, all sizes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr import (
    Background,
    LinearModel,
    Unit,
    guarantee,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.extend import law_of
from sklearn_probsr.model.numbers import decimal_fraction
from tests.interpreted import examples
from tests.rows.test_far_rows import Truth, reals

TINIEST = 5e-324
LIMIT = 2.0**1022
ANY = st.floats(-LIMIT, LIMIT, allow_nan=False, allow_infinity=False)
SIZES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 3.0, 1e300, -1e-300, TINIEST, -TINIEST, 1e16])
NUMBERS = ANY | SIZES | st.integers(-4, 4).map(float)


@st.composite
def shared_out(draw: st.DrawFn, d: int) -> list[Unit]:
    """Draw units of one or several columns, in any order of the columns."""
    columns = draw(st.permutations(range(d)))
    units, at = [], 0
    while at < d:
        width = draw(st.integers(1, 3))
        units.append(Unit.real(f"u{at}", columns[at : at + width]))
        at += width
    return units


@st.composite
def tables(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> tuple[LinearModel, list[Any]]:
    d = draw(st.integers(1, 5))
    weights = draw(st.lists(numbers, min_size=d, max_size=d))
    units = draw(shared_out(d))
    model = LinearModel(weights, draw(numbers), strict=draw(st.booleans()), units=units)
    rows = draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=1, max_size=6))
    return model, rows


def test_an_instance_in_a_column_that_is_next_to_nothing():
    """A value of 5 where the background has sizes of ``2^-100`` counts as 5."""
    rows = [[2.0**-100, 1.0], [-(2.0**-100), -2.0], [2.0**-101, 3.0]]
    model, law = LinearModel([1.0, 1.0], 2.5, units=reals(2)), Background(rows)
    assert guarantee(model, [5.0, 0.0], [0], distribution=law).exact == 1
    assert guarantee(model, [0.0, 3.0], [0], distribution=law).exact == Fraction(1, 3)


@st.composite
def near_ties(draw: st.DrawFn) -> tuple[LinearModel, list[float], list[Any], list[int]]:
    """Draw rows that keep or lose the class by nothing, or by an ulp of something."""
    d = draw(st.integers(1, 5))
    decimals = st.sampled_from([0.1, 0.2, 0.3, -0.1, -0.7, 1.1, 3.0, 1e-17, 1e17, 1 / 3])
    weights = draw(st.lists(decimals, min_size=d, max_size=d))
    x = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.1, 0.3, -0.1]), min_size=d, max_size=d))
    exact = sum(Fraction(w) * Fraction(v) for w, v in zip(weights, x, strict=True))
    threshold = float(exact)
    for _ in range(draw(st.integers(0, 2))):
        threshold = math.nextafter(threshold, draw(st.sampled_from([-math.inf, math.inf])))
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        row = [draw(st.sampled_from([v, v, math.nextafter(v, 9), -v, 0.3])) for v in x]
        rows.append(
            [row[j] for j in draw(st.permutations(range(d)))] if draw(st.booleans()) else row
        )
    parts = draw(
        st.lists(st.sampled_from([1, 2, 2**57 + 1]), min_size=len(rows), max_size=len(rows))
    )
    far = 2.0 ** draw(st.sampled_from([0, 0, 30, -30, 300, -300, 900, -900]))
    if draw(st.booleans()):  # the same ties, in other sizes
        weights, threshold = [w * far for w in weights], threshold * far
    model = LinearModel(weights, threshold, strict=draw(st.booleans()), units=reals(d))
    return model, x, rows, parts


@settings(max_examples=examples(400), deadline=None)
@given(near_ties(), st.sampled_from([0.3, 0.5, 0.9, 1.0]))
def test_counts_within_the_error_bound(case: tuple[Any, ...], delta: float):
    """Guarantees, reasons and what is claimed of them, where rounding could decide anything."""
    model, x, rows, parts = case
    truth, law = Truth(model, x, rows, parts), Background(rows, parts)
    for s in truth.sets:
        assert guarantee(model, x, s, distribution=law).exact == truth(s)
    reason = sufficient_reason(model, x, delta=delta, distribution=law)
    level = decimal_fraction(delta)
    enough = min(len(s) for s in truth.sets if truth(s) >= level)
    assert reason.guarantee.exact == truth(reason.features) >= level
    assert reason.size_lower <= enough <= reason.size
    assert reason.minimality != "minimum" or reason.size == enough


def test_a_table_full_of_ties_is_counted_exactly():
    """Grades of 0 to 4 with decimal weights: thousands of rows lie within the error bound."""
    rng = np.random.default_rng(0)
    weights, threshold = [0.1, 0.2, 0.3, 0.1, 0.3], 2.0
    rows = rng.integers(0, 5, (3_000, 5)).astype(float)
    model = LinearModel(weights, threshold, units=reals(5))
    law = Background(rows)
    scores = [sum(Fraction(w) * int(v) for w, v in zip(weights, row, strict=True)) for row in rows]
    positive = [score >= Fraction(threshold) for score in scores]
    assert sum(abs(score - Fraction(threshold)) < Fraction(1, 10**9) for score in scores) > 100
    for i in range(5):
        kept = sum(p == positive[i] for p in positive)
        assert guarantee(model, rows[i], [], distribution=law).exact == Fraction(kept, 3_000)


def test_whole_numbers_are_counted_as_they_are():
    """Data that fit one scale are exact, on both sides of the threshold: nothing is in doubt."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-50, 50, (200, 4)) / 4
    model = LinearModel([1.0, -2.0, 0.5, 3.0], 0.5, units=reals(4))
    known = law_of(model, Background(rows)).table.known(rows[:20])
    assert (known.doubts == 0).all()
    assert (known.exponents == known.exponents[0]).all()


def test_real_rows_are_kept_once():
    """The law of a background holds the numbers of the background, not a copy."""
    rows = np.asfortranarray(np.random.default_rng(0).standard_normal((50, 3)))
    model, data = LinearModel([1.0, 2.0, 3.0], 0.5, units=reals(3)), Background(rows)
    law = law_of(model, data)
    assert np.shares_memory(law.table.rows, data.rows)
    assert not np.shares_memory(law.table.rows, rows)
    assert law.means == pytest.approx(rows.mean(axis=0))


def test_columns_of_any_order_and_rows_of_both_classes_agree():
    """A background in Fortran's order, or of single precision, gives the same reasons."""
    rng = np.random.default_rng(1)
    rows = np.float32(rng.standard_normal((300, 6)))
    model = LinearModel(rng.standard_normal(6), 0.1, units=reals(6))
    asked = rng.standard_normal((20, 6))
    found = [
        sufficient_reasons(model, asked, distribution=Background(data))
        for data in (rows, np.asfortranarray(rows), rows.astype(np.float64))
    ]
    for other in found[1:]:
        assert other.mask.tolist() == found[0].mask.tolist()
        assert other.lower.tolist() == found[0].lower.tolist()

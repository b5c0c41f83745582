"""Costs of features: exact sums of the decimals that they print as, and what is refused."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr import LinearModel, Matching, outlook, sufficient_reason
from sklearn_probsr.core.options import Prices
from sklearn_probsr.exceptions import InvalidInputError

NAMES = ("a", "b", "c")


@pytest.mark.parametrize(
    ("cost", "whole", "unit"),
    [
        ({"b": 0.1}, (10, 1, 10), Fraction(1, 10)),
        ({"b": 0.1, 2: 0.2}, (10, 1, 2), Fraction(1, 10)),
        ({}, (1, 1, 1), Fraction(1)),
        ([2, 4, 6], (1, 2, 3), Fraction(2)),
        (np.array([0.1, 0.2, 0.3], dtype=np.float32), (1, 2, 3), Fraction(1, 10)),
        (pd.Series({"c": 3, "a": 2}), (2, 1, 3), Fraction(1)),
        ([Fraction(1, 3), Decimal("0.5"), 1], (2, 3, 6), Fraction(1, 6)),
        ([1e-300, 1, 1e300], (1, 10**300, 10**600), Fraction(1, 10**300)),
    ],
)
def test_costs_are_whole_multiples_of_one_unit(cost, whole, unit):
    """Whatever they are given as, they are exact; what a mapping lacks costs 1."""
    assert Prices.of(cost, NAMES) == Prices(whole, unit)


def test_sums_are_those_of_decimals():
    """Three tenths are 0.1 + 0.2."""
    prices = Prices.of([0.1, 0.2, 7], NAMES)
    assert prices.money(prices.total([0, 1])) == 0.3
    assert not prices.equal
    assert Prices.of([0.3, Decimal("0.3"), Fraction(3, 10)], NAMES).equal


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ({"q": 1}, "cost names an unknown feature, 'q'. The model's features are 'a', 'b', 'c'."),
        ({3: 1}, "cost names an unknown feature, 3. The model's features are 'a', 'b', 'c'."),
        ({True: 1}, "cost names an unknown feature, True. The model's features are 'a', 'b', 'c'."),
        ({"a": 1, 0: 2}, "cost names 'a' twice."),
        ([1, 2], "cost must have one number per feature, 3, got 2."),
        (5, "cost must have one number per feature, 3, got 1."),
        ([1, 0, 1], "cost must be a positive number, got 0 for 'b'."),
        ([1, -2, 1], "cost must be a positive number, got -2 for 'b'."),
        ([1, math.nan, 1], "cost must be a positive number, got nan for 'b'."),
        ([1, math.inf, 1], "cost must be a positive number, got inf for 'b'."),
        ([1, True, 1], "cost must be a positive number, got True for 'b'."),
        ([1, "2", 1], "cost must be a positive number, got '2' for 'b'."),
        ([1, None, 1], "cost must be a positive number, got None for 'b'."),
        (
            [1, 1.7e308, 1.7e308],
            "cost must add up to a number that a float can hold, got 1.7e+308 among the numbers.",
        ),
    ],
)
def test_what_is_no_cost_is_refused(cost, message):
    """By one parser, for searches and outlooks."""
    model = LinearModel([1, 2, 3], threshold=2, feature_names=NAMES)
    for ask in (
        lambda: sufficient_reason(model, [1, 1, 0], cost=cost),
        lambda: outlook(model, [1, 1, 0], unknown=["a"], cost=cost),
    ):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            ask()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"method": "monte-carlo"},
            "cost needs method='certified', which finds the cheapest set, got 'monte-carlo'.",
        ),
        (
            {"distribution": Matching(np.eye(3), min_rows=1)},
            "cost is not taken under Matching, which looks for the fewest facts. Use a Background "
            "of the same rows, or leave cost out.",
        ),
    ],
)
def test_searches_that_know_no_costs_refuse_them(options, message):
    """What counts samples, or rows that share facts, looks for the fewest."""
    model = LinearModel([1, 2, 3], threshold=2)
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        sufficient_reason(model, [1, 1, 0], cost={0: 2}, **options)

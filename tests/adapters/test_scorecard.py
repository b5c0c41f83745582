"""Scorecards as credit people have them: points per bin, a cutoff, and rows of bins."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr import (
    Background,
    SufficientReasonExplainer,
    scorecard,
    sufficient_reason,
)
from sklearn_probsr.exceptions import InvalidInputError

TABLE = pd.DataFrame(
    {
        "feature": ["age", "age", "age", "home", "home", "debts", "debts", "bureau"],
        "bin": ["< 25", "25 to 40", "> 40", "rent", "own", "none", "some", "any"],
        "points": [10.1, 20.2, 30.3, 5, 15.5, 30, 0, 7],
    }
)
ROWS = [
    dict(zip(("age", "home", "debts", "bureau"), values, strict=True))
    for values in product(["< 25", "25 to 40", "> 40"], ["rent", "own"], ["none", "some"], ["any"])
]


def score(row):
    """Return the points of a row, as decimals."""
    lines = TABLE.to_dict("records")
    return sum(
        Fraction(str(line["points"])) for line in lines if row[line["feature"]] == line["bin"]
    )


@pytest.mark.parametrize("tie", ["above", "below"])
def test_it_adds_points_up_as_decimals(tie):
    """Every combination of bins has the class that its points have, ties by their rule."""
    for cutoff in (52.6, 57.3, 67.8):  # 57.3 = 30.3 + 5 + 15 + 7 - 0 is no score, the others are
        model = scorecard(TABLE, cutoff=cutoff, base=0.1, labels=["no", "yes"], tie=tie)
        for row in ROWS:
            total, level = score(row) + Fraction("0.1"), Fraction(str(cutoff))
            expected = total >= level if tie == "above" else total > level
            assert model.predict(model.encode([row]))[0] == ("yes" if expected else "no")


def test_reasons_name_bins():
    """A reason reads as the card does, over uniform bins and over applicants."""
    model = scorecard(TABLE, cutoff=60, labels=["decline", "approve"])
    rows = model.encode(pd.DataFrame(ROWS))
    reason = sufficient_reason(model, rows[4], delta=0.9, distribution=Background(rows))
    assert set(reason.feature_names) <= {"age", "home", "debts", "bureau"}
    assert all(": " in fact for fact in reason.facts)
    explainer = SufficientReasonExplainer(model, rows)
    assert explainer(rows).reason_size.max() <= 3  # the only bin of a feature is no reason


def test_tables_of_other_shapes():
    """Categories, mappings and whole labels are taken as well."""
    model = scorecard({"feature": ["a", "a"], "category": ["x", "y"], "points": [1, 0]}, cutoff=0.5)
    assert model.encode({"a": ["y", "a: x"]}).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert model.classes == (0, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: scorecard({"feature": ["a"], "points": [1]}, cutoff=1),
            "table must have columns 'feature', 'bin' (or 'category') and 'points', got 'feature', "
            "'points'.",
        ),
        (
            lambda: scorecard([1, 2], cutoff=1),
            "table must have columns 'feature', 'bin' (or 'category') and 'points', got list.",
        ),
        (
            lambda: scorecard({"feature": [], "bin": [], "points": []}, cutoff=1),
            "table must have a line for every bin, got none.",
        ),
        (
            lambda: scorecard(
                {"feature": ["a", "a"], "bin": ["x", "x"], "points": [1, 2]}, cutoff=1
            ),
            "table must have every bin of a feature once, got 'x' of 'a' twice.",
        ),
        (
            lambda: scorecard({"feature": ["a"], "bin": ["x"], "points": ["ten"]}, cutoff=1),
            "points of 'a' must be a finite number, got 'ten'.",
        ),
        (
            lambda: scorecard({"feature": ["a"], "bin": ["x"], "points": [1]}, cutoff=np.nan),
            "cutoff must be a finite number, got nan.",
        ),
        (
            lambda: scorecard({"feature": ["a"], "bin": ["x"], "points": [1]}, cutoff=1, tie="no"),
            "tie must be one of ('above', 'below'), got 'no'.",
        ),
        (
            lambda: scorecard(TABLE, cutoff=1).encode([{"age": "< 25"}]),
            "X must have every feature, row 0 lacks 'home'.",
        ),
        (
            lambda: scorecard(TABLE, cutoff=1).encode(TABLE),
            "X must have every feature, it lacks 'age'. It has 'feature', 'bin', 'points'.",
        ),
        (
            lambda: scorecard(TABLE, cutoff=1).encode([{**ROWS[0], "age": "old"}]),
            "'age' must be one of '< 25', '25 to 40', '> 40', got 'old' in row 0.",
        ),
        (
            lambda: scorecard(TABLE, cutoff=1).encode(3),
            "X must be a frame with a column for every feature, or a list of mappings, got int.",
        ),
    ],
)
def test_bad_input(make, message):
    """What is wrong is said, with what was received."""
    with pytest.raises(InvalidInputError) as caught:
        make()
    assert str(caught.value) == message

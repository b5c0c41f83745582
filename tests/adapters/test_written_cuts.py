"""Cuts that rounding left beside a number that people write: told as that number, and truly."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, KBinsDiscretizer

from sklearn_probsr import adapt

GRID = np.linspace(0, 1, 11)


def labels(step: Any, x: Any = GRID) -> tuple[Any, tuple[str, ...]]:
    X = pd.DataFrame({"x": x})
    adapted = adapt(make_pipeline(step, LogisticRegression()).fit(X, x > np.median(x)), X)
    return adapted, adapted.units[0].labels


TOLD = {
    0.059105000000000005: ("x ≤ 0.059105", "x > 0.059105"),
    0.30000000000000004: ("x ≤ 0.3", "x > 0.3"),
    0.19999999999999998: ("x < 0.2", "x ≥ 0.2"),
    0.1: ("x ≤ 0.1", "x > 0.1"),
    1 / 3: ("x ≤ 0.3333333333333333", "x > 0.3333333333333333"),
    1234.5678901234567: ("x ≤ 1234.5678901234567", "x > 1234.5678901234567"),
}


@pytest.mark.parametrize("cut", TOLD)
def test_a_cut_is_told_as_the_number_beside_it(cut: float):
    """With the sign that is true of that number; one that has none beside it keeps its digits."""
    assert labels(Binarizer(threshold=cut))[1] == TOLD[cut]


def test_labels_of_bins_are_true_of_every_number_of_fifteen_digits():
    """Those at the edges too, and of the floats beside these."""
    adapted, found = labels(KBinsDiscretizer(n_bins=10, strategy="uniform"))
    assert not any(len(number) > 4 for number in re.findall(r"[\d.]+", " ".join(found)))
    edges = np.array([float(f"{k / 10:.1f}") for k in range(1, 10)])
    tried = np.concatenate([edges, edges - 1e-14, edges + 1e-14, GRID])
    tried = np.array([float(f"{x:.15g}") for x in tried])
    for x, told in zip(tried, adapted.describe(pd.DataFrame({"x": tried}))["x"], strict=True):
        assert _is_true(told, x), (told, x)


def _is_true(told: str, x: float) -> bool:
    if match := re.fullmatch(r"x in ([\[(])([\d.]+), ([\d.]+)([\])])", told):
        low, high = float(match[2]), float(match[3])
        above = x >= low if match[1] == "[" else x > low
        return above and (x <= high if match[4] == "]" else x < high)
    sign, number = told.split()[1:]
    limit = float(number)
    return {"<": x < limit, "≤": x <= limit, ">": x > limit, "≥": x >= limit}[sign]


def test_two_cuts_beside_one_number_are_told_apart():
    """By their digits, unless there is only that number between them."""
    X = pd.DataFrame({"x": GRID})
    steps = make_pipeline(KBinsDiscretizer(n_bins=3, strategy="uniform"), LogisticRegression())
    model = steps.fit(X, GRID > 0.5)
    model[0].bin_edges_[0] = np.array([0.0, 0.3, 0.30000000000000004, 1.0])
    assert adapt(model).units[0].labels == ("x < 0.3", "x: 0.3", "x > 0.3")
    model[0].bin_edges_[0] = np.array([0.0, 0.3, 0.3000000000000001, 1.0])
    assert adapt(model).units[0].labels == (
        "x < 0.3",
        "x in [0.3, 0.30000000000000004]",
        "x > 0.30000000000000004",
    )

"""Columns that get_dummies made of one are found by name and by the data."""

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr import group_dummies
from sklearn_probsr.exceptions import InvalidInputError


def test_dummies_are_found_and_others_are_not():
    """Families that exclude each other are groups; names alone make none."""
    rng = np.random.default_rng(0)
    X = pd.get_dummies(
        pd.DataFrame(
            {
                "job": rng.choice(["nurse", "head_nurse", "cook"], 60),
                "home_type": rng.choice(["flat", "house"], 60),
                "age": rng.integers(20, 60, 60),
            }
        )
    )
    X["home_owner"] = rng.integers(0, 2, 60)
    X["has_car"], X["has_dog"] = rng.integers(0, 2, (2, 60))
    X["pay_gross"], X["pay_net"] = rng.normal(size=(2, 60))
    assert group_dummies(X) == {
        "job": ["job_cook", "job_head_nurse", "job_nurse"],
        "home_type": ["home_type_flat", "home_type_house"],
    }
    other = X.rename(columns=lambda name: name.replace("_", "="))
    assert set(group_dummies(other, sep="=")) == {"job", "home=type"}


def test_bad_input():
    """Names of columns are needed, and a separator."""
    with pytest.raises(
        InvalidInputError,
        match=r"^group_dummies goes by the names of columns, so X must be a frame, got ndarray\.$",
    ):
        group_dummies(np.eye(3))
    with pytest.raises(InvalidInputError, match=r"^sep must be a text, got ''\.$"):
        group_dummies(pd.DataFrame({"a_b": [1]}), sep="")

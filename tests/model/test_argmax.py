"""What rounding of several scores changes is told, if it is more than floats lose anyway."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import ArgmaxModel, SufficientReasonExplainer


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ([[1.09], [1e16], [0]], [0, 0, 0]), {},
            "The weight of 'x0' for class 0 is 1.09, and is taken as 0.0: weights of a feature are "
            "rounded to 51 bits of the largest, here 1e+16, so that differences of classes are "
            "exact. Everything that is said speaks of the rounded model. Check the scale of this "
            "feature, or explain two of the classes with a LinearModel.",
        ),
        (
            ([[2, 1.5], [0, -3e12], [1, 0.25]], [0, 1, 0]),
            {"feature_names": ["age", "wage"], "classes": ["a", "b", "c"]},
            None,  # these are multiples of what 51 bits measure
        ),
        (
            ([[2, 1.1], [0, -3e12], [1, 0.3]], [0, 1, 0]),
            {"feature_names": ["age", "wage"], "classes": ["a", "b", "c"]},
            "The weight of 'wage' for class 'c' is 0.3, and is taken as 0.30078125: weights of a "
            "feature are rounded to 51 bits of the largest, here -3000000000000.0, so that "
            "differences of classes are exact. Everything that is said speaks of the rounded "
            "model. 1 more is changed so. Check the scale of this feature, or explain two of the "
            "classes with a LinearModel.",
        ),
        (
            ([[1], [0]], [0.1, 1e20]), {"classes": ["no", "yes"]},
            "The intercept for class 'no' is 0.1, and is taken as 0.0: intercepts are rounded to "
            "51 bits of the largest, here 1e+20, so that differences of classes are exact. "
            "Everything that is said speaks of the rounded model. Compare the sizes of "
            "intercepts, or explain two of the classes with a LinearModel.",
        ),
        (([[0.3, 1], [1, 2], [1e-17, 3]], [0, 0, 0]), {}, None),  # 0, but for rounding
    ],
)  # fmt: skip
def test_a_weight_that_is_rounded_away_is_named(
    arguments: Any, options: dict[str, Any], message: str | None
) -> None:
    """With the class, the number that was given, and the one that is used."""
    if message is None:
        ArgmaxModel(*arguments, **options)  # warnings are errors
        return
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$") as caught:
        ArgmaxModel(*arguments, **options)
    assert caught[0].filename == __file__


def test_an_estimator_whose_weights_are_rounded_away_is_told_by_its_columns() -> None:
    """What an explainer is given is named as its features are."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    estimator = LogisticRegression(max_iter=1000).fit(X, y)
    SufficientReasonExplainer(estimator, X)  # nothing to tell
    estimator.coef_[0, 1], estimator.coef_[1, 1] = 0.7, 1e17
    with pytest.warns(
        UserWarning, match=r"^The weight of 'sepal width \(cm\)' for class 0 is 0\.7"
    ):
        SufficientReasonExplainer(estimator, X)


def test_weights_that_were_rounded_stay_as_they_are() -> None:
    """A model of the weights that are used says nothing."""
    with pytest.warns(UserWarning, match="is taken as"):
        model = ArgmaxModel([[1.09, 2], [1e16, 0]], [0, 0])
    again = ArgmaxModel(model.weights, model.intercepts)
    assert np.array_equal(again.weights, model.weights)

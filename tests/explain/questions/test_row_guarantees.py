"""Guarantees of raw rows: the explainer answers as the core does, in the names of the columns."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr import (
    LinearModel,
    SufficientReasonExplainer,
    guarantee,
    guarantee_curve,
)
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import mixed, people

MODEL = LinearModel([5.0, 1.0, -3.0, 2.0, -1.0], 2.5)


def asked() -> tuple[SufficientReasonExplainer, pd.DataFrame]:
    X = people()[0]
    return SufficientReasonExplainer(mixed(), X, delta=0.9), X[:6].set_axis(list("uvwxyz"))


def test_one_set_for_all_rows_or_one_for_each():
    """Names, positions, masks and a table's own reasons; the index is that of the rows."""
    explainer, X = asked()
    reasons = explainer(X)
    for features in (["age", "smoker"], {0, 3}, np.array([True, False, False, True])):
        found = explainer.guarantee(X, features)
        assert list(found) == ["lower", "upper"]
        assert list(found.index) == list("uvwxyz")
        for i in range(len(X)):
            known = guarantee(
                explainer.linear_model, reasons.reasons.rows[i], [0, 3],
                distribution=explainer.distribution,
            )  # fmt: skip
            assert tuple(found.iloc[i]) == (known.lower, known.upper)
    for features in (reasons.reason_mask, reasons.to_frame()["reason"], list(reasons.reasons)):
        sets = [one.features for one in features] if isinstance(features, list) else features
        found = explainer.guarantee(X, sets)
        assert (found["lower"] >= 0.9).all()
    nothing = explainer.guarantee(X.iloc[0], [])
    assert len(nothing) == 1
    assert nothing.index.tolist() == ["u"]


def test_a_curve_for_each_row():
    """They are the core's, and a frame tells the feature of every step."""
    explainer, X = asked()
    curves, rows = explainer.guarantee_curve(X), explainer(X).reasons.rows
    assert len(curves) == 6
    for curve, row in zip(curves, rows, strict=True):
        known = guarantee_curve(explainer.linear_model, row, distribution=explainer.distribution)
        assert np.array_equal(curve.order, known.order)
        assert np.array_equal(curve.lower, known.lower)
        assert np.array_equal(curve.upper, known.upper)
    table = curves.to_frame()
    assert table.shape == (6 * 5, 3)
    assert table.index.names == [None, "size"]
    assert table.loc[("v", 0), "feature"] is None
    names = [explainer.linear_model.unit_names[u] for u in curves[1].order]
    assert table.loc["v"]["feature"].tolist() == [None, *names]
    assert table.loc["v"]["lower"].tolist() == curves[1].lower.tolist()
    assert list(curves[4:].to_frame().index.get_level_values(0).unique()) == ["y", "z"]
    assert repr(curves[4:]) == "GuaranteeCurves(<2 rows, 4 features>)"
    assert explainer.guarantee_curve(X[:0]).to_frame().shape == (0, 3)
    assert explainer.guarantee(X[:0], ["age"]).shape == (0, 2)


def test_nothing_is_known_of_an_invalid_row():
    """It has 0 and 1, and one warning tells of it, or an error if that is asked for."""
    X = [[1, 0, 1, 1, 0], [2, 0, 0, 0, 0]]
    explainer = SufficientReasonExplainer(MODEL)
    with pytest.warns(UserWarning, match=r"^1 of 2 rows could not be explained .*: 1 invalid\."):
        found = explainer.guarantee(X, [0])
    assert found.loc[1].tolist() == [0, 1]
    with pytest.warns(UserWarning, match="1 invalid"):
        curves = explainer.guarantee_curve(X)
    assert curves[1].lower.tolist() == [0] * 6
    assert curves[1].upper.tolist() == [1] * 6
    with pytest.raises(InvalidInputError, match="got 2 in row 1"):
        SufficientReasonExplainer(MODEL, on_error="raise").guarantee(X, [0])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[0], [1], [2]], "features must be one set for all rows, or one for each of the 2, got 3 "
         "entries, 3 of them sets."),
        ([[0], 1], "features must be one set for all rows, or one for each of the 2, got 2 "
         "entries, 1 of them sets."),
        (np.zeros((3, 5), dtype=bool), "features must be a mask of shape (5,) or (2, 5), got "
         "(3, 5)."),
        ("x0", "features must be a collection of features, got the text 'x0'. Write ['x0']."),
        (3, "features must be a collection of features, got 3."),
        ([["x0"], ["x9"]], "features[1] names an unknown feature, 'x9'. The model's features are "
         "'x0', 'x1', 'x2', 'x3', 'x4'."),
    ],
)  # fmt: skip
def test_other_sets_are_refused(features: Any, message: str):
    """What is no set for all rows, and not one for each, is told."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        SufficientReasonExplainer(MODEL).guarantee([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0]], features)


def test_the_core_sends_an_estimator_to_the_explainer():
    """A Pipeline in the functions of the core is told where its rows are taken."""
    message = (
        "model must be a LinearModel, got Pipeline. Explain an estimator or a Pipeline with "
        "SufficientReasonExplainer(model, data): its guarantee(X, features) and "
        "guarantee_curve(X) take rows as the estimator does."
    )
    for call in (lambda: guarantee(mixed(), [1], [0]), lambda: guarantee_curve(mixed(), [1])):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            call()

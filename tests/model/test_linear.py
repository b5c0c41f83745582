"""LinearModel: exact signs, frozen values, clear errors."""

import pickle
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr import LinearModel
from sklearn_probsr.exceptions import InvalidInputError
from tests.oracle import Case
from tests.strategies import cases, models


@given(cases(largest=12))
def test_predict_is_the_exact_sign(case: Case):
    """Ties, rounding and extreme magnitudes never change the class."""
    assert models(case).predict([case.x])[0] == int(case.label)


@given(cases(largest=12))
def test_the_integer_form_is_the_same_classifier(case: Case):
    """On integers the tie rule is in the threshold, and the margin is at least 0."""
    positive, margin = models(case).integer_form.margin(np.array(case.x, dtype=bool))
    assert positive == case.label
    assert margin >= 0


@given(cases(largest=12))
def test_margin_is_correctly_rounded(case: Case):
    """The margin is the float nearest to the exact one, infinite beyond the largest."""
    exact = sum((Fraction(w) for w, x in zip(case.weights, case.x, strict=True) if x), 0)
    exact -= Fraction(case.threshold)
    try:
        expected = float(exact)
    except OverflowError:
        expected = np.inf if exact > 0 else -np.inf
    assert models(case).margin([case.x])[0] == expected


@pytest.mark.smoke
def test_a_tiny_weight_beside_a_huge_one_counts():
    """1e300 - 1e300 + 1e-300 is positive, and so is the class."""
    model = LinearModel([1e300, -1e300, 1e-300], 0.0, strict=True)
    assert model.predict([[1, 1, 1], [1, 1, 0]]).tolist() == [1, 0]
    assert model.margin([[1, 1, 1]])[0] == 1e-300


def test_strictness_decides_the_tie():
    """Exactly at the threshold: class 1, or class 0 when strict."""
    assert LinearModel([1, 1], 2).predict([[1, 1]]) == [1]
    assert LinearModel([1, 1], 2, strict=True).predict([[1, 1]]) == [0]
    # 0.1 + 0.2 is a little more than 0.3 in floats; the exact sum of the floats decides.
    assert LinearModel([0.1, 0.2], 0.3, strict=True).predict([[1, 1]]) == [1]


def test_labels_of_any_kind():
    """Classes may be strings; the first is said below the threshold."""
    model = LinearModel([1.0, 2.0], 2.5, classes=("benign", "malignant"))
    assert model.predict([[0, 1], [1, 1]]).tolist() == ["benign", "malignant"]
    assert LinearModel([1.0], 0.5, classes=(False, True)).predict([[1]]).tolist() == [True]


def test_a_model_is_frozen_and_equal_by_value():
    """Weights are a read-only copy; equality, hashing and pickling go by value."""
    weights = np.array([1.0, -2.0])
    model = LinearModel(weights, 0.5, feature_names=["a", "b"])
    weights[0] = 9
    assert model.weights.tolist() == [1.0, -2.0]
    with pytest.raises(ValueError, match="read-only"):
        model.weights[0] = 3
    with pytest.raises(AttributeError):
        model.threshold = 1.0
    model.predict([[1, 1]])
    copy = pickle.loads(pickle.dumps(model))
    assert copy == model
    assert hash(copy) == hash(model)
    assert copy != LinearModel([1.0, -2.0], 0.5)
    assert model != "a model"


def test_no_rows_are_fine():
    """An empty batch has no predictions and no margins."""
    model = LinearModel([1.0, 2.0], 1.0)
    assert model.predict(np.zeros((0, 2))).shape == (0,)
    assert model.margin(np.zeros((0, 2))).shape == (0,)


BAD_MODELS: list[tuple[dict[str, Any], str]] = [
    ({"weights": []}, "weights must hold at least one feature, got an empty vector."),
    ({"weights": [1, np.nan]}, "weights must be finite, got nan at index 1."),
    ({"weights": [np.inf, 1]}, "weights must be finite, got inf at index 0."),
    ({"weights": ["a", "b"]}, "weights must be a vector of numbers, got list."),
    (
        {"weights": [[1, 2]]},
        "weights must be a vector, got an array of shape (1, 2). "
        "Pass coef_.ravel() of a two-class estimator.",
    ),
    ({"threshold": np.inf}, "threshold must be finite, got inf."),
    ({"threshold": "high"}, "threshold must be a number, got 'high'."),
    (
        {"feature_names": ["a"]},
        "feature_names must hold one name per weight, 2, got 1.",
    ),
    ({"feature_names": ["a", "a"]}, "feature_names must be unique, got 'a' twice."),
    ({"classes": (1, 1)}, "classes must be two different labels, got (1, 1)."),
    ({"weights": [10**400, 1]}, "weights must be a vector of numbers, got list."),
    ({"weights": np.array([1 + 2j, 1])}, "weights must be a vector of numbers, got ndarray."),
    ({"feature_names": 5}, "feature_names must be a sequence of names, got 5."),
    ({"classes": None}, "classes must be two different labels, got None."),
    ({"classes": (0, 1, 2)}, "classes must be two different labels, got (0, 1, 2)."),
]


@pytest.mark.parametrize(("wrong", "message"), BAD_MODELS)
def test_a_wrong_model_gets_one_clear_error(wrong: dict[str, Any], message: str):
    """Each error says what was wrong and what was received."""
    arguments = {"weights": [1.0, 2.0], "threshold": 1.0, **wrong}
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        LinearModel(**arguments)


BAD_ROWS = [
    (
        [[0, 1], [3.5, 1]],
        "X must be 0 or 1 in every column, got 3.5 in row 1, column 'age'. Binarize it first.",
    ),
    (
        [[np.nan, 1]],
        "X must be 0 or 1 in every column, got nan in row 0, column 'age'. Binarize it first.",
    ),
    ([[0, 1, 1]], "X must have one column per feature, 2, got 3."),
    (
        [0, 1],
        "X must have two dimensions, (rows, 2 features), got an array of shape (2,). "
        "Write [x] for a single instance.",
    ),
    (
        [["a", "b"]],
        "X must be 0 or 1 in every column, got a in row 0, column 'age'. Binarize it first.",
    ),
]


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS)
def test_wrong_rows_get_one_clear_error(rows: Any, message: str):
    """Each error names the value and where it is."""
    model = LinearModel([1.0, 2.0], 1.0, feature_names=["age", "sex"])
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        model.predict(rows)


@given(st.lists(st.booleans(), min_size=3, max_size=3))
def test_booleans_integers_and_floats_are_the_same_row(row: list[bool]):
    """The type of a zero or one does not matter."""
    model = LinearModel([1.0, -2.0, 0.5], 0.25)
    expected = model.predict(np.array([row]))
    for dtype in (int, float, np.uint8, object):
        assert model.predict(np.array([row]).astype(dtype)) == expected


def test_an_intercept_array_is_a_threshold():
    """scikit-learn's `intercept_` is an array of one number; two are refused."""
    assert LinearModel([1.0], -np.array([0.5])).threshold == -0.5
    with pytest.raises(InvalidInputError, match=r"^threshold must be a number, got array"):
        LinearModel([1.0], np.array([0.5, 1.0]))


def test_a_frame_is_taken_by_name():
    """Columns may come in another order, and others may be beside them; a series likewise."""
    model = LinearModel([1.0, 2.0], 1.5, feature_names=["a", "b"])
    frame = pd.DataFrame({"b": [1, 0], "more": ["x", "y"], "a": [0, 1]})
    assert model.predict(frame).tolist() == model.predict(frame[["a", "b"]]).tolist() == [1, 0]
    assert model.check_row(frame.iloc[0]).tolist() == [False, True]
    message = "X must have the model's columns, it lacks 'a'. It has 'b', 'more'."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        model.predict(frame[["b", "more"]])
    message = "X must have each of the model's columns once, got 'b' twice."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        model.predict(frame[["a", "b", "b"]])
    assert LinearModel([1.0, 2.0], 1.5).predict(frame[["a", "b"]]).tolist() == [1, 0]


def test_labels_of_different_types_stay_what_they_are():
    """A string and a number are returned as such."""
    assert LinearModel([1.0], 0.5, classes=("no", 1)).predict([[0], [1]]).tolist() == ["no", 1]


def test_a_margin_beyond_the_largest_float():
    """Two huge weights together are infinite, with their sign."""
    assert LinearModel([1.7e308, 1.7e308], 0).margin([[1, 1]])[0] == np.inf
    assert LinearModel([-1.7e308, -1.7e308], 0).margin([[1, 1]])[0] == -np.inf


def test_missing_values_are_named():
    """A missing value in an object array is found and named."""
    model = LinearModel([1.0, 2.0], 1.0, feature_names=["age", "sex"])
    message = (
        "X must be 0 or 1 in every column, got <NA> in row 0, column 'sex'. Binarize it first."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        model.predict(pd.DataFrame([[1, pd.NA]]))
    with pytest.raises(InvalidInputError, match=r"^X must have rows of equal length\.$"):
        model.predict([[1], [1, 0]])


def test_frames_with_other_columns_are_refused():
    """A model with names takes no frame that lacks one; made-up names bind nobody."""
    named = LinearModel([1.0, 2.0], 1.5, feature_names=["a", "b"])
    message = "X must have the model's columns, it lacks 'a'. It has 'b', 'zzz'."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        named.predict(pd.DataFrame({"b": [1], "zzz": [0]}))
    assert LinearModel([1.0, 2.0], 1.5).predict(pd.DataFrame({"b": [1], "zzz": [1]})) == [1]


def test_masked_values_are_refused():
    """What is masked is unknown, and not the number underneath."""
    message = "X has masked values. Fill them in, or drop their rows."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        LinearModel([1.0, 2.0], 1.5).predict(np.ma.array([[0, 1]], mask=[[True, False]]))

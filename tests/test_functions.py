"""The public functions: what they refuse, and how they say it."""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sklearn_probsr
from sklearn_probsr import (
    LinearModel,
    Uniform,
    guarantee,
    guarantee_curve,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.exceptions import InvalidInputError, ProbSRError, UnreachableError

MODEL = LinearModel([5, 1, -3, 2, -1], 5, feature_names=["a", "b", "c", "d", "e"])
X = [1, 0, 0, 1, 1]

BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"delta": 1.5}, "delta must lie in [0, 1], got 1.5."),
    ({"delta": 95}, "delta must lie in [0, 1], got 95. For 95% write 0.95."),
    ({"delta": 99.9}, "delta must lie in [0, 1], got 99.9. For 99.9% write 0.999."),
    ({"delta": 7, "epsilon": 7, "gamma": 7}, "delta must lie in [0, 1], got 7."),
    ({"epsilon": 7, "gamma": 7}, "epsilon must lie strictly between 0 and 1, got 7."),
    ({"delta": -0.1}, "delta must lie in [0, 1], got -0.1."),
    ({"delta": float("nan")}, "delta must lie in [0, 1], got nan."),
    ({"delta": float("inf")}, "delta must lie in [0, 1], got inf."),
    ({"delta": "0.9"}, "delta must lie in [0, 1], got '0.9'."),
    ({"delta": None}, "delta must lie in [0, 1], got None."),
    ({"epsilon": 0}, "epsilon must lie strictly between 0 and 1, got 0."),
    ({"epsilon": 1.0}, "epsilon must lie strictly between 0 and 1, got 1.0."),
    ({"gamma": 2}, "gamma must lie strictly between 0 and 1, got 2."),
    ({"gamma": True}, "gamma must lie strictly between 0 and 1, got True."),
    (
        {"method": "magic"},
        "method must be one of ('certified', 'monte-carlo', 'paper'), got 'magic'.",
    ),
    (
        {"include": ["f"]},
        "include names an unknown feature, 'f'. The model's features are 'a', 'b', 'c', 'd', 'e'.",
    ),
    ({"include": [5]}, "include names an unknown feature, 5. The model's features are 0 to 4."),
    ({"exclude": [-1]}, "exclude names an unknown feature, -1. The model's features are 0 to 4."),
    ({"include": [1.5]}, "include must hold feature indices or names, got 1.5."),
    (
        {"include": [True]},
        "include must hold feature indices or names, got True. "
        "Use np.flatnonzero to turn a mask into indices.",
    ),
    (
        {"include": "a"},
        "include must be a collection of features, got the text 'a'. Write ['a'].",
    ),
    (
        {"include": [0, 1], "exclude": ["b"]},
        "include and exclude must not share features, got 'b' in both.",
    ),
    ({"max_size": -1}, "max_size must be a whole number >= 0, got -1."),
    ({"max_size": 2.5}, "max_size must be a whole number >= 0, got 2.5."),
    ({"max_size": np.array([1, 2])}, "max_size must be a whole number >= 0, got array([1, 2])."),
    ({"include": None}, "include must be a collection of features, got None."),
    ({"exclude": 3}, "exclude must be a collection of features, got 3."),
    (
        {"method": "monte-carlo", "epsilon": 1e-12},
        "epsilon = 1e-12 and gamma = 1e-06 need more than 1,000,000,000 samples a row. "
        "Raise one of them, or use method='certified'.",
    ),
    (
        {"include": [0, 1], "max_size": 1},
        "include forces 2 features in, more than max_size = 1. Raise max_size or include fewer.",
    ),
    (
        {"distribution": "normal"},
        "distribution must be None, Uniform(), Product(p), Marginals.fit(X), Background(X) or "
        "Matching(X), got 'normal' of type str.",
    ),
    (
        {"method": "monte-carlo", "random_state": "seed"},
        "random_state must be None, an integer or a numpy Generator, got 'seed'.",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), BAD_ARGUMENTS)
def test_a_wrong_argument_gets_one_clear_error(wrong: dict[str, Any], message: str):
    """What was wrong, what was received, what to do; one row or many alike."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        sufficient_reason(MODEL, X, **wrong)
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        sufficient_reasons(MODEL, [X, X], **wrong)


BAD_INSTANCES: list[tuple[Any, str]] = [
    (
        [1, 0, 3.5, 1, 1],
        "x must be 0 or 1 in every column, got 3.5 in column 'c'. Binarize it first.",
    ),
    ([1, 0, 0], "x must have one value per feature, 5, got 3."),
    (
        [[1, 0, 0, 1, 1]] * 2,
        "x must be one instance, a vector of 5 numbers, got an array of shape (2, 5). "
        "Use sufficient_reasons for several rows.",
    ),
    (
        1,
        "x must be one instance, a vector of 5 numbers, got an array of shape (). "
        "Use sufficient_reasons for several rows.",
    ),
]


@pytest.mark.parametrize(("x", "message"), BAD_INSTANCES)
def test_a_wrong_instance_gets_one_clear_error(x: Any, message: str):
    """The same words from every function that takes an instance."""
    for call in (
        lambda: sufficient_reason(MODEL, x),
        lambda: guarantee(MODEL, x, [0]),
        lambda: guarantee_curve(MODEL, x),
    ):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            call()


def test_a_model_must_be_a_linear_model():
    """A tuple is not one; the error says how to write one."""
    message = (
        "model must be a LinearModel, got tuple. Write LinearModel(weights, threshold)."
    )  # fmt: skip
    for call in (
        lambda: sufficient_reason(([1.0], 0.0), [1]),
        lambda: sufficient_reasons(([1.0], 0.0), [[1]]),
        lambda: guarantee(([1.0], 0.0), [1], []),
        lambda: guarantee_curve(([1.0], 0.0), [1]),
    ):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            call()


def test_columns_are_found_by_name():
    """A frame or a series whose names are the model's is read by them, in any order."""
    names = list(reversed(MODEL.feature_names))
    for x in (pd.DataFrame([X[::-1]], columns=names), pd.Series(X[::-1], index=names)):
        assert sufficient_reason(MODEL, x) == sufficient_reason(MODEL, X)
        assert guarantee(MODEL, x, []) == guarantee(MODEL, X, [])
    series = pd.Series(X, index=list(MODEL.feature_names))
    assert sufficient_reason(MODEL, series).size == 3
    assert sufficient_reason(MODEL, pd.Series(X)).size == 3


def test_sparse_rows_are_rows():
    """Sparse input of either kind is filled in."""
    for kind in (sparse.csr_matrix, sparse.csr_array):
        found = sufficient_reasons(MODEL, kind(np.array([X, X])))
        assert found.size.tolist() == [3, 3]


def test_an_estimate_is_never_called_a_proof():
    """However small gamma is, the confidence stays below 1."""
    reason = sufficient_reason(
        MODEL, X, method="monte-carlo", gamma=1e-17, epsilon=0.1, max_size=1, random_state=0
    )
    assert reason.guarantee.confidence < 1
    assert reason.guarantee.exact is None
    assert "with confidence" in str(reason)


@pytest.mark.parametrize("level", [None, float("nan"), "high", [0.5]])
def test_an_enclosure_is_compared_with_numbers(level: Any):
    """What is no number is refused by name."""
    with pytest.raises(InvalidInputError, match=r"^An enclosure is compared with a number, got "):
        guarantee(MODEL, X, []) >= level  # noqa: B015


def test_a_width_is_not_negative():
    """A tol that is no width is refused."""
    with pytest.raises(InvalidInputError, match=r"^tol must be a number >= 0, got -1\.$"):
        guarantee(MODEL, X, [], tol=-1)
    with pytest.raises(InvalidInputError, match=r"^tol must be a number >= 0, got 'a'\.$"):
        guarantee(MODEL, X, [], tol="a")


def test_unreachable_names_what_is_reachable():
    """Without the best feature at most 1/2 can be had, and the error says so."""
    message = (
        "delta = 0.9 cannot be reached for row 1 without the features in exclude: the best "
        "guarantee that the others give is 0.5 (uniform completions). Exclude fewer features, "
        "lower delta, or set max_size to get the best set all the same."
    )
    with pytest.raises(UnreachableError, match=f"^{re.escape(message)}$"):
        sufficient_reasons(MODEL, [[0, 0, 1, 0, 1], X], delta=0.9, exclude=["a"])
    best = sufficient_reason(MODEL, X, delta=0.9, exclude=["a"], max_size=5)
    assert best.minimality == "best-of-size"
    assert best.guarantee.exact == Fraction(1, 2)
    with pytest.raises(UnreachableError, match=r"about 0\.5"):
        sufficient_reason(MODEL, X, delta=0.9, exclude=["a"], method="monte-carlo", random_state=0)


def test_monte_carlo_knows_the_constraints():
    """Forced in, forced out and at most so many work for samples too."""
    found = sufficient_reason(
        MODEL, X, method="monte-carlo", include=["e"], max_size=2, random_state=0
    )
    assert found.features == (4, 0)
    assert found.minimality == "best-of-size"
    assert found.guarantee.lower <= 3 / 8 <= found.guarantee.upper
    assert found.guarantee.confidence == 1 - 2e-6


def test_features_by_name_or_index():
    """Names, indices and numpy integers are the same features; repetition does not count."""
    expected = guarantee(MODEL, X, [0, 2])
    assert guarantee(MODEL, X, ["a", "c"]) == expected
    assert guarantee(MODEL, X, np.array([2, 0])) == expected
    assert guarantee(MODEL, X, ["a", 0, "c", 2]) == expected
    assert guarantee(MODEL, X, ["a", "c"], distribution=Uniform()) == expected


def test_every_error_is_a_value_error():
    """Users may catch one family, or ValueError."""
    assert issubclass(InvalidInputError, ProbSRError)
    assert issubclass(UnreachableError, ProbSRError)
    assert issubclass(ProbSRError, ValueError)


def test_unknown_names_of_the_package():
    """The lazy door opens for what is listed and for nothing else."""
    with pytest.raises(AttributeError, match="has no attribute 'magic'"):
        sklearn_probsr.magic  # noqa: B018
    assert dir(sklearn_probsr) == sorted([*sklearn_probsr.__all__, "__version__"])

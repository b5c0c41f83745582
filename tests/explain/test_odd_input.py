"""Odd input: what no model can take is named, and so is what to do about it."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import shap
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import fbeta_score, get_scorer, get_scorer_names

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Matching,
    Product,
    SufficientReasonExplainer,
    compare,
    sufficient_reason,
)
from sklearn_probsr.cli.models import ALLOWED
from sklearn_probsr.exceptions import InvalidInputError

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 3)).round(2), columns=["a", "b", "c"])
FITTED = LogisticRegression().fit(X, X["a"] + X["b"] > 0)
MODEL = LinearModel([5, 1, -3, 2, -1], 5)
ROW = [1, 0, 0, 1, 1]


class _Lazy:
    """A frame of dask, as far as its name tells."""

    __module__ = "dask.dataframe"

    def compute(self) -> Any:
        return X


def odd_rows() -> dict[str, tuple[Any, str]]:
    """Return rows that are none, and what is said about them."""
    remedy = "Make it a number first, for instance the days since a date."
    dates = X.assign(b=pd.Timestamp("2020-01-31"))
    return {
        "dask": (_Lazy(), "{} must be in memory, got a dask _Lazy. Read it first: {}.compute()."),
        "lazy": (
            pl.DataFrame(X.to_dict("list")).lazy(),
            "{} must be in memory, got a polars LazyFrame. Read it first: {}.collect().",
        ),
        "text": (
            X.astype(object).assign(b="old"),
            "{} must hold finite numbers, got the text 'old' in row 0, column 'b'. Write it as a "
            "number, or let a step of the Pipeline encode it.",
        ),
        "date": (
            dates,
            "{} must hold finite numbers, got the date 2020-01-31T00:00:00.000000 in row 0, column "
            f"'b'. {remedy}",
        ),
        "complex": (
            X.to_numpy() * 1j,
            f"{{}} must hold finite numbers, got the complex number {X.iat[0, 0] * 1j} in row 0, "
            "column 'a'. Pass its real and imaginary part as two columns.",
        ),
        "masked": (
            np.ma.masked_array(X.to_numpy(), mask=X.to_numpy() > 0),
            "{} has masked values. Fill them in, or drop their rows.",
        ),
        "gap": (
            X.assign(b=np.nan),
            "{} must hold finite numbers, got nan in row 0, column 'b'. Fill in or drop what is "
            "missing.",
        ),
    }


@pytest.mark.parametrize("kind", odd_rows())
def test_odd_rows_are_named(kind: str):
    """As rows and as a masker, which then is what the error is about."""
    rows, message = odd_rows()[kind]
    shown = str(X.iat[0, 0] * 1j)
    message = message.replace(shown, str(np.complex128(X.iat[0, 0] * 1j)))
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message.replace('{}', 'masker'))}$"):
        SufficientReasonExplainer(FITTED, rows)
    assert not SufficientReasonExplainer.supports_model_with_masker(FITTED, rows)
    masked = np.ma.masked_array(X.to_numpy(), mask=False)  # nothing is hidden in it
    assert len(SufficientReasonExplainer(FITTED, masked)(X)) == len(X)


def test_odd_arguments_are_named():
    """No jobs at all, no model, and a masker of the wrong kind for a LinearModel."""
    message = "n_jobs must be None, a whole number >= 1, or -1 for all cores, got 0."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        SufficientReasonExplainer(FITTED, X, n_jobs=0)
    message = "estimator must be a fitted classifier, got None. Pass what fit returned."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        SufficientReasonExplainer(None, X)
    message = "masker must have one column per feature, 5, got 3."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        SufficientReasonExplainer(MODEL, X.to_numpy())
    assert not SufficientReasonExplainer.supports_model_with_masker(object(), 7)


def test_a_law_that_needs_states_says_so():
    """Matching and Product know 0 and 1 where they saw nothing else; data knows all numbers."""
    flags = (X > 0).astype(float)
    fitted = LogisticRegression().fit(flags, FITTED.predict(X))
    rest = (
        "got 3.0 in row 0, column 'b'. This distribution needs features with states, and knows no "
        "other there. Pass data as masker, where numbers may be any, or bin the column in the "
        "Pipeline."
    )
    for law in (Matching(flags, min_rows=5), Product.fit(flags), "uniform"):
        with pytest.raises(InvalidInputError, match=re.escape(rest)):
            SufficientReasonExplainer(fitted, law, on_error="raise")(flags.head(2).assign(b=3.0))
    for law in (flags, Background(flags), Marginals.fit(flags)):
        assert len(SufficientReasonExplainer(fitted, law)(flags.head(2).assign(b=3.0))) == 2
    assert len(compare(fitted, flags.head(2).assign(b=3.0), flags)) == 2


def test_the_weights_of_a_summary_count():
    """Rows of `shap.kmeans` stand for as many as they were made of."""
    summary = shap.kmeans(X, 7)
    found = SufficientReasonExplainer(FITTED, summary).distribution
    counts = np.round(summary.weights * len(X)).astype(int)
    assert Fraction(int(found.weights[0]), found.total) == Fraction(int(counts[0]), len(X))
    by_hand = SufficientReasonExplainer(FITTED, Background(summary.data, counts))
    assert np.array_equal(SufficientReasonExplainer(FITTED, summary)(X).values, by_hand(X).values)


def test_single_precision_means_the_decimals_that_it_prints():
    """0.9 is nine tenths, as a level, a probability, a weight and a confidence of any width."""
    nine, tenth = np.float32(0.9), np.float32(0.1)
    assert Product([nine, tenth]).p == Product(np.array([nine, tenth])).p == Product([0.9, 0.1]).p
    assert Background([[0], [1]], np.array([nine, tenth])).weights.tolist() == [9, 1]
    assert Matching(np.eye(60), confidence=nine, min_rows=5).confidence == Fraction(9, 10)
    reason = sufficient_reason(MODEL, ROW, delta=nine)
    assert (reason.delta, str(reason)) == (0.9, str(sufficient_reason(MODEL, ROW, delta=0.9)))
    assert compare(MODEL, [ROW], delta=nine).delta == 0.9


def test_scorers_of_scikit_learn_are_trusted():
    """A tuned threshold may be saved with any of them."""
    functions = [fbeta_score, *(get_scorer(name)._score_func for name in get_scorer_names())]
    assert {f"{function.__module__}.{function.__name__}" for function in functions} <= ALLOWED


def test_uniform_has_one_name_everywhere():
    """As a distribution and as a masker."""
    reason = sufficient_reason(MODEL, ROW, distribution="uniform")
    assert reason.features == sufficient_reason(MODEL, ROW).features
    assert SufficientReasonExplainer(MODEL, "uniform")([ROW]).reason_size[0] == reason.size


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: SufficientReasonExplainer(FITTED.predict_proba, X),
            "estimator must be a fitted classifier, got the function predict_proba. Pass the "
            "estimator itself, not what it predicts with.",
        ),
        (
            lambda: SufficientReasonExplainer("model.pkl", X),
            "estimator must be a fitted classifier, got the text 'model.pkl'. Load or fit a "
            "model first, and pass that.",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED.coef_, X),
            "estimator must be a fitted classifier, got ndarray of shape (1, 3). The model comes "
            "first; weights go as the pair (coef, intercept).",
        ),
        (
            lambda: SufficientReasonExplainer(X, FITTED),
            "masker must be None, 'uniform', data with two dimensions, a shap masker or a "
            "distribution, got LogisticRegression. The model comes first, then the data.",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X, 0.9),
            "link must be shap.links.identity: the values are in units of the decision function, "
            "got 0.9. To ask for a level write delta=0.9.",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X, delta=95),
            "delta must lie in [0, 1], got 95. For 95% write 0.95.",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X[:0]),
            "masker must have at least one row, got none.",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X)("rows.csv"),
            "X must have two dimensions, (rows, 3 raw columns), got the text 'rows.csv'. Read the "
            "file first, with pandas.read_csv for one.",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X)(None),
            "X must have two dimensions, (rows, 3 raw columns), got None.",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X)(X[:2].to_dict("records")),
            "X must have two dimensions, (rows, 3 raw columns), got a list of mappings. Write "
            "pandas.DataFrame(X).",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X)(X[50:52]).describe(51),
            "describe takes the place of a row, 0 to 1, got 51. That is a label: write "
            "loc[51].describe().",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X)(X[:9])["p3"],
            "brackets take the place of a row, then a feature, then a class, by place or by name, "
            "got 'p3'. A row by its label is loc[label], a feature of all rows [:, name], a "
            "class [:, :, name].",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X)(X[:9])[["p3", "p5"]],
            "brackets take the place of a row, then a feature, then a class, by place or by name, "
            "got ['p3', 'p5']. A row by its label is loc[label], a feature of all rows [:, name], "
            "a class [:, :, name].",
        ),
        (
            lambda: SufficientReasonExplainer(FITTED, X)(X[:9])[:, "weigth"],
            "brackets take the place of a row, then a feature, then a class, by place or by name, "
            "got (slice(None, None, None), 'weigth'). A row by its label is loc[label], a feature "
            "of all rows [:, name], a class [:, :, name].",
        ),
    ],
)
def test_what_newcomers_mistake_is_told_with_its_remedy(ask: Any, message: str):
    """Functions and paths for models, levels in percent or in the wrong place, labels for rows."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        ask()


def test_what_is_wrong_with_every_row_is_told_at_once():
    """The warning says what the first row was told, if none can be explained."""
    message = (
        "60 of 60 rows could not be explained as asked: 60 invalid. See their status and message, "
        "or pass on_error='raise'. The first: X must hold finite numbers, got nan in column 'a'."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}"):
        SufficientReasonExplainer(FITTED, X)(X.assign(a=np.nan))

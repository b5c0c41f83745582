"""Rows as they come: with data, what an estimator's own `predict` takes gets an explanation."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from sklearn_probsr import Marginals, SufficientReasonExplainer, adapt
from sklearn_probsr.exceptions import InvalidInputError

RNG = np.random.default_rng(0)
N = 80
JOBS = RNG.choice(list("abc"), N)
CREDIT = pd.DataFrame(
    {
        "age": RNG.integers(20, 70, N),
        "income": np.where(RNG.random(N) < 0.2, np.nan, RNG.lognormal(8, 0.4, N).round(2)),
        "children": RNG.integers(0, 2, N),  # 0 and 1 so far
        "late": RNG.integers(0, 2, N).astype(float),
        "savings": RNG.choice(["< 100 DM", "100 <= ... < 500 DM", "none"], N),
        "job": pd.Series(
            [None if g else j for g, j in zip(RNG.random(N) < 0.2, JOBS, strict=True)],
            dtype=object,
        ),
        "owner": RNG.random(N) < 0.5,
    }
)
Y = np.where(
    CREDIT["age"] + 20 * CREDIT["owner"] - 15 * CREDIT["late"] + RNG.normal(0, 9, N) > 45,
    "yes",
    "no",
)
NUMBERS, WORDS = ["age", "children", "late"], ["savings", "job"]
ONE_HOT = {"handle_unknown": "ignore", "sparse_output": False}


CENTS = pl.Decimal(10, 2)


def _credit(*blocks: Any, **kwargs: Any) -> Any:
    return make_pipeline(
        make_column_transformer(*blocks, **kwargs), LogisticRegression(max_iter=10_000)
    )


PIPELINES: dict[str, Callable[[], Any]] = {
    "counts, one-hot and gaps": lambda: _credit(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["income"]),
        (StandardScaler(), NUMBERS),
        (OneHotEncoder(**ONE_HOT), WORDS),
        ("passthrough", ["owner"]),
    ),
    "mean of a flag": lambda: _credit(
        (SimpleImputer(), ["late", "children"]), (OneHotEncoder(drop="first", **ONE_HOT), WORDS)
    ),
    "flags of gaps": lambda: _credit(
        (SimpleImputer(add_indicator=True), ["income"]), ("passthrough", ["children"])
    ),
    "bins and ordinals": lambda: _credit(
        (KBinsDiscretizer(3, strategy="uniform"), ["age", "children"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), WORDS),
    ),
    "rare categories": lambda: _credit(
        (OneHotEncoder(min_frequency=0.3, handle_unknown="infrequent_if_exist"), WORDS),
        (MinMaxScaler(), NUMBERS),
    ),
    "filled categories": lambda: _credit(
        (
            make_pipeline(
                SimpleImputer(missing_values=None, strategy="constant", fill_value="none"),
                OneHotEncoder(**ONE_HOT),
            ),
            ["job"],
        ),
        ("passthrough", NUMBERS),
    ),
    "clipped": lambda: _credit((MinMaxScaler(clip=True), NUMBERS)),
    "the rest as it is": lambda: _credit(
        ("drop", WORDS), (SimpleImputer(), ["income"]), remainder="passthrough"
    ),
    "searched": lambda: GridSearchCV(
        _credit((StandardScaler(), NUMBERS), (OneHotEncoder(**ONE_HOT), WORDS)),
        {"logisticregression__C": [0.1, 1.0]},
        cv=2,
    ),
    "a threshold": lambda: FixedThresholdClassifier(
        _credit((StandardScaler(), NUMBERS), (OneHotEncoder(**ONE_HOT), WORDS)),
        threshold=0.3,
        pos_label="yes",
    ),
    "calibrated": lambda: CalibratedClassifierCV(
        _credit((StandardScaler(), NUMBERS)), ensemble=False, cv=2
    ),
    "naive Bayes": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(**ONE_HOT), WORDS), ("passthrough", NUMBERS)),
        MultinomialNB(),
    ),
    "binarized": lambda: make_pipeline(
        make_column_transformer(("passthrough", ["children", "late", "owner"])), BernoulliNB()
    ),
}
FITTED: dict[str, tuple[Any, Any]] = {}


def explained(name: str) -> tuple[Any, Any]:
    """Return a fitted pipeline and its explainer on the data that it was fitted on."""
    if name not in FITTED:
        fitted = PIPELINES[name]().fit(CREDIT, Y)
        FITTED[name] = fitted, SufficientReasonExplainer(fitted, CREDIT, prove=False)
    return FITTED[name]


COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "age": st.integers(-5, 300),
    "income": st.one_of(st.floats(0, 1e9), st.just(np.nan)),
    "children": st.integers(0, 9),
    "late": st.sampled_from([0.0, 1.0, 2.5, np.nan]),
    "savings": st.sampled_from(["none", "< 100 DM", "a lot", None, np.nan]),
    "job": st.sampled_from(["a", "b", "zebra", None, np.nan, pd.NA]),
    "owner": st.booleans(),
}


def predicted(fitted: Any, X: Any) -> Any:
    """Return what `predict` says, None if it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # categories that it does not know
        try:
            return fitted.predict(X)
        except (TypeError, ValueError, AttributeError):
            return None


@pytest.mark.parametrize("name", PIPELINES)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(st.fixed_dictionaries(COLUMNS), min_size=1, max_size=3), data=st.data())
def test_what_predict_takes_is_explained(name: str, rows: list[dict[str, Any]], data: Any):
    """Any numbers, categories, gaps, order of columns and columns more; classes agree."""
    fitted, explainer = explained(name)
    X = pd.DataFrame({c: pd.Series([row[c] for row in rows], dtype=object) for c in COLUMNS})
    numbers = [c for c in COLUMNS if c not in WORDS]
    X = X.astype({c: float if X[c].isna().any() else CREDIT[c].dtype for c in numbers})
    X = X.assign(more=1)[data.draw(st.permutations([*COLUMNS, "more"]))]
    expected = predicted(fitted, X)
    if expected is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = explainer(X, silent=True)
    assert found.reasons.prediction.tolist() == expected.tolist()
    assert (found.reasons.lower >= 0.95).all()


def test_counts_may_grow():
    """A column that was only 0 and 1 in the background is a number: 3 children, 2 words."""
    fitted, explainer = explained("counts, one-hot and gaps")
    units = {unit.name: unit for unit in explainer.linear_model.units}
    assert units["children"].states is None
    assert units["late"].states is None
    assert units["owner"].is_binary  # by its dtype
    X = CREDIT.head(2).assign(children=[3, 0], late=[7.0, 0.0])
    assert explainer(X).reasons.prediction.tolist() == fitted.predict(X).tolist()
    texts, y = ["good", "bad", "good day", "bad day"] * 5, [1, 0, 1, 0] * 5
    counts = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=10_000)).fit(texts, y)
    found = SufficientReasonExplainer(counts, texts)(["good good good", "day"])
    assert found.reasons.prediction.tolist() == counts.predict(["good good good", "day"]).tolist()
    words = make_pipeline(CountVectorizer(binary=True), LogisticRegression(max_iter=10_000)).fit(
        texts, y
    )
    assert all(unit.is_binary for unit in adapt(words, texts).units)


@pytest.mark.parametrize("law", [lambda X: X, Marginals.fit])
def test_zeros_and_ones_are_as_quick_as_booleans(law: Callable[[Any], Any]):
    """The same answers, by the same tables, whatever the dtype; a number elsewhere changes none."""
    rng = np.random.default_rng(1)
    flags = pd.DataFrame(
        rng.random((60, 30)) < rng.random(30), columns=[f"f{i}" for i in range(30)]
    )
    y = flags.to_numpy() @ rng.normal(size=30) > 0
    fitted = LogisticRegression(max_iter=10_000).fit(flags.astype(float), y)
    binary = SufficientReasonExplainer(fitted, law(flags), prove=False)
    real = SufficientReasonExplainer(fitted, law(flags.astype(float)), prove=False)
    assert all(unit.is_binary for unit in adapt(fitted, flags).units)
    assert not any(unit.states for unit in real.linear_model.units)
    assert real.linear_model.ones(flags.to_numpy() * 1.0) is not None
    one, two = binary(flags), real(flags.astype(float))
    assert np.array_equal(one.reason_mask, two.reason_mask)
    assert np.array_equal(one.reasons.lower, two.reasons.lower)
    mixed = pd.concat([flags.astype(float), flags.astype(float).head(1).assign(f3=2.5)])
    assert np.array_equal(real(mixed)[:60].reason_mask, two.reason_mask)


def test_columns_are_found_as_predict_finds_them():
    """By name behind a ColumnTransformer, which needs no column that it drops; else in order."""
    fitted, explainer = explained("the rest as it is")
    X = CREDIT[CREDIT.columns[::-1]].drop(columns=WORDS).head(3)
    assert explainer(X).reasons.prediction.tolist() == fitted.predict(X).tolist()
    table = pl.DataFrame(X.to_dict("list"))
    assert np.array_equal(explainer(table).reason_mask, explainer(X).reason_mask)
    scaled = make_pipeline(VarianceThreshold(), LogisticRegression(max_iter=10_000)).fit(
        CREDIT[NUMBERS], Y
    )
    with pytest.raises(ValueError, match="in their order, got 'late' as column 0"):
        SufficientReasonExplainer(scaled, CREDIT[NUMBERS])(CREDIT[NUMBERS[::-1]])


@pytest.mark.parametrize("drop", [None, "first"])
@pytest.mark.parametrize("unknown", ["ignore", "error", "infrequent_if_exist"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_gaps_are_categories(kind: str, unknown: str, drop: str | None):
    """None in a frame of pandas, null of polars and of Arrow: a category with a name."""
    gaps = CREDIT[["job", "age"]]
    X: Any = gaps
    if kind != "pandas":
        X = pl.DataFrame({c: gaps[c].tolist() for c in gaps})
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown=unknown, drop=drop), ["job"]), (StandardScaler(), ["age"])
    )
    fitted = make_pipeline(columns, LogisticRegression(max_iter=10_000)).fit(X, Y)
    rows = pa.table({c: gaps[c].tolist() for c in gaps}) if kind == "arrow" else X
    explainer = SufficientReasonExplainer(fitted, rows)
    assert "job: missing" in explainer.linear_model.units[0].labels
    assert explainer(rows).reasons.prediction.tolist() == fitted.predict(X).tolist()


def test_a_pair_takes_the_names_of_a_frame():
    """Coefficients with a frame: its names, and its columns by name from then on."""
    coef, X = [1.0, 2.0, -1.0], CREDIT[NUMBERS].astype(float)
    explainer = SufficientReasonExplainer((coef, -40.0), X)
    assert explainer.linear_model.feature_names == tuple(NUMBERS)
    other = X[NUMBERS[::-1]].assign(more=0)
    for one in (explainer, pickle.loads(pickle.dumps(explainer))):
        assert np.array_equal(one(other).reason_mask, explainer(X).reason_mask)


def test_a_voting_classifier_is_last():
    """What cannot be explained and comes last has no part after it."""
    vote = VotingClassifier([("a", LogisticRegression(max_iter=10_000))]).fit(CREDIT[NUMBERS], Y)
    with pytest.raises(ValueError, match=r"Fit a linear classifier in its place\.$"):
        SufficientReasonExplainer(vote, CREDIT[NUMBERS])


def test_decimals_are_floats():
    """Those of polars, pandas and Arrow alike, as rows and as background, of any classifier."""
    numbers = np.random.default_rng(0).normal(size=(60, 2)).round(2)
    X, y = pd.DataFrame(numbers, columns=["a", "b"]), np.arange(60) % 3
    decimals = pl.DataFrame(
        {name: [Decimal(f"{v:.2f}") for v in X[name]] for name in X}, schema=dict.fromkeys(X, CENTS)
    )
    for estimator, labels in (
        (LogisticRegression(), y > 0),
        (LogisticRegression(), y),
        (OneVsRestClassifier(LogisticRegression()), y > 0),
        (make_pipeline(MinMaxScaler(), LogisticRegression()), y > 0),
    ):
        fitted = estimator.fit(X, labels)
        expected = SufficientReasonExplainer(fitted, X)(X[:5])
        for rows in (decimals, decimals.to_pandas(), decimals.to_arrow()):
            found = SufficientReasonExplainer(fitted, rows)(rows[:5])
            assert found.status.tolist() == ["ok"] * 5
            assert (found.reason_mask == expected.reason_mask).all()
            assert (found.guarantee_lower == expected.guarantee_lower).all()
            assert (found.values == expected.values).all()
    texts = decimals.with_columns(b=pl.lit("none"))
    with pytest.raises(InvalidInputError, match="got the text 'none' in row 0, column 'b'"):
        SufficientReasonExplainer(LogisticRegression().fit(X, y > 0), texts)

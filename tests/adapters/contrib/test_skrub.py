"""skrub's TableVectorizer and tabular_pipeline before a linear classifier."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from sklearn_probsr import SufficientReasonExplainer, adapt
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.contrib.cases import RNG, TABLE, TWO, N, agree, by_force, unseen

pytest.importorskip("skrub", reason="skrub is not installed")
from skrub import GapEncoder, MinHashEncoder, TableVectorizer, tabular_pipeline

# It warns of what it does not know among dates and categories.
pytestmark = pytest.mark.filterwarnings("ignore")


def with_dates(X: pd.DataFrame, *more: Any) -> pd.DataFrame:
    """Return texts, dates of two kinds, durations and booleans; others among them at will."""
    n, days = len(X), pd.Timestamp("2010-01-01") + pd.to_timedelta(np.arange(0, 4000, 40), "D")
    return pd.DataFrame(
        {
            "age": X["age"].to_numpy(),
            "job": X["job"].astype(object).to_numpy(),
            "hired": pd.Series(RNG.choice([*days, *more * 5], n), dtype="datetime64[ns]"),
            "seen": RNG.choice([*days.strftime("%Y/%m/%d"), *more * 5], n).astype(object),
            "note": RNG.choice([f"{w} {i}" for w in ("late", "paid") for i in range(60)], n),
            "away": pd.to_timedelta(RNG.integers(0, 99, n), "D"),
            "owner": RNG.choice([True, False], n),
        }
    )


X = with_dates(TABLE, None)
Y = (TWO == 1) ^ (X["hired"].dt.year > 2017).to_numpy()
ROWS = with_dates(unseen(), None)
ROWS["age"] = ROWS["age"].clip(-1e3, 1e3)
ROWS.loc[::9, "job"] = "N/A"
ROWS.loc[::11, "seen"] = "rubbish"
ROWS.loc[::13, "note"] = "something else"


def test_a_tabular_pipeline():
    """Numbers, dates, texts and categories are one unit each, with gaps and what is new."""
    estimator = tabular_pipeline(LogisticRegression()).fit(X, Y)
    adapted = agree(estimator, ROWS)
    assert [unit.name for unit in adapted.units] == list(X)
    units = {unit.name: unit for unit in adapted.units}
    assert len(units["hired"].columns) > 10
    assert len(units["note"].columns) == 30
    assert units["job"].labels == (
        "job: clerk",
        "job: cook",
        "job: nurse",
        "job: missing, or another category",
    )


def test_reasons_are_those_of_brute_force():
    """The columns of a date are known or unknown together."""
    some = ["age", "job", "hired", "seen"]
    estimator = tabular_pipeline(LogisticRegression()).fit(X[some], Y)
    by_force(estimator, ROWS[some][:25], ROWS[some][30:34])


@pytest.mark.parametrize(
    "vectorizer",
    [
        TableVectorizer(),
        TableVectorizer(high_cardinality=MinHashEncoder(n_components=4)),
        TableVectorizer(
            low_cardinality=TargetEncoder(), specific_transformers=[(StandardScaler(), ["age"])]
        ),
    ],
)
def test_a_vectorizer_with_other_steps(vectorizer: Any):
    """Encoders of scikit-learn's and its own."""
    steps = vectorizer, SimpleImputer(), StandardScaler(), LogisticRegression()
    adapted = agree(make_pipeline(*steps).fit(X, Y), ROWS)
    assert len(adapted.units[1].labels) >= 4


def test_dates_are_told_as_dates():
    """Also where all columns are dates."""
    dates = X[["hired"]].dropna()
    estimator = tabular_pipeline(LogisticRegression()).fit(dates, dates["hired"].dt.year > 2015)
    explainer = SufficientReasonExplainer(estimator, dates)
    row = pd.DataFrame({"hired": [pd.Timestamp("2019-05-06")]})
    assert explainer.explain_frame(row)["reason_values"][0] == ["2019-05-06"]
    assert "given hired = 2019-05-06 (1 of 1 feature;" in explainer(row).describe(0)


def test_numbers_only_rise():
    """A number stays one, up to 32 bits, so that rules can say from where on."""
    adapted = adapt(
        tabular_pipeline(LogisticRegression()).fit(X[["age"]].dropna(), Y[X["age"].notna()])
    )
    assert adapted.is_monotone(0)


def test_categories_of_a_boosted_model():
    """What its classifier makes of categories defines their states."""
    boosted = HistGradientBoostingClassifier(
        interaction_cst="no_interactions", categorical_features="from_dtype", max_iter=20
    )
    some = ["age", "job", "hired"]
    adapted = agree(tabular_pipeline(boosted).fit(X[some], TWO), ROWS[some])
    assert any("missing, or another category" in label for label in adapted.units[1].labels)


AFTER = (
    " Or explain what comes after it: pipeline[1:], over rows as pipeline[:1].transform gives them."
)


def test_what_cannot_be_followed_is_refused():
    """An encoder whose numbers are found by iteration; frames of polars."""
    vectorizer = TableVectorizer(high_cardinality=GapEncoder(max_iter=1, n_components=2))
    steps = vectorizer, SimpleImputer(), LogisticRegression()
    message = (
        "TableVectorizer encodes 'note' by GapEncoder, which is not followed. Fit it with "
        "OneHotEncoder or StringEncoder in its place."
    )
    estimator = make_pipeline(*steps).fit(X[["age", "note"]], Y)
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message + AFTER)}$"):
        adapt(estimator)
    estimator[0]._preprocessors[0].module_name_ = "polars"
    message = (
        "TableVectorizer must be fitted on a pandas frame, got one that was fitted on a polars "
        "frame."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message + AFTER)}$"):
        adapt(estimator)
    assert len(X) == N

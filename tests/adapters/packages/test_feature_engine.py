"""Steps of feature-engine before a linear classifier."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import adapt
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.packages.cases import RNG, TABLE, THREE, TWO, agree, by_force, unseen

pytest.importorskip("feature_engine", reason="feature-engine is not installed")
from feature_engine import discretisation, encoding, imputation, outliers, selection, transformation
from feature_engine.pipeline import Pipeline

# What its encoders make of unknown categories, they warn of.
pytestmark = pytest.mark.filterwarnings("ignore")


def texts(X: pd.DataFrame) -> pd.DataFrame:
    """Return texts for categories."""
    return X.assign(job=X["job"].astype(object), zone="z" + X["zone"].astype(str))


X, ROWS = texts(TABLE), texts(unseen())
FULL = X.fillna({"age": 45.0})
KNOWN = ROWS.fillna({"age": 45.0, "balance": 0.0, "job": "poet"})


def pipeline(*steps: Any, X: pd.DataFrame = FULL, y: Any = TWO) -> Any:
    return make_pipeline(*steps, LogisticRegression(max_iter=2_000)).fit(X, y)


DISCRETISERS = {
    "frequency": discretisation.EqualFrequencyDiscretiser(q=4, variables=["age"]),
    "width": discretisation.EqualWidthDiscretiser(bins=4, variables=["age"]),
    "geometric": discretisation.GeometricWidthDiscretiser(bins=3, variables=["age"]),
    "tree": discretisation.DecisionTreeDiscretiser(
        variables=["age"], regression=False, scoring="accuracy", param_grid={"max_depth": [3]}
    ),
    "numbers of bins": discretisation.DecisionTreeDiscretiser(
        bin_output="bin_number", variables=["age"], regression=False, scoring="accuracy"
    ),
    "texts": discretisation.EqualFrequencyDiscretiser(
        q=3, variables=["age"], return_boundaries=True
    ),
}


@pytest.mark.parametrize("name", DISCRETISERS)
def test_bins(name: str):
    """They are closed on the right; what is just behind a cut is in the next one."""
    estimator = pipeline(DISCRETISERS[name], encoding.OneHotEncoder())
    step = estimator[0]
    bins = step.binner_dict_["age"]
    if hasattr(bins, "best_estimator_"):
        tree = bins.best_estimator_.tree_
        bins = tree.threshold[tree.feature >= 0]
    near = [w for c in bins if np.isfinite(c) for w in (c, np.nextafter(c, 1e9), np.float32(c))]
    ages = RNG.choice(np.array([*near, *KNOWN["age"]], dtype=float), len(KNOWN))
    adapted = agree(estimator, KNOWN.assign(age=ages))
    labels = adapted.units[0].labels
    assert any(label.startswith("age ≤ ") for label in labels)
    assert any(label.startswith(("age > ", "age ≥ ")) for label in labels)
    assert len(adapted.units[3].labels) == 4  # three zones, and others


def test_bins_at_both_ends():
    """What is outside is no state, and refused."""
    step = discretisation.ArbitraryDiscretiser({"age": [0, 40, 50, 100]})
    estimator = pipeline(step, encoding.OneHotEncoder())
    age = adapt(estimator, FULL).units[0]
    assert age.labels == ("age in [0, 40]", "age in (40, 50]", "age in (50, 100]")


ENCODERS = {
    "ordinal": encoding.OrdinalEncoder(unseen="encode"),
    "mean": encoding.MeanEncoder(unseen="encode"),
    "count": encoding.CountFrequencyEncoder(unseen="encode"),
    "tree": encoding.DecisionTreeEncoder(
        regression=False, scoring="accuracy", unseen="encode", fill_value=0.3
    ),
    "one hot": encoding.OneHotEncoder(),
    "top categories": encoding.OneHotEncoder(top_categories=2),
    "all but the last": encoding.OneHotEncoder(drop_last=True),
    "rare": make_pipeline(
        encoding.RareLabelEncoder(tol=0.33, n_categories=2), encoding.OneHotEncoder()
    ),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders(name: str):
    """Of all columns of texts; unknown categories are states, missing ones refused."""
    adapted = agree(pipeline(ENCODERS[name], StandardScaler()), KNOWN)
    age, job, balance, zone = adapted.units
    assert not age.labels
    assert not balance.labels
    for unit in (job, zone):
        assert any("another category" in label for label in unit.labels)
        assert not any("missing" in label for label in unit.labels)


def test_weight_of_evidence():
    """It refuses unknown categories, which are no states then."""
    job = adapt(pipeline(encoding.WoEEncoder()), FULL).units[1]
    assert sorted(label.removeprefix("job: ") for label in job.labels) == ["clerk", "cook", "nurse"]


IMPUTERS = {
    "median": [imputation.MeanMedianImputer(), imputation.CategoricalImputer()],
    "tail": [imputation.EndTailImputer(), imputation.CategoricalImputer(fill_value="none")],
    "number": [
        imputation.ArbitraryNumberImputer(arbitrary_number=-9),
        imputation.CategoricalImputer(imputation_method="frequent"),
    ],
    "indicator": [
        imputation.AddMissingIndicator(),
        imputation.MeanMedianImputer(),
        imputation.CategoricalImputer(),
    ],
}


@pytest.mark.parametrize("name", IMPUTERS)
def test_missing_values(name: str):
    """They are in the state of what stands for them, or in one of their own."""
    gaps = X.assign(job=X["job"].mask(np.arange(len(X)) % 5 == 0))
    gaps.loc[::9, "balance"] = np.nan
    adapted = agree(pipeline(*IMPUTERS[name], encoding.OneHotEncoder(), X=gaps), ROWS)
    assert any("missing" in label for label in adapted.units[1].labels)
    binned = discretisation.EqualFrequencyDiscretiser(q=3, variables=["age"])
    adapted = agree(pipeline(*IMPUTERS[name], binned, encoding.OrdinalEncoder(unseen="encode"),
                             X=gaps, y=THREE), ROWS)  # fmt: skip
    assert any("missing" in label for label in adapted.units[0].labels)


def test_reasons_are_those_of_brute_force():
    """Of bins, categories and numbers side by side."""
    binned = discretisation.EqualFrequencyDiscretiser(q=4, variables=["age"])
    by_force(pipeline(binned, encoding.MeanEncoder(unseen="encode")), KNOWN[:25], KNOWN[30:34])
    by_force(
        pipeline(*IMPUTERS["indicator"], encoding.OneHotEncoder(), X=X), ROWS[:25], ROWS[30:34]
    )


def test_what_else_works_column_by_column():
    """Curves are real-valued units, what is dropped leaves the model, its own Pipeline too."""
    numbers = FULL[["age", "balance"]].assign(age=FULL["age"].clip(1, 1e3))
    for step in (
        transformation.LogTransformer(variables=["age"]),
        transformation.LogCpTransformer(C=10),
        transformation.YeoJohnsonTransformer(),
        transformation.ArcSinhTransformer(),
        transformation.PowerTransformer(variables=["age"]),
        transformation.ReciprocalTransformer(variables=["age"]),
        transformation.BoxCoxTransformer(variables=["age"]),
        outliers.Winsorizer(),
        outliers.ArbitraryOutlierCapper(max_capping_dict={"age": 60}),
    ):
        agree(pipeline(step, X=numbers), numbers)
    dropped = pipeline(selection.DropFeatures(["job"]), encoding.OneHotEncoder())
    assert [unit.name for unit in agree(dropped, KNOWN).units] == ["age", "balance", "zone"]
    steps = [("encode", encoding.OneHotEncoder()), ("decide", LogisticRegression())]
    agree(Pipeline(steps).fit(FULL, TWO), KNOWN)


AFTER = (
    " Or explain what comes after it: pipeline[1:], over rows as pipeline[:1].transform gives them."
)


def test_what_cannot_be_followed_is_refused():
    """It says which step, why, and which part can be explained."""
    numbers = FULL[["age", "balance"]]
    told = {
        imputation.RandomSampleImputer: "it fills in values at random",
        imputation.DropMissingData: "it drops rows",
    }
    for kind, why in told.items():
        opening = rf"^{kind.__name__} is not a transformer that can be adapted: {why}\. "
        with pytest.raises(InvalidInputError, match=opening + ".*" + re.escape(AFTER) + "$"):
            adapt(pipeline(kind(), X=numbers))
    message = (
        "Winsorizer must have add_indicators=False, got True: the columns that it adds are not "
        "followed. Fit it without."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message + AFTER)}$"):
        adapt(pipeline(outliers.Winsorizer(add_indicators=True), X=numbers))

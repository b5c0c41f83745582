"""Pipelines over real data: equal to `predict` on every row and on 1,000 recombined rows."""

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.svm import SVC, LinearSVC

from sklearn_probsr import Unit, adapt, to_linear_model
from sklearn_probsr.extend import Adapted
from sklearn_probsr.model.numbers import exact_text
from tests.adapters.cases import quietly


def data(name: str) -> tuple[Any, Any]:
    """Return raw rows and two classes."""
    if name == "cancer":
        return load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = (load_wine if name == "wine" else load_digits)(return_X_y=True)
    two = y < 2
    return X[two], y[two]


def recombined(X: Any, n: int = 1_000) -> Any:
    """Return rows whose columns come from different rows."""
    rng = np.random.default_rng(0)
    if isinstance(X, pd.DataFrame):
        columns = [
            X.iloc[rng.integers(0, len(X), n), [i]].reset_index(drop=True)
            for i in range(X.shape[1])
        ]
        return pd.concat(columns, axis=1)
    return np.column_stack([X[rng.integers(0, len(X), n), i] for i in range(X.shape[1])])


def agree(estimator: Any, X: Any) -> Adapted:
    """Compare an adapted pipeline with `predict` and `decision_function`, and return it."""
    adapted = adapt(estimator, X)
    for rows in (X, recombined(X)):
        with quietly():  # unknown categories
            expected = estimator.predict(rows)
            assert (adapted.predict(rows) == expected).all()
            contributions = adapted.contributions(rows)
        assert contributions.shape == (len(expected), len(adapted.units))
        if hasattr(estimator, "decision_function"):
            with quietly():
                scores = estimator.decision_function(rows)
            # A moved threshold moves all scores alike.
            moved = contributions.sum(axis=1) - adapted.model.threshold - scores
            np.testing.assert_allclose(moved, moved[0], rtol=1e-6, atol=1e-6)
            assert abs(moved[0]) < 1e-6 or "FixedThreshold" in str(estimator)
    return adapted


def bins(**options: Any) -> KBinsDiscretizer:
    return KBinsDiscretizer(**{"n_bins": 4, "strategy": "uniform", **options})


STEPS: dict[str, list[Any]] = {
    "StandardScaler": [StandardScaler()],
    "StandardScaler, no mean": [StandardScaler(with_mean=False)],
    "RobustScaler": [RobustScaler(), StandardScaler(with_std=False)],
    "RobustScaler, centred only": [RobustScaler(with_scaling=False), MaxAbsScaler()],
    "MinMaxScaler": [MinMaxScaler((-1, 2))],
    "MinMaxScaler, in place": [MinMaxScaler(copy=False), bins()],
    "MinMaxScaler, clipped": [MinMaxScaler(clip=True)],
    "selectors": [
        StandardScaler(),
        VarianceThreshold(),
        SelectKBest(k=5),
        SelectPercentile(percentile=60),
    ],
    "more selectors": [
        StandardScaler(),
        RFE(LogisticRegression(), n_features_to_select=6, step=5),
        SelectFromModel(LogisticRegression(), max_features=4, threshold=-np.inf),
    ],
    "PCA": [StandardScaler(), PCA(5, random_state=0)],
    "PCA, white": [StandardScaler(), PCA(5, whiten=True, random_state=0)],
    "IncrementalPCA": [StandardScaler(), IncrementalPCA(4)],
    "TruncatedSVD": [MinMaxScaler(), TruncatedSVD(4, random_state=0)],
    "FactorAnalysis": [StandardScaler(), FactorAnalysis(3, random_state=0)],
    "FastICA": [StandardScaler(), FastICA(4, random_state=0, whiten="unit-variance")],
    "projections": [
        StandardScaler(),
        GaussianRandomProjection(6, random_state=0),
        SparseRandomProjection(4, random_state=0),
    ],
    "identity": ["passthrough", FunctionTransformer(), StandardScaler()],
    "logarithm": [FunctionTransformer(np.log1p), StandardScaler()],
    "curves": [PowerTransformer()],
    "quantiles": [QuantileTransformer(n_quantiles=20)],
    "splines": [SplineTransformer(n_knots=4)],
    "Binarizer": [StandardScaler(), Binarizer()],
    "bins, one-hot": [bins()],
    "bins, dense": [bins(encode="onehot-dense")],
    "bins, ordinal": [bins(encode="ordinal"), StandardScaler()],
    "bins of bins": [bins(encode="ordinal"), OneHotEncoder(drop="first", handle_unknown="ignore")],
    "bins, projected": [bins(encode="onehot-dense"), PCA(6, random_state=0)],
    "bins, selected": [bins(), SelectKBest(k=12)],
    "two resolutions": [
        make_union(bins(), bins(n_bins=3, encode="ordinal"), Binarizer(threshold=10))
    ],
    "bins and numbers": [
        FeatureUnion([("b", bins()), ("n", StandardScaler())], transformer_weights={"n": 0.5})
    ],
    "nested": [
        make_pipeline(make_pipeline(StandardScaler(), "passthrough"), PCA(4, random_state=0))
    ],
    "frozen": [FrozenEstimator(StandardScaler())],
}


DIGITS = ("StandardScaler", "PCA", "Binarizer", "bins, one-hot", "selectors")
CASES = [(steps, name) for i, steps in enumerate(STEPS) for name in ("cancer", "wine")[i % 2 :]]


@pytest.mark.parametrize(("steps", "name"), [*CASES, *((steps, "digits") for steps in DIGITS)])
def test_steps_over_real_data(steps: str, name: str):
    """Scalers, selectors, projections, bins and curves before a logistic regression."""
    X, y = data(name)
    with quietly():
        parts = STEPS[steps]
        if steps == "frozen":
            parts = [FrozenEstimator(StandardScaler().fit(X))]
        estimator = make_pipeline(*parts, LogisticRegression(max_iter=100)).fit(X, y)
    adapted = agree(estimator, X)
    assert {unit.name for unit in adapted.units} <= set(adapted.feature_names)


@pytest.mark.parametrize(
    "classifier",
    [
        LinearSVC(random_state=0),
        RidgeClassifier(),
        LinearDiscriminantAnalysis(),
        SVC(kernel="linear"),
        FixedThresholdClassifier(LogisticRegression(), threshold=0.8),
        MultinomialNB(),
        BernoulliNB(binarize=0.4),
    ],
)
@pytest.mark.parametrize("name", ["cancer", "wine", "digits"])
def test_classifiers_over_real_data(classifier: Any, name: str):
    """Other classifiers after a scaler."""
    X, y = data(name)
    with quietly():
        estimator = make_pipeline(MinMaxScaler(), classifier).fit(X, y)
    agree(estimator, X) if name != "digits" else adapt(estimator, X)


# --- A mixed frame: numbers, categories, text and missing values ------------------------------


def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    """Return 300 rows of a frame such as people have."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.lognormal(8, 1, n),
            "job": rng.choice(
                ["admin", "nurse", "clerk", "pilot", "baker"], n, p=[0.4, 0.3, 0.2, 0.06, 0.04]
            ),
            "size": rng.choice([1, 2, 3], n),
            "member": rng.integers(0, 2, n),
            "note": rng.choice(["good price", "bad price", "good service", "slow", ""], n),
        }
    )
    score = (
        (frame["age"] > 40) * 1.5 + (frame["job"] == "nurse") + frame["note"].str.contains("good")
    )
    y = np.where(score + rng.normal(size=n) > 1.8, "buys", "leaves")
    frame["job"] = frame["job"].astype(object)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = np.nan
    return frame, y


def categories() -> dict[str, Any]:
    return {
        "plain": OneHotEncoder(),
        "dropped": OneHotEncoder(drop="first"),
        "dropped one": OneHotEncoder(drop=["clerk"]),
        "unknown ignored": OneHotEncoder(handle_unknown="ignore"),
        "both": OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False),
        "infrequent": OneHotEncoder(min_frequency=0.15, handle_unknown="infrequent_if_exist"),
        "infrequent dropped": OneHotEncoder(
            max_categories=3, drop="first", handle_unknown="ignore"
        ),
        "filled in": make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
        "filled in by a word": make_pipeline(
            SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder()
        ),
        "ordinal": OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        ),
        "ordinal, then one-hot": make_pipeline(
            OrdinalEncoder(encoded_missing_value=9), OneHotEncoder(handle_unknown="ignore")
        ),
        "target": TargetEncoder(random_state=0, cv=2),
    }


@pytest.mark.parametrize("encoder", categories())
def test_a_mixed_frame(encoder: str):
    """Numbers, categories, text and missing values in one pipeline."""
    X, y = mixed()
    number = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    blocks = make_column_transformer(
        (number, ["age", "income"]),
        (categories()[encoder], ["job"]),
        (OneHotEncoder(drop="if_binary"), ["size", "member"]),
        (CountVectorizer(binary=True), "note"),
    )
    with quietly():
        estimator = make_pipeline(blocks, LogisticRegression(max_iter=100)).fit(X, y)
    adapted = agree(estimator, X)
    names = [unit.name for unit in adapted.units]
    words = ["note: bad", "note: good", "note: price", "note: service", "note: slow"]
    assert names == ["age", "income", "job", "size", "member", *words]
    unit = {unit.name: unit for unit in adapted.units}
    assert unit["age"].states is None
    assert len(unit["age"].columns) == 2
    assert unit["note: good"].labels == ('note: no "good"', 'note: "good"')
    assert unit["size"].labels == ("size: 1", "size: 2", "size: 3")
    assert not any("=" in label for each in adapted.units for label in each.labels)
    assert pickle.loads(pickle.dumps(adapted)).predict(X).tolist() == adapted.predict(X).tolist()


ALL = ("job: admin", "job: baker", "job: clerk", "job: nurse", "job: pilot")
JOBS = {
    "plain": (*ALL, "job: missing"),
    "dropped": (*ALL, "job: missing"),
    "dropped one": (*ALL, "job: missing"),
    "unknown ignored": (*ALL, "job: missing", "job: another category"),
    "both": ("job: admin, or another category", *ALL[1:], "job: missing"),
    "infrequent": (
        "job: admin",
        "job: baker or pilot, or missing, or another category",
        "job: clerk",
        "job: nurse",
    ),
    "filled in": ("job: admin, or missing", *ALL[1:]),
    "ordinal": ("job: missing", "job: another category", *ALL),
}


@pytest.mark.parametrize("encoder", JOBS)
def test_categories_are_states(encoder: str):
    """Dropped, infrequent, unknown and missing categories are states that have a name."""
    X, y = mixed()
    estimator = make_pipeline(
        ColumnTransformer([("job", categories()[encoder], ["job"])]), LogisticRegression()
    )
    with quietly():
        estimator.fit(X, y)
    adapted = agree(estimator, X)
    assert adapted.units[0].labels == JOBS[encoder]
    assert to_linear_model(estimator) == adapted.model
    strange = X.head(1).assign(job="astronaut")
    if "another category" in " ".join(JOBS[encoder]):
        with quietly():
            assert adapted.predict(strange) == estimator.predict(strange)
            assert "another category" in adapted.describe(strange).iat[0, 0]


def test_numbers_with_missing_values():
    """A missing value belongs to the bin of what fills it in, or is a state of its own."""
    X, y = mixed()
    binned = make_pipeline(SimpleImputer(strategy="constant", fill_value=30), bins(n_bins=3))
    blocks = make_column_transformer((binned, ["age"]), (MissingIndicator(), ["age"]))
    estimator = make_pipeline(blocks, LogisticRegression()).fit(X, y)
    adapted = agree(estimator, X)
    assert adapted.units[0].labels == (
        "age < 38.33333333333333",
        "age in [38.33333333333333, 58.666666666666664)",
        "age ≥ 58.666666666666664",
        "age is missing",
    )
    only = make_pipeline(
        make_column_transformer((MissingIndicator(), ["age"])), LogisticRegression()
    ).fit(X, y)
    assert agree(only, X).units[0].labels == ("age is known", "age is missing")
    filled = make_pipeline(make_column_transformer((binned, ["age"])), LogisticRegression()).fit(
        X, y
    )
    assert agree(filled, X).units[0].labels[0] == "age < 38.33333333333333, or missing"


def test_a_marker_for_missing_values():
    """A number that stands for a missing one is called missing."""
    X = np.array([[-1.0, 3.0], [2.0, 5.0], [4.0, 1.0], [-1.0, 2.0]])
    step = make_pipeline(SimpleImputer(missing_values=-1), Binarizer(threshold=2.5))
    flagged = make_union(step, MissingIndicator(missing_values=-1))
    y = [0, 1, 1, 0]
    adapted = adapt(make_pipeline(step, LogisticRegression()).fit(X, y), X)
    assert adapted.units[0].labels == ("x0 ≤ 2.5", "x0 > 2.5, or missing")
    adapted = adapt(make_pipeline(flagged, LogisticRegression()).fit(X, y), X)
    assert adapted.units[0].labels == ("x0 ≤ 2.5", "x0 > 2.5", "x0 is missing")


def test_words_are_features():
    """Texts alone: each word is a binary feature, or a count."""
    texts = ["good price", "bad", "good good service", "bad price", "slow", "good"]
    y = [1, 0, 1, 0, 0, 1]
    for classifier in (LogisticRegression(), BernoulliNB(), MultinomialNB()):
        estimator = make_pipeline(CountVectorizer(binary=True), classifier).fit(texts, y)
        adapted = adapt(estimator, texts)
        assert (adapted.predict(texts) == estimator.predict(texts)).all()
        assert adapted.units[1] == Unit.binary("good", 1, ('no "good"', '"good"'))
        assert adapted.model.binary_core is not None
        assert adapted.describe(pd.Series(["bad"], index=["b"])).loc["b", "good"] == 'no "good"'
    counts = make_pipeline(CountVectorizer(), TfidfTransformer(norm=None), LogisticRegression())
    adapted = adapt(counts.fit(texts, y), texts)
    assert adapted.units[1] == Unit("good", (1,), labels=('no "good"', '"good"'))
    assert adapted.describe(["good good"]).loc[0, "good"] == '"good" (twice)'
    assert adapted.describe(["good good"]).loc[0, "bad"] == 'no "bad"'
    seen = make_pipeline(CountVectorizer(), BernoulliNB()).fit(texts, y)
    adapted = adapt(seen, texts)
    assert adapted.units[1].labels == ('no "good"', '"good"')
    assert (adapted.predict(texts) == seen.predict(texts)).all()


def test_words_beside_numbers_under_naive_bayes():
    """0/1 words stay as they are where numbers are binarized."""
    X, y = mixed()
    blocks = make_column_transformer(
        ("passthrough", ["income"]), (CountVectorizer(binary=True), "note"), ("drop", ["age"])
    )
    estimator = make_pipeline(blocks, BernoulliNB(binarize=0.5)).fit(X, y)
    adapted = agree(estimator, X)
    assert adapted.units[0].labels == ("income ≤ 0.5", "income > 0.5")
    assert adapted.units[1].name == "note: bad"


def test_labels_keep_their_characters():
    """Names and categories are written as the user did, equals signs and all."""
    X = pd.DataFrame({"a=b": [0.0, 1.0, 2.0, 3.0], "c": ["500 <= ... < 1000 DM", "y"] * 2})
    X["n"] = [1.0, np.nan, 2.0, 1.0]
    blocks = make_column_transformer((Binarizer(), ["a=b"]), (OneHotEncoder(), ["c", "n"]))
    estimator = make_pipeline(blocks, LogisticRegression()).fit(X, [0, 0, 1, 1])
    units = adapt(estimator, X).units
    assert units[0].name == "a=b"
    assert units[0].labels == ("a=b ≤ 0", "a=b > 0")
    assert units[1].labels == ("c: 500 <= ... < 1000 DM", "c: y")
    assert units[2].labels == ("n: 1", "n: 2", "n: missing")


def test_a_bin_says_what_is_so():
    """Of a number between a cut and its rounding, the label is true: all digits are printed."""
    X = pd.DataFrame({"radius": [9.0, 14.0168, 14.018, 19.0336]})
    estimator = make_pipeline(KBinsDiscretizer(2, strategy="uniform"), LogisticRegression()).fit(
        X, [0, 0, 1, 1]
    )
    adapted = adapt(estimator, X)
    assert adapted.units[0].labels == ("radius < 14.0168", "radius ≥ 14.0168")
    assert adapted.describe(X.iloc[[2]]).iat[0, 0] == "radius ≥ 14.0168"


def test_columns_by_every_kind_of_key():
    """Names, numbers, slices, masks and selectors; a remainder, dropped or passed on."""
    X, y = data("cancer")
    keys: list[Any] = [
        ["mean area", "mean radius"],
        [3, 0],
        slice(1, 4),
        np.arange(30) < 3,
        make_column_selector(pattern="mean"),
        lambda frame: ["worst area"],
    ]
    for key in keys:
        for remainder in ("drop", "passthrough", StandardScaler()):
            blocks = ColumnTransformer(
                [("s", StandardScaler(), key), ("none", Binarizer(), [])], remainder=remainder
            )
            with quietly():
                estimator = make_pipeline(blocks, RidgeClassifier()).fit(X, y)
            adapted = adapt(estimator, X)
            assert (adapted.predict(X) == estimator.predict(X)).all()
            if remainder != "drop":
                assert [unit.name for unit in adapted.units] == list(X.columns)


def test_a_column_that_is_binned_and_passed_on_is_one_unit():
    """The raw column is known or unknown as a whole."""
    X, y = data("cancer")
    X = X[["mean radius", "mean area"]]
    both = make_union("passthrough", bins())
    adapted = agree(make_pipeline(both, RidgeClassifier()).fit(X, y), X)
    assert [len(unit.columns) for unit in adapted.units] == [5, 5]
    assert all(unit.states is None for unit in adapted.units)


def test_thermometer_of_one_number():
    """Several thresholds on one column are one unit with as many states as can occur."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (80, 1)).astype(float), rng.integers(0, 2, 80)
    steps = make_union(Binarizer(threshold=1), Binarizer(threshold=3))
    adapted = agree(make_pipeline(steps, LogisticRegression()).fit(X, y), X)
    assert adapted.units[0].states == ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
    assert adapted.units[0].labels == ("x0 ≤ 1", "x0 in (1, 3]", "x0 > 3")


def test_binary_columns_stay_binary():
    """0/1 columns that are scaled, selected or projected are binary where no rows are given."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 6)).astype(float), rng.integers(0, 2, 200)
    estimator = make_pipeline(StandardScaler(), PCA(3, random_state=0), LogisticRegression()).fit(
        X, y
    )
    vertices = ((np.arange(64)[:, None] >> np.arange(6)) & 1).astype(float)
    assert to_linear_model(estimator).units is None
    assert (to_linear_model(estimator).predict(vertices) == estimator.predict(vertices)).all()
    assert adapt(estimator, X.astype(bool)).model == to_linear_model(estimator)
    for sample in (None, X):  # other rows may have other numbers
        assert adapt(estimator, sample).units[0] == Unit.real("x0", 0)
    named = to_linear_model(estimator, feature_names=list("abcdef"))
    assert named.feature_names == tuple("abcdef")


def test_rows_of_any_type():
    """Frames, arrays, lists and sparse rows are the same rows; index and dtypes stay."""
    X, y = data("cancer")
    estimator = make_pipeline(bins(), LogisticRegression(max_iter=100)).fit(X, y)
    adapted = adapt(estimator, X)
    expected = adapted.transform(X)
    for rows in (X.to_numpy(), X.to_numpy().tolist(), X.astype(object)):
        assert (adapted.transform(rows) == expected).all()
    digits, y = data("digits")
    scaled = make_pipeline(MaxAbsScaler(), LogisticRegression()).fit(sparse.csr_matrix(digits), y)
    for rows in (sparse.csr_matrix(digits), sparse.csr_array(digits), digits):
        assert (adapt(scaled, rows).transform(rows) == digits).all()
    frame = X.tail(2)
    assert adapted.describe(frame).index.tolist() == frame.index.tolist()
    assert adapted.display(frame)["mean radius"].tolist() == frame["mean radius"].tolist()


def test_pandas_output_between_steps():
    """set_output changes the type of what steps hand on, not what they compute."""
    X, y = mixed()
    blocks = make_column_transformer(
        (make_pipeline(SimpleImputer(), bins(encode="ordinal")), ["age", "income"]),
        (OneHotEncoder(sparse_output=False), ["job"]),
    )
    estimator = make_pipeline(blocks, StandardScaler(), LogisticRegression())
    estimator.set_output(transform="pandas").fit(X, y)
    agree(estimator, X)


def test_a_search_around_a_pipeline():
    """Wrappers around pipelines, and pipelines inside wrappers."""
    X, y = data("cancer")
    pipeline = Pipeline([("s", StandardScaler()), ("c", LogisticRegression(max_iter=100))])
    search = GridSearchCV(pipeline, {"c__C": [0.1, 1.0]}, cv=2).fit(X, y)
    agree(search, X)
    agree(FixedThresholdClassifier(search, threshold=0.9), X)


def test_bins_that_were_empty_are_refused():
    """What the pipeline refuses is no state, and the labels leave it out."""
    X, y = np.array([[0.0], [1.0], [9.0], [10.0]]), [0, 0, 1, 1]
    estimator = make_pipeline(
        bins(n_bins=3, encode="ordinal"), OneHotEncoder(), LogisticRegression()
    ).fit(X, y)
    unit = adapt(estimator, X).units[0]
    assert unit.labels == ("x0 < 3.3333333333333335", "x0 ≥ 6.666666666666667")


def test_codes_of_categories():
    """Bins, then a naive Bayes of their codes."""
    X, y = data("wine")
    estimator = make_pipeline(bins(encode="ordinal"), CategoricalNB(min_categories=4)).fit(X, y)
    adapted = agree(estimator, X)
    assert len(adapted.units) == 13
    assert all(len(unit.states) == 4 for unit in adapted.units)
    assert "in [" in adapted.units[0].labels[1]


def test_missing_numbers_are_described():
    """A real-valued unit is described by its raw value, or as missing."""
    X, y = mixed()
    estimator = make_pipeline(
        make_column_transformer((SimpleImputer(), ["age"])), LogisticRegression()
    ).fit(X, y)
    adapted = adapt(estimator, X)
    row = X[X["age"].isna()].head(1)
    assert adapted.describe(row).iat[0, 0] == "age is missing"
    assert adapted.describe(X[X["age"] == 40].head(1)).iat[0, 0] == "age: 40"


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()])
def test_cuts_behind_a_scaler_are_those_of_the_data(scaler: Any):
    """They are told as the raw column has them, and true of every number in it."""
    rng = np.random.default_rng(4)
    ages = rng.integers(200, 900, 121) / 10
    X = pd.DataFrame({"age": ages, "pay": rng.normal(3e3, 7e2, 121).round(2)})
    bins = KBinsDiscretizer(4, encode="ordinal")  # quartiles of 121 numbers are among them
    with quietly():
        estimator = make_pipeline(scaler, bins, LogisticRegression()).fit(X, ages > 40)
        adapted = adapt(estimator, X)
    near = np.unique([np.nextafter(ages, 0), ages, np.nextafter(ages, 1e3)])
    rows = pd.DataFrame({"age": near, "pay": 3e3})
    levels, scaler = estimator[:-1].transform(rows)[:, 0], estimator[0]
    for label, level in zip(adapted.units[0].labels, sorted(set(levels)), strict=True):
        low, high = near[levels == level][[0, -1]]
        told = re.fullmatch(r"age (?:< (.+)|in \[(.+), (.+)\)|≥ (.+))", label)
        cuts = [float(number) for number in told.groups() if number]
        if not label.startswith("age <"):
            # The smallest number of the bin is the cut, or alike to the scaler.
            ends = pd.DataFrame({"age": [cuts[0], low], "pay": 0.0})
            assert len(set(scaler.transform(ends)[:, 0])) == 1
            assert len(exact_text(cuts[0])) <= 5
        assert label.startswith("age ≥") or high < cuts[-1]


def test_a_raw_column_that_leaves_the_model_still_reaches_its_steps():
    """They may refuse what stands for nothing in it, as this encoder does unknown categories."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"job": rng.choice(["a", "b", "c"], 200), "zone": rng.choice(["u", "v"], 200)})
    y = (X["job"] == "a") ^ (rng.random(200) < 0.1)
    steps = OneHotEncoder(), SelectKBest(k=2), LogisticRegression()
    adapted = adapt(make_pipeline(*steps).fit(X, y), X)
    assert [unit.name for unit in adapted.units] == ["job"]
    assert adapted.tried(0, ["a", "b"]).tolist() != adapted.tried(0, ["b", "b"]).tolist()

"""scikit-learn's additive classifiers, on 1,000 rows with what they never saw."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from sklearn_probsr import SufficientReasonExplainer, adapt
from sklearn_probsr.adapters.trees import float32_cuts
from sklearn_probsr.exceptions import InvalidInputError

RNG = np.random.default_rng(0)
N = 300


def table() -> pd.DataFrame:
    """Return numbers with gaps, few of them, and two columns of categories."""
    X = pd.DataFrame(
        {
            "age": RNG.normal(50, 10, N).round(1),
            "job": pd.Categorical(RNG.choice(["clerk", "nurse", "cook"], N)),
            "kids": RNG.integers(0, 5, N).astype(float),
            "zone": pd.Categorical(RNG.choice([10, 20, 30], N)),
        }
    )
    X.loc[::7, "age"] = np.nan
    X.loc[::11, "job"] = np.nan
    return X


TABLE = table()
SCORE = (TABLE["age"].fillna(45) - 50) / 10 + (TABLE["job"] == "nurse") + (TABLE["zone"] == 20)
TWO = np.where(SCORE + RNG.normal(size=N) / 3 > 0.5, "yes", "no")
THREE = np.digitize(SCORE + RNG.normal(size=N) / 3, [0.0, 1.0])
NUMBERS = TABLE[["age", "kids"]].fillna(40.0).to_numpy()


def unseen(n: int = 1_000) -> pd.DataFrame:
    """Return rows with other numbers, gaps and categories than were seen."""
    ages = [*TABLE["age"], 1e9, -1e9, 50.05]
    return pd.DataFrame(
        {
            "age": RNG.choice(ages, n),
            "job": pd.Categorical(RNG.choice(["clerk", "nurse", "cook", "poet", None], n)),
            "kids": RNG.choice([*range(9), np.nan, 2.5], n),
            "zone": pd.Categorical(RNG.choice([10, 20, 30, 40], n)),
        }
    )


def agree(estimator: Any, X: Any) -> Any:
    """Return the model of an estimator that says the same on all rows."""
    adapted = adapt(estimator, X, all_classes=True)
    assert (adapted.predict(X) == estimator.predict(X)).all()
    return adapted


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Any:
    """Let small trees not wait for threads."""
    with threadpool_limits(1):
        yield


SMALL: dict[str, Any] = {"max_iter": 8, "min_samples_leaf": 5, "learning_rate": 0.4}


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "options", [{"interaction_cst": "no_interactions"}, {"max_depth": 1}], ids=["free", "stumps"]
)
def test_histograms_with_gaps_and_categories(y: Any, options: dict[str, Any]):
    """Missing values go where they went, an unknown category goes with them."""
    estimator = HistGradientBoostingClassifier(**SMALL, **options).fit(TABLE, y)
    rows = unseen()
    adapted = agree(estimator, rows)
    scores = adapted.contributions(rows).sum(axis=1)
    scores += adapted.model.outputs[1] if adapted.model.by_class else -adapted.model.threshold
    np.testing.assert_allclose(scores, estimator.decision_function(rows), rtol=0, atol=1e-12)
    labels = adapted.units[1].labels
    gap = next(label for label in labels if "missing" in label)
    assert "another category" in gap
    assert adapted.units[2].name == "kids"


def test_a_category_that_no_tree_asks_for_stays_a_feature():
    """Its values are still taken, in every trial of the others too."""
    X = TABLE[["age", "job"]]
    fitted = HistGradientBoostingClassifier(max_depth=1, **SMALL).fit(X, X["age"] > 50)
    adapted = agree(fitted, unseen()[["age", "job"]])
    assert len(adapted.units[1].labels) == 1


def test_histograms_of_an_array_with_categories_by_place():
    """Numbers may be categories."""
    X = np.column_stack([RNG.integers(0, 4, N), RNG.normal(size=N)])
    y = (X[:, 0] % 2 == 0) | (X[:, 1] > 1)
    estimator = HistGradientBoostingClassifier(max_depth=1, categorical_features=[0], **SMALL)
    rows = np.column_stack([RNG.choice([0, 1, 2, 3, 7, np.nan], 500), RNG.normal(size=500)])
    adapted = agree(estimator.fit(X, y), rows)
    assert adapted.units[0].labels[0].startswith("x0: 0")


PLAIN = {
    "GaussianNB": GaussianNB(),
    "AdaBoost": AdaBoostClassifier(n_estimators=20),
    "GradientBoosting": GradientBoostingClassifier(max_depth=1, n_estimators=20),
    "tree": DecisionTreeClassifier(max_depth=1),
    "one vs rest": OneVsRestClassifier(GradientBoostingClassifier(max_depth=1, n_estimators=5)),
    "one vs rest, trees": OneVsRestClassifier(DecisionTreeClassifier(max_depth=1)),
    "one vs rest, bells": OneVsRestClassifier(GaussianNB()),
}


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", PLAIN)
def test_numbers(name: str, y: Any):
    """Every row of a frame, and of an array."""
    rows = unseen()[["age", "kids"]].clip(-100, 100).fillna(41.0)
    frame = TABLE[["age", "kids"]].fillna(40.0)
    estimator = clone(PLAIN[name]).fit(frame, y)
    adapted = agree(estimator, rows)
    assert adapted.model.unit_names == ("age", "kids")
    agree(clone(estimator).fit(NUMBERS, y), rows.to_numpy())


def test_trees_with_gaps():
    """A tree and boosted ones take missing values as scikit-learn does."""
    X, rows = TABLE[["age", "kids"]], unseen()[["age", "kids"]].clip(-100, 100)
    y = np.where(X["age"].isna(), "gap", "no")
    for estimator in (DecisionTreeClassifier(max_depth=1), AdaBoostClassifier(n_estimators=5)):
        try:
            fitted = estimator.fit(X, y)
        except ValueError:  # before scikit-learn 1.7, boosting refused them
            continue
        adapted = agree(fitted, rows)
        assert "age is missing" in adapted.units[0].labels


def test_cuts_are_where_the_rounding_to_32_bits_changes():
    """The largest float that goes left, for even and odd neighbours, also in a fitted tree."""
    levels = np.array([0.1, 1.0, 16777217.0, 1e-45, -2.5, 3.4e38, 0.3, -1e-300])
    cuts = float32_cuts(levels)
    assert (cuts.astype(np.float32) <= levels).all()
    assert (np.nextafter(cuts, np.inf).astype(np.float32) > levels).all()
    assert float32_cuts([np.inf]).tolist() == [np.inf]
    for X in ([[0.1], [0.3]], [[16777216.0], [16777218.0]], [[-1.0], [1e-8]]):
        tree = DecisionTreeClassifier().fit(X, [0, 1])
        flip = float32_cuts(tree.tree_.threshold[0])[()]
        rows = [[np.nextafter(flip, -np.inf)], [flip], [np.nextafter(flip, np.inf)]]
        assert agree(tree, np.array(rows)).predict(rows).tolist() == [0, 0, 1]


def test_facts_are_short():
    """Equal neighbours are merged, and a cut of 32 bits is told as such."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    reason = SufficientReasonExplainer(tree, X)(X[:1])
    assert "given worst radius > 16.795 (1 of 30 features" in reason.describe(0)
    stumps = HistGradientBoostingClassifier(max_depth=1, max_iter=20).fit(X, y)
    found = SufficientReasonExplainer(stumps, X)(X[:30])
    assert (found.minimality == "minimum").all()
    assert re.search(r"given worst [a-z ]+ [>≥] \d+(\.\d{1,5})?[ ,]", found.describe(0))


def test_ties():
    """A boosted score of exactly 0 is class 1, one of a histogram booster class 0."""
    X = np.array([[0.0], [1.0]] * 20)
    y = X[:, 0].astype(int)
    boosted = GradientBoostingClassifier(max_depth=1, n_estimators=1, init="zero").fit(X, y)
    boosted.estimators_[0, 0].tree_.value[:] = 0.0
    assert agree(boosted, X).predict(X[:1]).tolist() == [1]
    hist = HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5).fit(X, y)
    hist._baseline_prediction[:] = 0
    hist._predictors[0][0].nodes["value"] = 0.0
    assert agree(hist, X).predict(X[:1]).tolist() == [0]


def test_on_the_threshold_of_bells_rounding_is_told_from_errors():
    """Half way between two classes each score is large and their difference is not."""
    X = np.random.default_rng(1).normal(size=(40, 6)) * [1, 1, 1, 1, 1, 1e-3]
    bells = GaussianNB().fit(X, X[:, 0] > 0)
    ends = X[[X[:, 0].argmin(), X[:, 0].argmax()]]

    def lead(share: float) -> float:
        row = ends[0] + share * (ends[1] - ends[0])
        return float(np.diff(bells.predict_joint_log_proba([row]))[0, 0])

    tie = brentq(lead, 0, 1, xtol=1e-16)
    shares = tie + np.arange(-100, 100)[:, None] * 2.0**-54
    middle = ends[0] + shares * (ends[1] - ends[0])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        said = adapt(bells, middle).predict(middle)
    assert len(told) == (said != bells.predict(middle)).sum()
    assert all("lies on the threshold, up to rounding" in str(one.message) for one in told)


def test_wrapped():
    """Thresholds, calibration and pipelines around them, as around linear ones."""
    rows = unseen()
    hist = HistGradientBoostingClassifier(max_depth=1, **SMALL)
    for estimator in (
        FixedThresholdClassifier(hist, threshold=0.2, pos_label="yes"),
        FixedThresholdClassifier(hist, threshold=-0.3, response_method="decision_function"),
        CalibratedClassifierCV(hist, ensemble=False, cv=2),
    ):
        agree(estimator.fit(TABLE, TWO), rows)
    numbers = rows[["age", "kids"]].clip(-100, 100)
    tree = FixedThresholdClassifier(DecisionTreeClassifier(max_depth=1), threshold=0.1)
    for estimator in (
        tree,
        make_pipeline(StandardScaler(), hist),
        make_pipeline(SimpleImputer(), GaussianNB()),
        make_pipeline(SimpleImputer(), PowerTransformer(), hist),
    ):
        agree(estimator.fit(TABLE[["age", "kids"]], TWO), numbers)
    coded = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["job"]),
        (SimpleImputer(), ["age"]),
    )
    adapted = agree(make_pipeline(coded, hist).fit(TABLE, TWO), rows)
    assert adapted.model.unit_names == ("age", "job")


def test_words():
    """Words that no stump asks for leave the model; counts and sparse rows are taken."""
    texts = ["good good film", "bad film", "good", "bad bad plot", "good plot", "bad"] * 10
    y = [1, 0, 1, 0, 1, 0] * 10
    for binary in (False, True):
        words = CountVectorizer(binary=binary)
        estimator = make_pipeline(words, AdaBoostClassifier(n_estimators=3)).fit(texts, y)
        adapted = agree(estimator, [*texts, "unheard of"])
        assert adapted.model.n_units < 4
    counts = sparse.csr_array(RNG.integers(0, 3, (50, 4)).astype(float))
    estimator = AdaBoostClassifier(n_estimators=5).fit(counts, np.arange(50) % 2)
    agree(estimator, counts)


def pairs() -> np.ndarray:
    """Return classes that no sum of functions of one column each can tell apart."""
    return ((NUMBERS[:, 0] > 50) ^ (NUMBERS[:, 1] > 2)).astype(int)


MIXED = "is not additive: a tree of it splits on two columns, "
CASES: dict[str, tuple[Any, str]] = {
    "tree": (
        lambda: DecisionTreeClassifier().fit(TABLE[["age", "kids"]].fillna(40), pairs()),
        f"DecisionTreeClassifier {MIXED}'age' and 'kids'. Fit it with max_depth=1.",
    ),
    "gradient": (
        lambda: GradientBoostingClassifier(n_estimators=3).fit(NUMBERS, pairs()),
        f"GradientBoostingClassifier {MIXED}0 and 1. Fit it with max_depth=1.",
    ),
    "histogram": (
        lambda: HistGradientBoostingClassifier(max_iter=5).fit(NUMBERS, pairs()),
        f"HistGradientBoostingClassifier {MIXED}0 and 1. Fit it with "
        "interaction_cst='no_interactions'.",
    ),
    "ada": (
        lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=3)).fit(NUMBERS, pairs()),
        f"AdaBoostClassifier {MIXED}0 and 1. Fit it with its own stumps, estimator=None.",
    ),
    "ada, linear": (
        lambda: AdaBoostClassifier(LogisticRegression()).fit(NUMBERS, pairs()),
        "AdaBoostClassifier is additive if it boosts trees of one split, got LogisticRegression: "
        "it counts votes. Fit it with its own stumps, estimator=None.",
    ),
    "init": (
        lambda: GradientBoostingClassifier(init=GaussianNB()).fit(NUMBERS, pairs()),
        "GradientBoostingClassifier must start from a constant, got init=GaussianNB: its scores "
        "are added to those of the trees. Fit it with init=None.",
    ),
    "labels": (
        lambda: DecisionTreeClassifier(max_depth=1).fit(NUMBERS, NUMBERS > 3),
        "DecisionTreeClassifier was fitted on several labels at once. Fit one for the label to be "
        "explained.",
    ),
    "soft votes": (
        lambda: VotingClassifier([("a", GaussianNB())], voting="soft").fit(NUMBERS, pairs()),
        "VotingClassifier cannot be part of a linear model over the raw columns: it averages "
        "probabilities or counts votes, which does not add up column by column. Fit a linear "
        "classifier in its place.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_additive_is_refused(name: str):
    """The message says why, and how to fit it so that it is."""
    make, message = CASES[name]
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        adapt(make())

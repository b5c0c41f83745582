"""One clear error each: what was wrong, what was received, what to do."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.impute import KNNImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection
from sklearn.semi_supervised import LabelPropagation
from sklearn.svm import SVC

from sklearn_probsr import (
    SufficientReasonExplainer,
    adapt,
    sufficient_reason,
    to_linear_model,
)
from sklearn_probsr.adapters import Threshold
from sklearn_probsr.adapters.registry import entries, names_of, refusal
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.cases import VERTICES, quietly, targets

Y = targets("random")
FRAME = pd.DataFrame(VERTICES[:, :3], columns=["age", "sex", "job"])


def logistic(*steps: Any) -> Any:
    """Return a fitted pipeline that ends with a logistic regression."""
    with quietly():
        return make_pipeline(*steps, LogisticRegression()).fit(VERTICES, Y)


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


def add_one(X: Any) -> Any:
    return X + 1


AFTER = (
    " Or explain what comes after it: pipeline[1:], over rows as pipeline[:1].transform gives them."
)
CASES: dict[str, tuple[Any, str]] = {
    "not fitted": (
        LogisticRegression,
        "estimator must be fitted, got LogisticRegression that is not. Call fit first.",
    ),
    "pipeline not fitted": (
        lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        "estimator must be fitted, got Pipeline that is not. Call fit first.",
    ),
    "search not fitted": (
        lambda: GridSearchCV(LogisticRegression(), {}),
        "estimator must be fitted, got GridSearchCV that is not. Call fit first.",
    ),
    "threshold not fitted": (
        lambda: FixedThresholdClassifier(LogisticRegression()),
        "estimator must be fitted, got LogisticRegression that is not. Call fit first.",
    ),
    "tuned threshold not fitted": (
        lambda: TunedThresholdClassifierCV(LogisticRegression()),
        "estimator must be fitted, got TunedThresholdClassifierCV that is not. Call fit first.",
    ),
    "step not fitted": (
        lambda: make_pipeline(StandardScaler(), LogisticRegression().fit(VERTICES, Y)),
        "estimator must be fitted, got StandardScaler that is not. Call fit first.",
    ),
    "class": (
        lambda: LogisticRegression,
        "estimator must be a fitted classifier, got the class LogisticRegression. Fit an object of "
        "it first: LogisticRegression().fit(X, y).",
    ),
    "regressor": (
        lambda: LinearRegression().fit(VERTICES, Y),
        "estimator must be a classifier, got the regressor LinearRegression. Fit a classifier.",
    ),
    "regressor at the end": (
        lambda: make_pipeline(StandardScaler(), LinearRegression()).fit(VERTICES, Y),
        "estimator must be a classifier, got the regressor LinearRegression. Fit a classifier.",
    ),
    "kernel": (
        lambda: SVC().fit(VERTICES, Y),
        "SVC must have kernel='linear', got kernel='rbf': its score is not linear in the columns. "
        "Fit it with kernel='linear'.",
    ),
    "polynomials": (
        lambda: logistic(PolynomialFeatures(2)),
        "PolynomialFeatures cannot be part of a linear model over the raw columns: it multiplies "
        "columns with each other. Leave it out." + AFTER,
    ),
    "normalizer": (
        lambda: logistic(Normalizer()),
        "Normalizer cannot be part of a linear model over the raw columns: it divides each row by "
        "its own length, which mixes all columns. Leave it out." + AFTER,
    ),
    "neighbours": (
        lambda: logistic(KNNImputer()),
        "KNNImputer cannot be part of a linear model over the raw columns: it fills in values from "
        "other columns. Leave it out." + AFTER,
    ),
    "votes": (
        lambda: OneVsOneClassifier(LogisticRegression()).fit(VERTICES, VERTICES[:, :2].sum(axis=1)),
        "OneVsOneClassifier cannot be part of a linear model over the raw columns: it counts "
        "votes, which is not one linear score. Fit a linear classifier in its place.",
    ),
    "mixed, then binarized": (
        lambda: logistic(GaussianRandomProjection(2, random_state=0), Binarizer()),
        "Binarizer is not affine, so each of its columns must come from one raw column, got one "
        "that mixes 'x0' and 'x1'. Put Binarizer before the step that mixes them.",
    ),
    "curved, then binned": (
        lambda: logistic(PowerTransformer(), Binarizer()),
        "Binarizer must get raw columns, scaled or filled in at most, got a function of 'x0' whose "
        "values cannot be carried back to it. Put Binarizer first.",
    ),
    "scaled, then one-hot": (
        lambda: logistic(StandardScaler(), OneHotEncoder()),
        "OneHotEncoder must get its categories as they are, got 'x0' scaled. Put OneHotEncoder "
        "before the scaling.",
    ),
    "function": (
        lambda: logistic(FunctionTransformer(add_one)),
        "FunctionTransformer must have func=None or a NumPy function of one number such as "
        "np.log1p, got add_one: what it does to the columns cannot be known. Write a transformer "
        "class and register an adapter for it with register_adapter.",
    ),
    "tf-idf": (
        lambda: logistic(GaussianRandomProjection(2, random_state=0), TfidfTransformer()),
        "TfidfTransformer with a norm must get word counts, got a column that mixes several. Put "
        "it right behind the vectorizer.",
    ),
    "counts, then bins": (
        lambda: make_pipeline(
            make_column_transformer((CountVectorizer(), "note"), sparse_threshold=0),
            KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
            LogisticRegression(),
        ).fit(pd.DataFrame({"note": ["an old hat", "an an an egg", "old old egg"]}), [0, 1, 1]),
        "KBinsDiscretizer after word counts is not supported, only Binarizer. Use "
        "CountVectorizer(binary=True).",
    ),
    "isotonic": (
        lambda: CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=2).fit(
            VERTICES, Y
        ),
        "CalibratedClassifierCV must have one sigmoid calibrator and two classes, got 2 "
        "calibrators "
        "with method='isotonic' and 2 classes: it is not linear otherwise. Fit it with "
        "ensemble=False and method='sigmoid'.",
    ),
    "isotonic, one": (
        lambda: CalibratedClassifierCV(
            LogisticRegression(), method="isotonic", cv=2, ensemble=False
        ).fit(VERTICES, Y),
        "CalibratedClassifierCV must have one sigmoid calibrator and two classes, got 1 calibrator "
        "with method='isotonic' and 2 classes: it is not linear otherwise. Fit it with "
        "ensemble=False and method='sigmoid'.",
    ),
    "ensemble": (
        lambda: CalibratedClassifierCV(LogisticRegression(), cv=3).fit(VERTICES, Y),
        "CalibratedClassifierCV must have one sigmoid calibrator and two classes, got 3 "
        "calibrators "
        "with method='sigmoid' and 2 classes: it is not linear otherwise. Fit it with "
        "ensemble=False and method='sigmoid'.",
    ),
    "no refit": (
        lambda: GridSearchCV(LogisticRegression(), {"C": [1.0]}, refit=False, cv=2).fit(
            VERTICES, Y
        ),
        "GridSearchCV must have refit=True, got refit=False: it has no fitted estimator. Pass the "
        "one that you fitted yourself.",
    ),
    "thresholds inside one-vs-rest": (
        lambda: OneVsRestClassifier(
            FixedThresholdClassifier(LogisticRegression(), threshold=0.3)
        ).fit(VERTICES, Y),
        "OneVsRestClassifier must hold plain linear classifiers, got FixedThresholdClassifier: it "
        "would compare its scores, not its decisions.",
    ),
    "infinite weights": (
        lambda: hard_naive_bayes(0.0),
        "MultinomialNB must have finite coefficients, got infinite ones or NaN. A naive Bayes "
        "model "
        "gets them when it is fitted with alpha=0: use alpha > 0.",
    ),
    "nothing left": (
        lambda: make_pipeline(
            ColumnTransformer([("a", "drop", [0])]), LogisticRegression().fit(VERTICES, Y)
        ),
        "estimator must be fitted, got ColumnTransformer that is not. Call fit first.",
    ),
    "not numbers": (
        lambda: (["a", "b"], 0.0),
        "(coef, intercept) must hold numbers, got ['a', 'b'] and 0.0.",
    ),
    "no vector": (
        lambda: (3.0, 0.0),
        "coef must be a vector, or a matrix with one row per class, got 3.0.",
    ),
    "two rows": (
        lambda: (np.ones((2, 3)), [0.0, 1.0]),
        "(coef, intercept) must have one row of coefficients for 2 classes and one per class for "
        "more, got coefficients of shape (2, 3), 2 intercepts and 2 classes.",
    ),
}


def hard_naive_bayes(alpha: float) -> Any:
    X, y = VERTICES.copy(), Y
    X[y == 1, 0] = 0
    with quietly():
        return MultinomialNB(alpha=alpha, force_alpha=True).fit(X, y)


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_adapted_gets_one_clear_error(case: str):
    """Both ways to adapt say the same."""
    make, message = CASES[case]
    with quietly():
        estimator = make()
    with refused(message):
        to_linear_model(estimator)
    with refused(message):
        adapt(estimator)


CAUSES: list[tuple[Any, str]] = [
    (
        RandomForestClassifier(2),
        "it averages trees that split on several columns each. Nearest that is: "
        "HistGradientBoostingClassifier(max_depth=1)",
    ),
    (
        MLPClassifier(max_iter=5),
        "its layers mix all columns. Nearest that is: HistGradientBoostingClassifier(max_depth=1)",
    ),
    (KNeighborsClassifier(), "it compares whole rows. Nearest that is: NearestCentroid"),
    (
        LabelPropagation(),
        "it spreads labels between rows that are near each other. Nearest that is: "
        "SelfTrainingClassifier(LogisticRegression())",
    ),
    (
        OutputCodeClassifier(LogisticRegression(), random_state=0),
        "it looks for the code that is nearest to several scores, which is not one linear score. "
        "Nearest that is: OneVsRestClassifier",
    ),
    (
        ClassifierChain(LogisticRegression()),
        "it tells several labels at once, each from those before it. Nearest that is: the "
        "classifier of one label, fitted alone",
    ),
    (
        MultiOutputClassifier(LogisticRegression()),
        "it tells several labels at once. Nearest that is: the classifier of one label, in its "
        "estimators_",
    ),
]


@pytest.mark.parametrize(("estimator", "why"), CAUSES, ids=lambda value: type(value).__name__)
def test_what_does_not_add_up_is_told_why(estimator: Any, why: str):
    """First the cause, then the nearest that can be adapted, then where all of them are."""
    several = isinstance(estimator, ClassifierChain | MultiOutputClassifier)
    with quietly():
        fitted = estimator.fit(VERTICES, np.column_stack([Y, VERTICES[:, 0]]) if several else Y)
    name = type(estimator).__name__
    message = f"{name} is not a classifier that can be adapted: {why}. All that are: "
    with refused(message + "docs/adapters.md."):
        to_linear_model(fitted)


def test_an_unknown_estimator_is_told_what_is_like_it():
    """By its name, and what else may be wrong with it."""
    with pytest.raises(
        InvalidInputError, match=r"^estimator must be a fitted classifier, got the text"
    ):
        adapt("logistic")
    with refused("estimator must be a fitted classifier, got None. Pass what fit returned."):
        to_linear_model(None)
    other = type("LogisticRegression", (), {"__module__": "elsewhere"})
    with refused(
        "elsewhere.LogisticRegression is not a classifier that can be adapted, only "
        "sklearn.linear_model._logistic.LogisticRegression is. To add it: "
        "register_adapter(LogisticRegression, ...)."
    ):
        to_linear_model(other())


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("StandardScalar", "Nearest that is: StandardScaler. "),
        ("Encoder", "Nearest that is: WOEEncoder, SumEncoder, GrayEncoder. "),
        ("Nystroem", ""),
    ],
)
def test_an_unknown_step_is_told_the_nearest_of_those_that_are_supported(name: str, near: str):
    """There are about a hundred, which are on a page."""
    steps = [entry for entry in entries() if entry.role == "transformer"]
    names = sorted(
        {known for e in steps if e.package or e.kind is not object for known in names_of(e)}
    )
    step = type(name, (StandardScaler,), {"transform": lambda self, X: X})()
    message = (
        f"{name} is not a transformer that can be adapted. {near}All that are: docs/adapters.md. "
        f"To add it: register_adapter({name}, ...)."
    )
    assert refusal(step, "transformer", names, []) == message


class Strange:
    """Has methods of an estimator, and nothing that scikit-learn asks of one."""

    def fit(self, X: Any, y: Any) -> None:
        """Do nothing."""

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


@pytest.mark.parametrize("thing", [3, 2.5, [1, 2], {"a": 1}, np.ones(3), FRAME, print, Strange()])
def test_what_is_no_estimator_is_told_by_its_type(thing: Any):
    """Never an AttributeError from within, here and in the explainer."""
    name = type(thing).__name__
    message = f"{name} is not a classifier that can be adapted. All that are: docs/adapters.md. "
    if hasattr(thing, "shape"):
        message = f"estimator must be a fitted classifier, got {name} of shape {thing.shape}. "
    for ask in (to_linear_model, adapt, SufficientReasonExplainer):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}"):
            ask(thing)


class Alike:
    """Has what a linear classifier of scikit-learn has, and may decide otherwise."""

    def __init__(self, honest: bool) -> None:
        self.coef_, self.intercept_ = np.arange(8.0), np.array([-12.5])
        self.classes_, self.honest = np.array(["no", "yes"]), honest

    def decision_function(self, X: Any) -> Any:
        return np.asarray(X) @ self.coef_ + self.intercept_

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.decision_function(X) > (0 if self.honest else 3)).astype(int)]


def test_a_linear_classifier_of_no_known_type_is_compared_or_refused():
    """With rows its `predict` decides whether it is taken; without, nothing does."""
    adapted = adapt(Alike(True), VERTICES)
    assert (adapted.predict(VERTICES) == Alike(True).predict(VERTICES)).all()
    assert SufficientReasonExplainer(Alike(True), VERTICES)(VERTICES[:2]).shape == (2, 8)
    with pytest.raises(InvalidInputError, match=r"^the model disagrees with the estimator in row "):
        adapt(Alike(False), VERTICES)
    text = (
        "Alike is no type that is known to decide by its coef_ and intercept_. Pass rows {}: its "
        "predict is compared with them. Or pass the pair (coef_, intercept_), which is taken at "
        "its word."
    )
    with refused(text.format("as X_sample")):
        adapt(Alike(True))
    with refused(text.format("to adapt, as X_sample")):
        to_linear_model(Alike(True))
    with refused(text.format("as masker")):
        SufficientReasonExplainer(Alike(True))
    odd = Alike(True)
    odd.coef_ = "many"
    with refused("Alike has coefficients that are not numbers, got 'many'."):
        adapt(odd, VERTICES)


def test_a_threshold_on_probabilities_of_any_library():
    """The second class from there on; only a probability, and one that the score tells."""
    estimator = LogisticRegression().fit(VERTICES, Y)
    chances = estimator.predict_proba(VERTICES)[:, 1]
    for level in (0.1, 0.3, 1.0):
        adapted = adapt(Threshold(estimator, level, classes=("no", "yes")), VERTICES)
        said = adapted.predict(VERTICES) == "yes"
        assert (said == (chances >= level)).all()
    with refused("threshold must be a probability, from 0 to 1, got 2."):
        Threshold(estimator, 2)
    with refused(
        "Threshold must hold a model of two classes whose probabilities are known as a function "
        "of its score, got Perceptron."
    ):
        adapt(Threshold(Perceptron().fit(VERTICES, Y)))


def test_names_and_order_of_the_columns():
    """A frame with other columns, or in another order, is refused."""
    estimator = make_pipeline(StandardScaler(), LogisticRegression()).fit(FRAME, Y)
    adapted = adapt(estimator, FRAME)
    other = FRAME.rename(columns={"job": "work"})
    message = (
        "X must have the columns that the estimator was fitted with, it lacks 'job'. It has 'age', "
        "'sex', 'work'."
    )
    for call in (adapted.transform, adapted.contributions, adapted.describe):
        with refused(message):
            call(other)
    message = (
        "X must have the columns that the estimator was fitted with, in their order, got 'sex' as "
        "column 0. Write X[list(estimator.feature_names_in_)]."
    )
    with refused(message):
        adapted.transform(FRAME[["sex", "age", "job"]])
    with refused(message.replace("X", "X_sample")):
        adapt(estimator, FRAME[["sex", "age", "job"]])
    message = (
        "X must have the columns that the estimator was fitted with, in their order, got 'more' as "
        "column 3. Write X[list(estimator.feature_names_in_)]."
    )
    with refused(message):
        adapted.transform(FRAME.assign(more=1))
    with refused("X must have one column per raw column, 3, got 2."):
        adapted.transform(FRAME.to_numpy()[:, :2])
    message = (
        "X must have two dimensions, (rows, 3 raw columns), got an array of shape (3,). Write [x] "
        "for a single instance."
    )
    with refused(message):
        adapted.transform(FRAME.to_numpy()[0])
    message = (
        "feature_names must be those that Pipeline was fitted with, in their order, got 'sex' in "
        "place of 'age'. Leave feature_names out."
    )
    with refused(message):
        to_linear_model(estimator, feature_names=["sex", "age", "job"])
    with refused("feature_names must hold one name per weight, 3, got 2."):
        to_linear_model(estimator, feature_names=["sex", "age"])


def test_texts_are_a_sequence():
    """One text is not a sequence of texts, a frame neither."""
    estimator = make_pipeline(CountVectorizer(binary=True), LogisticRegression()).fit(
        ["good", "bad"], [1, 0]
    )
    adapted = adapt(estimator, ["good", "bad"])
    message = "X must be a sequence of texts, got 'good'. Write [text] for a single one."
    with refused(message):
        adapted.transform("good")
    message = "X must be a sequence of texts, got DataFrame of shape (1, 1). Write X['text']."
    with refused(message):
        adapted.transform(pd.DataFrame({"text": ["good"]}))


def test_a_disagreement_is_an_error_that_shows_the_row():
    """A machine that does not decide by its coefficients is found out."""
    estimator = SVC(kernel="linear").fit([[0.0, 0.0], [1.0, 1.0]], ["no", "yes"])
    estimator._intercept_ = np.array([-5.0])
    message = (
        "the model disagrees with the estimator in row 0 of X_sample: the estimator says 'yes', "
        "the "
        "model 'no'. The row is [0.0, 0.25]. The adapter is wrong, or the estimator does not "
        "decide "
        "by its coefficients."
    )
    with refused(message):
        adapt(estimator, [[0.0, 0.25], [1.0, 1.0]])
    with refused(message):
        adapt(estimator, pd.DataFrame([[0.0, 0.25], [1.0, 1.0]]))


def test_rounding_on_the_threshold_is_a_warning():
    """1 + 1e-17 - 1 is 0 in floats and positive in truth: not silently."""
    estimator = LogisticRegression().fit([[0, 0], [1, 1]], [0, 1])
    estimator.coef_, estimator.intercept_ = np.array([[1.0, 1e-17]]), np.array([-1.0])
    message = (
        "row 1 of X_sample lies on the threshold, up to rounding: the estimator says 0, the model "
        "says 1 by the exact sum of its weights."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$"):
        adapted = adapt(estimator, [[0.0, 0.0], [1.0, 1.0]])
    assert adapted.predict([[1, 1]]) == [1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapt(estimator, [[0.0, 0.0], [1.0, 0.0]])


def test_a_subclass_that_decides_by_itself_is_refused():
    """A subclass is taken for its parent unless it overrides what decides."""

    class Quiet(LogisticRegression):
        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(X, y)

    class Loud(LogisticRegression):
        def predict(self, X: Any) -> Any:
            return 1 - super().predict(X)

    class Shifted(StandardScaler):
        def transform(self, X: Any) -> Any:
            return super().transform(X) + 1

    assert to_linear_model(Quiet().fit(VERTICES, Y)).n_features == 8
    message = (
        "{0} is a {1} with a {2} of its own, which may decide otherwise. Register an adapter for "
        "it: register_adapter({0}, ...)."
    )
    with refused(message.format("Loud", "LogisticRegression", "predict")):
        to_linear_model(Loud().fit(VERTICES, Y))
    with refused(message.format("Shifted", "StandardScaler", "transform")):
        to_linear_model(logistic(Shifted()))


def test_codes_that_were_never_seen():
    """CategoricalNB has no answer for a new code, so the adapter has none."""
    adapted = adapt(CategoricalNB().fit(VERTICES, Y), VERTICES)
    with refused("CategoricalNB knows the codes 0 to 1 in column 0, got 2."):
        adapted.transform(VERTICES + 2)


def test_probabilities_of_a_support_vector_machine():
    """libsvm's probabilities are no function of its score."""
    with quietly():
        inner = SVC(kernel="linear", probability=True, random_state=0).fit(VERTICES, Y)
    message = (
        "SVC(probability=True) has probabilities that are not a function of its score. Threshold "
        "its decision_function (response_method='decision_function'), or calibrate it with "
        "CalibratedClassifierCV(ensemble=False)."
    )
    with refused(message):
        to_linear_model(FixedThresholdClassifier(inner, threshold=0.3))


def test_a_real_valued_column_needs_a_background():
    """The uniform distribution over numbers does not exist: the error names the column."""
    adapted = adapt(logistic(StandardScaler()))
    row = adapted.transform(VERTICES[:1])[0]
    with pytest.raises(InvalidInputError, match="'x0'") as caught:
        sufficient_reason(adapted.model, row)
    assert "Background" in str(caught.value)


def test_a_column_transformer_that_drops_everything():
    """Nothing is left to explain."""
    blocks = make_column_transformer(("drop", [0]), remainder="drop").fit(VERTICES)
    bare = make_pipeline(blocks, LogisticRegression().fit(VERTICES, Y))
    with refused("ColumnTransformer drops every column: no feature is left."):
        to_linear_model(bare)


def test_steps_that_do_not_fit_together():
    """Parts that were fitted apart are compared by their number of columns."""
    bare = make_pipeline(
        StandardScaler().fit(VERTICES[:, :3]), LogisticRegression().fit(VERTICES, Y)
    )
    with refused(
        "LogisticRegression must have one coefficient per column that reaches it, 3, got 8."
    ):
        to_linear_model(bare)
    bins = KBinsDiscretizer(2, strategy="uniform").fit(VERTICES)
    first = StandardScaler().fit(VERTICES[:, :3])
    bare = make_pipeline(first, bins, LogisticRegression().fit(VERTICES, Y))
    with refused("KBinsDiscretizer takes 8 columns, 3 reach it."):
        to_linear_model(bare)
    bare = make_pipeline(
        first, StandardScaler().fit(VERTICES), LogisticRegression().fit(VERTICES, Y)
    )
    with refused("StandardScaler takes 8 columns, 3 reach it."):
        to_linear_model(bare)


def test_one_class_is_no_decision():
    """A naive Bayes model may be fitted on one class; there is nothing to decide."""
    estimator = BernoulliNB().fit(VERTICES, np.zeros(256))
    message = (
        "BernoulliNB must have one row of coefficients for 2 classes and one per class for more, "
        "got coefficients of shape (1, 8), 1 intercept and 1 class."
    )
    with refused(message):
        to_linear_model(estimator)

"""Every supported classifier decides as its linear model does, on all 256 vertices."""

import re
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import OrdinalEncoder
from sklearn.svm import SVC, NuSVC

from sklearn_probsr import SufficientReasonExplainer, adapt, to_linear_model
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.cases import VERTICES, fitted, others, plain, quietly, targets, with_ties

CLASSIFIERS = {**plain(), **others()}


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


def agree(estimator: Any, X: Any = VERTICES) -> None:
    """Compare both ways to adapt an estimator with `predict`."""
    expected = estimator.predict(X).tolist()
    model = to_linear_model(estimator)
    if model.units is None:
        assert model.predict(X).tolist() == expected
    adapted = adapt(estimator, X)
    assert adapted.predict(X).tolist() == expected
    assert adapted.model.classes == tuple(np.asarray(estimator.classes_).tolist())


@pytest.mark.parametrize("kind", ["random", "separable", "strings", "swapped"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_is_its_linear_model(name: str, kind: str):
    """Noisy, separable, with string labels, with swapped classes."""
    agree(fitted(CLASSIFIERS[name], targets(kind)))


@pytest.mark.parametrize("kind", ["random", "strings"])
@pytest.mark.parametrize("name", plain())
def test_a_tie_belongs_to_the_first_class(name: str, kind: str):
    """Whole weights make ties, which every linear classifier gives to the first class."""
    estimator = with_ties(fitted(plain()[name], targets(kind)))
    ties = estimator.decision_function(VERTICES) == 0
    assert ties.sum() > 10
    assert set(estimator.predict(VERTICES[ties])) == {estimator.classes_[0]}
    agree(estimator)
    agree(FrozenEstimator(estimator))
    assert to_linear_model(estimator).strict


@pytest.mark.parametrize("kind", [SVC, NuSVC])
@pytest.mark.parametrize("labels", [[0, 1], ["yes", "no"]])
def test_a_tie_of_a_support_vector_machine_belongs_to_the_second_class(kind: type, labels: list):
    """libsvm says the second class where its own sum is exactly 0."""
    estimator = kind(kernel="linear").fit([[0, 0], [1, 1]], labels)
    tie = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert (estimator.decision_function(tie) == 0).all()
    assert estimator.predict(tie).tolist() == [estimator.classes_[1]] * 2
    agree(estimator, np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]))
    assert not to_linear_model(estimator).strict


def test_whole_weights_in_a_support_vector_machine():
    """Support vectors and dual coefficients set by hand: ties on many vertices."""
    estimator = SVC(kernel="linear").fit([[0] * 8, [1] * 8], [0, 1])
    estimator.support_vectors_ = np.array([[0.0] * 8, [2, -1, 3, 1, -2, 1, 0, -1]])
    estimator._dual_coef_ = np.array([[1.0, -1.0]])
    estimator.dual_coef_ = -estimator._dual_coef_
    estimator.intercept_, estimator._intercept_ = np.array([-1.0]), np.array([1.0])
    assert (estimator.decision_function(VERTICES) == 0).sum() > 10
    agree(estimator)


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearSVC", "SGDClassifier"])
def test_sparse_coefficients(name: str):
    """`sparsify` keeps the model; so does fitting a machine on sparse rows."""
    estimator = with_ties(fitted(plain()[name], targets("random"))).sparsify()
    agree(estimator)
    for rows in (sparse.csr_matrix(VERTICES), sparse.csr_array(VERTICES)):
        machine = SVC(kernel="linear").fit(rows, targets("random"))
        assert hasattr(machine.coef_, "toarray")
        agree(machine)


def test_a_tie_of_naive_bayes_belongs_to_the_first_class():
    """Whole log probabilities make ties."""
    estimator = MultinomialNB().fit(VERTICES, targets("strings"))
    estimator.feature_log_prob_ = np.array(
        [[-1.0, -2, -3, -4, -5, -6, -7, -8], [-2, -1, -4, -3, -4, -6, -8, -8]]
    )
    estimator.class_log_prior_ = np.array([-1.0, -1.0])
    scores = estimator._joint_log_likelihood(VERTICES)
    assert (scores[:, 0] == scores[:, 1]).sum() > 10
    agree(estimator)
    codes = CategoricalNB().fit(VERTICES, targets("random"))
    codes.feature_log_prob_ = [np.array([[-1.0, -2.0], [-2.0, -1.0]])] * 8
    codes.class_log_prior_ = np.array([-1.0, -1.0])
    agree(codes)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_a_tie_of_nearest_centroids_belongs_to_the_first_class(classes: int):
    """Whole centroids make ties, of rows that are dense or sparse."""
    y = np.array(list("dcba"))[np.random.default_rng(0).integers(0, classes, 256)]
    estimator = NearestCentroid().fit(VERTICES, y)
    estimator.centroids_ = np.random.default_rng(1).integers(-1, 3, (classes, 8)).astype(float)
    distances = np.sort(((VERTICES[:, None] - estimator.centroids_) ** 2).sum(axis=2))
    assert (distances[:, 0] == distances[:, 1]).sum() > 5
    adapted = adapt(estimator, VERTICES, all_classes=True)
    assert adapted.predict(VERTICES).tolist() == estimator.predict(VERTICES).tolist()
    assert (adapted.predict(VERTICES) == estimator.predict(sparse.csr_array(VERTICES))).all()
    far = VERTICES + 1e6  # where the squares of rows are much larger than what they differ by
    estimator.centroids_ = estimator.centroids_ + 1e6
    assert (adapt(estimator, far, all_classes=True).predict(far) == estimator.predict(far)).all()


def test_nearest_centroids_in_scikit_learns_wrappers():
    """With equal priors its decision_function scales the distances, and its predict does not."""
    X = VERTICES * [1, 2, 3, 4, 5, 6, 7, 8]
    y = targets("strings")
    estimator = NearestCentroid().fit(X, y)
    by_score = np.asarray(estimator.classes_)[(estimator.decision_function(X) > 0).astype(int)]
    assert (by_score != estimator.predict(X)).any()
    message = (
        "{} goes by the scores of a NearestCentroid, whose predict goes by others: with equal "
        "priors it does not scale its distances. Fit it with other priors, or a "
        "LinearDiscriminantAnalysis in its place."
    )
    for wrapper in (
        FixedThresholdClassifier(estimator, response_method="decision_function"),
        CalibratedClassifierCV(estimator, ensemble=False, cv=2),
        OneVsRestClassifier(estimator),
    ):
        with refused(message.format(type(wrapper).__name__)):
            to_linear_model(wrapper.fit(X, y))
    agree(OneVsRestClassifier(NearestCentroid(priors=[0.3, 0.7])).fit(VERTICES, y))


@pytest.mark.parametrize("strategy", ["prior", "most_frequent", "constant"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_dummy_says_one_class(strategy: str, classes: int):
    """The most frequent, of equally frequent ones the first, or the one that was named."""
    y = np.array(list("cba"))[np.arange(12) % classes]
    named = {"constant": "b"} if strategy == "constant" else {}
    estimator = DummyClassifier(strategy=strategy, **named).fit(VERTICES[:12], y)
    adapted = adapt(estimator, VERTICES, all_classes=True)
    first = "b" if strategy == "constant" or classes == 2 else "a"
    assert adapted.predict(VERTICES).tolist() == [first] * 256
    assert adapted.predict(VERTICES).tolist() == estimator.predict(VERTICES).tolist()
    found = SufficientReasonExplainer(estimator, VERTICES)(VERTICES[:3])
    assert found.reason_size.tolist() == [0] * 3
    assert found.prediction.tolist() == [first] * 3


def test_what_is_not_linear_or_constant_is_refused():
    """Other distances, classes drawn at random, several labels at once, and no prior at all."""
    y = targets("random")
    for estimator, message in (
        (
            NearestCentroid(metric="manhattan"),
            "NearestCentroid must have metric='euclidean', got metric='manhattan': its score is "
            "not linear in the columns. Fit it with metric='euclidean'.",
        ),
        (
            NearestCentroid(priors=[0.0, 1.0]),
            "NearestCentroid must have priors above 0, got [0.0, 1.0]: of a class with none it has "
            "no finite score. Fit it without the rows of that class.",
        ),
        (
            DummyClassifier(strategy="uniform"),
            "DummyClassifier must say the same class of all rows, got strategy='uniform' and 1 "
            "label. Fit it to one label with strategy='prior'.",
        ),
    ):
        with refused(message):
            to_linear_model(estimator.fit(VERTICES, y))
    with refused(
        "DummyClassifier must say the same class of all rows, got strategy='prior' and 2 labels. "
        "Fit it to one label with strategy='prior'."
    ):
        to_linear_model(DummyClassifier().fit(VERTICES, np.column_stack([y, y])))


def test_a_pair_as_shap_takes_it():
    """(coef, intercept): class 1 iff the score is positive."""
    weights = [2.0, -1.0, 3.0, 1.0, -2.0, 1.0, 0.0, -1.0]
    expected = (VERTICES @ weights - 1 > 0).astype(int)
    for pair in ((weights, -1.0), (np.array([weights]), np.array([-1.0]))):
        assert (to_linear_model(pair).predict(VERTICES) == expected).all()
        assert (adapt(pair, VERTICES).predict(VERTICES) == expected).all()


@pytest.mark.parametrize("positive", [None, "no", "yes"])
@pytest.mark.parametrize("threshold", [0.2, 0.5, float(expit(1.0)), float(expit(-2.0)), 1.0])
def test_a_threshold_on_the_probability(positive: Any, threshold: float):
    """The probability is carried over to the score such that not even ties are lost."""
    inner = with_ties(fitted(LogisticRegression(), targets("strings")))
    estimator = FixedThresholdClassifier(
        FrozenEstimator(inner), threshold=threshold, pos_label=positive
    ).fit(VERTICES, targets("strings"))
    agree(estimator)


@pytest.mark.parametrize("positive", [None, "no", "yes"])
@pytest.mark.parametrize("threshold", [-1.0, 0.0, 2.0])
def test_a_threshold_on_the_score_takes_ties(positive: Any, threshold: float):
    """At the threshold the positive label is said, whichever class that is."""
    inner = with_ties(fitted(LogisticRegression(), targets("strings")))
    estimator = FixedThresholdClassifier(
        FrozenEstimator(inner),
        threshold=threshold,
        pos_label=positive,
        response_method="decision_function",
    ).fit(VERTICES, targets("strings"))
    agree(estimator)


def test_a_threshold_around_a_fitted_estimator():
    """FixedThresholdClassifier predicts before it is fitted, if its estimator is."""
    agree(FixedThresholdClassifier(fitted(LogisticRegression(), targets("random")), threshold=0.8))


def test_a_tuned_threshold_for_the_first_class():
    """A scorer with pos_label turns the comparison around."""
    from sklearn.metrics import f1_score, make_scorer

    estimator = TunedThresholdClassifierCV(
        LogisticRegression(),
        scoring=make_scorer(f1_score, pos_label="no"),
        cv=2,
        thresholds=30,
    )
    agree(fitted(estimator, targets("strings")))


def test_a_calibration_that_turns_the_score_around():
    """A classifier calibrated on the opposite labels has a positive slope."""
    inner = fitted(LogisticRegression(), targets("random"))
    estimator = CalibratedClassifierCV(FrozenEstimator(inner), ensemble=False)
    estimator = fitted(estimator, 1 - targets("random"))
    assert estimator.calibrated_classifiers_[0].calibrators[0].a_ > 0
    agree(estimator)
    agree(FixedThresholdClassifier(estimator, threshold=0.4))


def test_a_temperature():
    """Newer scikit-learn also calibrates by one temperature, which does not move the cut."""
    try:
        estimator = CalibratedClassifierCV(
            LogisticRegression(), method="temperature", ensemble=False, cv=2
        ).fit(VERTICES, targets("random"))
    except ValueError:
        pytest.skip("this scikit-learn has no temperature scaling")
    agree(estimator)
    agree(FixedThresholdClassifier(estimator, threshold=0.4))


def test_a_softmax_over_two_classes():
    """Until scikit-learn 1.7 a multinomial model doubled the score in its probabilities."""
    if "multi_class" not in LogisticRegression().get_params():
        pytest.skip("this scikit-learn has no multi_class")
    with quietly():
        inner = LogisticRegression(multi_class="multinomial").fit(VERTICES, targets("random"))
    for threshold in (0.1, 0.7, 0.9):
        agree(FixedThresholdClassifier(inner, threshold=threshold))


@pytest.mark.parametrize("name", ["LogisticRegression", "SVC", "BernoulliNB"])
def test_target_picks_the_positive_class(name: str):
    """The model speaks for the class that is asked for, and keeps the tie rule."""
    estimator = fitted(CLASSIFIERS[name], targets("strings"))
    if name == "LogisticRegression":
        estimator = with_ties(estimator)
    expected = estimator.predict(VERTICES).tolist()
    for options in ({"target": "no"}, {"versus": "yes"}, {"target": "no", "versus": "yes"}):
        model = to_linear_model(estimator, **options)
        assert model.classes == ("yes", "no")
        assert model.predict(VERTICES).tolist() == expected
        assert adapt(estimator, VERTICES, **options).predict(VERTICES).tolist() == expected
    assert to_linear_model(estimator, target="yes") == to_linear_model(estimator)


def test_categories_of_a_naive_bayes_are_states():
    """Each code is a state of its column, named by what the encoder made it of."""
    from sklearn.pipeline import make_pipeline

    X = np.array([["red", "s"], ["blue", "m"], ["red", "l"], ["green", "s"]], dtype=object)
    estimator = make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(X, [0, 1, 0, 1])
    adapted = adapt(estimator, X)
    assert adapted.units[0].labels == ("x0: blue", "x0: green", "x0: red")
    assert adapted.units[1].labels == ("x1: l", "x1: m", "x1: s")
    everything = np.array([[a, b] for a in ("red", "blue", "green") for b in "sml"], dtype=object)
    assert (adapted.predict(everything) == estimator.predict(everything)).all()
    plain = CategoricalNB().fit(VERTICES, targets("random"))
    assert to_linear_model(plain).n_units == 8
    assert to_linear_model(plain).n_features == 16


def test_weights_of_one_precision():
    """Single-precision coefficients are exact in double precision."""
    rows = VERTICES.astype(np.float32)
    agree(LogisticRegression().fit(rows, targets("random")), rows)


def test_a_binarizing_naive_bayes_on_numbers():
    """`binarize` makes the feature "x0 > 0.5" of a number."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    adapted = adapt(BernoulliNB(binarize=0.5).fit(X, y), X)
    assert adapted.units[0].labels == ("x0 ≤ 0.5", "x0 > 0.5")
    assert adapted.model.binary_core is not None


def test_sgd_with_a_logistic_loss():
    """Its probabilities are those of a logistic regression."""
    inner = SGDClassifier(loss="log_loss", random_state=0)
    agree(fitted(FixedThresholdClassifier(inner, threshold=0.35), targets("random")))

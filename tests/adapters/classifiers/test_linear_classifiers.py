"""Every supported classifier decides as its linear model does, on all 256 vertices."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB
from sklearn.preprocessing import OrdinalEncoder
from sklearn.svm import SVC, NuSVC

from sklearn_probsr import adapt, to_linear_model
from tests.adapters.cases import VERTICES, fitted, others, plain, quietly, targets, with_ties

CLASSIFIERS = {**plain(), **others()}


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

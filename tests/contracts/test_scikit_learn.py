"""What we rely on in scikit-learn: coefficients, ties, and what fitted estimators hold."""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.naive_bayes import BernoulliNB
from sklearn.preprocessing import Binarizer, KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import _safe_indexing

from sklearn_probsr import LinearModel

pytestmark = pytest.mark.contract

VERTICES = (np.arange(256)[:, None] >> np.arange(8)) & 1
Y = (VERTICES @ np.arange(-4, 4) > 0).astype(int)


def test_a_logistic_regression_is_a_strict_linear_model():
    """`coef_` is (1, p), `predict` is `score > 0`: a tie belongs to class 0."""
    estimator = LogisticRegression().fit(VERTICES, Y)
    estimator.coef_ = np.round(estimator.coef_)
    estimator.intercept_ = np.array([-1.0])
    model = LinearModel(estimator.coef_.ravel(), -estimator.intercept_[0], strict=True)
    assert estimator.coef_.shape == (1, 8)
    assert (np.abs(VERTICES @ estimator.coef_.ravel() - 1) == 0).any()
    assert (model.predict(VERTICES) == estimator.predict(VERTICES)).all()


@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(), RidgeClassifier(), LinearDiscriminantAnalysis(), SGDClassifier(random_state=0)],
)
def test_a_tie_belongs_to_the_first_class(estimator):
    """Every linear classifier says the first class where its score is 0."""
    estimator.fit(VERTICES, Y)
    estimator.coef_ = np.zeros_like(estimator.coef_)
    estimator.intercept_ = np.zeros_like(estimator.intercept_)
    assert not estimator.predict(VERTICES).any()


def test_a_tie_of_libsvm_belongs_to_the_second_class():
    """The two points between 0 and (1, 1) are ties."""
    estimator = SVC(kernel="linear").fit([[0, 0], [1, 1]], [0, 1])
    assert estimator.decision_function([[0, 1], [1, 0]]).tolist() == [0, 0]
    assert estimator.predict([[0, 1], [1, 0]]).tolist() == [1, 1]
    assert estimator.coef_.shape == (1, 2)


def test_thresholds_are_reached_by_equality():
    """`>=`, on predict_proba if there is one; a scorer knows its positive label."""
    inner = LogisticRegression().fit(VERTICES, Y)
    score = inner.predict_proba(VERTICES)[:, 1]
    estimator = FixedThresholdClassifier(FrozenEstimator(inner), threshold=float(score[7]))
    assert (estimator.fit(VERTICES, Y).predict(VERTICES) == (score >= score[7])).all()
    assert (expit(inner.decision_function(VERTICES)) == score).all()
    tuned = TunedThresholdClassifierCV(inner, scoring=make_scorer(f1_score, pos_label=0), cv=2)
    tuned.fit(VERTICES, Y)
    assert tuned._curve_scorer._get_pos_label() == 0
    assert isinstance(tuned.best_threshold_, float)


def test_a_calibration_is_one_sigmoid():
    """With ensemble=False there is one calibrator, with slope a_ and offset b_."""
    estimator = CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=2).fit(VERTICES, Y)
    (only,) = estimator.calibrated_classifiers_
    (sigmoid,) = only.calibrators
    score = only.estimator.decision_function(VERTICES)
    expected = expit(-(sigmoid.a_ * score + sigmoid.b_))
    assert (estimator.predict_proba(VERTICES)[:, 1] == expected).all()


def test_a_bernoulli_model_binarizes_strictly():
    """`X > binarize`, as Binarizer does."""
    estimator = BernoulliNB(binarize=1.0).fit(VERTICES * 2, Y)
    assert len(set(estimator.predict([[1] * 8, [0] * 8, [0.5] * 8]))) == 1
    assert Binarizer(threshold=1.0).transform([[1.0, 1.5]]).tolist() == [[0, 1]]


def test_bins_begin_at_their_edges():
    """A bin is [a, b), and the outer edges do not count."""
    bins = KBinsDiscretizer(2, encode="ordinal", strategy="uniform").fit([[0.0], [4.0]])
    assert bins.bin_edges_[0].tolist() == [0, 2, 4]
    assert bins.transform([[-9.0], [1.9], [2.0], [9.0]]).ravel().tolist() == [0, 0, 1, 1]


def test_a_column_transformer_says_where_its_columns_come_from():
    """By position, for every kind of key; the output is in the order of `transformers_`."""
    frame = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4], "c": [5.0, 6]})
    step = ColumnTransformer(
        [("s", StandardScaler(), ["c"]), ("k", "passthrough", slice(0, 1)), ("d", "drop", [])],
        remainder="passthrough",
    ).fit(frame)
    places = step._transformer_to_input_indices
    assert {name: list(at) for name, at in places.items()} == {
        "s": [2],
        "k": [0],
        "d": [],
        "remainder": [1],
    }
    assert [name for name, *_ in step.transformers_][:2] == ["s", "k"]
    assert step.output_indices_["remainder"] == slice(2, 3)
    assert _safe_indexing(frame, [2, 0], axis=1).columns.tolist() == ["c", "a"]
    assert _safe_indexing(frame, 0, axis=1).tolist() == [1, 2]


def test_one_hot_columns_can_be_counted():
    """Categories, less the dropped one, with the infrequent ones in one column at the end."""
    X = np.array([["a"], ["a"], ["b"], ["b"], ["c"], ["d"]], dtype=object)
    step = OneHotEncoder(min_frequency=2, drop=["a"]).fit(X)
    assert step.infrequent_categories_[0].tolist() == ["c", "d"]
    assert step.categories_[0][step.drop_idx_[0]] == "a"
    assert step.transform(X).toarray().tolist()[2:] == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_searches_share_a_base_and_selectors_a_mask():
    """The base class of a search decides; a selector keeps `get_support`."""
    base = GridSearchCV.__base__
    assert issubclass(RandomizedSearchCV, base)
    assert inspect.getattr_static(GridSearchCV, "predict") is inspect.getattr_static(
        base, "predict"
    )
    selector = SelectKBest(k=3).fit(VERTICES, Y)
    assert (selector.transform(VERTICES) == VERTICES[:, selector.get_support()]).all()

"""The registry: others can extend it, and the page of the docs shows what is in it."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, StandardScaler

from sklearn_probsr import adapt, to_linear_model
from sklearn_probsr.adapters import Affine, Linear, PerColumn, Words, support_table
from sklearn_probsr.adapters.registry import _entries
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.extend import register_adapter
from tests.adapters.cases import VERTICES, targets

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adapters.md"
Y = targets("random")


@pytest.fixture(autouse=True)
def _registry_as_it_was() -> Any:
    before = dict(_entries)
    yield
    _entries.clear()
    _entries.update(before)


class Majority(ClassifierMixin, BaseEstimator):
    """Says 1 if more than half of the columns are 1."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(np.sum(X, axis=1) > self.n_features_in_ / 2).astype(int)]


class Step(TransformerMixin, BaseEstimator):
    """Does to the columns what it is told."""

    def __init__(self, does: Any = None):
        self.does = does

    def fit(self, X: Any, y: Any = None) -> Any:
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X: Any) -> Any:
        return self.does(X)


def test_a_classifier_of_ones_own():
    """A pair, a Linear with its own tie rule, or a fitted estimator inside."""
    estimator = Majority().fit(VERTICES, Y)
    with pytest.raises(InvalidInputError, match=r"^Majority is not a classifier"):
        to_linear_model(estimator)
    register_adapter(Majority, lambda e: (np.ones(e.n_features_in_), -e.n_features_in_ / 2))
    assert (adapt(estimator, VERTICES).predict(VERTICES) == estimator.predict(VERTICES)).all()

    @register_adapter(Majority)
    def lenient(e: Any) -> Linear:
        return Linear(np.ones(8), -4.0, e.classes_, strict=False)

    assert not to_linear_model(estimator).strict
    with pytest.warns(UserWarning, match=r"^row \d+ of X_sample lies on the threshold"):
        adapt(estimator, VERTICES)
    register_adapter(Majority, lambda e: (np.ones(8), -6.0))
    with pytest.raises(InvalidInputError, match=r"^the model disagrees with the estimator in row "):
        adapt(estimator, VERTICES)
    inner = LogisticRegression().fit(VERTICES, Y)
    register_adapter(Majority, lambda e: inner)
    assert to_linear_model(estimator) == to_linear_model(inner)


def test_a_transformer_of_ones_own():
    """Affine ones are folded, others define features."""
    double = Step(lambda X: 2 * X + 1)
    estimator = make_pipeline(double, LogisticRegression()).fit(VERTICES, Y)
    with pytest.raises(
        InvalidInputError, match=r"^Step is not a transformer that can be adapted\."
    ):
        to_linear_model(estimator)
    register_adapter(Step, lambda step: Affine(2 * np.eye(8), 1.0))
    assert (adapt(estimator, VERTICES).predict(VERTICES) == estimator.predict(VERTICES)).all()
    register_adapter(Step, lambda step: PerColumn())
    assert adapt(estimator, VERTICES).transform(VERTICES).max() == 3
    beside = Step(lambda X: np.column_stack([X[:, 0], 2 * X[:, 1:] + 1])).fit(VERTICES)
    estimator.steps[0] = ("step", beside)
    register_adapter(Step, lambda step: PerColumn(kinds=["same", *["real"] * 7]))
    assert adapt(estimator, VERTICES).transform(VERTICES).max(axis=0).tolist() == [1, *[3] * 7]
    assert (adapt(estimator, VERTICES).predict(VERTICES) == estimator.predict(VERTICES)).all()
    estimator.steps[0] = ("step", double)
    register_adapter(Step, lambda step: PerColumn(kinds="finite", cuts=lambda column: [0.5]))
    with pytest.raises(InvalidInputError, match="a category in unit 'x0' that was never seen"):
        adapt(estimator, VERTICES)
    register_adapter(Step, lambda step: PerColumn(owners=[0] * 9))
    with pytest.raises(InvalidInputError, match=r"one coefficient per column that reaches it, 9, "):
        adapt(estimator)
    register_adapter(Step, lambda step: StandardScaler().fit(VERTICES))
    assert to_linear_model(estimator).n_features == 8


def test_a_text_transformer_of_ones_own():
    """Words may come from any transformer of one text."""

    class Shouting(Step):
        pass

    shouting = Shouting(lambda texts: np.array([["!" in text] for text in texts], dtype=float))
    shouting.fitted_ = True
    inner = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    register_adapter(Shouting, lambda step: Words(["!"], binary=True))
    adapted = adapt(make_pipeline(shouting, inner), ["no", "yes!"])
    assert adapted.predict(["no", "yes!"]).tolist() == [0, 1]
    assert adapted.describe(["yes!"]).iat[0, 0] == '"!"'


BAD: list[tuple[Any, str]] = [
    (
        lambda e: 3,
        "the adapter of Majority must return (coef, intercept), a Linear, an Additive, or a "
        "fitted classifier, got 3.",
    ),
    (
        lambda e: (np.ones(3), 0.0),
        "Majority must have one coefficient per column that reaches it, 8, got 3.",
    ),
]


@pytest.mark.parametrize(("adapter", "message"), BAD)
def test_a_wrong_adapter_is_told_so(adapter: Any, message: str):
    """What comes back from an adapter is checked."""
    register_adapter(Majority, adapter)
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        to_linear_model(Majority().fit(VERTICES, Y))


def test_a_wrong_step_is_told_so():
    """Also what a transformer's adapter says."""
    estimator = make_pipeline(Step(lambda X: X), LogisticRegression()).fit(VERTICES, Y)
    register_adapter(Step, lambda step: 3)
    message = (
        "the adapter of Step must return an Affine, PerColumn or Words, or a fitted transformer, "
        "got 3."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        to_linear_model(estimator)
    register_adapter(Step, lambda step: Words(["a"], binary=True))
    message = "Step must get one raw column of texts, got 8 columns."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        to_linear_model(estimator)
    wide = Step(lambda X: np.hstack([X, X]))
    bare = make_pipeline(wide.fit(VERTICES), LogisticRegression().fit(VERTICES, Y))
    register_adapter(Step, lambda step: PerColumn())
    with pytest.raises(InvalidInputError, match=r"^a step gives 16 columns, its adapter says 8\.$"):
        adapt(bare).transform(VERTICES)


def test_only_types_and_callables_are_registered():
    """An object in place of its class is the usual slip."""
    scaler = StandardScaler()
    message = "estimator_type must be a class, got StandardScaler(). Pass type(estimator)."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        register_adapter(scaler, lambda step: None)
    with pytest.raises(InvalidInputError, match=r"^adapter must be callable, got 3\.$"):
        register_adapter(StandardScaler, 3)


def test_a_registered_adapter_goes_first():
    """One's own adapter of a supported type replaces ours."""
    estimator = make_pipeline(Binarizer(threshold=0.5), LogisticRegression()).fit(VERTICES, Y)
    register_adapter(Binarizer, lambda step: Affine(np.eye(8)))
    assert to_linear_model(estimator).units is None


@pytest.mark.skipif(not PAGE.is_file(), reason="the docs are not beside the tests")
def test_the_page_shows_what_is_supported():
    """The tables of docs/adapters.md are those of the registry."""
    page = PAGE.read_text(encoding="utf-8")
    shown = page.split("<!-- supported -->")[1].split("<!-- end -->")[0]
    assert shown.strip() == support_table().strip()


def test_an_estimator_that_does_not_say_how_many_columns_it_takes():
    """The number comes from the names, the sample, or the coefficients."""

    class Scorecard:
        points, cutoff = [3.0, 1.0, 2.0], 4.0

        def predict(self, X: Any) -> Any:
            return (np.asarray(X) @ self.points > self.cutoff).astype(int)

    register_adapter(Scorecard, lambda card: (card.points, -card.cutoff))
    corners = VERTICES[:8, :3]
    assert to_linear_model(Scorecard()).feature_names == ("x0", "x1", "x2")
    assert to_linear_model(Scorecard(), feature_names=list("abc")).feature_names == tuple("abc")
    adapted = adapt(Scorecard(), corners)
    assert (adapted.predict(corners) == Scorecard().predict(corners)).all()
    register_adapter(Scorecard, lambda card: LogisticRegression())
    message = (
        "Scorecard does not say how many columns it takes. Pass feature_names to to_linear_model, "
        "or X_sample to adapt."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        to_linear_model(Scorecard())

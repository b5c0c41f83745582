"""More than two classes, from fitted estimators to plots, tables and pages."""

from __future__ import annotations

import functools
import json
import pickle
import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shap
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, KBinsDiscretizer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from sklearn_probsr import (
    ArgmaxModel,
    Comparison,
    Marginals,
    ReasonExplanation,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    adapt,
    compare,
    guarantee,
    plots,
    to_linear_model,
)
from sklearn_probsr.exceptions import InvalidInputError

CLASSIFIERS = [
    LogisticRegression(max_iter=2000),
    LinearSVC(),
    RidgeClassifier(),
    LinearDiscriminantAnalysis(),
    Perceptron(),
    SGDClassifier(random_state=0),
    BernoulliNB(),
    MultinomialNB(),
    ComplementNB(),
    OneVsRestClassifier(LogisticRegression()),
]


@functools.cache
def digits() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    return (X > 7).astype(float), y


@functools.cache
def wine() -> tuple[Any, Any, Any]:
    X, y = load_wine(return_X_y=True, as_frame=True)
    y = y.map(dict(enumerate(["barolo", "grignolino", "barbera"])))
    return X, y, make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)


@functools.cache
def wines() -> ReasonExplanation:
    X, _, model = wine()
    return SufficientReasonExplainer(model, X)(X[::9])


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda c: type(c).__name__)
def test_ten_digits_are_told_apart_as_the_estimator_does(classifier: Any) -> None:
    """On every image, and the reasons keep the class that it says."""
    X, y = digits()
    model = classifier.fit(X[:600], y[:600])
    adapted = adapt(model, X, all_classes=True)
    assert isinstance(adapted.model, ArgmaxModel)
    assert np.array_equal(adapted.predict(X), model.predict(X))
    scores = adapted.contributions(X[:5]).sum(axis=1) + adapted.model.intercepts
    assert np.array_equal(np.argmax(scores, axis=1), adapted.model.winners(X[:5]))
    reasons = SufficientReasonExplainer(model, X[:100], delta=0.9)(X[600:603])
    assert np.array_equal(reasons.prediction, model.predict(X[600:603]))
    told = reasons.reasons
    for i in range(3):
        known = guarantee(
            told.model, told.rows[i], told[i].features, distribution=told.distribution
        )
        replaced = np.where(told.mask[i], X[600 + i], X[:100])
        kept = np.mean(model.predict(replaced) == reasons.prediction[i])
        assert known.lower <= kept <= known.upper
        assert kept >= 0.9


def test_pipelines_of_raw_columns() -> None:
    """Bins and thresholds of raw columns are units, as with two classes."""
    X, y, _ = wine()
    for step in (KBinsDiscretizer(n_bins=3, strategy="uniform"), Binarizer(threshold=2.0)):
        model = make_pipeline(step, LogisticRegression()).fit(X, y)
        reasons = SufficientReasonExplainer(model, X)(X[:4])
        assert np.array_equal(reasons.prediction, model.predict(X[:4]))
        assert reasons.values.shape == (4, len(reasons.feature_names), 3)
        assert "barolo" in reasons.describe(0)


def test_values_have_an_axis_of_classes() -> None:
    """They are shap's own of every score; slicing keeps the reasons."""
    X, _, model = wine()
    reasons = wines()
    scaled = model[0].transform(X)
    for k in range(3):
        mask = shap.maskers.Independent(scaled, max_samples=len(scaled))
        score = (model[1].coef_[k], model[1].intercept_[k])
        theirs = shap.LinearExplainer(score, mask)(scaled[::9])
        ours = reasons[:, :, k]
        assert isinstance(ours, ReasonExplanation)
        assert ours.output_names == model.classes_[k]
        assert np.allclose(ours.values, theirs.values)
        assert np.allclose(ours.base_values, theirs.base_values)
        assert np.array_equal(ours.reason_size, reasons.reason_size)
    assert reasons.values.shape == (20, 13, 3)
    assert reasons[2].values.shape == (13, 3)
    assert reasons[2].describe() == reasons.describe(2)
    assert reasons[:0].values.shape == (0, 13, 3)
    own = reasons.of_prediction()
    assert own.values.shape == (20, 13)
    winners = reasons.reasons.model.winners(reasons.reasons.rows)
    assert np.array_equal(own.values[5], reasons.values[5, :, winners[5]])
    assert reasons[5].of_prediction().values.shape == (13,)
    assert own.of_prediction() is own
    again = pickle.loads(pickle.dumps(reasons))
    assert np.array_equal(again.values, reasons.values)


def test_explanations_are_saved(tmp_path) -> None:
    """With the model of several classes, and without pickle."""
    path = tmp_path / "wines.npz"
    wines().save(path)
    again = ReasonExplanation.load(path)
    assert again.reasons.model == wines().reasons.model
    assert np.array_equal(again.values, wines().values)
    assert again.describe(1) == wines().describe(1)
    assert list(again.output_names) == list(wines().output_names)


def test_empty_and_uniform() -> None:
    """No rows are no problem, and fair coins have reasons too."""
    X, y = digits()
    few = X[:, 18:30]
    model = LogisticRegression(max_iter=1000).fit(few[:300], y[:300] % 3)
    explain = SufficientReasonExplainer(model)
    assert explain(few[:0]).values.shape == (0, 12, 3)
    reasons = explain(few[300:310])
    assert (reasons.guarantee_lower >= 0.95).all()
    assert np.array_equal(reasons.prediction, model.predict(few[300:310]))


@pytest.mark.parametrize("draw", [plots.waterfall, plots.curve, plots.frequency,
                                  plots.reasons_heatmap])  # fmt: skip
def test_our_plots_draw_them(draw: Any) -> None:
    """One row, or many, of several classes."""
    reasons = wines()[0] if draw is plots.waterfall else wines()
    draw(reasons)
    text = " ".join(t.get_text() for t in plt.gcf().findobj(plt.Text))
    if draw is not plots.curve:
        assert "barolo" in text
    plt.close("all")


def test_a_heatmap_tells_scores_from_duels() -> None:
    """A fact may raise the score of a class and be pale, as it raises the runner-up's more."""
    reasons = wines()
    told = reasons.reasons
    own = reasons.of_prediction().values
    assert (told.against.mask() & (own > 0)).any()
    for view, gained in ((reasons, "score"), (reasons.as_guarantee(), "guarantee")):
        assert plots.reasons_heatmap(view).get_xlabel().split("\n")[1] == (
            f"red raises the {gained} of the row's class, blue lowers it; "
            "pale: against the row's class before the runner-up"
        )
        plt.close("all")


def test_shap_plots_draw_one_class() -> None:
    """Where shap's plots expect one output, a class is picked, or the predicted one."""
    reasons = wines()
    shap.plots.heatmap(reasons[:, :, 1], show=False)
    plt.close("all")
    shap.plots.bar(reasons[:, :, 0], show=False)
    plt.close("all")
    shap.plots.beeswarm(reasons.of_prediction(), show=False)
    plt.close("all")
    shap.plots.waterfall(reasons[3, :, 2], show=False)
    plt.close("all")


def test_a_step_of_a_pipeline() -> None:
    """The transformer gives the values of the predicted class, or masks and rows."""
    X, y, model = wine()
    step = SufficientReasonTransformer(model, output="values").fit(X, y)
    assert step.classes_.tolist() == sorted(set(y))
    own = SufficientReasonExplainer(step.estimator_, X)(X[:6]).of_prediction()
    assert np.array_equal(step.transform(X[:6]), own.reason_only.values)
    mask = SufficientReasonTransformer(model, output="mask").fit(X, y).transform(X[:6])
    assert np.array_equal(mask, own.reason_mask.astype(float))


@functools.cache
def compared() -> Comparison:
    X, _, model = wine()
    return compare(model, X[::9], X)


def test_the_table_of_a_comparison() -> None:
    """Every column again, from the definition, by the estimator's own predictions."""
    X, _, model = wine()
    rows, found = X[::9], compared()
    frame, values = found.to_frame(), found.shap_values
    assert frame.index.equals(rows.index)
    frame = frame.reset_index(drop=True)
    scaled, base = model[0].transform(rows), model[0].transform(X).mean(axis=0)
    order = {label: k for k, label in enumerate(model.classes_)}
    for i in range(len(rows)):
        said = model.predict(rows[i : i + 1])[0]
        assert frame["prediction"][i] == said
        expected = (scaled[i] - base) * model[1].coef_[order[said]]
        assert values[i] == pytest.approx(expected)
        size = frame["reason_size"][i]
        by_size = np.argsort(-np.abs(values[i]), kind="stable")
        by_sign = np.argsort(-values[i], kind="stable")

        def kept(features, i=i, said=said):
            replaced = X.to_numpy().copy()
            columns = list(features)
            replaced[:, columns] = rows.to_numpy()[i, columns]
            return np.mean(model.predict(type(X)(replaced, columns=X.columns)) == said)

        names = list(X.columns)
        assert kept([names.index(name) for name in frame["reason"][i]]) == pytest.approx(
            frame["guarantee_lower"][i]
        )
        assert kept(by_size[:size]) == pytest.approx(frame["top_shap_guarantee_lower"][i])
        for order_, column in ((by_size, "abs_shap_size"), (by_sign, "signed_shap_size")):
            shares = [kept(order_[:k]) for k in range(14)]
            assert frame[column][i] == next(k for k, s in enumerate(shares) if s >= 0.95)
        assert frame["hurting"][i] == np.sum(values[i][by_size[:size]] < 0)
        scores = model.decision_function(rows[i : i + 1])[0]
        assert frame["margin"][i] == pytest.approx(np.sort(scores)[-1] - np.sort(scores)[-2])


def test_own_shap_values_with_an_axis_of_classes() -> None:
    """Those of the predicted class are taken, as compare would have computed them."""
    X, _, model = wine()
    rows = X[::9]
    above = model[0].transform(rows) - model[0].transform(X).mean(axis=0)
    values = above[:, :, None] * model[1].coef_.T[None]
    again = compare(model, rows, X, shap_values=values)
    assert again.shap_values == pytest.approx(compared().shap_values)
    with pytest.raises(InvalidInputError, match=re.escape("got shape (20, 13, 2)")):
        compare(model, rows, X, shap_values=values[:, :, :2])


def test_words_pages_and_files_of_a_comparison(tmp_path) -> None:
    """Three classes in the words, the features, the picture and the page."""
    found = compared()
    assert set(found.features()["class"]) == {"all", "barolo", "grignolino", "barbera"}
    found.plot()
    plt.close("all")
    found.to_html(tmp_path / "wine.html")
    text = (tmp_path / "wine.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["classes"] == ["barbera", "barolo", "grignolino"]
    said = [data["classes"][row["class"]] for row in data["rows"]]
    assert said == found.table["prediction"].tolist()


def test_over_marginals_the_bounds_enclose_the_count() -> None:
    """What independent draws say is within the proved bounds."""
    X, _, model = wine()
    rng = np.random.default_rng(0)
    drawn = np.column_stack([rng.choice(X[name], 20_000) for name in X.columns])
    reasons = SufficientReasonExplainer(model, Marginals.fit(X), delta=0.9)(X[:3])
    for i in range(3):
        inside = reasons.reason_mask[i]
        rows = np.where(inside, X.to_numpy()[i], drawn)
        share = np.mean(model.predict(type(X)(rows, columns=X.columns)) == reasons.prediction[i])
        # A false alarm of six standard deviations, about 2e-9 a row.
        slack = 6 * 0.5 / np.sqrt(20_000)
        assert reasons.guarantee_lower[i] - slack <= share <= reasons.guarantee_upper[i] + slack
        assert reasons.guarantee_lower[i] >= 0.9


def test_what_cannot_be_explained_is_said() -> None:
    """A class that does not exist, one class only, votes, and a model for two classes."""
    X, y = digits()
    model = LogisticRegression(max_iter=1000).fit(X[:200], y[:200] % 3)
    with pytest.raises(
        InvalidInputError, match=r"^target must be one of the classes, 0, 1, 2, got"
    ):
        SufficientReasonExplainer(model, X[:50], target=7, versus=0)
    with pytest.raises(InvalidInputError) as caught:
        SufficientReasonExplainer(BernoulliNB().fit(X[:9], np.zeros(9)), X[:50])
    assert str(caught.value) == (
        "BernoulliNB must have one row of coefficients for 2 classes and one per class for more, "
        "got coefficients of shape (1, 64), 1 intercept and 1 class."
    )
    with pytest.raises(InvalidInputError, match="it counts votes"):
        SufficientReasonExplainer(SVC(kernel="linear").fit(X[:99], y[:99] % 3), X[:50])
    with pytest.raises(InvalidInputError, match="takes the largest of 3 scores"):
        to_linear_model(model)
    argmax = ArgmaxModel(np.eye(3), np.zeros(3), classes=["a", "b", "c"])
    with pytest.raises(InvalidInputError) as caught:
        SufficientReasonExplainer(argmax, target="d", versus="a")
    assert str(caught.value) == (
        "target must be one of the classes, 'a', 'b', 'c', got 'd'. Name both target and versus, "
        "or neither."
    )
    with pytest.raises(InvalidInputError) as caught:
        SufficientReasonExplainer(argmax, target="a", versus="a")
    assert str(caught.value) == "versus must be another class than target, got 'a' twice."
    duel = SufficientReasonExplainer(argmax, target="b", versus="a", feature_names=["p", "q", "r"])
    assert duel.linear_model.classes == ("a", "b")
    assert duel.linear_model.feature_names == ("p", "q", "r")
    named = SufficientReasonExplainer(argmax, feature_names=["p", "q", "r"])
    assert named.linear_model.feature_names == ("p", "q", "r")


@pytest.mark.parametrize("law", ["uniform", "marginals"])
def test_digits_are_compared_without_rows(law: str) -> None:
    """Three digits of 64 features: certainty is found, and nothing that was not asked for fails."""
    X, y = load_digits(return_X_y=True)
    X, y = (X[y < 3] > 8).astype(float), y[y < 3]
    model = LogisticRegression(max_iter=500).fit(X, y)
    masker = None if law == "uniform" else Marginals.fit(X)
    found = compare(model, X[:2], masker)
    assert found.missing == {}
    coef, said = model.coef_, model.predict(X[:2])
    sure = SufficientReasonExplainer(model, masker, delta=1)(X[:2]).reasons
    assert found.table["sure_size"].tolist() == sure.mask.sum(axis=1).tolist()
    seen = X if law == "marginals" else np.array([[0.0] * 64, [1.0] * 64])
    for row, c, known in zip(X[:2], said, sure.mask, strict=True):
        for j in {0, 1, 2} - {c}:
            apart = coef[c] - coef[j]
            worst = np.minimum(apart * seen.min(axis=0), apart * seen.max(axis=0))
            lead = np.where(known, apart * row, worst).sum() + np.subtract(
                *model.intercept_[[c, j]]
            )
            assert lead > -1e-9

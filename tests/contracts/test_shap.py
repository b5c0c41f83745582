"""What we rely on in shap: its values, what it does to an Explanation, files, and plots."""

import copy
import inspect
import io
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shap

from sklearn_probsr import LinearModel, ReasonExplanation, SufficientReasonExplainer, Unit

pytestmark = [
    pytest.mark.contract,
    # shap's plots, in some releases, use what matplotlib, pandas or NumPy are about to change.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

NAMES = ["age ≥ 50", "job: admin", "smoker", "income > 50"]


@pytest.fixture(autouse=True)
def canvas() -> Iterator[None]:
    """Draw without a screen."""
    with mpl.rc_context():
        mpl.use("agg")
        yield
    plt.close("all")


def background() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (150, 4)).astype(float)


def reasons(n: int = 40) -> ReasonExplanation:
    """Return reasons of binary features whose names hold what shap's labels trip over."""
    model = LinearModel(
        [2.0, -1.5, 1.0, 0.7], 0.9, feature_names=NAMES, classes=("refused", "granted")
    )
    return SufficientReasonExplainer(model, background(), delta=0.9)(background()[:n])


# --- Values ----------------------------------------------------------------------------------


def test_linear_values_are_contributions_less_their_means():
    """`(coef, intercept)` with all background rows: values w (x - mean), base the mean margin."""
    rng = np.random.default_rng(0)
    model = LinearModel(rng.standard_normal(6), 0.4)
    rows = rng.integers(0, 2, (150, 6)).astype(float)
    masker = shap.maskers.Independent(rows, max_samples=len(rows))
    explainer = shap.LinearExplainer((model.weights, -model.threshold), masker)
    x = rng.integers(0, 2, (3, 6)).astype(float)
    found = explainer(x)
    assert np.allclose(found.values, model.weights * (x - rows.mean(axis=0)))
    assert np.allclose(found.values.sum(axis=1) + found.base_values, model.margin(x))
    assert found.base_values.shape == (3,)


# --- Explanation -----------------------------------------------------------------------------


def test_an_explanation_forgets_its_subclass():
    """Copies and slices of a naive subclass are plain ones: so ours copies itself."""

    class NaiveExplanation(shap.Explanation):
        """Adds nothing."""

    found = NaiveExplanation(np.zeros((3, 2)), np.zeros(3), np.zeros((3, 2)))
    found.extra = "lost"
    for again in (copy.copy(found), found[0], found[:2]):
        assert not hasattr(again, "extra")
    ours = reasons(5)
    assert type(ours[0]) is type(ours[:2]) is type(copy.copy(ours)) is ReasonExplanation


def test_brackets_of_ours_are_those_of_shap():
    """Places, names, masks and lists choose the same values."""
    ours = reasons(8)
    theirs = shap.Explanation(
        ours.values, ours.base_values, ours.data, feature_names=list(ours.feature_names)
    )
    for item in (
        3, -1, slice(1, 5), [2, 0], np.arange(8) % 2 == 0, (0, 1), (slice(None), "smoker"),
        (slice(2, 6), ["smoker", "age ≥ 50"]), (..., 2), (4, slice(0, 2)),
    ):  # fmt: skip
        for name in ("values", "base_values", "data"):
            found, expected = (getattr(each[item], name) for each in (ours, theirs))
            np.testing.assert_array_equal(found, expected)


def test_operators_pass_through_three_methods():
    """Those that ours overrides to drop its fields; a new release that adds one tells us here."""
    for name in ("_numpy_func", "_apply_binary_operator", "percentile", "sum"):
        assert callable(getattr(shap.Explanation, name))
    found = reasons(6)
    for result in (
        found.mean(0), found.abs, found.max(0), found.min(1), found.sum(0), found + 1, 2 * found,
        found / 2, found - found, found.percentile(50, 0), found.argsort, found.flip,
        found.hstack(found),
    ):  # fmt: skip
        assert type(result) is shap.Explanation
        assert not hasattr(result, "reason_mask")


def test_an_explanation_of_no_rows_has_no_base():
    """shap keeps an empty base without its dimension, and a slice to nothing loses its width."""
    empty = shap.Explanation(np.zeros((0, 2)), np.zeros(0), np.zeros((0, 2)))
    assert len(empty) == 0
    ours = reasons()[:0]
    assert ours.values.shape == (0, 4)
    assert ours.base_values.shape == (0,)


def test_explanations_can_be_pickled():
    """With the reasons of their rows."""
    found = pickle.loads(pickle.dumps(reasons(5)))
    assert found.reason_mask.shape == (5, 4)
    assert found[1].reason_mask.shape == (4,)


# --- Explainer and maskers ---------------------------------------------------------------------


def test_the_signatures_that_ours_follows():
    """Ours takes every argument of the base that could matter to a caller."""
    base = set(inspect.signature(shap.Explainer.__init__).parameters)
    ours = set(inspect.signature(SufficientReasonExplainer.__init__).parameters)
    assert base - ours <= {"algorithm", "kwargs"}
    called = inspect.signature(shap.Explainer.__call__).parameters
    kinds = {name for name, p in called.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    assert kinds - {"self"} <= set(inspect.signature(SufficientReasonExplainer.__call__).parameters)
    assert isinstance(SufficientReasonExplainer(LinearModel([1.0], 0.5)), shap.Explainer)


def test_tabular_maskers_hold_their_rows():
    """Cut to 100 unless told otherwise; a frame becomes an array."""
    frame = pd.DataFrame(background(), columns=NAMES)
    for kind in (shap.maskers.Independent, shap.maskers.Partition):
        assert np.shape(kind(frame, max_samples=150).data) == (150, 4)
        assert isinstance(kind(frame).data, np.ndarray)
        assert len(kind(frame).data) == 100
        assert issubclass(kind, shap.maskers.Masker)
        assert not hasattr(kind(frame), "mean")
    moments = shap.maskers.Independent({"mean": np.zeros(4), "cov": np.eye(4)})
    assert moments.mean.shape == (4,)
    assert issubclass(shap.maskers.Impute, shap.maskers.Masker)
    assert not issubclass(shap.maskers.Impute, shap.maskers.Independent)


def test_the_serializer_writes_blocks():
    """A class, then named blocks that are read in their order; `Explainer.load` finds ours."""
    explainer = SufficientReasonExplainer(LinearModel([1.0, 2.0], 0.5), delta=0.8)
    file = io.BytesIO()
    explainer.save(file)
    file.seek(0)
    assert pickle.load(file) is SufficientReasonExplainer
    file.seek(0)
    again = shap.Explainer.load(file)
    assert again.delta == 0.8
    assert again.linear_model == explainer.linear_model


# --- Plots -----------------------------------------------------------------------------------


def words(ax: Any = None) -> str:
    """Return everything that is written in the figure."""
    figure = plt.gcf() if ax is None else ax.figure
    figure.canvas.draw()
    return "\n".join(
        text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text().strip()
    )


def longest(n: int = 40) -> ReasonExplanation:
    """Return the row with the longest reason, which is not all of the features."""
    found = reasons(n)
    return found[int(np.argmax(found.reason_size))]


@pytest.mark.parametrize("view", ["margin", "probability"])
def test_waterfall(view: str):
    """Facts with their values, and the score that they add up to."""
    one = longest() if view == "margin" else longest().as_guarantee()
    shap.plots.waterfall(one, show=False)
    written = words()
    for name in NAMES:
        assert name in written
    total = one.base_values + one.values.sum()
    shown = f"{total:0.03f}".rstrip("0").rstrip(".").replace("-", "\N{MINUS SIGN}")
    assert f"$ = {shown}$" in written
    if view == "margin":
        model = one.reasons.model
        assert total == pytest.approx(model.margin(one.reasons.rows)[0])


SINGLE: dict[str, Callable[[ReasonExplanation], Any]] = {
    "waterfall": lambda one: shap.plots.waterfall(one, show=False),
    "bar": lambda one: shap.plots.bar(one, show=False),
    "force": lambda one: shap.plots.force(one, matplotlib=True, show=False),
}


@pytest.mark.parametrize("plot", SINGLE.values(), ids=SINGLE.keys())
def test_members_of_the_reason_are_marked_where_one_row_is_drawn(plot: Any):
    """By a sign before their names; the others have none, nor have names of several rows."""
    found = reasons()
    some = np.flatnonzero((found.reason_size > 0) & (found.reason_size < 4))
    one = found[int(some[0])]
    plot(one)
    written = words()
    drawn = [n for n in NAMES if n in written]
    assert len(drawn) >= 3
    for name, inside in zip(NAMES, one.reason_mask, strict=True):
        assert (f"● {name}" in written) == bool(inside and name in drawn)
    plt.close("all")
    shap.plots.bar(found, show=False)
    assert "●" not in words()


@pytest.mark.parametrize("kind", ["single", "batch", "cohorts"])
def test_bar(kind: str):
    """One row, the mean over rows, or one bar for each class; names are whole."""
    found = reasons()
    labels = [str(label) for label in found.prediction]
    given = {"single": longest(), "batch": found, "cohorts": found.cohorts(labels).abs.mean(0)}
    ax = shap.plots.bar(given[kind], show=False)
    written = words(ax)
    for name in NAMES:
        assert name in written
    if kind == "cohorts":
        assert "granted" in written
        assert "refused" in written


@pytest.mark.parametrize("order", ["mean", "max"])
def test_beeswarm(order: str):
    """Every name, also in an order of one's own."""
    ranks = {} if order == "mean" else {"order": shap.Explanation.abs.max(0)}
    shap.plots.beeswarm(reasons(), show=False, **ranks)
    written = words()
    for name in NAMES:
        assert name in written


@pytest.mark.parametrize("by", ["hclust", "size"])
def test_heatmap(by: str):
    """Reasons as coloured cells; rows in shap's order, or by the size of the reason."""
    found = reasons()
    order = shap.Explanation.hclust() if by == "hclust" else np.argsort(found.reason_size)
    ax = shap.plots.heatmap(found, instance_order=order, show=False)
    written = words(ax)
    for name in NAMES:
        assert name in written


@pytest.mark.parametrize("view", ["margin", "probability"])
def test_force_in_matplotlib(view: str):
    """Values that are zero are dropped: outside the reason, if only that is to be seen."""
    one = longest().reason_only if view == "margin" else longest().as_guarantee()
    shap.plots.force(one, matplotlib=True, show=False)
    written = words()
    for name, inside in zip(NAMES, one.reason_mask, strict=True):
        assert (name in written) == bool(inside)


def test_force_as_html():
    """One row, and rows stacked, which share one base."""
    one, many = shap.plots.force(longest()), shap.plots.force(reasons())
    assert type(many).__name__ == "AdditiveForceArrayVisualizer"
    for drawn in (one, many):
        html = drawn.html()
        assert "job: admin" in html
    assert many.data["baseValue"] == pytest.approx(reasons().base_values[0])


def test_decision():
    """Arrays and one base; names as they are."""
    found = reasons()
    shap.plots.decision(
        float(found.base_values[0]), found.values, features=found.data,
        feature_names=list(found.feature_names), show=False,
    )  # fmt: skip
    written = words()
    for name in NAMES:
        assert name in written


def test_scatter():
    """A feature by its name, coloured by another."""
    found = reasons()
    shap.plots.scatter(found[:, "job: admin"], color=found[:, "smoker"], show=False)
    written = words()
    assert "job: admin" in written
    assert "smoker" in written


PLOTS: dict[str, Callable[[ReasonExplanation], Any]] = {
    "waterfall": lambda found: shap.plots.waterfall(found[0], show=False),
    "bar": lambda found: shap.plots.bar(found, show=False),
    "beeswarm": lambda found: shap.plots.beeswarm(found, show=False),
    "heatmap": lambda found: shap.plots.heatmap(found, show=False),
    "force": lambda found: shap.plots.force(found[0], matplotlib=True, show=False),
}


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS.keys())
def test_plots_of_raw_columns(plot: Callable[[ReasonExplanation], Any]):
    """With categories and missing values in display_data, and numbers in the data."""
    units = [
        Unit.one_hot("job", [0, 1, 2], labels=["job: clerk", "job: nurse", "job: admin"]),
        Unit.real("age", 3),
    ]
    model = LinearModel([1.0, -1.0, 0.5, 0.05], 2.0, units=units)
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.eye(3)[rng.integers(0, 3, 30)], rng.integers(20, 70, 30)])
    found = SufficientReasonExplainer(model, rows, delta=0.9)(rows[:12])
    found.display_data[0, 1] = "missing"
    plot(found)
    written = words()
    assert "age" in written
    assert "job" in written


def test_labels_are_cut_at_an_equals_sign():
    """So facts are written with a colon or a sign of comparison."""
    found = reasons(12)
    names = ["a = 1", *NAMES[1:]]
    plain = shap.Explanation(found.values, found.base_values, found.data, feature_names=names)
    ax = shap.plots.bar(plain, show=False)
    labels = {label.get_text() for label in ax.get_yticklabels()}
    assert {"job: admin", "income > 50", " 1"} <= labels

"""What shap's documentation does with an Explanation of a table works on reasons as well."""

import time
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shap

from sklearn_probsr import LinearModel, ReasonExplanation, SufficientReasonExplainer, plots
from tests.explained import explanation, mixed_explanation

# The calls of shap's notebooks on tabular data and linear models: the API examples of each plot,
# "An introduction to explainable AI with Shapley values", "Explaining linear models".
CALLS: dict[str, Callable[[Any], Any]] = {
    "bar": lambda r: shap.plots.bar(r, show=False),
    "bar of one": lambda r: shap.plots.bar(r[0], show=False),
    "bar with max_display": lambda r: shap.plots.bar(r, max_display=12, show=False),
    "bar of maxima": lambda r: shap.plots.bar(r.abs.max(0), show=False),
    "bar of means": lambda r: shap.plots.bar(r.abs.mean(0), show=False),
    "bar of cohorts": lambda r: shap.plots.bar(r.cohorts(2).abs.mean(0), show=False),
    "bar of named cohorts": lambda r: shap.plots.bar(
        r.cohorts(np.where(r.reason_size > 4, "long", "short")).abs.mean(0), show=False
    ),
    "beeswarm": lambda r: shap.plots.beeswarm(r, show=False),
    "beeswarm by maxima": lambda r: shap.plots.beeswarm(r, order=r.abs.max(0), show=False),
    "beeswarm by a chain": lambda r: shap.plots.beeswarm(
        r, order=shap.Explanation.abs.max(0), show=False
    ),
    "beeswarm of sizes": lambda r: shap.plots.beeswarm(r.abs, color="shap_red", show=False),
    "heatmap": lambda r: shap.plots.heatmap(r, show=False),
    "heatmap by sums": lambda r: shap.plots.heatmap(r, instance_order=r.sum(1), show=False),
    "heatmap by a chain": lambda r: shap.plots.heatmap(
        r, instance_order=shap.Explanation.sum(1), show=False
    ),
    "heatmap by maxima": lambda r: shap.plots.heatmap(r, feature_values=r.abs.max(0), show=False),
    "waterfall": lambda r: shap.plots.waterfall(r[0], show=False),
    "waterfall with max_display": lambda r: shap.plots.waterfall(r[0], max_display=14, show=False),
    "scatter": lambda r: shap.plots.scatter(r[:, "worst area"], show=False),
    "scatter of the first": lambda r: shap.plots.scatter(
        r[:, r.abs.mean(0).argsort[-1]], show=False
    ),
    "scatter in colour": lambda r: shap.plots.scatter(r[:, "worst area"], color=r, show=False),
    "force": lambda r: shap.plots.force(r[0], matplotlib=True, show=False),
    "decision": lambda r: shap.plots.decision(
        r.base_values[0], r.values, feature_names=list(r.feature_names), show=False
    ),
    "summary": lambda r: shap.summary_plot(r.values, r.data, show=False),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The NumPy global RNG was seeded", "ignore::UserWarning")
def test_documented_plots(call: str):
    """Every call draws."""
    CALLS[call](explanation())
    assert plt.get_fignums()
    plt.close("all")


def test_documented_orders():
    """Rows and features can be put in the order of an aggregate, and keep their reasons."""
    r = explanation()
    by_sum = np.argsort(r.values.sum(1))
    turned = r[r.sum(1).argsort]
    assert isinstance(turned, ReasonExplanation)
    assert np.array_equal(turned.values, r.values[by_sum])
    assert np.array_equal(turned.reason_size, r.reason_size[by_sum])
    assert list(turned.index) == list(r.index[by_sum])
    by_mean = np.argsort(np.abs(r.values).mean(0))
    across = r[:, r.abs.mean(0).argsort]
    assert np.array_equal(across.values, r.values[:, by_mean])
    assert np.array_equal(across.reason_mask, r.reason_mask[:, by_mean])
    assert np.array_equal(r.abs.mean(0).argsort.flip.values, by_mean[::-1])
    for aggregate in (r.abs.max(0), r.sum(1), r.mean(0), r.percentile(90, 0), (r * 2).abs.min(0)):
        assert type(aggregate) is shap.Explanation
        assert np.array_equal(aggregate.abs.values, np.abs(aggregate.values))
    classes = mixed_explanation()
    assert classes[classes.sum(1).argsort].shape == classes.shape


def test_pictures_are_shown_if_asked(monkeypatch: pytest.MonkeyPatch):
    """``show`` and ``ax`` are taken by every picture, and nothing is shown unasked."""
    shown: list[str] = []
    monkeypatch.setattr(plt, "show", lambda: shown.append("now"))
    r = explanation()
    for draw, what in (
        (plots.waterfall, r[0]), (plots.curve, r[:2]), (plots.frequency, r),
        (plots.reasons_heatmap, r),
    ):  # fmt: skip
        _, ax = plt.subplots()
        assert draw(what, ax=ax, show=False) is ax
        assert not shown
        assert draw(what, ax=ax, show=True) is ax
        assert shown.pop() == "now"
    plt.close("all")


def test_tables_take_no_longer_than_the_search():
    """A table of many rows costs at most about twice the search for its reasons, with room."""
    rng = np.random.default_rng(0)
    weights, rows = rng.standard_normal(30), rng.random((20_000, 30)) < 0.5
    model = LinearModel(weights, float(weights.sum() / 2))
    explain = SufficientReasonExplainer(model)
    found = explain(rows, silent=True)
    found.to_frame()

    def least(call: Callable[[], Any]) -> float:
        times = []
        for _ in range(3):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        return min(times)

    search = least(lambda: explain._question.answer(found.reasons.rows, 1, True))
    assert least(found.to_frame) <= 4 * search
    table = found[:200].to_frame()
    assert table["reason"].tolist() == [one.feature_names for one in found[:200].reasons]

"""What the shell costs: the explainer against the core that it calls, and against shap's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import (
    LinearModel,
    SufficientReasonExplainer,
    compare,
    sufficient_reasons,
)
from tests.benchmarks.cases import DELTA
from tests.benchmarks.measure import best_times
from tests.benchmarks.report import Row, Table, at_most, seconds, times

ROWS = 10_000
FLIPS = 0.05
REPEATS = 5
SINGLE_ROWS = 20
SINGLE_REPEATS = 40


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield Table(
        "Explainer: batch",
        f"`SufficientReasonExplainer` (delta = {DELTA}) on a DataFrame, over "
        "`sufficient_reasons` of the same rows as a boolean array. Breast cancer, above the median "
        f"or not: rows drawn with repetition, {FLIPS:.0%} of the values flipped. A logistic "
        "regression on a DataFrame of 400 rows.",
        ("distribution", "rows", "core", "explainer", "ratio"),
        tuple(_batch(*case) for case in (("uniform", ROWS), ("400 background rows", 1_000))),
    )
    yield Table(
        "Explainer: one row",
        "`explainer(row)` after warm-up, over `shap.LinearExplainer.__call__` on the same row, a "
        f"DataFrame with one line; medians over {SINGLE_ROWS} rows. The core alone stands beside "
        "it. On standardized columns as they are, real numbers that can cost or gain, the search "
        "itself takes longer than shap's products of numbers, so there is no target.",
        ("columns", "distribution", "shap", "core", "explainer", "core ratio", "ratio"),
        (
            _single("binary", "uniform", 5),
            _single("binary", "400 background rows", 5),
            _single("real", "400 background rows", None),
        ),
    )
    yield Table(
        "Tables",
        "`to_frame` and `as_guarantee` over the search for the reasons (delta = "
        f"{DELTA}, uniform, rows and weights at random). What `as_guarantee` costs is the bounds "
        "of every set on the way to a reason, each once however many rows share it: no target.",
        ("view", "d", "rows", "search", "view of it", "ratio"),
        (_viewed("to_frame", 200_000, 2), _viewed("as_guarantee", 10_000, None)),
    )
    yield Table(
        "Comparator",
        "`compare` over the explainer and `shap.LinearExplainer` together, on the same rows; fresh "
        "each time, so tables are built anew. 1,000 background rows, independent features.",
        ("d", "rows", "explainer", "shap", "compare", "ratio"),
        (_compared(),),
    )


def _viewed(view: str, n: int, limit: float | None, d: int = 30) -> Row:
    rng = np.random.default_rng(0)
    weights, rows = rng.standard_normal(d), rng.random((n, d)) < 0.5
    explainer = SufficientReasonExplainer(LinearModel(weights, float(weights.sum() / 2)))
    found = explainer(rows, silent=True)
    getattr(found[:10], view)()
    model = explainer.linear_model
    search, seen = best_times(
        3 if limit else 1,
        lambda: sufficient_reasons(model, rows, delta=DELTA),
        getattr(found, view),
    )
    cells = (view, str(d), f"{n:,}", seconds(search), seconds(seen), times(seen / search))
    return Row(cells) if limit is None else Row(cells, *at_most(seen / search, limit, "x"))


def _compared(d: int = 100, n: int = 1_000) -> Row:
    rng = np.random.default_rng(0)
    data = rng.random((2 * n, d)) < rng.uniform(0.1, 0.9, d)
    weights = rng.standard_normal(d)
    model = LinearModel(weights, float(weights @ data.mean(axis=0)))
    rows, background = data[:n], data[n:].astype(float)

    def shap_values() -> None:
        import shap

        masker = shap.maskers.Independent(background, max_samples=n)
        shap.LinearExplainer((weights, -model.threshold), masker)(rows.astype(float))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(model, rows[:2], background)
        own, theirs, both = best_times(
            2,
            lambda: SufficientReasonExplainer(model, background)(rows),
            shap_values,
            lambda: compare(model, rows, background),
        )
    ratio = both / (own + theirs)
    cells = (str(d), f"{n:,}", seconds(own), seconds(theirs), seconds(both), times(ratio))
    return Row(cells, *at_most(ratio, 3, "x"))


def _data(columns: str) -> tuple[pd.DataFrame, LogisticRegression]:
    raw, y = load_breast_cancer(return_X_y=True, as_frame=True)
    scaled = pd.DataFrame(StandardScaler().fit_transform(raw), columns=raw.columns)
    frame = (raw > raw.median()).astype(float) if columns == "binary" else scaled
    return frame, LogisticRegression().fit(frame[:400], y[:400])


def _explainer(columns: str, law: str) -> tuple[pd.DataFrame, SufficientReasonExplainer]:
    frame, fitted = _data(columns)
    masker = None if law == "uniform" else frame[:400]
    return frame, SufficientReasonExplainer(fitted, masker, delta=DELTA)


def _batch(law: str, n: int) -> Row:
    frame, explainer = _explainer("binary", law)
    rng = np.random.default_rng(0)
    rows = frame.to_numpy(dtype=bool)[rng.integers(0, len(frame), n)]
    rows ^= rng.random(rows.shape) < FLIPS
    given = pd.DataFrame(rows.astype(float), columns=frame.columns)
    model, distribution = explainer.linear_model, explainer.distribution
    found = explainer(given, silent=True)
    expected = sufficient_reasons(model, rows, delta=DELTA, distribution=distribution)
    if not np.array_equal(found.reason_mask, expected.mask):
        raise AssertionError("the explainer and the core disagree")
    core, ours = best_times(
        REPEATS if law == "uniform" else 2,
        lambda: sufficient_reasons(model, rows, delta=DELTA, distribution=distribution),
        lambda: explainer(given, silent=True),
    )
    cells = (law, f"{n:,}", seconds(core), seconds(ours), times(ours / core))
    return Row(cells, *at_most(ours / core, 3, "x"))


def _single(columns: str, law: str, limit: float | None) -> Row:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shap

        frame, explainer = _explainer(columns, law)
        fitted = explainer.model
        theirs = shap.LinearExplainer(
            (fitted.coef_.ravel(), float(fitted.intercept_[0])),
            shap.maskers.Independent(frame[:400], max_samples=400),
        )
        measured = np.array([_one(explainer, theirs, frame, i) for i in range(SINGLE_ROWS)])
    plain, core, ours = np.median(measured, axis=0)
    core_ratio, ratio = np.median(measured[:, 1:] / measured[:, :1], axis=0)
    cells = (
        columns, law, seconds(plain), seconds(core), seconds(ours), times(core_ratio), times(ratio),
    )  # fmt: skip
    return Row(cells) if limit is None else Row(cells, *at_most(ratio, limit, "x"))


def _one(explainer: SufficientReasonExplainer, theirs: object, frame: pd.DataFrame, i: int) -> list:
    row = frame[400 + i : 401 + i]
    inside = explainer(row).reasons.rows
    model, distribution = explainer.linear_model, explainer.distribution
    return best_times(
        SINGLE_REPEATS,
        lambda: theirs(row),
        lambda: sufficient_reasons(model, inside, delta=DELTA, distribution=distribution),
        lambda: explainer(row),
    )

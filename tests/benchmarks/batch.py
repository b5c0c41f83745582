"""Explain batches of rows, and compare with sorting their scores."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

from sklearn_probsr import sufficient_reason, sufficient_reasons
from tests.benchmarks.cases import DELTA, another, draw, scores
from tests.benchmarks.measure import best_times
from tests.benchmarks.report import Row, Table, at_least, at_most, seconds, times

MODELS = 5
REPEATS = 7
THRESHOLDS = ("0", "sum(w)/2")


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    speed, answers = [], []
    for d, n, limit in ((30, 20_000, 8), (100, 2_000, 4), (500, 2_000, 2)):
        for threshold in THRESHOLDS:
            row, more = _batch(d, n, threshold, limit)
            speed.append(row)
            answers.append(more)
    yield Table(
        "Batch: time",
        f"`sufficient_reasons` (delta = {DELTA}, uniform completions) on a batch of random rows, "
        "over `np.argsort(scores, axis=1, kind='stable')` of the same rows' scores in float64, "
        "which merely ranks the features. Gaussian weights. The threshold sum(w)/2 makes both "
        f"classes equally likely, which is the harder case. Of {MODELS} models, each the best of "
        f"{REPEATS} turns: the medians, the ratio of the sums, and the worst model's ratio, to "
        "which the target applies. A model takes longer than most where a row's guarantee lies so "
        "close to delta that only a costlier engine tells on which side. A model's tables are "
        "built beforehand (see set-up).",
        ("d", "threshold", "rows", "argsort", "ours", "median", "overall", "worst"),
        tuple(speed),
    )
    yield Table(
        "Batch: answers",
        "What the same calls proved: the share of rows whose reason is proved to be minimum, the "
        "median width of the interval that encloses the guarantee, and the median size of a "
        "reason.",
        ("d", "threshold", "rows", "minimum", "width", "size"),
        tuple(answers),
    )
    yield _set_up()


def _batch(d: int, n: int, threshold: str, limit: float) -> tuple[Row, Row]:
    ours, sorts, widths, sizes = [], [], [], []
    proved = 0
    for seed in range(MODELS):
        model, rows = draw(d, n, seed, threshold)
        ranked = scores(model, rows)
        reasons = sufficient_reasons(model, rows, delta=DELTA)  # builds the tables
        proved += int(np.count_nonzero(reasons.minimality == "minimum"))
        widths.append(reasons.upper - reasons.lower)
        sizes.append(reasons.size)
        own, sort = best_times(
            REPEATS,
            lambda model=model, rows=rows: sufficient_reasons(model, rows, delta=DELTA),
            lambda ranked=ranked: np.argsort(ranked, axis=1, kind="stable"),
        )
        ours.append(own)
        sorts.append(sort)
    ratios = np.divide(ours, sorts)
    share = proved / (MODELS * n)
    time_row = Row(
        (
            str(d),
            threshold,
            f"{n:,}",
            seconds(statistics.median(sorts)),
            seconds(statistics.median(ours)),
            times(float(np.median(ratios))),
            times(sum(ours) / sum(sorts)),
            times(ratios.max()),
        ),
        *at_most(ratios.max(), limit, "x"),
    )
    answer_row = Row(
        (
            str(d),
            threshold,
            f"{MODELS} x {n:,}",
            f"{np.floor(share * 1e5) / 1e3:.3f}%",
            f"{np.median(np.concatenate(widths)):.1e}",
            f"{np.median(np.concatenate(sizes)):g}",
        ),
        *at_least(100 * share, 99.9, "%"),
    )
    return time_row, answer_row


def _set_up(d: int = 500) -> Table:
    """Time a fresh model with its first row; the kernels are compiled by then."""
    model, rows = draw(d, 2_000, 0, "sum(w)/2")
    ranked = scores(model, rows)

    def fresh() -> None:
        sufficient_reason(another(model), rows[0], delta=DELTA)

    fresh()
    own, sort = best_times(REPEATS, fresh, lambda: np.argsort(ranked, axis=1, kind="stable"))
    return Table(
        "Batch: set-up",
        "What a model costs before its first answer: a fresh `LinearModel` and one row, with the "
        "kernels compiled. The ratio is to the argsort of 2,000 rows.",
        ("d", "time", "ratio"),
        (Row((str(d), seconds(own), times(own / sort)), *at_most(own, 0.2, " s")),),
    )

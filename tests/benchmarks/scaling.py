"""Explain one row of ever larger models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr import LinearModel, sufficient_reason
from tests.benchmarks.cases import DELTA, ONE_ROW, draw
from tests.benchmarks.measure import best_times, run_process
from tests.benchmarks.report import Row, Table, at_most, seconds, times

SIZES = (100, 1_000, 10_000, 100_000)
ROWS = 5


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    drawn = [draw(d, ROWS, 0, "sum(w)/2") for d in SIZES]
    firsts, warms = [], []
    for model, rows in drawn:
        sufficient_reason(model, rows[0], delta=DELTA)
        firsts.append(lambda model=model, rows=rows: _first(model, rows[0]))
        warms.append(lambda model=model, rows=rows: _one_by_one(model, rows))
    best = best_times(3, *firsts, *warms)
    fresh, warm = best[: len(SIZES)], [time / ROWS for time in best[len(SIZES) :]]
    lines = []
    for name, column in (("fresh", fresh), ("warm", warm)):
        for i, d in enumerate(SIZES):
            per_feature = seconds(column[i] / d)
            if i == 0:
                lines.append(Row((name, f"{d:,}", seconds(column[i]), per_feature, "")))
                continue
            growth = column[i] / column[i - 1]
            cells = (name, f"{d:,}", seconds(column[i]), per_feature, times(growth))
            lines.append(Row(cells, *at_most(growth, 15, "x")))
    yield Table(
        "Scaling: time",
        "One row at a time, threshold sum(w)/2. Fresh: the model is new, so its tables are built "
        "too. Warm: the tables are there. Growth is the factor to the line above, for ten times "
        "as many features; linear time would give 10x.",
        ("model", "d", "time", "time / d", "growth"),
        tuple(lines),
    )
    peak = run_process(ONE_ROW.format(d=SIZES[-1], delta=DELTA)).peak
    floor = run_process("import sklearn_probsr._functions").peak
    yield Table(
        "Scaling: memory",
        "The peak memory of a process that explains one row of the largest model, over that of "
        "one that only imports the package and what it uses.",
        ("d", "peak", "import alone", "ratio"),
        (
            Row(
                (
                    f"{SIZES[-1]:,}",
                    f"{peak / 1e6:.0f} MB",
                    f"{floor / 1e6:.0f} MB",
                    times(peak / floor),
                ),
                *at_most(peak / 1e9, 1, " GB"),
            ),
        ),
    )


def _first(model: LinearModel, row: NDArray[np.bool_]) -> None:
    sufficient_reason(LinearModel(model.weights, model.threshold), row, delta=DELTA)


def _one_by_one(model: LinearModel, rows: NDArray[np.bool_]) -> None:
    for row in rows:
        sufficient_reason(model, row, delta=DELTA)

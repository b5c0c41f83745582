"""One row at a time, as a model server is asked: latencies and memory over minutes."""

from __future__ import annotations

import gc
import os
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from sklearn_probsr import SufficientReasonExplainer
from tests.benchmarks.cost import coins, numbers
from tests.benchmarks.report import Row, Table, at_most, seconds

# How long a server is asked, in seconds.
SECONDS = float(os.environ.get("SERVICE_SECONDS", "600"))


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    cases = {
        "30 numbers, 1,000 background rows": numbers(1_000, 5_000),
        "the same, without proofs": _unproved(),
        "100 binary columns, uniform": coins(5_000),
    }
    # Arrays of plain floats: lists of them would be most of what memory grows by.
    took = {name: array("d") for name in cases}
    cpu = {name: array("d") for name in cases}
    for explainer, X in cases.values():
        explainer.explain_frame(X[:20])  # compiles, and builds what is built once
    rng, start, early = np.random.default_rng(5), time.monotonic(), 0
    while (passed := time.monotonic() - start) < SECONDS:
        if not early and passed > SECONDS / 6:
            early = _memory()
        for name, (explainer, X) in cases.items():
            row = X.iloc[[int(rng.integers(len(X)))]]
            first, spent = time.perf_counter(), time.thread_time()
            explainer.explain_frame(row)
            took[name].append(time.perf_counter() - first)
            cpu[name].append(time.thread_time() - spent)
    grown = (_memory() - early) / 2**20
    lines = [
        Row(
            (
                name,
                f"{len(took[name]):,}",
                *(seconds(float(np.quantile(cpu[name], q))) for q in (0.5, 0.99)),
                *(seconds(float(np.quantile(took[name], q))) for q in (0.5, 0.99)),
            )
        )
        for name in cases
    ]
    yield Table(
        "One row at a time",
        f"Calls of explain_frame with one row, of three explainers in turn, for {SECONDS:.0f} "
        "seconds: what they take of the CPU, and by the clock of a machine that others use too.",
        ("case", "calls", "median", "99%", "clock, median", "clock, 99%"),
        tuple(lines),
    )
    yield Table(
        "Memory of a server",
        "Memory of that process at the end, above that after a sixth of the time.",
        ("grown by",),
        (Row((f"{grown:.1f} MB",), *at_most(grown, 20, " MB")),),
    )


def _unproved() -> tuple[SufficientReasonExplainer, pd.DataFrame]:
    explainer, X = numbers(1_000, 5_000)
    model, distribution = explainer.model, explainer.distribution
    return SufficientReasonExplainer(model, distribution, prove=False), X


def _memory() -> int:
    """Return how many bytes of this process are in memory; 0 where nobody says."""
    gc.collect()
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0

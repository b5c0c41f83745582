"""Explain one row in a fresh process, without and with compiled kernels on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from tests.benchmarks.cases import DELTA, ONE_ROW
from tests.benchmarks.measure import Process, run_process
from tests.benchmarks.report import Row, Table, at_most, seconds, times


def tables(d: int = 500) -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    code = ONE_ROW.format(d=d, delta=DELTA)
    turns = [_cold_and_warm(code) for _ in range(2)]
    cold, warm, imports = (min(column) for column in zip(*turns, strict=True))
    names = ("first ever, empty cache", "any later one", "only imports Numba and SciPy")
    cells = [
        (name, seconds(process.clock), seconds(process.cpu), times(process.cpu / imports.cpu))
        for name, process in zip(names, (cold, warm, imports), strict=True)
    ]
    yield Table(
        "Cold start",
        f"The first explanation (d = {d}) of a new Python process, from its launch to its end, "
        "the better of two turns. Numba compiles the kernels at first use and keeps them on "
        "disk. The targets are for the clock, which other work on the machine slows down; the "
        "ratio is of CPU times, to a process that only imports Numba and SciPy's statistics.",
        ("process", "clock", "CPU", "ratio"),
        (
            Row(cells[0], *at_most(cold.clock, 10, " s")),
            Row(cells[1], *at_most(warm.clock, 3, " s")),
            Row(cells[2]),
        ),
    )


def _cold_and_warm(code: str) -> tuple[Process, Process, Process]:
    with tempfile.TemporaryDirectory() as cache:
        cold = run_process(code, NUMBA_CACHE_DIR=cache)
        warm = run_process(code, NUMBA_CACHE_DIR=cache)
    return cold, warm, run_process("import numba, scipy.stats")

"""Explain one row in a fresh process, without and with compiled kernels on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from tests.benchmarks.cases import DELTA, ONE_ROW
from tests.benchmarks.measure import Process, run_process
from tests.benchmarks.report import Row, Table, at_most, seconds, times

# Before the first explanation: imports, Numba's among them, a model and rows.
_SET_UP = """
import numba, numpy as np, scipy.sparse, scipy.special
from sklearn_probsr import *
rng = np.random.default_rng(0)
weights, bits = rng.standard_normal(30), rng.integers(0, 2, (200, 30))
numbers, units = rng.standard_normal((600, 30)), [Unit.real(f"x{j}", j) for j in range(30)]
binary, real = LinearModel(weights, 0.1), LinearModel(weights, 0.1, units=units)
three = ArgmaxModel(rng.standard_normal((3, 30)), np.zeros(3), units=units)
three_binary = ArgmaxModel(rng.standard_normal((3, 30)), np.zeros(3))
words = scipy.sparse.random(3000, 5000, 0.01, format="csr", random_state=0).sign()
text = LinearModel(rng.standard_normal(5000), 0.1)
texts = ArgmaxModel(rng.standard_normal((3, 5000)), np.zeros(3))
"""
# What is explained, by which model, over which completions; and the most seconds it may take.
_FIRST = {
    "uniform completions": ("binary", "bits[0]", "Uniform()", 5),
    "background rows of 0 and 1": ("binary", "bits[0]", "Background(bits)", 5),
    "background rows of numbers": ("real", "numbers[0]", "Background(numbers)", 5),
    "the same, a set without a proof": (
        "real",
        "numbers[0]",
        "Background(numbers), prove=False",
        5,
    ),
    "sparse background rows": ("text", "words[0]", "Background(words)", 5),
    "sparse background rows, three classes": ("texts", "words[0]", "Background(words)", 5),
    "background rows, three classes": ("three", "numbers[0]", "Background(numbers)", 5),
    "the same three classes, a set without a proof": (
        "three",
        "numbers[0]",
        "Background(numbers), prove=False",
        5,
    ),
    "given marginals": ("binary", "bits[0]", "Product.fit(bits)", 10),
    "marginals of numbers": ("real", "numbers[0]", "Marginals.fit(numbers)", 10),
    "marginals of sparse rows": ("text", "words[0]", "Marginals.fit(words)", 10),
    "matching rows": ("binary", "bits[0]", "Matching(bits, min_rows=5)", 10),
    "sparse matching rows": ("text", "words[0]", "Matching(words, min_rows=5)", 10),
    "uniform completions, three classes": ("three_binary", "bits[0]", "Uniform()", 10),
    "given marginals, three classes": ("three_binary", "bits[0]", "Product.fit(bits)", 10),
    "marginals of numbers, three classes": ("three", "numbers[0]", "Marginals.fit(numbers)", 10),
}


def tables(d: int = 500) -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield _process(d)
    yield Table(
        "First use",
        "The CPU time of the first explanation of each kind (d = 30; sparse rows 5,000), without "
        "and with compiled kernels on disk, not counting imports: that of a process less that of "
        "one which stops before it, each the better of two turns. `sklearn-probsr warm-up` takes "
        "it all beforehand.",
        ("over", "first ever", "any later process"),
        tuple(_first(name, *case) for name, case in _FIRST.items()),
    )


def _first(name: str, model: str, row: str, over: str, most: int) -> Row:
    code = f"{_SET_UP}sufficient_reason({model}, {row}, distribution={over}, delta=0.9)"
    turns = [_cold_and_warm(code) for _ in range(2)]
    before = min(run_process(_SET_UP).cpu for _ in turns)
    both = (min(process.cpu for process in column) for column in list(zip(*turns, strict=True))[:2])
    taken, later = (max(cpu - before, 1e-3) for cpu in both)
    return Row((name, seconds(taken), seconds(later)), *at_most(taken, most, " s"))


def _process(d: int) -> Table:
    """Return the table of whole processes."""
    code = ONE_ROW.format(d=d, delta=DELTA)
    turns = [_cold_and_warm(code) for _ in range(2)]
    cold, warm, imports = (min(column) for column in zip(*turns, strict=True))
    names = ("first ever, empty cache", "any later one", "only imports Numba and SciPy")
    cells = [
        (name, seconds(process.clock), seconds(process.cpu), times(process.cpu / imports.cpu))
        for name, process in zip(names, (cold, warm, imports), strict=True)
    ]
    return Table(
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

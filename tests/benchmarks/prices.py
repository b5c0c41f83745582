"""The cheapest reasons: what they take, and how many are proved."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr import Background, LinearModel, Product, Unit, sufficient_reason
from tests.benchmarks.cases import DELTA, draw
from tests.benchmarks.report import Row, Table, at_most, seconds

MANY, LIMIT = 40, 0.02

MEANING = (
    "`sufficient_reason(..., cost=)` at delta = {delta}: of {many} rows of one model, each asked "
    "once, the median and the longest CPU time, beside the median for the fewest features, and how "
    "many are proved to be the cheapest. Costs are drawn at random, whole numbers from 1 to 5 or "
    "any from 0.5 to 2; or they grow with the weights, up to a third, which is where a knapsack is "
    "hard. Gaussian weights, and the threshold that makes both classes equally likely."
)


def _costs(kind: str, weights: NDArray[np.float64]) -> NDArray[Any]:
    rng = np.random.default_rng(len(weights))
    if kind == "1 to 5":
        return rng.integers(1, 6, len(weights))
    if kind == "0.5 to 2":
        return rng.uniform(0.5, 2, len(weights))
    return np.round(np.abs(weights) * rng.uniform(1, 4 / 3, len(weights)) + 0.01, 2)


def _case(law: str, d: int) -> tuple[LinearModel, Any, Any]:
    """Return a model, rows, and what replaces unknown features."""
    if law == "uniform":
        return *draw(d, MANY + 2, 0, "sum(w)/2"), None
    if law == "product":
        chances = np.random.default_rng(0).integers(1, 10, d) / 10
        return *draw(d, MANY + 2, 0, "sum(w)/2"), Product(chances)
    rng = np.random.default_rng(0)
    units = [Unit.real(f"x{j}", j) for j in range(d)]
    X = rng.normal(size=(1_000 + MANY + 2, d))
    return LinearModel(rng.normal(size=d), 0.0, units=units), X[1_000:], Background(X[:1_000])


def _line(law: str, d: int, kind: str) -> Row:
    model, rows, distribution = _case(law, d)
    cost = _costs(kind, model.weights)
    spent: dict[bool, list[float]] = {False: [], True: []}
    proved = 0
    for i, row in enumerate(rows):
        for priced in (False, True):
            asked = {"cost": cost} if priced else {}
            start = time.process_time()
            found = sufficient_reason(model, row, delta=DELTA, distribution=distribution, **asked)
            if i >= 2:  # the first ones build tables, and compile
                spent[priced].append(time.process_time() - start)
        proved += i >= 2 and found.minimality == "minimum"
    fewest, cheapest = (float(np.median(spent[priced])) for priced in (False, True))
    cells = (
        law, str(d), kind, seconds(fewest), seconds(cheapest), seconds(max(spent[True])),
        f"{100 * proved / MANY:.0f}%",
    )  # fmt: skip
    if (law, d) == ("uniform", 100) and kind != "by weight":
        target, met = at_most(1000 * cheapest, 1000 * LIMIT, " ms")
        return Row(cells, target, met and proved == MANY)
    return Row(cells)


def tables() -> Iterator[Table]:
    """Yield the table of all laws."""
    lines = [
        _line("uniform", d, kind) for d in (30, 100) for kind in ("1 to 5", "0.5 to 2", "by weight")
    ]
    lines += [_line(law, 30, "1 to 5") for law in ("product", "background")]
    columns = ("law", "d", "costs", "fewest", "cheapest", "longest", "proved")
    meaning = MEANING.format(delta=DELTA, many=MANY)
    yield Table("The cheapest reasons", meaning, columns, tuple(lines))

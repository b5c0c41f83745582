"""More questions of one decision: what they take beside its reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr import (
    Background,
    LinearModel,
    Unit,
    alternatives,
    breaking_set,
    outlook,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core.options import Options
from sklearn_probsr.extend import law_of
from sklearn_probsr.questions._alternatives import alternatives_of
from sklearn_probsr.questions._asked_decision import Decision
from tests.benchmarks.measure import best_times
from tests.benchmarks.report import Row, Table, at_most, seconds, times

DELTA, TURNS = 0.95, 7
ONE, MANY = 5.0, 20.0
OUTLOOK = 0.05


def coins(d: int, n: int) -> tuple[LinearModel, NDArray[Any]]:
    """Return a model of binary features, and rows."""
    rng = np.random.default_rng(d)
    weights = rng.normal(size=d)
    return LinearModel(weights, float(weights.sum() / 2)), rng.integers(0, 2, (n, d))


def numbers(rows: int) -> tuple[LinearModel, NDArray[np.float64], Background]:
    """Return a model of 30 real-valued columns, rows to ask about, and background rows."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=30)
    units = [Unit.real(f"x{j}", j) for j in range(30)]
    X = rng.normal(size=(rows + 20, 30))
    return LinearModel(weights, 0.0, units=units), X[rows:], Background(X[:rows])


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield _coins()
    yield _rows()
    yield _outlooks()


def _coins() -> Table:
    lines = []
    for d in (30, 100, 500):
        model, rows = coins(d, 300)
        law, options = law_of(model, None), Options(DELTA)
        known = sufficient_reasons(model, rows, delta=DELTA)
        told = [known[i] for i in range(len(rows))]

        def batch(law: Any = law, rows: Any = rows, told: Any = told, asked: Any = options) -> None:
            decisions = [Decision(law, row, asked) for row in rows]
            alternatives_of(decisions, told, 1000)

        def one(model: Any = model, rows: Any = rows) -> None:
            for x in rows[:20]:
                sufficient_reason(model, x, delta=DELTA)

        def asked_of_one(model: Any = model, rows: Any = rows) -> None:
            for x in rows[:20]:
                alternatives(model, x, delta=DELTA)

        def broken(model: Any = model, rows: Any = rows) -> None:
            for x in rows[:20]:
                breaking_set(model, x, delta=DELTA)

        own = best_times(
            TURNS, one, asked_of_one, lambda: sufficient_reasons(model, rows, delta=DELTA),  # noqa: B023
            batch, broken,
        )  # fmt: skip
        a, b, c, e, f = (t / n for t, n in zip(own, (20, 20, 300, 300, 20), strict=True))
        limits = d == 500
        alone = Row(
            (f"{d}", "one row", seconds(a), seconds(b), times(b / a), seconds(f)),
            *(at_most(b / a, ONE, "x") if limits else ()),
        )
        many = Row(
            (f"{d}", "300 rows", seconds(c), seconds(e), times(e / c), ""),
            *(at_most(e / c, MANY, "x") if limits else ()),
        )
        lines += [alone, many]
    return Table(
        "Alternatives under uniform completions",
        "Which features are in every minimum reason and which in some, proved, beside the reason "
        "alone: `alternatives` of one row with the reason that it finds first; of many, what comes "
        "on top of theirs. And `breaking_set` of one row. Times are of a row.",
        ("features", "asked of", "reason", "alternatives", "ratio", "breaking set"),
        tuple(lines),
    )


def _rows() -> Table:
    lines = []
    for n in (200, 1_000):
        model, rows, law = numbers(n)

        def reason(model: Any = model, rows: Any = rows, law: Any = law) -> None:
            for x in rows:
                sufficient_reason(model, x, delta=DELTA, distribution=law)

        def asked(model: Any = model, rows: Any = rows, law: Any = law) -> list[Any]:
            return [alternatives(model, x, delta=DELTA, distribution=law) for x in rows]

        def broken(model: Any = model, rows: Any = rows, law: Any = law) -> list[Any]:
            return [breaking_set(model, x, delta=DELTA, distribution=law) for x in rows]

        own = [t / len(rows) for t in best_times(2, reason, asked, broken)]
        open_ones = sum(bool(one.undecided) for one in asked())
        proved = sum(one.minimality == "minimum" for one in broken())
        told = (seconds(own[0]), seconds(own[1]), times(own[1] / own[0]))
        told += (f"{open_ones} of {len(rows)}", seconds(own[2]), f"{proved} of {len(rows)}")
        lines.append(Row((f"{n:,}", *told)))
    return Table(
        "Alternatives over background rows",
        "Thirty real-valued columns. Every feature is asked about by searching again, with it or "
        "without it; a row is open if that is undecided of a feature. Breaking sets are minimum "
        "where that is proved, else none of their features can be spared. There are no targets.",
        ("background rows", "reason", "alternatives", "ratio", "open", "breaking set", "minimum"),
        tuple(lines),
    )


def _outlooks() -> Table:
    lines = []
    for n, unknown in ((1_000, 10), (1_000, 30)):
        model, rows, law = numbers(n)
        missing = list(range(unknown))

        def look(
            model: Any = model, rows: Any = rows, law: Any = law, missing: Any = missing
        ) -> None:
            for x in rows:
                seen = outlook(model, x, unknown=missing, delta=DELTA, distribution=law)
                _ = seen.probability(1), seen.settled, seen.next

        (whole,) = best_times(3, look)
        took = whole / len(rows)
        target = at_most(took, OUTLOOK, " s") if unknown == 30 else ()
        lines.append(Row((f"{n:,}", f"{unknown}", seconds(took)), *target))
    return Table(
        "Outlooks",
        "What is settled of a row of thirty real-valued columns while some of them are unknown, "
        "two classes: the probability of each, whether it is settled at 0.95, and the table of "
        "what to ask next, exact over the background rows.",
        ("background rows", "unknown", "an outlook"),
        tuple(lines),
    )

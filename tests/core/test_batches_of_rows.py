"""Batches over background rows: the answers of one row at a time, in any order, by any jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Matching,
    SufficientReasonExplainer,
    Unit,
    sufficient_reasons,
)
from sklearn_probsr.results import SufficientReasons
from tests.generated_rows import decision
from tests.interpreted import cases

pytestmark = pytest.mark.filterwarnings("ignore:The (weight|intercept) .* is taken as")

COLUMNS = ("size", "size_lower", "cost", "cost_lower", "lower", "upper", "minimality", "stopped")


def answers(found: SufficientReasons) -> list[tuple[Any, ...]]:
    """Return all that is said of each row."""
    told = zip(*(getattr(found, name).tolist() for name in COLUMNS), strict=True)
    return [
        (found.sets.of(i), found.exact.get(i), found.status[i], found.message[i], *line)
        for i, line in enumerate(told)
    ]


def check(model: Any, X: np.ndarray, law: Any, seed: int, **options: Any) -> None:
    """Ask for all rows, for each by itself, in another order, and with copies."""
    X = np.asarray(X)
    asked = {"distribution": law, **options}
    whole = answers(sufficient_reasons(model, X, **asked))
    alone = [answers(sufficient_reasons(model, X[i : i + 1], **asked))[0] for i in range(len(X))]
    assert alone == whole
    order = np.random.default_rng(seed).integers(0, len(X), 2 * len(X))
    mixed = answers(sufficient_reasons(model, X[order], **asked))
    assert mixed == [whole[i] for i in order.tolist()]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"delta": 1.0},
    {"prove": False, "delta": 0.8},
    {"max_size": 2},
    {"cost": True, "delta": 0.9},
    {"max_size": 3, "present_only": True},
]


@pytest.mark.parametrize("seed", cases(12, 2))
@pytest.mark.parametrize("options", OPTIONS, ids=[" ".join(o) or "default" for o in OPTIONS])
def test_generated_decisions(seed: int, options: dict[str, Any]) -> None:
    """Every option, of rows near the background and of one that is far outside of it."""
    case, rng = decision(8 * seed + (3, 1, 0, 7)[seed % 4]), np.random.default_rng(seed)
    X = np.vstack([case.x, case.rows[rng.integers(0, len(case.rows), 6)]])
    if case.model.units is not None:
        X = np.vstack([X, 1e6 * X[0], X[1] * 2.0**40])
    asked = dict(options)
    if "cost" in asked:
        asked["cost"] = rng.choice([0.1, 1.0, 2.5], case.h).tolist()
    if "present_only" in asked:
        asked["max_size"] = min(case.h, 3)
    check(case.model, X, case.law, seed, **asked)


def scaled(X: np.ndarray, y: np.ndarray, kept: np.ndarray) -> Any:
    """Return a model of real units that was fitted on some rows of a table, and all its rows."""
    X = (X - X[kept].mean(axis=0)) / (X[kept].std(axis=0) + 1e-9)
    fitted = LogisticRegression(max_iter=200).fit(X[kept], y[kept])
    units = [Unit.real(f"x{j}", j) for j in range(X.shape[1])]
    if len(fitted.classes_) == 2:
        line, cut = fitted.coef_[0], -float(fitted.intercept_[0])
        return LinearModel(line, cut, units=units), X
    return ArgmaxModel(fitted.coef_, fitted.intercept_, units=units), X


@pytest.mark.parametrize("table", [load_wine, load_digits])
@pytest.mark.parametrize("two", [True, False])
def test_tables(table: Any, two: bool) -> None:
    """Two and several classes of data, where proofs may end by their budget."""
    X, y = table(return_X_y=True)
    known = np.arange(len(X)) % 4 > 0
    model, X = scaled(X, y == 1 if two else y, known)
    check(model, X[:16:4], Background(X[known][:400]), 0, delta=0.95)


def test_many_rows() -> None:
    """Rows that are searched by a part of them."""
    rng = np.random.default_rng(0)
    rows, d = rng.normal(size=(75_000, 30)), 30
    units = [Unit.real(f"x{j}", j) for j in range(d)]
    X = rng.normal(size=(4, d))
    check(LinearModel(rng.normal(size=d), 0.1, units=units), X, Background(rows), 0)
    lines = rng.normal(size=(3, d))
    check(ArgmaxModel(lines, np.zeros(3), units=units), X[:2], Background(rows), 0)


@pytest.mark.parametrize("seed", cases(6, 1))
def test_matching(seed: int) -> None:
    """The same of rows that share facts."""
    case = decision(seed, 7, ("bits", "categories"), 60)
    X = case.rows[:8]
    check(case.model, X, Matching(case.rows, min_rows=3), seed, max_size=min(case.h, 3))


@pytest.mark.parametrize("classes", [2, 3])
def test_any_number_of_jobs(classes: int) -> None:
    """Rows are shared among jobs and put together again, bit by bit the same."""
    X, y = load_wine(return_X_y=True)
    y = y == 1 if classes == 2 else y
    fitted = LogisticRegression(max_iter=200).fit(X / X.max(axis=0), y)
    rows = np.tile(X / X.max(axis=0), (2, 1))
    one = SufficientReasonExplainer(fitted, rows[:178], delta=0.95)
    with parallel_config(backend="threading"):
        for jobs in (2, 3):
            more = SufficientReasonExplainer(fitted, rows[:178], delta=0.95, n_jobs=jobs)
            assert answers(more(rows).reasons) == answers(one(rows).reasons)

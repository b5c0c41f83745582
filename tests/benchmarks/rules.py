"""Rules of reasons beside anchors and a depth-limited tree, on rows held out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.benchmarks.matching import PYTHON
from tests.benchmarks.report import Row, Table, seconds

DELTA, MOST, DEPTH, ROWS = 0.95, 10, 3, 10

MEANING = (
    "A few rules for a linear model, at most {most}: those of `explanation.rules(X).cover()` at "
    "delta = {delta}; those of anchor-exp at a threshold of {delta} with its defaults (quartiles), "
    "covered by the same greed; and the leaves of a decision tree of depth {depth} fitted to the "
    "model's predictions. All explain the same sparse logistic regression. Half of the rows fit it "
    "and are the background, and {rows} of them are explained, by anchors and by us. The others "
    "are held out: coverage is the share of them that satisfy a rule, precision the share of those "
    "to which the model gives the class of the first rule that they satisfy. A tree covers every "
    "row and guarantees nothing; anchors estimate their precision from samples; only our rules "
    "have a proof, which speaks of replaced features, not of rows held out. There are no targets."
)

Matches = Callable[[NDArray[np.float64]], NDArray[np.bool_]]


@dataclass(frozen=True)
class Case:
    """A model, the rows that fit it, and those held out."""

    name: str
    model: Any
    train: NDArray[np.float64]
    held: NDArray[np.float64]


def cases() -> Iterator[Case]:
    """Yield breast cancer, digits that are 3 or 8, and a mixed table."""
    tables = {"breast cancer": load_breast_cancer(return_X_y=True)}
    X, y = load_digits(return_X_y=True)
    tables["digits 3 or 8"] = (X[np.isin(y, (3, 8))], y[np.isin(y, (3, 8))] == 8)
    rng = np.random.default_rng(0)
    jobs = np.eye(4)[rng.integers(0, 4, 800)]
    ages, children = rng.integers(18, 80, 800), rng.integers(0, 5, 800)
    incomes, heights = rng.lognormal(8, 1, 800).round(), rng.normal(170, 9, 800).round(1)
    numbers = np.column_stack([ages, incomes, children, heights])
    score = jobs @ [2, 0, -1, 1] + (numbers[:, 0] - 48) / 10 + numbers[:, 2] - 2
    tables["mixed table"] = (np.hstack([numbers, jobs]), score + rng.normal(0, 1, 800) > 0.5)
    for name, (given, classes) in tables.items():
        order = np.random.default_rng(1).permutation(len(given))
        rows, labels = given[order].astype(float), np.asarray(classes)[order].astype(int)
        half = len(rows) // 2
        sparse = LogisticRegression(C=0.05, l1_ratio=1, solver="liblinear", random_state=0)
        model = make_pipeline(StandardScaler(), sparse).fit(rows[:half], labels[:half])
        yield Case(name, model, rows[:half], rows[half:])


def ours(case: Case) -> tuple[list[tuple[Matches, int]], float]:
    """Return our rules, and the seconds that they took with their reasons."""
    from sklearn_probsr import SufficientReasonExplainer

    explainer = SufficientReasonExplainer(case.model, case.train, delta=DELTA)
    explainer(case.train[:2], silent=True).rules()  # compiles
    start = time.process_time()
    cover = explainer(case.train[:ROWS], silent=True).rules(case.train).cover(MOST)
    spent = time.process_time() - start
    return [(rule.matches, int(rule.prediction)) for rule in cover], spent


def tree(case: Case) -> tuple[list[tuple[Matches, int]], float]:
    """Return the leaves of a tree that was fitted to what the model says."""
    start = time.process_time()
    found = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    found.fit(case.train, case.model.predict(case.train))
    spent = time.process_time() - start
    leaves = np.unique(found.apply(case.train))

    def of(leaf: int) -> Matches:
        return lambda rows: found.apply(rows.astype(np.float32)) == leaf

    values = found.tree_.value[:, 0]
    return [(of(leaf), int(found.classes_[values[leaf].argmax()])) for leaf in leaves], spent


def anchors(case: Case) -> tuple[list[tuple[Matches, int]], float] | None:
    """Return what anchor-exp finds for the same rows, covered greedily; None without it."""
    scale, last = case.model[0], case.model[-1]
    script = Path(__file__).with_name("tabular_anchors.py")

    def scaled(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1000 * scale.transform(rows)  # anchors are told with two digits behind the point

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exported.npz"
        weights, level = last.coef_[0] / 1000, -last.intercept_[0]
        np.savez(path, rows=scaled(case.train), weights=weights, level=level, count=ROWS)
        command = [os.environ.get(PYTHON, sys.executable), str(script), str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode and "No module named 'anchor'" in run.stderr:
        return None
    run.check_returncode()
    told = json.loads(run.stdout)
    spent = sum(seconds_ for seconds_, _ in told)
    said = case.model.predict(case.train)
    left = [(_matcher(names, scaled), int(said[i])) for i, (_, names) in enumerate(told)]
    open_rows, chosen = np.ones(len(case.train), dtype=np.bool_), []
    while left and len(chosen) < MOST:
        gains = [(m(case.train) & open_rows & (said == label)).sum() for m, label in left]
        best = int(np.argmax(gains))
        if not gains[best]:
            break
        chosen.append(left.pop(best))
        open_rows &= ~chosen[-1][0](case.train)
    return chosen, spent


def _matcher(names: list[str], scaled: Any) -> Matches:
    """Return which rows satisfy an anchor, read from its words: "1.5 < f3 <= 2.0"."""

    def matches(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        inside = np.ones(len(rows), dtype=np.bool_)
        for text in names:
            both = re.fullmatch(r"(?:(\S+) < )?f(\d+) (<=|>|=) (\S+)", text)
            assert both is not None, text
            column = scaled(rows)[:, int(both[2])]
            signs = {"<=": column <= float(both[4]) + 0.005, ">": column > float(both[4]) + 0.005,
                     "=": column == float(both[4])}  # fmt: skip
            inside &= signs[both[3]]
            if both[1] is not None:
                inside &= column > float(both[1]) + 0.005
        return inside

    return matches


def _row(case: Case, who: str, found: tuple[list[tuple[Matches, int]], float] | None) -> Row:
    if found is None:
        return Row((case.name, who, "not installed", "", "", ""))
    rules, spent = found
    said, first = case.model.predict(case.held), np.full(len(case.held), -1)
    for matches, label in reversed(rules):
        first[matches(case.held)] = label
    covered = first >= 0
    right = (first == said)[covered].mean() if covered.any() else np.nan
    share = f"{100 * covered.mean():.0f}%"
    return Row((case.name, who, f"{len(rules)}", share, f"{right:.3f}", seconds(spent)))


def tables() -> Iterator[Table]:
    """Yield the table of all three."""
    rows = []
    for case in cases():
        for who, method in (
            ("rules", ours),
            ("anchors", anchors),
            (f"tree of depth {DEPTH}", tree),
        ):
            rows.append(_row(case, who, method(case)))
    meaning = MEANING.format(delta=DELTA, most=MOST, depth=DEPTH, rows=ROWS)
    columns = ("data", "method", "rules", "coverage", "precision", "CPU time")
    yield Table("A few rules for a model", meaning, columns, tuple(rows))

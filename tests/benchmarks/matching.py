"""Matching rows: reasons against the anchors of anchor-exp, both confirmed on rows held out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import LinearModel, Matching, sufficient_reasons
from sklearn_probsr.extend import law_of
from tests.benchmarks.anchors import DELTA
from tests.benchmarks.report import Row, Table, at_least, at_most, seconds, times

SPLITS, INSTANCES, REPEATS = 4, 40, 5
# Levels that are asked of our search until what is confirmed is as good as an anchor's: of shares,
# and of lower bounds of them.
LEVELS = [(Fraction(k, 100), False) for k in range(95, 101)]
LEVELS += [(Fraction(k, 100), True) for k in range(90, 98)]
# A Python with anchor-exp; by default this one.
PYTHON = "ANCHOR_PYTHON"

MEANING = (
    "Reasons under `Matching` (delta = {delta}, min_rows = 20) against the sets that anchor-exp "
    "returns at a threshold of {delta}, with its defaults, for the same facts (0/1 features: "
    "breast cancer above the median; digits, 0 to 4 against 5 to 9, brighter than 7) of the same "
    "logistic regression, searched on the same rows. A third of the data fits the model, a third "
    "is searched, a third is held out and confirms both: its share of matching rows that keep the "
    "class, and Clopper and Pearson's lower bound of it at 95%, means over {splits} splits with "
    "{rows} rows each. 'At their share' are our smallest sets whose mean share is at least the "
    "anchors', of searches with delta in 0.95, 0.96, ..., 1, and with `cautious=True` and delta in "
    "0.90, ..., 0.97; 'at their bound' the same of the bound; 'closest' where none gets there, "
    "which counts as a miss. Times are per row, ours in a batch on a "
    "model that has seen the rows."
)


@dataclass(frozen=True)
class Case:
    """A model, rows with their split, and some instances."""

    model: LinearModel
    laws: dict[bool, Matching]  # the same rows and the same split, searched plainly or cautiously
    instances: NDArray[np.bool_]

    @property
    def law(self) -> Matching:
        return self.laws[False]

    @property
    def searched(self) -> NDArray[np.bool_]:
        return self.law.rows[~self.law.confirming]


@dataclass
class Score:
    """What some sets are like."""

    sizes: list[int]
    shares: list[float]
    lowers: list[float]
    coverages: list[float]

    def add(self, case: Case, sets: list[list[int]]) -> None:
        for x, features in zip(case.instances, sets, strict=True):
            seen = law_of(case.model, case.law).view(case.model.check_row(x))
            held = seen.matches(features).confirmed
            self.sizes.append(len(features))
            self.shares.append(held.kept / held.matching if held.matching else 0.0)
            self.lowers.append(seen.enclose(features).lower)
            self.coverages.append(held.matching / held.rows)

    @property
    def size(self) -> float:
        return float(np.mean(self.sizes))

    @property
    def share(self) -> float:
        return float(np.mean(self.shares))

    @property
    def bound(self) -> float:
        return float(np.mean(self.lowers))

    def cells(self) -> tuple[str, ...]:
        coverage = float(np.mean(self.coverages))
        return f"{self.size:.2f}", f"{self.share:.3f}", f"{self.bound:.3f}", f"{coverage:.0%}"


def empty() -> Score:
    return Score([], [], [], [])


def cases(name: str) -> list[Case]:
    """Return the splits of one data set."""
    if name == "breast cancer":
        data, target = load_breast_cancer(return_X_y=True)
        rows = data > np.median(data, axis=0)
    else:
        data, digit = load_digits(return_X_y=True)
        rows, target = data > 7, digit >= 5
    found = []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(rows))
        fitted, rest = np.split(order, [len(order) // 3])
        estimator = LogisticRegression(max_iter=1000).fit(rows[fitted], target[fitted])
        model = LinearModel(estimator.coef_[0], -estimator.intercept_[0])
        laws = {c: Matching(rows[rest], random_state=seed, cautious=c) for c in (False, True)}
        found.append(Case(model, laws, rows[rest][~laws[False].confirming][:INSTANCES]))
    return found


def anchors(case: Case) -> list[tuple[float, list[int]]] | None:
    """Return the seconds and the features of each anchor; None where there is no anchor-exp."""
    python = os.environ.get(PYTHON, sys.executable)
    script = Path(__file__).with_name("anchors.py")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exported.npz"
        np.savez(
            path,
            rows=case.searched.astype(int),
            weights=case.model.weights,
            threshold=case.model.threshold,
            instances=case.instances.astype(int),
        )
        run = subprocess.run(
            [python, str(script), str(path)], capture_output=True, text=True, check=False
        )
    if run.returncode and "No module named 'anchor'" in run.stderr:
        return None
    run.check_returncode()
    return [(float(s), list(features)) for s, features in json.loads(run.stdout)]


def ours(case: Case, level: tuple[Fraction, bool]) -> list[list[int]]:
    """Return our sets; where delta is out of reach, the best ones found."""
    delta, cautious = level
    most = case.model.n_units
    found = sufficient_reasons(
        case.model, case.instances, delta=delta, distribution=case.laws[cautious], max_size=most
    )
    return [np.flatnonzero(mask).tolist() for mask in found.mask]


def time_of_ours(case: Case) -> float:
    """Return the best of some times per row, the rows' tables built beforehand."""
    ours(case, LEVELS[0])
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        ours(case, LEVELS[0])
        best = min(best, time.process_time() - start)
    return best / len(case.instances)


def rows_of(name: str) -> list[Row]:
    theirs, levels, their_time, our_time = empty(), {at: empty() for at in LEVELS}, [], []
    for case in cases(name):
        told = anchors(case)
        if told is None:
            why = f"not run: anchor-exp is not installed; name a Python that has it in {PYTHON}"
            return [Row((name, why, "", "", "", "", "", ""))]
        their_time += [s for s, _ in told]
        theirs.add(case, [features for _, features in told])
        our_time.append(time_of_ours(case))
        for level, score in levels.items():
            score.add(case, ours(case, level))
    slow, fast = float(np.mean(their_time)), float(np.mean(our_time))
    first = (name, f"ours at {DELTA}", *levels[LEVELS[0]].cells(), seconds(fast))
    return [
        Row((name, "anchors", *theirs.cells(), seconds(slow), "")),
        Row((*first, times(slow / fast)), *at_least(slow / fast, 1000, "x")),
        *(matched(name, measure, theirs, levels) for measure in ("share", "bound")),
    ]


def matched(
    name: str, measure: str, theirs: Score, levels: dict[tuple[Fraction, bool], Score]
) -> Row:
    """Return our smallest sets that are confirmed as well as the anchors are."""
    goal = getattr(theirs, measure)
    reached = [at for at, score in levels.items() if getattr(score, measure) >= goal]
    closest = max(levels, key=lambda at: getattr(levels[at], measure))
    level = min(reached, key=lambda at: levels[at].size) if reached else closest
    where = f"at their {measure}" if reached else f"closest to their {measure}"
    target, met = at_most(levels[level].size, float(f"{theirs.size:.2f}"), "")
    how = f"delta = {float(level[0]):g}{', cautious' if level[1] else ''}"
    return Row(
        (name, f"ours {where}, {how}", *levels[level].cells(), "", ""),
        f"{measure} >= {goal:.3f}, size {target}",
        met and bool(reached),
    )


def tables() -> list[Table]:
    rows = [row for name in ("breast cancer", "digits") for row in rows_of(name)]
    meaning = MEANING.format(delta=DELTA, splits=SPLITS, rows=INSTANCES)
    columns = ("data", "sets", "size", "share", "bound", "coverage", "time", "faster")
    return [Table("Matching rows", meaning, columns, tuple(rows))]

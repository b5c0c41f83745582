"""Explain over large real-valued backgrounds: passes over the data, growth, and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import shap
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    SufficientReasonExplainer,
    Unit,
    compare,
    sufficient_reason,
)
from sklearn_probsr.rows import law as rows_law
from tests.benchmarks.cases import DELTA
from tests.benchmarks.measure import best_times, run_process
from tests.benchmarks.report import Row, Table, at_most, seconds, times

REPEATS = 5
ASKED = 6
# Rows, columns, passes for the first row, seconds that are as good, passes for a further row.
LARGE = ((50_000, 30, 60, 0.0, 15), (10_000, 100, 60, 0.25, 30))
# What is asked, and the same as above.
OTHERS = (
    ("marginals", 50_000, 30, 200, 0.0, 30),
    ("three classes", 50_000, 30, 60, 0.0, 15),
    ("three classes", 10_000, 100, 60, 0.25, 30),
    ("ten classes", 50_000, 30, 60, 0.0, 60),
    ("ten classes", 10_000, 100, 60, 0.25, 60),
    ("sample of 1,000", 50_000, 30, 60, 0.0, 15),
)
CLASSES = {"three classes": 3, "ten classes": 10}
# What is asked, rows, columns and classes of which memory is measured.
MEMORY = (
    ("reasons", 50_000, 30, 2),
    ("reasons", 10_000, 100, 2),
    ("reasons", 200_000, 30, 2),
    ("reasons", 50_000, 30, 3),
    ("reasons", 50_000, 30, 10),
    ("reasons", 10_000, 100, 10),
    ("proofs", 50_000, 30, 2),
    ("proofs", 10_000, 100, 2),
    ("proofs", 50_000, 30, 10),
    ("a frame", 50_000, 30, 2),
    ("marginals", 50_000, 30, 3),
    ("sample of 1,000", 50_000, 30, 2),
    ("50 rows at once", 50_000, 30, 2),
    ("compare", 50_000, 30, 3),
    ("a Pipeline", 50_000, 30, 2),
)
GROWTH = (1_000, 10_000, 100_000, 1_000_000)
_DRAWN = """
from tests.benchmarks.rows import WAYS, draw, warm_up
warm_up({what!r}, {d}, {classes})
case = draw({n}, {d}, {classes})
"""


class Case(NamedTuple):
    """A background of Gaussian rows, a model, and rows of several classes to explain."""

    model: Any  # of two classes or of several
    rows: np.ndarray
    asked: np.ndarray


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    explain(draw(500, 30))  # compile
    yield Table(
        "Large real-valued backgrounds: time",
        f"`sufficient_reason` (delta = {DELTA}) over `Background(X)` of Gaussian rows, in passes: "
        "one pass is `((X - x) * w).sum(1)` in NumPy over the same data. First: the background is "
        f"new, and so is the model. Further: the slowest of {ASKED} rows, of both classes. Every "
        "guarantee is an exact count.",
        ("rows", "d", "one pass", "first", "passes", "further", "passes"),
        tuple(_large(*asked) for asked in LARGE),
    )
    yield Table(
        "Large real-valued data: marginals and several classes",
        "The same for `Marginals.fit(X)`, for models of three and of ten classes over "
        "`Background(X)`, and for `Background(X, sample=1000)`, whose sets are counted over all "
        "rows.",
        ("what", "rows", "d", "one pass", "first", "passes", "further", "passes"),
        tuple(_other(*asked) for asked in OTHERS),
    )
    yield Table(
        "Large real-valued backgrounds: beside SHAP",
        "Each row of the first table beside two of SHAP's explainers on the same data, all rows of "
        "it: `shap.LinearExplainer`, which knows the model and has no set to find, with its set-up "
        "and one row by `shap_values`; and `shap.explainers.Permutation` with its default number "
        "of evaluations, which calls the decision function alone. The ratio is to that.",
        ("rows", "d", "first", "further", "Linear: first", "further", "Permutation", "ratio"),
        tuple(_beside_shap(*asked[:2]) for asked in LARGE),
    )
    yield _growth()
    yield Table(
        "Large real-valued backgrounds: memory",
        "The peak memory of set-up and rows of several classes, beyond the user's own X, over the "
        "size of X as float64: the peak of one process less that of another that only draws X. "
        "Proofs: `prove=True`. A frame: `Background` of a DataFrame of X. 50 rows at once: an "
        "explainer of that model. A Pipeline: that of a scaler and a logistic regression, over a "
        "frame with an index of its own.",
        ("what", "rows", "d", "classes", "X", "peak"),
        tuple(_memory(*asked) for asked in MEMORY),
    )


def draw(n: int, d: int, classes: int = 2) -> Case:
    """Return a case; the threshold is such that both classes are common."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(d)
    model = _model(weights, 0.1) if classes == 2 else _several(weights, 0.0, classes)
    return Case(model, rng.standard_normal((n, d)), rng.standard_normal((ASKED, d)))


def explain(
    case: Case, over: Callable[[Any], Any] = Background, prove: bool | str = "auto"
) -> None:
    """Explain all rows that are asked for, from a background that is new."""
    law = over(case.rows)
    for x in case.asked:
        sufficient_reason(case.model, x, delta=DELTA, distribution=law, prove=prove)


def explain_frame(case: Case) -> None:
    """Explain the same from a background that is a frame."""
    explain(case, lambda rows: Background(_frame(rows)))


def explain_many(case: Case) -> None:
    """Explain 50 rows in one call of an explainer."""
    asked = np.random.default_rng(2).standard_normal((50, case.rows.shape[1]))
    SufficientReasonExplainer(case.model, Background(case.rows), delta=DELTA)(asked)


def explain_pipeline(case: Case) -> None:
    """Explain a Pipeline, which is fitted on few rows, over a frame with its own index."""
    rng = np.random.default_rng(3)
    few = _frame(rng.standard_normal((300, case.rows.shape[1])))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=50))
    model.fit(few, rng.integers(0, 2, len(few)))
    rows = _frame(case.rows)
    rows.index = pd.RangeIndex(7, 7 + len(rows))
    SufficientReasonExplainer(model, rows, delta=DELTA)(_frame(case.asked))


# What memory is measured of.
WAYS: dict[str, Callable[[Case], object]] = {
    "reasons": explain,
    "proofs": partial(explain, prove=True),
    "a frame": explain_frame,
    "marginals": partial(explain, over=Marginals.fit),
    "sample of 1,000": partial(explain, over=partial(Background, sample=1_000)),
    "50 rows at once": explain_many,
    "compare": lambda case: compare(case.model, case.asked, Background(case.rows)),
    "a Pipeline": explain_pipeline,
}


def warm_up(what: str, d: int, classes: int) -> None:
    """Load all that is compiled, for few rows and for many, by rows that take no memory."""
    WAYS[what](draw(3_000, d, classes))
    many, rows_law.MANY_GAINS = rows_law.MANY_GAINS, 0
    WAYS[what](draw(60, d, classes))
    rows_law.MANY_GAINS = many


def _frame(rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])], copy=False)


def _model(weights: np.ndarray, threshold: float) -> LinearModel:
    units = [Unit.real(f"x{j}", j) for j in range(len(weights))]
    return LinearModel(weights, threshold, units=units)


def _measured(
    case: Case,
    over: Callable[[np.ndarray], Any] = Background,
    make: Callable[[np.ndarray, float], Any] | None = None,
) -> tuple[float, float, list[float]]:
    """Return the time of a pass, of the first row and of each further row."""
    given, rows, asked = case
    make = _model if make is None else make
    model, law = make(given.weights, given.threshold), over(rows)
    for x in asked:
        sufficient_reason(model, x, delta=DELTA, distribution=law)

    def first() -> None:
        new = make(given.weights, given.threshold)
        sufficient_reason(new, asked[0], delta=DELTA, distribution=over(rows))

    def one_pass() -> None:
        ((rows - asked[0]) * given.weights).sum(1)

    further: list[Callable[[], object]] = [
        partial(sufficient_reason, model, x, delta=DELTA, distribution=law) for x in asked
    ]
    passed, fresh, *others = best_times(REPEATS, one_pass, first, *further)
    return passed, fresh, others


def _several(weights: np.ndarray, threshold: float, classes: int) -> ArgmaxModel:
    d = len(weights)
    more = np.random.default_rng(1).standard_normal((classes - 1, d))
    units = [Unit.real(f"x{j}", j) for j in range(d)]
    return ArgmaxModel(np.vstack([weights, more]), np.zeros(classes), units=units)


def _other(what: str, n: int, d: int, most_first: int, enough: float, most_further: int) -> Row:
    over = {"marginals": Marginals.fit, "sample of 1,000": partial(Background, sample=1_000)}
    make = partial(_several, classes=CLASSES[what]) if what in CLASSES else None
    measured = _measured(draw(n, d), over.get(what, Background), make)
    row = _large(n, d, most_first, enough, most_further, measured)
    return replace(row, cells=(what, *row.cells))


def _large(
    n: int,
    d: int,
    most_first: int,
    enough: float,
    most_further: int,
    measured: tuple[float, float, list[float]] | None = None,
) -> Row:
    passed, first, others = _measured(draw(n, d)) if measured is None else measured
    further = max(others)
    cells = (
        f"{n:,}",
        str(d),
        seconds(passed),
        seconds(first),
        times(first / passed),
        seconds(further),
        times(further / passed),
    )
    quick = first <= max(most_first * passed, enough)
    or_so = f" or {enough:g} s" if enough else ""
    return Row(
        cells,
        f"<= {most_first}x{or_so}, {most_further}x",
        bool(quick and further <= most_further * passed),
    )


def _beside_shap(n: int, d: int) -> Row:
    case = draw(n, d)
    _, first, others = _measured(case)
    masker = shap.maskers.Independent(case.rows, max_samples=n)
    pair = (case.model.weights, -case.model.threshold)
    linear, one = shap.LinearExplainer(pair, masker), case.asked[:1]
    permutation = shap.explainers.Permutation(
        lambda z: z @ case.model.weights - case.model.threshold, masker
    )
    linear_first, linear_further = best_times(
        REPEATS,
        lambda: shap.LinearExplainer(pair, masker).shap_values(one),
        lambda: linear.shap_values(one),
    )
    # It takes seconds: once is enough.
    (theirs,) = best_times(1, lambda: permutation(one, silent=True))
    further = float(np.median(others))
    cells = (
        f"{n:,}", str(d), seconds(first), seconds(further), seconds(linear_first),
        seconds(linear_further), seconds(theirs), times(theirs / further),
    )  # fmt: skip
    return Row(cells)


def _growth() -> Table:
    lines, before = [], 0.0
    for n in GROWTH:
        passed, first, others = _measured(draw(n, 30))
        further = float(np.median(others))
        cells = (f"{n:,}", seconds(passed), seconds(first), seconds(further))
        if not before:
            lines.append(Row((*cells, "")))
        else:
            growth = further / before
            # Ten is linear; larger data leave the processor's caches, as they do in a pass.
            lines.append(Row((*cells, times(growth)), *at_most(growth, 15, "x")))
        before = further
    return Table(
        "Large real-valued backgrounds: growth",
        "The same at d = 30; of further rows the median. Growth is the factor to the line above, "
        "for ten times as many rows; linear time would give 10x.",
        ("rows", "one pass", "first", "further", "growth"),
        tuple(lines),
    )


def _memory(what: str, n: int, d: int, classes: int) -> Row:
    drawn = _DRAWN.format(what=what, n=n, d=d, classes=classes)
    alone = run_process(drawn).peak
    peak = run_process(drawn + f"WAYS[{what!r}](case)\n").peak - alone
    size = 8 * n * d
    cells = (what, f"{n:,}", str(d), str(classes), f"{size / 1e6:.0f} MB", times(peak / size))
    return Row(cells, *at_most(peak / size, 3, "x"))

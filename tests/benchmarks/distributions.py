"""Explain over background rows and over marginals, and compare with shap and with sorting."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import Background, LinearModel, Product, sufficient_reasons
from tests.benchmarks.cases import DELTA, draw, scores
from tests.benchmarks.measure import best_times
from tests.benchmarks.report import Row, Table, at_least, at_most, seconds, times

REPEATS = 3


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield Table(
        "Background rows",
        f"`sufficient_reasons` (delta = {DELTA}) over a background, per row, against "
        "`shap.explainers.Permutation` with its default number of evaluations on the same rows "
        "and background. Every guarantee is an exact count.",
        ("data", "d", "background", "shap", "ours", "ratio", "minimum"),
        (_gaussian(), _breast_cancer()),
    )
    yield _marginals()


def _gaussian() -> Row:
    model, rows = draw(100, 1_010, 0, "sum(w)/2")
    cells, ratio = _against_shap("Gaussian", model, rows[10:], rows[:10])
    return Row(cells, *at_least(ratio, 50, "x"))


def _breast_cancer() -> Row:
    data, target = load_breast_cancer(return_X_y=True)
    rows = data > np.median(data, axis=0)
    fitted = LogisticRegression().fit(rows[:400], target[:400])
    model = LinearModel(fitted.coef_.ravel(), -fitted.intercept_, strict=True)
    return Row(_against_shap("breast cancer", model, rows[:400], rows[400:430])[0])


def _against_shap(
    name: str, model: LinearModel, background: np.ndarray, rows: np.ndarray
) -> tuple[tuple[str, ...], float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shap

        given = background.astype(float)
        masker = shap.maskers.Independent(given, max_samples=len(given))
        permutation = shap.explainers.Permutation(
            lambda z: z @ model.weights - model.threshold, masker
        )
        few = rows[:2].astype(float)
        law = Background(background)
        found = sufficient_reasons(model, rows, delta=DELTA, distribution=law)
        theirs, ours = best_times(
            REPEATS,
            lambda: permutation(few, silent=True),
            lambda: sufficient_reasons(model, rows, delta=DELTA, distribution=law),
        )
    theirs, ours = theirs / len(few), ours / len(rows)
    proved = np.mean(found.minimality == "minimum")
    cells = (
        name,
        str(model.n_features),
        f"{len(background):,}",
        seconds(theirs),
        seconds(ours),
        times(theirs / ours),
        f"{100 * proved:.0f}%",
    )
    return cells, theirs / ours


def _marginals(d: int = 500, n: int = 30) -> Table:
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.05, 0.95, d)
    rows = rng.random((2_000, d)) < chances
    weights = rng.standard_normal(d)
    model, law = LinearModel(weights, float(weights @ chances)), Product.fit(rows)
    ranked = scores(model, rows)
    found = sufficient_reasons(model, rows[:n], delta=DELTA, distribution=law)
    own, sort = best_times(
        REPEATS,
        lambda: sufficient_reasons(model, rows[:n], delta=DELTA, distribution=law),
        lambda: np.argsort(ranked, axis=1, kind="stable"),
    )
    own, sort = own / n, sort / len(rows)
    return Table(
        "Marginals",
        "`sufficient_reasons` over fitted marginals (`Product.fit`), per row, over a stable "
        "argsort of the scores.",
        ("d", "argsort", "ours", "ratio", "size"),
        (
            Row(
                (
                    str(d),
                    seconds(sort),
                    seconds(own),
                    times(own / sort),
                    f"{np.median(found.size):g}",
                ),
                *at_most(own / sort, 20, "x"),
            ),
        ),
    )

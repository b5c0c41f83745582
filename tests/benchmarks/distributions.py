"""Explain over background rows and over marginals, and compare with shap and with sorting."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Product,
    Unit,
    guarantee,
    sufficient_reasons,
)
from sklearn_probsr.results import SufficientReasons
from tests.benchmarks.cases import DELTA, another, draw, scores
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
    yield _proofs()
    yield _raw_columns()
    yield Table(
        "Against SHAP's order",
        "How many features must be fixed to keep the class in 95%: the reason, against the "
        "shortest prefix of the features ordered by their SHAP value signed towards the "
        "prediction. Medians over the rows, and how often the reason is smaller, and larger.",
        ("data", "distribution", "rows", "prefix", "reason", "smaller", "larger"),
        tuple(_prefix_rows()),
    )


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


def _marginals(d: int = 500, n: int = 200) -> Table:
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.05, 0.95, d)
    rows = rng.random((2_000, d)) < chances
    weights = rng.standard_normal(d)
    model, law = LinearModel(weights, float(weights @ chances)), Product.fit(rows)
    ranked = scores(model, rows)

    def search(prove: str | bool) -> SufficientReasons:
        return sufficient_reasons(model, rows[:n], delta=DELTA, distribution=law, prove=prove)

    cells = []
    for prove in (False, "auto"):
        found = search(prove)
        own, sort = best_times(
            REPEATS,
            lambda prove=prove: search(prove),
            lambda: np.argsort(ranked, axis=1, kind="stable"),
        )
        own, sort = own / n, sort / len(rows)
        told = (
            str(d),
            str(prove),
            seconds(sort),
            seconds(own),
            times(own / sort),
            f"{np.median(found.size):g}",
            f"{100 * np.mean(found.minimality == 'minimum'):.0f}%",
        )
        cells.append(Row(told) if prove else Row(told, *at_most(own / sort, 20, "x")))
    return Table(
        "Marginals",
        "`sufficient_reasons` over fitted marginals (`Product.fit`), per row, over a stable "
        "argsort of the scores: the search alone (`prove=False`), and with proofs of a minimum, "
        "as by default.",
        ("d", "prove", "argsort", "ours", "ratio", "size", "minimum"),
        tuple(cells),
    )


def _proofs() -> Table:
    """Prove minima: a fitted model of 500 features, and breast cancer with 200 background rows."""
    return Table(
        "Proofs of a minimum",
        "What `sufficient_reasons` proves, with its default settings if nothing else is said: the "
        "share of rows whose reason is a minimum, and the time of a row, search and proof, one row "
        "at a time. The synthetic data have 500 independent binary columns; the model is a "
        "logistic regression fitted to 2,000 rows, of which 1,000 are the background.",
        ("data", "distribution", "rows", "size", "median", "slowest", "minimum"),
        (*_synthetic_proofs(), *_breast_cancer_proofs()),
    )


def _synthetic_proofs(d: int = 500, n: int = 300) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.05, 0.95, d)
    rows = rng.random((2_000 + n, d)) < chances
    weights = rng.standard_normal(d)
    target = rows @ weights + 3 * rng.standard_normal(len(rows)) > chances @ weights
    fitted = LogisticRegression(max_iter=2_000).fit(rows[:2_000], target[:2_000])
    model = LinearModel(fitted.coef_.ravel(), -fitted.intercept_, strict=True)
    for law in (Product.fit(rows[:2_000]), Marginals.fit(rows[:2_000])):
        cells, share, median = _proved("synthetic, d = 500", model, law, rows[2_000:])
        yield Row(cells, ">= 95%, 50 ms", share >= 0.95 and median <= 0.05)
    law = Background(rows[:1_000])
    yield Row(_proved("synthetic, d = 500", model, law, rows[2_000:2_040])[0])
    cells, share, median = _proved(
        "synthetic, d = 500, prove=True", model, law, rows[2_000:2_040], prove=True
    )
    yield Row(cells, ">= 50%, 1 s", share >= 0.5 and median <= 1)


def _breast_cancer_proofs() -> Iterator[Row]:
    data, target = load_breast_cancer(return_X_y=True)
    binary = data > np.median(data, axis=0)
    fitted = LogisticRegression().fit(binary[:400], target[:400])
    model = LinearModel(fitted.coef_.ravel(), -fitted.intercept_, strict=True)
    cells, share, median = _proved(
        "breast cancer, binary", model, Background(binary[:200]), binary[400:]
    )
    yield Row(cells, ">= 95%, 2 s", share >= 0.95 and median <= 2)
    yield Row(_proved("breast cancer, binary", model, Product.fit(binary[:200]), binary[400:])[0])
    model = _real_model(data, target)
    cells, share, median = _proved("breast cancer, real", model, Background(data[:200]), data[400:])
    yield Row(cells, ">= 95%, 2 s", share >= 0.95 and median <= 2)
    cells, share, median = _proved(
        "breast cancer, real", model, Marginals.fit(data[:200]), data[400:]
    )
    yield Row(cells, ">= 95%, 20 ms", share >= 0.95 and median <= 0.02)


def _proved(
    name: str,
    model: LinearModel,
    law: Product | Marginals | Background,
    rows: np.ndarray,
    prove: str | bool = "auto",
) -> tuple[tuple[str, ...], float, float]:
    warm = sufficient_reasons(model, rows, delta=DELTA, distribution=law, prove=prove)
    spent = []
    for row in rows:
        start = time.process_time()
        sufficient_reasons(model, row[None, :], delta=DELTA, distribution=law, prove=prove)
        spent.append(time.process_time() - start)
    share, median = float(np.mean(warm.minimality == "minimum")), float(np.median(spent))
    cells = (
        name,
        type(law).__name__,
        str(len(rows)),
        f"{np.median(warm.size):g}",
        seconds(median),
        seconds(max(spent)),
        f"{100 * share:.1f}%",
    )
    return cells, share, median


def _real_model(data: np.ndarray, target: np.ndarray) -> LinearModel:
    scaler = StandardScaler().fit(data[:400])
    fitted = LogisticRegression().fit(scaler.transform(data[:400]), target[:400])
    weights = fitted.coef_.ravel() / scaler.scale_
    threshold = float(weights @ scaler.mean_ - fitted.intercept_[0])
    units = [Unit.real(f"r{i}", i) for i in range(data.shape[1])]
    return LinearModel(weights, threshold, strict=True, units=units)


def _raw_columns() -> Table:
    data, target = load_breast_cancer(return_X_y=True)
    fitted, rows = _real_model(data, target), data[400:]

    model = LinearModel(fitted.weights, fitted.threshold, strict=True, units=fitted.units)
    joint, law = Background(data[:400]), Marginals.fit(data[:400])
    for distribution in (joint, law):
        sufficient_reasons(model, rows[:1], delta=DELTA, distribution=distribution)

    def searched(given: Background | Marginals, prove: bool | str) -> Callable[[], object]:
        options = {"delta": DELTA, "distribution": given, "prove": prove}
        return lambda: sufficient_reasons(model, rows, **options)

    setup, own, theirs, proved, theirs_proved = best_times(
        REPEATS,
        lambda: sufficient_reasons(another(model), rows[:1], delta=DELTA, distribution=law),
        searched(law, False),
        searched(joint, False),
        searched(law, "auto"),
        searched(joint, "auto"),
    )
    found = sufficient_reasons(model, rows, delta=DELTA, distribution=law)
    words = ", ".join(sorted(set(found.minimality.tolist())))
    return Table(
        "Real-valued columns",
        "Breast cancer as it is: 30 real-valued columns that can cost or gain, 400 rows for the "
        "marginals and for the background. Set-up is a fresh model and one row; the ratio is of "
        "the search over marginals to the search over the rows themselves, per row, both without "
        "proofs of a minimum (`prove=False`), and both with them (the default). "
        f"What was proved over the marginals: {words}.",
        ("what", "time", "joint rows", "ratio", "size"),
        (
            Row(("set-up", seconds(setup), "", "", ""), *at_most(setup, 2, " s")),
            Row(_searches("search", own, theirs, found), *at_most(own / theirs, 10, "x")),
            Row(_searches("with proofs", proved, theirs_proved, found)),
        ),
    )


def _searches(what: str, own: float, theirs: float, found: SufficientReasons) -> tuple[str, ...]:
    n = len(found)
    times_ = seconds(own / n), seconds(theirs / n), times(own / theirs)
    return (what, *times_, f"{np.median(found.size):g}")


def _prefix_rows() -> Iterator[Row]:
    pixels, digit = load_digits(return_X_y=True)
    chosen = np.isin(digit, (3, 8))
    rows, target = pixels[chosen] > 8, digit[chosen] == 8
    fitted = LogisticRegression().fit(rows, target)
    model = LinearModel(fitted.coef_.ravel(), -fitted.intercept_, strict=True)
    yield from _prefixes("digits 3 or 8", model, rows, 100)
    rng = np.random.default_rng(1)
    chances = rng.uniform(0.05, 0.95, 500)
    synthetic = rng.random((1_000, 500)) < chances
    weights = rng.standard_normal(500)
    model = LinearModel(weights, float(weights @ chances))
    yield from _prefixes("synthetic, d = 500", model, synthetic, 100)


def _prefixes(name: str, model: LinearModel, data: np.ndarray, n: int) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pixels that are always blank
        fitted = Product.fit(data)
    for law in (fitted, Background(data)):
        sizes = sufficient_reasons(model, data[:n], delta=DELTA, distribution=law).size
        prefixes = np.array([_shap_prefix(model, row, data, law) for row in data[:n]])
        larger = np.mean(sizes > prefixes)
        yield Row(
            (
                name,
                type(law).__name__,
                str(n),
                f"{np.median(prefixes):g}",
                f"{np.median(sizes):g}",
                f"{100 * np.mean(sizes < prefixes):.0f}%",
                f"{100 * larger:.0f}%",
            ),
            *at_most(larger, 0, " larger"),
        )


def _shap_prefix(
    model: LinearModel, row: np.ndarray, data: np.ndarray, law: Product | Background
) -> int:
    sign = 1 if model.is_positive(row[None, :])[0] else -1
    order = np.argsort(-sign * model.weights * (row - data.mean(axis=0)), kind="stable")
    low, high = -1, int(np.argmax(model.weights[order] * (row[order] - 0.5) * sign <= 0))
    high = high or len(order)
    while high - low > 1:  # the guarantee grows along the helpful features
        middle = (low + high) // 2
        known = guarantee(model, row, order[:middle], distribution=law)
        low, high = (low, middle) if (known >= DELTA).value else (middle, high)
    return high

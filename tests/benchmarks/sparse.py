"""Explain documents by their words: time and memory of sparse rows, beside SHAP's explainer."""

from __future__ import annotations

import ast
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import shap
from scipy import sparse
from sklearn.feature_extraction.text import (
    CountVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import Marginals, Matching, Product, SufficientReasonExplainer
from tests.benchmarks.cases import DELTA
from tests.benchmarks.measure import best_times, run_process
from tests.benchmarks.report import Row, Table, at_most, seconds

REPEATS = 3
ASKED = 12
# So many seconds may set-up with the first row take, and every further row; so many bytes beyond
# the model and the data.
FIRST, FURTHER, BEYOND = 10.0, 0.05, 0.7e9
FIRST_INDEPENDENT = 5.0
# Of more words, and of several classes, where most rows have no set that reaches delta.
FURTHER_OF_MANY = 0.1
# Of several classes: so many seconds may the first row of a class take; and the median of further
# ones, by how many classes there are and whether weights were fitted, or are those drawn.
FIRST_OF_CLASS = 2.0
FURTHER_OF_CLASS = {(3, True): 0.1, (20, False): 0.25, (20, True): 0.5}
_MADE = """
from tests.benchmarks.sparse import CASES, background, explained
explained(CASES["small"](), background)  # compiled and imported in either process
case = CASES["{name}"]()
"""


class Case(NamedTuple):
    """Documents as a sparse matrix or as texts, and a classifier that was fitted on them."""

    model: Any
    X: Any

    @property
    def asked(self) -> Any:
        """Documents of both classes to explain."""
        return self.X[:ASKED]


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    explained(CASES["small"](), background)  # compile
    explained(CASES["small"](), Marginals.fit)
    cases = {name: make() for name, make in CASES.items() if name != "small"}
    yield Table(
        "Sparse text: background rows",
        f"`SufficientReasonExplainer(model, X)` (delta = {DELTA}) of a logistic regression on a "
        "sparse X: documents drawn from Zipf's law, and the tf-idf of 3,000 docstrings of the "
        "standard library. First: set-up with the first row, the comparison with `predict` on all "
        f"of X included. Further: each of {ASKED} rows. SHAP: `shap.LinearExplainer` on the "
        "means of the same data, which has no set to find: set-up, and one row. (Its "
        "`Permutation` calls the model at least twice a word with all documents, 100,001 times "
        "5,000 of them for one row: not run.) Memory is the peak beyond that of a process with "
        "model and data alone. Every guarantee is an exact count over all documents.",
        ("documents", "words", "values", "first", "further", "SHAP: first", "further", "memory"),
        tuple(_background(name, cases[name]) for name in ("binary", "tf-idf")),
    )
    explained(several(3, True, 1200, 2000), background)  # compile
    yield Table(
        "Sparse text: background rows, several classes",
        "The same with the tf-idf of documents drawn from Zipf's law, whose class is that of the "
        "largest of random scores: by these scores, or by a logistic regression that was fitted. "
        f"First: the longest first row of a class, of {ASKED} rows, without set-up. Further: the "
        "median of these rows once their class was asked for, and the longest. Size: the mean "
        "size of a reason.",
        (
            "documents",
            "words",
            "values",
            "classes",
            "scores",
            "first",
            "further",
            "longest",
            "size",
        ),
        tuple(_several(*kind) for kind in FURTHER_OF_CLASS),
    )
    yield Table(
        "Sparse text: background rows, many documents of four classes",
        "The same of more documents, by a logistic regression that was fitted. Set-up: the "
        "explainer and a first row of each class, the comparison with `predict` on all documents "
        f"included. Further: the median of {ASKED} rows then, and the longest.",
        ("documents", "words", "values", "set-up", "further", "longest", "size", "minimum"),
        (_many(20_000, 50_000, 4),),
    )
    explained(CASES["small"](), Product.fit)
    yield Table(
        "Sparse text: independent words",
        "The same under `Marginals.fit(X)` and `Product.fit(X)`: a fresh model, its first row, and "
        "further ones. Width is the widest enclosure of a guarantee.",
        ("documents", "words", "distribution", "first", "further", "width"),
        tuple(
            _independent(cases[name], fit)
            for name, fit in (
                ("binary", Product.fit),
                ("wide", Product.fit),
                ("wide", Marginals.fit),
                ("tf-idf", Marginals.fit),
            )
        ),
    )
    yield Table(
        "Sparse text: matching rows",
        "The same for texts of these words, `CountVectorizer(binary=True)` in a Pipeline, under "
        f"`Matching(texts)` (delta = {DELTA}, min_rows = 20, rows out of reach flagged). Proved: "
        "reasons that are a minimum in the rows searched. Memory as above.",
        ("documents", "words", "classes", "first", "further", "proved", "memory"),
        tuple(_matched(*case) for case in ((50_000, 2), (100_000, 2), (50_000, 5))),
    )


def _zipf(n: int, d: int, length: int = 120) -> Any:
    """Draw documents, each of some different words."""
    rng = np.random.default_rng(0)
    ends = np.cumsum(1 / np.arange(1, d + 1) ** 1.05)
    words = np.searchsorted(ends / ends[-1], rng.random((n, length)))
    rows = np.repeat(np.arange(n), length)
    X = sparse.csr_array((np.ones(n * length), (rows, words.ravel())), shape=(n, d))
    X.sum_duplicates()
    X.data[:] = 1.0
    return X


def _fitted(X: Any, y: Any) -> Case:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        return Case(LogisticRegression(C=1.0, max_iter=30).fit(X, y), X)


def generated(n: int, d: int) -> Case:
    """Return documents whose class is that of a random linear model."""
    X = _zipf(n, d)
    scores = X @ np.random.default_rng(1).normal(size=d)
    return _fitted(X, scores > np.median(scores))


def texts(n: int, d: int, classes: int) -> Case:
    """Return documents as texts, of one of some classes, with a Pipeline that counts words."""
    case = generated(n, d)
    if classes > 2:
        scores = case.X @ np.random.default_rng(1).normal(size=(d, classes))
        case = _fitted(case.X, np.argmax(scores - np.median(scores, axis=0), axis=1))
    words = np.array([f"w{j}" for j in range(d)])
    told = [" ".join(words[some]) for some in np.split(case.X.indices, case.X.indptr[1:-1])]
    counter = CountVectorizer(binary=True, vocabulary=list(words), token_pattern=r"\S+")
    return Case(make_pipeline(counter.fit(told), case.model), told)


def several(classes: int, fitted: bool, n: int = 8000, d: int = 100_000) -> Case:
    """Return the tf-idf of documents whose class is that of the largest of random scores."""
    X = TfidfTransformer().fit_transform(_zipf(n, d, 150)).tocsr()
    weights = np.random.default_rng(1).normal(size=(d, classes))
    middles = np.median(X @ weights, axis=0)
    case = _fitted(X, (X @ weights - middles).argmax(axis=1))
    if not fitted:
        case.model.coef_, case.model.intercept_ = np.ascontiguousarray(weights.T), -middles
    return case


def docstrings(n: int = 3000) -> Case:
    """Return the tf-idf of docstrings of the standard library; the class is tests or not."""
    library = Path(sysconfig.get_paths()["stdlib"])
    found: list[tuple[str, bool]] = []
    for path in sorted(library.rglob("*.py")):
        if "site-packages" in path.parts or len(found) >= 4 * n:
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
        texts = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds))
        found += [(text, path.name < "l") for text in texts if text and len(text.split()) > 8]
    chosen = np.random.default_rng(0).permutation(len(found))[:n]
    texts = [found[i][0] for i in chosen]
    X = TfidfVectorizer(min_df=2).fit_transform(texts)
    return _fitted(X, np.array([found[i][1] for i in chosen]))


CASES: dict[str, Callable[[], Case]] = {
    "small": partial(generated, 1200, 2000),
    "binary": partial(generated, 5000, 50_000),
    "wide": partial(generated, 5000, 100_000),
    "tf-idf": docstrings,
}


def background(X: Any) -> Any:
    """Return the masker of background rows: the data."""
    return X


def explained(case: Case, masker: Callable[[Any], Any]) -> Any:
    """Explain the documents that are asked for, by an explainer that is new."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # words that are in no document
        explainer = _explainer(case, masker)
        explainer(case.asked)
    return explainer


def _explainer(case: Case, masker: Callable[[Any], Any]) -> Any:
    return SufficientReasonExplainer(case.model, masker(case.X), delta=DELTA, on_error="flag")


def _timed(case: Case, masker: Callable[[Any], Any]) -> tuple[float, list[float], Any]:
    explainer = explained(case, masker)

    def first() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _explainer(case, masker)(case.X[:1])

    rows = [partial(explainer, case.X[i : i + 1]) for i in range(ASKED)]
    fresh, *others = best_times(REPEATS, first, *rows)
    return fresh, others, explainer(case.asked)


def _background(name: str, case: Case) -> Row:
    first, others, _ = _timed(case, background)
    made = _MADE.format(name=name)
    beyond = run_process(made + "explained(case, background)\n").peak - run_process(made).peak
    pair = (case.model.coef_[0], float(case.model.intercept_[0]))
    one = case.X[:1].toarray()

    def theirs() -> Any:
        # Of sparse data it takes the means, which is all that its values need.
        means = np.asarray(case.X.mean(axis=0)).reshape(1, -1)
        return shap.LinearExplainer(pair, shap.maskers.Independent(means, max_samples=1))

    made_once = theirs()
    shap_first, shap_further = best_times(
        REPEATS,
        lambda: theirs().shap_values(one),
        lambda: made_once.shap_values(one),
    )
    cells = (
        f"{case.X.shape[0]:,}", f"{case.X.shape[1]:,}", f"{case.X.nnz:,}", seconds(first),
        seconds(float(np.median(others))), seconds(shap_first), seconds(shap_further),
        f"{max(beyond, 0) / 1e6:.0f} MB",
    )  # fmt: skip
    met = first <= FIRST and max(others) <= FURTHER and beyond <= BEYOND
    return Row(cells, f"<= {FIRST:g} s, {FURTHER * 1e3:.0f} ms, {BEYOND / 1e6:.0f} MB", bool(met))


def _several(classes: int, fitted: bool) -> Row:
    case = several(classes, fitted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = SufficientReasonExplainer(case.model, case.X, delta=DELTA)
    rows = [partial(explainer, case.X[[i]]) for i in range(ASKED)]
    first = max(best_times(1, *rows))
    further = [best_times(REPEATS, row)[0] for row in rows]
    size = float(np.mean([reason.size for reason in explainer(case.asked).reasons]))
    median, most = float(np.median(further)), FURTHER_OF_CLASS[classes, fitted]
    cells = (
        f"{case.X.shape[0]:,}", f"{case.X.shape[1]:,}", f"{case.X.nnz:,}", str(classes),
        "fitted" if fitted else "drawn", seconds(first), seconds(median), seconds(max(further)),
        f"{size:.1f}",
    )  # fmt: skip
    met = first <= FIRST_OF_CLASS and median <= most
    return Row(cells, f"<= {FIRST_OF_CLASS:g} s, {most * 1e3:.0f} ms", bool(met))


def _many(n: int, d: int, classes: int) -> Row:
    case = several(classes, True, n, d)
    winners = case.model.predict(case.X[:200])
    firsts = np.unique(winners, return_index=True)[1]
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = SufficientReasonExplainer(case.model, case.X, delta=DELTA)
        explainer(case.X[firsts])
    taken = time.process_time() - start
    rows = [partial(explainer, case.X[[i]]) for i in range(ASKED)]
    further = [best_times(REPEATS, row)[0] for row in rows]
    found = explainer(case.asked).reasons
    median = float(np.median(further))
    cells = (
        f"{n:,}", f"{d:,}", f"{case.X.nnz:,}", seconds(taken), seconds(median),
        seconds(max(further)), f"{found.size.mean():.1f}",
        f"{(found.minimality == 'minimum').mean():.0%}",
    )  # fmt: skip
    return Row(cells, "<= 3 s, 50 ms", bool(taken <= 3 and median <= 0.05))


def _independent(case: Case, fit: Any) -> Row:
    first, others, found = _timed(case, fit)
    width = float((found.guarantee_upper - found.guarantee_lower).max())
    cells = (
        f"{case.X.shape[0]:,}", f"{case.X.shape[1]:,}", fit.__self__.__name__, seconds(first),
        seconds(float(np.median(others))), f"{width:.1e}",
    )  # fmt: skip
    worst = float(np.median(others))
    _, met = at_most(first, FIRST_INDEPENDENT, "s")
    text = f"<= {FIRST_INDEPENDENT:g} s, {FURTHER * 1e3:.0f} ms"
    return Row(cells, text, bool(met and worst <= FURTHER))


_MATCHED = """
from sklearn_probsr import Matching
from tests.benchmarks.sparse import explained, texts
explained(texts(1200, 2000, {classes}), Matching)  # compiled and imported in either process
case = texts(5000, {words}, {classes})
"""


def _matched(words: int, classes: int) -> Row:
    case = texts(5000, words, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that are out of reach
        first, others, found = _timed(case, Matching)
    made = _MATCHED.format(words=words, classes=classes)
    beyond = run_process(made + "explained(case, Matching)\n").peak - run_process(made).peak
    proved = int(np.count_nonzero(found.reasons.minimality == "minimum"))
    further = float(np.median(others))
    most = FURTHER if (words, classes) == (50_000, 2) else FURTHER_OF_MANY
    cells = (
        "5,000", f"{words:,}", str(classes), seconds(first), seconds(further),
        f"{proved} of {ASKED}", f"{max(beyond, 0) / 1e6:.0f} MB",
    )  # fmt: skip
    met = first <= FIRST and further <= most and beyond <= BEYOND
    return Row(cells, f"<= {FIRST:g} s, {most * 1e3:.0f} ms, {BEYOND / 1e6:.0f} MB", bool(met))

"""demo: reasons beside SHAP values on tumours, in words and pictures."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr import plots
from sklearn_probsr.explain._explainer import SufficientReasonExplainer
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.report.comparison._compare import compare

if TYPE_CHECKING:
    from sklearn_probsr.explain._explanation import ReasonExplanation
    from sklearn_probsr.report.comparison._comparison import Comparison

__all__ = ["demo"]

_DELTA = 0.95
_ROWS = 100
_WIDTH, _LEFT = 96, 40
_DPI = 150


def demo(folder: Path, say: Callable[[str], None]) -> list[Path]:
    """Explain a classifier of breast tumours, by reasons and by SHAP values side by side.

    Parameters
    ----------
    folder : Path
        Where pictures and a page are written; it is made if it is not there.
    say : callable
        Takes what there is to say, a few lines at a time.

    Returns
    -------
    list of Path
        The files that were written.
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    # Words, pictures and the page call a tumour by its place among these.
    X_test, truth = X_test[:_ROWS].reset_index(drop=True), y_test[:_ROWS].to_numpy()
    model = _classifier(X_train, y_train)
    reasons = SufficientReasonExplainer(model, X_train, delta=_DELTA)(X_test)
    found = compare(model, X_test, X_train, delta=_DELTA)

    say(
        f"{len(X_train)} tumours to learn from, {len(X_test)} to explain, by {X.shape[1]} "
        "features: above the median or not.\n"
        f"A logistic regression is right on {np.mean(reasons.prediction == truth):.0%} of the "
        f"{len(X_test)}. What settles its answers?\n"
        "Unknown features are replaced, all together, by those of a tumour it learned from."
    )
    rows = _telling(reasons.prediction, truth, found.table["margin"])
    for i, kind in rows.items():
        said = reasons.prediction[i]
        verdict = f"{'and' if said == truth[i] else 'but'} it is {truth[i]}"
        say(_side_by_side(reasons, found, i, f"Tumour {i}: called {said}, {verdict} — {kind}"))
    say(_under(f"All {len(X_test)} tumours", [_wrapped(s) for s in found.summary().split("\n")]))

    folder.mkdir(parents=True, exist_ok=True)
    written = _pictures(found, reasons, list(rows), folder)
    report = folder / "report.html"
    found.to_html(report, title="Which few features settle each diagnosis?")
    names = ", ".join(path.name for path in written)
    say(f"\nPictures in {folder}: {names}.")
    say(f"A page on every tumour, to open in a browser: {report}")
    return [*written, report]


def _classifier(X: Any, y: Any) -> Any:
    """Fit a classifier that sees each feature as above its median or not."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer

    halves = ColumnTransformer(
        [(name, Binarizer(threshold=cut), [name]) for name, cut in X.median().items()]
    )
    return make_pipeline(halves, LogisticRegression()).fit(X, y)


def _telling(
    prediction: NDArray[Any], truth: NDArray[Any], margin: NDArray[np.float64]
) -> dict[int, str]:
    """Pick a typical row of each class, the closest call, and the mistake made most firmly."""
    firm = np.abs(margin)
    rows = {}
    for label in ("benign", "malignant"):
        right = np.flatnonzero((prediction == label) & (truth == label))
        rows[int(right[np.argsort(firm[right])][len(right) // 2])] = "a typical one"
    wrong = np.flatnonzero(prediction != truth)
    rows[int(wrong[np.argmax(firm[wrong])])] = "the classifier's firmest mistake"
    rows[int(np.argmin(firm))] = "the closest call"
    return rows


def _side_by_side(reasons: ReasonExplanation, found: Comparison, i: int, title: str) -> str:
    """Return the reason of one row beside its largest SHAP values."""
    reason, values = reasons.reasons[i], found.shap_values[i]
    largest = np.argsort(-np.abs(values), kind="stable")
    scale = 14 / np.abs(values).max()
    lines = [f"  {'The reason':<{_LEFT}}SHAP's largest values (+ malignant; ▪ in the reason)"]
    for k in range(max(reason.size, 5)):
        u = int(largest[k])
        fact = reason.facts[k] if k < reason.size else ""
        mark = "▪" if u in reason.features else " "
        bar = "█" * max(round(abs(values[u]) * scale), 1)
        lines.append(
            f"  {fact:<{_LEFT}}{mark} {found.feature_names[u]:<24}{values[u]:>+7.2f} {bar}"
        )
    told = _verdict(reason, found, i, set(largest[: reason.size].tolist()))
    return _under(title, [*lines, _wrapped(told)])


def _verdict(reason: Any, found: Comparison, i: int, largest: set[int]) -> str:
    """Say how sure the reason is, and as many features by SHAP value."""
    proved = {
        "minimum": f"no smaller set reaches {_DELTA:.0%}",
        "subset-minimal": "none of them can be left out",
    }.get(reason.minimality, "no single one of them can be left out")
    count = "this 1 feature" if reason.size == 1 else f"these {reason.size} features"
    sure, rows = reason.guarantee.lower, len(reason.distribution.rows)
    kept = "all" if sure == 1 else f"{_percent(sure)} of"
    by_size = _percent(found.table["top_shap_guarantee_lower"][i])
    beside = (
        "Its largest SHAP values name the same."
        if largest == set(reason.features)
        else f"As many of its largest SHAP values keep it in {by_size}."
    )
    return (
        f"“{reason.prediction}” is kept in {kept} {rows} replacements given {count}; {proved}. "
        f"{beside}"
    )


def _percent(share: float) -> str:
    """Return a probability in percent, rounded down: it must not promise more than was proved."""
    return f"{math.floor(decimal_fraction(float(share)) * 1000) / 10:.1f}%"


def _under(title: str, lines: list[str]) -> str:
    return "\n".join(["", title, "─" * _WIDTH, *lines])


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def _pictures(
    found: Comparison, reasons: ReasonExplanation, rows: list[int], folder: Path
) -> list[Path]:
    """Write the pictures."""
    import matplotlib.pyplot as plt

    drawn: dict[str, Callable[[], Any]] = {
        "comparison.png": found.plot,
        "waterfall.png": lambda: plots.waterfall(reasons[rows[1]]),
        "curve.png": lambda: plots.curve(reasons[rows]),
        "frequency.png": lambda: plots.frequency(reasons),
        "heatmap.png": lambda: plots.reasons_heatmap(reasons),
    }
    with _without_screen():
        for name, draw in drawn.items():
            draw()
            plt.savefig(folder / name, dpi=_DPI, bbox_inches="tight", pad_inches=0.1)
            plt.close()
    return [folder / name for name in drawn]


@contextmanager
def _without_screen() -> Iterator[None]:
    """Draw to files, whatever else this session draws to."""
    import matplotlib.pyplot as plt

    before = plt.get_backend()
    plt.switch_backend("agg")
    try:
        yield
    finally:
        plt.switch_backend(before)

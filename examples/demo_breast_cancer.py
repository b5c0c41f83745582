"""Which few measurements settle each diagnosis of a linear classifier, and how sure is that?

A logistic regression learns to tell malignant breast tumours from benign ones by 30 measurements. A
few of its answers are explained, by sufficient reasons and by SHAP's values side by side, and
pictures of all of them are written to the folder ``build/demo``.
"""

from __future__ import annotations

import math
import textwrap
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from sklearn_probsr import ReasonExplanation, SufficientReasonExplainer, guarantee, plots

DELTA = 0.95
WIDTH = 96
LEFT = 40
FOLDER = Path("build", "demo")


def percent(share: float) -> str:
    """Print a probability in percent, rounded down: it must not promise more than was proved."""
    return f"{math.floor(Fraction(repr(float(share))) * 1000) / 10:.1f}%"


def chosen_rows(prediction: np.ndarray, truth: np.ndarray, score: np.ndarray) -> dict[int, str]:
    """Pick a typical row of each class, the closest call, and the mistake made most firmly."""
    rows = {}
    for label in ("benign", "malignant"):
        inside = np.flatnonzero((prediction == label) & (truth == label))
        inside = inside[np.argsort(np.abs(score[inside]))]
        rows[int(inside[len(inside) // 2])] = "a typical one"
    wrong = np.flatnonzero(prediction != truth)
    rows[int(wrong[np.argmax(np.abs(score[wrong]))])] = "the classifier's firmest mistake"
    rows[int(np.argmin(np.abs(score)))] = "the closest call"
    return rows


def kept(reasons: ReasonExplanation, i: int, features: np.ndarray) -> float:
    """Return the probability that row i keeps its class, given some of its features."""
    told = reasons.reasons
    return guarantee(told.model, told.rows[i], features, distribution=told.distribution).lower


def show(reasons: ReasonExplanation, shap_values: np.ndarray, i: int, title: str) -> None:
    """Print the reason of one row beside its largest SHAP values."""
    reason = reasons.reasons[i]
    order = np.argsort(-np.abs(shap_values[i]))
    lines = max(reason.size, 5)
    scale = 14 / np.abs(shap_values[i]).max()
    print(f"\n{title}\n{'─' * WIDTH}")
    print(f"  {'The reason':<{LEFT}}SHAP's largest values (▪ in the reason)")
    for k in range(lines):
        fact = reason.facts[k] if k < reason.size else ""
        u = order[k]
        bar = "█" * max(round(abs(shap_values[i, u]) * scale), 1)
        mark = "▪" if u in reason.features else " "
        name = reasons.feature_names[u]
        print(f"  {fact:<{LEFT}}{mark} {name:<24}{shap_values[i, u]:>+7.2f} {bar}")
    proved = {
        "minimum": f"no smaller set reaches {DELTA:.0%}",
        "subset-minimal": "none of them can be left out",
    }.get(reason.minimality, "no single one of them can be left out")
    count = "this 1 measurement" if reason.size == 1 else f"these {reason.size} measurements"
    largest = order[: reason.size]
    same = set(largest) == set(reason.features)
    beside = (
        "Its largest SHAP values name the same."
        if same
        else f"As many of its largest SHAP values keep it in {percent(kept(reasons, i, largest))}."
    )
    sure, rows = reason.guarantee.lower, len(reason.distribution.rows)
    text = (
        f"“{reason.prediction}” is kept in {'all' if sure == 1 else f'{percent(sure)} of'} "
        f"{rows} replacements given {count}; {proved}. {beside}"
    )
    print(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  "))


def summary(reasons: ReasonExplanation, shap_values: np.ndarray) -> dict[str, str]:
    """Return what holds over all rows."""
    sizes = reasons.reason_size
    as_many = [
        kept(reasons, i, np.argsort(-np.abs(shap_values[i]))[:size]) for i, size in enumerate(sizes)
    ]
    return {
        "Measurements in a reason, median": f"{np.median(sizes):g}",
        "Measurements in a reason, most": f"{sizes.max()}",
        "Tumours settled by at most 3 measurements": f"{np.mean(sizes <= 3):.0%}",
        f"Proved: no smaller set reaches {DELTA:.0%}": (
            f"{np.mean(reasons.minimality == 'minimum'):.0%}"
        ),
        f"As many of the largest SHAP values reach {DELTA:.0%} on": (
            f"{np.mean(np.array(as_many) >= DELTA):.0%}"
        ),
    }


def draw(reasons: ReasonExplanation, rows: list[int]) -> None:
    """Write the pictures."""
    import matplotlib.pyplot as plt

    FOLDER.mkdir(parents=True, exist_ok=True)
    plots.waterfall(reasons[rows[1]])
    plt.savefig(FOLDER / "waterfall.png", dpi=150)
    plots.curve(reasons[rows])
    plt.savefig(FOLDER / "curve.png", dpi=150)
    plots.frequency(reasons)
    plt.savefig(FOLDER / "frequency.png", dpi=150)
    plt.figure()
    shap.plots.heatmap(reasons, show=False)
    plt.savefig(FOLDER / "heatmap.png", dpi=150, bbox_inches="tight")
    plt.close("all")


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    model = LogisticRegression(solver="newton-cholesky").fit(X_train, y_train)

    # SHAP keeps 100 rows of a background unless told otherwise.
    masker = shap.maskers.Independent(X_train, max_samples=len(X_train))
    shap_values = shap.Explainer(model, masker)(X_test).values
    reasons = SufficientReasonExplainer(model, X_train, delta=DELTA)(X_test)

    truth, score = y_test.to_numpy(), model.decision_function(X_test)
    print(
        f"{len(X_train)} tumours to learn from, {len(X_test)} to explain, "
        f"{X.shape[1]} measurements of each.\n"
        f"The classifier is right on {np.mean(reasons.prediction == truth):.0%} of the "
        f"{len(X_test)}. What settles its answers?\n"
        "Unknown measurements are replaced, all together, by those of a tumour it learned from."
    )
    rows = chosen_rows(reasons.prediction, truth, score)
    for i, kind in rows.items():
        said = reasons.prediction[i]
        verdict = f"and it is {truth[i]}" if said == truth[i] else f"but it is {truth[i]}"
        show(reasons, shap_values, i, f"Tumour {i}: called {said}, {verdict} — {kind}")

    print(f"\nAll {len(X_test)} tumours\n{'─' * WIDTH}")
    for label, value in summary(reasons, shap_values).items():
        print(f"  {label + ':':<52}{value:>5}")
    draw(reasons, list(rows))
    print(f"\nPictures of them: {', '.join(p.name for p in sorted(FOLDER.glob('*.png')))}")
    print(f"in the folder {FOLDER}.")


if __name__ == "__main__":
    mpl.use("agg")
    main()

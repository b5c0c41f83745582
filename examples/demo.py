"""
The demo: which few features settle each diagnosis?
===================================================

What ``make demo`` runs: four breast tumours in words, each reason beside the largest SHAP values; a
hundred of them in pictures and on a page, in the folder build/demo.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer

from sklearn_probsr import SufficientReasonExplainer, compare, plots

FOLDER = Path("build/demo")
LINE = "─" * 96

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
# Words, pictures and the page call a tumour by its place among these.
X_test, truth = X_test[:100].reset_index(drop=True), y_test[:100].to_numpy()
halves = ColumnTransformer(
    [(name, Binarizer(threshold=cut), [name]) for name, cut in X_train.median().items()]
)
model = make_pipeline(halves, LogisticRegression()).fit(X_train, y_train)
reasons = SufficientReasonExplainer(model, X_train, delta=0.95)(X_test)
found = compare(model, X_test, X_train, delta=0.95)
said, firm = reasons.prediction, np.abs(found.table["margin"])

print(
    f"{len(X_train)} tumours to learn from, {len(X_test)} to explain, by {X.shape[1]} features: "
    "above the median or not.\n"
    f"A logistic regression is right on {np.mean(said == truth):.0%} of the {len(X_test)}. What "
    "settles its answers?\n"
    "Unknown features are replaced, all together, by those of a tumour it learned from."
)


def typical(label: str) -> int:
    """Return the row of the middle margin, of those that are rightly called so."""
    right = np.flatnonzero((said == label) & (truth == label))
    return int(right[np.argsort(firm[right])][len(right) // 2])


wrong = np.flatnonzero(said != truth)
rows = {
    typical("benign"): "a typical one",
    typical("malignant"): "a typical one",
    int(wrong[np.argmax(firm[wrong])]): "the classifier's firmest mistake",
    int(np.argmin(firm)): "the closest call",
}
for i, kind in rows.items():
    reason, values = reasons.reasons[i], found.shap_values[i]
    verdict = f"{'and' if said[i] == truth[i] else 'but'} it is {truth[i]}"
    print(f"\nTumour {i}: called {said[i]}, {verdict} — {kind}\n{LINE}")
    print(f"  {'The reason':<40}SHAP's largest values (+ malignant; ▪ in the reason)")
    largest = np.argsort(-np.abs(values), kind="stable")
    for k, u in enumerate(largest[: max(reason.size, 5)]):
        fact = reason.facts[k] if k < reason.size else ""
        mark = "▪" if u in reason.features else " "
        bar = "█" * max(round(abs(values[u]) * 14 / np.abs(values).max()), 1)
        print(f"  {fact:<40}{mark} {found.feature_names[u]:<24}{values[u]:>+7.2f} {bar}")
    print(f"  {reason}")
print(f"\nAll {len(X_test)} tumours\n{LINE}\n{found.summary()}")

FOLDER.mkdir(parents=True, exist_ok=True)
pictures = {
    "comparison.png": found.plot,
    "waterfall.png": lambda: plots.waterfall(reasons[list(rows)[1]]),
    "curve.png": lambda: plots.curve(reasons[list(rows)]),
    "frequency.png": lambda: plots.frequency(reasons),
}
plt.switch_backend("agg")
for name, draw in pictures.items():
    draw()
    plt.savefig(FOLDER / name, dpi=150, bbox_inches="tight", pad_inches=0.1)
    plt.close()
found.to_html(FOLDER / "report.html", title="Which few features settle each diagnosis?")
print(f"\nPictures in {FOLDER}: {', '.join(pictures)}.")
print(f"A page on every tumour, to open in a browser: {FOLDER / 'report.html'}")

"""
The pixels that make it a 4
===========================

A classifier tells handwritten fours from nines by 64 black or white pixels. SHAP gives every pixel
a value; a reason names the few that settle the matter, whatever the others are.
"""

# %%
# Pixels are ink or not. Unknown pixels are taken, all together, from one of the training images.

import matplotlib.pyplot as plt
import numpy as np
import shap
from matplotlib.colors import LinearSegmentedColormap
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from sklearn_probsr import SufficientReasonExplainer

digits = load_digits()
chosen = np.isin(digits.target, (4, 9))
X, y = (digits.data[chosen] > 7).astype(int), digits.target[chosen].astype(str)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = LogisticRegression(C=0.3).fit(X_train, y_train)
print(f"right on {model.score(X_test, y_test):.1%} of {len(X_test)} images of 4 and 9")

# %%
# Reasons at 95%, and SHAP's values over the same images.

reasons = SufficientReasonExplainer(model, X_train, delta=0.95)(X_test)
masker = shap.maskers.Independent(X_train, max_samples=len(X_train))
shap_values = shap.Explainer(model, masker)(X_test).values
for label in ("4", "9"):
    sizes = reasons.reason_size[reasons.prediction == label]
    print(f"called {label}: {np.median(sizes):g} pixels (median), {sizes.min()} to {sizes.max()}")

# %%
# A four and a nine whose reasons are of median size, and the hardest image that is still right.

margin = np.abs(model.decision_function(X_test))
right = reasons.prediction == y_test


def typical(label):
    """Return a row of a class that is explained by the median number of pixels."""
    rows = np.flatnonzero(right & (y_test == label))
    rows = rows[np.argsort(reasons.reason_size[rows], kind="stable")]
    return rows[len(rows) // 2]


rows = {
    "a typical 4": typical("4"),
    "a typical 9": typical("9"),
    "a close call": min(np.flatnonzero(right), key=lambda i: margin[i]),
}

# %%
# Left: the image. Middle: the SHAP value of each pixel. Right: the pixels of the reason; nothing is
# claimed of the others, so they are left blank.

RED, BLUE, INK, PAPER, BLANK = "#ff0051", "#008bfb", "#222222", "#ffffff", "#e9e9ee"
diverging = LinearSegmentedColormap.from_list("four to nine", [BLUE, "white", RED])
figure, axes = plt.subplots(3, 3, figsize=(8.2, 9.2), layout="constrained")
most = np.abs(shap_values[list(rows.values())]).max()
for line, (kind, i) in zip(axes, rows.items(), strict=True):
    reason, image = reasons.reasons[i], X_test[i].reshape(8, 8)
    kept = np.floor(1000 * reason.guarantee.lower) / 10  # rounded down, as promises are
    line[0].imshow(1 - image, cmap="gray", vmin=-0.15, vmax=1)
    line[0].set_title(kind, fontsize=11)
    heat = line[1].imshow(shap_values[i].reshape(8, 8), cmap=diverging, vmin=-most, vmax=most)
    line[1].set_title(f"{np.count_nonzero(shap_values[i])} SHAP values", fontsize=11)
    line[2].imshow(np.zeros((8, 8)), cmap="gray", alpha=0)
    line[2].set_facecolor(BLANK)
    side = RED if reason.prediction == "9" else BLUE
    for u in reason.features:
        down, across = divmod(u, 8)
        square = plt.Rectangle((across - 0.44, down - 0.44), 0.88, 0.88)
        square.set(facecolor=INK if X_test[i, u] else PAPER, edgecolor=side, linewidth=2.2)
        line[2].add_patch(square)
    told = f"{reason.size} pixels keep “{reason.prediction}” in {kept:.1f}%"
    line[2].set_title(told, fontsize=11)
    for ax in line:
        ax.set_xticks(np.arange(-0.5, 8), [])
        ax.set_yticks(np.arange(-0.5, 8), [])
        ax.grid(color="#d5d5da", linewidth=0.5)
        ax.tick_params(length=0)
        ax.spines[:].set_color("#d5d5da")
key = figure.colorbar(heat, ax=axes, location="bottom", aspect=45, pad=0.02, shrink=0.55)
key.set_label("SHAP value of a pixel: blue speaks for 4, red for 9")
key.outline.set_visible(False)
figure.supxlabel(
    f"Kept: of {len(X_train)} training images, each put in place of the blank pixels, the share\n"
    "that leaves the answer as it is. Framed: ink (dark) or paper (white) that must be known.",
    fontsize=9.5, color="#555555",
)  # fmt: skip

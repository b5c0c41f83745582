"""
Ten digits
==========

A classifier says which of ten digits an image shows, by the largest of ten scores. A reason names
the pixels that keep the winner ahead of all nine others, whatever the remaining pixels are.
"""

# %%
# Pixels are ink or not. Unknown pixels are taken, all together, from one of the training images.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from sklearn_probsr import SufficientReasonExplainer

X, y = load_digits(return_X_y=True)
X = (X > 7).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = LogisticRegression(C=0.3, max_iter=1000).fit(X_train, y_train)
print(f"right on {model.score(X_test, y_test):.1%} of {len(X_test)} images")

# %%
# Of each digit, the image that the classifier is most certain of. Values have one axis more, of the
# ten classes: ``reasons[..., 4]`` are those of the score of the four.

certain = np.max(model.predict_proba(X_test), axis=1)
said = model.predict(X_test)
rows = [max(np.flatnonzero(said == k), key=lambda i: certain[i]) for k in range(10)]
background = X_train[:300]
reasons = SufficientReasonExplainer(model, background, delta=0.95)(X_test[rows])
print(f"values: {reasons.values.shape}; sizes of the reasons: {reasons.reason_size}")

# %%
# The image in grey, the pixels of its reason framed: dark ones must be ink, white ones must not.

RED, INK, PAPER, PALE, BLANK = "#ff0051", "#222222", "#ffffff", "#c9c9d0", "#f1f1f4"
figure, axes = plt.subplots(2, 5, figsize=(10, 4.9), layout="constrained")
for ax, i, told in zip(axes.flat, rows, reasons.reasons, strict=True):
    image = X_test[i].reshape(8, 8)
    for (down, across), ink in np.ndenumerate(image):
        inside = 8 * down + across in told.features
        square = plt.Rectangle((across - 0.46, down - 0.46), 0.92, 0.92)
        colour = (INK if ink else PAPER) if inside else (PALE if ink else BLANK)
        edge = {"edgecolor": RED, "linewidth": 1.8, "zorder": 2} if inside else {"linewidth": 0}
        square.set(facecolor=colour, **edge)
        ax.add_patch(square)
    kept = np.floor(1000 * told.guarantee.lower) / 10  # rounded down, as promises are
    ax.set_title(f"{told.size} pixels keep “{told.prediction}”\nin {kept:.1f}%", fontsize=10)
    ax.set(xlim=(-0.6, 7.6), ylim=(7.6, -0.6), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
figure.supxlabel(
    "Kept: of 300 training images, each put in place of the pixels without a frame, the share that "
    "is still called the same of ten digits.",
    fontsize=9,
    color="#555555",
)  # fmt: skip

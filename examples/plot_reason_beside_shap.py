"""
A reason beside SHAP's values
=============================

One tumour, called malignant. SHAP gives a value to each of its 30 features; two of them settle
the matter. How often is the class kept, given as many features by the size of their SHAP values, or
by how much they speak for the class? And in all other tumours?
"""

# %%
# The model, SHAP's values over all training rows, and the reasons over the same rows.

import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from sklearn_probsr import SufficientReasonExplainer, guarantee

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = LogisticRegression(solver="newton-cholesky").fit(X_train, y_train)

masker = shap.maskers.Independent(X_train, max_samples=len(X_train))
shap_values = shap.Explainer(model, masker)(X_test)
reasons = SufficientReasonExplainer(model, X_train, delta=0.95)(X_test)

# %%
# Two orders of the features by their SHAP values: by size, and by how much they speak for the
# class. What do as many of them keep as the reason has?

chosen, found = 120, reasons.reasons
towards = np.where(found.prediction == model.classes_[1], 1, -1)[:, None] * shap_values.values
orders = {"by |SHAP|": np.abs(shap_values.values), "by signed SHAP": towards}
orders = {name: np.argsort(-keys, axis=1, kind="stable") for name, keys in orders.items()}


def kept(i, features):
    """The probability that row i keeps its class, given some features."""
    return guarantee(found.model, found.rows[i], features, distribution=found.distribution).lower


def told(lower):
    """How many rows reach 95%, and what is kept in the middle and at worst."""
    middle, least = (np.floor(1000 * share) / 10 for share in (np.median(lower), lower.min()))
    enough = f"{(lower >= 0.95).sum()} of {len(lower)} reach 95%"
    return f"{enough}; {middle:.1f}% in the middle, {least:.1f}% at worst"


sure = {"the reason": reasons.guarantee_lower}
for name, order in orders.items():
    sizes = zip(order, reasons.reason_size, strict=True)
    sure[name] = np.array([kept(i, line[:size]) for i, (line, size) in enumerate(sizes)])
print(reasons.describe(chosen))
for name, lower in sure.items():
    print(f"{name}: {told(lower)}")

# %%
# Left: the ten largest SHAP values, those of the reason in red. In the middle: this tumour, feature
# by feature. Right: all of them, each line in its own order, from the least sure on.

RED, BLUE, GREY = "#ff0051", "#008bfb", "#777777"
COLOURS = {"the reason": RED, "by |SHAP|": GREY, "by signed SHAP": BLUE}
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(13, 4), width_ratios=[1, 1, 1.15], layout="constrained"
)
reason, values = found[chosen], shap_values[chosen].values
shown = orders["by |SHAP|"][chosen][:10]
inside = np.isin(shown, reason.features)
left.barh(range(len(shown)), values[shown], color=np.where(inside, RED, "#bbbbbb"), height=0.7)
left.set_yticks(
    range(len(shown)), [f"{X.columns[i]} = {X_test.iloc[chosen, i]:.4g}" for i in shown]
)
for label in np.array(left.get_yticklabels())[inside]:
    label.set(color=RED, fontweight="bold")
left.axvline(0, color="black", linewidth=0.8)
left.invert_yaxis()
left.set_xlabel(f"SHAP value (the other {len(values) - len(shown)} are smaller)")
left.set_title(f"Why is tumour {chosen} “{reason.prediction}”?", loc="left")

for name, order in orders.items():
    along = [kept(chosen, order[chosen][:k]) for k in range(13)]
    middle.plot(range(13), along, color=COLOURS[name], marker="o", markersize=4, linewidth=1.4)
middle.plot(
    reason.size, reason.guarantee.lower, "o", color=RED, markersize=13, fillstyle="none", mew=2.2
)
middle.text(6.6, 0.56, "by |SHAP|", color=GREY)
middle.text(7.6, 0.75, "by signed SHAP", color=BLUE)
middle.text(0.9, 1.03, f"the reason: {reason.size} features", color=RED, fontweight="bold")
middle.set_xticks(range(0, 13, 2))
middle.set_xlabel("features that are known")
middle.set_title("How often is it still “malignant”?", loc="left")

for name, lower in sure.items():
    right.plot(np.sort(lower), color=COLOURS[name], linewidth=2.2 if name == "the reason" else 1.6)
right.text(4, 1.03, "the reason", color=RED, fontweight="bold", va="center")
right.text(31, 0.82, "by signed SHAP", color=BLUE)
right.text(62, 0.52, "by |SHAP|", color=GREY)
right.set_xlabel(f"the {len(found)} test tumours, the least sure first")
right.set_title("As many features as the reason has", loc="left")
for axes in (middle, right):
    axes.axhline(0.95, color="black", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    axes.set_ylim(0, 1.07)
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
for axes in (left, middle, right):
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
left.spines["left"].set_visible(False)

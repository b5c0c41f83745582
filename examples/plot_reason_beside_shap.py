"""
A reason beside SHAP's values
=============================

One tumour, called malignant. SHAP gives a value to each of its 30 features; two of them settle
the matter. How often is the class kept, given its largest SHAP values, or given the reason?
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
# One tumour. Knowing its largest SHAP values, one after the other, is compared with the reason.

chosen = 120
found, values = reasons.reasons, shap_values[chosen].values
reason = found[chosen]
largest = np.argsort(-np.abs(values))
row, law = found.rows[chosen], found.distribution
kept = [guarantee(found.model, row, largest[:k], distribution=law).lower for k in range(13)]
print(reasons.describe(chosen))
print(f"The {reason.size} largest SHAP values keep it in {kept[reason.size]:.1%}.")

# %%
# Left: the ten largest SHAP values, those of the reason in red. Right: what each choice keeps.

RED, GREY = "#ff0051", "#777777"
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), width_ratios=[1, 1.2], layout="constrained"
)
shown = largest[:10]
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

right.plot(range(len(kept)), kept, color=GREY, marker="o", markersize=5, linewidth=1.4)
right.text(6.4, 0.44, "the largest\nSHAP values", color=GREY, va="center")
right.plot(reason.size, reason.guarantee.lower, "o", color=RED, markersize=11)
told = f"the reason:\n{reason.size} features,\n{np.floor(1000 * reason.guarantee.lower) / 10:.1f}%"
right.text(reason.size, 0.93, told, color=RED, fontweight="bold", ha="center", va="top")
right.axhline(0.95, color="black", linewidth=0.9, linestyle=(0, (4, 3)))
right.text(12.2, 0.94, "95%", ha="right", va="top", fontsize=9)
right.set_ylim(0.3, 1.02)
right.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
right.set_xticks(range(0, 13, 2))
right.set_xlabel("features in the set, the others taken from a training row")
right.set_title("How often is it still “malignant”?", loc="left")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
left.spines["left"].set_visible(False)

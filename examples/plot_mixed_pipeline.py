"""
Reasons about a table with categories and gaps
==============================================

Numbers, categories and missing values go through a Pipeline of imputers, bins and one-hot columns.
The reasons are about the table as it was: what one column becomes counts as one fact.
"""

# %%
# Patients with diabetes: will the disease progress faster than in most? The data come with
# scikit-learn. To make the table like others, body mass becomes a category, and one value in eight
# of three columns is taken away at random.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

from sklearn_probsr import SufficientReasonExplainer

raw = load_diabetes(as_frame=True, scaled=False)
weights = ["normal", "overweight", "obese"]
X = pd.DataFrame(
    {
        "age": raw.data["age"],
        "sex": raw.data["sex"].map({1: "A", 2: "B"}),  # the data do not say which is which
        "weight": pd.cut(raw.data["bmi"], [0, 25, 30, 99], labels=weights).astype(object),
        "blood pressure": raw.data["bp"].round(),
        "cholesterol": raw.data["s1"],
        "HDL": raw.data["s3"].round(),
        "log triglycerides": raw.data["s5"].round(2),
        "glucose": raw.data["s6"],
    }
)
y = np.where(raw.target > raw.target.median(), "fast", "slow")
rng = np.random.default_rng(0)
for name in ("weight", "blood pressure", "log triglycerides"):
    X.loc[rng.random(len(X)) < 1 / 8, name] = np.nan
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
print(X_test.head(4).to_string())

# %%
# The Pipeline: gaps in numbers are filled, gaps in categories are a category of their own.

columns = make_column_transformer(
    (
        make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
        ["blood pressure", "log triglycerides"],
    ),
    (StandardScaler(), ["cholesterol", "HDL", "glucose"]),
    (KBinsDiscretizer(n_bins=4, strategy="uniform"), ["age"]),
    (OneHotEncoder(), ["sex", "weight"]),
)
model = make_pipeline(columns, LogisticRegression()).fit(X_train, y_train)
print(f"right on {model.score(X_test, y_test):.0%} of {len(X_test)} patients")
print(f"{X.shape[1]} columns go in, {model[-1].coef_.size} reach the classifier")

# %%
# Reasons at 90%. What is not known of a patient is taken, all together, from a training row, gaps
# included.

reasons = SufficientReasonExplainer(model, X_train, delta=0.9)(X_test)
for i in range(3):
    print(reasons.describe(i))

# %%
# A few patients of each answer, first those with a gap in their reason: that a value is missing is
# a fact like any other.

inside = reasons.reason_mask
by_gap = (inside & X_test.isna().to_numpy()).any(axis=1)
chosen = [
    i
    for label in ("fast", "slow")
    for gap, count in ((True, 2), (False, 4))
    for i in np.flatnonzero((by_gap == gap) & (reasons.prediction == label))[:count]
]
print(f"in {by_gap.sum()} of {len(X_test)} reasons a value is known to be missing")

# %%
# The table as it was. What is in colour settles the answer, what is pale may be anything.

RED, BLUE = "#ff0051", "#008bfb"
shown = reasons.display_data
figure, ax = plt.subplots(figsize=(11, 5.4), layout="constrained")
for line, i in enumerate(chosen):
    reason = reasons.reasons[i]
    colour = BLUE if reason.prediction == "fast" else RED
    for k in range(X.shape[1]):
        text, number = shown[i, k], not isinstance(shown[i, k], str)
        text = "missing" if number and np.isnan(text) else f"{text:g}" if number else text
        style = {"color": "#9c9ca6"}
        if inside[i, k]:
            ax.add_patch(plt.Rectangle((k - 0.48, line - 0.44), 0.96, 0.88, color=colour))
            style = {"color": "white", "weight": "bold"}
        ax.text(k, line, text, ha="center", va="center", fontsize=10, **style)
    kept = np.floor(1000 * reason.guarantee.lower) / 10  # rounded down, as promises are
    ax.text(8.05, line, reason.prediction, ha="center", va="center", color=colour, weight="bold")
    ax.text(8.9, line, f"{kept:.1f}%", ha="center", va="center", color="#444444")
names = [name.replace(" ", "\n") for name in X.columns]
for k, name in zip([*range(8), 8.05, 8.9], [*names, "answer", "kept in"], strict=True):
    ax.text(k, -0.75, name, ha="center", va="bottom", fontsize=10)
ax.hlines(-0.6, -0.5, 9.3, color="black", linewidth=0.9)
ax.set(xlim=(-0.55, 9.35), ylim=(len(chosen) - 0.4, -1.5))
ax.set_axis_off()
figure.suptitle("Which entries settle the answer, fast or slow progress?", x=0.01, ha="left")
figure.supxlabel(
    f"Kept: of {len(X_train)} training rows, each put in place of the pale entries, the share that "
    "leaves the answer as it is.",
    x=0.01, ha="left", fontsize=9.5, color="#555555",
)  # fmt: skip

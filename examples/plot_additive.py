"""
The states that settle a decision, in the curves of a boosted model
===================================================================

A boosted model without interactions is a sum of curves, one for each column. Its curves are what
people look at; a sufficient reason marks the few pieces of them that settle one decision.
"""

# %%
# Patients with diabetes: will the disease progress faster than in most? The data come with
# scikit-learn. One value in eight of three columns is taken away, and sex is a category. The model
# takes gaps and categories as they are.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sklearn_probsr import SufficientReasonExplainer, adapt

raw = load_diabetes(as_frame=True, scaled=False)
X = pd.DataFrame(
    {
        "age": raw.data["age"],
        "sex": raw.data["sex"].map({1: "A", 2: "B"}).astype("category"),
        "body mass": raw.data["bmi"],
        "blood pressure": raw.data["bp"].round(),
        "HDL": raw.data["s3"].round(),
        "log triglycerides": raw.data["s5"].round(2),
    }
)
y = np.where(raw.target > raw.target.median(), "fast", "slow")
rng = np.random.default_rng(0)
for name in ("body mass", "blood pressure", "log triglycerides"):
    X.loc[rng.random(len(X)) < 1 / 8, name] = np.nan
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = HistGradientBoostingClassifier(
    interaction_cst="no_interactions", learning_rate=0.05, max_iter=60, max_leaf_nodes=4
).fit(X_train, y_train)
print(f"right in {model.score(X_test, y_test):.0%} of the rows that it has not seen")

# %%
# A patient of whom a value is missing, and that it is missing counts. The reason names states: a
# piece of a curve, a category, or a gap.

reasons = SufficientReasonExplainer(model, X_train, delta=0.9)(X_test)
by_gap = (reasons.reason_mask & X_test.isna().to_numpy()).any(axis=1)
row = int(np.flatnonzero(by_gap & (reasons.reason_size >= 3))[0])
patient = X_test.iloc[[row]]
print(patient.to_string())
print(reasons.describe(row))

# %%
# What each value of a column adds to the score of "slow" is what `sklearn_probsr.adapt` gives.
# So the curves can be drawn, and in them the state that this patient is in.

adapted = adapt(model, X_train)


def added(name, values):
    """Return what some values of a column add, whatever the others are."""
    rows = pd.concat([patient] * len(values), ignore_index=True)
    rows[name] = pd.Series(values).astype(X[name].dtype)
    return adapted.contributions(rows)[:, list(X.columns).index(name)]


RED, GREY = "#ff0051", "#9c9ca6"
figure, axes = plt.subplots(2, 3, figsize=(11, 6), layout="constrained", sharey=True)
for ax, name, inside in zip(axes.flat, X.columns, reasons.reason_mask[row], strict=True):
    own, number = patient[name].iloc[0], name != "sex"
    colour, here = RED if inside else GREY, added(name, [own])[0]
    if number:
        low, high = X[name].min(), X[name].max()
        grid = np.linspace(low, high, 2_000)
        curve = added(name, grid)
        ax.plot(grid, curve, color="#33333a", linewidth=1.2)
        if not np.isnan(own):
            ax.plot(grid, np.where(curve == here, curve, np.nan), color=colour, linewidth=5)
        places, texts = [high + (high - low) * 0.12], ["missing"]
        values, width = [np.nan], (high - low) * 0.05
    else:
        values, places, texts, width = ["A", "B"], [0, 1], ["A", "B"], 0.2
    for place, value, level in zip(places, values, added(name, values), strict=True):
        is_own = value == own or (number and np.isnan(own))
        style = {"color": colour, "linewidth": 5} if is_own else {"color": "#33333a"}
        ax.plot([place - width, place + width], [level, level], **style)
        if is_own:
            ax.plot(place, level, "o", color=colour, markersize=9)
    if number and not np.isnan(own):
        ax.plot(own, here, "o", color=colour, markersize=9)
    if number:
        ax.set_xticks([t for t in ax.get_xticks() if low <= t <= high] + places)
        ax.set_xticklabels([f"{t:g}" for t in ax.get_xticks()[:-1]] + texts)
    else:
        ax.set_xticks(places, texts)
    ax.axhline(0, color="#dddddd", linewidth=0.8, zorder=0)
    ax.set_title(
        f"{name}{' counts' if inside else ''}", loc="left", color=colour if inside else "black"
    )
    ax.spines[["top", "right"]].set_visible(False)
for ax in axes[:, 0]:
    ax.set_ylabel("adds to the score of slow")
kept = np.floor(1000 * reasons.guarantee_lower[row]) / 10  # rounded down, as promises are
figure.suptitle(
    f"What settles \u201c{reasons.prediction[row]}\u201d: with the states in red it is kept in "
    f"{kept:.1f}% of {len(X_train)} training rows, whatever the others are",
    x=0.01, ha="left",
)  # fmt: skip

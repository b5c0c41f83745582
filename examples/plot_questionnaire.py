"""
A questionnaire that stops when the answer is settled
=====================================================

Ten features of a tumour lead to a decision. Must all of them be asked for? An outlook says after
each one whether the decision is settled, and which one to ask for next.
"""

# %%
# A classifier on the ten mean features of a tumour's cells, and an explainer in which unknown
# features are replaced by those of a training row, one of 200.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import SufficientReasonExplainer

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10].rename(columns=lambda name: name.removeprefix("mean "))
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=60, random_state=0)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
background = X_train.sample(200, random_state=0)

# %%
# One tumour, whose features are asked for one by one. Each answer gives the next outlook.

explainer = SufficientReasonExplainer(model, background, delta=0.95)
row = X_test.iloc[0]
seen = explainer.outlook(row, unknown=list(X.columns))[0]
while not seen.settled:
    feature = seen.next["feature"].iloc[0]
    seen = seen.tell(feature, row[feature])
    print(f"{feature} = {row[feature]:g}: {seen}")

# %%
# The same for 60 held-out tumours at three levels: how many features it takes, and how often the
# class at the end is not the one that all ten give. Over background rows unknown features are
# replaced, not predicted from the known ones, so that is what was found, not what was proved.

levels = (0.9, 0.95, 0.99)
asked = {delta: [] for delta in levels}
differ = dict.fromkeys(levels, 0)
for delta in levels:
    explainer = SufficientReasonExplainer(model, background, delta=delta)
    final = model.predict(X_test)
    for i in range(len(X_test)):
        row = X_test.iloc[i]
        seen = explainer.outlook(row, unknown=list(X.columns))[0]
        while not seen.settled:
            feature = seen.next["feature"].iloc[0]
            seen = seen.tell(feature, row[feature])
        asked[delta].append(X.shape[1] - len(seen.unknown))
        differ[delta] += seen.prediction != final[i]

# %%
fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for ax, delta in zip(axes, levels, strict=True):
    counts = np.bincount(asked[delta], minlength=X.shape[1] + 1)
    ax.bar(np.arange(len(counts)), counts, color="#1e88e5")
    ax.axvline(np.mean(asked[delta]), color="#444444", linewidth=1, linestyle=":")
    average = np.mean(asked[delta])
    told = f"{average:.1f} of 10 on average\nclass differs in {differ[delta]} of 60"
    ax.set_title(f"settled at {delta}: {told}", fontsize=9)
    ax.set_xlabel("features asked for")
    ax.set_xticks(range(0, 11, 2))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("tumours")
plt.show()

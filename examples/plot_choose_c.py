"""
Choosing C by accuracy and by the length of explanations
========================================================

The penalty of a logistic regression decides how accurate it is, and also how many features it takes
to settle one of its decisions. A scorer lets a grid search weigh the two.
"""

# %%
# A grid over C with two scores, both of rows that the candidate was not fitted on: accuracy, and
# minus the mean size of a reason at 95%. Unknown features are replaced by those of a training row,
# one of 100.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import make_reason_size_scorer

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
size_scorer = make_reason_size_scorer(delta=0.95, masker=X_train.sample(100, random_state=0))
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def shortest_of_the_good(results):
    """Of the candidates within one standard error of the best, take the shortest reasons."""
    accuracy = results["mean_test_accuracy"]
    best = accuracy.argmax()
    error = results["std_test_accuracy"][best] / np.sqrt(folds.get_n_splits())
    return np.where(accuracy >= accuracy[best] - error, results["mean_test_size"], -np.inf).argmax()


# l1_ratio=1 is the L1 penalty; before scikit-learn 1.8 it is penalty="l1".
sparse = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)
search = GridSearchCV(
    make_pipeline(StandardScaler(), sparse),
    {"logisticregression__C": [0.03, 0.05, 0.1, 0.3, 1, 3, 10, 30]},
    scoring={"accuracy": "accuracy", "size": size_scorer},
    refit=shortest_of_the_good,
    cv=folds,
).fit(X_train, y_train)

# %%
# What the search saw, and how its choice and the most accurate candidate do on new tumours.

results = search.cv_results_
strengths = np.array(results["param_logisticregression__C"], dtype=float)
accuracy, size = results["mean_test_accuracy"], -results["mean_test_size"]
chosen, best = search.best_index_, accuracy.argmax()
for i, C in enumerate(strengths):
    note = {chosen: "  <- chosen", best: "  <- most accurate"}.get(i, "")
    print(f"C = {C:<5g} {accuracy[i]:.3f} accuracy, {size[i]:.1f} features on average{note}")

accurate = make_pipeline(StandardScaler(), sparse.set_params(C=strengths[best]))
for name, model in (("chosen", search), ("most accurate", accurate.fit(X_train, y_train))):
    right = (model.predict(X_test) == y_test).mean()
    length = -size_scorer(getattr(model, "best_estimator_", model), X_test)
    print(f"On {len(X_test)} new tumours, {name}: {right:.3f} accuracy, {length:.1f} features")

# %%
# The trade-off: up is more accurate, left is shorter. Bars are standard errors of the accuracy.

RED, BLUE, GREY = "#ff0051", "#008bfb", "#777777"
figure, axes = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
errors = results["std_test_accuracy"] / np.sqrt(folds.get_n_splits())
axes.errorbar(size, accuracy, errors, color="#cccccc", fmt="none", linewidth=1.2, zorder=1)
axes.plot(size, accuracy, color=GREY, linewidth=1.2, zorder=2)
axes.scatter(size, accuracy, s=40, color=GREY, zorder=3)
axes.axhspan(
    accuracy[best] - errors[best], accuracy[best], color=BLUE, alpha=0.1, linewidth=0,
    label="within one standard error",
)  # fmt: skip
for i, colour, note in ((best, BLUE, "most accurate"), (chosen, RED, "chosen")):
    axes.scatter(size[i], accuracy[i], s=110, color=colour, zorder=4, label=note)
for i, C in enumerate(strengths):
    side = -1 if C in {0.1, 1} else 1  # where the curve does not go
    rise = 0 if C == 3 else 11 if C < 1 else -9
    axes.annotate(
        f"C = {C:g}", (size[i], accuracy[i]), xytext=(9 * side, rise),
        textcoords="offset points", fontsize=9, va="center", ha="left" if side > 0 else "right",
    )  # fmt: skip
axes.margins(x=0.1)
axes.set_xlabel("features in a reason, on average")
axes.set_ylabel("accuracy")
axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
axes.set_title("How short can explanations be, and at what price?", loc="left")
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)

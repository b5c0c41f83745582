"""
One decision, three distributions
=================================

The same tumour, explained over uniform completions, over independent marginals, and over
background rows. What may replace an unknown feature decides how much must be known.
"""

# %%
# The model: breast cancer data, each feature turned into "in the upper quarter or not".

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import (
    Background,
    LinearModel,
    Product,
    Uniform,
    guarantee,
    sufficient_reason,
)

data = load_breast_cancer()
cuts = np.quantile(data.data[:400], 0.75, axis=0)
rows = (data.data > cuts).astype(int)
fitted = LogisticRegression().fit(rows[:400], data.target[:400])
names = [
    f"{name} > {float(f'{cut:.3g}'):g}" for name, cut in zip(data.feature_names, cuts, strict=True)
]
model = LinearModel(
    fitted.coef_.ravel(),
    -fitted.intercept_,
    strict=True,
    feature_names=names,
    classes=tuple(data.target_names),
)

# %%
# Three answers to one question: which facts keep the class with probability 0.95?

x = rows[400]
distributions = {
    "uniform": Uniform(),
    "marginals": Product.fit(rows[:400]),
    "background rows": Background(rows[:400]),
}
reasons = {
    name: sufficient_reason(model, x, distribution=law) for name, law in distributions.items()
}
for reason in reasons.values():
    print(reason, "\n")

# %%
# Each column is a reason; the numbers below say how it fares under every distribution.

chosen = {i for reason in reasons.values() for i in reason.features}
shown = sorted(chosen, key=lambda i: -abs(model.weights[i]))
figure, (top, bottom) = plt.subplots(
    2,
    1,
    figsize=(7.5, 0.34 * len(shown) + 3.2),
    height_ratios=[len(shown), 3.4],
    layout="constrained",
)
inside = np.array([[i in r.features for r in reasons.values()] for i in shown])
top.imshow(inside, cmap="Blues", vmin=-0.2, vmax=1.3, aspect="auto")
top.set_yticks(range(len(shown)), [f"{names[i]}: {'yes' if x[i] else 'no'}" for i in shown])
top.set_xticks(range(3), [f"{name}\n{r.size} facts" for name, r in reasons.items()])
top.xaxis.tick_top()
top.set_title(f"Which facts settle “{reasons['uniform'].prediction}” at 95%?", pad=12)
top.set_xticks(np.arange(-0.5, 3), minor=True)
top.set_yticks(np.arange(-0.5, len(shown)), minor=True)
top.grid(which="minor", color="white", linewidth=2)
top.tick_params(which="both", length=0)

kept = np.array(
    [
        [guarantee(model, x, r.features, distribution=law).lower for r in reasons.values()]
        for law in distributions.values()
    ]
)
bottom.imshow(kept, cmap="RdYlGn", vmin=0.1, vmax=1.2, aspect="auto")
for i, j in np.ndindex(kept.shape):
    bottom.text(j, i, f"{np.floor(kept[i, j] * 1000) / 10:.1f}%", ha="center", va="center")
bottom.set_yticks(range(3), [f"kept over {name}" for name in distributions])
bottom.set_xticks([])
bottom.set_xticks(np.arange(-0.5, 3), minor=True)
bottom.set_yticks(np.arange(-0.5, 3), minor=True)
bottom.grid(which="minor", color="white", linewidth=2)
bottom.tick_params(which="both", length=0)
for axes in (top, bottom):
    axes.spines[:].set_visible(False)

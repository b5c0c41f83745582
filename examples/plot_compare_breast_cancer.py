"""
A hundred reasons beside their SHAP values
==========================================

How many SHAP bars must one show, and what is lost by showing fewer? One call compares, row by row,
on breast tumours whose 30 features are known as above their median or not.
"""

# %%
# The model is a Pipeline, so that facts read as "worst area > 687".

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer

from sklearn_probsr import compare

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
halves = ColumnTransformer(
    [(name, Binarizer(threshold=cut), [name]) for name, cut in X_train.median().items()]
)
model = make_pipeline(halves, LogisticRegression()).fit(X_train, y_train)
print(f"right on {model.score(X_test, y_test):.1%} of {len(X_test)} tumours")

# %%
# What is not known of a tumour is taken, all together, from one of the training rows. SHAP's values
# are computed on the same rows.

found = compare(model, X_test[:100], X_train, delta=0.95)
print(found.summary())

# %%
# The row where stopping at the largest SHAP values loses most:

worst = found.to_frame().sort_values("top_shap_guarantee_lower").iloc[0]
print(f"\nTumour {worst.name}, {worst['prediction']}, because of {', '.join(worst['reason'])}.")
least = np.floor(1000 * worst["top_shap_guarantee_lower"]) / 10  # rounded down, as promises are
print(f"As many by |SHAP| keep the class in {least:.1f}%.")

# %%
# Left: how many features each choice takes. Middle: how sure one can be, row by row. Right: which
# features are in reasons, beside how large their SHAP values are.

figure = found.plot()

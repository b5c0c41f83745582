"""Adapters: a fitted scikit-learn classifier or Pipeline becomes a linear model over units.

Here is what an adapter of one's own declares; `sklearn_probsr.extend` has `register_adapter`.
"""

from sklearn_probsr.adapters import _adapt as _adapt  # with which all adapters are registered
from sklearn_probsr.adapters._declarations import Affine, Linear, PerColumn, Words
from sklearn_probsr.adapters._supported import support_table
from sklearn_probsr.adapters.classifiers._shapes import Categories, Steps
from sklearn_probsr.adapters.classifiers._threshold import Threshold

__all__ = [
    "Affine",
    "Categories",
    "Linear",
    "PerColumn",
    "Steps",
    "Threshold",
    "Words",
    "support_table",
]

"""Adapters: a fitted scikit-learn classifier or Pipeline becomes a linear model over units.

Here is what an adapter of one's own declares; `sklearn_probsr.extend` has `register_adapter`.
"""

from sklearn_probsr.adapters import adapt as adapt  # with which all adapters are registered
from sklearn_probsr.adapters.additive import Categories, Steps
from sklearn_probsr.adapters.linear import Threshold
from sklearn_probsr.adapters.registry import Affine, Linear, PerColumn, Words, support_table

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

"""Adapters: a fitted scikit-learn classifier or Pipeline becomes a linear model over units."""

from sklearn_probsr.adapters._adapt import adapt, to_linear_model
from sklearn_probsr.adapters._adapted import Adapted
from sklearn_probsr.adapters._declarations import Affine, Linear, PerColumn, Words
from sklearn_probsr.adapters._registry import register_adapter
from sklearn_probsr.adapters._supported import support_table
from sklearn_probsr.adapters.classifiers._additive import Additive
from sklearn_probsr.adapters.classifiers._shapes import Categories, Steps
from sklearn_probsr.adapters.classifiers._threshold import Threshold

__all__ = [
    "Adapted",
    "Additive",
    "Affine",
    "Categories",
    "Linear",
    "PerColumn",
    "Steps",
    "Threshold",
    "Words",
    "adapt",
    "register_adapter",
    "support_table",
    "to_linear_model",
]

"""Adapters: a fitted scikit-learn classifier or Pipeline becomes a linear model over units."""

from sklearn_probsr.adapters._adapt import adapt, to_linear_model
from sklearn_probsr.adapters._adapted import Adapted
from sklearn_probsr.adapters._parts import Affine, Linear, PerColumn, Words
from sklearn_probsr.adapters._registry import register_adapter, support_table

__all__ = [
    "Adapted",
    "Affine",
    "Linear",
    "PerColumn",
    "Words",
    "adapt",
    "register_adapter",
    "support_table",
    "to_linear_model",
]

"""Certified probabilistic sufficient reasons for linear classifiers.

Which few features settle this decision, and how sure is that? See `SufficientReasonExplainer` for
estimators and Pipelines, `sufficient_reason` for weights.

The types of results, for hints, are in `sklearn_probsr.results`, errors in
`sklearn_probsr.exceptions`, and what extends the package in `sklearn_probsr.extend` and
`sklearn_probsr.adapters`. Each name is imported from one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn_probsr._exports import exports

if TYPE_CHECKING:
    from sklearn_probsr import plots
    from sklearn_probsr._functions import (
        guarantee,
        guarantee_curve,
        sufficient_reason,
        sufficient_reasons,
    )
    from sklearn_probsr.adapters._adapt import adapt, to_linear_model
    from sklearn_probsr.adapters._dummies import group_dummies
    from sklearn_probsr.adapters.classifiers._additive import Additive
    from sklearn_probsr.adapters.classifiers._scorecard import scorecard
    from sklearn_probsr.distributions._completions import Background, Marginals, Product, Uniform
    from sklearn_probsr.distributions._matching import Matching
    from sklearn_probsr.explain._explainer import SufficientReasonExplainer
    from sklearn_probsr.explain._explanation import ReasonExplanation
    from sklearn_probsr.explain._scorers import make_guarantee_scorer, make_reason_size_scorer
    from sklearn_probsr.explain._transformer import SufficientReasonTransformer
    from sklearn_probsr.model.argmax import ArgmaxModel
    from sklearn_probsr.model.linear import LinearModel
    from sklearn_probsr.model.units import Unit
    from sklearn_probsr.questions._alternatives import alternatives
    from sklearn_probsr.questions._breaking_sets import breaking_set
    from sklearn_probsr.questions._outlook import outlook
    from sklearn_probsr.report._audit import audit
    from sklearn_probsr.report._reason_codes import reason_codes
    from sklearn_probsr.report.comparison._compare import compare
    from sklearn_probsr.report.comparison._comparison import Comparison

__version__ = "0.2.0"

__all__ = [
    "Additive",
    "ArgmaxModel",
    "Background",
    "Comparison",
    "LinearModel",
    "Marginals",
    "Matching",
    "Product",
    "ReasonExplanation",
    "SufficientReasonExplainer",
    "SufficientReasonTransformer",
    "Uniform",
    "Unit",
    "adapt",
    "alternatives",
    "audit",
    "breaking_set",
    "compare",
    "group_dummies",
    "guarantee",
    "guarantee_curve",
    "make_guarantee_scorer",
    "make_reason_size_scorer",
    "outlook",
    "plots",
    "reason_codes",
    "scorecard",
    "sufficient_reason",
    "sufficient_reasons",
    "to_linear_model",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "_functions": ("guarantee", "guarantee_curve", "sufficient_reason", "sufficient_reasons"),
        "adapters._adapt": ("adapt", "to_linear_model"),
        "adapters._dummies": ("group_dummies",),
        "adapters.classifiers._additive": ("Additive",),
        "adapters.classifiers._scorecard": ("scorecard",),
        "distributions._completions": ("Background", "Marginals", "Product", "Uniform"),
        "distributions._matching": ("Matching",),
        "explain._explainer": ("SufficientReasonExplainer",),
        "explain._explanation": ("ReasonExplanation",),
        "explain._scorers": ("make_guarantee_scorer", "make_reason_size_scorer"),
        "explain._transformer": ("SufficientReasonTransformer",),
        "model.argmax": ("ArgmaxModel",),
        "model.linear": ("LinearModel",),
        "model.units": ("Unit",),
        "plots": ("plots",),
        "questions._alternatives": ("alternatives",),
        "questions._breaking_sets": ("breaking_set",),
        "questions._outlook": ("outlook",),
        "report._audit": ("audit",),
        "report._reason_codes": ("reason_codes",),
        "report.comparison._compare": ("compare",),
        "report.comparison._comparison": ("Comparison",),
    },
    "__version__",
)

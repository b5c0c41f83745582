"""Certified probabilistic sufficient reasons for linear classifiers.

Which few features settle this decision, and how sure is that? See `sufficient_reason`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn_probsr import plots
    from sklearn_probsr._functions import (
        guarantee,
        guarantee_curve,
        sufficient_reason,
        sufficient_reasons,
    )
    from sklearn_probsr import Additive, adapt, to_linear_model
    from sklearn_probsr.extend import Adapted, register_adapter
    from sklearn_probsr.adapters._dummies import group_dummies
    from sklearn_probsr.adapters.classifiers._scorecard import scorecard
    from sklearn_probsr.core.dispatch import law_of, register_law
    from sklearn_probsr.core.law import Law
    from sklearn_probsr.core.view import View
    from sklearn_probsr.distributions._completions import Background, Marginals, Product, Uniform
    from sklearn_probsr.distributions._matching import Matching
    from sklearn_probsr.exceptions import (
        InvalidInputError,
        ProbSRError,
        UndecidedError,
        UnreachableError,
    )
    from sklearn_probsr.explain._explainer import SufficientReasonExplainer
    from sklearn_probsr.explain._explanation import ReasonExplanation
    from sklearn_probsr.explain._scorers import make_guarantee_scorer, make_reason_size_scorer
    from sklearn_probsr.explain._transformer import SufficientReasonTransformer
    from sklearn_probsr.explain.rules._rule_cover import RuleCover
    from sklearn_probsr.explain.rules._rule_sets import Rules
    from sklearn_probsr.model._argmax import ArgmaxModel
    from sklearn_probsr.model._enclosure import Enclosure, Verdict
    from sklearn_probsr.model._linear import LinearModel
    from sklearn_probsr.model._units import Unit
    from sklearn_probsr.questions._alternatives import Alternatives, alternatives
    from sklearn_probsr.questions._breaking_sets import BreakingSet, breaking_set
    from sklearn_probsr.questions._outlook import Outlook, outlook
    from sklearn_probsr.report._audit import Audit, audit
    from sklearn_probsr.report._coded_rows import ReasonCodes
    from sklearn_probsr.report._reason_codes import reason_codes
    from sklearn_probsr.report.comparison._compare import compare
    from sklearn_probsr.report.comparison._comparison import Comparison
    from sklearn_probsr.results._curve import GuaranteeCurve
    from sklearn_probsr.results._reason import SufficientReason
    from sklearn_probsr.results._reasons import SufficientReasons
    from sklearn_probsr.rules._condition import Condition
    from sklearn_probsr.rules._rule import Rule

__version__ = "0.2.0"

__all__ = [
    "Adapted",
    "Additive",
    "Alternatives",
    "ArgmaxModel",
    "Audit",
    "Background",
    "BreakingSet",
    "Comparison",
    "Condition",
    "Enclosure",
    "GuaranteeCurve",
    "InvalidInputError",
    "Law",
    "LinearModel",
    "Marginals",
    "Matching",
    "Outlook",
    "ProbSRError",
    "Product",
    "ReasonCodes",
    "ReasonExplanation",
    "Rule",
    "RuleCover",
    "Rules",
    "SufficientReason",
    "SufficientReasonExplainer",
    "SufficientReasonTransformer",
    "SufficientReasons",
    "UndecidedError",
    "Uniform",
    "Unit",
    "UnreachableError",
    "Verdict",
    "View",
    "adapt",
    "alternatives",
    "audit",
    "breaking_set",
    "compare",
    "group_dummies",
    "guarantee",
    "guarantee_curve",
    "law_of",
    "make_guarantee_scorer",
    "make_reason_size_scorer",
    "outlook",
    "plots",
    "reason_codes",
    "register_adapter",
    "register_law",
    "scorecard",
    "sufficient_reason",
    "sufficient_reasons",
    "to_linear_model",
]

# Where each name lives: modules are imported when a name is first used, so that importing the
# package stays light.
_HOMES = {
    "core.dispatch": ("law_of", "register_law"),
    "core.law": ("Law",),
    "core.view": ("View",),
    "_functions": ("guarantee", "guarantee_curve", "sufficient_reason", "sufficient_reasons"),
    "questions._alternatives": ("Alternatives", "alternatives"),
    "questions._breaking_sets": ("BreakingSet", "breaking_set"),
    "questions._outlook": ("Outlook", "outlook"),
    "report._audit": ("Audit", "audit"),
    "report._coded_rows": ("ReasonCodes",),
    "report.comparison._compare": ("compare",),
    "report._reason_codes": ("reason_codes",),
    "report.comparison._comparison": ("Comparison",),
    "results._curve": ("GuaranteeCurve",),
    "distributions._completions": ("Background", "Marginals", "Product", "Uniform"),
    "model._enclosure": ("Enclosure", "Verdict"),
    "explain._explainer": ("SufficientReasonExplainer",),
    "explain._explanation": ("ReasonExplanation",),
    "model._argmax": ("ArgmaxModel",),
    "distributions._matching": ("Matching",),
    "model._linear": ("LinearModel",),
    "results._reason": ("SufficientReason",),
    "results._reasons": ("SufficientReasons",),
    "explain.rules._rule_cover": ("RuleCover",),
    "explain.rules._rule_sets": ("Rules",),
    "rules._condition": ("Condition",),
    "rules._rule": ("Rule",),
    "explain._scorers": ("make_guarantee_scorer", "make_reason_size_scorer"),
    "explain._transformer": ("SufficientReasonTransformer",),
    "model._units": ("Unit",),
    "adapters": ("Adapted", "Additive", "adapt", "register_adapter", "to_linear_model"),
    "adapters._dummies": ("group_dummies",),
    "adapters.classifiers._scorecard": ("scorecard",),
    "exceptions": ("InvalidInputError", "ProbSRError", "UndecidedError", "UnreachableError"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "plots":
        return import_module(f"{__name__}.plots")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

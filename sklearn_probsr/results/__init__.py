"""Results: what functions, explainers and explanations return, as frozen values.

Nobody constructs them; they are here for type hints and ``isinstance``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn_probsr._exports import exports

if TYPE_CHECKING:
    from sklearn_probsr.explain.rules._rule_cover import RuleCover
    from sklearn_probsr.explain.rules._rule_sets import Rules
    from sklearn_probsr.questions._alternatives import Alternatives
    from sklearn_probsr.questions._breaking_sets import BreakingSet
    from sklearn_probsr.questions._outlook import Outlook
    from sklearn_probsr.report._audit import Audit
    from sklearn_probsr.report._coded_rows import ReasonCodes
    from sklearn_probsr.results._curve import GuaranteeCurve
    from sklearn_probsr.results._reason import SufficientReason
    from sklearn_probsr.results._reasons import SufficientReasons
    from sklearn_probsr.rules._condition import Condition
    from sklearn_probsr.rules._rule import Rule

__all__ = [
    "Alternatives",
    "Audit",
    "BreakingSet",
    "Condition",
    "GuaranteeCurve",
    "Outlook",
    "ReasonCodes",
    "Rule",
    "RuleCover",
    "Rules",
    "SufficientReason",
    "SufficientReasons",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "explain.rules._rule_cover": ("RuleCover",),
        "explain.rules._rule_sets": ("Rules",),
        "questions._alternatives": ("Alternatives",),
        "questions._breaking_sets": ("BreakingSet",),
        "questions._outlook": ("Outlook",),
        "report._audit": ("Audit",),
        "report._coded_rows": ("ReasonCodes",),
        "results._curve": ("GuaranteeCurve",),
        "results._reason": ("SufficientReason",),
        "results._reasons": ("SufficientReasons",),
        "rules._condition": ("Condition",),
        "rules._rule": ("Rule",),
    },
)

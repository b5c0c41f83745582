"""Certified probabilistic sufficient reasons for linear classifiers.

Which few features settle this decision, and how sure is that? See `sufficient_reason`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn_probsr import plots
    from sklearn_probsr._api import (
        guarantee,
        guarantee_curve,
        sufficient_reason,
        sufficient_reasons,
    )
    from sklearn_probsr._argmax import ArgmaxModel
    from sklearn_probsr._compare import compare
    from sklearn_probsr._comparison import Comparison
    from sklearn_probsr._curve import GuaranteeCurve
    from sklearn_probsr._distributions import Background, Marginals, Product, Uniform
    from sklearn_probsr._enclosure import Enclosure, Verdict
    from sklearn_probsr._explainer import SufficientReasonExplainer
    from sklearn_probsr._explanation import ReasonExplanation
    from sklearn_probsr._matching import Matching
    from sklearn_probsr._model import LinearModel
    from sklearn_probsr._reason import SufficientReason, SufficientReasons
    from sklearn_probsr._scorers import guarantee_scorer, neg_reason_size_scorer
    from sklearn_probsr._transformer import SufficientReasonTransformer
    from sklearn_probsr._units import Unit
    from sklearn_probsr.adapters import Adapted, adapt, register_adapter, to_linear_model
    from sklearn_probsr.exceptions import (
        InvalidInputError,
        ProbSRError,
        UndecidedError,
        UnreachableError,
    )

__version__ = "0.1.0"

__all__ = [
    "Adapted",
    "ArgmaxModel",
    "Background",
    "Comparison",
    "Enclosure",
    "GuaranteeCurve",
    "InvalidInputError",
    "LinearModel",
    "Marginals",
    "Matching",
    "ProbSRError",
    "Product",
    "ReasonExplanation",
    "SufficientReason",
    "SufficientReasonExplainer",
    "SufficientReasonTransformer",
    "SufficientReasons",
    "UndecidedError",
    "Uniform",
    "Unit",
    "UnreachableError",
    "Verdict",
    "adapt",
    "compare",
    "guarantee",
    "guarantee_curve",
    "guarantee_scorer",
    "neg_reason_size_scorer",
    "plots",
    "register_adapter",
    "sufficient_reason",
    "sufficient_reasons",
    "to_linear_model",
]

# Where each name lives: modules are imported when a name is first used, so that importing the
# package stays light.
_HOMES = {
    "_api": ("guarantee", "guarantee_curve", "sufficient_reason", "sufficient_reasons"),
    "_compare": ("compare",),
    "_comparison": ("Comparison",),
    "_curve": ("GuaranteeCurve",),
    "_distributions": ("Background", "Marginals", "Product", "Uniform"),
    "_enclosure": ("Enclosure", "Verdict"),
    "_explainer": ("SufficientReasonExplainer",),
    "_explanation": ("ReasonExplanation",),
    "_argmax": ("ArgmaxModel",),
    "_matching": ("Matching",),
    "_model": ("LinearModel",),
    "_reason": ("SufficientReason", "SufficientReasons"),
    "_scorers": ("guarantee_scorer", "neg_reason_size_scorer"),
    "_transformer": ("SufficientReasonTransformer",),
    "_units": ("Unit",),
    "adapters": ("Adapted", "adapt", "register_adapter", "to_linear_model"),
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
    return sorted({*globals(), *__all__})

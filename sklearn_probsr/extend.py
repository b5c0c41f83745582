"""What extends the package: distributions and adapters of one's own, and what they are made of.

`register_law` says which law a distribution of your own gives, `register_adapter` by what an
estimator of your own decides; the other names are what such laws and adapters make and return.
`sklearn_probsr.adapters` has what an adapter declares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn_probsr._exports import exports

if TYPE_CHECKING:
    from sklearn_probsr.adapters.adapt import Adapted
    from sklearn_probsr.adapters.registry import register_adapter
    from sklearn_probsr.core.dispatch import law_of, register_law
    from sklearn_probsr.core.law import Law, View
    from sklearn_probsr.model.enclosure import Enclosure, Verdict

__all__ = [
    "Adapted",
    "Enclosure",
    "Law",
    "Verdict",
    "View",
    "law_of",
    "register_adapter",
    "register_law",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "adapters.adapt": ("Adapted",),
        "adapters.registry": ("register_adapter",),
        "core.dispatch": ("law_of", "register_law"),
        "core.law": ("Law", "View"),
        "model.enclosure": ("Enclosure", "Verdict"),
    },
)

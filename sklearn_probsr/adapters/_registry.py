"""The registry: which adapter an estimator's type has, and what to say if it has none."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["Entry", "find", "name_of", "register_adapter", "registered", "support_table"]

# A subclass of a supported type is that type, unless it has one of these of its own.
_DECISIVE = (
    "_check_X",
    "_decision_function",
    "_get_support_mask",
    "_joint_log_likelihood",
    "_transform",
    "decision_function",
    "get_support",
    "predict",
    "predict_proba",
    "transform",
)

# What no (weights, threshold) pair over raw columns can say, and why.
_IMPOSSIBLE = {
    "Normalizer": "it divides each row by its own length, which mixes all columns",
    "PolynomialFeatures": "it multiplies columns with each other",
    "RandomTreesEmbedding": "its leaves depend on several columns at once",
    "KNNImputer": "it fills in values from other columns",
    "IterativeImputer": "it fills in values from other columns",
    "GaussianNB": "its score is quadratic, unless all variances are equal",
    "OneVsOneClassifier": "it counts votes, which is not one linear score",
    "VotingClassifier": "it counts votes or averages probabilities, which is not linear",
    "StackingClassifier": "it feeds predictions to another model, which is not linear",
}


@dataclass(frozen=True)
class Entry:
    """A supported type: its adapter, what it is, and a note for the table of the docs."""

    kind: type
    adapter: Callable[..., Any]
    role: str
    note: str
    composite: bool = False
    listed: tuple[str, ...] = ()
    prefit: bool = False


_entries: dict[type, Entry] = {}


def register_adapter(
    estimator_type: type,
    adapter: Callable[[Any], Any] | None = None,
    *,
    note: str = "",
) -> Any:
    """Teach `adapt` and `to_linear_model` a type of estimator or transformer.

    Parameters
    ----------
    estimator_type : type
        The class. Its subclasses are taken for it too, unless they override ``predict``,
        ``transform`` or another method that decides.
    adapter : callable or None, default=None
        Takes a fitted estimator and returns what it computes: for a classifier a pair
        ``(coef, intercept)`` of ``decision_function``, whose ties belong to the first class, or a
        `adapters.Linear`; for a transformer an `adapters.Affine`, `adapters.PerColumn` or
        `adapters.Words`; for a wrapper the fitted
        estimator inside. None: return a decorator.
    note : str, default=""
        What to say about it in `adapters.support_table`.

    Returns
    -------
    callable
        The adapter, or the decorator.

    Examples
    --------
    >>> class Scorecard:
    ...     points, cutoff = [3, 1, 2], 4
    >>> adapter = register_adapter(Scorecard, lambda card: (card.points, -card.cutoff))
    >>> from sklearn_probsr import to_linear_model
    >>> to_linear_model(Scorecard(), feature_names=["job", "home", "savings"]).weights
    array([3., 1., 2.])
    """
    if not isinstance(estimator_type, type):
        raise InvalidInputError(
            f"estimator_type must be a class, got {estimator_type!r}. Pass type(estimator)."
        )
    if adapter is None:
        return lambda function: register_adapter(estimator_type, function, note=note)
    if not callable(adapter):
        raise InvalidInputError(f"adapter must be callable, got {adapter!r}.")
    _entries[estimator_type] = Entry(estimator_type, adapter, "registered", note)
    return adapter


def registered(
    role: str,
    *kinds: type | None,
    note: str,
    composite: bool = False,
    listed: tuple[str, ...] = (),
    prefit: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register this package's own adapter for some types, of which some may not exist.

    A composite adapter gets what it needs to follow the parts of the estimator; ``listed`` are
    the names for the table; ``prefit`` says that a fitted part is enough.
    """

    def register(adapter: Callable[..., Any]) -> Callable[..., Any]:
        for kind in kinds:
            if kind is not None:
                _entries[kind] = Entry(kind, adapter, role, note, composite, listed, prefit)
        return adapter

    return register


def find(estimator: Any, role: str) -> Entry:
    """Return the entry of an estimator's type, or say that there is none and what to do."""
    kind = type(estimator)
    entry = next((_entries[base] for base in kind.__mro__ if base in _entries), None)
    if kind.__name__ in _IMPOSSIBLE and kind not in _entries:
        entry = None
    if entry is None or entry.role not in {role, "wrapper", "registered", "internal"}:
        raise InvalidInputError(_unknown(estimator, role))
    if entry.kind is not kind:
        for method in _DECISIVE:
            own = inspect.getattr_static(kind, method, None)
            if own is not inspect.getattr_static(entry.kind, method, None):
                raise InvalidInputError(
                    f"{kind.__name__} is a {entry.kind.__name__} with a {method} of its own, which "
                    f"may decide otherwise. Register an adapter for it: "
                    f"register_adapter({kind.__name__}, ...)."
                )
    return entry


def name_of(estimator: Any) -> str:
    """Return what to call an estimator in a message."""
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def _unknown(estimator: Any, role: str) -> str:
    if isinstance(estimator, type):
        return (
            f"estimator must be a fitted {role}, got the class {estimator.__name__}. "
            f"Fit an object of it first: {estimator.__name__}().fit(X, y)."
        )
    if estimator is None:
        return f"estimator must be a fitted {role}, got None. Pass what fit returned."
    name = type(estimator).__name__
    reason = _IMPOSSIBLE.get(name)
    if reason:
        remedy = (
            "Fit a linear classifier in its place."
            if role == "classifier"
            else "Leave it out, or explain the part of the pipeline after it."
        )
        return f"{name} cannot be part of a linear model over the raw columns: {reason}. {remedy}"
    from sklearn.base import is_regressor

    if hasattr(estimator, "fit") and is_regressor(estimator):
        return f"estimator must be a classifier, got the regressor {name}. Fit a classifier."
    names = sorted({n for e in _entries.values() if e.role == role for n in _names(e)})
    if name in names:  # one of that name is supported, by another library
        kinds = [e.kind for e in _entries.values() if e.kind.__name__ == name]
        own = " or ".join(sorted(f"{kind.__module__}.{name}" for kind in kinds))
        return (
            f"{type(estimator).__module__}.{name} is not a {role} that can be adapted, only {own} "
            f"is. To add it: register_adapter({name}, ...)."
        )
    return (
        f"{name} is not a {role} that can be adapted. Supported: {', '.join(names)}. "
        f"To add one: register_adapter({name}, ...)."
    )


def _names(entry: Entry) -> tuple[str, ...]:
    return entry.listed or (entry.kind.__name__,)


def support_table() -> str:
    """Return the table of what this package itself supports, in Markdown."""
    lines = []
    for role, title in (
        ("classifier", "Classifier"),
        ("wrapper", "Wrapper"),
        ("transformer", "Transformer"),
    ):
        notes: dict[str, list[str]] = {}
        for entry in _entries.values():
            if entry.role == role:
                notes.setdefault(entry.note, []).extend(_names(entry))
        lines += [f"| {title} | how |", "|---|---|"]
        lines += [
            f"| {', '.join(f'`{n}`' for n in dict.fromkeys(names))} | {note} |"
            for note, names in notes.items()
        ]
        lines.append("")
    return "\n".join(lines)

"""The registry: which adapter an estimator's type has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn_probsr.adapters._refusals import NEVER, CannotFollowError, refusal
from sklearn_probsr.exceptions import InvalidInputError

__all__ = [
    "Entry",
    "Part",
    "entries",
    "entry_of",
    "find",
    "name_of",
    "names_of",
    "register_adapter",
    "registered",
    "registered_alike",
    "registered_from",
]

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


@dataclass(frozen=True)
class Entry:
    """A supported type: its adapter, what it is, and a note for the table of the docs.

    ``package`` and ``release`` are those of another library that it was tested with; ``inputs``
    tells the raw columns of an estimator that does not say them as scikit-learn's do, or how many;
    ``spelling`` is what it makes of the names of columns.
    """

    kind: type
    adapter: Callable[..., Any]
    role: str
    note: str
    composite: bool = False
    listed: tuple[str, ...] = ()
    prefit: bool = False
    package: str = ""
    release: str = ""
    inputs: Callable[[Any], tuple[str, ...] | int] | None = None
    spelling: Callable[[str], str] | None = None


_entries: dict[type, Entry] = {}
# Types of other libraries by module and name, since nothing is imported for their sake.
_foreign: dict[tuple[str, str], Entry] = {}
# Objects of any type that have what counts.
_alike: list[tuple[Callable[[Any], bool], Entry]] = []


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


def registered_from(
    package: str,
    release: str,
    *names: str,
    note: str,
    role: str = "classifier",
    module: str = "",
    composite: bool = False,
    prefit: bool = False,
    inputs: Callable[[Any], tuple[str, ...] | int] | None = None,
    spelling: Callable[[str], str] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an adapter for types of another library, which need not be there.

    ``package`` is its name where it is installed from and ``release`` the one that it was tested
    with; ``module`` is what is imported, if that is called otherwise.
    """

    def register(adapter: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _foreign[module or package, name] = Entry(
                object,
                adapter,
                role,
                note,
                composite,
                (name,),
                prefit,
                package,
                release,
                inputs,
                spelling,
            )
        return adapter

    return register


def registered_alike(
    has: Callable[[Any], bool], *, note: str, listed: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a composite adapter for classifiers of any other type that have what counts."""

    def register(adapter: Callable[..., Any]) -> Callable[..., Any]:
        _alike.append((has, Entry(object, adapter, "classifier", note, True, (listed,))))
        return adapter

    return register


def entries() -> list[Entry]:
    """Return all that is registered."""
    return [*_entries.values(), *_foreign.values(), *(entry for _, entry in _alike)]


def entry_of(estimator: Any) -> Entry | None:
    """Return the entry of an estimator's type, if there is one."""
    for base in type(estimator).__mro__:
        if base in _entries:
            return _entries[base]
        key = base.__module__.partition(".")[0], base.__name__
        if key in _foreign:
            return replace(_foreign[key], kind=base)
    return None


def find(estimator: Any, role: str) -> Entry:
    """Return the entry of an estimator's type, or say that there is none and what to do."""
    kind = type(estimator)
    entry = entry_of(estimator)
    if kind.__name__ in NEVER and kind not in _entries:
        entry = None
    elif entry is None and role == "classifier":
        entry = next((entry for has, entry in _alike if has(estimator)), None)
    if entry is None or entry.role not in {role, "wrapper", "registered", "internal"}:
        ours = [e for e in entries() if e.role == role]
        names = sorted({n for e in ours if e.package or e.kind is not object for n in names_of(e)})
        kind_of_error = CannotFollowError if role == "transformer" else InvalidInputError
        raise kind_of_error(refusal(estimator, role, names, [e.kind for e in ours]))
    if entry.kind not in {kind, object}:
        for method in _DECISIVE:
            own = inspect.getattr_static(kind, method, None)
            if own is not inspect.getattr_static(entry.kind, method, None):
                raise InvalidInputError(
                    f"{kind.__name__} is a {entry.kind.__name__} with a {method} of its own, which "
                    f"may decide otherwise. Register an adapter for it: "
                    f"register_adapter({kind.__name__}, ...)."
                )
    return entry


class Part:
    """A part of an estimator that is followed as a step of its own, and speaks under its name."""

    def __init__(self, name: str) -> None:
        self.name = name


def name_of(estimator: Any) -> str:
    """Return what to call an estimator in a message."""
    if isinstance(estimator, Part):
        return estimator.name
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def names_of(entry: Entry) -> tuple[str, ...]:
    """Return what the types of an entry are called."""
    return entry.listed or (entry.kind.__name__,)

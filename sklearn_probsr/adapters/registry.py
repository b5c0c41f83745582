"""The registry: what an adapter declares, which one an estimator's type has, and what has none.

An adapter takes a fitted estimator and returns a frozen value of a small vocabulary (`Affine`,
`PerColumn`, `Words`, `Linear`, an `Additive`), or the estimator inside. It is registered for types,
those of other libraries by their names, as nothing is imported for their sake. The tables of the
documentation are written from here, and so are refusals.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import FeatureUnion
from sklearn.utils.validation import check_is_fitted

from sklearn_probsr.adapters.columns import is_missing
from sklearn_probsr.exceptions import InvalidInputError


@dataclass(frozen=True)
class Affine:
    """A transformer that computes ``X @ matrix.T + offset``.

    Parameters
    ----------
    matrix : array-like or sparse of shape (columns out, columns in)
        The slopes.
    offset : float or array-like of shape (columns out,), default=0.0
        What is added.
    """

    matrix: Any
    offset: Any = 0.0


@dataclass(frozen=True)
class PerColumn:
    """A transformer of which every output column depends on one input column.

    Parameters
    ----------
    owners : sequence of int or None, default=None
        The input column of each output column. None: as many come out as go in, in order.
    kinds : str or sequence of str, default="real"
        For each output column: "finite" for one of the values that ``cuts`` and ``values`` tell
        apart, "piecewise" for the same where the cuts can be carried back to a raw column and any
        number elsewhere, "keep" for the input itself with missing values filled in, "same" for the
        input as it is, "real" for any number.
    cuts : callable or None, default=None
        Takes an input column's index, returns where its number changes what comes out.
    values : callable or None, default=None
        Takes an input column's index, returns its categories.
    missing : object, default=None
        What stands for a missing value, if the transformer takes one.
    markers : callable or None, default=None
        Takes an input column's index, returns what else stands for a missing value in it.
    special : callable or None, default=None
        Takes an input column's index, returns single values apart from the bins around them.
    typical : callable or None, default=None
        Takes an input column's index, returns a value that the transformer takes, if it does not
        take every number.
    names : sequence of str, default=()
        What to append to the raw column's name for each output column.
    ranked : bool, default=True
        Whether states are told in the order of the numbers that come out, and not in that of the
        values that go in.
    monotone : bool or sequence of bool, default=False
        Whether every output column, or each, never falls where its input column grows. Rules then
        say "income ≥ 1200"; of a function of which that is not declared they list values.
    """

    owners: Sequence[int] | None = None
    kinds: str | Sequence[str] = "real"
    cuts: Callable[[int], Iterable[float]] | None = None
    values: Callable[[int], Iterable[Any]] | None = None
    missing: Any = None
    markers: Callable[[int], Iterable[Any]] | None = None
    special: Callable[[int], Iterable[Any]] | None = None
    typical: Callable[[int], Any] | None = None
    names: Sequence[str] = ()
    ranked: bool = True
    monotone: bool | Sequence[bool] = False

    def rises(self, column: int) -> bool:
        """Return whether an output column never falls where its input column grows."""
        if isinstance(self.monotone, bool):
            # Filled in: a number is what it was, unless one stands for a missing value.
            kept = self.kind(column) == "keep" and is_missing(self.missing)
            return self.monotone or (kept and self.markers is None)
        return self.monotone[column]

    def kind(self, column: int) -> str:
        """Return what an output column is."""
        return self.kinds if isinstance(self.kinds, str) else self.kinds[column]


@dataclass(frozen=True)
class Words:
    """A transformer of one text: each word is a feature, there or not, counted, or weighed.

    Parameters
    ----------
    words : sequence of str
        The word of each column.
    binary : bool
        Whether a column is 0 or 1.
    weights : bool, default=False
        Whether a column is neither 0 or 1 nor a count, but a weight. It may depend on the other
        words of the text; to the model it is a number like any other.
    counter : transformer or None, default=None
        What counts the words, if the columns are ``scale`` times its own.
    scale : array-like of shape (words,) or None, default=None
        What each column is a multiple of its count by; None: 1.
    """

    words: Sequence[str]
    binary: bool
    weights: bool = False
    counter: Any = None
    scale: Any = None


@dataclass(frozen=True)
class Weights:
    """A transformer of word counts that makes each a weight, which other words may change."""


@dataclass(frozen=True)
class Linear:
    """A classifier that decides by linear scores of its columns.

    Two classes: the second iff ``score > cut``, or ``>=`` if not ``strict``. More classes: the
    largest score; of equal ones the first, or the last if not ``strict``. With ``duels``, one
    score for every pair of classes, in order, which says the later one iff ``score <= 0``.

    Parameters
    ----------
    coef : array-like or sparse of shape (scores, columns)
        The weights of each score.
    intercept : float or array-like of shape (scores,)
        What is added to each score.
    classes : sequence of labels, default=(0, 1)
        What is decided, in the order of the scores.
    strict : bool, default=True
        How a tie is broken, as told above.
    cut : float, default=0.0
        What the score of two classes is compared with.
    probability : callable or None, default=None
        The second class's probability as a function of the score, never falling.
    duels : bool, default=False
        Whether there is one score for every pair of classes.
    precision : float, default=2.220446049250313e-16
        The rounding unit in which the scores are computed.
    slack : float, default=0.0
        What rounding may add to the scores beyond that.
    """

    coef: Any
    intercept: Any
    classes: Sequence[Any] = (0, 1)
    strict: bool = True
    cut: float = 0.0
    probability: Callable[[float], float] | None = None
    duels: bool = False
    precision: float = sys.float_info.epsilon
    slack: float = 0.0

    def checked(self, name: str, columns: int) -> Linear:
        """Return it with arrays of the right shapes, or say what is wrong with an estimator."""
        coef = self.coef.toarray() if hasattr(self.coef, "toarray") else np.asarray(self.coef)
        eps = np.finfo(coef.dtype).eps if coef.dtype.kind == "f" else None
        rows = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        intercept = np.asarray(self.intercept, dtype=np.float64).ravel()
        classes = tuple(np.asarray(self.classes).tolist())
        pairs = len(classes) * (len(classes) - 1) // 2
        scores = 1 if len(classes) == 2 else pairs if self.duels else len(classes)
        if len(classes) < 2 or rows.shape[0] != scores or intercept.size not in {1, scores}:
            raise InvalidInputError(
                f"{name} must have one row of coefficients for 2 classes and one per class for "
                f"more, got coefficients of shape {rows.shape}, {intercept.size} "
                f"intercept{'s' if intercept.size != 1 else ''} and {len(classes)} "
                f"class{'es' if len(classes) != 1 else ''}."
            )
        if rows.shape[1] != columns:
            raise InvalidInputError(
                f"{name} must have one coefficient per column that reaches it, {columns}, got "
                f"{rows.shape[1]}."
            )
        if not np.isfinite(rows).all() or not np.isfinite(intercept).all():
            raise InvalidInputError(
                f"{name} must have finite coefficients, got infinite ones or NaN. "
                "A naive Bayes model gets them when it is fitted with alpha=0: use alpha > 0."
            )
        return replace(
            self,
            coef=rows,
            intercept=np.broadcast_to(intercept, scores),
            classes=classes,
            precision=max(float(eps or 0), self.precision),
        )

    def flipped(self) -> Linear:
        """Return the same classifier with the opposite score, for two classes."""
        rows: NDArray[np.float64] = -self.coef
        return replace(self, coef=rows, intercept=-self.intercept)


def sigmoid(score: float) -> float:
    """Return the logistic function, as scikit-learn computes it."""
    return float(expit(score))


def identity(score: float) -> float:
    """Return a score that is a probability by itself."""
    return score


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
    role: str, *kinds: type | None, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register this package's own adapter for some types, of which some may not exist.

    ``more`` are fields of `Entry`: a composite adapter gets what it needs to follow the parts of
    the estimator; ``listed`` are the names for the table; ``prefit`` says that a fitted part is
    enough.
    """

    def register(adapter: Callable[..., Any]) -> Callable[..., Any]:
        _entries.update({kind: Entry(kind, adapter, role, **more) for kind in kinds if kind})
        return adapter

    return register


def registered_from(
    package: str,
    release: str,
    names: str,
    *,
    role: str = "classifier",
    module: str = "",
    **more: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an adapter for types of another library, which need not be there.

    ``package`` is its name where it is installed from and ``release`` the one that it was tested
    with; ``names`` are those of the types, with spaces between them; ``module`` is what is
    imported, if that is called otherwise; ``more`` are fields of `Entry`.
    """

    def register(adapter: Callable[..., Any]) -> Callable[..., Any]:
        more.update(package=package, release=release)
        for name in names.split():
            _foreign[module or package, name] = Entry(object, adapter, role, listed=(name,), **more)
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


class CannotFollowError(InvalidInputError):
    """A step of a pipeline is none that can be followed; those after it may be."""


# What no (weights, threshold) pair over raw columns can say, and why.
NEVER = {
    "Normalizer": "it divides each row by its own length, which mixes all columns",
    "PolynomialFeatures": "it multiplies columns with each other",
    "RandomTreesEmbedding": "its leaves depend on several columns at once",
    "HashingEncoder": "it hashes all of its columns into the same ones",
    "KNNImputer": "it fills in values from other columns",
    "IterativeImputer": "it fills in values from other columns",
    "OneVsOneClassifier": "it counts votes, which is not one linear score",
    "VotingClassifier": "it averages probabilities or counts votes, which does not add up column "
    "by column",
    "StackingClassifier": "it feeds predictions to another model, which is not linear",
}

# So many supported names that are like an unknown one are told; the page has them all.
_NEAR = 3
_PAGE = "docs/adapters.md"

_STUMPS = "HistGradientBoostingClassifier(max_depth=1)"
_TREES = "it averages trees that split on several columns each", _STUMPS
_COMPARED = "it compares whole rows"
_SPREAD = "it spreads labels between rows that are near each other"
_LABELS = "it tells several labels at once"
# What else does not add up column by column, and what does that is most like it.
_WHY = {
    "RandomForestClassifier": _TREES,
    "ExtraTreesClassifier": _TREES,
    "BaggingClassifier": ("it averages probabilities or counts votes", "LogisticRegression"),
    "MLPClassifier": ("its layers mix all columns", _STUMPS),
    "QuadraticDiscriminantAnalysis": (
        "it multiplies columns with each other",
        "LinearDiscriminantAnalysis, GaussianNB",
    ),
    "KNeighborsClassifier": (_COMPARED, "NearestCentroid"),
    "RadiusNeighborsClassifier": (_COMPARED, "NearestCentroid"),
    "GaussianProcessClassifier": (_COMPARED, "LogisticRegression"),
    "LabelPropagation": (_SPREAD, "SelfTrainingClassifier(LogisticRegression())"),
    "LabelSpreading": (_SPREAD, "SelfTrainingClassifier(LogisticRegression())"),
    "OutputCodeClassifier": (
        "it looks for the code that is nearest to several scores, which is not one linear score",
        "OneVsRestClassifier",
    ),
    "ClassifierChain": (
        f"{_LABELS}, each from those before it",
        "the classifier of one label, fitted alone",
    ),
    "MultiOutputClassifier": (_LABELS, "the classifier of one label, in its estimators_"),
    "Booster": ("it knows no classes", "the LGBMClassifier or XGBClassifier that was fitted"),
}


def _is_regressor(estimator: Any) -> bool:
    from sklearn.base import is_regressor

    try:
        return bool(hasattr(estimator, "fit") and is_regressor(estimator))
    except Exception:  # an object of another library has no tags, or anything in their place
        return bool(getattr(estimator, "_estimator_type", None) == "regressor")


def _no_estimator(given: Any) -> str:
    """Say what something is that people pass in place of an estimator; nothing if it may be one."""
    if given is None:
        return "None. Pass what fit returned."
    if isinstance(given, type):
        name = given.__name__
        return f"the class {name}. Fit an object of it first: {name}().fit(X, y)."
    if isinstance(given, str | os.PathLike):
        return f"the text {os.fspath(given)!r}. Load or fit a model first, and pass that."
    if isinstance(given, FunctionType | MethodType):
        return (
            f"the function {given.__name__}. Pass the estimator itself, not what it predicts with."
        )
    if hasattr(given, "shape"):
        kind = f"{type(given).__name__} of shape {tuple(given.shape)}"
        return f"{kind}. The model comes first; weights go as the pair (coef, intercept)."
    return ""


def refusal(estimator: Any, role: str, names: Sequence[str], kinds: Sequence[type]) -> str:
    """Say why an estimator cannot be adapted, and what to do.

    ``names`` and ``kinds`` are the types that can be, in that role.
    """
    what = _no_estimator(estimator)
    if what:
        return f"estimator must be a fitted {role}, got {what}"
    name = type(estimator).__name__
    reason = NEVER.get(name)
    if reason:
        remedy = (
            "Fit a linear classifier in its place." if role == "classifier" else "Leave it out."
        )
        return f"{name} cannot be part of a linear model over the raw columns: {reason}. {remedy}"
    if _is_regressor(estimator):
        return f"estimator must be a classifier, got the regressor {name}. Fit a classifier."
    if name in names:  # one of that name is supported, by another library
        same = [kind for kind in kinds if kind.__name__ == name]
        own = " or ".join(sorted(f"{kind.__module__}.{name}" for kind in same))
        return (
            f"{type(estimator).__module__}.{name} is not a {role} that can be adapted, only {own} "
            f"is. To add it: register_adapter({name}, ...)."
        )
    if name in _WHY:
        cause, near = _WHY[name]
        return (
            f"{name} is not a {role} that can be adapted: {cause}. Nearest that is: {near}. "
            f"All that are: {_PAGE}."
        )
    near = ", ".join(get_close_matches(name, names, _NEAR))
    return (
        f"{name} is not a {role} that can be adapted. "
        f"{f'Nearest that is: {near}. ' if near else ''}All that are: {_PAGE}. "
        f"To add it: register_adapter({name}, ...)."
    )


# The first release of scikit-learn that is supported.
SKLEARN = "1.6"


def support_table() -> str:
    """Return the tables of what this package itself supports, in Markdown.

    Returns
    -------
    str
    """
    own = [entry for entry in entries() if not entry.package]
    foreign = [entry for entry in entries() if entry.package]
    lines = [f"Of scikit-learn, from {SKLEARN} on:", ""]
    for role, title in (
        ("classifier", "Classifier"),
        ("wrapper", "Wrapper"),
        ("transformer", "Transformer"),
    ):
        lines += [f"| {title} | how |", "|---|---|"]
        lines += _lines([entry for entry in own if entry.role == role])
        lines.append("")
    lines += ["Of other libraries, from the release on that it is tested with:", ""]
    lines += ["| Library | what | how |", "|---|---|---|"]
    packages = dict.fromkeys((entry.package, entry.release) for entry in foreign)
    for package, release in packages:
        lines += [
            f"| {package} {release} {line}"
            for line in _lines([entry for entry in foreign if entry.package == package])
        ]
    return "\n".join([*lines, ""])


def _lines(some: Sequence[Entry]) -> list[str]:
    """Return one line for all types that are treated alike."""
    notes: dict[str, list[str]] = {}
    for entry in some:
        notes.setdefault(entry.note, []).extend(names_of(entry))
    return [
        f"| {', '.join(f'`{n}`' for n in dict.fromkeys(names))} | {note} |"
        for note, names in notes.items()
    ]


def check_fitted(estimator: Any, prefit: bool = False) -> None:
    """Refuse an estimator that was not fitted, or whose estimator was not if that is enough."""
    if prefit:
        estimator = getattr(estimator, "estimator_", getattr(estimator, "estimator", None))
    # Hashing needs no fit, which scikit-learn 1.6 does not say of it; a union is what its parts
    # are, and these are asked one by one.
    if not hasattr(estimator, "fit") or isinstance(estimator, FeatureUnion | HashingVectorizer):
        return
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InvalidInputError(
            f"estimator must be fitted, got {name_of(estimator)} that is not. Call fit first."
        ) from None
    except (AttributeError, TypeError):  # of another library, which has no tags
        return


def is_sampler(step: Any) -> bool:
    """Tell whether a step draws rows when it is fitted, and does nothing to those it predicts."""
    return hasattr(step, "fit_resample") and not hasattr(step, "transform")

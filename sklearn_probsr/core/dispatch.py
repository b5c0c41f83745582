"""law_of: the one place that tells which law a model has under a distribution."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any

from sklearn_probsr.core.law import Law, Memo
from sklearn_probsr.core.means import rows_before
from sklearn_probsr.distributions._completions import Background, Marginals, Product, Uniform
from sklearn_probsr.distributions._data import Data
from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows

__all__ = ["is_registered", "law_of", "register_law"]


# Laws that were asked for last: so many, and so many bytes of tables. The owner of a law (an
# explainer) keeps it whatever is dropped here.
_MOST_LAWS, _MOST_BYTES = 8, 2**27


def _made_by(module: str, name: str) -> Callable[..., Law]:
    """Return what makes a law, which is imported with its kernels when it is first asked for."""

    def make(*given: Any) -> Law:
        law: Law = getattr(import_module(f"sklearn_probsr.{module}"), name)(*given)
        return law

    return make


def _background(model: Model, distribution: Background) -> Law:
    """Return the law of background rows: of those that are mostly zeros, or filled in."""
    if distribution.is_sparse and model.takes_sparse:
        rows = rows_before(model, distribution)
        if isinstance(rows, SparseRows):
            return _made_by("rows.sparse", "SparseLaw")(model, distribution, rows)
    return _made_by("rows.law", "BackgroundLaw")(model, distribution)


_MAKERS: dict[type, Callable[[Any, Any], Law]] = {
    Uniform: _made_by("independent.makers", "uniform"),
    Product: _made_by("independent.makers", "product"),
    Marginals: _made_by("independent.makers", "marginals"),
    Background: _background,
    Matching: _made_by("rows.matching", "MatchingLaw"),
}
_LAWS: Memo[Law] = Memo(_MOST_BYTES, lambda law: max(law.nbytes, _MOST_BYTES // _MOST_LAWS))


class _Itself:
    """Data that are looked up as themselves: to compare all rows would take long at every call."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.data is other.data

    def __hash__(self) -> int:
        return id(self.data)


def register_law(kind: type, make: Callable[[Any, Any], Law]) -> None:
    """Say which law a distribution of your own gives.

    Whatever takes a distribution then takes one of this type: `guarantee`, `guarantee_curve`,
    `sufficient_reasons` (also by Monte Carlo), the explainer, the transformer, the scorers and
    `compare`.

    Parameters
    ----------
    kind : type
        The type of the distribution. Its ``str`` reads as "over ..."; objects of it should be
        hashable, so that a law is kept for the next question, and equal ones must mean the same.
    make : callable
        ``make(model, distribution)`` returns the `Law` of a `LinearModel` or `ArgmaxModel` under
        such a distribution, or raises `InvalidInputError` if the two do not fit. A subclass of
        `Law` will do.

    Examples
    --------
    >>> from sklearn_probsr import LinearModel, Product, guarantee
    >>> from sklearn_probsr.extend import law_of, register_law
    >>> class Skewed:
    ...     "Every feature is 1 in nine of ten completions."
    ...
    ...     def __str__(self):
    ...         return "skewed completions"
    >>> register_law(Skewed, lambda model, _: law_of(model, Product([0.9] * model.n_units)))
    >>> print(guarantee(LinearModel([2, 1], threshold=2), [1, 1], [], distribution=Skewed()))
    0.9
    """
    if not isinstance(kind, type):
        raise InvalidInputError(f"register_law takes the type of a distribution, got {kind!r}.")
    if not callable(make):
        raise InvalidInputError(
            f"register_law takes what makes a law of a model and a distribution, got {make!r}."
        )
    _MAKERS[kind] = make


def law_of(model: Any, distribution: Any = None) -> Law:
    """Return the law of a model under a distribution; it is kept for a while.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
        What decides.
    distribution : Uniform, Product, Marginals, Background, Matching, or one registered
        None and "uniform" are the uniform one.

    Returns
    -------
    Law
    """
    if not isinstance(model, Model):
        raise InvalidInputError(
            f"model must be a LinearModel, got {type(model).__name__}. {_hint(model)}"
        )
    plain = distribution is None or (
        isinstance(distribution, str) and distribution == "uniform"  # as a masker may be
    )
    chosen = Uniform() if plain else distribution
    make = next((_MAKERS[kind] for kind in type(chosen).__mro__ if kind in _MAKERS), None)
    if make is None:
        raise InvalidInputError(
            "distribution must be None, Uniform(), Product(p), Marginals.fit(X), Background(X) or "
            f"Matching(X), got {chosen!r} of type {type(chosen).__name__}."
        )
    maker = make

    def made() -> Law:
        law = maker(model.whole, chosen)
        if law.model is not model and law.model == model.whole:
            law.given = model
        return law

    try:
        return _LAWS.get((model, _Itself(chosen) if isinstance(chosen, Data) else chosen), made)
    except TypeError:
        if isinstance(chosen, Hashable):
            raise
        return made()  # what cannot be looked up cannot be kept


def _hint(model: Any) -> str:
    """Say what to do with something that is no model."""
    if hasattr(model, "predict"):
        return (
            "Explain an estimator or a Pipeline with SufficientReasonExplainer(model, data): its "
            "guarantee(X, features) and guarantee_curve(X) take rows as the estimator does."
        )
    return "Write LinearModel(weights, threshold)."


def is_registered(distribution: Any) -> bool:
    """Tell whether something is a distribution that a law is known for."""
    return any(kind in _MAKERS for kind in type(distribution).__mro__)

"""Follow an estimator: what each of its parts does to the columns that reach it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils.validation import check_is_fitted

# Importing the adapters fills the registry.
from sklearn_probsr.adapters import (  # noqa: F401
    _affine,
    _boosted,
    _classifiers,
    _compose,
    _ducks,
    _encoders,
    _threshold,
    _wrappers,
)
from sklearn_probsr.adapters._additive import Additive
from sklearn_probsr.adapters._columns import Base, Columns, Domain, Kind
from sklearn_probsr.adapters._decision import Decision
from sklearn_probsr.adapters._parts import Affine, Linear, PerColumn, Weights, Words
from sklearn_probsr.adapters._registry import find, name_of
from sklearn_probsr.adapters._running import Output, as_floats
from sklearn_probsr.adapters._terms import added_up
from sklearn_probsr.adapters._vocabulary import weights_of, words_of
from sklearn_probsr.adapters.packages import (  # noqa: F401
    _interpret,
    _lightgbm,
    _optbinning,
    _pygam,
    _statsmodels,
    _xgboost,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model._units import exact_text

__all__ = ["check_fitted", "follow"]


def follow(estimator: Any, columns: Columns, role: str) -> Any:
    """Return the columns after a transformer, or the decision of a classifier."""
    if role == "transformer" and (estimator is None or name_of(estimator) == "passthrough"):
        return columns
    if role == "classifier" and _is_given(estimator):
        return _conclude(estimator, estimator, columns)
    entry = find(estimator, role)
    check_fitted(estimator, entry.prefit)
    if entry.composite:
        return entry.adapter(estimator, columns, role, follow)
    part = entry.adapter(estimator)
    return (
        _conclude(part, estimator, columns)
        if role == "classifier"
        else _step(part, estimator, columns)
    )


def _is_given(estimator: Any) -> bool:
    """Whether it is what an adapter would return, without an estimator."""
    return isinstance(estimator, Additive) or (isinstance(estimator, tuple) and len(estimator) == 2)


def _step(part: Any, estimator: Any, columns: Columns) -> Columns:
    """Return the columns after a transformer, given what its adapter says."""
    if isinstance(part, Affine):
        return _affinely(part, estimator, columns)
    if isinstance(part, PerColumn):
        return _PerColumnStep(part, estimator, columns).columns_out()
    if isinstance(part, Words):
        return words_of(part, estimator, columns)
    if isinstance(part, Weights):
        return weights_of(estimator, columns)
    if not hasattr(part, "transform"):
        raise InvalidInputError(
            f"the adapter of {name_of(estimator)} must return an Affine, PerColumn or Words, or a "
            f"fitted transformer, got {part!r}."
        )
    found: Columns = follow(part, columns, "transformer")
    return found


def check_fitted(estimator: Any, prefit: bool = False) -> None:
    """Refuse an estimator that was not fitted, or whose estimator was not if that is enough."""
    if prefit:
        estimator = getattr(estimator, "estimator_", getattr(estimator, "estimator", None))
    # Hashing needs no fit, which scikit-learn 1.6 does not say of it.
    if not hasattr(estimator, "fit") or isinstance(estimator, HashingVectorizer):
        return
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InvalidInputError(
            f"estimator must be fitted, got {name_of(estimator)} that is not. Call fit first."
        ) from None
    except (AttributeError, TypeError):  # of another library, which has no tags
        return


def _conclude(part: Any, estimator: Any, columns: Columns) -> Decision:
    name = "(coef, intercept)" if isinstance(estimator, tuple) else name_of(estimator)
    if isinstance(part, tuple) and len(part) == 2:
        rows = np.shape(part[0])[0] if np.ndim(part[0]) == 2 else 1
        classes = getattr(estimator, "classes_", range(max(2, rows)))
        part = Linear(part[0], part[1], classes)
    if isinstance(part, Linear):
        try:
            return Decision(columns, part.checked(name, len(columns)), name)
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(
                f"{name} must hold numbers, got {part.coef!r} and {part.intercept!r}."
            ) from None
    if isinstance(part, Additive):
        return added_up(part, estimator, columns, follow)
    if not hasattr(part, "predict"):
        raise InvalidInputError(
            f"the adapter of {name} must return (coef, intercept), a Linear, an Additive, or a "
            f"fitted classifier, got {part!r}."
        )
    decision: Decision = follow(part, columns, "classifier")
    return decision


def _affinely(part: Affine, step: Any, columns: Columns) -> Columns:
    rows = Output(step, columns.rows)
    matrix = sparse.eye_array(len(columns)) if part.matrix is None else part.matrix
    if np.shape(matrix)[1] != len(columns):
        raise InvalidInputError(
            f"{name_of(step)} takes {np.shape(matrix)[1]} columns, {len(columns)} reach it."
        )
    return columns.affine(matrix, part.offset, rows)


class _PerColumnStep:
    """A step that works column by column, at its place in a pipeline."""

    def __init__(self, part: PerColumn, step: Any, columns: Columns) -> None:
        self.part, self.step, self.columns = part, step, columns
        self.owners = list(range(len(columns)) if part.owners is None else part.owners)
        self.rows = Output(step, columns.rows)
        if self.owners and max(self.owners) >= len(columns):
            raise InvalidInputError(
                f"{name_of(step)} takes {max(self.owners) + 1} columns, {len(columns)} reach it."
            )

    def columns_out(self) -> Columns:
        """Return the columns after the step: new base columns, except where 0/1 came in."""
        flags = [self._is_flag(j) for j in range(len(self.columns))]
        bases = [
            None if flags[j] else self._base(k, j, self.columns.sources(j))
            for k, j in enumerate(self.owners)
        ]
        if not any(flags):
            return self.columns.new([base for base in bases if base is not None], self.rows)
        return self._with_flags(bases)

    def _is_flag(self, j: int) -> bool:
        """Whether a column is a function of one 0/1 column, or of none."""
        sources = self.columns.sources(j)
        return len(sources) <= 1 and all(base.kind is Kind.FLAG for base in sources)

    def _with_flags(self, bases: Sequence[Base | None]) -> Columns:
        """Keep 0/1 base columns: on two values, every function is affine."""
        columns = self.columns
        off = columns.offset.copy()
        on = off + np.asarray(columns.matrix.sum(axis=1)).ravel()
        plain = [j for j in range(len(columns)) if not self._is_flag(j)]
        off[plain], on[plain] = 0.0, 0.0
        known = self.part.values
        trial = np.array([off, on], dtype=object if known else None)
        for j in set(plain) & set(self.owners):
            trial[:, j] = 0.0 if known is None else next(iter(known(j)), 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the names of the columns are not told
            low, high = as_floats(self.step.transform(trial))
        kept = [base for base in columns.bases if base.kind is Kind.FLAG]
        fresh = [base for base in bases if base is not None]
        place = {id(base): i for i, base in enumerate([*kept, *fresh])}
        matrix = sparse.lil_array((len(bases), len(place)))
        offset = np.zeros(len(bases))
        for k, base in enumerate(bases):
            if base is not None:
                matrix[k, place[id(base)]] = 1.0
                continue
            offset[k] = low[k]
            for source in columns.sources(self.owners[k]):
                matrix[k, place[id(source)]] = high[k] - low[k]
        mixed = columns.new([*kept, *fresh], self.rows)
        return mixed.affine(sparse.csr_array(matrix), offset, self.rows)

    def _base(self, k: int, j: int, sources: list[Base]) -> Base:
        """Return the base column that an output column becomes."""
        name, kind = name_of(self.step), self.part.kind(k)
        if len({base.unit for base in sources}) > 1:
            raise InvalidInputError(
                f"{name} is not affine, so each of its columns must come from one raw column, got "
                f"one that mixes {' and '.join(map(repr, self.columns.raw_of(j)[:2]))}. "
                f"Put {name} before the step that mixes them."
            )
        first = sources[0]
        kinds = {base.kind for base in sources}
        domain = first.domain
        for base in sources[1:]:
            domain = domain.merge(base.domain)
        label = first.own or self.columns.raw_names[first.raw]
        suffix = self.part.names[k] if self.part.names else ""
        made: dict[str, Any] = {
            "rows": self.rows, "at": k, "width": len(self.owners), "raw": first.raw,
            "name": label + suffix, "own": first.own, "ranked": self.part.ranked,
            "source": (first.source or first) if first.own else None, "hashes": first.hashes,
            "monotone": self._is_monotone(j, sources),
        }  # fmt: skip
        if kinds == {Kind.FINITE}:
            return Base(kind=Kind.FINITE, domain=domain, **made)
        if kind == "piecewise":
            kind = "finite" if len(sources) == 1 and first.kind is Kind.RAW else "real"
        if kinds <= {Kind.COUNT, Kind.WEIGHT}:
            return self._counted(j, kind, first, made)
        if kind == "finite":
            return Base(kind=Kind.FINITE, domain=domain.merge(self._domain(j, sources)), **made)
        keeps = kind == "keep" and kinds == {Kind.RAW} and self._untouched(j)
        typical = () if self.part.typical is None else (self.part.typical(j),)
        more = Domain(missing=self._markers(j) if kind == "keep" else (), typical=typical)
        return Base(kind=Kind.RAW if keeps else Kind.REAL, domain=domain.merge(more), **made)

    def _is_monotone(self, j: int, sources: list[Base]) -> bool:
        """Whether the step, and all before it, are declared never to fall."""
        if not self.part.monotone or len(sources) != 1 or self.columns.slope(j)[0] <= 0:
            return False
        return sources[0].monotone or sources[0].kind is Kind.RAW

    def _counted(self, j: int, kind: str, first: Base, made: dict[str, Any]) -> Base:
        """Return a base column made of a word's count, or of its weight."""
        if kind != "finite":
            return Base(kind=Kind.WEIGHT, labels=first.labels, **made)
        cuts = self._cuts(j)
        if len(cuts) != 1 or self.part.values is not None:
            raise InvalidInputError(
                f"{name_of(self.step)} after word counts is not supported, only Binarizer. Use "
                "CountVectorizer(binary=True)."
            )
        word, cut = made["own"], exact_text(cuts[0])
        labels: tuple[str, ...] = (
            f"{word}: {cut} times or fewer",
            f"{word}: more than {cut} times",
        )
        if first.kind is Kind.WEIGHT:
            labels = (f"{word}: at most {cut}", f"{word}: more than {cut}")
        if cuts[0] == 0 or (first.kind is Kind.COUNT and 0 <= cuts[0] < 1):
            labels = first.labels
        return Base(kind=Kind.FLAG, labels=labels, **made)

    def _untouched(self, j: int) -> bool:
        return self.columns.slope(j) == (1.0, 0.0)

    def _cuts(self, j: int) -> tuple[float, ...]:
        """Return where the base column changes the outcome, given where the column does."""
        if self.part.cuts is None:
            return ()
        if self._untouched(j):
            return tuple(sorted(self.part.cuts(j)))
        slope, offset = self.columns.slope(j)
        return tuple(sorted((float(cut) - offset) / slope for cut in self.part.cuts(j)))

    def _domain(self, j: int, sources: list[Base]) -> Domain:
        name = name_of(self.step)
        values = () if self.part.values is None else tuple(self.part.values(j))
        if len(sources) > 1 or sources[0].kind is not Kind.RAW:
            raise InvalidInputError(
                f"{name} must get raw columns, scaled or filled in at most, got a function of "
                f"{self.columns.raw_of(j)[0]!r} whose values cannot be carried back to it. Put "
                f"{name} first."
            )
        if values and not self._untouched(j):
            raise InvalidInputError(
                f"{name} must get its categories as they are, got "
                f"{self.columns.raw_of(j)[0]!r} scaled. Put {name} before the scaling."
            )
        special = () if self.part.special is None else tuple(self.part.special(j))
        return Domain(self._cuts(j), values, self._markers(j), special)

    def _markers(self, j: int) -> tuple[Any, ...]:
        more = () if self.part.markers is None else tuple(self.part.markers(j))
        return more if self.part.missing is None else (self.part.missing, *more)

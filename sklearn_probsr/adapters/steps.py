"""Steps: what scikit-learn's transformers make of the columns that reach them, one by one.

`follow` finds the adapter of a part and applies what it declares: affine steps are folded (they are
white-listed by type, as no trial run can prove that a step is affine), steps that work column by
column make new base columns, pipelines and column transformers are followed part by part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import (
    RFE,
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.semi_supervised import SelfTrainingClassifier

from sklearn_probsr.adapters.additive import Additive, added_up
from sklearn_probsr.adapters.columns import (
    Base,
    Carried,
    Columns,
    Domain,
    Kind,
    Output,
    Taken,
    as_floats,
    is_missing,
    same,
    stack,
)
from sklearn_probsr.adapters.linear import Decision
from sklearn_probsr.adapters.registry import (
    Affine,
    CannotFollowError,
    Linear,
    PerColumn,
    Weights,
    Words,
    check_fitted,
    find,
    is_sampler,
    name_of,
    registered,
    registered_from,
)
from sklearn_probsr.adapters.text import Buckets, weights_of, words_of
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import exact_text


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
        return PerColumnStep(part, estimator, columns).columns_out()
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


# Functions that never fall.
_RISING = {
    np.arctan, np.arcsinh, np.cbrt, np.exp, np.exp2, np.expm1, np.log, np.log10, np.log1p, np.log2,
    np.sinh, np.sqrt, np.tanh,
}  # fmt: skip
_SCALED = "folded into the weights and the threshold"


@registered("transformer", StandardScaler, RobustScaler, note=_SCALED)
def _scaler(step: Any) -> Affine:
    n = step.n_features_in_
    centred = step.with_mean if isinstance(step, StandardScaler) else step.with_centering
    scaled = step.with_std if isinstance(step, StandardScaler) else step.with_scaling
    centre = np.zeros(n)
    if centred:
        centre = step.mean_ if isinstance(step, StandardScaler) else step.center_
    return _diagonal(1 / np.asarray(step.scale_) if scaled else np.ones(n), centre)


def _diagonal(slope: Any, centre: Any) -> Affine:
    """Return ``(x - centre) * slope``."""
    factors = np.asarray(slope, dtype=np.float64)
    return Affine(sparse.diags_array(factors), -np.asarray(centre, dtype=np.float64) * factors)


@registered(
    "transformer",
    MinMaxScaler,
    MaxAbsScaler,
    note="folded; with `clip=True`, a real-valued function of its column",
)
def _ranged(step: Any) -> Affine | PerColumn:
    if getattr(step, "clip", False):
        return PerColumn(range(step.n_features_in_), monotone=True)
    if isinstance(step, MaxAbsScaler):
        return _diagonal(1 / np.asarray(step.scale_), 0.0)
    return Affine(sparse.diags_array(np.asarray(step.scale_, dtype=np.float64)), step.min_)


@registered(
    "transformer",
    VarianceThreshold,
    SelectKBest,
    SelectPercentile,
    SelectFpr,
    SelectFdr,
    SelectFwe,
    GenericUnivariateSelect,
    SelectFromModel,
    RFE,
    RFECV,
    SequentialFeatureSelector,
    note="columns that are not selected leave the model",
)
def _selector(step: Any) -> Affine:
    kept = np.flatnonzero(step.get_support())
    return Affine(sparse.csr_array(sparse.eye_array(len(step.get_support())))[kept])


@registered(
    "transformer",
    PCA,
    IncrementalPCA,
    TruncatedSVD,
    FastICA,
    FactorAnalysis,
    GaussianRandomProjection,
    SparseRandomProjection,
    note="folded: the features are the columns before it",
)
def _projection(step: Any) -> Affine:
    matrix = step.components_
    if sparse.issparse(matrix):
        return Affine(matrix)
    if isinstance(step, FactorAnalysis):
        weights = matrix / step.noise_variance_
        matrix = np.linalg.inv(np.eye(len(matrix)) + weights @ matrix.T) @ weights
    elif isinstance(step, PCA | IncrementalPCA) and step.whiten:
        scale = np.sqrt(step.explained_variance_)
        matrix = matrix / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]
    centred = isinstance(step, PCA | IncrementalPCA | FactorAnalysis) or (
        isinstance(step, FastICA) and step.whiten
    )
    return Affine(matrix, -(matrix @ step.mean_) if centred else 0.0)


@registered(
    "transformer",
    FunctionTransformer,
    note="`func=None` is the identity, a NumPy function such as `np.log1p` a real-valued function "
    "of its column; nothing can be known about others",
)
def _function(step: Any) -> Affine | PerColumn:
    n = getattr(step, "n_features_in_", None)
    if step.func is not None and not isinstance(step.func, np.ufunc):
        name = getattr(step.func, "__name__", repr(step.func))
        raise InvalidInputError(
            f"FunctionTransformer must have func=None or a NumPy function of one number such as "
            f"np.log1p, got {name}: what it does to the columns cannot be known. Write a "
            "transformer class and register an adapter for it with register_adapter."
        )
    if n is None:
        return Affine(None)
    if step.func is None:
        return Affine(sparse.eye_array(n))
    return PerColumn(range(n), monotone=step.func in _RISING)


@registered(
    "transformer",
    TfidfTransformer,
    note="with `norm=None` and `sublinear_tf=False` folded; else a feature is a word's weight",
)
def _tfidf(step: Any) -> Affine | Weights:
    if step.norm is not None or step.sublinear_tf:
        return Weights()
    if step.use_idf:
        return _diagonal(step.idf_, 0.0)
    return Affine(None)


@registered("transformer", Binarizer, note='binary features such as "age > 40"', prefit=True)
def _binarizer(step: Any) -> PerColumn:
    return PerColumn(None, "finite", cuts=lambda column: (step.threshold,))


@registered(
    "transformer",
    KBinsDiscretizer,
    note='any `encode`: one unit per raw column with states such as "age in [30, 45)"',
)
def _bins(step: Any) -> PerColumn:
    n = step.n_features_in_
    counts = np.ones(n, dtype=int) if step.encode == "ordinal" else step.n_bins_
    names = [f": bin {k}" for count in counts for k in range(count)]
    return PerColumn(
        np.repeat(np.arange(n), counts).tolist(),
        "finite",
        cuts=lambda column: step.bin_edges_[column][1:-1],
        names=() if step.encode == "ordinal" else names,
    )


@registered(
    "transformer",
    OneHotEncoder,
    note='one unit per raw column with states such as "job: admin"; dropped, infrequent, unknown '
    "and missing categories are states too",
)
def _one_hot(step: Any) -> PerColumn:
    infrequent = getattr(step, "infrequent_categories_", None) or [None] * step.n_features_in_
    owners, names = [], []
    for i, (categories, rare) in enumerate(zip(step.categories_, infrequent, strict=True)):
        kept = [c for c in categories if rare is None or c not in set(rare)]
        kept += [] if rare is None else ["infrequent"]
        if step.drop_idx_ is not None and step.drop_idx_[i] is not None:
            dropped = categories[step.drop_idx_[i]]
            kept = (
                kept[:-1]
                if rare is not None and dropped in set(rare)
                else [c for c in kept if not same(c, dropped)]
            )
        owners += [i] * len(kept)
        names += [f": {c}" for c in kept]
    return PerColumn(owners, "finite", values=_categories(step), names=names)


def _categories(step: Any) -> Callable[[int], list[Any]]:
    return lambda column: list(step.categories_[column].tolist())


@registered(
    "transformer",
    OrdinalEncoder,
    TargetEncoder,
    note="one column, one state per category",
)
def _ordinal(step: Any) -> PerColumn:
    n = step.n_features_in_
    copies = 1
    if isinstance(step, TargetEncoder) and step.target_type_ == "multiclass":
        copies = len(step.classes_)
    names = [f": class {c}" for _ in range(n) for c in step.classes_] if copies > 1 else ()
    owners = np.repeat(np.arange(n), copies).tolist()
    return PerColumn(owners, "finite", values=_categories(step), names=names)


@registered(
    "transformer",
    SimpleImputer,
    MissingIndicator,
    note="a missing value belongs to the state or the number that stands for it",
)
def _missing(step: Any) -> PerColumn:
    if isinstance(step, MissingIndicator):
        owners = [int(i) for i in step.features_]
        names = [" is missing"] * len(owners)
        return PerColumn(owners, "finite", missing=step.missing_values, names=names)
    kept = [
        i
        for i, filler in enumerate(step.statistics_)
        if step.keep_empty_features or not is_missing(filler)
    ]
    flagged = [int(i) for i in step.indicator_.features_] if step.add_indicator else []
    return PerColumn(
        [*kept, *flagged],
        ["keep"] * len(kept) + ["finite"] * len(flagged),
        missing=step.missing_values,
        names=[""] * len(kept) + [" is missing"] * len(flagged),
    )


@registered(
    "transformer",
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    note="a real-valued function of its column: one real-valued unit per raw column",
)
def _curve(step: Any) -> PerColumn:
    n = step.n_features_in_
    copies = step.n_features_out_ // n if isinstance(step, SplineTransformer) else 1
    names = [f": spline {k}" for _ in range(n) for k in range(copies)] if copies > 1 else ()
    owners, bent = np.repeat(np.arange(n), copies).tolist(), isinstance(step, SplineTransformer)
    return PerColumn(owners, "real", names=names, monotone=not bent)


@registered(
    "transformer",
    CountVectorizer,
    note="one feature per word: binary with `binary=True`, else the count",
)
def _words(step: Any) -> Words:
    _check_content(step)
    return Words(_names(step), bool(step.binary))


@registered(
    "transformer",
    TfidfVectorizer,
    note="one feature per word: with `norm=None` and `sublinear_tf=False` as `CountVectorizer`, "
    "else the word's weight",
)
def _weighted(step: Any) -> Words:
    _check_content(step)
    if step.norm is not None or step.sublinear_tf:
        return Words(_names(step), False, weights=True)
    if not step.use_idf:
        return Words(_names(step), bool(step.binary))
    return Words(_names(step), bool(step.binary), counter=_counter(step), scale=step.idf_)


def _check_content(step: Any) -> None:
    """Refuse a vectorizer of files: what is explained are texts, and no row may open a file."""
    if step.input != "content":
        raise InvalidInputError(
            f"{name_of(step)} must have input='content', got {step.input!r}, which reads the files "
            "that rows name. Fit it on the texts themselves."
        )


def _names(step: Any) -> list[str]:
    return [str(word) for word in step.get_feature_names_out()]


def _counter(step: Any) -> CountVectorizer:
    """Return what counts the words that a vectorizer weighs."""
    own = CountVectorizer().get_params(deep=False)
    known = step.get_params(deep=False)
    counter = CountVectorizer(**{name: known[name] for name in own})
    counter.vocabulary_, counter.fixed_vocabulary_ = step.vocabulary_, step.fixed_vocabulary_
    return counter


@registered(
    "transformer",
    HashingVectorizer,
    note='one feature per column that has a weight, named "hash 51234"; any `norm`',
)
def _hashed(step: Any) -> Words:
    _check_content(step)
    names = Buckets(step.n_features)
    counted = step.norm is None and not step.alternate_sign
    # Two words may share a column, so that a count of 1 is not one word: no flags but by binary.
    flags = counted and step.binary
    return Words(names, flags, weights=not counted)


class PerColumnStep:
    """A step that works column by column, at its place in a pipeline."""

    def __init__(self, part: PerColumn, step: Any, columns: Columns) -> None:
        self.part, self.step, self.columns = part, step, columns
        self.owners = list(range(len(columns)) if part.owners is None else part.owners)
        self.rows = Output(step, columns.rows)
        self._domains: dict[int, Domain] = {}
        if self.owners and max(self.owners) >= len(columns):
            raise InvalidInputError(
                f"{name_of(step)} takes {max(self.owners) + 1} columns, {len(columns)} reach it."
            )

    def columns_out(self) -> Columns:
        """Return the columns after the step; those that it leaves alone are what they were."""
        alone = [k for k in range(len(self.owners)) if self.part.kind(k) == "same"]
        made = [k for k in range(len(self.owners)) if self.part.kind(k) != "same"]
        if not alone:
            return self._made(made)
        kept = self.columns.take([self.owners[k] for k in alone], self.rows)
        both = stack([self._made(made), kept], self.rows) if made else kept
        return both.take(np.argsort([*made, *alone]).tolist(), self.rows)

    def _made(self, at: Sequence[int]) -> Columns:
        """Return some of the columns after the step: new base columns, except where 0/1 came in."""
        flags = [self._is_flag(j) for j in range(len(self.columns))]
        bases = {
            k: None if flags[j] else self._base(k, j, self.columns.sources(j))
            for k, j in ((k, self.owners[k]) for k in at)
        }
        if not any(flags[self.owners[k]] for k in at):
            return self.columns.new([base for base in bases.values() if base], self.rows)
        return self._with_flags(bases)

    def _is_flag(self, j: int) -> bool:
        """Whether a column is a function of one 0/1 column, or of none."""
        sources = self.columns.sources(j)
        return len(sources) <= 1 and all(base.kind is Kind.FLAG for base in sources)

    def _with_flags(self, bases: dict[int, Base | None]) -> Columns:
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
        fresh = [base for base in bases.values() if base is not None]
        place = {id(base): i for i, base in enumerate([*kept, *fresh])}
        matrix = sparse.lil_array((len(bases), len(place)))
        offset = np.zeros(len(bases))
        for row, (k, base) in enumerate(bases.items()):
            if base is not None:
                matrix[row, place[id(base)]] = 1.0
                continue
            offset[row] = low[k]
            for source in columns.sources(self.owners[k]):
                matrix[row, place[id(source)]] = high[k] - low[k]
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
            "reading": first.reading,
            "monotone": self.part.rises(k) and self._is_rising(j, sources),
        }  # fmt: skip
        if kinds == {Kind.FINITE}:
            return Base(kind=Kind.FINITE, domain=domain, **made)
        if kind == "piecewise":
            kind = "finite" if len(sources) == 1 and first.kind is Kind.RAW else "real"
        if kinds <= {Kind.COUNT, Kind.WEIGHT}:
            return self._counted(j, kind, first, made)
        if kind == "finite" and kinds != {Kind.RAW} and not (self.part.cuts or self.part.values):
            kind = "real"  # it tells what is missing of a number that a step made
        if kind == "finite":
            if j not in self._domains:  # one for all columns that are made of it
                self._domains[j] = domain.merge(self._domain(j, sources))
            return Base(kind=Kind.FINITE, domain=self._domains[j], **made)
        keeps = kind == "keep" and kinds == {Kind.RAW} and self._untouched(j)
        typical = () if self.part.typical is None else (self.part.typical(j),)
        more = Domain(missing=self._markers(j) if kind == "keep" else (), typical=typical)
        return Base(kind=Kind.RAW if keeps else Kind.REAL, domain=domain.merge(more), **made)

    def _is_rising(self, j: int, sources: list[Base]) -> bool:
        """Whether all before the step are declared never to fall."""
        if len(sources) != 1 or self.columns.slope(j)[0] <= 0:
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
        back = ((float(cut) - offset) / slope for cut in self.part.cuts(j))
        return tuple(sorted(Carried(cut, self.columns.rows, j) for cut in back))

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


@registered_from(
    "imbalanced-learn",
    "0.14",
    "Pipeline",
    role="wrapper",
    module="imblearn",
    note="step by step, without its samplers, which do nothing to rows that are predicted",
    composite=True,
)
@registered(
    "wrapper",
    Pipeline,
    note='step by step; `"passthrough"` too, and as a step of another one',
    composite=True,
)
def _pipeline(estimator: Any, columns: Columns, role: str, follow: Any) -> Any:
    *steps, (_, last) = estimator.steps
    for k, (_, step) in enumerate(steps, start=1):
        try:
            if not is_sampler(step):
                columns = follow(step, columns, "transformer")
        except CannotFollowError as error:
            if role != "classifier":  # it is a step of another pipeline
                raise
            raise InvalidInputError(
                f"{error} Or explain what comes after it: pipeline[{k}:], over rows as "
                f"pipeline[:{k}].transform gives them."
            ) from None
    return follow(last, columns, role)


@registered("wrapper", FrozenEstimator, note="the estimator inside")
def _frozen(estimator: Any) -> Any:
    return estimator.estimator


@registered(
    "wrapper",
    GridSearchCV.__base__,
    note="`best_estimator_`",
    listed=(
        "GridSearchCV",
        "HalvingGridSearchCV",
        "HalvingRandomSearchCV",
        "RandomizedSearchCV",
    ),
)
def _search(estimator: Any) -> Any:
    if not estimator.refit:
        raise InvalidInputError(
            f"{type(estimator).__name__} must have refit=True, got refit={estimator.refit!r}: it "
            "has no fitted estimator. Pass the one that you fitted yourself."
        )
    return estimator.best_estimator_


@registered("wrapper", SelfTrainingClassifier, note="`estimator_`")
def _self_training(estimator: Any) -> Any:
    return estimator.estimator_


@registered(
    "transformer",
    ColumnTransformer,
    note='block by block; `"drop"`, `"passthrough"` and `remainder` too',
    composite=True,
)
def _column_transformer(step: Any, columns: Columns, role: str, follow: Any) -> Columns:
    if step.n_features_in_ != len(columns):
        raise InvalidInputError(
            f"ColumnTransformer takes {step.n_features_in_} columns, {len(columns)} reach it."
        )
    blocks = []
    for name, part, key in step.transformers_:
        places = [int(i) for i in step._transformer_to_input_indices[name]]
        if (isinstance(part, str) and part == "drop") or not places:
            continue
        single = isinstance(key, str | int | np.integer) and not isinstance(key, bool)
        rows = Taken(columns.rows, places[0] if single else tuple(places))
        block = follow(part, columns.take(places, rows), "transformer")
        width = step.output_indices_[name]
        if len(block) != width.stop - width.start:
            raise InvalidInputError(
                f"block {name!r} of the ColumnTransformer gives {width.stop - width.start} "
                f"columns, its adapter says {len(block)}."
            )
        blocks.append(block)
    return _stacked(blocks, step, columns)


@registered(
    "transformer",
    FeatureUnion,
    note="side by side, with `transformer_weights`",
    composite=True,
)
def _union(step: Any, columns: Columns, role: str, follow: Any) -> Columns:
    weights = step.transformer_weights or {}
    blocks = []
    for name, part in step.transformer_list:
        if isinstance(part, str) and part == "drop":
            continue
        block = follow(part, columns, "transformer")
        if name in weights:
            factor = sparse.eye_array(len(block)) * float(weights[name])
            block = block.affine(factor, 0.0, block.rows)
        blocks.append(block)
    return _stacked(blocks, step, columns)


def _stacked(blocks: list[Columns], step: Any, columns: Columns) -> Columns:
    if not blocks:
        raise InvalidInputError(f"{type(step).__name__} drops every column: no feature is left.")
    return stack(blocks, Output(step, columns.rows))

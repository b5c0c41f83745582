"""Encoders: transformers whose columns each depend on one column, and so define the features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    TargetEncoder,
)

from sklearn_probsr.adapters._declarations import PerColumn, Words
from sklearn_probsr.adapters._registry import name_of, registered
from sklearn_probsr.adapters.steps._text_words import Buckets
from sklearn_probsr.adapters.units._columns import is_missing, same
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []


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

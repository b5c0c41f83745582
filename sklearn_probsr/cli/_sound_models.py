"""Sound models: what types alone do not tell of a model that somebody else may have made up.

All types in it are harmless, but what they hold may not be: words of a table that name files,
processes without number, and indices that compiled code follows out of its arrays.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from copy import copy
from inspect import isfunction
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_probsr.results.codec import UnsoundError, shown

__all__ = ["check_sound"]


def check_sound(model: Any) -> None:
    """Refuse a model whose parts do not fit together; let its parts start no processes."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import SVC, NuSVC

    for part in _parts(model):
        if isinstance(part, str):
            _check_text(part)
        elif isinstance(part, np.ndarray) and part.dtype.kind == "U":
            _check_characters(part)
        elif sparse.issparse(part):
            _check_sparse(part)
        elif isinstance(part, CountVectorizer | HashingVectorizer):
            _check_words(part)
        elif isinstance(part, OneHotEncoder):
            _check_one_hot(part)
        elif isinstance(part, SVC | NuSVC):
            _check_support(part)
        held = getattr(part, "__dict__", {})
        for name in held if isinstance(held, dict) else ():
            if isfunction(getattr(type(part), str(name), None)):
                raise UnsoundError(f"a {type(part).__name__} must have no {name} of its own")
        # How many processes may run is for the command line to say, not for the file.
        if isinstance(held, dict) and held.get("n_jobs") is not None:
            held["n_jobs"] = None
    # Both are asked of the steps of a Pipeline, which may be anything.
    for name in ("classes_", "predict"):
        hasattr(model, name)


def _parts(model: Any) -> Iterator[Any]:
    """Yield everything that a model is made of, each once."""
    # Those that were seen are kept: another object could get the place of one that is gone.
    waiting: list[Any] = [model]
    seen: dict[int, Any] = {}
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type):
            continue
        seen[id(part)] = part
        yield part
        if isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif isinstance(part, np.ndarray):
            # What a mask hides is still there.
            waiting += np.ma.getdata(part).ravel().tolist() if part.dtype.kind == "O" else []
        else:
            waiting += getattr(part, "__dict__", {}).values()


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnsoundError(f"a text must be of whole characters, got {shown(text)}") from None


def _check_characters(texts: Any) -> None:
    codes = np.frombuffer(texts.astype(texts.dtype.newbyteorder("=")).tobytes(), np.uint32)
    if ((codes >= 0xD800) & (codes < 0xE000)).any() or (codes > sys.maxunicode).any():
        raise UnsoundError("an array of texts must be of whole characters")


def _check_sparse(matrix: Any) -> None:
    # A matrix by columns or rows is checked in full; the other formats by what they become.
    found = matrix if matrix.format in {"csr", "csc"} else matrix.tocsr()
    found.check_format(full_check=True)


def _check_words(step: Any) -> None:
    """Refuse a vectorizer that opens files, or whose words have no columns."""
    name, way = type(step).__name__, step.input
    if type(way) is not str or way != "content":
        raise UnsoundError(
            f"{name}(input={shown(way)}) opens whatever file a row of the table names. Fit it with "
            "input='content', on the texts themselves"
        )
    known = getattr(step, "vocabulary_", {})
    if type(known) is not dict or {*known.values()} != {*range(len(known))}:
        raise UnsoundError(f"the words of a {name} must have columns, each its own")


def _check_one_hot(step: Any) -> None:
    """Refuse an encoder that gives a category a column that is not there."""
    import pandas as pd

    if not hasattr(step, "categories_"):
        return
    longest = max(map(len, step.categories_))
    names = getattr(step, "feature_names_in_", range(len(step.categories_)))
    columns = zip(names, step.categories_, strict=True)
    trial = copy(step)
    trial.sparse_output = True
    trial.__dict__.pop("_sklearn_output_config", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = pd.DataFrame({name: np.resize(known, longest) for name, known in columns})
        trial.transform(rows).check_format(full_check=True)


def _check_support(model: Any) -> None:
    """Refuse support vectors that are fewer than their coefficients, or of another width."""
    if not hasattr(model, "support_vectors_"):
        return
    n, k = len(model.support_), len(model.classes_)
    pairs = k * (k - 1) // 2
    counts = np.asarray(model._n_support)
    sound = (
        model.support_vectors_.shape == (n, model.n_features_in_)
        and counts.shape == (k,)
        and counts.min() >= 0
        and counts.sum() == n
        and model._dual_coef_.shape == (k - 1, n)
        and np.shape(model._intercept_) == (pairs,)
        and {np.shape(model._probA), np.shape(model._probB)} <= {(0,), (pairs,)}
    )
    if not sound:
        raise UnsoundError(f"the support vectors of a {type(model).__name__} must fit together")

"""Raw rows as frames, by the names of the columns that the model takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.subjects._subject import Subject

__all__ = ["raw_frame", "raw_names"]


def raw_names(subject: Subject) -> tuple[str, ...]:
    """Return the names of the columns that the model takes."""
    return subject.columns or subject.model.feature_names


def raw_frame(X: Any, names: Sequence[str], name: str = "X", may_lack: Collection[str] = ()) -> Any:
    """Return rows as a frame that has the columns of the model; a single one becomes a batch.

    A mapping of names to values is a row, too. Some columns it may lack.
    """
    import pandas as pd
    from scipy import sparse

    if isinstance(X, Mapping) and not any(map(np.ndim, X.values())):
        X = [X]
    if isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        X = pd.DataFrame(list(X))

    if hasattr(X, "to_frame") and hasattr(X, "iloc"):  # a pandas Series
        X = X.to_frame().T.infer_objects()
    if sparse.issparse(X):
        X = X.toarray()
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not hasattr(X, "iloc"):
        # Values of a list keep their types, whatever stands beside them.
        cells = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
        X = pd.DataFrame(np.atleast_2d(cells), columns=names).infer_objects()
    raw = X
    lacking = [c for c in names if c not in raw.columns and c not in may_lack]
    if lacking:
        raise InvalidInputError(f"{name} must have the model's columns, it lacks {lacking[0]!r}.")
    return raw

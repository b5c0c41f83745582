"""Raw rows as frames, by the names of the columns that the model takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._subject import Subject

__all__ = ["raw_frame", "raw_names"]


def raw_names(subject: Subject) -> tuple[str, ...]:
    """Return the names of the columns that the model takes."""
    return subject.columns or subject.model.feature_names


def raw_frame(X: Any, names: Sequence[str], name: str = "X") -> Any:
    """Return rows as a frame that has the columns of the model; a single one becomes a batch."""
    import pandas as pd
    from scipy import sparse

    if hasattr(X, "to_frame") and hasattr(X, "iloc"):  # a pandas Series
        X = X.to_frame().T.infer_objects()
    if sparse.issparse(X):
        X = X.toarray()
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    raw = X if hasattr(X, "iloc") else pd.DataFrame(np.atleast_2d(np.asarray(X)), columns=names)
    lacking = [column for column in names if column not in raw.columns]
    if lacking:
        raise InvalidInputError(f"{name} must have the model's columns, it lacks {lacking[0]!r}.")
    return raw

"""Compare an adapted model with `predict`: never wrong in silence."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._model import LinearModel
from sklearn_probsr.adapters._columns import Base
from sklearn_probsr.adapters._decision import Choice
from sklearn_probsr.adapters._rows import names_may_lack
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["compare"]


def compare(
    estimator: Any,
    X: Any,
    model: LinearModel,
    rows: NDArray[np.float64],
    bases: Sequence[Base],
    choice: Choice,
) -> None:
    """Refuse a model that disagrees with its estimator beyond rounding, and warn within it."""
    told = np.ones(len(rows), dtype=np.bool_)
    if choice.judge is not None:
        with names_may_lack(X):
            theirs = choice.judge(X)
    elif isinstance(estimator, tuple):
        return
    else:
        with names_may_lack(X):
            said = np.asarray(estimator.predict(X))
        theirs = said == choice.classes[1]
        told = theirs | (said == choice.classes[0])  # else another class has won
    ours = model.is_positive(model.check_rows(rows))
    for i in np.flatnonzero(told & (ours != theirs)):
        labels = [choice.classes[int(positive[i])] for positive in (theirs, ours)]
        row = f"row {i} of X_sample"
        if _is_close(rows[i], bases, choice):
            warnings.warn(
                f"{row} lies on the threshold, up to rounding: the estimator says {labels[0]!r}, "
                f"the model says {labels[1]!r} by the exact sum of its weights.",
                stacklevel=4,
            )
            continue
        values = X.iloc[i] if hasattr(X, "iloc") else X[i]
        values = values.tolist() if hasattr(values, "tolist") else values
        raise InvalidInputError(
            f"the model disagrees with the estimator in {row}: the estimator says "
            f"{labels[0]!r}, the model {labels[1]!r}. The row is {values!r}. The adapter is "
            "wrong, or the estimator does not decide by its coefficients."
        )


def _is_close(row: NDArray[np.float64], bases: Sequence[Base], choice: Choice) -> bool:
    """Whether a score is within what rounding can do to it, in any order of summation."""
    columns = choice.columns
    place = {id(base): i for i, base in enumerate(columns.bases)}
    full = np.zeros(len(columns.bases))
    full[[place[id(base)] for base in bases]] = row
    inner = columns.matrix @ full + columns.offset
    score = float(choice.coef @ inner) + choice.intercept - choice.cut
    inner_size = abs(columns.matrix) @ np.abs(full) + np.abs(columns.offset)
    size = float(np.abs(choice.coef) @ inner_size) + abs(choice.intercept) + abs(choice.cut)
    return abs(score) <= 8 * (len(columns) + len(bases) + 2) * choice.precision * size

"""Compare an adapted model with `predict`: never wrong in silence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters.classifiers._additive import Additive
from sklearn_probsr.adapters.classifiers._decision import Choice, Contest
from sklearn_probsr.adapters.units._place_rows import names_may_lack
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows

__all__ = ["compare"]


def compare(
    estimator: Any,
    X: Any,
    model: Model,
    rows: NDArray[np.float64] | SparseRows,
    at: NDArray[np.intp],
    choice: Choice | Contest,
    name: str,
) -> None:
    """Refuse a model that disagrees with its estimator beyond rounding, and warn within it."""
    checked = model.check_sparse if isinstance(rows, SparseRows) else model.check_rows
    ours = model.winners(checked(rows, name))
    judged = isinstance(choice, Choice) and choice.judge is not None
    if not judged and isinstance(estimator, tuple | Additive):
        return
    with names_may_lack(X):
        try:
            theirs = _theirs(estimator, X, choice)
        except TypeError:
            floats = _without_decimals(X)
            if floats is None:
                raise
            theirs = _theirs(estimator, floats, choice)
    for i in np.flatnonzero((theirs >= 0) & (ours != theirs)):
        labels = [choice.classes[int(won[i])] for won in (theirs, ours)]
        row = f"row {i} of {name}"
        if _is_close(rows[i], at, choice, int(theirs[i]), int(ours[i])):
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


def _theirs(estimator: Any, X: Any, choice: Choice | Contest) -> NDArray[np.intp]:
    """Return the places of the classes that an estimator gives; -1 where another one has won."""
    if isinstance(choice, Choice) and choice.judge is not None:
        return choice.judge(X).astype(np.intp)
    said = np.asarray(estimator.predict(X))
    found = np.full(len(said), -1)
    for k, label in enumerate(choice.classes):
        found[said == label] = k
    return found


def _without_decimals(X: Any) -> Any:
    """Return a polars frame with its Decimals as floats; None if there are none.

    scikit-learn makes floats of those in a pandas frame, and multiplies those of polars as they
    are, which Python refuses.
    """
    if type(X).__module__.partition(".")[0] != "polars":
        return None
    import polars as pl

    names = [name for name, kind in X.schema.items() if isinstance(kind, pl.Decimal)]
    return X.with_columns(pl.col(names).cast(pl.Float64)) if names else None


def _is_close(
    row: NDArray[np.float64],
    at: NDArray[np.intp],
    choice: Choice | Contest,
    theirs: int,
    ours: int,
) -> bool:
    """Whether a score, or the lead of one, is within what rounding can do to it."""
    if isinstance(choice, Contest):
        coef = choice.coef[ours] - choice.coef[theirs]
        intercept, cut = float(choice.intercept[ours] - choice.intercept[theirs]), 0.0
        sizes = np.abs(choice.coef[ours]) + np.abs(choice.coef[theirs])
    else:
        coef, intercept, cut, sizes = choice.coef, choice.intercept, choice.cut, np.abs(choice.coef)
    columns = choice.columns
    full = np.zeros(len(columns.bases))
    full[at] = row
    inner = columns.matrix @ full + columns.offset
    score = float(coef @ inner) + intercept - cut
    inner_size = abs(columns.matrix) @ np.abs(full) + np.abs(columns.offset)
    size = float(sizes @ inner_size) + float(np.abs(choice.intercept).sum()) + abs(cut)
    rounding = 8 * (len(columns) + len(at) + 2) * choice.precision * size
    return abs(score) <= rounding + choice.slack

"""SHAP values of a linear model: of all features of some rows, or of those in their reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.law import Law
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = [
    "expected_scores",
    "filled_values",
    "values_inside",
    "values_of_reasons",
    "values_of_rows",
]


def expected_scores(law: Law) -> Any:
    """Return the expected decision function, or the expected score of every class."""
    weights, constants = law.given.outputs
    with np.errstate(over="ignore"):
        expected = weights @ law.means + constants
    return expected if law.given.by_class else float(expected[0])


def values_of_rows(law: Law, rows: Any) -> NDArray[np.float64]:
    """Return what each feature adds over what it adds on average, ``c_u(x) - E[C_u]``.

    Parameters
    ----------
    law : Law
        What the features are on average.
    rows : ndarray or SparseRows of shape (n, columns of the linear model)
        Checked rows.

    Returns
    -------
    ndarray of shape (n, features), or (n, features, classes) for more than two
        SHAP values of the decision function, or of the score of every class. With
        `expected_scores` they sum up to it.
    """
    model = law.given
    with np.errstate(over="ignore", invalid="ignore"):
        above = np.asarray(rows) - law.means
        # Adding 0.0 leaves no negative zeros, which plots print as such.
        each = [model.sum_by_unit(above * w) + 0.0 for w in model.outputs[0]]
    return np.stack(each, axis=2) if model.by_class else each[0]


def values_of_reasons(reasons: SufficientReasons, by_class: bool) -> NDArray[np.float64]:
    """Return the values of all features of the rows that reasons are about.

    Of an invalid row, of which there is no score, they are zeros. Without ``by_class``, those of a
    model of several classes are of the score of each row's own one.
    """
    model = reasons.model
    values = values_of_rows(law_of(model, reasons.distribution), reasons.rows)
    if model.by_class and not by_class:
        values = values[np.arange(len(reasons)), :, model.winners(reasons.rows)]
    values[reasons.status == "invalid"] = 0.0
    return values


def values_inside(reasons: SufficientReasons, by_class: bool) -> NDArray[np.float64]:
    """Return the values of the features in reasons, behind each other; no table is made."""
    model, sets = reasons.model, reasons.sets
    at = np.repeat(np.arange(len(reasons)), sets.sizes)
    if not isinstance(reasons.rows, SparseRows):
        return values_of_reasons(reasons, by_class)[at, sets.features]
    columns = model.columns_first[sets.features]
    with np.errstate(over="ignore", invalid="ignore"):
        above = reasons.rows.cells(at, columns) - law_of(model, reasons.distribution).means[columns]
        values = above[:, None] * model.outputs[0].T[columns] + 0.0
    if model.by_class and by_class:
        return values
    own = model.winners(reasons.rows)[at] if model.by_class else np.zeros(len(at), dtype=np.intp)
    found: NDArray[np.float64] = values[np.arange(len(at)), own]
    return found


def filled_values(sets: FeatureSets, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values of the features of reasons as a table, with zeros for all others."""
    table = np.zeros((len(sets), sets.width, *values.shape[1:]))
    table[np.repeat(np.arange(len(sets)), sets.sizes), sets.features] = values
    return table

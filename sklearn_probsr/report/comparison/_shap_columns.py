"""SHAP columns: SHAP values, and what features guarantee when they are taken by their size."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Task
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.report.comparison._allowed_features import follow, in_order
from sklearn_probsr.report.comparison._wide_tables import Wide, pieces
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["columns_beside", "jaccard", "scored", "shap_values_of"]


def shap_values_of(law: Law, told: SufficientReasons, given: Any) -> Any:
    """Return SHAP values of every unit: the user's, or shap's own on the same background.

    Of sparse rows, those that are shap's own are a `Wide` table.
    """
    model, rows = law.given, told.rows
    if given is None:
        if not len(rows):
            return np.zeros((0, model.n_units))
        if isinstance(rows, SparseRows) and model.first_columns == list(range(rows.width)):
            return _of_sparse(law, rows)
        # Of a linear model only the means of the background matter.
        mask = shap.maskers.Independent(law.means[None, :], max_samples=1)
        scores, all_rows = zip(*model.outputs, strict=True), np.asarray(rows, dtype=np.float64)
        each = [shap.LinearExplainer(score, mask).shap_values(all_rows) for score in scores]
        found = each[0] if len(each) == 1 else np.stack(each, axis=2)
    else:
        found = np.asarray(getattr(given, "values", given), dtype=np.float64)
    if found.ndim == 3 and found.shape[::2] == (len(rows), len(model.classes)):
        found = found[np.arange(len(rows)), :, _output_of(law, rows)]
    if found.shape == (len(rows), model.n_units):
        return found
    if found.shape == (len(rows), model.n_features) and model.units is not None:
        return model.sum_by_unit(found)
    raise InvalidInputError(
        f"shap_values must have one value per row and feature, {(len(rows), model.n_units)}, got "
        f"shape {found.shape}. Explain the same rows, and one output of the model."
    )


def _output_of(law: Law, rows: Any) -> Any:
    """Return which output's values are shown: the second of two, as shap has it, or the winner."""
    return 1 if len(law.given.classes) == 2 else law.given.winners(rows)


def _of_sparse(law: Law, rows: SparseRows) -> Wide:
    """Return a line of SHAP values of zeros for each output, and those of what is there."""
    weights, means = law.given.outputs[0], law.means
    line = np.zeros(len(rows), dtype=np.intp)
    if len(weights) > 1:
        line[:] = _output_of(law, rows)
    at = rows.indices
    values = weights[line[rows.places], at] * (rows.values.astype(np.float64) - means[at])
    return Wide.of(rows, line, weights * (0.0 - means), values)


def columns_beside(
    law: Law,
    told: SufficientReasons,
    at: NDArray[np.intp],
    values: NDArray[np.float64],
    task: Task,
    delta: Fraction,
) -> dict[str, NDArray[Any]]:
    """Return what SHAP values say of some rows, with the reasons of these."""
    model, sets, size = law.given, told.sets.take(at), told.size[at]
    rows = told.rows[at] if law.takes_sparse else np.asarray(told.rows[at])
    task = law.within(rows, task)
    second = (model.winners(rows) == 1) | (len(model.classes) > 2)
    signed = np.where(second, 1.0, -1.0)[:, None] * values  # towards the prediction
    by_size, by_sign = in_order(np.abs(values), task), in_order(signed, task)
    abs_size, largest = follow(law, rows, by_size, size, task, delta)
    signed_size, towards = follow(law, rows, by_sign, size, task, delta)
    starts = np.concatenate([[0], np.cumsum(size)])
    each = np.repeat(np.arange(len(at)), size)
    first = by_size[each, np.arange(starts[-1]) - np.repeat(starts[:-1], size)]
    top = FeatureSets(first.astype(np.int32), starts.astype(np.int64), model.n_units)
    mass = np.abs(values).sum(axis=1)
    inside = np.where(sets.mask(), np.abs(values), 0.0).sum(axis=1)
    return {
        "abs_shap_size": abs_size,
        "signed_shap_size": signed_size,
        "top_shap_guarantee_lower": largest.lower,
        "top_shap_guarantee_upper": largest.upper,
        "signed_shap_guarantee_lower": towards.lower,
        "signed_shap_guarantee_upper": towards.upper,
        "overlap": jaccard(top, sets),
        "shap_share": np.where(mass > 0, inside / np.where(mass > 0, mass, 1.0), 1.0),
        "hurting": (top.mask() & (signed < 0)).sum(axis=1),
    }


def jaccard(first: FeatureSets, second: FeatureSets) -> NDArray[np.float64]:
    """Return how much two sets per row have in common; 1 if both are empty."""
    n, width = len(first), first.width
    ours, theirs = (
        np.repeat(np.arange(n), sets.sizes) * width + sets.features for sets in (first, second)
    )
    shared = np.intersect1d(ours, theirs, assume_unique=True)
    both = np.bincount(shared // max(width, 1), minlength=n)
    either = first.sizes + second.sizes - both
    shares: NDArray[np.float64] = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    return shares


def scored(law: Law, rows: Any, sets: FeatureSets, word: str) -> dict[str, NDArray[Any]]:
    """Return the guarantee of one set per row."""
    bounds = [np.zeros((2, 0))]
    for at in pieces(rows):
        some = rows[at] if law.takes_sparse else np.asarray(rows[at])
        bounds.append(np.stack(law.score(some, sets.take(at).mask())))
    lower, upper = np.concatenate(bounds, axis=1)
    return {f"{word}_guarantee_lower": lower, f"{word}_guarantee_upper": upper}

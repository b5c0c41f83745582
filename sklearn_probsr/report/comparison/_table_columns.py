"""The columns of a comparison: reasons, certainty, what SHAP says, and what other methods chose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import SetsWriter
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Task
from sklearn_probsr.distributions._completions import (
    Background,
    Marginals,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.tables import cost_columns
from sklearn_probsr.report.comparison._allowed_features import reached
from sklearn_probsr.report.comparison._shap_columns import (
    columns_beside,
    jaccard,
    scored,
)
from sklearn_probsr.report.comparison._valid_rows import ValidRows
from sklearn_probsr.report.comparison._wide_tables import filled, pieces, some_rows
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["dependence_columns", "other_columns", "table_columns"]


def table_columns(
    law: Law,
    told: SufficientReasons,
    sure: SufficientReasons | None,
    values: Any,
    task: Task,
    delta: Fraction,
) -> dict[str, NDArray[Any]]:
    """Return the columns of the table."""
    model, n = law.given, len(told)
    beside = [
        columns_beside(law, told, at, filled(some_rows(values, at)), task, delta)
        for at in pieces(values)
    ] or [columns_beside(law, told, np.arange(0), np.zeros((0, model.n_units)), task, delta)]
    return {
        "prediction": told.prediction,
        "margin": model.margin(told.rows),
        "reason": told.sets.named(model.unit_names),
        "reason_size": told.size,
        "guarantee_lower": told.lower,
        "guarantee_upper": told.upper,
        "minimality": told.minimality.astype(object),
        **cost_columns(told),
        "sure_size": np.full(n, np.nan) if sure is None else reached(sure),
        **{name: np.concatenate([piece[name] for piece in beside]) for name in beside[0]},
    }


def dependence_columns(
    law: Law, told: SufficientReasons, missing: dict[str, str]
) -> dict[str, NDArray[Any]]:
    """Return what the reasons guarantee if features are independent, or if they are not.

    If nothing is known of that, ``missing`` says so.
    """
    over = law.distribution
    if isinstance(over, Background):
        other = law_of(law.model, Marginals(over.source, over.weights))
        return scored(other, told.rows, told.sets, "independent")
    if isinstance(over, Marginals):
        other = law_of(law.model, Background(over.source, over.weights))
        return scored(other, told.rows, told.sets, "joint")
    missing["independent_guarantee"] = f"{over} know of no rows whose features depend."
    return {}


def other_columns(
    law: Law,
    told: SufficientReasons,
    name: str,
    sets: Sequence[Iterable[int | str]],
    valid: ValidRows,
) -> dict[str, NDArray[Any]]:
    """Return the columns of another method's sets, one for each row, of those that are valid."""
    if len(sets) != valid.n:
        raise InvalidInputError(
            f"others[{name!r}] must hold one set of features per row, {valid.n}, got {len(sets)}."
        )
    each, room = list(sets), SetsWriter(len(valid.at), law.model.n_units)
    for i, k in enumerate(valid.at):
        room.write(i, law.model.check_features(each[k], f"others[{name!r}]"))
    chosen = room.sets()
    return {
        f"{name}_size": chosen.sizes,
        **scored(law, told.rows, chosen, name),
        f"{name}_overlap": jaccard(chosen, told.sets),
    }

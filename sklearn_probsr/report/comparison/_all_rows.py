"""All rows of a comparison: what is known of valid ones, put among those that are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.explain.jobs._batches import Question
from sklearn_probsr.report.comparison._growth import Growth, grow
from sklearn_probsr.report.comparison._wide_tables import Wide
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["among_all", "grown_among_all", "valid_values", "values_among_all"]


def grown_among_all(
    question: Question,
    told: SufficientReasons,
    known: dict[float, SufficientReasons],
    n_jobs: int | None,
    at: NDArray[np.intp],
    n: int,
) -> Growth:
    """Return how the reasons of valid rows grow, among all rows."""
    growth = grow(question, told.rows, known, n_jobs, told.flagged)
    return growth if len(at) == n else growth.among(at, n)


def valid_values(given: Any, at: NDArray[np.intp], n: int) -> Any:
    """Return a user's SHAP values of the rows that are valid."""
    if given is None or len(at) == n:
        return given
    values = np.asarray(getattr(given, "values", given), dtype=np.float64)
    return values[at] if len(values) == n else values


# What a column has for an invalid row, if that is not "unknown".
_OF_NOTHING: dict[str, Any] = {
    "prediction": None, "minimality": None, "reason_size": 0, "guarantee_lower": 0.0,
    "guarantee_upper": 1.0, "status": None, "message": None,
}  # fmt: skip


def among_all(name: str, column: NDArray[Any], at: NDArray[np.intp], n: int) -> NDArray[Any]:
    """Return a column of the valid rows among all rows."""
    if name == "reason":
        found = np.empty(n, dtype=object)
        found[:] = [()] * n
    else:
        value = _OF_NOTHING.get(name, np.nan)
        found = np.full(n, value, dtype=object if value is None else None)
    found[at] = column
    return found


def values_among_all(values: Any, at: NDArray[np.intp], n: int) -> Any:
    """Return SHAP values of the valid rows among all rows."""
    if isinstance(values, Wide):
        return values.among(at, n, 0.0)
    everywhere = np.zeros((n, values.shape[1]))
    everywhere[at] = values
    return everywhere

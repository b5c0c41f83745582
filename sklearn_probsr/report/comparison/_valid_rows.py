"""ValidRows: what is known of the rows that a model takes, put among all rows of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.explain.jobs import Question
from sklearn_probsr.report.comparison._growth import Growth, grow
from sklearn_probsr.report.comparison._wide_tables import Wide
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["ValidRows"]

# What a column has for an invalid row, if that is not "unknown".
_OF_NOTHING: dict[str, Any] = {
    "prediction": None, "minimality": None, "reason_size": 0, "guarantee_lower": 0.0,
    "guarantee_upper": 1.0, "status": None, "message": None,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ValidRows:
    """The rows ``at`` of ``n``, which a model takes."""

    at: NDArray[np.intp]
    n: int

    @property
    def are_all(self) -> bool:
        """Whether there are no others."""
        return len(self.at) == self.n

    def of(self, given: Any) -> Any:
        """Return a user's SHAP values of these rows."""
        if given is None or self.are_all:
            return given
        values = np.asarray(getattr(given, "values", given), dtype=np.float64)
        return values[self.at] if len(values) == self.n else values

    def table_among_all(self, table: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return columns of these rows as columns of all rows."""
        if self.are_all:
            return table
        return {name: self._among_all(name, column) for name, column in table.items()}

    def _among_all(self, name: str, column: NDArray[Any]) -> NDArray[Any]:
        if name == "reason":
            found = np.empty(self.n, dtype=object)
            found[:] = [()] * self.n
        else:
            value = _OF_NOTHING.get(name, np.nan)
            found = np.full(self.n, value, dtype=object if value is None else None)
        found[self.at] = column
        return found

    def values_among_all(self, values: Any) -> Any:
        """Return SHAP values of these rows among those of all rows, which are zero."""
        if self.are_all:
            return values
        if isinstance(values, Wide):
            return values.among(self.at, self.n, 0.0)
        everywhere = np.zeros((self.n, values.shape[1]))
        everywhere[self.at] = values
        return everywhere

    def grown(
        self,
        question: Question,
        told: SufficientReasons,
        known: dict[float, SufficientReasons],
        n_jobs: int | None,
    ) -> Growth:
        """Return how the reasons of these rows grow, among all rows."""
        growth = grow(question, told.rows, known, n_jobs, told.flagged)
        return growth if self.are_all else growth.among(self.at, self.n)

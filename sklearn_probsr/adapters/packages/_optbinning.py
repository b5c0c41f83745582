"""optbinning: scorecards, and bins that a pipeline learns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sklearn_probsr.adapters._declarations import PerColumn
from sklearn_probsr.adapters._registry import Part, registered, registered_from
from sklearn_probsr.adapters.units._columns import Columns
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []


def _variables(step: Any) -> tuple[str, ...]:
    process = getattr(step, "binning_process_", None) or getattr(step, "binning_process", step)
    return tuple(map(str, process.variable_names))


def _check(step: Any) -> None:
    if not step._is_fitted:
        raise InvalidInputError(
            f"estimator must be fitted, got {type(step).__name__} that is not. Call fit first."
        )


@registered_from(
    "optbinning",
    "1.0",
    "BinningProcess",
    note="one unit per variable, one state per bin; special codes and missing values are states; "
    "variables that are not selected leave the model",
    role="transformer",
    prefit=True,
    inputs=_variables,
)
def _process(step: Any) -> PerColumn:
    _check(step)
    names = step.variable_names

    def splits(column: int) -> Any:
        return step.get_binned_variable(names[column])

    def special(column: int) -> list[Any]:
        codes = splits(column).special_codes
        codes = codes.values() if isinstance(codes, dict) else codes if codes is not None else ()
        return [c for code in codes for c in np.ravel(np.asarray(code)).tolist()]

    def cuts(column: int) -> Iterable[float]:
        found = splits(column)
        return () if found.dtype == "categorical" else map(float, found.splits)

    def values(column: int) -> Iterable[Any]:
        found = splits(column)
        groups = found.splits if found.dtype == "categorical" else ()
        known = [c for group in groups for c in np.asarray(group, dtype=object).tolist()]
        rare = getattr(found, "_cat_others", None)
        return known + ([] if rare is None else np.asarray(rare, dtype=object).tolist())

    kept = np.flatnonzero(step.get_support()).tolist()
    return PerColumn(kept, "finite", cuts, values, missing=np.nan, special=special, ranked=False)


class _Bins(Part):
    """The bins of a scorecard, with what it takes special and missing values for."""

    def __init__(self, card: Any) -> None:
        super().__init__("Scorecard")
        self.card = card

    def transform(self, rows: Any) -> Any:
        """Return the variables that it uses, as its estimator gets them."""
        card = self.card
        return card._transform(
            X=rows,
            metric=None,
            metric_special=card._metric_special,
            metric_missing=card._metric_missing,
        )


@registered("internal", _Bins, note="", prefit=True)
def _bins(step: _Bins) -> PerColumn:
    found: PerColumn = _process(step.card.binning_process_)
    return found


@registered_from(
    "optbinning",
    "1.0",
    "Scorecard",
    note="its bins, then its `estimator_`: a state for each line of its table of points",
    composite=True,
    prefit=True,
    inputs=_variables,
)
def _scorecard(card: Any, columns: Columns, role: str, follow: Any) -> Any:
    _check(card)
    return follow(card.estimator_, follow(_Bins(card), columns, "transformer"), role)

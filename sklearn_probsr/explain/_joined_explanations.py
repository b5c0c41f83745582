"""Explanations put behind each other as one, if they come from one explainer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._pending_values import Pending
from sklearn_probsr.explain._sliced_explanation import SlicedExplanation
from sklearn_probsr.explain.frames._row_index import joined_index
from sklearn_probsr.model.sparse import SparseRows, to_sparse
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["explanations", "joined", "refolded"]


def explanations(parts: Any) -> list[Any]:
    """Return explanations that can be put behind each other, or say that they are none."""
    found = list(parts) if isinstance(parts, Iterable) and not hasattr(parts, "values") else []
    if not found or not all(isinstance(part, SlicedExplanation) for part in found):
        kinds = ", ".join(type(part).__name__ for part in found) or repr(type(parts).__name__)
        raise InvalidInputError(
            f"concatenate takes a list of at least one ReasonExplanation, got {kinds}."
        )
    return found


def joined(batches: Sequence[SlicedExplanation]) -> tuple[Any, ...]:
    """Return what the explanation of all rows of some is made of."""
    first, others = batches[0], [batch._others for batch in batches]
    for batch in batches[1:]:
        _check_alike(first, batch)
    return (
        SufficientReasons.concatenate([batch.reasons for batch in batches]),
        *_arrays(batches),
        first.feature_names,
        first.output_names,
        first.view,
        joined_index([batch.index for batch in batches]),
        None if any(o is None for o in others) else [one for o in others for one in o or ()],
    )


def _arrays(batches: Sequence[SlicedExplanation]) -> tuple[Any, Any, Any, Any]:
    """Return values, base values, data and display data of all rows."""
    if any(batch._pending is not None for batch in batches):
        return Pending.concatenate([_as_pending(batch) for batch in batches]).parts
    shown = [batch.display_data for batch in batches]
    if any(display is not None for display in shown):
        shown = [b.data if d is None else d for b, d in zip(batches, shown, strict=True)]
    return (
        np.concatenate([batch.values for batch in batches]),
        np.concatenate([batch.base_values for batch in batches]),
        np.concatenate([batch.data for batch in batches]),
        None if shown[0] is None else np.concatenate(shown),
    )


def _as_pending(batch: SlicedExplanation) -> Pending:
    """Return a batch by what is in it."""
    if batch._pending is not None:
        return batch._pending
    sets, at = batch._reasons.sets, np.arange(len(batch._reasons))
    values = None
    if batch.view != "all":
        values = batch.values[np.repeat(at, sets.sizes), sets.features]
    display = batch.display_data
    shown = None if display is None else _numbers(np.asarray(display, dtype=np.float64))
    names = (list(batch.feature_names), batch.output_names)
    return Pending(sets, values, batch.base_values, _numbers(batch.data), shown, at, names)


def _numbers(table: Any) -> SparseRows:
    """Return a table by its values: numbers, also if all of them are 1."""
    return to_sparse(table).astype(np.float64)


def refolded(batch: SlicedExplanation) -> Pending | None:
    """Return a batch that was filled in by what is in it; None if its values are others by now."""
    found = _as_pending(batch)
    return found if np.array_equal(found.filled(batch._reasons), batch.values) else None


def _check_alike(first: SlicedExplanation, other: SlicedExplanation) -> None:
    """Refuse to put explanations behind each other that speak of different things."""
    ours, theirs = first.reasons, other.reasons
    for what, alike in (
        ("model", ours.model == theirs.model),
        ("distribution", ours.distribution == theirs.distribution),
        ("delta", ours.delta == theirs.delta),
        ("method", (ours.method, ours.confidence) == (theirs.method, theirs.confidence)),
        ("features in include", ours.forced == theirs.forced),
        ("features in exclude", set(ours.barred) == set(theirs.barred)),
        ("max_size", ours.max_size == theirs.max_size),
        ("features that may be chosen", ours.only == theirs.only),
        ("unit of the values", str(first.output_names) == str(other.output_names)),
    ):
        if not alike:
            raise InvalidInputError(
                f"concatenate takes explanations of one explainer, these differ in the {what}."
            )

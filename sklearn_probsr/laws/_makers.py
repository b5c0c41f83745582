"""Which law a model has under distributions over rows of data."""

from __future__ import annotations

from typing import Any

from sklearn_probsr.core.law import Law
from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.laws._seen import rows_before
from sklearn_probsr.model._argmax import ArgmaxModel
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._sparse import SparseRows

__all__ = ["background", "matching"]


# Every kind of law is imported when it is first asked for: nobody waits for the kernels of others.
def background(model: Any, distribution: Background) -> Law:
    if distribution.is_sparse:
        rows = rows_before(model, distribution)
        if isinstance(rows, SparseRows):
            from sklearn_probsr.laws.rows._sparse_replacement import SparseLaw

            return SparseLaw(model, distribution, rows)
    if isinstance(model, ArgmaxModel):
        from sklearn_probsr.laws.rows._rival_rows import ReplacementDuels

        return ReplacementDuels(model, distribution)
    from sklearn_probsr.laws.rows._replacement import ReplacementLaw

    return ReplacementLaw(model, distribution)


def matching(model: Model, distribution: Matching) -> Law:
    from sklearn_probsr.laws.rows._matching import MatchingLaw

    rows = rows_before(model, distribution)
    if isinstance(rows, SparseRows) and model.first_columns != list(range(model.n_features)):
        rows = rows.toarray()
    return MatchingLaw(model, distribution, rows)

"""Which law a model has under distributions over rows of data."""

from __future__ import annotations

from sklearn_probsr.core.law import Law
from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.laws._seen import rows_before
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._sparse import SparseRows

__all__ = ["matching"]


def matching(model: Model, distribution: Matching) -> Law:
    from sklearn_probsr.laws.rows._matching import MatchingLaw

    rows = rows_before(model, distribution)
    if isinstance(rows, SparseRows) and model.first_columns != list(range(model.n_features)):
        rows = rows.toarray()
    return MatchingLaw(model, distribution, rows)
